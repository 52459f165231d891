"""Trajectories as labelled datasets and NetCDF files. Nothing is pickled; a file holds all that a trajectory is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.results import forgetting, netcdf
from solvable.results.files import write_whole

if TYPE_CHECKING:
    import xarray

    from solvable.results.plan import Threshold
    from solvable.results.trajectory import Trajectory

FORMAT = 2  # files of format 1 had no checksum
RUN_ARRAYS = (
    "risk", "risk_error", "overlap_error", "start_risk", "student_overlap", "cross_overlap", "readout",
    "block_teacher_overlap", "end_readout", "start_hash", "endings",
    "end_alpha", "nfev",
)  # fmt: skip
SAMPLE_ARRAYS = ("training_loss", "matrix", "teacher_matrix")  # of runs on a finite data set
CASE_ARRAYS = ("extra_overlap", "moving_teacher_overlap", "task_risk")  # of classes, tasks, anchors and moving teachers
SOME_ARRAYS = (*SAMPLE_ARRAYS, *CASE_ARRAYS)
_EXTRA = ("extra", "row")
_STUDENT, _CROSS, _TEACHER = ("student", "student_"), ("student", "teacher"), ("teacher", "teacher_")
DIMENSIONS: dict[str, tuple[str, ...]] = {
    "alpha": ("time",),
    "risk": ("run", "time"),
    "risk_error": ("run", "time"),
    "overlap_error": ("run", "time"),
    "student_overlap": ("run", "time", *_STUDENT),
    "cross_overlap": ("run", "time", *_CROSS),
    "readout": ("run", "time", "student"),
    "teacher_overlap": ("run", *_TEACHER),
    "block_teacher_overlap": ("run", "block", *_TEACHER),
    "end_block_student_overlap": ("run", "block", *_STUDENT),
    "end_block_cross_overlap": ("run", "block", *_CROSS),
    "end_readout": ("run", "student"),
    "start_risk": ("run",),
    "start_hash": ("run",),
    "ending": ("run",),
    "end_time": ("run",),
    "end_alpha": ("run",),
    "nfev": ("run",),
    "block_student_overlap": ("run", "block", "time", *_STUDENT),
    "block_cross_overlap": ("run", "block", "time", *_CROSS),
    "training_loss": ("run", "time"),
    "population_loss": ("run", "time"),
    "matrix": ("run", "time", "input", "input_"),
    "teacher_matrix": ("run", "input", "input_"),
    "extra_overlap": ("run", "time", *_EXTRA),
    "moving_teacher_overlap": ("run", "time", *_TEACHER),
    "task_risk": ("run", "time", "task"),
    "forgetting": ("run", "time", "task"),
    "transfer": ("run", "time", "task"),
    "direction_overlap": ("run", "time", "student", "direction"),
    "end_block_teacher_overlap": ("run", "block", *_TEACHER),
    "end_block_extra_overlap": ("run", "block", *_EXTRA),
    "moving_block_teacher_overlap": ("run", "block", "time", *_TEACHER),
    "block_extra_overlap": ("run", "block", "time", *_EXTRA),
}
OPTIONAL = {
    "block_student_overlap", "block_cross_overlap", "population_loss", "direction_overlap", "end_block_teacher_overlap",
    "end_block_extra_overlap", "moving_block_teacher_overlap", "block_extra_overlap", *forgetting.NAMES, *SOME_ARRAYS,
}  # fmt: skip
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
    "direction_overlap": "student-direction overlap",
    "moving_teacher_overlap": "teacher overlap",
    "task_risk": "risk of a task",
    "forgetting": "forgetting of a task",
    "transfer": "transfer to a task",
}


def dimensions(name: str, heads: int = 1) -> tuple[str, ...]:
    """Of a variable, where students have so many heads."""
    dims = DIMENSIONS[name]
    return (*dims[:-1], "head", dims[-1]) if heads > 1 and name in ("readout", "end_readout") else dims


def to_dataset(trajectory: Trajectory) -> xarray.Dataset:
    import xarray

    t = trajectory
    arrays: dict[str, Any] = {
        "risk": t.risk,
        "risk_error": t.risk_error,
        "overlap_error": t.overlap_error,
        "student_overlap": t.student_overlap,
        "cross_overlap": t.cross_overlap,
        "readout": t.readout,
        "teacher_overlap": t.teacher_overlap,
        "block_teacher_overlap": t.block_teacher_overlap,
        "end_block_student_overlap": t.end_blocks.student,
        "end_block_cross_overlap": t.end_blocks.cross,
        "end_readout": t.end_readout,
        "start_risk": t.start_risk,
        "start_hash": t.start_hash,
        "ending": np.array([ending.name.lower() for ending in t.ending], dtype=object),
        "end_time": t.end_time,
        "end_alpha": t.end_alpha,
        "nfev": t.nfev,
    }
    if t.blocks is not None:
        arrays["block_student_overlap"] = t.blocks.student.swapaxes(1, 2)
        arrays["block_cross_overlap"] = t.blocks.cross.swapaxes(1, 2)
        if t.blocks.teacher is not None:
            arrays["moving_block_teacher_overlap"] = t.blocks.teacher.swapaxes(1, 2)
        if t.blocks.extra is not None:
            arrays["block_extra_overlap"] = t.blocks.extra.swapaxes(1, 2)
    ends = {"end_block_teacher_overlap": t.end_blocks.teacher, "end_block_extra_overlap": t.end_blocks.extra}
    arrays |= {name: values for name, values in ends.items() if values is not None}
    arrays |= {name: getattr(t, name) for name in SOME_ARRAYS if getattr(t, name) is not None}
    if t.training_loss is not None:
        arrays["population_loss"] = t.population_loss
    if t.direction_overlap is not None:
        arrays["direction_overlap"] = t.direction_overlap
    arrays |= forgetting.known(t)
    variables = {name: (dimensions(name, t.problem.heads), values) for name, values in arrays.items()}
    coordinates: dict[str, Any] = {
        "time": ("time", t.time, {"long_name": t.clock.label, "unit": t.unit}),
        "alpha": ("time", t.alpha, {"long_name": "α = steps / dim"}),
        "run": np.arange(len(t.risk)),
        "eigenvalue": ("block", t.problem.at(0.0).inputs.eigenvalues),
    }
    if t.extra_overlap is not None:
        coordinates["role"] = ("extra", np.array(t.problem.extras, dtype=object))
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
    dataset = xarray.Dataset(variables, coordinates, attributes)
    for name in LONG_NAMES.keys() & dataset.data_vars.keys():
        dataset[name].attrs["long_name"] = LONG_NAMES[name]
    return dataset


def versions() -> dict[str, str]:
    from importlib.metadata import version

    return {name: version(name) for name in ("solvable", "numpy", "numba")}


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
