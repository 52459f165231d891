"""The state that all levels share, measured from weights, drawn or prescribed."""

from solvable.overlaps.frames import nearest_frame
from solvable.overlaps.measuring import as_array, measure
from solvable.overlaps.starts import Seed, check_start, start
from solvable.overlaps.state import InvalidStart, Overlaps, repaired

__all__ = [
    "InvalidStart",
    "Overlaps",
    "Seed",
    "as_array",
    "check_start",
    "measure",
    "nearest_frame",
    "repaired",
    "start",
]
