"""What becomes of a task while others are trained: how much of it is forgotten, and what it gains before its own turn."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.problems.tasks import first_sample, stretches
from solvable.results.quantities import CURVE, always, observable
from solvable.results.traits import traits_of

if TYPE_CHECKING:
    from solvable.problems import Problem
    from solvable.results.trajectory import Trajectory


@observable("run time task", "forgetting of a task", CURVE, written=always)
def forgetting(trajectory: Trajectory) -> np.ndarray:
    """(run, time, task) the risk of a task less that at the end of its own stretch, in which it was more probable than every
    other (the latest that has ended); NaN before. It needs outputs at these ends, which default outputs have. Stretches that
    ended before the run began are not known to it."""
    t, risks = trajectory, _risks("forgetting", trajectory)
    found, known = np.full(risks.shape, np.nan), stretches(t.problem.tasks)
    if not any(np.isfinite(end) for spans in known for _, end in spans):
        raise ValueError(
            "forgetting: no task stops being the most probable one, so that there is no risk to compare with; subtract one of "
            "your own choice from `task_risk`"
        )
    for task, spans in enumerate(known):
        for _, end in spans:
            if end <= t.alpha[-1] + _slack(t, end):
                i = _output(t, task, end)
                found[:, i:, task] = risks[:, i:, task] - risks[:, i, None, task]
    return found


@observable("run time task", "head start of a task", CURVE, written=always)
def head_start(trajectory: Trajectory) -> np.ndarray:
    """(run, time, task) by how much the risk of a task has fallen since the start of the run, until the first sample of this
    task comes: what learning other tasks does for it. NaN after that. It needs an output at time zero. In a run of
    `problem.later` this also counts for tasks that were trained before it: what they lose shows as a negative head start."""
    t, risks = trajectory, _risks("head_start", trajectory)
    if t.alpha[0] != 0:
        raise ValueError(f"head_start: the first output is at {t.time[0]:.6g}, must be at 0; ask for it by `times`")
    found = np.full(risks.shape, np.nan)
    for task, one in enumerate(t.problem.tasks):
        begin = first_sample(one)
        before = t.alpha <= begin + _slack(t, begin)
        found[:, before, task] = risks[:, :1, task] - risks[:, before, task]
    return found


def check_outputs(problem: Problem, times: np.ndarray) -> None:
    """Raise unless there are outputs (steps/dim) at the ends of all stretches of tasks until the last one."""
    ends = [(task, end) for task, spans in enumerate(stretches(problem.tasks)) for _, end in spans if end <= times[-1]]
    for task, end in ends:
        if np.abs(times - end).min() > 1e-9 * max(1.0, end):
            raise ValueError(
                f"keep: 'forgetting' given, but task {task} ends at {end!r} (steps/dim), which is none of `times`; add it, or "
                f"give `until` alone"
            )


def _risks(who: str, trajectory: Trajectory) -> np.ndarray:
    if trajectory.task_risk is None:
        raise ValueError(f"{who}: the problem has no tasks; describe them with `tasks`, as `Task.sequence` makes them")
    return trajectory.task_risk


def _output(trajectory: Trajectory, task: int, alpha: float) -> int:
    """The number of the output at this time."""
    i = int(np.argmin(np.abs(trajectory.alpha - alpha)))
    if not abs(trajectory.alpha[i] - alpha) <= _slack(trajectory, alpha):
        then = trajectory.clock.from_alpha(alpha)
        raise ValueError(
            f"forgetting: task {task} ends at {float(then)!r}, which is no output time; ask for it by `times`, or leave them out"
        )
    return i


def _slack(trajectory: Trajectory, alpha: float) -> float:
    """How far from this time an output may be that was asked for then: half a step, but for the limit, which has none."""
    dim = trajectory.problem.inputs.dim
    half = 0.0 if dim is None or traits_of(trajectory).solves_equations else 0.5 / dim
    return half + 1e-9 * max(1.0, alpha) if np.isfinite(alpha) else 0.0
