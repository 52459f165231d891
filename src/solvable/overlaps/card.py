"""How overlaps show themselves: as text in a few lines, in notebooks as matrices with entries in colour."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.numerics.cards import matrix

if TYPE_CHECKING:
    from solvable.overlaps.state import Overlaps

LARGEST = 16  # entries of a matrix that are all shown


def text(state: "Overlaps") -> str:
    """Return the numbers of units and blocks, and below them the overlaps summed over blocks, long matrices abridged."""
    blocks, students, teachers = *state.block_student_overlap.shape[:2], state.block_teacher_overlap.shape[-1]
    counts = [(students, "student"), (teachers, "teacher"), (len(state.extras), "extra row"), (blocks, "block")]
    sizes = [f"{count} {word}" + "s" * (count != 1) for count, word in counts if count]
    lines = [f"<Overlaps: {', '.join(sizes)}"]
    if blocks > 1:
        lines[0] += ", summed over them"
    for name in ("student_overlap", "cross_overlap", "teacher_overlap", "direction_overlap", "readout"):
        values = getattr(state, name)
        if values.size:
            numbers = np.array2string(
                values, precision=4, threshold=LARGEST, edgeitems=2, prefix=" " * len(f"  {name} ")
            )
            lines.append(f"  {name} {numbers}")
    return "\n".join(lines) + ">"


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
