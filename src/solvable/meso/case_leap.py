"""Kicks where samples come in cases: each of the sampled steps draws its case, so that the scatter between cases is in the noise.

In place of deviations from the mean, half of the samples count with the opposite sign: sqrt(n/m) times their sum then has mean
zero and the covariance of n samples, whatever the mean of one is. The F F^T of a block count with the variance of their cases.

Teachers that drift or turn move too; a kick adds the random walk of so many steps within the frames, the equations have what lies
outside. With slow momentum samples kick velocities; rows that only follow students are not kicked, unless they still are students.
Rows of the moving frame are in the order of `dynamics/case_form.py`, those of the state in that of `dynamics/rows.py`.
"""

import math

from solvable.dynamics.case_sample import case_amplitudes, case_fields, draw_case, of_head, set_chances
from solvable.dynamics.equations import batch_at, eigenvalue_at, friction_at, label_noise_at, rate_at, readout_rate_at
from solvable.dynamics.kernel_data import GAIN
from solvable.dynamics.pace import PACE, recall
from solvable.dynamics.row_motion import copy_to_followers
from solvable.dynamics.sample import draw
from solvable.meso import following
from solvable.meso.leap import SINGULAR, mean
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, put, store
from solvable.numerics.random import normals
from solvable.numerics.specialising import specialise


@compiled(strict=True)
def row_of(problem, r, mending):
    """In the state, of row r of the moving frame: teachers that move, snapshots, velocities, students, averages. For `mending`
    velocities come last: they are short at first, and may be shorter than their overlaps with students allow."""
    p, teachers = problem.students, problem.moving - min(problem.moving, problem.first_teacher)
    if mending and problem.velocities > 0:
        if r >= problem.moving - p:
            return problem.velocities + r - (problem.moving - p)
        before = teachers + (p if problem.snapshots > 0 else 0)
        r += p if r >= before else 0
    if r < teachers:
        return problem.first_teacher + r
    r -= teachers
    if problem.snapshots > 0:
        if r < p:
            return problem.snapshots + r
        r -= p
    if problem.velocities > 0:
        if r < p:
            return problem.velocities + r
        r -= p
    return r if r < p else problem.averages + r - p


@compiled(strict=True)
def factor_rows(y, problem, inverse, V, mending):
    """As `leap.factor`, for all rows that move: V (block, moving, fixed + moving). A coordinate takes no more than is left of the
    row's length, however short the row is whose direction it is along."""
    m, n, impossible = problem.moving, problem.rows, False
    q = n - m
    for b in range(problem.blocks):
        for k in range(m):
            row = (b * m + row_of(problem, k, mending)) * n
            size = y[row + row_of(problem, k, mending)]
            left = size
            for i in range(q):
                total = 0.0
                for f in range(q):
                    total += y[row + m + f] * inverse[b, f, i]
                V[b, k, i] = total
                left -= total * total
            for j in range(k + 1):
                total = y[row + row_of(problem, j, mending)]
                for i in range(q + j):
                    total -= V[b, k, i] * V[b, j, i]
                if j < k:
                    value = total / V[b, j, q + j] if V[b, j, q + j] > 0.0 else 0.0
                    if value * value > left + SINGULAR * abs(size):
                        value, impossible = math.copysign(math.sqrt(max(left, 0.0)), value), True
                    V[b, k, q + j] = value
                    left -= value * value
                else:
                    V[b, k, q + k] = math.sqrt(total) if total > SINGULAR * size else 0.0
                    impossible = impossible or total < -SINGULAR * abs(size)
            for j in range(k + 1, m):
                V[b, k, q + j] = 0.0
    return impossible


@compiled(strict=True)
def spread_rows(form, frames, V, y, state):
    """The same coordinates in every lane, where `dynamics.case_sample` looks for them."""
    m, q = form.moving, form.fixed
    for b in range(form.blocks):
        for k in range(m):
            for i in range(q):
                store(state, frames[b].C + k * q + i, fill(V[b, k, i]))
        at = frames[b].L
        for j in range(m):
            for k in range(j, m):
                store(state, at, fill(V[b, k, q + j]))
                at += 1
    base = y.size - form.scalars - form.heads * form.students
    for k in range(form.heads * form.students + form.scalars):
        store(state, form.readout + k, fill(y[base + k]))


@compiled(strict=True)
def take_rows(b, problem, coordinates, frame, y, mending):
    """Overlaps of block b, of all rows that move, from coordinates (moving, fixed + moving)."""
    m, n = problem.moving, problem.rows
    for k in range(m):
        row = (b * m + row_of(problem, k, mending)) * n
        for j in range(m):
            total = 0.0
            for i in range(n):
                total += coordinates[k, i] * coordinates[j, i]
            y[row + row_of(problem, j, mending)] = total
        for f in range(n - m):
            total = 0.0
            for i in range(n - m):
                total += coordinates[k, i] * frame[b, f, i]
            y[row + m + f] = total


@compiled(strict=True)
def normalise_rows(y, problem, norms):
    """Back to the sphere."""
    p, m, n = problem.students, problem.moving, problem.rows
    for k in range(p):
        norms[k] = 0.0
        for b in range(problem.blocks):
            norms[k] += y[(b * m + k) * n + k]
        norms[k] = 1.0 / math.sqrt(norms[k])
    for b in range(problem.blocks):
        for k in range(m):
            for j in range(n):
                scale = (norms[k] if k < p else 1.0) * (norms[j] if j < p else 1.0)
                y[(b * m + k) * n + j] *= scale


@compiled(strict=True)
def mend_cases(y, problem, geometry):
    """As `leap.mend`."""
    frame, inverse, V, norms = geometry
    if not factor_rows(y, problem, inverse, V, True):
        return
    for b in range(problem.blocks):
        take_rows(b, problem, V[b], frame, y, True)
    if problem.sphere:
        normalise_rows(y, problem, norms)


@compiled(strict=True)
def restore_cases(y, problem, geometry):
    """As `leap.restore`."""
    mend_cases(y, problem, geometry)
    if problem.sphere:
        normalise_rows(y, problem, geometry[3])
        copy_to_followers(problem, y)


@compiled(strict=True)
def collect_case(form, frames, work, sums):
    """Add eight samples: F (z, g)^T for each block, F F^T for each block, and what pushes the readouts of each head."""
    at, p, sign = 0, form.students, fill(1.0)
    for lane in range(WIDTH // 2):
        sign = put(sign, lane, -1.0)
    for b in range(form.blocks):
        width, z = form.fixed + form.moving, frames[b].draws + form.seen
        for k in range(p):
            f = sign * load(work, form.amplitudes + k)
            for i in range(width):
                store(sums, at, fma(f, load(work, z + i), load(sums, at)))
                at += 1
    for b in range(form.blocks):
        scale = load(work, form.spreads + b)
        variance = sign * scale * scale
        for k in range(p):
            f = variance * load(work, form.amplitudes + k)
            for j in range(k + 1):
                store(sums, at, fma(f, load(work, form.amplitudes + j), load(sums, at)))
                at += 1
    for t in range(form.heads):
        for k in range(p):
            one = of_head(form, work, t, load(work, form.pushes + k))
            store(sums, at, fma(sign, one, load(sums, at)))
            at += 1
    for t in range(form.heads if form.biased else 0):
        store(sums, at, fma(sign, of_head(form, work, t, load(work, form.bare_push)), load(sums, at)))
        at += 1


def sums_of(blocks: int, students: int, rows: int, readouts: int) -> int:
    """How many sums `collect_case` keeps; `readouts` are those of all heads, and biases."""
    return blocks * (students * rows + students * (students + 1) // 2) + readouts


@compiled(strict=True)
def gather_cases(sampler, rounds):
    forms, frames, numbers, stream, state, work, sums = sampler
    form = forms[0]
    sums[:] = 0.0
    for _ in range(rounds):
        draw(form, frames, stream, work)
        draw_case(form, frames, numbers, stream, state, work)
        case_fields(form, frames, state, work)
        case_amplitudes(form, numbers, state, work)
        collect_case(form, frames, work, sums)


@compiled(strict=True)
def sample_cases(problem, blocks, segment, alpha, y, sampler, geometry, rounds):
    """As `leap.sample`."""
    forms, frames, numbers, _, state, work, _ = sampler
    form = forms[0]
    if factor_rows(y, problem, geometry[1], geometry[2], False):
        mend_cases(y, problem, geometry)
        factor_rows(y, problem, geometry[1], geometry[2], False)
    spread_rows(form, frames, geometry[2], y, state)
    form.label_noise = math.sqrt(label_noise_at(problem, alpha))
    form.batch = int(batch_at(problem, alpha) + 0.5)
    for lane in range(WIDTH):
        work[form.rate * WIDTH + lane] = rate_at(problem, alpha) / form.dim
    for b in range(problem.blocks):
        frames[b].root = math.sqrt(eigenvalue_at(problem, blocks[segment, b], alpha))
    set_chances(form, frames, numbers, segment, alpha - problem.begin, work)
    gather_cases(sampler, rounds)


@compiled(strict=True)
def kick_cases(rhs, h, alpha, segment, y, data, sampler, geometry, slope, rounds):
    """As `leap.kick`."""
    problem, blocks, sums, form = data[0][segment], data[1], sampler[6], sampler[0][0]
    p, n, batch = problem.students, problem.rows, batch_at(problem, alpha)
    rounds = max(1, min(rounds, int(h * form.dim * batch / WIDTH)))
    samples = rounds * WIDTH
    sample_cases(problem, blocks, segment, alpha, y, sampler, geometry, rounds)
    size, kick, v = math.sqrt(h * samples / (form.dim * batch)), kick_at(problem, alpha), problem.velocities
    eta = rate_at(problem, alpha) * kick
    if problem.pace > 0:
        rhs(segment, alpha, y, slope, *data)
        eta *= recall(data[4], PACE)
    moved, at = data[4][GAIN], problem.blocks * p * n
    for b in range(problem.blocks):
        push_rows(b, eta * size, h, samples, problem, sampler, geometry[2], moved)
        take_rows(b, problem, moved, geometry[0], y, False)
        outside = eta * eta * blocks[segment, b].fraction / batch * size
        for k in range(v, v + p):
            for j in range(v, k + 1):
                more = outside * mean(sums, at, samples)
                if problem.pace > 0 and j == k:
                    y[y.size - 1] += blocks[segment, b].share / batch * size * mean(sums, at, samples)
                y[(b * problem.moving + k) * n + j] += more
                if j < k:
                    y[(b * problem.moving + j) * n + k] += more
                at += 1
    copy_to_followers(problem, y)
    if problem.train_readout or problem.train_bias:
        biases, rate = problem.heads * p, readout_rate_at(problem, alpha) * kick
        base = y.size - problem.scalars - biases + (problem.readouts if problem.readout_velocities else 0)
        for k in range(problem.readouts):
            if problem.train_bias if k >= biases else problem.train_readout:
                y[base + k] += size * rate * mean(sums, at + k, samples)
    if problem.sphere:
        normalise_rows(y, problem, geometry[3])
        copy_to_followers(problem, y)


@compiled(strict=True)
def kick_at(problem, t):
    """What multiplies the rate of those that learn: friction, where velocities do."""
    return friction_at(problem, t) if problem.velocities > 0 else 1.0


@compiled(strict=True)
def push_rows(b, scale, h, samples, problem, sampler, V, moved):
    """Coordinates of all rows of block b that move, after the kick: students by their samples, teachers by their walk."""
    forms, _, numbers, stream, _, work, sums = sampler
    form, p, n, first, teachers = forms[0], problem.students, problem.rows, sampler[0][0].learner, problem.teachers
    for k in range(problem.moving):
        for i in range(n):
            moved[k, i] = V[b, k, i]
    for k in range(p):
        for i in range(n):
            moved[first + k, i] = V[b, first + k, i] + scale * mean(sums, (b * p + k) * n + i, samples)
    if problem.moving <= problem.first_teacher:
        return
    length, at = math.sqrt(2.0 * problem.drift * h / form.dim), form.walks * WIDTH
    normals(stream, work, form.walks, teachers * n)
    for k in range(teachers):
        for i in range(n):
            step = 0.0
            for j in range(k + 1):
                step += numbers[form.walk_factor + k * teachers + j] * work[at + (j * n + i) * WIDTH]
            moved[k, i] = V[b, k, i] + length * step


follow_cases = specialise(following.follow, "cases", kick=kick_cases, mend=mend_cases, restore=restore_cases)
