"""Beside the curve: diffusion, finite data, phase diagrams, and the Python that they are copied as."""

import json
import threading
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient

import solvable as sv
from solvable.web import diagrams, simulations, work
from solvable.web.guarding import AGAIN, Queue
from solvable.web.presets import PRESETS
from solvable.web.python_text import changes_text, problem_text
from solvable.web.server import make_app

STATE: dict[str, Any] = PRESETS[0]["state"]
SMALL = STATE | {"student": {"width": 2}, "teacher": {"width": 1}, "inputs": {"dim": 60}, "run": {"until": 20.0}}
DATA = {"samples": 2.0, "step": 0.05, "selection": "all", "batch": 0.5, "form": "auto"}
LEARNING, WIDTHS = (
    {"name": "training.learning_rate", "values": [0.02, 0.05, 50.0]},
    {"name": "student.width", "values": [1, 2, 99]},
)


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app(["localhost"]), base_url="http://localhost")


def lines(answer: Any) -> list[dict[str, Any]]:
    assert answer.status_code == 200, answer.text
    found = [json.loads(line) for line in answer.text.splitlines()]
    return [one for one in found if "working" not in one]  # which a busy machine says


def test_the_diffusion_streams_in_as_sgd_does(client: TestClient) -> None:
    found = lines(client.post("/api/simulate", json={"state": SMALL, "runs": 3, "seed": 5, "level": "meso"}))
    assert len(found) == simulations.PIECES
    assert np.array([one["risk"] for one in found]).shape == (simulations.PIECES, 3, 4)
    large = SMALL | {"inputs": {"dim": 10**9}}  # which SGD would not finish
    assert "more than the explorer runs" in client.post("/api/simulate", json={"state": large}).json()["problems"][0]
    *_, last = lines(client.post("/api/simulate", json={"state": large, "level": "meso"}))
    alone = sv.run(work.view(large).problem, work.view(large).start, sv.Macro(), times=[20.0])
    # the start has overlaps of 1/sqrt(dim), and so has the noise that escapes with them: runs are a per cent apart
    assert last["risk"][0][-1] == pytest.approx(alone.risk[0, -1], rel=0.06)


def test_a_data_set_is_the_librarys(client: TestClient) -> None:
    body = {"state": SMALL, "runs": 2, "seed": 3, "level": "empirical", "data": DATA}
    (found,) = lines(client.post("/api/simulate", json=body))
    view = work.view(SMALL)
    training = sv.Training(step=0.05, samples=sv.Ratio(2.0))
    alone = sv.run(view.problem.replace(training=training), view.start, sv.Empirical(runs=2, seed=3), until=40)
    assert found["time"][-1] == pytest.approx(20.0)  # a step goes as far as single samples in step/rate = 1/2
    assert np.allclose([row[-1] for row in found["training"]], alone.training_loss[:, -1])
    assert np.allclose([row[-1] for row in found["risk"]], alone.risk[:, -1])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"level": "x"}, "level: x given, must be one of micro, meso, empirical"),
        ({"level": "micro", "data": DATA}, "data: is for the level empirical alone"),
        ({"level": "empirical"}, "data: must have samples, batch, selection, step, form and nothing else"),
        ({"level": "empirical", "data": DATA | {"x": 1}}, "data: must have"),
        ({"level": "empirical", "data": DATA | {"samples": -1}}, "training.samples"),
        ({"level": "empirical", "data": DATA | {"step": "x"}}, "training.step"),
        ({"level": "empirical", "data": DATA | {"selection": "x"}}, "training.selection"),
        ({"level": "empirical", "data": DATA | {"step": 1e-6}}, "steps on the data set, must be at most"),
        ({"level": "empirical", "data": DATA | {"samples": 1e6}}, "training.samples"),
        ({"level": "empirical", "data": DATA, "runs": 17}, "runs: 17 given"),
    ],
)
def test_simulations_that_are_refused(body: dict[str, Any], message: str, client: TestClient) -> None:
    answer = client.post("/api/simulate", json={"state": SMALL} | body)
    assert answer.status_code == 422, answer.text[:200]
    assert message in " ".join(answer.json()["problems"])


def test_large_data_sets_are_refused_before_they_are_drawn(client: TestClient) -> None:
    large = SMALL | {"inputs": {"dim": 100_000}}
    answer = client.post("/api/simulate", json={"state": large, "level": "empirical", "data": DATA | {"step": 0.001}})
    assert answer.status_code == 422
    assert "must be at most" in answer.json()["problems"][0] or "must take at most" in answer.json()["problems"][0]


def test_a_diagram_has_the_curves_numbers(client: TestClient) -> None:
    found = lines(client.post("/api/diagram", json={"state": SMALL, "x": LEARNING, "y": WIDTHS, "quantity": "risk"}))
    cells = {(i, j): (value, why) for one in found for i, j, value, why in one.get("cells", [])}
    assert len(cells) == 9
    for i, rate in enumerate(LEARNING["values"]):
        assert cells[i, 2] == (None, "refused")  # wider than the explorer takes
        for j, width in enumerate(WIDTHS["values"][:2]):
            state = SMALL | {"training": {"learning_rate": rate}, "student": {"width": width}}
            alone = work.trajectory(work.view(state))
            if rate > 1:
                assert cells[i, j] == (None, "diverged")
            else:
                assert cells[i, j][0] == pytest.approx(alone.risk[0, -1], rel=1e-3)


def test_coarse_cells_come_first() -> None:
    axis = diagrams.DiagramAxis("training.learning_rate", tuple(np.linspace(0.1, 1, 16)))
    order = diagrams.Diagram(SMALL, axis, diagrams.DiagramAxis("run.until", tuple(range(1, 17))), "risk").order()
    assert len(set(order)) == 256
    assert set(order[:4]) == {(0, 0), (8, 0), (0, 8), (8, 8)}
    assert set(order[:16]) == {(i, j) for i in range(0, 16, 4) for j in range(0, 16, 4)}


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"x": 1}, "x: must have name and values"),
        ({"x": {"name": "level.name", "values": [1]}}, "x.name: level.name given"),
        ({"x": LEARNING | {"values": [0.1] * 49}}, "x.values: must be a list of 1 to 48"),
        ({"x": LEARNING | {"values": ["a"]}}, "x.values: must be numbers"),
        ({"y": LEARNING}, "given for both axes"),
        ({"quantity": "x"}, "quantity: x given, must be one of risk, half, plateau"),
        ({"state": SMALL | {"student": {"width": 99}}}, "must be at most 16"),
    ],
)
def test_diagrams_that_are_refused(body: dict[str, Any], message: str, client: TestClient) -> None:
    answer = client.post("/api/diagram", json={"state": SMALL, "x": LEARNING, "y": WIDTHS} | body)
    assert answer.status_code == 422
    assert message in " ".join(answer.json()["problems"])


def test_curves_go_before_diagrams() -> None:
    """A diagram asks before each cell whether someone waits for a curve, or has just moved a slider."""
    called = threading.Event()
    asked = diagrams.Diagram.read({"state": SMALL, "x": LEARNING, "y": WIDTHS})
    next(asked.lines(called.set))
    assert called.is_set()
    queue = Queue("curve", 1, 2)
    assert not queue.is_wanted()
    queue.left = 1
    assert queue.is_wanted()
    assert AGAIN < 1


@pytest.mark.parametrize(
    "training",
    [
        {"learning_rate": 0.1},
        {"learning_rate": 0.5, "momentum": {"beta": 0.5}, "label_noise": 0.3},
        {"learning_rate": 0.5, "rate_rule": {"kind": "adagrad", "offset": 0.3}, "loss_factor": 0.5},
        {"learning_rate": {"times": [0.0, 5.0], "rates": [1.0, 0.1]}, "batch": 4},
    ],
    ids=str,
)
def test_python_is_that_of_the_readme(training: dict[str, Any]) -> None:
    """Constructors with what differs from the defaults; run, it is the same problem."""
    tables = {name: STATE[name] for name in ("teacher", "student")} | {
        "inputs": {"dim": 1024, "spectrum": {"beta": 0.5, "distinct": 16}}, "training": training,
    }  # fmt: skip
    problem = sv.Problem.from_mapping(tables)
    space: dict[str, Any] = {"sv": sv}
    written = problem_text(problem)
    exec(written, space)
    assert space["problem"] == problem
    assert space["problem"].hash == problem.hash
    assert "from_mapping" not in written
    assert "activation" not in written  # quadratic is the default
    other = problem.replace(student__width=4, training__weight_decay=0.1)
    again = eval(f"problem.replace({', '.join(changes_text(problem, other))})", space)
    assert again == other


def test_kept_curves_and_data_sets_are_taken_away_too(
    client: TestClient, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    kept = [{"state": SMALL | {"training": {"learning_rate": 0.05}}, "words": "learning rate 0.05 → 0.1"},
            {"state": SMALL | {"start": {"seed": 3}}, "words": 'start seed 3 → 0, "quoted\\'}]  # fmt: skip
    sgd = {"time": [0.0, 20.0], "risk": [[1.0, 0.5]], "seed": 3, "level": "empirical", "data": DATA}
    body = {"state": SMALL, "kept": kept, "sgd": sgd}
    space: dict[str, Any] = {}
    exec(compile(client.post("/api/export/python", json=body).text, "page", "exec"), space)
    for name, one in zip(("kept_1", "kept_2"), kept, strict=True):
        alone = work.trajectory(work.view(one["state"]))
        assert space[name].risk[0, -1] == pytest.approx(alone.risk[0, -1], rel=1e-4)
    assert space["trained"].problem.training.samples == sv.Ratio(2.0)
    assert len(space["trained"].time) == 41
    assert "before: learning rate 0.05 → 0.1" in client.post("/api/export/svg", json=body).text
    command = client.post("/api/export/command", json=body).text
    (tmp_path / "data.toml").write_text(command.partition("cat > data.toml <<'END'\n")[2].partition("END")[0])
    assert sv.Problem.load(tmp_path / "data.toml").hash == space["trained"].problem.hash
    for wrong in ({"kept": 1}, {"kept": [1]}, {"kept": kept * 3}, {"kept": [{"state": SMALL}]}):
        assert client.post("/api/export/python", json=body | wrong).status_code == 422
