"""One step of the overlaps with the moments frozen at its midpoint: every block is then linear and solved exactly.

With D = X d X^T (symmetric among students: squared loss) and weights J' = e J + f X^T D_ST B in the eigenbasis of D,

    e = exp((eta lambda d - eta kappa) h),   f = eta lambda h phi((eta lambda d - eta kappa) h),   phi(x) = (e^x - 1) / x,

the overlaps of block b follow exactly, however large eta lambda h is; the noise adds the integral of e S e. Free norms only.
"""

import math

import numpy as np
from numba import float64, int64, void

from solvable.dynamics.closed import step_moments
from solvable.dynamics.equations import fields, rate_at
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
    STUDENTS,
    TEACHER_BLOCKS,
    TEACHERS,
    TRAIN_READOUT,
)  # fmt: skip
from solvable.numerics.compiled import compiled


@compiled()
def phi(x, grown):
    """(e^x - 1) / x, from grown = e^x - 1."""
    return grown / x if x != 0.0 else 1.0


@compiled()
def phi_of_sum(x, y, grown_x, grown_y):
    """(e^(x+y) - 1) / (x+y) without another exponential, unless x and y nearly cancel."""
    total = x + y
    if abs(total) < 1e-3 * (abs(x) + abs(y)):
        return phi(total, math.expm1(total))
    return phi(total, grown_x + grown_y + grown_x * grown_y)


@compiled(allocates=True)
def frozen(segment, t, h, state, y, ints, floats, work, out):
    """Advance y by h with the moments of `state` (and the rates at time t) held fixed."""
    p, q, blocks = ints[STUDENTS], ints[TEACHERS], ints[BLOCKS]
    n = p + q
    C, s, scratch, D, S = work[0], work[1, 0], work[2], work[3], work[4]
    noisy, trains = ints[NOISE] != 0, ints[TRAIN_READOUT] != 0
    drift = work[1, 1]
    fields(state, ints, floats, C, s)
    step_moments(ints[KIND], p, noisy, trains, floats[LOSS_FACTOR], floats[LABEL_NOISE], C, s, scratch, D, S, drift)
    eta = rate_at(segment, t, floats, ints[RATES])
    d, X = np.linalg.eigh(np.ascontiguousarray(D[:p, :p]))
    G, N = X.T @ np.ascontiguousarray(D[:p, p:n]), work[5]
    if noisy:
        N = X.T @ np.ascontiguousarray(S[:p, :p]) @ X

    e, f, g, x = np.empty(p), np.empty(p), np.empty(p), np.empty(p)
    Rt, Ht, Qt = np.empty((p, q)), np.empty((p, q)), np.empty((p, p))
    half = np.empty((p, p))
    for b in range(blocks):
        lam, share = floats[ints[EIGENVALUES] + b], floats[ints[FRACTIONS] + b]
        at = ints[TEACHER_BLOCKS] + b * q * q
        base = b * p * n
        for i in range(p):
            x[i] = (eta * lam * d[i] - eta * floats[DECAY]) * h
            g[i] = math.expm1(x[i])
            e[i] = 1.0 + g[i]
            f[i] = eta * lam * h * phi(x[i], g[i])
            for m in range(q):
                total, pull = 0.0, 0.0
                for k in range(p):
                    total += X[k, i] * y[base + k * n + p + m]
                for r in range(q):
                    pull += G[i, r] * floats[at + r * q + m]
                Rt[i, m], Ht[i, m] = total, f[i] * pull
            for j in range(p):
                total = 0.0
                for k in range(p):
                    total += X[k, i] * y[base + k * n + j]
                half[i, j] = total
        spread = share * lam * eta * eta / floats[BATCH] * h
        for i in range(p):
            for j in range(i + 1):
                total = 0.0
                for k in range(p):
                    total += half[i, k] * X[k, j]
                cross = 0.0
                for m in range(q):
                    cross += (e[i] * Rt[i, m] + Ht[i, m]) * f[j] * G[j, m] + e[j] * Rt[j, m] * f[i] * G[i, m]
                Qt[i, j] = e[i] * e[j] * total + cross
                if noisy:
                    Qt[i, j] += spread * phi_of_sum(x[i], x[j], g[i], g[j]) * N[i, j]
                Qt[j, i] = Qt[i, j]
        for i in range(p):
            for m in range(q):
                Rt[i, m] = e[i] * Rt[i, m] + Ht[i, m]
        for k in range(p):
            for j in range(p):
                total = 0.0
                for i in range(p):
                    total += X[k, i] * Qt[i, j]
                half[k, j] = total
        for k in range(p):
            for j in range(k + 1):
                total = 0.0
                for i in range(p):
                    total += half[k, i] * X[j, i]
                out[base + k * n + j] = total
                out[base + j * n + k] = total
            for m in range(q):
                total = 0.0
                for i in range(p):
                    total += X[k, i] * Rt[i, m]
                out[base + k * n + p + m] = total
    rate = rate_at(segment, t, floats, ints[READOUT_RATES]) if trains else 0.0
    for k in range(p):
        out[blocks * p * n + k] = y[blocks * p * n + k] + (h * rate * drift[k] if trains else 0.0)


@compiled(
    void(int64, float64, float64, float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]),
    allocates=True,
)
def advance(segment, t, h, y, ints, floats, work, out):
    """Exponential midpoint rule, order 2."""
    middle = np.empty(y.size)
    frozen(segment, t, 0.5 * h, y, y, ints, floats, work, middle)
    frozen(segment, t + 0.5 * h, h, middle, y, ints, floats, work, out)


@compiled(void(float64[::1], int64[::1], float64[::1], float64, float64, float64[::1]))
def tolerate(y, ints, floats, rtol, atol, allowed):
    """Error that each overlap may have: what matters is lambda_b Omega^b, its share of the field covariance, compared with
    the largest share that any block has in the same entry. Small entries keep their relative accuracy, blocks that do
    not matter are not followed in vain."""
    p, q, blocks = ints[STUDENTS], ints[TEACHERS], ints[BLOCKS]
    size = p * (p + q)
    for i in range(size):
        most = 0.0
        for b in range(blocks):
            most = max(most, floats[ints[EIGENVALUES] + b] * abs(y[b * size + i]))
        for b in range(blocks):
            allowed[b * size + i] = (atol + rtol * most) / max(floats[ints[EIGENVALUES] + b], 1e-300)
    for k in range(p):
        allowed[blocks * size + k] = atol + rtol * abs(y[blocks * size + k])
