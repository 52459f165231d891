"""Numbers that change in time: schedules, their segments, and what holds in each."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, model_validator

from solvable.problems.model import Array, InvalidProblem, Model, Unbounded


class Schedule(Model):
    """A number that changes in time, such as a learning rate.

    What needs a single number refuses a schedule; `problem.at(alpha)` has the numbers of one time.

    Parameters
    ----------
    times : tuple of float
        Begins of the segments (steps/dim), the first is 0. After the last time the last value stays.
    rates : tuple of float
        Values from these times on; may be written `values`.
    shape : str
        "steps" (constant in each segment) or "linear" (joined by lines).

    Examples
    --------
    >>> rate = sv.Schedule(times=(0, 10), rates=(0.2, 0.1))
    >>> float(rate.integral(20))
    3.0
    """

    times: Annotated[Array, Field(min_length=1)]
    rates: Annotated[tuple[float, ...], Unbounded, Field(min_length=1)]
    shape: Literal["steps", "linear"] = "steps"

    @model_validator(mode="before")
    @classmethod
    def _rename_values(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and "values" in fields and "rates" in fields:
            raise ValueError("values: given together with rates, which is another name of the same; give one of them")
        if isinstance(fields, dict) and "values" in fields:
            return {("rates" if name == "values" else name): value for name, value in fields.items()}
        return fields

    @model_validator(mode="after")
    def _check(self) -> "Schedule":
        if len(self.times) != len(self.rates):
            raise ValueError(f"rates: {len(self.rates)} given for {len(self.times)} times, must be as many")
        if self.times[0] != 0 or any(b <= a for a, b in zip(self.times, self.times[1:], strict=False)):
            raise ValueError(f"times: must start at 0 and increase, got {self.times}")
        if min(self.rates) < 0:
            raise ValueError(f"rates: must not be negative, got {self.rates}")
        return self

    @classmethod
    def of(cls, function: Callable[[float], float], times: Any) -> "Schedule":
        """The schedule of lines through the values of a function.

        Parameters
        ----------
        function : callable
            Of one time (steps/dim), for one number.
        times : array
            Times of the values, from 0 on; after the last one its value stays. Between two of them the line misses the function
            by at most an eighth of its curvature times their distance squared. Each time is a stop for integrators.

        Returns
        -------
        Schedule
            With these times and shape "linear".

        Examples
        --------
        >>> sv.Schedule.of(lambda time: 1 / (1 + time), (0, 1, 3)).rates
        (1.0, 0.5, 0.25)
        """
        if not callable(function):
            raise InvalidProblem([f"function: {function!r:.60} given, must be a function of one time (steps/dim)"])
        try:
            places = np.atleast_1d(np.asarray(times, dtype=float))
        except (TypeError, ValueError):
            raise InvalidProblem([f"times: {times!r:.60} given, must be numbers from 0 on"]) from None
        rates = tuple(_number_of(function, time) for time in places.ravel().tolist())
        return cls(times=tuple(places.tolist()), rates=rates, shape="linear")

    @cached_property
    def segments(self) -> np.ndarray:
        """(segments, 3): start time, rate there and its slope; the schedule is smooth within each row."""
        times, rates = np.array(self.times), np.array(self.rates)
        slopes = np.zeros_like(rates)
        if self.shape == "linear":
            slopes[:-1] = np.diff(rates) / np.diff(times)
        return np.column_stack([times, rates, slopes])

    def __call__(self, time: Any) -> np.ndarray:
        """Rate at `time` (steps/dim); at a jump, the rate that begins there."""
        start, rate, slope = self._rows(np.searchsorted(self.segments[:, 0], np.maximum(time, 0.0), side="right") - 1)
        return rate + slope * (time - start)

    def later(self, time: float) -> "Schedule":
        """The same as seen from `time` on, which becomes its time 0."""
        ahead = [(at - time, rate) for at, rate in zip(self.times, self.rates, strict=True) if at > time]
        times, rates = zip((0.0, float(self(time))), *ahead, strict=True)
        return Schedule.model_construct(times=times, rates=rates, shape=self.shape)

    def _refuse(self, *_: Any) -> Any:
        raise ValueError(
            "a schedule is given where a constant number is needed; problem.at(alpha) has those of one time"
        )

    __lt__ = __le__ = __gt__ = __ge__ = __add__ = __radd__ = __sub__ = __rsub__ = _refuse
    __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __pow__ = __float__ = __array__ = _refuse

    def integral(self, time: Any) -> np.ndarray:
        """Integral of the rate from 0 to `time`: the rate-scaled clock."""
        index = np.searchsorted(self.segments[:, 0], time, side="right") - 1
        start, rate, slope = self._rows(index)
        passed = np.asarray(time) - start
        return self._accumulated[index] + passed * (rate + 0.5 * slope * passed)

    def inverse_integral(self, value: Any) -> np.ndarray:
        """Time at which the integral of the rate reaches `value`; infinite if it never does."""
        value = np.asarray(value, dtype=float)
        index = np.searchsorted(self._accumulated, value, side="right") - 1
        start, rate, slope = self._rows(index)
        left = value - self._accumulated[index]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            # 2 left / (rate + sqrt(rate^2 + 2 slope left)) is the stable root; at slope 0 squares may overflow
            root = np.where(slope == 0, rate, np.sqrt(np.maximum(rate**2 + 2 * slope * left, 0.0)))
            passed = np.where(left == 0, 0.0, 2 * left / (rate + root))
        return start + passed

    @cached_property
    def _accumulated(self) -> np.ndarray:
        start, rate, slope = self.segments.T
        lengths = np.diff(start)
        return np.concatenate([[0.0], np.cumsum(lengths * (rate[:-1] + 0.5 * slope[:-1] * lengths))])

    def _rows(self, index: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows = self.segments[index]
        return rows[..., 0], rows[..., 1], rows[..., 2]


def as_schedule(rate: float | Schedule) -> Schedule:
    """A rate that `at` found may be zero, which none that is given is."""
    if isinstance(rate, Schedule):
        return rate
    return Schedule.model_construct(times=(0.0,), rates=(rate,), shape="steps")


def scaled(rate: float | Schedule, factor: float | Schedule) -> float | Schedule:
    """A rate times a number; itself where that is one. Of two schedules that go in steps, their product."""
    if isinstance(factor, Schedule) and isinstance(rate, Schedule):
        times = tuple(np.union1d(rate.times, factor.times).tolist())
        products = tuple(float(rate(time) * factor(time)) for time in times)
        return Schedule.model_construct(times=times, rates=products, shape="steps")
    if isinstance(factor, Schedule):
        return scaled(factor, rate)
    if factor == 1:
        return rate
    if not isinstance(rate, Schedule):
        return rate * factor
    return Schedule.model_construct(times=rate.times, rates=tuple(factor * one for one in rate.rates), shape=rate.shape)


def _number_of(function: Callable[[float], float], time: float) -> float:
    value = np.asarray(function(time))
    if value.size != 1 or value.dtype.kind not in "fiu" or not np.isfinite(value).all():
        raise InvalidProblem([f"function: is {value.tolist()!r:.60} at time {time:g}, must be a finite number"])
    return float(value.item())


def segments_of(number: float | Schedule) -> np.ndarray:
    """(segments, 3): begin, value there and slope of a number that may be a schedule."""
    return number.segments if isinstance(number, Schedule) else np.array([[0.0, number, 0.0]])


def whole(segments: np.ndarray) -> np.ndarray:
    """The same in steps between whole numbers, the nearest at each time: batches, at every level."""
    rows = []
    for i, (begin, value, slope) in enumerate(segments):
        first = np.rint(value + 0.25 * np.sign(slope) * (value % 1 == 0.5))
        rows.append((begin, first, 0.0))  # from a half on, the number that it goes to
        end = segments[i + 1, 0] if i + 1 < len(segments) else begin
        last = value + slope * (end - begin)
        low, high = sorted((value, last))
        halves = np.arange(np.floor(low) + 0.5, high, 1.0)
        halves = halves[halves > low]
        for half in halves if slope > 0 else halves[::-1]:
            rows.append((begin + (half - value) / slope, half + 0.5 * np.sign(slope), 0.0))
    return np.array(rows)


def begins_of(tables: Iterable[np.ndarray]) -> np.ndarray:
    """When segments begin within which all of these schedules are smooth: at zero, and where any of them has one."""
    return np.unique(np.concatenate([np.zeros(1), *(rows[:, 0] for rows in tables if len(rows) > 1)]))


def within(rows: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of a schedule at the begin of each segment."""
    if len(rows) == 1:
        return rows[0, 1] + rows[0, 2] * (begins - rows[0, 0]), rows[0, 2]
    begin, value, slope = rows[np.searchsorted(rows[:, 0], begins, side="right") - 1].T
    return value + slope * (begins - begin), slope


def check_shares(name: str, numbers: Sequence[float | Schedule]) -> None:
    """Refuse probabilities that do not sum to one at all times."""
    tables = [segments_of(number) for number in numbers]
    begins = begins_of(tables)
    value, slope = np.sum([np.broadcast_arrays(*within(rows, begins)) for rows in tables], axis=0)
    wrong = np.flatnonzero(np.abs(value - 1) > 1e-9)
    if wrong.size:
        when = f" from time {begins[wrong[0]]:g} on" if begins.size > 1 else ""
        raise ValueError(f"{name}: must sum to 1, but sum to {value[wrong[0]]:.6g}{when}")
    lengths = np.append(np.diff(begins), 0.0)
    if np.abs(slope * lengths).max() > 1e-9:
        raise ValueError(f"{name}: must sum to 1 at all times, but schedules in steps and linear ones are mixed")


def value_at(number: Any, time: float) -> Any:
    """Of a number that may be a schedule; anything else is given back."""
    return float(number(time)) if isinstance(number, Schedule) else number


def later(number: Any, time: float) -> Any:
    """A number that may be a schedule as seen from `time` on; anything else is given back."""
    return number.later(time) if isinstance(number, Schedule) else number
