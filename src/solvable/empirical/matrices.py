"""The training loss as a landscape of quadratic forms A, and the flow on it, dA/dt = G A + A G (saraomannelli2020, 5).

Forms are vectors of their entries (`numerics.symmetric`), the coordinates in which the loss is quadratic. For the string
method, and as a second way to the flow; `Empirical` follows a factor of A instead.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from solvable.empirical.certificates import check_rows
from solvable.numerics.symmetric import squares, to_matrix, to_vector


@dataclass(frozen=True, eq=False)
class TrainingLandscape:
    """The training loss as a landscape over quadratic forms A, for `landscape.string`.

    A point is a form A as a vector of d (d + 1)/2 numbers: A_ij for i <= j, row by row, those with i < j times sqrt(2),
    so that the length of a point is the Frobenius norm of A. `matrix` and `point` convert. All methods take any number
    of points at once, (..., d (d + 1)/2).

    Parameters
    ----------
    rows : array
        (samples, dim) inputs.
    teacher : array
        (units, dim) teachers, which give the labels mean (teacher . x)^2.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 3))
    >>> hills = sv.empirical.TrainingLandscape(rows, [[1.0, 0.0, 0.0]])
    >>> float(hills.energy(hills.solution)), bool(hills.energy(hills.identity) > 0)
    (0.0, True)
    """

    rows: Any
    teacher: Any

    def __post_init__(self) -> None:
        rows, teacher = check_rows(self.rows, self.teacher)
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "teacher", teacher)

    @cached_property
    def solution(self) -> np.ndarray:
        """The teacher's form, as a point."""
        return to_vector(self.teacher.T @ self.teacher / len(self.teacher))

    @cached_property
    def identity(self) -> np.ndarray:
        """The identity, as a point."""
        return to_vector(np.eye(self.rows.shape[1]))

    @cached_property
    def hessian(self) -> np.ndarray:
        """Second derivative of the training loss, the same everywhere."""
        seen = squares(self.rows)
        return seen.T @ seen / len(self.rows)

    @property
    def entries(self) -> np.ndarray:
        """(d (d + 1)/2, 2) row and column of the entry that each number of a point stands for."""
        return np.column_stack(np.triu_indices(self.rows.shape[1]))

    def matrix(self, points: Any) -> np.ndarray:
        """(..., d, d) the forms A of points."""
        found = np.asarray(points, dtype=float)
        if found.shape[-1:] != self.identity.shape:
            raise ValueError(
                f"points: shape {found.shape} given, must end in {self.identity.size} for {self.rows.shape[1]} inputs"
            )
        return to_matrix(found)

    def point(self, matrices: Any) -> np.ndarray:
        """(..., d (d + 1)/2) the points of symmetric forms (..., d, d)."""
        A, d = np.asarray(matrices, dtype=float), self.rows.shape[1]
        if A.shape[-2:] != (d, d):
            raise ValueError(f"matrices: shape {A.shape} given, must end in {(d, d)}")
        if np.abs(A - A.swapaxes(-1, -2)).max(initial=0.0) > 1e-10 * np.abs(A).max(initial=0.0):
            raise ValueError("matrices: must be symmetric")
        return to_vector(A)

    def weights(self, points: Any, width: int | None = None) -> np.ndarray:
        """(..., width, d) students with A = weights^T weights / (width d), as `overlaps.Weights` has them: `width` of them (as
        many as inputs), orthogonal to each other, the longest first. Turning them among each other changes neither their output
        nor the flow."""
        A, d = self.matrix(points), self.rows.shape[1]
        width = d if width is None else width
        if not isinstance(width, int) or isinstance(width, bool) or width < 1:
            raise ValueError(f"width: {width!r} given, must be a whole number, at least 1")
        values, vectors = (part[..., ::-1] for part in np.linalg.eigh(A))
        small = 1e-9 * np.maximum(values[..., :1], 1e-300)
        if (values < -small).any():
            raise ValueError(f"points: no students have a form with the eigenvalue {values.min():.3g}")
        if (values[..., width:] > small).any():
            rank = int((values > small).sum(axis=-1).max())
            raise ValueError(f"width: {width} given, but a form of rank {rank} needs as many students")
        rows = np.zeros((*A.shape[:-2], width, d))
        most = min(width, d)
        rows[..., :most, :] = (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]).swapaxes(-1, -2)[..., :most, :]
        return np.sqrt(width * d) * rows

    def energy(self, points: np.ndarray) -> np.ndarray:
        """Training loss E_n, 1/2 mean (label - x^T A x)^2."""
        residuals = (points - self.solution) @ squares(self.rows).T
        return 0.5 * (residuals**2).mean(axis=-1)

    def population_loss(self, points: np.ndarray) -> np.ndarray:
        """Loss over all Gaussian inputs, half the mean squared error."""
        gap = points - self.solution
        return (gap**2).sum(axis=-1) + 0.5 * (gap @ self.identity) ** 2

    def _pull(self, points: np.ndarray) -> np.ndarray:
        """G (..., d, d)."""
        return to_matrix((self.solution - points) @ self.hessian)

    def force(self, points: np.ndarray) -> np.ndarray:
        """Velocity of the flow, dA/dt = G A + A G."""
        A, G = to_matrix(points), self._pull(points)
        return to_vector(G @ A + A @ G)

    def jacobian(self, points: np.ndarray) -> np.ndarray:
        """Derivative of the force: S -> G S + S G - (A (H S) + (H S) A)."""
        return self._both_sides(self._pull(points)) - self._both_sides(to_matrix(points)) @ self.hessian

    def _both_sides(self, matrices: np.ndarray) -> np.ndarray:
        """(..., D, D) the map S -> M S + S M on vectors."""
        units = to_matrix(np.eye(self.identity.size))
        M = matrices[..., None, :, :]
        return to_vector(M @ units + units @ M).swapaxes(-1, -2)

    def growth(self, points: np.ndarray) -> np.ndarray:
        """How fast neighbouring flow lines part: twice the largest eigenvalue of G.

        The other part of the Jacobian brings flow lines together, but for its rotations.
        """
        fastest: np.ndarray = 2 * np.linalg.eigvalsh(self._pull(points))[..., -1]
        return fastest

    def project(self, points: np.ndarray) -> np.ndarray:
        """The nearest positive semidefinite forms."""
        values, vectors = np.linalg.eigh(to_matrix(points))
        return to_vector((vectors * np.maximum(values, 0.0)[..., None, :]) @ vectors.swapaxes(-1, -2))
