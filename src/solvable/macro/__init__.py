"""The deterministic limit of many dimensions."""

from solvable.macro.level import Macro

__all__ = ["Macro"]
