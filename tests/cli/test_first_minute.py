"""What a new user meets first: help, slips of the pen, defaults, and the first curve."""

import argparse
import contextlib
import errno
import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import numpy as np
import pytest

import solvable as sv
from solvable.cli import main as command_line
from solvable.cli import sparkline
from solvable.cli.main import main
from solvable.numerics import installing
from solvable.papers import registry
from solvable.problems.nearest import hint, nearest, not_one_of

ROOT = Path(__file__).parents[2]
LEAST = """
[teacher]
width = 2
[student]
width = 3
[training]
learning_rate = 0.1
"""


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = Path("problem.toml")
    path.write_text(LEAST)
    return path


def parsers() -> dict[str, argparse.ArgumentParser]:
    whole = command_line.parser()
    (commands,) = (one for one in whole._actions if isinstance(one, argparse._SubParsersAction))
    return {"": whole} | commands.choices


def test_alone_it_shows_its_help(capsys) -> None:
    assert main([]) == 0
    assert capsys.readouterr().out == command_line.parser().format_help()


def test_python_runs_it_as_a_module(tmp_path) -> None:
    told = subprocess.run([sys.executable, "-m", "solvable", "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"solvable {sv.__version__}\n"


@pytest.mark.parametrize("columns", ["40", "80", "200"])
def test_help_has_80_columns_whatever_the_terminal(columns, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    found = parsers()
    assert len(found) > 10
    for name, one in found.items():
        for line in (one.format_help() + one.format_usage()).splitlines():
            assert len(line) <= 80, (name, line)
    assert max(map(len, found["run"].format_help().splitlines())) > 70


def test_commands_stand_beside_what_they_do() -> None:
    text = command_line.parser().format_help()
    for name in parsers():
        assert name == "" or re.search(rf"^    {name}  +\w", text, re.M)


@pytest.mark.parametrize(
    ("words", "usage", "message"),
    [
        (["rum"], "usage: solvable [-h]", "argument COMMAND: 'rum' given (did you mean run?)"),
        (["run", "x.toml", "--ntil", "3"], "usage: solvable run", "unknown: --ntil (did you mean --until?), 3"),
        (["run", "x.toml", "--outptu=a.nc"], "usage: solvable run", "unknown: --outptu (did you mean --output?)"),
        (["run", "x.toml", "--level", "makro"], "usage: solvable run", "'makro' given (did you mean macro?), must be one of"),
        (["store", "verfy"], "usage: solvable store", "argument action: 'verfy' given (did you mean verify?)"),
        (
            ["run", "x.toml", "--learning-rate", "3"],
            "usage: solvable run",
            "unknown: --learning-rate (a field of the file: training.learning_rate), 3",
        ),
        (["run"], "usage: solvable run", "the following arguments are required: file"),
        (["claims", "--qiuck"], "usage: solvable claims", "unknown: --qiuck (did you mean --quick?)"),
        (["figures", "zzz"], "usage: solvable figures", "unknown: zzz"),
    ],
)  # fmt: skip
def test_slips_get_the_usage_of_their_command_and_what_was_meant(words, usage, message, capsys) -> None:
    with pytest.raises(SystemExit) as stop:
        main(words)
    told = capsys.readouterr()
    assert (stop.value.code, told.out) == (2, "")
    assert told.err.startswith(usage)
    assert message in told.err.splitlines()[-1]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("[teacher]->[techer]", "techer: is not a field here (did you mean teacher?), must be one of teacher, student"),
        ("learning_rate->learning-rate", "training.learning-rate: is not a field here (did you mean learning_rate?)"),
        ("width = 3->width = 3\nactivation = 'Quadratic'", "'Quadratic' given (did you mean quadratic?), must be"),
        ("width = 3->width = 3\nnorm = 'spere'", "student.norm: 'spere' given (did you mean sphere?), must be"),
        ("[training]->[level]\nname = 'micr'\n[training]", "level.name: 'micr' given (did you mean micro?), must be"),
        ("[training]->[level]\nmethod = 'implicid'\n[training]", "'implicid' given (did you mean implicit?)"),
        (
            "[training]->[run]\nclock = 'steps per dim'\n[training]",
            "clock: 'steps per dim' given, must be one of alpha",
        ),
        ("[training]->[run]\nclock = 'step'\n[training]", "clock: 'step' given (did you mean steps?)"),
    ],
)
def test_fields_and_values_that_were_meant(file, change, message, capsys) -> None:
    file.write_text(LEAST.replace(*change.split("->")))
    assert main(["run", str(file), "--until", "1"]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("key", "message"),
    [
        ("bochi2026/1", "'bochi2026/1' given (did you mean bocchi2026/1?)"),
        ("bocchi2026/stairs", "'bocchi2026/stairs' given (did you mean bocchi2026/staircase?)\n"),
        ("newton1687/1", "'newton1687/1' given; `solvable figures` lists all"),
        ("bocchi2026", "'bocchi2026' given, must be one of bocchi2026/1"),
    ],
)  # fmt: skip
def test_figures_that_were_meant(key, message, capsys) -> None:
    assert main(["figure", key]) == 2
    assert message in capsys.readouterr().err


def test_only_near_words_are_meant() -> None:
    known = ["learning_rate", "batch", 3]
    assert nearest("Learning Rate", known) == "learning_rate"
    assert nearest("momentum", known) is None
    assert nearest("direction_overlap", ["cross_overlap", "student_overlap"]) is None
    assert nearest("rum", ["run", "figure"]) == "run"
    assert nearest("learning_rate" * 50, known) is None
    assert nearest(7, known) is None
    assert (hint("bath", known), hint("zebra", known)) == (" (did you mean batch?)", "")


def test_a_long_list_is_left_out_where_a_word_was_meant() -> None:
    assert not_one_of("bath", ["batch", "rate"]) == "'bath' given (did you mean batch?), must be one of batch, rate"
    many = ["batch", *(f"field_{i}" for i in range(20))]
    assert not_one_of("bath", many) == "'bath' given (did you mean batch?)"
    assert not_one_of("zebra", many).endswith(", must be one of " + ", ".join(many))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"learning_rate": 0.5}, "learning_rate: is not a field here (did you mean training__learning_rate?)"),
        ({"lr": 0.5}, "lr: is not a field here (did you mean training__learning_rate?)"),
        ({"width": 5}, "width: is not a field here (did you mean teacher__width or student__width?)"),
        (
            {"zebra": 5},
            "zebra: is not a field here, must be one of inputs, mixture, student, tasks, teacher, training",
        ),
    ],
)
def test_replace_looks_for_a_field_in_the_parts(changes, message) -> None:
    problem = sv.Problem.from_toml(LEAST)
    with pytest.raises(sv.InvalidProblem) as caught:
        problem.replace(**changes)
    assert str(caught.value) == message


def test_calls_of_run_that_python_would_refuse() -> None:
    problem = sv.Problem.from_toml(LEAST)
    start, level = sv.start(problem, seed=0, students="orthogonal", cross=0.01), sv.Macro()
    run, batch = sv.run, sv.levels.run_batch
    for call, told in (
        (lambda: run(problem, level, until=1), "run: the second argument must be a start, as sv.start"),
        (lambda: batch(problem, sv.Macro, until=1), "run_batch: the second argument must be a start"),
        (lambda: run(problem, start, until=1), "run: the third argument is missing; it is a level"),
        (lambda: run(problem, level=level, until=1), "missing 1 required positional argument: 'start'"),
        (
            lambda: run(problem, start, level, until=1, learning_rate=0.5),
            r"run: learning_rate: is not an argument but a field of the problem: problem.replace\(training__learning_rate=...\); "
            "for several: sv.levels.run_batch$",
        ),
        (
            lambda: run(problem=problem, start=start, level=level, batch=2),
            r"field .* problem.replace\(training__batch=...\)$",
        ),
        (
            lambda: batch(problem, start, level, until=1, learning_rate=1.0),
            r"not an argument \(did you mean learning_rates\?\)",
        ),
        (lambda: run(problem, start, level, untill=1), r"run: untill: is not an argument \(did you mean until\?\)"),
        (lambda: run(problem, start, level, zebra=1), "unexpected keyword argument 'zebra'"),
    ):
        with pytest.raises(TypeError, match=told):
            call()


def test_figures_are_aligned(capsys) -> None:
    assert main(["figures"]) == 0
    lines = capsys.readouterr().out.splitlines()
    begins = {line.index(registry.get(line.split()[0]).title) for line in lines}
    assert len(lines) == len(registry.available())
    assert len(begins) == 1


def test_a_problem_alone_runs(file, capsys) -> None:
    """Without [start] it takes seed 0; at infinite dim, students that are orthogonal."""
    assert main(["run", str(file), "--until", "5", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    problem = sv.Problem.load(file)
    first = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    assert found["risk"]["last"] == sv.run(problem, first, sv.Macro(), until=5).end_risk[0]
    assert main(["run", str(file), "--until", "5"]) == 0
    assert capsys.readouterr().out.startswith(
        "start: seed = 0, students = orthogonal, cross = 0.01 (not in the file)\n"
    )
    file.write_text(LEAST + "[inputs]\ndim = 500\n")
    assert main(["run", str(file), "--until", "5", "--json"]) == 0
    finite = sv.Problem.load(file)
    last = sv.run(finite, sv.start(finite, seed=0), sv.Macro(), until=5).end_risk[0]
    assert json.loads(capsys.readouterr().out)["risk"]["last"] == last


def test_a_start_that_is_given_stays_as_it_is(file, capsys) -> None:
    given = (
        "[start]\nstudent_overlap = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]\ncross_overlap = [[0.1, 0], [0, 0.1], [0, 0]]\n"
    )
    file.write_text(LEAST + given)
    assert main(["run", str(file), "--until", "1"]) == 0
    assert "start:" not in capsys.readouterr().out


def test_all_faults_are_told_at_once_with_what_to_write(file, capsys) -> None:
    assert main(["run", str(file), "--students", "gaussian", "--plot", "x.doc"]) == 2
    assert capsys.readouterr().err.splitlines() == [
        "solvable: --plot: x.doc given, must end in .png or .pdf or .svg",
        f"solvable: {file}: run.until: is missing; write `until = 100` in the table [run], or give --until 100",
        f"solvable: {file}: inputs.dim: infinite, but a sampled start needs a finite one; give a dim, as 10000, or "
        'students="orthogonal" and cross=0.01',
    ]
    file.write_text(LEAST.replace("width = 2", "width = 0") + "[level]\nname = 'nano'\n")
    assert main(["run", str(file), "--until", "-1"]) == 2
    told = capsys.readouterr().err
    assert f"solvable: {file}: level.name: 'nano' given" in told
    assert f"solvable: {file}: teacher.width: 0 given" in told
    assert "solvable: run.until: -1.0 given, must be greater than 0" in told  # not in the file
    with pytest.raises(sv.overlaps.InvalidStart, match=r"seed: is missing; give seed=0(.|\n)*\ninputs.dim: infinite"):
        sv.start(sv.Problem.from_toml(LEAST))


@pytest.mark.parametrize("words", [["landscape"], ["theory"], ["sweep"], ["run", "--until", "1"]])
def test_mistakes_name_the_file_that_they_are_in(words, file, capsys) -> None:
    file.write_text(LEAST + "loss_factor = 0\n" + ("[vary]\n'student.width' = [1]\n" if words == ["sweep"] else ""))
    assert main([words[0], str(file), *words[1:]]) == 2
    assert capsys.readouterr().err == f"solvable: {file}: training.loss_factor: 0 given, must be greater than 0\n"


@pytest.mark.parametrize("option", ["--output", "--plot"])
def test_what_cannot_be_written_is_told_with_the_name_that_was_asked_for(
    option, file, tmp_path, capsys, monkeypatch
) -> None:
    target = tmp_path / ("run.nc" if option == "--output" else "run.png")

    def full(*_, dir, prefix, suffix):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), f"{dir}/{prefix}abc{suffix}")

    with monkeypatch.context() as patch:
        patch.setattr(tempfile, "mkstemp", full)
        assert main(["run", str(file), "--until", "1", option, str(target)]) == 2
    assert capsys.readouterr().err == f"solvable: {target}: {os.strerror(errno.ENOSPC)}\n"


def test_a_writer_that_quotes_the_unfinished_file_is_corrected(tmp_path) -> None:
    from solvable.results.files import write_whole

    def fail(temporary: str) -> None:
        raise OSError(f"unable to write (name = '{temporary}', errno = 28)")

    with pytest.raises(OSError, match=re.escape(f"(name = '{tmp_path / 'run.nc'}', errno = 28)")):
        write_whole(tmp_path / "run.nc", fail)
    assert list(tmp_path.iterdir()) == []


def test_run_draws_a_line_and_a_picture(file, tmp_path, capsys) -> None:
    picture = tmp_path / "curve.svg"
    assert main(["run", str(file), "--until", "200", "--plot", str(picture)]) == 0
    out = capsys.readouterr().out.splitlines()
    (bars,) = (line for line in out if set(line) <= set(sparkline.BARS))
    assert len(bars) == 60
    assert (bars[0], bars[-1]) == (sparkline.BARS[-1], sparkline.BARS[0])  # it learns
    assert out[-1] == f"wrote {picture}"
    assert set(re.findall(r'id="(axes_\d)"', picture.read_text())) == {"axes_1", "axes_2"}  # risk and overlaps
    file.write_text(LEAST + "[inputs]\ndim = 100\n")
    words = ["run", str(file), "--until", "2", "--level", "micro", "--runs", "3", "--plot", str(tmp_path / "curve.png")]
    assert main(words) == 0
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
    assert re.search(f"^[{sparkline.BARS}]{{60}}$", capsys.readouterr().out, re.M)


def test_bars_are_as_high_as_what_they_show() -> None:
    assert sparkline.drawn(np.array([0.0, 1.0, 3.5, 7.0])) == "▁▂▅█"
    assert sparkline.drawn(np.array([6.0, 7.0])) == "▇█"
    assert sparkline.drawn(np.zeros(3)) == "▁▁▁"


def test_terminals_without_these_characters_get_none(file) -> None:
    words = [sys.executable, "-m", "solvable", "run", str(file), "--until", "1"]
    environment = {**os.environ, "PYTHONIOENCODING": "ascii:replace"}
    told = subprocess.run(words, env=environment, capture_output=True, check=True)
    assert b"????" not in told.stdout
    assert b"risk" in told.stdout


@pytest.mark.parametrize(
    "words",
    [
        ["run", "problem.toml", "--level", "makro"],
        ["run", "problem.toml", "--until", "nothing"],
        ["run", "wrong.toml"],
        ["run", "there-is-no-file-of-this-name-in-the-directory-that-the-test-runs-in-nor-elsewhere.toml"],
        ["figure", "bocchi2026/99"],
        ["sweep", "problem.toml"],
    ],
)
def test_mistakes_are_one_line_for_programs_and_80_columns_on_a_terminal(words, file, capsys, monkeypatch) -> None:
    Path("wrong.toml").write_text(LEAST.replace("width = 3", 'width = 3\nactivation = "tahn"\nraedout = 3'))

    def told() -> str:
        with contextlib.suppress(SystemExit):
            assert main(words) == 2
        return re.sub(r"\A(usage:|  ).*\n(?: .*\n)*", "", capsys.readouterr().err)

    plain = told()
    assert all(line.startswith("solvable: ") for line in plain.splitlines())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    wrapped = told()
    assert wrapped.split() == plain.split()
    assert all(len(line) <= 80 or len(line.split()) == 1 for line in wrapped.splitlines())  # long names are not torn


@pytest.mark.parametrize(
    ("extra", "module", "words"),
    [("explore", "uvicorn", ["explore", "--no-browser"]), ("completion", "shtab", ["completion", "bash"])],
)
def test_a_missing_extra_is_told_with_the_whole_command(extra, module, words, monkeypatch, capsys) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = project["optional-dependencies"][extra]
    listed = [
        *project["dependencies"],
        *(f"{one} ; extra == '{extra}'" for one in needed),
        "other>=1 ; extra == 'other'",
    ]
    monkeypatch.setattr(installing, "requires", lambda name: listed)
    monkeypatch.setitem(sys.modules, module, None)
    assert main(words) == 2
    command = " ".join([sys.executable, "-m", "pip", "install", *(f"'{one}'" for one in needed)])
    assert capsys.readouterr().err.endswith(f"; install it by: {command}\n")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert main(words) == 2
    assert capsys.readouterr().err.splitlines()[-1] == f"  {command}"  # whole, to be copied
