"""One sample of the reduced process: the fields of all units and what they push, without any vector of `dim` numbers.

A Gaussian input has independent normal coordinates z on the teachers' frame and g on the students', and a chi-distributed
length s outside both. So, in every block, fields are u = sqrt(lambda) B z and h = sqrt(lambda) (C z + L g); see `layout.py`. All
values are eight lanes wide.
"""

import math

import numpy as np

from solvable.dynamics import layout as lay
from solvable.gaussian.losses import LOG_COSH, SQUARED
from solvable.gaussian.tables import evaluate
from solvable.gaussian.units import ERF, LINEAR, POLYNOMIAL, QUADRATIC, RELU, TABULATED, TANH
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, as_words, fill, fma, get, load, put, store, where_above
from solvable.numerics.random import chi, normals


@compiled(strict=True, inline=True)
def draw(ints, stream, work):
    """Coordinates of one input, and the noise of its label."""
    normals(stream, work, 0, ints[lay.NORMALS])
    if ints[lay.BATCH] > 1:
        return
    at = ints[lay.NORMALS] - ints[lay.NOISY] - 1
    for b in range(ints[lay.BLOCKS] - 1, -1, -1):
        freedom = ints[lay.TABLE + b * lay.ROW + lay.FREEDOM]
        if freedom > 0:
            store(work, ints[lay.OUTSIDES] + b, chi(stream, load(work, at), float(freedom)))
            at -= 1


@compiled(strict=True, inline=True)
def fields(ints, floats, state, work):
    """Fields of students and teachers."""
    p, q = ints[lay.STUDENTS], ints[lay.TEACHERS]
    h, u = ints[lay.FIELDS], ints[lay.TEACHER_FIELDS]
    for b in range(ints[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        rank, z = ints[row + lay.RANK], ints[row + lay.DRAWS]
        scale = fill(floats[ints[lay.ROOTS] + b])
        for k in range(p):
            at, total = ints[row + lay.C] + k * rank, fill(0.0)
            for i in range(rank):
                total = fma(load(state, at + i), load(work, z + i), total)
            if ints[row + lay.FREEDOM] > 0:
                at = ints[row + lay.L] + k
                for j in range(k + 1):
                    total = fma(load(state, at), load(work, z + rank + j), total)
                    at += p - 1 - j
            store(work, h + k, total * scale if b == 0 else fma(total, scale, load(work, h + k)))
        for m in range(q):
            at, total = ints[row + lay.B] + m * rank, fill(0.0)
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
    """Value and slope of an activation that is no table; the coefficients of a polynomial begin at `floats[at]`."""
    if kind == QUADRATIC:
        return x * x, 2.0 * x
    if kind == LINEAR:
        return x, fill(1.0)
    if kind == RELU:
        return where_above(x, fill(0.0), x, fill(0.0)), where_above(x, fill(0.0), fill(1.0), fill(0.0))
    if kind == POLYNOMIAL:
        return _polynomial(floats, at, degree, x)
    value, slope = x, x
    for lane in range(WIDTH):
        z = get(x, lane)
        if kind == ERF:
            value = put(value, lane, math.erf(z * math.sqrt(0.5)))
            slope = put(slope, lane, math.sqrt(2.0 / math.pi) * math.exp(-0.5 * z * z))
        elif kind == TANH:
            t = math.tanh(z)
            value, slope = put(value, lane, t), put(slope, lane, 1.0 - t * t)
        else:  # no unit
            value, slope = put(value, lane, np.nan), put(slope, lane, np.nan)
    return value, slope


@compiled(strict=True)
def push_of(ints, floats, error, label):
    """What a loss without formula pushes, over twice the loss factor: from its table, of the residual or of the margin."""
    x = label * (label - error) if ints[lay.MARGIN] else error
    bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
    push = x
    for lane in range(WIDTH):
        there, _ = evaluate(floats, ints[lay.LOSS_NUMBERS], get(x, lane), get(bits, lane))
        push = put(push, lane, 0.5 * there)
    return push * label if ints[lay.MARGIN] else push


@compiled(strict=True)
def look_up(ints, floats, work):
    """Units that are tables: values of students in the place of their pushes and slopes in that of their amplitudes, values of
    teachers in the place of their fields. Apart from the other units, whose loops would be slower beside it."""
    for m in range(ints[lay.STUDENTS] if ints[lay.UNIT] == TABULATED else 0):
        x = load(work, ints[lay.FIELDS] + m)
        value, slope = x, x
        bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
        for lane in range(WIDTH):
            there, bend = evaluate(floats, ints[lay.NUMBERS], get(x, lane), get(bits, lane))
            value, slope = put(value, lane, there), put(slope, lane, bend)
        store(work, ints[lay.PUSHES] + m, value)
        store(work, ints[lay.AMPLITUDES] + m, slope)
    teachers = ints[lay.TEACHER_UNIT] == TABULATED and not ints[lay.PRODUCT]
    for m in range(ints[lay.TEACHERS] if teachers else 0):
        x = load(work, ints[lay.TEACHER_FIELDS] + m)
        value = x
        bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
        for lane in range(WIDTH):
            there, _ = evaluate(floats, ints[lay.TEACHER_NUMBERS], get(x, lane), get(bits, lane))
            value = put(value, lane, there)
        store(work, ints[lay.TEACHER_FIELDS] + m, value)


@compiled(strict=True, inline=True)
def amplitudes(ints, floats, state, work):
    """F of every student, and what pushes the readouts."""
    p, q = ints[lay.STUDENTS], ints[lay.TEACHERS]
    students = ints[lay.UNIT] == TABULATED
    teachers = ints[lay.TEACHER_UNIT] == TABULATED and not ints[lay.PRODUCT]
    if students or teachers:
        look_up(ints, floats, work)
    label = fill(1.0 if ints[lay.PRODUCT] else 0.0)
    for m in range(q):
        field = load(work, ints[lay.TEACHER_FIELDS] + m)
        if ints[lay.PRODUCT]:
            label = label * field
        elif teachers:
            label = fma(fill(floats[ints[lay.TEACHER_READOUT] + m]), field, label)
        else:
            value, _ = unit(ints[lay.TEACHER_UNIT], floats, ints[lay.TEACHER_NUMBERS], ints[lay.TEACHER_DEGREE], field)
            label = fma(fill(floats[ints[lay.TEACHER_READOUT] + m]), value, label)
    if ints[lay.NOISY]:
        label = fma(fill(floats[lay.LABEL_NOISE]), load(work, ints[lay.NORMALS] - 1), label)
    error = label
    for k in range(p):
        if not students:
            value, slope = unit(
                ints[lay.UNIT], floats, ints[lay.NUMBERS], ints[lay.DEGREE], load(work, ints[lay.FIELDS] + k)
            )
            store(work, ints[lay.AMPLITUDES] + k, slope)
            store(work, ints[lay.PUSHES] + k, value)
        error = error - load(state, ints[lay.READOUT] + k) * load(work, ints[lay.PUSHES] + k)
    push = error
    if ints[lay.LOSS] == LOG_COSH:
        for lane in range(WIDTH):
            push = put(push, lane, math.tanh(get(error, lane)))
    elif ints[lay.LOSS] != SQUARED:
        push = push_of(ints, floats, error, label)
    push = push * (2.0 * floats[lay.LOSS_FACTOR])
    for k in range(p):
        slope = load(work, ints[lay.AMPLITUDES] + k) * push
        store(work, ints[lay.AMPLITUDES] + k, slope * load(state, ints[lay.READOUT] + k))
        store(work, ints[lay.PUSHES] + k, load(work, ints[lay.PUSHES] + k) * push)
