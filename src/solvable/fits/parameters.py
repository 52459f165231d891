"""Numbers that are inferred: their names, their bounds, and the problem and start that they make."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.overlaps import Overlaps, start
from solvable.problems import Problem, Schedule

SCALES = ("student.readout", "teacher.readout")  # as a factor
OF_STARTS = ("start.scale", "start.cross")  # as a factor where the start is Overlaps
WHOLE = ("teacher.width",)
REACH = 100.0  # bounds that are not given: the guess divided by this and times it


@dataclass(frozen=True)
class Parameter:
    """A number that is inferred, between bounds; positive ones by their logarithm."""

    name: str
    guess: float
    lower: float
    upper: float
    logarithmic: bool

    def inner(self, value: float) -> float:
        """As the search sees it."""
        return float(np.log(value)) if self.logarithmic else value

    def outer(self, inner: float) -> float:
        return float(np.exp(inner)) if self.logarithmic else float(inner)


@dataclass(frozen=True)
class Made:
    """A problem and a start in which numbers can be replaced."""

    problem: Problem
    start: Overlaps | Mapping[str, Any]

    def with_values(self, values: Mapping[str, float]) -> tuple[Problem, Overlaps]:
        """The problem and its start with these numbers."""
        changes = {name.replace(".", "__"): value for name, value in values.items() if _is_field(name)}
        for name in SCALES:
            if name in values:
                part = name.partition(".")[0]
                base = getattr(self.problem, part).readout_values
                changes[f"{part}__readout"] = tuple((values[name] * base).tolist())
        changes = {name: int(value) if name == "teacher__width" else value for name, value in changes.items()}
        problem = self.problem.replace(**changes)
        return problem, self._start(problem, values)

    def _start(self, problem: Problem, values: Mapping[str, float]) -> Overlaps:
        if not isinstance(self.start, Overlaps):
            given = {name.partition(".")[2]: values[name] for name in OF_STARTS if name in values}
            return start(problem, **{**self.start, **given})
        scale, cross = values.get("start.scale", 1.0), values.get("start.cross", 1.0)
        readout = self.start.readout * values.get("student.readout", 1.0)
        return replace(
            self.start,
            block_student_overlap=scale**2 * self.start.block_student_overlap,
            block_cross_overlap=scale * cross * self.start.block_cross_overlap,
            readout=readout,
        )

    def value(self, name: str) -> float:
        """The number as it is."""
        if name in SCALES or (name in OF_STARTS and isinstance(self.start, Overlaps)):
            return 1.0
        if name in OF_STARTS:
            return float(self.start.get(name.partition(".")[2]) or 1.0)  # type: ignore[union-attr]
        here: Any = self.problem
        for part in name.split("."):
            if not hasattr(here, part):
                raise ValueError(f"free: {name}: is no number of the problem")
            here = getattr(here, part)
        if isinstance(here, Schedule):
            raise ValueError(f"free: {name}: is a schedule, must be a number")
        if here is None or isinstance(here, bool) or not isinstance(here, int | float):
            raise ValueError(f"free: {name}: is {here!r}, must be a number of the problem")
        return float(here)


def _is_field(name: str) -> bool:
    return name not in SCALES and not name.startswith("start.")


def parameters(made: Made, free: Mapping[str, Any]) -> tuple[Parameter, ...]:
    """The numbers that are free, checked; `free` has None, a guess, or (lower, upper) for each."""
    if not isinstance(free, Mapping) or not free:
        raise ValueError("free: must name at least one number, as {'training.learning_rate': None}")
    return tuple(_parameter(made, name, given) for name, given in free.items())


def _parameter(made: Made, name: str, given: Any) -> Parameter:
    if name.startswith("start.") and name not in OF_STARTS:
        raise ValueError(f"free: {name}: must be one of {', '.join(OF_STARTS)}")
    own = made.value(name)
    if isinstance(given, Sequence) and not isinstance(given, str):
        if len(given) != 2 or not given[0] < given[1]:
            raise ValueError(f"free: {name}: {given!r} given, must be (lower, upper)")
        lower, upper = map(float, given)
        guess = own if lower < own < upper else float(np.sqrt(lower * upper) if lower > 0 else 0.5 * (lower + upper))
    else:
        guess = own if given is None else float(given)
        if guess <= 0:
            raise ValueError(f"free: {name}: its guess is {guess:g}; give (lower, upper)")
        lower, upper = guess / REACH, guess * REACH
    return Parameter(name, guess, lower, upper, lower > 0)
