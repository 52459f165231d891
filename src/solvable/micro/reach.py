"""How far a run may move before what its threshold watches can pass it: until then it need not be looked at.

Any two states of the reduced process are weights in one space, and what is watched depends on their overlaps alone, so distances
between their coordinates bound its change. With d those of students, d* of teachers, da of readouts and biases, all together:

    root of risk / c    A L d + G |da| + A* L* d*      root of a norm     d
    cross overlap       |teacher| d + |student| d*     student overlap    (2 |student| + d) d      readout    |da|

The root of risk / c is a norm of the error, which is linear in readouts: A and A* are the lengths of these (of the test where they
are largest), L is the largest |g(z) - g(z')| / |z - z'| between Gaussian fields: the steepest slope of g, or 3^(1/4) <g'^4>^(1/4)
if g is a polynomial; G^2 bounds the sum of <g_k^2>, and that of a bias is 1. All are taken at the largest deviation on the way.

For the risk distances are those of fields, d^2 = sum_kb Lambda_b |dw_kb|^2: Lambda_b is the eigenvalue times the largest factor of
a class, plus |mean|^2 and spikes. Where eigenvalues change, sqrt(lambda') w' - sqrt(lambda) w = sqrt(lambda') (w' - w) + dw with
|dw| <= max_b |d sqrt(lambda_b)| |w|, for students and teachers. Moments of a normal variable with a mean are at most those of one
without that has the same square, so means need nothing else. Tests whose shares change from pi to pi' have a risk between
min pi'/pi and max pi'/pi times that with the old ones.
"""

import math
from functools import lru_cache

import numpy as np

from solvable.dynamics.case_equations import share_at
from solvable.dynamics.cases import case_table
from solvable.dynamics.equations import CROSS_OVERLAP, NORM, STUDENT_OVERLAP, eigenvalue_at, total
from solvable.gaussian.tables import HEAD, PANEL, PIECE, TERMS, tabulate
from solvable.gaussian.units import TABULATED, Activation
from solvable.numerics.compiled import compiled
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.problems.networks import Network

PART = 0.1  # of a field's deviation: no farther, so that deviations stay below 1 + PART times the largest
WIDE = 40.0  # up to which |field| slopes are looked at; deviations beyond a tenth of that are not trusted
ROUNDING = 1e-12  # of a risk, relative to the sum of its terms
COUNT = 32 * TERMS  # Chebyshev points in a panel, no place is farther than BESIDE from the next in angle
BESIDE = np.pi / (2 * COUNT)
# places in `bounds`: factor and addend of Lambda, whether eigenvalues and shares of tests change in time; then three polynomials in
# a deviation: L and G of students, L of teachers (zero where their fields do not move)
FACTOR, ADDEND, SCHEDULED, SHARED, POLYNOMIALS = range(5)
STEEPNESS, GROWTH, TEACHERS = range(3)


def bounds_of(problem: Problem, starts: list[Overlaps]) -> np.ndarray:
    """What bounds need of a problem, whatever is watched, for runs from these starts."""
    teacher, factor, addend, shared = problem.teacher, 1.0, 0.0, False
    if problem.features:
        tests = case_table(problem, tests=True)
        factor, shared = float(tests.factors.max()), bool((tests.slope != 0).any())
        addend = max(_largest_mean(problem, start, tests.means, tests.spikes) for start in starts)
    moving = teacher.width > 0 and (teacher.is_moving or problem.inputs.is_scheduled)
    taught = np.zeros(1)
    if moving:
        taught = steepness(teacher) if teacher.target == "additive" else np.full(1, np.inf)
    rows = steepness(problem.student), growth(problem.student), taught
    table = np.zeros((3, max(row.size for row in rows)))
    for one, row in zip(table, rows, strict=True):
        one[: row.size] = row
    return np.concatenate([[factor, addend, problem.inputs.is_scheduled, shared], table.ravel()])


def _largest_mean(problem: Problem, start: Overlaps, means: np.ndarray, spikes: np.ndarray) -> float:
    """|mean|^2 and variances along directions, of the test where they are largest."""
    first = problem.student.width + problem.teacher.width
    rows = first + np.flatnonzero([role == "direction" for role in problem.extras])
    gram = start.stacked[:, rows[:, None], rows].sum(axis=0)
    sizes = np.einsum("ti,ij,tj->t", means, gram, means) + spikes @ np.diagonal(gram)
    return float(max(sizes.max(), 0.0))


def steepness(network: Network) -> np.ndarray:
    """L <= sum_m steepness[m] deviation^m; infinite where nothing is known."""
    coefficients = network.hermite_coefficients
    if coefficients is None:
        return _steepest(network.unit)
    slope = np.polynomial.hermite_e.herme2poly(np.polynomial.hermite_e.hermeder(coefficients))
    return np.abs(slope) * (3.0 * _moments(4, len(slope))) ** 0.25


def growth(network: Network) -> np.ndarray:
    """<g^2>^(1/2) <= sum_m growth[m] deviation^m."""
    coefficients = network.hermite_coefficients
    if coefficients is None:
        return np.array([abs(float(network.unit.function(np.zeros(1))[0])), *_steepest(network.unit)])
    powers = np.polynomial.hermite_e.herme2poly(coefficients)
    return np.abs(powers) * _moments(2, len(powers)) ** 0.5


def _moments(order: int, count: int) -> np.ndarray:
    """<z^(order m)> of a standard normal variable."""
    return np.array([math.prod(range(order * m - 1, 0, -2)) for m in range(count)], dtype=float)


@lru_cache(maxsize=32)
def _steepest(unit: Activation) -> np.ndarray:
    """(1,) the largest slope of a unit within WIDE, from the polynomials of its table; infinite if it has none. A polynomial of
    degree n in cos(angle) falls from its largest value no faster than cos(n angle) (M. Riesz), which bounds it between points."""
    table = tabulate(unit)
    if table is None:
        return np.full(1, np.inf)
    panels = table[HEAD + int(table[0]) * PIECE :].reshape(-1, PANEL)
    near = panels[np.abs(panels[:, 0]) - 1 / panels[:, 1] <= WIDE]
    points = np.polynomial.chebyshev.chebpts1(COUNT)
    slopes = np.polynomial.polynomial.polyval(points, near[:, 2 + TERMS :].T)
    return np.array([np.abs(slopes).max() / math.cos((TERMS - 1) * BESIDE)])


@compiled(strict=True)
def bound_at(bounds, row, deviation):
    """One of the polynomials."""
    terms, found = (bounds.size - POLYNOMIALS) // 3, 0.0
    for m in range(terms - 1, -1, -1):
        found = found * deviation + bounds[POLYNOMIALS + row * terms + m]
    return found


@compiled(strict=True)
def weight_of(problem, block, bounds, time):
    """Lambda_b, where distances are those of fields."""
    if problem.watched > 0:
        return 1.0
    return bounds[FACTOR] * eigenvalue_at(problem, block, time) + bounds[ADDEND]


@compiled(strict=True)
def square_of_teacher(problem, y, numbers, b, m):
    """The overlap of a teacher with itself in a block."""
    row, n, moving = problem.first_teacher + m, problem.rows, problem.moving
    if row < moving:
        return y[(b * moving + row) * n + row]
    still = n - moving
    return numbers[problem.teacher_overlaps + (b * still + row - moving) * still + row - moving]


@compiled(strict=True)
def reach_of_overlaps(run, problem, value, y, numbers):
    """Of overlaps, norms and readouts."""
    run.root, run.goal, run.slack, run.limit, run.teacher_limit = value, run.level, 0.0, np.inf, np.inf
    run.of_students, run.of_readouts, run.of_teachers, run.length, run.teacher_length = 1.0, 0.0, 0.0, 0.0, 0.0
    longest, taught = 0.0, 0.0
    for k in range(problem.students):
        longest = max(longest, total(problem, y, k, k))
    if problem.watched == NORM:
        run.root, run.goal = math.sqrt(max(value, 0.0)), math.sqrt(max(run.level, 0.0))
    elif problem.watched == STUDENT_OVERLAP:
        run.root, run.goal = 0.0, math.sqrt(longest + abs(value - run.level)) - math.sqrt(longest)
    elif problem.watched == CROSS_OVERLAP:
        for m in range(problem.teachers):
            square = 0.0
            for b in range(problem.blocks):
                square += square_of_teacher(problem, y, numbers, b, m)
            taught = max(taught, square)
        run.of_students = math.sqrt(taught)
        if problem.drift != 0.0 or problem.rotation != 0.0:
            run.limit = PART * math.sqrt(max(longest, taught))
            run.of_teachers = math.sqrt(longest) + run.limit
    else:
        run.of_students, run.of_readouts = 0.0, 1.0


@compiled(strict=True)
def lengths_of_readouts(problem, cases, y, numbers):
    """Of students, the largest number that masks multiply them with, and of teachers: of the test where each is largest."""
    p, q, base = problem.students, problem.teachers, problem.blocks * problem.moving * problem.rows
    mine, mask, taught = 0.0, 0.0 if problem.several else 1.0, 0.0
    first, last = (problem.cases, problem.cases + problem.tests) if problem.several else (0, 1)
    for i in range(first, last):
        square, other = 0.0, 0.0
        for k in range(p):
            factor = numbers[cases[i].mask + k] if problem.several else 1.0
            mask = max(mask, abs(factor))
            square += (factor * y[base + (cases[i].head * p if problem.several else 0) + k]) ** 2
        for m in range(q):
            other += numbers[(cases[i].teacher_readout if problem.several else problem.teacher_readout) + m] ** 2
        mine, taught = max(mine, square), max(taught, other)
    return math.sqrt(mine), mask, math.sqrt(taught)


@compiled(strict=True)
def reach_of_risk(run, problem, blocks, cases, bounds, time, risk, y, numbers):
    """Of the risk: `blocks` and `cases` are those of its segment."""
    p, n, m, deviation, taught, size, all_taught = problem.students, problem.rows, problem.moving, 0.0, 0.0, 0.0, 0.0
    for k in range(p + problem.teachers):
        spread = 0.0
        for b in range(problem.blocks):
            square = y[(b * m + k) * n + k] if k < p else square_of_teacher(problem, y, numbers, b, k - p)
            spread += weight_of(problem, blocks[b], bounds, time) * square
            if k < p:
                size += square
            else:
                all_taught += square
        if k < p:
            deviation = max(deviation, math.sqrt(spread))
        else:
            taught = max(taught, math.sqrt(spread))
    mine, mask, others = lengths_of_readouts(problem, cases, y, numbers)
    far = (1.0 + PART) * deviation
    grown = mask * math.sqrt(p) * bound_at(bounds, GROWTH, far)
    run.limit, run.teacher_limit = PART * deviation, PART * taught
    run.length, run.teacher_length = math.sqrt(bounds[FACTOR] * size), math.sqrt(bounds[FACTOR] * all_taught)
    run.of_students = mine * bound_at(bounds, STEEPNESS, far)
    run.of_readouts = math.sqrt(grown * grown + (1.0 if problem.biased else 0.0))
    run.of_teachers = others * bound_at(bounds, TEACHERS, (1.0 + PART) * taught)
    c = problem.loss_factor
    run.root, run.goal = math.sqrt(max(risk, 0.0) / c), math.sqrt(max(run.level, 0.0) / c)
    error = ROUNDING * (mine * run.of_readouts + run.root) ** 2
    run.slack = uncertainty(run.root, error) + uncertainty(run.goal, error)
    if (problem.unit == TABULATED and far > 0.1 * WIDE) or (
        problem.teacher_unit == TABULATED and run.of_teachers > 0.0 and (1.0 + PART) * taught > 0.1 * WIDE
    ):
        run.slack = np.inf


@compiled(strict=True)
def uncertainty(root, error):
    """How much a root may be off by an error of its square; a little more."""
    return 2.0 * error / (root + math.sqrt(error) + 1e-300)


@compiled(strict=True)
def margin_of(run, problem, cases, bounds, time):
    """How much what is watched may change, a little less for rounding; less where the shares of tests have changed."""
    least, most = 1.0, 1.0
    if bounds[SHARED] != 0.0 and problem.watched <= 0:
        least, most = np.inf, 0.0
        for i in range(problem.cases, problem.cases + problem.tests):
            old, new = max(share_at(cases[i], problem, run.time), 0.0), max(share_at(cases[i], problem, time), 0.0)
            if old > 0.0 or new > 0.0:
                ratio = new / old if old > 0.0 else np.inf
                least, most = min(least, ratio), max(most, ratio)
    if run.root > run.goal:
        margin = run.root - run.goal / math.sqrt(least) if least > 0.0 else -1.0
    else:
        margin = run.goal / math.sqrt(most) - run.root
    return 0.999 * margin - run.slack


@compiled(strict=True)
def is_out_of_reach(run, problem, cases, bounds, time, way):
    """Whether a run cannot have passed; `way` is how far students, teachers, readouts and the roots of eigenvalues have come."""
    students, teachers, readouts, roots = way
    students, teachers = students + roots * run.length, teachers + roots * run.teacher_length
    if not (students <= run.limit and teachers <= run.teacher_limit):
        return False
    change = run.of_students * students + run.of_readouts * readouts
    if teachers > 0.0:  # what is multiplied by zero may be infinite
        change += run.of_teachers * teachers
    return change < margin_of(run, problem, cases, bounds, time)
