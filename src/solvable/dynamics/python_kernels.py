"""Functions of the user's own, which compiled code cannot call: the amplitudes of samples by them, in plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

from solvable.gaussian.losses import pushes
from solvable.numerics.lanes import WIDTH
from solvable.problems import Problem
from solvable.problems.networks import signs_of


def own_amplitudes(problem: Problem) -> Callable[..., None]:
    """`sample.amplitudes` for functions of the user's own, in Python."""
    p, q, training = problem.student.width, problem.teacher.width, problem.training
    unit, labels, taught_by = problem.student.unit, problem.teacher.labels, problem.teacher.taught

    def amplitudes(form: Any, numbers: np.ndarray, state: np.ndarray, work: np.ndarray) -> None:
        slots, readout = work.reshape(-1, WIDTH), state.reshape(-1, WIDTH)[form.readout :]
        h = slots[form.fields :][:p]
        fields = slots[form.teacher_fields :][:q]
        mask: Any = 1.0
        if not form.cases:
            error = labels(np.ascontiguousarray(fields.T))
        else:  # label, readouts and masks of each lane's case have been looked up
            readout, mask = slots[form.case_readout :], slots[form.mask :][:p] if form.masked else 1.0
            own = slots[form.case_teachers :][:q]
            additive = problem.teacher.target in ("additive", "sign")
            taught = (
                (own * problem.teacher.unit.function(fields)).sum(axis=0)
                if additive
                else own[0] * taught_by(fields.T.copy())
            )
            error = slots[form.label] + taught
            error = signs_of(error) if form.signed else error
        if form.noisy:
            error = error + form.label_noise * slots[form.normals - 1]
        value, slope = unit.function(h), unit.derivative(h)
        output = (readout[:p] * value).sum(axis=0) + (slots[form.case_bias] if form.biased else 0.0)
        push = training.loss_factor * pushes(training.loss_function, error, output)
        if form.cases:
            slots[form.bare_push] = push
        slots[form.amplitudes :][:p] = readout[:p] * slope * push
        slots[form.pushes :][:p] = mask * value * push

    return amplitudes
