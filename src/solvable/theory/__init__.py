"""Closed-form predictions about a problem."""

from solvable.theory.available import Available, available
from solvable.theory.counting import degrees_of_freedom, solution_dimension
from solvable.theory.plateau import (
    Plateau,
    escape_risk,
    escape_time,
    noisy_starts,
    norm_learning,
    optimal_rate,
    plateau,
    plateau_limit,
    plateau_noise,
    stair_lengths,
)
from solvable.theory.prediction import NotApplicable, Prediction
from solvable.theory.solutions import (
    late_distance,
    late_rate,
    late_risk,
    nearest_distance,
    nearest_solution,
    rate_limit,
)

__all__ = [
    "Available",
    "NotApplicable",
    "Plateau",
    "Prediction",
    "available",
    "degrees_of_freedom",
    "escape_risk",
    "escape_time",
    "late_distance",
    "late_rate",
    "late_risk",
    "nearest_distance",
    "nearest_solution",
    "noisy_starts",
    "norm_learning",
    "optimal_rate",
    "plateau",
    "plateau_limit",
    "plateau_noise",
    "rate_limit",
    "solution_dimension",
    "stair_lengths",
]  # fmt: skip
