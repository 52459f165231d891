"""Trajectories with what few problems have: rows beyond students and teachers, moving teachers, scalars."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from solvable.dynamics.kernel_data import unpack_rest, unpack_scalars
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.trajectory import Trajectory


def with_rest(
    trajectory: Trajectory,
    starts: Sequence[Overlaps],
    totals: np.ndarray,
    ends: np.ndarray,
    states: np.ndarray | None = None,
) -> Trajectory:
    """The same with its extra rows, moving teachers and scalars, from packed states: `totals` (run, time, size) of all blocks
    together, `ends` (run, size), and `states` (run, time, size) where blocks were kept. `starts` has one for each run."""
    problem = trajectory.problem
    if problem.scalars:
        scalars = [np.array(unpack_scalars(problem, part)) for part in (totals, ends)]
        trajectory = replace(trajectory, scalars=scalars[0], end_scalars=scalars[1])
    if not problem.extras and not problem.teacher.is_moving:
        return trajectory
    teacher, extra = _unpacked(problem, starts, totals)
    end_teacher, end_extra = _unpacked(problem, starts, ends)
    blocks = trajectory.blocks
    if blocks is not None and states is not None:
        kept = _unpacked(problem, starts, states)
        blocks = blocks._replace(teacher=kept[0], extra=kept[1])
    return replace(
        trajectory,
        moving_teacher_overlap=None if teacher is None else teacher[:, :, 0],
        extra_overlap=None if extra is None else extra[:, :, 0],
        end_blocks=trajectory.end_blocks._replace(teacher=end_teacher, extra=end_extra),
        blocks=blocks,
    )


def _unpacked(problem: Problem, starts: Sequence[Overlaps], states: np.ndarray) -> list[np.ndarray | None]:
    """Moving teachers and extra rows (run, ..., block, ...), or None."""
    found = [unpack_rest(problem, start, one) for start, one in zip(starts, states, strict=True)]
    kept = [[part for part in parts if part is not None] for parts in zip(*found, strict=True)]
    return [np.stack(parts) if parts else None for parts in kept]
