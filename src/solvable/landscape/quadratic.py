"""Population risk of quadratic networks as a function of the first layer's weights, with slopes and curvature: of the mean squared
error, whatever the loss, the norms' constraint and the decay that training adds.

Weights are scaled by 1/sqrt(dim): U (p, N) of students and U* of teachers, with norms of order one. With readouts a, a* and
D = sum_l a*_l u*_l u*_l^T - sum_k a_k u_k u_k^T, tau = tr D, the risk is c (tau^2 + 2 tr D^2) for isotropic inputs (bocchi2026,
(23) to (25)). Products never form N x N matrices.
"""

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.threads import interruptible
from solvable.overlaps import Weights, as_array
from solvable.problems import EVERYTHING, Problem

MOST = 6000  # weights in all, for a dense Hessian


class _Point(NamedTuple):
    """Students U and teachers U* as rows, their readouts, the loss factor, and tau."""

    U: np.ndarray
    teachers: np.ndarray
    a: np.ndarray
    a_star: np.ndarray
    c: float
    tau: float

    def D(self, x: np.ndarray) -> np.ndarray:
        """x D for rows x."""
        return (x @ self.teachers.T * self.a_star) @ self.teachers - (x @ self.U.T * self.a) @ self.U


# the landscape is that of the mean squared error: how students are trained on it does not matter
LANDSCAPE = replace(EVERYTHING, units="quadratic", target="additive", isotropic=True)
WHO = "this landscape"


def _point(problem: Problem, weights: Weights) -> _Point:
    LANDSCAPE.require(problem, WHO)
    if not isinstance(weights, Weights):
        raise TypeError(f"landscape: the second argument must be Weights, not {type(weights).__name__}")
    U, teachers = (rows / np.sqrt(rows.shape[1]) for rows in (weights.student, weights.teacher))
    if (len(U), len(teachers)) != (problem.student.width, problem.teacher.width):
        raise ValueError(
            f"landscape: weights of {len(U)} students and {len(teachers)} teachers given, the problem has "
            f"{problem.student.width} and {problem.teacher.width}"
        )
    if problem.inputs.dim not in (None, U.shape[1]):
        raise ValueError(f"landscape: weights of {U.shape[1]} dimensions given, the problem has {problem.inputs.dim}")
    a = problem.student.readout_values if weights.readout is None else weights.readout
    a_star = problem.teacher.readout_values
    tau = float(a_star @ (teachers**2).sum(axis=1) - a @ (U**2).sum(axis=1))
    return _Point(U, teachers, a, a_star, problem.training.loss_factor, tau)


def population_risk(problem: Problem, weights: Weights) -> float:
    """Population risk of quadratic students at given weights.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Students (p, dim) and teachers (p*, dim).

    Returns
    -------
    float
        c (tau^2 + 2 tr D^2), in the notation at the top of this module.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> round(sv.landscape.population_risk(problem, weights), 6)
    1.0
    """
    point = _point(problem, weights)
    rows, s = np.vstack([point.U, point.teachers]), np.concatenate([-point.a, point.a_star])
    return float(point.c * (point.tau**2 + 2 * s @ (rows @ rows.T) ** 2 @ s))


def gradient(problem: Problem, weights: Weights) -> np.ndarray:
    """Gradient of the population risk by the students' weights over sqrt(dim).

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Where.

    Returns
    -------
    ndarray
        (p, dim): -4 c a_k (tau + 2 D) u_k.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> sv.landscape.gradient(problem, weights).shape
    (2, 10)
    """
    point = _point(problem, weights)
    return -4 * point.c * point.a[:, None] * (point.tau * point.U + 2 * point.D(point.U))


def hessian_product(problem: Problem, weights: Weights, direction: Any) -> np.ndarray:
    """The risk's Hessian applied to a direction, at the cost of a few products with the weights.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Where.
    direction : array
        (p, dim) direction V of the weights over sqrt(dim).

    Returns
    -------
    ndarray
        (p, dim): 8 c a_k [(sum_j a_j u_j.v_j) u_k + M u_k] - 4 c a_k (tau + 2 D) v_k, M = sum_j a_j (u_j v_j^T + v_j
        u_j^T).

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> sv.landscape.hessian_product(problem, weights, np.ones((2, 10))).shape
    (2, 10)
    """
    point = _point(problem, weights)
    V = as_array(direction)
    if V.shape != point.U.shape:
        raise ValueError(f"direction: shape {V.shape} given, must be {point.U.shape}")
    return _product(point, V)


def _product(point: _Point, V: np.ndarray) -> np.ndarray:
    U, a = point.U, point.a
    along = float(np.sum(a[:, None] * U * V))
    M = (U @ V.T * a) @ U + (U @ U.T * a) @ V
    curved = 8 * (along * U + M) - 4 * (point.tau * V + 2 * point.D(V))
    return point.c * a[:, None] * curved


@interruptible
def hessian(problem: Problem, weights: Weights) -> np.ndarray:
    """The risk's Hessian by the weights over sqrt(dim), as a dense matrix; for up to a few thousand weights.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Where.

    Returns
    -------
    ndarray
        (p dim, p dim); rows and columns in the order of weights.ravel().

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> H = sv.landscape.hessian(problem, weights)
    >>> V = np.ones((2, 10))
    >>> bool(np.allclose(H @ V.ravel(), sv.landscape.hessian_product(problem, weights, V).ravel()))
    True
    """
    point = _point(problem, weights)
    size = point.U.size
    if size > MOST:
        raise ValueError(f"hessian: {size} weights give a matrix too large to form; use hessian_product")
    check_memory("hessian", f"second derivatives by {size} weights", 4 * FLOAT * size**2)
    U, a = point.U, point.a
    p, dim = U.shape
    pairs = np.einsum("ki,jl->kijl", U, U)
    blocks = pairs + pairs.transpose(2, 1, 0, 3)  # u_k u_j^T + u_j u_k^T
    n = np.arange(dim)
    blocks[:, n, :, n] += U @ U.T
    blocks *= 8 * np.outer(a, a)[:, None, :, None]
    k = np.arange(p)
    blocks[k, :, k, :] -= 4 * a[:, None, None] * (point.tau * np.eye(dim) + 2 * point.D(np.eye(dim)))
    dense: np.ndarray = point.c * blocks.reshape(size, size)
    return dense


def sphere_gradient(problem: Problem, weights: Weights) -> np.ndarray:
    """Gradient of the population risk along the spheres |u_k| = 1.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Where.

    Returns
    -------
    ndarray
        (p, dim): `gradient` without its part along each student.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> slope = sv.landscape.sphere_gradient(problem, weights)
    >>> bool(np.allclose((slope * weights.student).sum(axis=1), 0))
    True
    """
    U, g = _unit(problem, weights), gradient(problem, weights)
    return g - np.sum(g * U, axis=1, keepdims=True) * U


@interruptible
def sphere_hessian(problem: Problem, weights: Weights) -> np.ndarray:
    """Second derivative of the population risk along the spheres |u_k| = 1.

    Parameters
    ----------
    problem : Problem
        Quadratic students and teachers with isotropic inputs.
    weights : Weights
        Where.

    Returns
    -------
    ndarray
        (p dim, p dim): P H P - (u_k . grad_k) P with P = 1 - u_k u_k^T for each student. The p directions off the
        spheres are zero.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=10)
    >>> weights = sv.overlaps.Weights(np.sqrt(10) * np.eye(2, 10), np.sqrt(10) * np.eye(1, 10))
    >>> sv.landscape.sphere_hessian(problem, weights).shape
    (20, 20)
    """
    U, g, H = _unit(problem, weights), gradient(problem, weights), hessian(problem, weights)
    p, dim = U.shape
    blocks = np.zeros((p, dim, p, dim))
    for k in range(p):
        blocks[k, :, k, :] = np.eye(dim) - np.outer(U[k], U[k])
    P = blocks.reshape(H.shape)
    curved: np.ndarray = P @ H @ P - np.repeat(np.sum(U * g, axis=1), dim)[:, None] * P
    return curved


def _unit(problem: Problem, weights: Weights) -> np.ndarray:
    U = _point(problem, weights).U
    norms = np.sum(U**2, axis=1)
    if np.abs(norms - 1).max() > 1e-9:
        raise ValueError(f"landscape: students of squared norm {np.round(norms, 6)} per dim, must be 1 on the sphere")
    return U
