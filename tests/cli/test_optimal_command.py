"""`solvable optimal`: what it prints, what it writes, and that mistakes are one line each."""

import json
from pathlib import Path

import pytest

import solvable as sv
from solvable.cli.main import main

PROBLEM = """
[teacher]
width = 1
[student]
width = 2
[inputs]
dim = 1000
[training]
learning_rate = 0.1
label_noise = 0.1
[start]
seed = 0
students = "orthogonal"
cross = 0.5
[run]
until = 10
[control]
training.learning_rate = 4
guesses = 1
refine = false
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    return str(path)


def test_summary_problem_and_picture(file, tmp_path, capsys) -> None:
    output, picture = tmp_path / "best.toml", tmp_path / "best.png"
    assert main(["optimal", file, "--output", str(output), "--plot", str(picture)]) == 0
    told = capsys.readouterr().out
    assert "with the best constants" in told
    assert f"wrote {output}" in told
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert isinstance(sv.Problem.load(output).training.learning_rate, sv.Schedule)
    assert main(["run", str(output), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)["risk"]["last"]
    assert f"risk {again:.6g};" in told


def test_json_and_a_threshold(file, capsys) -> None:
    path = Path(file)
    text = path.read_text().replace("guesses", "objective = { below = 0.5, relative = true }\nguesses")
    path.write_text(text.replace("learning_rate = 4", "learning_rate = 20"))
    main(["optimal", file, "--json", "--until", "40"])
    told = json.loads(capsys.readouterr().out)
    assert told["quantity"] == "time"
    assert told["value"] < told["constant"]["value"] < 40
    assert len(told["schedule"]["training.learning_rate"]["rates"]) == 20


def test_a_run_passes_over_the_table(file, capsys) -> None:
    assert main(["run", file]) == 0
    assert "reached the end" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ("[control]->[vary]", [], "control: is missing"),
        ("learning_rate = 4->learning_rate = 0", [], "control.training.learning_rate.segments: 0 given"),
        ("learning_rate = 4->learning_rate = { segments = 4, uper = 1 }", [], "uper: is not a field here"),
        ("learning_rate = 4->learning_rate = { lower = 2.0, upper = 1.0 }", [], "lower: 2 given, must be below upper"),
        ("training.learning_rate = 4->", [], "control: is empty"),
        ("training.learning_rate = 4->training.loss_factor = 4", [], "training.loss_factor: cannot be chosen in time"),
        ("guesses = 1->guesses = 0", [], "control.guesses: 0 given"),
        (
            "guesses = 1->guess = 1",
            [],
            "control.guess: is neither a number of a problem nor a setting (did you mean guesses?)",
        ),
        ("guesses = 1->objective = 'loss'", [], "control.objective"),
        ("guesses = 1->integral = 3", [], "control.integral"),
        ("guesses = 1->integral.training.learning_rate = 'x'", [], "must be a number"),
        ("guesses = 1->integral.training.learning_rate = 900.0", [], "must be from 0 to 5"),
        ("seed = 0->", [], "start.seed: is missing"),
        ("until = 10->", [], "run.until: is missing"),
        ("", ["--output", "x.nc"], "--output: x.nc given, must end in .toml"),
        ("", ["--plot", "x.toml"], "--plot: x.toml given, must end in .png"),
        ("", ["--until", "soon"], "--until: 'soon' given, must be a number"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(file, change, options, message, capsys) -> None:
    if change:
        path = Path(file)
        before, after = change.split("->")
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
    assert main(["optimal", file, *options]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert message in captured.err
    assert all(line.startswith("solvable: ") for line in captured.err.splitlines())


def test_a_curriculum_and_dropout(tmp_path, capsys) -> None:
    path, output = tmp_path / "problem.toml", tmp_path / "best.toml"
    path.write_text("""
tasks = { sequence = [[1, 0], [0, 1]], switches = [5] }
[teacher]
width = 2
activation = "linear"
[student]
width = 2
activation = "linear"
[inputs]
dim = 1000
[training]
learning_rate = 0.3
train_readout = true
dropout = { keep = 0.9, scale = "test", test_factor = 0.9 }
[start]
seed = 0
[run]
until = 10
[control]
tasks.0.probability = 4
training.dropout.keep = 2
training.dropout.test_factor = 1
objective = "task risk"
guesses = 1
refine = false
""")
    assert main(["optimal", str(path), "--output", str(output), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["quantity"] == "task risk"
    assert told["value"] < told["constant"]["value"]
    assert main(["run", str(output), "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert sum(again["task_risk"]) / 2 == pytest.approx(told["value"], rel=1e-6)
