"""Runs as files: the tables beside those of a problem, for the command line, sweeps and the explorer alike."""

from solvable.runfiles.runfile import LEVELS, RunFile, RunTable, StartTable, read, read_content, read_level

__all__ = ["LEVELS", "RunFile", "RunTable", "StartTable", "read", "read_content", "read_level"]
