"""Functions of the user's own, which compiled code cannot call: kernels as plain Python around them."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from solvable.dynamics import layout
from solvable.gaussian.losses import pushes
from solvable.numerics.lanes import WIDTH
from solvable.problems import Problem


def in_python(kernel: Any, **others: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel as plain Python, with other functions in the place of those that it calls by these names."""
    return FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, **others})


def own_amplitudes(problem: Problem) -> Callable[..., None]:
    """`sample.amplitudes` for functions of the user's own, in Python."""
    p, q, training = problem.student.width, problem.teacher.width, problem.training
    unit, labels = problem.student.unit, problem.teacher.labels

    def amplitudes(ints: np.ndarray, floats: np.ndarray, state: np.ndarray, work: np.ndarray) -> None:
        slots, readout = work.reshape(-1, WIDTH), state.reshape(-1, WIDTH)[ints[layout.READOUT] :]
        h = slots[ints[layout.FIELDS] :][:p]
        error = labels(np.ascontiguousarray(slots[ints[layout.TEACHER_FIELDS] :][:q].T))
        if ints[layout.NOISY]:
            error = error + floats[layout.LABEL_NOISE] * slots[ints[layout.NORMALS] - 1]
        value, slope = unit.function(h), unit.derivative(h)
        push = training.loss_factor * pushes(training.loss, error, (readout[:p] * value).sum(axis=0))
        slots[ints[layout.AMPLITUDES] :][:p] = readout[:p] * slope * push
        slots[ints[layout.PUSHES] :][:p] = value * push

    return amplitudes
