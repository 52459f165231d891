"""Small matrices within kernels, without allocation: eigenvectors by Jacobi's rotations, roots, linear systems by elimination.

NumPy's functions allocate, take seconds to compile and raise where numbers have overflowed; these return NaN.
"""

import math

from solvable.numerics.compiled import compiled

SWEEPS = 40  # Jacobi's method converges quadratically: some six sweeps do
KEPT = 1e-12  # of the largest eigenvalue: smaller ones have no inverse


@compiled()
def diagonalise(A, V):
    """Cyclic Jacobi rotations: eigenvalues on the diagonal of the symmetric A (n, n), which is overwritten, eigenvectors in the
    rows of V."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off, size = 0.0, 0.0
        for i in range(n):
            size = max(size, abs(A[i, i]))
            for j in range(i):
                off = max(off, abs(A[i, j]))
        if not off > 1e-17 * size:
            return
        for i in range(n):
            for j in range(i):
                rotate(A, V, j, i)


@compiled()
def rotate(A, V, i, j):
    """Make A[i, j] vanish; what is below rounding is dropped."""
    beside = A[i, j]
    if abs(beside) <= 1e-18 * min(abs(A[i, i]), abs(A[j, j])):
        A[i, j] = A[j, i] = 0.0
        return
    angle = (A[j, j] - A[i, i]) / (2.0 * beside)
    t = math.copysign(1.0, angle) / (abs(angle) + math.sqrt(angle * angle + 1.0))
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = c * t
    n = A.shape[0]
    for k in range(n):
        a, b = A[i, k], A[j, k]
        A[i, k], A[j, k] = c * a - s * b, s * a + c * b
        a, b = V[i, k], V[j, k]
        V[i, k], V[j, k] = c * a - s * b, s * a + c * b
    for k in range(n):
        a, b = A[k, i], A[k, j]
        A[k, i], A[k, j] = c * a - s * b, s * a + c * b
    A[i, j] = A[j, i] = 0.0


@compiled()
def symmetric_roots(C, A, V, root, inverse):
    """The symmetric root of a positive semidefinite C, and the pseudo-inverse of the root; A and V are scratch."""
    n = C.shape[0]
    for i in range(n):
        for j in range(n):
            A[i, j] = C[i, j]
            root[i, j] = inverse[i, j] = 0.0
    diagonalise(A, V)
    largest = 0.0
    for i in range(n):
        largest = max(largest, A[i, i])
    for k in range(n):
        r = math.sqrt(max(A[k, k], 0.0))
        q = 1.0 / r if A[k, k] > KEPT * max(largest, 1e-300) else 0.0
        for i in range(n):
            for j in range(n):
                root[i, j] += r * V[k, i] * V[k, j]
                inverse[i, j] += q * V[k, i] * V[k, j]


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
