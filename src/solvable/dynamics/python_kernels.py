"""Functions of the user's own, which compiled code cannot call: kernels as plain Python around them."""

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

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

    def amplitudes(form: Any, numbers: np.ndarray, state: np.ndarray, work: np.ndarray) -> None:
        slots, readout = work.reshape(-1, WIDTH), state.reshape(-1, WIDTH)[form.readout :]
        h = slots[form.fields :][:p]
        error = labels(np.ascontiguousarray(slots[form.teacher_fields :][:q].T))
        if form.noisy:
            error = error + form.label_noise * slots[form.normals - 1]
        value, slope = unit.function(h), unit.derivative(h)
        push = training.loss_factor * pushes(training.loss, error, (readout[:p] * value).sum(axis=0))
        slots[form.amplitudes :][:p] = readout[:p] * slope * push
        slots[form.pushes :][:p] = value * push

    return amplitudes
