"""Linear units of which only some coordinates are trained: the others keep their error, which the trained ones see as label noise.

In the eigenbasis the trained ones are those of the largest eigenvalues. Outside it, with the covariance S in blocks of trained (t)
and other (o) coordinates, the trained ones take over part of the others: they tend to B_t + S_tt^-1 S_to (B_o - J_o), and the trace
of the Schur complement S_oo - S_ot S_tt^-1 S_to is left. With S = R^T R, R upper triangular, it is the sum of the squares of the
rows of R after those of the trained coordinates, so one factorisation serves all numbers of them.
"""

from typing import Any

import numpy as np
from scipy.optimize import brentq

from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.theory.linear import check_finite, effective_rate, partial_risk, squared_distances
from solvable.theory.prediction import Prediction, checked_times, prediction


def checked_features(problem: Problem, features: int) -> int:
    dim = check_finite(problem)
    if not isinstance(features, int | np.integer) or isinstance(features, bool) or not 0 < features <= dim:
        raise ValueError(f"features: {features!r} given, must be a whole number from 1 to inputs.dim = {dim}")
    return int(features)


@prediction(check_finite)
def feature_risk(
    problem: Problem, start: Overlaps, features: int, alpha: Any, *, small_rate: bool = False, clock: str = "alpha"
) -> Prediction:
    """Risk of a linear student of which only the coordinates of the largest eigenvalues are trained.

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
    Risk where only the first `features` coordinates in the eigenbasis (largest eigenvalues first) are trained: the
    others keep their error, which acts on the trained ones as label noise (worschech2024, 10, there for small rates).
    Of an eigenvalue that repeats, the trained share counts, on average over which coordinates those are.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> start = sv.start(problem, seed=0)
    >>> round(float(sv.theory.feature_risk(problem, start, 3, 10.0).value), 4)
    0.097
    """
    dim, features = check_finite(problem), checked_features(problem, features)
    sizes, order = problem.inputs.block_sizes, np.argsort(-problem.inputs.eigenvalues, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    trained = np.empty_like(sizes)
    trained[order] = np.clip(features - before, 0, sizes[order])
    distances, part = squared_distances(problem, start), trained / sizes
    left = problem.inputs.eigenvalues @ ((1 - part) * distances)
    return partial_risk(problem, part * distances, trained / dim, np.array([left]), alpha, small_rate)


@prediction(check_finite)
def hidden_feature_risk(
    problem: Problem, basis: Any, features: int, alpha: Any = np.inf, *, distance: float, clock: str = "alpha"
) -> Prediction:
    """Mean risk of a linear student of which some coordinates are trained that are not the eigenbasis.

    Parameters
    ----------
    alpha : float or array
        Times, in the unit of `clock`; left out, the end.

    Returns
    -------
    Prediction
        Its value: ndarray or float, the risk at each time.

    Notes
    -----
    Mean risk where the first `features` coordinates are trained that are not those of the eigenbasis: the inputs have
    covariance basis x diag(eigenvalues) x basis^T, and weights differ from the teacher's by independent numbers of
    variance `distance` in all coordinates. At small rates, after `alpha` or in the end (worschech2024, 82 to 88): the
    trace of a Schur complement, and what is still to come.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> round(float(sv.theory.hidden_feature_risk(problem, np.eye(16), 3, distance=1.0).value), 4)
    0.0705
    """
    e, W = effective_rate(problem), _checked_basis(problem, basis)
    dim, features = len(W), checked_features(problem, features)
    if features == dim:
        raise ValueError(f"features: {features!r} given, must be a whole number from 1 to {dim - 1}")
    scale = _scale(problem, distance)
    S = (W * np.repeat(problem.inputs.eigenvalues, problem.inputs.block_sizes)) @ W.T
    inner, cross, outer = S[:features, :features], S[:features, features:], S[features:, features:]
    values, vectors = np.linalg.eigh(inner)
    kept = values > 1e-12 * values[-1]
    values, vectors = values[kept], vectors[:, kept]
    shifts = vectors.T @ cross / values[:, None]  # what the trained coordinates take over of the others
    end = max(float(np.trace(outer) - (values[:, None] * shifts**2).sum()), 0.0)
    times = checked_times("alpha", alpha)
    moving = values * (1 + (shifts**2).sum(axis=1)) * np.exp(-2 * e * np.multiply.outer(times, values))
    return Prediction(
        scale * (end + moving.sum(axis=-1)), ("rate small", "mean over weights"), "worschech2024, (82) to (88)"
    )


@prediction(check_finite)
def hidden_feature_rests(problem: Problem, basis: Any, *, distance: float) -> Prediction:
    """Final risk for every number of trained coordinates, outside the eigenbasis.

    Returns
    -------
    Prediction
        Its value: ndarray (dim + 1,), the risk.

    Notes
    -----
    (dim + 1,) what `hidden_feature_risk` leaves in the end, for every number of trained coordinates from none to all.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> sv.theory.hidden_feature_rests(problem, np.eye(16), distance=1.0).value.shape
    (17,)
    """
    W, scale = _checked_basis(problem, basis), _scale(problem, distance)
    roots = np.sqrt(np.repeat(problem.inputs.eigenvalues, problem.inputs.block_sizes))
    triangle = np.asarray(np.linalg.qr(roots[:, None] * W.T, mode="r"))
    rows = (triangle**2).sum(axis=1)
    rests = np.append(np.cumsum(rows[::-1])[::-1], 0.0)
    return Prediction(scale * rests, ("mean over weights",), "worschech2024, (88)")


@prediction(check_finite)
def hidden_feature_mean(problem: Problem, features: int, *, distance: float) -> Prediction:
    """Final risk where random coordinates are trained, averaged over all bases, at large dim.

    Returns
    -------
    Prediction
        Its value: float, the risk.

    Notes
    -----
    What is left in the end, on average over all bases, where dim is large: n kappa c `distance` / dim for n trained
    coordinates, with n = sum_k lambda_k / (lambda_k + kappa) (the deterministic equivalent of a random projection).

    For a power law and n far below dim this is beta [u / sin u]^(1 + beta), u = pi/(1 + beta), times what is left in
    the eigenbasis: the same power of n.

    Examples
    --------
    >>> problem = sv.problems.convention("worschech2024").problem(
    ...     K=1, M=1, eta=0.1, beta=1.0, L=16, N=16, activation="linear"
    ... )
    >>> round(float(sv.theory.hidden_feature_mean(problem, 3, distance=1.0).value), 4)
    0.1565
    """
    n, values = checked_features(problem, features), problem.inputs.eigenvalues
    sizes, scale = problem.inputs.block_sizes, _scale(problem, distance)
    seen = values > 0
    values, sizes = values[seen], sizes[seen]
    if n >= sizes.sum():
        return Prediction(0.0, ("basis random", "dim large"), "deterministic equivalent")
    span = np.log(values.max()) + 40, np.log(values.min()) - 40
    kappa = np.exp(brentq(lambda t: (sizes * values / (values + np.exp(t))).sum() - n, *span))
    return Prediction(scale * n * float(kappa), ("basis random", "dim large"), "deterministic equivalent")


def _checked_basis(problem: Problem, basis: Any) -> np.ndarray:
    """An orthogonal matrix: it keeps eight vectors of random numbers, which no other one does."""
    dim, W = check_finite(problem), np.asarray(basis, dtype=float)
    probes = np.random.default_rng(0).standard_normal((dim, 8))
    if W.shape != (dim, dim) or np.abs(W.T @ (W @ probes) - probes).max() > 1e-8:
        raise ValueError(f"basis: shape {W.shape} given, must be an orthogonal matrix {(dim, dim)}")
    return W


def _scale(problem: Problem, distance: float) -> float:
    """c `distance` / dim."""
    if not (isinstance(distance, int | float | np.number) and 0 < distance < np.inf):
        raise ValueError(f"distance: {distance!r} given, must be a positive number")
    return problem.training.loss_factor * float(distance) / check_finite(problem)
