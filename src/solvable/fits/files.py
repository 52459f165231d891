"""Learning curves in CSV files: a column of times, one or several of the risk, and perhaps one of errors."""

import csv
from pathlib import Path
from typing import NamedTuple

import numpy as np

from solvable.problems.foreign import read_text

TIMES = {"time": None, "alpha": "alpha", "step": "steps", "steps": "steps"}  # names, and the clock that they tell
VALUES = ("risk", "mse", "loss")


class Table(NamedTuple):
    """What a file has: (times,), (runs, times), (times,) or None, and what the names of its columns tell."""

    time: np.ndarray
    values: np.ndarray
    error: np.ndarray | None
    clock: str | None
    quantity: str


def read_csv(path: Path) -> Table:
    """Read the columns `time` (or `alpha`, `steps`), `risk` (or `mse`, `loss`) and `error`; several of the same name are runs.
    Empty cells are missing values."""
    lines = [line for line in csv.reader(read_text(path).splitlines()) if any(cell.strip() for cell in line)]
    if not lines:
        raise ValueError(f"{path}: is empty")
    names = [name.strip().lower() for name in lines[0]]
    unknown = sorted(set(names) - {*TIMES, *VALUES, "error"})
    if unknown:
        raise ValueError(f"{path}: column {unknown[0]!r}, must be one of {', '.join([*TIMES, *VALUES, 'error'])}")
    times = [i for i, name in enumerate(names) if name in TIMES]
    kinds = {name for name in names if name in VALUES}
    errors = [i for i, name in enumerate(names) if name == "error"]
    if len(times) != 1 or len(kinds) != 1 or len(errors) > 1:
        raise ValueError(
            f"{path}: must have one column of times, columns of one of {', '.join(VALUES)}, and one `error` at most"
        )
    numbers = np.array([_row(path, i, line, len(names)) for i, line in enumerate(lines[1:], 2)]).reshape(-1, len(names))
    (quantity,) = kinds
    values = numbers[:, [i for i, name in enumerate(names) if name == quantity]].T
    error = numbers[:, errors[0]] if errors else None
    return Table(numbers[:, times[0]], values, error, TIMES[names[times[0]]], quantity)


def _row(path: Path, number: int, cells: list[str], columns: int) -> list[float]:
    if len(cells) != columns:
        raise ValueError(f"{path}: line {number} has {len(cells)} cells, must have {columns}")
    try:
        return [float(cell) if cell.strip() else np.nan for cell in cells]
    except ValueError:
        raise ValueError(f"{path}: line {number} has cells that are no numbers") from None
