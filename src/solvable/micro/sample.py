"""One-pass SGD of the overlaps themselves: an exact Markov chain that never forms a vector of `dim` numbers.

A Gaussian input has independent normal coordinates z on the teachers' frame and g on the students', and a chi-distributed
length s outside both. So, in every block,

    fields       u = sqrt(lambda) B z,   h = sqrt(lambda) (C z + L g)
    update       [C | L | 0] += (rate / dim) sqrt(lambda) F (z, g, s)^T

after which the frame is turned until L is lower triangular again. The triangular form stays accurate where the overlaps
become singular, which a Cholesky factor of them does not. All values are eight lanes wide.
"""

import math

from solvable.micro import layout as lay
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, get, load, put, root, store, where_above
from solvable.numerics.random import chi, normals

LINEAR, QUADRATIC, ERF, RELU = (lay.UNITS[name] for name in ("linear", "quadratic", "erf", "relu"))
TINY = 1e-300


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
    """Value and slope of an activation."""
    if kind == QUADRATIC:
        return x * x, 2.0 * x
    if kind == LINEAR:
        return x, fill(1.0)
    if kind == RELU:
        return where_above(x, fill(0.0), x, fill(0.0)), where_above(x, fill(0.0), fill(1.0), fill(0.0))
    if kind == lay.POLYNOMIAL_UNIT:
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
    p, q = ints[lay.STUDENTS], ints[lay.TEACHERS]
    label = fill(1.0 if ints[lay.PRODUCT] else 0.0)
    for m in range(q):
        field = load(work, ints[lay.TEACHER_FIELDS] + m)
        if ints[lay.PRODUCT]:
            label = label * field
        else:
            value, _ = unit(
                ints[lay.TEACHER_UNIT], floats, ints[lay.TEACHER_POLYNOMIAL], ints[lay.TEACHER_DEGREE], field
            )
            label = fma(fill(floats[ints[lay.TEACHER_READOUT] + m]), value, label)
    if ints[lay.NOISY]:
        label = fma(fill(floats[lay.LABEL_NOISE]), load(work, ints[lay.NORMALS] - 1), label)
    for k in range(p):
        value, slope = unit(
            ints[lay.UNIT], floats, ints[lay.POLYNOMIAL], ints[lay.DEGREE], load(work, ints[lay.FIELDS] + k)
        )
        store(work, ints[lay.AMPLITUDES] + k, slope)
        store(work, ints[lay.PUSHES] + k, value)
        label = label - load(state, ints[lay.READOUT] + k) * value
    push = label
    if ints[lay.LOG_COSH]:
        for lane in range(WIDTH):
            push = put(push, lane, math.tanh(get(label, lane)))
    push = push * (2.0 * floats[lay.LOSS_FACTOR])
    for k in range(p):
        slope = load(work, ints[lay.AMPLITUDES] + k) * push
        store(work, ints[lay.AMPLITUDES] + k, slope * load(state, ints[lay.READOUT] + k))
        store(work, ints[lay.PUSHES] + k, load(work, ints[lay.PUSHES] + k) * push)


@compiled(strict=True, inline=True)
def shrink(ints, floats, state, work):
    """Weight decay, on the old weights."""
    factor = 1.0 - load(work, ints[lay.RATE]) * floats[lay.DECAY]
    for b in range(ints[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        for i in range(ints[row + lay.C], ints[row + lay.B]):
            store(state, i, load(state, i) * factor)


@compiled(strict=True, inline=True)
def rotation(x, y):
    """Cosine and sine of the rotation that takes (x, y) to (length, 0), and the length; none where the length vanishes."""
    square, tiny = fma(x, x, y * y), fill(TINY)
    inverse = where_above(square, tiny, 1.0 / root(square), fill(0.0))
    return where_above(square, tiny, x * inverse, fill(1.0)), y * inverse, square * inverse


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
        cosine, sine, length = rotation(load(state, column), load(work, v + j))
        store(state, column, length)
        for k in range(j + 1, p):
            x, y = load(state, column + k - j), load(work, v + k)
            store(state, column + k - j, fma(cosine, x, sine * y))
            store(work, v + k, fma(cosine, y, 0.0 - sine * x))
        column += p - j


@compiled(strict=True, inline=True)
def learn(ints, floats, state, work):
    """One step on one sample whose draws, fields and amplitudes are in `work`."""
    p = ints[lay.STUDENTS]
    if floats[lay.DECAY] > 0.0:
        shrink(ints, floats, state, work)
    rate = load(work, ints[lay.RATE])
    for b in range(ints[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        rank, z = ints[row + lay.RANK], ints[row + lay.DRAWS]
        scale = rate * floats[ints[lay.ROOTS] + b]
        for k in range(p):
            at, f = ints[row + lay.C] + k * rank, load(work, ints[lay.AMPLITUDES] + k) * scale
            for i in range(rank):
                store(state, at + i, fma(f, load(work, z + i), load(state, at + i)))
        if ints[row + lay.FREEDOM] > 0:
            outside = load(work, ints[lay.OUTSIDES] + b)
            _turn(p, state, ints[row + lay.L], work, z + rank, outside, ints[lay.AMPLITUDES], scale, ints[lay.COLUMN])
    finish(ints, state, work, ints[lay.PUSHES], 1.0)


@compiled(strict=True, inline=True)
def finish(ints, state, work, pushes, weight):
    """Back to the sphere, and the readout."""
    p = ints[lay.STUDENTS]
    if ints[lay.SPHERE]:
        for k in range(p):
            total = fill(0.0)
            for b in range(ints[lay.BLOCKS]):
                row = lay.TABLE + b * lay.ROW
                at = ints[row + lay.C] + k * ints[row + lay.RANK]
                for i in range(ints[row + lay.RANK]):
                    total = fma(load(state, at + i), load(state, at + i), total)
                if ints[row + lay.FREEDOM] > 0:
                    at = ints[row + lay.L] + k
                    for j in range(k + 1):
                        total = fma(load(state, at), load(state, at), total)
                        at += p - 1 - j
            factor = 1.0 / root(total)
            for b in range(ints[lay.BLOCKS]):
                row = lay.TABLE + b * lay.ROW
                at = ints[row + lay.C] + k * ints[row + lay.RANK]
                for i in range(ints[row + lay.RANK]):
                    store(state, at + i, load(state, at + i) * factor)
                if ints[row + lay.FREEDOM] > 0:
                    at = ints[row + lay.L] + k
                    for j in range(k + 1):
                        store(state, at, load(state, at) * factor)
                        at += p - 1 - j
    if ints[lay.TRAIN_READOUT]:
        rate = load(work, ints[lay.READOUT_RATE]) * weight
        for k in range(p):
            at = ints[lay.READOUT] + k
            store(state, at, fma(rate, load(work, pushes + k), load(state, at)))
