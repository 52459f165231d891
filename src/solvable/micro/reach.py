"""How far a run may move before what its threshold watches can pass it: until then it need not be looked at.

Any two states of the reduced process are weights in one space, and what is watched depends on their overlaps alone, so the distance
d between their coordinates bounds its change. For the risk d^2 = sum_kb lambda_b |dw_kb|^2, for all else without the eigenvalues:

    root of risk / c    |readout| L d          root of a norm     d
    cross overlap       |teacher| d            student overlap    (2 |student| + d) d

L is the largest |g(z) - g(z')| / |z - z'| between Gaussian fields: the steepest slope of g, or 3^(1/4) <g'^4>^(1/4) if g is a
polynomial, at the largest deviation on the way.
"""

import math
from functools import lru_cache

import numpy as np

from solvable.dynamics.equations import CROSS_OVERLAP, NORM, STUDENT_OVERLAP, total
from solvable.dynamics.kernel_data import FIELDS
from solvable.gaussian.tables import HEAD, PANEL, PIECE, TERMS, tabulate
from solvable.gaussian.units import TABULATED, Activation
from solvable.numerics.compiled import compiled
from solvable.problems import Problem

PART = 0.1  # of a field's deviation: no farther, so that deviations stay below 1 + PART times the largest
WIDE = 40.0  # up to which |field| slopes are looked at; deviations beyond a tenth of that are not trusted
COUNT = 32 * TERMS  # Chebyshev points in a panel, no place is farther than BESIDE from the next in angle
BESIDE = np.pi / (2 * COUNT)


def steepness(problem: Problem) -> np.ndarray:
    """L <= sum_m steepness[m] deviation^m; empty where the risk may change though no student moves."""
    if problem.training.train_readout or problem.training.train_bias or problem.inputs.is_scheduled:
        return np.empty(0)
    coefficients = problem.student.hermite_coefficients
    if coefficients is None:
        return _steepest(problem.student.unit)
    slope = np.polynomial.hermite_e.herme2poly(np.polynomial.hermite_e.hermeder(coefficients))
    moments = [math.prod(range(4 * m - 1, 0, -2)) for m in range(len(slope))]  # <z^4m>
    return np.abs(slope) * (3.0 * np.array(moments, dtype=float)) ** 0.25


@lru_cache(maxsize=32)
def _steepest(unit: Activation) -> np.ndarray:
    """(1,) the largest slope of a unit within WIDE, from the polynomials of its table; empty if it has none. A polynomial of degree
    n in cos(angle) falls from its largest value no faster than cos(n angle) (M. Riesz), which bounds it between points."""
    table = tabulate(unit)
    if table is None:
        return np.empty(0)
    panels = table[HEAD + int(table[0]) * PIECE :].reshape(-1, PANEL)
    near = panels[np.abs(panels[:, 0]) - 1 / panels[:, 1] <= WIDE]
    points = np.polynomial.chebyshev.chebpts1(COUNT)
    slopes = np.polynomial.polynomial.polyval(points, near[:, 2 + TERMS :].T)
    return np.array([np.abs(slopes).max() / math.cos((TERMS - 1) * BESIDE)])


@compiled(strict=True)
def of_risk(problem, steepness, risk, level, readout, C):
    """How far in fields; C is their covariance."""
    deviation, size, steepest, power = 0.0, 0.0, 0.0, 1.0
    for k in range(problem.students):
        deviation = max(deviation, math.sqrt(C[k, k]))
        size += readout[k] * readout[k]
    for m in range(steepness.size):
        steepest += steepness[m] * power
        power *= (1.0 + PART) * deviation
    if not steepest * size > 0.0 or (problem.unit == TABULATED and deviation > 0.1 * WIDE / (1.0 + PART)):
        return 0.0
    gap = abs(math.sqrt(max(risk, 0.0)) - math.sqrt(max(level, 0.0)))
    return min(PART * deviation, gap / (math.sqrt(problem.loss_factor * size) * steepest))


@compiled(strict=True)
def of_overlaps(problem, value, level, y, numbers):
    """How far in weights."""
    p, q, longest, gap = problem.students, problem.teachers, 0.0, abs(value - level)
    if problem.watched == NORM:
        return abs(math.sqrt(max(value, 0.0)) - math.sqrt(max(level, 0.0)))
    if problem.watched == STUDENT_OVERLAP:
        for k in range(p):
            longest = max(longest, total(problem, y, k, k))
        return math.sqrt(longest + gap) - math.sqrt(longest)
    if problem.watched == CROSS_OVERLAP:
        for m in range(q):
            square = 0.0
            for b in range(problem.blocks):
                square += numbers[problem.teacher_overlaps + (b * q + m) * q + m]
            longest = max(longest, square)
        return gap / math.sqrt(longest) if longest > 0.0 else 0.0
    return 0.0


@compiled(strict=True)
def reach(problem, steepness, value, level, y, numbers, work):
    """How far, a little less for rounding."""
    if problem.watched > 0:
        return 0.999 * of_overlaps(problem, value, level, y, numbers)
    base = problem.blocks * problem.moving * problem.rows
    return 0.999 * of_risk(problem, steepness, value, level, y[base:], work[FIELDS])
