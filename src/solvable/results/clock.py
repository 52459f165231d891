"""Clocks: steps, steps/dim (alpha, what the library counts in), and rate-scaled time as each paper has it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.problems import Problem, convention
from solvable.problems.conventions import CONVENTIONS
from solvable.problems.nearest import not_one_of

LABELS = {"alpha": "α = steps / dim", "steps": "steps", "rate": "∫ rate dα"}
UNITS = (*LABELS, *CONVENTIONS)


@dataclass(frozen=True)
class Clock:
    """A unit of time for a problem, which converts to and from alpha = steps/dim.

    Parameters
    ----------
    problem : Problem
        The problem whose time is counted; its schedules are taken into account.
    unit : str
        "alpha" (steps/dim), "steps", "rate" (the integral of the learning rate over alpha), or a paper's key for its
        own time.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> clock = sv.results.Clock(problem, "steps")
    >>> float(clock.from_alpha(2.0)), float(clock.to_alpha(500.0))
    (2000.0, 0.5)
    """

    problem: Problem
    unit: str = "alpha"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"clock: {not_one_of(self.unit, UNITS)}")
        if self.unit == "steps" and self.problem.inputs.dim is None:
            raise ValueError("clock: 'steps' needs a finite inputs.dim")
        if self.unit in CONVENTIONS:
            convention(self.unit).require(self.problem)

    @property
    def label(self) -> str:
        """Name of the unit for axes, for instance "α = steps / dim"."""
        return LABELS[self.unit] if self.unit in LABELS else CONVENTIONS[self.unit].time_symbol

    def from_alpha(self, alpha: Any) -> np.ndarray:
        """Times in this unit, from times in steps/dim."""
        alpha = np.asarray(alpha, dtype=float)
        if self.unit == "steps":
            return alpha * self.problem.inputs.dim
        factor = self._rate_factor
        return alpha if factor is None else factor * self.problem.training.schedule.integral(alpha)

    def to_alpha(self, time: Any) -> np.ndarray:
        """Times in steps/dim, from times in this unit."""
        time = np.asarray(time, dtype=float)
        if self.unit == "steps":
            return time / self.problem.inputs.dim
        factor = self._rate_factor
        if factor is None:
            return time
        alpha = self.problem.training.schedule.inverse_integral(time / factor)
        if not np.isfinite(alpha).all():
            reach = self.from_alpha(self.problem.training.schedule.times[-1])
            raise ValueError(f"clock: the schedule ends at rate 0, so {self.unit!r} time never passes {reach:.6g}")
        return alpha

    @property
    def _rate_factor(self) -> float | None:
        if self.unit == "alpha":
            return None
        return 1.0 if self.unit == "rate" else convention(self.unit).time_factor(self.problem)
