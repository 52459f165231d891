"""erf students of an erf teacher (committee machines) on any input spectrum, at small rates: the symmetric plateau, the escape from
it, and the approach to the teacher.

Students all have readout a, teachers a*; T1 = sum_b lambda_b T^b and T2 = sum_b lambda_b^2 T^b are the teachers' overlaps weighted
by the spectrum, and k = 2 c rate a a* the speed. worschech2024 (a = sqrt(M)/K, a* = 1/sqrt(M), c = 1/2, so k = rate/K) treats a
teacher whose overlaps are all alike; here they are as they are.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import eig
from scipy.optimize import brentq, linear_sum_assignment

from solvable.dynamics.moments import field_covariance, moments
from solvable.overlaps import Overlaps, check_start
from solvable.problems import Problem
from solvable.theory.prediction import NotApplicable, Prediction, checked_times
from solvable.theory.requirements import require_plain

C = 2 / math.pi


class SymmetricPlateau(NamedTuple):
    """Where all students are equal combinations of the teachers. `state` are its overlaps, `risk` its height, `cross_overlap` (M,)
    and `student_overlap` those weighted by the spectrum (R*, Q* of first order); `rates` (M,) per unit of alpha at which
    differences between students grow, fastest first, along the columns of `modes` (M, M), rows of the weighted cross overlap."""

    state: Overlaps
    risk: float
    student_overlap: float
    cross_overlap: np.ndarray
    coefficients: np.ndarray
    rates: np.ndarray
    modes: np.ndarray


class _Committee(NamedTuple):
    """Number of students and teachers, ratio of readouts, speed k, and T1, T2."""

    K: int
    M: int
    ratio: float
    speed: float
    T1: np.ndarray
    T2: np.ndarray


def check_committee(problem: Problem) -> None:
    require_plain(problem, "erf")
    for name, network in [("student", problem.student), ("teacher", problem.teacher)]:
        if np.ptp(network.readout_values) > 1e-12 or network.readout_values[0] <= 0:
            raise NotApplicable(f"{name}.readout: is not the same positive number for all units")


def check_realizable(problem: Problem) -> None:
    check_committee(problem)
    student, teacher = problem.student, problem.teacher
    if student.width != teacher.width or abs(student.readout_values[0] / teacher.readout_values[0] - 1) > 1e-12:
        raise NotApplicable("student: is not of the teacher's width and readout")


def check_uniform(problem: Problem) -> None:
    check_realizable(problem)
    if problem.student.width < 2:
        raise NotApplicable("student.width: is 1, there are no differences between students")


def check_several(problem: Problem) -> None:
    check_committee(problem)
    if problem.student.width < 2:
        raise NotApplicable("student.width: is 1, there are no differences between students")


def check_printed_length(problem: Problem) -> None:
    check_uniform(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite")


def _committee(problem: Problem, start: Overlaps) -> _Committee:
    check_committee(problem)
    check_start(problem, start)
    a, b = problem.student.readout_values[0], problem.teacher.readout_values[0]
    values, T = problem.inputs.eigenvalues, start.block_teacher_overlap
    speed = 2 * problem.training.loss_factor * float(problem.training.schedule.rates[0]) * a * b
    T1, T2 = np.tensordot(values, T, axes=1), np.tensordot(values**2, T, axes=1)
    return _Committee(problem.student.width, problem.teacher.width, a / b, speed, T1, T2)


def erf_plateau(problem: Problem, start: Overlaps) -> Prediction:
    """The symmetric plateau for the teacher of `start`: J_i = sum_n a_n B_n for all i, with the escape rates from it
    (worschech2024, 13 to 15, for a teacher as it is)."""
    one = _committee(problem, start)
    a = _coefficients(one)
    R, Q = one.T1 @ a, float(a @ one.T1 @ a)
    T = start.block_teacher_overlap
    cross = np.repeat((T @ a)[:, None, :], one.K, axis=1)
    student = np.repeat(np.repeat((a @ T @ a)[:, None, None], one.K, axis=1), one.K, axis=2)
    state = Overlaps(student, cross, T, start.readout)
    rates, modes = _escape(one, a, R, Q)
    risk = moments(field_covariance(problem, state), problem, state.readout).risk
    return Prediction(
        SymmetricPlateau(state, risk, Q, R, a, rates, modes),
        ("rate small", "all students equal"),
        "worschech2024, (13) to (15), corrected and for any teacher",
    )


def _coefficients(one: _Committee) -> np.ndarray:
    """a with G = kappa a, the condition that nothing moves; by iteration from that of a uniform teacher."""
    t = np.diag(one.T1)
    a = np.full(one.M, 1 / math.sqrt(one.M * (one.M * (1 + t.mean()) - one.T1.sum() / one.M)))
    for _ in range(10_000):
        R, Q = one.T1 @ a, float(a @ one.T1 @ a)
        G, b0 = C / np.sqrt((1 + Q) * (1 + t) - R**2), C / math.sqrt(1 + 2 * Q)
        new = G * (1 + Q) / (one.ratio * one.K * b0 + G @ R)
        moved, a = np.abs(new - a).max(), 0.5 * (a + new)
        if moved <= 1e-15 * np.abs(a).max() * one.M:
            return a
    raise NotApplicable("start: no symmetric plateau found for this teacher")


def _escape(one: _Committee, a: np.ndarray, R: np.ndarray, Q: float) -> tuple[np.ndarray, np.ndarray]:
    """Rates and modes of differences between students, by the matrix of their weighted cross overlaps."""
    t, K = np.diag(one.T1), one.K
    s = np.sqrt((1 + Q) * (1 + t) - R**2)
    G, b0 = C / s, C / math.sqrt(1 + 2 * Q)
    dG = C * s[:, None] ** -3 * (np.diag(R) - np.outer(1 + t, a))
    db = -C * (1 + 2 * Q) ** -1.5 * K * a
    da = -(db * Q + b0 * K * a) / (1 + Q) + 2 * b0 * Q * K * a / (1 + Q) ** 2
    dy = -(R @ dG + G) / (1 + Q) + 2 * (G @ R) * a / (1 + Q) ** 2
    change = one.ratio * (db + da) - dy
    E = one.speed * (one.T2 @ dG - np.outer(one.T2 @ a, change))
    if K == 1:
        return np.zeros(0), np.zeros((one.M, 0))  # one student differs from none
    rates, modes = eig(E)
    order = np.argsort(-rates.real)
    return rates.real[order], modes.real[:, order]


def uniform_escape_time(problem: Problem, start: Overlaps) -> Prediction:
    """Time tau in which differences between students grow by e on the plateau of a teacher whose overlaps are all alike
    (worschech2024, 15), with averages over those of `start`: (pi/2) sqrt(A - p) (A + p)^(3/2) / [(T2 - D2/(M - 1)) p] / (k K),
    A = M (1 + T1), p = T1 + D1, D the sums of a row's other entries. The risk falls at twice that rate. Holds for
    M x blocks << dim; else take the rates of `erf_plateau`."""
    check_uniform(problem)
    one = _committee(problem, start)
    M = one.M
    T_1, T_2 = np.diag(one.T1).mean(), np.diag(one.T2).mean()
    D_1, D_2 = one.T1.sum() / M - T_1, one.T2.sum() / M - T_2
    A, p = M * (1 + T_1), T_1 + D_1
    if (T_2 - D_2 / (M - 1)) * p <= 1e-12 * T_1 * T_2:
        raise NotApplicable("teacher_overlap: the teachers do not differ, so nothing grows")
    value = math.pi / 2 * math.sqrt(A - p) * (A + p) ** 1.5 / ((T_2 - D_2 / (M - 1)) * p) / (one.speed * M)
    return Prediction(float(value), ("rate small", "teacher overlaps alike"), "worschech2024, (15)")


def plateau_drop(problem: Problem, state: Overlaps, drop: float = 0.02) -> Prediction:
    """How long after a `state` on the plateau the risk has fallen by the fraction `drop` of the plateau's: differences between the
    students in that state, mode by mode, each growing at its own rate (not in worschech2024)."""
    if not 0 < drop < 1:
        raise ValueError(f"drop: {drop} given, must be between 0 and 1")
    check_several(problem)
    one = _committee(problem, state)
    found: SymmetricPlateau = erf_plateau(problem, state).value
    R = np.tensordot(problem.inputs.eigenvalues, state.block_cross_overlap, axes=1)
    amplitudes = np.linalg.lstsq(found.modes, (R - R.mean(axis=0)).T, rcond=1e-12)[0]  # (modes, students)
    grows = found.rates > 0
    rates, modes = found.rates[grows], found.modes[:, grows]
    shapes = (
        modes.T
        @ np.linalg.pinv(one.T2, rcond=1e-12, hermitian=True)
        @ modes
        * (amplitudes[grows] @ amplitudes[grows].T)
    )
    sums = rates[:, None] + rates
    weights = shapes * np.outer(rates, rates) / sums / float(problem.training.schedule.rates[0])
    wanted = drop * found.risk

    size = float(np.abs(weights).max(initial=0.0))
    if not size > 1e-30 * wanted:
        raise NotApplicable("state: students do not differ along a mode that grows, so the plateau is not left")

    def excess(time: float) -> float:
        return float((weights / size * np.exp(np.minimum(sums * time, 600))).sum()) - wanted / size

    if not excess(0.0) < 0:
        raise NotApplicable("state: is not on the plateau: students differ too much already")
    end = 1 / rates.max()
    while excess(end) < 0:
        end *= 2
    value = float(brentq(excess, 0.0, end, xtol=1e-10 * end))
    return Prediction(value, ("rate small", "students nearly equal"), "linearised escape, mode by mode")


def printed_plateau_length(problem: Problem, state: Overlaps) -> Prediction:
    """worschech2024's recipe (C.4): from a `state` on the plateau to where R has become e times its plateau value, with half of tau
    and both the measured spread of R, which falls with the dimension, and log(dim)/2. A rough estimate; `plateau_drop` is not."""
    check_printed_length(problem)
    dim = problem.inputs.dim or 0
    tau = uniform_escape_time(problem, state).value
    R = np.tensordot(problem.inputs.eigenvalues, state.block_cross_overlap, axes=1)
    spread, rise = float(np.std(R - R.mean(axis=0))), (math.e - 1) * float(R.mean())
    if not (spread > 0 and rise > 0):
        raise NotApplicable("state: is not on the plateau: students do not differ, or do not know the teachers")
    return Prediction(
        0.5 * tau * (math.log(rise / spread) + 0.5 * math.log(dim)),
        ("rate small",),
        "worschech2024, (117)",
        ("the two terms that contain the dimension all but cancel",),
    )


def _slopes(T1: np.ndarray) -> np.ndarray:
    """h_ij = <g'(y_i) g'(y_j)> over teachers."""
    t = 1 + np.diag(T1)
    return C / np.sqrt(np.outer(t, t) - T1**2)


MOST_MODES = 4000


def erf_late_risk(problem: Problem, state: Overlaps, alpha: Any, *, printed: bool = False) -> Prediction:
    """Risk at times `alpha` after a `state` near the teacher, with as many students, exact to second order in the errors delta of
    the weights. The error of the output is sum_i g'(y_i) u_i, u_i the field of delta_i, so with h_ij = <g'_i g'_j> the risk is

        c a^2 [ sum_ij h_ij D_ij - q(rho) ],    D = delta Sigma delta^T / N,   rho = delta Sigma B^T / N,

    q(rho) a quadratic form that says how u goes along with y; the flow is downhill on it: modes by eigenvalues of a symmetric
    matrix of blocks x M^2 within the span of the teachers, and outside exp(-k h lambda alpha). `printed` leaves q out, as
    worschech2024 does (17, 121), which is off by 10 % and more. Students are matched to teachers."""
    check_realizable(problem)
    one = _committee(problem, state)
    values, T = problem.inputs.eigenvalues, state.block_teacher_overlap
    partner = linear_sum_assignment(-np.tensordot(values, state.block_cross_overlap, axes=1).T)[1]  # of each teacher
    Q, R = state.block_student_overlap[:, partner][:, :, partner], state.block_cross_overlap[:, partner]
    D, rho = Q - R - R.transpose(0, 2, 1) + T, R - T
    h, times = _slopes(one.T1), np.atleast_1d(checked_times("alpha", alpha))
    root, inverse = _roots(T)
    inside = (
        np.zeros_like(rho) if printed else rho @ inverse
    )  # delta within the span, in an orthonormal frame of each block
    outside = D - inside @ inside.transpose(0, 2, 1)
    speeds, frame = np.linalg.eigh(h)
    fall = np.exp(-one.speed * times[:, None, None] * values[:, None] * speeds)  # (time, block, mode)
    found = np.einsum("b,i,tbi,bii->t", values, speeds, fall**2, frame.T @ outside @ frame)
    if not printed:
        found = found + _within(one, h, values, root, inside, times)
    value = problem.training.loss_factor * problem.teacher.readout_values[0] ** 2 * found
    source = "worschech2024, (17), as printed" if printed else "worschech2024, (17), with all of the second order"
    now = moments(field_covariance(problem, state), problem, state.readout).risk
    apart = abs(_quadratic(problem, h, values, D, rho, one) / now - 1) if now > 0 else 0.0
    caveats = (
        () if apart < 0.1 else (f"the state is not near the teacher: there the second order is off by {apart:.0%}",)
    )
    return Prediction(value.reshape(np.shape(alpha)), ("rate small", "near the teacher"), source, caveats)


def _quadratic(
    problem: Problem, h: np.ndarray, values: np.ndarray, D: np.ndarray, rho: np.ndarray, one: _Committee
) -> float:
    """The risk of a state to second order."""
    known = np.tensordot(values, rho, axes=1).ravel()
    inner = float((h * np.tensordot(values, D, axes=1)).sum() - known @ _response(one.T1, h) @ known)
    return problem.training.loss_factor * problem.teacher.readout_values[0] ** 2 * inner


def _within(
    one: _Committee, h: np.ndarray, values: np.ndarray, root: np.ndarray, inside: np.ndarray, times: np.ndarray
) -> np.ndarray:
    """(time,) the part of the risk, over c a^2, of errors within the span of the teachers."""
    L, M = len(values), one.M
    if L * M**2 > MOST_MODES:
        raise NotApplicable(f"inputs.spectrum: {L} eigenvalues with {M} teachers are too many modes; say printed=True")
    A = np.zeros((L, M * M, L, M * M))
    for b in range(L):
        A[b, :, b] = values[b] * np.kron(h, np.eye(M))
    P = np.concatenate([values[b] * np.kron(np.eye(M), root[b]) for b in range(L)], axis=1)  # rho from all blocks
    matrix = A.reshape(L * M * M, -1) - P.T @ _response(one.T1, h) @ P
    modes, vectors = np.linalg.eigh(matrix)
    begin = vectors.T @ inside.ravel()
    return (modes * begin**2 * np.exp(-2 * one.speed * np.multiply.outer(times, modes))).sum(axis=1)


def _response(T1: np.ndarray, h: np.ndarray) -> np.ndarray:
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
    check_realizable(problem)
    if problem.training.batch != 1 or problem.training.label_noise > 0:
        raise NotApplicable("training: has a batch or label noise, with which this edge is another")
    M = problem.teacher.width
    a, b = problem.student.readout_values[0], problem.teacher.readout_values[0]
    mean = float(problem.inputs.fractions @ problem.inputs.eigenvalues)
    if not problem.teacher.is_orthonormal or abs(mean - 1) > 1e-9:
        raise NotApplicable("teacher.overlap: is not 'orthonormal' on inputs of mean variance one")
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
