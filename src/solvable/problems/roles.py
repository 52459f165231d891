"""What a state has beside students, teachers and readouts: the roles of further rows, and of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvable.problems.problem import Problem


def extra_roles(problem: Problem) -> tuple[str, ...]:
    """Directions of the mixture, then, one for each student, anchors, velocities, averages and snapshots."""
    training = problem.training
    used = {
        "anchor": bool(training.anchor) and training.snapshot is None,
        "velocity": training.momentum is not None,
        "average": training.average is not None,
        "snapshot": training.snapshot is not None,
    }
    directions = ("direction",) * (0 if problem.mixture is None else problem.mixture.directions)
    return directions + tuple(role for role, is_used in used.items() if is_used for _ in range(problem.student.width))


def scalar_roles(problem: Problem) -> tuple[str, ...]:
    """Velocities of trained readouts, and the sum of squared gradients where the rate follows the state."""
    training = problem.training
    moving = training.momentum is not None and training.train_readout
    velocities = ("readout_velocity",) * (problem.heads * problem.student.width if moving else 0)
    return velocities + ("accumulated",) * (training.rate_rule is not None)
