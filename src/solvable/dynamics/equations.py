"""The equations of motion of the overlaps, for every unit, spectrum and rule:

    dOmega^b/dalpha = A^b Omega^b + (A^b Omega^b)^T + f_b lambda_b eta^2 S / B,    A^b = eta lambda_b D + Gamma

State and problem come in the form of `kernel_data.py`.
"""

from solvable.dynamics.closed_moments import risk_of, step_moments
from solvable.dynamics.kernel_data import DRIFT, FIELDS, NOISE, NUMBERS, OVERLAPS, RISK, SIGNS, SYSTEM, WATCHED
from solvable.numerics.compiled import compiled

CROSS_OVERLAP, STUDENT_OVERLAP, NORM, READOUT = (
    NUMBERS[name] for name in ("cross_overlap", "student_overlap", "norm", "readout")
)


@compiled()
def segment_at(problems, t):
    """The number of the segment that holds at this time."""
    segment = 0
    while segment + 1 < problems.size and problems[segment + 1].begin <= t:
        segment += 1
    return segment


@compiled()
def rate_at(problem, t):
    return problem.rate + problem.rate_slope * (t - problem.begin)


@compiled()
def readout_rate_at(problem, t):
    return problem.readout_rate + problem.readout_rate_slope * (t - problem.begin)


@compiled()
def decay_at(problem, t):
    return problem.decay + problem.decay_slope * (t - problem.begin)


@compiled()
def batch_at(problem, t):
    return problem.batch + problem.batch_slope * (t - problem.begin)


@compiled()
def label_noise_at(problem, t):
    return problem.label_noise + problem.label_noise_slope * (t - problem.begin)


@compiled()
def friction_at(problem, t):
    return problem.friction + problem.friction_slope * (t - problem.begin)


@compiled()
def eigenvalue_at(problem, block, t):
    return block.eigenvalue + block.slope * (t - problem.begin)


@compiled()
def set_teachers(problem, t, numbers, work):
    """Covariance of the teachers' fields, and their readouts."""
    p, q, C, s = problem.students, problem.teachers, work[FIELDS], work[SIGNS, 0]
    at, readout, passed = problem.teacher_fields, problem.teacher_readout, t - problem.begin
    for i in range(q):
        for j in range(q):
            C[p + i, p + j] = numbers[at + i * q + j] + passed * numbers[at + (q + i) * q + j]
        s[p + i] = numbers[readout + i]


@compiled(inline=True)
def fields(segment, t, y, problems, blocks, numbers, work):
    """Covariance C = sum_b lambda_b Omega^b of all fields, and their signed readouts s = (-a, a*)."""
    problem, C, s = problems[segment], work[FIELDS], work[SIGNS, 0]
    p, n, m = problem.students, problem.rows, problem.moving
    base = problem.blocks * m * n
    for b in range(problem.blocks):
        lam = eigenvalue_at(problem, blocks[segment, b], t)
        for k in range(p):
            row = (b * m + k) * n
            if b == 0:
                for j in range(n):
                    C[k, j] = lam * y[row + j]
            else:
                for j in range(n):
                    C[k, j] += lam * y[row + j]
    for j in range(p, n):
        for k in range(p):
            C[j, k] = C[k, j]
    for k in range(p):
        s[k] = -y[base + k]
    set_teachers(problem, t, numbers, work)


@compiled()
def total(problem, y, k, j):
    """Overlap of row k, which moves, with row j, in all blocks together."""
    found = 0.0
    for b in range(problem.blocks):
        found += y[(b * problem.moving + k) * problem.rows + j]
    return found


@compiled()
def watched_value(problem, Omega, readout):
    """Of the overlaps of all blocks together (students, rows): one entry, or the largest absolute one. See `NUMBERS`."""
    p, kind, row = problem.students, problem.watched, problem.watched_row
    first = problem.first_teacher if kind == CROSS_OVERLAP else 0
    if row >= 0:
        return readout[row] if kind == READOUT else Omega[row, row if kind == NORM else first + problem.watched_column]
    largest = 0.0
    if kind == READOUT:
        for k in range(problem.heads * p):
            largest = max(largest, abs(readout[k]))
        return largest
    for k in range(p):
        if kind == NORM:
            largest = max(largest, abs(Omega[k, k]))
        else:
            for j in range(first, first + problem.teachers if kind == CROSS_OVERLAP else k):
                largest = max(largest, abs(Omega[k, j]))
    return largest


@compiled()
def watch(problem, y, risk, work):
    """What a threshold is for."""
    if problem.watched <= 0:
        return risk
    Omega = work[OVERLAPS]
    for k in range(problem.students):
        for j in range(problem.rows):
            Omega[k, j] = total(problem, y, k, j)
    return watched_value(problem, Omega, y[problem.blocks * problem.moving * problem.rows :])


@compiled(SYSTEM, pure=True)
def observe(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """What outputs and thresholds look at: the risk, and what is watched."""
    problem = problems[segment]
    fields(segment, t, y, problems, blocks, numbers, work)
    seen[RISK] = risk_of(problem.kind, work[FIELDS], work[SIGNS, 0], problem.loss_factor)
    seen[WATCHED] = watch(problem, y, seen[RISK], work)


@compiled()
def hold_norms(problem, y, dy):
    """Sphere: Gamma_kk = -1/2 (dQ_kk)_free / Q_kk with the total Q keeps every student's norm."""
    p, n, m = problem.students, problem.rows, problem.moving
    for k in range(p):
        pull = -0.5 * total(problem, dy, k, k) / total(problem, y, k, k)
        for b in range(problem.blocks):
            row = (b * m + k) * n
            for j in range(n):
                dy[row + j] += pull * y[row + j]
            for j in range(m):
                dy[(b * m + j) * n + k] += pull * y[(b * m + j) * n + k]


@compiled()
def stack(b, y, problem, numbers, Omega):
    """Overlaps of all rows in block b, from those that move and those that do not."""
    n, m = problem.rows, problem.moving
    for k in range(m):
        row = (b * m + k) * n
        for j in range(n):
            Omega[k, j] = y[row + j]
        for j in range(m, n):
            Omega[j, k] = y[row + j]
    q = n - m
    at = problem.teacher_overlaps + b * q * q
    for i in range(q):
        for j in range(q):
            Omega[m + i, m + j] = numbers[at + i * q + j]


@compiled()
def move(b, pull, decay, spread, problem, y, dy, work):
    """Block b of the equations: dy = G + G^T + spread S with G = pull D Omega - decay Omega."""
    D, S = work[DRIFT], work[NOISE]
    Omega = work[OVERLAPS] if problem.blocks > 1 else work[FIELDS]
    p, n, base, noisy = problem.students, problem.rows, b * problem.moving * problem.rows, problem.noise
    for k in range(p):
        row = base + k * n
        for j in range(n):
            total = 0.0
            for i in range(n):
                total += D[k, i] * Omega[j, i]
            dy[row + j] = pull * total - decay * y[row + j]
    for k in range(p):
        for m in range(k + 1):
            here, there = base + k * n + m, base + m * n + k
            total = dy[here] + dy[there]
            if noisy:
                total += spread * S[k, m]
            dy[here] = dy[there] = total


@compiled(inline=True)
def finish(problem, t, y, dy):
    """What is left once all blocks have moved: the sphere, and the rate of the readouts, whose drift is at the end of `dy`."""
    if problem.sphere:
        hold_norms(problem, y, dy)
    trains, base = problem.train_readout, problem.blocks * problem.moving * problem.rows
    rate = readout_rate_at(problem, t)
    for k in range(base, base + problem.students):
        dy[k] = rate * dy[k] if trains else 0.0


@compiled(SYSTEM, inline=True)
def assemble(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """The equations of motion from the moments: C, D and S in `work`, the readout drift at the end of `dy`."""
    problem = problems[segment]
    eta, batch = rate_at(problem, t), batch_at(problem, t)
    decay = eta * decay_at(problem, t)
    for b in range(problem.blocks):
        block = blocks[segment, b]
        lam = eigenvalue_at(problem, block, t)
        if problem.blocks > 1:
            stack(b, y, problem, numbers, work[OVERLAPS])
        # a single block's C is lambda times its overlaps: the factor makes up for it
        pull = eta * lam if problem.blocks > 1 else eta
        move(b, pull, decay, block.fraction * lam * eta * eta / batch, problem, y, dy, work)
    finish(problem, t, y, dy)


@compiled(SYSTEM, pure=True)
def rhs(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """dy/dalpha where the moments have a closed form."""
    problem = problems[segment]
    fields(segment, t, y, problems, blocks, numbers, work)
    closed_moments(problem, t, work, dy[problem.blocks * problem.moving * problem.rows :])
    assemble(segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled(inline=True)
def closed_moments(problem, t, work, readout_drift):
    """D, S and the readout drift from the covariance and the readouts that `fields` has left in `work`."""
    step_moments(
        problem.kind, problem.students, problem.noise, problem.train_readout, problem.loss_factor,
        label_noise_at(problem, t), work[FIELDS], work[SIGNS, 0], work, readout_drift,
    )  # fmt: skip
