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
        rows, times = [tuple(row) for row in readouts], (0.0, *(float(time) for time in switches))
        if len(times) != len(rows):
            raise InvalidProblem([f"switches: {len(times) - 1} given for {len(rows)} tasks, must be one less"])
        if any(after <= before for before, after in pairwise(times)):
            raise InvalidProblem([f"switches: must be positive and increase, got {times[1:]}"])
        if not 0 <= replay < 1:
            raise InvalidProblem([f"replay: {replay!r} given, must be at least 0 and below 1"])
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
