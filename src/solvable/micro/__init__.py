"""SGD at finite dim: the exact process of the overlaps, and full weights for inputs that come as data."""

from solvable.micro.level import Micro

__all__ = ["Micro"]
