"""Do the samples determine the teacher? Whether its matrix A* is the only positive semidefinite one that gives all labels.

Turn the inputs so that the teacher's range comes first, x = (a, b) with r and k = d - r coordinates. Almost surely exactly one of
two is true:

    unique:      there are weights c of the samples with  sum c a a^T = 0,  sum c a b^T = 0,  sum c b b^T  positive definite;
    not unique:  there is a symmetric D with  x^T D x = 0  on all samples and its lower block D_22 positive definite,
                 so that A* + (a little of) D is another one.

Either is a certificate that can be checked without trusting how it was found. The matrices sum c b b^T form a space of symmetric
k x k matrices and the D_22 its complement. Of the samples only the space that their x x^T span enters, of the teacher only its
range. saraomannelli2020, section 3, asks the question; the certificates are not in the paper.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import qr

from solvable.empirical.definite import definite_member
from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.symmetric import squares, to_matrix, to_vector
from solvable.numerics.threads import interruptible
from solvable.overlaps import as_array

SURE = 10.0  # by how much a certificate must exceed what rounding could change
RANK = 1e-10  # singular values below this, relative to the largest, are rounding
EPS = float(np.finfo(float).eps)


class Decision(NamedTuple):
    """Whether samples determine the teacher, with a certificate that proves it.

    Parameters
    ----------
    unique : bool
        Whether the teacher's matrix is the only positive semidefinite one that fits the labels.
    certificate : ndarray
        If unique, weights (samples,) of the samples; else a matrix (dim, dim) along which there is another solution.
    margin : float
        What `verify` found; above ten.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(6, 3))
    >>> decision = sv.empirical.decide(rows, [[1.0, 0.0, 0.0]])
    >>> decision.unique, decision.margin > 10
    (True, True)
    """

    unique: bool
    certificate: np.ndarray
    margin: float


@interruptible
def decide(rows: Any, teacher: Any) -> Decision:
    """Decide whether labelled samples determine the teachers' matrix, with a verified certificate.

    Parameters
    ----------
    rows : array
        (samples, dim) inputs.
    teacher : array
        (units, dim) teachers, which give the labels.

    Returns
    -------
    Decision
        The answer with its certificate.

    Raises
    ------
    ArithmeticError
        If the data are too near the border to tell.

    Examples
    --------
    >>> rows = np.random.default_rng(0).normal(size=(8, 4))
    >>> sv.empirical.decide(rows[:3], [[1.0, 0.0, 0.0, 0.0]]).unique
    False
    """
    X, W = check_rows(rows, teacher)
    dim = X.shape[1]
    check_memory("rows", f"decisions on {len(X)} samples of {dim} numbers", room(len(X), dim))
    turn, rank, _ = turned(W)
    unit, lengths = _normed(X)  # how long a sample is does not matter
    chosen = _independent(unit)
    x = unit[chosen] @ turn.T
    unique, found = _decide(x[:, :rank], x[:, rank:]) if rank < dim else _decide_full_rank(x)
    if unique:
        certificate = np.zeros(len(X))
        certificate[chosen] = found / lengths[chosen] ** 2
    else:
        certificate = turn.T @ found @ turn
    margin = verify(unique, certificate, X, W)
    if not margin > SURE:
        raise ArithmeticError(
            f"decide: the certificate is within rounding (margin {margin:.3g}): the samples are on the border"
        )
    return Decision(unique, certificate, margin)


@interruptible
def verify(unique: bool, certificate: Any, rows: Any, teacher: Any) -> float:
    """Check a certificate against the data alone.

    Parameters
    ----------
    unique : bool
        What it certifies.
    certificate : array
        As in `Decision`.
    rows, teacher : array
        (samples, dim) and (units, dim), as in `decide`.

    Returns
    -------
    float
        Margin: the smallest eigenvalue that must be positive, over the change in it that making all equalities exact
        could need, rounding included. Above one, what it certifies is true.

    Examples
    --------
    >>> rows, teacher = np.random.default_rng(0).normal(size=(6, 3)), [[1.0, 0.0, 0.0]]
    >>> decision = sv.empirical.decide(rows, teacher)
    >>> sv.empirical.verify(decision.unique, decision.certificate, rows, teacher) > 10
    True
    """
    X, W = check_rows(rows, teacher)
    (n, dim), given = X.shape, as_array(certificate)
    turn, rank, tilt = turned(W)
    unit, lengths = _normed(X)
    x = unit @ turn.T
    if given.shape != ((n,) if unique else (dim, dim)) or not np.isfinite(given).all():
        raise ValueError(
            f"certificate: shape {given.shape} given, must be {(n,) if unique else (dim, dim)} finite numbers"
        )
    if unique and rank == dim:  # the samples must see every symmetric matrix
        return _full_rank_margin(x)
    return (
        _unique_margin(given * lengths**2, x, rank, tilt)
        if unique
        else _other_margin(turn @ given @ turn.T, x, rank, tilt)
    )


def room(samples: int, dim: int) -> int:
    """Bytes that a decision takes: matrices with a row for each sample and a column for each entry of a symmetric matrix."""
    entries = dim * (dim + 1) // 2
    return 6 * FLOAT * (samples * entries + min(samples, entries) ** 2)


def _full_rank_margin(x: np.ndarray) -> float:
    values = np.linalg.svd(squares(x), compute_uv=False)
    full = x.shape[1] * (x.shape[1] + 1) // 2
    if len(values) < full:
        return 0.0
    return float(values[-1] / (EPS * max(len(x), full) * values[0]))


def _unique_margin(c: np.ndarray, x: np.ndarray, rank: int, tilt: float) -> float:
    a, b = x[:, :rank], x[:, rank:]
    sizes, conditions = (b**2).sum(axis=1), _conditions(a, b)
    smallest = float(np.linalg.eigvalsh((b * c[:, None]).T @ b)[0])
    rounding = len(x) * EPS * float(np.abs(c) @ sizes)
    left = (len(x) * EPS + tilt) * float(np.abs(c) @ (x**2).sum(axis=1))  # of the conditions, beside what is seen
    return _ratio(smallest, _mending(conditions.T, c @ conditions, left) * float(np.linalg.norm(sizes)) + rounding)


def _other_margin(D: np.ndarray, x: np.ndarray, rank: int, tilt: float) -> float:
    size = float(np.linalg.norm(D))
    if np.abs(D - D.T).max() > 1e-9 * size:
        raise ValueError("certificate: must be symmetric")
    D = (D + D.T) / 2
    smallest = size if rank == len(D) else float(np.linalg.eigvalsh(D[rank:, rank:])[0])
    seen, lengths = squares(x), (x**2).sum(axis=1)
    left = len(D) * EPS * size * float(np.linalg.norm(lengths))
    return _ratio(smallest, _mending(seen, seen @ to_vector(D), left) + (len(D) * EPS + tilt) * size)


def _mending(matrix: np.ndarray, left: np.ndarray, rounding: float) -> float:
    """Length of the smallest change that `matrix` turns into -`left`, if that is known up to `rounding`. Only singular values that
    may be zero but for rounding are passed over: what a small one asks for is a large change."""
    U, values, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = values > SURE * EPS * max(matrix.shape) * values[0] if values.size else np.zeros(0, dtype=bool)
    if not kept.any():
        return 0.0
    return float(np.linalg.norm((U.T @ left)[kept] / values[kept])) + rounding / float(values[kept][-1])


def _ratio(smallest: float, change: float) -> float:
    return smallest / change if change > 0 else 0.0


def _decide(a: np.ndarray, b: np.ndarray) -> tuple[bool, np.ndarray]:
    """The weights c, or D in the teacher's coordinates."""
    conditions = _conditions(a, b)
    U, values, _ = np.linalg.svd(conditions, full_matrices=True)
    free = U[:, int((values > RANK * values[0]).sum()) :]  # (n, n - freedom) weights that meet all conditions
    space = squares(b).T @ free
    U, values, Vt = np.linalg.svd(space, full_matrices=False) if space.size else (space, np.zeros(0), np.zeros((0, 0)))
    kept = values > RANK * values[0] if values.size else np.zeros(0, dtype=bool)
    inside, found = definite_member(U[:, kept].T if space.size else np.zeros((0, len(space))))
    if inside:
        return True, free @ (Vt[kept].T @ ((U[:, kept].T @ to_vector(found)) / values[kept]))
    r, k = a.shape[1], b.shape[1]
    rest = np.linalg.lstsq(conditions, -squares(b) @ to_vector(found), rcond=RANK)[0]
    corner, side = to_matrix(rest[: r * (r + 1) // 2]), rest[r * (r + 1) // 2 :].reshape(r, k) / 2
    return False, np.block([[corner, side], [side.T, found]])


def _decide_full_rank(x: np.ndarray) -> tuple[bool, np.ndarray]:
    """A teacher of full rank has others near it in every direction that no sample sees; no weights need to be told."""
    seen = squares(x)
    if len(seen) >= seen.shape[1]:
        return True, np.zeros(len(x))
    return False, to_matrix(np.linalg.svd(seen, full_matrices=True)[2][-1])


def _independent(rows: np.ndarray) -> np.ndarray:
    """Samples whose x x^T are independent and span those of all: repeated ones, and more than there are matrices, add nothing."""
    _, triangle, order = qr(squares(rows).T, mode="economic", pivoting=True)
    sizes = np.abs(np.diag(triangle))
    count = int((sizes > RANK * sizes[0]).sum()) if sizes.size and sizes[0] > 0 else 0
    chosen: np.ndarray = np.sort(order[:count])
    return chosen


def independent_count(rows: np.ndarray) -> int:
    """How many symmetric matrices the samples see; dim (dim + 1)/2 where they see every one."""
    return len(_independent(_normed(rows)[0]))


def _normed(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows of length one (or zero), and the lengths by which they were divided."""
    lengths = np.linalg.norm(rows, axis=1)
    lengths = np.where(lengths > 0, lengths, 1.0)
    return rows / lengths[:, None], lengths


def _conditions(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, freedom) what each sample adds to sum c a a^T and sum c a b^T; what D_11 and D_12 add to x^T D x."""
    return np.concatenate(
        [squares(a), (a[:, :, None] * b[:, None, :]).reshape(len(a), a.shape[1] * b.shape[1])], axis=1
    )


def turned(teacher: np.ndarray) -> tuple[np.ndarray, int, float]:
    """An orthogonal matrix whose first rows span the teachers, how many they are, and how far rounding may tilt their span."""
    _, values, turn = np.linalg.svd(teacher, full_matrices=True)
    rank = int((values > 1e-12 * values[0]).sum())
    return turn, rank, EPS * float(values[0] / values[rank - 1])


def check_rows(rows: Any, teacher: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays, (n, d) and (units, d)."""
    try:
        X, W = as_array(rows), np.atleast_2d(as_array(teacher))
    except (TypeError, ValueError):
        raise ValueError(
            "rows: they and the teacher must be arrays of numbers, (samples, dim) and (units, dim)"
        ) from None
    if X.ndim != 2 or W.ndim != 2 or X.shape[1] != W.shape[1] or not X.size:
        raise ValueError(f"rows: shape {X.shape} with teacher {W.shape} given, must be (samples, dim) and (units, dim)")
    if not (np.isfinite(X).all() and np.isfinite(W).all()):
        raise ValueError("rows: they and the teacher must be finite")
    if not (W**2).sum() > 0:
        raise ValueError("teacher: is zero")
    if not (X**2).sum() > 0:
        raise ValueError("rows: are all zero")
    return X, W
