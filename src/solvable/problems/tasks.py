"""Several tasks of one teacher: which of them samples belong to, and when."""

from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from solvable.problems.model import Array, InvalidProblem, Model, Plain
from solvable.problems.training import Schedule, later, value_at

Probability = Annotated[float, Plain, Field(ge=0, le=1)] | Schedule


class Task(Model):
    """One of several tasks: labels sum_l readout_l g(z_l) of the problem's teachers.

    Parameters
    ----------
    readout : array
        (teacher,) with zeros for the teachers that this task does not ask about.
    probability : float or Schedule
        That a sample belongs to the task; those of all tasks sum to one at all times.
    head : int, optional
        Number of the students' readout that answers; left out, one for each task in their order. Equal numbers share it.

    Examples
    --------
    >>> first, second = sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], switches=[50.0], replay=0.1)
    >>> first.probability.rates
    (1.0, 0.1)
    """

    readout: Annotated[Array, Field(min_length=1)]
    probability: Probability
    head: Annotated[int, Plain, Field(ge=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Task":
        if isinstance(self.probability, Schedule) and max(self.probability.rates) > 1:
            raise ValueError(f"probability: must be at most 1, got {self.probability.rates}")
        return self

    def at(self, time: float) -> "Task":
        """The same with the probability of one time (steps/dim) in the place of a schedule."""
        return self._with(value_at(self.probability, time))

    def later(self, time: float) -> "Task":
        """The same with a schedule as seen from `time` (steps/dim) on."""
        return self._with(later(self.probability, time))

    def _with(self, probability: float | Schedule) -> "Task":
        if probability is self.probability:
            return self
        return Task.model_construct(readout=self.readout, probability=probability, head=self.head)

    @classmethod
    def sequence(
        cls, readouts: Any, switches: Sequence[float], *, replay: float = 0.0, heads: Sequence[int] | None = None
    ) -> "tuple[Task, ...]":
        """Tasks one after the other: the next one begins at each of the `switches` (steps/dim). With `replay` the earlier tasks
        share that probability; of two tasks the first stays the most probable if it is above one half, and is then never forgotten
        in the sense of `Trajectory.forgetting`. `heads` numbers the head of each task (None: one for each)."""
        try:
            rows = [tuple(row) for row in readouts]
        except TypeError:
            raise InvalidProblem([f"readouts: {readouts!r} given, must be a row of numbers for each task"]) from None
        try:
            times = (0.0, *(float(time) for time in np.atleast_1d(np.asarray(switches, dtype=float))))
        except (TypeError, ValueError, OverflowError):
            raise InvalidProblem([f"switches: {switches!r} given, must be times (steps/dim)"]) from None
        if len(times) != len(rows):
            raise InvalidProblem([f"switches: {len(times) - 1} given for {len(rows)} tasks, must be one less"])
        if any(after <= before for before, after in pairwise(times)):
            raise InvalidProblem([f"switches: must be positive and increase, got {times[1:]}"])
        if not isinstance(replay, int | float | np.number) or isinstance(replay, bool) or not 0 <= replay < 1:
            hint = "; where it changes in time, give each Task a `probability` of its own"
            hint = hint if isinstance(replay, Schedule | list | tuple) else ""
            raise InvalidProblem([f"replay: {replay!r} given, must be a number, at least 0 and below 1{hint}"])
        if heads is not None and not hasattr(heads, "__len__"):
            raise InvalidProblem([f"heads: {heads!r} given, must be a number for each task"])
        if heads is not None and len(heads) != len(rows):
            raise InvalidProblem([f"heads: {len(heads)} given for {len(rows)} tasks, must be as many"])
        shares = np.zeros((len(rows), len(rows)))  # of a task, in a stretch of time
        for now in range(len(rows)):
            shares[:now, now] = replay / max(now, 1)
            shares[now, now] = 1 - replay if now else 1
        return tuple(
            cls(
                readout=row,
                probability=Schedule(times=times, rates=tuple(share)) if len(rows) > 1 else 1.0,
                head=None if heads is None else heads[i],
            )
            for i, (row, share) in enumerate(zip(rows, shares.tolist(), strict=True))
        )


SEQUENCE = ("sequence", "switches", "replay", "heads")  # fields of a table that describes all tasks


def from_table(given: Any) -> Any:
    """Tasks from one table, [tasks] of a file, with the arguments of `Task.sequence`; anything else is given back."""
    if not isinstance(given, dict):
        return given
    unknown = [name for name in given if name not in SEQUENCE]
    if unknown or "sequence" not in given:
        raise ValueError(
            "a table given, must be tables [[tasks]], one for each task, or one table [tasks] with sequence = [[1, 0], [0, 1]], "
            "switches = [50] and, if you like, replay and heads"
        )
    return Task.sequence(
        given["sequence"], given.get("switches", ()), replay=given.get("replay", 0.0), heads=given.get("heads")
    )


def resequenced(tasks: "tuple[Task, ...]", changes: dict[str, Any]) -> "tuple[Task, ...]":
    """The same tasks one after the other with other `switches` or another `replay`."""
    heads = None if any(task.head is None for task in tasks) else [int(task.head or 0) for task in tasks]
    first = tasks[0].probability if tasks else None
    if len(tasks) > 1 and isinstance(first, Schedule):
        had: dict[str, Any] = {"switches": first.times[1:], "replay": first.rates[1], "heads": heads}
        rows = [task.readout for task in tasks]
        if len(first.times) == len(tasks) and _alike(Task.sequence(rows, **had), tasks):
            return Task.sequence(rows, **had | changes)
    raise InvalidProblem([f"{next(iter(changes))}: given, but the tasks are no sequence as Task.sequence makes it"])


def _alike(made: "tuple[Task, ...]", tasks: "tuple[Task, ...]") -> bool:
    """Whether probabilities are the same up to rounding."""
    pairs = [(one.probability, other.probability) for one, other in zip(made, tasks, strict=True)]
    return all(
        isinstance(one, Schedule)
        and isinstance(other, Schedule)
        and (one.times, one.shape) == (other.times, other.shape)
        and np.allclose(one.rates, other.rates, rtol=0, atol=1e-12)
        for one, other in pairs
    )


def stretches(tasks: Sequence[Task]) -> list[list[tuple[float, float]]]:
    """Of each task the spans of time (steps/dim) in which it is more probable than every other; the last may end at infinity."""

    def probabilities(time: float) -> np.ndarray:
        return np.array([value_at(task.probability, time) for task in tasks], dtype=float)

    schedules = [task.probability for task in tasks if isinstance(task.probability, Schedule)]
    knots = sorted({0.0, *(time for one in schedules for time in one.times)})
    edges = set(knots)
    for begin, end in pairwise([*knots, knots[-1] + 1.0]):  # straight lines: two points tell where they meet
        first, second = (probabilities(begin + share * (end - begin)) for share in (0.25, 0.5))
        for i, j in combinations(range(len(tasks)), 2):
            apart, later = first[i] - first[j], second[i] - second[j]
            share = 0.25 + 0.25 * apart / (apart - later) if apart != later else 0.0
            if 0 < share < 1:
                edges.add(begin + share * (end - begin))
    found: list[list[tuple[float, float]]] = [[] for _ in tasks]
    for begin, end in pairwise([*sorted(edges), np.inf]):
        now = probabilities(0.5 * (begin + end) if np.isfinite(end) else begin + 1.0)
        leading = np.flatnonzero(now > now.max() - 1e-12)
        if len(leading) == 1:
            spans = found[leading[0]]
            if spans and spans[-1][1] == begin:
                begin = spans.pop()[0]
            spans.append((begin, end))
    return found


def first_sample(task: Task) -> float:
    """From when on (steps/dim) samples belong to the task; infinity if none ever does."""
    if not isinstance(task.probability, Schedule):
        return 0.0 if task.probability > 0 else np.inf
    return next((begin for begin, rate, slope in task.probability.segments.tolist() if rate > 0 or slope > 0), np.inf)


def jumps(tasks: Sequence[Task]) -> list[float]:
    """When (steps/dim) a probability jumps, after time zero."""
    schedules = [task.probability for task in tasks if isinstance(task.probability, Schedule)]
    knots = sorted({time for one in schedules for time in one.times[1:]})
    return [time for time in knots if any(float(one(time)) != before(one, time) for one in schedules)]


def before(probability: float | Schedule, time: float) -> float:
    """A probability just before a time (steps/dim)."""
    if not isinstance(probability, Schedule):
        return probability
    begin, rate, slope = probability.segments[np.searchsorted(probability.segments[:, 0], time, side="left") - 1]
    return float(rate + slope * (time - begin))


def turns(tasks: Sequence[Task]) -> list[float]:
    """When (steps/dim) a probability jumps, or another task becomes the most probable."""
    if not tasks:
        return []
    ends = {end for spans in stretches(tasks) for _, end in spans if np.isfinite(end)}
    return sorted(ends | set(jumps(tasks)))
