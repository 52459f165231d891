"""The zero-error solutions of quadratic networks: which one learning ends at, and how it gets there."""

import math
from dataclasses import replace

import numpy as np

from solvable.overlaps import Overlaps, nearest_frame
from solvable.problems import Domain, Problem
from solvable.theory import approach, at_the_teacher, linear, sphere
from solvable.theory.prediction import RATE, NotApplicable, Prediction, prediction

SOLUTIONS = Domain(units="quadratic", teachers="any", schedules="rates")
STABILITY = replace(SOLUTIONS, teachers="orthonormal")
APPROACH = Domain(units="quadratic")


def _widths(problem: Problem, domain: Domain = SOLUTIONS) -> tuple[int, int]:
    """(p, p*), with at least as many students as teachers."""
    domain.require(problem)
    p, q = problem.student.width, problem.teacher.width
    if p < q:
        raise NotApplicable(f"student.width: {p} students cannot reproduce {q} teachers")
    return p, q


@prediction(_widths)
def nearest_solution(problem: Problem, start: Overlaps) -> Prediction:
    """The zero-error solution of quadratic students that is nearest to the start, where learning ends.

    Returns
    -------
    Prediction
        Its value: `Overlaps`.

    Notes
    -----
    Overlaps of the zero-error solution nearest to the start: R = sqrt(p/p*) S T, Q = (p/p*) S T S^T, where S is the
    frame nearest to the start's cross overlap. The deterministic limit ends there (bocchi2026, section 4.1).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> sv.theory.nearest_solution(problem, start).value.cross_overlap.shape
    (4, 2)
    """
    p, q = _widths(problem)
    S, T = nearest_frame(start.cross_overlap), start.teacher_overlap
    if np.isnan(S).any():
        rank = int(np.linalg.matrix_rank(start.cross_overlap))
        raise NotApplicable(
            f"cross_overlap: has rank {rank} at the start, so no solution is nearest; learning ends at a saddle, with {rank} "
            f"directions inside the teachers' span and {p - rank} outside"
        )
    R, Q = math.sqrt(p / q) * S @ T, p / q * S @ T @ S.T
    return Prediction(
        Overlaps(Q[None], R[None], start.block_teacher_overlap, start.readout),
        (
            "teacher orthonormal",
            "student overlap commutes with R R^T at the start (as for orthonormal students)",
            "dim infinite",
        ),
        "bocchi2026, 7.4; exact at any rate by the mode reduction",
        tuple(_deviations(start)),
    )


@prediction(_widths)
def nearest_distance(problem: Problem, start: Overlaps) -> Prediction:
    """Distance from the start to the nearest zero-error solution of quadratic students.

    Returns
    -------
    Prediction
        Its value: float, |W - W(0)|/sqrt(dim).

    Notes
    -----
    Distance |W - W(0)|/sqrt(dim) of the nearest zero-error solution from the start: the root of
    (p/p*) tr T - 2 sqrt(p/p*) |R_0|_* + tr Q_0, with the sum |.|_* of singular values (bocchi2026, (17) at (19)).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(float(sv.theory.nearest_distance(problem, start).value), 4)
    2.8164
    """
    p, q = _widths(problem)
    size = float(np.linalg.norm(start.cross_overlap, "nuc"))
    squared = p / q * np.trace(start.teacher_overlap) - 2 * math.sqrt(p / q) * size + np.trace(start.student_overlap)
    return Prediction(math.sqrt(max(squared, 0.0)), ("quadratic units",), "bocchi2026, (17)")


def _deviations(start: Overlaps) -> list[str]:
    Q, R, T = start.student_overlap, start.cross_overlap, start.teacher_overlap
    found = []
    if np.abs(T - T[0, 0] * np.eye(len(T))).max() > 1e-9 * np.abs(T).max():
        found.append("the teacher is not orthonormal: learning ends near, not at, this solution")
    turn = np.linalg.norm(Q @ R @ R.T - R @ R.T @ Q) / (np.linalg.norm(Q) * np.linalg.norm(R @ R.T))
    if turn > 1e-9:
        found.append(
            f"student overlap and R R^T do not commute (by {turn:.2g}): learning ends near, not at, this solution"
        )
    return found


@prediction()
def rate_limit(problem: Problem) -> Prediction:
    """Learning rate above which the zero-error solutions are unstable.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Learning rate beyond which the zero-error solutions are unstable: p p* / (4 c (p* + 2)), c the loss factor. On the
    sphere, with one teacher, p/(12 c), or less with label noise (`theory/sphere.py`). Linear and erf students: see
    `theory/linear.py` and `theory/approach.py`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.rate_limit(problem).value), 4)
    0.5
    """
    if isinstance(problem, Problem) and problem.student.activation == "linear":
        return linear.rate_limit(problem)
    if isinstance(problem, Problem) and problem.student.activation == "erf":
        return approach.rate_limit(problem)
    if isinstance(problem, Problem) and problem.student.norm == "sphere":
        return sphere.rate_limit(problem)
    p, q = _widths(problem, STABILITY)
    return Prediction(
        p * q / (4 * (q + 2)) / problem.training.loss_factor,
        ("teacher orthonormal",),
        "linear stability of the solutions",
    )


@prediction()
def late_risk(problem: Problem, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Risk long after the escape, with more quadratic students than teachers: it falls as 1/t^2.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    Risk long after the escape, with more students than teachers: algebraic, A / t^2 with t = c rate alpha and

        A = (p - p*) p^2 (p* + 2) / (128 (p + 2)) x [1 + p*/(p* + 2) u/(1 - u)],   u = rate / rate_limit

    in units of the mean squared error (times c for the risk).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.late_risk(problem, 500.0).value), 4)
    0.0003
    """
    p, q = _surplus(problem)
    c, rate = problem.training.loss_factor, _constant_rate(problem)
    u = rate / rate_limit(problem).value
    if u >= 1:
        raise NotApplicable(
            f"training.learning_rate: {rate} is not below the limit {rate / u:.6g}; the risk does not vanish"
        )
    amplitude = (p - q) * p**2 * (q + 2) / (128 * (p + 2)) * (1 + q / (q + 2) * u / (1 - u))
    t = c * rate * np.asarray(alpha)
    return Prediction(c * amplitude / t**2, _LATE, "slowest modes at the solution")


@prediction(clock=RATE)
def late_rate(problem: Problem, *, clock: str = "alpha") -> Prediction:
    """Rate at which the risk falls exponentially in the end, with as many students as teachers.

    Returns
    -------
    Prediction
        Its value: float, the rate.

    Notes
    -----
    Rate, per unit of alpha, at which the risk falls in the end with as many students as teachers: as exp(-rate alpha)
    with 16 c eta/p^2 (1 - u), u = eta / rate_limit, by what students have outside the teachers' span. For erf students
    of orthonormal teachers the slowest eigenvalue of the linearised equations (`theory/at_the_teacher.py`), for linear
    ones the slowest mode.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.late_rate(problem).value), 4)
    0.16
    """
    if isinstance(problem, Problem) and problem.student.activation == "linear":
        return linear.late_rate(problem)
    if isinstance(problem, Problem) and problem.student.activation == "erf":
        return at_the_teacher.late_rate(problem)
    p, q = _widths(problem, APPROACH)
    if p > q:
        raise NotApplicable("student.width: exceeds the teacher's, so the end is algebraic; see late_risk")
    rate = _constant_rate(problem)
    u = rate / rate_limit(problem).value
    if u >= 1:
        raise NotApplicable(
            f"training.learning_rate: {rate} is not below the limit {rate / u:.6g}; the risk does not vanish"
        )
    value = 16 * problem.training.loss_factor * rate / p**2 * (1 - u)
    return Prediction(value, _LATE, "slowest modes at the solution")


@prediction()
def optimal_late_rate(problem: Problem) -> Prediction:
    """Learning rate at which the risk falls fastest in the end.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Learning rate at which the risk falls fastest in the end (`late_rate`), with as many students as teachers: half of
    `rate_limit` for quadratic units; for erf and linear units the maximum of a smallest eigenvalue.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.optimal_late_rate(problem).value), 4)
    0.125
    """
    if isinstance(problem, Problem) and problem.student.activation == "linear":
        return linear.optimal_late_rate(problem)
    if isinstance(problem, Problem) and problem.student.activation == "erf":
        return at_the_teacher.optimal_late_rate(problem)
    p, q = _widths(problem, STABILITY)
    if p > q:
        raise NotApplicable("student.width: exceeds the teacher's, so the end is algebraic; see late_risk")
    return Prediction(rate_limit(problem).value / 2, _LATE, "slowest modes at the solution")


def noise_floor(problem: Problem) -> Prediction:
    """4 c^2 rate Delta / (p (1 - u)), u = rate / rate_limit, for quadratic units: errors outside the teachers' span at rest."""
    p, _ = _widths(problem, replace(APPROACH, label_noise=True))
    c, rate = problem.training.loss_factor, _constant_rate(problem)
    u = rate / rate_limit(problem.replace(training__label_noise=0.0)).value
    if u >= 1:
        raise NotApplicable("training.learning_rate: is so large that noise grows without bound; see rate_limit")
    value = 4 * c**2 * rate * float(problem.training.label_noise) / (p * (1 - u))
    return Prediction(value, ("late times", "dim infinite", "label noise small"), "balance of label noise and slope")


@prediction()
def late_distance(problem: Problem, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Distance of the cross overlaps from their end, long after the escape.

    Returns
    -------
    Prediction
        Its value: ndarray, the Frobenius distance at each time.

    Notes
    -----
    Frobenius distance of the cross overlap from where it ends: sqrt(p) p p* (p - p*) / (32 (p + 2)) / t, t = c rate
    alpha.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.late_distance(problem, 500.0).value), 4)
    0.0067
    """
    p, q = _surplus(problem)
    t = problem.training.loss_factor * _constant_rate(problem) * np.asarray(alpha)
    return Prediction(math.sqrt(p) * p * q * (p - q) / (32 * (p + 2)) / t, _LATE, "slowest modes at the solution")


_LATE = (
    "teacher orthonormal",
    "late times",
    "students of order one outside the teachers' span at the start",
    "dim infinite",
)


def _surplus(problem: Problem) -> tuple[int, int]:
    p, q = _widths(problem, APPROACH)
    if p == q:
        raise NotApplicable("student.width: equals the teacher's, so the end is exponential; see late_rate")
    return p, q


def _constant_rate(problem: Problem) -> float:
    return float(problem.training.schedule.rates[0])
