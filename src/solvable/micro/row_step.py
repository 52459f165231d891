"""What a step does to rows beside adding samples: velocities fade and move the students, averages and snapshots follow them.

With momentum samples move velocities, v <- beta v + e F x/sqrt(dim), and w <- w + s v follows; (e, s) is (rate, 1) for beta, and
(kappa rate, 1/dim) with beta = 1 - kappa/dim for kappa. The rows that move come in an order in which each is changed by rows before
it alone, so that L stays lower triangular.
"""

from solvable.micro.batch import fold
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import fill, fma, load, store


@compiled(strict=True)
def set_friction(form, friction):
    """What a step keeps of a velocity; of fast ones `friction` is beta."""
    if form.slow:
        form.friction, form.beta = friction, 1.0 - friction / form.dim
    elif form.velocity_row >= 0:
        form.beta, form.gain = friction, 1.0 / (1.0 - friction)


@compiled(strict=True, inline=True)
def kick_of(form):
    """What multiplies the rate of those that learn."""
    return form.friction if form.slow else 1.0


@compiled(strict=True, inline=True)
def combine(form, frames, state, row, keep, other, share):
    """A row that moves times `keep`, plus a `share` of another one, which comes before it or is the same."""
    rows = form.moving
    for b in range(form.blocks):
        frame = frames[b]
        at, source = frame.C + row * frame.rank, frame.C + other * frame.rank
        for i in range(frame.rank):
            store(state, at + i, fma(share, load(state, source + i), keep * load(state, at + i)))
        if frame.freedom > 0:
            at, source = frame.L + row, frame.L + other
            for j in range(row + 1):
                value = keep * load(state, at)
                if j <= other:
                    value = fma(share, load(state, source), value)
                store(state, at, value)
                at += rows - 1 - j
                source += rows - 1 - j


@compiled(strict=True, inline=True)
def slow_down(form, frames, state):
    """Velocities lose their share."""
    if form.velocity_row < 0:
        return
    for k in range(form.students):
        combine(form, frames, state, form.velocity_row + k, fill(form.beta), form.velocity_row + k, fill(0.0))


@compiled(strict=True, inline=True)
def move_students(form, frames, state):
    """By their velocities."""
    if form.velocity_row < 0:
        return
    share = fill(1.0 / form.dim if form.slow else 1.0)
    for k in range(form.students):
        combine(form, frames, state, form.student_row + k, fill(1.0), form.velocity_row + k, share)


@compiled(strict=True, inline=True)
def average_students(form, frames, state, step):
    """Averages move towards the students, after a step."""
    if form.average_row < 0 or form.average_follows:
        return
    gain = form.average_rate / form.dim
    if gain == 0.0:
        gain = 1.0 / (step + 2.0 - form.average_begin * form.dim)
    for k in range(form.students):
        combine(form, frames, state, form.average_row + k, fill(1.0 - gain), form.student_row + k, fill(gain))


@compiled(strict=True, inline=True)
def push_readout(form, state, k, rate, push):
    """Readout number k (biases come behind all readouts), or its velocity, which moves it."""
    at = form.readout + k
    if form.readout_velocities:
        b = at + form.readouts
        velocity = fma(rate * kick_of(form), push, form.beta * load(state, b))
        store(state, b, velocity)
        rate, push = fill(1.0 / form.dim if form.slow else 1.0), velocity
    store(state, at, fma(rate, push, load(state, at)))


@compiled(strict=True)
def set_followers(form, frames, averages, snapshots, state, work):
    """Whether averages and snapshots still are the students; where they no longer are, they are copied."""
    if form.average_follows and not averages:
        for k in range(form.students):
            combine(form, frames, state, form.average_row + k, fill(0.0), form.student_row + k, fill(1.0))
    if form.snapshot_follows and not snapshots:
        take_snapshot(form, frames, state, work)
    form.average_follows, form.snapshot_follows = averages, snapshots


@compiled(strict=True)
def take_snapshot(form, frames, state, work):
    """Copies of the students come before them, so the frame is turned until L is lower triangular again."""
    rows, p = form.moving, form.students
    for b in range(form.blocks):
        frame = frames[b]
        for k in range(p):
            at, source = frame.C + (form.snapshot_row + k) * frame.rank, frame.C + (form.student_row + k) * frame.rank
            for i in range(frame.rank):
                store(state, at + i, load(state, source + i))
        if frame.freedom > 0:
            for k in range(rows):
                copied = form.snapshot_row <= k < form.snapshot_row + p
                row = form.student_row + k - form.snapshot_row if copied else k
                source = frame.L + row
                for j in range(rows):
                    store(work, form.wide + k * rows + j, load(state, source) if j <= row else fill(0.0))
                    source += rows - 1 - j if j < row else 0
            fold(rows, rows, state, frame.L, work, form.wide)
