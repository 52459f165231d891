"""Trajectories from NetCDF files. Files may come from anyone: everything is checked before a trajectory is made of it."""

from __future__ import annotations

import math
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from solvable.problems import InvalidProblem, Problem
from solvable.problems.foreign import one_line, parse_json
from solvable.results import netcdf
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.quantities import OBSERVABLES
from solvable.results.storage import AT_ENDS, AT_OUTPUTS, FORMAT, dimensions, required
from solvable.results.threshold import FUNCTION, QUANTITIES, Threshold


def read(path: str | Path, problem: Problem | None = None) -> dict[str, Any]:
    """The fields of the trajectory in a file; `problem` where the file cannot hold it. ValueError, in one line, where it holds
    none. Files of format 1 have no checksum and load with a warning."""
    content = netcdf.read(path)
    try:
        _check_format(path, content)
        found = _problem(content.attributes, problem)
        return _fields(content, found)
    except _Missing as error:
        raise ValueError(f"{path}: not a trajectory, {error} is missing") from None
    except InvalidProblem as error:
        raise ValueError(f"{path}: its problem is not valid: {one_line('; '.join(error.problems))}") from None
    except MemoryError:
        raise ValueError(f"{path}: needs more memory than there is") from None
    except ValueError as error:
        raise ValueError(f"{path}: {one_line(error)}") from None


class _Missing(Exception):
    pass


def _check_format(path: str | Path, content: netcdf.Content) -> None:
    found = content.attributes.get("format")
    if found not in (1, FORMAT):
        raise ValueError(f"not a trajectory of format {FORMAT}")
    if found != 1 and not content.sealed:
        raise ValueError("was changed since it was written: its checksum is missing")
    if not content.sealed:
        warnings.warn(
            f"{path}: was written before files had a checksum, so that changes are not seen; save it again to add one",
            stacklevel=4,
        )


def _text(attributes: dict[str, Any], name: str) -> str:
    if name not in attributes:
        raise _Missing(name)
    if not isinstance(attributes[name], str):
        raise ValueError(f"{name}: {type(attributes[name]).__name__} given, must be text")
    return str(attributes[name])


def _parsed(attributes: dict[str, Any], name: str, *kinds: type[Any]) -> Any:
    try:
        content = parse_json(_text(attributes, name))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    if not isinstance(content, kinds):
        raise ValueError(f"{name}: {type(content).__name__} given, must be a {kinds[0].__name__}")
    return content


def _problem(attributes: dict[str, Any], given: Problem | None) -> Problem:
    text, known = _text(attributes, "problem"), _text(attributes, "problem_hash")
    if given is None:
        if '"custom"' in text:
            raise ValueError("was computed with a function of one's own, which files do not hold; pass problem=...")
        return Problem.from_json(text)
    if given.likeness != attributes.get("problem_likeness", known):
        raise ValueError("was computed for another problem than the one given")
    if given.hash != known:
        warnings.warn(
            "the functions given agree in values with those that the file was computed with, but not in code or version (or "
            "another Python or solvable wrote it); they are taken as given",
            stacklevel=5,
        )
    return given


def _fields(content: netcdf.Content, problem: Problem) -> dict[str, Any]:
    attributes, arrays = content.attributes, content.arrays
    unit, base = _text(attributes, "unit"), _text({"base": "alpha"} | attributes, "base")
    Clock(problem, unit, base)
    names = _parsed(attributes, "labels", list)
    if not all(isinstance(name, str) for name in names):
        raise ValueError("labels: must be names")
    labels = {name: _found(arrays, name) for name in names}
    if (
        "overlap_error" not in arrays and attributes["format"] == 1
    ):  # those do not tell: zero where nothing came from nodes
        known = np.nan_to_num(_found(arrays, "risk_error")) == 0
        arrays["overlap_error"] = np.where(known, 0.0, np.inf)
    _check_shapes(arrays, problem, labels)
    blocks = None
    if AT_OUTPUTS["student"] in arrays:
        blocks = Blocks.of(arrays[name].swapaxes(1, 2) if name in arrays else None for name in AT_OUTPUTS.values())
    return {
        "problem": problem,
        "level": _text(attributes, "level"),
        "settings": _parsed(attributes, "settings", dict),
        "end_blocks": Blocks.of(arrays.get(name) for name in AT_ENDS.values()),
        "endings": np.array([_ending(name) for name in arrays["ending"]], dtype=np.int64),
        "blocks": blocks,
        "stop": _threshold(attributes),
        "unit": unit,
        "base": base,
        "labels": labels,
        **{name: arrays[name] for name, row in OBSERVABLES.items() if row.function is None and name in arrays},
    }


def _found(arrays: dict[str, np.ndarray], name: str) -> np.ndarray:
    if name not in arrays:
        raise _Missing(name)
    return arrays[name]


def _check_shapes(arrays: dict[str, np.ndarray], problem: Problem, labels: dict[str, np.ndarray]) -> None:
    """That all variables are there, are of the right kind, and have as many runs, times and units as they must."""
    sizes = {
        "student": problem.student.width, "teacher": problem.teacher.width, "block": problem.inputs.blocks,
        "head": problem.heads, "extra": len(problem.extras), "direction": problem.extras.count("direction"),
        "row": problem.student.width + problem.teacher.width + len(problem.extras), "task": max(len(problem.tasks), 1),
        "scalar": len(problem.scalars),
    }  # fmt: skip
    names = required() | (dimensions().keys() & arrays.keys()) | _belonging(problem, arrays)
    wanted = {name: dims for name, dims in dimensions(problem.heads).items() if name in names}
    for name, dims in [*wanted.items(), *((name, ("run",)) for name in labels)]:
        values = _found(arrays, name)
        kinds = "iufbO" if name in labels else OBSERVABLES[name].kinds if name in OBSERVABLES else "f"
        if values.dtype.kind not in kinds:
            raise ValueError(one_line(f"{name}: an array of {values.dtype}, not of what a trajectory has there"))
        pairs = zip(dims, values.shape, strict=False)
        expected = tuple(sizes.setdefault(dim.rstrip("_"), size) for dim, size in pairs)
        if values.ndim != len(dims) or values.shape != expected:
            raise ValueError(one_line(f"{name}: shape {values.shape}, must be {dims}, as {expected}"))
    if not sizes["run"] or not sizes["time"]:
        raise ValueError("holds no run")


def _belonging(problem: Problem, arrays: dict[str, np.ndarray]) -> set[str]:
    """Optional variables that must be there because of others, or of the problem."""
    moving, further, counted = problem.teacher.is_moving, bool(problem.extras), bool(problem.scalars)
    has = {"student": True, "cross": True, "teacher": moving, "extra": further}
    at_outputs, at_ends = ({names[part] for part in has if has[part]} for names in (AT_OUTPUTS, AT_ENDS))
    kept = at_outputs if at_outputs & arrays.keys() else set()
    totals = {"extra_overlap": further, "moving_teacher_overlap": moving, "scalars": counted, "end_scalars": counted}
    return kept | at_ends | {name for name, there in totals.items() if there}


def _ending(name: str) -> int:
    try:
        return Ending[name.upper()]
    except KeyError:
        raise ValueError(f"ending: {name!r} is none") from None


def _threshold(attributes: dict[str, Any]) -> Threshold | None:
    found = _parsed(attributes, "stop", dict, type(None))
    if found is None:
        return None
    level = found.get("level")
    quantity = found.get("quantity")
    entry = found.pop("entry", None)
    plain = found.keys() == {"quantity", "level", "falls", "relative"} and quantity in (*QUANTITIES, FUNCTION)
    plain = plain and (entry is None or _is_entry(entry, str(quantity)))
    least = 0 if quantity != FUNCTION and entry is None else -sys.float_info.max
    if not plain or not isinstance(level, int | float) or not least <= level < math.inf:
        raise ValueError("stop: is no threshold")
    place = None if entry is None else tuple(entry)
    return Threshold(str(found["quantity"]), level, bool(found["falls"]), bool(found["relative"]), entry=place)


def _is_entry(entry: Any, quantity: str) -> bool:
    whole = isinstance(entry, list) and all(type(i) is int and i >= 0 for i in entry)
    return whole and len(entry) in QUANTITIES.get(quantity, ())
