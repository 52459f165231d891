"""Runs as files: the tables beside those of a problem, for the command line, sweeps and the explorer alike."""

from solvable.runfiles.control_table import ControlTable, read_control
from solvable.runfiles.level_tables import LEVELS
from solvable.runfiles.runfile import RunFile, RunTable, StartTable, given, read, read_content, read_level

__all__ = [
    "LEVELS",
    "ControlTable",
    "RunFile",
    "RunTable",
    "StartTable",
    "given",
    "read",
    "read_content",
    "read_control",
    "read_level",
]
