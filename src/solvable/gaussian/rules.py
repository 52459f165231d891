"""Nodes and weights for averages over standard normal variables."""

from functools import lru_cache
from typing import NamedTuple

import numpy as np


class Rule(NamedTuple):
    """Nodes and weights of an average: points (nodes, n) and weights (nodes,), which sum to one.

    `exact` says whether the averages it is made for have no error; `panel_nodes` is the number per panel of graded
    rules over two fields.
    """

    points: np.ndarray
    weights: np.ndarray
    exact: bool
    panel_nodes: int


@lru_cache(maxsize=16)
def _legendre(nodes: int) -> tuple[np.ndarray, np.ndarray]:
    x, w = np.polynomial.legendre.leggauss(nodes)
    return x, w


def graded(octaves: int, reach: float, nodes: int, kinks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and weights for an integral over [-reach, reach] of functions that change around zero on a scale of 2^-octaves
    and have kinks at the given places: Gauss-Legendre on panels that halve towards zero, are of unit length further
    out, and end at the kinks."""
    side = np.concatenate([2.0 ** -np.arange(octaves, 0, -1.0), np.arange(1.0, reach + 1)])
    edges = np.concatenate([-side[::-1], [0.0], side, kinks[np.abs(kinks) < reach]])
    edges.sort()
    x, w = _legendre(nodes)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    return (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()


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
