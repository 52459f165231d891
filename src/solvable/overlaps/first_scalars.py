"""The numbers beside the readout at the start of a run."""

import numpy as np

from solvable.problems import Problem


def first_scalars(problem: Problem) -> np.ndarray:
    """(scalar,) biases as the problem has them, zero for all else."""
    return np.array([problem.student.bias if role == "bias" else 0.0 for role in problem.scalars])
