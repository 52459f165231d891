"""Linear units at small rates on a power-law spectrum: the sum over the spectrum as an integral, and when it is a power of time.

With lambda_k = lambda_1 / k^(1 + beta), s = beta/(1 + beta), z = 2 e lambda_1 alpha and the first squared distance d, the risk is a
sum over k = 1..L of f(k) = c d (lambda_1/L) k^-(1 + beta) exp(-z / k^(1 + beta)). Its integral from `low` to `high` is

    c d (lambda_1/L) z^-s / (1 + beta) [Gamma(s, z/high^(1 + beta)) - Gamma(s, z/low^(1 + beta))],

with the limits 1, L in worschech2024, (50); 0, L in (52), "only G1"; and 0, infinity in (53), the power law itself.
"""

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import gamma, gammaincc, zeta

from solvable.overlaps import Overlaps
from solvable.problems import PowerLaw, Problem
from solvable.theory.features import checked_features
from solvable.theory.linear import LINEAR, check_finite, effective_rate, squared_distances
from solvable.theory.prediction import TIME, NotApplicable, Prediction, checked_times, prediction

ASSUMPTIONS = ("dim infinite", "rate small", "start spread as the dimensions")


def check_power_law(problem: Problem) -> PowerLaw:
    replace(LINEAR, power_law=True).require(problem)
    law = problem.inputs.spectrum
    assert isinstance(law, PowerLaw)
    return law


def check_power_law_features(problem: Problem) -> int:
    law, dim = check_power_law(problem), check_finite(problem)
    if law.distinct != dim:
        raise NotApplicable("inputs.spectrum: has eigenvalues that repeat; see feature_risk")
    return dim


def _amplitude(problem: Problem, start: Overlaps) -> float:
    """c d lambda_1 / L."""
    law, distance = check_power_law(problem), float(squared_distances(problem, start).sum())
    return problem.training.loss_factor * distance * float(problem.inputs.eigenvalues.max()) / law.distinct


def _scaled(problem: Problem, alpha: Any) -> np.ndarray:
    """z = 2 e lambda_1 alpha."""
    times = checked_times("alpha", alpha)
    scaled: np.ndarray = 2 * effective_rate(problem) * problem.inputs.eigenvalues.max() * times
    return scaled


def _integral(beta: float, z: np.ndarray, low: float, high: float) -> np.ndarray:
    """Of k^-(1 + beta) exp(-z / k^(1 + beta)) from `low` to `high`; infinite at z = 0 if `low` is zero."""
    s = beta / (1 + beta)
    with np.errstate(invalid="ignore", divide="ignore"):
        ends = [gammaincc(s, z / np.float64(k) ** (1 + beta)) for k in (high, low)]
        at_zero = (np.float64(low) ** -beta - np.float64(high) ** -beta) / beta
        found: np.ndarray = np.where(z > 0, z**-s * gamma(s) * (ends[0] - ends[1]) / (1 + beta), at_zero)
    return found


@prediction(check_power_law)
def power_law_risk(
    problem: Problem, start: Overlaps, alpha: Any, *, limits: tuple[float, float] | None = None, clock: str = "alpha"
) -> Prediction:
    """Risk of linear students at small rates as an integral over a power-law spectrum.

    Parameters
    ----------
    limits : (float, float), optional
        Limits of the integral over the rank; left out, 1/2 and L + 1/2.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    The small-rate risk as an integral over the spectrum, by incomplete gamma functions (worschech2024, 9 and 50 to 53).

    Its `limits` are the half-integers 1/2 and L + 1/2 if left out. The paper's are (1, L); at beta = 1 the first are
    right to 6 % from z = 2 e lambda_1 alpha = 1 on, the paper's to 21 %; both to 1 % from z = 3 on. (0, L) gives (52),
    and (0, infinity) the power law (53). From a start that is spread as the dimensions are (its total distance is
    taken).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.power_law_risk(problem, start, 10.0).value), 4)
    0.0686
    """
    law = check_power_law(problem)
    low, high = (0.5, law.distinct + 0.5) if limits is None else limits
    if not 0 <= low < high:
        raise ValueError(f"limits: {limits!r} given, must be two numbers, the second larger, none negative")
    z = _scaled(problem, alpha)
    caveats = (
        () if (z >= 1).all() else ("before z = 2 e lambda_1 alpha = 1 the sum is not an integral: see linear_risk",)
    )
    value = _amplitude(problem, start) * _integral(law.beta, z, low, high)
    return Prediction(value, ASSUMPTIONS, "worschech2024, (9)", caveats)


@prediction(check_power_law)
def power_law_ends(problem: Problem, start: Overlaps, alpha: Any, *, clock: str = "alpha") -> Prediction:
    """Correction to the integral over a power-law spectrum by its end points.

    Returns
    -------
    Prediction
        Its value: ndarray, the correction at each time.

    Notes
    -----
    [f(1) + f(L)]/2, what the Euler-Maclaurin formula adds in zeroth order to the integral from 1 to L (worschech2024,
    48). From z = 1 on, integral and ends together are at most a percent below the sum, at L = 128.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.power_law_ends(problem, start, 10.0).value), 4)
    0.0009
    """
    law, z = check_power_law(problem), _scaled(problem, alpha)
    last = float(law.distinct) ** -(1 + law.beta)
    value = 0.5 * _amplitude(problem, start) * (np.exp(-z) + last * np.exp(-z * last))
    return Prediction(value, ASSUMPTIONS, "worschech2024, (48) and (49), corrected")


@prediction(check_power_law)
def power_law_gap(problem: Problem, start: Overlaps) -> Prediction:
    """Bound on the difference between the sum over a power-law spectrum and its integral.

    Returns
    -------
    Prediction
        Its value: float, the bound.

    Notes
    -----
    Bound on what the sum exceeds its integral from 1 to L by, reached at alpha = 0 but for terms of order L^-(2 +
    beta): c d (lambda_1/L) [zeta(1 + beta) - 1/beta + 1/(2 L^(1 + beta))] (worschech2024, before 49, there without the
    1/2).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.power_law_gap(problem, start).value), 4)
    0.3214
    """
    law = check_power_law(problem)
    bracket = float(zeta(1 + law.beta)) - 1 / law.beta + 0.5 * float(law.distinct) ** -(1 + law.beta)
    return Prediction(_amplitude(problem, start) * bracket, ASSUMPTIONS, "worschech2024, before (49), corrected")


@prediction(check_power_law_features)
def power_law_feature_risk(
    problem: Problem, start: Overlaps, features: int, alpha: Any, *, printed: bool = False, clock: str = "alpha"
) -> Prediction:
    """Risk of a linear student with some trained coordinates, as integrals over a power-law spectrum.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    `feature_risk` at small rates as integrals over the spectrum: those of the trained coordinates, 1/2 to n + 1/2, and
    what the others keep, (lambda_1/beta L) [(n + 1/2)^-beta - (L + 1/2)^-beta]. With `printed`, (11) and (79) of
    worschech2024 as they stand: from 1 to L over all coordinates, so that those that are not trained count twice.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.power_law_feature_risk(problem, start, 3, 10.0).value), 4)
    0.1186
    """
    L, n = check_power_law_features(problem), checked_features(problem, features)
    z, beta = _scaled(problem, alpha), check_power_law(problem).beta
    if printed:
        shape = _integral(beta, z, 1.0, L) + (float(n) ** -beta - float(L) ** -beta) / beta
        return Prediction(_amplitude(problem, start) * shape, ASSUMPTIONS, "worschech2024, (79), as printed")
    shape = _integral(beta, z, 0.5, n + 0.5) + ((n + 0.5) ** -beta - (L + 0.5) ** -beta) / beta
    return Prediction(_amplitude(problem, start) * shape, ASSUMPTIONS, "worschech2024, (79), corrected")


@prediction(check_power_law, clock=TIME)
def power_law_window(problem: Problem, *, within: float | None = None, clock: str = "alpha") -> Prediction:
    """Between which times the risk of linear students falls as a power of time.

    Parameters
    ----------
    within : float, optional
        Largest relative deviation of the local exponent; left out, the paper's window.

    Returns
    -------
    Prediction
        Its value: (float, float), begin and end.

    Notes
    -----
    From when to when (alpha) the risk falls as alpha^-s, s = beta/(1 + beta).

    worschech2024, after (9): from 1/(2 e lambda_1) to Gamma(1 + s)^(1/s) L^(1 + beta) / (2 e lambda_1). This is where
    the power law has ended: there Gamma(s) - x^s/s = 0 for x = z/L^(1 + beta), and at beta = 1 the local exponent is
    -1.6, not -0.5. `within` asks for the times between which the local exponent is that near to -s, relative to s: from
    where the sum no longer sees its first terms to where x^s exp(-x) / Gamma(s, x) = `within` x s. If the second is
    before the first there are none.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> [round(float(one), 3) for one in sv.theory.power_law_window(problem).value]
    [0.495, 99.547]
    """
    law, e = check_power_law(problem), effective_rate(problem)
    s, unit = law.beta / (1 + law.beta), 1 / (2 * e * float(problem.inputs.eigenvalues.max()))
    last = float(law.distinct) ** (1 + law.beta)
    if within is None:
        end = math.gamma(1 + s) ** (1 / s) * last
        return Prediction((unit, end * unit), ("rate small",), "worschech2024, after (9)")
    if not 0 < within < 1:
        raise ValueError(f"within: {within!r} given, must be a share of the exponent between 0 and 1")
    begin, end = _first(law.beta, within), _last(s, within)
    caveats = () if begin < end * last else ("too few eigenvalues: the local exponent is nowhere so near",)
    window = begin * unit, end * last * unit
    return Prediction(window, ("rate small",), "incomplete gamma functions", caveats)


def _first(beta: float, within: float) -> float:
    """The last z at which the local exponent of the whole sum, L infinite, is further than `within` x s from -s. The terms beyond
    the thousandth are an integral."""
    s, z, k = beta / (1 + beta), np.geomspace(0.03, 300, 2001), np.arange(1.0, 1001.0) ** -(1 + beta)
    terms = k * np.exp(-np.multiply.outer(z, k))
    total = terms.sum(axis=1) + _integral(beta, z, 1000.5, np.inf)
    slope = -z * ((terms * k).sum(axis=1) + 1000.5 ** -(1 + 2 * beta) / (1 + 2 * beta)) / total
    return float(z[np.abs(slope / s + 1) > within][-1])


def _last(s: float, within: float) -> float:
    """The x at which x^s exp(-x) / Gamma(s, x) is `within` x s."""

    def bend(t: float) -> float:
        return math.exp(s * t - math.exp(t)) / math.gamma(s) / float(gammaincc(s, math.exp(t)))

    return math.exp(brentq(lambda t: bend(t) - within * s, -700.0, 3.0))
