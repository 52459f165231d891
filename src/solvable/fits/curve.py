"""Learning curves as data: times, one or several runs of the risk, overlaps where they are known, and errors of measurement."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from solvable.fits.files import read_csv
from solvable.problems import Problem
from solvable.results import Trajectory

MOST = 32  # numbers that are compared: more say little, because what disturbs a curve lasts
QUANTITIES = ("risk", "mse", "loss")
FEWEST = 3  # times
LARGEST = 20  # numbers at each time


@dataclass(frozen=True)
class Curve:
    """A measured learning curve.

    Parameters
    ----------
    time : ndarray
        (times,) positive and increasing, in the unit of `clock`.
    values : ndarray
        (runs, times) what `quantity` says, positive.
    error : ndarray
        (times,) standard deviation of errors of measurement, relative to the value, beside what training itself scatters.
    clock : str
        Unit of `time`, as in `Clock`.
    quantity : str
        "risk" (without label noise), "mse" (the risk over the loss factor) or "loss" (the risk with noisy labels).
    overlaps : ndarray, optional
        (runs, times, entries) student and cross overlaps, where they are data too.

    Examples
    --------
    >>> sv.fits.Curve(np.arange(1, 4.0), np.array([[0.5, 0.4, 0.3]]), np.zeros(3)).runs
    1
    """

    time: np.ndarray
    values: np.ndarray
    error: np.ndarray
    clock: str = "alpha"
    quantity: str = "risk"
    overlaps: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.values)

    @property
    def rows(self) -> np.ndarray:
        """(runs, numbers) what is compared: logarithms of the values, then overlaps."""
        return stacked(self.values, self.overlaps)

    @property
    def entries(self) -> int:
        """How many numbers there are at each time."""
        return 1 if self.overlaps is None else 1 + self.overlaps.shape[2]

    @property
    def measured(self) -> np.ndarray:
        """(numbers,) variances of errors of measurement of one run."""
        return np.pad(self.error**2, (0, self.rows.shape[1] - self.error.size))

    def thinned(self, most: int = MOST) -> "Curve":
        """At most so many numbers: half of the times evenly among those that are there, half evenly by their logarithm."""
        most = max(most // self.entries, FEWEST)
        if self.time.size <= most:
            return self
        last = self.time.size - 1
        even = np.linspace(0, last, most - most // 2).round().astype(int)
        by_size = np.searchsorted(self.time, np.geomspace(self.time[0], self.time[-1], most // 2 + 2)[1:-1])
        kept = np.union1d(even, np.minimum(by_size, last))
        overlaps = None if self.overlaps is None else self.overlaps[:, kept]
        return replace(
            self, time=self.time[kept], values=self.values[:, kept], error=self.error[kept], overlaps=overlaps
        )


def stacked(values: np.ndarray, overlaps: np.ndarray | None) -> np.ndarray:
    """(runs, numbers); where a run has diverged, far off."""
    with np.errstate(all="ignore"):
        logs = np.log(np.maximum(values, 1e-300))
    rows = logs if overlaps is None else np.concatenate([logs, overlaps.reshape(len(logs), -1)], axis=1)
    return np.where(np.isfinite(rows), rows, 50.0)


def observed(trajectory: Trajectory, quantity: str) -> np.ndarray:
    """(runs, times) the quantity of a curve, in a run of theory."""
    training = trajectory.problem.training
    if quantity == "mse":
        return trajectory.risk / training.loss_factor
    noise: Any = training.label_noise
    return trajectory.risk + (training.loss_factor * float(noise) if quantity == "loss" else 0.0)


def overlaps_of(trajectory: Trajectory) -> np.ndarray:
    """(runs, times, entries) those that can differ."""
    p = trajectory.problem.student.width
    parts = trajectory.student_overlap[..., *np.tril_indices(p)], trajectory.cross_overlap
    return np.concatenate([part.reshape(*trajectory.risk.shape, -1) for part in parts], axis=2)


def read_curve(data: Any, problem: Problem, clock: str | None, quantity: str | None, with_overlaps: bool) -> Curve:
    """From a Trajectory, a CSV file, or (times, values) or (times, values, errors); times without a value are left out."""
    if isinstance(data, str | Path):
        table = read_csv(Path(data))
        data = (table.time, table.values) if table.error is None else (table.time, table.values, table.error)
        clock, quantity = clock or table.clock, quantity or table.quantity
    clock, quantity = clock or "alpha", quantity or "risk"
    if quantity not in QUANTITIES:
        raise ValueError(f"quantity: {quantity!r} given, must be one of {', '.join(QUANTITIES)}")
    if quantity == "loss" and not isinstance(problem.training.label_noise, int | float):
        raise ValueError("quantity: 'loss' needs a constant training.label_noise, it is a schedule")
    overlaps = None
    if isinstance(data, Trajectory):
        if clock != "alpha" or quantity != "risk":
            raise ValueError("curve: is a Trajectory, which has clock and quantity of its own; leave them out")
        times, values, errors = data.alpha, data.risk, None
        overlaps = _checked_overlaps(data, problem) if with_overlaps else None
    elif with_overlaps:
        raise ValueError(
            "overlaps: asked for, but the curve has none; give a Trajectory, as from Trajectory.from_weights"
        )
    else:
        times, values, errors = _arrays(data)
    return _sound(times, np.atleast_2d(values), errors, Curve(times, values, times, clock, quantity, overlaps))


def _checked_overlaps(data: Trajectory, problem: Problem) -> np.ndarray:
    given, wanted = data.cross_overlap.shape[2:], (problem.student.width, problem.teacher.width)
    if given != wanted:
        raise ValueError(f"overlaps: of {given} students and teachers given, but the problem has {wanted}")
    found = overlaps_of(data)
    if found.shape[2] >= LARGEST:
        raise ValueError(f"overlaps: {found.shape[2]} at each time, must be fewer than {LARGEST}; leave them out")
    return found


def _sound(times: np.ndarray, values: np.ndarray, errors: np.ndarray | None, curve: Curve) -> Curve:
    """The times after the start at which all runs have values; an error unless there are enough of them."""
    known = np.isfinite(values).all(axis=0)
    relative = np.zeros(times.size)
    if errors is not None:
        relative[known] = errors[known] / values[:, known].mean(axis=0)
    good = known & (times > 0) & np.isfinite(relative)
    if (values[:, good] <= 0).any():
        raise ValueError("curve: must be positive: a risk or a loss, not its logarithm")
    if good.sum() < FEWEST:
        raise ValueError(f"curve: {good.sum()} times with values after the start, must be at least {FEWEST}")
    if (np.diff(times[good]) <= 0).any():
        raise ValueError("curve: times must increase")
    overlaps = None if curve.overlaps is None else curve.overlaps[:, good]
    return replace(curve, time=times[good], values=values[:, good], error=relative[good], overlaps=overlaps)


def _arrays(data: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    if not isinstance(data, tuple | list) or len(data) not in (2, 3):
        raise ValueError("curve: must be a Trajectory, a CSV file, or (times, values), or (times, values, errors)")
    try:
        times, values, *rest = (np.asarray(one, dtype=float) for one in data)
    except (TypeError, ValueError):
        raise ValueError("curve: must be made of numbers") from None
    if times.ndim != 1 or values.shape[-1:] != times.shape or values.ndim > 2:
        raise ValueError(
            f"curve: {times.shape} times and {values.shape} values given, must be (times,) and (times,) or (runs, times)"
        )
    errors = rest[0] if rest else None
    if errors is not None and (errors.shape != times.shape or (errors < 0).any()):
        raise ValueError(f"curve: errors of shape {errors.shape} given, must be {times.shape} and not negative")
    return times, values, errors
