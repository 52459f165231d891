"""Linear units, solved for any input spectrum, rate, widths and readouts.

A linear network is one vector, the students' J = sum_k a_k w_k and the teachers' B = sum_l a*_l w*_l. With their squared distance
within block b, d_b = |P_b (J - B)|^2 / N, the risk is c sum_b lambda_b d_b, and one-pass SGD at effective rate
e = 2 c rate sum_k a_k^2 on infinitely many inputs gives

    d(d_b)/dalpha = -2 e lambda_b d_b + e^2 f_b lambda_b (sum_b' lambda_b' d_b' + Delta),

f_b the shares of the dimensions and Delta the label noise. With d = sqrt(f) x the matrix is symmetric, a diagonal and one rank:
e (-2 diag(lambda) + e v v^T), v_b = lambda_b sqrt(f_b). worschech2024 solves K = M, in the eigenbasis of another matrix.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from solvable.overlaps import Overlaps
from solvable.problems import Domain, Problem
from solvable.theory.prediction import NotApplicable, Prediction, checked_times, prediction

LINEAR = Domain(
    units="linear", teachers="any", student_readout="any", teacher_readout="any", isotropic=False, label_noise=True
)


class Modes(NamedTuple):
    """Exponential modes of the risk of linear students.

    Parameters
    ----------
    rates : ndarray
        (blocks,) rates per unit of time at which the parts of the risk fall, fastest first.
    weights : ndarray
        (blocks,) weights of the modes for a start that is spread as the dimensions are; they sum to one.

    Examples
    --------
    >>> sv.theory.Modes(rates=np.array([2.0, 1.0]), weights=np.array([0.3, 0.7])).rates
    array([2., 1.])
    """

    rates: np.ndarray
    weights: np.ndarray


def effective_rate(problem: Problem) -> float:
    """e = 2 c rate sum a^2; raises where units are not linear or something else is in the way."""
    LINEAR.require(problem)
    squares = (np.array(problem.student.readout_values) ** 2).sum()
    return float(2 * problem.training.loss_factor * problem.training.schedule.rates[0] * squares)


def check_finite(problem: Problem) -> int:
    replace(LINEAR, finite_dim=True).require(problem)
    return problem.inputs.dim or 0


def squared_distances(problem: Problem, start: Overlaps) -> np.ndarray:
    """(blocks,) squared distance of the two vectors within each block."""
    a, b = np.array(problem.student.readout_values), np.array(problem.teacher.readout_values)
    Q, R, T = start.block_student_overlap, start.block_cross_overlap, start.block_teacher_overlap
    found: np.ndarray = a @ Q @ a - 2 * a @ R @ b + b @ T @ b
    return np.maximum(found, 0.0)


@prediction(LINEAR, clock=("rates",))
def linear_modes(problem: Problem, *, clock: str = "alpha") -> Prediction:
    """Rates and weights of the exponential modes of linear students.

    Returns
    -------
    Prediction
        Its value: `Modes`.

    Notes
    -----
    Rates and weights of the modes (worschech2024, 5 and 6, corrected): from a start spread as the dimensions are, the
    risk is its first value times sum_k weights_k rates_k exp(-rates_k alpha) / sum_k weights_k rates_k.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> sv.theory.linear_modes(problem).value.rates.shape
    (16,)
    """
    e, values, root = effective_rate(problem), problem.inputs.eigenvalues, np.sqrt(problem.inputs.fractions)
    modes, vectors = np.linalg.eigh(-2 * np.diag(values) + e * np.outer(values * root, values * root))
    found = Modes(-e * modes, (root @ vectors) ** 2)
    return Prediction(found, ("dim infinite",), "worschech2024, (6), corrected")


@prediction(LINEAR)
def linear_risk(
    problem: Problem, start: Overlaps, alpha: Any, *, small_rate: bool = False, clock: str = "alpha"
) -> Prediction:
    """Risk of linear students for any spectrum and rate, exact in the limit of many dimensions.

    Parameters
    ----------
    small_rate : bool
        Whether to drop terms of order rate^2.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    Risk at the times `alpha`: exact as dim grows, at any rate, from any start, with label noise; `small_rate` drops the
    order rate^2 and leaves c sum_b lambda_b d_b exp(-2 e lambda_b alpha) (worschech2024, 7 and 8).

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.linear_risk(problem, start, 10.0).value), 4)
    0.0636
    """
    return partial_risk(
        problem, squared_distances(problem, start), problem.inputs.fractions, np.zeros(1), alpha, small_rate
    )


def partial_risk(
    problem: Problem,
    distances: np.ndarray,
    shares: np.ndarray,
    left: np.ndarray,
    alpha: Any,
    small_rate: bool,
) -> Prediction:
    """Of trained coordinates with these first distances and shares, beside an error `left` in the others."""
    e, values, c = effective_rate(problem), problem.inputs.eigenvalues, problem.training.loss_factor
    times, kept = checked_times("alpha", alpha), float(left.sum())
    if small_rate:
        risk = (values * distances * np.exp(-2 * e * np.multiply.outer(times, values))).sum(axis=-1) + kept
        return Prediction(c * risk, ("dim infinite", "rate small"), "worschech2024, (8) and (10)")
    here = (shares > 0) & (values > 0)  # directions with eigenvalue zero get no gradient: their weights stay constant
    noise = kept + problem.training.label_noise
    root, v = np.sqrt(shares[here]), values[here] * np.sqrt(shares[here])
    modes, vectors = np.linalg.eigh(-2 * np.diag(values[here]) + e * np.outer(v, v))
    if noise > 0 and modes[-1] >= 0:
        raise NotApplicable("training.learning_rate: is so large that noise grows without bound; see rate_limit")
    # x' = e S x + e^2 noise v: to its rest, and what is not at rest falls
    begin, push = vectors.T @ (distances[here] / root), vectors.T @ v
    rest = -e * noise * push / modes if noise > 0 else np.zeros_like(push)
    moving = (begin - rest) * np.exp(e * np.multiply.outer(times, modes)) + rest
    near = problem.inputs.dim is not None and problem.training.schedule.rates[0] > 0.5 * rate_limit(problem).value
    caveats = (
        ("at this dim the rate is not far below its limit, and SGD is worse: see linear_mean_risk",) if near else ()
    )
    source = "worschech2024, (6), corrected; any start and noise"
    return Prediction(c * (moving @ push + kept), ("dim infinite",), source, caveats)


@prediction(check_finite)
def linear_mean_risk(problem: Problem, start: Overlaps, alpha: Any, *, clock: str = "alpha") -> Prediction:
    """Mean risk of SGD for linear students at finite dim, exactly.

    Returns
    -------
    Prediction
        Its value: ndarray, the risk at each time.

    Notes
    -----
    Mean risk of SGD at this finite dim over all samples, exactly: at every step, with h = e/dim, d_b becomes
    (1 - 2 h lambda_b + 2 h^2 lambda_b^2) d_b + h^2 lambda_b n_b (sum lambda d + Delta), n_b the dimensions of block b.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.linear_mean_risk(problem, start, 10.0).value), 4)
    0.0637
    """
    e, dim = effective_rate(problem), problem.inputs.dim
    if dim is None:
        raise NotApplicable("inputs.dim: is infinite; see linear_risk")
    here = problem.inputs.eigenvalues > 0
    values, root, h = problem.inputs.eigenvalues[here], np.sqrt(problem.inputs.block_sizes[here]), e / dim
    v = values * root
    step = np.diag(1 - 2 * h * values + 2 * (h * values) ** 2) + h**2 * np.outer(v, v)
    factors, vectors = np.linalg.eigh(step)
    begin, push = vectors.T @ (squared_distances(problem, start)[here] / root), vectors.T @ v
    noise = problem.training.label_noise
    if noise > 0 and np.abs(factors).max() >= 1:
        raise NotApplicable(f"training.learning_rate: is not below the limit {rate_limit(problem).value:.6g}")
    rest = h**2 * noise * push / (1 - factors) if noise > 0 else np.zeros_like(push)
    steps = np.rint(checked_times("alpha", alpha) * dim)
    with np.errstate(over="ignore"):
        powers = np.sign(factors) ** np.mod(steps, 2)[..., None] * np.abs(factors) ** steps[..., None]
    return Prediction(
        problem.training.loss_factor * ((begin - rest) * powers + rest) @ push,
        ("Gaussian inputs", "times rounded to whole steps"),
        "second moments of one step",
    )


def noise_floor(problem: Problem) -> Prediction:
    """c Delta u/(1 - u), u = e m/2 with the inputs' mean variance m: at rest d_b = e f_b (sum lambda d + Delta)/2."""
    u = 0.5 * effective_rate(problem) * float(problem.inputs.fractions @ problem.inputs.eigenvalues)
    if u >= 1:
        raise NotApplicable("training.learning_rate: is so large that noise grows without bound; see rate_limit")
    value = problem.training.loss_factor * float(problem.training.label_noise) * u / (1 - u)
    return Prediction(value, ("late times", "dim infinite"), "rest of the modes")


def late_rate(problem: Problem) -> Prediction:
    """The slowest of `linear_modes` that inputs see."""
    slowest = _slowest(problem, effective_rate(problem))
    if slowest <= 0:
        raise NotApplicable("training.learning_rate: is not below the limit; the risk does not vanish")
    return Prediction(slowest, ("late times", "dim infinite"), "slowest of the modes")


def _slowest(problem: Problem, e: float) -> float:
    values, shares = problem.inputs.eigenvalues, problem.inputs.fractions
    seen = values > 0
    v = values[seen] * np.sqrt(shares[seen])
    return -e * float(np.linalg.eigvalsh(-2 * np.diag(values[seen]) + e * np.outer(v, v))[-1])


def optimal_late_rate(problem: Problem) -> Prediction:
    """Rate at which the slowest mode is fastest; half of `rate_limit` on isotropic inputs."""
    e, mean = effective_rate(problem), float(problem.inputs.fractions @ problem.inputs.eigenvalues)
    best = minimize_scalar(
        lambda u: -_slowest(problem, 2 * u / mean), bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    rate = float(problem.training.schedule.rates[0])
    return Prediction(2 * float(best.x) / mean * rate / e, ("late times", "dim infinite"), "slowest of the modes")


def rate_limit(problem: Problem) -> Prediction:
    """Rate beyond which the risk of linear students grows: e sum_b f_b lambda_b = 2 for infinite dim, whatever the spectrum; at
    finite dim 1 = (e / 2 dim) sum_i lambda_i / (1 - e lambda_i / dim) over all coordinates, less where few eigenvalues dominate."""
    e, values = effective_rate(problem), problem.inputs.eigenvalues
    per_rate = e / float(problem.training.schedule.rates[0])
    mean = float(problem.inputs.fractions @ values)
    if problem.inputs.dim is None:
        return Prediction(2 / mean / per_rate, ("dim infinite",), "largest mode at rest")
    dim, sizes = problem.inputs.dim, problem.inputs.block_sizes
    most = dim / values.max()
    found = brentq(
        lambda x: x / (2 * dim) * (sizes * values / (1 - x * values / dim)).sum() - 1, 0.0, most * (1 - 1e-12)
    )
    return Prediction(found / per_rate, ("Gaussian inputs",), "second moments of one step")
