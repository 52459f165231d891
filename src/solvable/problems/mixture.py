"""Inputs in classes: Gaussians with means along a few directions, variances and labels of their own."""

from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
from pydantic import Field, model_validator

from solvable.problems.model import Array, InvalidProblem, Matrix, Model, Plain
from solvable.problems.schedules import Schedule, check_shares, later, value_at

Blocks = Annotated[tuple[tuple[tuple[float, ...], ...], ...], Plain]
Share = Annotated[float, Plain, Field(ge=0, le=1)] | Schedule

DISTANCES = ("opposite", "xor")  # mixtures that a distance describes, and the fields that follow from it
MOST = 1e75  # distance, of which squares are taken
OF_DISTANCES = ("probabilities", "means", "gram", "labels")


class Mixture(Model):
    """Inputs in classes: Gaussians with means along a few directions, variances and labels of their own.

    An input of class c is x = sum_j (means_cj + sqrt(spikes_cj) zeta_j) m_j / sqrt(dim) + noise, whose variance in block b is
    variances_cb times the block's eigenvalue. The directions m_j have entries of order one, so that the mean of the input is
    of order 1/sqrt(dim) per entry and means of fields are of order one.

    Parameters
    ----------
    probabilities : tuple of float or Schedule
        (class,) they sum to one at all times.
    means : matrix
        (class, direction) coefficients of the directions.
    gram : matrix, optional
        (direction, direction) overlaps m_i.m_j/dim, shared among the blocks by their size, or (block, direction, direction);
        left out, the identity.
    variances : array, optional
        (class,) or (class, block) factors on the eigenvalues; left out, one.
    labels : array, optional
        (class,) added to the teacher's output, or all there is where the problem has no teacher.
    spikes : matrix, optional
        (class, direction) further variances along the directions.
    teacher_overlap : matrix, optional
        (direction, teacher) overlaps of the directions with the teachers, shared among the blocks by their size; left out,
        none.
    vectors : matrix, optional
        (direction, dim) the directions themselves in place of `gram`, coordinates in the order of the blocks.

    Notes
    -----
    In files, and in `replace`, `xor = 2.0` or `opposite = 2.0` (with `variance`) stand for what `Mixture.xor` and
    `Mixture.opposite` make.

    Examples
    --------
    >>> sv.Mixture(probabilities=(0.3, 0.7), means=((1.0,), (-1.0,)), labels=(1.0, -1.0)).classes
    2
    >>> sv.Mixture.xor(distance=2.0).labels
    (1.0, 1.0, -1.0, -1.0)
    """

    probabilities: Annotated[tuple[Share, ...], Plain, Field(min_length=1)]
    means: Matrix
    gram: Matrix | Blocks | None = None
    variances: Array | Matrix | None = None
    labels: Array | None = None
    spikes: Matrix | None = None
    teacher_overlap: Matrix | None = None
    vectors: Matrix | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_distance(cls, fields: Any) -> Any:
        """Fields of `opposite` or `xor`, where their distance is given in place of means; other fields win."""
        given = [name for name in DISTANCES if isinstance(fields, dict) and name in fields]
        if not given:
            return fields
        if len(given) > 1:
            raise ValueError(f"{given[0]}: given together with {given[1]}; give one of them")
        rest = {name: value for name, value in fields.items() if name not in (given[0], "variance")}
        return cls._fields_of(given[0], fields[given[0]], fields.get("variance", 1.0)) | rest

    @classmethod
    def _fields_of(cls, kind: str, distance: Any, variance: Any = 1.0) -> dict[str, Any]:
        made = getattr(cls, kind)(_number(kind, distance), _number("variance", variance))
        return {name: getattr(made, name) for name in (*OF_DISTANCES, "variances")}

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, as in every part of a problem; `xor=2.0` and `opposite=2.0` change means, labels and
        probabilities to those at this distance."""
        for kind in DISTANCES:
            if kind in changes:
                try:
                    made = self._fields_of(kind, changes.pop(kind))
                except ValueError as error:
                    raise InvalidProblem([str(error)]) from None
                changes = {name: made[name] for name in OF_DISTANCES} | {"vectors": None} | changes
        return super().replace(**changes)

    @classmethod
    def opposite(
        cls, distance: float, variance: float = 1.0, *, labels: tuple[float, float] = (1.0, -1.0)
    ) -> "Mixture":
        """Two classes of equal weight with means +m and -m and variance `variance` times the eigenvalues.

        `distance` is that of each mean from zero: |m|^2/dim = distance^2, so that a unit along m has fields of mean +distance and
        -distance, and the two means are 2 distance apart."""
        return cls(
            probabilities=(0.5, 0.5), means=((1.0,), (-1.0,)), gram=((_square(distance),),),
            variances=(variance, variance), labels=labels,
        )  # fmt: skip

    @classmethod
    def xor(cls, distance: float, variance: float = 1.0) -> "Mixture":
        """Four classes of equal weight: means +m_1, -m_1 with label 1 and +m_2, -m_2 with label -1; m_1, m_2 are orthogonal.

        `distance` is that of each mean from zero: |m_j|^2/dim = distance^2, so that means of one label are 2 distance apart, means
        of different labels sqrt(2) distance."""
        size = _square(distance)
        return cls(
            probabilities=(0.25,) * 4, means=((1.0, 0.0), (-1.0, 0.0), (0.0, 1.0), (0.0, -1.0)),
            gram=((size, 0.0), (0.0, size)), variances=(variance,) * 4, labels=(1.0, 1.0, -1.0, -1.0),
        )  # fmt: skip

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.probabilities)

    @property
    def directions(self) -> int:
        """Number of directions that means and spikes lie along."""
        return len(self.means[0])

    @model_validator(mode="after")
    def _check(self) -> "Mixture":
        check_shares("probabilities", self.probabilities)
        if len(self.means) != self.classes:
            raise ValueError(f"means: {len(self.means)} rows given for {self.classes} classes, must be as many")
        if not self.directions:
            raise ValueError("means: no directions given, must be a row of numbers for each class")
        count, directions = self.classes, self.directions
        _check_shape("means", self.means, (count, directions))
        if self.gram is not None and self.vectors is not None:
            raise ValueError("gram: given although vectors has the directions themselves; give one")
        if self.gram is not None:
            _check_gram(np.asarray(_rectangular("gram", self.gram)), directions)
        if self.vectors is not None:
            _check_shape("vectors", self.vectors, (directions, max(len(self.vectors[0]), 1) if self.vectors else 1))
            self._check_vectors()
        if self.variances is not None:
            shape = np.shape(_rectangular("variances", self.variances))
            if shape[:1] != (count,) or 0 in shape:
                raise ValueError(
                    f"variances: shape {shape} given for {count} classes, must be (class,) or (class, block)"
                )
            if np.min(np.asarray(self.variances)) <= 0:
                raise ValueError(f"variances: must be positive, got {self.variances}")
        if self.labels is not None and len(self.labels) != count:
            raise ValueError(f"labels: {len(self.labels)} given for {count} classes, must be as many")
        if self.spikes is not None:
            _check_shape("spikes", self.spikes, (count, directions))
            if min(min(row) for row in self.spikes) < 0:
                raise ValueError("spikes: are variances, must not be negative")
        if self.teacher_overlap is not None and len(self.teacher_overlap) != directions:
            raise ValueError(
                f"teacher_overlap: {len(self.teacher_overlap)} rows given for {directions} directions, must be as many"
            )
        return self

    def _check_vectors(self) -> None:
        """Refuse directions that are so long, or means so large, that inputs would have means of order one per entry."""
        vectors, means = np.array(self.vectors), np.array(self.means)
        dim = vectors.shape[1]
        size = np.abs(means @ vectors).max() / np.sqrt(dim)  # the largest entry of a mean of the input
        typical = np.sqrt(((means @ vectors) ** 2).mean(axis=1).max())
        if dim >= 100 and typical >= np.sqrt(dim):
            raise ValueError(
                f"vectors: the mean of an input has entries up to {size:.3g}; entries of vectors must be of order one, "
                f"because the mean of an input is means @ vectors / sqrt(dim)"
            )

    def at(self, time: float) -> "Mixture":
        """The same with the probabilities of one time (steps/dim) in the place of schedules."""
        return self._with(tuple(value_at(one, time) for one in self.probabilities))

    def later(self, time: float) -> "Mixture":
        """The same with schedules as seen from `time` (steps/dim) on."""
        return self._with(tuple(later(one, time) for one in self.probabilities))

    def _with(self, probabilities: "tuple[float | Schedule, ...]") -> "Mixture":
        if not any(isinstance(one, Schedule) for one in self.probabilities):
            return self
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return Mixture.model_construct(**kept | {"probabilities": probabilities})

    def block_gram(self, fractions: np.ndarray) -> np.ndarray:
        """(block, direction, direction) overlaps of the directions in blocks with these shares of the dimensions."""
        if self.vectors is not None:
            vectors = np.array(self.vectors)
            dim = vectors.shape[1]
            edges = np.cumsum(np.round(fractions * dim).astype(int))[:-1]
            return np.array([part @ part.T / dim for part in np.split(vectors, edges, axis=1)])
        gram = np.eye(self.directions) if self.gram is None else np.array(self.gram)
        return gram if gram.ndim == 3 else fractions[:, None, None] * gram

    def block_teacher_overlap(self, fractions: np.ndarray, teachers: int) -> np.ndarray:
        """(block, direction, teacher) overlaps of the directions with the teachers."""
        total = (
            np.zeros((self.directions, teachers)) if self.teacher_overlap is None else np.array(self.teacher_overlap)
        )
        return fractions[:, None, None] * total.reshape(self.directions, teachers)

    def variance_factors(self, blocks: int) -> np.ndarray:
        """(class, block) factors on the eigenvalues."""
        given = np.ones(self.classes) if self.variances is None else np.array(self.variances)
        return np.array(np.broadcast_to(given if given.ndim == 2 else given[:, None], (self.classes, blocks)))

    @cached_property
    def spike_variances(self) -> np.ndarray:
        """(class, direction)."""
        return np.zeros((self.classes, self.directions)) if self.spikes is None else np.array(self.spikes)


def _number(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise InvalidProblem([f"{name}: {value!r} given, must be a number"])
    try:
        number = float(value)
    except OverflowError:
        number = np.inf
    if not abs(number) <= MOST:
        raise InvalidProblem([f"{name}: {number!r} given, must be finite and at most {MOST:g} in size"])
    return number


def _square(distance: Any) -> float:
    number = _number("distance", distance)
    if number < 0:
        raise InvalidProblem([f"distance: {distance!r} given, must not be negative"])
    return number**2


def _rectangular(name: str, rows: Any) -> Any:
    """Refuse rows of different lengths."""
    try:
        return np.array(rows, dtype=float)
    except ValueError:
        raise ValueError(f"{name}: its rows have different lengths") from None


def _check_shape(name: str, rows: Any, shape: tuple[int, int]) -> None:
    found = np.shape(_rectangular(name, rows))
    if found != shape:
        raise ValueError(f"{name}: shape {found} given, must be {shape}")


def _check_gram(gram: np.ndarray, directions: int) -> None:
    if gram.shape[-2:] != (directions, directions):
        raise ValueError(
            f"gram: shape {gram.shape} given for {directions} directions, must be square with as many rows"
        )
    for one in gram.reshape(-1, directions, directions):
        size = np.abs(one).max()
        if np.abs(one - one.T).max() > 1e-12 * size:
            raise ValueError("gram: must be symmetric")
        lowest = np.linalg.eigvalsh(one)[0]
        if lowest < -1e-10 * max(size, 1e-300):
            raise ValueError(f"gram: must be positive semidefinite, its lowest eigenvalue is {lowest:.3g}")
