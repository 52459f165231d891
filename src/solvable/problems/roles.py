"""What a state has beside students, teachers and readouts: the roles of further rows, and of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from solvable.problems.spec import KernelSpec


def extra_roles(problem: KernelSpec) -> tuple[str, ...]:
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


def scalar_roles(problem: KernelSpec) -> tuple[str, ...]:
    """Biases of the outputs, velocities of all readouts and biases where some are trained, and the sum of squared gradients where
    the rate follows the state."""
    training = problem.training
    biases = ("bias",) * (problem.heads if has_bias(problem) else 0)
    moving = training.momentum is not None and (training.train_readout or training.train_bias)
    velocities = ("readout_velocity",) * (problem.heads * problem.student.width + len(biases) if moving else 0)
    return biases + velocities + ("accumulated",) * (training.rate_rule is not None)


def has_bias(problem: KernelSpec) -> bool:
    """Whether outputs have a bias, or may learn one."""
    return bool(problem.student.bias) or problem.training.train_bias
