"""The table of observables: one row and one function make an array that everything else knows."""

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

import solvable as sv
from solvable.plot.curves import draw_entries
from solvable.problems import Problem
from solvable.results.classifying import of_states
from solvable.results.quantities import ARRAY, CURVE, OBSERVABLES, Row, curves
from solvable.results.storage import dimensions
from solvable.runfiles import RunTable

PROBLEM = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.05, N=30)
START = sv.start(PROBLEM, seed=0)
TWO_BLOCKS = PROBLEM.replace(
    inputs__spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5)), student__activation="erf", teacher__activation="erf"
)
TIMES = [0.0, 1.0, 3.0]
LEVELS = [
    sv.Macro(),
    sv.Meso(runs=2),
    sv.Micro(runs=2),
    sv.Empirical(runs=2),
    sv.EmpiricalMacro(particles=256, replicas=2),
]
NAME = "alignment"


def cosine(_: Problem, overlaps: sv.Overlaps, __: float) -> float:
    """Return the cosine of the angle between the first student and the first teacher."""
    norms = overlaps.student_overlap[0, 0] * overlaps.teacher_overlap[0, 0]
    return float(overlaps.cross_overlap[0, 0] / np.sqrt(norms))


def expected(run: sv.Trajectory) -> np.ndarray:
    norms = run.student_overlap[:, :, 0, 0] * run.teacher_overlap[:, None, 0, 0]
    return run.cross_overlap[:, :, 0, 0] / np.sqrt(norms)


@pytest.fixture
def added(monkeypatch) -> str:
    """The one row and the one function."""
    function = lambda run: of_states(NAME, run, cosine)
    monkeypatch.setitem(
        OBSERVABLES, NAME, Row("run time", "first alignment", CURVE, function=function, from_states=True)
    )
    return NAME


def follow(level: Any) -> sv.Trajectory:
    problem, clock = PROBLEM, "alpha"
    if level.domain.samples:
        problem = PROBLEM.replace(training__samples=400)
    if level.name == "empirical_macro":
        clock = "steps"
        problem = problem.replace(training__learning_rate=30.0, student__activation="erf", teacher__activation="erf")
    return sv.run(problem, START, level, times=TIMES, clock=clock, progress=False)


@pytest.mark.parametrize("level", LEVELS, ids=lambda level: level.name)
def test_an_added_observable_is_read_at_every_level(level: Any, added: str, tmp_path) -> None:
    run = follow(level)
    assert added not in run.data
    assert run.alignment == pytest.approx(expected(run), rel=1e-9)
    assert run.data[added].dims == ("run", "time")
    run.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert again.alignment == pytest.approx(run.alignment, rel=1e-12)


def test_an_added_observable_is_averaged_drawn_and_asked_about(added: str) -> None:
    run = follow(sv.Micro(runs=3, seed=1))
    assert run.mean(added).mean == pytest.approx(run.alignment.mean(axis=0))
    assert draw_entries(run, added, None, 1, {}).get_ylabel() == "first alignment"
    with pytest.raises(ValueError, match=r"the run has no gap; it has risk, .*alignment"):
        draw_entries(run, "gap", None, 0, {})
    with pytest.raises(ValueError, match=r"did you mean alignment\?"):
        run.mean("alignmnt")
    with pytest.raises(ValueError, match=r"; run\.alignment has it at all outputs"):
        sv.when(added, above=0.5)


def test_an_added_observable_is_kept_in_sweeps(added: str) -> None:
    """On several blocks of inputs too, whose overlaps it needs."""
    swept = sv.sweep(
        TWO_BLOCKS, {"training.learning_rate": [0.1, 0.2]}, level=sv.Macro(), start=sv.start(TWO_BLOCKS, seed=0),
        until=3.0, keep=("risk", added), store=None, workers=0,
    )  # fmt: skip
    values = swept.data[added]
    assert values.dims == ("learning_rate", "run", "time")
    assert values.attrs["long_name"] == "first alignment"
    assert np.isfinite(values.values).all()
    sv.plot.sweep(swept, added)


def test_an_observable_that_was_removed_is_gone() -> None:
    run = follow(sv.Macro())
    with pytest.raises(AttributeError, match="'Trajectory' object has no attribute 'alignment'"):
        _ = run.alignment
    with pytest.raises(ValueError, match="'alignment' given"):
        run.mean(NAME)
    with pytest.raises(ValueError, match="keep: 'alignment' given, must be among risk"):
        sv.sweeps.Run(sv.Macro(), START, RunTable(until=1.0), keep=(NAME,))


def test_every_array_of_a_trajectory_has_a_row() -> None:
    """Fields that are arrays, and properties that are not single things."""
    arrays = {one.name for one in fields(sv.Trajectory) if "ndarray" in str(one.type) and "dict" not in str(one.type)}
    assert arrays - OBSERVABLES.keys() == {"endings"}  # `ending` has their names
    plain = {name for name, one in vars(sv.Trajectory).items() if type(one) is property}
    assert plain == {"oracle_error", "success", "message"}
    assert all(hasattr(sv.Trajectory, name) for name, row in OBSERVABLES.items() if row.function is not None)


def test_rows_tell_the_shapes() -> None:
    run = follow(sv.Micro(runs=2))
    sizes = {"run": 2, "time": 3, "student": 2, "teacher": 1, "block": 1}
    for name, row in OBSERVABLES.items():
        if row.kind != ARRAY and row.applies(PROBLEM) and name not in ("forgetting", "head_start"):
            value = getattr(run, name)
            shape = tuple(sizes.get(axis.rstrip("_"), -1) for axis in row.dimensions())
            assert value is None or np.shape(value) == shape, name
    assert dimensions(heads=2)["readout"] == ("run", "time", "head", "student")


def test_documentation_lists_the_curves() -> None:
    assert all(f'"{name}"' in (sv.Trajectory.mean.__doc__ or "") for name in curves())
    assert sv.Trajectory.gap.__doc__ == sv.Trajectory.gap.fget.__doc__
    assert "squared loss on fresh samples" in sv.Trajectory.gap.__doc__


def test_what_was_computed_enters_a_dataset_that_was_made_before() -> None:
    run = follow(sv.Macro())
    assert "rate" not in run.data
    assert run.rate[0, 0] == pytest.approx(PROBLEM.training.schedule(0.0))
    assert "rate" in run.data
