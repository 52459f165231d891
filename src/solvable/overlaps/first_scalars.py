"""The numbers beside the readout at the start of a run."""

import numpy as np

from solvable.problems import Problem


def first_scalars(problem: Problem) -> np.ndarray:
    """The numbers beside the readout that a problem begins with.

    Parameters
    ----------
    problem : Problem
        Its scalars are counted.

    Returns
    -------
    ndarray
        (scalar,) biases as the problem has them, zero for all else.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> sv.overlaps.first_scalars(problem.replace(student__bias=0.5))
    array([0.5])
    """
    return np.array([problem.student.bias if role == "bias" else 0.0 for role in problem.scalars])
