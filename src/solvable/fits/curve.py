"""Learning curves as data: times, one or several runs of the risk, overlaps where they are known, and errors of measurement."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from solvable.fits.files import read_csv
from solvable.problems import Problem
from solvable.results import Trajectory

MOST = 20  # numbers that are compared where replicas tell the noise: it lasts, and many numbers need many replicas
MOST_TIMES = 2000  # of which those numbers are means
QUANTITIES = ("risk", "mse", "loss")
FEWEST = 3  # times
LARGEST = 20  # numbers at each time


@dataclass(frozen=True, eq=False)
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
    group : ndarray, optional
        (times,) the group that each time belongs to: what is compared are means over groups.
    first : float, optional
        The value at time zero, which is not compared: it tells the start alone.
    told : str
        Where the values are from, in words, unless that is plain.
    covariance : ndarray, optional
        (times, times) of the errors of measurement, relative to the values, where those at different times go together.

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
    group: np.ndarray | None = None
    first: float | None = None
    told: str = ""
    covariance: np.ndarray | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return len(self.values)

    @cached_property
    def rows(self) -> np.ndarray:
        """(runs, numbers) what is compared: logarithms of the values, then overlaps, or means of them."""
        return self.compared(stacked(self.values, self.overlaps))

    @property
    def entries(self) -> int:
        """How many numbers there are at each time."""
        return 1 if self.overlaps is None else 1 + self.overlaps.shape[2]

    @cached_property
    def measured(self) -> np.ndarray:
        """(numbers, numbers) covariance of errors of measurement of one run."""
        own = np.diag(self.error**2) if self.covariance is None else self.covariance
        means = np.eye(self.time.size) if self.group is None else self._of_values
        inner = means @ own @ means.T
        return np.pad(inner, (0, len(inner) * (self.entries - 1)))

    def compared(self, rows: np.ndarray) -> np.ndarray:
        """(..., numbers) means over the groups of (..., times x entries)."""
        return rows if self.group is None else rows @ self._means.T

    @cached_property
    def _of_values(self) -> np.ndarray:
        """(groups, times)."""
        assert self.group is not None
        one = (np.arange(self.group[-1] + 1)[:, None] == self.group).astype(float)
        return np.asarray(one / one.sum(axis=1, keepdims=True))

    @cached_property
    def _means(self) -> np.ndarray:
        """(numbers, times x entries)."""
        one = self._of_values
        return one if self.entries == 1 else _blocks(one, np.kron(one, np.eye(self.entries - 1)))

    def grouped(self, most: int = MOST) -> "Curve":
        """With means over at most so many numbers: half of the groups have as many times as others, half are even in the logarithm
        of time."""
        most, size = max(most // self.entries, FEWEST), self.time.size
        if size <= most:
            return self
        even = np.linspace(0, size, most - most // 2 + 1).round().astype(int)
        by_size = np.searchsorted(
            self.time, np.geomspace(self.time[0], self.time[-1], most // 2 + 2)[1:-1], side="right"
        )
        edges = np.union1d(even, by_size)
        return replace(self, group=np.searchsorted(edges, np.arange(size), side="right") - 1)

    def thinned(self, most: int = MOST_TIMES) -> "Curve":
        """At most so many times, half of them evenly among those that are there, half evenly by their logarithm."""
        if self.time.size <= most:
            return self
        last = self.time.size - 1
        even = np.linspace(0, last, most - most // 2).round().astype(int)
        by_size = np.searchsorted(self.time, np.geomspace(self.time[0], self.time[-1], most // 2 + 2)[1:-1])
        return self._at(np.union1d(even, np.minimum(by_size, last)))

    def _at(self, kept: np.ndarray) -> "Curve":
        overlaps = None if self.overlaps is None else self.overlaps[:, kept]
        covariance = None if self.covariance is None else self.covariance[np.ix_(kept, kept)]
        return replace(
            self, time=self.time[kept], values=self.values[:, kept], error=self.error[kept], overlaps=overlaps,
            covariance=covariance,
        )  # fmt: skip


def _blocks(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    found = np.zeros(np.add(one.shape, other.shape))
    found[: len(one), : one.shape[1]], found[len(one) :, one.shape[1] :] = one, other
    return found


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


def read_curve(
    data: Any, problem: Problem, clock: str | None, quantity: str | None, with_overlaps: bool, columns: Any = None
) -> Curve:
    """From a Trajectory, a CSV file, or (times, values) or (times, values, errors); times without a value are left out."""
    told = ""
    if columns is not None and not isinstance(data, str | Path):
        raise ValueError("columns: are for a CSV file")
    if isinstance(data, str | Path):
        table = read_csv(Path(data), columns)
        told = table.told
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
    empty = Curve(times, values, times, clock, quantity, overlaps, told=told)
    return _sound(times, np.atleast_2d(values), errors, empty)


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
    relative, covariance = np.zeros(times.size), None
    if errors is not None:
        mean = np.where(known, np.where(known, values, 1.0).mean(axis=0), 1.0)
        if errors.ndim == 2:
            covariance = errors / np.outer(mean, mean)
            errors = np.sqrt(np.diag(errors))
        relative[known] = errors[known] / mean[known]
    good = known & (times > 0) & np.isfinite(relative)
    zero = known & (times == 0)
    first = float(values[:, zero].mean()) if zero.any() else None
    if (values[:, good] <= 0).any():
        raise ValueError("curve: must be positive: a risk or a loss, not its logarithm")
    if good.sum() < FEWEST:
        raise ValueError(f"curve: {good.sum()} times with values after the start, must be at least {FEWEST}")
    if (np.diff(times[good]) <= 0).any():
        raise ValueError("curve: times must increase")
    overlaps = None if curve.overlaps is None else curve.overlaps[:, good]
    return replace(
        curve, time=times[good], values=values[:, good], error=relative[good], overlaps=overlaps, first=first,
        covariance=None if covariance is None else covariance[np.ix_(good, good)],
    )  # fmt: skip


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
    if errors is not None and errors.ndim == 2:
        _check_covariance(errors, times.size)
    elif errors is not None and (errors.shape != times.shape or (errors < 0).any()):
        raise ValueError(f"curve: errors of shape {errors.shape} given, must be {times.shape} and not negative")
    return times, values, errors


def _check_covariance(given: np.ndarray, size: int) -> None:
    if given.shape != (size, size) or not np.isfinite(given).all() or not np.allclose(given, given.T):
        raise ValueError(
            f"curve: a covariance of errors of shape {given.shape} given, must be symmetric and {(size, size)}"
        )
    if np.linalg.eigvalsh(given)[0] < -1e-9 * np.trace(given):
        raise ValueError("curve: the covariance of errors has negative eigenvalues")
