"""Linear units, solved for any input spectrum, rate, widths and readouts.

A linear network is one vector, the students' J = sum_k a_k w_k and the teachers' B = sum_l a*_l w*_l. With their squared distance
within block b, d_b = |P_b (J - B)|^2 / N, the risk is c sum_b lambda_b d_b, and one-pass SGD at effective rate
e = 2 c rate sum_k a_k^2 on infinitely many inputs gives

    d(d_b)/dalpha = -2 e lambda_b d_b + e^2 f_b lambda_b (sum_b' lambda_b' d_b' + Delta),

f_b the shares of the dimensions and Delta the label noise. With d = sqrt(f) x the matrix is symmetric, a diagonal and one rank:
e (-2 diag(lambda) + e v v^T), v_b = lambda_b sqrt(f_b). worschech2024 solves K = M, in the eigenbasis of another matrix.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import gamma, gammaincc

from solvable.overlaps import Overlaps, check_start
from solvable.problems import PowerLaw, Problem
from solvable.theory.prediction import NotApplicable, Prediction, checked_times
from solvable.theory.requirements import require_plain


class Modes(NamedTuple):
    """`rates` (blocks,) per unit of alpha, fastest first, at which the risk's parts fall; `weights` (blocks,) of the modes in a
    start that is spread as the dimensions are, summing to one."""

    rates: np.ndarray
    weights: np.ndarray


def _effective_rate(problem: Problem) -> float:
    """e = 2 c rate sum a^2; raises where units are not linear or something else is in the way."""
    require_plain(problem, "linear", batch=1)
    squares = (np.array(problem.student.readout_values) ** 2).sum()
    return float(2 * problem.training.loss_factor * problem.training.schedule.rates[0] * squares)


def check_linear(problem: Problem) -> None:
    _effective_rate(problem)


def check_finite(problem: Problem) -> int:
    check_linear(problem)
    if problem.inputs.dim is None:
        raise NotApplicable("inputs.dim: is infinite")
    return problem.inputs.dim


def _distances(problem: Problem, start: Overlaps) -> np.ndarray:
    """(blocks,) squared distance of the two vectors within each block."""
    check_start(problem, start)
    a, b = np.array(problem.student.readout_values), np.array(problem.teacher.readout_values)
    Q, R, T = start.block_student_overlap, start.block_cross_overlap, start.block_teacher_overlap
    found: np.ndarray = a @ Q @ a - 2 * a @ R @ b + b @ T @ b
    return np.maximum(found, 0.0)


def linear_modes(problem: Problem) -> Prediction:
    """Rates and weights of the modes (worschech2024, 5 and 6, corrected): from a start spread as the dimensions are, the risk is
    its first value times sum_k weights_k rates_k exp(-rates_k alpha) / sum_k weights_k rates_k."""
    e, values, root = _effective_rate(problem), problem.inputs.eigenvalues, np.sqrt(problem.inputs.fractions)
    modes, vectors = np.linalg.eigh(-2 * np.diag(values) + e * np.outer(values * root, values * root))
    return Prediction(Modes(-e * modes, (root @ vectors) ** 2), ("dim infinite",), "worschech2024, (6), corrected")


def linear_risk(problem: Problem, start: Overlaps, alpha: Any, *, small_rate: bool = False) -> Prediction:
    """Risk at the times `alpha`: exact as dim grows, at any rate, from any start, with label noise; `small_rate` drops the order
    rate^2 and leaves c sum_b lambda_b d_b exp(-2 e lambda_b alpha) (worschech2024, 7 and 8)."""
    return _risk(problem, _distances(problem, start), problem.inputs.fractions, np.zeros(1), alpha, small_rate)


def feature_risk(
    problem: Problem, start: Overlaps, features: int, alpha: Any, *, small_rate: bool = False
) -> Prediction:
    """Risk where only the first `features` coordinates in the eigenbasis (largest eigenvalues first) are trained: the others keep
    their error, which acts on the trained ones as label noise (worschech2024, 10, there for small rates). Of an eigenvalue that
    repeats, the trained share counts, on average over which coordinates those are."""
    dim = check_finite(problem)
    if not isinstance(features, int | np.integer) or isinstance(features, bool) or not 0 < features <= dim:
        raise ValueError(f"features: {features!r} given, must be a whole number from 1 to inputs.dim = {dim}")
    sizes, order = problem.inputs.block_sizes, np.argsort(-problem.inputs.eigenvalues, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    trained = np.empty_like(sizes)
    trained[order] = np.clip(features - before, 0, sizes[order])
    distances, part = _distances(problem, start), trained / sizes
    left = problem.inputs.eigenvalues @ ((1 - part) * distances)
    return _risk(problem, part * distances, trained / dim, np.array([left]), alpha, small_rate)


def _risk(
    problem: Problem, distances: np.ndarray, shares: np.ndarray, left: np.ndarray, alpha: Any, small_rate: bool
) -> Prediction:
    """Of trained coordinates with these first distances and shares, beside an error `left` in the others."""
    e, values, c = _effective_rate(problem), problem.inputs.eigenvalues, problem.training.loss_factor
    times, kept = checked_times("alpha", alpha), float(left.sum())
    if small_rate:
        risk = (values * distances * np.exp(-2 * e * np.multiply.outer(times, values))).sum(axis=-1) + kept
        return Prediction(c * risk, ("dim infinite", "rate small"), "worschech2024, (8) and (10)")
    here = (shares > 0) & (values > 0)  # what is not seen does not move
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


def linear_mean_risk(problem: Problem, start: Overlaps, alpha: Any) -> Prediction:
    """Mean risk of SGD at this finite dim over all samples, exactly: at every step, with h = e/dim, d_b becomes
    (1 - 2 h lambda_b + 2 h^2 lambda_b^2) d_b + h^2 lambda_b n_b (sum lambda d + Delta), n_b the dimensions of block b."""
    e, dim = _effective_rate(problem), problem.inputs.dim
    if dim is None:
        raise NotApplicable("inputs.dim: is infinite; see linear_risk")
    here = problem.inputs.eigenvalues > 0
    values, root, h = problem.inputs.eigenvalues[here], np.sqrt(problem.inputs.block_sizes[here]), e / dim
    v = values * root
    step = np.diag(1 - 2 * h * values + 2 * (h * values) ** 2) + h**2 * np.outer(v, v)
    factors, vectors = np.linalg.eigh(step)
    begin, push = vectors.T @ (_distances(problem, start)[here] / root), vectors.T @ v
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


def rate_limit(problem: Problem) -> Prediction:
    """Rate beyond which the risk of linear students grows: e sum_b f_b lambda_b = 2 for infinite dim, whatever the spectrum; at
    finite dim 1 = (e / 2 dim) sum_i lambda_i / (1 - e lambda_i / dim) over all coordinates, less where few eigenvalues dominate."""
    e, values = _effective_rate(problem), problem.inputs.eigenvalues
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


def _power_law(problem: Problem) -> PowerLaw:
    check_linear(problem)
    law = problem.inputs.spectrum
    if not isinstance(law, PowerLaw) or law.beta <= 0:
        raise NotApplicable("inputs.spectrum: is not a power law with positive beta")
    return law


def power_law_risk(problem: Problem, start: Overlaps, alpha: Any, *, printed: bool = False) -> Prediction:
    """The small-rate risk as an integral over the spectrum, by incomplete gamma functions (worschech2024, 9). Its limits are the
    half-integers 1/2 and L + 1/2, or with `printed` the 1 and L of the paper: at beta = 1 the first is right to 6 % from
    z = 2 e lambda_1 alpha = 1 on, the second to 21 %; both to 1 % from z = 3 on. From a start that is spread as the dimensions are
    (its total distance is taken)."""
    law, e = _power_law(problem), _effective_rate(problem)
    L, beta = law.distinct, law.beta
    top, s = float(problem.inputs.eigenvalues.max()), beta / (1 + beta)
    low, high = (1.0, float(L)) if printed else (0.5, L + 0.5)
    z = 2 * e * top * checked_times("alpha", alpha)
    with np.errstate(invalid="ignore", divide="ignore"):
        parts = gamma(s) * (gammaincc(s, z / high ** (1 + beta)) - gammaincc(s, z / low ** (1 + beta)))
        shape = np.where(z > 0, z**-s * parts / (1 + beta), (low**-beta - high**-beta) / beta)
    value = problem.training.loss_factor * float(_distances(problem, start).sum()) * top / L * shape
    caveats = (
        () if (z >= 1).all() else ("before z = 2 e lambda_1 alpha = 1 the sum is not an integral: see linear_risk",)
    )
    return Prediction(
        value, ("dim infinite", "rate small", "start spread as the dimensions"), "worschech2024, (9)", caveats
    )


def power_law_window(problem: Problem) -> Prediction:
    """From when to when (alpha) the risk falls as alpha^(-beta/(1 + beta)): 1/(2 e lambda_1) to
    Gamma(1 + s)^(1/s) L^(1 + beta) / (2 e lambda_1), s = beta/(1 + beta)."""
    law, e = _power_law(problem), _effective_rate(problem)
    top, s = float(problem.inputs.eigenvalues.max()), law.beta / (1 + law.beta)
    begin = 1 / (2 * e * top)
    end = math.gamma(1 + s) ** (1 / s) * law.distinct ** (1 + law.beta) * begin
    return Prediction((begin, end), ("rate small",), "worschech2024, after (9)")


def hidden_feature_risk(
    problem: Problem, basis: Any, features: int, alpha: Any = np.inf, *, distance: float
) -> Prediction:
    """Mean risk where the first `features` coordinates are trained that are not those of the eigenbasis: the inputs have covariance
    basis x diag(eigenvalues) x basis^T, and weights differ from the teacher's by independent numbers of variance `distance` in all
    coordinates. At small rates, after `alpha` or in the end (worschech2024, 82 to 88): the trace of a Schur complement, and what
    is still to come."""
    e, dim = _effective_rate(problem), check_finite(problem)
    W = np.asarray(basis, dtype=float)
    if W.shape != (dim, dim) or np.abs(W.T @ W - np.eye(dim)).max() > 1e-8:
        raise ValueError(f"basis: shape {W.shape} given, must be an orthogonal matrix {(dim, dim)}")
    if not isinstance(features, int | np.integer) or isinstance(features, bool) or not 0 < features < dim:
        raise ValueError(f"features: {features!r} given, must be a whole number from 1 to {dim - 1}")
    S = (W * np.repeat(problem.inputs.eigenvalues, problem.inputs.block_sizes)) @ W.T
    inner, cross, outer = S[:features, :features], S[:features, features:], S[features:, features:]
    if not (isinstance(distance, int | float | np.number) and 0 < distance < np.inf):
        raise ValueError(f"distance: {distance!r} given, must be a positive number")
    values, vectors = np.linalg.eigh(inner)
    kept = values > 1e-12 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    shifts = vectors.T @ cross / values[:, None]  # what the trained coordinates take over of the others
    end = max(float(np.trace(outer) - (values[:, None] * shifts**2).sum()), 0.0)
    times = checked_times("alpha", alpha)
    moving = values * (1 + (shifts**2).sum(axis=1)) * np.exp(-2 * e * np.multiply.outer(times, values))
    value = problem.training.loss_factor * distance / dim * (end + moving.sum(axis=-1))
    return Prediction(value, ("rate small", "mean over weights"), "worschech2024, (82) to (88)")
