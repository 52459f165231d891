"""How a run ended, and what to change. Kernels, levels and results count endings alike."""

from enum import IntEnum


class Ending(IntEnum):
    FINISHED = 0
    STOPPED = 1
    CONVERGED = 2
    DIVERGED = 3
    STEP_LIMIT = 4
    STALLED = 5
    INTERRUPTED = 6
    EXHAUSTED = 7
    LEAP = 8

    @property
    def success(self) -> bool:
        """Everything asked for is there, or the run ended by itself as it was told to."""
        return self in (Ending.FINISHED, Ending.STOPPED, Ending.CONVERGED)

    @property
    def text(self) -> str:
        return {
            Ending.FINISHED: "reached the end",
            Ending.STOPPED: "reached the threshold of `stop`",
            Ending.CONVERGED: "the state stopped moving; later outputs repeat it",
            Ending.DIVERGED: "the overlaps diverged: lower the learning rate (or raise the batch)",
            Ending.STEP_LIMIT: "used up max_steps: raise it, raise rtol, or ask for less time",
            Ending.INTERRUPTED: "was interrupted",
            Ending.EXHAUSTED: "the data ran out: ask for less time or give more rows",
            Ending.LEAP: "the leap is too long for what happens within it: give a shorter one, or none",
            Ending.STALLED: "the step became too small for the time: raise rtol or atol",
        }[self]
