"""Trajectories as labelled datasets and NetCDF files. Nothing is pickled; a file holds all that a trajectory is."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.problems import Problem
from solvable.results.ending import Ending
from solvable.results.files import write_whole

if TYPE_CHECKING:
    import xarray

    from solvable.results.trajectory import Trajectory

FORMAT = 1
RUN_ARRAYS = (
    "risk", "risk_error", "overlap_error", "start_risk", "student_overlap", "cross_overlap", "readout",
    "block_teacher_overlap", "end_readout", "start_hash", "endings",
    "end_alpha", "nfev",
)  # fmt: skip
SAMPLE_ARRAYS = {
    "training_loss": ("run", "time"),
    "matrix": ("run", "time", "input", "input_"),
    "teacher_matrix": ("run", "input", "input_"),
}  # of runs on a finite data set
_STUDENT, _CROSS = ("student", "student_"), ("student", "teacher")
LONG_NAMES = {
    "risk": "risk",
    "student_overlap": "student overlap",
    "cross_overlap": "student-teacher overlap",
    "teacher_overlap": "teacher overlap",
    "readout": "readout",
    "training_loss": "training loss",
    "population_loss": "population loss",
    "matrix": "students' quadratic form",
    "teacher_matrix": "teachers' quadratic form",
}


def to_dataset(trajectory: Trajectory) -> xarray.Dataset:
    import xarray

    t = trajectory
    variables: dict[str, Any] = {
        "risk": (("run", "time"), t.risk),
        "risk_error": (("run", "time"), t.risk_error),
        "overlap_error": (("run", "time"), t.overlap_error),
        "student_overlap": (("run", "time", *_STUDENT), t.student_overlap),
        "cross_overlap": (("run", "time", *_CROSS), t.cross_overlap),
        "readout": (("run", "time", "student"), t.readout),
        "teacher_overlap": (("run", "teacher", "teacher_"), t.teacher_overlap),
        "block_teacher_overlap": (("run", "block", "teacher", "teacher_"), t.block_teacher_overlap),
        "end_block_student_overlap": (("run", "block", *_STUDENT), t.end_blocks.student),
        "end_block_cross_overlap": (("run", "block", *_CROSS), t.end_blocks.cross),
        "end_readout": (("run", "student"), t.end_readout),
        "start_risk": ("run", t.start_risk),
        "start_hash": ("run", t.start_hash),
        "ending": ("run", np.array([ending.name.lower() for ending in t.ending], dtype=object)),
        "end_time": ("run", t.end_time),
        "end_alpha": ("run", t.end_alpha),
        "nfev": ("run", t.nfev),
    }
    if t.blocks is not None:
        variables["block_student_overlap"] = (("run", "block", "time", *_STUDENT), t.blocks.student.swapaxes(1, 2))
        variables["block_cross_overlap"] = (("run", "block", "time", *_CROSS), t.blocks.cross.swapaxes(1, 2))
    for name, dimensions in SAMPLE_ARRAYS.items():
        if getattr(t, name) is not None:
            variables[name] = (dimensions, getattr(t, name))
    if t.training_loss is not None:
        variables["population_loss"] = (("run", "time"), t.population_loss)
    coordinates: dict[str, Any] = {
        "time": ("time", t.time, {"long_name": t.clock.label, "unit": t.unit}),
        "alpha": ("time", t.alpha, {"long_name": "α = steps / dim"}),
        "run": np.arange(len(t.risk)),
        "eigenvalue": ("block", t.problem.inputs.eigenvalues),
    }
    coordinates |= {name: ("run", values) for name, values in t.labels.items()}
    attributes = {
        "format": FORMAT,
        "problem": t.problem.to_json(),
        "problem_hash": t.problem.hash,
        "level": t.level,
        "settings": json.dumps(t.settings, sort_keys=True),
        "unit": t.unit,
        "labels": json.dumps(list(t.labels)),
        "stop": json.dumps(None if t.stop is None else asdict(t.stop)),
        "success": int(t.success),
        "message": t.message,
        "versions": json.dumps(versions()),
    }
    dataset = xarray.Dataset(variables, coordinates, attributes)
    for name in LONG_NAMES.keys() & dataset.data_vars.keys():
        dataset[name].attrs["long_name"] = LONG_NAMES[name]
    return dataset


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("solvable", "numpy", "numba")}


def write(dataset: xarray.Dataset, path: str | Path) -> None:
    write_whole(path, lambda temporary: dataset.to_netcdf(temporary, engine="h5netcdf"))


def read(path: str | Path, problem: Problem | None = None) -> dict[str, Any]:
    """The fields of the trajectory in a file; `problem` where the file cannot hold it."""
    import xarray

    from solvable.results.plan import Threshold
    from solvable.results.trajectory import Blocks

    if not Path(path).is_file():
        raise FileNotFoundError(2, "No such file", str(path))
    try:
        with xarray.open_dataset(path, engine="h5netcdf") as file:
            data = file.load()
    except (OSError, ValueError) as error:
        raise ValueError(f"{path}: not a NetCDF file ({error})") from None
    if data.attrs.get("format") != FORMAT:
        raise ValueError(f"{path}: not a trajectory of format {FORMAT}")
    if "overlap_error" not in data:  # files of before do not tell: zero where nothing came from nodes, else unknown
        data["overlap_error"] = data["risk_error"].where(data["risk_error"].fillna(0) == 0, np.inf)
    stop = json.loads(data.attrs["stop"])
    blocks = None
    if "block_student_overlap" in data:
        blocks = Blocks(
            data["block_student_overlap"].values.swapaxes(1, 2), data["block_cross_overlap"].values.swapaxes(1, 2)
        )
    return {
        "problem": _problem(path, data.attrs, problem),
        "level": data.attrs["level"],
        "settings": json.loads(data.attrs["settings"]),
        "alpha": data["alpha"].values,
        "end_blocks": Blocks(data["end_block_student_overlap"].values, data["end_block_cross_overlap"].values),
        "endings": np.array([Ending[str(name).upper()] for name in data["ending"].values], dtype=np.int64),
        "blocks": blocks,
        "stop": None if stop is None else Threshold(**stop),
        "unit": data.attrs["unit"],
        "labels": {name: data[name].values for name in json.loads(data.attrs["labels"])},
        **{name: data[name].values for name in RUN_ARRAYS if name != "endings"},
        **{name: data[name].values for name in SAMPLE_ARRAYS if name in data},
    }


def _problem(path: str | Path, attributes: dict[str, Any], given: Problem | None) -> Problem:
    if given is None:
        if '"custom"' in attributes["problem"]:
            raise ValueError(
                f"{path}: was computed with a function of one's own, which files do not hold; pass problem=..."
            )
        return Problem.from_json(attributes["problem"])
    if given.hash != attributes["problem_hash"]:
        raise ValueError(f"{path}: was computed for another problem than the one given")
    return given
