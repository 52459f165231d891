"""What kernels need to know of a problem: its parts, and what follows from them, with no word about validity."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.problems.features import used_features
from solvable.problems.roles import extra_roles, scalar_roles

if TYPE_CHECKING:
    from solvable.problems.inputs import Inputs
    from solvable.problems.mixture import Mixture
    from solvable.problems.model import Model
    from solvable.problems.networks import Student, Teacher
    from solvable.problems.tasks import Task
    from solvable.problems.training import Training

PARTS = ("teacher", "student", "inputs", "training", "mixture", "tasks")


class KernelSpec:
    """The parts of a problem, and what follows from them. A `Problem` is a specification that has been validated; whoever needs
    kernels for something else, as the risk of squared loss, changes the specification by `replace`, which validates nothing."""

    teacher: Teacher
    student: Student
    inputs: Inputs
    training: Training
    mixture: Mixture | None
    tasks: tuple[Task, ...]

    @staticmethod
    def of(problem: KernelSpec) -> KernelSpec:
        """Return the specification of a problem."""
        return _made({name: getattr(problem, name) for name in PARTS})

    def replace(self, **changes: Any) -> KernelSpec:
        """Return a specification with other parts, or fields of parts (`training__loss="squared"`). Nothing is validated, and no
        field changes with another: who gives a learning rate takes the step away."""
        parts = {name: getattr(self, name) for name in PARTS}
        inside: dict[str, dict[str, Any]] = {}
        for key, value in changes.items():
            part, _, field = key.partition("__")
            if part not in parts or (field and field not in type(parts[part]).model_fields):
                raise AttributeError(f"{key}: is no part of a problem and no field of one")
            if field:
                inside.setdefault(part, {})[field] = value
            else:
                parts[part] = value
        return _made(parts | {part: _changed(parts[part], fields) for part, fields in inside.items()})

    def at(self, alpha: float) -> KernelSpec:
        """Return the specification with the numbers of one time (steps/dim) in the place of schedules."""
        mixture, tasks = self.mixture, tuple(task.at(alpha) for task in self.tasks)
        changing = {"inputs": self.inputs.at(alpha), "training": self.training.at(alpha), "tasks": tasks}
        return self.replace(**changing, mixture=None if mixture is None else mixture.at(alpha))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and all(getattr(self, name) == getattr(other, name) for name in PARTS)

    def __hash__(self) -> int:
        return hash(tuple(getattr(self, name) for name in PARTS))

    @cached_property
    def heads(self) -> int:
        """How many readouts the students have."""
        return 1 + max(self.task_heads)

    @property
    def task_heads(self) -> tuple[int, ...]:
        """The head that answers each task; without tasks there is one."""
        if not self.tasks:
            return (0,)
        return tuple(i if task.head is None else task.head for i, task in enumerate(self.tasks))

    @property
    def readout_values(self) -> np.ndarray:
        """What multiplies the students: (student,), or (head, student) if there are several heads."""
        values = self.student.readout_values
        if self.heads == 1:
            return values.reshape(-1)
        return np.array(np.broadcast_to(values, (self.heads, self.student.width)))

    @cached_property
    def extras(self) -> tuple[str, ...]:
        """The roles of the rows beyond students and teachers: directions of the mixture, then, one for each student, anchors,
        velocities, averages and snapshots."""
        return extra_roles(self)

    @cached_property
    def scalars(self) -> tuple[str, ...]:
        """The roles of the numbers behind the readouts in a state: biases of outputs, velocities of trained readouts and biases,
        and the sum of squared gradients where the rate follows it."""
        return scalar_roles(self)

    @cached_property
    def features(self) -> tuple[str, ...]:
        """Paths of the fields that take it beyond one class, one task, and gradients of plain samples."""
        return used_features(self)


def _made(parts: dict[str, Any]) -> KernelSpec:
    spec = KernelSpec()
    vars(spec).update(parts)
    return spec


def _changed(part: Model, fields: dict[str, Any]) -> Model:
    """Return a part with other fields, not validated and without what was kept of the old ones."""
    kept = {name: getattr(part, name) for name in type(part).model_fields}
    return type(part).model_construct(**kept | fields)
