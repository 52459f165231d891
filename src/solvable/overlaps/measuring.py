"""Overlaps of given weights."""

from typing import Any

import numpy as np

from solvable.overlaps.first_scalars import first_scalars
from solvable.overlaps.state import COPIES, InvalidStart, Overlaps
from solvable.problems import Problem


def as_array(weights: Any, name: str = "array") -> np.ndarray:
    """A float64 array from NumPy, PyTorch (also on a device, also with gradients) or JAX.

    Parameters
    ----------
    weights : array or tensor
        Numbers.
    name : str
        What an error calls them.

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
        weights = weights.float() if str(weights.dtype) == "torch.bfloat16" else weights  # NumPy has none
    try:
        return np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        hint = "; give its .weight" if hasattr(weights, "weight") else ""
        raise ValueError(f"{name}: {type(weights).__name__} given, must be an array of numbers{hint}") from None


def measure(
    problem: Problem,
    weights: Any,
    teacher_weights: Any = None,
    readout: Any = None,
    basis: Any = None,
    *,
    directions: Any = None,
    anchors: Any = None,
    velocities: Any = None,
    averages: Any = None,
    snapshots: Any = None,
) -> Overlaps:
    """Overlaps of given weights.

    Parameters
    ----------
    problem : Problem
        Which the weights belong to.
    weights : array
        (p, dim) students, one unit per row. With a spectrum the coordinates are those of the covariance's eigenbasis,
        block after block in the order of `problem.inputs.eigenvalues`, unless `basis` is given.
    teacher_weights : array, optional
        (p*, dim) teachers; left out where there are none.
    readout : array, optional
        (p,) second layer, or (heads, p); left out, the problem's.
    basis : array, optional
        (dim, dim) eigenvectors of the input covariance as columns.
    directions : array, optional
        (directions, dim) directions of a mixture's means; left out, the mixture's `vectors`, in the eigenbasis.
    anchors : array, optional
        (p, dim) weights that training is anchored to; left out, the weights themselves.
    velocities : array, optional
        (p, dim) velocities of momentum; left out, zero.
    averages, snapshots : array, optional
        (p, dim) averaged and copied weights; left out, the weights themselves.

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
    dim = problem.inputs.dim
    if dim is None:
        raise InvalidStart(
            "inputs.dim: infinite, but weights have finitely many coordinates; give the problem their number"
        )
    rotation = _orthonormal(basis, dim)
    p, q = problem.student.width, problem.teacher.width
    rows = [
        _rows("weights", weights, (p, dim), rotation),
        _rows(
            "teacher_weights", np.zeros((0, dim)) if teacher_weights is None else teacher_weights, (q, dim), rotation
        ),
    ]
    rows.append(_directions(problem, directions, rotation))
    for role, name, given in (
        ("anchor", "anchors", anchors), ("velocity", "velocities", velocities),
        ("average", "averages", averages), ("snapshot", "snapshots", snapshots),
    ):  # fmt: skip
        if role in problem.extras:
            first = rows[0] if role in COPIES else np.zeros((p, dim))
            rows.append(first if given is None else _rows(name, given, (p, dim), rotation))
        elif given is not None:
            missing = {"anchor": "training.anchor is 0", "velocity": "there is no training.momentum"}
            why = missing.get(role, f"there is no training.{role}")
            raise InvalidStart(f"{name}: given although {why}, so nothing would use them")
    edges = np.cumsum(problem.inputs.block_sizes)[:-1]
    stacked = np.array([part @ part.T / dim for part in np.split(np.vstack(rows), edges, axis=1)])
    return Overlaps(
        stacked[:, :p, :p],
        stacked[:, :p, p : p + q],
        stacked[:, p : p + q, p : p + q],
        problem.readout_values if readout is None else as_array(readout),
        problem.extras,
        stacked[:, p + q :],
        first_scalars(problem),
        problem.scalars,
    )


def _rows(name: str, given: Any, shape: tuple[int, int], rotation: np.ndarray | None) -> np.ndarray:
    array = as_array(given)
    if array.shape != shape:
        raise InvalidStart(f"{name}: shape {array.shape} given, must be {shape}")
    return array if rotation is None else array @ rotation


def _orthonormal(basis: Any, dim: int) -> np.ndarray | None:
    if basis is None:
        return None
    basis = as_array(basis)
    if basis.shape != (dim, dim):
        raise InvalidStart(f"basis: shape {basis.shape} given, must be {(dim, dim)}")
    if np.abs(basis.T @ basis - np.eye(dim)).max() > 1e-8:
        raise InvalidStart("basis: its columns must be orthonormal")
    return basis


def _directions(problem: Problem, given: Any, rotation: np.ndarray | None) -> np.ndarray:
    """(directions, dim) in the eigenbasis."""
    dim, mixture = problem.inputs.dim or 0, problem.mixture
    if mixture is None:
        if given is not None:
            raise InvalidStart("directions: given although the problem has no mixture, so nothing would use them")
        return np.zeros((0, dim))
    if given is not None:
        return _rows("directions", given, (mixture.directions, dim), rotation)
    if mixture.vectors is None:
        raise InvalidStart("directions: are missing; give those of the mixture's means, or mixture.vectors")
    return np.array(mixture.vectors)
