"""Masks on the students' readout: dropout."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain
from solvable.problems.schedules import Schedule, later, value_at


class Dropout(Model):
    """Dropout: each sample keeps each student with a probability, independently.

    Parameters
    ----------
    keep : float or Schedule
        The probability; as a `Schedule` it goes in steps, with `scale="test"` and a `test_factor`.
    scale : str
        "train": kept students count 1/keep times in training, and tests use all of them as they are. "test": kept students
        count once, and the output of tests is multiplied by `test_factor`.
    test_factor : float, optional
        Left out, `keep`.

    Examples
    --------
    >>> sv.problems.Dropout(keep=0.8).kept
    1.25
    """

    keep: Annotated[float, Plain, Field(gt=0, le=1)] | Schedule
    scale: Literal["train", "test"] = "train"
    test_factor: Annotated[float, Plain, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Dropout":
        if self.test_factor is not None and self.scale == "train":
            raise ValueError("test_factor: given although scale is 'train', so nothing would use it")
        if isinstance(self.keep, Schedule):
            self._check_schedule(self.keep)
        return self

    def _check_schedule(self, keep: Schedule) -> None:
        if max(keep.rates) > 1:
            raise ValueError(f"keep: must be at most 1 at all times, got {keep.rates}")
        if keep.shape != "steps":
            raise ValueError(f"keep: is {keep.shape}, must go in steps, because the chance of a mask is a power of it")
        if self.scale == "train":
            raise ValueError("scale: is 'train', must be 'test' where keep is a schedule: readouts keep their scale")
        if self.test_factor is None:
            raise ValueError("test_factor: is missing; give it where keep is a schedule, of which tests know no time")

    @property
    def kept(self) -> float:
        """What multiplies the readout of a student that a sample keeps."""
        return 1.0 if self.scale == "test" or isinstance(self.keep, Schedule) else 1.0 / self.keep

    @property
    def tested(self) -> float:
        """What multiplies all readouts in a test."""
        if self.scale == "train":
            return 1.0
        if self.test_factor is not None:
            return self.test_factor
        assert not isinstance(self.keep, Schedule)
        return self.keep

    def at(self, time: float) -> "Dropout":
        """The same with the probability of one time (steps/dim) in the place of a schedule."""
        return self._with(value_at(self.keep, time))

    def later(self, time: float) -> "Dropout":
        """The same with a schedule as seen from `time` (steps/dim) on."""
        return self._with(later(self.keep, time))

    def _with(self, keep: Any) -> "Dropout":
        if keep is self.keep:
            return self
        return Dropout.model_construct(keep=keep, scale=self.scale, test_factor=self.test_factor)
