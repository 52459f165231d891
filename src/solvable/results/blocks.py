"""Overlaps of single blocks, of many runs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class Blocks(NamedTuple):
    """Overlaps per block, (run, time, block, ...) along a trajectory or (run, block, ...) at its end. `teacher` where teachers
    move, `extra` (..., extra, rows) where there are directions or anchors."""

    student: np.ndarray
    cross: np.ndarray
    teacher: np.ndarray | None = None
    extra: np.ndarray | None = None

    @classmethod
    def of(cls, parts: Iterable[np.ndarray | None]) -> "Blocks":
        student, cross, *rest = parts
        assert student is not None
        assert cross is not None
        return cls(student, cross, *rest)

    def pick(self, *place: Any) -> "Blocks":
        """Of some runs, or of one run (and time)."""
        return Blocks.of(None if part is None else part[place] for part in self)
