"""The equations of motion of the overlaps, for every unit, spectrum and rule:

    dOmega^b/dalpha = A^b Omega^b + (A^b Omega^b)^T + f_b lambda_b eta^2 S / B,    A^b = eta lambda_b D + Gamma

State `y`: for each block the student rows (Q^b | R^b) of Omega^b, shape (blocks, p, n), then the readout (p,).
The problem comes packed as `ints` and `floats` (see `packing.py`), the one form that compiled code shares.
"""

import numpy as np
from numba import float64, int64, void

from solvable.dynamics.closed import risk_of, step_moments
from solvable.dynamics.packing import (
    BATCH,
    BLOCKS,
    DECAY,
    EIGENVALUES,
    FRACTIONS,
    KIND,
    LABEL_NOISE,
    LOSS_FACTOR,
    NOISE,
    RATES,
    READOUT_RATES,
    SPHERE,
    STUDENTS,
    TEACHER_BLOCKS,
    TEACHER_FIELDS,
    TEACHER_READOUT,
    TEACHERS,
    TRAIN_READOUT,
)  # fmt: skip
from solvable.numerics.compiled import compiled

RISK, CROSS = 0, 1
OBSERVED = 2
WATCHED = {"risk": RISK, "cross_overlap": CROSS}


@compiled()
def fields(y, ints, floats, C, s):
    """Covariance C = sum_b lambda_b Omega^b of all fields, and their signed readouts s = (-a, a*)."""
    p, q, blocks = ints[STUDENTS], ints[TEACHERS], ints[BLOCKS]
    n = p + q
    lam = floats[ints[EIGENVALUES] : ints[EIGENVALUES] + blocks]
    for k in range(p):
        for j in range(n):
            C[k, j] = lam[0] * y[k * n + j]
    for b in range(1, blocks):
        for k in range(p):
            row = (b * p + k) * n
            for j in range(n):
                C[k, j] += lam[b] * y[row + j]
    for k in range(p):
        for j in range(p, n):
            C[j, k] = C[k, j]
        s[k] = -y[blocks * p * n + k]
    at, ar = ints[TEACHER_FIELDS], ints[TEACHER_READOUT]
    for i in range(q):
        for j in range(q):
            C[p + i, p + j] = floats[at + i * q + j]
        s[p + i] = floats[ar + i]


@compiled()
def largest_cross(y, p, n, blocks):
    largest = 0.0
    for k in range(p):
        for j in range(p, n):
            total = 0.0
            for b in range(blocks):
                total += y[(b * p + k) * n + j]
            largest = max(largest, abs(total))
    return largest


@compiled(void(float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]), pure=True)
def observe(y, ints, floats, work, observed):
    """What outputs and events look at: the risk, and the largest |cross overlap|."""
    p, q, blocks = ints[STUDENTS], ints[TEACHERS], ints[BLOCKS]
    n = p + q
    C, s = work[0], work[1, 0]
    fields(y, ints, floats, C, s)
    observed[RISK] = risk_of(ints[KIND], C, s, floats[LOSS_FACTOR])
    observed[CROSS] = largest_cross(y, p, n, blocks)


@compiled()
def rate_at(segment, alpha, floats, start):
    """The learning rate in a segment of its schedule: value and slope from the segment's beginning."""
    at = start + 3 * segment
    return floats[at + 1] + floats[at + 2] * (alpha - floats[at])


@compiled()
def hold_norms(y, dy, blocks, p, n):
    """Sphere: Gamma_kk = -1/2 (dQ_kk)_free / Q_kk with the total Q keeps every student's norm."""
    for k in range(p):
        norm, growth = 0.0, 0.0
        for b in range(blocks):
            norm += y[(b * p + k) * n + k]
            growth += dy[(b * p + k) * n + k]
        pull = -0.5 * growth / norm
        for b in range(blocks):
            for j in range(n):
                dy[(b * p + k) * n + j] += pull * y[(b * p + k) * n + j]
            for j in range(p):
                dy[(b * p + j) * n + k] += pull * y[(b * p + j) * n + k]


@compiled()
def stack(b, y, ints, floats, Omega):
    """Overlaps of all units in block b, from the moving student rows and the fixed teacher block."""
    p, q = ints[STUDENTS], ints[TEACHERS]
    n = p + q
    for k in range(p):
        row = (b * p + k) * n
        for j in range(n):
            Omega[k, j] = y[row + j]
        for j in range(p, n):
            Omega[j, k] = y[row + j]
    at = ints[TEACHER_BLOCKS] + b * q * q
    for i in range(q):
        for j in range(q):
            Omega[p + i, p + j] = floats[at + i * q + j]


@compiled(void(int64, float64, float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]))
def assemble(segment, alpha, y, ints, floats, work, dy):
    """The equations of motion from the moments: C, D and S in `work`, the readout drift at the end of `dy`."""
    p, q, blocks = ints[STUDENTS], ints[TEACHERS], ints[BLOCKS]
    n = p + q
    C, D, S, G, Omega = work[0], work[3], work[4], work[5], work[6]
    trains, noisy = ints[TRAIN_READOUT] != 0, ints[NOISE] != 0
    eta = rate_at(segment, alpha, floats, ints[RATES])
    decay = eta * floats[DECAY]
    for b in range(blocks):
        lam, f = floats[ints[EIGENVALUES] + b], floats[ints[FRACTIONS] + b]
        if blocks > 1:
            stack(b, y, ints, floats, Omega)
        else:
            Omega = C  # lambda times the overlaps: the factor below makes up for it
        pull = eta * lam if blocks > 1 else eta
        for k in range(p):
            row = (b * p + k) * n
            for j in range(n):
                total = 0.0
                for i in range(n):
                    total += D[k, i] * Omega[j, i]
                G[k, j] = pull * total - decay * y[row + j]
        spread = f * lam * eta * eta / floats[BATCH] if noisy else 0.0
        for k in range(p):
            row = (b * p + k) * n
            for j in range(p):
                dy[row + j] = G[k, j] + G[j, k] + (spread * S[k, j] if noisy else 0.0)
            for j in range(p, n):
                dy[row + j] = G[k, j]
    if ints[SPHERE] != 0:
        hold_norms(y, dy, blocks, p, n)
    rate = rate_at(segment, alpha, floats, ints[READOUT_RATES]) if trains else 0.0
    for k in range(blocks * p * n, blocks * p * n + p):
        dy[k] = rate * dy[k] if trains else 0.0


@compiled(void(int64, float64, float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]), pure=True)
def rhs(segment, alpha, y, ints, floats, work, dy):
    """dy/dalpha where the moments have a closed form."""
    p, size = ints[STUDENTS], ints[BLOCKS] * ints[STUDENTS] * (ints[STUDENTS] + ints[TEACHERS])
    C, s, scratch, D, S = work[0], work[1, 0], work[2], work[3], work[4]
    trains, noisy = ints[TRAIN_READOUT] != 0, ints[NOISE] != 0
    fields(y, ints, floats, C, s)
    step_moments(ints[KIND], p, noisy, trains, floats[LOSS_FACTOR], floats[LABEL_NOISE], C, s, scratch, D, S, dy[size:])
    assemble(segment, alpha, y, ints, floats, work, dy)


def workspace(students: int, teachers: int) -> np.ndarray:
    n = students + teachers
    return np.zeros((7, n, n))
