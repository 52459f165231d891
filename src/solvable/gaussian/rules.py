"""Nodes and weights for averages over standard normal variables."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """points (nodes, n) and weights (nodes,), summing to one; `exact` if the averages it is made for have no error;
    `panel_nodes` per panel of the graded rules for averages over two fields."""

    points: np.ndarray
    weights: np.ndarray
    exact: bool
    panel_nodes: int


@lru_cache(maxsize=256)
def graded(octaves: int, reach: int, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for an integral over [-reach, reach] of functions that may have a kink at zero or change there on
    a scale of 2^-octaves: Gauss-Legendre on panels that halve towards zero and are of unit length further out."""
    edges = np.concatenate([[0.0], 2.0 ** -np.arange(octaves, 0, -1.0), np.arange(1.0, reach + 1)])
    x, w = np.polynomial.legendre.leggauss(nodes)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    points = (middle[:, None] + half[:, None] * x).ravel()
    weights = (half[:, None] * w).ravel()
    return np.concatenate([-points[::-1], points]), np.concatenate([weights[::-1], weights])


@lru_cache(maxsize=8)
def sobol(dimension: int, nodes: int, seed: int) -> Rule:
    """Scrambled Sobol points in antithetic pairs, corrected to have exactly unit covariance."""
    from scipy.special import ndtri
    from scipy.stats import qmc

    half = qmc.Sobol(dimension, scramble=True, rng=np.random.default_rng(seed)).random(nodes // 2)
    normal = ndtri(np.clip(half, 1e-15, 1 - 1e-15))
    points = np.concatenate([normal, -normal])
    whiten = np.linalg.inv(np.linalg.cholesky(points.T @ points / len(points)))
    return Rule(points @ whiten.T, np.full(len(points), 1.0 / len(points)), False, 5 + 3 * (seed % 2))


@lru_cache(maxsize=8)
def tensor(dimension: int, nodes: int) -> Rule:
    """Gauss-Hermite in every direction: exact for polynomials of total degree below 2 x nodes."""
    points, weights = np.polynomial.hermite_e.hermegauss(nodes)
    weights = weights / weights.sum()
    grid = np.stack(np.meshgrid(*[points] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    product = np.array([1.0])
    for _ in range(dimension):
        product = np.outer(product, weights).ravel()
    return Rule(grid, product, True, 5)
