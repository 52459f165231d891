"""Controls of one problem: values in time, and their place in compiled code.

A control is a `Schedule` of as many values as it has segments. Compiled code knows every scheduled number by its value at the begin
of each segment and its slope there (`dynamics/kernel_data.py`), on a table that is at least as fine; derivatives by those become
derivatives by the values of the schedule by the chain rule.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from solvable.control.controls import Control
from solvable.control.numbers import (
    BATCH,
    FACTOR,
    KEEP,
    LEAST,
    columns_of,
    groups_of,
    is_of_inputs,
    is_share,
    own_number,
    own_schedule,
    place,
    rest_shares,
)
from solvable.dynamics.kernel_data import Packed
from solvable.problems import Problem, Schedule
from solvable.problems.schedules import value_at

RATES = ("training.learning_rate", "training.readout_rate")
HARDLY = 1e-12  # of its upper bound: a rate that would be zero at all times
FREELY = 5.0  # times the problem's own value: what a control may rise to, if nothing is said


@dataclass(frozen=True)
class Knob:
    """A control of one problem: its name, its times and bounds, and its columns in compiled code."""

    name: str
    columns: tuple[int, ...]
    begins: np.ndarray
    until: float
    shape: Literal["steps", "linear"]
    lower: float
    upper: float
    own: float | None = None  # what the problem has, from `until` on: tests do not see what is chosen
    gain: float | Schedule = 1.0  # of what compiled code has over this number: momentum adds gradients up
    unasked: bool = False  # whether nobody gave the upper bound

    @property
    def size(self) -> int:
        return int(self.begins.size)

    @property
    def width(self) -> float:
        return self.upper - self.lower

    @property
    def first(self) -> float:
        """A value that a problem may have while its records are made: probabilities must not sum to more than one."""
        return self.lower if is_share(self.name) else self.upper

    @property
    def lengths(self) -> np.ndarray:
        """(values,) of time that each value counts for: the integral of the control is their product."""
        if self.shape == "steps":
            return np.diff(np.append(self.begins, self.until))
        half = 0.5 * np.diff(self.begins)
        return np.append(half, self.until - self.begins[-1]) + np.insert(half, 0, 0.0)

    def constant(self) -> "Knob":
        """The same with one value."""
        return replace(self, begins=np.zeros(1), shape="steps")

    def schedule(self, values: np.ndarray) -> Schedule:
        times, rates = tuple(map(float, self.begins)), tuple(map(float, values))
        if self.own is not None:
            times, rates = (*times, self.until), (*rates, self.own)
        return Schedule(times=times, rates=rates, shape=self.shape)

    def number(self, value: float) -> float | Schedule:
        """A constant, as a problem has it."""
        return float(value) if self.own is None else self.constant().schedule(np.array([value]))

    def possible(self, values: np.ndarray, budget: float | None = None) -> np.ndarray:
        """The nearest values that a problem can have: batches are whole numbers, whose integral is at most the budget, and rates
        are not zero at all times."""
        if self.name != BATCH:
            return np.full(self.size, HARDLY * self.upper) if self.name in RATES and not values.any() else values
        lower, upper = np.ceil(self.lower), np.floor(self.upper)
        if budget is None:
            return np.clip(np.round(values), lower, upper)
        found = np.clip(np.floor(values + 1e-9), lower, upper)
        for i in np.argsort(found - values, kind="stable"):  # those that lost most come first
            more = (
                found[i] + 1 <= min(upper, values[i] + 1) and (found @ self.lengths + self.lengths[i]) <= budget + 1e-9
            )
            found[i] += more
        return found

    def owners(self, times: np.ndarray) -> np.ndarray:
        """Numbers of the segments that hold at these times."""
        return np.searchsorted(self.begins, times, side="right") - 1

    def slopes(self, values: np.ndarray) -> np.ndarray:
        """(values,) slope within each segment."""
        slopes = np.zeros(self.size)
        if self.shape == "linear":
            slopes[:-1] = np.diff(values) / np.diff(self.begins)
        return slopes

    def at(self, times: np.ndarray, values: np.ndarray) -> np.ndarray:
        """The control at these times."""
        own = self.owners(times)
        found: np.ndarray = values[own] + self.slopes(values)[own] * (times - self.begins[own])
        return found

    def place(self, values: np.ndarray, packed: Packed) -> None:
        """Write values into the records."""
        begins = packed.problems["begin"]
        found, gains = self.within(begins, values), self.gains(begins)
        for column in self.columns:
            place(packed, column, gains * found[0], gains * found[1])

    def gains(self, begins: np.ndarray) -> np.ndarray:
        """(begins,) in segments that begin at these times."""
        return self.gain(begins) if isinstance(self.gain, Schedule) else np.full(begins.shape, self.gain)

    def within(self, begins: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Value and slope in segments that begin at these times."""
        found, slopes = self.at(begins, values), self.slopes(values)[self.owners(begins)]
        if self.own is not None:
            found[begins >= self.until], slopes[begins >= self.until] = self.own, 0.0
        return found, slopes

    def gather(self, found: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """Derivatives by the values from those by values and slopes of all segments of the records, (segments, 2, columns)."""
        own = self.owners(begins)
        by_value, by_slope = self.gains(begins) * found[:, :, self.columns].sum(axis=2).T
        if self.own is not None:
            by_value = np.where(begins < self.until, by_value, 0.0)
        values = np.bincount(own, by_value, self.size).astype(float)
        if self.shape == "linear":
            slopes = np.bincount(own, by_slope + by_value * (begins - self.begins[own]), self.size)
            turn = slopes[:-1] / np.diff(self.begins)
            values[:-1] -= turn
            values[1:] += turn
        return values

    def finer(self, values: np.ndarray, halved: np.ndarray) -> tuple["Knob", np.ndarray]:
        """With these segments halved, and the values that make the same schedule."""
        ends = np.append(self.begins[1:], self.until)
        halved = halved[self.begins[halved] < ends[halved]]  # the last value of a line has no segment behind it
        begins = np.sort(np.concatenate([self.begins, 0.5 * (self.begins + ends)[halved]]))
        return replace(self, begins=begins), self.at(begins, values)


def knobs(problem: Problem, until: float, control: Mapping[str, int | Control]) -> tuple[Knob, ...]:
    """The controls of a problem, checked."""
    if not isinstance(control, Mapping) or not control:
        raise ValueError(
            f"control: {control!r:.60} given, must be names with segments, as {{'training.learning_rate': 50}}"
        )
    found = tuple(_knob(problem, until, name, given) for name, given in control.items())
    _check_shares(problem, found)
    if set(RATES) <= set(control):  # the learning rate is not the readout's any more
        found = tuple(replace(knob, columns=knob.columns[:1]) if knob.name == RATES[0] else knob for knob in found)
    return found


def _check_shares(problem: Problem, found: Sequence[Knob], *, bounded: bool = True) -> None:
    """Of tasks, and of classes, those that are free must leave something to share at all times."""
    named = {knob.name: knob for knob in found}
    for names in groups_of(problem, named):
        rest_shares(problem, names)
        total = sum(named[name].upper for name in names)
        if len(names) > 1 and any(named[name].shape != "steps" for name in names):
            raise ValueError(
                f"control: {names[-1]}: several probabilities are free, and one is a line; must go in steps"
            )
        if bounded and total > 1 + 1e-12:
            raise ValueError(
                f"control: {names[-1]}: upper bounds of the free probabilities sum to {total:g}, must be at most 1: give "
                "Control(upper=...)"
            )


def own_knobs(problem: Problem, until: float, names: Sequence[str]) -> tuple[list[Knob], list[np.ndarray]]:
    """Numbers of a problem as controls, and the values that they have."""
    schedules = [own_schedule(problem, name) for name in names]
    for name, one in zip(names, schedules, strict=True):
        _check_shape(name, one.shape)
    found = tuple(
        Knob(name, columns_of(problem, name), np.array(one.times), until, one.shape, 0.0, max(*one.rates, 1.0))
        for name, one in zip(names, schedules, strict=True)
    )
    found = tuple(replace(knob, gain=_gain(problem, knob.name)) for knob in found)
    _check_shares(problem, found, bounded=False)
    return list(found), [knob.possible(np.array(one.rates)) for knob, one in zip(found, schedules, strict=True)]


def _check_shape(name: str, shape: str) -> None:
    if name == BATCH and shape == "linear":
        raise ValueError(f"control: {name}: is a line, but batches are whole numbers; must go in steps")
    if name == KEEP and shape == "linear":
        raise ValueError(f"control: {name}: is a line, but the chance of a mask is a power of it; must go in steps")


def _knob(problem: Problem, until: float, name: str, given: int | Control) -> Knob:
    if not isinstance(given, Control):
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            raise ValueError(f"control: {name}: {given!r} given, must be a number of segments or a Control")
        given = Control(segments=int(given))
    _check_shape(name, given.shape)
    if name == FACTOR and given.begins(until).size > 1:
        raise ValueError(f"control: {name}: {given.begins(until).size} segments given, must be 1: tests know no time")
    columns, own, least = columns_of(problem, name), max(own_schedule(problem, name).rates), LEAST.get(name, 0.0)
    most = 1.0 if name == KEEP or is_share(name) else np.inf
    lower = least if given.lower is None else float(given.lower)
    upper = min(FREELY * own, most) if given.upper is None else float(given.upper)
    upper = most if given.upper is None and is_share(name) else upper
    if not np.isfinite(upper) or not lower < upper:
        raise ValueError(
            f"control: {name}: upper is {upper:g} and lower {lower:g}; give both, because the problem's own value is {own:g}"
        )
    if lower < least:
        raise ValueError(f"control: {name}: lower is {lower:g}, must be at least {least:g}")
    if upper > most:
        raise ValueError(f"control: {name}: upper is {upper:g}, must be at most {most:g}")
    return Knob(
        name, columns, given.begins(until), until, given.shape, lower, upper, _tested(problem, name, given.shape, until),
        _gain(problem, name), given.upper is None and most == np.inf,
    )  # fmt: skip


def _gain(problem: Problem, name: str) -> float | Schedule:
    return problem.training.gain if name in RATES else 1.0


def _tested(problem: Problem, name: str, shape: str, until: float) -> float | None:
    """What tests have at the end, where that is not what is chosen: a line has no jump there."""
    if shape == "linear" or not is_of_inputs(name):
        return None
    return float(value_at(own_number(problem, name), until))
