"""Weights as a start, and weights with given overlaps."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.overlaps.measuring import as_array, measure
from solvable.overlaps.state import COPIES, ROLES, InvalidStart, Overlaps
from solvable.problems import Problem

EXTRA_ROWS = dict(zip(ROLES, ("directions", "anchors", "velocities", "averages", "snapshots"), strict=True))


@dataclass(frozen=True, eq=False)
class Weights:
    """A start given by weights: one unit per row, with squared norms of order dim.

    Parameters
    ----------
    student, teacher : array
        (p, dim) and (p*, dim), the second None where there are no teachers. With a spectrum the coordinates are those of
        its eigenbasis, block after block, unless `basis` is given.
    readout : array, optional
        (p,) second layer, or (heads, p); left out, the problem's.
    basis : array, optional
        (dim, dim) eigenvectors of the input covariance as columns.
    directions : array, optional
        (directions, dim) directions of a mixture; left out, its `vectors`.
    anchors : array, optional
        (p, dim) students that training is anchored to; left out, the students themselves.
    velocities, averages, snapshots : array, optional
        (p, dim) further rows of each student, where the training has them; left out, zero for velocities and the students
        for the others.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> weights.overlaps(problem).cross_overlap.round(6)
    array([[1.],
           [0.]])
    """

    student: np.ndarray
    teacher: np.ndarray = None  # type: ignore[assignment]  # an array once it is made
    readout: np.ndarray | None = None
    basis: np.ndarray | None = None
    directions: np.ndarray | None = None
    anchors: np.ndarray | None = None
    velocities: np.ndarray | None = None
    averages: np.ndarray | None = None
    snapshots: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("student", "teacher", "readout", "basis", *EXTRA_ROWS.values()):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked(name, value))
        dim = self.student.shape[1]
        if self.teacher is None:
            object.__setattr__(self, "teacher", np.zeros((0, dim)))
        for name in ("teacher", *EXTRA_ROWS.values()):
            rows = getattr(self, name)
            if rows is not None and rows.shape[1] != dim:
                raise InvalidStart(f"{name}: rows of {rows.shape[1]} numbers given, must be {dim} as the students'")

    def __repr__(self) -> str:
        return f"Weights({len(self.student)} students, {len(self.teacher)} teachers, dim {self.student.shape[1]})"

    def overlaps(self, problem: Problem) -> Overlaps:
        """The overlaps of these weights, as `measure` gives them."""
        used = {
            name: getattr(self, name) for role, name in EXTRA_ROWS.items() if role in ("direction", *problem.extras)
        }
        return measure(problem, self.student, self.teacher, self.readout, self.basis, **used)

    def extra_rows(self, problem: Problem) -> np.ndarray:
        """(extra, dim) the rows of `problem.extras`: those that are left out begin as at time zero."""
        rows = []
        for role in dict.fromkeys(problem.extras):
            given, first = getattr(self, EXTRA_ROWS[role]), self.student if role in COPIES else 0.0 * self.student
            if role == "direction" and given is None:
                assert problem.mixture is not None
                vectors = np.array(problem.mixture.vectors)
                given = vectors if self.basis is None else vectors @ self.basis.T
            rows.append(first if given is None else given)
        return np.vstack([np.zeros((0, self.student.shape[1])), *rows])


def _checked(name: str, value: Any) -> np.ndarray:
    shape = "(p,) or (heads, p)" if name == "readout" else "(dim, dim)" if name == "basis" else "(units, dim)"
    try:
        array = as_array(value)
    except (TypeError, ValueError):
        raise InvalidStart(f"{name}: {type(value).__name__} given, must be an array {shape} of numbers") from None
    if np.iscomplexobj(value) or (array.ndim != 2 and not (name == "readout" and array.ndim == 1)):
        kind = "complex numbers" if np.iscomplexobj(value) else f"shape {array.shape}"
        raise InvalidStart(f"{name}: {kind} given, must be real numbers {shape}")
    if not np.isfinite(array).all():
        raise InvalidStart(f"{name}: must be finite")
    return array


def embed(problem: Problem, start: Overlaps, seed: Any, basis: np.ndarray | None = None) -> Weights:
    """Weights with given overlaps, in random directions within each block.

    Parameters
    ----------
    problem : Problem
        At finite dim.
    start : Overlaps
        The overlaps that the weights are to have.
    seed : int or SeedSequence
        Of the directions.
    basis : ndarray, optional
        (dim, dim) eigenvectors of the input covariance as columns.

    Returns
    -------
    Weights
        Students (p, dim) and teachers (p*, dim).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=50)
    >>> start = sv.start(problem, seed=0)
    >>> weights = sv.overlaps.embed(problem, start, seed=1)
    >>> bool(np.allclose(weights.overlaps(problem).cross_overlap, start.cross_overlap))
    True
    """
    dim, p, sizes = problem.inputs.dim, problem.student.width, problem.inputs.block_sizes
    assert dim is not None
    random, ends = np.random.default_rng(seed), np.cumsum(sizes)
    rows = np.empty((start.stacked.shape[1], dim))
    for size in np.unique(sizes):  # all blocks of one size at once
        chosen = np.flatnonzero(sizes == size)
        factors = gram_factor(start.stacked[chosen], min(len(rows), int(size)))
        frames, upper = np.linalg.qr(random.standard_normal((chosen.size, int(size), factors.shape[2])))
        signs = np.where(np.diagonal(upper, axis1=1, axis2=2) < 0, -1.0, 1.0)  # without them, QR favours directions
        parts = np.sqrt(dim) * factors @ (frames * signs[:, None]).transpose(0, 2, 1)
        places = (ends[chosen] - size)[:, None] + np.arange(size)
        rows[:, places.ravel()] = parts.transpose(1, 0, 2).reshape(len(rows), -1)
    rows = rows if basis is None else rows @ basis.T
    n = p + problem.teacher.width
    extras = {
        name: rows[n:][[one == role for one in start.extras]]
        for role, name in EXTRA_ROWS.items()
        if role in start.extras
    }
    return Weights(rows[:p], rows[p:n], start.readout, basis, **extras)


def gram_factor(gram: np.ndarray, columns: int, *, rounding: float = 0.0) -> np.ndarray:
    """A factor F of a Gram matrix, F F^T = gram.

    Parameters
    ----------
    gram : ndarray
        (..., n, n). Negative eigenvalues of the size of rounding are taken as zero.
    columns : int
        Number of columns of F.
    rounding : float
        Positive eigenvalues below this part of the largest are taken as zero too.

    Returns
    -------
    ndarray
        (..., n, columns).

    Examples
    --------
    >>> gram = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> F = sv.overlaps.gram_factor(gram, 3)
    >>> F.shape, bool(np.allclose(F @ F.T, gram))
    ((2, 3), True)
    """
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[..., ::-1], vectors[..., ::-1]
    values = np.where(values < rounding * values[..., :1], 0.0, values)
    lost = values[..., columns:] > 1e-9 * np.maximum(values[..., :1], 1e-300)
    if lost.any():
        most = columns + int(lost.sum(axis=-1).max())
        raise InvalidStart(
            f"start: the units span {most} directions in a block of {columns} dimensions; no weights have these overlaps, "
            f"raise inputs.dim or draw the start at this dim"
        )
    factor = np.zeros((*gram.shape[:-1], columns))
    kept = values[..., None, :columns]
    factor[..., : kept.shape[-1]] = vectors[..., :columns] * np.sqrt(np.maximum(kept, 0.0))
    return factor
