"""Masks on the students' readout: dropout."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from solvable.problems.model import Model, Plain


class Dropout(Model):
    """Each sample keeps each student with probability `keep`, independently. Kept students count 1/keep times in training
    (`scale` "train", tests use all of them as they are), or once, and the output of tests is multiplied by `test_factor` (`scale`
    "test"; None: `keep`)."""

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
