"""Results of runs: trajectories, clocks, endings, thresholds, observables, files."""

from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.threshold import Threshold
from solvable.results.traits import Traits
from solvable.results.trajectory import Trajectory
from solvable.results.weight_log import WeightLog

__all__ = ["Blocks", "Clock", "Ending", "Threshold", "Traits", "Trajectory", "WeightLog"]
