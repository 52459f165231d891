"""Weight logs of any training as a trajectory."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.overlaps import as_array, measure
from solvable.problems import Problem
from solvable.results.clock import Clock
from solvable.results.ending import Ending

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def from_weights(
    problem: Problem, weights: Any, teacher_weights: Any, times: Any, readout: Any, clock: str, plain: bool, basis: Any
) -> Trajectory:
    """See `Trajectory.from_weights`."""
    from solvable.results.building import Curves, Ends, build
    from solvable.results.trajectory import Blocks

    dim = problem.inputs.dim
    if dim is None:
        raise ValueError(
            "inputs.dim: infinite, but weights have finitely many coordinates; give the problem their number"
        )
    scale = np.sqrt(dim) if plain else 1.0
    W, B, time = (
        scale * as_array(weights),
        scale * as_array(teacher_weights),
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

    a = np.broadcast_to(problem.student.readout_values if readout is None else as_array(readout), W.shape[:3])
    states = [
        [measure(problem, w, B, k, basis) for w, k in zip(run, ks, strict=True)] for run, ks in zip(W, a, strict=True)
    ]
    alpha = Clock(problem, clock).to_alpha(time)
    risk, error = np.array([risks(problem, run, alpha, NODES) for run in states]).swapaxes(0, 1)
    student = np.array([[one.block_student_overlap for one in run] for run in states])
    cross = np.array([[one.block_cross_overlap for one in run] for run in states])
    curves = Curves(
        alpha,
        risk,
        student.sum(axis=2),
        cross.sum(axis=2),
        np.array(a),
        risk_error=error,
        blocks=Blocks(student, cross),
    )
    runs = len(states)
    ends = Ends(
        Blocks(student[:, -1], cross[:, -1]),
        np.array(a[:, -1]),
        np.full(runs, Ending.FINISHED),
        np.full(runs, alpha[-1]),
        np.zeros(runs, dtype=np.int64),
    )
    built = build(problem, "weights", {"plain": plain}, [run[0] for run in states], risk[:, 0], curves, ends)
    return replace(built, unit=clock)
