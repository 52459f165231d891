"""How notebooks show overlaps: each matrix with its entries in colour."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.numerics.cards import matrix

if TYPE_CHECKING:
    from solvable.overlaps.state import Overlaps


def card(state: "Overlaps") -> str:
    """The overlaps summed over blocks, and the readout, side by side."""
    parts = {
        "students": state.student_overlap,
        "students with teachers": state.cross_overlap,
        "teachers": state.teacher_overlap,
        "students with directions": state.direction_overlap,
        "readout": np.atleast_2d(state.readout),
    }
    tables = "".join(f"<div>{matrix(values, name)}</div>" for name, values in parts.items() if values.size)
    return f"<div style='display:flex;flex-wrap:wrap;gap:1.5em;align-items:flex-start'>{tables}</div>"
