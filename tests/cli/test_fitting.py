"""The command `solvable fit`: a curve and a problem in, numbers with intervals out."""

import json

import numpy as np
import pytest

import solvable as sv
from solvable.cli.main import main

PROBLEM = """
[teacher]
width = 1
activation = "erf"
[student]
width = 2
activation = "erf"
[training]
learning_rate = 0.3
label_noise = 0.05
[start]
student_overlap = [[0.3, 0.0], [0.0, 0.3]]
cross_overlap = [[0.2], [0.1]]
"""


@pytest.fixture
def files(tmp_path):
    """A curve at twice the rate of the file, with errors of two percent, and the file."""
    path = tmp_path / "problem.toml"
    path.write_text(PROBLEM)
    problem = sv.Problem.load(path).replace(training__learning_rate=0.6)
    start = sv.start(problem, student_overlap=0.3 * np.eye(2), cross_overlap=[[0.2], [0.1]])
    times = np.linspace(2, 40, 20)
    risk = sv.run(problem, start, sv.Macro(), times=times).risk[0]
    rows = [f"{t},{r},{0.02 * r}" for t, r in zip(times, risk, strict=True)]
    curve = tmp_path / "curve.csv"
    curve.write_text("\n".join(["alpha,risk,error", *rows]))
    return str(curve), str(path)


def test_numbers_and_a_picture(files, tmp_path, capsys) -> None:
    picture = tmp_path / "fit.png"
    assert (
        main(["fit", *files, "--free", "training.learning_rate,training.label_noise=0.01:1", "--output", str(picture)])
        == 0
    )
    out = capsys.readouterr().out
    assert out.startswith("training.learning_rate 0.6 [")
    assert "the problem fits" in out
    assert out.endswith(f"wrote {picture}\n")
    assert picture.stat().st_size > 10_000


@pytest.mark.parametrize(
    "table",
    [
        '[fit]\nfree = ["training.learning_rate"]',
        '[fit.free]\n"training.learning_rate" = [0.1, 1.0]',
        '[fit.free.training]\nlearning_rate = "free"',
    ],
)
def test_the_table_says_what_is_free(files, table, capsys) -> None:
    curve, path = files
    with open(path, "a") as file:
        file.write(table)
    assert main(["fit", curve, path, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert abs(found["estimates"]["training.learning_rate"] - 0.6) < 1e-3
    assert found["success"]
    assert found["degrees"] == 19
    assert main(["run", path, "--until", "1"]) == 0  # which leaves the table alone


def test_columns_are_chosen_by_name(files, capsys) -> None:
    curve, path = files
    with open(curve) as file:
        text = file.read().replace("alpha,risk,error", "Epoch,test,std")
    with open(curve, "w") as file:
        file.write("# a log\n" + text)
    rate = ["--free", "training.learning_rate"]
    assert main(["fit", curve, path, *rate, "--time", "Epoch", "--value", "test", "--error", "std"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("training.learning_rate 0.6 [")
    assert "column test: read as the risk without label noise" in out
    assert main(["fit", curve, path, *rate]) == 2
    assert "it has Epoch, test, std; choose by" in capsys.readouterr().err
    assert main(["fit", curve, path, *rate, "--time", "epoch", "--value", "test"]) == 2
    assert "has no column 'epoch' (did you mean Epoch?)" in capsys.readouterr().err


def test_a_misfit_is_an_exit_code(files, capsys) -> None:
    assert main(["fit", *files, "--free", "training.label_noise"]) == 1
    assert "the problem does not fit" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "fit.free: is missing; name what is free by --free or in the table [fit]"),
        (["--free", "training.rate"], "free: training.rate: is no number of the problem"),
        (
            ["--free", "training.learning_rate=a:b"],
            "--free: training.learning_rate=a:b given, must be a guess or lower:upper",
        ),
        (["--free", "training.learning_rate=1:2:3"], "must be (lower, upper)"),
        (["--free", ""], "is no number of the problem"),
        (["--free", "training.learning_rate", "--clock", "hours"], "clock: 'hours' given"),
        (["--free", "training.learning_rate", "--noise", "simulated"], "noise: 'simulated' needs a finite inputs.dim"),
        (["--free", "training.learning_rate", "--output", "x.txt"], "x.txt"),
    ],
)
def test_bad_options_are_told_in_one_line(files, options, text, capsys) -> None:
    assert main(["fit", *files, *options]) == 2
    said = capsys.readouterr()
    assert text in said.err
    assert said.err.count("\n") == 1
    assert said.out == ""


def test_a_start_must_be_known(files, capsys) -> None:
    curve, path = files
    with open(path, "w") as file:
        file.write(PROBLEM.split("[start]")[0])
    assert main(["fit", curve, path, "--free", "training.learning_rate"]) == 2
    assert "start.seed: is missing" in capsys.readouterr().err
    assert main(["fit", "none.csv", path, "--free", "training.learning_rate"]) == 2
