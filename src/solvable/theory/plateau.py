"""The plateau of quadratic networks: how students first learn their norm and wait without knowing the teachers.

Orthonormal teachers; students with overlap q times the identity and small cross overlaps. In units of the rate h = c eta / p per
student, with S = 1 + 2/p*, b = (p + 4)/(p + 2) and s = q (p + 2)/p, per unit of alpha and at any rate (from bocchi2026, (6), with
the corrected order rate^2):

    ds/dalpha = s [8 h (1 - s) + 16 h^2 (S - 2 s + b s^2)] = 16 h^2 b s (s - s_low) (s - s_high)
    d log |R| / dalpha = 4 h (S - s)
"""

import math
from typing import NamedTuple

import numpy as np

from solvable.problems import Problem, require
from solvable.theory import sphere
from solvable.theory.prediction import NotApplicable, Prediction, prediction

SMALL = ("teacher orthonormal", "students orthogonal, of equal norm", "cross overlaps small")
START = (*SMALL, "dim infinite")


class Plateau(NamedTuple):
    """The plateau of quadratic students.

    Parameters
    ----------
    norm : float
        Overlap q of every student with itself.
    risk : float
        Height of the plateau.
    growth : float
        Rate per unit of time at which cross overlaps grow.
    decay : float
        Rate at which overlaps between students decay, to first order in the learning rate (on the sphere at any rate).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> sv.theory.plateau(problem).value.growth > 0
    True
    """

    norm: float
    risk: float
    growth: float
    decay: float


class Constants(NamedTuple):
    p: int
    q: int
    h: float
    S: float
    b: float


def on_sphere(problem: Problem) -> bool:
    return isinstance(problem, Problem) and problem.student.norm == "sphere"


def constants_of(problem: Problem) -> Constants:
    require(problem, units="quadratic", isotropic=True)
    rate, (p, q) = problem.training.schedule.rates[0], (problem.student.width, problem.teacher.width)
    return Constants(p, q, problem.training.loss_factor * rate / p, 1 + 2 / q, (p + 4) / (p + 2))


def roots(constants: Constants) -> tuple[float, float]:
    """s_low and s_high: where students wait, and beyond which their norm diverges."""
    _, _, h, S, b = constants
    inner = (1 + 4 * h) ** 2 - 8 * h * b * (1 + 2 * h * S)
    if inner < 0:
        raise NotApplicable(
            "training.learning_rate: so large that there is no plateau: norms diverge before anything is learned"
        )
    low = 2 * (1 + 2 * h * S) / (1 + 4 * h + math.sqrt(inner))  # the stable form of the lower root
    return low, (1 + 2 * h * S) / (2 * h * b * low)


@prediction()
def norm_learning(
    problem: Problem, alpha: float | np.ndarray, norm: float = 1.0, *, clock: str = "alpha"
) -> Prediction:
    """Norm of quadratic students over time, before they know the teachers.

    Parameters
    ----------
    norm : float
        Norm of every student at time zero.

    Returns
    -------
    Prediction
        Its value: ndarray, the norm at each time.

    Notes
    -----
    At small rates 1/q = (1 + 2/p) + (1/q0 - 1 - 2/p) exp(-8 t/p), t = c rate alpha (bocchi2026, (10)); the norm q
    relaxes to p/(p + 2).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.norm_learning(problem, 10.0).value), 4)
    0.7598
    """
    p, _, h, _, _ = constants_of(problem)
    left = (1 / norm - 1 - 2 / p) * np.exp(-8 * h * np.asarray(alpha, dtype=float))
    return Prediction(1 / (1 + 2 / p + left), (*START, "small rate"), "bocchi2026, (10)")


@prediction(clock=("growth", "decay"))
def plateau(problem: Problem, *, clock: str = "alpha") -> Prediction:
    """The plateau of quadratic students: norm, risk and growth rates.

    Returns
    -------
    Prediction
        Its value: `Plateau`.

    Notes
    -----
    At any rate; to first order norm p/(p + 2), risk c (2/p* + 2/(p + 2)), growth 8 c rate/(p p*) and decay
    16 c rate/(p (p + 2)) (bocchi2026, 4.1; (11) has the sign of the decay wrong). On the sphere, with one teacher:
    `theory/sphere.py`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(sv.theory.plateau(problem).value.risk, 4)
    1.3341
    """
    if on_sphere(problem):
        growth, decay, risk = sphere.growth(problem)
        shrinks = () if growth > 0 else ("cross overlaps do not grow: students without them stay so",)
        return Prediction(Plateau(1.0, risk, growth, decay), SMALL, "arnaboldi2023, section 3", shrinks)
    constants = constants_of(problem)
    p, q, h, S, _ = constants
    s = roots(constants)[0]
    norm = s * p / (p + 2)
    risk = problem.training.loss_factor * ((1 - norm) ** 2 + 2 * (1 / q + norm**2 / p))
    waiting = Plateau(norm, risk, 4 * h * (S - s), 16 * h / (p + 2))
    return Prediction(waiting, START, "fixed point of the norm at this rate")


@prediction()
def optimal_rate(problem: Problem) -> Prediction:
    """Learning rate at which quadratic students leave the plateau fastest.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Where cross overlaps grow fastest: the limit of vanishing first overlaps of the rate that escapes soonest
    (bocchi2026, 4.1, finds it numerically: docs/ERRATA.md B15). On the sphere: arnaboldi2023, section 3.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.optimal_rate(problem).value), 4)
    0.4325
    """
    if on_sphere(problem):
        return sphere.optimal_rate(problem)
    p, q, _, S, b = constants_of(problem)
    a = b * (S + 1) - 2
    s = (S * (b - 1) + math.sqrt(S**2 * (b - 1) ** 2 + a * S * (S - 1))) / a
    rate = p * (s - 1) / (2 * (S - 2 * s + b * s**2)) / problem.training.loss_factor
    limit = p * q / (4 * (q + 2)) / problem.training.loss_factor
    caveats = (f"beyond the rate {limit:.6g} at which zero error is unstable",) if rate > limit else ()
    return Prediction(rate, (*START, "cross overlaps vanishing at the start"), "extremum of the growth", caveats)


@prediction()
def plateau_limit(problem: Problem) -> Prediction:
    """Learning rate above which quadratic students never leave the plateau.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Cross overlaps stop growing at p p* (p + 2)/(2 c (p* + 2) (p + p* + 4)), unless the plateau has ceased to exist
    before (a double root of the norm's fixed points), where norms diverge.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.plateau_limit(problem).value), 4)
    0.6
    """
    p, _, _, S, b = constants_of(problem)
    h = (S - 1) / (2 * S * (b * S - 1))
    source = "zero of the growth"
    if (1 + 4 * h) / (4 * h * b) < S:  # s = S is the upper root there: the plateau has merged with it at a smaller rate
        h = (math.sqrt((b - 1) ** 2 + b * S - 1) - (b - 1)) / (4 * (b * S - 1))
        source = "end of the plateau"
    return Prediction(p * h / problem.training.loss_factor, START, source)


def unequal(Q: np.ndarray) -> list[str]:
    if np.abs(Q - Q[0, 0] * np.eye(len(Q))).max() > 1e-9 * Q[0, 0]:
        return ["students are not orthogonal of equal norm: their mean norm is used"]
    return []
