"""The risk of averaged weights along a run: the same labels and inputs, asked about other students."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps import Overlaps, integrated
from solvable.problems import Problem
from solvable.results.quantities import CURVE, observable

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def bare(problem: Problem) -> Problem:
    """The problem without what no risk looks at: anchors, velocities, averages and snapshots."""
    return problem.replace(
        training__anchor=0.0, training__momentum=None, training__average=None, training__snapshot=None
    )


def is_kept(problem: Problem) -> bool:
    """Tell whether the training keeps an average of the weights."""
    return problem.training.average is not None


def bias_scalars(trajectory: Trajectory) -> np.ndarray:
    """(run, time, head or nothing) the biases of a run's outputs, as scalars of a state."""
    t, count = trajectory, trajectory.problem.scalars.count("bias")
    return np.zeros((*t.risk.shape, 0)) if t.scalars is None else t.scalars[:, :, :count]


@observable("run time", "risk of the averaged weights", CURVE, from_states=True, applies=is_kept)
def average_risk(trajectory: Trajectory) -> np.ndarray:
    """(run, time) risk of the averaged weights, with the readouts of the run, where the training keeps an average. With several
    blocks of inputs it needs keep_blocks=True."""
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import risks

    t = trajectory
    if "average" not in t.problem.extras or t.extra_overlap is None:
        raise ValueError("average_risk: the training keeps no average; say Training(average=...)")
    if t.blocks is None and t.problem.inputs.blocks > 1:
        raise ValueError("average_risk: the overlaps of the single blocks were not kept; run with keep_blocks=True")
    extra = t.extra_overlap[:, :, None] if t.blocks is None else t.blocks.extra
    assert extra is not None
    plain, found, biases = bare(t.problem), np.full(t.risk.shape, np.nan), bias_scalars(t)
    for run, reached in enumerate(np.isfinite(t.risk)):
        teachers = np.broadcast_to(t.block_teacher_overlap[run], (len(reached), *t.block_teacher_overlap[run].shape))
        if t.moving_teacher_overlap is not None:
            moving = t.moving_teacher_overlap[:, :, None] if t.blocks is None else t.blocks.teacher
            assert moving is not None
            teachers = moving[run]
        states = [
            _of_averages(t.problem, plain, *parts)
            for parts in zip(
                extra[run][reached], teachers[reached], t.readout[run][reached], biases[run][reached], strict=True
            )
        ]
        if states:
            found[run, reached] = risks(plain, states, t.alpha[reached], NODES)[0]
    return found


def _of_averages(
    problem: Problem, plain: Problem, extra: np.ndarray, teacher: np.ndarray, readout: np.ndarray, bias: np.ndarray
) -> Overlaps:
    """Overlaps with averages in the place of students, from those of extra rows with all rows (block, extra, row)."""
    p, n = problem.student.width, problem.student.width + problem.teacher.width
    roles = np.array(problem.extras, dtype=object)
    averages, directions = np.flatnonzero(roles == "average"), np.flatnonzero(roles == "direction")
    order = np.concatenate([n + averages, np.arange(p, n), n + directions])
    rows = extra[:, :, order]
    return integrated(
        rows[:, averages, :p], rows[:, averages, p:n], teacher, readout, plain.extras, rows[:, directions], bias
    )
