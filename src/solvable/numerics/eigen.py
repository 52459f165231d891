"""Eigenvalues and roots of small symmetric matrices in compiled code, without any memory of their own."""

import math

from solvable.numerics.compiled import compiled

SWEEPS = 30
KEPT = 1e-12  # of the largest eigenvalue: smaller ones have no inverse


@compiled()
def diagonalise(A, V):
    """Cyclic Jacobi rotations: eigenvalues on the diagonal of A, which is overwritten, eigenvectors in the rows of V."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        off, size = 0.0, 0.0
        for i in range(n):
            size += A[i, i] * A[i, i]
            for j in range(i):
                off += A[i, j] * A[i, j]
        if not off > 1e-34 * size:
            return
        for i in range(n):
            for j in range(i):
                rotate(A, V, j, i)


@compiled()
def rotate(A, V, i, j):
    """Make A[i, j] vanish; what is below rounding is dropped."""
    beside = A[i, j]
    if abs(beside) <= 1e-18 * math.sqrt(abs(A[i, i] * A[j, j])):
        A[i, j] = A[j, i] = 0.0
        return
    theta = 0.5 * (A[j, j] - A[i, i]) / beside
    t = 1.0 / (abs(theta) + math.sqrt(theta * theta + 1.0))
    t = t if theta >= 0.0 else -t
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
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
