"""Trajectories, clocks, endings, observables, and the verb `run`."""

from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.plan import Lane, Level, Plan, Threshold, when
from solvable.results.running import run, run_batch
from solvable.results.trajectory import Trajectory

__all__ = ["Blocks", "Clock", "Ending", "Lane", "Level", "Plan", "Threshold", "Trajectory", "run", "run_batch", "when"]
