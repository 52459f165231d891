"""One sample of a problem with cases: which class, task, mask and label sign it has, and its fields.

A case is drawn for each lane. Its numbers stand in a row of a table in `numbers` (`case_form.py`):

    label | head | readouts of the teachers | mask (p) | means (d) | roots of the spikes (d) | root of the variance, root of the
    students' own noise (each block)

Then the standard draws of `sample.draw` become those of the case, in every block: on the fixed frame

    z <- sum_j (M_cj + sqrt(tau_cj) zeta_j) B_mj + sqrt(lambda_bc) z

and times sqrt(lambda_bc) elsewhere. What students see, where that differs, lies `form.seen` slots behind.
"""

import numpy as np

from solvable.dynamics.flags import SHAPED, TABLES
from solvable.dynamics.rule_sample import use_sample
from solvable.dynamics.sample import fixed_field, look_up, moving_field, push_students, residual, unit
from solvable.gaussian.units import TABULATED
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, put, root, store, where_above
from solvable.numerics.random import uniform


@compiled(strict=True, inline=True)
def of_case(form, numbers, work, entry):
    """An entry of the table, in each lane that of its case."""
    value = fill(0.0)
    for lane in range(WIDTH):
        value = put(value, lane, numbers[int(work[form.case * WIDTH + lane]) + entry])
    return value


@compiled(strict=True)
def set_chances(form, frames, numbers, segment, passed, work):
    """Sums of the cases' probabilities up to each, at a time since the segment began; whether these change all the time. The root
    of a block's eigenvalue moves from the frame to the draws."""
    total, last, sloped = 0.0, 0, False
    for c in range(form.cases):
        at = form.chance_table + 2 * (segment * form.cases + c)
        probability = numbers[at] + numbers[at + 1] * passed
        sloped = sloped or numbers[at + 1] != 0.0
        last = c if probability > 0.0 else last
        total += probability
        work[form.chances * WIDTH + c] = total
    for c in range(last, form.cases):  # whatever the sum rounds to
        work[form.chances * WIDTH + c] = np.inf
    for b in range(form.blocks):
        frames[b].deviation = frames[b].root
        frames[b].root = 1.0
    return sloped


@compiled(strict=True, inline=True)
def draw_case(form, frames, numbers, stream, state, work):
    """Of each lane, by the chances at present; then the label, the readouts and the draws of that case."""
    place = fill(float(form.table))
    if form.cases > 1:
        u = uniform(stream)
        for c in range(form.cases - 1):
            above = where_above(u, fill(work[form.chances * WIDTH + c]), fill(float(form.stride)), fill(0.0))
            place = place + above
    store(work, form.case, place)
    read_out(form, numbers, state, work)
    move_draws(form, frames, numbers, state, work)


@compiled(strict=True, inline=True)
def read_out(form, numbers, state, work):
    """Label and readouts of the case: those of its head, times its mask."""
    p, at = form.students, form.entries
    store(work, form.label, of_case(form, numbers, work, 0))
    for m in range(form.teachers):
        store(work, form.case_teachers + m, of_case(form, numbers, work, 2 + m))
    if form.heads == 1:
        for k in range(p):
            store(work, form.case_readout + k, load(state, form.readout + k))
    else:
        head = of_case(form, numbers, work, 1)
        store(work, form.head, head)
        for k in range(p):
            value = load(state, form.readout + k)
            for t in range(1, form.heads):
                value = where_above(head, fill(t - 0.5), load(state, form.readout + t * p + k), value)
            store(work, form.case_readout + k, value)
    if form.biased:
        first = form.readout + form.heads * p
        value = load(state, first)
        for t in range(1, form.heads):
            value = where_above(load(work, form.head), fill(t - 0.5), load(state, first + t), value)
        store(work, form.case_bias, value)
    if form.masked:
        for k in range(p):
            mask = of_case(form, numbers, work, at + k)
            store(work, form.mask + k, mask)
            store(work, form.case_readout + k, mask * load(work, form.case_readout + k))


@compiled(strict=True, inline=True)
def move_draws(form, frames, numbers, state, work):
    """Standard draws as those of the case; what lies outside the frames likewise, if it was drawn."""
    d, means = form.directions, form.entries + form.students
    for j in range(d):
        weight = of_case(form, numbers, work, means + j)
        if form.spiked:
            weight = fma(of_case(form, numbers, work, means + d + j), load(work, form.spikes + j), weight)
        store(work, form.weights + j, weight)
    for b in range(form.blocks):
        frame = frames[b]
        rank, z, roots = frame.rank, frame.draws, means + 2 * d + 2 * b
        width = rank + (form.moving if frame.freedom > 0 else 0)
        scale = of_case(form, numbers, work, roots) * frame.deviation
        for i in range(width):
            store(work, z + i, scale * load(work, z + i))
        for j in range(d):
            at, weight = frame.B + (form.direction + j) * rank, load(work, form.weights + j)
            for i in range(rank):
                store(work, z + i, fma(weight, load(state, at + i), load(work, z + i)))
        if form.seen > 0:
            blur, own = of_case(form, numbers, work, roots + 1), z + form.seen
            for i in range(width):
                store(work, own + i, fma(blur, load(work, own + i), load(work, z + i)))
            scale = root(fma(scale, scale, blur * blur))
        store(work, form.spreads + b, scale)
        if (form.single or form.largest > 0) and frame.freedom > 0:
            store(work, form.outsides + b, scale * load(work, form.outsides + b))
    if form.shaped:
        measure_input(form, frames, work)


@compiled(strict=True)
def measure_input(form, frames, work):
    """|x|^2/dim of what students see; its mean where what lies outside the frames is not drawn."""
    total = fill(0.0)
    for b in range(form.blocks):
        frame = frames[b]
        width, z = frame.rank + (form.moving if frame.freedom > 0 else 0), frame.draws + form.seen
        if form.single or form.largest > 0 or frame.freedom == 0:
            for i in range(width):
                total = fma(load(work, z + i), load(work, z + i), total)
            if frame.freedom > 0:
                outside = load(work, form.outsides + b)
                total = fma(outside, outside, total)
        else:
            scale = load(work, form.spreads + b)
            total = total + scale * scale * float(width + frame.freedom)
    store(work, form.norm, total * (1.0 / form.dim))


@compiled(strict=True, inline=True)
def case_fields(form, frames, state, work):
    """Fields of students and teachers; teachers that walk are the first rows that move. Nesterov's are those of students moved by
    what is left of their velocities."""
    p, q, rows = form.students, form.teachers, form.moving
    h, u, first = form.fields, form.teacher_fields, form.student_row
    ahead = fill(form.beta / form.dim if form.slow else form.beta)
    for b in range(form.blocks):
        frame = frames[b]
        rank, free, z, C, L = frame.rank, frame.freedom > 0, frame.draws, frame.C, frame.L
        for k in range(p):
            total = moving_field(state, work, C, L, rank, free, rows, first + k, z + form.seen)
            if form.nesterov:
                more = moving_field(state, work, C, L, rank, free, rows, form.velocity_row + k, z + form.seen)
                total = fma(ahead, more, total)
            store(work, h + k, total if b == 0 else total + load(work, h + k))
        for m in range(q):
            if form.drifting:
                total = moving_field(state, work, C, L, rank, free, rows, m, z)
            else:
                total = fixed_field(state, work, frame.B, rank, m, z)
            store(work, u + m, total if b == 0 else total + load(work, u + m))


@compiled(strict=True, inline=True)
def case_amplitudes(form, numbers, state, work):
    """F of every student, and what pushes the readouts, with the label and the readouts that `read_out` has left."""
    teachers = False
    if TABLES:
        teachers = form.teacher_unit == TABULATED and not form.product
        if form.unit == TABULATED or teachers:
            look_up(form, numbers, work)
    label = load(work, form.label)
    if form.product:  # its sign stands in the place of the first readout
        product = load(work, form.case_teachers)
        for m in range(form.teachers):
            product = product * load(work, form.teacher_fields + m)
        label = label + product
    else:
        for m in range(form.teachers):
            value = load(work, form.teacher_fields + m)
            if not teachers:
                value, _ = unit(form.teacher_unit, numbers, form.teacher_numbers, form.teacher_degree, value)
            label = fma(load(work, form.case_teachers + m), value, label)
    if form.signed:
        label = where_above(label, fill(0.0), fill(1.0), fill(-1.0))
    if form.noisy:
        label = fma(fill(form.label_noise), load(work, form.normals - 1), label)
    if SHAPED and form.shaped:
        use_sample(form, numbers, work, label)
    else:
        error = residual(form, numbers, work, label, work, form.case_readout)
        if form.biased:
            error = error - load(work, form.case_bias)
        push = push_students(form, numbers, work, label, error, work, form.case_readout)
        store(work, form.bare_push, push)
    if form.masked:
        for k in range(form.students):
            at = form.pushes + k
            store(work, at, load(work, form.mask + k) * load(work, at))


@compiled(strict=True, inline=True)
def of_head(form, work, t, value):
    """A value where the sample's head is number t, and zero elsewhere."""
    if form.heads == 1:
        return value
    head = load(work, form.head)
    low = where_above(head, fill(t - 0.5), value, fill(0.0))
    return where_above(fill(t + 0.5), head, low, fill(0.0))


@compiled(strict=True)
def answer(form, numbers, state, work):
    """Amplitudes and pushes of samples whose cases and fields are given."""
    read_out(form, numbers, state, work)
    case_amplitudes(form, numbers, state, work)
