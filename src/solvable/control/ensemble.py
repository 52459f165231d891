"""Several starts under one choice of the controls: the mean of what their runs end with, as a function of a single vector.

The vector x holds the values of all controls, each times the root of the length of time that it counts for and over its upper bound,
so that neither finer segments nor other units change what an optimiser sees.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from solvable.control.controls import Knob
from solvable.control.course import Course, Value
from solvable.numerics.threads import cores, pool
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.threshold import Threshold


class Ensemble:
    """The courses of a problem from all starts, and the scales of their controls."""

    def __init__(
        self,
        problem: Problem,
        starts: Sequence[Overlaps],
        until: float,
        knobs: Sequence[Knob],
        objective: str | Threshold,
        rtol: float,
    ) -> None:
        self.courses = [Course(problem, start, until, knobs, objective, rtol) for start in starts]
        self.knobs, self.calls = knobs, 0
        self.adaptive = isinstance(
            objective, Threshold
        )  # the time of a threshold moves its last step: new steps every time
        self.scales = np.concatenate([knob.upper / np.sqrt(knob.lengths / knob.lengths.mean()) for knob in knobs])
        self.edges = np.cumsum([knob.begins.size for knob in knobs])[:-1]
        self.lower = np.concatenate([np.full(knob.begins.size, knob.lower) for knob in knobs]) / self.scales
        self.upper = np.concatenate([np.full(knob.begins.size, knob.upper) for knob in knobs]) / self.scales

    def values(self, x: np.ndarray) -> list[np.ndarray]:
        """Of each control, within its bounds."""
        return np.split(np.clip(x, self.lower, self.upper) * self.scales, self.edges)

    def vector(self, values: Sequence[np.ndarray]) -> np.ndarray:
        return np.concatenate(values) / self.scales

    def record(self, x: np.ndarray) -> None:
        """Find steps at x, which are kept."""
        self._each(lambda course: self._recorded(course, x))

    def _recorded(self, course: Course, x: np.ndarray) -> bool:
        course.place(self.values(x))
        course.reaches = course.record()
        return course.reaches

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient on the steps that are kept."""
        self.calls += 1
        found = self._each(lambda course: self._value(course, x))
        gradient = np.mean([np.concatenate(one.gradient) for one in found], axis=0) * self.scales
        return float(np.mean([one.value for one in found])), np.ascontiguousarray(gradient)

    def _value(self, course: Course, x: np.ndarray) -> Value:
        if self.adaptive:
            self._recorded(course, x)
        course.place(self.values(x))
        return course.evaluate() if course.reaches else course.failed()

    def _each(self, job: Callable[[Course], Any]) -> list[Any]:
        if len(self.courses) == 1:
            return [job(self.courses[0])]
        return list(pool(min(len(self.courses), cores())).map(job, self.courses))
