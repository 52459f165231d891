"""What became of the replicas of a lane: curves with errors, how the run ended, and a trajectory of all lanes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.dynamics.kernel_data import RISK, WATCHED
from solvable.empirical_macro.marching import Marched
from solvable.empirical_macro.replicas import ReplicaMeans, average, disagreement, doubt, extrapolated, present, widened
from solvable.levels import Lane, Plan
from solvable.levels.observer import NODES, Observer
from solvable.results import Blocks, Ending, Trajectory
from solvable.results.building import Curves, Ends, build

FINE = 2**16  # nodes for the risk of the average where it has no closed form; replicas differ by the same few


@dataclass(frozen=True)
class LaneCurves:
    """Curves of a lane at the output times, NaN where it had ended, and its last state."""

    risk: np.ndarray  # (time,)
    risk_error: np.ndarray
    start_risk: float
    mean: ReplicaMeans  # at all steps
    outputs: np.ndarray  # steps
    reached: np.ndarray  # (time,) which of them are before the end
    ending: Ending
    end: int  # step
    correlation: np.ndarray | None  # (time, p, time, p)
    response: np.ndarray | None

    def at(self, curve: np.ndarray) -> np.ndarray:
        """A curve over all steps at the outputs that were reached."""
        found: np.ndarray = np.where(self.reached.reshape(-1, *[1] * (curve.ndim - 1)), curve[self.outputs], np.nan)
        return found


def outcome(lane: Lane, plan: Plan, passes: Sequence[Marched | None], widths: int, two_times: bool) -> LaneCurves:
    """Of all passes of a lane, replica by replica, each with so many widths of kinks."""
    made = [_none(lane, plan) if one is None else one for one in passes]
    outputs = plan.times.astype(int)
    groups = [made[i : i + widths] for i in range(0, len(made), widths)]
    every = [extrapolated(group) for group in groups]
    there_are = present(every, outputs[-1])
    replicas, groups = [every[i] for i in there_are], [groups[i] for i in there_are]
    mean = average(replicas, groups)
    stop = plan.stop if plan.stop is not None and plan.stop.quantity != "training_loss" else None
    rough = _Look(lane, replace(plan, stop=stop))
    look = rough if rough.observer.exact else _Look(lane, replace(plan, stop=stop), FINE)
    there = outputs[outputs < mean.reached]
    risks = np.full((len(replicas), outputs.size), np.nan)
    for row, one in zip(risks, replicas, strict=True):
        row[: there.size] = [rough(one, t)[0][RISK] for t in there]
    risk, own = np.full((2, outputs.size), np.nan)
    for i, t in enumerate(there):
        seen, own[i] = look(mean, t)
        risk[i] = seen[RISK]
    doubted = np.zeros_like(risk)
    if widths > 1:
        each = [[[rough(one, t)[0][RISK] for t in there] for one in passes] for passes in zip(*groups, strict=True)]
        doubted[: there.size] = doubt([np.mean(one, axis=0) for one in each])
    ending, end = _end(replicas, mean, risks[:, : there.size], there, outputs[-1])
    if ending is Ending.FINISHED and len(replicas) < len(every):
        ending = Ending.INTERRUPTED
    stopped = _stopped(plan, mean, look, end + (ending in (Ending.FINISHED, Ending.INTERRUPTED)))
    if stopped is not None:
        ending, end = Ending.STOPPED, stopped
    keep = (
        (outputs <= end)
        & (outputs < mean.reached)
        & ((outputs < end) | (ending not in (Ending.DISAGREED, Ending.DIVERGED)))
    )
    error = np.sqrt(widened(risks) ** 2 + own**2 + doubted**2)
    blank = np.where(keep, 0.0, np.nan)
    kernels = [_kernel(replicas, name, outputs, keep) if two_times else None for name in ("correlation", "response")]
    start_risk = float(look(mean, 0)[0][RISK]) if mean.reached else np.nan
    return LaneCurves(risk + blank, error + blank, start_risk, mean, outputs, keep, ending, end, *kernels)


class _Look:
    """Risk and what is watched of the states of a lane."""

    def __init__(self, lane: Lane, plan: Plan, nodes: int = NODES) -> None:
        self.observer = Observer(lane, plan, nodes)
        self.teachers = lane.start.block_teacher_overlap

    def __call__(self, found: Marched | ReplicaMeans, step: int) -> tuple[np.ndarray, float]:
        rows = np.concatenate([found.students[step], found.cross[step]], axis=2)
        return self.observer.see(np.concatenate([rows.ravel(), found.readout[step]]), float(step))


def _end(
    replicas: list[Marched], mean: ReplicaMeans, risks: np.ndarray, outputs: np.ndarray, last: int
) -> tuple[Ending, int]:
    """How a run ends but for thresholds, and at which step: where it is a failure, the first at which nothing is known."""
    apart = [disagreement(np.array([one.training_loss[: mean.reached] for one in replicas]))] if mean.reached else []
    found = disagreement(risks) if outputs.size else None
    apart.append(None if found is None else int(outputs[found]))
    first = min((one for one in apart if one is not None), default=None)
    if all(one.diverged for one in replicas):
        return Ending.DIVERGED, mean.reached if first is None else first
    if first is not None:
        return Ending.DISAGREED, first
    if any(one.diverged for one in replicas):
        return Ending.DISAGREED, mean.reached
    if mean.reached <= last:
        return Ending.INTERRUPTED, max(mean.reached - 1, 0)
    return Ending.FINISHED, int(last)


def _stopped(plan: Plan, mean: ReplicaMeans, look: _Look, before: int) -> int | None:
    """The first step, before this one, at which the threshold is passed."""
    stop = plan.stop
    if stop is None or not mean.reached:
        return None
    if stop.quantity == "training_loss":
        values, level, falls = mean.training_loss[:before], stop.level_for(float(mean.training_loss[0])), stop.falls
    else:
        values = np.array([look(mean, t)[0][WATCHED] for t in range(min(before, mean.reached))])
        level, falls = look.observer.level, look.observer.falls
    passed = np.flatnonzero(values <= level if falls else values >= level)
    return int(passed[0]) if passed.size else None


def _kernel(replicas: list[Marched], name: str, outputs: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """(time, p, time, p) of the outputs; NaN where either had ended."""
    p = replicas[0].students.shape[-1]
    kept = [getattr(one, name) for one in replicas]
    if any(one is None for one in kept):  # interrupted before it began
        return np.full((outputs.size, p, outputs.size, p), np.nan)
    found = np.mean([one[outputs][:, :, outputs] for one in kept], axis=0)
    found[~keep], found[:, :, ~keep] = np.nan, np.nan
    return np.asarray(found)


def _none(lane: Lane, plan: Plan) -> Marched:
    """A pass that was interrupted before it began."""
    times, start = int(plan.times[-1]) + 1, lane.start
    p = start.block_student_overlap.shape[-1]
    students, cross, readout, loss = (
        np.full((times, *shape), np.nan)
        for shape in (start.block_student_overlap.shape, start.block_cross_overlap.shape, (p,), ())
    )
    return Marched(students, cross, readout, loss, None, None, loss, 0, 0, False)


def trajectory(
    level: str, settings: dict[str, Any], lanes: list[Lane], plan: Plan, found: Sequence[LaneCurves], work: int
) -> Trajectory:
    """One run for each lane; `work` is what a step costs."""

    def curves(name: str) -> np.ndarray:
        return np.array([one.at(getattr(one.mean, name)) for one in found])

    students, cross = curves("students"), curves("cross")
    made = build(
        lanes[0].problem, level, settings, [lane.start for lane in lanes], np.array([one.start_risk for one in found]),
        Curves(
            alpha=plan.times, risk=np.array([one.risk for one in found]), student_overlap=students.sum(axis=2),
            cross_overlap=cross.sum(axis=2), readout=curves("readout"), risk_error=np.array([one.risk_error for one in found]),
            overlap_error=curves("overlap_error"), blocks=Blocks(students, cross) if plan.keep_blocks else None,
        ),
        _ends(lanes, found, work), stop=plan.stop,
    )  # fmt: skip
    kernels: dict[str, Any] = {
        name: None if getattr(found[0], name) is None else np.array([getattr(one, name) for one in found])
        for name in ("correlation", "response")
    }
    return replace(
        made, training_loss=curves("training_loss"), training_loss_error=curves("training_loss_error"),
        identity_residual=curves("residual"), base="steps", unit="steps", **kernels,
    )  # fmt: skip


def _ends(lanes: list[Lane], found: Sequence[LaneCurves], work: int) -> Ends:
    """The last state that is known of each run."""
    states = []
    for lane, one in zip(lanes, found, strict=True):
        known = one.end - (one.ending in (Ending.DISAGREED, Ending.DIVERGED))
        start = lane.start
        if 0 <= known < one.mean.reached:
            states.append((one.mean.students[known], one.mean.cross[known], one.mean.readout[known]))
        else:
            states.append(
                (
                    start.block_student_overlap,
                    start.block_cross_overlap,
                    np.array(start.readout, dtype=float).reshape(-1),
                )
            )
    students, cross, readout = (np.array(part) for part in zip(*states, strict=True))
    steps = np.array([one.end for one in found])
    endings = np.array([one.ending for one in found])
    return Ends(Blocks(students, cross), readout, endings, steps.astype(float), (steps * work).astype(np.int64))
