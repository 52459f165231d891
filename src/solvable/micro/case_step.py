"""Steps of problems with cases: pulls to the start, readouts of several heads, batches of several cases, teachers that move.

What momentum and averages do to rows is in `row_step.py`."""

import math

from solvable.dynamics.case_sample import of_head
from solvable.micro.batch import add_batch, add_block, add_to_factor, add_to_sums, draw_triangle, fold
from solvable.micro.measured_batch import add_measured_batch
from solvable.micro.row_step import average_students, kick_of, move_students, push_readout, slow_down
from solvable.micro.step import add_sample, to_sphere
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import fill, fma, load, store
from solvable.numerics.random import normals


@compiled(strict=True, inline=True)
def learn_case(form, frames, state, work, step):
    """One step on one sample whose draws, fields and amplitudes are in `work`."""
    slow_down(form, frames, state)
    pull_back(form, frames, state, work)
    add_sample(form, frames, state, work, form.moving, form.learner, form.seen, kick_of(form))
    move_students(form, frames, state)
    if form.sphere:
        to_sphere(form, frames, state, form.moving, form.student_row)
    average_students(form, frames, state, step)
    p, rate = form.students, load(work, form.readout_rate)
    for t in range(form.heads):
        for k in range(p if form.train_readout else 0):
            push_readout(form, state, t * p + k, rate, of_head(form, work, t, load(work, form.pushes + k)))
        if form.train_bias:
            push_readout(form, state, form.heads * p + t, rate, of_head(form, work, t, load(work, form.bare_push)))


@compiled(strict=True, inline=True)
def pull_back(form, frames, state, work):
    """Weight decay, and the pull of the anchors, on the old weights."""
    if form.decay == 0.0 and form.anchor == 0.0:
        return
    rows, p, rate = form.moving, form.students, load(work, form.rate) * form.gain
    keep, back = 1.0 - rate * (form.decay + form.anchor), rate * form.anchor
    copied = form.snapshot_row >= 0 and not form.snapshot_follows
    if form.snapshot_follows:  # nothing pulls yet
        keep, back = 1.0 - rate * form.decay, fill(0.0)
    for b in range(form.blocks):
        frame = frames[b]
        rank, anchors = frame.rank, frame.B + form.anchors * frame.rank
        if copied:
            anchors = frame.C + form.snapshot_row * rank
        for k in range(p):
            row = form.student_row + k
            at = frame.C + row * rank
            for i in range(rank):
                value = keep * load(state, at + i)
                if form.anchor > 0.0 and not form.snapshot_follows:
                    value = fma(back, load(state, anchors + k * rank + i), value)
                store(state, at + i, value)
            if frame.freedom > 0:
                at, other = frame.L + row, frame.L + form.snapshot_row + k
                for j in range(row + 1):
                    value = keep * load(state, at)
                    if copied and form.anchor > 0.0 and j <= form.snapshot_row + k:
                        value = fma(back, load(state, other), value)
                    store(state, at, value)
                    at += rows - 1 - j
                    other += rows - 1 - j


@compiled(strict=True)
def collect_case(form, frames, work):
    """Add one sample of a batch to the sums. Cases differ in their variances, and blocks in how: each has a factor of its own."""
    p = form.students
    add_to_sums(form, frames, work, form.moving, form.seen)
    for t in range(form.heads):
        for k in range(p if form.train_readout else 0):
            slot, push = form.push_sums + t * p + k, of_head(form, work, t, load(work, form.pushes + k))
            store(work, slot, load(work, slot) + push)
        if form.train_bias:
            slot, push = form.push_sums + form.heads * p + t, of_head(form, work, t, load(work, form.bare_push))
            store(work, slot, load(work, slot) + push)
    for b in range(form.blocks if form.largest == 0 else 0):
        if frames[b].freedom > 0:
            spread = load(work, form.spreads + b)
            for k in range(p):
                store(work, form.column + k, spread * load(work, form.amplitudes + k))
            add_to_factor(p, work, frames[b].factor, form.column)


@compiled(strict=True)
def learn_case_batch(form, frames, stream, state, work, step):
    """One step on a whole batch."""
    slow_down(form, frames, state)
    pull_back(form, frames, state, work)
    if form.largest > 0:
        add_measured_batch(form, frames, state, work, kick_of(form))
    elif form.pace > 0:
        add_drawn_batch(form, frames, state, work)
    else:
        add_batch(form, frames, stream, state, work, form.moving, form.learner, kick_of(form))
    move_students(form, frames, state)
    if form.sphere:
        to_sphere(form, frames, state, form.moving, form.student_row)
    average_students(form, frames, state, step)
    rate, biases = load(work, form.readout_rate) * (1.0 / form.batch), form.heads * form.students
    for k in range(form.readouts):
        if form.train_bias if k >= biases else form.train_readout:
            push_readout(form, state, k, rate, load(work, form.push_sums + k))


@compiled(strict=True)
def add_drawn_batch(form, frames, state, work):
    """What a batch adds, with triangles that were drawn for all blocks."""
    rate, kept = load(work, form.rate) * (kick_of(form) / form.batch), form.triangle
    for b in range(form.blocks):
        form.triangle = form.triangles + b * form.students**2
        add_block(form, frames[b], state, work, form.moving, form.learner, rate)
    form.triangle = kept


@compiled(strict=True)
def move_teachers(form, frames, numbers, stream, state, work):
    """Teachers after a step: the first two turn in their plane, all walk at random. Without a walk they keep on the fixed frame."""
    for b in range(form.blocks):
        frame = frames[b]
        if form.drift == 0.0:
            turn_rows(form, state, frame.B, frame.rank)
        else:
            turn_rows(form, state, frame.C, frame.rank)
            walk(form, frame, numbers, stream, state, work)


@compiled(strict=True)
def turn_rows(form, array, first, width):
    """Turn two neighbouring rows in their plane, by the rotation of one step."""
    if form.rotation == 0.0:
        return
    cosine, sine = fill(math.cos(form.rotation / form.dim)), fill(math.sin(form.rotation / form.dim))
    for i in range(first, first + width):
        x, y = load(array, i), load(array, i + width)
        store(array, i, fma(cosine, x, sine * y))
        store(array, i + width, fma(cosine, y, 0.0 - sine * x))


@compiled(strict=True)
def walk(form, frame, numbers, stream, state, work):
    """Teachers' rows times 1 - drift/dim, plus sqrt(2 drift)/dim times normals of their covariance: on the frames, and outside
    them a triangle of Bartlett (1933), which is folded in."""
    q, rows, rank, free = form.teachers, form.moving, frame.rank, frame.freedom > 0
    width, n = rank + (rows if free else 0), rows + q
    keep, size = fill(1.0 - form.drift / form.dim), math.sqrt(2.0 * form.drift) / form.dim
    normals(stream, work, form.walks, q * width)
    for m in range(q):
        for i in range(rank):
            at = frame.C + m * rank + i
            step = mixed(form, numbers, work, form.walks + i, width, m)
            store(state, at, fma(fill(size), step, keep * load(state, at)))
    if not free:
        return
    draw_triangle(q, stream, work, form.triangle, frame.freedom)
    for k in range(rows):
        at, row = frame.L + k, form.wide + k * n
        for j in range(n):
            store(work, row + j, load(state, at) if j <= k else fill(0.0))
            at += rows - 1 - j if j < k else 0
    turn_rows(form, work, form.wide, n)
    for m in range(q):
        row = form.wide + m * n
        for j in range(rows):
            step = mixed(form, numbers, work, form.walks + rank + j, width, m)
            store(work, row + j, fma(fill(size), step, keep * load(work, row + j)))
        for j in range(m + 1):
            total = fill(0.0)
            for i in range(j, m + 1):
                total = fma(fill(numbers[form.walk_factor + m * q + i]), load(work, form.triangle + i * q + j), total)
            store(work, row + rows + j, size * total)
    fold(rows, n, state, frame.L, work, form.wide)


@compiled(strict=True, inline=True)
def mixed(form, numbers, work, first, width, m):
    """Normals of the teachers' covariance: row m of its factor times a column of standard ones."""
    total = fill(0.0)
    for i in range(m + 1):
        factor = fill(numbers[form.walk_factor + m * form.teachers + i])
        total = fma(factor, load(work, first + i * width), total)
    return total
