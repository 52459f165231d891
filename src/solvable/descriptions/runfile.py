"""A run as a file: the tables of a problem, and optionally [start], [level] and [run]."""

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from solvable.overlaps import Overlaps, start
from solvable.problems import Data, InvalidProblem, Problem
from solvable.problems.model import Array, Matrix, Model, Plain, Unbounded
from solvable.problems.problem import RUN_TABLES, read_tables
from solvable.results import Level, Threshold, when


class StartTable(Model):
    """The arguments of `start`."""

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


class LevelTable(Model):
    """The arguments of a level; what they may be is the level's own business."""

    @model_validator(mode="after")
    def _check(self) -> "LevelTable":
        self.level()
        return self

    @abstractmethod
    def level(self) -> Level:
        """The level that the table describes; refuses what the level refuses."""

    def _given(self, *left_out: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.model_fields_set - {"name", *left_out}}


class MacroTable(LevelTable):
    name: Literal["macro"] = "macro"
    rtol: Annotated[float, Plain] = 1e-8
    atol: Annotated[float, Plain] = 1e-14
    small_rate: bool = False
    max_steps: Annotated[int, Plain] = 1_000_000
    method: str = "auto"
    nodes: Annotated[int, Plain] = 2**13
    node_seed: Annotated[int, Plain] = 0

    def level(self) -> Level:
        from solvable.macro import Macro

        return Macro(**self._given())


class MicroTable(LevelTable):
    """`data` is a .npy or .npz file; the other names of Data follow."""

    name: Literal["micro"] = "micro"
    runs: Annotated[int, Plain] = 1
    seed: Annotated[int, Plain] = 0
    form: str = "auto"
    data: str | None = None
    order: str = "given"
    array: str | None = None

    def level(self) -> Level:
        from solvable.micro import Micro

        given = self._given("data", "order", "array")
        if self.data is None:
            for name in self.model_fields_set & {"order", "array"}:
                raise ValueError(f"{name}: given without data, so nothing would use it")
            return Micro(**given)
        return Micro(data=Data(self.data, order=self.order, array=self.array), **given)  # type: ignore[arg-type]


class MesoTable(LevelTable):
    name: Literal["meso"] = "meso"
    runs: Annotated[int, Plain] = 1
    seed: Annotated[int, Plain] = 0
    rtol: Annotated[float, Plain] = 1e-4
    leap: Annotated[float, Plain] | None = None
    samples: Annotated[int, Plain] = 16
    max_steps: Annotated[int, Plain] = 1_000_000

    def level(self) -> Level:
        from solvable.meso import Meso

        return Meso(**self._given())


class EmpiricalTable(LevelTable):
    """`data` is a .npy or .npz file of rows; the other names of Data follow."""

    name: Literal["empirical"] = "empirical"
    runs: Annotated[int, Plain] = 1
    seed: Annotated[int, Plain] = 0
    data: str | None = None
    array: str | None = None
    prepare: bool = True
    method: str = "auto"
    rtol: Annotated[float, Plain] = 1e-6
    max_steps: Annotated[int, Plain] = 1_000_000

    def level(self) -> Level:
        from solvable.empirical import Empirical

        given = self._given("data", "array", "prepare")
        if self.data is None:
            for name in self.model_fields_set & {"array", "prepare"}:
                raise ValueError(f"{name}: given without data, so nothing would use it")
            return Empirical(**given)
        return Empirical(data=Data(self.data, array=self.array, prepare=self.prepare), **given)


AnyLevel = Annotated[EmpiricalTable | MacroTable | MesoTable | MicroTable, Field(discriminator="name")]
LEVELS = ("empirical", "macro", "meso", "micro")
OPTIONS = {"runs": "runs", "seed": "level-seed"}  # on the command line


class StopTable(Model):
    """The arguments of `when`."""

    quantity: str = "risk"
    below: Annotated[float, Plain] | None = None
    above: Annotated[float, Plain] | None = None
    relative: bool = False
    entry: Annotated[tuple[int, ...], Plain] | int | None = None

    def threshold(self) -> Threshold:
        return when(self.quantity, below=self.below, above=self.above, relative=self.relative, entry=self.entry)


class RunTable(Model):
    until: Annotated[float, Plain, Field(gt=0)] | None = None
    clock: str | None = None
    times: Array | None = None
    keep_blocks: bool = False
    stop: StopTable | None = None


class RunFile(Model):
    problem: Problem
    start: StartTable = Field(default_factory=StartTable)
    level: AnyLevel = Field(default_factory=MacroTable)
    run: RunTable = Field(default_factory=RunTable)

    @model_validator(mode="before")
    @classmethod
    def _name_level(cls, fields: Any) -> Any:
        level = fields.get("level") if isinstance(fields, dict) else None
        if not isinstance(level, dict):
            return fields
        name = level.get("name", "macro")
        if name not in LEVELS:
            raise ValueError(f"level.name: {name!r} given, must be one of {', '.join(LEVELS)}")
        return {**fields, "level": {**level, "name": name}}


def read(path: str, overrides: dict[str, dict[str, Any]]) -> RunFile:
    """Read a .toml or .json file; `overrides` are tables of options given on the command line (None: not given)."""
    return read_content(read_tables(Path(path)), overrides)


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
    level = content.get("level", {})
    if isinstance(level, dict):
        if level.get("name", "macro") == "macro":
            for option in ("runs", "seed"):
                if overrides.get("level", {}).get(option) is not None:
                    raise ValueError(f"--{OPTIONS[option]}: macro has none; say --level micro, meso or empirical")
        if isinstance(level.get("data"), str) and "inputs" not in problem:
            content["problem"] = {**problem, "inputs": _measured(level)}
    try:
        return RunFile.from_mapping(content)
    except InvalidProblem as error:
        known = ", ".join([*Problem.model_fields, *RUN_TABLES])
        lines = [line.removeprefix("problem.").replace("level, problem, run, start", known) for line in error.problems]
        raise InvalidProblem(lines) from None


class _AnyLevel(Model):
    level: AnyLevel


def read_level(table: Any) -> Level:
    """The level of a table of its own, as sweeps over levels have them."""
    if isinstance(table, str):
        table = {"name": table}
    if not isinstance(table, dict) or table.get("name") not in LEVELS:
        raise InvalidProblem([f"level: {table!r} given, must have a name, one of {', '.join(LEVELS)}"])
    return _AnyLevel.from_mapping({"level": table}).level.level()


def _measured(level: dict[str, Any]) -> dict[str, Any]:
    """The table [inputs] of data, where the file has none."""
    data = Data(level["data"], array=level.get("array"))
    if level.get("name") == "empirical":
        return {"dim": data.dim}
    inputs = data.inputs
    return {"dim": inputs.dim, "spectrum": {"eigenvalues": inputs.eigenvalues.tolist()}}
