"""Several starts under one choice of the controls: the mean of what their runs end with, as a function of a single vector.

The vector x holds the values of all controls, each times the root of the length of time that it counts for, over its upper bound;
then neither finer segments nor other units change what an optimiser sees.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from solvable.control.course import Asked, Course, Value
from solvable.control.knobs import Knob
from solvable.numerics.threads import cores, pool
from solvable.overlaps import Overlaps


class Ensemble:
    """The courses of a problem from all starts, and the scales of their controls."""

    def __init__(self, asked: Asked, starts: Sequence[Overlaps], knobs: Sequence[Knob]) -> None:
        self.courses = [Course(asked, start, knobs) for start in starts]
        self.knobs, self.calls = knobs, 0
        self.adaptive = asked.objective.is_time  # its last step moves: new steps every time
        self.scales = np.concatenate([knob.upper / np.sqrt(knob.lengths / knob.lengths.mean()) for knob in knobs])
        self.edges = np.cumsum([knob.size for knob in knobs])[:-1]
        self.lower = np.concatenate([np.full(knob.size, knob.lower) for knob in knobs]) / self.scales
        self.upper = np.concatenate([np.full(knob.size, knob.upper) for knob in knobs]) / self.scales

    @property
    def bounds(self) -> list[tuple[float, float]]:
        return list(zip(self.lower, self.upper, strict=True))

    def values(self, x: np.ndarray) -> list[np.ndarray]:
        """Of each control, within its bounds."""
        return np.split(np.clip(x, self.lower, self.upper) * self.scales, self.edges)

    def vector(self, values: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(values) / self.scales

    @property
    def reaches(self) -> bool:
        """Whether all runs came to their ends when they were last recorded."""
        return all(course.reaches for course in self.courses)

    def record(self, x: np.ndarray) -> bool:
        """Find steps at x, which are kept; whether all runs come to their ends."""
        self._each(lambda course: self._recorded(course, x))
        return self.reaches

    def _recorded(self, course: Course, x: np.ndarray) -> bool:
        course.place(self.values(x))
        return course.record()

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient on the steps that are kept."""
        self.calls += 1
        found = self._each(lambda course: self._value(course, x))
        gradient = np.mean([np.concatenate(one.gradient) for one in found], axis=0) * self.scales
        return float(np.mean([one.value for one in found])), np.ascontiguousarray(
            gradient
        )  # SLSQP misreads strided ones

    def _value(self, course: Course, x: np.ndarray) -> Value:
        if self.adaptive:
            self._recorded(course, x)
        course.place(self.values(x))
        return course.evaluate() if course.reaches else course.failed()

    def _each(self, job: Callable[[Course], Any]) -> list[Any]:
        if len(self.courses) == 1:
            return [job(self.courses[0])]
        return list(pool(min(len(self.courses), cores())).map(job, self.courses))
