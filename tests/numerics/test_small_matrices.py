"""Eigenvectors and linear systems within kernels against NumPy's."""

import numpy as np
import pytest

from solvable.numerics.small_matrices import eigenvectors, eliminate, substitute


def symmetric(kind, n):
    M = np.random.default_rng(n).standard_normal((n, n))
    M = M + M.T
    return {
        "random": M,
        "tiny": 1e-200 * M,
        "degenerate": np.ones((n, n)) + 1e-13 * M,
        "diagonal": np.diag(np.diag(M)),
        "zero": 0 * M,
    }[kind]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 20])
@pytest.mark.parametrize("kind", ["random", "tiny", "degenerate", "diagonal", "zero"])
def test_eigenvectors(kind, n) -> None:
    M = symmetric(kind, n)
    A, X = M.copy(), np.empty((n, n))
    eigenvectors(A, X)
    size = np.abs(M).max()
    assert pytest.approx(np.eye(n), abs=1e-14) == X.T @ X
    assert np.abs(X * np.diag(A) @ X.T - M).max() <= 1e-14 * size
    assert np.abs(np.sort(np.diag(A)) - np.linalg.eigvalsh(M)).max() <= 2e-14 * size


def test_what_has_overflowed_has_no_eigenvalues() -> None:
    A, X = np.full((3, 3), np.nan), np.empty((3, 3))
    eigenvectors(A, X)
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
