"""Steps on a batch of samples. What lies outside the frames is drawn once for the whole batch."""

from solvable.micro.step import TINY, finish, rotation, shrink
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import fill, fma, load, root, store, where_above
from solvable.numerics.random import chi, normals


@compiled(strict=True)
def clear_sums(form, work):
    for i in range(form.sums, form.triangle):
        store(work, i, fill(0.0))


@compiled(strict=True)
def collect(form, frames, work):
    """Add one sample of a batch to the sums. What lies outside is not drawn: of all the samples' amplitudes only a triangular
    factor R of sum F F^T matters for it."""
    add_to_sums(form, frames, work, form.students, 0)
    for k in range(form.students):
        slot = form.push_sums + k
        store(work, slot, load(work, slot) + load(work, form.pushes + k))
    add_to_factor(form.students, work, form.factor, form.amplitudes)


@compiled(strict=True, inline=True)
def add_to_sums(form, frames, work, rows, seen):
    """F (z, g)^T of a sample in every block; the students' draws lie `seen` slots behind the others'."""
    for b in range(form.blocks):
        frame = frames[b]
        rank, z, at = frame.rank, frame.draws + seen, frame.sums
        width = rank + (rows if frame.freedom > 0 else 0)
        for k in range(form.students):
            f = load(work, form.amplitudes + k)
            for i in range(width):
                slot = at + k * width + i
                store(work, slot, fma(f, load(work, z + i), load(work, slot)))


@compiled(strict=True, inline=True)
def add_to_factor(p, work, factor, f):
    """R^T R += f f^T, R upper triangular; f is used up."""
    for j in range(p):
        at = factor + j * p
        cosine, sine, length = rotation(load(work, at + j), load(work, f + j))
        store(work, at + j, length)
        for k in range(j + 1, p):
            x, y = load(work, at + k), load(work, f + k)
            store(work, at + k, fma(cosine, x, sine * y))
            store(work, f + k, fma(cosine, y, 0.0 - sine * x))


@compiled(strict=True)
def learn_batch(form, frames, stream, state, work):
    """One step on a whole batch."""
    if form.decay > 0.0:
        shrink(form, frames, state, work)
    add_batch(form, frames, stream, state, work, form.students, 0, 1.0)
    finish(form, frames, state, work, form.push_sums, 1.0 / form.batch)


@compiled(strict=True, inline=True)
def add_batch(form, frames, stream, state, work, rows, first, weight):
    """What a batch, times a weight, adds to those that learn, from the row `first` on of the `rows` that move: outside the frames,
    R^T times the triangle of Bartlett (1933) has the law of the update."""
    rate = load(work, form.rate) * (weight / form.batch)
    for b in range(form.blocks):
        frame = frames[b]
        if frame.freedom > 0:
            draw_triangle(form.students, stream, work, form.triangle, frame.freedom)
        add_block(form, frame, state, work, rows, first, rate * frame.root)


@compiled(strict=True, inline=True)
def add_block(form, frame, state, work, rows, first, scale):
    """The same in one block, with the triangle that was drawn for it."""
    p, rank, freedom, at = form.students, frame.rank, frame.freedom, frame.sums
    width, C = rank + (rows if freedom > 0 else 0), frame.C + first * rank
    for k in range(p):
        for i in range(rank):
            slot = C + k * rank + i
            store(state, slot, fma(scale, load(work, at + k * width + i), load(state, slot)))
    if freedom > 0:
        _widen(form, rows, first, state, frame.L, work, at + rank, width, frame.factor, scale)
        fold(rows, rows + p, state, frame.L, work, form.wide)


@compiled(strict=True)
def draw_triangle(p, stream, work, at, freedom):
    """(p, p) lower triangle: chi of falling freedom on the diagonal, normal below."""
    normals(stream, work, at, p * p)
    for i in range(p):
        store(work, at + i * p + i, chi(stream, load(work, at + i * p + i), float(freedom - i)))


@compiled(strict=True)
def _widen(form, rows, first, state, triangle, work, sums, width, factor, scale):
    """(rows, rows + p) = [L + scale sums | scale R^T T] for those that learn, p from the row `first` on, and [L | 0] elsewhere."""
    p, n = form.students, rows + form.students
    for k in range(rows):
        at, row, student = triangle + k, form.wide + k * n, k - first
        learns = 0 <= student < p
        for j in range(rows):
            total = load(work, sums + student * width + j) * scale if learns else fill(0.0)
            if j <= k:
                total = total + load(state, at)
                at += rows - 1 - j
            store(work, row + j, total)
        for j in range(p):
            total = fill(0.0)
            for i in range(j, p):
                if learns and i <= student:  # R is upper triangular
                    total = fma(load(work, factor + i * p + student), load(work, form.triangle + i * p + j), total)
            store(work, row + rows + j, total * scale)


@compiled(strict=True)
def fold(rows, n, state, triangle, work, wide):
    """Turn the frame by reflections until the wide matrix (rows, n) is lower triangular."""
    for k in range(rows):
        at = wide + k * n
        square = fill(0.0)
        for i in range(k, n):
            square = fma(load(work, at + i), load(work, at + i), square)
        length, head = root(square), load(work, at + k)
        end = where_above(head, fill(0.0), 0.0 - length, length)
        store(work, at + k, head - end)
        size = where_above(head, fill(0.0), head, 0.0 - head)
        weight = where_above(square, fill(TINY), 1.0 / fma(length, size, square), fill(0.0))
        for m in range(k + 1, rows):
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
            slot += rows - 1 - j
