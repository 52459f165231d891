"""The motion of rows with cases in reverse (`case_equations.assemble_cases`): from weights of dy to the sums over cases, the
overlaps and the rates.

With G = A Omega and dy = G + G^T + spread N, weights L of dy are L + L^T of G for rows that move, and `spread` L of N. Velocities,
averages and snapshots have no reverse.
"""

from solvable.dynamics.case_equations import gain_of_students
from solvable.dynamics.equations import batch_at, decay_at, rate_at, total
from solvable.dynamics.kernel_data import GAIN
from solvable.dynamics.reverse import BATCH, DECAY, RATE
from solvable.numerics.compiled import compiled


@compiled()
def back_stacks(problem, stacks_bar, bar):
    """From overlaps of all rows to the state."""
    n, m = problem.rows, problem.moving
    for b in range(problem.blocks):
        for k in range(m):
            row = (b * m + k) * n
            for j in range(n):
                bar[row + j] += stacks_bar[b, k, j] + (stacks_bar[b, j, k] if j >= m else 0.0)


@compiled()
def back_along(problem, along_bar, stacks_bar):
    """From overlaps with the directions in all blocks together to those of the blocks."""
    for b in range(problem.blocks):
        for j in range(problem.directions):
            for i in range(problem.rows):
                stacks_bar[b, problem.first_direction + j, i] += along_bar[j, i]


@compiled()
def free_norms(segment, t, y, problems, blocks, stacks, sums, G, pulls):
    """Sphere: how the norms would be held, pull_k = -1/2 (dQ_kk)_free / Q_kk."""
    problem, (gains, spreads, columns) = problems[segment], sums
    eta, decay = rate_at(problem, t), decay_at(problem, t)
    for k in range(problem.students):
        pulls[k] = 0.0
    for b in range(problem.blocks):
        gain_of_students(problem, eta, eta * decay, 0.0, stacks[b], gains[b], columns, G)
        spread = blocks[segment, b].fraction * eta * eta / batch_at(problem, t) if problem.noise else 0.0
        for k in range(problem.students):
            pulls[k] += 2.0 * G[k, k] + spread * spreads[b, k, k]
    for k in range(problem.students):
        pulls[k] *= -0.5 / total(problem, y, k, k)


@compiled()
def back_norms_of_rows(problem, y, weights, bar, pulls, pulls_bar):
    """As `reverse.back_norms`, where teachers may move too."""
    p, n, m = problem.students, problem.rows, problem.moving
    for k in range(p):
        pulls_bar[k] = 0.0
    for b in range(problem.blocks):
        for k in range(m):
            row = (b * m + k) * n
            for j in range(n):
                seen, held = weights[row + j] * y[row + j], 0.0
                if k < p:
                    pulls_bar[k] += seen
                    held += pulls[k]
                if j < p:
                    pulls_bar[j] += seen
                    held += pulls[j]
                bar[row + j] += held * weights[row + j]
    for k in range(p):
        norm = total(problem, y, k, k)
        for b in range(problem.blocks):
            at = (b * m + k) * n + k
            weights[at] -= 0.5 * pulls_bar[k] / norm
            bar[at] -= pulls_bar[k] * pulls[k] / norm


@compiled()
def back_teachers(b, problem, weights, Omega_bar):
    """Reverse of `gain_of_teachers` in block b."""
    n, m, first, turn = problem.rows, problem.moving, problem.first_teacher, problem.rotation
    base = b * m * n
    for i in range(problem.teachers if m > first else 0):
        for j in range(n):
            bar = weights[base + (first + i) * n + j] + (weights[base + j * n + first + i] if j < m else 0.0)
            Omega_bar[first + i, j] -= problem.drift * bar
            if i == 0:
                Omega_bar[first + 1, j] += turn * bar
            elif i == 1:
                Omega_bar[first, j] -= turn * bar


@compiled()
def back_gains(b, eta, decay, problem, weights, Omega, gain, columns, to):
    """Reverse of `gain_of_students` in block b, to = (gain, columns, Omega); what the rate and the decay are weighed by."""
    p, n, m, base = problem.students, problem.rows, problem.moving, b * problem.moving * problem.rows
    first, anchor, fields = problem.first_direction, problem.first_anchor, problem.first_teacher + problem.teachers
    (gain_bar, columns_bar, Omega_bar), pull, rate_bar, decay_bar = to, problem.anchor, 0.0, 0.0
    for k in range(p):
        for j in range(n):
            bar = weights[base + k * n + j] + (weights[base + j * n + k] if j < m else 0.0)
            if bar == 0.0:
                continue
            driven = 0.0
            for i in range(fields):
                driven += gain[k, i] * Omega[j, i]
                gain_bar[k, i] += eta * bar * Omega[j, i]
                Omega_bar[j, i] += eta * bar * gain[k, i]
            for d in range(problem.directions):
                driven += columns[k, d] * Omega[j, first + d]
                columns_bar[k, d] += eta * bar * Omega[j, first + d]
                Omega_bar[j, first + d] += eta * bar * columns[k, d]
            rate_bar += bar * (driven - (decay + pull) * Omega[k, j])
            decay_bar -= eta * bar * Omega[k, j]
            Omega_bar[k, j] -= eta * (decay + pull) * bar
            if pull != 0.0:
                rate_bar += bar * pull * Omega[anchor + k, j]
                Omega_bar[anchor + k, j] += eta * pull * bar
    return rate_bar, decay_bar


@compiled()
def back_spreads(b, spread, problem, weights, spreads, spreads_bar):
    """Reverse of the noise in block b; what `spread` is weighed by."""
    p, n, base, seen = problem.students, problem.rows, b * problem.moving * problem.rows, 0.0
    for k in range(p):
        for j in range(p):
            weight = weights[base + k * n + j]
            seen += weight * spreads[k, j]
            spreads_bar[k, j] += spread * weight
    return seen


@compiled(inline=True)
def back_rows(segment, now, problems, blocks, work, known, to):
    """From weights of dy to the sums over cases, the overlaps, and the numbers of the rule: now = (t, y, weights, bar), known =
    (overlaps, sums), to = (overlaps, sums, scratch for the sphere)."""
    (t, y, weights, bar), (stacks, sums), (stacks_bar, sums_bar, pulls) = now, known, to
    (gains, spreads, columns), (gains_bar, spreads_bar, columns_bar) = sums, sums_bar
    problem, controls = problems[segment], bar[y.size :]
    eta, decay, batch = rate_at(problem, t), decay_at(problem, t), batch_at(problem, t)
    if problem.sphere:
        free_norms(segment, t, y, problems, blocks, stacks, sums, work[GAIN], pulls[0])
        back_norms_of_rows(problem, y, weights, bar, pulls[0], pulls[1])
    for b in range(problem.blocks):
        reached = gains_bar[b], columns_bar, stacks_bar[b]
        rate_bar, decay_bar = back_gains(b, eta, decay, problem, weights, stacks[b], gains[b], columns, reached)
        back_teachers(b, problem, weights, stacks_bar[b])
        controls[RATE] += rate_bar
        controls[DECAY] += decay_bar
        if problem.noise:
            spread = blocks[segment, b].fraction / batch
            seen = spread * back_spreads(b, spread * eta * eta, problem, weights, spreads[b], spreads_bar[b])
            controls[RATE] += 2.0 * eta * seen
            controls[BATCH] -= eta * eta / batch * seen
