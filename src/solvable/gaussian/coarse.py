"""Averages <g_i g_j> to a few digits, with a bound of their error, at a fiftieth of the cost: for looks that only ask on which
side of a level the risk is.

Coefficients of 24 Hermite polynomials from 32 Gauss-Hermite nodes; what they leave of <g^2>, and four times the difference of a
rule with 16 nodes, bound the error. Polynomials and ReLU need none of this: their averages are cheap.
"""

import math

import numpy as np

from solvable.gaussian.curves import curve
from solvable.numerics.compiled import compiled

NODES, FEWER, TERMS = 32, 16, 24
FIELD = TERMS + 2  # numbers that are kept of a field: coefficients, <g^2>, its error
_X, _W = np.polynomial.hermite_e.hermegauss(NODES)
_FEW_X, _FEW_W = np.polynomial.hermite_e.hermegauss(FEWER)
_WEIGHTS, _FEW_WEIGHTS = _W / _W.sum(), _FEW_W / _FEW_W.sum()
_PLACES = np.concatenate([_X, _FEW_X])
_HERMITE = np.stack(  # (terms, nodes), normalised and weighted
    [
        np.polynomial.hermite_e.hermeval(_X, np.eye(TERMS)[k]) / math.sqrt(math.factorial(k)) * _WEIGHTS
        for k in range(TERMS)
    ]
)


def coarse_scratch(fields: int) -> int:
    return fields * FIELD + 3 * (NODES + FEWER)


@compiled()
def coarse_field(unit, numbers, variance, kept, scratch):
    """Coefficients, <g^2> and its error of a field with this variance."""
    count = NODES + FEWER
    z, g, slope = scratch[:count], scratch[count : 2 * count], scratch[2 * count : 3 * count]
    spread = math.sqrt(variance)
    for i in range(count):
        z[i] = spread * _PLACES[i]
    curve(unit[0], numbers, unit[1], unit[2], z, g, slope)
    for k in range(TERMS):
        total = 0.0
        for i in range(NODES):
            total += _HERMITE[k, i] * g[i]
        kept[k] = total
    square, fewer = 0.0, 0.0
    for i in range(NODES):
        square += _WEIGHTS[i] * g[i] * g[i]
    for i in range(FEWER):
        fewer += _FEW_WEIGHTS[i] * g[NODES + i] * g[NODES + i]
    kept[TERMS], kept[TERMS + 1] = square, 4.0 * abs(square - fewer)


@compiled()
def coarse_pair(rho, a, b):
    """<g_i g_j> and a bound of its error."""
    total, power = 0.0, 1.0
    left, other = a[TERMS], b[TERMS]
    for k in range(TERMS):
        total += power * a[k] * b[k]
        left -= a[k] * a[k]
        other -= b[k] * b[k]
        power *= rho
    tails = math.sqrt(max(left, 0.0) * max(other, 0.0)) * abs(power)
    root, other_root = math.sqrt(a[TERMS]), math.sqrt(b[TERMS])
    wrong = a[TERMS + 1] * (other_root / root if root > 0.0 else 0.0)
    wrong += b[TERMS + 1] * (root / other_root if other_root > 0.0 else 0.0)
    return total, tails + wrong


@compiled()
def coarse_square(student, teacher, p, C, s, numbers, scratch):
    """<(sum_i s_i g_i)^2> and a bound of its error."""
    n = s.size
    fields, rest = scratch[: n * FIELD].reshape(n, FIELD), scratch[n * FIELD :]
    total, error = 0.0, 0.0
    for i in range(n):
        coarse_field(student if i < p else teacher, numbers, C[i, i], fields[i], rest)
        for j in range(i + 1):
            scale = math.sqrt(C[i, i] * C[j, j])
            rho = min(1.0, max(-1.0, C[i, j] / scale)) if scale > 0.0 else 0.0
            found, wrong = coarse_pair(rho, fields[i], fields[j])
            weight = s[i] * s[j] if i == j else 2.0 * s[i] * s[j]
            total += weight * found
            error += abs(weight) * wrong
    return total, error
