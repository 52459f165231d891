"""Gradient flow of quadratic students on n samples, compiled.

The students stand as rows of a factor Y (k, d) with A = Y^T Y and output |Y x|^2, k = min(width, d). With the residuals
rho_s = label_s - |Y x_s|^2,

    dY/dt = Y G,    G = mean_s rho_s x_s x_s^T                                                (saraomannelli2020, 3 and 5),

downhill on the training loss, so that the Jacobian is symmetric: with the rows u_s = (Y x_s) (x) x_s of U (n, k d),

    J = 1 (x) G - (2/n) U^T U.

Solving with 1 - g J takes the smaller of two matrices: k d, or, by the identity of Woodbury, n, where
U (1 (x) B)^-1 U^T, B = 1 - g G, is the entry by entry product of Z Z^T and X B^-1 X^T, Z = X Y^T.

Data are the samples X (n, d), their labels (n,), the teachers' matrix A* (d, d), and what `factor` leaves for `solve`: a triangle
(m, m), m the smaller of n and k d, B^-1 (d, d) and Z (n, k).
"""

import numpy as np
from numba import float64, int64, types, void

from solvable.numerics import chebyshev, rosenbrock
from solvable.numerics.compiled import compiled
from solvable.numerics.control import CONTROL_TYPE, REPORT_TYPE
from solvable.numerics.driving import drive
from solvable.numerics.kernel_types import Function

TRAINING, POPULATION = 0, 1
CHUNK = 4096  # samples at once

VECTOR, MATRIX = float64[::1], float64[:, ::1]
DATA = (MATRIX, VECTOR, MATRIX, MATRIX, MATRIX, MATRIX)
SYSTEM = void(int64, float64, VECTOR, VECTOR, *DATA)
FACTOR, SOLVE, GROWTH = void(int64, VECTOR, float64, *DATA), void(VECTOR, *DATA), float64(int64, VECTOR, *DATA)
REST = CONTROL_TYPE, REPORT_TYPE, types.Tuple((VECTOR, VECTOR, MATRIX)), MATRIX, types.Tuple(DATA)


def room(n: int, d: int, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Triangle, B^-1 and Z, for implicit steps."""
    small = min(n, k * d)
    return np.empty((small, small)), np.empty((d, d)), np.empty((n, k))


def room_size(n: int, d: int, k: int) -> int:
    """Numbers in it."""
    return min(n, k * d) ** 2 + d * d + n * k


@compiled()
def residuals(Z, labels, rho):
    for s in range(Z.shape[0]):
        total = 0.0
        for i in range(Z.shape[1]):
            total += Z[s, i] * Z[s, i]
        rho[s] = labels[s] - total


@compiled(SYSTEM, allocates=True)
def slope(segment, t, y, dy, X, labels, teacher, triangle, inverse, Z):
    n, d = X.shape
    fields = np.dot(X, y.reshape(y.size // d, d).T)
    rho = np.empty(n)
    residuals(fields, labels, rho)
    for s in range(n):
        for i in range(fields.shape[1]):
            fields[s, i] *= rho[s] / n
    np.dot(fields.T, X, dy.reshape(y.size // d, d))


@compiled(SYSTEM, allocates=True)
def losses(segment, t, y, out, X, labels, teacher, triangle, inverse, Z):
    """Training loss, 1/2 mean rho^2, and population loss, tr D^2 + (tr D)^2 / 2 with D = A - A*."""
    n, d = X.shape
    Y = y.reshape(y.size // d, d)
    rho = np.empty(n)
    residuals(np.dot(X, Y.T), labels, rho)
    total = 0.0
    for s in range(n):
        total += rho[s] * rho[s]
    out[TRAINING] = 0.5 * total / n if n > 0 else np.nan
    A = np.dot(Y.T, Y)
    squares, trace = 0.0, 0.0
    for i in range(d):
        trace += A[i, i] - teacher[i, i]
        for j in range(d):
            squares += (A[i, j] - teacher[i, j]) ** 2
    out[POPULATION] = squares + 0.5 * trace * trace


@compiled(allocates=True)
def mean_gradient(y, X, labels, Z):
    """G (d, d); and Z is filled."""
    n, d = X.shape
    np.dot(X, y.reshape(y.size // d, d).T, Z)
    rho = np.empty(n)
    residuals(Z, labels, rho)
    weighted = np.empty((n, d))
    for s in range(n):
        for i in range(d):
            weighted[s, i] = X[s, i] * rho[s] / n
    return np.dot(X.T, weighted)


@compiled(GROWTH, allocates=True)
def fastest_growth(segment, y, X, labels, teacher, triangle, inverse, Z):
    """Largest eigenvalue of G."""
    return np.linalg.eigvalsh(mean_gradient(y, X, labels, Z))[-1]


@compiled(FACTOR, allocates=True)
def factor(segment, y, g, X, labels, teacher, triangle, inverse, Z):
    n, d = X.shape
    B = mean_gradient(y, X, labels, Z)
    for i in range(d):
        for j in range(d):
            B[i, j] = (1.0 if i == j else 0.0) - g * B[i, j]
    if n < y.size:
        fill(np.linalg.inv(B), inverse)
        inner_products(X, inverse, Z, g, triangle)
    else:
        curvature(X, Z, B, g, triangle)
    fill(np.linalg.cholesky(triangle), triangle)


@compiled(allocates=True)
def inner_products(X, inverse, Z, g, S):
    """n / 2g + U (1 (x) B)^-1 U^T; steps so long that rounding would make it indefinite are cut short."""
    np.dot(Z, Z.T, S)
    other = np.dot(np.dot(X, inverse), X.T)
    largest = 0.0
    for s in range(S.shape[0]):
        for r in range(S.shape[0]):
            S[s, r] *= other[s, r]
        largest = max(largest, S[s, s])
    for s in range(S.shape[0]):
        S[s, s] += max(0.5 * S.shape[0] / g, 1e-14 * largest)


@compiled(allocates=True)
def curvature(X, Z, B, g, M):
    """1 - g J = 1 (x) B + (2 g/n) U^T U."""
    (n, d), k = X.shape, Z.shape[1]
    U = np.empty((min(n, CHUNK), k * d))
    M[:] = 0.0
    for begin in range(0, n, CHUNK):
        count = min(CHUNK, n - begin)
        for s in range(count):
            for i in range(k):
                for j in range(d):
                    U[s, i * d + j] = Z[begin + s, i] * X[begin + s, j]
        part = np.dot(U[:count].T, U[:count])
        for i in range(k * d):
            for j in range(k * d):
                M[i, j] += 2.0 * g / n * part[i, j]
    for i in range(k * d):
        for j in range(d):
            M[i, i // d * d + j] += B[i % d, j]


@compiled()
def fill(source, target):
    """target[:] = source, without the check of shapes, whose text Numba would compile."""
    for i in range(target.shape[0]):
        for j in range(target.shape[1]):
            target[i, j] = source[i, j]


@compiled()
def triangular_solve(L, b):
    """b becomes (L L^T)^-1 b."""
    m = b.size
    for i in range(m):
        total = 0.0
        for j in range(i):
            total += L[i, j] * b[j]
        b[i] = (b[i] - total) / L[i, i]
    for i in range(m - 1, -1, -1):
        b[i] /= L[i, i]
        for j in range(i):
            b[j] -= L[i, j] * b[i]


@compiled(SOLVE, allocates=True)
def solve(b, X, labels, teacher, triangle, inverse, Z):
    (n, d), k = X.shape, Z.shape[1]
    if n >= k * d:
        triangular_solve(triangle, b)
        return
    V = np.dot(b.reshape(k, d), inverse)
    XV = np.dot(X, V.T)
    inner, weighted = np.empty(n), np.empty((n, k))
    for s in range(n):
        total = 0.0
        for i in range(k):
            total += Z[s, i] * XV[s, i]
        inner[s] = total
    triangular_solve(triangle, inner)
    for s in range(n):
        for i in range(k):
            weighted[s, i] = Z[s, i] * inner[s]
    back = np.dot(np.dot(weighted.T, X), inverse)
    for i in range(k):
        for j in range(d):
            b[i * d + j] = V[i, j] - back[i, j]


@compiled(void(Function(SYSTEM), Function(SYSTEM), *REST))
def stabilised(observe, rhs, control, report, course, memory, data):
    drive(
        chebyshev.arrive, chebyshev.attempt, chebyshev.interpolate, chebyshev.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(Function(SYSTEM), Function(SYSTEM), Function(FACTOR), Function(SOLVE), Function(GROWTH), *REST))
def implicit(observe, rhs, factor, solve, growth, control, report, course, memory, data):
    drive(
        rosenbrock.arrive, rosenbrock.attempt, rosenbrock.interpolate, rosenbrock.PACE,
        (observe, rhs, factor, solve, growth), control, report, course, memory, data,
    )  # fmt: skip
