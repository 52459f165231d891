"""Weights in the eigenbasis of the inputs in place of their overlaps: at small rates they obey a closed equation too,

    dJ/dalpha = eta (D_SS J + D_ST B) Sigma - eta kappa J,

with the same D. Where blocks have few dimensions (one each, if all eigenvalues differ) they are far fewer numbers than overlaps
per block: K for each coordinate instead of K (K + M) for each block. Steps are those of `exponential.py`: D frozen at the midpoint,
every coordinate solved exactly. State `y`: students J (p, columns) over sqrt(N), then the readout (p,).
"""

import math

import numpy as np
from numba import float64, int64, void

from solvable.dynamics.closed import risk_of, step_moments
from solvable.dynamics.equations import CROSS, RISK, rate_at
from solvable.dynamics.exponential import phi
from solvable.dynamics.packing import (
    DECAY,
    KIND,
    LABEL_NOISE,
    LOSS_FACTOR,
    RATES,
    STUDENTS,
    TEACHER_FIELDS,
    TEACHER_READOUT,
    TEACHERS,
    Packed,
    pack,
)
from solvable.numerics.compiled import compiled
from solvable.overlaps import Overlaps, Weights, gram_factor
from solvable.problems import Problem

COLUMNS, COLUMN_EIGENVALUES, TEACHER_ROWS = 14, 15, 16  # further positions in `ints`
ROUNDING = 1e-13  # of a block's largest overlap: no direction


def pack_rows(problem: Problem, start: Overlaps, weights: Weights | None) -> tuple[Packed, np.ndarray]:
    """The problem with weights for a state, and the block of each column. Weights are those given, or any with these overlaps."""
    packed = pack(problem, start, noise=False)
    if weights is not None:
        rows = np.vstack([weights.student, weights.teacher]) / math.sqrt(weights.student.shape[1])
        rows = rows if weights.basis is None else rows @ weights.basis
        block = np.repeat(np.arange(problem.inputs.blocks), problem.inputs.block_sizes)
    else:
        factors = gram_factor(start.stacked, start.stacked.shape[1], rounding=ROUNDING)
        kept = np.abs(factors).max(axis=1) > 0
        rows, block = factors.transpose(1, 0, 2)[:, kept], np.nonzero(kept)[0]
    p = problem.student.width
    values = problem.inputs.eigenvalues[block]
    ints = np.concatenate([packed.ints, np.empty(3, dtype=np.int64)])
    ints[COLUMNS], ints[COLUMN_EIGENVALUES] = block.size, packed.floats.size
    ints[TEACHER_ROWS] = packed.floats.size + block.size
    floats = np.concatenate([packed.floats, values, rows[p:].ravel()])
    return Packed(ints, floats, packed.breaks, np.concatenate([rows[:p].ravel(), start.readout])), block


def columns(start: Overlaps, weights: Weights | None) -> int:
    """How many columns `pack_rows` would need."""
    if weights is not None:
        return weights.student.shape[1]
    values = np.linalg.eigvalsh(start.stacked)
    return int((values > ROUNDING * values[:, -1:]).sum())


@compiled(allocates=True)
def row_fields(y, ints, floats, C, s):
    """Covariance of all fields, signed readouts, J and B."""
    p, q, m = ints[STUDENTS], ints[TEACHERS], ints[COLUMNS]
    J = y[: p * m].reshape(p, m)
    B = floats[ints[TEACHER_ROWS] : ints[TEACHER_ROWS] + q * m].reshape(q, m)
    weighted = J * floats[ints[COLUMN_EIGENVALUES] : ints[COLUMN_EIGENVALUES] + m]
    C[:p, :p] = np.dot(weighted, J.T)
    C[:p, p : p + q] = np.dot(weighted, B.T)
    C[p : p + q, :p] = C[:p, p : p + q].T
    at, ar = ints[TEACHER_FIELDS], ints[TEACHER_READOUT]
    for i in range(q):
        for j in range(q):
            C[p + i, p + j] = floats[at + i * q + j]
        s[p + i] = floats[ar + i]
    for k in range(p):
        s[k] = -y[p * m + k]
    return J, B


@compiled(allocates=True)
def frozen_rows(segment, t, h, state, y, ints, floats, work, out):
    """Advance y by h with the moments of `state` (and the rate at time t) held fixed."""
    p, q, m = ints[STUDENTS], ints[TEACHERS], ints[COLUMNS]
    n = p + q
    C, s, D, S = work[0], work[1, 0], work[3], work[4]
    _, B = row_fields(state, ints, floats, C, s)
    step_moments(ints[KIND], p, False, False, floats[LOSS_FACTOR], floats[LABEL_NOISE], C, s, work[2], D, S, work[1, 1])
    eta = rate_at(segment, t, floats, ints[RATES])
    d, X = np.linalg.eigh(np.ascontiguousarray(D[:p, :p]))
    U = np.dot(X.T, y[: p * m].reshape(p, m))
    pull = np.dot(np.dot(X.T, np.ascontiguousarray(D[:p, p:n])), B)
    for i in range(p):
        for c in range(m):
            lam = floats[ints[COLUMN_EIGENVALUES] + c]
            x = (eta * lam * d[i] - eta * floats[DECAY]) * h
            grown = math.expm1(x)
            U[i, c] += grown * U[i, c] + eta * lam * h * phi(x, grown) * pull[i, c]
    out[: p * m] = np.dot(X, U).ravel()
    out[p * m :] = y[p * m :]


@compiled(
    void(int64, float64, float64, float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]),
    allocates=True,
)
def advance_rows(segment, t, h, y, ints, floats, work, out):
    """Exponential midpoint rule, order 2."""
    middle = np.empty(y.size)
    frozen_rows(segment, t, 0.5 * h, y, y, ints, floats, work, middle)
    frozen_rows(segment, t + 0.5 * h, h, middle, y, ints, floats, work, out)


@compiled(void(float64[::1], int64[::1], float64[::1], float64[:, :, ::1], float64[::1]), allocates=True)
def observe_rows(y, ints, floats, work, observed):
    """The risk, and the largest |cross overlap|."""
    C, s = work[0], work[1, 0]
    J, B = row_fields(y, ints, floats, C, s)
    observed[RISK] = risk_of(ints[KIND], C, s, floats[LOSS_FACTOR])
    observed[CROSS] = np.abs(np.dot(J, B.T)).max()


@compiled(void(float64[::1], int64[::1], float64[::1], float64, float64, float64[::1]))
def tolerate_rows(y, ints, floats, rtol, atol, allowed):
    """Error that each weight may have: relative to the student's largest, both times the root of their eigenvalue."""
    p, m = ints[STUDENTS], ints[COLUMNS]
    for k in range(p):
        most = 0.0
        for c in range(m):
            most = max(most, math.sqrt(floats[ints[COLUMN_EIGENVALUES] + c]) * abs(y[k * m + c]))
        for c in range(m):
            root = math.sqrt(floats[ints[COLUMN_EIGENVALUES] + c])
            allowed[k * m + c] = (atol + rtol * most) / max(root, 1e-150)
        allowed[p * m + k] = np.inf
