"""Small matrices within kernels, without allocation: eigenvectors by Jacobi's rotations, linear systems by elimination.

NumPy's functions allocate, take seconds to compile and raise where numbers have overflowed; these return NaN.
"""

import math

from solvable.numerics.compiled import compiled

SWEEPS = 40  # Jacobi's method converges quadratically: some six sweeps do


@compiled()
def turn(M, i, j, c, s, by_rows):
    """Columns (or rows) i and j become c i - s j and s i + c j."""
    for k in range(M.shape[0]):
        if by_rows:
            a, b = M[i, k], M[j, k]
            M[i, k], M[j, k] = c * a - s * b, s * a + c * b
        else:
            a, b = M[k, i], M[k, j]
            M[k, i], M[k, j] = c * a - s * b, s * a + c * b


@compiled()
def eigenvectors(A, X):
    """Diagonalise the symmetric A (n, n) in place: X^T A X, with orthonormal columns X."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            X[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off, size = 0.0, 0.0
        for i in range(n):
            for j in range(n):
                size = max(size, abs(A[i, j]))
                off = max(off, abs(A[i, j])) if i != j else off
        if not off > 1e-17 * size:
            return
        for i in range(n):
            for j in range(i):
                if A[i, j] != 0.0:
                    angle = (A[j, j] - A[i, i]) / (2.0 * A[i, j])
                    t = math.copysign(1.0, angle) / (abs(angle) + math.hypot(1.0, angle))
                    c = 1.0 / math.sqrt(1.0 + t * t)
                    turn(A, i, j, c, c * t, False)
                    turn(A, i, j, c, c * t, True)
                    turn(X, i, j, c, c * t, False)
                    A[i, j] = A[j, i] = 0.0


@compiled()
def eliminate(A, order):
    """Factors of A (n, n) with rows exchanged, in place; `order` (n,) keeps which row each pivot came from."""
    n = A.shape[0]
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        order[k] = best
        for j in range(n):
            A[k, j], A[best, j] = A[best, j], A[k, j]
        for i in range(k + 1, n):
            A[i, k] /= A[k, k]
            for j in range(k + 1, n):
                A[i, j] -= A[i, k] * A[k, j]


@compiled()
def substitute(A, order, b):
    """Turn b into the solution, with what `eliminate` has left."""
    n = b.size
    for k in range(n):
        best = int(order[k])
        b[k], b[best] = b[best], b[k]
        for j in range(k):
            b[k] -= A[k, j] * b[j]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            b[k] -= A[k, j] * b[j]
        b[k] /= A[k, k]
