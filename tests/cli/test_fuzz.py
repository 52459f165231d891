"""Thousands of bad problems: each one clear line per mistake, exit code 2, never a traceback, nothing written."""

import copy
import json
import math
import subprocess
import sys

import numpy as np
import pytest

from solvable.cli.main import main

GOOD = {
    "teacher": {"width": 2, "activation": "erf", "readout": "sqrt", "overlap": "orthonormal"},
    "student": {"width": 2, "activation": "erf", "readout": [0.5, 0.25], "norm": "free"},
    "inputs": {"dim": 40, "spectrum": {"beta": 1.0, "distinct": 4}},
    "training": {
        "learning_rate": {"times": [0, 5], "rates": [0.1, 0.2]}, "batch": 2, "weight_decay": 0.1, "loss_factor": 0.5,
        "label_noise": 0.1, "train_readout": True, "readout_rate": 0.1,
    },
    "start": {"seed": 0, "scale": 0.1},
    "level": {"rtol": 1e-4, "max_steps": 300},
    "run": {"until": 1.0},
}  # fmt: skip
NONSENSE = [
    -1,
    0,
    2.5,
    "x",
    "",
    [],
    {},
    [1, "a"],
    True,
    None,
    1e400,
    -math.inf,
    math.nan,
    [[1, 2], [3]],
    10**30,
    "nan",
    [[]],
]


def paths(table, prefix=()):
    for key, value in table.items():
        yield (*prefix, key)
        if isinstance(value, dict):
            yield from paths(value, (*prefix, key))


def broken(random: np.random.Generator) -> dict:
    """A good file with one to three things wrong: a value replaced, a key renamed, added or removed."""
    content = copy.deepcopy(GOOD)
    for _ in range(random.integers(1, 4)):
        options = list(paths(content))
        path = options[random.integers(len(options))]
        table = content
        for key in path[:-1]:
            table = table[key]
        kind = random.integers(4)
        value = copy.deepcopy(NONSENSE[random.integers(len(NONSENSE))])
        if kind == 0:
            table.pop(path[-1])
        elif kind == 1:
            table[path[-1] + random.choice(["_", "X", "-rate"])] = table.pop(path[-1])
        else:
            table[path[-1]] = value
    return content


def check(status, out, err) -> None:
    assert status in (0, 1, 2)
    assert "Traceback" not in err
    if status == 2:
        assert out == ""
        lines = err.splitlines()
        assert lines
        assert all(line.startswith("solvable: ") and len(line) < 400 for line in lines), err


@pytest.mark.parametrize("count", [300, pytest.param(5000, marks=pytest.mark.slow)])
def test_bad_files(count, tmp_path, capsys) -> None:
    random = np.random.default_rng(0)
    file, refused = tmp_path / "problem.json", 0
    for _ in range(count):
        file.write_text(json.dumps(broken(random)))
        status = main(["run", str(file), "--output", str(tmp_path / "out.nc")])
        captured = capsys.readouterr()
        check(status, captured.out, captured.err)
        refused += status == 2
        (tmp_path / "out.nc").unlink(missing_ok=True)
        assert [one.name for one in tmp_path.iterdir()] == ["problem.json"]
    assert refused > 0.75 * count


def test_bad_options(tmp_path, capsys) -> None:
    file = tmp_path / "problem.json"
    file.write_text(json.dumps(GOOD))
    random = np.random.default_rng(1)
    values = ["-1", "nan", "inf", "1e999", "x", "", "0", "10", "[1]", "--", "\x00", "½", "1e-400"]
    for _ in range(300):
        option = random.choice(
            ["--until", "--clock", "--seed", "--scale", "--cross", "--students", "--output", "--level"]
        )
        try:
            status = main(["run", str(file), f"{option}={random.choice(values)}"])
        except SystemExit as stop:  # the parser's own refusals
            status = stop.code
            assert "usage" in capsys.readouterr().err.lower()
            assert status == 2
            continue
        captured = capsys.readouterr()
        check(status, captured.out, captured.err)


@pytest.mark.full
@pytest.mark.parametrize("seed", [0, *(pytest.param(i, marks=pytest.mark.slow) for i in (1, 2, 3))])
def test_as_real_commands(seed, tmp_path) -> None:
    """Five broken files a time, each in a process of its own."""
    random = np.random.default_rng(seed + 100)
    for i in range(5):
        file = tmp_path / f"{i}.json"
        file.write_text(json.dumps(broken(random)))
        command = [sys.executable, "-m", "solvable.cli.main", "run", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        check(done.returncode, done.stdout, done.stderr)
