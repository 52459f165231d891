"""Do the samples determine the teacher? Whether its matrix A* is the only positive semidefinite one that gives all labels.

Turn the inputs so that the teacher's range comes first, x = (a, b) with r and k = d - r coordinates. Almost surely exactly one of
two is true:

    unique:      there are weights c of the samples with  sum c a a^T = 0,  sum c a b^T = 0,  sum c b b^T  positive definite;
    not unique:  there is a symmetric D with  x^T D x = 0  on all samples and its lower block D_22 positive definite,
                 so that A* + (a little of) D is another one.

Either is a certificate that can be checked without trusting how it was found. The matrices sum c b b^T form a space of symmetric
k x k matrices and the D_22 its complement. Only the teacher's range enters, not its eigenvalues. saraomannelli2020, section 3,
asks the question; the certificates are not in the paper.
"""

from typing import Any, NamedTuple

import numpy as np

from solvable.empirical.definite import definite_member
from solvable.numerics.symmetric import squares, to_matrix, to_vector
from solvable.overlaps import as_array

SURE = 10.0  # by how much a certificate must exceed what rounding could change
EPS = float(np.finfo(float).eps)


class Decision(NamedTuple):
    """`unique`, with the certificate: weights c (samples,) of the samples, or the matrix D (dim, dim). `margin` is what `verify`
    found, above ten."""

    unique: bool
    certificate: np.ndarray
    margin: float


def decide(rows: Any, teacher: Any) -> Decision:
    """Whether the samples `rows` (n, d), labelled by the teachers `teacher` (units, d), determine the teachers' matrix. The
    certificate is verified; ArithmeticError where the data are too near the border to tell."""
    X, W = check_rows(rows, teacher)
    n, dim = X.shape
    turn, rank = turned(W)
    x = X[: dim * (dim + 1) // 2] @ turn.T  # so many are always enough
    unique, found = _decide(x[:, :rank], x[:, rank:]) if rank < dim else _decide_full_rank(x)
    certificate = np.concatenate([found, np.zeros(n - len(x))]) if unique else turn.T @ found @ turn
    margin = verify(unique, certificate, X, W)
    if not margin > SURE:
        raise ArithmeticError(
            f"decide: the certificate is within rounding (margin {margin:.3g}): the samples are on the border"
        )
    return Decision(unique, certificate, margin)


def verify(unique: bool, certificate: Any, rows: Any, teacher: Any) -> float:
    """Check a certificate against the data alone. Returns its margin: the smallest eigenvalue that must be positive, over the
    change in it that making all equalities exact could need; above one, what it certifies is true."""
    X, W = check_rows(rows, teacher)
    turn, rank = turned(W)
    x, given = X @ turn.T, as_array(certificate)
    a, b = x[:, :rank], x[:, rank:]
    wanted = (len(X),) if unique else (X.shape[1], X.shape[1])
    if given.shape != wanted:
        raise ValueError(f"certificate: shape {given.shape} given, must be {wanted}")
    if unique and rank == X.shape[1]:  # the samples must see every symmetric matrix
        return _least_singular(squares(x).T) / EPS if len(x) >= squares(x).shape[1] else 0.0
    if unique:
        conditions = _conditions(a, b)
        smallest = float(np.linalg.eigvalsh((b * given[:, None]).T @ b)[0])
        mending = float(np.linalg.norm(given @ conditions)) / _least_singular(conditions)
        return smallest / max(mending * float(np.linalg.norm((b**2).sum(axis=1))), EPS * float(np.abs(given).max()))
    D = turn @ given @ turn.T
    smallest = float(np.linalg.norm(D)) if rank == len(D) else float(np.linalg.eigvalsh(D[rank:, rank:])[0])
    mending = float(np.linalg.norm(np.einsum("si,ij,sj->s", x, D, x))) / _least_singular(squares(x)) if len(x) else 0.0
    return smallest / max(mending, EPS * float(np.abs(D).max()))


def _decide(a: np.ndarray, b: np.ndarray) -> tuple[bool, np.ndarray]:
    """The weights c, or D in the teacher's coordinates."""
    conditions = _conditions(a, b)
    free = np.linalg.qr(conditions, mode="complete")[0][
        :, min(conditions.shape) :
    ]  # (n, n - freedom) weights that meet them
    space = squares(b).T @ free
    basis, mix = np.linalg.qr(space) if space.size else (space, np.zeros((0, 0)))
    inside, found = definite_member(basis.T)
    if inside:
        return True, free @ np.linalg.solve(mix, basis.T @ to_vector(found))
    r, k = a.shape[1], b.shape[1]
    rest = np.linalg.lstsq(conditions, -squares(b) @ to_vector(found), rcond=None)[0]
    corner, side = to_matrix(rest[: r * (r + 1) // 2]), rest[r * (r + 1) // 2 :].reshape(r, k) / 2
    return False, np.block([[corner, side], [side.T, found]])


def _decide_full_rank(x: np.ndarray) -> tuple[bool, np.ndarray]:
    """A teacher of full rank has others near it in every direction that no sample sees; no weights need to be told."""
    seen = squares(x)
    if len(seen) >= seen.shape[1]:
        return True, np.zeros(len(x))
    return False, to_matrix(np.linalg.svd(seen, full_matrices=True)[2][-1])


def _conditions(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(n, freedom) what each sample adds to sum c a a^T and sum c a b^T; what D_11 and D_12 add to x^T D x."""
    return np.concatenate([squares(a), (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)], axis=1)


def turned(teacher: np.ndarray) -> tuple[np.ndarray, int]:
    """An orthogonal matrix whose first rows span the teachers, and how many they are."""
    _, values, turn = np.linalg.svd(teacher, full_matrices=True)
    return turn, int((values > 1e-12 * values[0]).sum())


def _least_singular(matrix: np.ndarray) -> float:
    return float(np.linalg.svd(matrix, compute_uv=False)[-1])


def check_rows(rows: Any, teacher: Any) -> tuple[np.ndarray, np.ndarray]:
    """Both as arrays, (n, d) and (units, d)."""
    X, W = as_array(rows), np.atleast_2d(as_array(teacher))
    if X.ndim != 2 or W.ndim != 2 or X.shape[1] != W.shape[1] or not X.size:
        raise ValueError(f"rows: shape {X.shape} with teacher {W.shape} given, must be (samples, dim) and (units, dim)")
    if not (np.isfinite(X).all() and np.isfinite(W).all()):
        raise ValueError("rows: they and the teacher must be finite")
    if not (W**2).sum() > 0:
        raise ValueError("teacher: is zero")
    return X, W
