"""<g'_k g'_l e^2> for an error e = sum_i s_i g_i of polynomial units, exactly and at any number of fields, in compiled code.

Given the two fields of the slopes, e^2 is an average over two fields of a Gaussian with another mean. So the nodes run over two
directions only, and a tensor rule of enough nodes has no error. With the fields of k and l on a node at x, z = M x + zeta with
Cov(zeta) = C - M M^T: expand every g_i in the Hermite polynomials of zeta, then <e^2> = sum_r r! sum_ij s_i s_j A_ir A_jr Cov_ij^r.
All of it is a polynomial in C. Units are places of their coefficients in `numbers` and terms, see `curves.py`.
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled

MOST_TERMS = 16
_RANK = 1e-15  # a second direction with less than this part of the variance is rounding
_CHOOSE = np.array([[math.comb(m, r) for r in range(MOST_TERMS)] for m in range(MOST_TERMS)], dtype=float)
_FACTORIALS = np.array([math.factorial(k) for k in range(MOST_TERMS)], dtype=float)


def square_scratch(fields: int) -> int:
    """Numbers of scratch for `polynomial_squares`: M, A and the powers of the covariance of zeta."""
    return 2 * fields + (fields + 1) * MOST_TERMS + MOST_TERMS * fields**2


@compiled()
def two_directions(C, k, m, M):
    """M (n, 2): fields given the fields of k and m, in standard normal coordinates of these two; how many coordinates."""
    a, b, d = C[k, k], C[k, m], C[m, m]
    half, gap = 0.5 * (a + d), math.hypot(0.5 * (a - d), b)
    large, small = half + gap, (a * d - b * b) / (half + gap) if half + gap > 0.0 else 0.0
    c, s = 1.0, 0.0
    if gap > 0.0:
        angle = 0.5 * math.atan2(b, 0.5 * (a - d))
        c, s = math.cos(angle), math.sin(angle)
    first = 1.0 / math.sqrt(large) if large > 0.0 else 0.0
    second = 1.0 / math.sqrt(small) if small > _RANK * large else 0.0
    for i in range(C.shape[0]):
        M[i, 0] = first * (c * C[i, k] + s * C[i, m])
        M[i, 1] = second * (c * C[i, m] - s * C[i, k])
    return 2 if second > 0.0 else 1


@compiled()
def expand_about(numbers, at, terms, mean, variance, hermite, A):
    """A_r = <g^(r)(mean + zeta)> / r! with zeta of this variance: <He_m(mean + zeta)> are Hermite polynomials again, of variance
    1 - variance."""
    hermite[0] = 1.0
    for m in range(1, terms):
        hermite[m] = mean * hermite[m - 1] - ((m - 1) * (1.0 - variance) * hermite[m - 2] if m > 1 else 0.0)
    for r in range(A.size):
        total = 0.0
        for m in range(r, terms):
            total += _CHOOSE[m, r] * numbers[at + m] * hermite[m - r]
        A[r] = total


@compiled()
def slope_at(numbers, at, terms, z):
    """Of a polynomial in powers of z."""
    slope = 0.0
    for m in range(terms - 1, 0, -1):
        slope = slope * z + m * numbers[at + m]
    return slope


@compiled()
def square_given(student, teacher, p, numbers, s, M, powers, x, y, A):
    """<e^2> with the two directions at x and y; the last row of A is scratch."""
    n, terms = s.size, A.shape[1]
    for i in range(n):
        at, own = (student[1] + student[2], student[2]) if i < p else (teacher[1] + teacher[2], teacher[2])
        expand_about(numbers, at, own, M[i, 0] * x + M[i, 1] * y, powers[1, i, i], A[n], A[i])
    total = 0.0
    for r in range(terms):
        part = 0.0
        for i in range(n):
            row = 0.0
            for j in range(i):
                row += s[j] * A[j, r] * powers[r, i, j]
            part += s[i] * A[i, r] * (2.0 * row + s[i] * A[i, r] * powers[r, i, i])
        total += _FACTORIALS[r] * part
    return total


@compiled()
def polynomial_squares(student, teacher, p, C, s, numbers, rule, out, scratch):
    """Fill (p, p) over pairs of students; `rule` is (place in `numbers`, nodes) of one-dimensional Gauss-Hermite nodes, weights
    behind them."""
    n, terms = s.size, max(student[2], teacher[2], 2)
    begin, (nodes, count) = 2 * n + (n + 1) * terms, rule
    M, A = scratch[: 2 * n].reshape(n, 2), scratch[2 * n : begin].reshape(n + 1, terms)
    powers = scratch[begin : begin + terms * n * n].reshape(terms, n, n)
    for k in range(p):
        for m in range(k + 1):
            directions = two_directions(C, k, m, M)
            for i in range(n):
                for j in range(n):
                    left = C[i, j] - M[i, 0] * M[j, 0] - M[i, 1] * M[j, 1]
                    powers[0, i, j] = 1.0
                    for r in range(1, terms):
                        powers[r, i, j] = left * powers[r - 1, i, j]
            total = 0.0
            for u in range(count):
                for v in range(count if directions == 2 else 1):
                    x, y = numbers[nodes + u], numbers[nodes + v] if directions == 2 else 0.0
                    weight = numbers[nodes + count + u] * (numbers[nodes + count + v] if directions == 2 else 1.0)
                    bent = slope_at(numbers, student[1], student[2], M[k, 0] * x + M[k, 1] * y)
                    bent *= slope_at(numbers, student[1], student[2], M[m, 0] * x + M[m, 1] * y)
                    total += weight * bent * square_given(student, teacher, p, numbers, s, M, powers, x, y, A)
            out[k, m] = out[m, k] = total
