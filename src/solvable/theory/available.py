"""Which predictions apply to a problem, and why the others do not."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from solvable.numerics.cards import grid, short
from solvable.problems import Problem
from solvable.theory import (
    adaptive,
    committee,
    counting,
    drifting,
    floors,
    flow,
    linear,
    linear_data,
    noise,
    plateau,
    power_law,
    recovery,
    solutions,
    sphere,
    sphere_escape,
    sphere_noise,
)


@dataclass(frozen=True)
class Available:
    """A prediction by name, and whether it applies to a problem.

    Parameters
    ----------
    name : str
        Name of the function in `solvable.theory`.
    call : str
        How to call it.
    applies : bool
        Whether it holds for the problem.
    reason : str
        Why it does not; empty where it applies.
    problem : Problem, optional
        The problem, for `value`.
    reasons : tuple of str
        The same as `reason`, one by one.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> print(sv.theory.available(problem)[0])
    degrees_of_freedom(problem) = 3994: Dimension of the set of functions that a quadratic student can express.
    """

    name: str
    call: str
    applies: bool
    reason: str
    problem: Problem | None = field(default=None, repr=False, compare=False)
    reasons: tuple[str, ...] = field(default=(), repr=False)

    @property
    def what(self) -> str:
        """What it predicts: the first sentence of the function's own text."""
        paragraph = " ".join((self._function.__doc__ or "").split("\n\n")[0].split())
        return paragraph.split(". ")[0].rstrip(".") + "."

    @cached_property
    def value(self) -> Any:
        """What it predicts for the problem, computed when asked for; None where it needs more than the problem, or fails."""
        if not self.applies or self.problem is None or not self.call.endswith("(problem)"):
            return None
        try:
            return self._function(self.problem).value
        except (ArithmeticError, ValueError, MemoryError):
            return None

    @property
    def _function(self) -> Callable[..., Any]:
        found: Callable[..., Any] = getattr(import_module("solvable.theory"), self.name)
        return found

    def as_dict(self) -> dict[str, Any]:
        """All of it in plain types, for files."""
        plain = {name: getattr(self, name) for name in ("name", "call", "applies", "reason", "what")}
        return plain | {"value": _plain(self.value)}

    def __str__(self) -> str:
        if not self.applies:
            return f"{self.name}: does not apply, {self.reason}"
        value = "" if self.value is None else f" = {short(self.value)}"
        return f"{self.call}{value}: {self.what}"


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {name: _plain(part) for name, part in value._asdict().items()}
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value


class Listing(list[Available]):
    """A list of predictions, which notebooks show as a table."""

    def _repr_html_(self) -> str:
        rows = (
            [
                one.call,
                "" if one.value is None else short(one.value),
                one.what if one.applies else f"does not apply: {one.reason}",
            ]
            for one in self
        )
        return grid(("call", "value", "what it is"), rows)


_PREDICTIONS: dict[str, tuple[str, Callable[[Problem], object]]] = {
    "degrees_of_freedom": ("degrees_of_freedom(problem)", counting.check_degrees_of_freedom),
    "solution_dimension": ("solution_dimension(problem)", counting.check_solution_dimension),
    "nearest_solution": ("nearest_solution(problem, start)", solutions.check_nearest_solution),
    "nearest_distance": ("nearest_distance(problem, start)", solutions.check_nearest_solution),
    "norm_learning": ("norm_learning(problem, alpha)", lambda problem: plateau.norm_learning(problem, 1.0)),
    "plateau": ("plateau(problem)", plateau.plateau),
    "escape_time": ("escape_time(problem, start)", plateau.plateau),
    "plateau_noise": ("plateau_noise(problem)", noise.plateau_noise),
    "noisy_starts": ("noisy_starts(problem, start)", noise.check_noisy_starts),
    "escape_risk": ("escape_risk(problem, start, alpha)", plateau.plateau),
    "stair_lengths": ("stair_lengths(problem, start)", plateau.plateau),
    "optimal_rate": ("optimal_rate(problem)", plateau.optimal_rate),
    "plateau_limit": ("plateau_limit(problem)", plateau.plateau_limit),
    "rate_limit": ("rate_limit(problem)", solutions.rate_limit),
    "late_risk": ("late_risk(problem, alpha)", lambda problem: solutions.late_risk(problem, 1.0)),
    "sphere_overlap": ("sphere_overlap(problem, start, alpha)", sphere.check_one_student),
    "annealed_escape_time": ("annealed_escape_time(problem)", sphere_escape.annealed_escape_time),
    "quenched_escape_time": ("quenched_escape_time(problem)", sphere_escape.annealed_escape_time),
    "noisy_escape_time": ("noisy_escape_time(problem)", sphere_escape.annealed_escape_time),
    "zero_escape_time": ("zero_escape_time(problem)", sphere_noise.zero_escape_time),
    "fewest_steps": ("fewest_steps(problem)", sphere_escape.fewest_steps),
    "linear_data_losses": ("linear_data_losses(problem, start, steps)", linear_data.check_linear_data),
    "noise_floor": ("noise_floor(problem)", floors.noise_floor),
    "drift_risk": ("drift_risk(problem)", drifting.drift_risk),
    "optimal_late_rate": ("optimal_late_rate(problem)", solutions.optimal_late_rate),
    "late_rate": ("late_rate(problem)", solutions.late_rate),
    "flow_tail": ("flow_tail(problem)", flow.flow_tail),
    "flow_rate": ("flow_rate(problem, start)", flow.check_flow_rate),
    "flow_jump": ("flow_jump(problem)", flow.flow_jump),
    "flow_integral": ("flow_integral(problem, start)", flow.check_flow),
    "flow_bound": ("flow_bound(problem, start, time)", flow.check_flow),
    "flow_approximation": ("flow_approximation(problem, time)", lambda problem: flow.flow_approximation(problem, 1.0)),
    "counted_threshold": ("counted_threshold(problem)", recovery.counted_threshold),
    "recovery_threshold": ("recovery_threshold(problem)", recovery.check_recovery),
    "recovery_limit": ("recovery_limit(problem)", recovery.check_limit),
    "statistical_dimension": ("statistical_dimension(problem)", recovery.check_recovery),
    "unique_probability": ("unique_probability(problem)", recovery.unique_probability),
    "hidden_ray_probability": ("hidden_ray_probability(problem)", recovery.check_hidden_ray),
    "linear_risk": ("linear_risk(problem, start, alpha)", linear.check_linear),
    "linear_modes": ("linear_modes(problem)", linear.check_linear),
    "linear_mean_risk": ("linear_mean_risk(problem, start, alpha)", linear.check_finite),
    "adagrad_rate": ("adagrad_rate(problem, start)", adaptive.check_adagrad),
    "momentum_late_rate": ("momentum_late_rate(problem)", adaptive.check_slow),
    "momentum_growth": ("momentum_growth(problem, growth)", adaptive.check_growth),
    "feature_risk": ("feature_risk(problem, start, features, alpha)", linear.check_finite),
    "hidden_feature_risk": ("hidden_feature_risk(problem, basis, features, alpha, distance=...)", linear.check_finite),
    "hidden_feature_rests": ("hidden_feature_rests(problem, basis, distance=...)", linear.check_finite),
    "hidden_feature_mean": ("hidden_feature_mean(problem, features, distance=...)", linear.check_finite),
    "power_law_risk": ("power_law_risk(problem, start, alpha)", power_law.check_power_law),
    "power_law_ends": ("power_law_ends(problem, start, alpha)", power_law.check_power_law),
    "power_law_gap": ("power_law_gap(problem, start)", power_law.check_power_law),
    "power_law_feature_risk": (
        "power_law_feature_risk(problem, start, features, alpha)",
        power_law.check_power_law_features,
    ),
    "power_law_window": ("power_law_window(problem)", power_law.check_power_law),
    "erf_plateau": ("erf_plateau(problem, start)", committee.check_committee),
    "uniform_plateau": ("uniform_plateau(problem, start, order)", committee.check_uniform),
    "rowwise_plateau": ("rowwise_plateau(problem, start, order)", committee.check_uniform),
    "uniform_escape_time": ("uniform_escape_time(problem, start)", committee.check_uniform),
    "overlap_escape_time": ("overlap_escape_time(problem, state)", committee.check_uniform),
    "plateau_drop": ("plateau_drop(problem, state, drop)", committee.check_several),
    "printed_plateau_length": ("printed_plateau_length(problem, state)", committee.check_printed_length),
    "first_order_risk": ("first_order_risk(problem, state)", committee.check_realizable),
    "erf_late_risk": ("erf_late_risk(problem, state, alpha)", committee.check_realizable),
    "late_distance": ("late_distance(problem, alpha)", lambda problem: solutions.late_distance(problem, 1.0)),
}


def available(problem: Problem, *, why: bool = False) -> list[Available]:
    """List the predictions that apply to a problem.

    Parameters
    ----------
    problem : Problem
        What is learned.
    why : bool
        Whether to list also those that do not apply, each with its reason.

    Returns
    -------
    list of Available
        In the order of the theory; a notebook shows it as a table.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
    >>> "escape_time" in [one.name for one in sv.theory.available(problem)]
    True
    """
    found = Listing()
    for name, (call, check) in _PREDICTIONS.items():
        try:
            check(problem)
            found.append(Available(name, call, True, "", problem))
        except ValueError as reason:  # NotApplicable, or a schedule where a number is needed
            if why:
                lines = str(reason).splitlines()
                found.append(Available(name, call, False, "; ".join(lines), problem, tuple(lines)))
    return found
