"""When quadratic students on the sphere leave the plateau (arnaboldi2023): from one start, from the mean one, in the mean over all.

Symbols as in `theory/sphere.py`.
"""

import math
from typing import NamedTuple

import numpy as np

from solvable.overlaps import Overlaps, Seed
from solvable.problems import Problem
from solvable.theory.prediction import TIME, NotApplicable, Prediction, prediction
from solvable.theory.sphere import SMALL, constants_of, growing_constants, optimal_rate

_QUENCHED = "arnaboldi2023, (46)"


class Estimate(NamedTuple):
    """A mean over random draws with its standard error.

    Parameters
    ----------
    mean, standard_error : float
        The error is zero where the mean is exact.

    Examples
    --------
    >>> sv.theory.Estimate(mean=12.3, standard_error=0.1).mean
    12.3
    """

    mean: float
    standard_error: float


def escape_time(problem: Problem, start: Overlaps, drop: float) -> Prediction:
    """Time alpha at which the risk (without that of label noise) has fallen by the fraction `drop` of its first value: exact at
    width one, else with cross overlaps that keep growing (arnaboldi2023, (45))."""
    p = growing_constants(problem).p
    check_drop(drop)
    m, Q = start.cross_overlap[:, 0], start.student_overlap
    size, between = float(np.sum(m**2)), float(np.sum(Q**2) - p)
    if size == 0:
        raise NotApplicable("cross_overlap: is zero at the start; see zero_escape_time")
    if p == 1 and size >= 1:
        raise NotApplicable("cross_overlap: is one at the start, so nothing is left to learn")
    time = float(_times(problem, np.array([size]), np.array([between]), drop, linear=p > 1)[0])
    if not np.isfinite(time):
        raise NotApplicable("training.label_noise: holds the risk above so large a drop")
    if p > 1:
        return Prediction(time, (*SMALL, "dim infinite"), "arnaboldi2023, (45)", _early(drop))
    return Prediction(time, ("dim infinite",), "closed form of arnaboldi2023, (7)")


def _early(drop: float) -> tuple[str, ...]:
    """What the linear law leaves out."""
    late = "growth slows down before: the risk falls later, by more the larger drop, width and rate are and the smaller dim"
    return (late,) if drop > 0.02 else ()


def check_drop(drop: float) -> None:
    if not isinstance(drop, int | float | np.number) or not 0 < drop < 1:
        raise ValueError(f"drop: {drop!r} given, must be between 0 and 1")


def _times(problem: Problem, size: np.ndarray, between: np.ndarray, drop: float, linear: bool) -> np.ndarray:
    """Escape times alpha from sums of squares of m and of the overlaps between students; `linear`, or exact at width one."""
    p, _, _, omega, b, pace = constants_of(problem)
    goal = goal_of(p, size, between, drop)
    if not linear:
        with np.errstate(invalid="ignore", divide="ignore"):
            t = np.log(goal * (omega - b * size) / (size * (omega - b * goal))) / (2 * omega)
        return np.where(b * goal < omega, t / pace, np.inf)
    return np.log(goal / size) / (2 * omega) / pace


def goal_of(p: int, size: np.ndarray, between: np.ndarray, drop: float) -> np.ndarray:
    """Sum of squares of m at the escape, by when the overlaps between students have decayed."""
    return drop * (p + 1) / 2 + (1 - drop) * (size - between / (2 * p))


@prediction(clock=TIME)
def annealed_escape_time(problem: Problem, drop: float = 0.1, *, clock: str = "alpha") -> Prediction:
    """Escape time on the sphere from the mean random start.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    `escape_time` of the mean random start, sum m^2 = p/dim and sum Q^2 = p (p - 1)/dim (arnaboldi2023, (47)).

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(float(sv.theory.annealed_escape_time(problem).value), 4)
    16.479
    """
    p, _, _, omega, _, pace = growing_constants(problem)
    check_drop(drop)
    dim = finite_dim(problem)
    time = math.log((p + 1) * (drop * dim + 1 - drop) / (2 * p)) / (2 * omega) / pace
    return Prediction(time, (*SMALL, "dim large"), "arnaboldi2023, (47)", _early(drop))


@prediction(annealed_escape_time, clock=TIME)
def quenched_escape_time(
    problem: Problem,
    drop: float = 0.1,
    draws: int = 10_000,
    seed: Seed = 0,
    *,
    printed: bool = False,
    clock: str = "alpha",
) -> Prediction:
    """Mean escape time on the sphere over random starts.

    Parameters
    ----------
    draws : int
        How many random starts are drawn.
    seed : int or SeedSequence
        Of the draws.

    Returns
    -------
    Prediction
        Its value: `Estimate`, of the time.

    Notes
    -----
    By quadrature at width one, else over `draws` starts, whose overlaps follow from a triangle of p + 1 rows (Bartlett).

    arnaboldi2023, (46), averages the linear law (45) at every width. Here width one has the exact law, which is later;
    `printed` gives the print's, the one to set beside `annealed_escape_time`, which is linear at every width.

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(sv.theory.quenched_escape_time(problem).value.mean, 2)
    21.39
    """
    return _quenched_time(problem, drop, draws, seed, printed)


def _quenched_time(problem: Problem, drop: float, draws: int, seed: Seed, printed: bool) -> Prediction:
    p = growing_constants(problem).p
    check_drop(drop)
    dim = finite_dim(problem)
    if not isinstance(draws, int | np.integer) or draws < 2:
        raise ValueError(f"draws: {draws!r} given, must be a whole number, at least 2")
    if p == 1:
        from scipy.integrate import quad
        from scipy.stats import beta

        law = beta(0.5, 0.5 * (dim - 1))

        def mean(x: float) -> float:  # x is the share of random starts with a smaller overlap
            return float(_times(problem, np.array([law.ppf(x)]), np.zeros(1), drop, printed)[0])

        time = quad(mean, 0, 1, limit=400, epsabs=0, epsrel=1e-9)[0]
        if not np.isfinite(time):
            raise NotApplicable("training.label_noise: holds the risk above so large a drop")
        if printed:
            return Prediction(Estimate(time, 0.0), (*SMALL, "dim infinite in the dynamics"), _QUENCHED, _early(drop))
        source = "mean of the closed form of arnaboldi2023, (7)"
        return Prediction(Estimate(time, 0.0), ("dim infinite in the dynamics",), source)
    random = np.random.default_rng(seed)
    rows = np.tril(random.standard_normal((draws, p + 1, p + 1)), -1)
    rows[:, np.arange(p + 1), np.arange(p + 1)] = np.sqrt(random.chisquare(dim - np.arange(p + 1), (draws, p + 1)))
    rows /= np.linalg.norm(rows, axis=2, keepdims=True)
    gram = rows @ rows.transpose(0, 2, 1)
    size, between = np.sum(gram[:, 0, 1:] ** 2, axis=1), np.sum(gram[:, 1:, 1:] ** 2, axis=(1, 2)) - p
    times = _times(problem, size, between, drop, linear=True)
    found = Estimate(float(times.mean()), float(times.std(ddof=1) / math.sqrt(draws)))
    return Prediction(found, (*SMALL, "dim infinite in the dynamics"), _QUENCHED, _early(drop))


@prediction()
def fewest_steps(problem: Problem, drop: float = 0.1) -> Prediction:
    """Number of SGD steps to the escape on the sphere, at the optimal learning rate.

    Returns
    -------
    Prediction
        Its value: float, the number of steps.

    Notes
    -----
    To the annealed escape: dim (8 + 2 p + (2 + Delta) p^2)/(4 p^2) log[...] (arnaboldi2023, section 3). At two
    students or more the optimal rate is unstable: see `optimal_rate`.

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(float(sv.theory.fewest_steps(problem).value), 4)
    13842.3898
    """
    best = optimal_rate(problem)
    at_best = problem.replace(training__learning_rate=best.value)
    found = annealed_escape_time(at_best, drop)
    return Prediction(
        found.value * finite_dim(problem),
        found.assumptions,
        "arnaboldi2023, section 3",
        (*best.caveats, *found.caveats),
    )


def finite_dim(problem: Problem) -> int:
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite, so first overlaps vanish")
    return problem.inputs.dim
