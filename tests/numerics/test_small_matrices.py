"""Eigenvectors, roots and linear systems within kernels against NumPy's."""

import numpy as np
import pytest

from solvable.numerics.small_matrices import diagonalise, eliminate, substitute, symmetric_roots


def symmetric(kind, n):
    M = np.random.default_rng(n).standard_normal((n, n))
    M = M + M.T
    return {
        "random": M,
        "tiny": 1e-200 * M,
        "huge": 1e200 * M,
        "degenerate": np.ones((n, n)) + 1e-13 * M,
        "diagonal": np.diag(np.diag(M)),
        "zero": 0 * M,
    }[kind]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("kind", ["random", "tiny", "huge", "degenerate", "diagonal", "zero"])
def test_eigenvectors(kind, n) -> None:
    M = symmetric(kind, n)
    A, V = M.copy(), np.empty((n, n))
    diagonalise(A, V)
    X = V.T
    size = np.abs(M).max()
    assert pytest.approx(np.eye(n), abs=1e-14) == X.T @ X
    assert np.abs(X * np.diag(A) @ X.T - M).max() <= 1e-14 * size
    assert np.abs(np.sort(np.diag(A)) - np.linalg.eigvalsh(M)).max() <= 2e-14 * size


def test_what_has_overflowed_has_no_eigenvalues() -> None:
    A, V = np.full((3, 3), np.nan), np.empty((3, 3))
    diagonalise(A, V)
    assert np.isnan(A).all()


@pytest.mark.parametrize("n", [1, 2, 5, 30])
def test_linear_systems(n) -> None:
    """Rows must be exchanged: a zero comes first."""
    random = np.random.default_rng(n)
    M, b = random.standard_normal((n, n)), random.standard_normal(n)
    M[0, 0] = 0.0 if n > 1 else 2.0
    A, order, x = M.copy(), np.empty(n), b.copy()
    eliminate(A, order)
    substitute(A, order, x)
    assert M @ x == pytest.approx(b, abs=1e-12 * np.abs(x).max())


@pytest.mark.parametrize("size", [1, 2, 3, 8, 30])
@pytest.mark.parametrize("rank", [1.0, 0.5, 0.0])
def test_roots_equal_those_of_lapack(size, rank) -> None:
    """Full rank, half of it and none, at sizes from 1e-8 to 1e8."""
    random = np.random.default_rng(size)
    for scale in (1e-8, 1.0, 1e8):
        factor = random.standard_normal((size, max(1, round(rank * size)))) * (rank > 0)
        C = scale * (factor @ factor.T)
        A, V, root, inverse = (np.empty((size, size)) for _ in range(4))
        symmetric_roots(C, A, V, root, inverse)
        largest = np.abs(C).max()
        assert np.abs(root @ root - C).max() <= 1e-14 * size * largest
        assert np.abs(root - root.T).max() <= 1e-14 * np.sqrt(largest)
        values, vectors = np.linalg.eigh(C)
        keep = values > 1e-12 * max(values[-1], 1e-300)
        expected = (vectors[:, keep] / np.sqrt(values[keep])) @ vectors[:, keep].T
        lowest = values[keep].min(initial=np.inf)
        assert np.abs(inverse - expected).max() <= 1e-13 * size * largest / lowest**1.5 + 1e-300


def test_roots_of_equal_and_far_eigenvalues() -> None:
    for C in (np.eye(4), np.diag([1e-12, 1.0, 1e12]), np.array([[1.0, 1.0], [1.0, 1.0]])):
        n = len(C)
        A, V, root, inverse = (np.empty((n, n)) for _ in range(4))
        symmetric_roots(np.ascontiguousarray(C), A, V, root, inverse)
        assert root @ root == pytest.approx(C, rel=1e-14, abs=1e-15)


def test_roots_of_what_is_not_finite_end() -> None:
    C = np.full((3, 3), np.nan)
    A, V, root, inverse = (np.empty((3, 3)) for _ in range(4))
    symmetric_roots(C, A, V, root, inverse)
