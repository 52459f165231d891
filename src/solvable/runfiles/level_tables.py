"""The table [level] of a file, made of the fields of each level: what is added to a level, or to the levels, files know."""

from dataclasses import MISSING, fields
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, ClassVar, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import create_model, model_validator

import solvable
from solvable.levels import Level
from solvable.problems import Data, InvalidProblem
from solvable.problems.model import Model, Plain
from solvable.problems.nearest import not_one_of

LEVELS: dict[str, type[Any]] = {kind.name: kind for kind in (getattr(solvable, name) for name in solvable._LEVELS)}
WRITTEN = {
    int: Annotated[int, Plain], float: Annotated[float, Plain], bool: bool, str: str, Data: str,
    tuple[bool, ...]: tuple[bool, ...],
}  # fmt: skip
OF_THE_MACHINE = ("threads", "seconds")  # results do not depend on them


class LevelTable(Model):
    """The arguments of a level, and of its `data`, which is a .npy or .npz file of rows. What they may be is the level's own
    business."""

    kind: ClassVar[type[Any]]
    name: str

    @model_validator(mode="after")
    def _check(self) -> "LevelTable":
        self.level()
        return self

    def level(self) -> Level:
        """The level that the table describes; refuses what the level refuses."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"name"}}
        options = {
            name: given.pop(name) for name in _options(Data) if name in given and name not in _options(self.kind)
        }
        source = given.pop("data", None)
        if source is not None:
            given["data"] = Data(source, **options)
        elif options:
            raise ValueError(f"{next(iter(options))}: given without data, so nothing would use it")
        made: Level = self.kind(**given)
        return made


@cache
def level_table(name: str) -> type[LevelTable]:
    """The table of the level of this name."""
    kind = LEVELS[name]
    options = _options(kind)
    if "data" in options:
        options |= _data_options()
    table = create_model(f"{kind.__name__}Table", __base__=LevelTable, name=(Literal[name], name), **options)  # type: ignore[call-overload]
    table.kind = kind
    return table


def check_name(name: Any) -> str:
    if name not in LEVELS:
        raise InvalidProblem([f"level.name: {not_one_of(name, LEVELS)}"])
    return str(name)


def _data_options() -> dict[str, tuple[Any, Any]]:
    """Of a file of rows; those that are `like` others come from an iterator."""
    return {name: option for name, option in _options(Data).items() if name != "like"}


def _options(kind: type[Any]) -> dict[str, tuple[Any, Any]]:
    """Type and default of each field that has a default and that a file can hold."""
    hints = get_type_hints(kind)
    found = {}
    for one in fields(kind):
        written = _written(hints[one.name])
        if written is not None and one.name not in OF_THE_MACHINE and one.default is not MISSING:
            found[one.name] = written, one.default
    return found


def _written(hint: Any) -> Any:
    """The type that a field has in files; None where they cannot hold it."""
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    kinds = [str if get_origin(one) is Literal else WRITTEN.get(one) for one in members]
    kept = [one for one in kinds if one is not None]
    if not kept:
        return None
    return Union[*kept, None] if NoneType in members else Union[*kept]
