"""The function `when`, which makes thresholds."""

from collections.abc import Callable, Sequence
from operator import index

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems.nearest import not_one_of
from solvable.results.quantities import is_over_time
from solvable.results.threshold import FUNCTION, QUANTITIES, Threshold

HINTS = {  # how else to watch what compiled code does not
    "classification_error": ", for Macro: lambda overlaps: sv.dynamics.classification_error(problem, overlaps)",
}


def when(
    quantity: str | Callable[[Overlaps], float],
    *,
    below: float | None = None,
    above: float | None = None,
    relative: bool = False,
    entry: int | Sequence[int] | None = None,
) -> Threshold:
    """A threshold at which a run stops, for `run(..., stop=when(...))`.

    Parameters
    ----------
    quantity : str or callable
        "risk"; "cross_overlap", "student_overlap" (of different students), "norm" (a student's overlap with itself) or
        "readout"; "training_loss" where there is a data set. For `Macro` also a function that maps `Overlaps` to a
        number: it is called four times a step, and the steps then run in plain Python, so that a curve takes tenths of
        a second instead of a millisecond.
    below, above : float, optional
        The level; give one of the two.
    relative : bool
        Whether the level is a multiple of the quantity's first value.
    entry : int or tuple of int, optional
        Which entry of overlaps, norms or readouts to watch, signed; left out, the largest absolute value of all.

    Returns
    -------
    Threshold
        What `stop` takes.

    Examples
    --------
    >>> sv.when("risk", below=0.5, relative=True).level
    0.5
    >>> sv.when("cross_overlap", entry=(0, 1), above=0.5).entry
    (0, 1)
    >>> sv.when(lambda overlaps: overlaps.readout.sum(), above=0.9).quantity
    'function'
    """
    function = quantity if callable(quantity) else None
    if function is None and quantity not in tuple(QUANTITIES):
        at_outputs = f"; run.{quantity} has it at all outputs" if is_over_time(str(quantity)) else ""
        known, hint = not_one_of(quantity, QUANTITIES), HINTS.get(str(quantity), at_outputs)
        raise ValueError(f"when: {known}, or a function of overlaps{hint}")
    if (below is None) == (above is None):
        raise ValueError("when: give either below or above")
    given = below if below is not None else above
    if not isinstance(given, int | float | np.integer | np.floating) or isinstance(given, bool):
        raise ValueError(f"when: level {given!r} given, must be a number")
    level = float(given)
    try:
        place = None if entry is None else tuple(index(i) for i in np.atleast_1d(np.asarray(entry)).tolist())
    except TypeError:
        raise ValueError(f"when: entry {entry!r} given, must be whole numbers from 0 on") from None
    counts = QUANTITIES.get(str(quantity), ())
    if place is not None and (len(place) not in counts or min(place, default=-1) < 0):
        takes, several = " or ".join(map(str, counts)) or "no", max(counts, default=0) > 1
        raise ValueError(f"when: entry {entry!r} given, {quantity!r} takes {takes} number{'s' * several} from 0 on")
    if not np.isfinite(level) or (level < 0 and function is None and place is None):
        raise ValueError(f"when: level {level} given, must be a finite number, not negative")
    return Threshold(FUNCTION if callable(quantity) else quantity, level, below is not None, relative, function, place)
