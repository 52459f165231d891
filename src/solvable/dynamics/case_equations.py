"""The equations of motion where samples come in cases (`cases.py`): classes, tasks, masks, noise that only students see.

Given its case c, a sample's fields are normal with mean h^c = sum_j M_cj n^j and covariance
C^c = sum_b (lambda_bc + sigma_bc [among students]) Omega^b + sum_j tau_cj n^j (n^j)^T; n^j are the overlaps of all rows with
direction m_j, in all blocks together. With phi^c = <F>, D^c and S^c of that case, and probabilities pi_c:

    dOmega^b/dalpha = A^b Omega^b + (A^b Omega^b)^T + N^b
    A^b = Gamma + eta sum_c pi_c ( D^c Lambda^bc + sum_j (M_cj phi^c + tau_cj D^c n^j) e_{m_j}^T )
    N^b = f_b (eta^2/B) sum_c pi_c (lambda_bc + sigma_bc) S^c

with Lambda^bc = lambda_bc + sigma_bc for students, lambda_bc for teachers. Gamma has weight decay, the pull to anchors, the sphere,
and the motion of teachers: -delta on those that drift, which adds 2 delta f_b T to N^b, and a rotation of the first two. With slow
momentum the eta-terms are those of velocities, dv = kappa (eta ... - v), N^b gets kappa^2, and students move by dw = v. What only
follows students (`row_motion.py`) is in Gamma too.

Cases that are alike (`cases.alike`) share h and C, and what blocks do with the mean of their D, S and phi. Where h has the other
sign, so has z: for odd units that is the error with the offset -s_0, and the other sign of phi; for even ones the sign of phi
alone. M_cj phi^c is the same, so that the first case stands for all of them. Those with equal errors, such as opposite classes of
even units with the same label, are one case.

Rows are in the order of `rows.py`. Scratch behind the planes of `work`: what the functions here call `stacks` (block, row, row),
`gains` (block, student, row), `spreads` (block, student, student), `columns` (student, direction), `along` (direction, row), then
what moments need.
"""

from typing import Any

import numpy as np

from solvable.dynamics.cases import ALIKE
from solvable.dynamics.closed_moments import clipped
from solvable.dynamics.equations import (
    batch_at,
    decay_at,
    eigenvalue_at,
    friction_at,
    hold_norms,
    label_noise_at,
    rate_at,
    readout_rate_at,
    stack,
    watch,
)
from solvable.dynamics.kernel_data import GAIN, PLANES, RISK, SIGNS, SYSTEM, WATCHED
from solvable.dynamics.mean_moments import moments_of_several
from solvable.dynamics.output_bias import add_push, bias_at, mean_error
from solvable.dynamics.pace import follow_state
from solvable.dynamics.row_motion import copy_to_followers, gain_of_followers, gain_of_teachers, move_readouts
from solvable.gaussian.closed_forms import averages_with_means, mean_scratch
from solvable.gaussian.losses import CORRELATION
from solvable.numerics.compiled import compiled


def case_scratch(students: int, teachers: int, rows: int, blocks: int) -> int:
    """Numbers of scratch behind the planes."""
    fields = students + teachers
    shared = blocks * (rows**2 + students * rows + students**2 + 1) + (students + rows) * rows
    each = 2 * fields + 3 + students * (fields + students + 2)
    return shared + fields**2 + 2 * fields + (ALIKE + 1) * each + mean_scratch(fields)


def gains_and_spreads(problem: Any, work: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sums over cases that a right-hand side has left in the scratch: of D Lambda (block, student, row) and of S (block,
    student, student), without rates."""
    p, n, blocks = int(problem.students), int(problem.rows), int(problem.blocks)
    scratch = work[PLANES:].ravel()[blocks * n * n :]
    gains, spreads = scratch[: blocks * p * n], scratch[blocks * p * n :][: blocks * p * p]
    return gains.reshape(blocks, p, n), spreads.reshape(blocks, p, p)


@compiled(inline=True)
def cut(scratch, at, rows, columns):
    """A matrix of numbers of scratch, and where it ends."""
    end = at + rows * columns
    return scratch[at:end].reshape(rows, columns), end


@compiled()
def share_at(case, problem, t):
    """The probability of a case."""
    return case.probability + case.slope * (t - problem.begin)


@compiled(inline=True)
def take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues):
    """Eigenvalues at this time, overlaps of all rows in each block, and of all rows with the directions in all blocks together."""
    n = problem.rows
    for b in range(problem.blocks):
        eigenvalues[b] = eigenvalue_at(problem, blocks[segment, b], t)
        stack(b, y, problem, numbers, stacks[b])
    for j in range(problem.directions):
        for i in range(n):
            total = 0.0
            for b in range(problem.blocks):
                total += stacks[b, problem.first_direction + j, i]
            along[j, i] = total


@compiled()
def choose_fields(problem, case, numbers, who):
    """The rows whose fields a case has to do with, students first: not those that its mask drops, nor teachers that it does not ask
    about. How many students, and how many in all."""
    students = 0
    for k in range(problem.students):
        if numbers[case.mask + k] != 0.0:
            who[students] = k
            students += 1
    count = students
    for i in range(problem.teachers):
        if numbers[case.teacher_readout + i] != 0.0:
            who[count] = problem.first_teacher + i
            count += 1
    return students, count


@compiled()
def set_weights(problem, case, y, numbers, students, who, a, s):
    """Prefactors a and weights s in the error of the fields `who`."""
    base = problem.blocks * problem.moving * problem.rows + case.head * problem.students
    for i in range(s.size):
        row = int(who[i])
        if i < students:
            a[i] = numbers[case.mask + row] * y[base + row]
            s[i] = -a[i]
        else:
            a[i], s[i] = 0.0, numbers[case.teacher_readout + row - problem.first_teacher]


@compiled(inline=True)
def set_fields(problem, case, numbers, eigenvalues, students, who, stacks, along, h, C):
    """Means and covariance of the fields `who`."""
    n = h.size
    for i in range(n):
        h[i] = 0.0
        for j in range(n):
            C[i, j] = 0.0
    for j in range(problem.directions):
        mean, spike = numbers[case.means + j], numbers[case.spikes + j]
        for i in range(n):
            overlap = along[j, int(who[i])]
            h[i] += mean * overlap
            for k in range(n if spike != 0.0 else 0):
                C[i, k] += spike * overlap * along[j, int(who[k])]
    for b in range(problem.blocks):
        lam = numbers[case.factors + b] * eigenvalues[b]
        among = lam + numbers[case.input_noise + b]
        for i in range(n):
            row = int(who[i])
            for j in range(i + 1):
                C[i, j] += (among if i < students else lam) * stacks[b, row, int(who[j])]
    for i in range(n):
        for j in range(i):
            C[j, i] = C[i, j]


@compiled(inline=True)
def add_case(problem, case, weight, numbers, eigenvalues, students, who, along, out, sums):
    """Add a case's part of A^b, in columns of fields and of directions, and of N^b, without rates."""
    (D, S, phi, _), (gains, spreads, columns) = out, sums
    n, noisy = who.size, problem.noise
    for j in range(problem.directions):
        mean, spike = numbers[case.means + j], numbers[case.spikes + j]
        for k in range(students):
            total = mean * phi[k]
            for i in range(n if spike != 0.0 else 0):
                total += spike * D[k, i] * along[j, int(who[i])]
            columns[int(who[k]), j] += weight * total
    for b in range(problem.blocks):
        lam = weight * numbers[case.factors + b] * eigenvalues[b]
        among = lam + weight * numbers[case.input_noise + b]
        for k in range(students):
            row = int(who[k])
            for j in range(n):
                gains[b, row, int(who[j])] += (among if j < students else lam) * D[k, j]
            for m in range(students if noisy else 0):
                spreads[b, row, int(who[m])] += among * S[k, m]


@compiled(inline=True)
def add_pull(problem, case, weight, y, numbers, students, who, pull, dy):
    """Add a case's part of the drift of the readout that answers it."""
    base = problem.blocks * problem.moving * problem.rows + case.head * problem.students
    for k in range(students):
        row = int(who[k])
        dy[base + row] += weight * numbers[case.mask + row] * pull[k]


@compiled()
def choose_cases(i, problem, cases, t, chosen, shares):
    """The cases like case i that may happen now, and their probabilities; how many."""
    count = 0
    while i >= 0:
        share = share_at(cases[i], problem, t)
        if share > 0.0:
            chosen[count], shares[count] = i, share
            count += 1
        i = cases[i].following
    return count


@compiled()
def twin_of(e, case, biased, cases, chosen, offsets, s):
    """The first of the cases chosen before case e with its head and its error, or e. Biases are pushed by errors whose sign a turn
    changes."""
    for d in range(e):
        other = cases[int(chosen[d])]
        equal = offsets[d] == offsets[e] and other.head == case.head and (not biased or other.turn == case.turn)
        for i in range(s.shape[1]):
            equal = equal and s[d, i] == s[e, i]
        if equal:
            return d
    return e


@compiled()
def average(count, shares, out):
    """Put the moments of so many cases, weighted by their probabilities, behind them."""
    D, S, phi, _ = out
    total_D, total_S, total_phi = D[count], S[count], phi[count]
    total_D[:], total_S[:], total_phi[:] = 0.0, 0.0, 0.0
    for e in range(count):
        for k in range(total_phi.size):
            total_phi[k] += shares[e] * phi[e, k]
            for j in range(total_D.shape[1]):
                total_D[k, j] += shares[e] * D[e, k, j]
            for m in range(total_S.shape[1]):
                total_S[k, m] += shares[e] * S[e, k, m]


@compiled()
def gain_of_students(problem, eta, decay, friction, Omega, gain, columns, G):
    """Students' rows of A^b Omega^b, and those of their velocities."""
    first, anchor, fields = problem.first_direction, problem.first_anchor, problem.first_teacher + problem.teachers
    v = problem.velocities
    for k in range(problem.students):
        for j in range(problem.rows):
            total = 0.0
            for i in range(fields):
                total += gain[k, i] * Omega[j, i]
            for d in range(problem.directions):
                total += columns[k, d] * Omega[j, first + d]
            moved = eta * total
            if v > 0:
                G[v + k, j] = friction * (moved - Omega[v + k, j])
                moved = Omega[v + k, j]
            G[k, j] = moved - (decay + eta * problem.anchor) * Omega[k, j]
            if problem.anchor != 0.0:
                G[k, j] += eta * problem.anchor * Omega[anchor + k, j]


@compiled()
def move_rows(b, spread, problem, numbers, spreads, G, dy):
    """Block b of the equations: dy = G + G^T + N^b; `spread` is fraction eta^2/B."""
    p, n, m, first, q = problem.students, problem.rows, problem.moving, problem.first_teacher, problem.teachers
    v = problem.velocities
    for k in range(m):
        row = (b * m + k) * n
        for j in range(n):
            dy[row + j] = G[k, j] + (G[j, k] if j < m else 0.0)
        for j in range(p if problem.noise and v <= k < v + p else 0):
            dy[row + v + j] += spread * spreads[b, k - v, j]
        for j in range(q if k >= first and problem.drift != 0.0 else 0):
            dy[row + first + j] += 2.0 * problem.drift * numbers[problem.drift_overlaps + (b * q + k - first) * q + j]


@compiled(inline=True)
def assemble_cases(segment, t, y, dy, problems, blocks, numbers, work, stacks, sums):
    """The equations of motion from the sums over cases; readout drifts are at the end of `dy`."""
    problem, G = problems[segment], work[GAIN]
    gains, spreads, columns = sums
    eta, batch, friction = rate_at(problem, t), batch_at(problem, t), friction_at(problem, t)
    if problem.pace > 0:
        eta *= follow_state(segment, t, y, dy, problem, blocks, batch, stacks, sums, work)
    decay, kick = eta * decay_at(problem, t), eta * friction if problem.velocities > 0 else eta
    for b in range(problem.blocks):
        gain_of_students(problem, eta, decay, friction, stacks[b], gains[b], columns, G)
        gain_of_followers(problem, t, stacks[b], G)
        gain_of_teachers(problem, stacks[b], G)
        move_rows(b, blocks[segment, b].fraction * kick * kick / batch, problem, numbers, spreads, G, dy)
    if problem.sphere:
        hold_norms(problem, y, dy)
    copy_to_followers(problem, dy)
    move_readouts(problem, readout_rate_at(problem, t), friction, y, dy)


@compiled(inline=True)
def follow_cases(i, now, problem, cases, numbers, overlaps, sums, scratch):
    """Add what all cases like case i do to `sums` over cases and, at the end of `dy`, to drifts of readouts."""
    (t, y, dy), (stacks, along, eigenvalues) = now, overlaps
    chosen, shares, offsets, scratch = scratch[:ALIKE], scratch[ALIKE:], scratch[2 * ALIKE :], scratch[3 * ALIKE :]
    count, case = choose_cases(i, problem, cases, t, chosen, shares), cases[i]
    if count == 0:
        return
    students, n = choose_fields(problem, case, numbers, scratch)
    who = scratch[:n]
    C, at = cut(scratch, n, n, n)
    a, at = cut(scratch, at, count, n)
    s, at = cut(scratch, at, count, n)
    h, at = scratch[at : at + n], at + n
    D, at = cut(scratch, at, (count + 1) * students, n)
    S, at = cut(scratch, at, (count + 1) * students, students)
    phi, at = cut(scratch, at, count + 1, students)
    pull, at = cut(scratch, at, count + 1, students)
    out = D.reshape(count + 1, students, n), S.reshape(count + 1, students, students), phi, pull
    set_fields(problem, case, numbers, eigenvalues, students, who, stacks, along, h, C)
    kept = 0
    for e in range(count):
        one = cases[int(chosen[e])]
        set_weights(problem, one, y, numbers, students, who, a[kept], s[kept])
        offset = one.label - bias_at(problem, one, y)
        if problem.loss == CORRELATION:  # which does not look at the output
            s[kept, :students], offset = 0.0, one.label
        offsets[kept] = offset if problem.even else one.turn * offset
        twin = twin_of(kept, one, problem.biased, cases, chosen, offsets, s)
        chosen[twin], shares[twin] = chosen[e], shares[e] + (shares[twin] if twin < kept else 0.0)
        kept += twin == kept
    rule = problem.loss_factor, label_noise_at(problem, t), problem.noise, problem.train_readout
    moments_of_several(problem.kind, students, rule, a, (h, C), (offsets[:kept], s), out, scratch[at:])
    average(kept, shares, out)
    mean = out[0][kept], out[1][kept], phi[kept], pull[kept]
    add_case(problem, case, 1.0, numbers, eigenvalues, students, who, along, mean, sums)
    for e in range(kept):
        one = cases[int(chosen[e])]
        add_pull(problem, one, shares[e], y, numbers, students, who, pull[e], dy)
        if problem.train_bias:
            push = 2.0 * problem.loss_factor * mean_error(problem.kind, (h, C), offsets[e], s[e])
            add_push(problem, one, shares[e], push if problem.even else one.turn * push, dy)


@compiled(SYSTEM, pure=True)
def rhs_of_cases(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """dy/dalpha where the moments have a closed form."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    p, n, B, d = problem.students, problem.rows, problem.blocks, problem.directions
    stacks, scratch = scratch[: B * n * n].reshape(B, n, n), scratch[B * n * n :]
    gains, scratch = scratch[: B * p * n].reshape(B, p, n), scratch[B * p * n :]
    spreads, scratch = scratch[: B * p * p].reshape(B, p, p), scratch[B * p * p :]
    columns, scratch = scratch[: p * d].reshape(p, d), scratch[p * d :]
    along, scratch = scratch[: d * n].reshape(d, n), scratch[d * n :]
    eigenvalues, scratch = scratch[:B], scratch[B:]
    take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues)
    gains[:], spreads[:], columns[:], dy[B * problem.moving * n :] = 0.0, 0.0, 0.0, 0.0
    now, overlaps, sums = (t, y, dy), (stacks, along, eigenvalues), (gains, spreads, columns)
    for i in range(problem.cases):
        if cases[segment, i].first:
            follow_cases(i, now, problem, cases[segment], numbers, overlaps, sums, scratch)
    assemble_cases(segment, t, y, dy, problems, blocks, numbers, work, stacks, sums)


@compiled(SYSTEM, pure=True)
def observe_cases(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """The risk of the present mix of tests, and what is watched."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    n, B, d, f = problem.rows, problem.blocks, problem.directions, problem.students + problem.teachers
    stacks, scratch = scratch[: B * n * n].reshape(B, n, n), scratch[B * n * n :]
    along, scratch = scratch[: d * n].reshape(d, n), scratch[d * n :]
    eigenvalues, everyone, scratch = scratch[:B], scratch[B : B + f], scratch[B + f :]
    take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues)
    risk, size = 0.0, 0.0
    for i in range(problem.cases, problem.cases + problem.tests):
        case = cases[segment, i]
        weight = share_at(case, problem, t)
        if weight <= 0.0:
            continue
        students, count = choose_fields(problem, case, numbers, everyone)
        who, C, vectors = everyone[:count], scratch[: count * count].reshape(count, count), scratch[count * count :]
        h, a, s, left = (
            vectors[:count],
            vectors[count : 2 * count],
            vectors[2 * count : 3 * count],
            vectors[3 * count :],
        )
        set_fields(problem, case, numbers, eigenvalues, students, who, stacks, along, h, C)
        set_weights(problem, case, y, numbers, students, who, a, s)
        offset = case.label - bias_at(problem, case, y)
        found, terms = averages_with_means(problem.kind, 0, (h, C), (offset, s), 0.0, (False, True), (C, C, h, h), left)
        risk += weight * found
        size += weight * terms
    seen[RISK] = clipped(problem.loss_factor * risk, problem.loss_factor * size)
    seen[WATCHED] = watch(problem, y, seen[RISK], work)


@compiled(SYSTEM, pure=True)
def rhs_of_paced_cases(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """The same where the rate follows the risk."""
    plane = work[SIGNS]
    observe_cases(segment, t, y, plane.reshape(plane.size), problems, blocks, cases, numbers, work)
    rhs_of_cases(segment, t, y, dy, problems, blocks, cases, numbers, work)
