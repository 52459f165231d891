"""One verb for every level."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, check_start
from solvable.problems import Problem, Schedule
from solvable.results.clock import Clock
from solvable.results.plan import Lane, Level, Plan, Threshold
from solvable.results.trajectory import Trajectory

OUTPUTS = 201


def run(
    problem: Problem,
    start: Overlaps,
    level: Level,
    until: float | None = None,
    *,
    times: Any = None,
    clock: str = "alpha",
    stop: Threshold | None = None,
    keep_blocks: bool = False,
) -> Trajectory:
    """Follow `problem` from `start` on a level of description.

    `until` is the end and `times` the outputs (default: 201 equally spaced), both in the unit of `clock`: "alpha"
    (steps/dim), "steps", "rate" or a paper's key. `stop=when(...)` ends the run at a threshold. `keep_blocks` keeps the
    overlaps of the single blocks at all times, not only at the end.
    """
    check_start(problem, start)
    plan = Plan(output_times(Clock(problem, clock), until, times), stop, keep_blocks)
    return replace(level.solve([Lane(problem, start)], plan), unit=clock)


def run_batch(
    problem: Problem,
    starts: Overlaps | Sequence[Overlaps],
    level: Level,
    until: float | None = None,
    *,
    learning_rates: Iterable[float | Schedule] | None = None,
    times: Any = None,
    clock: str = "alpha",
    stop: Threshold | None = None,
    keep_blocks: bool = False,
) -> Trajectory:
    """`run` for every learning rate from every start, in parallel on all cores, as one trajectory with many runs.

    Runs are ordered by rate, then start; `labels` has the start's number and the rate of each. With several rates the
    clock must be "alpha" or "steps", which all runs share.
    """
    starts = [starts] if isinstance(starts, Overlaps) else list(starts)
    rates = [problem.training.learning_rate] if learning_rates is None else list(learning_rates)
    if not starts or not rates:
        raise ValueError("run_batch: needs at least one start and one learning rate")
    if len(rates) > 1 and clock not in ("alpha", "steps"):
        raise ValueError(f"clock: {clock!r} runs differently for each learning rate; use 'alpha' or 'steps'")
    for one in starts:
        check_start(problem, one)
    problems = [problem.replace(training__learning_rate=rate) for rate in rates]
    plan = Plan(output_times(Clock(problems[0], clock), until, times), stop, keep_blocks)
    lanes = [Lane(one, first) for one in problems for first in starts]
    labels = {"start": np.tile(np.arange(len(starts)), len(rates))}
    if all(isinstance(rate, int | float) for rate in rates):
        labels["learning_rate"] = np.repeat(np.array(rates, dtype=float), len(starts))
    else:
        labels["schedule"] = np.repeat(np.arange(len(rates)), len(starts))
    result = level.solve(lanes, plan)
    return replace(result, problem=problem if learning_rates is None else problems[0], unit=clock, labels=labels)


def output_times(clock: Clock, until: float | None, times: Any) -> np.ndarray:
    """Output times in steps/dim, checked."""
    if times is None:
        if until is None:
            raise ValueError("run: give `until` or `times`")
        if not (np.isfinite(until) and until > 0):
            raise ValueError(f"until: {until} given, must be a positive finite time")
        times = np.linspace(0.0, until, OUTPUTS)
    times = np.atleast_1d(np.asarray(times, dtype=float))
    if (
        times.ndim != 1
        or times.size == 0
        or not np.isfinite(times).all()
        or times[0] < 0
        or (np.diff(times) <= 0).any()
    ):
        raise ValueError("times: must be finite, not negative and increasing")
    if until is not None and times[-1] > until:
        raise ValueError(f"times: the last, {times[-1]}, is past until={until}")
    if until is not None and times[-1] < until:
        times = np.append(times, until)
    return clock.to_alpha(times)
