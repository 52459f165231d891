"""The problem: teacher, student, inputs and training in one description, on which every level runs."""

import hashlib
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, Field, model_validator

from solvable.gaussian.losses import BUILT_IN_LOSSES, LOSSES
from solvable.gaussian.units import BUILT_IN, UNITS, OwnFunction
from solvable.problems.file_tables import OTHER_TABLES, as_table, check_suffix, naming, read_tables, understood
from solvable.problems.fitting import check_parts
from solvable.problems.foreign import parse_json, parse_toml
from solvable.problems.inputs import Inputs
from solvable.problems.mixture import Mixture
from solvable.problems.model import InvalidProblem, Model, Plain
from solvable.problems.networks import Student, Teacher
from solvable.problems.spec import KernelSpec
from solvable.problems.tasks import Task, from_table, with_sequence
from solvable.problems.training import Training, stopped_rates

OWN = (
    "student.activation",
    "teacher.activation",
    "teacher.target",
    "training.rate_rule",
    "training.loss",
    "training.rule",
)
FUNCTIONS = tuple(tuple(path.split(".")) for path in OWN)  # which may be one's own

QUIET = {
    "teacher": ("drift", "rotation", "bias"), "student": ("bias",),
    "training": ("input_noise", "label_flips", "anchor", "lookahead", "repeats", "train_bias"),
}  # fmt: skip


def _hash(content: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _no_teacher() -> Teacher:
    return Teacher(width=0)


class Problem(Model, KernelSpec):
    """A learning problem: who teaches, who learns, on what inputs and by which rule; every level runs on it.

    It is frozen; `replace` makes a changed copy, `problem.replace(training__learning_rate=0.2)`.

    Parameters
    ----------
    teacher : Teacher
        Who gives the labels; left out where the classes of a mixture do.
    student : Student
        Who learns.
    inputs : Inputs
        On what inputs; left out, infinitely many with variance one.
    training : Training
        By which rule.
    mixture : Mixture, optional
        Inputs in classes, which may give the labels.
    tasks : tuple of Task
        Several tasks, which share the teacher's units, each with readouts of its own.

    Examples
    --------
    The examples of the methods below continue this one.

    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1), student=sv.Student(width=2), training=sv.Training(learning_rate=0.1)
    ... )
    >>> problem.replace(training__learning_rate=0.2).training.learning_rate
    0.2
    """

    teacher: Teacher = Field(default_factory=_no_teacher)
    student: Student
    inputs: Inputs = Field(default_factory=Inputs)
    training: Training
    mixture: Mixture | None = None
    tasks: Annotated[tuple[Task, ...], Plain, BeforeValidator(from_table)] = ()

    @model_validator(mode="after")
    def _check(self) -> "Problem":
        check_parts(self)
        return self

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, validated again.

        Parameters
        ----------
        **changes
            New values: `training__learning_rate=0.1` reaches inside a part, `tasks__0__readout` inside one of several;
            `tasks__switches` and `tasks__replay` are those of `Task.sequence`, `mixture__xor` and `mixture__opposite` distances.

        Returns
        -------
        Problem
            Checked.

        Examples
        --------
        >>> problem.replace(student__width=3).student.width
        3
        """
        return super().replace(**with_sequence(self.tasks, changes))

    @property
    def hash(self) -> str:
        """Hash of the content: equal problems have equal hashes, on every machine. Fields left at their defaults do
        not enter, so a field that a later version adds does not change the hash of a problem that does not use it. Functions of
        one's own enter by their code and values, or by their version and values."""
        return _hash(self._content())

    @property
    def likeness(self) -> str:
        """The hash with functions of one's own by their names and values near zero alone. Problems that share it are alike, not
        the same. Random streams follow from it, so that noise depends neither on how a function is written nor on the Python."""
        content = self._content()
        for part, name in FUNCTIONS:
            value = content.get(part, {}).get(name)
            if isinstance(value, dict):
                value.pop("identity", None)
        return _hash(content)

    def _content(self) -> dict[str, Any]:
        content = self.model_dump(mode="json", exclude_defaults=True) | {"hash": 1}
        if self.training.samples is None and self.training.batch == 1:
            content["training"].pop("batch")  # what it is where it is left out
        if self.inputs.spectrum is not None:
            content["inputs"]["spectrum"]["kind"] = self.inputs.spectrum.kind
        if self.training.rate_rule is not None:
            content["training"]["rate_rule"]["kind"] = self.training.rate_rule.kind
        if self.task_heads == tuple(range(len(self.tasks))):  # as if they had not been numbered
            for task in content["tasks"]:
                task.pop("head", None)
        added = {place: unit.identity for place, unit in self._added().items()}
        return content | ({"added": added} if added else {})

    def _added(self) -> dict[str, OwnFunction]:
        """Units and losses that are known by name but are not the library's own: they enter hashes by what they are."""
        named = {f"{part}.activation": getattr(self, part).activation for part in ("student", "teacher")}
        found: dict[str, OwnFunction] = {
            place: UNITS[name] for place, name in named.items() if isinstance(name, str) and name not in BUILT_IN
        }
        loss = self.training.loss
        if isinstance(loss, str) and loss not in BUILT_IN_LOSSES:
            found["training.loss"] = LOSSES[loss]
        return found

    def at(self, alpha: float) -> "Problem":
        """The same problem with the numbers of one time in place of schedules.

        It is for what knows constants only, such as moments, predictions and landscapes.

        Parameters
        ----------
        alpha : float
            Time in steps/dim.

        Returns
        -------
        Problem
            Without schedules.

        Examples
        --------
        >>> falling = sv.Schedule(times=(0, 10), rates=(0.2, 0.1))
        >>> problem.replace(training__learning_rate=falling).at(20.0).training.learning_rate
        0.1
        """
        return self._with(lambda part: part.at(alpha))

    def later(self, alpha: float) -> "Problem":
        """The same problem as seen from a later time, at which its schedules begin.

        It is for a run that goes on from there: `run(problem.later(alpha), trajectory.last(), level)`.

        Parameters
        ----------
        alpha : float
            Time in steps/dim.

        Returns
        -------
        Problem
            With schedules shifted by alpha.

        Examples
        --------
        >>> falling = sv.Schedule(times=(0, 10), rates=(0.2, 0.1))
        >>> problem.replace(training__learning_rate=falling).later(5.0).training.learning_rate.times
        (0.0, 5.0)
        """
        if not 0 <= alpha < math.inf:
            raise ValueError(f"later: {alpha!r} given, must be a finite time in steps/dim, not negative")
        return self._with(lambda part: part.later(alpha))

    def _with(self, change: Callable[[Any], Any]) -> Self:
        """With other parts in the place of those that may have schedules; a part without any gives itself back."""
        found: dict[str, Any] = {"inputs": change(self.inputs), "training": change(self.training)}
        if self.mixture is not None:
            found["mixture"] = change(self.mixture)
        tasks = tuple(change(task) for task in self.tasks)
        if any(one is not task for one, task in zip(tasks, self.tasks, strict=True)):
            found["tasks"] = tasks
        if all(part is getattr(self, name) for name, part in found.items()):
            return self
        kept = {name: getattr(self, name) for name in type(self).model_fields}
        return type(self).model_construct(**kept | found)

    def own_functions(self) -> dict[str, OwnFunction]:
        """The functions of your own in the problem.

        Returns
        -------
        dict
            Activations, targets, losses and rules by their places, such as "student.activation".

        Examples
        --------
        >>> problem.own_functions()
        {}
        """
        found = {f"{part}.{name}": getattr(getattr(self, part), name) for part, name in FUNCTIONS}
        return {place: value for place, value in found.items() if isinstance(value, OwnFunction)}

    def to_json(self) -> str:
        """The problem as JSON text.

        Returns
        -------
        str
            What `from_json` reads.

        Examples
        --------
        >>> text = problem.to_json()
        """
        return self.model_dump_json(exclude_none=True, exclude=self._unused())

    def _unused(self) -> dict[str, Any]:
        """Of the fields that few problems use those that this one leaves at their defaults: files do not show them."""
        left: dict[str, Any] = {} if self.tasks else {"tasks": True}
        for part, names in QUIET.items():
            table = getattr(self, part)
            unused = {name for name in names if getattr(table, name) == type(table).model_fields[name].default}
            left |= {part: unused} if unused else {}
        return left | ({"teacher": True} if self.teacher == _no_teacher() else {})

    @classmethod
    def from_json(cls, text: str) -> Self:
        """A problem from JSON text.

        Parameters
        ----------
        text : str
            As `to_json` writes it. Rates may be zero, as `at` and `later` leave them where a schedule ends so.

        Returns
        -------
        Problem
            Checked.

        Examples
        --------
        >>> sv.Problem.from_json(problem.to_json()) == problem
        True
        """
        tables = as_table(understood(parse_json, text))
        stopped = stopped_rates(tables.get("training"))
        if not stopped:
            return cls.from_mapping(tables)
        moving = cls.from_mapping(tables | {"training": tables["training"] | dict.fromkeys(stopped, 1.0)})
        return moving._with(lambda part: part.stopped(stopped) if isinstance(part, Training) else part)

    def to_toml(self) -> str:
        """The problem as TOML text.

        Returns
        -------
        str
            What `from_toml` reads.

        Examples
        --------
        >>> text = problem.to_toml()
        """
        import tomli_w

        for where, part in self.own_functions().items():
            raise InvalidProblem([f"{where}: the function {part.name!r} cannot be written to a file"])
        for name in stopped_rates(self.training.model_dump()):
            raise InvalidProblem([f"training.{name}: is zero at all times by now, which no file may say; to_json does"])
        return tomli_w.dumps(self.model_dump(mode="json", exclude_none=True, exclude=self._unused()))

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """A problem from TOML text.

        Parameters
        ----------
        text : str
            As `to_toml` writes it.

        Returns
        -------
        Problem
            Checked.

        Examples
        --------
        >>> sv.Problem.from_toml(problem.to_toml()) == problem
        True
        """
        return cls.from_mapping(understood(parse_toml, text))

    def save(self, path: str | Path) -> None:
        """Write the problem into a .toml or .json file.

        Parameters
        ----------
        path : str or Path
            The file.

        Examples
        --------
        >>> problem.save("problem.toml")
        """
        check_suffix(Path(path))
        text = self.to_toml()  # refuses what files cannot hold
        Path(path).write_text(self.to_json() if Path(path).suffix == ".json" else text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a problem from a .toml or .json file; tables of runs, sweeps and searches in it are passed over.

        Parameters
        ----------
        path : str or Path
            The file.

        Returns
        -------
        Problem
            Checked.

        Examples
        --------
        >>> sv.Problem.load("problem.toml") == problem
        True
        """
        with naming(path):
            tables = read_tables(Path(path))
            return cls.from_mapping({name: table for name, table in tables.items() if name not in OTHER_TABLES})
