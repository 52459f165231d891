"""The deterministic limit of many dimensions, as a level."""

from solvable.macro.level import Macro

__all__ = ["Macro"]
