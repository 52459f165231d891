"""Gaussian averages of any function of a few fields, by tensor Gauss-Hermite rules."""

from collections.abc import Callable
from typing import Any

import numpy as np


def expect(function: Callable[[np.ndarray], Any], covariance: Any, nodes: int = 12) -> np.ndarray:
    """<function(z)> for z ~ N(0, covariance); `function` maps (samples, n) to (samples, ...).

    Exact for polynomials of degree below 2 x nodes in each direction. Singular covariances are harmless: directions
    without variance are left out. The cost is nodes^rank.
    """
    C = np.asarray(covariance, dtype=float)
    values, vectors = np.linalg.eigh(C)
    keep = values > 1e-14 * max(values[-1], 1e-300)
    factor = vectors[:, keep] * np.sqrt(values[keep])
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    rank = factor.shape[1]
    grid = (
        np.stack(np.meshgrid(*[points] * rank, indexing="ij"), axis=-1).reshape(-1, rank) if rank else np.zeros((1, 0))
    )
    weight = np.array([1.0])
    for _ in range(rank):
        weight = np.outer(weight, weights).ravel()
    return np.tensordot(weight, np.asarray(function(grid @ factor.T)), axes=1)
