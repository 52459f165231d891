"""erf students near an erf teacher of their own width, on any input spectrum: the risk to second order, its course, and the rate
beyond which noise drives students away."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.linalg import eig
from scipy.optimize import linear_sum_assignment

from solvable.dynamics.gaussian_moments import field_covariance, moments
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.theory.committee import COMMITTEE, C, Committee, check_realizable, committee_of
from solvable.theory.prediction import NotApplicable, Prediction, checked_times, prediction


def slopes(T1: np.ndarray) -> np.ndarray:
    """h_ij = <g'(y_i) g'(y_j)> over teachers."""
    t = 1 + np.diag(T1)
    return C / np.sqrt(np.outer(t, t) - T1**2)


MOST_MODES = 4000
# at any rate: what noise does counts
AT_THE_TEACHER = replace(COMMITTEE, teachers="orthonormal", label_noise=False, batch=False)


def _errors(problem: Problem, state: Overlaps) -> tuple[np.ndarray, np.ndarray]:
    """D = delta delta^T / N and rho = delta B^T / N of the errors delta of the weights, in each block; students are matched to
    teachers."""
    values, T = problem.inputs.eigenvalues, state.block_teacher_overlap
    partner = linear_sum_assignment(-np.tensordot(values, state.block_cross_overlap, axes=1).T)[1]  # of each teacher
    Q, R = state.block_student_overlap[:, partner][:, :, partner], state.block_cross_overlap[:, partner]
    return Q - R - R.transpose(0, 2, 1) + T, R - T


def _alike(D: np.ndarray) -> np.ndarray:
    """With the mean of the diagonal, and of all else, in each block."""
    M = D.shape[-1]
    own = np.einsum("bii->b", D) / M
    other = (D.sum(axis=(1, 2)) - M * own) / max(M * (M - 1), 1)
    return other[:, None, None] + (own - other)[:, None, None] * np.eye(M)


def _size(problem: Problem) -> float:
    """c a^2."""
    return problem.training.loss_factor * float(problem.teacher.readout_values[0]) ** 2


@prediction(check_realizable)
def first_order_risk(problem: Problem, state: Overlaps) -> Prediction:
    """Risk of erf students near the teacher to first order in the deviations of the overlaps.

    Parameters
    ----------
    state : Overlaps
        A state near the teacher.

    Returns
    -------
    Prediction
        Its value: float, the risk.

    Notes
    -----
    Risk of a `state` near the teacher to first order in the deviations of Q and R, for a typical teacher, with averages
    over students: (2 sqrt(3) (q - 2 r) + 3 (M - 1)(c - 2 s))/(6 pi) in worschech2024's units (121), which is c a^2
    sum_ij h_ij D_ij. q - 2 r is of second order in the errors of the weights, as r^2 is, which is left out: see
    `erf_late_risk`.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> near = sv.start(problem, student_overlap=1.01 * np.eye(2), cross_overlap=np.eye(2), teacher_overlap=np.eye(2))
    >>> round(float(sv.theory.first_order_risk(problem, near).value), 4)
    0.0018
    """
    committee_of(problem, state)
    D = np.tensordot(problem.inputs.eigenvalues, _alike(_errors(problem, state)[0]), axes=1)
    value = _size(problem) * float((slopes(np.eye(len(D))) * D).sum())
    return Prediction(value, ("near the teacher", "typical teacher"), "worschech2024, (121)")


@prediction(check_realizable)
def erf_late_risk(
    problem: Problem, state: Overlaps, alpha: Any, *, printed: bool = False, clock: str = "alpha"
) -> Prediction:
    """Risk of erf students near the teacher at later times, exact to second order in the errors of the weights.

    Parameters
    ----------
    state : Overlaps
        A state near the teacher.
    alpha : float or array
        Times after `state`, in the unit of `clock`.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    Risk at times `alpha` after a `state` near the teacher, with as many students, exact to second order in the errors
    delta of the weights. The error of the output is sum_i g'(y_i) u_i, u_i the field of delta_i, so with h_ij = <g'_i
    g'_j> the risk is

        c a^2 [ sum_ij h_ij D_ij - q(rho) ],    D = delta Sigma delta^T / N,   rho = delta Sigma B^T / N,

    q(rho) a quadratic form that says how u goes along with y; the flow is downhill on it: modes by eigenvalues of a
    symmetric matrix of blocks x M^2 within the span of the teachers, and outside exp(-k h lambda alpha). Students are
    matched to teachers.

    `printed` is worschech2024's (17), (122): without q, from `first_order_risk` on, with rates proportional to
    2 - sqrt(3) and 2 + sqrt(3) (M - 1) (printed for M = 2 only: docs/ERRATA.md W41, W43).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> near = sv.start(problem, student_overlap=1.01 * np.eye(2), cross_overlap=np.eye(2), teacher_overlap=np.eye(2))
    >>> round(float(sv.theory.erf_late_risk(problem, near, 10.0).value), 4)
    0.001
    """
    one = committee_of(problem, state)
    values, T = problem.inputs.eigenvalues, state.block_teacher_overlap
    D, rho = _errors(problem, state)
    times = np.atleast_1d(checked_times("alpha", alpha))
    if printed:
        found = _outside(one, slopes(np.eye(one.M)), values, _alike(D), times)
    else:
        h, (root, inverse) = slopes(one.T1), _roots(T)
        inside = rho @ inverse  # delta within the span, in an orthonormal frame of each block
        found = _outside(one, h, values, D - inside @ inside.transpose(0, 2, 1), times)
        found = found + _within(one, h, values, root, inside, times)
    source = "worschech2024, (17), as printed" if printed else "worschech2024, (17), with all of the second order"
    value = _size(problem) * found
    return Prediction(value.reshape(np.shape(alpha)), ("rate small", "near the teacher"), source, _far(problem, state))


def _far(problem: Problem, state: Overlaps) -> tuple[str, ...]:
    """A caveat where the second order does not describe the state."""
    D, rho = _errors(problem, state)
    values, T1 = problem.inputs.eigenvalues, committee_of(problem, state).T1
    h, known = slopes(T1), np.tensordot(values, rho, axes=1).ravel()
    second = _size(problem) * float((h * np.tensordot(values, D, axes=1)).sum() - known @ response(T1, h) @ known)
    now = moments(field_covariance(problem, state), problem, state.readout).risk
    apart = abs(second / now - 1) if now > 0 else 0.0
    return () if apart < 0.1 else (f"the state is not near the teacher: there the second order is off by {apart:.0%}",)


def _outside(one: Committee, h: np.ndarray, values: np.ndarray, D: np.ndarray, times: np.ndarray) -> np.ndarray:
    """(time,) the part of the risk, over c a^2, of errors D that do not go along with the teachers' fields."""
    speeds, frame = np.linalg.eigh(h)
    fall = np.exp(-one.speed * times[:, None, None] * values[:, None] * speeds)  # (time, block, mode)
    found: np.ndarray = np.einsum("b,i,tbi,bii->t", values, speeds, fall**2, frame.T @ D @ frame)
    return found


def _within(
    one: Committee, h: np.ndarray, values: np.ndarray, root: np.ndarray, inside: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """(time,) the part of the risk, over c a^2, of errors within the span of the teachers."""
    L, M = len(values), one.M
    if L * M**2 > MOST_MODES:
        raise NotApplicable(f"inputs.spectrum: {L} eigenvalues with {M} teachers are too many modes; say printed=True")
    A = np.zeros((L, M * M, L, M * M))
    for b in range(L):
        A[b, :, b] = values[b] * np.kron(h, np.eye(M))
    P = np.concatenate([values[b] * np.kron(np.eye(M), root[b]) for b in range(L)], axis=1)  # rho from all blocks
    matrix = A.reshape(L * M * M, -1) - P.T @ response(one.T1, h) @ P
    modes, vectors = np.linalg.eigh(matrix)
    begin = vectors.T @ inside.ravel()
    return (modes * begin**2 * np.exp(-2 * one.speed * np.multiply.outer(times, modes))).sum(axis=1)


def response(T1: np.ndarray, h: np.ndarray) -> np.ndarray:
    """(M^2, M^2) the quadratic form q(rho) = sum_ij h_ij [rho_ii, rho_ij] (1 + T1_ij)^-1 [rho_ji, rho_jj]^T, and for i = j
    2 h_ii rho_ii^2 / (1 + 2 T1_ii): what is known of u given the fields that the slopes tilt."""
    M, t = len(T1), np.diag(T1)
    q = np.zeros((M, M, M, M))
    for i in range(M):
        q[i, i, i, i] += 2 * h[i, i] / (1 + 2 * t[i])
        for j in range(M):
            if i != j:
                inverse = np.linalg.inv(np.array([[1 + t[i], T1[i, j]], [T1[i, j], 1 + t[j]]]))
                for left, x in enumerate(((i, i), (i, j))):
                    for right, y in enumerate(((j, i), (j, j))):
                        q[(*x, *y)] += 0.5 * h[i, j] * inverse[left, right]
                        q[(*y, *x)] += 0.5 * h[i, j] * inverse[left, right]
    return q.reshape(M * M, M * M)


def _roots(T: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Symmetric roots of the teachers' overlaps in each block, and their pseudo-inverses."""
    values, vectors = np.linalg.eigh(T)
    kept = values > 1e-12 * values[:, -1:]
    size = np.sqrt(np.where(kept, values, 0.0))
    over = np.where(kept, 1 / np.where(kept, size, 1.0), 0.0)
    transposed = vectors.transpose(0, 2, 1)
    return (vectors * size[:, None]) @ transposed, (vectors * over[:, None]) @ transposed


def rate_limit(problem: Problem) -> Prediction:
    """Rate beyond which erf students, as many as orthonormal teachers with T1 = 1, do not stay at the teacher: 4.0558, 4.6137,
    4.8620, 4.9976, ... for widths 1, 2, 3, 4 in worschech2024's units, towards sqrt(3) pi; the spectrum does not matter."""
    check_realizable(problem, AT_THE_TEACHER)
    M = problem.teacher.width
    a, b = problem.student.readout_values[0], problem.teacher.readout_values[0]
    mean = float(problem.inputs.fractions @ problem.inputs.eigenvalues)
    if abs(mean - 1) > 1e-9:
        raise NotApplicable(
            f"inputs.spectrum: has mean {mean:.6g}; this closed form is for inputs of mean variance one"
        )
    own, other = C / math.sqrt(3), C / 2
    falls = 2 * np.array([[own, (M - 1) * other], [other, own + (M - 2) * other]])
    rises = C**2 * np.array(
        [
            [1 / math.sqrt(5) + (M - 1) / 3, 2 * (M - 1) / math.sqrt(8) + (M - 1) * (M - 2) / math.sqrt(12)],
            [2 / math.sqrt(8) + (M - 2) / math.sqrt(12), 2 / 3 + 4 * (M - 2) / math.sqrt(12) + (M - 2) * (M - 3) / 4],
        ]
    )
    size = 1 if M == 1 else 2
    found = eig(falls[:size, :size], rises[:size, :size])[0].real
    speed = found[found > 0].min()  # k at the edge
    return Prediction(
        float(speed / (2 * problem.training.loss_factor * a * b)),
        ("dim infinite",),
        "noise against slope at the teacher",
    )
