"""Does a space of symmetric matrices hold a positive definite one?

If not, then (almost surely) its orthogonal complement does, and exactly one of the two is the case. Find which, with the matrix:
maximise lambda over Z in the space with tr Z = 1 and Z - lambda 1 positive, by Newton steps on

    -lambda / mu - log det(Z - lambda 1)

for falling mu. The search may stop as soon as lambda > 0. By duality the inverse S of Z - lambda 1 is, up to a multiple of the
identity, a matrix of the complement: S = nu 1 + D with D in the complement wherever the Newton step vanishes, and nu < 0 makes D
definite.
"""

import numpy as np
from scipy.linalg import cho_factor, cho_solve, solve_triangular

from solvable.numerics.symmetric import to_matrix, to_vector
from solvable.numerics.threads import raise_if_abandoned

FALL = 0.2  # of mu, between centres
MARGIN = 1e-9  # smallest eigenvalue, relative to the largest, that counts as positive
SMALLEST = 1e-13  # mu
MOST_STEPS = 400


class Undecided(ArithmeticError):
    """The two alternatives are too close to tell apart in this precision."""


def definite_member(basis: np.ndarray) -> tuple[bool, np.ndarray]:
    """From an orthonormal `basis` (p, k (k + 1)/2) of the space: whether it holds a definite matrix, and that matrix (k, k), of
    trace one; or else one of the complement. Works in the smaller of the two."""
    p, size = basis.shape
    k = to_matrix(np.zeros(size)).shape[-1]
    if p == 0 or p == size:
        return p > 0, np.eye(k) / k
    if 2 * p > size:
        _, _, other = np.linalg.svd(basis, full_matrices=True)
        inside, found = definite_member(other[p:])
        return not inside, found
    return _search(basis, k)


def _search(basis: np.ndarray, k: int) -> tuple[bool, np.ndarray]:
    traces = basis @ to_vector(np.eye(k))
    if np.linalg.norm(traces) <= 1e-12:
        return False, np.eye(k) / k  # the identity is in the complement
    shadow = traces @ basis / (traces @ traces)  # of the identity, of trace one
    Z = to_matrix(shadow)
    if is_definite(Z):
        return True, Z
    flat = np.linalg.svd(traces[None, :], full_matrices=True)[2][1:] @ basis  # the part of the space without trace
    directions = np.concatenate([to_matrix(flat), -np.eye(k)[None]])  # of Z, and of lambda
    spread = np.linalg.eigvalsh(Z)
    mu = (spread[-1] - spread[0]) / k
    lam = spread[0] - mu
    for _ in range(MOST_STEPS):
        raise_if_abandoned()
        step, S, decrement = _newton(directions, Z, lam, mu)
        if decrement < 1:  # S is positive: it may tell about the complement
            D = _complement(basis, shadow, S)
            if is_definite(D):
                return False, D / np.trace(D)
        share = 1.0 if decrement < 0.5 else 1.0 / (1.0 + decrement)
        Z = Z + share * np.tensordot(step[:-1], directions[:-1], axes=1)
        lam += share * step[-1]
        if lam > 0 and is_definite(Z):
            return True, Z / np.trace(Z)
        if decrement < 0.3:
            mu *= FALL
        if mu < SMALLEST:
            break
    raise Undecided("no definite matrix found, neither in the space nor in its complement: the data are on the border")


def is_definite(Z: np.ndarray) -> bool:
    spread = np.linalg.eigvalsh(Z)
    return bool(spread[0] > MARGIN * spread[-1])


def _newton(directions: np.ndarray, Z: np.ndarray, lam: float, mu: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Newton step in all directions, the dual estimate S (of trace one, orthogonal to all directions without trace) and the
    decrement."""
    k = len(Z)
    L = np.linalg.cholesky(Z - lam * np.eye(k))
    inverse = solve_triangular(L, np.eye(k), lower=True, check_finite=False)
    scaled = inverse @ directions @ inverse.T
    flat = scaled.reshape(len(directions), -1)
    gradient = -np.einsum("jii->j", scaled)
    gradient[-1] -= 1 / mu
    step = -cho_solve(cho_factor(flat @ flat.T, check_finite=False), gradient, check_finite=False)
    decrement = float(np.sqrt(max(-step @ gradient, 0.0)))
    S = (
        mu * inverse.T @ (np.eye(k) - (step @ flat).reshape(k, k)) @ inverse
    )  # the inverse after the step, to first order
    return step, S, decrement


def _complement(basis: np.ndarray, shadow: np.ndarray, S: np.ndarray) -> np.ndarray:
    """D = S - nu 1, with nu such that nothing of it is left in the space: nu = <S, e> / <e, e> for the projection e of the
    identity, and `shadow` is e / <e, e>."""
    vector = to_vector(S)
    D = vector - (vector @ shadow) * to_vector(np.eye(len(S)))
    return to_matrix(D - (basis @ D) @ basis)
