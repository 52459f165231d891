"""The diffusion, as a level: the mean of many SGD steps at once, with their noise."""

from solvable.meso.level import Meso

__all__ = ["Meso"]
