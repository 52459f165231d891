"""What rules multiply the learning rate by, in given states."""

import numpy as np

from solvable.dynamics.gaussian_moments import NODES
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack, state_of
from solvable.dynamics.pace import PACE, recall
from solvable.overlaps import Overlaps, fitted
from solvable.problems import Problem, effective


def paces(problem: Problem, states: list[Overlaps], times: np.ndarray) -> np.ndarray:
    """(state,) of the rule of a problem, in states that share their teachers, at their times (steps/dim)."""
    problem = effective(problem)
    kept = [fitted(problem, state) for state in states]
    one = system(problem, pack(problem, kept[0]), NODES)
    data, slope = one.data(), np.empty_like(one.packed.state)
    segments = np.searchsorted(one.packed.problems["begin"], times, side="right") - 1
    found = np.empty(len(kept))
    for i, (state, time) in enumerate(zip(kept, times.tolist(), strict=True)):
        one.rhs(int(segments[i]), time, state_of(state, problem), slope, *data)
        found[i] = recall.py_func(data[-1], PACE)
    return found
