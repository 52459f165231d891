"""Overlaps of given weights."""

from typing import Any

import numpy as np

from solvable.overlaps.state import InvalidStart, Overlaps
from solvable.problems import Problem


def as_array(weights: Any) -> np.ndarray:
    """A float64 array from NumPy, PyTorch (also on a device, also with gradients) or JAX.

    Parameters
    ----------
    weights : array or tensor
        Numbers.

    Returns
    -------
    ndarray
        The same numbers.

    Examples
    --------
    >>> sv.overlaps.as_array([1, 2]).dtype
    dtype('float64')
    """
    if hasattr(weights, "detach"):
        weights = weights.detach().cpu()
    return np.asarray(weights, dtype=float)


def measure(problem: Problem, weights: Any, teacher_weights: Any, readout: Any = None, basis: Any = None) -> Overlaps:
    """Overlaps of given weights.

    Parameters
    ----------
    problem : Problem
        Which the weights belong to.
    weights : array
        (p, dim) students, one unit per row. With a spectrum the coordinates are those of the covariance's eigenbasis,
        block after block in the order of `problem.inputs.eigenvalues`, unless `basis` is given.
    teacher_weights : array
        (p*, dim) teachers.
    readout : array, optional
        (p,) second layer; left out, the problem's.
    basis : array, optional
        (dim, dim) eigenvectors of the input covariance as columns.

    Returns
    -------
    Overlaps
        A start for every level.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> sv.measure(problem, np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10)).cross_overlap.round(6)
    array([[1.],
           [0.]])
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
