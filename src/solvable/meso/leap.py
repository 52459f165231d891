"""Leaps over many samples: the equations of motion, and kicks with the noise that so many samples have.

Over a time h, SGD takes n = h dim B samples. Their sum has the mean of the equations and fluctuates by n times the covariance of
one sample. A kick draws m samples on the frames of the present weights (students [C | L], teachers [B | 0], see
`dynamics/layout.py`) and adds sqrt(n/m) times what they deviate from their mean:

    [C | L] += rate sqrt(lambda) sqrt(h m/(dim B)) ( mean of F (z, g)^T - sqrt(lambda) D [C | L; B | 0] )
    Q       += rate^2 lambda f/B sqrt(h m/(dim B)) ( mean of F F^T - S )

which has the covariance of n samples exactly, for any m up to n, and needs no matrix of covariances. Adding to weights, not to
overlaps, keeps the overlaps possible; what F F^T takes away the equations give back, and what is left of it `rebuild` does.
"""

import math

import numpy as np
from numba import float64, int64, types, uint64

from solvable.dynamics import layout as lay
from solvable.dynamics.equations import batch_at, eigenvalue_at, rate_at, readout_rate_at
from solvable.dynamics.kernel_data import DATA, DRIFT, GAIN, NOISE, SYSTEM_FUNCTION, WATCHED
from solvable.dynamics.sample import amplitudes, draw, fields
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, store
from solvable.numerics.tsit5 import NODES, ORDER, combine, interpolate, scaled_error
from solvable.numerics.vectors import copy

WEAK_ORDER = 2  # of means and covariances in the leap, to first order in 1/dim
STRONG_ORDER = 0.5
CRUDE = 0.1  # relative error of a fixed leap beyond which it says nothing any more
TOO_LONG = 4.0  # a leap is taken back only if its error is beyond this multiple of the tolerance: seldom, so noise is not selected
SINGULAR = 1e-13  # pivots below this part of a student's norm are rounding

GOING, PASSED, LOST, EXHAUSTED, HALTED, OVERLONG = range(6)


@compiled(strict=True)
def collect(slots, work, sums, p, blocks):
    at = 0
    for b in range(blocks):
        row = lay.TABLE + b * lay.ROW
        width, z = slots[row + lay.RANK] + p, slots[row + lay.DRAWS]
        for k in range(p):
            f = load(work, slots[lay.AMPLITUDES] + k)
            for i in range(width):
                store(sums, at, fma(f, load(work, z + i), load(sums, at)))
                at += 1
    for k in range(p):
        f = load(work, slots[lay.AMPLITUDES] + k)
        for j in range(k + 1):
            store(sums, at, fma(f, load(work, slots[lay.AMPLITUDES] + j), load(sums, at)))
            at += 1
    for k in range(p):
        store(sums, at, load(sums, at) + load(work, slots[lay.PUSHES] + k))
        at += 1


@compiled(strict=True)
def gather(slots, values, state, work, stream, rounds, sums):
    """Draw eight samples `rounds` times and add up, in lanes, F (z, g)^T for each block, F F^T and what pushes the readouts."""
    p, blocks = slots[lay.STUDENTS], slots[lay.BLOCKS]
    sums[:] = 0.0
    for _ in range(rounds):
        draw(slots, stream, work)
        fields(slots, values, state, work)
        amplitudes(slots, values, state, work)
        collect(slots, work, sums, p, blocks)


@compiled(strict=True)
def mean(sums, i, samples):
    total = 0.0
    for lane in range(WIDTH):
        total += sums[i * WIDTH + lane]
    return total / samples


@compiled(strict=True)
def factor(y, p, q, blocks, inverse, V):
    """Coordinates V (block, p, q + p) of the students: C = R times the inverse of the teachers' frame, and the lower triangle L of
    what is left of Q. A pivot of the size of rounding ends its column: nothing of that student lies outside the others. Whether a
    pivot was negative, so that no weights have these overlaps."""
    n, impossible = p + q, False
    for b in range(blocks):
        for k in range(p):
            row = (b * p + k) * n
            for i in range(q):
                total = 0.0
                for m in range(q):
                    total += y[row + p + m] * inverse[b, m, i]
                V[b, k, i] = total
            for j in range(k + 1):
                total = y[row + j]
                for i in range(q + j):
                    total -= V[b, k, i] * V[b, j, i]
                if j < k:
                    V[b, k, q + j] = total / V[b, j, q + j] if V[b, j, q + j] > 0.0 else 0.0
                else:
                    V[b, k, q + k] = math.sqrt(total) if total > SINGULAR * y[row + k] else 0.0
                    impossible = impossible or total < -SINGULAR * abs(y[row + k])
            for j in range(k + 1, p):
                V[b, k, q + j] = 0.0
    return impossible


@compiled(strict=True)
def spread(slots, V, y, p, q, state):
    """The same coordinates in every lane, where `dynamics.sample` looks for them."""
    for b in range(slots[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        for k in range(p):
            for i in range(q):
                store(state, slots[row + lay.C] + k * q + i, fill(V[b, k, i]))
        at = slots[row + lay.L]
        for j in range(p):
            for k in range(j, p):
                store(state, at, fill(V[b, k, q + j]))
                at += 1
    for k in range(p):
        store(state, slots[lay.READOUT] + k, fill(y[y.size - p + k]))


@compiled(strict=True)
def normalise(y, p, n, blocks, norms):
    for k in range(p):
        norms[k] = 0.0
        for b in range(blocks):
            norms[k] += y[(b * p + k) * n + k]
        norms[k] = 1.0 / math.sqrt(norms[k])
    for b in range(blocks):
        for k in range(p):
            row = (b * p + k) * n
            for j in range(p):
                y[row + j] *= norms[k] * norms[j]
            for j in range(p, n):
                y[row + j] *= norms[k]


@compiled(strict=True)
def kick(
    rhs, h, alpha, segment, y, data,
    slots, values, state, scratch, stream, sums, rounds,
    frame, inverse, V, slope, norms,
):  # fmt: skip
    """Add the noise of the samples of a time h to the state y. The equations leave C, D and S in `work`."""
    problem, table, work = data[0][segment], data[1], data[4]
    p, q, blocks, batch = problem.students, problem.teachers, problem.blocks, batch_at(problem, alpha)
    n, width = p + q, p + q
    rounds = max(1, min(rounds, int(h * values[lay.DIM] * batch / WIDTH)))  # no more than are leapt over
    samples = rounds * WIDTH
    rhs(segment, alpha, y, slope, *data)
    factor(y, p, q, blocks, inverse, V)
    spread(slots, V, y, p, q, state)
    gather(slots, values, state, scratch, stream, rounds, sums)
    D, S = work[DRIFT], work[NOISE]
    eta = rate_at(problem, alpha)
    size = math.sqrt(h * samples / (values[lay.DIM] * batch))
    other = blocks * p * width
    for b in range(blocks):
        root = math.sqrt(eigenvalue_at(problem, table[segment, b], alpha))
        outside = eta * eta * root * root * table[segment, b].fraction / batch * size
        moved = work[GAIN]
        for k in range(p):
            for i in range(width):
                expected = 0.0
                for j in range(p):
                    expected += D[k, j] * V[b, j, i]
                if i < q:
                    for m in range(q):
                        expected += D[k, p + m] * frame[b, m, i]
                found = mean(sums, (b * p + k) * width + i, samples)
                moved[k, i] = V[b, k, i] + eta * root * size * (found - root * expected)
        for k in range(p):
            row = (b * p + k) * n
            for j in range(k + 1):
                total = outside * (mean(sums, other + k * (k + 1) // 2 + j, samples) - S[k, j])
                for i in range(width):
                    total += moved[k, i] * moved[j, i]
                y[row + j] = total
                y[(b * p + j) * n + k] = total
            for m in range(q):
                total = 0.0
                for i in range(q):
                    total += moved[k, i] * frame[b, m, i]
                y[row + p + m] = total
    if problem.train_readout:
        rate = readout_rate_at(problem, alpha)
        at = other + p * (p + 1) // 2
        for k in range(p):
            y[y.size - p + k] += size * (rate * mean(sums, at + k, samples) - slope[y.size - p + k])
    if problem.sphere:
        normalise(y, p, n, blocks, norms)


@compiled(strict=True)
def rebuild(y, problem, frame, V, norms):
    """Overlaps of the coordinates V, which are possible whatever they came from."""
    p, q, blocks = problem.students, problem.teachers, problem.blocks
    n = p + q
    for b in range(blocks):
        for k in range(p):
            row = (b * p + k) * n
            for j in range(p):
                total = 0.0
                for i in range(n):
                    total += V[b, k, i] * V[b, j, i]
                y[row + j] = total
            for m in range(q):
                total = 0.0
                for i in range(q):
                    total += V[b, k, i] * frame[b, m, i]
                y[row + p + m] = total
    if problem.sphere:
        normalise(y, p, n, blocks, norms)


@compiled(strict=True)
def step(rhs, h, alpha, segment, y, data, rtol, atol, k, trial):
    """One step of Tsitouras' pair of orders 5 and 4 (`numerics/tsit5.py`) from y to `trial`, and its error in units of the
    tolerance. Kicks come between steps, so no stage serves twice."""
    rhs(segment, alpha, y, k[0], *data)
    for stage in range(1, 7):
        combine(stage, h, y, k, trial)
        rhs(segment, alpha + NODES[stage] * h, trial, k[stage], *data)
    error, _ = scaled_error(h, y, trial, k, rtol, atol, k[7])
    return error


@compiled(strict=True, allocates=True)
def crossing(observe, h, alpha, segment, before, base, trial, k, direction, level, y, data, seen):
    """The share of a leap after which the watched quantity passes its level, and that state into y, which comes as the leap's end.
    Within the leap the mean follows the dense output of its step, from `base` to `trial`, and what the two kicks added grows
    in proportion to time."""
    weights, first, last = np.empty(7), base - before, y - trial
    low, high = 0.0, 1.0
    for _ in range(40):
        middle = 0.5 * (low + high)
        interpolate(middle, h, base, k, weights, y)
        for i in range(y.size):
            y[i] += middle * last[i] - (1.0 - middle) * first[i]
        observe(segment, alpha + middle * h, y, seen, *data)
        if direction * (seen[WATCHED] - level) >= 0.0:
            high = middle
        else:
            low = middle
    return high


@compiled(
    int64(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, float64[::1], float64[::1], float64[::1], float64, float64, float64,
        float64, int64, float64,
        float64[::1], types.Tuple(DATA),
        int64[::1], float64[::1], float64[::1], float64[::1], uint64[::1], float64[::1], int64,
        float64[:, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[:, ::1],
        float64[:, ::1], float64[:, ::1], float64[::1],
    ),
    strict=True,
    allocates=True,
)  # fmt: skip
def follow(
    rhs, observe, times, breaks, course, fixed, rtol, atol,
    bound, direction, level,
    y, data,
    slots, values, state, scratch, stream, sums, rounds,
    frame, inverse, V, stages,
    states, observed, halt,
):  # fmt: skip
    """Leap from time zero to the last of `times`, landing on all of them and on the `breaks` of the rates; return what became of
    the run. `rhs` are the equations, `observe` sees what is watched: called by their addresses, since machine code that holds them
    takes far longer to make. `course` = [leap to try, leaps allowed], and afterwards [time, leaps taken]. A threshold is met within
    a leap, where `crossing` finds it. y becomes the last state; `states` and `observed` are rows for the times that were reached.
    `halt` is set by others to break off."""
    t, h_next, taken, segment, output, problem = 0.0, course[0], 0, 0, 0, data[0][0]
    norms, before, base, trial, seen = (
        np.empty(problem.students),
        np.empty_like(y),
        np.empty_like(y),
        np.empty_like(y),
        np.empty(observed.shape[1]),
    )
    observe(segment, t, y, seen, *data)
    fate = GOING
    if direction != 0 and direction * (seen[WATCHED] - level) >= 0.0:
        fate = PASSED
    while True:
        while output < times.size and times[output] <= t and (fate == GOING or t == 0.0):
            copy(y, states[output])
            copy(seen, observed[output])
            output += 1
        if output == times.size or fate != GOING:
            break
        if halt[0] != 0.0:
            fate = HALTED
            break
        if taken >= course[1]:
            fate = EXHAUSTED
            break
        while segment < breaks.size and breaks[segment] <= t:
            segment += 1
        end = times[output]
        if segment < breaks.size:
            end = min(end, breaks[segment])
        h = fixed if fixed > 0.0 else h_next
        lands = t + 1.01 * h >= end
        if lands:
            h = end - t
        copy(y, before)
        kick(
            rhs, 0.5 * h, t, segment, y, data,
            slots, values, state, scratch, stream, sums, rounds, frame, inverse, V, stages[7], norms,
        )  # fmt: skip
        error = step(rhs, h, t, segment, y, data, rtol, atol, stages, trial)
        taken += 1
        if fixed <= 0.0 and not error <= TOO_LONG:
            copy(before, y)
            h_next = h * (0.2 if not np.isfinite(error) else max(0.2, 0.9 * error ** (-1.0 / ORDER)))
            continue
        if fixed > 0.0 and not error * rtol <= CRUDE:
            fate = OVERLONG
            break
        copy(y, base)
        copy(trial, y)
        kick(
            rhs, 0.5 * h, t + h, segment, y, data,
            slots, values, state, scratch, stream, sums, rounds, frame, inverse, V, stages[7], norms,
        )  # fmt: skip
        if factor(y, problem.students, problem.teachers, problem.blocks, inverse, V):
            rebuild(y, problem, frame, V, norms)
        grown = h * min(5.0, max(0.2, 0.9 * max(error, 1e-6) ** (-1.0 / ORDER)))
        h_next = max(grown, h_next) if lands else grown
        t = end if lands else t + h
        size = 0.0
        for i in range(y.size):
            size = max(size, abs(y[i])) if y[i] == y[i] else np.inf
        if not size <= bound:
            fate = LOST
            break
        observe(segment, t, y, seen, *data)
        if direction != 0 and direction * (seen[WATCHED] - level) >= 0.0:
            share = crossing(observe, h, t - h, segment, before, base, trial, stages, direction, level, y, data, seen)
            t -= (1.0 - share) * h
            if factor(y, problem.students, problem.teachers, problem.blocks, inverse, V):
                rebuild(y, problem, frame, V, norms)
            fate = PASSED
            break
    course[0], course[1] = t, taken
    return fate
