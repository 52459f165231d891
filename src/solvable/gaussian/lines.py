"""Averages of one unit over a normal field in compiled code: Gauss-Legendre panels that know where the unit changes.

A table says how fast its function changes: four of its panels, each resolved
by a polynomial of degree 9, make one of ours with 16 points. Its cuts, among them all kinks, are edges.
"""

import math

import numpy as np

from solvable.gaussian.tables import HEAD, MANTISSA, PIECE
from solvable.gaussian.units import RELU, TABULATED
from solvable.numerics.compiled import compiled

POINTS = 16  # of a panel; half of them where 1e-9 will do
MOST_EDGES = 192
MOST = MOST_EDGES * POINTS  # nodes
X, W = np.polynomial.legendre.leggauss(POINTS)
FEW_X, FEW_W = np.polynomial.legendre.leggauss(POINTS // 2)
LOG2 = math.log(2.0)
_TAYLOR = np.array([1.0 / math.factorial(k) for k in range(13)])


@compiled()
def weigh(t, w):
    """Multiply weights by the standard normal density at t; written so that it runs in lanes."""
    for i in range(t.size):
        x = max(-0.5 * t[i] * t[i], -700.0)
        n = math.floor(x / LOG2 + 0.5)
        r = x - n * LOG2
        p = _TAYLOR[12]
        for k in range(11, -1, -1):
            p = p * r + _TAYLOR[k]
        power = (np.int64(n) + 1023) << 52
        w[i] *= p * np.int64(power).view(np.float64) * 0.3989422804014327


@compiled()
def insert(edges, count, z):
    """One more edge, in order; how many there are. What does not fit, or is no inner point, is left out."""
    if count >= MOST_EDGES or not (edges[0] < z < edges[count - 1]):
        return count
    i = count
    while edges[i - 1] > z:
        edges[i] = edges[i - 1]
        i -= 1
    edges[i] = z
    return count + 1


@compiled()
def even_edges(mean, step, panels, edges):
    """So many panels of equal length around the mean; how many edges."""
    for j in range(panels + 1):
        edges[j] = mean + step * (j - 0.5 * panels)
    return panels + 1


@compiled()
def unit_edges(kind, numbers, at, scale, longest, edges, count):
    """Add the places where a unit of the field z / scale changes: cuts, and edges of panels that are shorter than `longest`."""
    if kind == RELU:
        return insert(edges, count, 0.0)
    if kind != TABULATED:
        return count
    for j in range(1, int(numbers[at])):
        count = insert(edges, count, scale * numbers[at + HEAD + j * PIECE])
    in_doubling = 2 ** (MANTISSA - int(numbers[at + 3]) - 2)
    octave, furthest = 1.0, max(abs(edges[0]), abs(edges[count - 1])) / abs(scale)
    while octave / in_doubling * abs(scale) < longest and octave - 1.0 < furthest and count < MOST_EDGES:
        for m in range(1, in_doubling + 1):
            z = scale * (octave * (1.0 + m / in_doubling) - 1.0)
            count = insert(edges, count, z)
            count = insert(edges, count, -z)
        octave *= 2.0
    return count


@compiled()
def lay_nodes(edges, count, mean, spread, points, weights, t, w):
    """Nodes t in standard deviations and weights for averages over N(mean, spread^2), by a rule on each panel between
    edges; how many."""
    for j in range(count - 1):
        half, middle = 0.5 * (edges[j + 1] - edges[j]) / spread, (0.5 * (edges[j + 1] + edges[j]) - mean) / spread
        for i in range(points.size):
            t[j * points.size + i] = middle + half * points[i]
            w[j * points.size + i] = half * weights[i]
    nodes = (count - 1) * points.size
    weigh(t[:nodes], w[:nodes])
    return nodes
