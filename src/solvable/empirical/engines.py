"""Where fields and gradients on samples come from: a matrix that is never drawn, one that is, or its Gram matrix.

Weights are rows of coordinates w/sqrt(dim), in a space that tells their overlaps. An engine has `count` samples. It answers
`fields(rows)`, (count, m) fields w.x/sqrt(dim) of m rows, and `pull(columns)`, (m, used) sums over the samples of columns
(count, m) times x, in the coordinates of rows.
"""

from typing import Protocol

import numpy as np

from solvable.empirical.revealed import Revealed, Space
from solvable.problems import Problem


class SampleEngine(Protocol):
    """Samples, as far as training needs them."""

    count: int

    def fields(self, rows: np.ndarray) -> np.ndarray: ...

    def pull(self, columns: np.ndarray) -> np.ndarray: ...

    def some(self, chosen: np.ndarray, /) -> "SampleEngine | None":
        """Of the samples with these numbers alone; None where these cannot be asked without the others."""


class RevealedEngine:
    """Gaussian samples that are never drawn."""

    def __init__(self, revealed: Revealed) -> None:
        self.count, self.revealed, self.space = revealed.count, revealed, revealed.space

    def fields(self, rows: np.ndarray) -> np.ndarray:
        return self.revealed.right(rows * self.space.roots[: rows.shape[1]])

    def pull(self, columns: np.ndarray) -> np.ndarray:
        found = self.revealed.left(columns)
        return found * self.space.roots[: found.shape[1]]

    def some(self, _: np.ndarray, /) -> None:
        return None


class DenseEngine:
    """Samples as rows of a matrix, Gaussian ones or a user's own."""

    def __init__(self, rows: np.ndarray) -> None:
        self.count, self.rows = len(rows), rows

    def fields(self, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = self.rows @ rows.T
        return found

    def pull(self, columns: np.ndarray) -> np.ndarray:
        found: np.ndarray = columns.T @ self.rows
        return found

    def some(self, chosen: np.ndarray, /) -> "DenseEngine":
        return DenseEngine(self.rows[chosen])


class GramSpace:
    """Weights as combinations of the first ones and of the samples: `metric` has the products of all of these."""

    def __init__(self, first: np.ndarray, rows: np.ndarray) -> None:
        """`first` (m, dim) weights over sqrt(dim), and rows (n, dim) of samples."""
        cross = rows @ first.T
        self.metric = np.block([[first @ first.T, cross.T], [cross, rows @ rows.T]])
        self.first, self.used = len(first), len(self.metric)

    @property
    def room(self) -> int:
        return self.used

    def overlaps(self, first: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """(1, len(first), len(rows)) products of rows of coordinates."""
        return (first @ (self.metric @ rows.T))[None]


class GramEngine:
    """Samples by their Gram matrix alone: all, or those with the numbers `chosen`."""

    def __init__(self, space: GramSpace, chosen: np.ndarray | None = None) -> None:
        self.space, self.places = space, np.arange(space.first, space.used)
        self.places = self.places if chosen is None else self.places[chosen]
        self.count = self.places.size
        self._products = space.metric[space.first :] if chosen is None else space.metric[self.places]

    def fields(self, rows: np.ndarray) -> np.ndarray:
        found: np.ndarray = self._products @ rows.T
        return found

    def pull(self, columns: np.ndarray) -> np.ndarray:
        found = np.zeros((columns.shape[1], self.space.used))
        found[:, self.places] = columns.T
        return found

    def some(self, chosen: np.ndarray, /) -> "GramEngine":
        return GramEngine(self.space, chosen)


class ClassEngine:
    """Samples in classes: those of another engine times `scales` (count,), plus means along a few directions.

    `means` (count, directions) are the coefficients of each sample, spikes included, and `directions` (directions, columns) rows of
    coordinates.
    """

    def __init__(self, inner: SampleEngine, scales: np.ndarray, means: np.ndarray, directions: np.ndarray) -> None:
        self.count, self.inner, self.scales, self.means, self.directions = (
            inner.count, inner, scales[:, None], means, directions,
        )  # fmt: skip

    def fields(self, rows: np.ndarray) -> np.ndarray:
        along = self.directions @ rows[:, : self.directions.shape[1]].T
        found: np.ndarray = self.scales * self.inner.fields(rows) + self.means @ along
        return found

    def pull(self, columns: np.ndarray) -> np.ndarray:
        found = self.inner.pull(self.scales * columns)
        found[:, : self.directions.shape[1]] += (columns.T @ self.means) @ self.directions
        return found

    def some(self, chosen: np.ndarray, /) -> "ClassEngine | None":
        inner = self.inner.some(chosen)
        scales = self.scales[chosen, 0]
        return None if inner is None else ClassEngine(inner, scales, self.means[chosen], self.directions)


def gaussian_rows(count: int, space: Space, random: np.random.Generator) -> np.ndarray:
    """(count, dim) drawn samples, for a space in which every dimension has a coordinate."""
    rows = random.standard_normal((count, space.used))
    return rows if (space.roots == 1).all() else rows * space.roots


def compressed(problem: Problem, space: Space, stack: np.ndarray, more: int) -> tuple[Space, np.ndarray]:
    """A space of the directions that the rows of `stack` span, and the rows in it: for samples that know nothing of others."""
    block, parts = space.block[: space.used], []
    for b in range(problem.inputs.blocks):
        part = stack[:, : space.used][:, block == b]
        parts.append(part if part.shape[1] <= len(stack) else np.linalg.qr(part.T)[1].T)
    made = Space(problem, np.array([part.shape[1] for part in parts]), more)
    rows = np.zeros((len(stack), made.room))
    rows[:, : made.used] = np.concatenate(parts, axis=1)
    return made, rows
