"""Overlaps of single blocks, of many runs."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np


class Blocks(NamedTuple):
    """Overlaps of each block of equal input variance, for every run.

    Parameters
    ----------
    student : ndarray
        (run, time, block, p, p) overlaps between students; (run, block, p, p) where they are those of the end.
    cross : ndarray
        (run, time, block, p, p*) overlaps of students with teachers; (run, block, p, p*) at the end.
    teacher : ndarray, optional
        (run, time, block, p*, p*) overlaps between teachers, where they move.
    extra : ndarray, optional
        (run, time, block, extra, rows) overlaps of directions and anchors with all rows, where there are any.

    Examples
    --------
    >>> blocks = sv.results.Blocks(student=np.ones((3, 1, 2, 2)), cross=np.zeros((3, 1, 2, 1)))
    >>> blocks.pick(np.array([0, 2])).student.shape
    (2, 1, 2, 2)
    """

    student: np.ndarray
    cross: np.ndarray
    teacher: np.ndarray | None = None
    extra: np.ndarray | None = None

    @classmethod
    def of(cls, parts: Iterable[np.ndarray | None]) -> "Blocks":
        """From the parts in their order."""
        student, cross, *rest = parts
        assert student is not None
        assert cross is not None
        return cls(student, cross, *rest)

    def pick(self, *place: Any) -> "Blocks":
        """Of some runs, or of one run (and time)."""
        return Blocks.of(None if part is None else part[place] for part in self)
