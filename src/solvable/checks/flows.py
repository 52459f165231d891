"""Checks of what gradient flow on quadratic students obeys, along a trajectory of `Empirical`."""

from dataclasses import replace

import numpy as np

from solvable.checks.report import Report
from solvable.problems import EVERYTHING
from solvable.results import Trajectory

POPULATION = replace(EVERYTHING, units="quadratic", isotropic=True, samples=False, knows=())


def losses_fall(trajectory: Trajectory, *, tolerance: float = 1e-6) -> Report:
    """Check that the training loss of a run on a finite data set never rises.

    Parameters
    ----------
    trajectory : Trajectory
        A run of `Empirical`.
    tolerance : float
        How much the loss may rise from one output to the next, relative to its value. Losses below 1e-28 of the first
        are rounding and do not count.

    Returns
    -------
    Report
        With the relative rises.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=12)
    >>> run = sv.run(problem, sv.start(problem, seed=0, students="spanning", scale=2.0), sv.Empirical(), until=2)
    >>> sv.checks.losses_fall(run).passed
    True
    """
    loss = _training(trajectory, "losses_fall")
    floor = 1e-28 * np.nanmax(loss, axis=1, keepdims=True)
    rises = np.maximum(np.diff(loss, axis=1), 0.0) / np.maximum(loss[:, :-1], floor)
    rises = rises[np.isfinite(rises)]
    return Report(
        "training loss falls",
        {"rise": rises},
        {"rise": np.zeros_like(rises)},
        {"rise": np.full_like(rises, tolerance)},
        1.0,
    )


def entropy_balance(trajectory: Trajectory, *, tolerance: float = 0.01) -> Report:
    """Check how a divergence between students and teacher falls in gradient flow on the population.

    From one output to the next, V = tr(A - A* - A* log A + A* log A*) falls by four times the integral of the loss E.
    The integral is taken by the trapezoidal rule with slopes, whose error is of order 4 in the distance of outputs.

    Parameters
    ----------
    trajectory : Trajectory
        A run of `Empirical` without samples, from A(0) proportional to the identity (students="spanning").
    tolerance : float
        Allowed deviation relative to the integral.

    Returns
    -------
    Report
        With the fall of V between outputs.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=None)
    >>> run = sv.run(problem, sv.start(problem, seed=0, students="spanning", scale=2.0), sv.Empirical(), until=2)
    >>> sv.checks.entropy_balance(run).passed
    True
    """
    _training(trajectory, "entropy_balance")
    POPULATION.require(trajectory.problem, "entropy_balance")
    if trajectory.settings["data"] is not None:
        raise ValueError("entropy_balance: holds on the population; run without data")
    assert trajectory.matrix is not None
    assert trajectory.teacher_matrix is not None
    A, teacher = trajectory.matrix, trajectory.teacher_matrix[:, None]
    if np.abs(A @ teacher - teacher @ A).max() > 1e-8 * np.abs(A).max() * np.abs(teacher).max():
        raise ValueError("entropy_balance: students and teacher do not commute; start with students='spanning'")
    loss, gap = trajectory.population_loss, A - teacher
    slope = 2 * gap + np.trace(gap, axis1=2, axis2=3)[..., None, None] * np.eye(A.shape[-1])
    rate = -2 * np.trace(A @ slope @ slope, axis1=2, axis2=3)  # dE/dt
    steps = np.diff(trajectory.time)
    whole = 0.5 * steps * (loss[:, 1:] + loss[:, :-1]) + steps**2 / 12 * (rate[:, :-1] - rate[:, 1:])
    fall = -np.diff(_divergence(A, trajectory.teacher_matrix), axis=1)
    return Report(
        "entropy falls by four times the loss",
        {"fall": fall}, {"fall": 4 * whole}, {"fall": 4 * tolerance * whole + 1e-12}, 1.0,
    )  # fmt: skip


def _divergence(A: np.ndarray, teacher: np.ndarray) -> np.ndarray:
    """(run, time) V, of commuting matrices."""
    values, frame = np.linalg.eigh(teacher)
    own = np.einsum("rai,rtab,rbi->rti", frame, A, frame)  # A is diagonal in the teacher's frame
    positive = values > 1e-12 * values[:, -1:]
    logs = np.where(positive, np.log(np.where(positive, values, 1.0)), 0.0)
    parts = own - values[:, None] * positive[:, None] * (1 + np.log(own) - logs[:, None])
    total: np.ndarray = parts.sum(axis=2)
    return total


def _training(trajectory: Trajectory, who: str) -> np.ndarray:
    if not isinstance(trajectory, Trajectory):
        raise TypeError(f"{who}: must be given a Trajectory, not {type(trajectory).__name__}")
    EVERYTHING.require(trajectory.problem, who)
    if trajectory.training_loss is None:
        raise ValueError(f"{who}: a run of {trajectory.level} has no training loss; Empirical has")
    return trajectory.training_loss
