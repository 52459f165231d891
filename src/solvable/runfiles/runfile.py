"""A run as a file: the tables of a problem, and optionally [start], [level], [run] and [fit]."""

from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from solvable.levels import Level, when
from solvable.overlaps import Overlaps, start
from solvable.problems import Data, InvalidProblem, Problem
from solvable.problems.file_tables import CONTROL_TABLE, RUN_TABLES, SWEEP_TABLES, naming, read_tables
from solvable.problems.model import UNKNOWN, Array, Matrix, Model, Plain, Unbounded
from solvable.problems.nearest import instead
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
        """The start that the table describes, from another seed if one is given; what neither says is as `defaults` says."""
        fields = self.arguments | self.defaults(problem)
        return start(problem, **(fields if seed is None else fields | {"seed": seed}))

    @property
    def arguments(self) -> dict[str, Any]:
        """Those of `start`."""
        return {name: getattr(self, name) for name in type(self).model_fields}

    def defaults(self, problem: Problem) -> dict[str, Any]:
        """What the table leaves open: seed 0, and at infinite dim orthogonal students with small cross overlaps, because
        Gaussian ones would have none."""
        if not self.is_drawn:
            return {}
        chosen: dict[str, Any] = {} if self.seed is not None else {"seed": 0}
        if problem.inputs.dim is None:
            if "students" not in self.model_fields_set:
                chosen["students"] = "orthogonal"
            if self.cross is None and chosen.get("students", self.students) == "orthogonal":
                chosen["cross"] = CROSS * self.scale
        return chosen


CROSS = (
    0.01  # cross overlaps of a start at infinite dim, in units of the scale: those of Gaussian weights at dim = 10,000
)
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


class FitTable(Model):
    """The table [fit] of a file: arguments of `fit`."""

    free: Any = None
    clock: str | None = None
    quantity: str | None = None
    noise: str | None = None
    columns: dict[str, str | list[str]] | None = None
    seed: Annotated[int, Plain, Field(ge=0)] = 0


class RunFile(Model):
    """A run as a file: a problem with its start, level and [run] table; [fit] says what a curve is to tell of it."""

    problem: Problem
    start: StartTable = Field(default_factory=StartTable)
    level: LevelTable
    run: RunTable = Field(default_factory=RunTable)
    fit: FitTable = Field(default_factory=FitTable)


@cache
def _file_of(name: str) -> type[RunFile]:
    """A file with the table of this level."""
    return create_model("RunFile", __base__=RunFile, level=(level_table(name), ...))


def read(path: str, overrides: dict[str, dict[str, Any]]) -> RunFile:
    """Read a .toml or .json file; `overrides` are tables of options given on the command line (None: not given). What a search for
    the best schedule is told is passed over."""
    with naming(path, given(overrides)):
        tables = read_tables(Path(path))
        return read_content({name: table for name, table in tables.items() if name != CONTROL_TABLE}, overrides)


def given(overrides: dict[str, dict[str, Any]]) -> tuple[str, ...]:
    """The dotted names of the fields that the command line gave."""
    return tuple(
        f"{table}.{name}" for table, options in overrides.items() for name in options if options[name] is not None
    )


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
    wrong: list[str] = []
    level, name = content.setdefault("level", {}), "macro"
    if isinstance(level, dict):
        name, wrong = _level_name(level)
        content["level"] = {"name": name} if wrong else {**level, "name": name}
        _check_options(name, overrides.get("level", {}))
        if isinstance(level.get("data"), str) and "inputs" not in problem:
            content["problem"] = {**problem, "inputs": _measured(level)}
    try:
        made = _file_of(name).from_mapping(content)
    except InvalidProblem as error:
        wrong = wrong + _told(error.problems, tables)
    if wrong:
        raise InvalidProblem(wrong)
    return made


def _level_name(level: dict[str, Any]) -> tuple[str, list[str]]:
    """The name, and what is wrong with it; a level of a wrong name has no fields that could be checked."""
    try:
        return check_name(level.get("name", "macro")), []
    except InvalidProblem as error:
        return "macro", error.problems


def _check_options(name: str, options: dict[str, Any]) -> None:
    """Raise if the command line has an option that the level of this name has not."""
    for option, flag in OPTIONS.items():
        if options.get(option) is not None and option not in level_table(name).model_fields:
            *some, one = (other for other in LEVELS if option in level_table(other).model_fields)
            raise ValueError(f"--{flag}: {name} has none; say --level {', '.join(some)} or {one}")


def _told(lines: list[str], tables: dict[str, Any]) -> list[str]:
    """Mistakes with the names that a file has: the tables of a problem stand beside the others."""
    known = (*Problem.model_fields, *RUN_TABLES)
    sweeping = [name for name in SWEEP_TABLES if name in tables]
    found = []
    for line in lines:
        name, wrong, _ = line.partition(UNKNOWN)
        if wrong and name in tables:
            line = f"{name}{UNKNOWN}{instead(name, known)}"
        if not wrong or name not in sweeping:
            found.append(line.removeprefix("problem."))
    if sweeping:
        found.append(f"{sweeping[0]}: is a table of a sweep; `solvable sweep` runs the file")
    return found


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
    if LEVELS[level.get("name", "macro")].domain.samples:
        return {"dim": data.dim}
    inputs = data.inputs
    return {"dim": inputs.dim, "spectrum": {"eigenvalues": inputs.eigenvalues.tolist()}}
