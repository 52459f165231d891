"""The threshold at which a run was told to stop."""

from collections.abc import Callable
from dataclasses import dataclass

from solvable.overlaps import Overlaps
from solvable.overlaps.watching import WATCHABLE

QUANTITIES = WATCHABLE | {"training_loss": 0}  # how many numbers say which entry
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
