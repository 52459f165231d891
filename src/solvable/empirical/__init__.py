"""A finite data set: full-batch gradient flow on it, and whether it determines the teacher."""

from solvable.empirical.certificates import Decision, decide, verify
from solvable.empirical.level import Empirical
from solvable.empirical.matrices import TrainingLandscape
from solvable.empirical.recovery import Recovery, fewest_samples, recovered, recovered_by_flow, recovery
from solvable.empirical.tails import Tail, tail, tail_rate

__all__ = [
    "Decision",
    "Empirical",
    "Recovery",
    "Tail",
    "TrainingLandscape",
    "decide",
    "fewest_samples",
    "recovered",
    "recovered_by_flow",
    "recovery",
    "tail",
    "tail_rate",
    "verify",
]
