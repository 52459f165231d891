"""Symmetric matrices as vectors: the entries on and above the diagonal, those above times sqrt(2), so that lengths stay."""

from functools import lru_cache

import numpy as np


@lru_cache(maxsize=32)
def _places(size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.triu_indices(size)
    return i, j, np.where(i == j, 1.0, np.sqrt(2.0))


def to_vector(matrices: np.ndarray) -> np.ndarray:
    """(..., k, k) symmetric to (..., k (k + 1)/2)."""
    i, j, weight = _places(matrices.shape[-1])
    return matrices[..., i, j] * weight


def to_matrix(vectors: np.ndarray) -> np.ndarray:
    """(..., k (k + 1)/2) to (..., k, k)."""
    size = round((np.sqrt(8 * vectors.shape[-1] + 1) - 1) / 2)
    i, j, weight = _places(size)
    made = np.empty((*vectors.shape[:-1], size, size))
    made[..., i, j] = made[..., j, i] = vectors / weight
    return made


def squares(rows: np.ndarray) -> np.ndarray:
    """(n, d) to the vectors (n, d (d + 1)/2) of x x^T, so that x^T A x is a product with the vector of A."""
    i, j, weight = _places(rows.shape[1])
    return rows[:, i] * rows[:, j] * weight
