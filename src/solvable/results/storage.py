"""Trajectories as labelled datasets and NetCDF files. Nothing is pickled; a file holds all that a trajectory is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.results import netcdf
from solvable.results.clock import LABELS
from solvable.results.files import write_whole
from solvable.results.quantities import OBSERVABLES

if TYPE_CHECKING:
    import xarray

    from solvable.results.threshold import Threshold
    from solvable.results.trajectory import Trajectory

FORMAT = 2  # files of format 1 had no checksum
MOVING = {
    "student": "",
    "cross": "",
    "teacher": "moving_",
    "extra": "",
}  # parts of `Blocks`; teachers are there where they move
AT_ENDS = {part: f"end_block_{part}_overlap" for part in MOVING}
AT_OUTPUTS = {part: f"{moving}block_{part}_overlap" for part, moving in MOVING.items()}


LOSSES = {"steps": "mean loss with its factor", "alpha": "half the mean squared error"}  # what training losses are


def dimensions(heads: int = 1) -> dict[str, tuple[str, ...]]:
    """Return the dimensions of all variables that files may hold, where students have so many heads."""
    found = {name: row.dimensions(heads) for name, row in OBSERVABLES.items()}
    for part, moving in MOVING.items():
        _, _, *inner = found[f"{moving}{part}_overlap"]
        found |= {AT_ENDS[part]: ("run", "block", *inner), AT_OUTPUTS[part]: ("run", "block", "time", *inner)}
    return found


def required() -> set[str]:
    """Return the names of the variables that every file holds."""
    return {name for name, row in OBSERVABLES.items() if row.is_required} | {AT_ENDS["student"], AT_ENDS["cross"]}


def to_dataset(trajectory: Trajectory) -> xarray.Dataset:
    import xarray

    t = trajectory
    arrays = {name: row.content(t, name) for name, row in OBSERVABLES.items()}
    arrays["ending"] = np.array([ending.name.lower() for ending in t.ending], dtype=object)
    for part in MOVING:
        arrays[AT_ENDS[part]] = getattr(t.end_blocks, part)
        values = getattr(t.blocks, part, None)
        arrays[AT_OUTPUTS[part]] = None if values is None else values.swapaxes(1, 2)
    dims = dimensions(t.problem.heads)
    del arrays["alpha"]  # which is a coordinate
    variables = {name: (dims[name], values) for name, values in arrays.items() if values is not None}
    coordinates: dict[str, Any] = {
        "time": ("time", t.time, {"long_name": t.clock.label, "unit": t.unit}),
        "alpha": ("time", t.alpha, {"long_name": LABELS[t.base]}),
        "run": np.arange(len(t.risk)),
        "eigenvalue": ("block", t.problem.at(0.0).inputs.eigenvalues),
    }
    if t.extra_overlap is not None:
        coordinates["role"] = ("extra", np.array(t.problem.extras, dtype=object))
    if t.scalars is not None:
        coordinates["scalar_role"] = ("scalar", np.array(t.problem.scalars, dtype=object))
    coordinates |= {name: ("run", values) for name, values in t.labels.items()}
    attributes = {
        "format": FORMAT,
        "problem": t.problem.to_json(),
        "problem_hash": t.problem.hash,
        "problem_likeness": t.problem.likeness,
        "level": t.level,
        "settings": json.dumps(t.settings, sort_keys=True),
        "unit": t.unit,
        "labels": json.dumps(list(t.labels)),
        "stop": json.dumps(None if t.stop is None else _threshold(t.stop)),
        "success": int(t.success),
        "message": t.message,
        "versions": json.dumps(versions()),
    }
    if t.base != "alpha":
        attributes["base"] = t.base
    dataset = xarray.Dataset(variables, coordinates, attributes)
    for name, row in OBSERVABLES.items():
        if row.label and name in dataset.data_vars:
            dataset[name].attrs["long_name"] = row.label
    if t.training_loss is not None:
        dataset["training_loss"].attrs["normalisation"] = LOSSES[t.base]
    return dataset


def versions() -> dict[str, str]:
    from importlib.metadata import version

    from solvable import __version__

    return {"solvable": __version__, **{name: version(name) for name in ("numpy", "numba")}}


def write(dataset: xarray.Dataset, path: str | Path) -> None:
    """As a NetCDF file with a checksum over all that it holds."""

    def fill(temporary: str) -> None:
        dataset.to_netcdf(temporary, engine="h5netcdf")
        netcdf.seal(temporary)

    write_whole(path, fill)


def _threshold(stop: Threshold) -> dict[str, Any]:
    """All of it but a function of the user's own."""
    kept = {name: value for name, value in vars(stop).items() if name not in ("function", "entry")}
    return kept if stop.entry is None else kept | {"entry": list(stop.entry)}
