"""Roots of small symmetric matrices without LAPACK."""

import numpy as np
import pytest

from solvable.numerics.eigen import symmetric_roots


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


def test_equal_and_far_eigenvalues() -> None:
    for C in (np.eye(4), np.diag([1e-12, 1.0, 1e12]), np.array([[1.0, 1.0], [1.0, 1.0]])):
        n = len(C)
        A, V, root, inverse = (np.empty((n, n)) for _ in range(4))
        symmetric_roots(np.ascontiguousarray(C), A, V, root, inverse)
        assert root @ root == pytest.approx(C, rel=1e-14, abs=1e-15)


def test_what_is_not_finite_ends() -> None:
    C = np.full((3, 3), np.nan)
    A, V, root, inverse = (np.empty((3, 3)) for _ in range(4))
    symmetric_roots(C, A, V, root, inverse)
