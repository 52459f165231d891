"""Units on many points at once, in compiled code: values, slopes and, where there is one, the slope of the slope.

A unit is a kind, a place in `numbers` and a count of terms. Polynomials, of which linear and quadratic units are two, have their
coefficients there, in powers of the field and then in Hermite polynomials; all units but ReLU and polynomials are tables.
"""

import numpy as np

from solvable.gaussian.tables import HEAD, PANEL, PIECE, TERMS, tabulate
from solvable.gaussian.units import POLYNOMIAL, RELU, TABULATED, Activation
from solvable.numerics.compiled import compiled


def describe(unit: Activation, hermite: np.ndarray | None) -> tuple[int, np.ndarray] | None:
    """Kind and numbers of a unit, `hermite` its coefficients if it is a polynomial; None if compiled code cannot hold it."""
    if hermite is not None:
        powers = np.polynomial.hermite_e.herme2poly(hermite)
        return POLYNOMIAL, np.concatenate([np.pad(powers, (0, len(hermite) - len(powers))), hermite])
    if getattr(unit, "kind", None) == RELU:
        return RELU, np.zeros(0)
    table = tabulate(unit)
    return None if table is None else (TABULATED, table)


@compiled()
def find_panels(numbers, at, z, places):
    """Where the panel of every z begins, for z beyond the table's ends that of the end. Loops of their own: they run in lanes."""
    lowest, highest, drop = numbers[at + 1], numbers[at + 2], np.uint64(numbers[at + 3])
    pieces, row = int(numbers[at]), at + HEAD
    for i in range(z.size):
        x = min(max(z[i], lowest), highest)
        bits = np.float64(1.0 + abs(x)).view(np.uint64)
        places[i] = float(int(bits >> drop)) + numbers[row + 1]
    for _ in range(1, pieces):
        row += PIECE
        begin, more = numbers[row], numbers[row + 1] - numbers[row - 1]
        for i in range(z.size):
            places[i] += more if z[i] >= begin else 0.0
    first = at + HEAD + pieces * PIECE
    for i in range(z.size):
        places[i] = first + PANEL * places[i]


@compiled()
def table_curve(numbers, at, z, value, slope):
    """Value and slope at every z from the table that begins at `numbers[at]`; NaN beyond its ends."""
    find_panels(numbers, at, z, slope)
    lowest, highest = numbers[at + 1], numbers[at + 2]
    for i in range(z.size):
        there = lowest <= z[i] <= highest
        panel = int(slope[i]) if there else at + HEAD
        u = (z[i] - numbers[panel]) * numbers[panel + 1]
        g, s = numbers[panel + 1 + TERMS], numbers[panel + 1 + 2 * TERMS]
        for k in range(TERMS - 2, -1, -1):
            g = g * u + numbers[panel + 2 + k]
            s = s * u + numbers[panel + 2 + TERMS + k]
        value[i] = g if there else np.nan
        slope[i] = s if there else np.nan


@compiled()
def table_bend(numbers, at, z, bend):
    """The slope of the slope, by differentiating its polynomial."""
    find_panels(numbers, at, z, bend)
    lowest, highest = numbers[at + 1], numbers[at + 2]
    for i in range(z.size):
        there = lowest <= z[i] <= highest
        panel = int(bend[i]) if there else at + HEAD
        u, first = (z[i] - numbers[panel]) * numbers[panel + 1], panel + 2 + TERMS
        b = (TERMS - 1) * numbers[first + TERMS - 1]
        for k in range(TERMS - 2, 0, -1):
            b = b * u + k * numbers[first + k]
        bend[i] = b * numbers[panel + 1] if there else np.nan


@compiled()
def polynomial_curve(numbers, at, terms, z, value, slope):
    for i in range(z.size):
        value[i], slope[i] = numbers[at + terms - 1], 0.0
    for k in range(terms - 2, -1, -1):
        coefficient = numbers[at + k]
        for i in range(z.size):
            slope[i] = slope[i] * z[i] + value[i]
            value[i] = value[i] * z[i] + coefficient


@compiled()
def curve(kind, numbers, at, terms, z, value, slope):
    """Fill value and slope of a unit at every z."""
    if kind == POLYNOMIAL:
        polynomial_curve(numbers, at, terms, z, value, slope)
    elif kind == RELU:
        for i in range(z.size):
            value[i] = z[i] if z[i] > 0.0 else 0.0
            slope[i] = 1.0 if z[i] > 0.0 else 0.0
    else:
        table_curve(numbers, at, z, value, slope)


@compiled()
def bends(kind, numbers, at, terms, z, bend):
    """Fill the slope of the slope of a unit that has one, at every z."""
    if kind != POLYNOMIAL:
        table_bend(numbers, at, z, bend)
        return
    for i in range(z.size):
        bend[i] = 0.0
    for k in range(terms - 1, 1, -1):
        factor = k * (k - 1) * numbers[at + k]
        for i in range(z.size):
            bend[i] = bend[i] * z[i] + factor
