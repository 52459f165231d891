"""Averages over pairs of fields as series in their correlation, in compiled code.

With normalised Hermite polynomials h_k of z / sigma, g = sum_k a_k h_k and g' = sum_k b_k h_k. At the correlation rho of two fields

    <g_i g_j>    sum_k a_ik a_jk rho^k
    <g'_i g'_j>  sum_k b_ik b_jk rho^k
    <g''_i g_j>  sum_k sqrt(k + 1) b_i,k+1 a_jk rho^k / sigma_i

The coefficients of a polynomial end; those of a smooth unit fall fast (tanh: as exp(-pi sqrt(k) / (2 sigma))), those of a
kinked one as a power. So one rule for each field serves all its pairs, and only pairs of two rough fields that are nearly
proportional need an integral over both (`panels.py`).
"""

import math

import numpy as np

from solvable.gaussian.curves import curve
from solvable.gaussian.lines import MOST, MOST_EDGES, W, X, even_edges, lay_nodes, unit_edges
from solvable.gaussian.units import POLYNOMIAL
from solvable.numerics.compiled import compiled

LONGEST = 512  # terms
REACH = 12  # standard deviations: Hermite functions of high order reach far
SMALL = 1e-8  # of the norm: smaller coefficients of both fields give products below rounding
LINE = MOST_EDGES + 6 * MOST  # numbers of scratch
_ROOTS = np.sqrt(np.arange(LONGEST + 2.0))
_FACTORIALS = np.array([math.factorial(k) for k in range(16)], dtype=float)


@compiled()
def polynomial_series(numbers, at, terms, variance, a, b):
    """Of sum_m c_m He_m at any variance: a_k = sigma^k sqrt(k!) sum_j c_m m! / (j! k! 2^j) (variance - 1)^j with m = k + 2 j."""
    scale = 1.0
    for k in range(terms):
        value, slope, power = 0.0, 0.0, 1.0
        for j in range((terms - 1 - k) // 2 + 1):
            m = k + 2 * j
            weight = _FACTORIALS[m] / (_FACTORIALS[j] * _FACTORIALS[k]) * power
            value += weight * numbers[at + m]
            if m + 1 < terms:
                slope += weight * (m + 1) * numbers[at + m + 1]
            power *= 0.5 * (variance - 1.0)
        a[k], b[k] = scale * value, scale * slope
        scale *= math.sqrt(variance * (k + 1.0))
    a[terms] = b[terms] = 0.0


@compiled()
def field_series(kind, numbers, at, terms, variance, a, b, scratch):
    """Fill the coefficients of a unit at a field of this variance; how many, or minus as many where they have not become small.
    The last entries of `a` and `b` keep <g^2> and <g'^2> from the nodes, and that before `a`'s last <z g' g>."""
    if kind == POLYNOMIAL:
        polynomial_series(numbers, at + terms, terms, variance, a, b)
        return terms
    spread = math.sqrt(variance)
    edges, rows = scratch[:MOST_EDGES], scratch[MOST_EDGES:]
    x, now, before = rows[:MOST], rows[MOST : 2 * MOST], rows[2 * MOST : 3 * MOST]
    count = 1
    x[0], now[0] = 0.0, 1.0
    if spread > 0.0:
        count = even_edges(0.0, spread, 2 * REACH, edges)
        count = unit_edges(kind, numbers, at, 1.0, spread, edges, count)
        count = lay_nodes(edges, count, 0.0, spread, X, W, x, now)
    z, g, s = rows[3 * MOST : 3 * MOST + count], rows[4 * MOST : 4 * MOST + count], rows[5 * MOST : 5 * MOST + count]
    for i in range(count):
        z[i], before[i] = spread * x[i], 0.0
    curve(kind, numbers, at, terms, z, g, s)
    square, slopes, tilted = 0.0, 0.0, 0.0
    for i in range(count):
        square += now[i] * g[i] * g[i]
        slopes += now[i] * s[i] * s[i]
        tilted += now[i] * z[i] * s[i] * g[i]
    a[LONGEST + 1], b[LONGEST + 1], a[LONGEST] = square, slopes, tilted
    return recur(x[:count], now[:count], before[:count], g, s, a, b) if spread > 0.0 else single(g, s, a, b)


@compiled()
def single(g, s, a, b):
    """A field without variance."""
    a[0], b[0], a[1], b[1] = g[0], s[0], 0.0, 0.0
    return 1


@compiled()
def recur(x, now, before, g, s, a, b):
    """a_k and b_k from nodes x and weights `now`, by h_(k+1) = (x h_k - sqrt(k) h_(k-1)) / sqrt(k + 1), until they are small."""
    square, slopes, quiet, found, bent = a[LONGEST + 1], b[LONGEST + 1], 0, 0.0, 0.0
    for k in range(LONGEST):
        value, slope, back, on = 0.0, 0.0, -_ROOTS[k] / _ROOTS[k + 1], 1.0 / _ROOTS[k + 1]
        for i in range(x.size):
            here = now[i]
            value += here * g[i]
            slope += here * s[i]
            now[i] = on * x[i] * here + back * before[i]
            before[i] = here
        a[k], b[k] = value, slope
        found += value * value
        bent += slope * slope
        small = abs(value) <= SMALL * math.sqrt(square) and abs(slope) <= SMALL * math.sqrt(slopes)
        quiet = quiet + 1 if small else 0
        b[k + 1] = 0.0
        if quiet >= 6 and square - found <= 1e-13 * square and slopes - bent <= 1e-13 * slopes:
            return k + 1
        if value != value:
            return k + 1
    return -LONGEST


@compiled()
def pair_series(count, rho, a, b, other_a, other_b):
    """<g_i g_j>, <g'_i g'_j>, sigma_i <g''_i g_j> and sigma_j <g''_j g_i>, from the terms that both fields have."""
    product, slopes, bend, other, power = 0.0, 0.0, 0.0, 0.0, 1.0
    for k in range(int(count)):
        product += power * a[k] * other_a[k]
        slopes += power * b[k] * other_b[k]
        bend += power * _ROOTS[k + 1] * b[k + 1] * other_a[k]
        other += power * _ROOTS[k + 1] * other_b[k + 1] * a[k]
        power *= rho
    return product, slopes, bend, other
