"""Rates that follow the state.

AdaGrad-Norm takes its rate from G before the step, clipping from the length of the batch gradient itself, which the draws tell
exactly; all other rules from the equations in the present overlaps, at every step.
"""

from solvable.dynamics.equations import segment_at
from solvable.dynamics.pace import ADAGRAD, CLIP, PACE, recall
from solvable.micro.batch import draw_triangle
from solvable.micro.looking import overlaps
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, root, store, where_above


@compiled(strict=True)
def square_of_sample(form, frames, work):
    """|F x|^2/dim of a sample in each lane, summed over students."""
    size, amplitudes = fill(0.0), fill(0.0)
    for b in range(form.blocks):
        frame = frames[b]
        width, z = frame.rank + (form.moving if frame.freedom > 0 else 0), frame.draws + form.seen
        for i in range(width):
            size = fma(load(work, z + i), load(work, z + i), size)
        if frame.freedom > 0:
            outside = load(work, form.outsides + b)
            size = fma(outside, outside, size)
    for k in range(form.students):
        f = load(work, form.amplitudes + k)
        amplitudes = fma(f, f, amplitudes)
    return size * amplitudes * (1.0 / form.dim)


@compiled(strict=True)
def square_of_batch(form, frames, stream, work):
    """The same of the mean over a batch; what lies outside the frames is drawn, for all blocks."""
    p, total = form.students, fill(0.0)
    for b in range(form.blocks):
        frame, triangle = frames[b], form.triangles + b * p * p
        width = frame.rank + (form.moving if frame.freedom > 0 else 0)
        for i in range(p * width):
            total = fma(load(work, frame.sums + i), load(work, frame.sums + i), total)
        if frame.freedom == 0:
            continue
        if form.largest > 0:  # which has been drawn sample by sample
            for k in range(p):
                outer = form.outer + (b * p + k) * form.largest
                for j in range(form.batch):
                    total = fma(load(work, outer + j), load(work, outer + j), total)
            continue
        draw_triangle(p, stream, work, triangle, frame.freedom)
        for k in range(p):
            for j in range(k + 1):
                outside = fill(0.0)
                for i in range(j, k + 1):
                    outside = fma(load(work, frame.factor + i * p + k), load(work, triangle + i * p + j), outside)
                total = fma(outside, outside, total)
    return total * (1.0 / (form.dim * form.batch * form.batch))


@compiled(strict=True)
def set_rates(rhs, process, equations, step):
    """Rates that the state before a step decides."""
    form, frames, known, state, work = process[0][0], process[1], process[2], process[6], process[7]
    base = load(work, form.base_rate)
    if form.pace == CLIP:
        store(work, form.rate, base)
        return
    if form.pace == ADAGRAD:
        store(work, form.rate, base * (1.0 / root(load(state, form.accumulated) + form.pace_number**2)))
        return
    problems, blocks, cases, numbers, scratch, y, dy = equations
    time = step / form.dim
    segment = segment_at(problems, time)
    for lane in range(len(numbers)):
        overlaps(form, frames, known, state, lane, y)
        rhs(segment, time, y, dy, problems, blocks, cases, numbers[lane], scratch)
        work[form.rate * WIDTH + lane] = work[form.base_rate * WIDTH + lane] * recall(scratch, PACE)


@compiled(strict=True)
def count_gradient(form, square, state, work):
    """Clip the rate, and add the squared gradient to G."""
    if form.pace == CLIP:
        share = fill(form.pace_number) * (1.0 / root(square + 1e-300))
        store(work, form.rate, load(work, form.base_rate) * where_above(share, fill(1.0), fill(1.0), share))
    store(state, form.accumulated, fma(square, fill(1.0 / form.dim), load(state, form.accumulated)))
