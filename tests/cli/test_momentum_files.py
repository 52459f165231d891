"""Momentum, averages and rules for the rate in files, on the command line, in sweeps and in the explorer."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

import solvable as sv
from solvable.cli.main import main
from solvable.problems.rate_rules import KINDS
from solvable.web.work import curve, view

TABLES = """
[teacher]
width = 1
[student]
width = 2
[inputs]
dim = 200
[training]
learning_rate = 0.1
{training}
[start]
seed = 0
[run]
until = 5
"""
LINES = {
    "momentum = 0.5": {"momentum": 0.5},
    "momentum = {{ kappa = 2.0, nesterov = true }}": {"momentum": {"kappa": 2.0, "nesterov": True}},
    "momentum = {{ kappa = {{ times = [0, 2], rates = [1.0, 3.0] }} }}": {
        "momentum": {"kappa": {"times": [0.0, 2.0], "rates": [1.0, 3.0]}}
    },
    "average = {{ begin = 1.0 }}": {"average": {"begin": 1.0}},
    "snapshot = 1.0\nanchor = 0.5": {"snapshot": 1.0, "anchor": 0.5},
    'rate_rule = {{ kind = "adagrad", offset = 1.0 }}': {"rate_rule": {"kind": "adagrad", "offset": 1.0}},
    'rate_rule = {{ kind = "line-search" }}': {"rate_rule": {"kind": "line-search"}},
}


@pytest.mark.parametrize("line", LINES)
def test_files_and_the_command_line(line, tmp_path, capsys):
    path = tmp_path / "problem.toml"
    path.write_text(TABLES.replace("{training}", line.format()))
    problem = sv.Problem.load(path)
    assert problem == problem.replace(training=sv.Training.from_mapping({"learning_rate": 0.1} | LINES[line]))
    assert main(["run", str(path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=5)
    assert found["risk"]["last"] == pytest.approx(run.risk[0, -1], rel=1e-9)


@pytest.mark.parametrize("line", LINES)
def test_the_explorer_draws_them(line):
    tables = {
        "teacher": {"width": 1}, "student": {"width": 2}, "inputs": {"dim": 200}, "training": {"learning_rate": 0.1} | LINES[line],
        "start": {"seed": 0}, "run": {"until": 2.0},
    }  # fmt: skip
    facts, arrays = curve(view(tables))
    assert facts["success"]
    assert np.isfinite(arrays["risk"]).all()


def test_the_page_offers_the_rules_that_there_are():
    pages = Path(sv.__file__).parent / "web" / "static"
    (offered,) = re.findall(r'"training\.rate_rule\.kind".*of: \[(.*?)\]', (pages / "fields.js").read_text())
    assert set(json.loads(f"[{offered}]")) == {"nothing", *KINDS} - {"custom"}
    (numbers,) = re.findall(r"const NUMBERS = {(.*?)}", (pages / "store.js").read_text())
    for kind, field in re.findall(r'"?([a-z-]+)"?: "([a-z]+)"', numbers):
        assert (
            sv.Training.from_mapping({"learning_rate": 1.0, "rate_rule": {"kind": kind, field: 2.0}}).rate_rule.number
            == 2.0
        )


def test_sweeps_reach_inside():
    problem = sv.Problem.from_toml(TABLES.split("[start]")[0].replace("{training}", "momentum = { kappa = 1.0 }"))
    swept = sv.sweep(
        problem, {"training.momentum.kappa": [0.5, 2.0]}, sv.Macro(rtol=1e-6), 5, seeds=[1], store=None, workers=0
    )  # fmt: skip
    assert swept.status == (2, 2, 0)
    for kappa in (0.5, 2.0):
        here = problem.replace(training__momentum__kappa=kappa)
        alone = sv.run(here, sv.start(here, seed=1), sv.Macro(rtol=1e-6), 5)
        assert np.array_equal(swept.data.sel(kappa=kappa, seed=1)["risk"], alone.risk)
    fast = sv.sweep(
        problem.replace(training__momentum=0.5), {"training.momentum": [0.2, 0.8]}, sv.Macro(rtol=1e-6), 5, seeds=[1],
        store=None, workers=0,
    )  # fmt: skip
    assert fast.status == (2, 2, 0)


def test_a_log_of_heavy_ball_is_a_trajectory():
    """Weights and velocities of a plain loop, beside the library's own run."""
    dim, kappa, rate = 400, 2.0, 0.3
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", overlap="sampled"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, momentum=sv.Momentum(kappa=kappa)),
    )
    random = np.random.default_rng(0)
    w, v, teacher = random.standard_normal((1, dim)), np.zeros((1, dim)), random.standard_normal((1, dim))
    weights, velocities = [w.copy()], [v.copy()]
    for step in range(2 * dim):
        x = random.standard_normal(dim)
        error = (teacher - w) @ x / np.sqrt(dim)
        v = (1 - kappa / dim) * v + kappa * rate * error[:, None] * x / np.sqrt(dim)
        w = w + v / dim
        if (step + 1) % dim == 0:
            weights.append(w.copy())
            velocities.append(v.copy())
    logged = sv.Trajectory.from_weights(problem, weights, teacher, [0, dim, 2 * dim], velocities=velocities)
    first = sv.measure(problem, weights[0], teacher)
    limit = sv.run(problem, first, sv.Macro(), times=[0.0, 1.0, 2.0])
    np.testing.assert_allclose(logged.extra_overlap[0], limit.extra_overlap[0], atol=0.25)
    np.testing.assert_allclose(logged.at(dim).velocity_overlap[0, 0], weights[1] @ velocities[1].T / dim, rtol=1e-12)
    with pytest.raises(ValueError, match=r"^velocities: are missing; the problem has momentum"):
        sv.Trajectory.from_weights(problem, weights, teacher, [0, dim, 2 * dim])
