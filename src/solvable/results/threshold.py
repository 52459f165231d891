"""The threshold at which a run was told to stop."""

from collections.abc import Callable
from dataclasses import dataclass

from solvable.overlaps import Overlaps
from solvable.overlaps.watching import WATCHABLE

QUANTITIES: dict[str, tuple[int, ...]] = WATCHABLE | {"training_loss": ()}  # how many numbers say which entry
FUNCTION = "function"  # the quantity that a function of the user's own gives


@dataclass(frozen=True)
class Threshold:
    """A level of some quantity at which a run stops; `when` makes it.

    Parameters
    ----------
    quantity : str
        "risk", "training_loss", "cross_overlap", "student_overlap", "norm", "readout", or "function".
    level : float
        The value at which to stop.
    falls : bool
        Whether the run stops when the quantity falls below `level` (True) or rises above it (False).
    relative : bool
        Whether `level` is a multiple of the quantity's first value.
    function : callable, optional
        Function of the overlaps that gives the quantity; files do not keep it.
    entry : tuple of int, optional
        Which entry of overlaps, norms or readouts is watched; left out, the largest absolute value.

    Examples
    --------
    >>> sv.when("risk", below=0.5, relative=True).level_for(initial=4.0)
    2.0
    """

    quantity: str
    level: float
    falls: bool
    relative: bool
    function: Callable[[Overlaps], float] | None = None
    entry: tuple[int, ...] | None = None

    @property
    def watched(self) -> tuple[str, tuple[int, int] | None]:
        """What compiled code looks at: the quantity, and row and column of the entry."""
        return self.quantity, None if self.entry is None else (self.entry[0], self.entry[-1])

    def level_for(self, initial: float) -> float:
        """The level itself, for a run in which the quantity begins at `initial`."""
        if self.relative and initial <= 0 and self.quantity not in ("risk", "training_loss"):
            raise ValueError(
                f"stop: relative to the first {self.quantity}, which is {initial:.3g}; give the level itself"
            )
        return self.level * initial if self.relative else self.level
