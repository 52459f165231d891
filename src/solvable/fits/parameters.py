"""Numbers that are inferred: their names, their bounds, and the problem and start that they make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem

SCALES = ("student.readout", "teacher.readout")  # as a factor
OF_STARTS = ("start.scale", "start.cross")
REACH = 100.0  # bounds that are not given: the guess divided by this and times it
NEAR = 3  # the same for whole numbers: by how much more and less
Start = Overlaps | Mapping[str, Any] | Callable[..., Overlaps]


@dataclass(frozen=True)
class Parameter:
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
        fields = {name.replace(".", "__"): value for name, value in values.items() if _is_field(name)}
        problem = self.problem.replace(**fields)
        scales: dict[str, Any] = {}
        for name in SCALES:
            if name in values:
                network = getattr(problem, name.partition(".")[0])
                scales[name.replace(".", "__")] = tuple((values[name] * network.readout_values).tolist())
        problem = problem.replace(**scales) if scales else problem
        return problem, self._start(problem, values)

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
        here: Any = self.problem
        for part in name.split("."):
            if part.startswith("_") or not hasattr(here, part):
                raise ValueError(f"free: {name}: is no number of the problem")
            here = getattr(here, part)
        if isinstance(here, bool) or not isinstance(here, int | float):
            raise ValueError(f"free: {name}: is {_told(here)}, must be a number of the problem")
        return here

    def _value_of_start(self, name: str) -> float:
        if callable(self.start):
            return float("nan")  # only the function knows
        if name not in OF_STARTS:
            raise ValueError(f"free: {name}: must be one of {', '.join(OF_STARTS)}")
        if isinstance(self.start, Overlaps) or not _is_drawn(self.start):
            return 1.0
        given = self.start.get(name.partition(".")[2])
        return 1.0 if given is None else float(given)


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


def parameters(family: Family, free: Any) -> tuple[Parameter, ...]:
    """The numbers that are free, checked; `free` is a list of names, or has None, a guess, or (lower, upper) for each."""
    if isinstance(free, Sequence) and not isinstance(free, str) and all(isinstance(name, str) for name in free):
        free = dict.fromkeys(free)
    if not isinstance(free, Mapping) or not free:
        raise ValueError("free: must name at least one number, as ['training.learning_rate']")
    return tuple(_parameter(family, name, given) for name, given in free.items())


def _parameter(family: Family, name: Any, given: Any) -> Parameter:
    if not isinstance(name, str):
        raise ValueError(f"free: {name!r} given, must be the name of a number")
    own = family.value(name)
    is_whole = isinstance(own, int)
    if isinstance(given, Sequence) and not isinstance(given, str):
        lower, upper = _bounds(name, given)
        inside = own if lower < own < upper else np.nan
    else:
        inside = own if given is None else _number(name, given)
        if not inside > 0:
            raise ValueError(f"free: {name}: has no positive value to begin with; give (lower, upper)")
        lower, upper = (max(inside - NEAR, 1), inside + NEAR) if is_whole else (inside / REACH, inside * REACH)
    middle = np.sqrt(lower * upper) if lower > 0 else 0.5 * (lower + upper)
    return Parameter(name, float(inside if np.isfinite(inside) else middle), float(lower), float(upper), is_whole)


def _bounds(name: str, given: Sequence[Any]) -> tuple[float, float]:
    if len(given) != 2 or not _number(name, given[0]) < _number(name, given[1]):
        raise ValueError(f"free: {name}: {given!r} given, must be (lower, upper)")
    return _number(name, given[0]), _number(name, given[1])


def _number(name: str, given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float | np.number) or not np.isfinite(given):
        raise ValueError(f"free: {name}: {given!r} given, must be None, a guess, or (lower, upper)")
    return float(given)
