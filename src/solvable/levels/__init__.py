"""What all levels of description share: the function `run`, what it asks of a level, and how a run is followed."""

from solvable.levels.plan import Lane, Plan
from solvable.levels.protocol import Level
from solvable.levels.running import run, run_batch
from solvable.levels.thresholds import when

__all__ = ["Lane", "Level", "Plan", "run", "run_batch", "when"]
