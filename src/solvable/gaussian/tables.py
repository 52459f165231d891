"""Functions of one variable as tables, so that compiled code can evaluate them and their slopes: units and the pushes of losses.

The line is cut at zero and at the kinks of the function. Between two cuts, every doubling of 1 + |z| is divided into equal
panels, so that the panel of z stands in the leading bits of 1 + |z|. In each panel value and slope are polynomials of degree 9
through Chebyshev points. As one flat array for compiled code:

    pieces, lowest z, highest z, bits to drop | of each piece: begin, what to add for its first panel |
    of each panel: middle, 1 / half length, 10 coefficients of the value, 10 of the slope
"""

from functools import lru_cache
from itertools import pairwise

import numpy as np

from solvable.gaussian.losses import Loss
from solvable.gaussian.units import Activation
from solvable.numerics.compiled import compiled

TERMS = 10  # of the polynomials
HEAD, PIECE, PANEL = 4, 2, 2 + 2 * TERMS  # numbers
MANTISSA = 52  # bits
REACHES = 1e6, 1e3, 1e2  # the largest |z| that a table covers, if it can be so large
DOUBLINGS = 3, 5, 7  # a doubling of 1 + |z| has 2^this panels
TOLERANCE = 1e-11  # of value and slope, relative to their size in the panel, or to one


@compiled(strict=True, inline=True)
def evaluate(floats, at, z, bits):
    """Value and slope at z from the table that begins at `floats[at]`; NaN beyond its ends. `bits` are those of 1 + |z|."""
    if not (floats[at + 1] <= z <= floats[at + 2]):
        return np.nan, np.nan
    pieces, row = int(floats[at]), at + HEAD
    for _ in range(pieces - 1):
        if z < floats[row + PIECE]:
            break
        row += PIECE
    i = int(bits >> np.uint64(floats[at + 3])) + int(floats[row + 1])
    panel = at + HEAD + pieces * PIECE + i * PANEL
    u = (z - floats[panel]) * floats[panel + 1]
    value, slope = floats[panel + 1 + TERMS], floats[panel + 1 + 2 * TERMS]
    for k in range(TERMS - 2, -1, -1):
        value = value * u + floats[panel + 2 + k]
        slope = slope * u + floats[panel + 2 + TERMS + k]
    return value, slope


@lru_cache(maxsize=32)
def tabulate(unit: Activation | Loss) -> np.ndarray | None:
    """A table that meets `TOLERANCE`, as large and as coarse as can be; None where no table does."""
    with np.errstate(all="ignore"):
        for reach in REACHES:
            for doubling in DOUBLINGS:
                found = _table(unit, reach, doubling)
                if found is not None:
                    return found
    return None


def _table(unit: Activation | Loss, reach: float, doubling: int) -> np.ndarray | None:
    cuts = np.unique([-reach, 0.0, reach, *(kink for kink in unit.kinks if abs(kink) < reach)])
    drop, head, panels, first = MANTISSA - doubling, [float(len(cuts) - 1), -reach, reach], [], 0
    head.append(drop)
    for begin, end in pairwise(cuts):
        near, far = sorted((abs(begin), abs(end)))
        low, high = (int(np.float64(1 + z).view(np.int64)) >> drop for z in (near, far))
        inner = (np.arange(low + 1, high + 1, dtype=np.int64) << drop).view(np.float64) - 1
        edges = np.concatenate([[near], inner[(inner > near) & (inner < far)], [far]])
        rows = _panels(unit, edges if end > 0 else -edges)
        if rows is None:
            return None
        if len(rows) == high - low:  # the far cut begins a panel, into which z can only be rounded
            rows = np.concatenate([rows, rows[-1:]])
        panels.append(rows)
        head += [begin, first - low]
        first += len(rows)
    return np.concatenate([head, *(rows.ravel() for rows in panels)])


def _panels(unit: Activation | Loss, edges: np.ndarray) -> np.ndarray | None:
    """(panels, PANEL) between neighbouring edges, or None where one does not meet the tolerance."""
    middle, half = (edges[1:] + edges[:-1]) / 2, np.abs(np.diff(edges)) / 2
    nodes = np.polynomial.chebyshev.chebpts1(TERMS)
    fit = np.linalg.inv(np.polynomial.chebyshev.chebvander(nodes, TERMS - 1)).T
    powers = np.array(
        [np.pad(np.polynomial.chebyshev.cheb2poly(row), (0, TERMS - 1 - k)) for k, row in enumerate(np.eye(TERMS))]
    )
    between = np.linspace(-0.99, 0.99, 13)
    rows = [middle[:, None], 1 / half[:, None]]
    for function in unit.curve:
        values, there = (
            np.asarray(function(middle[:, None] + half[:, None] * u), dtype=float) for u in (nodes, between)
        )
        coefficients = values @ fit @ powers
        error = np.abs(np.polynomial.polynomial.polyval(between, coefficients.T) - there)
        if not (error <= TOLERANCE * np.maximum(1.0, np.abs(there).max(axis=1, keepdims=True))).all():
            return None
        rows.append(coefficients)
    return np.concatenate(rows, axis=1)
