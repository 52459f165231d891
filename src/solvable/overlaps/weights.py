"""Weights as a start: what a level that follows weights begins with, and what the others measure."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.overlaps.measuring import as_array, measure
from solvable.overlaps.state import InvalidStart, Overlaps
from solvable.problems import Problem


@dataclass(frozen=True, eq=False)
class Weights:
    """Students (p, dim) and teachers (p*, dim; None: no teachers), one unit per row, with squared norms of order dim; `readout`
    (p,) or (heads, p), or None for the problem's. With a spectrum the coordinates are those of its eigenbasis, block after block,
    unless the eigenvectors are given as columns of `basis` (dim, dim). `directions` (directions, dim) are those of a mixture (None:
    its `vectors`), `anchors` (p, dim) the students that training is anchored to (None: the students themselves). Every level starts
    from weights as from overlaps."""

    student: np.ndarray
    teacher: np.ndarray = None  # type: ignore[assignment]  # an array once it is made
    readout: np.ndarray | None = None
    basis: np.ndarray | None = None
    directions: np.ndarray | None = None
    anchors: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("student", "teacher", "readout", "basis", "directions", "anchors"):
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked(name, value))
        dim = self.student.shape[1]
        if self.teacher is None:
            object.__setattr__(self, "teacher", np.zeros((0, dim)))
        for name in ("teacher", "directions", "anchors"):
            rows = getattr(self, name)
            if rows is not None and rows.shape[1] != dim:
                raise InvalidStart(f"{name}: rows of {rows.shape[1]} numbers given, must be {dim} as the students'")

    def __repr__(self) -> str:
        return f"Weights({len(self.student)} students, {len(self.teacher)} teachers, dim {self.student.shape[1]})"

    def overlaps(self, problem: Problem) -> Overlaps:
        return measure(
            problem, self.student, self.teacher, self.readout, self.basis,
            directions=self.directions, anchors=self.anchors if problem.training.anchor else None,
        )  # fmt: skip


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
    """Weights with the given overlaps, in directions drawn at random within each block."""
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
    extras = np.split(rows[n:], [start.extras.count("direction")])  # directions, anchors
    return Weights(rows[:p], rows[p:n], start.readout, basis, *(part if len(part) else None for part in extras))


def gram_factor(gram: np.ndarray, columns: int, *, rounding: float = 0.0) -> np.ndarray:
    """F (..., n, columns) with F F^T = gram (..., n, n). Negative eigenvalues of the size of rounding are taken as zero, and
    positive ones below `rounding` times the largest."""
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
