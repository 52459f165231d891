"""Trajectories as labelled datasets and NetCDF files. Nothing is pickled; a file holds all that a trajectory is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.results import classifying, forgetting, netcdf
from solvable.results.clock import LABELS
from solvable.results.files import write_whole

if TYPE_CHECKING:
    import xarray

    from solvable.results.threshold import Threshold
    from solvable.results.trajectory import Trajectory

FORMAT = 2  # files of format 1 had no checksum
RUN_ARRAYS = (
    "risk", "risk_error", "overlap_error", "start_risk", "student_overlap", "cross_overlap", "readout",
    "block_teacher_overlap", "end_readout", "start_hash", "endings",
    "end_alpha", "nfev",
)  # fmt: skip
SAMPLE_ARRAYS = (
    "training_loss",
    "matrix",
    "teacher_matrix",
    "weights",
    "teacher_weights",
)  # of runs on a finite data set
LIMIT_ARRAYS = ("training_loss_error", "identity_residual", "correlation", "response")  # of the limit of a data set
CASE_ARRAYS = ("extra_overlap", "moving_teacher_overlap", "task_risk")  # of classes, tasks, anchors and moving teachers
ASKED = ("loss", "rate", "average_risk")  # (run, time) that are computed when they are asked for
SOME_ARRAYS = (*SAMPLE_ARRAYS, *LIMIT_ARRAYS, *CASE_ARRAYS, "measured_end_risk", "scalars", "end_scalars")
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
    "measured_end_risk": ("run",),
    "scalars": ("run", "time", "scalar"),
    "end_scalars": ("run", "scalar"),
    "start_hash": ("run",),
    "ending": ("run",),
    "end_time": ("run",),
    "end_alpha": ("run",),
    "nfev": ("run",),
    "block_student_overlap": ("run", "block", "time", *_STUDENT),
    "block_cross_overlap": ("run", "block", "time", *_CROSS),
    "training_loss": ("run", "time"),
    "training_loss_error": ("run", "time"),
    "identity_residual": ("run", "time"),
    "correlation": ("run", "time", "student", "time_", "student_"),
    "response": ("run", "time", "student", "time_", "student_"),
    "population_loss": ("run", "time"),
    "gap": ("run", "time"),
    "matrix": ("run", "time", "input", "input_"),
    "teacher_matrix": ("run", "input", "input_"),
    "weights": ("run", "time", "student", "input"),
    "teacher_weights": ("run", "teacher", "input"),
    "extra_overlap": ("run", "time", *_EXTRA),
    "moving_teacher_overlap": ("run", "time", *_TEACHER),
    "task_risk": ("run", "time", "task"),
    "forgetting": ("run", "time", "task"),
    "head_start": ("run", "time", "task"),
    classifying.NAME: ("run", "time"),
    **dict.fromkeys(ASKED, ("run", "time")),
    "direction_overlap": ("run", "time", "student", "direction"),
    "end_block_teacher_overlap": ("run", "block", *_TEACHER),
    "end_block_extra_overlap": ("run", "block", *_EXTRA),
    "moving_block_teacher_overlap": ("run", "block", "time", *_TEACHER),
    "block_extra_overlap": ("run", "block", "time", *_EXTRA),
}
OPTIONAL = {
    "block_student_overlap", "block_cross_overlap", "population_loss", "gap", "direction_overlap", "end_block_teacher_overlap",
    "end_block_extra_overlap", "moving_block_teacher_overlap", "block_extra_overlap", *forgetting.NAMES, classifying.NAME,
    *ASKED, *SOME_ARRAYS,
}  # fmt: skip
LONG_NAMES = {
    "risk": "risk",
    "student_overlap": "student overlap",
    "cross_overlap": "student-teacher overlap",
    "teacher_overlap": "teacher overlap",
    "readout": "readout",
    "training_loss": "training loss",
    "training_loss_error": "error of the training loss",
    "correlation": "correlation of the fields at two times",
    "response": "response of the fields to pushes",
    "population_loss": "population loss",
    "gap": "test loss less training loss",
    "matrix": "students' quadratic form",
    "teacher_matrix": "teachers' quadratic form",
    "weights": "students' weights",
    "teacher_weights": "teachers' weights",
    "direction_overlap": "student-direction overlap",
    "moving_teacher_overlap": "teacher overlap",
    "task_risk": "risk of a task",
    "forgetting": "forgetting of a task",
    "head_start": "head start of a task",
    classifying.NAME: "classification error",
    "loss": "mean loss",
    "rate": "learning rate",
    "average_risk": "risk of the averaged weights",
}


LOSSES = {"steps": "mean loss with its factor", "alpha": "half the mean squared error"}  # what training losses are


def dimensions(name: str, heads: int = 1) -> tuple[str, ...]:
    """Of a variable, where students have so many heads."""
    dims = DIMENSIONS[name]
    return (*dims[:-1], "head", dims[-1]) if heads > 1 and name in ("readout", "end_readout") else dims


def to_dataset(trajectory: Trajectory) -> xarray.Dataset:
    import xarray

    t = trajectory
    own_form: dict[str, Any] = {
        "ending": np.array([ending.name.lower() for ending in t.ending], dtype=object),
        "end_block_student_overlap": t.end_blocks.student,
        "end_block_cross_overlap": t.end_blocks.cross,
        "block_student_overlap": None if t.blocks is None else t.blocks.student.swapaxes(1, 2),
        "block_cross_overlap": None if t.blocks is None else t.blocks.cross.swapaxes(1, 2),
        "population_loss": None if t.training_loss is None else t.population_loss,
        "gap": t.gap if t.base == "steps" else None,
    }
    kept, ends = t.blocks, t.end_blocks
    for name, blocks in [
        ("moving_block_teacher_overlap", None if kept is None else kept.teacher),
        ("block_extra_overlap", None if kept is None else kept.extra),
    ]:
        own_form[name] = None if blocks is None else blocks.swapaxes(1, 2)
    own_form |= {"end_block_teacher_overlap": ends.teacher, "end_block_extra_overlap": ends.extra}
    told = forgetting.known(t)
    own_form |= {name: told.get(name) for name in forgetting.NAMES}
    own_form |= {name: vars(t).get(name) for name in (classifying.NAME, *ASKED)}  # where they have been computed
    names = [name for name in DIMENSIONS if name != "alpha"]  # which is a coordinate
    arrays = {name: own_form[name] if name in own_form else getattr(t, name) for name in names}
    heads = t.problem.heads
    variables = {name: (dimensions(name, heads), values) for name, values in arrays.items() if values is not None}
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
    for name in LONG_NAMES.keys() & dataset.data_vars.keys():
        dataset[name].attrs["long_name"] = LONG_NAMES[name]
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
