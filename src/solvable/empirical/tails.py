"""How gradient flow on a data set ends.

Where the samples determine a teacher of rank below dim, the part of A outside its range falls as D/t, with the positive
semidefinite D that minimises <D, S D>/2 - tr D/2, S the Hessian of the training loss on that part with all else relaxed (its
Schur complement). The training loss is then tr D / (4 t^2). Where the teacher has full rank, losses fall exponentially, as
exp(-2 mu t) with the smallest eigenvalue mu of the linearised flow. Neither is in saraomannelli2020, which has the population only.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.empirical.certificates import check_rows, decide, turned
from solvable.empirical.matrices import TrainingLandscape
from solvable.numerics.symmetric import to_matrix, to_vector


class Tail(NamedTuple):
    """How gradient flow ends where the teacher has rank below dim: losses fall as 1/t^2.

    Parameters
    ----------
    training, population : float
        Limits of training_loss x t^2 and population_loss x t^2 at late times t.
    matrix : ndarray
        (dim, dim) limit of t (A - A*).

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> found = sv.empirical.tail(rows, [[1.0, 0.0, 0.0, 0.0]])
    >>> found.matrix.shape
    (4, 4)
    """

    training: float
    population: float
    matrix: np.ndarray


def tail(rows: Any, teacher: Any) -> Tail:
    """How the losses of gradient flow fall in the end, where the teacher has rank below dim.

    Parameters
    ----------
    rows : array
        (samples, dim) inputs, which must determine the teacher.
    teacher : array
        (units, dim) teachers, of rank below dim.

    Returns
    -------
    Tail
        Amplitudes of the 1/t^2 laws, from any start of full rank.

    Raises
    ------
    ValueError
        If the teacher has full rank or is not determined.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> sv.empirical.tail(rows, [[1.0, 0.0, 0.0, 0.0]]).training > 0
    True
    """
    X, W = check_rows(rows, teacher)
    turn, rank, _ = turned(W)
    dim = X.shape[1]
    if rank == dim:
        raise ValueError("tail: the teacher has full rank, so the end is exponential; see tail_rate")
    if not decide(X, W).unique:
        raise ValueError(f"tail: {len(X)} samples do not determine the teacher")
    hills = TrainingLandscape(X @ turn.T, W @ turn.T)
    H = hills.hessian
    outside = to_vector(np.pad(np.ones((dim - rank, dim - rank)), ((rank, 0), (rank, 0)))) > 0
    H_oo, H_on, H_nn = H[np.ix_(~outside, ~outside)], H[np.ix_(~outside, outside)], H[np.ix_(outside, outside)]
    response = -np.linalg.lstsq(H_oo, H_on, rcond=1e-12)[0]
    schur = H_nn + H_on.T @ response
    D = _smallest(schur)
    vector = np.empty(len(H))
    vector[outside], vector[~outside] = to_vector(D), response @ to_vector(D)
    matrix = to_matrix(vector)
    population = float(hills.population_loss(hills.solution + vector))
    return Tail(0.25 * float(np.trace(D)), population, turn.T @ matrix @ turn)


def tail_rate(rows: Any, teacher: Any) -> float:
    """The rate at which losses of gradient flow fall in the end, where the teacher has full rank.

    Parameters
    ----------
    rows : array
        (samples, dim) inputs, which must determine the teacher.
    teacher : array
        (units, dim) teachers, of rank dim.

    Returns
    -------
    float
        2 mu of the law exp(-2 mu t), in saraomannelli2020's time.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(10, 4))
    >>> sv.empirical.tail_rate(rows, np.eye(4)) > 0
    True
    """
    X, W = check_rows(rows, teacher)
    A = W.T @ W / len(W)
    values, vectors = np.linalg.eigh(A)
    if turned(W)[1] < X.shape[1]:
        raise ValueError("tail_rate: the teacher has not full rank, so the end is algebraic; see tail")
    H = TrainingLandscape(X @ vectors, W @ vectors).hessian
    root = np.sqrt(_pair_sums(values))  # of S -> A S + S A, diagonal in these coordinates
    slowest = float(np.linalg.eigvalsh(root[:, None] * H * root)[0])
    if not decide(X, W).unique:
        raise ValueError(f"tail_rate: {len(X)} samples do not determine the teacher")
    return 2 * slowest


def _pair_sums(values: np.ndarray) -> np.ndarray:
    i, j = np.triu_indices(len(values))
    return values[i] + values[j]


def _smallest(S: np.ndarray, tolerance: float = 1e-10, most: int = 100_000) -> np.ndarray:
    """The positive semidefinite D that minimises <D, S D>/2 - tr D/2, by alternating directions."""
    values, vectors = np.linalg.eigh(S)
    rho = float(max(np.sqrt(max(values[0], 0.0) * values[-1]), 0.1 * values[-1]))
    k = to_matrix(np.zeros(len(S))).shape[-1]
    half = 0.5 * to_vector(np.eye(k))
    Z, U = half.copy(), np.zeros_like(half)
    for _ in range(most):
        X = vectors @ ((vectors.T @ (half + rho * (Z - U))) / (values + rho))
        spread, frame = np.linalg.eigh(to_matrix(X + U))
        new = to_vector((frame * np.maximum(spread, 0.0)) @ frame.T)
        U += X - new
        moved, Z = np.linalg.norm(new - Z) + np.linalg.norm(X - new), new
        if moved <= tolerance * np.linalg.norm(Z):
            return to_matrix(Z)
    raise ArithmeticError("tail: no convergence")
