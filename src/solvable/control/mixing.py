"""How the probabilities of cases follow from those of tasks and classes and from what dropout keeps, and their derivatives.

In compiled code a case has a probability of its own, task x class x flip x mask (`dynamics/cases.py`); derivatives are by these.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvable.control.knobs import Knob
from solvable.control.numbers import CLASSES, TASKS, class_count, groups_of, is_share, rest_shares, shares_of
from solvable.control.objectives import Objective
from solvable.dynamics.cases import Cases, case_table, chance_of_mask, slope_of_chance
from solvable.dynamics.kernel_data import Packed
from solvable.dynamics.reverse import EIGENVALUES
from solvable.problems import Problem, Schedule
from solvable.problems.schedules import segments_of, within


class Mix:
    """The probabilities of one packed problem, as its controls have them at present: shares (segment, task or class, value and
    slope), and what dropout keeps (segment,)."""

    def __init__(
        self, problem: Problem, packed: Packed, objective: Objective, knobs: Sequence[Knob], own: Problem
    ) -> None:
        """`problem` has been packed with schedules in the place of what `own` has."""
        self.packed, self.begins, self.knobs = packed, packed.problems["begin"], knobs
        self.free = {knob.name: knob.columns[0] for knob in knobs if is_share(knob.name)}
        self.rests = {tuple(names): rest_shares(own, names) for names in groups_of(own, self.free)}
        self.cases, self.tests = (case_table(problem, self.begins, tests=tests) for tests in (False, True))
        self.tasks = self._own(shares_of(problem, TASKS) or [1.0])
        self.classes = self._own(shares_of(problem, CLASSES) or [1.0])
        self.task_count, self.class_count = len(problem.tasks), class_count(problem)
        self.flips, self.width = _flips(problem, self.cases), problem.student.width
        self.kept = (self.cases.mask != 0).sum(axis=1)
        dropout = problem.training.dropout
        self.masked = dropout is not None and dropout.keep != 1
        keep = 1.0 if dropout is None else dropout.keep
        self.keep = (
            within(segments_of(keep), self.begins)[0] if isinstance(keep, Schedule) else np.full(len(self.begins), keep)
        )
        self.factor = 1.0 if dropout is None else dropout.tested
        self.first = EIGENVALUES + packed.blocks.shape[1]  # column
        if objective.of_tasks:
            self._write_tests(objective)

    def _own(self, numbers: Sequence[Any]) -> np.ndarray:
        found = [np.broadcast_arrays(*within(segments_of(one), self.begins)) for one in numbers]
        return np.ascontiguousarray(np.moveaxis(np.array(found), 2, 0))

    def _write_tests(self, objective: Objective) -> None:
        """Tests weigh the tasks as the objective does."""
        weights = objective.task_weights(self.task_count)[self.tests.task]
        tests = self.packed.cases[:, self.cases.size :]
        tests["probability"], tests["slope"] = weights * self.tests.share, weights * self.tests.share_slope

    def place(self, values: Sequence[np.ndarray]) -> None:
        """Give the controls these values."""
        for knob, chosen in zip(self.knobs, values, strict=True):
            column = knob.columns[0] - self.first
            if column < 0:
                continue
            now = np.stack(knob.within(self.begins, chosen), axis=1)
            if knob.name in self.free:
                of_tasks = column < self.task_count
                group, number = (self.tasks, column) if of_tasks else (self.classes, column - self.task_count)
                group[:, number] = now
            elif column == self.task_count + self.class_count:
                self.keep = now[:, 0]
            else:
                self._write_factor(float(now[0, 0]))
        for names, rest in self.rests.items():
            _share_out(self.tasks if names[0].startswith(TASKS) else self.classes, rest)
        self._write()

    def _write_factor(self, factor: float) -> None:
        self.factor = factor
        at = int(self.packed.cases["mask"][0, self.cases.size])
        self.packed.numbers[at : at + self.tests.mask.size] = factor

    def _parts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of each case in each segment: the shares of its task and of its class (segment, case, 2), and the chance of its mask and
        flip."""
        chance = chance_of_mask(self.keep[:, None], self.width, self.kept) if self.masked else 1.0
        return self.tasks[:, self.cases.task], self.classes[:, self.cases.class_number], self.flips * chance

    def _write(self) -> None:
        task, group, chance = self._parts()
        cases = self.packed.cases[:, : self.cases.size]
        cases["probability"] = task[..., 0] * group[..., 0] * chance
        cases["slope"] = (task[..., 0] * group[..., 1] + task[..., 1] * group[..., 0]) * chance

    def gather(self, found: np.ndarray) -> np.ndarray:
        """Derivatives (segment, value and slope, column) by the numbers that controls may be, from those by all cases."""
        task, group, chance = self._parts()
        of_cases = found[:, :, self.first : self.first + self.cases.size]
        by_tasks = _summed(of_cases, group * chance[..., None], self.cases.task, self.tasks.shape[1])
        by_classes = _summed(of_cases, task * chance[..., None], self.cases.class_number, self.classes.shape[1])
        kept = np.zeros((len(found), 2, 1))
        if self.masked:
            slope = self.flips * slope_of_chance(self.keep[:, None], self.width, self.kept)
            both = task[..., 0] * group[..., 1] + task[..., 1] * group[..., 0]
            kept[:, 0, 0] = ((of_cases[:, 0] * task[..., 0] * group[..., 0] + of_cases[:, 1] * both) * slope).sum(
                axis=1
            )
        shares = np.concatenate([by_tasks[:, :, : self.task_count], by_classes[:, :, : self.class_count]], axis=2)
        for names, rest in self.rests.items():
            of_tasks = names[0].startswith(TASKS)
            group = shares[:, :, : self.task_count] if of_tasks else shares[:, :, self.task_count :]
            group[:, :, rest == 0] -= (group @ rest)[..., None]  # reverse of `_share_out`
        return np.concatenate([found[:, :, : self.first], shares, kept, found[:, :, -1:] / self.factor], axis=2)


def _flips(problem: Problem, cases: Cases) -> np.ndarray:
    flips = problem.training.label_flips
    return np.where(cases.sign < 0, flips, 1.0 - flips)


def _share_out(group: np.ndarray, rest: np.ndarray) -> None:
    """Of shares (segment, number, value and slope) those that have a part in the rest: what the free ones leave."""
    taken = group[:, rest == 0].sum(axis=1)
    left = np.column_stack([1.0 - taken[:, 0], -taken[:, 1]])
    group[:, rest > 0] = left[:, None] * rest[rest > 0][:, None]


def _summed(of_cases: np.ndarray, factor: np.ndarray, owner: np.ndarray, count: int) -> np.ndarray:
    """(segment, 2, count) derivatives by value and slope of a share, where a case has it times `factor` (segment, case, 2)."""
    found = np.zeros((len(of_cases), 2, count))
    both = np.stack(
        [of_cases[:, 0] * factor[..., 0] + of_cases[:, 1] * factor[..., 1], of_cases[:, 1] * factor[..., 0]], axis=1
    )
    for number in range(count):
        found[:, :, number] = both[:, :, owner == number].sum(axis=2)
    return found
