"""Linear students whose rate or step remembers the past: the last rate of AdaGrad-Norm, and the decay of the risk with momentum.

With J = sum_k a_k w_k, B the teachers' vector, D = |J - B|^2/N, A = sum a^2 and mean eigenvalue l, noiseless SGD gives
dD = -(eta/(c l) - eta^2 A) dG, where G is the sum of squared gradients of AdaGrad-Norm, eta = eta_0/X and X^2 = b^2 + G. Where D
vanishes in the end, its integral is

    2 eta_0 (X - b)/(c l) - 2 eta_0^2 A log(X/b) = D_0,    root X > eta_0 c l A.

On isotropic inputs (|e|^2, e.v, |v|^2)/N with e = J - B and slow velocities v of friction kappa obey a linear system, whose rates x
solve x^3 + 3 kappa x^2 + (2 kappa^2 + 4 kappa e) x + 2 kappa^2 e (2 - e) = 0 at the effective rate e = 2 c eta A. At kappa = 4 e
that is (x + 4 e)^3 = 32 e^4.

Where all else rests, what plain SGD lets grow as exp(g alpha), x' = g x, grows with slow velocities as x'' + kappa x' = kappa g x
does.
"""

import math
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from solvable.overlaps import Overlaps
from solvable.problems import CASES, AdaGrad, Momentum, Problem
from solvable.theory.linear import LINEAR, squared_distances
from solvable.theory.prediction import NotApplicable, Prediction, prediction

ADAGRAD = replace(LINEAR, label_noise=False, knows=("training.rate_rule",))
SLOW = replace(LINEAR, isotropic=True, knows=("training.momentum",))
GROWING = replace(CASES, norm="free")


def check_adagrad(problem: Problem) -> AdaGrad:
    """Raise unless linear students learn by AdaGrad-Norm without noise."""
    ADAGRAD.require(problem)
    rule = problem.training.rate_rule
    if not isinstance(rule, AdaGrad):
        raise NotApplicable("training.rate_rule: is not AdaGrad, whose last rate this closed form is")
    if problem.inputs.eigenvalues.min() <= 0:
        raise NotApplicable("inputs.spectrum: has an eigenvalue zero, so that the distance does not vanish")
    return rule


def check_growth(problem: Problem) -> float:
    """The friction; raises unless students of free norm learn with slow momentum."""
    GROWING.require(problem)
    return _friction(problem)


def check_slow(problem: Problem) -> tuple[float, float]:
    """Friction and effective rate; raises unless linear students learn with slow momentum."""
    SLOW.require(problem)
    squares = float((np.array(problem.student.readout_values) ** 2).sum())
    return _friction(problem), 2 * problem.training.loss_factor * float(problem.training.schedule.rates[0]) * squares


@prediction(check_adagrad)
def adagrad_rate(problem: Problem, start: Overlaps) -> Prediction:
    """The rate that AdaGrad-Norm tends to for noiseless linear students.

    Parameters
    ----------
    problem : Problem
        With `training.rate_rule` AdaGrad. `NotApplicable` says why where this form does not hold.
    start : Overlaps
        The state at time zero, whose distance from the teachers counts.

    Returns
    -------
    Prediction
        Of the last learning rate; for large distances 4 rate^2/(l D_0) at loss factor 1/2, inversely proportional to the
        mean eigenvalue l.

    Examples
    --------
    >>> linear = {"width": 1, "activation": "linear"}
    >>> problem = sv.Problem(
    ...     teacher=linear, student=linear,
    ...     training=sv.Training(learning_rate=0.5, loss_factor=0.5, rate_rule=sv.problems.AdaGrad(offset=1.0)),
    ... )
    >>> start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.2]])
    >>> round(sv.theory.adagrad_rate(problem, start).value, 6)
    0.25388
    """
    rule = check_adagrad(problem)
    rate, offset, c = float(problem.training.schedule.rates[0]), rule.offset, problem.training.loss_factor
    squares = float((np.array(problem.student.readout_values) ** 2).sum())
    mean = float(problem.inputs.fractions @ problem.inputs.eigenvalues)
    distance = float(squared_distances(problem, start).sum())

    def left(X: float) -> float:
        return 2 * rate * (X - offset) / (c * mean) - 2 * rate**2 * squares * math.log(X / offset) - distance

    low = max(offset, rate * c * mean * squares)
    high = low + 1.0
    while left(high) < 0:
        high *= 2
    root = brentq(left, low, high, xtol=1e-14 * high, rtol=1e-14) if left(low) < 0 else low
    assumptions = ("late times", "dim infinite", "noiseless")
    return Prediction(rate / root, assumptions, "derived here; collinswoodfin2024 states that there is a limit")


@prediction(check_slow)
def momentum_late_rate(problem: Problem) -> Prediction:
    """The rate at which the risk of linear students falls in the end with slow momentum.

    Parameters
    ----------
    problem : Problem
        With `training.momentum` of the kind kappa, on isotropic inputs. `NotApplicable` says why where this form does not
        hold.

    Returns
    -------
    Prediction
        Rate per unit of alpha, negative where the risk grows; plain SGD has e (2 - e) at the effective rate e.

    Examples
    --------
    >>> linear = {"width": 1, "activation": "linear"}
    >>> problem = sv.Problem(
    ...     teacher=linear, student=linear,
    ...     training=sv.Training(learning_rate=0.01, loss_factor=0.5, momentum=sv.Momentum(kappa=0.04)),
    ... )
    >>> round(sv.theory.momentum_late_rate(problem).value / (0.01 * 1.99), 3)
    1.666
    """
    kappa, e = check_slow(problem)
    roots = np.roots([1, 3 * kappa, 2 * kappa**2 + 4 * kappa * e, 2 * kappa**2 * e * (2 - e)])
    return Prediction(-float(roots.real.max()), ("late times", "dim infinite"), "derived here")


@prediction(check_growth)
def momentum_growth(problem: Problem, growth: float) -> Prediction:
    """The rate at which slow velocities let grow what plain SGD lets grow exponentially while all else rests, as on a plateau.

    Parameters
    ----------
    problem : Problem
        With `training.momentum` of the kind kappa, and students of free norm: on the sphere velocities along the weights do
        not rest.
    growth : float
        The rate of plain SGD at the same effective rate, per unit of alpha.

    Returns
    -------
    Prediction
        The positive root x of x^2 + kappa x = kappa growth: below `growth`, by growth^2/kappa at large friction.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1),
    ...     student=sv.Student(width=1),
    ...     training=sv.Training(learning_rate=0.01, momentum=sv.Momentum(kappa=2.0)),
    ... )
    >>> round(sv.theory.momentum_growth(problem, 0.1).value, 6)
    0.095445
    """
    kappa = check_growth(problem)
    value = 2 * growth / (1 + math.sqrt(1 + 4 * growth / kappa))
    return Prediction(value, ("exponential growth", "all else rests"), "derived here")


def _friction(problem: Problem) -> float:
    momentum = problem.training.momentum
    if not isinstance(momentum, Momentum) or not isinstance(momentum.kappa, float):
        raise NotApplicable(
            "training.momentum: is not of the kind kappa, a constant; fast velocities are the effective rate"
        )
    return momentum.kappa
