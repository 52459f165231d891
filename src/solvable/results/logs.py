"""Weight logs of any training as a trajectory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.overlaps import Overlaps, as_array, measure
from solvable.problems import Problem
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def from_weights(
    problem: Problem,
    weights: Any,
    teacher_weights: Any,
    times: Any,
    readout: Any,
    clock: str,
    plain: bool,
    basis: Any,
    directions: Any = None,
    velocities: Any = None,
) -> Trajectory:
    """See `Trajectory.from_weights`."""
    from solvable.results.building import Curves, Ends, build

    dim = problem.inputs.dim
    if dim is None:
        raise ValueError(
            "inputs.dim: infinite, but weights have finitely many coordinates; give the problem their number"
        )
    scale = np.sqrt(dim) if plain else 1.0
    W, B, time = (
        scale * as_array(weights),
        _teachers(problem, scale, teacher_weights),
        np.atleast_1d(np.asarray(times, dtype=float)),
    )
    W = W[None] if W.ndim == 3 else W
    if W.ndim != 4 or W.shape[1] != time.size:
        raise ValueError(
            f"weights: shape {W.shape} given for {time.size} times, must be (time, p, dim) or (run, time, p, dim)"
        )
    if W.shape[2:] != (problem.student.width, dim):
        raise ValueError(f"weights: {W.shape[2:]} at each time, must be {(problem.student.width, dim)}")
    if problem.training.train_readout and readout is None:
        raise ValueError("readout: is missing; the problem trains it, so give its log (time, p)")
    if not np.isfinite(time).all() or time[0] < 0 or (np.diff(time) <= 0).any():
        raise ValueError(
            f"times: must be finite, not negative and increasing, got {np.array2string(time, threshold=6)}"
        )
    if not np.isfinite(W).all():
        run, step = np.argwhere(~np.isfinite(W).all(axis=(2, 3)))[0]
        raise ValueError(
            f"weights: not finite in run {run} from entry {step} on (training diverged); give the entries before"
        )
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import risks

    values = problem.readout_values
    a = np.broadcast_to(values if readout is None else as_array(readout), (*W.shape[:2], *values.shape))
    B = np.broadcast_to(B, (*W.shape[:2], *B.shape[-2:]))
    alpha = Clock(problem, clock).to_alpha(time)
    more = _following(problem, W, alpha, scale, velocities)
    states = [
        [
            measure(problem, w, b, k, basis, directions=directions, **{name: rows[i, j] for name, rows in more.items()})
            for j, (w, b, k) in enumerate(zip(run, bs, ks, strict=True))
        ]
        for i, (run, bs, ks) in enumerate(zip(W, B, a, strict=True))
    ]
    risk, error = np.array([risks(problem, run, alpha, NODES) for run in states]).swapaxes(0, 1)
    student = np.array([[one.block_student_overlap for one in run] for run in states])
    cross = np.array([[one.block_cross_overlap for one in run] for run in states])
    rest = _rest(problem, states)
    blocks = Blocks(student, cross, *rest)
    curves = Curves(
        alpha,
        risk,
        student.sum(axis=2),
        cross.sum(axis=2),
        np.array(a),
        risk_error=error,
        blocks=blocks,
        moving_teacher_overlap=None if rest[0] is None else rest[0].sum(axis=2),
        extra_overlap=None if rest[1] is None else rest[1].sum(axis=2),
    )
    runs = len(states)
    ends = Ends(
        blocks.pick(slice(None), -1),
        np.array(a[:, -1]),
        np.full(runs, Ending.FINISHED),
        np.full(runs, alpha[-1]),
        np.zeros(runs, dtype=np.int64),
    )
    built = build(problem, "weights", {"plain": plain}, [run[0] for run in states], risk[:, 0], curves, ends)
    scalars = np.array([[one.scalars for one in run] for run in states]) if problem.scalars else None
    ended = None if scalars is None else scalars[:, -1]
    return replace(built, unit=clock, scalars=scalars, end_scalars=ended)


def _following(
    problem: Problem, W: np.ndarray, alpha: np.ndarray, scale: float, velocities: Any
) -> dict[str, np.ndarray]:
    """(run, time, p, dim) rows that follow from a log of weights: anchors and snapshots from entries of it, velocities as given. An
    average is refused: it needs all steps."""
    found, roles = {}, problem.extras
    if "average" in roles:
        raise ValueError("training.average: given, but a log does not hold every step; average the weights themselves")
    if "anchor" in roles:
        found["anchors"] = np.broadcast_to(W[:, :1], W.shape)
    if "snapshot" in roles:
        taken = max(int(np.searchsorted(alpha, problem.training.snapshot or 0.0, side="right")) - 1, 0)
        found["snapshots"] = W[:, np.minimum(np.arange(alpha.size), taken)]
    if "velocity" in roles and velocities is None:
        raise ValueError("velocities: are missing; the problem has momentum, so give their log (time, p, dim)")
    if velocities is not None:
        given = scale * as_array(velocities)
        found["velocities"] = given[None] if given.ndim == 3 else given
        if found["velocities"].shape != W.shape:
            raise ValueError(f"velocities: shape {given.shape} given, must be that of the weights")
    return found


def _teachers(problem: Problem, scale: float, given: Any) -> np.ndarray:
    """(p*, dim), or (..., time, p*, dim) where teachers move."""
    if given is None:
        return np.zeros((0, problem.inputs.dim or 0))
    B = scale * as_array(given)
    if B.ndim != 2 and not (problem.teacher.is_moving and B.ndim in (3, 4)):
        raise ValueError(
            f"teacher_weights: shape {B.shape} given, must be (p*, dim), or (time, p*, dim) if teachers move"
        )
    return B


def _rest(problem: Problem, states: list[list[Overlaps]]) -> tuple[np.ndarray | None, np.ndarray | None]:
    """(run, time, block, ...) overlaps of moving teachers, and of extra rows."""
    teacher = np.array([[one.block_teacher_overlap for one in run] for run in states])
    extra = np.array([[one.block_extra_overlap for one in run] for run in states])
    return teacher if problem.teacher.is_moving else None, extra if problem.extras else None
