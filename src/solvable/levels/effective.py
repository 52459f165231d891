"""Fast velocities in the limit of many dimensions: momentum beta is plain SGD at the effective rate learning_rate/(1 - beta)."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from solvable.levels.plan import Lane
from solvable.overlaps import fitted
from solvable.problems import effective, is_fast
from solvable.results import Trajectory


def effective_lanes(lanes: list[Lane]) -> list[Lane]:
    """Lanes of the effective problems; the same where there are no fast velocities."""
    if not is_fast(lanes[0].problem):
        return lanes
    found = []
    for lane in lanes:
        problem = effective(lane.problem)
        found.append(Lane(problem, fitted(problem, lane.start), lane.weights))
    return found


def as_asked(trajectory: Trajectory, lanes: Sequence[Lane]) -> Trajectory:
    """What effective lanes came to as a trajectory of the lanes that were asked for: their velocities are zero."""
    problem = lanes[0].problem
    n, roles = problem.student.width + problem.teacher.width, np.array(problem.extras, dtype=object)
    kept = np.concatenate([np.ones(n, dtype=bool), roles != "velocity"])

    def widened(extra: np.ndarray | None, like: np.ndarray) -> np.ndarray:
        made = np.zeros((*like.shape[:-2], roles.size, kept.size))
        made[~np.isfinite(like).all(axis=(-1, -2))] = np.nan
        if extra is not None:
            rows, columns = np.flatnonzero(kept[n:]), np.flatnonzero(kept)
            made[..., rows[:, None], columns] = extra
        return made

    blocks, ends = trajectory.blocks, trajectory.end_blocks
    each = len(trajectory.risk) // len(lanes)
    still = np.array([role == "readout_velocity" for role in problem.scalars], dtype=bool)

    def completed(scalars: np.ndarray | None, like: np.ndarray) -> np.ndarray | None:
        if not problem.scalars:
            return None
        made = np.zeros((*like.shape, still.size))
        made[~np.isfinite(like)] = np.nan
        if scalars is not None:
            made[..., ~still] = scalars
        return made

    return replace(
        trajectory,
        problem=problem,
        start_hash=np.repeat(np.array([lane.start.hash for lane in lanes], dtype=object), each),
        extra_overlap=widened(trajectory.extra_overlap, trajectory.student_overlap),
        end_blocks=ends._replace(extra=widened(ends.extra, ends.student)),
        blocks=None if blocks is None else blocks._replace(extra=widened(blocks.extra, blocks.student)),
        scalars=completed(trajectory.scalars, trajectory.risk),
        end_scalars=completed(trajectory.end_scalars, np.zeros(len(trajectory.risk))),
    )
