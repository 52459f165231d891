"""Slopes of learning curves at their outputs, from the equations of motion rather than from differences of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory
from solvable.results.traits import traits_of

NODES = 1024  # of averages without closed form: slopes need no more
SHIFT = 1e-5  # of the largest component: how far a state moves along its slope, for differences of the risk


def log_slopes(trajectory: Trajectory, run: int) -> np.ndarray | None:
    """(time,) d log(risk) / d time of a run of Macro, in the unit of its clock; NaN where there is no output.

    None where the outputs are no states of the equations: for other levels, several blocks that were not kept, problems with
    features, and functions that only Python can call.
    """
    t, problem = trajectory, trajectory.problem
    kept = problem.inputs.blocks == 1 or t.blocks is not None
    reached = np.flatnonzero(np.isfinite(t.risk[run]) & (t.risk[run] > 0))
    fields = problem.student.width + problem.teacher.width
    if (
        not traits_of(t).solves_equations
        or not kept
        or problem.features
        or problem.inputs.is_scheduled
        or not reached.size
    ):
        return None
    from solvable.dynamics.exactness import is_closed
    from solvable.dynamics.kernel_choice import system
    from solvable.dynamics.kernel_data import RISK, SEEN, pack

    if not is_closed(problem) and 16 * (fields + 1) > NODES:
        return None
    if "learning_rate" in t.labels:
        problem = problem.replace(training__learning_rate=float(t.labels["learning_rate"][run]))
    per_alpha = _time_per_alpha(t)
    first = t.at(float(t.time[reached[0]]), run)
    one = system(problem, pack(problem, first, noise=not t.settings["small_rate"]), NODES, moments=False)
    if not one.compiled or not (per_alpha > 0).all():
        return None
    data, seen, slopes = one.data(), np.empty((2, SEEN)), np.full(t.alpha.size, np.nan)
    segments = np.searchsorted(one.packed.problems["begin"], t.alpha, side="right") - 1
    student, cross = (t.student_overlap[run, :, None], t.cross_overlap[run, :, None]) if t.blocks is None else (
        t.blocks.student[run], t.blocks.cross[run]
    )  # fmt: skip
    rows = np.concatenate([student, cross], axis=-1).reshape(len(t.alpha), -1)
    states = np.concatenate([rows, t.readout[run].reshape(len(t.alpha), -1)], axis=1)
    move = np.empty(states.shape[1])
    for i in reached.tolist():
        at = int(segments[i]), float(t.alpha[i])
        one.rhs(*at, states[i], move, *data)
        fastest = np.abs(move).max()
        shift = SHIFT * np.abs(states[i]).max() / fastest if fastest > 0 else 1.0
        for sign, row in zip((-1.0, 1.0), seen, strict=True):
            one.observe(*at, states[i] + sign * shift * move, row, *data)
        slopes[i] = (seen[1, RISK] - seen[0, RISK]) / (2 * shift * t.risk[run, i] * per_alpha[i])
    return slopes if np.isfinite(slopes[reached]).all() else None


def _time_per_alpha(t: Trajectory) -> np.ndarray:
    """(time,) how much of the clock's time passes in a unit of steps/dim."""
    step = 1e-6 * max(float(t.alpha[-1]), 1e-300)
    before = np.maximum(t.alpha - step, 0.0)
    passed: np.ndarray = (t.clock.from_alpha(t.alpha + step) - t.clock.from_alpha(before)) / (t.alpha + step - before)
    return passed
