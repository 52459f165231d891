"""Numbers that are inferred: their names, their bounds, and the problem and start that they make."""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import InvalidProblem, Problem, Schedule
from solvable.problems.model import Model as Part
from solvable.problems.nearest import hint, not_one_of
from solvable.problems.schedules import scaled

SCALES = ("student.readout", "teacher.readout")  # as a factor
OF_STARTS = ("start.scale", "start.cross")
REACH = 100.0  # bounds that are not given: the guess divided by this and times it
NEAR = 3  # the same for whole numbers: by how much more and less
HALVES = 50  # of the way from what a field allows to what it does not
SMALLEST = 1e-6  # of the upper bound: the lower one of a number that must be positive
Start = Overlaps | Mapping[str, Any] | Callable[..., Overlaps]


@dataclass(frozen=True)
class InferredNumber:
    """A number that is inferred, between bounds. The search sees the logarithm of positive ones, and others in quarters of the
    range between their bounds."""

    name: str
    guess: float
    lower: float
    upper: float
    is_whole: bool = False

    @property
    def is_logarithmic(self) -> bool:
        return self.lower > 0

    @property
    def unit(self) -> float:
        return 0.25 * (self.upper - self.lower)

    def inner(self, value: float) -> float:
        """As the search sees it."""
        return float(np.log(value)) if self.is_logarithmic else value / self.unit

    def outer(self, inner: float) -> float:
        """As the problem has it."""
        value = float(np.exp(inner)) if self.is_logarithmic else float(inner) * self.unit
        return min(max(value, self.lower), self.upper)


@dataclass(frozen=True)
class Family:
    """A problem and a start in which numbers can be replaced."""

    problem: Problem
    start: Start

    def member(self, values: Mapping[str, float]) -> tuple[Problem, Overlaps]:
        """The problem and its start with these numbers."""
        problem = self.changed(values)
        return problem, self._start(problem, values)

    def changed(self, values: Mapping[str, float]) -> Problem:
        """The problem with these numbers."""
        fields = {
            name.replace(".", "__"): self._field(name, value) for name, value in values.items() if _is_field(name)
        }
        problem = self.problem.replace(**fields)
        scales: dict[str, Any] = {}
        for name in SCALES:
            if name in values:
                network = getattr(problem, name.partition(".")[0])
                scales[name.replace(".", "__")] = tuple((values[name] * network.readout_values).tolist())
        return problem.replace(**scales) if scales else problem

    def _field(self, name: str, value: float) -> Any:
        """What a field becomes; of a schedule a number is a factor."""
        own = self._own(name)
        return scaled(own, value) if isinstance(own, Schedule) else value

    def _own(self, name: str) -> Any:
        here: Any = self.problem
        for part in name.split("."):
            if part.startswith("_") or not hasattr(here, part):
                known = [*_numbers(self.problem), *SCALES, *OF_STARTS]
                raise ValueError(
                    f"free: {name}: is no number of the problem{hint(name, known)}; there are {', '.join(known)}"
                )
            here = getattr(here, part)
        return here

    def _start(self, problem: Problem, values: Mapping[str, float]) -> Overlaps:
        own = {name.partition(".")[2]: value for name, value in values.items() if name.startswith("start.")}
        if callable(self.start):
            return self.start(problem, **own)
        if isinstance(self.start, Mapping):
            if _is_drawn(self.start):
                return start(problem, **{**self.start, **own})
            return _scaled(start(problem, **self.start), own)
        given = _scaled(self.start, own)
        return replace(given, readout=given.readout * values.get("student.readout", 1.0))

    def value(self, name: str) -> float | int:
        """The number as it is, before anything is inferred."""
        if name in SCALES:
            return 1.0
        if name.startswith("start."):
            return self._value_of_start(name)
        here = self._own(name)
        if isinstance(here, Schedule):
            return 1.0
        if isinstance(here, bool) or not isinstance(here, int | float):
            raise ValueError(f"free: {name}: is {_told(here)}, must be a number of the problem")
        return here

    def _value_of_start(self, name: str) -> float:
        if callable(self.start):
            return float("nan")  # only the function knows
        if name not in OF_STARTS:
            raise ValueError(f"free: {not_one_of(name, OF_STARTS)}")
        if name == "start.cross" and not self._has_cross():
            raise ValueError("free: start.cross: is a factor on the cross overlaps of the start, which are all zero")
        if isinstance(self.start, Overlaps) or not _is_drawn(self.start):
            return 1.0
        given = self.start.get(name.partition(".")[2])
        return 1.0 if given is None else float(given)

    def _has_cross(self) -> bool:
        if isinstance(self.start, Mapping) and _is_drawn(self.start):
            return True
        given: Any = self._start(self.problem, {})
        return bool(np.any(given.block_cross_overlap))


def _numbers(part: Any, prefix: str = "") -> Iterator[str]:
    """Names of the numbers and schedules of a problem, or of a part of it."""
    for name in type(part).model_fields:
        value = getattr(part, name)
        if isinstance(value, Schedule) or (isinstance(value, int | float) and not isinstance(value, bool)):
            yield prefix + name
        elif isinstance(value, Part):
            yield from _numbers(value, f"{prefix}{name}.")


def check_arguments(start_arguments: Mapping[str, Any]) -> None:
    """Raise unless these are arguments of `sv.start`."""
    known = [name for name in inspect.signature(start).parameters if name != "problem"]
    for name in start_arguments:
        if name not in known:
            raise ValueError(f"start: {not_one_of(name, known)}")


def _told(value: Any) -> str:
    return "not set" if value is None else f"a {type(value).__name__}"


def _is_field(name: str) -> bool:
    return name not in SCALES and not name.startswith("start.")


def _is_drawn(arguments: Mapping[str, Any]) -> bool:
    return all(arguments.get(name) is None for name in ("student_overlap", "block_student_overlap"))


def _scaled(given: Overlaps, factors: Mapping[str, float]) -> Overlaps:
    """Students that are `scale` times as long, with cross overlaps that are `cross` times as large at this length."""
    if not factors:
        return given
    if given.extras:
        raise ValueError(
            "free: the start has classes or anchors; give it as a function of the problem and of what is free"
        )
    scale, cross = factors.get("scale", 1.0), factors.get("cross", 1.0)
    return replace(
        given,
        block_student_overlap=scale**2 * given.block_student_overlap,
        block_cross_overlap=scale * cross * given.block_cross_overlap,
    )


def parameters(family: Family, free: Any) -> tuple[InferredNumber, ...]:
    """The numbers that are free, checked; `free` is a list of names, or has None, a guess, or (lower, upper) for each."""
    if isinstance(free, str):
        free = [free]
    if isinstance(free, Sequence) and not isinstance(free, str) and all(isinstance(name, str) for name in free):
        free = dict.fromkeys(free)
    if not isinstance(free, Mapping) or not free:
        raise ValueError("free: must name at least one number, as ['training.learning_rate']")
    return tuple(_parameter(family, name, given) for name, given in free.items())


def _parameter(family: Family, name: Any, given: Any) -> InferredNumber:
    if not isinstance(name, str):
        raise ValueError(f"free: {name!r} given, must be the name of a number")
    own = family.value(name)
    is_whole = isinstance(own, int)
    if isinstance(given, Sequence) and not isinstance(given, str):
        lower, upper = _bounds(name, given)
        inside = own if lower < own < upper else np.nan
        if np.isfinite(inside) and not is_whole:
            lower, upper = (_allowed(family, name, inside, bound) for bound in (lower, upper))
            lower = max(lower, SMALLEST * upper) if lower > 0 >= _number(name, given[0]) else lower
    else:
        inside = own if given is None else _number(name, given)
        if not inside > 0:
            raise ValueError(f"free: {name}: has no positive value to begin with; give (lower, upper)")
        lower, upper = (max(inside - NEAR, 1), inside + NEAR) if is_whole else (inside / REACH, inside * REACH)
        if not is_whole:
            lower, upper = (_allowed(family, name, inside, bound) for bound in (lower, upper))
    middle = np.sqrt(lower * upper) if lower > 0 else 0.5 * (lower + upper)
    return InferredNumber(name, float(inside if np.isfinite(inside) else middle), float(lower), float(upper), is_whole)


def _allowed(family: Family, name: str, inside: float, bound: float) -> float:
    """The bound, or as far on the way to it as the field allows."""
    if not _is_field(name) or _allows(family, name, bound) or not _allows(family, name, inside):
        return bound
    good, bad = inside, bound
    for _ in range(HALVES):
        middle = 0.5 * (good + bad)
        good, bad = (middle, bad) if _allows(family, name, middle) else (good, middle)
    return good


def _allows(family: Family, name: str, value: float) -> bool:
    try:
        family.changed({name: value})
    except InvalidProblem:
        return False
    return True


def _bounds(name: str, given: Sequence[Any]) -> tuple[float, float]:
    if len(given) != 2 or not _number(name, given[0]) < _number(name, given[1]):
        raise ValueError(f"free: {name}: {given!r} given, must be (lower, upper)")
    return _number(name, given[0]), _number(name, given[1])


def _number(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not np.isfinite(given):
        raise ValueError(f"free: {name}: {given!r} given, must be None, a guess, or (lower, upper)")
    return float(given)
