"""The table [control] of a file: which numbers are free in time, and what is made small."""

from typing import Annotated, Any, Literal, NamedTuple

from pydantic import Field

from solvable.control import Control
from solvable.control.objectives import objective as checked_objective
from solvable.problems import InvalidProblem
from solvable.problems.model import Array, Model, Plain, Unbounded
from solvable.problems.nearest import hint
from solvable.results import Threshold
from solvable.runfiles.runfile import StopTable


class FreeTable(Model):
    """One number of [control] with more than its segments: arguments of `Control`."""

    segments: Annotated[int, Plain, Field(ge=1, le=10_000)] = 50
    edges: Array | None = None
    shape: Literal["steps", "linear"] = "steps"
    lower: Annotated[float, Unbounded] | None = None
    upper: Annotated[float, Unbounded] | None = None


class SettingsTable(Model):
    """What [control] has beside the numbers: arguments of `optimal`."""

    objective: str | StopTable = "risk"
    guesses: Annotated[int, Plain, Field(ge=1, le=1000)] = 3
    refine: bool = True


SETTINGS = (*SettingsTable.model_fields, "integral")


class ControlTable(NamedTuple):
    """[control], read: arguments of `optimal`."""

    control: dict[str, Control]
    objective: str | Threshold
    integral: dict[str, float]
    guesses: int
    refine: bool


def read_control(table: Any) -> ControlTable:
    """Numbers by their names, as `training.learning_rate = 50` or `= { segments = 50, upper = 2.0 }`; `integral` by the same names;
    and settings."""
    if not isinstance(table, dict):
        raise InvalidProblem([f"control: {table!r:.60} given, must be a table"])
    names = {name: value for name, value in table.items() if name not in SETTINGS}
    for name, value in names.items():
        if not isinstance(value, dict) and "." not in name:
            raise InvalidProblem(
                [f"control.{name}: is neither a number of a problem nor a setting{hint(name, SETTINGS)}, must be one of "
                 f"{', '.join(SETTINGS)}, or a path as training.learning_rate"]
            )  # fmt: skip
    settings = read_inside(
        "control", SettingsTable, {name: table[name] for name in SettingsTable.model_fields if name in table}
    )
    control = {name: _control(name, value) for name, value in flat(names, FreeTable.model_fields).items()}
    if not control:
        raise InvalidProblem(["control: is empty, must name a number, as training.learning_rate = 50"])
    objective = settings.objective if isinstance(settings.objective, str) else settings.objective.threshold()
    try:
        checked_objective(objective)
    except ValueError as error:
        raise InvalidProblem([f"control.{error}"]) from None
    return ControlTable(control, objective, _integral(table.get("integral", {})), settings.guesses, settings.refine)


def flat(table: dict[str, Any], leaves: Any = ()) -> dict[str, Any]:
    """Tables within tables by their paths; one with a field among `leaves` stays."""
    found: dict[str, Any] = {}
    for name, value in table.items():
        if isinstance(value, dict) and not set(leaves) & value.keys():
            found |= {f"{name}.{inner}": one for inner, one in flat(value, leaves).items()}
        else:
            found[name] = value
    return found


def _control(name: str, given: Any) -> Control:
    given = {"segments": given} if not isinstance(given, dict) else given
    read = read_inside(f"control.{name}", FreeTable, given)
    try:
        return Control(read.segments, read.edges, read.shape, read.lower, read.upper)
    except ValueError as error:
        raise InvalidProblem([f"control.{name}.{error}"]) from None


def _integral(given: Any) -> dict[str, float]:
    if not isinstance(given, dict):
        raise InvalidProblem([f"control.integral: {given!r:.60} given, must be a table of numbers"])
    found = flat(given)
    for name, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise InvalidProblem([f"control.integral.{name}: {value!r:.60} given, must be a number"])
    return {name: float(value) for name, value in found.items()}


def read_inside(name: str, model: type[Any], table: dict[str, Any]) -> Any:
    """Read a table of a file; mistakes are named with the table they are in."""
    try:
        return model.from_mapping(table)
    except InvalidProblem as error:
        raise InvalidProblem([f"{name}.{line}" for line in error.problems]) from None
