"""One sample of the reduced process: the fields of all units and what they push, without any vector of `dim` numbers.

A Gaussian input has independent normal coordinates z on the teachers' frame and g on the students', and a chi-distributed
length s outside both. So, in every block, fields are u = sqrt(lambda) B z and h = sqrt(lambda) (C z + L g); see
`reduced_form.py`. All values are eight lanes wide.
"""

import math

import numpy as np

from solvable.dynamics.flags import TABLES
from solvable.gaussian.losses import CORRELATION, LOG_COSH, SQUARED, TABULATED_LOSS
from solvable.gaussian.tables import evaluate
from solvable.gaussian.units import ERF, LINEAR, POLYNOMIAL, QUADRATIC, RELU, TABULATED, TANH
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, as_words, fill, fma, get, load, put, store, where_above
from solvable.numerics.random import chi, normals


@compiled(strict=True, inline=True)
def draw(form, frames, stream, work):
    """Coordinates of one input, and the noise of its label."""
    normals(stream, work, 0, form.normals)
    if not form.single:
        return
    at = form.normals - (2 if form.noisy else 1)
    for b in range(form.blocks - 1, -1, -1):
        freedom = frames[b].freedom
        if freedom > 0:
            store(work, form.outsides + b, chi(stream, load(work, at), float(freedom)))
            at -= 1


@compiled(strict=True, inline=True)
def moving_field(state, work, C, L, rank, free, rows, row, z):
    """Field of one of the `rows` that move, in a block whose draws begin at z."""
    at, total = C + row * rank, fill(0.0)
    for i in range(rank):
        total = fma(load(state, at + i), load(work, z + i), total)
    if free:
        at = L + row
        for j in range(row + 1):
            total = fma(load(state, at), load(work, z + rank + j), total)
            at += rows - 1 - j
    return total


@compiled(strict=True, inline=True)
def fixed_field(state, work, B, rank, row, z):
    """Field of one of the rows on the fixed frame."""
    at, total = B + row * rank, fill(0.0)
    for i in range(rank):
        total = fma(load(state, at + i), load(work, z + i), total)
    return total


@compiled(strict=True, inline=True)
def fields(form, frames, state, work):
    """Fields of students and teachers."""
    p, q = form.students, form.teachers
    h, u = form.fields, form.teacher_fields
    for b in range(form.blocks):
        frame = frames[b]
        rank, free, z, scale = frame.rank, frame.freedom > 0, frame.draws, fill(frame.root)
        C, L, B = frame.C, frame.L, frame.B
        for k in range(p):
            total = moving_field(state, work, C, L, rank, free, p, k, z)
            store(work, h + k, total * scale if b == 0 else fma(total, scale, load(work, h + k)))
        for m in range(q):
            total = fixed_field(state, work, B, rank, m, z)
            store(work, u + m, total * scale if b == 0 else fma(total, scale, load(work, u + m)))


@compiled(strict=True, inline=True)
def _polynomial(numbers, at, degree, x):
    """Value and slope."""
    value, slope = fill(numbers[at + degree]), fill(0.0)
    for i in range(degree - 1, -1, -1):
        slope = fma(slope, x, value)
        value = fma(value, x, fill(numbers[at + i]))
    return value, slope


@compiled(strict=True, inline=True)
def unit(kind, numbers, at, degree, x):
    """Value and slope of an activation that is no table; the coefficients of a polynomial begin at `numbers[at]`."""
    if kind == QUADRATIC:
        return x * x, 2.0 * x
    if kind == LINEAR:
        return x, fill(1.0)
    if kind == RELU:
        return where_above(x, fill(0.0), x, fill(0.0)), where_above(x, fill(0.0), fill(1.0), fill(0.0))
    if kind == POLYNOMIAL:
        return _polynomial(numbers, at, degree, x)
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
def push_of(form, numbers, error, label):
    """Return what a loss without formula pushes, over twice the loss factor: from its table, of the residual or of the margin."""
    if not TABLES or form.loss != TABULATED_LOSS:  # no loss
        return fill(np.nan)
    x = label * (label - error) if form.margin else error
    bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
    push = x
    for lane in range(WIDTH):
        there, _ = evaluate(numbers, form.loss_numbers, get(x, lane), get(bits, lane))
        push = put(push, lane, 0.5 * there)
    return push * label if form.margin else push


@compiled(strict=True)
def look_up(form, numbers, work):
    """Units that are tables: students as below, values of teachers in the place of their fields. Apart from the other units, whose
    loops would be slower beside it."""
    look_up_students(form, numbers, work)
    teachers = form.teacher_unit == TABULATED and not form.product
    for m in range(form.teachers if teachers else 0):
        x = load(work, form.teacher_fields + m)
        value = x
        bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
        for lane in range(WIDTH):
            there, _ = evaluate(numbers, form.teacher_numbers, get(x, lane), get(bits, lane))
            value = put(value, lane, there)
        store(work, form.teacher_fields + m, value)


@compiled(strict=True)
def look_up_students(form, numbers, work):
    """Values of students that are tables in the place of their pushes, and slopes in that of their amplitudes."""
    for m in range(form.students if form.unit == TABULATED else 0):
        x = load(work, form.fields + m)
        value, slope = x, x
        bits = as_words(1.0 + where_above(x, fill(0.0), x, 0.0 - x))
        for lane in range(WIDTH):
            there, bend = evaluate(numbers, form.unit_numbers, get(x, lane), get(bits, lane))
            value, slope = put(value, lane, there), put(slope, lane, bend)
        store(work, form.pushes + m, value)
        store(work, form.amplitudes + m, slope)


@compiled(strict=True, inline=True)
def amplitudes(form, numbers, state, work):
    """F of every student, and what pushes the readouts."""
    teachers = False
    if TABLES:
        teachers = form.teacher_unit == TABULATED and not form.product
        if form.unit == TABULATED or teachers:
            look_up(form, numbers, work)
    label = fill(1.0 if form.product else 0.0)
    for m in range(form.teachers):
        field = load(work, form.teacher_fields + m)
        if form.product:
            label = label * field
        elif teachers:
            label = fma(fill(numbers[form.teacher_readout + m]), field, label)
        else:
            value, _ = unit(form.teacher_unit, numbers, form.teacher_numbers, form.teacher_degree, field)
            label = fma(fill(numbers[form.teacher_readout + m]), value, label)
    if form.noisy:
        label = fma(fill(form.label_noise), load(work, form.normals - 1), label)
    respond(form, numbers, work, label, state, form.readout)


@compiled(strict=True, inline=True)
def respond(form, numbers, work, label, readouts, readout):
    """F and pushes, given the label; `readouts` has those that the output is made with, from the slot `readout` on."""
    error = residual(form, numbers, work, label, readouts, readout)
    push_students(form, numbers, work, label, error, readouts, readout)


@compiled(strict=True, inline=True)
def residual(form, numbers, work, label, readouts, readout):
    """Label less output; values of students are left in the place of their pushes, slopes in that of their amplitudes."""
    p, kind = form.students, form.unit
    fields, amplitudes, pushes, students = form.fields, form.amplitudes, form.pushes, kind == TABULATED
    at, degree, error = form.unit_numbers, form.degree, label
    for k in range(p):
        if not students:
            value, slope = unit(kind, numbers, at, degree, load(work, fields + k))
            store(work, amplitudes + k, slope)
            store(work, pushes + k, value)
        error = error - load(readouts, readout + k) * load(work, pushes + k)
    return error


@compiled(strict=True, inline=True)
def push_students(form, numbers, work, label, error, readouts, readout):
    """F and pushes from values and slopes; the push itself is returned."""
    p, amplitudes, pushes, push = form.students, form.amplitudes, form.pushes, error
    if form.loss == LOG_COSH:
        for lane in range(WIDTH):
            push = put(push, lane, math.tanh(get(error, lane)))
    elif form.loss == CORRELATION:
        push = label
    elif form.loss != SQUARED:
        push = push_of(form, numbers, error, label)
    push = push * (2.0 * form.loss_factor)
    for k in range(p):
        slope = load(work, amplitudes + k) * push
        store(work, amplitudes + k, slope * load(readouts, readout + k))
        store(work, pushes + k, load(work, pushes + k) * push)
    return push
