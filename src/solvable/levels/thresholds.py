"""Thresholds as users ask for them."""

from collections.abc import Callable, Sequence
from operator import index

import numpy as np

from solvable.overlaps import Overlaps
from solvable.results.threshold import FUNCTION, QUANTITIES, Threshold


def when(
    quantity: str | Callable[[Overlaps], float],
    *,
    below: float | None = None,
    above: float | None = None,
    relative: bool = False,
    entry: int | Sequence[int] | None = None,
) -> Threshold:
    """A threshold for `run(..., stop=when("risk", below=0.5, relative=True))`; relative: as a multiple of the first value.

    Quantities: "risk"; "cross_overlap", "student_overlap" (of different students), "norm" (a student's overlap with itself) and
    "readout" for their largest absolute entry, or for one `entry` as it is, `when("cross_overlap", entry=(0, 1), above=0.5)`,
    `when("norm", entry=0, below=0.1)`; and "training_loss" where there is a data set. For Macro also any function of the overlaps
    that returns a number, `when(lambda o: o.readout.sum(), above=0.9)`. It is asked four times a step, and a few times more to find
    the threshold, with overlaps that are possible up to the tolerance; the steps themselves are then plain Python, so that a curve
    takes tenths of seconds in place of a millisecond.
    """
    function = quantity if callable(quantity) else None
    if function is None and quantity not in tuple(QUANTITIES):
        raise ValueError(f"when: {quantity!r} given, must be one of {', '.join(QUANTITIES)}, or a function of overlaps")
    if (below is None) == (above is None):
        raise ValueError("when: give either below or above")
    level = float(below if below is not None else above)  # type: ignore[arg-type]
    try:
        place = None if entry is None else tuple(index(i) for i in np.atleast_1d(np.asarray(entry)).tolist())
    except TypeError:
        raise ValueError(f"when: entry {entry!r} given, must be whole numbers from 0 on") from None
    count = QUANTITIES.get(str(quantity), 0)
    if place is not None and (len(place) != count or min(place, default=-1) < 0):
        raise ValueError(
            f"when: entry {entry!r} given, {quantity!r} takes {count or 'no'} number{'s' * (count > 1)} from 0 on"
        )
    if not np.isfinite(level) or (level < 0 and function is None and place is None):
        raise ValueError(f"when: level {level} given, must be a finite number, not negative")
    return Threshold(FUNCTION if callable(quantity) else quantity, level, below is not None, relative, function, place)
