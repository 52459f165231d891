"""One-pass SGD of the overlaps themselves: an exact Markov chain that never forms a vector of `dim` numbers.

With the draws, fields and amplitudes of a sample (`dynamics/sample.py`), in every block,

    [C | L | 0] += (rate / dim) sqrt(lambda) F (z, g, s)^T

after which the frame is turned until L is lower triangular again. The triangular form stays accurate where the overlaps
become singular, which a Cholesky factor of them does not. All values are eight lanes wide.
"""

from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import fill, fma, load, root, store, where_above

TINY = 1e-300


@compiled(strict=True, inline=True)
def shrink(form, frames, state, work):
    """Weight decay, on the old weights."""
    factor = 1.0 - load(work, form.rate) * form.decay
    for b in range(form.blocks):
        frame = frames[b]
        for i in range(frame.C, frame.B):
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
def learn(form, frames, state, work):
    """One step on one sample whose draws, fields and amplitudes are in `work`."""
    if form.decay > 0.0:
        shrink(form, frames, state, work)
    add_sample(form, frames, state, work, form.students, 0, 0, 1.0)
    finish(form, frames, state, work, form.pushes, 1.0)


@compiled(strict=True, inline=True)
def add_sample(form, frames, state, work, rows, first, seen, weight):
    """What one sample, times a weight, adds to those that learn, from the row `first` on of the `rows` that move. Their draws lie
    `seen` slots behind the others'; before and behind the amplitudes are those of other rows, which are zero."""
    p, amplitudes = form.students, form.amplitudes
    rate = load(work, form.rate) * weight
    for b in range(form.blocks):
        frame = frames[b]
        rank, z, C = frame.rank, frame.draws + seen, frame.C + first * frame.rank
        scale = rate * frame.root
        for k in range(p):
            at, f = C + k * rank, load(work, amplitudes + k) * scale
            for i in range(rank):
                store(state, at + i, fma(f, load(work, z + i), load(state, at + i)))
        if frame.freedom > 0:
            outside = load(work, form.outsides + b)
            _turn(rows, state, frame.L, work, z + rank, outside, amplitudes - first, scale, form.column)


@compiled(strict=True, inline=True)
def finish(form, frames, state, work, pushes, weight):
    """Back to the sphere, and the readout."""
    if form.sphere:
        to_sphere(form, frames, state, form.students, 0)
    if form.train_readout:
        rate = load(work, form.readout_rate) * weight
        for k in range(form.students):
            at = form.readout + k
            store(state, at, fma(rate, load(work, pushes + k), load(state, at)))


@compiled(strict=True, inline=True)
def to_sphere(form, frames, state, rows, first):
    """Give every student, from the row `first` on of the `rows` that move, norm one."""
    for k in range(first, first + form.students):
        total = fill(0.0)
        for b in range(form.blocks):
            frame = frames[b]
            at = frame.C + k * frame.rank
            for i in range(frame.rank):
                total = fma(load(state, at + i), load(state, at + i), total)
            if frame.freedom > 0:
                at = frame.L + k
                for j in range(k + 1):
                    total = fma(load(state, at), load(state, at), total)
                    at += rows - 1 - j
        factor = 1.0 / root(total)
        for b in range(form.blocks):
            frame = frames[b]
            at = frame.C + k * frame.rank
            for i in range(frame.rank):
                store(state, at + i, load(state, at + i) * factor)
            if frame.freedom > 0:
                at = frame.L + k
                for j in range(k + 1):
                    store(state, at, load(state, at) * factor)
                    at += rows - 1 - j
