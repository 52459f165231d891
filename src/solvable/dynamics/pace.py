"""Rates that follow the state: what multiplies the learning rate, from the sums over cases of `case_equations.py`.

With Abar^b = (A^b - Gamma)/eta and N^b = f_b (eta^2/B) spreads_b, the mean square of a batch gradient is
square = (1/B) sum_b f_b tr spreads_b, and G grows by it, dG/dalpha = square. The risk falls to second order by

    dR/dalpha = -eta sum_b tr Abar^b Omega^b Abar^bT - (eta^2/2B) sum_b f_b tr(gains_b spreads_b)   (columns of students)

of which line search takes the minimum over eta. What is found is left in the plane SIGNS of `work`, which the equations of cases do
not use otherwise: risk, what is watched, square, and what multiplies the learning rate.
"""

import math

from solvable.dynamics.kernel_data import RISK, SIGNS
from solvable.numerics.addresses import call_at
from solvable.numerics.compiled import compiled
from solvable.problems.rate_rules import KINDS

ADAGRAD, LINE_SEARCH, POLYAK, CLIP, OWN = (
    KINDS[name] for name in ("adagrad", "line-search", "polyak", "clip-batches", "custom")
)
SQUARE, PACE = 2, 3  # places in the plane, behind what `observe` sees
TINY = 1e-300


@compiled()
def recall(work, place):
    """A number that is kept in the plane."""
    n = work.shape[1]
    return work[SIGNS, place // n, place % n]


@compiled()
def keep(work, place, number):
    """Keep a number in the plane."""
    n = work.shape[1]
    work[SIGNS, place // n, place % n] = number


@compiled()
def accumulated_at(problem, y):
    """G, the last of the scalars."""
    return y[y.size - 1]


@compiled()
def mean_square(problem, segment, blocks, batch, spreads):
    """Of a batch gradient."""
    total = 0.0
    for b in range(problem.blocks):
        for k in range(problem.students):
            total += blocks[segment, b].share * spreads[b, k, k]
    return total / batch


@compiled()
def best_rate(problem, segment, blocks, batch, stacks, sums):
    """Of line search."""
    gains, spreads, columns = sums
    p, first, fields = problem.students, problem.first_direction, problem.first_teacher + problem.teachers
    falls, bends = 0.0, 0.0
    for b in range(problem.blocks):
        Omega, gain = stacks[b], gains[b]
        for k in range(p):
            for i in range(fields + problem.directions):
                along = 0.0
                for j in range(fields + problem.directions):
                    step = gain[k, j] if j < fields else columns[k, j - fields]
                    along += (
                        step * Omega[i if i < fields else first + i - fields, j if j < fields else first + j - fields]
                    )
                falls += along * (gain[k, i] if i < fields else columns[k, i - fields])
            for j in range(p):
                bends -= blocks[segment, b].share * gain[k, j] * spreads[b, j, k] / batch
    return min(falls / bends, problem.pace_number) if bends > TINY else problem.pace_number


@compiled()
def pace_of(problem, t, y, square, best, work):
    """What multiplies the learning rate."""
    rule, number = problem.pace, problem.pace_number
    if rule == ADAGRAD:
        return 1.0 / math.sqrt(number * number + accumulated_at(problem, y))
    if rule == LINE_SEARCH:
        return best
    risk = recall(work, RISK)
    if rule == POLYAK:
        return 2.0 * risk / square if square > TINY else 0.0
    if rule == CLIP:
        return min(1.0, number / math.sqrt(square)) if square > TINY else 1.0
    if rule != OWN:
        return math.nan
    found = call_at(problem.pace_function, t + problem.pace_begin, risk, square, accumulated_at(problem, y))
    return 0.0 if found < 0.0 else found


@compiled()
def follow_state(segment, t, y, dy, problem, blocks, batch, stacks, sums, work):
    """What multiplies the learning rate in this state; G moves, and what was found is kept."""
    square = mean_square(problem, segment, blocks, batch, sums[1])
    best = 0.0
    if problem.pace == LINE_SEARCH:
        best = best_rate(problem, segment, blocks, batch, stacks, sums)
    pace = pace_of(problem, t, y, square, best, work)
    keep(work, SQUARE, square)
    keep(work, PACE, pace)
    dy[y.size - 1] = square
    return pace
