"""Overlaps of a start that are given, in total or block by block."""

from typing import Any, NamedTuple

import numpy as np

from solvable.overlaps.measuring import as_array
from solvable.overlaps.state import InvalidStart
from solvable.problems import Problem


class Given(NamedTuple):
    """An overlap by its name, in total or block by block; neither where it is left out."""

    name: str
    total: Any
    blocks: Any

    def spread(self, problem: Problem, rows: int, columns: int) -> np.ndarray | None:
        """(blocks, rows, columns): the total shared among the blocks by their size, or the given blocks."""
        if self.total is None and self.blocks is None:
            return None
        if self.total is not None and self.blocks is not None:
            raise InvalidStart(f"{self.name}: given twice, plain and as block_{self.name}; give one")
        shape: tuple[int, ...] = rows, columns
        name, array = self.name, as_array(self.total if self.blocks is None else self.blocks)
        if self.blocks is not None:
            name, shape = f"block_{name}", (problem.inputs.blocks, *shape)
        if array.shape != shape:
            raise InvalidStart(f"{name}: shape {array.shape} given, must be {shape}")
        return array if self.blocks is not None else problem.inputs.fractions[:, None, None] * array


class Prescribed(NamedTuple):
    """The overlaps of students with each other, with teachers and with directions, as far as they are given."""

    student: Given
    cross: Given
    direction: Given

    @property
    def is_any(self) -> bool:
        return any(one.total is not None or one.blocks is not None for one in self)

    def overlaps(self, problem: Problem, fixed: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Overlaps of students (blocks, p, p), and with the fixed rows (blocks, p, p* + directions), zero where left out."""
        p, q, d = problem.student.width, problem.teacher.width, fixed.shape[1] - problem.teacher.width
        Q = self.student.spread(problem, p, p)
        assert Q is not None
        parts = (self.cross.spread(problem, p, q), q), (self.direction.spread(problem, p, d), d)
        return Q, np.concatenate([np.zeros((len(Q), p, n)) if one is None else one for one, n in parts], axis=2)
