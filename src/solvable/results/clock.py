"""Clocks: steps, steps/dim (alpha, what most levels count in), epochs, and rate-scaled time as each paper has it."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.problems import Problem, convention
from solvable.problems.conventions import CONVENTIONS
from solvable.problems.nearest import not_one_of
from solvable.problems.reuse import epochs_per_step

LABELS = {"alpha": "α = steps / dim", "steps": "steps", "rate": "∫ rate dα", "epochs": "epochs"}
UNITS = (*LABELS, *CONVENTIONS)
BASES = ("alpha", "steps")


@dataclass(frozen=True)
class Clock:
    """A unit of time for a problem, which converts to and from the time that a level counts in.

    Parameters
    ----------
    problem : Problem
        The problem whose time is counted; its schedules are taken into account.
    unit : str
        "alpha" (steps/dim), "steps", "rate" (the integral of the effective learning rate over alpha, which is the
        sum of `training.step`), "epochs" (how often a data set has been seen), or a paper's key for its own time.
    base : str
        What the level counts in: "alpha", or "steps" where it takes steps on a data set (`Empirical`). Methods and
        schedules mean this time where they say alpha.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> clock = sv.results.Clock(problem, "steps")
    >>> float(clock.from_alpha(2.0)), float(clock.to_alpha(500.0))
    (2000.0, 0.5)
    """

    problem: Problem
    unit: str = "alpha"
    base: str = "alpha"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise ValueError(f"clock: {not_one_of(self.unit, UNITS)}")
        if self.base not in BASES:
            raise ValueError(f"base: {self.base!r} given, must be one of {', '.join(BASES)}")
        dim, training = self.problem.inputs.dim, self.problem.training
        if self.unit in BASES and self.unit != self.base and dim is None:
            raise ValueError(f"clock: {self.unit!r} needs a finite inputs.dim")
        if self.unit == "epochs" and (training.samples is None or self.base != "steps"):
            raise ValueError("clock: 'epochs' needs training.samples, and steps that see them")
        if self.unit == "rate" and self.base == "steps" and training.step is None and dim is None:
            raise ValueError("clock: 'rate' needs training.step at infinite inputs.dim")
        if self.unit in CONVENTIONS and self.base == "steps":
            raise ValueError(
                f"clock: {self.unit!r} is no time of steps on a data set; must be one of {', '.join(LABELS)}"
            )
        if self.unit == "rate" and self.problem.training.rate_rule is not None:
            raise ValueError("clock: 'rate' given, but training.rate_rule lets the rate follow the state; use 'alpha'")
        if self.unit in CONVENTIONS:
            convention(self.unit).require(self.problem)

    @property
    def label(self) -> str:
        """Name of the unit for axes, for instance "α = steps / dim"."""
        if self.unit == "rate" and self.base == "steps":
            return "rate × steps / dim"
        return LABELS[self.unit] if self.unit in LABELS else CONVENTIONS[self.unit].time_symbol

    def from_alpha(self, alpha: Any) -> np.ndarray:
        """Times in this unit, from times in steps/dim."""
        alpha = np.asarray(alpha, dtype=float)
        if self._per_base is not None:
            return alpha * self._per_base
        factor = self._rate_factor
        return alpha if factor is None else factor * self.problem.training.effective_schedule.integral(alpha)

    def to_alpha(self, time: Any) -> np.ndarray:
        """Times in steps/dim, from times in this unit."""
        time = np.asarray(time, dtype=float)
        if self._per_base is not None:
            return time / self._per_base
        factor = self._rate_factor
        if factor is None:
            return time
        alpha = self.problem.training.effective_schedule.inverse_integral(time / factor)
        if not np.isfinite(alpha).all():
            reach = self.from_alpha(self.problem.training.schedule.times[-1])
            raise ValueError(f"clock: the schedule ends at rate 0, so {self.unit!r} time never passes {reach:.6g}")
        return alpha

    @property
    def _per_base(self) -> float | None:
        """How much of this time passes in a unit of the base, where that is constant by definition."""
        dim = float(self.problem.inputs.dim or 1)
        if self.unit == self.base:
            return 1.0
        if self.unit in BASES:
            return dim if self.unit == "steps" else 1 / dim
        return epochs_per_step(self.problem) if self.unit == "epochs" else None

    @property
    def _rate_factor(self) -> float | None:
        if self.unit == "alpha":
            return None
        if self.unit == "rate":
            is_step, dim = self.problem.training.step is not None, float(self.problem.inputs.dim or 1)
            return dim ** (int(is_step) - int(self.base == "steps"))
        return convention(self.unit).time_factor(self.problem)
