"""One-pass SGD at finite dim, as a level: the exact process of the overlaps, or full weights for inputs that come as data."""

from solvable.micro.level import Micro

__all__ = ["Micro"]
