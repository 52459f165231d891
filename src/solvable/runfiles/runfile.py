"""A run as a file: the tables of a problem, and optionally [start], [level] and [run]."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from solvable.levels import Level, when
from solvable.overlaps import Overlaps, start
from solvable.problems import Data, InvalidProblem, Problem
from solvable.problems.file_tables import CONTROL_TABLE, RUN_TABLES, SWEEP_TABLES, read_tables
from solvable.problems.model import Array, Matrix, Model, Plain, Unbounded
from solvable.results import Threshold
from solvable.runfiles.level_tables import LEVELS, LevelTable, check_name, level_table


class StartTable(Model):
    """The table [start] of a file: arguments of `start`."""

    seed: Annotated[int, Plain, Field(ge=0)] | None = None
    scale: Annotated[float, Unbounded, Field(ge=0)] = 1.0
    students: Literal["gaussian", "orthogonal", "spanning"] = "gaussian"
    cross: Annotated[float, Unbounded, Field(ge=0)] | None = None
    student_overlap: Matrix | None = None
    cross_overlap: Matrix | None = None
    teacher_overlap: Matrix | None = None
    direction_overlap: Matrix | None = None
    readout: Array | Matrix | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether it needs a seed."""
        return self.student_overlap is None

    def draw(self, problem: Problem, seed: int | None = None) -> Overlaps:
        """The start that the table describes, from another seed if one is given."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return start(problem, **(fields if seed is None else fields | {"seed": seed}))


OPTIONS = {"runs": "runs", "seed": "level-seed"}  # on the command line


class StopTable(Model):
    """The table [run.stop] of a file: arguments of `when`."""

    quantity: str = "risk"
    below: Annotated[float, Plain] | None = None
    above: Annotated[float, Plain] | None = None
    relative: bool = False
    entry: Annotated[tuple[int, ...], Plain] | int | None = None

    def threshold(self) -> Threshold:
        return when(self.quantity, below=self.below, above=self.above, relative=self.relative, entry=self.entry)


class RunTable(Model):
    """The table [run] of a file: until, times, clock, stop, keep_blocks."""

    until: Annotated[float, Plain, Field(gt=0)] | None = None
    clock: str | None = None
    times: Array | None = None
    keep_blocks: bool = False
    stop: StopTable | None = None


class RunFile(Model):
    """A run as a file: a problem with its start, level and [run] table."""

    problem: Problem
    start: StartTable = Field(default_factory=StartTable)
    level: LevelTable
    run: RunTable = Field(default_factory=RunTable)


@cache
def _file_of(name: str) -> type[RunFile]:
    """A file with the table of this level."""
    return create_model("RunFile", __base__=RunFile, level=(level_table(name), ...))


def read(path: str, overrides: dict[str, dict[str, Any]]) -> RunFile:
    """Read a .toml or .json file; `overrides` are tables of options given on the command line (None: not given). What a search for
    the best schedule is told is passed over."""
    tables = read_tables(Path(path))
    return read_content({name: table for name, table in tables.items() if name != CONTROL_TABLE}, overrides)


def read_content(tables: dict[str, Any], overrides: dict[str, dict[str, Any]]) -> RunFile:
    """`read`, of tables that are already there."""
    problem = {name: table for name, table in tables.items() if name in Problem.model_fields}
    tables = {name: table for name, table in tables.items() if name not in problem}
    content: dict[str, Any] = {"problem": problem, **tables}
    for table, options in overrides.items():
        given = {name: value for name, value in options.items() if value is not None}
        there = content.get(table, {})
        if given and isinstance(there, dict):
            other = given.get("name", there.get("name", "macro")) != there.get("name", "macro")
            content[table] = given if other else {**there, **given}  # another level has other fields
    level = content.setdefault("level", {})
    name = "macro"
    if isinstance(level, dict):
        name = check_name(level.get("name", "macro"))
        content["level"] = {**level, "name": name}
        for option, flag in OPTIONS.items():
            if overrides.get("level", {}).get(option) is not None and option not in level_table(name).model_fields:
                *some, one = (other for other in LEVELS if option in level_table(other).model_fields)
                raise ValueError(f"--{flag}: {name} has none; say --level {', '.join(some)} or {one}")
        if isinstance(level.get("data"), str) and "inputs" not in problem:
            content["problem"] = {**problem, "inputs": _measured(level)}
    try:
        return _file_of(name).from_mapping(content)
    except InvalidProblem as error:
        known = ", ".join([*Problem.model_fields, *RUN_TABLES])
        lines = [line.removeprefix("problem.").replace("level, problem, run, start", known) for line in error.problems]
        sweeping = [name for name in SWEEP_TABLES if name in tables]
        if sweeping:
            lines.append(f"{sweeping[0]}: is a table of a sweep; `solvable sweep` runs the file")
            lines = [line for line in lines if not any(line.startswith(f"{name}: is not") for name in sweeping)]
        raise InvalidProblem(lines) from None


def read_level(table: Any) -> Level:
    """The level of a table of its own, as sweeps over levels have them."""
    if isinstance(table, str):
        table = {"name": table}
    if not isinstance(table, dict) or table.get("name") not in LEVELS:
        raise InvalidProblem([f"level: {table!r} given, must have a name, one of {', '.join(LEVELS)}"])
    return _level_file(table["name"]).from_mapping({"level": table}).level.level()


class _LevelFile(Model):
    level: LevelTable


@cache
def _level_file(name: str) -> type[_LevelFile]:
    return create_model("LevelFile", __base__=_LevelFile, level=(level_table(name), ...))


def _measured(level: dict[str, Any]) -> dict[str, Any]:
    """The table [inputs] of data, where the file has none."""
    data = Data(level["data"], array=level.get("array"), prepare=level.get("prepare", True))
    if level.get("name") == "empirical":
        return {"dim": data.dim}
    inputs = data.inputs
    return {"dim": inputs.dim, "spectrum": {"eigenvalues": inputs.eigenvalues.tolist()}}
