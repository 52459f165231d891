"""Averages of the students' weights along a run."""

from typing import Annotated

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain


class Average(Model):
    """Weights that follow the students as their average over time: give `rate` or `begin`.

    Parameters
    ----------
    rate : float, optional
        Exponential average: a step moves it by rate/dim of the way to the students.
    begin : float, optional
        Plain average (Polyak and Ruppert) of the students from this time (steps/dim) on; until then it is the students
        themselves. A negative time says for how long the state at the start has been averaged already.

    Examples
    --------
    >>> sv.Training(learning_rate=0.1, average=sv.problems.Average(begin=10.0)).average.begin
    10.0
    """

    rate: Annotated[float, Plain, Field(gt=0)] | None = None
    begin: Annotated[float, Plain] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Average":
        if (self.rate is None) == (self.begin is None):
            given = "is missing" if self.rate is None else "given together with begin"
            raise ValueError(f"rate: {given}; give one of rate and begin")
        return self

    def later(self, time: float) -> "Average":
        """The same as seen from `time` (steps/dim) on."""
        return self if self.begin is None else Average(begin=self.begin - time)
