"""Learning curves that jump where the mix of tasks does: what is read between outputs stays on one side of a jump.

An output at a jump has the risk of the mix that begins there. The risks of the single tasks do not jump, and those of a mix are
their averages, so that they tell the risk just before it as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.problems.schedules import value_at
from solvable.problems.tasks import before, jumps
from solvable.results import observables

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory

SMALLEST = 1e-300  # risk, for its logarithm


class Stretch(NamedTuple):
    """Times, in the unit of the trajectory's clock, and risks (run, time) from one jump to the next."""

    time: np.ndarray
    risk: np.ndarray


def pieces(trajectory: Trajectory) -> list[Stretch]:
    """The curve between jumps, each piece with the risks at both of its ends."""
    t, tasks = trajectory, trajectory.problem.tasks
    if t.task_risk is None:
        return [Stretch(t.time, t.risk)]
    found, last = [], t.alpha[0] - 1.0
    begin: tuple[np.ndarray, np.ndarray] | None = None
    for jump in [time for time in jumps(tasks) if t.alpha[0] < time <= t.alpha[-1]]:
        risks = _task_risks(t, jump)
        left = risks @ np.array([before(task.probability, jump) for task in tasks])
        right = risks @ np.array([value_at(task.probability, jump) for task in tasks], dtype=float)
        inside = (t.alpha > last) & (t.alpha < jump * (1 - 1e-9))
        found.append(_piece(t, inside, begin, (np.array([jump]), left)))
        begin, last = (np.array([jump]), right), jump * (1 + 1e-9)
    return [*found, _piece(t, t.alpha > last, begin, None)]


def _piece(
    t: Trajectory, inside: np.ndarray, begin: tuple[np.ndarray, np.ndarray] | None, end: tuple[np.ndarray, np.ndarray] | None
) -> Stretch:  # fmt: skip
    parts = [begin, (t.alpha[inside], t.risk[:, inside]), end]
    there = [(time, risk.reshape(len(t.risk), -1)) for time, risk in (part for part in parts if part is not None)]
    return Stretch(
        t.clock.from_alpha(np.concatenate([time for time, _ in there])), np.hstack([risk for _, risk in there])
    )


def _task_risks(t: Trajectory, alpha: float) -> np.ndarray:
    """(run, task) risks at a time, between outputs by straight lines in log."""
    assert t.task_risk is not None
    i = int(np.clip(np.searchsorted(t.alpha, alpha * (1 - 1e-9)), 1, len(t.alpha) - 1))
    share = min(1.0, (alpha - t.alpha[i - 1]) / (t.alpha[i] - t.alpha[i - 1]))
    if share > 1 - 1e-9:
        return t.task_risk[:, i]
    logs = np.log(np.maximum(t.task_risk[:, i - 1 : i + 1], SMALLEST))
    found: np.ndarray = np.exp((1 - share) * logs[:, 0] + share * logs[:, 1])
    return found


def crossing_times(trajectory: Trajectory, levels: np.ndarray) -> np.ndarray:
    """(run,) first times at which the risk has fallen to the level of each run; NaN where it has not."""
    parts = pieces(trajectory)
    time, risks = np.concatenate([part.time for part in parts]), np.hstack([part.risk for part in parts])
    pairs = zip(risks, levels, strict=True)
    return np.array([observables.crossing_time(time, risk, level) for risk, level in pairs])


def plateaus(trajectory: Trajectory, run: int, flatness: float, floor: float) -> list[observables.FlatSpan]:
    """See `Trajectory.plateaus`: those of every piece."""
    return [
        one
        for part in pieces(trajectory)
        for one in observables.plateaus(part.time, part.risk[run], flatness=flatness, floor=floor)
    ]


def phases(
    trajectory: Trajectory, run: int, found: list[observables.FlatSpan], is_norms: Callable[[float, float], bool]
) -> list[observables.Phase]:
    """See `Trajectory.phases`: those of every piece."""
    last, parts = float(trajectory.end_time[run]), pieces(trajectory)
    spans = []
    for i, part in enumerate(parts):
        begin = 0.0 if i == 0 else float(part.time[0])
        end = last if i == len(parts) - 1 else min(last, float(part.time[-1]))
        inside = [one for one in found if begin <= one.start < end]
        spans += observables.phases(part.time, part.risk[run], inside, end, is_norms, begin)
    return spans
