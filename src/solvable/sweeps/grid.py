"""The grid of a sweep: axes that multiply, names that move together, derived values, conditions."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from solvable.problems import InvalidProblem, Problem
from solvable.sweeps.expressions import FUNCTIONS, Expression, as_text
from solvable.sweeps.labels import label_of, labels_of
from solvable.sweeps.measures import Measure, field_of
from solvable.sweeps.records import MANIFEST, Labelled, Record, key_of

MOST = 1_000_000  # points
WHOLE = ("level", "mixture", "tasks")  # which vary as a whole, too
Rule = Callable[[Mapping[str, Any]], Any] | str


@dataclass(frozen=True)
class Axis:
    """One axis of a grid: names that move together, with as many values each."""

    names: tuple[str, ...]
    values: tuple[tuple[Any, ...], ...]

    def __len__(self) -> int:
        return len(self.values[0])

    def labels(self, i: int) -> list[Any]:
        """What the values of a name are called."""
        return labels_of(self.names[i], self.values[i])

    def label(self, name: str, value: Any) -> Any:
        """What one of them is called."""
        i = self.names.index(name)
        return self.labels(i)[next(j for j, one in enumerate(self.values[i]) if one is value)]


@dataclass(frozen=True)
class Point:
    """One point of a grid: its `number` among all cells, and the `key`, a hash of all that its result depends on."""

    number: int
    key: bytes
    problem: Problem
    measure: Measure


class _Values(Mapping[str, Any]):
    """The values of names at a point: of axes and derived names, else as the problem and the measure have them."""

    def __init__(self, grid: "Grid", values: dict[str, Any]) -> None:
        self._grid, self._values = grid, values

    def __getitem__(self, name: str) -> Any:
        if name in self._values:
            return self._values[name]
        part = name.partition(".")[0]
        if part in Problem.model_fields:
            return field_of(name, self._grid.problem, name)
        if part in self._grid.measure.parts:
            return self._grid.measure.look(name)
        raise ValueError(f"{name}: unknown; neither a field nor an axis of the sweep")

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


class Grid:
    """The grid of a sweep, checked when it is made.

    `vary` has the values of each name; names of fields are dotted ("student.width", "start.seed"), other words are
    variables for `derive` and `where`. `together` lists groups of names that move together, the others multiply.
    `derive` gives further names by expressions such as "0.05 * student.width" or by functions of the point; `where`
    keeps the points at which it is true.
    """

    def __init__(
        self,
        problem: Problem,
        measure: Measure,
        vary: Mapping[str, Any],
        together: Sequence[Sequence[str]] = (),
        derive: Mapping[str, Rule] | None = None,
        where: Rule | None = None,
    ) -> None:
        self.problem, self.measure = problem, measure
        self._last: dict[str, tuple[dict[str, Any], Any]] = {}
        values = {name: axis_values(name, given) for name, given in vary.items()}
        self.axes = _axes(values, together)
        self.derive = {name: _rule(name, rule) for name, rule in (derive or {}).items()}
        self.where = None if where is None else _rule("where", where)
        self._check_names(list(values))
        if self.size > MOST:
            raise ValueError(f"vary: {self.size:.3g} points, must be at most {MOST:.3g}")

    def _check_names(self, varied: list[str]) -> None:
        known = (*Problem.model_fields, *self.measure.parts)
        for name in [*varied, *self.derive]:
            part = name.partition(".")[0]
            if "." in name and part not in known:
                raise ValueError(f"{name}: cannot vary, must begin with one of {', '.join(known)}")
            taken = name in known or name in FUNCTIONS or name in RESERVED or not name.isidentifier()
            if "." not in name and name not in WHOLE and taken:
                raise ValueError(f"{name}: is no name for a variable; fields are dotted, as student.width")
        for name in self.derive:
            if name in varied:
                raise ValueError(f"{name}: is varied and derived; must be one")
        rules = [*self.derive.values(), *([] if self.where is None else [self.where])]
        if all(isinstance(rule, Expression) for rule in rules):
            used = {name for rule in rules for name in rule.names}
            for name in varied:
                if "." not in name and name not in WHOLE and name not in used:
                    raise ValueError(f"{name}: is varied, but nothing uses it; fields are dotted, as student.width")

    @cached_property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(axis) for axis in self.axes)

    @cached_property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @cached_property
    def dims(self) -> tuple[str, ...]:
        return tuple(self.short[axis.names[0]] for axis in self.axes)

    @cached_property
    def short(self) -> dict[str, str]:
        """The last word of each name, or all of them where two end alike or a name would hide a result."""
        names = [name for axis in self.axes for name in axis.names]
        last = [name.rpartition(".")[2] for name in names]
        taken = {*RESERVED, *getattr(self.measure, "keep", ())}
        whole = {name: name.replace(".", "_" if name.replace(".", "_") not in taken else "__") for name in names}
        return {
            name: word if last.count(word) == 1 and word not in taken else whole[name]
            for name, word in zip(names, last, strict=True)
        }

    def point(self, number: int) -> Point | None:
        """The point in a cell, checked; None where the condition leaves it out. Its mistakes are raised with its place."""
        values: dict[str, Any] = {}
        rest = number
        for axis, size in zip(reversed(self.axes), reversed(self.shape), strict=True):
            rest, i = divmod(rest, size)
            values = {name: axis.values[j][i] for j, name in enumerate(axis.names)} | values
        try:
            return self._point(number, values)
        except ValueError as error:
            place = ", ".join(f"{name} = {self._label(name, value)}" for name, value in values.items())
            lines = error.problems if isinstance(error, InvalidProblem) else [str(error)]
            raise InvalidProblem([f"{line} (at {place})" for line in lines]) from None

    def _label(self, name: str, value: Any) -> Any:
        axis = next((one for one in self.axes if name in one.names), None)
        return label_of(value) if axis is None else axis.label(name, value)

    def _point(self, number: int, values: dict[str, Any]) -> Point | None:
        at = _Values(self, values)
        early = isinstance(self.where, Expression) and not self.derive.keys() & set(self.where.names)
        if early and not self._keeps(at):  # before what need not make sense there
            return None
        for name, rule in self.derive.items():
            values[name] = _plain(rule(at.__getitem__ if isinstance(rule, Expression) else at))
        if not early and not self._keeps(at):
            return None
        values = {name: self._whole(name, value) for name, value in values.items()}
        of_problem = {name: value for name, value in values.items() if name.partition(".")[0] in Problem.model_fields}
        of_measure = {name: value for name, value in values.items() if name.partition(".")[0] in self.measure.parts}
        problem = self._varied("problem", of_problem)
        measure = self._varied("measure", of_measure).settle(problem)
        return Point(number, key_of(measure.content(problem)), problem, measure)

    def _varied(self, part: str, values: dict[str, Any]) -> Any:
        """The problem or the measure with these values, checked. Neighbours often share one of the two: then it is the last one."""
        before, last = self._last.get(part, ({}, getattr(self, part)))
        if before.keys() == values.keys() and all(value is before[name] for name, value in values.items()):
            return last
        if part == "measure":
            made: Any = self.measure.vary(values)
        else:
            made = self.problem.replace(**{name.replace(".", "__"): value for name, value in values.items()})
        self._last[part] = (values, made)
        return made

    def _keeps(self, at: _Values) -> bool:
        if self.where is None:
            return True
        kept = self.where(at.__getitem__ if isinstance(self.where, Expression) else at)
        if not isinstance(kept, bool | np.bool_):
            raise ValueError(f"where: gives {kept!r}, must be true or false")
        return bool(kept)

    def _whole(self, name: str, value: Any) -> Any:
        """4.0 is 4 where a whole number is meant."""
        if not isinstance(value, float) or not value.is_integer() or "." not in name:
            return value
        try:
            now = _Values(self, {})[name]
        except ValueError:
            return value
        return int(value) if isinstance(now, int) and not isinstance(now, bool) else value

    def manifest(self, keys: np.ndarray, first: Point, title: str) -> Record:
        """A record of the sweep itself: its axes, and the key of every cell (zeros where there is no point)."""
        axes = [
            {
                "dim": dim,
                "names": [self.short[name] for name in axis.names],
                "fields": list(axis.names),
                "values": [axis.labels(i) for i in range(len(axis.names))],
            }
            for dim, axis in zip(self.dims, self.axes, strict=True)
        ]
        about = {
            "kind": "sweep",
            "title": title,
            "axes": axes,
            "problem": json.loads(self.problem.to_json()),
            "first": first.measure.content(first.problem),
        }
        digest = hashlib.sha256(
            json.dumps([about], sort_keys=True, allow_nan=False)[:-1].encode()
        )  # as of [about, keys]
        digest.update(b', "')
        for i in range(0, len(keys), 4096):
            digest.update(keys[i : i + 4096].tobytes().hex().encode())
        digest.update(b'"]')
        name = digest.digest()
        return Record(MANIFEST + name[len(MANIFEST) :], about, {"keys": Labelled(("point", "byte"), keys)})


RESERVED = {
    "at_time", "done", "failure", "risk", "risk_error", "time", "run", "instance", "student", "student_", "teacher", "readout",
    "mean", "start_risk", "end_risk", "exit_time", "end_time", "ending", "nfev", "fewest", "standard_error", "student_overlap",
    "cross_overlap", "overlap_error", "training_loss", "population_loss", "direction_overlap", "direction", "task_risk", "task",
    "training_loss_error", "end_risk_error", "end_training_loss_error", "head", "forgetting", "head_start", "classification_error",
}  # fmt: skip


def axis_values(name: str, given: Any) -> tuple[Any, ...]:
    if isinstance(given, str | bytes) or not hasattr(given, "__iter__"):
        raise ValueError(f"{name}: {given!r} given, must be a list of values")
    values = tuple(_plain(value) for value in given)
    if not values:
        raise ValueError(f"{name}: no values given")
    labels = [json.dumps(label_of(value)) for value in values]
    if len(set(labels)) < len(labels):
        raise ValueError(f"{name}: a value is given twice")
    return values


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value.tolist()
    return value.item() if isinstance(value, np.generic) else value


def _axes(values: dict[str, tuple[Any, ...]], together: Sequence[Sequence[str]]) -> tuple[Axis, ...]:
    group_of: dict[str, tuple[str, ...]] = {name: (name,) for name in values}
    for group in together:
        if isinstance(group, str) or len(group) < 2:
            raise ValueError(f"together: {group!r} given, must be lists of names that move together")
        for name in group:
            if name not in values:
                raise ValueError(f"together: {name!r} is not varied")
            if group_of[name] != (name,):
                raise ValueError(f"together: {name!r} is in two groups")
            group_of[name] = tuple(group)
        if len({len(values[name]) for name in group}) > 1:
            counts = ", ".join(f"{name} has {len(values[name])}" for name in group)
            raise ValueError(f"together: {counts} values; must have as many each")
    groups = dict.fromkeys(group_of.values())
    return tuple(Axis(names, tuple(values[name] for name in names)) for names in groups)


def _rule(name: str, rule: Any) -> Any:
    if callable(rule):
        return rule
    rule = as_text(rule)
    if not isinstance(rule, str):
        raise ValueError(f"{name}: {rule!r} given, must be an expression")
    try:
        return Expression(rule)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
