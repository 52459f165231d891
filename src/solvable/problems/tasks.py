"""Several tasks of one teacher: which of them samples belong to, and when."""

from collections.abc import Sequence
from itertools import pairwise
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
        share that probability. `heads` numbers the head of each task (None: one for each)."""
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
