"""erf students of an erf teacher (committee machines) on any input spectrum, at small rates: the symmetric plateau and the escape
from it. Teachers whose overlaps are all alike are in `theory/uniform.py`, the approach to the teacher in `theory/approach.py`.

Students all have readout a, teachers a*; T1 = sum_b lambda_b T^b and T2 = sum_b lambda_b^2 T^b are the teachers' overlaps weighted
by the spectrum, and k = 2 c rate a a* the speed. worschech2024 (a = sqrt(M)/K, a* = 1/sqrt(M), c = 1/2, so k = rate/K) treats a
teacher whose overlaps are all alike; here they are as they are.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eig
from scipy.optimize import brentq

from solvable.dynamics.gaussian_moments import field_covariance, moments
from solvable.overlaps import Overlaps, check_start
from solvable.problems import Domain, Problem
from solvable.theory.prediction import TIME, NotApplicable, Prediction, prediction

C = 2 / math.pi
# at small rates neither the noise of labels nor the batch matters: both act in second order
COMMITTEE = Domain(
    units="erf", teachers="any", student_readout="equal", teacher_readout="equal",
    isotropic=False, label_noise=True, batch=True,
)  # fmt: skip


class SymmetricPlateau(NamedTuple):
    """The symmetric plateau of erf students, where all of them are the same combination of the teachers.

    Parameters
    ----------
    state : Overlaps
        Its overlaps.
    risk : float
        Its height.
    student_overlap : float
        Overlap between students, weighted by the spectrum (Q* of first order).
    cross_overlap : ndarray
        (M,) overlaps with the teachers, weighted by the spectrum (R* of first order).
    coefficients : ndarray
        (M,) coefficients of the combination.
    rates : ndarray
        (M,) rates per unit of time at which differences between students grow, fastest first.
    modes : ndarray
        (M, M) as columns, the direction of each in the rows of the weighted cross overlap.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> sv.theory.erf_plateau(problem, start).value.rates.shape
    (2,)
    """

    state: Overlaps
    risk: float
    student_overlap: float
    cross_overlap: np.ndarray
    coefficients: np.ndarray
    rates: np.ndarray
    modes: np.ndarray


class Committee(NamedTuple):
    """Number of students and teachers, ratio of readouts, speed k, and T1, T2."""

    K: int
    M: int
    ratio: float
    speed: float
    T1: np.ndarray
    T2: np.ndarray


def check_realizable(problem: Problem, domain: Domain = COMMITTEE) -> None:
    domain.require(problem)
    student, teacher = problem.student, problem.teacher
    if student.width != teacher.width or abs(student.readout_values[0] / teacher.readout_values[0] - 1) > 1e-12:
        raise NotApplicable("student: is not of the teacher's width and readout")


def check_uniform(problem: Problem) -> None:
    check_realizable(problem)
    if problem.student.width < 2:
        raise NotApplicable("student.width: is 1, there are no differences between students")


def check_several(problem: Problem) -> None:
    COMMITTEE.require(problem)
    if problem.student.width < 2:
        raise NotApplicable("student.width: is 1, there are no differences between students")


def check_printed_length(problem: Problem) -> None:
    check_uniform(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite")


def committee_of(problem: Problem, start: Overlaps) -> Committee:
    COMMITTEE.require(problem)
    check_start(problem, start)
    a, b = problem.student.readout_values[0], problem.teacher.readout_values[0]
    values, T = problem.inputs.eigenvalues, start.block_teacher_overlap
    speed = 2 * problem.training.loss_factor * float(problem.training.schedule.rates[0]) * a * b
    T1, T2 = np.tensordot(values, T, axes=1), np.tensordot(values**2, T, axes=1)
    return Committee(problem.student.width, problem.teacher.width, a / b, speed, T1, T2)


@prediction(COMMITTEE, clock=("rates",))
def erf_plateau(problem: Problem, start: Overlaps, *, clock: str = "alpha") -> Prediction:
    """The symmetric plateau of erf students and the rates at which they escape from it.

    Returns
    -------
    Prediction
        Its value: `SymmetricPlateau`.

    Notes
    -----
    The symmetric plateau for the teacher of `start`: J_i = sum_n a_n B_n for all i, with the escape rates from it
    (worschech2024, 13 to 15, for a teacher as it is).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(sv.theory.erf_plateau(problem, start).value.risk, 4)
    0.0059
    """
    one = committee_of(problem, start)
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


def _coefficients(one: Committee) -> np.ndarray:
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


def _escape(one: Committee, a: np.ndarray, R: np.ndarray, Q: float) -> tuple[np.ndarray, np.ndarray]:
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
        return np.zeros(0), np.zeros((one.M, 0))  # a single student: there are no differences between students
    rates, modes = eig(E)
    order = np.argsort(-rates.real)
    return rates.real[order], modes.real[:, order]


@prediction(check_several, clock=TIME)
def plateau_drop(problem: Problem, state: Overlaps, drop: float = 0.02, *, clock: str = "alpha") -> Prediction:
    """Time from a state on the plateau until the risk of erf students has fallen by a fraction.

    Parameters
    ----------
    state : Overlaps
        A state on the plateau.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    How long after a `state` on the plateau the risk has fallen by the fraction `drop` of the plateau's: differences
    between the students in that state, mode by mode, each growing at its own rate (not in worschech2024).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> rest = sv.theory.erf_plateau(problem, start).value.state
    >>> near = sv.start(
    ...     problem,
    ...     student_overlap=rest.student_overlap + 1e-5 * np.eye(2),
    ...     cross_overlap=rest.cross_overlap + 1e-6 * np.array([[1, -1], [-1, 1]]),
    ...     teacher_overlap=rest.teacher_overlap,
    ... )
    >>> round(float(sv.theory.plateau_drop(problem, near).value), 4)
    3196.8738
    """
    if not 0 < drop < 1:
        raise ValueError(f"drop: {drop} given, must be between 0 and 1")
    one = committee_of(problem, state)
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
