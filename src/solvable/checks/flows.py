"""What gradient flow on quadratic students obeys, along a trajectory of `Empirical`."""

import numpy as np

from solvable.checks.report import Report
from solvable.results import Trajectory


def losses_fall(trajectory: Trajectory, *, tolerance: float = 1e-6) -> Report:
    """The training loss never rises: by how much it does from one output to the next, relative to its value; rounding (a loss of
    1e-28 of the first) does not count."""
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


def entropy_balance(trajectory: Trajectory, *, tolerance: float = 1e-8) -> Report:
    """On the population, from A(0) = c 1: the divergence V = tr(A - A* - A* log A + A* log A*) falls at the rate dV/dt = -4 E, at
    every output (relative to 4 E)."""
    _training(trajectory, "entropy_balance")
    if trajectory.problem.training.samples is not None or trajectory.settings["data"] is not None:
        raise ValueError("entropy_balance: holds on the population; run without training.samples")
    assert trajectory.matrix is not None
    assert trajectory.teacher_matrix is not None
    reached = np.isfinite(trajectory.risk)
    A = trajectory.matrix[reached]
    teacher = np.broadcast_to(trajectory.teacher_matrix[:, None], trajectory.matrix.shape)[reached]
    if np.abs(A @ teacher - teacher @ A).max() > 1e-8 * np.abs(A).max() * np.abs(teacher).max():
        raise ValueError("entropy_balance: students and teacher do not commute; start with students='spanning'")
    gap = teacher - A
    pull = np.trace(gap, axis1=1, axis2=2)[:, None, None] * np.eye(A.shape[1]) + 2 * gap
    moved = pull @ A + A @ pull
    fall = np.trace(moved, axis1=1, axis2=2) - np.trace(teacher @ np.linalg.solve(A, moved), axis1=1, axis2=2)
    loss = trajectory.population_loss[reached]
    return Report(
        "entropy falls by four times the loss",
        {"rate": fall}, {"rate": -4 * loss}, {"rate": 4 * tolerance * loss + 1e-15}, 1.0,
    )  # fmt: skip


def _training(trajectory: Trajectory, who: str) -> np.ndarray:
    if trajectory.training_loss is None:
        raise ValueError(f"{who}: a run of {trajectory.level} has no training loss; Empirical has")
    return trajectory.training_loss
