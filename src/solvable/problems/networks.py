"""Who teaches and who learns: one hidden layer each, output sum_k readout_k g(w_k . x / sqrt(dim))."""

import math
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from solvable.problems.model import Array, Matrix, Model, Plain

Width = Annotated[int, Plain, Field(gt=0, le=10_000)]
Unit = Literal["linear", "quadratic", "erf"]
Readout = Literal["mean", "sqrt", "unit"] | Annotated[float, Plain] | Array


def readout_values(readout: Any, width: int) -> np.ndarray:
    """(width,) what multiplies the units: 1/width, 1/sqrt(width), 1, one given number for all, or one for each."""
    named = {"mean": 1.0 / width, "sqrt": 1.0 / math.sqrt(width), "unit": 1.0}
    return np.array(np.broadcast_to(named[readout] if isinstance(readout, str) else readout, (width,)), dtype=float)


class Network(Model):
    width: Width
    activation: Unit = "quadratic"
    readout: Readout = "mean"

    @model_validator(mode="after")
    def _check_readout(self) -> "Network":
        if isinstance(self.readout, tuple) and len(self.readout) != self.width:
            raise ValueError(f"readout: {len(self.readout)} values given for width {self.width}, must be as many")
        return self

    @property
    def readout_values(self) -> np.ndarray:
        return readout_values(self.readout, self.width)


class Student(Network):
    """`norm` is "free", or "sphere": every student keeps overlap one with itself, renormalised after each step."""

    norm: Literal["free", "sphere"] = "free"


class Teacher(Network):
    """`overlap` is how teachers overlap with each other: "orthonormal" (in each block its share of the identity: the
    typical teacher of many dimensions), "sampled" (Gaussian weights, different in each block), or a Gram matrix."""

    overlap: Literal["orthonormal", "sampled"] | Matrix = "orthonormal"

    @model_validator(mode="after")
    def _check_overlap(self) -> "Teacher":
        if isinstance(self.overlap, tuple):
            if len(self.overlap) != self.width or any(len(row) != self.width for row in self.overlap):
                raise ValueError(f"overlap: must be {self.width} rows of {self.width} numbers")
            gram = np.array(self.overlap)
            if np.abs(gram - gram.T).max() > 1e-12 * np.abs(gram).max():
                raise ValueError("overlap: must be symmetric")
            lowest = np.linalg.eigvalsh(gram)[0]
            if lowest < -1e-10 * np.abs(gram).max():
                raise ValueError(f"overlap: must be positive semidefinite, its lowest eigenvalue is {lowest:.3g}")
        return self
