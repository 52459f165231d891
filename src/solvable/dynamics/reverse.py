"""The equations of motion in reverse: how what follows from a slope dy/dalpha answers to the state and to all scheduled numbers.

`back` gets weights of the components of dy and adds their derivatives to `bar`: those by the state, then those by the numbers that
schedules may change, in the order of `SCHEDULED`, then by the eigenvalue of each block. `back_risk` does the same for the risk.

The equations are dy = G + G^T + spread S with G = pull D Omega - decay y (`equations.py`); with weights L of dy, and L + L^T among
the students, D gets pull L Omega, Omega gets pull L^T D, S gets spread L. Through D and S the covariance C of the fields is reached
(`gaussian/closed_forms.py`), and through C all blocks.
"""

from numba import float64, int64, void

from solvable.dynamics.equations import (
    batch_at,
    decay_at,
    eigenvalue_at,
    fields,
    label_noise_at,
    rate_at,
    readout_rate_at,
    stack,
    total,
)
from solvable.dynamics.kernel_data import DATA, DRIFT, FIELDS, NOISE, OVERLAPS, PLANES, SCRATCH, SIGNS
from solvable.dynamics.moment_reverse import back_plain, plain_averages
from solvable.gaussian.closed_forms import PLANES_OF_REVERSE, back_square
from solvable.numerics.compiled import compiled
from solvable.numerics.kernel_types import Function

SCHEDULED = ("rate", "readout_rate", "decay", "batch", "label_noise")  # then the eigenvalues
RATE, READOUT_RATE, DECAY, BATCH, LABEL_NOISE, EIGENVALUES = range(6)
# planes of `work` behind those of the equations: weights of C, D, S and Omega; S without readouts; vectors, of which each is the
# first row of a plane; those of scratch
OF_FIELDS, OF_DRIFT, OF_NOISE, OF_OVERLAPS, BARE = range(PLANES, PLANES + 5)
OF_SIGNS, OF_READOUT, READOUT_DRIFT, PREFACTORS, OF_PREFACTORS, PULLS, OF_PULLS = range(PLANES + 5, PLANES + 12)
SPARE = PLANES + 12
MORE = SPARE - PLANES + PLANES_OF_REVERSE  # planes

# (segment, t, y, weights, bar, *data); the weights are spoilt
BACK = void(int64, float64, float64[::1], float64[::1], float64[::1], *DATA)
BACK_FUNCTION = Function(BACK)


def scratch_of_reverse(rows: int) -> int:
    """Numbers behind the planes of the equations."""
    return MORE * rows * rows


@compiled()
def spread_of(problem, block, t):
    """The factor of S in a block, by the rate squared."""
    return block.fraction * eigenvalue_at(problem, block, t) / batch_at(problem, t) if problem.noise else 0.0


@compiled(inline=True)
def free_growth(segment, t, y, problems, blocks, numbers, work, pulls):
    """Sphere: how the norms would be held, pull_k = -1/2 (dQ_kk)_free / Q_kk."""
    problem, D, S, Omega = problems[segment], work[DRIFT], work[NOISE], work[OVERLAPS]
    eta, decay = rate_at(problem, t), decay_at(problem, t)
    for k in range(problem.students):
        pulls[k] = 0.0
    for b in range(problem.blocks):
        lam = eigenvalue_at(problem, blocks[segment, b], t)
        spread = spread_of(problem, blocks[segment, b], t)
        stack(b, y, problem, numbers, Omega)
        for k in range(problem.students):
            gain = 0.0
            for i in range(problem.rows):
                gain += D[k, i] * Omega[k, i]
            pulls[k] += 2.0 * eta * (lam * gain - decay * Omega[k, k]) + eta * eta * spread * S[k, k]
    for k in range(problem.students):
        pulls[k] *= -0.5 / total(problem, y, k, k)


@compiled()
def back_norms(problem, y, weights, bar, pulls, pulls_bar):
    """Reverse of `equations.hold_norms`; afterwards the weights are those of the free slope."""
    p, n, m = problem.students, problem.rows, problem.moving
    for k in range(p):
        pulls_bar[k] = 0.0
    for b in range(problem.blocks):
        for k in range(p):
            row = (b * m + k) * n
            for j in range(n):
                seen = weights[row + j] * y[row + j]
                pulls_bar[k] += seen
                held = pulls[k]
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
def back_block(b, eta, decay, lam, spread, problem, y, weights, bar, work):
    """Reverse of `equations.move` for G = eta (lam D Omega - decay y) and spread eta^2 S: what the sums with lam, decay, spread are
    weighed by."""
    D, S, Omega = work[DRIFT], work[NOISE], work[OVERLAPS]
    D_bar, S_bar, Omega_bar = work[OF_DRIFT], work[OF_NOISE], work[OF_OVERLAPS]
    p, n, base = problem.students, problem.rows, b * problem.moving * problem.rows
    gained, decayed, spreads = 0.0, 0.0, 0.0
    for i in range(n):
        for j in range(n):
            Omega_bar[i, j] = 0.0
    for k in range(p):
        row = base + k * n
        for j in range(n):
            weight = weights[row + j]
            if j < p:
                spreads += weight * S[k, j]
                S_bar[k, j] += spread * eta * eta * weight
                weight += weights[base + j * n + k]
            if weight == 0.0:
                continue
            gain = 0.0
            for i in range(n):
                gain += D[k, i] * Omega[j, i]
                D_bar[k, i] += eta * lam * weight * Omega[j, i]
                Omega_bar[j, i] += eta * lam * weight * D[k, i]
            gained += weight * gain
            decayed += weight * y[row + j]
            bar[row + j] -= eta * decay * weight
    for k in range(p):
        for j in range(n):
            bar[base + k * n + j] += Omega_bar[k, j] + (Omega_bar[j, k] if j >= p else 0.0)
    return gained, decayed, spreads


@compiled(inline=True)
def rule_at(problem, t):
    """What moments depend on: the loss factor, the label noise, whether noise counts and whether readouts are trained."""
    return problem.loss_factor, label_noise_at(problem, t), problem.noise, problem.train_readout


@compiled(inline=True)
def take_moments(problem, t, work):
    """As `closed_moments.step_moments`, and S without the students' readouts as the plane BARE."""
    out = work[DRIFT], work[NOISE], work[BARE], work[READOUT_DRIFT, 0]
    plain_averages(
        problem.kind, problem.students, rule_at(problem, t), work[FIELDS], work[SIGNS, 0], out, work[SCRATCH]
    )


@compiled(inline=True)
def back_moments(problem, t, work):
    """Reverse of `take_moments`: to the covariance and the signed readouts; what the label noise is weighed by."""
    bars, prefactors = (
        (work[OF_DRIFT], work[OF_NOISE], work[OF_READOUT, 0]),
        (work[PREFACTORS, 0], work[OF_PREFACTORS, 0]),
    )
    return back_plain(
        problem.kind, problem.students, rule_at(problem, t), work[FIELDS], work[SIGNS, 0], work[BARE], bars, prefactors,
        (work[OF_FIELDS], work[OF_SIGNS, 0]), work[SPARE : SPARE + PLANES_OF_REVERSE],
    )  # fmt: skip


@compiled(inline=True)
def back_fields(segment, t, y, bar, problems, blocks, numbers, work):
    """Reverse of `equations.fields`: from the covariance and the signed readouts to the state and the eigenvalues."""
    problem, C_bar, Omega, s_bar = problems[segment], work[OF_FIELDS], work[OVERLAPS], work[OF_SIGNS, 0]
    p, n, m, controls = problem.students, problem.rows, problem.moving, bar[y.size :]
    for b in range(problem.blocks):
        lam, seen = eigenvalue_at(problem, blocks[segment, b], t), 0.0
        stack(b, y, problem, numbers, Omega)
        for i in range(n):
            for j in range(n):
                seen += C_bar[i, j] * Omega[i, j]
        controls[EIGENVALUES + b] += seen
        for k in range(p):
            row = (b * m + k) * n
            for j in range(n):
                bar[row + j] += lam * (C_bar[k, j] + (C_bar[j, k] if j >= p else 0.0))
    for k in range(p):
        bar[problem.blocks * m * n + k] -= s_bar[k]


@compiled()
def forget(work):
    """Nothing is weighed yet."""
    work[OF_FIELDS], work[OF_DRIFT], work[OF_NOISE] = 0.0, 0.0, 0.0
    work[OF_SIGNS, 0], work[OF_READOUT, 0] = 0.0, 0.0


@compiled(BACK, inline=True)
def take_apart(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Reverse of `equations.assemble`: weights of D, S and the readout drift, and derivatives by what it takes beside them."""
    problem = problems[segment]
    p, base, controls = problem.students, problem.blocks * problem.moving * problem.rows, bar[y.size :]
    if problem.sphere:
        free_growth(segment, t, y, problems, blocks, numbers, work, work[PULLS, 0])
        back_norms(problem, y, weights, bar, work[PULLS, 0], work[OF_PULLS, 0])
    eta, decay, batch = rate_at(problem, t), decay_at(problem, t), batch_at(problem, t)
    for b in range(problem.blocks):
        block = blocks[segment, b]
        lam, spread = eigenvalue_at(problem, block, t), spread_of(problem, block, t)
        stack(b, y, problem, numbers, work[OVERLAPS])
        gained, decayed, spreads = back_block(b, eta, decay, lam, spread, problem, y, weights, bar, work)
        controls[RATE] += lam * gained - decay * decayed + 2.0 * eta * spread * spreads
        controls[DECAY] -= eta * decayed
        controls[BATCH] -= eta * eta * spread / batch * spreads
        controls[EIGENVALUES + b] += eta * gained
        if problem.noise:
            controls[EIGENVALUES + b] += eta * eta * block.fraction / batch * spreads
    if problem.train_readout:
        rate = readout_rate_at(problem, t)
        for k in range(p):
            controls[READOUT_RATE] += weights[base + k] * work[READOUT_DRIFT, 0, k]
            work[OF_READOUT, 0, k] = rate * weights[base + k]


@compiled(BACK)
def back(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of `equations.rhs`."""
    problem = problems[segment]
    fields(segment, t, y, problems, blocks, numbers, work)
    take_moments(problem, t, work)
    forget(work)
    take_apart(segment, t, y, weights, bar, problems, blocks, cases, numbers, work)
    bar[y.size + LABEL_NOISE] += back_moments(problem, t, work)
    back_fields(segment, t, y, bar, problems, blocks, numbers, work)


@compiled(BACK)
def back_risk(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of the risk, weighed by `weights[0]`."""
    problem = problems[segment]
    fields(segment, t, y, problems, blocks, numbers, work)
    forget(work)
    back_square(
        problem.kind, work[FIELDS], work[SIGNS, 0], weights[0] * problem.loss_factor, work[OF_FIELDS], work[OF_SIGNS, 0]
    )
    back_fields(segment, t, y, bar, problems, blocks, numbers, work)
