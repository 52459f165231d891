"""Closed-form predictions about a problem."""

from solvable.theory.available import Available, available
from solvable.theory.counting import degrees_of_freedom, solution_dimension
from solvable.theory.flow import flow_approximation, flow_bound, flow_integral, flow_jump, flow_rate, flow_tail
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
from solvable.theory.recovery import (
    counted_threshold,
    hidden_ray_probability,
    recovery_limit,
    recovery_threshold,
    statistical_dimension,
    unique_probability,
)
from solvable.theory.solutions import (
    late_distance,
    late_rate,
    late_risk,
    nearest_distance,
    nearest_solution,
    rate_limit,
)
from solvable.theory.sphere import (
    Estimate,
    annealed_escape_time,
    fewest_steps,
    noise_floor,
    noisy_escape_time,
    quenched_escape_time,
    sphere_overlap,
    zero_escape_time,
)

__all__ = [
    "Available",
    "Estimate",
    "NotApplicable",
    "Plateau",
    "Prediction",
    "annealed_escape_time",
    "available",
    "counted_threshold",
    "degrees_of_freedom",
    "escape_risk",
    "escape_time",
    "fewest_steps",
    "flow_approximation",
    "flow_bound",
    "flow_integral",
    "flow_jump",
    "flow_rate",
    "flow_tail",
    "hidden_ray_probability",
    "late_distance",
    "late_rate",
    "late_risk",
    "nearest_distance",
    "nearest_solution",
    "noise_floor",
    "noisy_escape_time",
    "noisy_starts",
    "norm_learning",
    "optimal_rate",
    "plateau",
    "plateau_limit",
    "plateau_noise",
    "quenched_escape_time",
    "rate_limit",
    "recovery_limit",
    "recovery_threshold",
    "solution_dimension",
    "sphere_overlap",
    "stair_lengths",
    "statistical_dimension",
    "unique_probability",
    "zero_escape_time",
]  # fmt: skip
