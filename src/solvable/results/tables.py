"""Methods of `Trajectory`: all its arrays as a labelled dataset, its curves as a table, its risk as a picture."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

    from solvable.results.trajectory import Trajectory

COLUMNS = 100  # entries of an array that the table has columns for


def to_xarray(self: Trajectory) -> xarray.Dataset:
    """Return the same as `data`.

    Returns
    -------
    xarray.Dataset
        All arrays with named axes (run, time, student, teacher, ...).

    Examples
    --------
    >>> run.to_xarray().risk.dims
    ('run', 'time')
    """
    return self.data


def to_dataframe(self: Trajectory) -> Any:
    """Return the curves as a pandas table with a row for each run and time.

    Arrays with up to 100 entries have a column for each entry, as "cross_overlap.0.1" for the second teacher of the first
    student. Arrays with more, and those without times, are left out: `to_xarray` has them all.

    Returns
    -------
    pandas.DataFrame
        Its index is (run, time), in the unit of `clock`.

    Examples
    --------
    >>> run.to_dataframe()[["alpha", "risk", "cross_overlap.0.0"]].shape
    (201, 3)
    """
    import xarray

    columns: dict[str, Any] = {"alpha": self.data["alpha"].variable}
    for name, values in self.data.data_vars.items():
        further = [dim for dim in values.dims if dim not in ("run", "time")]
        sizes = [values.sizes[dim] for dim in further]
        if "time" in values.dims and math.prod(sizes) <= COLUMNS:
            for place in np.ndindex(*sizes):
                entry = values.isel(dict(zip(further, place, strict=True)))
                columns[".".join([str(name), *map(str, place)])] = entry.variable
    coordinates = {name: self.data[name].variable for name in ("run", "time")}
    return xarray.Dataset(columns, coordinates).to_dataframe(dim_order=["run", "time"])


def plot(self: Trajectory, ax: Axes | None = None, **style: Any) -> Axes:
    """Draw the risk of every run against time.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> ax = run.plot(color="C1")
    """
    from solvable import plot

    return plot.risk(self.data, ax=ax, **style)
