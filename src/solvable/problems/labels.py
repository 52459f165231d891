"""Labels that a loss of the margin can learn from: signs, from classes, teachers or data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.gaussian.losses import BUILT_IN_LOSSES, Loss
from solvable.problems.networks import Target

if TYPE_CHECKING:
    from solvable.problems.problem import Problem

SIGNS = "give labels of both signs, as 1 and -1"
OTHER_LOSS = "or a loss of the residual, as 'squared'"


def check_labels(problem: Problem) -> None:
    """Raise ValueError, naming the field, where the loss takes labels for signs and they are none."""
    loss = problem.training.loss_function
    if not loss.needs_signs:
        return
    mixture, teacher = problem.mixture, problem.teacher
    labels = None if mixture is None else mixture.labels
    if not teacher.width:
        check_signs("mixture.labels", labels, loss)
    elif isinstance(teacher.target, Target):
        shifts = np.array((0.0,) if labels is None else labels) + teacher.bias
        check_signs("teacher.target", np.add.outer(shifts, teacher.target.probed).ravel(), loss)
    elif teacher.target != "sign":
        if not _is_built_in(problem.training.loss):
            return  # a user's own loss may be meant for real labels
        raise ValueError(
            f"teacher.target: {teacher.target!r} gives labels that may be any number, but the loss {loss.name!r} takes them "
            f"for signs; say target = 'sign', or the loss 'correlation', which takes any number"
        )
    else:
        _check_zero_readouts(problem, np.array((0.0,) if labels is None else labels) + teacher.bias, loss)


def check_signs(place: str, labels: object, loss: Loss) -> None:
    """Raise ValueError where labels are zero, or different numbers of one sign, and the loss takes them for signs."""
    if not loss.needs_signs:
        return
    values = np.unique(np.asarray(labels, dtype=float))
    shown = ", ".join(f"{value:g}" for value in values[:4]) + (", ..." if values.size > 4 else "")
    if (values == 0).any():
        raise ValueError(
            f"{place}: {shown} given with the loss {loss.name!r} of the margin label x output, which is zero for the label 0, "
            f"so that its samples teach nothing; {SIGNS}, {OTHER_LOSS}"
        )
    if values.size > 1 and (values[0] > 0 or values[-1] < 0):
        raise ValueError(
            f"{place}: {shown} given with the loss {loss.name!r} of the margin label x output, which tells labels by their "
            f"signs alone; {SIGNS}, {OTHER_LOSS}"
        )


def _is_built_in(loss: object) -> bool:
    return not isinstance(loss, Loss) and getattr(loss, "name", loss) in BUILT_IN_LOSSES


def _check_zero_readouts(problem: Problem, shifts: np.ndarray, loss: Loss) -> None:
    """Refuse tasks and teachers whose output is zero for every input, where no class or bias decides the sign."""
    if problem.tasks:
        readouts = {f"tasks.{i}.readout": task.readout for i, task in enumerate(problem.tasks)}
    else:
        readouts = {"teacher.readout": tuple(problem.teacher.readout_values)}
    for place, readout in readouts.items():
        if not any(readout) and (shifts == 0).any():
            raise ValueError(
                f"{place}: is zero for every teacher, so that labels have no sign, which the loss {loss.name!r} needs"
            )
