"""What a run is asked for, in the library's own clock: output times, a threshold to stop at, whether to keep the blocks."""

from dataclasses import dataclass

import numpy as np

from solvable.levels.progress import Report, silent
from solvable.overlaps import Overlaps, Weights
from solvable.problems import Problem
from solvable.results.threshold import Threshold


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
