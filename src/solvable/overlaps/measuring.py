"""Overlaps of given weights."""

from typing import Any

import numpy as np

from solvable.overlaps.state import InvalidStart, Overlaps
from solvable.problems import Problem


def as_array(weights: Any) -> np.ndarray:
    """A float64 array from NumPy, PyTorch (also on a device, also with gradients) or JAX."""
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
    return np.asarray(weights, dtype=float)


def measure(problem: Problem, weights: Any, teacher_weights: Any, readout: Any = None, basis: Any = None) -> Overlaps:
    """Overlaps of weights (p, dim) and teacher weights (p*, dim), one unit per row.

    With a spectrum the coordinates are those of the covariance's eigenbasis, block after block in the order of
    `problem.inputs.eigenvalues`; weights in other coordinates need the eigenvectors as columns of `basis` (dim, dim).
    """
    W, B = as_array(weights), as_array(teacher_weights)
    dim = problem.inputs.dim
    if dim is None:
        raise InvalidStart(
            "inputs.dim: infinite, but weights have finitely many coordinates; give the problem their number"
        )
    for name, array, width in [("weights", W, problem.student.width), ("teacher_weights", B, problem.teacher.width)]:
        if array.shape != (width, dim):
            raise InvalidStart(f"{name}: shape {array.shape} given, must be {(width, dim)}")
    if basis is not None:
        basis = as_array(basis)
        if basis.shape != (dim, dim):
            raise InvalidStart(f"basis: shape {basis.shape} given, must be {(dim, dim)}")
        if np.abs(basis.T @ basis - np.eye(dim)).max() > 1e-8:
            raise InvalidStart("basis: its columns must be orthonormal")
        W, B = W @ basis, B @ basis
    edges = np.cumsum(problem.inputs.block_sizes)[:-1]
    stacked = np.array([rows @ rows.T / dim for rows in np.split(np.vstack([W, B]), edges, axis=1)])
    p = problem.student.width
    return Overlaps(
        stacked[:, :p, :p],
        stacked[:, :p, p:],
        stacked[:, p:, p:],
        problem.student.readout_values if readout is None else as_array(readout),
    )
