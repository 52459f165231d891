"""Learning curves in CSV files: a column of times, one or several of the risk, and perhaps one of errors."""

import csv
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from solvable.problems.foreign import read_text
from solvable.problems.nearest import hint, not_one_of

TIMES = {"time": None, "alpha": "alpha", "step": "steps", "steps": "steps"}  # names, and the clock that they tell
VALUES = ("risk", "mse", "loss")
ROLES = ("time", "value", "error")
SEPARATORS = ",;\t"
COMMENT = "#"


class CurveTable(NamedTuple):
    """What a file has: (times,), (runs, times), (times,) or None, what the names of its columns tell, and how it was read."""

    time: np.ndarray
    values: np.ndarray
    error: np.ndarray | None
    clock: str | None
    quantity: str
    told: str


class Columns(NamedTuple):
    """Numbers of the columns that are read."""

    time: int
    values: list[int]
    error: int | None


def read_csv(path: Path, chosen: Mapping[str, Any] | None = None) -> CurveTable:
    """Read the columns `time` (or `alpha`, `steps`), `risk` (or `mse`, `loss`) and `error`, or those that are chosen; several of
    the same name are runs. Empty cells are missing values, lines that begin with # are passed over."""
    lines = _cells(read_text(path))
    if not lines:
        raise ValueError(f"{path}: is empty")
    names = [name.strip().strip('"') for name in lines[0][1]]
    columns = _columns(path, names, _checked(chosen))
    used = [columns.time, *columns.values, *([] if columns.error is None else [columns.error])]
    numbers = np.array([_row(path, i, cells, names, used) for i, cells in lines[1:]]).reshape(-1, len(used))
    values = numbers[:, 1 : 1 + len(columns.values)].T
    error = None if columns.error is None else numbers[:, -1]
    value = names[columns.values[0]]
    quantity = _quantity(value)
    clock = TIMES.get(names[columns.time].lower())
    unused = [name for i, name in enumerate(names) if i not in used and name]
    told = f"column {value}" + (f" (not {', '.join(unused)})" if unused else "")
    return CurveTable(numbers[:, 0], values, error, clock, quantity, told)


def _cells(text: str) -> list[tuple[int, list[str]]]:
    """Numbers of the lines that say something, and their cells; the header tells what separates them."""
    lines = [(i, line) for i, line in enumerate(text.splitlines(), 1) if line.strip() and not line.startswith(COMMENT)]
    if not lines:
        return []
    separator = max(SEPARATORS, key=lines[0][1].count)
    cells = zip((i for i, _ in lines), csv.reader((line for _, line in lines), delimiter=separator), strict=True)
    return [(i, row) for i, row in cells if any(cell.strip() for cell in row)]


def _checked(chosen: Mapping[str, Any] | None) -> dict[str, list[str]]:
    """Names of columns by their role; None is as good as nothing."""
    if chosen is not None and not isinstance(chosen, Mapping):
        raise ValueError("columns: must be a dict, as {'time': 'epoch', 'value': 'val_loss'}")
    found: dict[str, list[str]] = {}
    for role, names in (chosen or {}).items():
        if role not in ROLES:
            raise ValueError(f"columns: {not_one_of(role, ROLES)}")
        if names is not None:
            found[role] = [names] if isinstance(names, str) else [str(name) for name in names]
    return found


def _columns(path: Path, names: list[str], chosen: dict[str, list[str]]) -> Columns:
    times = _named(path, names, chosen["time"]) if "time" in chosen else _known(names, TIMES)
    values = _named(path, names, chosen["value"]) if "value" in chosen else _known(names, VALUES)
    errors = _named(path, names, chosen["error"]) if "error" in chosen else _known(names, ("error",))
    values = [i for i in values if i not in times]
    kinds = {names[i].lower() for i in values}
    if len(times) != 1 or not values or ("value" not in chosen and len(kinds) != 1) or len(errors) > 1:
        there = ", ".join(name or "(unnamed)" for name in names)
        raise ValueError(
            f"{path}: must have one column of times (time, alpha or steps), columns of one of {', '.join(VALUES)}, and one "
            f"error at most; it has {there}; choose by columns={{'time': ..., 'value': ...}} or --time and --value"
        )
    return Columns(times[0], values, errors[0] if errors else None)


def _known(names: list[str], known: Any) -> list[int]:
    return [i for i, name in enumerate(names) if name.lower() in known]


def _named(path: Path, names: list[str], patterns: list[str]) -> list[int]:
    """Columns with these names, in which * stands for any characters."""
    found: list[int] = []
    for pattern in patterns:
        here = [i for i, name in enumerate(names) if fnmatchcase(name, pattern)]
        if not here:
            there = ", ".join(name or "(unnamed)" for name in names)
            raise ValueError(f"{path}: has no column {pattern!r}{hint(pattern, names)}, it has {there}")
        found += [i for i in here if i not in found]
    return found


def _quantity(name: str) -> str:
    """A column of one's own is what its name ends with, as val_loss does."""
    name = name.lower()
    return next((one for one in VALUES if name.endswith(one)), "risk")


def _row(path: Path, number: int, cells: list[str], names: list[str], used: list[int]) -> list[float]:
    if len(cells) != len(names):
        raise ValueError(f"{path}: line {number} has {len(cells)} cells, must have {len(names)}")
    try:
        return [float(cells[i]) if cells[i].strip() else np.nan for i in used]
    except ValueError:
        raise ValueError(f"{path}: line {number} has cells that are no numbers") from None
