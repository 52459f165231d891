"""Averages over a pair of nearly proportional fields in compiled code, where both units are rough: integrals over both directions.

The first field z_i is the outer variable. Given it the other is normal, around a multiple of z_i and with little variance: a
Gauss-Hermite rule where the unit is smooth on that scale, panels elsewhere. Outside, panels halve towards the places where
the mean of the other field meets a cut of its unit.
"""

import math

import numpy as np

from solvable.gaussian.curves import curve
from solvable.gaussian.lines import FEW_W, FEW_X, MOST, MOST_EDGES, even_edges, insert, lay_nodes, unit_edges
from solvable.gaussian.tables import HEAD, MANTISSA, PIECE
from solvable.gaussian.units import RELU
from solvable.numerics.compiled import compiled

PLANE = 2 * MOST_EDGES + 10 * MOST  # numbers of scratch
PROPORTIONAL = 1e-7  # part of a standard deviation that is no second direction
HALF_REACH = 9  # panels of two standard deviations
INNER = 24
_T, _U = np.polynomial.hermite_e.hermegauss(INNER)
_U = _U / _U.sum()


@compiled()
def grade(kind, numbers, at, scale, width, edges, count):
    """Add edges that double their distance from the cuts of a unit, beginning with `width`."""
    cuts = 1 if kind == RELU else int(numbers[at]) - 1
    span = edges[count - 1] - edges[0]
    for j in range(cuts):
        place = 0.0 if kind == RELU else scale * numbers[at + HEAD + (j + 1) * PIECE]
        away = width
        while away < 0.1 * span:
            count = insert(edges, count, place - away)
            count = insert(edges, count, place + away)
            away *= 2.0
    return count


@compiled()
def is_even(kind, numbers, at, mean, spread):
    """Whether a unit is so smooth around a place that few Gauss-Hermite nodes will do."""
    reach = 9.0 * spread
    if kind == RELU:
        return abs(mean) > reach
    for j in range(1, int(numbers[at])):
        if abs(mean - numbers[at + HEAD + j * PIECE]) <= reach:
            return False
    return 16.0 * spread < 4.0 / 2.0 ** (MANTISSA - int(numbers[at + 3]))


@compiled()
def inner_nodes(kind, numbers, at, mean, spread, edges, t, w):
    """Nodes in standard deviations and weights of the other field; how many."""
    if is_even(kind, numbers, at, mean, spread):
        for i in range(INNER):
            t[i], w[i] = _T[i], _U[i]
        return INNER
    count = even_edges(mean, 2.0 * spread, HALF_REACH, edges)
    count = unit_edges(kind, numbers, at, 1.0, 2.0 * spread, edges, count)
    return lay_nodes(edges, count, mean, spread, FEW_X, FEW_W, t, w)


@compiled()
def pair_on_panels(unit, other, numbers, variance, other_variance, covariance, scratch):
    """<g_i g_j>, <g'_i g'_j>, <z_i g'_i g_j> and <z_j g'_j g_i>, for units given as (kind, place, terms)."""
    spread = math.sqrt(variance)
    along = covariance / variance
    rest = math.sqrt(max(other_variance - along * covariance, 0.0))
    second = rest > PROPORTIONAL * math.sqrt(other_variance)
    edges, inside = scratch[:MOST_EDGES], scratch[MOST_EDGES : 2 * MOST_EDGES]
    rows = scratch[2 * MOST_EDGES :]
    x, w, t, u = rows[:MOST], rows[MOST : 2 * MOST], rows[2 * MOST : 3 * MOST], rows[3 * MOST : 4 * MOST]
    count = even_edges(0.0, 2.0 * spread, HALF_REACH, edges)
    count = unit_edges(unit[0], numbers, unit[1], 1.0, 2.0 * spread, edges, count)
    count = unit_edges(other[0], numbers, other[1], 1.0 / along, 2.0 * spread, edges, count)
    if second:
        count = grade(other[0], numbers, other[1], 1.0 / along, rest / abs(along), edges, count)
    count = lay_nodes(edges, count, 0.0, spread, FEW_X, FEW_W, x, w)
    z, g, s = rows[4 * MOST : 4 * MOST + count], rows[5 * MOST : 5 * MOST + count], rows[6 * MOST : 6 * MOST + count]
    for i in range(count):
        z[i] = spread * x[i]
    curve(unit[0], numbers, unit[1], unit[2], z, g, s)
    product, slopes, tilted, other_tilted, nodes = 0.0, 0.0, 0.0, 0.0, 1
    t[0], u[0] = 0.0, 1.0
    for i in range(count):
        mean = along * z[i]
        if second:
            nodes = inner_nodes(other[0], numbers, other[1], mean, rest, inside, t, u)
        y, h, r = (
            rows[7 * MOST : 7 * MOST + nodes],
            rows[8 * MOST : 8 * MOST + nodes],
            rows[9 * MOST : 9 * MOST + nodes],
        )
        for k in range(nodes):
            y[k] = mean + rest * t[k]
        curve(other[0], numbers, other[1], other[2], y, h, r)
        value, slope, moment = 0.0, 0.0, 0.0
        for k in range(nodes):
            value += u[k] * h[k]
            slope += u[k] * r[k]
            moment += u[k] * r[k] * y[k]
        product += w[i] * g[i] * value
        slopes += w[i] * s[i] * slope
        tilted += w[i] * z[i] * s[i] * value
        other_tilted += w[i] * g[i] * moment
    return product, slopes, tilted, other_tilted
