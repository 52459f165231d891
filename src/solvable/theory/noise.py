"""What the noise of SGD does to quadratic students on the plateau. Symbols as in `theory/plateau.py`."""

import math

import numpy as np

from solvable.numerics.random import Purpose, child
from solvable.overlaps import InvalidStart, Overlaps, Seed
from solvable.problems import Problem
from solvable.theory import sphere_noise
from solvable.theory.plateau import SMALL, constants_of, on_sphere, plateau, roots, unequal
from solvable.theory.prediction import NotApplicable, Prediction, prediction


@prediction()
def plateau_noise(problem: Problem, norm: float = 1.0) -> Prediction:
    """Variance, times dim, that SGD's noise adds to every cross overlap on the plateau.

    Parameters
    ----------
    norm : float
        Norm of every student at time zero.

    Returns
    -------
    Prediction
        Its value: float, the variance v.

    Notes
    -----
    As if it had been there at the start: noise is added early and then grows like the overlaps themselves. For students
    that begin with this `norm`,

        v = integral of 16 h^2 q k(q) / G^2 over alpha,     G = exp(integral of the growth), also while norms are learned
        k(q) = <e^2 z^2 u^2>/q = (p* + 2)(p* + 4)/p*^2 - 2 q (p* + 2)(p + 2)/(p* p) + q^2 (p + 2)(p + 4)/p^2

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
        return sphere_noise.noise(problem)
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


@prediction(check_noisy_starts)
def noisy_starts(problem: Problem, start: Overlaps, draws: int = 100, seed: Seed = 0) -> Prediction:
    """Starts from which the equations learn as single runs of SGD do at finite dim.

    Parameters
    ----------
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
    Gaussian numbers of variance `plateau_noise`/dim are added to the cross overlaps of `start`. These starts carry
    what noise leaves behind at large dim: when a run escapes, and which solution it ends at.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    >>> len(sv.theory.noisy_starts(problem, start).value)
    100
    """
    if not isinstance(draws, int | np.integer) or draws < 1:
        raise ValueError(f"draws: {draws!r} given, must be a whole number, at least 1")
    p, dim = problem.student.width, problem.inputs.dim
    assert dim is not None
    variance = plateau_noise(problem, float(np.trace(start.student_overlap)) / p)
    random = np.random.default_rng(child(seed, Purpose.NOISY_STARTS))
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
