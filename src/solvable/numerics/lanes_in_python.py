"""What `lanes.py` does, for kernels that are interpreted: eight numbers are an array, whose operators NumPy has."""

from collections.abc import Callable
from typing import Any

import numpy as np

from solvable.numerics.lanes import WIDTH


def _load(array: np.ndarray, slot: int) -> np.ndarray:
    return array[WIDTH * slot : WIDTH * (slot + 1)].copy()


def _store(array: np.ndarray, slot: int, value: np.ndarray) -> None:
    array[WIDTH * slot : WIDTH * (slot + 1)] = value


def _load_at(array: np.ndarray, place: int) -> np.ndarray:
    return array[place : place + WIDTH].copy()


def _store_at(array: np.ndarray, place: int, value: np.ndarray) -> None:
    array[place : place + WIDTH] = value


def _put(a: np.ndarray, lane: int, value: float) -> np.ndarray:
    changed = a.copy()
    changed[lane] = value
    return changed


# by the name of the intrinsic; those for bits are missing, since no kernel that may be interpreted needs them
TWINS: dict[str, Callable[..., Any]] = {
    "load": _load,
    "store": _store,
    "load_at": _load_at,
    "store_at": _store_at,
    "flat": lambda array: array.reshape(-1),
    "fill": lambda value: np.full(WIDTH, value, dtype=float),
    "fma": lambda a, b, c: a * b + c,
    "root": np.sqrt,
    "where_above": lambda x, y, a, b: np.where(x > y, a, b),
    "any_above": lambda x, y: bool((x > y).any()),
    "get": lambda a, lane: float(a[lane]),
    "put": _put,
}
