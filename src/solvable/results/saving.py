"""Methods of `Trajectory`: writing it to a file, and reading it back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from solvable.problems import Problem
from solvable.problems.own_functions import check_unchanged
from solvable.results import loading, storage

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def save(self: Trajectory, path: str | Path) -> None:
    """Write a NetCDF file with a checksum over everything in it.

    Parameters
    ----------
    path : str or Path
        The file, which ends in .nc; `Trajectory.load` reads it back.

    Examples
    --------
    >>> run.save("run.nc")
    """
    if Path(path).suffix != ".nc":
        raise ValueError(f"save: {path} given, must end in .nc (NetCDF); run.data has all as an xarray.Dataset")
    check_unchanged(self.problem)
    storage.write(self.data, path)


def load(cls: type[Trajectory], path: str | Path, problem: Problem | None = None) -> Trajectory:
    """Read a file that `save` wrote.

    Parameters
    ----------
    path : str or Path
        The file.
    problem : Problem, optional
        Needed where the problem has activations or targets of your own, which files do not hold: pass the same one
        again.

    Returns
    -------
    Trajectory
        What was saved.

    Raises
    ------
    ValueError
        If the file holds no trajectory, or was changed since it was written. A file without a checksum loads with a
        warning.

    Examples
    --------
    >>> bool((sv.Trajectory.load("run.nc").risk == run.risk).all())
    True
    """
    return cls(**loading.read(path, problem))
