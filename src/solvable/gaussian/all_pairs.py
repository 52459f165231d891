"""Averages over pairs of fields in NumPy, for functions that only Python can call: by quadrature, at any variance.

Matrices (n, n) over pairs (i, j): <g_i g_j>, <g'_i g'_j>, <g''_i g_j>. Compiled code has its own way (`pair_planes.py`).
"""

from typing import NamedTuple

import numpy as np

from solvable.gaussian.rules import graded
from solvable.gaussian.units import Activation


class Pairs(NamedTuple):
    """Averages over all pairs of fields, each (n, n)."""

    product: np.ndarray
    slopes: np.ndarray
    curvature: np.ndarray


def quadrature_pairs(units: list[Activation], C: np.ndarray, nodes: int) -> Pairs:
    """Any units, by integrals over two directions on panels graded around z = 0, where units change, and cut at their kinks;
    at any variance. Needs g and g' only, since by Stein's lemma <z_i g'_i g_j> = C_ii <g''_i g_j> + C_ij <g'_i g'_j>.
    A field without variance has curvature zero here, which nothing feels."""
    n = len(units)
    product, slopes, tilted = np.empty((n, n)), np.empty((n, n)), np.empty((n, n))
    kinks = [np.array(unit.kinks) for unit in units]
    for i in range(n):
        spread = np.sqrt(C[i, i])
        for j in range(i, n):
            along = C[i, j] / spread if spread > 0 else 0.0
            rest = np.sqrt(max(C[j, j] - along**2, 0.0))
            steep = max(spread, abs(along) / max(rest, 1e-3 * abs(along), 1e-300), 1.0)
            x, w = graded(_octaves(steep), 8, nodes, _places(kinks[i], spread, kinks[j], along, rest))
            w = w * _density(x)
            z = spread * x
            g, slope = units[i].function(z), units[i].derivative(z)
            if rest <= 1e-7 * np.sqrt(C[j, j]):  # proportional fields: one direction
                other, inner = along * x[:, None], np.ones((1, 1))
            else:
                kink = np.clip(-along * x / rest, -5.0, 5.0)[:, None]  # where the other field vanishes
                t, u = graded(_octaves(max(rest, 1.0)), 13, nodes, kinks[j] / rest)
                other, inner = along * x[:, None] + rest * (kink + t), u * _density(kink + t)
            slope_j = units[j].derivative(other)
            g_j = (units[j].function(other) * inner).sum(axis=1)
            product[i, j] = product[j, i] = w @ (g * g_j)
            slopes[i, j] = slopes[j, i] = w @ (slope * (slope_j * inner).sum(axis=1))
            tilted[j, i] = w @ (g * (other * slope_j * inner).sum(axis=1))
            tilted[i, j] = w @ (z * slope * g_j)
    variance = np.diag(C)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        curvature = np.where(variance > 0, (tilted - C * slopes) / variance, 0.0)
    return Pairs(product, slopes, curvature)


def _places(own: np.ndarray, spread: float, others: np.ndarray, along: float, rest: float) -> np.ndarray:
    """Kinks along the first direction: the unit's own, and the other's where that field is proportional."""
    places = [own / spread] if spread > 0 else []
    if rest <= 1e-7 * abs(along) and along != 0:
        places.append(others / along)
    return np.concatenate(places) if places else np.zeros(0)


def _octaves(steepness: float) -> int:
    """Halvings that resolve a change on the scale 1/steepness."""
    return int(np.ceil(np.log2(2.0 * (steepness if steepness < 1e6 else 1e6))))


def _density(x: np.ndarray) -> np.ndarray:
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
