"""Gradient flow of quadratic students on n samples, compiled.

The students stand as rows of a factor Y (k, d) with A = Y^T Y and output |Y x|^2, k = min(width, d). With the residuals
rho_s = label_s - |Y x_s|^2,

    dY/dt = Y G,    G = mean_s rho_s x_s x_s^T                                                (saraomannelli2020, 3 and 5),

downhill on the training loss, so that the Jacobian is symmetric: with the rows u_s = (Y x_s) (x) x_s of U (n, k d),

    J = 1 (x) G - (2/n) U^T U.

Solving with 1 - g J takes the smaller of two matrices: k d, or, by the identity of Woodbury, n, where
U (1 (x) B)^-1 U^T, B = 1 - g G, is the entry by entry product of Z Z^T and X B^-1 X^T, Z = X Y^T.

`ints` are (n, d, k); `floats` the samples X (n d), their labels (n) and the teachers' matrix A* (d d).
"""

import numpy as np
from numba import float64, int64, void

from solvable.numerics.compiled import compiled

N, D, K = 0, 1, 2
TRAINING, POPULATION = 0, 1
CHUNK = 4096  # samples at once


@compiled(allocates=True)
def unpack(ints, floats):
    n, d = ints[N], ints[D]
    return floats[: n * d].reshape(n, d), floats[n * d : n * d + n]


@compiled(allocates=True)
def residuals(Z, labels, rho):
    for s in range(Z.shape[0]):
        total = 0.0
        for i in range(Z.shape[1]):
            total += Z[s, i] * Z[s, i]
        rho[s] = labels[s] - total


@compiled(void(float64[::1], int64[::1], float64[::1], float64[::1]), allocates=True)
def slope(y, ints, floats, dy):
    n, d, k = ints[N], ints[D], ints[K]
    X, labels = unpack(ints, floats)
    Z = np.dot(X, y.reshape(k, d).T)
    rho = np.empty(n)
    residuals(Z, labels, rho)
    for s in range(n):
        for i in range(k):
            Z[s, i] *= rho[s] / n
    dy[:] = np.dot(Z.T, X).ravel()


@compiled(void(float64[::1], int64[::1], float64[::1], float64[::1]), allocates=True)
def losses(y, ints, floats, out):
    """Training loss, 1/2 mean rho^2, and population loss, tr D^2 + (tr D)^2 / 2 with D = A - A*."""
    n, d, k = ints[N], ints[D], ints[K]
    X, labels = unpack(ints, floats)
    Y = y.reshape(k, d)
    rho = np.empty(n)
    residuals(np.dot(X, Y.T), labels, rho)
    out[TRAINING] = 0.5 * np.sum(rho * rho) / n if n > 0 else np.nan
    gap = np.dot(Y.T, Y) - floats[n * d + n :].reshape(d, d)
    trace = 0.0
    for i in range(d):
        trace += gap[i, i]
    out[POPULATION] = np.sum(gap * gap) + 0.5 * trace * trace


@compiled(allocates=True)
def mean_gradient(y, ints, floats):
    """G (d, d) and Z (n, k)."""
    n, d, k = ints[N], ints[D], ints[K]
    X, labels = unpack(ints, floats)
    Z = np.dot(X, y.reshape(k, d).T)
    rho = np.empty(n)
    residuals(Z, labels, rho)
    weighted = np.empty((n, d))
    for s in range(n):
        for i in range(d):
            weighted[s, i] = X[s, i] * rho[s] / n
    return np.dot(X.T, weighted), Z


@compiled(float64(float64[::1], int64[::1], float64[::1]), allocates=True)
def fastest_growth(y, ints, floats):
    """Largest eigenvalue of G."""
    G, _ = mean_gradient(y, ints, floats)
    return np.linalg.eigvalsh(G)[-1]


def room(n: int, d: int, k: int) -> int:
    """Numbers that `factor` leaves for `solve`."""
    small = min(n, k * d)
    return small * small + d * d + n * k + small


@compiled(allocates=True)
def places(ints, room):
    """The triangle, B^-1, and Z, as `factor` left them."""
    n, d, k = ints[N], ints[D], ints[K]
    m = min(n, k * d)
    triangle = room[: m * m].reshape(m, m)
    inverse = room[m * m : m * m + d * d].reshape(d, d)
    Z = room[m * m + d * d : m * m + d * d + n * k].reshape(n, k)
    return triangle, inverse, Z


@compiled(void(float64[::1], float64, int64[::1], float64[::1], float64[::1]), allocates=True)
def factor(y, g, ints, floats, room):
    n, d, k = ints[N], ints[D], ints[K]
    X, _ = unpack(ints, floats)
    triangle, inverse, Z = places(ints, room)
    G, fields = mean_gradient(y, ints, floats)
    Z[:] = fields
    B = -g * G
    for i in range(d):
        B[i, i] += 1.0
    if n < k * d:
        inverse[:] = np.linalg.inv(B)
        S = np.dot(Z, Z.T) * np.dot(np.dot(X, inverse), X.T)
        largest = 0.0
        for s in range(n):
            largest = max(largest, S[s, s])
        for s in range(n):
            S[s, s] += max(
                0.5 * n / g, 1e-14 * largest
            )  # steps so long that rounding would make it indefinite are cut short
        triangle[:] = np.linalg.cholesky(S)
        return
    M, U = np.zeros((k * d, k * d)), np.empty((min(n, CHUNK), k * d))
    for begin in range(0, n, CHUNK):
        count = min(CHUNK, n - begin)
        for s in range(count):
            for i in range(k):
                for j in range(d):
                    U[s, i * d + j] = Z[begin + s, i] * X[begin + s, j]
        M += np.dot(U[:count].T, U[:count])
    M *= 2.0 * g / n
    for i in range(k):
        M[i * d : (i + 1) * d, i * d : (i + 1) * d] += B
    triangle[:] = np.linalg.cholesky(M)


@compiled(allocates=True)
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


@compiled(void(int64[::1], float64[::1], float64[::1], float64[::1]), allocates=True)
def solve(ints, floats, room, b):
    n, d, k = ints[N], ints[D], ints[K]
    triangle, inverse, Z = places(ints, room)
    if n >= k * d:
        triangular_solve(triangle, b)
        return
    X, _ = unpack(ints, floats)
    V = np.dot(b.reshape(k, d), inverse)
    XV = np.dot(X, V.T)
    inner = np.empty(n)
    for s in range(n):
        total = 0.0
        for i in range(k):
            total += Z[s, i] * XV[s, i]
        inner[s] = total
    triangular_solve(triangle, inner)
    weighted = np.empty((n, k))
    for s in range(n):
        for i in range(k):
            weighted[s, i] = Z[s, i] * inner[s]
    b[:] = (V - np.dot(np.dot(weighted.T, X), inverse)).ravel()
