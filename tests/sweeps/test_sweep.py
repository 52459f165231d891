"""Which points a sweep has, what comes out of it, and in which forms it can be looked at."""

import contextlib
import functools
import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray
from hypothesis import given
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parent))
from light import PROBLEM, Light, rates

import solvable as sv
from solvable.cli.main import main
from solvable.numerics.sources import CHANGED, FURTHER, PACKAGE, ROOMS, SILENT, digest_of
from solvable.sweeps import FewestSamples, Run, Store, execute, plan
from solvable.sweeps.expressions import Expression
from solvable.sweeps.files import read
from solvable.sweeps.gather import export, sweeps_in
from solvable.sweeps.makers import STALE
from solvable.sweeps.records import MANIFEST, Labelled, Record, decode, encode, key_of

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "sweeps").glob("*.toml"))


@pytest.fixture
def small() -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.1),
    )


def test_every_point_is_the_run_it_names(small: sv.Problem) -> None:
    swept = sv.sweep(
        small, {"student.width": [1, 3], "training.learning_rate": [0.05, 0.1]}, sv.Macro(rtol=1e-6), 20,
        seeds=[4, 9], store=None, workers=0,
    )  # fmt: skip
    assert swept.status == (8, 8, 0)
    assert swept.data.sizes == {"width": 2, "learning_rate": 2, "seed": 2, "run": 1, "time": 201}
    for width in (1, 3):
        here = small.replace(student__width=width, training__learning_rate=0.05)
        alone = sv.run(here, sv.start(here, seed=9), sv.Macro(rtol=1e-6), 20)
        found = swept.data.sel(width=width, learning_rate=0.05, seed=9)
        assert np.array_equal(found["risk"], alone.risk)
        assert np.array_equal(found["time"], alone.time)
        assert np.array_equal(found["exit_time"], alone.exit_time(), equal_nan=True)
        assert np.array_equal(found["end_risk"], alone.risk[:, -1])
        assert found["ending"].item() == "finished"


def test_bits_do_not_depend_on_the_workers(small: sv.Problem, tmp_path: Path) -> None:
    def bytes_of(name: str, **options: Any) -> dict[bytes, bytes]:
        sv.sweep(
            small, {"level": [sv.Macro(), sv.Micro(runs=3), sv.Meso(runs=2)], "student.width": [1, 2]}, until=5,
            seeds=range(2), keep=("risk", "student_overlap"), store=tmp_path / name, progress=False, **options,
        )  # fmt: skip
        store = Store(tmp_path / name)
        return {key: store.encoded(key) for key in store.keys()}  # noqa: SIM118

    here = bytes_of("here", workers=0)
    assert len(here) == 13
    assert bytes_of("one", workers=1) == here
    assert bytes_of("two", workers=2) == here


def test_products_and_names_that_move_together(small: sv.Problem) -> None:
    measure = Light()
    planned = plan(
        small, measure, {"student.width": [1, 2], "inputs.dim": [10, 20], "light.number": [0, 1, 2]},
        together=[["student.width", "inputs.dim"]],
    )  # fmt: skip
    grid, points = planned.grid, planned.points
    assert grid.dims == ("width", "number")
    assert grid.shape == (2, 3)
    assert [(point.problem.student.width, point.problem.inputs.dim) for point in points][::3] == [
        (1, 10),
        (2, 20),
    ]
    vary = {"student.width": [1, 2], "inputs.dim": [10, 20]}
    data = execute(plan(small, measure, vary, together=[list(vary)]), None, workers=0).data
    assert data["dim"].dims == ("width",)


def test_derived_values_and_conditions(small: sv.Problem) -> None:
    points = plan(
        small, Light(), {"student.width": [1, 2, 3], "factor": [0.5, 2.0]},
        derive={"training.learning_rate": "factor * student.width / 10", "inputs.dim": lambda at: 10 * at["student.width"]},
        where="student.width > teacher.width and training.learning_rate <= 0.4",
    ).points  # fmt: skip
    found = [(p.problem.student.width, p.problem.training.learning_rate, p.problem.inputs.dim) for p in points]
    assert found == [(2, 0.1, 20), (2, 0.4, 20), (3, pytest.approx(0.15), 30)]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1 + 2 * 3", 7), ("2 ** -1", 0.5), ("7 // 2 % 2", 1), ("sqrt(x.y) + max(1, z)", 5.0), ("not (1 < 2 <= 2)", False),
     ("1 == 1 or x.y", True), ("-x.y", -9), ("'erf' == name", True), ("round(2.6)", 3),
     ("[[1, z], [z / 2, 1]]", [[1, 2], [1.0, 1]])],
)  # fmt: skip
def test_expressions(text: str, value: Any) -> None:
    names = {"x.y": 9, "z": 2, "name": "erf"}
    assert Expression(text)(names.__getitem__) == value


@pytest.mark.parametrize(
    "text",
    ["", "1 +", "__import__('os')", "x.y()", "[1] * 2", "-[1]", "[1, 'a']", "[1 for i in x]", "lambda: 1",
     "open('f')", "f'{x}'", "x[0]", "(1).real", "max(a=1)", "1; 2",
     "x := 1", "9" * 500, "1 if 2 else 3", "sqrt", "b'x'", "1j"],
)  # fmt: skip
def test_what_is_no_expression(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        Expression(text)({}.__getitem__)


@given(st.text(max_size=40))
def test_no_text_runs(text: str) -> None:
    with contextlib.suppress(ValueError):
        Expression(text)(lambda name: 1.0)


@pytest.mark.parametrize(
    "text", ["9 ** 9 ** 9", "1 / 0", "log(0)", "2 ** 0.5 ** 'x'", "10.0 ** 400", "(-1) ** 0.5", "'a' * 9"]
)
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"\*|/|log"):
        Expression(text)({}.__getitem__)


BAD = [
    ({"student.width": 3}, {}, "student.width: 3 given, must be a list of values"),
    ({"student.width": []}, {}, "student.width: no values given"),
    ({"student.width": [1, 1]}, {}, "student.width: a value is given twice"),
    ({"student.depth": [1]}, {}, "student.depth"),
    ({"students.width": [1]}, {}, "students.width: cannot vary, must begin with one of"),
    ({"width": [1]}, {}, "width: is varied, but nothing uses it"),
    ({"student.width": [0]}, {}, "at student.width = 0"),
    ({"student.width": [1]}, {"where": "student.width"}, "where: gives 1, must be true or false"),
    ({"student.width": [1]}, {"where": "student.width > 5"}, "where: no point satisfies it"),
    ({"student.width": [1]}, {"where": "nothing > 5"}, "nothing: unknown"),
    ({"student.width": [1]}, {"derive": {"student.width": "2"}}, "student.width: is varied and derived"),
    ({"student.width": [1]}, {"derive": {"inputs.dim": "1 +"}}, "inputs.dim: '1 +': is no expression"),
    ({"student.width": [1]}, {"derive": {"inputs.dim": "100 / 3"}}, "inputs.dim"),
    ({"student.width": [1]}, {"together": [["student.width"]]}, "together"),
    ({"student.width": [1]}, {"together": [["student.width", "inputs.dim"]]}, "together: 'inputs.dim' is not varied"),
    (
        {"student.width": [1], "inputs.dim": [1, 2]},
        {"together": [["student.width", "inputs.dim"]]},
        "must have as many each",
    ),
    ({"student.width": range(4000), "inputs.dim": range(4000)}, {}, "must be at most"),
]


@pytest.mark.parametrize(("vary", "options", "message"), BAD)
def test_mistakes_are_named_before_anything_runs(vary: Any, options: Any, message: str, small: sv.Problem) -> None:
    with pytest.raises(ValueError, match=message.replace("+", r"\+").replace("[", r"\[")):
        plan(small, Light(), vary, **options)


def test_more_mistakes(small: sv.Problem, tmp_path: Path) -> None:
    vary = {"student.width": [1, 2]}
    for options, message in [
        ({}, "until"),
        ({"until": 1, "keep": ["error"]}, "keep: 'error' given"),
        ({"until": 1, "workers": -1}, "workers: -1 given"),
        ({"until": 1, "shard": (3, 2)}, "shard"),
        ({"until": 1, "start": lambda problem, seed: sv.start(problem, seed=seed)}, "seeds: are missing"),
        ({"until": 1, "start": sv.start(small, seed=0), "starts": 3}, "starts: 3 given"),
        ({"until": 1, "starts": 3, "seeds": [0, 1]}, "seeds closer than that repeat each other"),
        ({"until": 1, "seeds": 3}, "seeds: 3 given"),
        ({"until": 1, "level": sv.Micro(data=sv.Data(iter([])))}, "iterator given"),
        ({"until": 1, "measure": FewestSamples()}, "measure: given together"),
    ]:
        with pytest.raises(ValueError, match=message):
            sv.sweep(small, vary, store=None, **options)
    for arguments, options, message in [
        (("x", vary), {}, "must be a Problem"),
        ((small, vary, sv.Macro), {"until": 1}, r"write Macro\(\)"),
        ((small, vary), {"until": 1, "stop": "risk"}, "must come from when"),
    ]:
        with pytest.raises(TypeError, match=message):
            sv.sweep(*arguments, store=None, **options)
    with pytest.raises(ValueError, match=r"recovery\.by: 'hope' given"):
        FewestSamples(by="hope")
    for name in ("risk", "time", "at_time", "sqrt"):
        with pytest.raises(ValueError, match=f"{name}: is no name for a variable"):
            sv.sweep(small, {name: [1.0, 2.0]}, until=1, derive={"training.learning_rate": name}, store=None)
    with pytest.raises(ValueError, match="vary: is empty"):
        sv.sweep(small, {}, until=1, store=None)
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match="holds other files"):
        sv.sweep(small, vary, until=1, store=tmp_path)
    with pytest.raises(FileNotFoundError, match="No such directory"):
        Store(tmp_path / "none", create=False)
    with pytest.raises(ValueError, match=r"level\.rtools: is not a field \(did you mean rtol\?\), must be one of rtol"):
        sv.sweep(small, {"level.rtools": [1]}, until=1, store=None)
    with pytest.raises(ValueError, match=r"level\.rtol: 5 given"):
        sv.sweep(small, {"level.rtol": [5]}, until=1, store=None)


def test_points_that_cannot_run_are_marked(small: sv.Problem) -> None:
    swept = sv.sweep(small, {"inputs.dim": [4, 100]}, sv.Meso(), 1, store=None, workers=0)
    assert swept.status == (2, 1, 1)
    assert "Micro takes blocks of any size" in swept.data["failure"].sel(dim=4).item()
    assert swept.data["failure"].sel(dim=100).item() == ""
    assert np.isnan(swept.data["risk"].sel(dim=4)).all()


def test_results_of_several_shapes_share_a_dataset(small: sv.Problem) -> None:
    swept = sv.sweep(
        small, {"student.width": [1, 2], "level": [sv.Macro(), sv.Micro(runs=3)]}, until=1, times=[0.5, 1.0],
        keep=("student_overlap", "readout"), store=None, workers=0,
    )  # fmt: skip
    data = swept.data
    assert data["student_overlap"].shape == (2, 2, 3, 2, 2, 2)
    assert np.isnan(data["student_overlap"].sel(width=1).isel(student=1)).all()
    assert (data["ending"].isel(level=0, run=slice(1, None)) == "").all()
    assert list(data["level"].values)[1].startswith("Micro(runs=3")
    part = data["readout"].isel(
        width=[1], level=1, run=slice(0, 2), time=-1, student=[1, 0]
    )  # what is read lazily is what is there
    assert np.array_equal(part, data["readout"].values[[1], 1, 0:2, -1][..., [1, 0]])


def test_times_of_their_own(small: sv.Problem, tmp_path: Path) -> None:
    swept = sv.sweep(
        small,
        {"run.until": [1.0, 2.0], "level.small_rate": [True, False]},
        times=[0.5],
        until=1.0,
        store=None,
        workers=0,
    )
    data = swept.data.sel(small_rate=True)
    assert np.array_equal(data["at_time"], [[0.5, 1.0], [0.5, 2.0]])
    export(swept.data, tmp_path / "all.nc")
    with xarray.open_dataset(tmp_path / "all.nc") as back:
        xarray.testing.assert_identical(back.load(), swept.data.load())
    export(swept.data, tmp_path / "all.csv")
    assert "0.5" in (tmp_path / "all.csv").read_text().splitlines()[1].split(",")


def test_starts_in_a_batch_are_the_starts_alone(small: sv.Problem) -> None:
    options: dict[str, Any] = {"until": 5, "store": None, "workers": 0, "keep": ()}
    batch = sv.sweep(small, {"student.width": [2]}, sv.Micro(), seeds=[0], starts=5, **options).data
    alone = sv.sweep(small, {"student.width": [2]}, sv.Micro(), seeds=range(5), **options).data
    assert np.array_equal(batch["end_risk"].values.ravel(), alone["end_risk"].values.ravel())
    drawn = sv.sweep(
        small, {"student.width": [2]}, sv.Micro(), seeds=[0], starts=5,
        start=lambda problem, seed: sv.start(problem, seed=seed), **options,
    ).data  # fmt: skip
    assert np.array_equal(batch["end_risk"], drawn["end_risk"])


def test_a_result_is_named_by_all_that_it_depends_on(small: sv.Problem) -> None:
    def key(problem: sv.Problem = small, **options: Any) -> bytes:
        settings: dict[str, Any] = {"until": 5.0, "level": sv.Macro(), "keep": ("risk",), "seeds": [1]} | options
        swept = sv.sweep(problem, {"student.width": [2]}, store=None, workers=0, **settings)
        return swept.sweep.points[0].key

    same = key()
    assert key() == same
    assert key(level=sv.Macro(threads=2)) == same  # which changes nothing
    others = [
        key(small.replace(training__learning_rate=0.2)), key(until=6.0), key(level=sv.Macro(rtol=1e-5)), key(seeds=[2]),
        key(keep=()), key(clock="steps"), key(stop=sv.when("risk", below=0.1)), key(start={"scale": 2.0}), key(starts=2),
        key(level=sv.Micro()),
    ]  # fmt: skip
    assert len({same, *others}) == 11


def test_records_are_what_was_written() -> None:
    arrays = {
        "numbers": Labelled(("a", "b"), np.arange(6.0).reshape(2, 3)[:, ::-1]),
        "texts": Labelled(("a",), np.array(["é", "longer"])),
        "truth": Labelled((), np.array(True)),
        "none": Labelled(("a",), np.empty(0, dtype=np.int32)),
        "big": Labelled(("a",), np.array([1.5, np.nan, np.inf], dtype=">f8")),
    }
    back = decode(encode(Record(key_of(1), {"x": [1, "é"]}, arrays)))
    assert back.about == {"x": [1, "é"]}
    for name, (dims, values) in arrays.items():
        assert back.arrays[name].dims == dims
        assert np.array_equal(back.arrays[name].values, values, equal_nan=values.dtype.kind == "f")
    with pytest.raises(TypeError, match="cannot be stored"):
        encode(Record(key_of(1), {}, {"x": Labelled((), np.array([{}]))}))


def test_files_of_all_kinds(small: sv.Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas

    monkeypatch.setattr("solvable.sweeps.gather.SLAB", 7)  # so that files are written in many parts
    data = sv.sweep(
        small,
        {"student.width": [1, 2, 3], "inputs.dim": [4, 100]},
        sv.Meso(runs=2),
        1,
        times=[0.5, 1.0],
        store=None,
        workers=0,
    ).data
    export(data, tmp_path / "all.nc")
    with xarray.open_dataset(tmp_path / "all.nc") as back:
        xarray.testing.assert_identical(back.load(), data.load())
    export(data, tmp_path / "all.csv")
    export(data, tmp_path / "all.parquet")
    table, other = pandas.read_csv(tmp_path / "all.csv"), pandas.read_parquet(tmp_path / "all.parquet")
    assert len(table) == len(other) == int(data["done"].sum()) * 2 * 2 + 2  # two points failed
    assert table["failure"].notna().sum() == 2
    assert {"student.width", "inputs.dim", "run", "time", "risk", "exit_time", "ending"} <= set(table.columns)
    assert list(other.columns) == list(table.columns)
    row = table[(table["student.width"] == 2) & (table["inputs.dim"] == 100) & (table.run == 1) & (table.time == 1.0)]
    assert row["risk"].item() == data["risk"].sel(width=2, dim=100, run=1, time=1.0).item()
    with pytest.raises(ValueError, match="must end in"):
        export(data, tmp_path / "all.xls")


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda path: path.stem)
def test_examples(
    file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their first points, and the picture of these."""
    monkeypatch.chdir(tmp_path)
    small = tmp_path / file.name
    text = file.read_text().replace("count = 41", "count = 3").replace("to = 12", "to = 4").replace("to = 7", "to = 1")
    text = (
        text.replace("[1, 2, 3, 4, 5, 6]", "[1, 2]")
        .replace("instances = 25", "instances = 2")
        .replace("until = 200", "until = 5")
    )
    small.write_text(text)
    assert main(["sweep", str(small), "-n", "--json"]) == 0
    points = json.loads(capsys.readouterr().out)["points"]
    assert not (tmp_path / "solvable.store").exists()
    assert main(["sweep", str(small), "--workers", "0"]) == 0
    assert f"{points} of {points} points" in capsys.readouterr().out
    assert main(["sweep", str(small), "--show", "--output", "picture.png"]) == 0
    assert (tmp_path / "picture.png").stat().st_size > 10_000
    assert main(["store", "status", "--json"]) == 0
    (status,) = json.loads(capsys.readouterr().out.partition("picture.png\n")[2])
    assert status["done"] == points
    assert status["missing"] == 0
    assert main(["store", "gather", "--output", "all.csv"]) == 0
    assert main(["store", "verify"]) == 0
    assert main(["store", "compact"]) == 0


@pytest.mark.parametrize("quantity", [None, "end_risk", "success", "nfev"])
@pytest.mark.parametrize("axes", [1, 2, 3])
def test_pictures(axes: int, quantity: str | None, small: sv.Problem, tmp_path: Path) -> None:
    vary = {"student.width": [1, 2, 3], "training.learning_rate": np.geomspace(0.1, 1, 4), "teacher.width": [1, 2]}
    swept = sv.sweep(small, dict(list(vary.items())[:axes]), until=20, seeds=[0, 1], store=None, workers=0)
    with sv.plot.style():
        picture = sv.plot.sweep(swept, quantity)
        picture.savefig(tmp_path / "picture.png")
    assert picture.axes


def test_names_of_schedules_do_not_overlap(small: sv.Problem, tmp_path: Path) -> None:
    """Slanted labels are apart by the sine of their angle times how far their ticks are."""
    rates = [
        sv.Schedule(times=(0, 5), rates=(0.3, 0.1)),
        sv.Schedule(times=(0, 5, 10), rates=(0.3, 0.05, 0.01)),
        sv.Schedule(times=(0, 5), rates=(0.5, 0.125), shape="linear"),
    ]
    swept = sv.sweep(small, {"training.learning_rate": rates}, until=20, seeds=[0], store=None, workers=0)
    with sv.plot.style():
        picture = sv.plot.sweep(swept)
        picture.savefig(tmp_path / "picture.png")
    labels = picture.axes[-1].get_xticklabels()
    assert [label.get_text() for label in labels] == ["0.3, 0.1 (5)", "0.3, 0.05 (5), 0.01 (10)", "0.5 to 0.125 (5)"]
    angle = np.deg2rad(labels[0].get_rotation())
    places = [picture.axes[-1].transData.transform((label.get_position()[0], 0))[0] for label in labels]
    height = labels[0].get_fontsize() * picture.dpi / 72
    assert np.diff(places).min() * np.sin(angle) > 1.3 * height


def test_pictures_of_nothing(small: sv.Problem) -> None:
    swept = sv.sweep(small, {"student.width": [1]}, until=1, store=None, workers=0)
    with pytest.raises(ValueError, match="quantity: 'nothing' given, must be one of"):
        sv.plot.sweep(swept, "nothing")
    never = sv.sweep(small, {"inputs.dim": [4]}, sv.Meso(), 1, store=None, workers=0)
    with pytest.raises(ValueError, match="no point is there yet"):
        sv.plot.sweep(never)


TABLES = """
[teacher]
width = 1
[student]
width = 2
[inputs]
dim = 100
[training]
learning_rate = 0.1
[start]
seed = 0
[run]
until = 1
"""


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "vary: is missing"),
        ("[vary]\nstudent.width = 3", "student.width: 3 given, must be a list of values"),
        ("[vary]\nstudent.width = { from = 1 }", "vary.student.width.to: is missing"),
        ("[vary]\nstudent.width = { from = 1, to = 3 }", "vary.student.width: give either count or step"),
        ("[vary]\nstudent.width = { from = 0, to = 3, count = 2, scale = 'log' }", "needs count, and positive"),
        ("[vary]\nstudent.width = { from = 3, to = 1, step = 1 }", "is no range"),
        (
            "[vary]\nstudent.width = { from = 1, to = 2.5, count = 3 }",
            "student.width: 1.0 given, must be a whole number",
        ),
        ("[vary]\nlevel = ['macros']", "level: {'name': 'macros'} given, must have a name"),
        ("[vary]\nstudent.width = [1]\n[sweep]\nkeeps = []", "sweep.keeps: is not a field here"),
        ("[vary]\nstudent.width = [1]\n[sweep]\nwhere = '__import__'", "__import__: unknown"),
        ("[vary]\nstudent.width = [1]\n[recovery]\n", "start: given together with recovery"),
        ("[vary]\nstudent.width = [1]\n[level]\nname = 'macro'\nruns = 3", "level.runs: is not a field here"),
        ("vary = 3", "vary: 3 given, must be a table"),
    ],
)
def test_mistakes_in_files(text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f"{text}\n{TABLES}" if text.startswith("vary") else f"{TABLES}\n{text}")
    assert main(["sweep", str(file), "--store", str(tmp_path / "store")]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "Traceback" not in err
    assert not (tmp_path / "store").exists()


def test_ranges(tmp_path: Path) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(
        TABLES.replace("learning_rate = 0.1\n", "")
        + "[vary]\ntraining.learning_rate = { from = 0.01, to = 1, count = 3, scale = 'log' }\n"
        + "student.width = { from = 1, to = 5, step = 2 }\nstart.scale = [0.5, 1]\n"
    )
    planned = read(file)
    assert planned.title == "sweep"
    assert planned.grid.dims == ("learning_rate", "width", "scale")
    assert planned.grid.axes[0].values[0] == pytest.approx((0.01, 0.1, 1.0))
    assert planned.grid.axes[1].values[0] == (1, 3, 5)
    assert isinstance(planned.points[-1].measure, Run)
    assert planned.points[-1].measure.start.scale == 1.0  # type: ignore[union-attr]
    file.write_text(f"{TABLES}\n[vary]\nstudent.width = [3]")
    assert sv.Problem.load(file).student.width == 2  # what is varied is passed over


@pytest.mark.parametrize(
    "words", [["--shard", "3/2"], ["--shard", "x"], ["--workers", "-3"], ["--workers", "two"], ["--output", "x.png"]]
)
def test_bad_options(words: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sweep.toml"
    file.write_text(f"{TABLES}\n[vary]\nstudent.width = [1]")
    assert main(["sweep", str(file), "--store", str(tmp_path / "store"), *words]) == 2
    assert words[0].strip("-") in capsys.readouterr().err


def test_recovery_is_that_of_empirical() -> None:
    problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4)
    data = sv.sweep(
        problem,
        {"teacher.width": [1, 2], "recovery.seed": [0, 5]},
        measure=FewestSamples(instances=3),
        store=None,
        workers=0,
    ).data
    alone = sv.empirical.recovery(problem.replace(teacher__width=2), 3, 5)
    assert np.array_equal(data["fewest"].sel(width=2, seed=5), alone.fewest)
    assert data["mean"].sel(width=2, seed=5).item() == alone.mean


def test_a_figure_keeps_its_points(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["figure", "bocchi2026/2", "--quick", "--output", str(tmp_path), "--store", str(tmp_path / "store")]
    assert main(words) == 0
    first = capsys.readouterr().out
    store = Store(tmp_path / "store")
    assert len(sweeps_in(store)) == 2
    there = len(store)
    monkeypatch.setattr("solvable.sweeps.engines.work", None)  # nothing is left to compute
    assert main(words) == 0
    assert capsys.readouterr().out == first
    assert len(Store(tmp_path / "store")) == there


@pytest.mark.slow
def test_a_hundred_thousand_entries(tmp_path: Path) -> None:
    """Written compacted; they list and open in seconds (generously: the machine may be busy)."""
    planned = plan(PROBLEM, Light(size=3), {"light.number": range(100_000)})
    store = Store(tmp_path / "store")
    records = [encode(Record(point.key, {}, point.measure.compute(point.problem))) for point in planned.points]
    for i in range(0, len(records), 20_000):
        store.add(records[i : i + 20_000])
    store.add([encode(planned.manifest)])
    began = time.perf_counter()
    opened = Store(tmp_path / "store")
    assert len(opened) == 100_001
    (manifest,) = sweeps_in(opened)
    assert time.perf_counter() - began < 10
    from solvable.sweeps.gather import dataset

    data = dataset(opened, manifest)
    assert time.perf_counter() - began < 60
    last = decode(records[-1]).arrays["curve"].values
    assert np.array_equal(data["curve"].isel(number=-1), last)
    assert math.isfinite(float(data["end"].isel(number=slice(0, 100)).mean()))


def test_whole_numbers_may_be_floats(small: sv.Problem) -> None:
    points = plan(
        small, Light(), {"student.width": np.linspace(1, 3, 3)}, derive={"inputs.dim": "100 * student.width / 2"}
    ).points
    assert [(p.problem.student.width, p.problem.inputs.dim) for p in points] == [(1, 50), (2, 100), (3, 150)]


def test_conditions_come_before_what_makes_no_sense_without(small: sv.Problem) -> None:
    planned = plan(
        small,
        Light(),
        {"student.width": [1, 2]},
        derive={"inputs.dim": "10 // (student.width - 1)"},
        where="student.width > 1",
    )
    assert [point.problem.inputs.dim for point in planned.points] == [10]


def test_defaults_are_part_of_the_name_of_a_result() -> None:
    """Fields at their defaults do not enter the hash: whoever changes a default must raise dynamics.VERSION, and this."""
    from solvable.dynamics import VERSION
    from solvable.runfiles import RunTable, StartTable

    assert VERSION == 7
    assert StartTable().model_dump() == {
        "seed": None, "scale": 1.0, "students": "gaussian", "cross": None, "student_overlap": None, "cross_overlap": None,
        "teacher_overlap": None, "direction_overlap": None, "readout": None,
    }  # fmt: skip
    assert RunTable().model_dump() == {"until": None, "clock": None, "times": None, "keep_blocks": False, "stop": None}
    problem = sv.Problem(
        teacher=sv.Teacher(width=1), student=sv.Student(width=1), training=sv.Training(learning_rate=0.1)
    )
    assert problem.hash == "8911a7b5dda9ea4b0c3702f459fe37aecc10b2b5bfb0e6636d55be99d91bc686"


@given(st.data())
def test_lazy_values_are_the_values(data: st.DataObject) -> None:
    lazy, eager = _both()
    name = data.draw(st.sampled_from(["curve", "end"]))
    choice = {}
    for dim in lazy[name].dims:
        size = lazy.sizes[dim]
        integer = st.integers(-size, size - 1)
        choice[dim] = data.draw(
            st.one_of(
                integer,
                st.lists(integer, max_size=4),
                st.builds(slice, st.none() | integer, st.none() | integer, st.sampled_from([None, 1, 2, -1, -3])),
            )
        )
    part = lazy[name].isel(choice)
    assert np.array_equal(part, eager[name].isel(choice), equal_nan=True)
    assert np.array_equal(part.T, eager[name].isel(choice).T, equal_nan=True)


@functools.lru_cache
def _both() -> tuple[xarray.Dataset, xarray.Dataset]:
    planned = plan(
        PROBLEM, Light(), {"light.number": range(5), "light.size": [2, 5, 3]}, where="light.number + light.size != 6"
    )
    swept = execute(planned, None, workers=0)
    return swept.data, execute(planned, swept.store, workers=0).data.load()


def test_a_dataset_is_copied_pickled_and_stays_as_it_was(tmp_path: Path) -> None:
    import copy
    import gc
    import pickle

    planned = plan(PROBLEM, Light(), {"light.number": range(6)})
    execute(planned, tmp_path / "store", workers=0, shard=(1, 2))
    first = execute(planned, tmp_path / "store", workers=0, shard=(1, 2)).data
    before = first.copy(deep=True)
    other = copy.deepcopy(first)
    del other
    gc.collect()
    execute(planned, tmp_path / "store", workers=0)
    assert first["done"].values.tolist() == [True, False] * 3
    assert np.isnan(first["curve"].values[1::2]).all()  # what came later is not half there
    assert np.array_equal(before["curve"], first["curve"], equal_nan=True)
    assert len(pickle.loads(pickle.dumps(Store(tmp_path / "store")))) == 7


def test_rows_of_files_do_not_travel(tmp_path: Path) -> None:
    import pickle

    rows = np.random.default_rng(0).standard_normal((1000, 20))
    np.save(tmp_path / "rows.npy", rows)
    data = sv.Data(tmp_path / "rows.npy")
    mark = data.fingerprint
    assert len(pickle.dumps(data)) < 10_000
    again = pickle.loads(pickle.dumps(data))
    assert np.array_equal(again.rows, rows)
    assert again.fingerprint == mark


def test_a_store_knows_functions_from_each_other(small: sv.Problem, tmp_path: Path) -> None:
    """They agree wherever values were compared; the second is not given the first one's numbers."""

    def risk(function: Any, store: Any) -> float:
        problem = small.replace(teacher__target=sv.problems.Target("cube", 1, function))
        swept = sv.sweep(problem, {"student.width": [2]}, sv.Macro(), 0.1, store=store, workers=0)
        return float(swept.data["start_risk"].values.item())

    def free(z: np.ndarray) -> np.ndarray:
        return z[:, 0] ** 3

    def clipped(z: np.ndarray) -> np.ndarray:
        return np.clip(z[:, 0], -3, 3) ** 3

    assert risk(clipped, None) != risk(free, None)
    assert risk(free, tmp_path / "store") == risk(free, None)
    assert risk(clipped, tmp_path / "store") == risk(clipped, None)
    assert len(Store(tmp_path / "store")) == 4  # two results, two sweeps


def test_a_store_refuses_functions_that_it_cannot_know_again(small: sv.Problem, tmp_path: Path) -> None:
    hidden = np.frompyfunc(lambda z: float(z) ** 3, 1, 1)

    def target(version: str | None = None) -> sv.problems.Target:
        return sv.problems.Target("cube", 1, lambda z: hidden(z[:, 0]).astype(float), version=version)

    options: dict[str, Any] = {"level": sv.Macro(nodes=256), "until": 0.1, "workers": 0}
    vary = {"student.width": [2]}
    with pytest.raises(ValueError, match=r"teacher.target: the function 'cube' .* hides its code.* version='1'"):
        sv.sweep(small.replace(teacher__target=target()), vary, store=tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()
    assert sv.sweep(small.replace(teacher__target=target()), vary, store=None, **options).status.done == 1
    for _ in range(2):
        sv.sweep(small.replace(teacher__target=target("1")), vary, store=tmp_path / "store", **options)
    assert len(Store(tmp_path / "store")) == 2
    sv.sweep(small.replace(teacher__target=target("2")), vary, store=tmp_path / "store", **options)
    assert len(Store(tmp_path / "store")) == 4


def test_functions_that_changed_are_refused(small: sv.Problem) -> None:
    scope: dict[str, Any] = {"k": 1.0, "__name__": "__main__"}
    exec("def f(z):\n    return k * z[:, 0]", scope)
    problem = small.replace(teacher__target=sv.problems.Target("line", 1, scope["f"]))
    options: dict[str, Any] = {"level": sv.Macro(nodes=256), "until": 0.1, "workers": 0, "store": None}
    sv.sweep(problem, {"student.width": [2]}, **options)
    scope["k"] = 2.0
    with pytest.raises(ValueError, match=r"teacher.target: 'line': has changed since it was made"):
        sv.sweep(problem, {"student.width": [2]}, **options)


def test_results_of_other_code_are_told_and_can_be_computed_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, store = tmp_path / "rates.toml", tmp_path / "store"
    file.write_text(rates(6))
    words = ["sweep", str(file), "--store", str(store), "--workers", "0"]
    assert main(words) == 0
    monkeypatch.setattr("solvable.sweeps.makers.computing_code", lambda: "another")
    capsys.readouterr()
    before = {key: Store(store).encoded(key) for key in Store(store).keys()}  # noqa: SIM118
    assert main(words) == 0
    told = capsys.readouterr()
    assert "6 of 6 results were made by other code than this (solvable" in told.err
    assert "--stale recompute computes them again" in told.err
    assert {key: Store(store).encoded(key) for key in Store(store).keys()} == before  # noqa: SIM118
    assert main(["store", "status", "--store", str(store)]) == 0
    assert "6 of 6 results were made by other code" in capsys.readouterr().out
    with pytest.warns(UserWarning, match=r"other code than this .* they are kept, stale='recompute'"):
        swept = execute(read(file), store, workers=0)
    assert json.loads(swept.data.attrs["made_by"])[0]["results"] == 6

    assert main([*words, "--stale", "recompute"]) == 0
    assert "other code" not in capsys.readouterr().err
    after = Store(store)
    assert {json.loads(execute(read(file), after, workers=0).data.attrs["made_by"])[0]["code"]} == {"another"}
    assert sorted(after.keys()) == sorted(before)
    assert all(
        np.array_equal(after.read(key).arrays["risk"].values, decode(before[key]).arrays["risk"].values)
        for key in before
        if not key.startswith(MANIFEST)
    )
    assert list((store / "replaced").iterdir())  # nothing is thrown away
    assert main(["store", "status", "--json", "--store", str(store)]) == 0
    (status,) = json.loads(capsys.readouterr().out)
    assert (status["done"], status["made_by_other_code"]) == (6, 0)
    with pytest.raises(ValueError, match="stale: 'drop' given, must be 'keep' or 'recompute'"):
        execute(read(file), store, workers=0, stale="drop")


def test_only_results_of_other_code_are_computed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others in the same files stay, and a second time there is nothing to do."""
    log, store = tmp_path / "log", tmp_path / "store"
    execute(plan(PROBLEM, Light(), {"light.number": range(3)}), store, workers=0)
    with monkeypatch.context() as patch:
        patch.setattr("solvable.sweeps.makers.computing_code", lambda: "another")
        with pytest.warns(UserWarning, match="3 of 3 results were made by other code"):
            execute(plan(PROBLEM, Light(), {"light.number": range(8)}), store, workers=0)
    Store(store).compact()
    for computed in (5, 5):
        swept = execute(
            plan(PROBLEM, Light(log=str(log)), {"light.number": range(8)}), store, workers=0, stale="recompute"
        )
        assert swept.status == (8, 8, 0)
        assert len(log.read_text().splitlines()) == computed


def test_every_result_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned, store = plan(PROBLEM, Light(), {"light.number": range(8)}), Store(tmp_path / "store")
    execute(planned, store, workers=0)
    read, real = list[bytes](), store.encoded
    monkeypatch.setattr(store, "encoded", lambda key: read.append(key) or real(key))
    for stale in STALE:
        read.clear()
        execute(planned, store, workers=0, stale=stale)
        assert sorted(key for key in read if key != planned.manifest.key) == sorted(planned.points.all_keys())


def test_two_shares_compute_results_of_other_code_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, store = tmp_path / "log", tmp_path / "store"
    execute(plan(PROBLEM, Light(), {"light.number": range(8)}), store, workers=0)
    monkeypatch.setattr("solvable.sweeps.makers.computing_code", lambda: "another")
    for share in (1, 2, 1):
        planned = plan(PROBLEM, Light(log=str(log)), {"light.number": range(8)})
        swept = execute(planned, store, workers=0, shard=(share, 2), stale="recompute")
    assert swept.status == (8, 8, 0)
    assert len(log.read_text().splitlines()) == 8


def test_sources_that_changed_since_they_were_imported(tmp_path: Path) -> None:
    """What runs is then no longer what the files say: its digest is unknown, which is other code to all."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(sv.__file__).parent, copy / "solvable", ignore=shutil.ignore_patterns("__pycache__"))
    source = copy / "solvable" / "dynamics" / "covariance.py"
    date = source.stat().st_mtime - 100
    edits = {
        "pass": "",
        f"pathlib.Path({str(source)!r}).write_text('RATE = 2.0')": CHANGED,
        f"new = pathlib.Path({str(source)!r}).with_suffix('.new'); new.touch(); "
        f"os.utime(new, ({date}, {date})); new.replace({str(source)!r})": CHANGED,
    }
    for edit, warning in edits.items():
        script = (
            f"import os, pathlib, time, importlib; import solvable; time.sleep(0.1); {edit}; importlib.reload(solvable)\n"
            "from solvable.sweeps.makers import Maker, computing_code, is_other\n"
            "print(len(computing_code()), is_other(Maker('0', computing_code())))"
        )
        environment = os.environ | {"PYTHONPATH": str(copy)}
        told = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        )
        assert told.stdout.split() == (["0", "True"] if warning else ["16", "False"])
        assert warning in told.stderr
        assert bool(warning) == bool(told.stderr)


def test_results_of_unknown_code_cannot_be_told_from_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several processes would set aside each other's."""
    monkeypatch.setattr("solvable.sweeps.makers.computing_code", lambda: "")
    planned = plan(PROBLEM, Light(), {"light.number": range(3)})
    with pytest.raises(ValueError, match=r"stale: 'recompute' given, but the sources .* restart Python"):
        execute(planned, tmp_path / "store", workers=0, stale="recompute")
    execute(planned, tmp_path / "store", workers=0)
    with pytest.warns(UserWarning, match="3 of 3 results were made by other code"):
        execute(planned, tmp_path / "store", workers=0)


def test_an_edited_kernel_is_another_code(tmp_path: Path) -> None:
    """A copy of the package with one number changed, in a process of its own."""
    copy = tmp_path / "copy"
    shutil.copytree(Path(sv.__file__).parent, copy / "solvable", ignore=shutil.ignore_patterns("__pycache__"))
    script = (
        "import warnings; from light import PROBLEM, Light; from solvable.sweeps import execute, plan\n"
        "warnings.simplefilter('error')\n"
        f"execute(plan(PROBLEM, Light(), {{'light.number': range(4)}}), {str(tmp_path / 'store')!r}, workers=0)"
    )

    def run(text: str = "") -> str:
        source = copy / "solvable" / "dynamics" / "covariance.py"
        source.write_text(source.read_text(encoding="utf-8") + text, encoding="utf-8", newline="\r\n")
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(copy), str(Path(__file__).parent)])}
        words = [sys.executable, "-c", script]
        return subprocess.run(words, capture_output=True, text=True, env=environment, check=False).stderr

    assert digest_of(copy / "solvable") == digest_of(Path(sv.__file__).parent)
    assert run() == ""
    assert digest_of(copy / "solvable") == digest_of(Path(sv.__file__).parent)  # line endings do not count
    assert run() == ""
    assert "4 of 4 results were made by other code" in run("\nRATE = 2.0\n")


def test_the_digest_is_of_what_computes() -> None:
    began = time.process_time()
    digest_of(PACKAGE)
    assert time.process_time() - began < 0.5  # some milliseconds
    assert all((PACKAGE / name).is_file() for name in (*FURTHER, *SILENT))
    rooms = {path.parent.name for path in PACKAGE.glob("*/*.py") if b"compiled(" in path.read_bytes()}
    assert rooms - {"control"} <= set(ROOMS)  # no sweep looks for schedules


def test_the_first_results_come_before_the_last_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Points are made as they are needed: those ahead are checked, and none is kept in memory."""
    monkeypatch.setattr("solvable.sweeps.planning.AHEAD", 10)
    made: list[int] = []
    real = Light.vary

    def counted(self: Light, changes: Any) -> Light:
        made.append(changes["light.number"])
        return real(self, changes)

    monkeypatch.setattr(Light, "vary", counted)
    monkeypatch.setattr("solvable.sweeps.executing.PULSE", 0.0)
    monkeypatch.setattr("solvable.sweeps.drive.FLUSH_SECONDS", 0.0)
    planned = plan(PROBLEM, Light(), {"light.number": range(2000)})
    assert len(made) == 10
    seen: list[int] = []
    execute(planned, tmp_path / "store", workers=0, progress=False, stored=lambda keys: seen.append(max(made)))
    assert seen[0] < 1000
    assert planned.points.is_whole
    assert planned.status(Store(tmp_path / "store")) == (2000, 2000, 0)
    whole = plan(PROBLEM, Light(), {"light.number": range(2000)})
    assert whole.manifest.key == planned.manifest.key
    assert Store(tmp_path / "store").has(whole.manifest.key)
    made.clear()
    assert execute(whole, tmp_path / "store", workers=0, progress=False).status.done == 2000
    assert len(made) <= 4  # what is there is not made again


def test_points_must_come_out_the_same_each_time() -> None:
    dice = np.random.default_rng(0)
    planned = plan(
        PROBLEM, Light(), {"light.number": range(3)}, derive={"light.size": lambda at: int(dice.integers(99))}
    )
    assert [point.measure.size for point in planned.points]  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match="comes out differently each time"):
        execute(planned, None, workers=0)


def test_start_functions_are_called_once_for_each_point(small: sv.Problem) -> None:
    called: list[int] = []

    def start(problem: sv.Problem, seed: int) -> sv.Overlaps:
        called.append(seed)
        return sv.start(problem, seed=seed)

    sv.sweep(small, {"student.width": [1, 2]}, until=1, seeds=range(5), start=start, store=None, workers=0, keep=())
    assert sorted(called) == sorted([*range(5)] * 2)


def test_names_of_results_travel(small: sv.Problem, tmp_path: Path) -> None:
    """What a worker notes in a record is what the record is named by, also for functions."""
    bend = 0.5
    own = sv.Activation("bent", lambda z: z + bend * np.sin(z), lambda z: 1 + bend * np.cos(z))
    problem = small.replace(student__activation=own)
    sv.sweep(
        problem, {"student.width": [1]}, sv.Macro(nodes=256), 0.1, store=tmp_path / "store", workers=1, progress=False
    )
    store = Store(tmp_path / "store")
    (key,) = [key for key in store.keys() if not key.startswith(MANIFEST)]  # noqa: SIM118
    assert key_of(store.read(key).about["content"]) == key


def test_a_bad_point_far_away_ends_a_sweep_that_keeps_what_it_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("solvable.sweeps.planning.AHEAD", 10)
    monkeypatch.setattr("solvable.sweeps.executing.PULSE", 0.0)
    vary = {"light.number": range(30), "student.width": [*range(1, 20), 0]}
    planned = plan(PROBLEM, Light(), vary)
    with pytest.raises(sv.InvalidProblem, match=r"student.width: 0 given.*\(at light.number = 0, student.width = 0\)"):
        execute(planned, tmp_path / "store", workers=0)
    assert not Store(tmp_path / "store").verify()
    with pytest.raises(sv.InvalidProblem, match=r"student.width: 0 given"):
        planned.status(Store(tmp_path / "store"))


def test_points_under_a_condition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Made late or early: the same points, shares and keys."""
    options: dict[str, Any] = {"where": "light.number % 7 == 3"}
    vary = {"light.number": range(300), "student.width": [1, 2]}
    early = plan(PROBLEM, Light(), vary, **options)
    monkeypatch.setattr("solvable.sweeps.planning.AHEAD", 4)
    late = plan(PROBLEM, Light(), vary, **options)
    assert not late.points.is_whole
    assert late.points.expected > len(early.points) == 86
    assert late.points[3].key == early.points[3].key
    assert [point.number for point in late.points[::20]] == [point.number for point in early.points[::20]]
    for i in (1, 2, 3):
        execute(plan(PROBLEM, Light(), vary, **options), tmp_path / "store", workers=0, shard=(i, 3))
    assert early.status(Store(tmp_path / "store")) == (86, 86, 0)
    assert late.manifest.key == early.manifest.key
    with pytest.raises(ValueError, match="where: no point satisfies it"):
        plan(PROBLEM, Light(), vary, where="light.number > 1000")
