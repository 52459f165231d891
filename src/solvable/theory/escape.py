"""When and how quadratic students leave the plateau. Symbols as in `theory/plateau.py`."""

import math
from typing import NamedTuple

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.theory import sphere_escape
from solvable.theory.plateau import START, Constants, Plateau, constants_of, on_sphere, plateau, roots, unequal
from solvable.theory.prediction import TIME, NotApplicable, Prediction, prediction


class _Escape(NamedTuple):
    """|R|^2 = `size` exp(2 growth alpha) on the plateau, with norm learning in `size`, and how much of the risk it takes away."""

    waiting: Plateau
    size: float
    response: float
    caveats: list[str]


def check_waiting(problem: Problem) -> None:
    """Raise unless students of free norm wait on a plateau."""
    roots(constants_of(problem))


def _escape(problem: Problem, start: Overlaps) -> _Escape:
    constants = constants_of(problem)
    p, _, h, _, b = constants
    waiting, (low, high) = plateau(problem).value, roots(constants)
    if waiting.growth <= 0:
        raise NotApplicable("training.learning_rate: so large that cross overlaps do not grow on the plateau")
    Q, size = start.student_overlap, float(np.sum(start.cross_overlap**2))
    if size == 0:
        raise NotApplicable("cross_overlap: is zero at the start, so the deterministic limit never escapes")
    first = float(np.trace(Q)) / p * (p + 2) / p
    if first >= high:
        raise NotApplicable("student_overlap: so large that norms diverge at this rate")
    factor = math.log(low / first * (high - first) / (high - low)) / (4 * h * b * high)
    response = problem.training.loss_factor * _response(constants, waiting.norm, waiting.growth)
    return _Escape(waiting, size * math.exp(2 * factor), response, unequal(Q))


@prediction(check_waiting)
def escape_risk(problem: Problem, start: Overlaps, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Risk of quadratic students on the plateau and early in the escape.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    After norms have been learned it is the plateau's less what |R|^2, growing, takes away. At small rates
    c (2/p* + 2/(p + 2)) - 4 c/(p p*) |R_0|^2 q/q_0 exp(16 c rate alpha/(p p*)) (bocchi2026, (13), corrected:
    docs/ERRATA.md B3, B4). At any rate, as `escape_time`, its inverse.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(float(sv.theory.escape_risk(problem, start, 10.0).value), 4)
    1.3338
    """
    waiting, size, response, caveats = _escape(problem, start)
    risk = waiting.risk - response * size * np.exp(2 * waiting.growth * np.asarray(alpha, dtype=float))
    return Prediction(risk, (*START, "norms learned, little of the risk gone"), "linearised plateau", tuple(caveats))


@prediction(plateau, clock=TIME)
def escape_time(problem: Problem, start: Overlaps, drop: float = 0.5, *, clock: str = "alpha") -> Prediction:
    """Time at which quadratic students have left the plateau.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    The risk has fallen by `drop` times the plateau's, if cross overlaps kept growing as they do while they are small:
    |R|^2 = |R_0|^2 exp(2 growth alpha + 2 Lambda). Norm learning enters by

        Lambda = log[ (s_low / s_0) (s_high - s_0)/(s_high - s_low) ] / (4 h b s_high)

    which is 1/2 log(q/q_0) at small rates (bocchi2026, (13), leaves it out: docs/ERRATA.md B4). Growth slows down
    before the risk has fallen much: at drop = 0.01 the time is right to a hundredth of 1/growth, at 0.5 the risk falls
    10 to 20 % later. On the sphere, with one teacher, `drop` is a fraction of the first risk, and the time is exact at
    width one.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(float(sv.theory.escape_time(problem, start).value), 4)
    89.5795
    """
    if not isinstance(drop, int | float) or not 0 < drop < 1:
        raise ValueError(f"drop: {drop!r} given, must be between 0 and 1")
    if on_sphere(problem):
        return sphere_escape.escape_time(problem, start, drop)
    waiting, size, response, caveats = _escape(problem, start)
    p, q = problem.student.width, problem.teacher.width
    if p < q and (1 - drop) * waiting.risk < _least_risk(p, q) * problem.training.loss_factor:
        raise NotApplicable(f"student.width: {p} students of {q} teachers never lower the risk by so much")
    reach = drop * waiting.risk / response
    if drop > 0.1:
        caveats.append("growth slows down before so large a drop: the risk falls up to 20 % later")
    if size > 0.01 * reach:
        caveats.append("cross overlaps are not small against those at the escape")
    time = 0.5 * math.log(reach / size) / waiting.growth
    assumptions = (*START, "linear growth up to the escape")
    return Prediction(time, assumptions, "linearised plateau, any rate", tuple(caveats))


@prediction(constants_of, clock=TIME)
def stair_lengths(problem: Problem, start: Overlaps, *, clock: str = "alpha") -> Prediction:
    """Times between the falls of the risk, where quadratic students learn the teachers one by one.

    Returns
    -------
    Prediction
        Its value: ndarray (k - 1,), the times.

    Notes
    -----
    Where the singular values s_1 > s_2 > ... of the first cross overlap are far apart, the times are
    p p*/(8 c rate) log(s_i/s_(i+1)), because what is left of it grows alike at all the saddles on the way.
    Infinite where a singular value vanishes: learning ends at a saddle (`landscape.visits`).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> sv.theory.stair_lengths(problem, start).value.shape
    (1,)
    """
    _, q, h, _, _ = constants_of(problem)
    values = np.linalg.svd(start.cross_overlap, compute_uv=False)
    if values[0] == 0:
        raise NotApplicable("cross_overlap: is zero at the start, so the deterministic limit never escapes")
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = q / (8 * h) * np.log(values[:-1] / values[1:])
    close = (
        ("singular values are not far apart: the falls run into each other",) if (lengths < 0.5 * q / h).any() else ()
    )
    assumptions = (*START, "singular values far apart", "small rate")
    return Prediction(lengths, assumptions, "growth 8/(p p*) at every saddle", close)


def _least_risk(p: int, q: int) -> float:
    """Of p < q students: they learn p teachers, the critical point (0, p)."""
    left = 1 - p / q
    return left * (2 * left / (2 + p) + 2 / q)


def _response(constants: Constants, norm: float, growth: float) -> float:
    """Fall of the mean squared error per |R|^2 early in the escape: 4/(p p*), and at finite rates also through the norms, which
    follow |R|^2 and on which the risk depends to first order there."""
    p, q, h, S, b = constants
    s = norm * (p + 2) / p
    slope = 2 / p * (s - 1)  # of the risk in tr Q
    stiffness = 8 * h * (1 - 2 * s) + 16 * h**2 * (S - 4 * s + 3 * b * s**2)  # of the norm around its fixed point
    push = 16 * h / q + 16 * h**2 * (4 * (1 - 2 * norm) / q + 8 / q**2 - 16 * norm / (p * q))  # of |R|^2 on tr Q
    return 4 / (p * q) - slope * push / (2 * growth - stiffness)
