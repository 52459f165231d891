"""How a run ended, and what to change."""

from solvable.numerics.ending import Ending

__all__ = ["Ending"]
