"""Learning curves as data: times, one or several runs of the risk, and errors of measurement."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.problems import Problem
from solvable.results import Trajectory
from solvable.results.clock import Clock

MOST = 32  # times that are kept: more say little, because what disturbs a curve lasts


@dataclass(frozen=True)
class Curve:
    """A measured learning curve.

    Parameters
    ----------
    alpha : ndarray
        (times,) steps/dim, increasing.
    values : ndarray
        (runs, times) the risk, positive.
    error : ndarray
        (times,) standard deviation of errors of measurement, relative to the value, beside what training itself scatters.

    Examples
    --------
    >>> sv.fits.Curve(np.arange(1, 4.0), np.array([[0.5, 0.4, 0.3]]), np.zeros(3)).runs
    1
    """

    alpha: np.ndarray
    values: np.ndarray
    error: np.ndarray

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.values)

    @property
    def logarithm(self) -> np.ndarray:
        """(times,) mean logarithm of the runs."""
        mean: np.ndarray = np.log(self.values).mean(axis=0)
        return mean

    def thinned(self, most: int = MOST) -> "Curve":
        """At most so many times, evenly among those that are there."""
        if self.alpha.size <= most:
            return self
        kept = np.unique(np.linspace(0, self.alpha.size - 1, most).round().astype(int))
        return Curve(self.alpha[kept], self.values[:, kept], self.error[kept])


def read_curve(data: Any, problem: Problem, clock: str) -> Curve:
    """From a Trajectory, or (times, values) or (times, values, errors); times without a value are left out."""
    if isinstance(data, Trajectory):
        times, values, errors = data.alpha, data.risk, None
    else:
        times, values, errors = _arrays(data)
        times = Clock(problem, clock).to_alpha(times)
    values = np.atleast_2d(values)
    relative = np.zeros(times.size) if errors is None else errors / np.nanmean(values, axis=0)
    good = np.isfinite(values).all(axis=0) & (times > 0) & np.isfinite(relative)
    if (values[:, good] <= 0).any():
        raise ValueError("curve: must be positive: a risk or a loss, not its logarithm")
    if good.sum() < 3:
        raise ValueError(f"curve: {good.sum()} times with values after the start, must be at least 3")
    if (np.diff(times[good]) <= 0).any():
        raise ValueError("curve: times must increase")
    return Curve(times[good], values[:, good], relative[good])


def _arrays(data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if not isinstance(data, tuple | list) or len(data) not in (2, 3):
        raise ValueError("curve: must be a Trajectory, or (times, values), or (times, values, errors)")
    try:
        times, values, *rest = (np.asarray(one, dtype=float) for one in data)
    except (TypeError, ValueError):
        raise ValueError("curve: must be made of numbers") from None
    if times.ndim != 1 or values.shape[-1:] != times.shape or values.ndim > 2:
        raise ValueError(f"curve: {times.shape} times and {values.shape} values given, must be (times,) and (times,) or (runs, times)")
    errors = rest[0] if rest else None
    if errors is not None and (errors.shape != times.shape or (errors < 0).any()):
        raise ValueError(f"curve: errors of shape {errors.shape} given, must be {times.shape} and not negative")
    return times, values, errors
