"""The diffusion: the mean of many steps of SGD at once, with their noise."""

from solvable.meso.level import Meso

__all__ = ["Meso"]
