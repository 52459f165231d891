"""Nodes and weights for averages over standard normal variables."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """points (nodes, n) and weights (nodes,), summing to one; `exact` if the averages it is made for have no error;
    `pair_nodes` per direction for averages over two fields."""

    points: np.ndarray
    weights: np.ndarray
    exact: bool
    pair_nodes: int


@lru_cache(maxsize=8)
def sobol(dimension: int, nodes: int, seed: int) -> Rule:
    """Scrambled Sobol points in antithetic pairs, corrected to have exactly unit covariance."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    half = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random(nodes // 2)
    normal = ndtri(np.clip(half, 1e-15, 1 - 1e-15))
    points = np.concatenate([normal, -normal])
    whiten = np.linalg.inv(np.linalg.cholesky(points.T @ points / len(points)))
    return Rule(points @ whiten.T, np.full(len(points), 1.0 / len(points)), False, 80 + 20 * (seed % 2))


@lru_cache(maxsize=8)
def tensor(dimension: int, nodes: int) -> Rule:
    """Gauss-Hermite in every direction: exact for polynomials of total degree below 2 x nodes."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(*[points] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    product = np.array([1.0])
    for _ in range(dimension):
        product = np.outer(product, weights).ravel()
    return Rule(grid, product, True, 80)
