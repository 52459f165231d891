"""What the noise of SGD does to quadratic students on the plateau of the sphere, and to the time at which they leave it.

Symbols as in `theory/sphere.py`.
"""

import itertools
import math
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, Seed
from solvable.problems import Problem
from solvable.theory.prediction import TIME, Prediction, prediction
from solvable.theory.sphere import SMALL, check_one_student, growing_constants
from solvable.theory.sphere_escape import (
    Estimate,
    annealed_escape_time,
    check_drop,
    escape_time,
    finite_dim,
    goal_of,
    quenched_escape_time,
)


def noise(problem: Problem) -> Prediction:
    """v = (2 gamma/(p omega)) (10 - 6/p + 8/p^2 + Delta): noise spreads cross overlaps by v/dim each, as if from the start."""
    p, gamma, label, omega, _, _ = growing_constants(problem)
    return Prediction(
        2 * gamma / (p * omega) * (10 - 6 / p + 8 / p**2 + label),
        (*SMALL, "dim large"),
        "linear noise around the plateau",
    )


@prediction(annealed_escape_time, clock=TIME)
def noisy_escape_time(
    problem: Problem,
    drop: float = 0.1,
    draws: int = 10_000,
    seed: Seed = 0,
    *,
    start: Overlaps | None = None,
    clock: str = "alpha",
) -> Prediction:
    """Mean escape time of SGD on the sphere at finite dim, with the noise of the plateau.

    Parameters
    ----------
    draws : int
        How many random starts are drawn.
    seed : int or SeedSequence
        Of the draws.
    start : Overlaps, optional
        The state at time zero; left out, the mean over random starts.

    Returns
    -------
    Prediction
        Its value: `Estimate`, of the time.

    Notes
    -----
    From random starts it is `quenched_escape_time` less log(1 + v)/(2 growth), because noise adds v/dim to the square
    of every first overlap (`plateau_noise`). From one `start` it is `escape_time` with the first passage of a process
    whose overlaps grow and scatter linearly in the place of the logarithm of the linear law: with a = p/2 and
    y = dim sum m^2/(2 v), first and last,

        log(y_1/y_0)   becomes   integral over s from 0 to 1 of (1 - s)^(a - 1) (e^(-y_0 s) - e^(-y_1 s))/s

    so that noise delays a start with large overlaps and hastens one with small ones (docs/ERRATA.md A21). At width one
    and y_0 = 0 this is arnaboldi2023, (52).

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(sv.theory.noisy_escape_time(problem).value.mean, 2)
    20.11
    """
    v, (p, _, _, omega, _, pace) = noise(problem).value, growing_constants(problem)
    if start is None:
        plain = quenched_escape_time(problem, drop, draws, seed)
        shifted = plain.value._replace(mean=plain.value.mean - math.log1p(v) / (2 * omega * pace))
        return Prediction(shifted, (*SMALL, "dim large"), "noise added to the start", plain.caveats)
    dim, law = finite_dim(problem), escape_time(problem, start, drop)
    size, between = np.sum(start.cross_overlap**2), np.sum(start.student_overlap**2) - p
    first, last = (float(dim * one / (2 * v)) for one in (size, goal_of(p, size, between, drop)))
    later = (_passage(p, first, last) - math.log(last / first)) / (2 * omega * pace)
    told, source = Estimate(law.value + later, 0.0), "linear noise around the plateau"
    return Prediction(told, (*SMALL, "dim large"), source, law.caveats)


def _passage(p: int, first: float, last: float) -> float:
    """Mean time, times twice the growth, in which the sum of p squares that grow and scatter linearly passes from `first` to
    `last`, in units of twice the variance that is left behind."""
    from scipy.integrate import quad

    def left(s: float) -> float:
        return math.exp(-first * s) - math.exp(-last * s)

    def early(u: float) -> float:  # u = log s: the integrand is flat between 1/last and 1/first
        s = math.exp(u)
        return (1 - s) ** (p / 2 - 1) * left(s)

    ends = [math.log(1e-16 / last), *sorted(-math.log(max(2.0, y)) for y in (first, last)), -math.log(2)]
    options: dict[str, Any] = {"limit": 200, "epsrel": 1e-10, "epsabs": 1e-14}
    parts = [quad(early, low, high, **options)[0] for low, high in itertools.pairwise(ends) if high > low]
    late = quad(lambda s: left(s) / s, 0.5, 1, weight="alg", wvar=(0, p / 2 - 1), **options)[0]
    return float(sum(parts) + late)


@prediction(clock=TIME)
def zero_escape_time(problem: Problem, drop: float = 0.1, *, clock: str = "alpha") -> Prediction:
    """Mean time in which noise alone carries one student without overlap off the plateau.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    From m = 0 to m^2 = drop, while dm grows linearly: (2/omega) times the integral of Dawson's function up to
    sqrt(omega drop)/sigma, sigma^2 = gamma (48 + 4 Delta)/dim, for large dim [log(4 omega drop/sigma^2) + 0.5772]/(2 omega)
    (arnaboldi2023, (52)).

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(float(sv.theory.zero_escape_time(problem).value), 4)
    23.9947
    """
    check_one_student(problem)
    _, gamma, label, omega, _, pace = growing_constants(problem)
    check_drop(drop)
    from scipy.integrate import quad
    from scipy.special import dawsn

    sigma = math.sqrt(gamma * (48 + 4 * label) / finite_dim(problem))
    end = math.sqrt(omega * drop) / sigma
    body = quad(dawsn, 0, min(end, 30.0), limit=200, epsrel=1e-12)[0]
    if end > 30:  # Dawson's function is 1/(2x) + 1/(4x^3) + ... there
        body += 0.5 * math.log(end / 30) + (1 / 30**2 - 1 / end**2) / 8
    return Prediction(2 / omega * body / pace, ("drop small", "dim large"), "arnaboldi2023, (52)")
