"""One-pass SGD of the overlaps themselves: an exact Markov chain that never forms a vector of `dim` numbers.

A Gaussian input has independent normal coordinates z on the teachers' frame and g on the students', and a chi-distributed
length s outside both. So, in every block,

    fields       u = sqrt(lambda) B z,   h = sqrt(lambda) (C z + L g)
    update       [C | L | 0] += (rate / dim) sqrt(lambda) F (z, g, s)^T

after which the frame is turned until L is lower triangular again. The triangular form stays accurate where the overlaps
become singular, which a Cholesky factor of them does not. All values are eight lanes wide.
"""

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
from numba import boolean, float64, int64, uint64

from solvable.dynamics.equations import OBSERVED, observe
from solvable.micro.layout import (
    AMPLITUDES,
    BATCH,
    BLOCKS,
    COLUMN,
    DECAY,
    DEGREE,
    DIM,
    DRAWS,
    FACTOR,
    FIELDS,
    FREEDOM,
    LABEL_NOISE,
    LOG_COSH,
    LOSS_FACTOR,
    NOISY,
    NORMALS,
    OUTSIDES,
    POLYNOMIAL,
    POLYNOMIAL_UNIT,
    PRODUCT,
    PUSH_SUMS,
    PUSHES,
    RANK,
    RATE,
    READOUT,
    READOUT_RATE,
    ROOTS,
    ROW,
    SPHERE,
    STUDENTS,
    SUM,
    SUMS,
    TABLE,
    TEACHER_DEGREE,
    TEACHER_FIELDS,
    TEACHER_POLYNOMIAL,
    TEACHER_READOUT,
    TEACHER_UNIT,
    TEACHERS,
    TRAIN_READOUT,
    TRIANGLE,
    UNIT,
    UNITS,
    VARYING,
    WIDE,
    B,
    C,
    L,
)
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, get, load, put, root, store, where_above
from solvable.numerics.random import chi, normals

LINEAR, QUADRATIC, ERF, RELU = UNITS["linear"], UNITS["quadratic"], UNITS["erf"], UNITS["relu"]
TINY = 1e-300
GOING, PASSED, LOST = 0, 1, 2  # what has become of a run


@compiled(strict=True, inline=True)
def draw(ints, stream, work):
    """Coordinates of one input, and the noise of its label."""
    normals(stream, work, 0, ints[NORMALS])
    if ints[BATCH] > 1:
        return
    at = ints[NORMALS] - ints[NOISY] - 1
    for b in range(ints[BLOCKS] - 1, -1, -1):
        freedom = ints[TABLE + b * ROW + FREEDOM]
        if freedom > 0:
            store(work, ints[OUTSIDES] + b, chi(stream, load(work, at), float(freedom)))
            at -= 1


@compiled(strict=True, inline=True)
def fields(ints, floats, state, work):
    """Fields of students and teachers."""
    p, q = ints[STUDENTS], ints[TEACHERS]
    h, u = ints[FIELDS], ints[TEACHER_FIELDS]
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        rank, z = ints[row + RANK], ints[row + DRAWS]
        scale = fill(floats[ints[ROOTS] + b])
        for k in range(p):
            at, total = ints[row + C] + k * rank, fill(0.0)
            for i in range(rank):
                total = fma(load(state, at + i), load(work, z + i), total)
            if ints[row + FREEDOM] > 0:
                at = ints[row + L] + k
                for j in range(k + 1):
                    total = fma(load(state, at), load(work, z + rank + j), total)
                    at += p - 1 - j
            store(work, h + k, total * scale if b == 0 else fma(total, scale, load(work, h + k)))
        for m in range(q):
            at, total = ints[row + B] + m * rank, fill(0.0)
            for i in range(rank):
                total = fma(load(state, at + i), load(work, z + i), total)
            store(work, u + m, total * scale if b == 0 else fma(total, scale, load(work, u + m)))


@compiled(strict=True, inline=True)
def _polynomial(floats, at, degree, x):
    """Value and slope."""
    value, slope = fill(floats[at + degree]), fill(0.0)
    for i in range(degree - 1, -1, -1):
        slope = fma(slope, x, value)
        value = fma(value, x, fill(floats[at + i]))
    return value, slope


@compiled(strict=True, inline=True)
def unit(kind, floats, at, degree, x):
    """Value and slope of an activation."""
    if kind == QUADRATIC:
        return x * x, 2.0 * x
    if kind == LINEAR:
        return x, fill(1.0)
    if kind == RELU:
        return where_above(x, fill(0.0), x, fill(0.0)), where_above(x, fill(0.0), fill(1.0), fill(0.0))
    if kind == POLYNOMIAL_UNIT:
        return _polynomial(floats, at, degree, x)
    value, slope = x, x
    for lane in range(WIDTH):
        z = get(x, lane)
        if kind == ERF:
            value = put(value, lane, math.erf(z * math.sqrt(0.5)))
            slope = put(slope, lane, math.sqrt(2.0 / math.pi) * math.exp(-0.5 * z * z))
        else:
            t = math.tanh(z)
            value, slope = put(value, lane, t), put(slope, lane, 1.0 - t * t)
    return value, slope


@compiled(strict=True, inline=True)
def amplitudes(ints, floats, state, work):
    """F of every student, and what pushes the readouts."""
    p, q = ints[STUDENTS], ints[TEACHERS]
    label = fill(1.0 if ints[PRODUCT] else 0.0)
    for m in range(q):
        field = load(work, ints[TEACHER_FIELDS] + m)
        if ints[PRODUCT]:
            label = label * field
        else:
            value, _ = unit(ints[TEACHER_UNIT], floats, ints[TEACHER_POLYNOMIAL], ints[TEACHER_DEGREE], field)
            label = fma(fill(floats[ints[TEACHER_READOUT] + m]), value, label)
    if ints[NOISY]:
        label = fma(fill(floats[LABEL_NOISE]), load(work, ints[NORMALS] - 1), label)
    for k in range(p):
        value, slope = unit(ints[UNIT], floats, ints[POLYNOMIAL], ints[DEGREE], load(work, ints[FIELDS] + k))
        store(work, ints[AMPLITUDES] + k, slope)
        store(work, ints[PUSHES] + k, value)
        label = label - load(state, ints[READOUT] + k) * value
    push = label
    if ints[LOG_COSH]:
        for lane in range(WIDTH):
            push = put(push, lane, math.tanh(get(label, lane)))
    push = push * (2.0 * floats[LOSS_FACTOR])
    for k in range(p):
        slope = load(work, ints[AMPLITUDES] + k) * push
        store(work, ints[AMPLITUDES] + k, slope * load(state, ints[READOUT] + k))
        store(work, ints[PUSHES] + k, load(work, ints[PUSHES] + k) * push)


@compiled(strict=True, inline=True)
def _shrink(ints, floats, state, work):
    """Weight decay, on the old weights."""
    factor = 1.0 - load(work, ints[RATE]) * floats[DECAY]
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        for i in range(ints[row + C], ints[row + B]):
            store(state, i, load(state, i) * factor)


@compiled(strict=True, inline=True)
def _turn(p, state, at, work, g, s, f, scale, v):
    """[L | 0] += scale f (g, s)^T, then lower triangular again: turn the frame until the whole update lies in the extra column v,
    add it there, and fold that column in."""
    tau, square, column = s, s * s, at + p * (p + 1) // 2
    for j in range(p - 1, -1, -1):
        column -= p - j
        gj = load(work, g + j)
        square = fma(gj, gj, square)
        length = root(square)
        inverse = 1.0 / length
        cosine, sine = tau * inverse, gj * inverse
        tau = length
        first = load(state, column)
        store(state, column, cosine * first)
        store(work, v + j, sine * first)
        for k in range(j + 1, p):
            x, y = load(state, column + k - j), load(work, v + k)
            store(state, column + k - j, fma(cosine, x, 0.0 - sine * y))
            store(work, v + k, fma(sine, x, cosine * y))
    length = tau * scale
    for k in range(p):
        store(work, v + k, fma(length, load(work, f + k), load(work, v + k)))
    column = at
    for j in range(p):
        x, y = load(state, column), load(work, v + j)
        square = fma(x, x, y * y)
        tiny = fill(TINY)
        inverse = where_above(square, tiny, 1.0 / root(square), fill(0.0))
        cosine, sine = where_above(square, tiny, x * inverse, fill(1.0)), y * inverse
        store(state, column, square * inverse)
        for k in range(j + 1, p):
            x, y = load(state, column + k - j), load(work, v + k)
            store(state, column + k - j, fma(cosine, x, sine * y))
            store(work, v + k, fma(cosine, y, 0.0 - sine * x))
        column += p - j


@compiled(strict=True, inline=True)
def learn(ints, floats, state, work):
    """One step on one sample whose draws, fields and amplitudes are in `work`."""
    p = ints[STUDENTS]
    if floats[DECAY] > 0.0:
        _shrink(ints, floats, state, work)
    rate = load(work, ints[RATE])
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        rank, z = ints[row + RANK], ints[row + DRAWS]
        scale = rate * floats[ints[ROOTS] + b]
        for k in range(p):
            at, f = ints[row + C] + k * rank, load(work, ints[AMPLITUDES] + k) * scale
            for i in range(rank):
                store(state, at + i, fma(f, load(work, z + i), load(state, at + i)))
        if ints[row + FREEDOM] > 0:
            outside = load(work, ints[OUTSIDES] + b)
            _turn(p, state, ints[row + L], work, z + rank, outside, ints[AMPLITUDES], scale, ints[COLUMN])
    _finish(ints, state, work, ints[PUSHES], 1.0)


@compiled(strict=True, inline=True)
def _finish(ints, state, work, pushes, weight):
    """Back to the sphere, and the readout."""
    p = ints[STUDENTS]
    if ints[SPHERE]:
        for k in range(p):
            total = fill(0.0)
            for b in range(ints[BLOCKS]):
                row = TABLE + b * ROW
                at = ints[row + C] + k * ints[row + RANK]
                for i in range(ints[row + RANK]):
                    total = fma(load(state, at + i), load(state, at + i), total)
                if ints[row + FREEDOM] > 0:
                    at = ints[row + L] + k
                    for j in range(k + 1):
                        total = fma(load(state, at), load(state, at), total)
                        at += p - 1 - j
            factor = 1.0 / root(total)
            for b in range(ints[BLOCKS]):
                row = TABLE + b * ROW
                at = ints[row + C] + k * ints[row + RANK]
                for i in range(ints[row + RANK]):
                    store(state, at + i, load(state, at + i) * factor)
                if ints[row + FREEDOM] > 0:
                    at = ints[row + L] + k
                    for j in range(k + 1):
                        store(state, at, load(state, at) * factor)
                        at += p - 1 - j
    if ints[TRAIN_READOUT]:
        rate = load(work, ints[READOUT_RATE]) * weight
        for k in range(p):
            at = ints[READOUT] + k
            store(state, at, fma(rate, load(work, pushes + k), load(state, at)))


@compiled(strict=True)
def clear_sums(ints, work):
    for i in range(ints[SUMS], ints[TRIANGLE]):
        store(work, i, fill(0.0))


@compiled(strict=True)
def collect(ints, work):
    """Add one sample of a batch to the sums. What lies outside is not drawn: of all the samples' amplitudes only a triangular
    factor R of sum F F^T matters for it."""
    p = ints[STUDENTS]
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        rank, z, at = ints[row + RANK], ints[row + DRAWS], ints[row + SUM]
        width = rank + (p if ints[row + FREEDOM] > 0 else 0)
        for k in range(p):
            f = load(work, ints[AMPLITUDES] + k)
            for i in range(width):
                slot = at + k * width + i
                store(work, slot, fma(f, load(work, z + i), load(work, slot)))
    for k in range(p):
        slot = ints[PUSH_SUMS] + k
        store(work, slot, load(work, slot) + load(work, ints[PUSHES] + k))
    f = ints[AMPLITUDES]
    for j in range(p):
        at = ints[FACTOR] + j * p
        x, y = load(work, at + j), load(work, f + j)
        square = fma(x, x, y * y)
        tiny = fill(TINY)
        inverse = where_above(square, tiny, 1.0 / root(square), fill(0.0))
        cosine, sine = where_above(square, tiny, x * inverse, fill(1.0)), y * inverse
        store(work, at + j, square * inverse)
        for k in range(j + 1, p):
            x, y = load(work, at + k), load(work, f + k)
            store(work, at + k, fma(cosine, x, sine * y))
            store(work, f + k, fma(cosine, y, 0.0 - sine * x))


@compiled(strict=True)
def learn_batch(ints, floats, stream, state, work):
    """One step on a whole batch: outside the frames, R^T times the triangle of Bartlett (1933) has the law of the update."""
    p = ints[STUDENTS]
    if floats[DECAY] > 0.0:
        _shrink(ints, floats, state, work)
    rate = load(work, ints[RATE]) * (1.0 / ints[BATCH])
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        rank, freedom, at = ints[row + RANK], ints[row + FREEDOM], ints[row + SUM]
        width = rank + (p if freedom > 0 else 0)
        scale = rate * floats[ints[ROOTS] + b]
        for k in range(p):
            for i in range(rank):
                slot = ints[row + C] + k * rank + i
                store(state, slot, fma(scale, load(work, at + k * width + i), load(state, slot)))
        if freedom > 0:
            _draw_triangle(p, stream, work, ints[TRIANGLE], freedom)
            _widen(p, state, ints[row + L], work, at + rank, width, ints[FACTOR], ints[TRIANGLE], ints[WIDE], scale)
            _fold(p, state, ints[row + L], work, ints[WIDE])
    _finish(ints, state, work, ints[PUSH_SUMS], 1.0 / ints[BATCH])


@compiled(strict=True)
def _draw_triangle(p, stream, work, at, freedom):
    """(p, p) lower triangle: chi of falling freedom on the diagonal, normal below."""
    normals(stream, work, at, p * p)
    for i in range(p):
        store(work, at + i * p + i, chi(stream, load(work, at + i * p + i), float(freedom - i)))


@compiled(strict=True)
def _widen(p, state, triangle, work, sums, width, factor, outside, wide, scale):
    """(p, 2 p) = [L + scale sums | scale R^T T]."""
    for k in range(p):
        at = triangle + k
        for j in range(p):
            total = load(work, sums + k * width + j) * scale
            if j <= k:
                total = total + load(state, at)
                at += p - 1 - j
            store(work, wide + k * 2 * p + j, total)
        for j in range(p):
            total = fill(0.0)
            for i in range(j, p):
                if i <= k:  # R is upper triangular
                    total = fma(load(work, factor + i * p + k), load(work, outside + i * p + j), total)
            store(work, wide + k * 2 * p + p + j, total * scale)


@compiled(strict=True)
def _fold(p, state, triangle, work, wide):
    """Turn the frame by reflections until the wide matrix is lower triangular."""
    n = 2 * p
    for k in range(p):
        at = wide + k * n
        square = fill(0.0)
        for i in range(k, n):
            square = fma(load(work, at + i), load(work, at + i), square)
        length, head = root(square), load(work, at + k)
        end = where_above(head, fill(0.0), 0.0 - length, length)
        store(work, at + k, head - end)
        size = where_above(head, fill(0.0), head, 0.0 - head)
        weight = where_above(square, fill(TINY), 1.0 / fma(length, size, square), fill(0.0))
        for m in range(k + 1, p):
            other, total = wide + m * n, fill(0.0)
            for i in range(k, n):
                total = fma(load(work, at + i), load(work, other + i), total)
            total = total * weight
            for i in range(k, n):
                store(work, other + i, fma(0.0 - total, load(work, at + i), load(work, other + i)))
        store(work, at + k, end)
        slot = triangle + k
        for j in range(k + 1):
            store(state, slot, load(work, at + j))
            slot += p - 1 - j


@compiled(strict=True)
def set_rates(ints, floats, tables, step, work):
    """Rates of a step over dim, for each lane."""
    time = step / floats[DIM]
    for which in range(2):
        slot = (ints[RATE] if which == 0 else ints[READOUT_RATE]) * WIDTH
        for lane in range(WIDTH):
            i = tables.shape[2] - 1
            while i > 0 and tables[which, lane, i, 0] > time:
                i -= 1
            begin, rate, slope = tables[which, lane, i]
            work[slot + lane] = (rate + slope * (time - begin)) / floats[DIM]


@compiled(strict=True)
def overlaps(ints, state, lane, y):
    """Student rows of every block's overlaps and the readout of one lane, as `dynamics.packing` has them."""
    p, q = ints[STUDENTS], ints[TEACHERS]
    n = p + q
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        rank, triangle = ints[row + RANK], ints[row + L]
        for k in range(p):
            at = (b * p + k) * n
            mine = ints[row + C] + k * rank
            for m in range(p):
                total, other = 0.0, ints[row + C] + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                if ints[row + FREEDOM] > 0:
                    column = triangle
                    for j in range(min(k, m) + 1):
                        total += state[(column + k - j) * WIDTH + lane] * state[(column + m - j) * WIDTH + lane]
                        column += p - j
                y[at + m] = total
            for m in range(q):
                total, other = 0.0, ints[row + B] + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                y[at + p + m] = total
    for k in range(p):
        y[ints[BLOCKS] * p * n + k] = state[(ints[READOUT] + k) * WIDTH + lane]


@compiled(strict=True)
def _size(ints, state, lane):
    """Sum of the squares of all students' coordinates."""
    total = 0.0
    for b in range(ints[BLOCKS]):
        row = TABLE + b * ROW
        for i in range(ints[row + C], ints[row + B]):
            total += state[i * WIDTH + lane] ** 2
    return total


@compiled(strict=True)
def look(ints, state, step, bound, watched, falls, levels, inspect, values, scratch, fate, when, ends):
    """See which runs have diverged or passed their threshold (watched -1: none) and keep their states. How many go on."""
    going, observed = 0, np.empty(OBSERVED)
    for lane in range(fate.size):
        if fate[lane] != GOING:
            continue
        if not _size(ints, state, lane) <= bound:
            fate[lane] = LOST
        elif watched >= 0:
            overlaps(ints, state, lane, ends[lane])
            observe(ends[lane], inspect, values[lane], scratch, observed)
            found = observed[watched]
            if (found <= levels[lane]) if falls else (found >= levels[lane]):
                fate[lane] = PASSED
        if fate[lane] == GOING:
            going += 1
        else:
            when[lane] = step
            overlaps(ints, state, lane, ends[lane])
    return going


@compiled(
    int64(
        int64[::1], float64[::1], float64[:, :, :, ::1], uint64[::1], float64[::1], float64[::1],
        int64, int64, int64, float64, int64, boolean, float64[::1], int64[::1], float64[:, ::1], float64[:, :, ::1],
        int64[::1], int64[::1], float64[:, ::1],
    ),
    strict=True,
)  # fmt: skip
def follow(
    ints, floats, tables, stream, state, work,
    begin, end, stride, bound, watched, falls, levels, inspect, values, scratch, fate, when, ends,
):  # fmt: skip
    """Take the steps begin..end, with a look at every multiple of `stride`; return the step it came to, an earlier one if no
    run goes on."""
    for step in range(begin, end):
        if step == begin or ints[VARYING]:
            set_rates(ints, floats, tables, float(step), work)
        if ints[BATCH] == 1:
            draw(ints, stream, work)
            fields(ints, floats, state, work)
            amplitudes(ints, floats, state, work)
            learn(ints, floats, state, work)
        else:
            clear_sums(ints, work)
            for _ in range(ints[BATCH]):
                draw(ints, stream, work)
                fields(ints, floats, state, work)
                amplitudes(ints, floats, state, work)
                collect(ints, work)
            learn_batch(ints, floats, stream, state, work)
        if (step + 1) % stride == 0:
            going = look(
                ints, state, step + 1, bound, watched, falls, levels, inspect, values, scratch, fate, when, ends
            )
            if going == 0:
                return step + 1
    return end


def in_python(kernel: Any, own_amplitudes: Callable[..., None]) -> Callable[..., Any]:
    """A kernel as plain Python, with other amplitudes: those that compiled code cannot compute."""
    return FunctionType(kernel.py_func.__code__, {**kernel.py_func.__globals__, "amplitudes": own_amplitudes})


@compiled(strict=True)
def all_overlaps(ints, state, y):
    """(lane, size) overlaps of the first lanes."""
    for lane in range(len(y)):
        overlaps(ints, state, lane, y[lane])
