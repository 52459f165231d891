"""The command `solvable`."""
