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

    A point is the vector (dim (dim + 1)/2,) of a form's entries, as `numerics.symmetric` has them.

    Parameters
    ----------
    rows : array
        (samples, dim) inputs.
    teacher : array
        (units, dim) teachers, which give the labels.

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
