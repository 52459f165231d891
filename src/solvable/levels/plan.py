"""What a level is asked for: lanes (a problem and a start each) and a plan (output times, threshold, what to keep)."""

from dataclasses import dataclass

import numpy as np

from solvable.numerics.progress import Report, silent
from solvable.overlaps import Overlaps, Weights
from solvable.problems import Problem
from solvable.results.threshold import Threshold


@dataclass(frozen=True)
class Lane:
    """One problem from one start: a batch has many lanes, each of which a level follows.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps
        The state at time zero.
    weights : Weights, optional
        The weights, where the start was given by them.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> lane = sv.levels.Lane(problem, sv.start(problem, seed=0))
    >>> lane.weights is None
    True
    """

    problem: Problem
    start: Overlaps
    weights: Weights | None = None


@dataclass(frozen=True)
class Plan:
    """What a level is asked for: output times, a threshold, and whether to keep the overlaps of single blocks.

    Parameters
    ----------
    times : ndarray
        (time,) outputs in the time that the level counts in (steps/dim, or steps), increasing; a run begins at 0 and ends
        at the last.
    stop : Threshold, optional
        Where to stop earlier.
    keep_blocks : bool
        Whether the overlaps of the single blocks are kept at all times.
    report : callable
        Called as report(done, total) by levels that take long, with numbers of steps.

    Examples
    --------
    >>> sv.levels.Plan(np.linspace(0, 10, 5)).keep_blocks
    False
    """

    times: np.ndarray
    stop: Threshold | None = None
    keep_blocks: bool = False
    report: Report = silent
