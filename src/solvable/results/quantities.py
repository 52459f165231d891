"""OBSERVABLES: the table of all arrays that a trajectory has, by name.

A row is written once: beside a field of `Trajectory` that levels fill (`field(metadata=row(...))`, `optional(...)`), or above the
function that computes the array from such fields (`@observable(...)`), which `Trajectory` has as a property. Files, datasets,
means, sweeps, thresholds and pictures read the table.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from solvable.problems import Problem

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory

CURVE = "curve"  # means are taken of it, sweeps keep it, and pictures show it
ERROR = "error"  # of a curve: sweeps keep it
ARRAY = "array"
TWO_TIMES = "run time student time_ student_"

Value = TypeVar("Value")
Class = TypeVar("Class", bound=type[Any])


def always(_: Any) -> bool:
    return True


@dataclass(frozen=True)
class Row:
    """One row of OBSERVABLES.

    `axes` are the names of the array's dimensions ("head" only counts where students have several), `label` names it in pictures,
    `applies` tells for which problems there is such an array. `function` computes it from a trajectory; it is None for fields,
    which levels fill. Files hold the fields that there are, all that `is_required`, and of the rest what `written` tells. With
    `from_states` the array needs the overlaps of single blocks and much work: files hold it once it has been computed. `kinds`
    are the types of numbers that a file may have there.
    """

    axes: str
    label: str = ""
    kind: str = ARRAY
    applies: Callable[[Problem], bool] = always
    function: Callable[[Trajectory], Any] | None = None
    is_required: bool = False
    written: Callable[[Trajectory], bool] | None = None
    from_states: bool = False
    kinds: str = "f"

    def dimensions(self, heads: int = 1) -> tuple[str, ...]:
        """Names of the dimensions where students have so many heads."""
        return tuple(axis for axis in self.axes.split() if axis != "head" or heads > 1)

    def value(self, trajectory: Trajectory, name: str) -> Any:
        """Return the array of a trajectory; `name` is the row's. It is computed once."""
        values = vars(trajectory)
        if name not in values and self.function is not None:
            values[name] = self.function(trajectory)
            if self.from_states:
                values.pop("data", None)  # which was made without it
        return values[name]

    def content(self, trajectory: Trajectory, name: str) -> Any:
        """Return the array as datasets and files hold it; None where they do not."""
        if self.function is None or self.from_states:
            return vars(trajectory).get(name)
        if self.is_required or (self.written is not None and self.written(trajectory)):
            with suppress(ValueError):  # the outputs do not tell
                return self.value(trajectory, name)
        return None


OBSERVABLES: dict[str, Row] = {}


def row(axes: str, label: str = "", kind: str = ARRAY, **more: Any) -> dict[str, Row]:
    """Make the metadata of a field that has a row."""
    return {"row": Row(axes, label, kind, **more)}


def optional(axes: str, label: str = "", kind: str = ARRAY) -> Any:
    """Make a field that has a row and is None where a level does not fill it."""
    return field(default=None, metadata=row(axes, label, kind))


class Observable(property, Generic[Value]):
    """A property with a row of OBSERVABLES."""

    def __init__(self, function: Callable[[Any], Value], described: Row) -> None:
        super().__init__(function)
        self.row = replace(described, function=function)
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> Observable[Value]: ...
    @overload
    def __get__(self, instance: Any, owner: type | None = None) -> Value: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else self.row.value(instance, self.name)


def observable(
    axes: str, label: str = "", kind: str = ARRAY, **more: Any
) -> Callable[[Callable[[Any], Value]], Observable[Value]]:
    """Decorate a function of a trajectory, which becomes a property with this row."""
    return lambda function: Observable(function, Row(axes, label, kind, **more))


def tabulated(kind: Class) -> Class:
    """Decorate a dataclass: its rows enter OBSERVABLES, and {curves} in docstrings of its methods becomes the list of curves."""
    for one in fields(kind):
        if "row" in one.metadata:
            is_required = one.default is MISSING and one.default_factory is MISSING
            OBSERVABLES[one.name] = replace(one.metadata["row"], is_required=is_required)
    OBSERVABLES.update({name: one.row for name, one in vars(kind).items() if isinstance(one, Observable)})
    listed = textwrap.fill(", ".join(f'"{name}"' for name in curves()), 118, subsequent_indent=" " * 8)
    for method in vars(kind).values():
        if inspect.isfunction(method) and method.__doc__:
            method.__doc__ = method.__doc__.replace("{curves}", listed)
    return kind


def curves() -> list[str]:
    """Return the names of all curves."""
    return [name for name, one in OBSERVABLES.items() if one.kind == CURVE]


def is_over_time(name: str) -> bool:
    """Tell whether this is an observable that a run has at all outputs."""
    return name in OBSERVABLES and "time" in OBSERVABLES[name].dimensions()


def curves_of(trajectory: Trajectory) -> list[str]:
    """Return the names of the curves that a run has."""

    def is_there(name: str, one: Row) -> bool:
        with suppress(ValueError):  # the outputs do not tell
            return one.applies(trajectory.problem) and (one.from_states or one.value(trajectory, name) is not None)
        return False

    return [name for name in curves() if is_there(name, OBSERVABLES[name])]
