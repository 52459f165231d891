"""Masks on the students' readout: dropout."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain


class Dropout(Model):
    """Dropout: each sample keeps each student with a probability, independently.

    Parameters
    ----------
    keep : float
        The probability.
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

    keep: Annotated[float, Plain, Field(gt=0, le=1)]
    scale: Literal["train", "test"] = "train"
    test_factor: Annotated[float, Plain, Field(gt=0)] | None = None

    @model_validator(mode="after")
    def _check(self) -> "Dropout":
        if self.test_factor is not None and self.scale == "train":
            raise ValueError("test_factor: given although scale is 'train', so nothing would use it")
        return self

    @property
    def kept(self) -> float:
        """What multiplies the readout of a student that a sample keeps."""
        return 1.0 / self.keep if self.scale == "train" else 1.0

    @property
    def tested(self) -> float:
        """What multiplies all readouts in a test."""
        if self.scale == "train":
            return 1.0
        return self.keep if self.test_factor is None else self.test_factor
