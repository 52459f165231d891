"""Overlaps of a start that are given, in total or block by block."""

from typing import Any

import numpy as np

from solvable.overlaps.measuring import as_array
from solvable.overlaps.state import InvalidStart
from solvable.problems import Problem


def spread(
    problem: Problem, name: str, plain: Any, blocks: Any, rows: int, columns: int | None = None
) -> np.ndarray | None:
    """A plain overlap shared among the blocks by their size, or the given blocks."""
    if plain is None and blocks is None:
        return None
    if plain is not None and blocks is not None:
        raise InvalidStart(f"{name}: given twice, plain and as block_{name}; give one")
    shape: tuple[int, ...] = (rows, rows if columns is None else columns)
    if blocks is not None:
        name, array, shape = f"block_{name}", as_array(blocks), (problem.inputs.blocks, *shape)
    else:
        array = as_array(plain)
    if array.shape != shape:
        raise InvalidStart(f"{name}: shape {array.shape} given, must be {shape}")
    return array if blocks is not None else problem.inputs.fractions[:, None, None] * array
