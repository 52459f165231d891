"""Closed averages in NumPy, matrix by matrix: a second way to what the library computes entry by entry in compiled code."""

from math import comb, factorial

import numpy as np
from numpy.polynomial import hermite_e

from solvable.gaussian.all_pairs import Pairs
from solvable.gaussian.rules import Rule


def relu_pairs(C: np.ndarray) -> Pairs:
    """The arc-cosine kernels; g'' is a delta at zero. A field without variance has slope one half."""
    variance = np.diag(C)
    scale = np.sqrt(np.outer(variance, variance))
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.clip(np.where(scale > 0, C / scale, 0.0), -1.0, 1.0)
        root = np.sqrt(np.maximum(scale**2 - C**2, 0.0))
        curvature = np.where(variance[:, None] > 0, root / (2 * np.pi * variance[:, None]), 0.0)
    product = (root + C * (np.pi - np.arccos(rho))) / (2 * np.pi)
    return Pairs(product, 0.25 + np.arcsin(rho) / (2 * np.pi), curvature)


def hermite_pairs(coefficients: list[np.ndarray], C: np.ndarray) -> Pairs:
    """Units g_i = sum_m c_im He_m: expand each in the Hermite polynomials that belong to its own variance; then
    <g_i g_j> = sum_k k! a_ik a_jk C_ij^k. Polynomial in C throughout, so singular covariances are harmless."""
    degree = max(len(one) for one in coefficients)
    padded = np.array([np.concatenate([one, np.zeros(degree - len(one))]) for one in coefficients])
    order = np.arange(1, degree)
    first = np.pad(padded[:, 1:] * order, ((0, 0), (0, 1)))  # He_m' = m He_(m-1)
    second = np.pad(first[:, 1:] * order, ((0, 0), (0, 1)))
    g, slope, bend = (_rescaled(part, np.diag(C)) for part in (padded, first, second))
    powers = np.stack([factorial(k) * C**k for k in range(degree)])

    def average(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.einsum("ik,jk,kij->ij", a, b, powers)

    return Pairs(average(g, g), average(slope, slope), average(bend, g))


def _rescaled(coefficients: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """a_k = sum_j c_(k+2j) (k+2j)! / (j! k! 2^j) (variance - 1)^j."""
    degree = coefficients.shape[1]
    result = np.zeros_like(coefficients)
    for k in range(degree):
        for j in range((degree - 1 - k) // 2 + 1):
            m = k + 2 * j
            result[:, k] += (
                coefficients[:, m] * factorial(m) / (factorial(j) * factorial(k) * 2**j) * (variance - 1) ** j
            )
    return result


_RANK = 1e-15  # a second direction with less than this part of the variance is rounding


def polynomial_squares(
    coefficients: list[np.ndarray], students: int, C: np.ndarray, s: np.ndarray, rule: Rule
) -> np.ndarray:
    """(p, p) over pairs of the first `students` units g_i = sum_m c_im He_m; `rule` is a tensor rule of two directions.

    With the fields of k and l on a node at x, z = M x + zeta with Cov(zeta) = C - M M^T: expand every g_i in the Hermite
    polynomials of zeta, then <e^2> = sum_r r! sum_ij s_i s_j A_ir A_jr Cov_ij^r. All of it is a polynomial in C.
    """
    degree = max(len(one) for one in coefficients)
    padded = np.array([np.pad(one, (0, degree - len(one))) for one in coefficients])
    squares = np.empty((students, students))
    for k in range(students):
        found = _squares_with(k, padded, C, s, rule)
        squares[k, : k + 1] = squares[: k + 1, k] = found
    return squares


def _squares_with(k: int, coefficients: np.ndarray, C: np.ndarray, s: np.ndarray, rule: Rule) -> np.ndarray:
    """(k + 1,) of unit k with those up to itself."""
    two = np.stack([np.full(k + 1, k), np.arange(k + 1)], axis=1)  # (pair, 2)
    values, vectors = np.linalg.eigh(C[two[:, :, None], two[:, None, :]])
    values = np.where(values > _RANK * values[:, 1:], values, 0.0)
    roots = np.sqrt(values)
    inverse = np.divide(1.0, roots, out=np.zeros_like(roots), where=roots > 0)
    fields = rule.points @ (vectors * roots[:, None, :]).swapaxes(1, 2)  # (pair, node, 2)
    M = C[:, two].swapaxes(0, 1) @ (vectors * inverse[:, None, :])  # (pair, n, 2)
    rest = C - M @ M.swapaxes(1, 2)
    slopes = [hermite_e.hermeval(fields[:, :, i], _derivative(coefficients[k])) for i in range(2)]
    A = _about(coefficients, rule.points @ M.swapaxes(1, 2), np.diagonal(rest, axis1=1, axis2=2))
    power, square = np.ones_like(rest), np.zeros(slopes[0].shape)
    for r, part in enumerate(A):
        weighted = part * s
        square += factorial(r) * ((weighted @ power) * weighted).sum(axis=2)
        power = power * rest
    average: np.ndarray = (slopes[0] * slopes[1] * square) @ rule.weights
    return average


def _derivative(coefficients: np.ndarray) -> np.ndarray:
    """He_m' = m He_(m-1)."""
    return coefficients[1:] * np.arange(1, len(coefficients)) if len(coefficients) > 1 else np.zeros(1)


def _about(coefficients: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> list[np.ndarray]:
    """A_r (pair, node, n) = <g_i^(r)(mean_i + zeta_i)> / r! for r = 0, 1, ..., with zeta_i of the given variance (pair, n):
    <He_m(mean + zeta)> are Hermite polynomials again, of variance 1 - variance."""
    degree, left = coefficients.shape[1], 1.0 - variance[:, None, :]
    hermite = [np.ones_like(mean), mean]
    for m in range(1, degree - 1):
        hermite.append(mean * hermite[m] - m * left * hermite[m - 1])
    return [
        sum((comb(m, r) * coefficients[:, m] * hermite[m - r] for m in range(r, degree)), np.zeros_like(mean))
        for r in range(degree)
    ]
