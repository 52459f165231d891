"""Clocks of predictions: they count in alpha (steps/dim) and convert times to and from any clock of `run`."""

from dataclasses import replace
from typing import Any

import numpy as np

from solvable.problems import Problem
from solvable.results import Clock
from solvable.theory.prediction import NotApplicable, Prediction

ALPHA = "alpha"


def alpha_of(problem: Problem, time: Any, clock: str) -> Any:
    """Times of `clock` in alpha."""
    return time if clock == ALPHA or not isinstance(problem, Problem) else Clock(problem, clock).to_alpha(time)


def pace(problem: Problem, clock: str, own: str = ALPHA) -> float:
    """How many units of `clock` pass in one of the prediction's own, at a constant rate."""
    if clock == own:
        return 1.0
    if len(problem.training.schedule.rates) > 1:
        raise NotApplicable(f"training.learning_rate: is a schedule, so that {clock!r} time does not pass evenly")
    return float(Clock(problem, clock).from_alpha(1.0) / Clock(problem, own).from_alpha(1.0))


def times_in(found: Prediction, problem: Problem, clock: str) -> Prediction:
    """A prediction whose value are times in alpha (a number, an array, or a tuple of them), in `clock`."""
    return found if clock == ALPHA else replace(found, value=_scaled(found.value, pace(problem, clock)))


def rates_in(found: Prediction, problem: Problem, clock: str, *names: str) -> Prediction:
    """A prediction whose value is a rate per unit of alpha, or has such rates under these names, per unit of `clock`."""
    if clock == ALPHA:
        return found
    slower = 1 / pace(problem, clock)
    if not names:
        return replace(found, value=found.value * slower)
    return replace(found, value=found.value._replace(**{name: getattr(found.value, name) * slower for name in names}))


def _scaled(value: Any, factor: float) -> Any:
    if not isinstance(value, tuple):
        return value * factor if isinstance(value, float | np.ndarray) else np.multiply(value, factor)
    parts = [_scaled(part, factor) for part in value]
    return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
