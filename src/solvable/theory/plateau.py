"""The plateau of quadratic networks: how students first learn their norm, wait without knowing the teachers, and escape.

Orthonormal teachers; students with overlap q times the identity and small cross overlaps. In units of the rate h = c eta / p per
student, with S = 1 + 2/p*, b = (p + 4)/(p + 2) and s = q (p + 2)/p, per unit of alpha and at any rate (from bocchi2026, (6), with
the corrected order rate^2):

    ds/dalpha = s [8 h (1 - s) + 16 h^2 (S - 2 s + b s^2)] = 16 h^2 b s (s - s_low) (s - s_high)
    d log |R| / dalpha = 4 h (S - s)
"""

import math
from typing import NamedTuple

import numpy as np

from solvable.numerics.random import child
from solvable.overlaps import InvalidStart, Overlaps, Seed, check_start
from solvable.problems import Problem, require
from solvable.theory import sphere
from solvable.theory.clocks import alpha_of, rates_in, times_in
from solvable.theory.prediction import NotApplicable, Prediction

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


def norm_learning(
    problem: Problem, alpha: float | np.ndarray, norm: float = 1.0, *, clock: str = "alpha"
) -> Prediction:
    """Norm of quadratic students over time, before they know the teachers.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    alpha : float or array
        Times, in the unit of `clock`.
    norm : float
        Norm of every student at time zero.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: ndarray, the norm at each time.

    Notes
    -----
    Norm q of every student at small rates, from `norm` on: 1/q = (1 + 2/p) + (1/q0 - 1 - 2/p) exp(-8 t/p), t = c rate
    alpha (bocchi2026, (10)); it relaxes to p/(p + 2).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.norm_learning(problem, 10.0).value), 4)
    0.7598
    """
    p, _, h, _, _ = constants_of(problem)
    alpha = alpha_of(problem, alpha, clock)
    left = (1 / norm - 1 - 2 / p) * np.exp(-8 * h * np.asarray(alpha, dtype=float))
    return Prediction(1 / (1 + 2 / p + left), (*START, "small rate"), "bocchi2026, (10)")


def plateau(problem: Problem, *, clock: str = "alpha") -> Prediction:
    """The plateau of quadratic students: norm, risk and growth rates.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: `Plateau`.

    Notes
    -----
    Where students wait before they know the teachers, at any rate; to first order norm p/(p + 2), risk c (2/p* + 2/(p +
    2)), growth 8 c rate/(p p*), decay 16 c rate/(p (p + 2)) (bocchi2026, 4.1; (11) has the sign of the decay wrong). On
    the sphere, with one teacher: `theory/sphere.py`.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(sv.theory.plateau(problem).value.risk, 4)
    1.3341
    """
    if on_sphere(problem):
        growth, decay, risk = sphere.growth(problem)
        shrinks = () if growth > 0 else ("cross overlaps do not grow: students without them stay so",)
        found = Prediction(Plateau(1.0, risk, growth, decay), SMALL, "arnaboldi2023, section 3", shrinks)
        return rates_in(found, problem, clock, "growth", "decay")
    constants = constants_of(problem)
    p, q, h, S, _ = constants
    s = roots(constants)[0]
    norm = s * p / (p + 2)
    risk = problem.training.loss_factor * ((1 - norm) ** 2 + 2 * (1 / q + norm**2 / p))
    waiting = Plateau(norm, risk, 4 * h * (S - s), 16 * h / (p + 2))
    found = Prediction(waiting, START, "fixed point of the norm at this rate")
    return rates_in(found, problem, clock, "growth", "decay")


class _Escape(NamedTuple):
    """|R|^2 = `size` exp(2 growth alpha) on the plateau, with norm learning in `size`, and how much of the risk it takes away."""

    waiting: Plateau
    size: float
    response: float
    caveats: list[str]


def _escape(problem: Problem, start: Overlaps) -> _Escape:
    constants = constants_of(problem)
    p, _, h, _, b = constants
    check_start(problem, start)
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


def escape_risk(problem: Problem, start: Overlaps, alpha: float | np.ndarray, *, clock: str = "alpha") -> Prediction:
    """Risk of quadratic students on the plateau and early in the escape.

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
        Its value: ndarray, the risk at each time.

    Notes
    -----
    Risk on the plateau and early in the escape, after norms have been learned: the plateau's less what |R|^2, growing,
    takes away. At small rates c (2/p* + 2/(p + 2)) - 4 c/(p p*) |R_0|^2 q/q_0 exp(16 c rate alpha/(p p*)) (bocchi2026,
    (13), corrected: docs/ERRATA.md B3, B4). At any rate, as `escape_time`, its inverse.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> round(float(sv.theory.escape_risk(problem, start, 10.0).value), 4)
    1.3338
    """
    waiting, size, response, caveats = _escape(problem, start)
    alpha = alpha_of(problem, alpha, clock)
    risk = waiting.risk - response * size * np.exp(2 * waiting.growth * np.asarray(alpha, dtype=float))
    return Prediction(risk, (*START, "norms learned, little of the risk gone"), "linearised plateau", tuple(caveats))


def escape_time(problem: Problem, start: Overlaps, drop: float = 0.5, *, clock: str = "alpha") -> Prediction:
    """Time at which quadratic students have left the plateau.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    start : Overlaps
        The state at time zero.
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
    Time alpha at which the risk has fallen by the fraction `drop` of its plateau, if cross overlaps kept growing as
    they do while they are small: |R|^2 = |R_0|^2 exp(2 growth alpha + 2 Lambda). Norm learning enters by

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
        return times_in(sphere.escape_time(problem, start, drop), problem, clock)
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
    return times_in(Prediction(time, assumptions, "linearised plateau, any rate", tuple(caveats)), problem, clock)


def stair_lengths(problem: Problem, start: Overlaps, *, clock: str = "alpha") -> Prediction:
    """Times between the falls of the risk, where quadratic students learn the teachers one by one.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    start : Overlaps
        The state at time zero.
    clock : str
        Unit of times and of rates per time, as in `run`.

    Returns
    -------
    Prediction
        Its value: ndarray (k - 1,), the times.

    Notes
    -----
    (k - 1,) times alpha between one fall of the risk and the next, where the singular values s_1 > s_2 > ... of the
    first cross overlap are far apart: p p*/(8 c rate) log(s_i/s_(i+1)), because what is left of it grows alike at all
    the saddles on the way. Infinite where a singular value vanishes: learning ends at a saddle (`landscape.visits`).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> sv.theory.stair_lengths(problem, start).value.shape
    (1,)
    """
    _, q, h, _, _ = constants_of(problem)
    check_start(problem, start)
    values = np.linalg.svd(start.cross_overlap, compute_uv=False)
    if values[0] == 0:
        raise NotApplicable("cross_overlap: is zero at the start, so the deterministic limit never escapes")
    with np.errstate(divide="ignore", invalid="ignore"):
        lengths = q / (8 * h) * np.log(values[:-1] / values[1:])
    close = (
        ("singular values are not far apart: the falls run into each other",) if (lengths < 0.5 * q / h).any() else ()
    )
    assumptions = (*START, "singular values far apart", "small rate")
    return times_in(Prediction(lengths, assumptions, "growth 8/(p p*) at every saddle", close), problem, clock)


def unequal(Q: np.ndarray) -> list[str]:
    if np.abs(Q - Q[0, 0] * np.eye(len(Q))).max() > 1e-9 * Q[0, 0]:
        return ["students are not orthogonal of equal norm: their mean norm is used"]
    return []


def _least_risk(p: int, q: int) -> float:
    """Of p < q students: they learn p teachers, the critical point (0, p)."""
    left = 1 - p / q
    return left * (2 * left / (2 + p) + 2 / q)


def plateau_noise(problem: Problem, norm: float = 1.0) -> Prediction:
    """Variance, times dim, that SGD's noise adds to every cross overlap on the plateau.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    norm : float
        Norm of every student at time zero.

    Returns
    -------
    Prediction
        Its value: float, the variance v.

    Notes
    -----
    Variance v, times dim, by which the noise of SGD at finite dim spreads every cross overlap, as if it had been there
    at the start: it is added early and then grows like the overlaps themselves. For students that begin with this
    `norm`,

        v = integral of 16 h^2 q k(q) / G^2 over alpha,     G = exp(integral of the growth), also while norms are
        learned k(q) = <e^2 z^2 u^2>/q = (p* + 2)(p* + 4)/p*^2 - 2 q (p* + 2)(p + 2)/(p* p) + q^2 (p + 2)(p + 4)/p^2

    the second moment of error e, student field z and teacher field u on the plateau. Overlaps of a random start have
    the variance 1/dim, so v compares noise and start, at any dim. On the sphere, with one teacher, where norms do not
    change, in closed form.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> round(float(sv.theory.plateau_noise(problem).value), 4)
    0.0812
    """
    if on_sphere(problem):
        return sphere.noise(problem)
    from scipy.integrate import solve_ivp

    constants = constants_of(problem)
    p, q, h, S, b = constants
    low, high = roots(constants)
    first, growth = norm * (p + 2) / p, 4 * h * (S - low)
    if growth <= 0:
        raise NotApplicable("training.learning_rate: so large that cross overlaps do not grow on the plateau")
    if not 0 < first < high:
        raise NotApplicable(f"norm: {norm} given, must be positive and small enough not to diverge at this rate")

    def source(s: float) -> float:
        q_student = s * p / (p + 2)
        even = (q + 2) * (q + 4) / q**2 - 2 * q_student * (q + 2) * (p + 2) / (q * p)
        return float(16 * h**2 * q_student * (even + q_student**2 * (p + 2) * (p + 4) / p**2))

    def slope(_: float, y: np.ndarray) -> list[float]:
        s, log_growth, _ = y
        speed = s * (8 * h * (1 - s) + 16 * h**2 * (S - 2 * s + b * s**2))
        return [speed, 4 * h * (S - s), source(s) * math.exp(-2 * log_growth)]

    until = 20 / (16 * h**2 * b * low * (high - low))  # norms have been learned; from there on by the exponential
    _, log_growth, v = solve_ivp(slope, (0, until), [first, 0.0, 0.0], rtol=1e-10, atol=1e-14).y[:, -1]
    v += source(low) * math.exp(-2 * log_growth) / (2 * growth)
    limit = p * q / (4 * (q + 2))
    caveats = ("beyond the rate at which zero error is unstable",) if p * h > limit else ()
    return Prediction(v, (*SMALL, "dim large"), "linear noise around the plateau", caveats)


def check_noisy_starts(problem: Problem) -> None:
    plateau(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite, so there is no noise")


def noisy_starts(problem: Problem, start: Overlaps, draws: int = 100, seed: Seed = 0) -> Prediction:
    """Starts from which the equations learn as single runs of SGD do at finite dim.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.
    start : Overlaps
        The state at time zero.
    draws : int
        How many random starts are drawn.
    seed : int or SeedSequence
        Of the draws.

    Returns
    -------
    Prediction
        Its value: list of `Overlaps`.

    Notes
    -----
    Starts from which the deterministic limit learns as single runs of SGD at this dim do from `start`: with Gaussian
    numbers of variance `plateau_noise`/dim added to the cross overlaps. They carry what noise leaves behind at large
    dim: when a run escapes, and which solution it ends at.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> len(sv.theory.noisy_starts(problem, start).value)
    100
    """
    check_noisy_starts(problem)
    check_start(problem, start)
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(f"draws: {draws!r} given, must be a whole number, at least 1")
    p, dim = problem.student.width, problem.inputs.dim
    assert dim is not None
    variance = plateau_noise(problem, float(np.trace(start.student_overlap)) / p)
    random = np.random.default_rng(child(seed, 4))  # not the numbers that drew a start from this seed
    noise = random.standard_normal((draws, *start.block_cross_overlap.shape))
    try:
        found = [
            Overlaps(start.block_student_overlap, R, start.block_teacher_overlap, start.readout)
            for R in start.block_cross_overlap + math.sqrt(variance.value / dim) * noise
        ]
    except InvalidStart:
        raise NotApplicable(
            f"inputs.dim: {dim} is too small: noise of variance {variance.value / dim:.3g} leads to overlaps that no weights have"
        ) from None
    caveats = (*variance.caveats, *unequal(start.student_overlap))
    return Prediction(found, (*SMALL, "dim large"), "linear noise around the plateau", caveats)


def optimal_rate(problem: Problem) -> Prediction:
    """Learning rate at which quadratic students leave the plateau fastest.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Learning rate at which cross overlaps grow fastest on the plateau: the limit of vanishing first overlaps of the rate
    that escapes soonest (bocchi2026, 4.1, finds it numerically: docs/ERRATA.md B15). On the sphere: arnaboldi2023,
    section 3.

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


def plateau_limit(problem: Problem) -> Prediction:
    """Learning rate above which quadratic students never leave the plateau.

    Parameters
    ----------
    problem : Problem
        What is learned. `NotApplicable` says why where this form does not hold.

    Returns
    -------
    Prediction
        Its value: float, the learning rate.

    Notes
    -----
    Learning rate beyond which the plateau is not escaped: cross overlaps stop growing at p p* (p + 2)/(2 c (p* + 2) (p
    + p* + 4)), unless the plateau has ceased to exist before (a double root of the norm's fixed points), where norms
    diverge.

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


def _response(constants: Constants, norm: float, growth: float) -> float:
    """Fall of the mean squared error per |R|^2 early in the escape: 4/(p p*), and at finite rates also through the norms, which
    follow |R|^2 and on which the risk depends to first order there."""
    p, q, h, S, b = constants
    s = norm * (p + 2) / p
    slope = 2 / p * (s - 1)  # of the risk in tr Q
    stiffness = 8 * h * (1 - 2 * s) + 16 * h**2 * (S - 4 * s + 3 * b * s**2)  # of the norm around its fixed point
    push = 16 * h / q + 16 * h**2 * (4 * (1 - 2 * norm) / q + 8 / q**2 - 16 * norm / (p * q))  # of |R|^2 on tr Q
    return 4 / (p * q) - slope * push / (2 * growth - stiffness)
