"""How a run ended, and what to change. Kernels, levels and results count endings alike."""

from enum import IntEnum
from typing import Any

from solvable.numerics.cards import card


class _Shown:
    """What notebooks show of an ending; enumerations take such a name only from a class that they inherit."""

    def _repr_html_(self: Any) -> str:
        return card({self.name.lower().replace("_", " "): self.text})


class Ending(_Shown, IntEnum):
    """How a run ended; `text` says it in words, with what to change.

    Examples
    --------
    >>> sv.results.Ending.DIVERGED.text
    'the overlaps diverged: lower the learning rate (or raise the batch)'
    """

    FINISHED = 0
    STOPPED = 1
    CONVERGED = 2
    DIVERGED = 3
    STEP_LIMIT = 4
    STALLED = 5
    INTERRUPTED = 6
    EXHAUSTED = 7
    LEAP = 8
    DISAGREED = 9

    @property
    def success(self) -> bool:
        """Whether the run came to its end, to its threshold, or to rest."""
        return self in (Ending.FINISHED, Ending.STOPPED, Ending.CONVERGED)

    @property
    def text(self) -> str:
        """How the run ended, and what to change where it broke off."""
        return {
            Ending.FINISHED: "reached the end",
            Ending.STOPPED: "reached the threshold of `stop`",
            Ending.CONVERGED: "the state stopped moving; later outputs repeat it",
            Ending.DIVERGED: "the overlaps diverged: lower the learning rate (or raise the batch)",
            Ending.STEP_LIMIT: "used up max_steps: raise it, raise rtol, or ask for less time",
            Ending.INTERRUPTED: "was interrupted",
            Ending.EXHAUSTED: "the data ran out: ask for less time or give more rows",
            Ending.LEAP: "the leap is too long for what happens within it: give a shorter one, or none",
            Ending.DISAGREED: "replicas disagree, so an average means nothing: raise particles, lower until, or use Empirical",
            Ending.STALLED: "the step became too small for the time: raise rtol or atol",
        }[self]
