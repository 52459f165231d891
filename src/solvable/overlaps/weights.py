"""Weights as a start: what a level that follows weights begins with, and what the others measure."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.overlaps.measuring import as_array, measure
from solvable.overlaps.state import InvalidStart, Overlaps
from solvable.problems import Problem


@dataclass(frozen=True, eq=False)
class Weights:
    """Students (p, dim) and teachers (p*, dim), one unit per row, with squared norms of order dim; `readout` (p,), or None for
    the problem's. With a spectrum the coordinates are those of its eigenbasis, block after block, unless the eigenvectors
    are given as columns of `basis` (dim, dim). Every level starts from weights as from overlaps."""

    student: np.ndarray
    teacher: np.ndarray
    readout: np.ndarray | None = None
    basis: np.ndarray | None = None

    def __post_init__(self) -> None:
        for name in ("student", "teacher", "readout", "basis"):
            value = getattr(self, name)
            if value is not None:
                array = as_array(value)
                if not np.isfinite(array).all():
                    raise InvalidStart(f"{name}: must be finite")
                object.__setattr__(self, name, array)

    def overlaps(self, problem: Problem) -> Overlaps:
        return measure(problem, self.student, self.teacher, self.readout, self.basis)


def embed(problem: Problem, start: Overlaps, seed: Any, basis: np.ndarray | None = None) -> Weights:
    """Weights with the given overlaps, in directions drawn at random within each block."""
    dim = problem.inputs.dim
    assert dim is not None
    random, p = np.random.default_rng(seed), problem.student.width
    parts = []
    for size, gram in zip(problem.inputs.block_sizes, start.stacked, strict=True):
        factor = gram_factor(gram, min(len(gram), int(size)))
        frame = np.linalg.qr(random.standard_normal((int(size), factor.shape[1])))[0]
        parts.append(np.sqrt(dim) * factor @ frame.T)
    rows = np.concatenate(parts, axis=1)
    rows = rows if basis is None else rows @ basis.T
    return Weights(rows[:p], rows[p:], start.readout, basis)


def gram_factor(gram: np.ndarray, columns: int) -> np.ndarray:
    """F with F F^T = gram in so many columns; negative eigenvalues of the size of rounding are taken as zero."""
    values, vectors = np.linalg.eigh(gram)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[columns:].size and values[columns] > 1e-9 * max(values[0], 1e-300):
        raise InvalidStart(
            f"start: the units span {int((values > 1e-9 * values[0]).sum())} directions in a block of {columns} dimensions; "
            f"no weights have these overlaps, raise inputs.dim or draw the start at this dim"
        )
    factor = np.zeros((len(gram), columns))
    factor[:, : values.size] = vectors[:, :columns] * np.sqrt(np.maximum(values[:columns], 0.0))
    return factor
