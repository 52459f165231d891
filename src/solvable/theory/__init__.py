"""Closed-form predictions about a problem."""

from solvable.theory.adaptive import adagrad_rate, momentum_growth, momentum_late_rate
from solvable.theory.approach import erf_late_risk, first_order_risk
from solvable.theory.available import Available, available
from solvable.theory.committee import SymmetricPlateau, erf_plateau, plateau_drop
from solvable.theory.counting import degrees_of_freedom, solution_dimension
from solvable.theory.drifting import drift_risk
from solvable.theory.escape import escape_risk, escape_time, stair_lengths
from solvable.theory.features import feature_risk, hidden_feature_mean, hidden_feature_rests, hidden_feature_risk
from solvable.theory.floors import noise_floor
from solvable.theory.flow import flow_approximation, flow_bound, flow_integral, flow_jump, flow_rate, flow_tail
from solvable.theory.forecast import forecast
from solvable.theory.linear import Modes, linear_mean_risk, linear_modes, linear_risk
from solvable.theory.linear_data import DataLosses, linear_data_losses
from solvable.theory.noise import noisy_starts, plateau_noise
from solvable.theory.plateau import Plateau, norm_learning, optimal_rate, plateau, plateau_limit
from solvable.theory.power_law import (
    power_law_ends,
    power_law_feature_risk,
    power_law_gap,
    power_law_risk,
    power_law_window,
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
    optimal_late_rate,
    rate_limit,
)
from solvable.theory.sphere import sphere_overlap
from solvable.theory.sphere_escape import Estimate, annealed_escape_time, fewest_steps, quenched_escape_time
from solvable.theory.sphere_noise import noisy_escape_time, zero_escape_time
from solvable.theory.uniform import (
    Heights,
    overlap_escape_time,
    printed_plateau_length,
    rowwise_plateau,
    uniform_escape_time,
    uniform_plateau,
)

__all__ = [
    "Available",
    "DataLosses",
    "Estimate",
    "Heights",
    "Modes",
    "NotApplicable",
    "Plateau",
    "Prediction",
    "SymmetricPlateau",
    "adagrad_rate",
    "annealed_escape_time",
    "available",
    "counted_threshold",
    "degrees_of_freedom",
    "drift_risk",
    "erf_late_risk",
    "erf_plateau",
    "escape_risk",
    "escape_time",
    "feature_risk",
    "fewest_steps",
    "first_order_risk",
    "flow_approximation",
    "flow_bound",
    "flow_integral",
    "flow_jump",
    "flow_rate",
    "flow_tail",
    "forecast",
    "hidden_feature_mean",
    "hidden_feature_rests",
    "hidden_feature_risk",
    "hidden_ray_probability",
    "late_distance",
    "late_rate",
    "late_risk",
    "linear_data_losses",
    "linear_mean_risk",
    "linear_modes",
    "linear_risk",
    "momentum_growth",
    "momentum_late_rate",
    "nearest_distance",
    "nearest_solution",
    "noise_floor",
    "noisy_escape_time",
    "noisy_starts",
    "norm_learning",
    "optimal_late_rate",
    "optimal_rate",
    "overlap_escape_time",
    "plateau",
    "plateau_drop",
    "plateau_limit",
    "plateau_noise",
    "power_law_ends",
    "power_law_feature_risk",
    "power_law_gap",
    "power_law_risk",
    "power_law_window",
    "printed_plateau_length",
    "quenched_escape_time",
    "rate_limit",
    "recovery_limit",
    "recovery_threshold",
    "rowwise_plateau",
    "solution_dimension",
    "sphere_overlap",
    "stair_lengths",
    "statistical_dimension",
    "uniform_escape_time",
    "uniform_plateau",
    "unique_probability",
    "zero_escape_time",
]
