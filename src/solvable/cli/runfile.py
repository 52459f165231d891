"""A run as a file: the tables of a problem, and optionally [start], [level] and [run]."""

from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field

from solvable.problems import InvalidProblem, Problem
from solvable.problems.model import Array, Matrix, Model, Plain
from solvable.problems.problem import RUN_TABLES, read_tables


class StartTable(Model):
    """The arguments of `start`."""

    seed: Annotated[int, Plain, Field(ge=0)] | None = None
    scale: Annotated[float, Plain, Field(ge=0)] = 1.0
    students: Literal["gaussian", "orthogonal"] = "gaussian"
    cross: Annotated[float, Plain, Field(ge=0)] | None = None
    student_overlap: Matrix | None = None
    cross_overlap: Matrix | None = None
    teacher_overlap: Matrix | None = None
    readout: Array | None = None


class LevelTable(Model):
    """The arguments of a level."""

    name: Literal["macro"] = "macro"
    rtol: Annotated[float, Plain, Field(ge=1e-14, le=1e-2)] = 1e-8
    atol: Annotated[float, Plain, Field(ge=0, le=1e-2)] = 1e-14
    small_rate: bool = False
    max_steps: Annotated[int, Plain, Field(gt=0)] = 1_000_000
    method: Literal["auto", "explicit", "exponential", "closed"] = "auto"
    nodes: Annotated[int, Plain, Field(ge=16)] = 2**13
    node_seed: Annotated[int, Plain, Field(ge=0)] = 0


class RunTable(Model):
    until: Annotated[float, Plain, Field(gt=0)] | None = None
    clock: str = "alpha"
    times: Array | None = None
    keep_blocks: bool = False


class RunFile(Model):
    problem: Problem
    start: StartTable = Field(default_factory=StartTable)
    level: LevelTable = Field(default_factory=LevelTable)
    run: RunTable = Field(default_factory=RunTable)


def read(path: str, overrides: dict[str, dict[str, Any]]) -> RunFile:
    """Read a .toml or .json file; `overrides` are tables of options given on the command line (None: not given)."""
    tables = read_tables(Path(path))
    problem = {name: tables.pop(name) for name in list(tables) if name in Problem.model_fields}
    content: dict[str, Any] = {"problem": problem, **tables}
    for table, options in overrides.items():
        given = {name: value for name, value in options.items() if value is not None}
        if given and isinstance(content.get(table, {}), dict):
            content[table] = {**content.get(table, {}), **given}
    try:
        return RunFile.from_mapping(content)
    except InvalidProblem as error:
        known = ", ".join([*Problem.model_fields, *RUN_TABLES])
        lines = [line.removeprefix("problem.").replace("level, problem, run, start", known) for line in error.problems]
        raise InvalidProblem(lines) from None
