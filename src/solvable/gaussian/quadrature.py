"""Gaussian averages of any function of a few fields, by tensor Gauss-Hermite rules."""

from collections.abc import Callable
from typing import Any

import numpy as np


def expect(function: Callable[[np.ndarray], Any], covariance: Any, nodes: int = 12) -> np.ndarray:
    """Gaussian average <function(z)> for z ~ N(0, covariance), by a tensor Gauss-Hermite rule.

    Exact for polynomials of degree below 2 x nodes in each direction. The cost is nodes^rank; directions without
    variance are left out.

    Parameters
    ----------
    function : callable
        Maps fields (samples, n) to values (samples, ...).
    covariance : array
        (n, n), may be singular.
    nodes : int
        Points in each direction.

    Returns
    -------
    ndarray
        (...) the average.

    Examples
    --------
    >>> from solvable.gaussian.quadrature import expect
    >>> float(expect(lambda z: z[:, 0] ** 2 * z[:, 1] ** 2, [[1.0, 0.5], [0.5, 1.0]]).round(6))
    1.5
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
