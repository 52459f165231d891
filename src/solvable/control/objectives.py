"""What is made small: the last risk, that of one task or the mean over tasks; their means over time; or the time to a threshold."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.problems import Problem
from solvable.results import Trajectory
from solvable.results.threshold import Threshold

MEAN, TASK = "mean ", "task risk"
WORDS = "'risk', 'task risk' (the mean over tasks), 'task risk NUMBER', one of these with 'mean ' before it (over time)"


@dataclass(frozen=True)
class Objective:
    """A scalar of a run. Inside, risks count by their logarithms, because a gain is a factor; a time counts as it is."""

    kind: str
    threshold: Threshold | None = None
    task: int | None = None  # of which the risk counts

    @property
    def is_time(self) -> bool:
        return self.threshold is not None

    @property
    def is_mean(self) -> bool:
        return self.kind.startswith(MEAN)

    @property
    def of_tasks(self) -> bool:
        """Whether it is about one task, or about all of them with equal weights."""
        return TASK in self.kind

    def task_weights(self, count: int) -> np.ndarray:
        """(task,) of the risks of tasks."""
        return np.full(count, 1.0 / count) if self.task is None else (np.arange(count) == self.task).astype(float)

    def curve(self, run: Trajectory) -> np.ndarray:
        """(run, time) of a run's risks: what counts at the end, or in the mean over time."""
        if not self.of_tasks:
            return run.risk
        assert run.task_risk is not None
        found: np.ndarray = run.task_risk @ self.task_weights(run.task_risk.shape[2])
        return found

    def check(self, problem: Problem) -> None:
        """Refuse tasks that a problem does not have."""
        count = len(problem.tasks)
        if self.of_tasks and not count:
            raise ValueError(f"objective: {self.kind!r} given, but the problem has no tasks")
        if self.task is not None and self.task >= count:
            raise ValueError(f"objective: {self.kind!r} given, but tasks are numbered from 0 to {count - 1}")

    @property
    def unit(self) -> str:
        """In which gaps are counted."""
        return "of time" if self.is_time else f"of the logarithm of the {self.kind}"

    def told(self, value: float) -> float:
        """A value as users see it."""
        return value if self.is_time else float(np.exp(value))

    def gain(self, before: float, after: float) -> float:
        """Logarithm of how many times smaller it has become."""
        return float(np.log(before / after)) if self.is_time else before - after


def objective(given: Any) -> Objective:
    """What a user asks for, checked."""
    if isinstance(given, Threshold):
        if given.quantity != "risk":
            raise ValueError(f"objective: a threshold of {given.quantity!r} given, must be one of the risk")
        return Objective("time", given)
    name = given.removeprefix(MEAN) if isinstance(given, str) else given
    if name in ("risk", TASK):
        return Objective(given)
    number = name.removeprefix(f"{TASK} ") if isinstance(name, str) else ""
    if not isinstance(name, str) or number == name or not number.isdecimal():
        raise ValueError(f"objective: {given!r} given, must be {WORDS}, or a threshold from when(...)")
    return Objective(given, task=int(number))
