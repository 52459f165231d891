"""Quadratic students on the sphere that learn one teacher (arnaboldi2023): the plateau, rates, and one student in closed form.

With gamma = 2 c rate, paper time t = gamma alpha/p, label noise Delta and teacher and students of norm one, cross overlaps m grow
from m = 0, Q = 1 as exp(omega t), omega = 4 [1 - (gamma/p) (1 + 1/p + 4/p^2 + Delta/2)], and the risk is
2 c [1 + 1/p + sum_(j != l) Q_jl^2/p^2 - (2/p) sum_j m_j^2]. At width one u = m^2 obeys du/dt = 2 u (a - b u), a = omega and
b = 4 (1 - 6 gamma), which is solved in closed form.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems import Domain, Problem
from solvable.theory.prediction import NotApplicable, Prediction, prediction

SMALL = ("students orthogonal", "cross overlaps small")
# a sampled teacher has norm one up to the order of 1/sqrt(dim), and is taken too
SPHERE = Domain(units="quadratic", norm="sphere", label_noise=True, teacher_width=1)


class SphereConstants(NamedTuple):
    """Width, gamma, Delta, omega and b per unit of t, and t per unit of alpha."""

    p: int
    gamma: float
    noise: float
    omega: float
    b: float
    pace: float


def constants_of(problem: Problem, *, trained: bool = False) -> SphereConstants:
    sampled = isinstance(problem, Problem) and problem.teacher.overlap == "sampled"
    replace(SPHERE, teachers="any" if sampled else "orthonormal", trained_readout=trained).require(problem)
    rate, p, noise = problem.training.schedule.rates[0], problem.student.width, float(problem.training.label_noise)
    if problem.training.train_readout and not math.isclose(problem.training.readout_schedule.rates[0], rate / p**2):
        raise NotApplicable("training.readout_rate: is another one; this closed form is for learning_rate / width^2")
    gamma = 2 * problem.training.loss_factor * rate
    omega = 4 * (1 - gamma / p * (1 + 1 / p + 4 / p**2 + noise / 2))
    return SphereConstants(p, gamma, noise, omega, 4 * (1 - 6 * gamma), gamma / p)


def growing_constants(problem: Problem) -> SphereConstants:
    constants = constants_of(problem)
    if constants.omega <= 0:
        raise NotApplicable("training.learning_rate: so large that cross overlaps do not grow")
    return constants


def growth(problem: Problem) -> tuple[float, float, float]:
    """Per unit of alpha: growth of cross overlaps and decay of overlaps between students; and the risk of the plateau. With a
    trained readout students wait at p/(p + 2) times the first one."""
    p, gamma, label, omega, _, pace = constants_of(problem, trained=True)
    c, a = problem.training.loss_factor, 1.0
    if problem.training.train_readout:
        a = p / (p + 2)
        omega = 4 * a - 2 * gamma / p * a**2 * (2 + 2 / (p + 2) + label)
    slowed = 4 * gamma / (p + 2) ** 2 if problem.training.train_readout else 8 * gamma / p**2
    decay = 8 * a**2 / p * (1 - slowed) if p > 1 else 0.0
    return omega * pace, decay * pace, c * ((1 - a) ** 2 + 2 * (1 + a**2 / p))


def rate_limit(problem: Problem) -> Prediction:
    """Largest rate at which students leave m = 0 and come near the teacher: p/6 over 2 c without label noise, by the stability of
    the solution; with it the smaller of that and the rate at which overlaps stop growing, at width one 2/(12 + Delta)
    (arnaboldi2023, after (7), has 1/6, which is necessary: docs/ERRATA.md A7)."""
    p, _, label, _, _, _ = constants_of(problem)
    limit = p * min(1 / 6, 1 / (1 + 1 / p + 4 / p**2 + label / 2))
    return Prediction(
        limit / (2 * problem.training.loss_factor), ("large dim",), "linear stability of plateau and solution"
    )


def optimal_rate(problem: Problem) -> Prediction:
    """Rate at which cross overlaps grow fastest, gamma = p^3/(8 + 2 p + (2 + Delta) p^2) (arnaboldi2023, section 3)."""
    p, _, label, _, _, _ = constants_of(problem)
    rate = p**3 / (8 + 2 * p + (2 + label) * p**2) / (2 * problem.training.loss_factor)
    limit = rate_limit(problem).value
    caveats = (
        (f"beyond the rate {limit:.6g} at which zero error is unstable: learning stalls",) if rate >= limit else ()
    )
    return Prediction(rate, SMALL, "extremum of the growth", caveats)


def noise_floor(problem: Problem) -> Prediction:
    """Risk at which a single student is held in the end. Where cross overlaps grow it is that of label noise,
    2 c gamma Delta/(1 - 6 gamma) (arnaboldi2023, (8)). Where they do not (`rate_limit`), u = m^2 falls to zero from any first value
    below one, and the risk is 4 c, that of the plateau (docs/ERRATA.md A7)."""
    check_one_student(problem)
    _, gamma, label, omega, b, _ = constants_of(problem)
    if omega == b == 0:
        raise NotApplicable(
            "training.learning_rate: 1/6 (in arnaboldi2023's units), at which overlaps stay as they are"
        )
    if omega <= 0:
        return Prediction(4 * problem.training.loss_factor, ("late times", "dim infinite"), "fall to the plateau")
    return Prediction(
        8 * problem.training.loss_factor * gamma * label / b, ("late times", "dim infinite"), "arnaboldi2023, (8)"
    )


def check_one_student(problem: Problem) -> None:
    if constants_of(problem).p > 1:
        raise NotApplicable(f"student.width: is {problem.student.width}, not 1")


@prediction(check_one_student)
def sphere_overlap(problem: Problem, start: Overlaps, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Square of the cross overlap of a single student on the sphere over time.

    Returns
    -------
    Prediction
        Its value: ndarray, the square at each time.

    Notes
    -----
    In closed form u = a u_0 e^(2 a t) / (a + b u_0 (e^(2 a t) - 1)).

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.sphere_overlap(problem, start, 20.0).value), 4)
    0.0041
    """
    _, _, _, a, b, pace = constants_of(problem)
    u, time = (
        float(start.cross_overlap[0, 0]) ** 2,
        2 * pace * np.asarray(alpha, dtype=float),
    )
    with np.errstate(over="ignore"):
        shrunk = np.exp(-a * time)
        lasting = -np.expm1(-a * time) / a if a != 0 else time
    return Prediction(u / (shrunk + b * u * lasting), ("dim infinite",), "closed form of arnaboldi2023, (7)")
