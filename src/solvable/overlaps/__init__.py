"""The state that all levels share: overlaps of all units, measured from weights, drawn or prescribed."""

from solvable.overlaps.first_scalars import first_scalars
from solvable.overlaps.fixed_rows import fixed_overlaps
from solvable.overlaps.frames import nearest_frame
from solvable.overlaps.grams import block_gram, gram
from solvable.overlaps.integrating import integrated, repaired
from solvable.overlaps.measuring import as_array, measure
from solvable.overlaps.sizes import check_overlaps, hearing
from solvable.overlaps.starts import Seed, check_start, fitted, start
from solvable.overlaps.state import InvalidStart, Overlaps
from solvable.overlaps.weights import Weights, embed, gram_factor

__all__ = [
    "InvalidStart",
    "Overlaps",
    "Seed",
    "Weights",
    "as_array",
    "block_gram",
    "check_overlaps",
    "check_start",
    "embed",
    "first_scalars",
    "fitted",
    "fixed_overlaps",
    "gram",
    "gram_factor",
    "hearing",
    "integrated",
    "measure",
    "nearest_frame",
    "repaired",
    "start",
]
