"""Gaussian averages over a pair of fields (z1, z2), by the kind of unit.

For g with fields of variances c11, c22 and covariance c12:

    product    <g(z1) g(z2)>        slopes    <g'(z1) g'(z2)>        curvature    <g''(z1) g(z2)>

They are all that the drift of squared-loss SGD needs (Stein's lemma; worschech2024 calls them I2, b and a).
"""

import math

from numba import float64, int64

from solvable.gaussian.units import ERF, QUADRATIC, UNITS
from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled

KINDS = {name: unit.kind for name, unit in UNITS.items() if unit.closed}

TWO_OVER_PI = 2.0 / math.pi
_PAIR = float64(int64, float64, float64, float64)


@compiled(_PAIR)
def product(kind, c11, c22, c12):
    if kind == QUADRATIC:
        return c11 * c22 + 2.0 * c12 * c12
    if kind == ERF:
        return TWO_OVER_PI * arcsine(c12 / math.sqrt((1.0 + c11) * (1.0 + c22)))
    return c12


@compiled(_PAIR)
def slopes(kind, c11, c22, c12):
    if kind == QUADRATIC:
        return 4.0 * c12
    if kind == ERF:
        return TWO_OVER_PI / math.sqrt((1.0 + c11) * (1.0 + c22) - c12 * c12)
    return 1.0


@compiled()
def curvature(kind, c11, c22, c12):
    """`drifts.py` has it inside a sum."""
    if kind == QUADRATIC:
        return 2.0 * c22
    if kind == ERF:
        return -c12 / (1.0 + c11) * TWO_OVER_PI / math.sqrt((1.0 + c11) * (1.0 + c22) - c12 * c12)
    return 0.0
