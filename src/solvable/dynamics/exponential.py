"""One step of the overlaps with the moments frozen at its midpoint: every block is then linear and solved exactly.

With D = X d X^T (symmetric among students: squared loss) and weights J' = e J + f X^T D_ST B in the eigenbasis of D,

    e = exp((eta lambda d - eta kappa) h),   f = eta lambda h phi((eta lambda d - eta kappa) h),   phi(x) = (e^x - 1) / x,

the overlaps of block b follow exactly, however large eta lambda h is; the noise adds the integral of e S e. Free norms only.
"""

import math

import numpy as np
from numba import float64, int64, void

from solvable.dynamics.equations import (
    batch_at,
    closed_moments,
    decay_at,
    eigenvalue_at,
    fields,
    rate_at,
    readout_rate_at,
)
from solvable.dynamics.kernel_data import DATA, DRIFT, NOISE, SIGNS
from solvable.numerics.compiled import compiled

ORDER = 2
ADVANCE = void(int64, float64, float64, float64[::1], float64[::1], *DATA)  # (segment, t, h, y, y after h, *data)
TOLERATE = void(float64[::1], float64, float64, float64[::1], *DATA)  # (y, rtol, atol, allowed errors, *data)


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
def frozen(segment, t, h, state, y, out, problems, blocks, numbers, work):
    """Advance y by h with the moments of `state` (and the rates at time t) held fixed."""
    problem = problems[segment]
    p, q, n = problem.students, problem.teachers, problem.rows
    drift = work[SIGNS, 1]
    fields(segment, t, state, problems, blocks, numbers, work)
    closed_moments(problem, t, work, drift)
    d, X = np.linalg.eigh(np.ascontiguousarray(work[DRIFT, :p, :p]))
    G, N = X.T @ np.ascontiguousarray(work[DRIFT, :p, p:n]), np.zeros((p, p))
    if problem.noise:
        N = X.T @ np.ascontiguousarray(work[NOISE, :p, :p]) @ X
    eta = rate_at(problem, t)
    pulls, half, Qt, Rt = np.empty((4, p)), np.empty((p, p)), np.empty((p, p)), np.empty((2, p, q))
    for b in range(problem.blocks):
        lam, base = eigenvalue_at(problem, blocks[segment, b], t), b * p * n
        for i in range(p):
            x = (eta * lam * d[i] - eta * decay_at(problem, t)) * h
            grown = math.expm1(x)
            pulls[0, i], pulls[1, i], pulls[2, i], pulls[3, i] = x, grown, 1.0 + grown, eta * lam * h * phi(x, grown)
        spread = blocks[segment, b].fraction * lam * eta * eta / batch_at(problem, t) * h if problem.noise else 0.0
        to_eigenbasis(p, q, X, y[base:], G, numbers[problem.teacher_overlaps + b * q * q :], pulls, half, Rt)
        grow(p, q, spread, X, G, N, pulls, half, Rt, Qt)
        from_eigenbasis(p, q, X, Qt, Rt[0], half, out[base:])
    rate, base = readout_rate_at(problem, t) if problem.train_readout else 0.0, problem.blocks * p * n
    for k in range(p):
        out[base + k] = y[base + k] + (h * rate * drift[k] if problem.train_readout else 0.0)


@compiled()
def to_eigenbasis(p, q, X, y, G, T, pulls, half, Rt):
    """X^T Q into `half`, X^T R and f X^T D_ST T into Rt."""
    n = p + q
    for i in range(p):
        for m in range(q):
            total, pull = 0.0, 0.0
            for k in range(p):
                total += X[k, i] * y[k * n + p + m]
            for r in range(q):
                pull += G[i, r] * T[r * q + m]
            Rt[0, i, m], Rt[1, i, m] = total, pulls[3, i] * pull
        for j in range(p):
            total = 0.0
            for k in range(p):
                total += X[k, i] * y[k * n + j]
            half[i, j] = total


@compiled()
def grow(p, q, spread, X, G, N, pulls, half, Rt, Qt):
    """Overlaps after h in the eigenbasis, into Qt and Rt[0]."""
    x, grown, e, f = pulls[0], pulls[1], pulls[2], pulls[3]
    R, H = Rt[0], Rt[1]
    for i in range(p):
        for j in range(i + 1):
            total = 0.0
            for k in range(p):
                total += half[i, k] * X[k, j]
            cross = 0.0
            for m in range(q):
                cross += (e[i] * R[i, m] + H[i, m]) * f[j] * G[j, m] + e[j] * R[j, m] * f[i] * G[i, m]
            Qt[i, j] = e[i] * e[j] * total + cross
            if spread != 0.0:
                Qt[i, j] += spread * phi_of_sum(x[i], x[j], grown[i], grown[j]) * N[i, j]
            Qt[j, i] = Qt[i, j]
    for i in range(p):
        for m in range(q):
            R[i, m] = e[i] * R[i, m] + H[i, m]


@compiled()
def from_eigenbasis(p, q, X, Qt, Rt, half, out):
    n = p + q
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
            out[k * n + j] = total
            out[j * n + k] = total
        for m in range(q):
            total = 0.0
            for i in range(p):
                total += X[k, i] * Rt[i, m]
            out[k * n + p + m] = total


@compiled(ADVANCE, allocates=True)
def advance(segment, t, h, y, out, problems, blocks, cases, numbers, work):
    """Exponential midpoint rule, order 2."""
    middle = np.empty(y.size)
    frozen(segment, t, 0.5 * h, y, y, middle, problems, blocks, numbers, work)
    frozen(segment, t + 0.5 * h, h, middle, y, out, problems, blocks, numbers, work)


@compiled(TOLERATE)
def tolerate(y, rtol, atol, allowed, problems, blocks, cases, numbers, work):
    """Error that each overlap may have: what matters is lambda_b Omega^b, its share of the field covariance, compared with
    the largest share that any block has in the same entry. Small entries keep their relative accuracy, blocks that do
    not matter are not followed in vain."""
    problem = problems[0]
    size = problem.moving * problem.rows
    for i in range(size):
        most = 0.0
        for b in range(problem.blocks):
            most = max(most, blocks[0, b].eigenvalue * abs(y[b * size + i]))
        for b in range(problem.blocks):
            allowed[b * size + i] = (atol + rtol * most) / max(blocks[0, b].eigenvalue, 1e-300)
    for k in range(problem.blocks * size, y.size):
        allowed[k] = atol + rtol * abs(y[k])
