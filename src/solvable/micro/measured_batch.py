"""Batches for rules that look at the length of every input: what lies outside the frames is drawn sample by sample.

The inputs of a batch, outside the frames, are rows of independent normal numbers. Their lengths and inner products are those of the
rows of a lower triangle T (Bartlett 1933), with chi of falling freedom on the diagonal and normal numbers below. So sample number i
is drawn as its row, its length is known when its amplitude is formed, and the update outside is sum_i F_i sqrt(lambda_i) T_i.
"""

from solvable.micro.batch import fold
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import fill, fma, load, root, store
from solvable.numerics.random import chi, normals


@compiled(strict=True)
def draw_outside(form, frames, stream, work, i):
    """The row of sample number i in every block, and its length, before the variance of its case."""
    for b in range(form.blocks):
        freedom, at = frames[b].freedom, form.outer_rows + b * form.largest
        if freedom > 0:
            normals(stream, work, at, i + 1)
            store(work, at + i, chi(stream, load(work, at + i), float(freedom - i)))
            square = fill(0.0)
            for j in range(i + 1):
                square = fma(load(work, at + j), load(work, at + j), square)
            store(work, form.outsides + b, root(square))


@compiled(strict=True)
def add_outside(form, frames, work, i):
    """F times the row of sample number i, to the sums of every block."""
    p, largest = form.students, form.largest
    for b in range(form.blocks if form.largest > 0 else 0):
        if frames[b].freedom > 0:
            spread = load(work, form.spreads + b)
            for k in range(p):
                f, at = spread * load(work, form.amplitudes + k), form.outer + (b * p + k) * largest
                for j in range(i + 1):
                    row = load(work, form.outer_rows + b * largest + j)
                    store(work, at + j, fma(f, row, load(work, at + j)))


@compiled(strict=True)
def add_measured_batch(form, frames, state, work, weight):
    """What a batch, times a weight, adds to those that learn, from the row `form.learner` on."""
    p, rows, n, first = form.students, form.moving, form.moving + form.batch, form.learner
    scale = load(work, form.rate) * (weight / form.batch)
    for b in range(form.blocks):
        frame = frames[b]
        rank, sums = frame.rank, frame.sums
        width, C = rank + (rows if frame.freedom > 0 else 0), frame.C + first * rank
        for k in range(p):
            for i in range(rank):
                slot = C + k * rank + i
                store(state, slot, fma(scale, load(work, sums + k * width + i), load(state, slot)))
        if frame.freedom > 0:
            for k in range(rows):
                at, row, student = frame.L + k, form.wide + k * n, k - first
                learns = 0 <= student < p
                outer = form.outer + (b * p + student) * form.largest
                for j in range(rows):
                    total = scale * load(work, sums + student * width + rank + j) if learns else fill(0.0)
                    if j <= k:
                        total = total + load(state, at)
                        at += rows - 1 - j
                    store(work, row + j, total)
                for j in range(form.batch):
                    store(work, row + rows + j, scale * load(work, outer + j) if learns else fill(0.0))
            fold(rows, n, state, frame.L, work, form.wide)
