"""The functions `run` and `run_batch`, which follow a problem on any level."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from solvable.levels.effective import as_asked, effective_lanes
from solvable.levels.plan import Lane, Plan
from solvable.levels.protocol import Level
from solvable.levels.slips import telling
from solvable.numerics.progress import meter
from solvable.overlaps import Overlaps, Weights, check_start, fitted, hearing
from solvable.problems import Problem, Schedule
from solvable.problems.own_functions import check_unchanged
from solvable.problems.tasks import turns
from solvable.results.clock import Clock
from solvable.results.threshold import FUNCTION, Threshold
from solvable.results.trajectory import Trajectory

OUTPUTS = 201


@telling
def run(
    problem: Problem,
    start: Overlaps | Weights,
    level: Level,
    until: float | None = None,
    *,
    times: Any = None,
    clock: str | None = None,
    stop: Threshold | None = None,
    keep_blocks: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """Follow the learning of a problem from a start, on a level of description.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps or Weights
        The state at time zero, as from `start` or `measure`.
    level : Level
        `Macro()`, `Meso()`, `Micro()`, `Empirical()` or `EmpiricalMacro()`.
    until : float, optional
        End of the run in the unit of `clock`. Give `until`, `times` or both.
    times : array, optional
        Output times in the unit of `clock`; left out, 201 equally spaced ones, and where the stretches of tasks end.
    clock : str, optional
        "alpha" (steps/dim), "steps", "rate", "epochs" or a paper's key; left out, the level's own: "alpha"; "steps" on a
        data set.
    stop : Threshold, optional
        Where to stop earlier, from `when`.
    keep_blocks : bool
        Keep the overlaps of single blocks at all times, not only at the end.
    progress : bool, optional
        Whether to show a bar where a level takes long; left out: on terminals and in notebooks.

    Returns
    -------
    Trajectory
        Risk, overlaps and readouts at the output times, for one or more runs.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> found = sv.run(problem, start, sv.Macro(), until=100, stop=sv.when("risk", below=0.5, relative=True))
    >>> found.message
    'reached the threshold of `stop` (at α = steps / dim: 13.1038)'
    """
    _check_arguments(problem, [start], level, stop)
    counted = clock_of(level, problem, clock)
    plan = Plan(output_times(counted, until, times), stop, keep_blocks)
    lanes = [_lane(problem, start)]
    result = _solve(level, lanes, plan, progress)
    return result if result.unit == counted.unit else replace(result, unit=counted.unit)


def clock_of(level: Level, problem: Problem, unit: str | None = None) -> Clock:
    """The clock of a run: `unit`, or the level's own, over the time that the level counts in on this problem."""
    own = level.own_clock(problem)
    return Clock(problem, unit or own.unit, own.base)


@telling
def run_batch(
    problem: Problem,
    starts: Overlaps | Weights | Sequence[Overlaps | Weights],
    level: Level,
    until: float | None = None,
    *,
    learning_rates: Iterable[float | Schedule] | None = None,
    times: Any = None,
    clock: str | None = None,
    stop: Threshold | None = None,
    keep_blocks: bool = False,
    progress: bool | None = None,
) -> Trajectory:
    """`run` for every learning rate from every start, in parallel on all cores.

    Parameters
    ----------
    problem : Problem
        What is learned.
    starts : Overlaps, Weights or a list of them
        States at time zero.
    level, until, times, clock, stop, keep_blocks, progress
        As in `run`. With several learning rates the clock must be "alpha" or "steps", which all runs share.
    learning_rates : list of float or Schedule, optional
        Learning rates, step x dim for training on a data set; left out, the problem's own.

    Returns
    -------
    Trajectory
        One trajectory with all runs, ordered by rate, then start. `labels` has each run's start number and learning
        rate.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> starts = [sv.start(problem, seed=seed) for seed in range(3)]
    >>> found = sv.levels.run_batch(problem, starts, sv.Macro(), until=10, learning_rates=[0.1, 0.2])
    >>> found.risk.shape, found.labels["learning_rate"].tolist()
    ((6, 201), [0.1, 0.1, 0.1, 0.2, 0.2, 0.2])
    """
    starts = [starts] if isinstance(starts, Overlaps | Weights) else list(starts)
    if isinstance(learning_rates, int | float | Schedule):
        learning_rates = [learning_rates]
    own = problem.training.step if problem.training.learning_rate is None else problem.training.learning_rate
    rates = [own] if learning_rates is None else [_plain(rate) for rate in learning_rates]
    if isinstance(problem.training.learning_rate, Schedule) and not all(isinstance(rate, Schedule) for rate in rates):
        raise ValueError(
            "learning_rates: numbers given, but the problem has a schedule, which they would replace; give schedules, or a problem "
            "with a constant training.learning_rate"
        )
    if not starts or not rates:
        raise ValueError("run_batch: needs at least one start and one learning rate")
    _check_arguments(problem, starts, level, stop)
    problems = [problem]
    if learning_rates is not None:
        problems = [problem.replace(training__learning_rate=rate) for rate in rates]
    counted = clock_of(level, problems[0], clock)
    if len(rates) > 1 and counted.unit not in ("alpha", "steps", "epochs"):
        raise ValueError(f"clock: {counted.unit!r} runs differently for each learning rate; use 'alpha' or 'steps'")
    plan = Plan(output_times(counted, until, times), stop, keep_blocks)
    lanes = [_lane(one, first) for one in problems for first in starts]
    result = _solve(level, lanes, plan, progress)
    labels = {"start": np.tile(np.arange(len(starts)), len(rates))}
    if all(isinstance(rate, float) for rate in rates):
        labels["learning_rate"] = np.repeat(np.array(rates), len(starts))
    else:
        texts = [one.training.schedule.model_dump_json() for one in problems]
        labels["schedule"] = np.repeat(np.array(texts, dtype=object), len(starts))
    each = len(result.risk) // len(lanes)  # a level may run every lane several times
    labels = {name: np.repeat(values, each) for name, values in labels.items()}
    return replace(result, problem=problems[0], unit=counted.unit, labels=labels)


def _lane(problem: Problem, start: Overlaps | Weights) -> Lane:
    return hearing(problem, _checked_lane)(problem, start)


def _checked_lane(problem: Problem, start: Overlaps | Weights) -> Lane:
    measured, weights = (start, None) if isinstance(start, Overlaps) else (start.overlaps(problem), start)
    measured = fitted(problem, measured)
    check_start(problem, measured)
    return Lane(problem, measured, weights)


def _solve(level: Level, lanes: list[Lane], plan: Plan, progress: bool | None) -> Trajectory:
    asked, lanes = lanes, lanes if level.traits.keeps_velocities else effective_lanes(lanes)
    hearing(lanes[0].problem, level.check)(lanes)
    with meter(progress, level.traits.counts) as report:
        solved: Trajectory = level.solve(lanes, replace(plan, report=report))
    return solved if lanes is asked else as_asked(solved, asked)


def _plain(rate: Any) -> float | Schedule:
    return rate if isinstance(rate, Schedule) else float(rate)


def _check_arguments(problem: Any, starts: Sequence[Any], level: Any, stop: Any) -> None:
    """Slips that would otherwise surface far from their cause."""
    if not isinstance(problem, Problem):
        raise TypeError(f"run: the first argument must be a Problem, not {_kind(problem)}")
    check_unchanged(problem)
    check_level(level, stop)
    if not level.domain.samples:
        samples = problem.training.samples
        if samples is not None:
            raise ValueError(
                f"training.samples: {samples} given, but {type(level).__name__} sees every sample once; "
                f"use Empirical (in the limit of many dimensions EmpiricalMacro), or leave it out"
            )
        if stop is not None and stop.quantity == "training_loss":
            raise ValueError(f"stop: {type(level).__name__} has no training loss; it sees every sample once")
    level.domain.require(problem, type(level).__name__)
    if stop is not None and stop.quantity == FUNCTION and not level.traits.watches_functions:
        raise ValueError(
            f"stop: a function given, but {type(level).__name__} watches named quantities only; Macro does"
        )
    if stop is not None and stop.entry is not None:
        _check_entry(problem, stop)
    for start in starts:
        if not isinstance(start, Overlaps | Weights):
            raise TypeError(f"run: a start must be Overlaps, as from start(...), or Weights, not {_kind(start)}")


def check_level(level: Any, stop: Any) -> None:
    if isinstance(level, type) or not hasattr(level, "solve"):
        hint = f"; write {level.__name__}()" if isinstance(level, type) else ", for example Macro()"
        raise TypeError(f"run: the third argument must be a level, not {_kind(level)}{hint}")
    if lacking := [name for name in vars(Level) if not name.startswith("_") and not hasattr(level, name)]:
        raise TypeError(f"run: {type(level).__name__} is no levels.Level, it lacks {', '.join(lacking)}")
    if stop is not None and not isinstance(stop, Threshold):
        raise TypeError(f"stop: must come from when(...), not {_kind(stop)}")


def _kind(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def output_times(clock: Clock, until: float | None, times: Any) -> np.ndarray:
    """Output times in steps/dim, checked."""
    if times is None:
        if until is None:
            raise ValueError("run: give `until` or `times`")
        _check_until(until)
        return _with_turns(clock.to_alpha(np.linspace(0.0, until, OUTPUTS)), clock.problem)
    try:
        times = np.atleast_1d(np.asarray(times, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"times: {times!r} given, must be numbers") from None
    if until is not None:
        _check_until(until)
    if (
        times.ndim != 1
        or times.size == 0
        or not np.isfinite(times).all()
        or times[0] < 0
        or (np.diff(times) <= 0).any()
    ):
        raise ValueError(
            f"times: must be finite, not negative and increasing, got {np.array2string(times, threshold=6)}"
        )
    if until is not None and times[-1] > until:
        raise ValueError(f"times: the last, {times[-1]}, is past until={until}")
    if until is not None and times[-1] < until:
        times = np.append(times, until)
    return clock.to_alpha(times)


def _with_turns(alpha: np.ndarray, problem: Problem) -> np.ndarray:
    """Output times and, where there are tasks, those at which their stretches end, which `forgetting` looks at."""
    ends = np.array([time for time in turns(problem.tasks) if alpha[0] < time < alpha[-1] * (1 - 1e-9)])
    if not ends.size:
        return alpha
    near = np.abs(alpha[:, None] - ends).min(axis=1) <= 1e-9 * np.maximum(1.0, alpha)
    return np.unique(np.concatenate([alpha[~near], ends]))


def _check_entry(problem: Problem, stop: Threshold) -> None:
    entry, p, heads = stop.entry or (), problem.student.width, problem.heads
    sizes: tuple[int, ...] = (p, problem.teacher.width if stop.quantity == "cross_overlap" else p)
    if stop.quantity == "readout":
        sizes = (heads, p) if heads > 1 else (p,)
        if len(entry) != len(sizes):
            wanted = "(head, student)" if heads > 1 else "student"
            raise ValueError(
                f"stop: entry {entry} of 'readout' given, must be {wanted} with {heads} head{'s' * (heads > 1)}"
            )
    if any(i >= size for i, size in zip(entry, sizes, strict=False)):
        raise ValueError(f"stop: entry {entry} of {stop.quantity!r} given, but there are {sizes[: len(entry)]}")


def _check_until(until: Any) -> None:
    if (
        isinstance(until, bool)
        or not isinstance(until, int | float | np.number)
        or not (np.isfinite(until) and until > 0)
    ):
        raise ValueError(f"until: {until!r} given, must be a positive finite time")
