"""Weights in the eigenbasis of the inputs in place of their overlaps: at small rates they obey a closed equation too,

    dJ/dalpha = eta (D_SS J + D_ST B) Sigma - eta kappa J,

with the same D. Where blocks have few dimensions (one each, if all eigenvalues differ) they are far fewer numbers than overlaps
per block: K for each coordinate instead of K (K + M) for each block. A step freezes D at its midpoint and solves every coordinate
exactly: with D = X d X^T (symmetric among students: squared loss) and x = (eta lambda d - eta kappa) h,

    X^T J' = e^x X^T J + eta lambda h phi(x) X^T D_ST B,    phi(x) = (e^x - 1) / x,

however large eta lambda h is. State `y`: students J (p, columns) over sqrt(N), then the readout (p,).
"""

import math

import numpy as np

from solvable.dynamics.closed_moments import risk_of
from solvable.dynamics.equations import closed_moments, decay_at, rate_at, watched_value
from solvable.dynamics.kernel_data import (
    ADVANCE,
    DRIFT,
    FIELDS,
    OVERLAPS,
    RISK,
    SIGNS,
    SYSTEM,
    TOLERATE,
    WATCHED,
    Packed,
    pack,
)
from solvable.numerics.compiled import compiled
from solvable.overlaps import Overlaps, Weights, gram_factor
from solvable.problems import Problem

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
    problems = packed.problems.copy()
    problems["columns"], problems["column_eigenvalues"] = block.size, packed.numbers.size
    problems["teacher_rows"] = packed.numbers.size + block.size
    numbers = np.concatenate([packed.numbers, values, rows[p:].ravel()])
    state = np.concatenate([rows[:p].ravel(), start.readout])
    return packed._replace(problems=problems, numbers=numbers, state=state), block


def columns(start: Overlaps, weights: Weights | None) -> int:
    """How many columns `pack_rows` would need."""
    if weights is not None:
        return weights.student.shape[1]
    values = np.linalg.eigvalsh(start.stacked)
    return int((values > ROUNDING * values[:, -1:]).sum())


@compiled()
def phi(x, grown):
    """(e^x - 1) / x, from grown = e^x - 1."""
    return grown / x if x != 0.0 else 1.0


@compiled(allocates=True)
def row_fields(problem, y, numbers, work):
    """Covariance of all fields and signed readouts into `work`; J and B."""
    p, q, m = problem.students, problem.teachers, problem.columns
    C, s = work[FIELDS], work[SIGNS, 0]
    J = y[: p * m].reshape(p, m)
    B = numbers[problem.teacher_rows : problem.teacher_rows + q * m].reshape(q, m)
    weighted = J * numbers[problem.column_eigenvalues : problem.column_eigenvalues + m]
    C[:p, :p] = np.dot(weighted, J.T)
    C[:p, p : p + q] = np.dot(weighted, B.T)
    C[p : p + q, :p] = C[:p, p : p + q].T
    for i in range(q):
        for j in range(q):
            C[p + i, p + j] = numbers[problem.teacher_fields + i * q + j]
        s[p + i] = numbers[problem.teacher_readout + i]
    for k in range(p):
        s[k] = -y[p * m + k]
    return J, B


@compiled(allocates=True)
def frozen_rows(segment, t, h, state, y, out, problems, numbers, work):
    """Advance y by h with the moments of `state` (and the rate at time t) held fixed."""
    problem = problems[segment]
    p, n, m = problem.students, problem.rows, problem.columns
    _, B = row_fields(problem, state, numbers, work)
    closed_moments(problem, t, work, work[SIGNS, 1])
    eta = rate_at(problem, t)
    d, X = np.linalg.eigh(np.ascontiguousarray(work[DRIFT, :p, :p]))
    U = np.dot(X.T, y[: p * m].reshape(p, m))
    pull = np.dot(np.dot(X.T, np.ascontiguousarray(work[DRIFT, :p, p:n])), B)
    for i in range(p):
        for c in range(m):
            lam = numbers[problem.column_eigenvalues + c]
            x = (eta * lam * d[i] - eta * decay_at(problem, t)) * h
            grown = math.expm1(x)
            U[i, c] += grown * U[i, c] + eta * lam * h * phi(x, grown) * pull[i, c]
    out[: p * m] = np.dot(X, U).ravel()
    out[p * m :] = y[p * m :]


@compiled(ADVANCE, allocates=True)
def advance_rows(segment, t, h, y, out, problems, blocks, cases, numbers, work):
    """Exponential midpoint rule, order 2."""
    middle = np.empty(y.size)
    frozen_rows(segment, t, 0.5 * h, y, y, middle, problems, numbers, work)
    frozen_rows(segment, t + 0.5 * h, h, middle, y, out, problems, numbers, work)


@compiled(SYSTEM, allocates=True)
def observe_rows(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """The risk, and what is watched."""
    problem = problems[segment]
    J, B = row_fields(problem, y, numbers, work)
    seen[RISK] = risk_of(problem.kind, work[FIELDS], work[SIGNS, 0], problem.loss_factor)
    seen[WATCHED] = seen[RISK]
    if problem.watched > 0:
        p, n = problem.students, problem.rows
        work[OVERLAPS, :p, :p], work[OVERLAPS, :p, p:n] = np.dot(J, J.T), np.dot(J, B.T)
        seen[WATCHED] = watched_value(problem, work[OVERLAPS], y[p * problem.columns :])


@compiled(TOLERATE)
def tolerate_rows(y, rtol, atol, allowed, problems, blocks, cases, numbers, work):
    """Error that each weight may have: relative to the student's largest, both times the root of their eigenvalue."""
    problem = problems[0]
    p, m, at = problem.students, problem.columns, problem.column_eigenvalues
    for k in range(p):
        most = 0.0
        for c in range(m):
            most = max(most, math.sqrt(numbers[at + c]) * abs(y[k * m + c]))
        for c in range(m):
            allowed[k * m + c] = (atol + rtol * most) / max(math.sqrt(numbers[at + c]), 1e-150)
        allowed[p * m + k] = np.inf
