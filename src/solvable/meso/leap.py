"""One step of the diffusion, a leap over many samples: the equations of motion, then a random kick with the samples' noise.

Over a time h, SGD takes n = h dim B samples. Their sum has the mean of the equations and fluctuates by n times the covariance of
one sample. A kick draws m samples on the frames of the present weights (students [C | L], teachers [B | 0], see
`dynamics/reduced_form.py`) and adds sqrt(n/m) times what they deviate from their mean:

    [C | L] += rate sqrt(lambda) sqrt(h m/(dim B)) ( mean of F (z, g)^T - sqrt(lambda) D [C | L; B | 0] )
    Q       += rate^2 lambda f/B sqrt(h m/(dim B)) ( mean of F F^T - S )

which has the covariance of n samples exactly, for any m up to n, and needs no matrix of covariances. The kick is
added to weights, not to overlaps, so the overlaps stay possible. The term with F F^T - S may lower Q: on average the
equations give it back (S), and where overlaps still become impossible, `mend` moves them to the nearest possible ones.
"""

import math

from numba import float64, from_dtype, types, uint64

from solvable.dynamics.equations import batch_at, eigenvalue_at, label_noise_at, rate_at, readout_rate_at
from solvable.dynamics.kernel_data import (
    DRIFT,
    FRAME,
    GAIN,
    NOISE,
    PROCESS,
    record,
)
from solvable.dynamics.sample import amplitudes, draw, fields
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, store
from solvable.numerics.tsit5 import NODES, combine, scaled_error
from solvable.numerics.vectors import copy

CRUDE = 0.1  # relative error of a fixed leap beyond which it says nothing any more
TOO_LONG = 4.0  # a leap is taken back only if its error is beyond this multiple of the tolerance: seldom, so noise is not selected
SINGULAR = 1e-13  # pivots below this part of a student's norm are rounding

# how a path is followed, and where it came to: leap to try, longest one, leaps allowed, a fixed one (0: none), tolerances, bound,
# which scalar has a threshold (-1: none), its direction and level, rounds of eight samples to a kick; then by how much what is
# watched has moved in recent leaps and its variance in a unit of time (below 0: unknown), time, leaps taken, and how it ended
PATH = record(
    leap=float, longest=float, most=int, fixed=float, rtol=float, atol=float, bound=float, watched=int, direction=int,
    level=float, rounds=int, moved=float, variance=float, time=float, taken=int, ending=int,
)  # fmt: skip
# the records, numbers, streams (that of the path, then one for what thresholds draw), state and scratch of the reduced process, and
# sums over its samples
SAMPLER = types.Tuple(
    (
        from_dtype(PROCESS)[::1],
        from_dtype(FRAME)[::1],
        float64[::1],
        uint64[::1],
        float64[::1],
        float64[::1],
        float64[::1],
    )
)
# teachers' frames and their inverses, coordinates of the students (block, p, q + p), norms (p,)
GEOMETRY = types.Tuple((float64[:, :, ::1], float64[:, :, ::1], float64[:, :, ::1], float64[::1]))


@compiled(strict=True)
def collect(form, frames, work, sums):
    at, p = 0, form.students
    for b in range(form.blocks):
        width, z = frames[b].rank + p, frames[b].draws
        for k in range(p):
            f = load(work, form.amplitudes + k)
            for i in range(width):
                store(sums, at, fma(f, load(work, z + i), load(sums, at)))
                at += 1
    for k in range(p):
        f = load(work, form.amplitudes + k)
        for j in range(k + 1):
            store(sums, at, fma(f, load(work, form.amplitudes + j), load(sums, at)))
            at += 1
    for k in range(p):
        store(sums, at, load(sums, at) + load(work, form.pushes + k))
        at += 1


@compiled(strict=True)
def gather(sampler, rounds):
    """Draw eight samples `rounds` times and add up, in lanes, F (z, g)^T for each block, F F^T and what pushes the readouts."""
    forms, frames, numbers, stream, state, work, sums = sampler
    form = forms[0]
    sums[:] = 0.0
    for _ in range(rounds):
        draw(form, frames, stream, work)
        fields(form, frames, state, work)
        amplitudes(form, numbers, state, work)
        collect(form, frames, work, sums)


@compiled(strict=True)
def mean(sums, i, samples):
    total = 0.0
    for lane in range(WIDTH):
        total += sums[i * WIDTH + lane]
    return total / samples


@compiled(strict=True)
def factor(y, problem, inverse, V):
    """Coordinates V (block, p, q + p) of the students: C = R times the inverse of the teachers' frame, and the lower triangle L of
    what is left of Q. A pivot of the size of rounding ends its column: nothing of that student lies outside the others. Whether a
    pivot was negative, so that no weights have these overlaps."""
    p, q, n, impossible = problem.students, problem.teachers, problem.rows, False
    for b in range(problem.blocks):
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
def spread(form, frames, V, y, q, state):
    """The same coordinates in every lane, where `dynamics.sample` looks for them."""
    p = form.students
    for b in range(form.blocks):
        for k in range(p):
            for i in range(q):
                store(state, frames[b].C + k * q + i, fill(V[b, k, i]))
        at = frames[b].L
        for j in range(p):
            for k in range(j, p):
                store(state, at, fill(V[b, k, q + j]))
                at += 1
    for k in range(p):
        store(state, form.readout + k, fill(y[y.size - p + k]))


@compiled(strict=True)
def normalise(y, problem, norms):
    p, n, blocks = problem.students, problem.rows, problem.blocks
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
def sample(problem, blocks, segment, alpha, y, sampler, geometry, rounds):
    """Put the weights of y and what schedules say at this time before the sampler, and let it gather."""
    forms, frames, state = sampler[0], sampler[1], sampler[4]
    form, V = forms[0], geometry[2]
    factor(y, problem, geometry[1], V)
    spread(form, frames, V, y, problem.teachers, state)
    form.label_noise = math.sqrt(label_noise_at(problem, alpha))
    for b in range(problem.blocks):
        frames[b].root = math.sqrt(eigenvalue_at(problem, blocks[segment, b], alpha))
    gather(sampler, rounds)


@compiled(strict=True)
def kick(rhs, h, alpha, segment, y, data, sampler, geometry, slope, rounds):
    """Add the noise of the samples of a time h to the state y. The equations leave C, D and S in their scratch."""
    problem, blocks, work, sums = data[0][segment], data[1], data[4], sampler[6]
    p, n, per_time = problem.students, problem.rows, sampler[0][0].dim * batch_at(problem, alpha)
    rounds = max(1, min(rounds, int(h * per_time / WIDTH)))  # no more than are leapt over
    samples = rounds * WIDTH
    rhs(segment, alpha, y, slope, *data)
    sample(problem, blocks, segment, alpha, y, sampler, geometry, rounds)
    size, eta = math.sqrt(h * samples / per_time), rate_at(problem, alpha)
    for b in range(problem.blocks):
        block = blocks[segment, b]
        root = math.sqrt(eigenvalue_at(problem, block, alpha))
        push(b, eta * root * size, root, samples, problem, work, sums, geometry)
        outside = eta * eta * root * root * block.fraction / batch_at(problem, alpha) * size
        multiply(b, outside, samples, problem, y, work, sums, geometry[0])
    if problem.train_readout:
        rate, at = readout_rate_at(problem, alpha), problem.blocks * p * n + p * (p + 1) // 2
        for k in range(p):
            y[y.size - p + k] += size * (rate * mean(sums, at + k, samples) - slope[y.size - p + k])
    if problem.sphere:
        normalise(y, problem, geometry[3])


@compiled(strict=True)
def push(b, scale, root, samples, problem, work, sums, geometry):
    """Coordinates of the students of block b after the kick, into the plane GAIN."""
    p, q, width = problem.students, problem.teachers, problem.rows
    frame, V, D, moved = geometry[0], geometry[2], work[DRIFT], work[GAIN]
    for k in range(p):
        for i in range(width):
            expected = 0.0
            for j in range(p):
                expected += D[k, j] * V[b, j, i]
            if i < q:
                for m in range(q):
                    expected += D[k, p + m] * frame[b, m, i]
            found = mean(sums, (b * p + k) * width + i, samples)
            moved[k, i] = V[b, k, i] + scale * (found - root * expected)


@compiled(strict=True)
def multiply(b, outside, samples, problem, y, work, sums, frame):
    """Overlaps of block b from the coordinates that `push` has left, and what F F^T adds outside the frames."""
    p, q, n = problem.students, problem.teachers, problem.rows
    moved, S, other = work[GAIN], work[NOISE], problem.blocks * p * n
    for k in range(p):
        row = (b * p + k) * n
        for j in range(k + 1):
            total = outside * (mean(sums, other + k * (k + 1) // 2 + j, samples) - S[k, j])
            for i in range(n):
                total += moved[k, i] * moved[j, i]
            y[row + j] = total
            y[(b * p + j) * n + k] = total
        for m in range(q):
            total = 0.0
            for i in range(q):
                total += moved[k, i] * frame[b, m, i]
            y[row + p + m] = total


@compiled(strict=True)
def mend(y, problem, geometry):
    """Where no weights have these overlaps, those of the nearest coordinates, which are possible whatever they came from."""
    frame, inverse, V, norms = geometry
    if not factor(y, problem, inverse, V):
        return
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
        normalise(y, problem, norms)


@compiled(strict=True)
def restore(y, problem, geometry):
    """A state that is nearly one: possible overlaps, and students on their sphere."""
    mend(y, problem, geometry)
    if problem.sphere:
        normalise(y, problem, geometry[3])


@compiled(strict=True)
def step(rhs, h, alpha, segment, y, data, path, steps):
    """One step of Tsitouras' pair of orders 5 and 4 (`numerics/tsit5.py`) from y, and its error in units of the tolerance. Kicks
    come between steps, so no stage serves twice."""
    k, trial = steps[0], steps[3]
    rhs(segment, alpha, y, k[0], *data)
    for stage in range(1, 7):
        combine(stage, h, y, k, trial)
        rhs(segment, alpha + NODES[stage] * h, trial, k[stage], *data)
    error, _ = scaled_error(h, y, trial, k, path.rtol, path.atol, k[7])
    return error


@compiled(strict=True)
def leap(rhs, h, alpha, segment, y, data, sampler, geometry, path, steps):
    """Kick, step, kick; the step's error. Where that is too large, y is taken back."""
    k, before, base, trial = steps
    copy(y, before)
    kick(rhs, 0.5 * h, alpha, segment, y, data, sampler, geometry, k[7], path.rounds)
    error = step(rhs, h, alpha, segment, y, data, path, steps)
    if not error <= TOO_LONG if path.fixed <= 0.0 else not error * path.rtol <= CRUDE:
        copy(before, y)
        return error
    copy(y, base)
    copy(trial, y)
    kick(rhs, 0.5 * h, alpha + h, segment, y, data, sampler, geometry, k[7], path.rounds)
    mend(y, data[0][segment], geometry)
    return error
