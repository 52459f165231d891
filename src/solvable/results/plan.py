"""What a run is asked for, in the library's own clock: output times, a threshold to stop at, whether to keep the blocks."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import index
from typing import Any, Protocol

import numpy as np

from solvable.overlaps import Overlaps, Weights
from solvable.problems import Problem
from solvable.results.progress import Report, silent

WATCHABLE = ("risk", "cross_overlap", "student_overlap", "norm", "readout", "training_loss")
INDICES = {"cross_overlap": (2,), "student_overlap": (2,), "norm": (1,), "readout": (1, 2)}  # how many an entry has
FUNCTION = "function"  # the quantity that a function of the user's own gives


@dataclass(frozen=True)
class Threshold:
    """Stop when a quantity passes a level: the risk, the training loss, one `entry` of overlaps, norms or readouts or the largest
    absolute one, or what a `function` says of the overlaps (which a file does not keep)."""

    quantity: str
    level: float
    falls: bool
    relative: bool
    function: Callable[[Overlaps], float] | None = None
    entry: tuple[int, ...] | None = None

    @property
    def watched(self) -> tuple[str, tuple[int, int] | None]:
        """What compiled code looks at: the quantity, row and column."""
        return self.quantity, None if self.entry is None else (self.entry[0], self.entry[-1])

    def level_for(self, initial: float) -> float:
        if self.relative and initial <= 0 and self.quantity not in ("risk", "training_loss"):
            raise ValueError(
                f"stop: relative to the first {self.quantity}, which is {initial:.3g}; give the level itself"
            )
        return self.level * initial if self.relative else self.level


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
    "readout" (of all heads) for their largest absolute entry, or for one `entry` as it is, `when("cross_overlap", entry=(0, 1),
    above=0.5)`, `when("norm", entry=0, below=0.1)`, with several heads `when("readout", entry=(head, student), above=0.5)`;
    and "training_loss" where there is a data set. For Macro also any function of the overlaps that returns a number,
    `when(lambda o: o.readout.sum(), above=0.9)`. It is asked at every step, and a few times more to find the threshold, with
    overlaps that are possible up to the tolerance; the steps themselves are then plain Python, so that a curve takes tenths of
    seconds in place of a millisecond.
    """
    function = quantity if callable(quantity) else None
    if function is None and quantity not in WATCHABLE:
        raise ValueError(f"when: {quantity!r} given, must be one of {', '.join(WATCHABLE)}, or a function of overlaps")
    if (below is None) == (above is None):
        raise ValueError("when: give either below or above")
    level = float(below if below is not None else above)  # type: ignore[arg-type]
    try:
        place = None if entry is None else tuple(index(i) for i in np.atleast_1d(np.asarray(entry)).tolist())
    except TypeError:
        raise ValueError(f"when: entry {entry!r} given, must be whole numbers from 0 on") from None
    if place is not None and (len(place) not in INDICES.get(str(quantity), ()) or min(place) < 0):
        counts = INDICES.get(str(quantity), ())
        takes = " or ".join(map(str, counts)) or "no"
        raise ValueError(
            f"when: entry {entry!r} given, {quantity!r} takes {takes} number{'s' * (max(counts, default=0) > 1)} from 0 on"
        )
    if not np.isfinite(level) or (level < 0 and function is None and place is None):
        raise ValueError(f"when: level {level} given, must be a finite number, not negative")
    return Threshold(FUNCTION if callable(quantity) else quantity, level, below is not None, relative, function, place)


@dataclass(frozen=True)
class Lane:
    """One problem from one start: what a batch has many of. `weights` where the start was given by them."""

    problem: Problem
    start: Overlaps
    weights: Weights | None = None


@dataclass(frozen=True)
class Plan:
    """`times` (steps/dim) are the outputs and increase; a run begins at 0 and ends at the last. Levels that take long tell
    `report` how many steps are done, of how many."""

    times: np.ndarray
    stop: Threshold | None = None
    keep_blocks: bool = False
    report: Report = silent


class Level(Protocol):
    """A level of description. `solve` takes any number of lanes of equal shape and returns one Trajectory, with one run per
    lane or the same number of runs for each, lane after lane. `check` refuses what the level cannot do; a level that knows some of
    `problems.features` lists them as `features`."""

    @property
    def name(self) -> str: ...

    @property
    def clock(self) -> str:
        """The unit of time where none is given."""
        ...

    @property
    def one_pass(self) -> bool:
        """Whether it sees every sample once, so that there is no data set."""
        ...

    def settings(self) -> dict[str, Any]: ...

    def check(self, lanes: list[Lane]) -> None: ...

    def solve(self, lanes: list[Lane], plan: Plan) -> Any: ...
