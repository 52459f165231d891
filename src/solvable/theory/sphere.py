"""Quadratic students on the sphere that learn one teacher (arnaboldi2023): the plateau, its noise, and when it is left.

With gamma = 2 c rate, paper time t = gamma alpha/p, label noise Delta and teacher and students of norm one, cross overlaps m grow
from m = 0, Q = 1 as exp(omega t), omega = 4 [1 - (gamma/p) (1 + 1/p + 4/p^2 + Delta/2)], and the risk is
2 c [1 + 1/p + sum_(j != l) Q_jl^2/p^2 - (2/p) sum_j m_j^2]. At width one u = m^2 obeys du/dt = 2 u (a - b u), a = omega and
b = 4 (1 - 6 gamma), which is solved in closed form.
"""

import itertools
import math
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from solvable.overlaps import Overlaps, Seed, check_start
from solvable.problems import Domain, Problem
from solvable.theory.clocks import alpha_of, times_in
from solvable.theory.prediction import NotApplicable, Prediction

SMALL = ("students orthogonal", "cross overlaps small")
_QUENCHED = "arnaboldi2023, (46)"
# a sampled teacher has norm one up to the order of 1/sqrt(dim), and is taken too
SPHERE = Domain(units="quadratic", norm="sphere", label_noise=True, teacher_width=1)


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


class Constants(NamedTuple):
    """Width, gamma, Delta, omega and b per unit of t, and t per unit of alpha."""

    p: int
    gamma: float
    noise: float
    omega: float
    b: float
    pace: float


def constants_of(problem: Problem, *, trained: bool = False) -> Constants:
    sampled = isinstance(problem, Problem) and problem.teacher.overlap == "sampled"
    replace(SPHERE, teachers="any" if sampled else "orthonormal", trained_readout=trained).require(problem)
    rate, p, noise = problem.training.schedule.rates[0], problem.student.width, float(problem.training.label_noise)
    if problem.training.train_readout and not math.isclose(problem.training.readout_schedule.rates[0], rate / p**2):
        raise NotApplicable("training.readout_rate: is another one; this closed form is for learning_rate / width^2")
    gamma = 2 * problem.training.loss_factor * rate
    omega = 4 * (1 - gamma / p * (1 + 1 / p + 4 / p**2 + noise / 2))
    return Constants(p, gamma, noise, omega, 4 * (1 - 6 * gamma), gamma / p)


def growing_constants(problem: Problem) -> Constants:
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


def noise(problem: Problem) -> Prediction:
    """v = (2 gamma/(p omega)) (10 - 6/p + 8/p^2 + Delta): noise spreads cross overlaps by v/dim each, as if from the start."""
    p, gamma, label, omega, _, _ = growing_constants(problem)
    return Prediction(
        2 * gamma / (p * omega) * (10 - 6 / p + 8 / p**2 + label),
        (*SMALL, "dim large"),
        "linear noise around the plateau",
    )


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


def sphere_overlap(problem: Problem, start: Overlaps, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Square of the cross overlap of a single student on the sphere over time.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    start : Overlaps
        The state at time zero.
    alpha : float or array
        Times, in the unit of `clock`.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: ndarray, the square at each time.

    Notes
    -----
    Square of the cross overlap of a single student at time alpha, in closed form:
    u = a u_0 e^(2 a t) / (a + b u_0 (e^(2 a t) - 1)).

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.sphere_overlap(problem, start, 20.0).value), 4)
    0.0041
    """
    check_one_student(problem)
    _, _, _, a, b, pace = constants_of(problem)
    check_start(problem, start)
    u, time = (
        float(start.cross_overlap[0, 0]) ** 2,
        2 * pace * np.asarray(alpha_of(problem, alpha, clock), dtype=float),
    )
    with np.errstate(over="ignore"):
        shrunk = np.exp(-a * time)
        lasting = -np.expm1(-a * time) / a if a != 0 else time
    return Prediction(u / (shrunk + b * u * lasting), ("dim infinite",), "closed form of arnaboldi2023, (7)")


def escape_time(problem: Problem, start: Overlaps, drop: float) -> Prediction:
    """Time alpha at which the risk (without that of label noise) has fallen by the fraction `drop` of its first value: exact at
    width one, else with cross overlaps that keep growing (arnaboldi2023, (45))."""
    p = growing_constants(problem).p
    check_drop(drop)
    check_start(problem, start)
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


def annealed_escape_time(problem: Problem, drop: float = 0.1, *, clock: str = "alpha") -> Prediction:
    """Escape time of one student on the sphere from the mean random start.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    drop : float
        Fraction of the risk that has been lost.
    clock : str
        Unit of times and of rates per time, as in `run`.

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
    found = Prediction(time, (*SMALL, "dim large"), "arnaboldi2023, (47)", _early(drop))
    return times_in(found, problem, clock)


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
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    drop : float
        Fraction of the risk that has been lost.
    draws : int
        How many random starts are drawn.
    seed : int or SeedSequence
        Of the draws.
    printed : bool
        Whether to evaluate the formula as the paper prints it.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: `Estimate`, of the time.

    Notes
    -----
    Mean `escape_time` over random starts on the sphere: by quadrature at width one, else over `draws` starts, whose
    overlaps follow from a triangle of p + 1 rows (Bartlett).

    arnaboldi2023, (46), averages the linear law (45) at every width. Here width one has the exact law, which is later;
    `printed` gives the print's, the one to set beside `annealed_escape_time`, which is linear at every width.

    Examples
    --------
    >>> problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=1000)
    >>> round(sv.theory.quenched_escape_time(problem).value.mean, 2)
    21.39
    """
    return times_in(_quenched_time(problem, drop, draws, seed, printed), problem, clock)


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
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    drop : float
        Fraction of the risk that has been lost.
    draws : int
        How many random starts are drawn.
    seed : int or SeedSequence
        Of the draws.
    start : Overlaps, optional
        The state at time zero; left out, the mean over random starts.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: `Estimate`, of the time.

    Notes
    -----
    Mean escape time alpha of SGD at this dim, with the noise of the plateau (`plateau_noise`).

    From random starts it is `quenched_escape_time` less log(1 + v)/(2 growth), because noise adds v/dim to the square
    of every first overlap. From one `start` it is `escape_time` with the first passage of a process whose overlaps grow
    and scatter linearly in the place of the logarithm of the linear law: with a = p/2 and y = dim sum m^2/(2 v), first
    and last,

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
        found = Prediction(shifted, (*SMALL, "dim large"), "noise added to the start", plain.caveats)
        return times_in(found, problem, clock)
    dim, law = finite_dim(problem), escape_time(problem, start, drop)
    size, between = np.sum(start.cross_overlap**2), np.sum(start.student_overlap**2) - p
    first, last = (float(dim * one / (2 * v)) for one in (size, goal_of(p, size, between, drop)))
    later = (_passage(p, first, last) - math.log(last / first)) / (2 * omega * pace)
    told, source = Estimate(law.value + later, 0.0), "linear noise around the plateau"
    return times_in(Prediction(told, (*SMALL, "dim large"), source, law.caveats), problem, clock)


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


def zero_escape_time(problem: Problem, drop: float = 0.1, *, clock: str = "alpha") -> Prediction:
    """Mean time in which noise alone carries one student without overlap off the plateau.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    drop : float
        Fraction of the risk that has been lost.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    Mean time alpha in which one student without any overlap, m = 0, is carried to m^2 = drop by noise alone, while dm
    grows linearly: (2/omega) times the integral of Dawson's function up to sqrt(omega drop)/sigma, sigma^2 = gamma (48
    + 4 Delta)/dim, for large dim [log(4 omega drop/sigma^2) + 0.5772]/(2 omega) (arnaboldi2023, (52)).

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
    found = Prediction(2 / omega * body / pace, ("drop small", "dim large"), "arnaboldi2023, (52)")
    return times_in(found, problem, clock)


def fewest_steps(problem: Problem, drop: float = 0.1) -> Prediction:
    """Number of SGD steps to the escape on the sphere, at the optimal learning rate.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    drop : float
        Fraction of the risk that has been lost.

    Returns
    -------
    Prediction
        Its value: float, the number of steps.

    Notes
    -----
    Steps of SGD to the annealed escape at the optimal rate, dim (8 + 2 p + (2 + Delta) p^2)/(4 p^2) log[...]
    (arnaboldi2023, section 3). At two students or more that rate is unstable: see `optimal_rate`.

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
