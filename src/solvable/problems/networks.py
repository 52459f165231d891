"""Teacher and student: one hidden layer each, output sum_k readout_k g(w_k . x / sqrt(dim))."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, InstanceOf, PlainSerializer, WithJsonSchema, model_validator

from solvable.gaussian.units import UNITS, Activation, OwnFunction, hermite
from solvable.problems.model import Array, Matrix, Model, Plain, one_of

Width = Annotated[int, Plain, Field(gt=0, le=10_000)]
TeacherWidth = Annotated[int, Plain, Field(ge=0, le=10_000)]
Unit = Annotated[str, one_of(UNITS)]
Readout = Literal["mean", "sqrt", "unit"] | Annotated[float, Plain] | Array


class Hermite(Model):
    """A polynomial unit, by its coefficients in Hermite polynomials.

    g(z) = sum_m coefficients[m] He_m(z), with the probabilists' polynomials 1, z, z^2 - 1, ...

    Parameters
    ----------
    coefficients : tuple of float
        Up to 13 of them.

    Examples
    --------
    >>> sv.Student(width=2, activation=sv.problems.Hermite(coefficients=(0.0, 0.0, 1.0))).width
    2
    """

    coefficients: Annotated[Array, Field(min_length=1, max_length=13)]


@dataclass(frozen=True, eq=False)
class Target(OwnFunction):
    """Labels as any function of the teachers' fields.

    Parameters
    ----------
    name : str
        Name in results and messages.
    width : int
        Number of teachers.
    function : callable
        Maps fields (samples, width) to labels (samples,).
    version : str or int, optional
        Raise it with every change; without it targets are equal if name, code and values are.

    Examples
    --------
    >>> parity = sv.problems.Target("parity", 2, lambda z: np.sign(z[:, 0] * z[:, 1]))
    >>> sv.Teacher(width=2, target=parity).width
    2
    """

    name: str
    width: int
    function: Callable[[np.ndarray], np.ndarray]
    version: str | int | None = None

    def __post_init__(self) -> None:
        self._check_version()
        if not isinstance(self.width, int) or self.width < 1:
            raise ValueError(f"target {self.name!r}: width {self.width!r} given, must be a whole number, at least 1")
        if np.shape(self.function(_probes(self.width))) != (len(_probes(self.width)),):
            raise ValueError(f"target {self.name!r}: must map (samples, {self.width}) to (samples,)")
        self.fingerprint  # noqa: B018  (also checks that values are finite)
        self._remember()

    @cached_property
    def probed(self) -> np.ndarray:
        """The labels of some fields near zero."""
        return np.asarray(self.function(_probes(self.width)), dtype=float)

    def _functions(self) -> tuple[Callable[[np.ndarray], Any], ...]:
        return (self.function,)

    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        near = _probes(self.width)
        return near, np.concatenate([4.0**i * near[8 * i : 8 * i + 8] for i in range(8)])

    def __repr__(self) -> str:
        return f"Target({self.name!r}, width={self.width})"


def _probes(width: int) -> np.ndarray:
    """193 points in [-3, 3]^width that no random stream decides."""
    steps = np.sqrt(np.array([n for n in range(2, 12 * width + 12) if np.sqrt(n) % 1])[:width])
    return 6.0 * (np.arange(1, 194)[:, None] * steps % 1.0) - 3.0


def as_text(value: OwnFunction) -> dict[str, str]:
    """How a function shows in dumps: enough to compare, not to restore."""
    return {"custom": value.name, "fingerprint": value.fingerprint, "identity": value.identity}


AS_TEXT = WithJsonSchema({"not": {}})  # files cannot hold a function
AnyUnit = Unit | Hermite | Annotated[Activation, InstanceOf(), PlainSerializer(as_text), AS_TEXT]
AnyTarget = Literal["additive", "product", "sign"] | Annotated[Target, InstanceOf(), PlainSerializer(as_text), AS_TEXT]


def signs_of(outputs: Any) -> np.ndarray:
    """1 where an output is positive, -1 elsewhere: ReLU teachers have outputs that are zero."""
    return np.where(np.asarray(outputs) > 0, 1.0, -1.0)


def readout_values(readout: Any, width: int) -> np.ndarray:
    """(width,) what multiplies the units: 1/width, 1/sqrt(width), 1, one given number for all, or one for each."""
    named = {"mean": 1.0 / max(width, 1), "sqrt": 1.0 / math.sqrt(max(width, 1)), "unit": 1.0}
    return np.array(np.broadcast_to(named[readout] if isinstance(readout, str) else readout, (width,)), dtype=float)


class Network(Model):
    width: Width
    activation: AnyUnit = "quadratic"
    readout: Readout = "mean"
    bias: Annotated[float, Plain] = 0.0

    @model_validator(mode="after")
    def _check_readout(self) -> "Network":
        if (
            isinstance(self.readout, tuple)
            and not any(isinstance(one, tuple) for one in self.readout)
            and len(self.readout) != self.width
        ):
            raise ValueError(f"readout: {len(self.readout)} values given for width {self.width}, must be as many")
        return self

    @property
    def unit(self) -> Activation:
        """The activation as functions g and g'."""
        if isinstance(self.activation, Activation):
            return self.activation
        return hermite(self.activation.coefficients) if isinstance(self.activation, Hermite) else UNITS[self.activation]

    @property
    def hermite_coefficients(self) -> np.ndarray | None:
        """Coefficients in Hermite polynomials where the activation is a polynomial."""
        if isinstance(self.activation, Hermite):
            return np.array(self.activation.coefficients)
        found = UNITS[self.activation].hermite if isinstance(self.activation, str) else None
        return None if found is None else np.array(found)

    @cached_property
    def readout_values(self) -> np.ndarray:
        return readout_values(self.readout, self.width)


class Student(Network):
    """The student network, which learns: output sum_k readout_k g(w_k . x / sqrt(dim)).

    Parameters
    ----------
    width : int
        Number of hidden units.
    activation : str, Hermite or Activation
        The unit g: "linear", "quadratic", "erf", "relu", "tanh", "hermite3", a polynomial, or a function of your own.
    readout : str, float or tuple of float
        "mean" (1/width), "sqrt" (1/sqrt(width)), "unit" (1), or numbers; for each head (head, width) where tasks have heads of
        their own.
    norm : str
        "free", or "sphere": every student keeps overlap one with itself, renormalised after each step.
    bias : float
        What is added to the output, of every head; where `training.train_bias` is true, at the start.

    Examples
    --------
    >>> sv.Student(width=4, activation="erf").readout_values
    array([0.25, 0.25, 0.25, 0.25])
    """

    readout: Readout | Matrix = "mean"  # type: ignore[assignment]
    norm: Literal["free", "sphere"] = "free"

    @model_validator(mode="after")
    def _check_heads(self) -> "Student":
        if self.heads is not None and any(len(row) != self.width for row in self.readout):  # type: ignore[union-attr, arg-type]
            raise ValueError(f"readout: must have {self.width} values for each head")
        return self

    @property
    def heads(self) -> int | None:
        """How many readouts are given, None where one is for all."""
        given = self.readout
        return len(given) if isinstance(given, tuple) and given and isinstance(given[0], tuple) else None

    @property
    def readout_values(self) -> np.ndarray:
        """(width,), or (head, width) where it is given for each head."""
        return np.array(self.readout, dtype=float) if self.heads is not None else super().readout_values


class Teacher(Network):
    """The teacher network, which gives the labels.

    Parameters
    ----------
    width : int
        Number of hidden units; 0 where labels come from classes alone.
    activation, readout
        As in `Student`.
    target : str or Target
        "additive" (the network sum_l readout_l g(z_l)), "sign" (1 where that is positive, -1 elsewhere), "product" (of
        the fields, z_1 z_2 ...) or a function of the fields; the last two do not use activation and readout.
    overlap : str or matrix
        Overlaps between teachers: "orthonormal" (in each block its share of the identity, as for typical teachers of
        many dimensions), "sampled" (Gaussian weights, different in each block), or a Gram matrix.
    drift : float
        Rate of a random walk that keeps the teachers' overlaps on average: each forgets where it was as
        exp(-drift steps/dim).
    rotation : float
        The first two teachers turn in their plane by so many radians per steps/dim, w_1 towards w_2. They must be orthogonal and
        of equal length, in all blocks together, so that turning keeps how they overlap (sampled ones: up to 1/sqrt(dim)).
    bias : float
        What is added to labels, before a sign is taken.

    Examples
    --------
    >>> sv.Teacher(width=2, overlap=((1.0, 0.3), (0.3, 1.0))).is_orthonormal
    False
    """

    width: TeacherWidth
    target: AnyTarget = "additive"
    overlap: Literal["orthonormal", "sampled"] | Matrix = "orthonormal"
    drift: Annotated[float, Plain, Field(ge=0)] = 0.0
    rotation: Annotated[float, Plain] = 0.0

    @property
    def is_moving(self) -> bool:
        """Whether teachers drift or turn."""
        return bool(self.drift or self.rotation)

    @property
    def is_orthonormal(self) -> bool:
        """Whether teachers are orthogonal and of length one, by name or by a Gram matrix that is the identity."""
        return self.overlap == "orthonormal" or (
            isinstance(self.overlap, tuple) and np.allclose(self.overlap, np.eye(self.width), rtol=0, atol=1e-12)
        )

    def labels(self, fields: np.ndarray, shift: np.ndarray | float = 0.0) -> np.ndarray:
        """Labels without noise, (samples,), from the teachers' fields (samples, width); a class adds its `shift` to the output."""
        output = self.taught(fields) + self.bias + shift
        return signs_of(output) if self.target == "sign" else output

    def taught(self, fields: np.ndarray) -> np.ndarray:
        """The same before the bias is added and a sign is taken."""
        if isinstance(self.target, Target):
            return np.asarray(self.target.function(fields), dtype=float)
        if self.target == "product":
            return fields.prod(axis=1)
        values: np.ndarray = self.unit.function(fields) @ self.readout_values
        return values

    @model_validator(mode="after")
    def _check_target(self) -> "Teacher":
        if isinstance(self.target, Target) and self.target.width != self.width:
            raise ValueError(f"target: is for {self.target.width} teachers, the width is {self.width}")
        return self

    @model_validator(mode="after")
    def _check_motion(self) -> "Teacher":
        if self.rotation and self.width < 2:
            raise ValueError(f"rotation: given for {self.width} teacher(s), needs two to turn in their plane")
        if self.drift and not self.width:
            raise ValueError("drift: given although there are no teachers, so nothing would use it")
        if self.bias and not self.width:
            raise ValueError("bias: given although there are no teachers; add it to mixture.labels")
        return self

    @model_validator(mode="after")
    def _check_overlap(self) -> "Teacher":
        if isinstance(self.overlap, tuple) and not self.width:
            raise ValueError("overlap: given although there are no teachers, so nothing would use it")
        if isinstance(self.overlap, tuple):
            if len(self.overlap) != self.width or any(len(row) != self.width for row in self.overlap):
                raise ValueError(f"overlap: must be {self.width} rows of {self.width} numbers")
            gram = np.array(self.overlap)
            if np.abs(gram - gram.T).max() > 1e-12 * np.abs(gram).max():
                raise ValueError("overlap: must be symmetric")
            lowest = np.linalg.eigvalsh(gram)[0]
            if lowest < -1e-10 * np.abs(gram).max():
                raise ValueError(f"overlap: must be positive semidefinite, its lowest eigenvalue is {lowest:.3g}")
            if self.rotation and np.abs(gram[:2, :2] - gram[0, 0] * np.eye(2)).max() > 1e-12 * np.abs(gram).max():
                raise ValueError(
                    f"rotation: the first two teachers have the overlaps {gram[:2, :2].tolist()}, must be orthogonal "
                    f"and of equal length to turn without changing them"
                )
        return self
