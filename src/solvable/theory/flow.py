"""Gradient flow of quadratic students on the population: how fast it ends, what bounds it, and what its loss adds up to.

Time and loss are saraomannelli2020's: t, and E = tr D^2 + (tr D)^2 / 2 with D = A - A* (`Trajectory.population_loss`). The flow
itself has a closed form; `Empirical` without `training.samples` follows it.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from solvable.dynamics.gaussian_moments import field_covariance, moments
from solvable.overlaps import Overlaps
from solvable.problems import Domain, Problem
from solvable.theory.prediction import MOMENT, RATE, SQUARE, TIME, NotApplicable, Prediction, checked_times, prediction

PAPER = "saraomannelli2020"  # whose time these predictions count in, as Empirical does
# on the population label noise adds a constant to the loss, and the rate only sets the clock
FLOW = Domain(units="quadratic", teachers="any", label_noise=True, schedules="rates", finite_dim=True)
COMMUTES = "students span all inputs equally at the start: A(0) is a multiple of the identity"


def _spanning(problem: Problem, domain: Domain = FLOW) -> tuple[int, int]:
    """Dimension, and rank of the teacher."""
    domain.require(problem)
    d = problem.inputs.dim or 0
    if problem.student.width < d:
        raise NotApplicable(f"student.width: {problem.student.width} students do not span {d} inputs")
    return d, min(problem.teacher.width, d)


@prediction(clock=SQUARE)
def flow_tail(problem: Problem, *, clock: str = PAPER) -> Prediction:
    """Amplitude of the 1/t^2 law of the population loss, for a teacher of rank below dim.

    Returns
    -------
    Prediction
        Its value: float, the limit of t^2 E.

    Notes
    -----
    t^2 E at late times, where the teacher has fewer units than there are inputs: (d - m*) (m* + 2) / (16 (d + 2)),
    whatever the teacher's norms and angles and from any start of full rank. saraomannelli2020 has 1/16 (26).

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.flow_tail(problem).value), 4)
    0.0938
    """
    d, r = _spanning(problem)
    if r == d:
        raise NotApplicable("teacher.width: is not below dim, so the end is exponential; see flow_rate")
    value = (d - r) * (r + 2) / (16 * (d + 2))
    return Prediction(value, ("student matrix of full rank at the start", "late times"), "slowest modes at the teacher")


def check_flow_rate(problem: Problem) -> None:
    d, r = _spanning(problem)
    if r < d:
        raise NotApplicable("teacher.width: is below dim, so the end is algebraic; see flow_tail")


@prediction(check_flow_rate, clock=RATE)
def flow_rate(problem: Problem, start: Overlaps, *, clock: str = PAPER) -> Prediction:
    """Rate at which the population loss falls exponentially in the end, for a teacher of full rank.

    Returns
    -------
    Prediction
        Its value: float, the rate.

    Notes
    -----
    Rate at which E falls in the end, as exp(-rate t), where the teacher's matrix has full rank: twice the smallest
    eigenvalue of 4 diag(l) + 2 l 1^T for the eigenvalues l of A*; or 4 (l_1 + l_2), with the two smallest, if that is
    less and A(0) is not a multiple of the identity. If it is, equal eigenvalues move together, and each counts once,
    with its multiplicity in the place of 1. About 8 l_1. saraomannelli2020 has 4 (d + 2) (29).

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=3, d=3)
    >>> start = sv.start(problem, seed=0, students="spanning", scale=2.0)
    >>> round(float(sv.theory.flow_rate(problem, start).value), 4)
    6.6667
    """
    values = _eigenvalues(start, problem)
    times = np.ones_like(values)
    together = _commutes(problem, start)
    if together:
        group = np.cumsum(np.diff(values, prepend=values[0]) > 1e-10 * values[-1])
        times = np.bincount(group).astype(float)
        values = np.bincount(group, values) / times
    root = np.sqrt(times * values)
    slowest = float(np.linalg.eigvalsh(4 * np.diag(values) + 2 * np.outer(root, root))[0])
    if not together and len(values) > 1:
        slowest = min(slowest, 2 * float(values[0] + values[1]))
    return Prediction(2 * slowest, ("late times",), "linearised flow at the teacher")


@prediction(clock=MOMENT)
def flow_jump(problem: Problem, *, clock: str = PAPER) -> Prediction:
    """Time at which the eigenvalues along an orthonormal teacher rise from the plateau, in gradient flow.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    When the eigenvalues along an orthonormal teacher come up from the plateau: log(d) / (4 l), l = 1/m*.
    saraomannelli2020 has log(2 d) / (2 m* + 4).

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.flow_jump(problem).value), 4)
    0.3466
    """
    d, r = _spanning(problem, replace(FLOW, teachers="orthonormal"))
    if r == d:
        raise NotApplicable("teacher.width: is not below dim, so there is no plateau")
    caveats = () if d >= 100 * r else ("dim is not much larger than the teacher's width",)
    time = float(r * np.log(d) / 4)
    return Prediction(time, (COMMUTES, "dim large"), "growth as exp(4 l t) from 1/d", caveats)


@prediction(_spanning, clock=TIME)
def flow_integral(problem: Problem, start: Overlaps, *, clock: str = PAPER) -> Prediction:
    """Population loss of gradient flow, integrated over all time.

    Returns
    -------
    Prediction
        Its value: float, the integral of E.

    Notes
    -----
    The loss summed over all time, int E dt = V/4 with V = tr(A - A* - A* log A + A* log A*) at the start: along the
    flow dV/dt = -4 E, if A(0) is a multiple of the identity. Not in saraomannelli2020.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> start = sv.start(problem, seed=0, students="spanning", scale=2.0)
    >>> round(float(sv.theory.flow_integral(problem, start).value), 4)
    0.75
    """
    value = _entropy(problem, start) / 4
    return Prediction(value, (COMMUTES,), "dV/dt = -4 E")


@prediction(_spanning)
def flow_bound(problem: Problem, start: Overlaps, time: Any, *, clock: str = PAPER) -> Prediction:
    """An upper bound on the population loss of gradient flow.

    Returns
    -------
    Prediction
        Its value: ndarray, the bound on E at each time.

    Notes
    -----
    A bound on E at `time`: E(0) / (1 + 8 E(0) t / H), H = tr[(A - A*) A^-1 (A - A*)] at the start (saraomannelli2020,
    (18), with its constant), and V/(4 t) of `flow_integral` where that applies. The first is proven with the largest H
    over all time, which is that at the start in all but extreme cases.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> start = sv.start(problem, seed=0, students="spanning", scale=2.0)
    >>> round(float(sv.theory.flow_bound(problem, start, 1.0).value), 4)
    0.3571
    """
    d, _ = _spanning(problem)
    p, q = problem.student.width, problem.teacher.width
    Q, R, T = start.student_overlap, start.cross_overlap, start.teacher_overlap
    inverse = np.linalg.pinv(Q, rcond=1e-11, hermitian=True)
    if np.linalg.matrix_rank(Q, tol=1e-10 * np.abs(Q).max(), hermitian=True) < d:
        raise NotApplicable("start: the students do not span all inputs")
    size = np.trace(Q) / p - 2 * np.trace(T) / q + p / q**2 * np.trace(R.T @ inverse @ inverse @ R @ T)
    first = moments(field_covariance(problem, start), problem, start.readout).risk / (2 * problem.training.loss_factor)
    times = checked_times("time", time)
    bound = first / (1 + 8 * first / size * times) if size > 0 else np.zeros_like(times)
    if _commutes(problem, start):
        with np.errstate(divide="ignore"):
            bound = np.minimum(bound, _entropy(problem, start) / (4 * times))
    caveats = ("not proven that H is largest at the start; no case is known here where the bound fails",)
    return Prediction(bound, ("H is largest at the start",), "saraomannelli2020, (18)", caveats)


@prediction()
def flow_approximation(problem: Problem, time: Any, *, clock: str = PAPER) -> Prediction:
    """saraomannelli2020's approximation (27) of the population loss, as printed.

    Returns
    -------
    Prediction
        Its value: ndarray, the loss L at each time.

    Notes
    -----
    saraomannelli2020's (27) for an orthonormal teacher, as printed: 1/4 [k / (1 + 2 (2 + k) t)]^2, k = d - m*. Read as
    the loss L = E/2 (as E it is twice as far off) it leaves out how the teacher's directions respond, and is too low:
    by 1.13 to 2.0 at d = 8, m* = 1.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    >>> round(float(sv.theory.flow_approximation(problem, 1.0).value), 4)
    0.0186
    """
    d, r = _spanning(problem, replace(FLOW, teachers="orthonormal"))
    if r == d:
        raise NotApplicable("teacher.width: is not below dim, so the end is exponential; see flow_rate")
    k = d - r
    times = checked_times("time", time)
    value = 0.25 * (k / (1 + 2 * (2 + k) * times)) ** 2
    return Prediction(
        value, (COMMUTES,), "saraomannelli2020, (27)", ("too low by up to a factor of two; use the flow itself",)
    )


def eigenvalue_flow(target: np.ndarray, time: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues (time, direction) of A from A(0) = 1, for eigenvalues `target` of A*, and the loss E (time,): saraomannelli2020,
    (20) and (21), integrated as they stand; a second route to the closed form that `Empirical` follows."""
    from scipy.integrate import solve_ivp

    def slope(_: float, log: np.ndarray) -> Any:
        gaps = target - np.exp(log)
        return 2 * gaps.sum() + 4 * gaps

    solved = solve_ivp(slope, (0, time[-1]), np.zeros(len(target)), "LSODA", time, rtol=1e-10, atol=1e-12)
    values: np.ndarray = np.exp(solved.y.T)
    gaps = values - target
    return values, (gaps**2).sum(axis=1) + 0.5 * gaps.sum(axis=1) ** 2


def _eigenvalues(start: Overlaps, problem: Problem) -> np.ndarray:
    """Of A*, rising: the largest dim of those of the teacher overlap, over the width."""
    dim = problem.inputs.dim or 0
    values = np.linalg.eigvalsh(start.teacher_overlap)[-dim:] / problem.teacher.width
    if values[0] <= 1e-12 * values[-1]:
        raise NotApplicable("teacher_overlap: the teachers do not span all inputs, so the end is algebraic")
    return values


def _commutes(problem: Problem, start: Overlaps) -> bool:
    """Whether A is a multiple of the identity: students orthogonal and equal, as many as inputs (or any with that Gram matrix)."""
    values = np.linalg.eigvalsh(start.student_overlap)[-(problem.inputs.dim or 0) :]
    return bool(values[-1] - values[0] <= 1e-10 * values[-1])


def _entropy(problem: Problem, start: Overlaps) -> float:
    d, _ = _spanning(problem)
    if not _commutes(problem, start):
        raise NotApplicable("start: A(0) is not a multiple of the identity; say students='spanning'")
    size = float(np.trace(start.student_overlap)) / problem.student.width / d  # A = size x identity
    values = np.linalg.eigvalsh(start.teacher_overlap) / problem.teacher.width
    values = values[values > 1e-14 * values[-1]]
    return float(d * size - values.sum() - values.sum() * np.log(size) + (values * np.log(values)).sum())
