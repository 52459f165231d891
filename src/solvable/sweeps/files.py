"""Sweeps as files: the tables of a run, and [vary], [derive] and [sweep]."""

import copy
from contextlib import suppress
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from solvable.problems import InvalidProblem, Problem
from solvable.problems.file_tables import RUN_TABLES, SWEEP_TABLES, naming, read_tables
from solvable.problems.model import Model, Plain
from solvable.problems.nearest import instead
from solvable.runfiles import read_content
from solvable.runfiles.control_table import read_inside
from solvable.sweeps.expressions import Expression, as_text
from solvable.sweeps.grid import WHOLE, axis_values
from solvable.sweeps.measures import FewestSamples, Measure, Run
from solvable.sweeps.planning import Sweep, plan

OF_SEQUENCES = ("tasks.replay", "tasks.switches")


class SweepTable(Model):
    """The table [sweep] of a file: title, what is kept, number of starts, names that move together, and a condition."""

    title: str | None = None
    keep: Annotated[tuple[str, ...], Plain] = ("risk",)
    starts: Annotated[int, Plain, Field(ge=1)] = 1
    together: Annotated[tuple[tuple[str, ...], ...], Plain] = ()
    where: str | None = None


class RecoveryTable(Model):
    """The table [recovery] of a file: arguments of `FewestSamples`."""

    instances: Annotated[int, Plain, Field(ge=1)] = 100
    seed: Annotated[int, Plain, Field(ge=0)] = 0
    by: Literal["certificate", "flow"] = "certificate"


class Range(Model):
    """Equally spaced values from `from` to `to`: a given number of them, or a given distance apart.

    With scale = "log" they are equally spaced in the logarithm. Whole numbers stay whole where they can.
    """

    first: Annotated[float, Plain] = Field(alias="from")
    last: Annotated[float, Plain] = Field(alias="to")
    count: Annotated[int, Plain, Field(ge=1, le=1_000_000)] | None = None
    step: Annotated[float, Plain, Field(gt=0)] | None = None
    scale: Literal["linear", "log"] = "linear"

    def values(self) -> list[float]:
        if (self.count is None) == (self.step is None):
            raise ValueError("give either count or step")
        if self.scale == "log":
            if self.count is None or self.first <= 0 or self.last <= 0:
                raise ValueError('scale = "log" needs count, and positive from and to')
            found: np.ndarray = np.geomspace(self.first, self.last, self.count)
        elif self.step is not None:
            if self.last < self.first or (self.last - self.first) / self.step > 1e6:
                raise ValueError(f"from {self.first:g} to {self.last:g} in steps of {self.step:g} is no range")
            found = self.first + self.step * np.arange(int((self.last - self.first) / self.step + 1e-9) + 1)
        else:
            assert self.count is not None
            found = np.linspace(self.first, self.last, self.count)
        whole = self.scale == "linear" and bool((found == np.rint(found)).all())
        return [int(value) if whole else float(value) for value in found]


def read(path: str | Path) -> Sweep:
    """Plan the sweep of a .toml or .json file; InvalidProblem, with one line for each mistake, where there is none in it."""
    with naming(path):
        try:
            return _planned(Path(path))
        except InvalidProblem:
            raise
        except ValueError as error:  # which may quote names of the file
            raise InvalidProblem([str(error)]) from None


def _planned(path: Path) -> Sweep:
    tables = read_tables(path)
    known = (*Problem.model_fields, *RUN_TABLES, *SWEEP_TABLES)
    unknown = [f"{name}: is not a table here{instead(name, known)}" for name in tables if name not in known]
    if unknown:
        raise InvalidProblem(unknown)
    is_recovery = "recovery" in tables
    given = {name: tables.pop(name, {}) for name in SWEEP_TABLES}
    for name, table in given.items():
        if not isinstance(table, dict):
            raise InvalidProblem([f"{name}: {table!r} given, must be a table"])
    settings = read_inside("sweep", SweepTable, given["sweep"])
    vary = {name: _axis(name, values) for name, values in _flat(given["vary"]).items()}
    derive = _flat(given["derive"])
    if not vary:
        raise InvalidProblem(["vary: is missing; a sweep needs a table [vary] with lists of values"])
    problem, measure = _base(tables, given["recovery"] if is_recovery else None, vary, derive, settings)
    return plan(
        problem, measure, vary,
        together=settings.together, derive=derive, where=settings.where, title=settings.title or path.stem,
    )  # fmt: skip


def _base(
    tables: dict[str, Any], recovery: Any, vary: dict[str, Any], derive: dict[str, Any], settings: SweepTable
) -> tuple[Problem, Measure]:
    """Problem and measure at the first point: what the file leaves to [vary] and [derive] is filled in from there."""
    filled = copy.deepcopy(tables)
    values: dict[str, Any] = {name: axis[0] for name, axis in vary.items()}
    for name, rule in derive.items():
        with suppress(ValueError):  # the grid tells, unless the file lacks this very field
            values[name] = Expression(str(as_text(rule)))(
                lambda wanted: _get(values if wanted in values else tables, wanted)
            )
    for name, value in values.items():
        part = name.partition(".")[0]
        if name in OF_SEQUENCES and isinstance(tables.get("tasks"), list):
            continue  # the problem has them without
        whole = name in WHOLE and name != "level"
        if whole or (name != "level" and "." in name and part in (*Problem.model_fields, "start", "level", "run")):
            _set(filled, name, value)
    if recovery is not None:
        for name in ("start", "level", "run"):
            if name in tables:
                raise InvalidProblem([f"{name}: given together with recovery, which has none"])
        table = read_inside("recovery", RecoveryTable, recovery)
        return Problem.from_mapping(filled), FewestSamples(table.instances, table.seed, table.by)
    begin = filled.setdefault("start", {})
    if isinstance(begin, dict) and "student_overlap" not in begin:
        begin.setdefault("seed", 0)
    file = read_content(filled, {})
    try:
        return file.problem, Run(file.level.level(), file.start, file.run, settings.keep, settings.starts)
    except ValueError as error:
        raise InvalidProblem([str(error)]) from None


def _flat(table: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Dotted names of nested tables; a table with `from` and `to` is a range of values."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and not {"from", "to"} & value.keys():
            found |= _flat(value, f"{before}{name}.")
        else:
            found[f"{before}{name}"] = value
    return found


def _axis(name: str, given: Any) -> Any:
    if not isinstance(given, dict):
        return axis_values(name, given)
    try:
        return Range.from_mapping(given).values()
    except InvalidProblem as error:
        raise InvalidProblem([f"vary.{name}.{line}" for line in error.problems]) from None
    except ValueError as error:
        raise InvalidProblem([f"vary.{name}: {error}"]) from None


def _get(tables: dict[str, Any], name: str) -> Any:
    value: Any = tables
    for word in [name] if name in tables else name.split("."):
        if isinstance(value, list) and word.isdecimal() and int(word) < len(value):
            value = value[int(word)]
            continue
        if not isinstance(value, dict) or word not in value:
            raise ValueError(f"{name}: is not in the file")
        value = value[word]
    return value


def _set(tables: dict[str, Any], name: str, value: Any) -> None:
    *path, last = name.split(".")
    at: Any = tables
    for word in path:
        if isinstance(at, list):
            if not word.isdecimal() or int(word) >= len(at):
                raise InvalidProblem([f"{name}: {word} given, must be a number from 0 to {len(at) - 1}"])
            at = at[int(word)]
        else:
            at = at.setdefault(word, {})
        if not isinstance(at, dict | list):
            raise InvalidProblem([f"{name}: cannot vary inside {word}, which is not a table"])
    if not isinstance(at, dict):
        raise InvalidProblem([f"{name}: cannot vary inside {path[-1]}, which is a list"])
    at[last] = value
