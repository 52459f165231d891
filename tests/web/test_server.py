"""The explorer's server: what it answers, what it refuses, and that nothing takes it down."""

import copy
import json
import re
import struct
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

import solvable as sv
from seeds import seed
from solvable.cli.main import main
from solvable.gaussian.losses import LOSSES
from solvable.gaussian.units import UNITS
from solvable.web import simulations, work
from solvable.web.guarding import LONGEST, RequestRefused, Slots
from solvable.web.presets import PRESETS
from solvable.web.server import STATIC, make_app

STATE: dict[str, Any] = PRESETS[0]["state"]


@pytest.fixture(scope="module")
def client() -> TestClient:
    return TestClient(make_app(["localhost"]), base_url="http://localhost")


def unpack(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    (size,) = struct.unpack("<I", content[:4])
    head = json.loads(content[4 : 4 + size])
    at, arrays = 4 + size, {}
    for name, shape in head["arrays"]:
        count = int(np.prod(shape))
        arrays[name] = np.frombuffer(content, "<f4", count, at).reshape(shape)
        at += 4 * count
    assert at == len(content)
    return head["facts"], arrays


@pytest.mark.parametrize("preset", PRESETS, ids=lambda one: one["name"])
def test_a_curve_is_the_librarys(preset: dict[str, Any], client: TestClient) -> None:
    answer = client.post("/api/curve", json=preset["state"])
    assert answer.status_code == 200, answer.text
    facts, arrays = unpack(answer.content)
    view = work.view(preset["state"])
    alone = sv.run(view.problem, view.start, sv.Macro(rtol=1e-6), times=work.times(view.until))
    assert np.allclose(arrays["risk"], alone.risk[0], rtol=1e-5)
    assert np.allclose(arrays["cross"], alone.cross_overlap[0], atol=1e-6)
    assert facts["hash"] == view.problem.hash[:12]
    if preset["name"] == "bocchi2026":
        assert [one["name"] for one in facts["phases"]] == ["norm learning", "plateau", "escape", "descent"]
        assert all(one["about"] for one in facts["theory"])
        assert {one["source"] for one in facts["theory"]} >= {
            "theory.plateau",
            "theory.escape_time",
            "theory.optimal_rate",
        }
        height = next(one["value"] for one in facts["theory"] if one["source"] == "theory.plateau")
        assert abs(height - facts["phases"][1]["height"]) < 0.01 * height


CONTROLS: list[Any] = [None, {"training": {"learning_rate": 5}}]
BAD_CONTROLS: list[Any] = [
    {}, 3, "x", {"x": 3}, {"training": {"learning_rate": 0}}, {"training": {"learning_rate": 5000}}, {"guesses": 2},
    {"training": {"learning_rate": {"lower": 2.0, "upper": 1.0}}}, {"inputs": {"spectrum": {"eigenvalues": {"9": 4}}}},
]  # fmt: skip


def test_the_best_schedule_is_the_librarys(client: TestClient) -> None:
    answer = client.post("/api/optimal", json={"state": STATE, "control": {"training": {"learning_rate": 6}}})
    assert answer.status_code == 200, answer.text
    found, view = answer.json(), work.view(STATE)
    rate = found["schedule"]["training.learning_rate"]
    problem = view.problem.replace(training__learning_rate=sv.Schedule(times=rate["times"], rates=rate["rates"]))
    assert sv.run(problem, view.start, sv.Macro(), view.until).risk[0, -1] == pytest.approx(found["risk"], rel=1e-4)
    assert found["gain"] > 0
    assert found["curves"]["best"]["risk"][-1] < found["curves"]["constant"]["risk"][-1]


@pytest.mark.parametrize("control", BAD_CONTROLS)
def test_a_schedule_that_cannot_be_found_is_refused(control: Any, client: TestClient) -> None:
    answer = client.post("/api/optimal", json={"state": STATE, "control": control})
    assert answer.status_code == 422
    assert all("\n" not in line for line in answer.json()["problems"])


def test_curvature_is_the_librarys(client: TestClient) -> None:
    answer = client.post("/api/curvature", json={"state": STATE, "at": 100}).json()
    view = work.view(STATE)
    found = work.trajectory(view)
    expected = sv.landscape.curvature(view.problem, found.at(float(found.time[100])))
    assert np.allclose(answer["inside"], expected.inside)
    assert np.allclose(answer["outside"], expected.outside)
    (point, loss), *_ = sv.landscape.nearest(view.problem, found.at(float(found.time[100])), 5)
    assert (answer["near"][0]["risk"], answer["near"][0]["loss"]) == (point.risk, loss)
    assert len(answer["near"]) == 5
    assert client.post("/api/curvature", json={"state": STATE, "at": 10_000}).status_code == 422
    assert client.post("/api/curvature", json={"state": STATE, "at": True}).status_code == 422


@pytest.mark.statistical
def test_a_simulation_streams_in_and_has_the_law_of_sgd(client: TestClient) -> None:
    state = json.loads(json.dumps(STATE))
    state["inputs"]["dim"], state["run"]["until"] = 1000, 60.0
    answer = client.post("/api/simulate", json={"state": state, "runs": 16, "seed": seed(3)})
    assert answer.status_code == 200
    pieces = [json.loads(line) for line in answer.text.splitlines() if "working" not in line]
    assert len(pieces) == simulations.PIECES
    times = np.concatenate([piece["time"] for piece in pieces])
    risk = np.concatenate([piece["risk"] for piece in pieces], axis=1)
    cross = np.concatenate([piece["cross"] for piece in pieces])
    assert cross.shape == (len(times), 6 * 3)
    assert (np.square(cross[-1]).sum() > 100 * np.square(cross[0]).sum()).all()
    assert times[-1] == pytest.approx(60.0)
    assert (np.diff(times) > 0).all()
    view = work.view(state)
    whole = sv.run(view.problem, view.start, sv.Micro(runs=64, seed=seed(1)), times=[30.0, 60.0])
    for at, column in [(30.0, 0), (60.0, 1)]:
        ours = risk[:, int(np.argmin(abs(times - at)))]
        theirs = whole.risk[:, column]
        error = np.hypot(ours.std(ddof=1) / 4, theirs.std(ddof=1) / 8)
        assert abs(ours.mean() - theirs.mean()) < 5.5 * error


def test_what_diverges_is_told(client: TestClient) -> None:
    state = STATE | {"training": {"learning_rate": 10.0}, "inputs": {"dim": 100}}
    facts, arrays = unpack(client.post("/api/curve", json=state).content)
    assert "diverged" in facts["message"]
    assert np.isfinite(arrays["risk"]).sum() > 50
    assert arrays["time"][-1] < 1.0
    *_, last = client.post("/api/simulate", json={"state": state, "runs": 3}).text.splitlines()
    assert "diverged at" in json.loads(last)["problems"][0]


def test_simulations_end_in_time(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulations, "seconds", lambda asked: 1.0)
    monkeypatch.setattr(simulations, "SIMULATION_SECONDS", 1.0)
    state = STATE | {"inputs": {"dim": 10**6}}
    began = time.monotonic()
    *_, last = client.post("/api/simulate", json={"state": state}).text.splitlines()
    assert "after 1 s" in json.loads(last)["problems"][0]
    assert time.monotonic() - began < 30


def test_a_seed_names_its_runs() -> None:
    """The same ones again, to the bit; others for another seed; and no two alike in one simulation, in no piece of it."""
    view = work.view(STATE | {"inputs": {"dim": 100}, "run": {"until": 4.0}})
    one, again, two = (
        np.concatenate([piece.risk for piece in simulations.Simulation(view, "micro", 2, seed).pieces()], axis=1)
        for seed in (7, 7, 8)
    )
    assert np.array_equal(one, again)
    assert (one != two).all()
    steps = np.diff(one, axis=1)
    assert (steps[0] != steps[1]).all()
    assert len(np.unique(steps)) == steps.size


def test_the_landscape_says_why_it_is_not_known(client: TestClient) -> None:
    facts, _ = unpack(client.post("/api/curve", json=PRESETS[3]["state"]).content)
    assert (
        "student.activation: is 'erf', as the teacher's; this landscape is for 'quadratic' units" in facts["landscape"]
    )
    assert client.post("/api/curvature", json={"state": PRESETS[3]["state"], "at": 0}).status_code == 422
    for change, message in [
        ({"training": {"learning_rate": 0.1, "train_readout": True}}, "is for a fixed readout"),
        ({"student": {"width": 9}, "teacher": {"width": 8, "overlap": "sampled"}}, "too many critical points"),
    ]:
        state = STATE | {"start": {"seed": 0}} | change
        assert unpack(client.post("/api/curve", json=state).content)[0]["landscape"] is None
        bent = client.post("/api/curvature", json={"state": state, "at": 5}).json()
        assert bent["near"] == []
        assert message in bent["unlisted"]
        assert bent["inside"]


def test_theory_comes_with_its_caveats_or_with_the_reason_why_not(client: TestClient) -> None:
    facts, _ = unpack(client.post("/api/curve", json=PRESETS[1]["state"]).content)
    (rate,) = (one for one in facts["theory"] if one["source"] == "theory.optimal_rate")
    assert "learning stalls" in rate["caveats"][0]
    assert facts["theory_refusal"] is None
    decaying = STATE | {"training": {"learning_rate": 0.1, "weight_decay": 0.3}}
    facts, _ = unpack(client.post("/api/curve", json=decaying).content)
    assert facts["theory"] == []
    assert "training.weight_decay: is 0.3; this closed form is for weights without decay" in facts["theory_refusal"]


def test_what_is_taken_away_is_the_same_run(client: TestClient, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    taken = {
        kind: client.post(f"/api/export/{kind}", json={"state": STATE})
        for kind in ("toml", "python", "command", "csv", "nc", "png", "svg")
    }
    assert all(answer.status_code == 200 for answer in taken.values())
    (tmp_path / "p.toml").write_bytes(taken["toml"].content)
    assert sv.Problem.load(tmp_path / "p.toml").hash == work.view(STATE).problem.hash
    space: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(compile(taken["python"].text, "page", "exec"), space)
    assert (tmp_path / "curve.png").stat().st_size > 5000
    assert space["macro"].problem.hash == work.view(STATE).problem.hash
    assert np.allclose(space["macro"].start_risk, work.trajectory(work.view(STATE)).start_risk)
    (tmp_path / "run.nc").write_bytes(taken["nc"].content)
    assert np.array_equal(sv.Trajectory.load(tmp_path / "run.nc").risk, work.trajectory(work.view(STATE)).risk)
    table = np.genfromtxt(taken["csv"].text.splitlines(), delimiter=",", names=True)
    found = work.trajectory(work.view(STATE))
    assert np.array_equal(table["risk"], found.risk[0])
    assert np.array_equal(table["student_2_5"], found.student_overlap[0, :, 1, 4])
    assert len(table.dtype.names) == 2 + 18 + 21 + 6
    assert taken["png"].content.startswith(b"\x89PNG")
    assert b"<svg" in taken["svg"].content
    assert "solvable run problem.toml" in taken["command"].text


def test_simulated_runs_are_taken_away_too(
    client: TestClient, tmp_path: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    state = STATE | {"inputs": {"dim": 100}, "run": {"until": 5.0}}
    sgd = {"time": [0.0, 2.0, 5.0], "risk": [[1.0, 0.9, 0.7], [1.0, None, None]], "seed": 7}
    ask = {"state": state, "view": {"log_time": True, "log_risk": False, "overlaps": "students"}, "sgd": sgd}
    pictures = {
        name: client.post("/api/export/svg", json=body).text
        for name, body in [("all", ask), ("without", ask | {"sgd": None}), ("as usual", {"state": state, "sgd": sgd})]
    }
    assert ["SGD at dimension 100" in text for text in pictures.values()] == [True, False, True]
    assert ["of two students" in text for text in pictures.values()] == [True, True, False]
    assert "6 quadratic students, 3 quadratic teachers, rate 0.1" in pictures["all"]
    monkeypatch.chdir(tmp_path)
    space: dict[str, Any] = {}
    exec(compile(client.post("/api/export/python", json=ask).text, "page", "exec"), space)
    assert len(space["sgd"].risk) == 2
    assert (space["ax"].get_xscale(), space["ax"].get_yscale()) == ("log", "linear")
    *_, note, line = client.post("/api/export/command", json=ask).text.splitlines()
    assert note.startswith("# SGD of the same law")
    (tmp_path / "problem.toml").write_bytes(client.post("/api/export/toml", json=ask).content)
    assert line.startswith("solvable run ")
    assert main(line.split()[1:]) == 0
    assert np.array_equal(sv.Trajectory.load(tmp_path / "sgd.nc").risk[:, -1], space["sgd"].risk[:, -1])


@pytest.mark.parametrize(
    ("part", "message"),
    [
        ({"sgd": {"time": [0.0], "risk": [[1.0, 2.0]], "seed": 0}}, "sgd: must have"),
        ({"sgd": {"time": [0.0], "risk": [["x"]], "seed": 0}}, "sgd: must have"),
        ({"sgd": {"time": [0.0], "risk": [[1.0]] * 17, "seed": 0}}, "sgd: must have"),
        ({"sgd": {"time": [0.0], "risk": [[1.0]], "seed": "0; import os"}}, "seed: 0; import os given"),
        ({"sgd": {"time": [0.0], "risk": [[1.0]], "seed": -5}}, "seed: -5 given"),
        ({"view": {"log_time": "yes"}}, "view: must have"),
        ({"view": {"colour": True}}, "view: must have"),
        ({"view": {"overlaps": "nothing"}}, "view.overlaps: nothing given"),
        ({"code": 1}, "request: must have state, view, sgd, kept and nothing else"),
    ],
)
def test_what_cannot_be_taken_away(part: dict[str, Any], message: str, client: TestClient) -> None:
    answer = client.post("/api/export/python", json={"state": STATE} | part)
    assert answer.status_code == 422
    assert message in answer.json()["problems"][0]


def test_a_defect_is_told_from_a_refusal(
    client: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What the library refuses is the asker's mistake; anything else is ours, and the server stays up."""

    def broken(state: Any) -> work.View:
        raise KeyError(state)

    with monkeypatch.context() as patched:
        patched.setattr(work, "view", broken)
        assert client.post("/api/curve", json=STATE).status_code == 500
    assert "could not be answered" in caplog.text
    assert client.post("/api/curve", json=STATE).status_code == 200


def test_the_page_and_what_it_needs(client: TestClient) -> None:
    page = client.get("/")
    assert page.status_code == 200
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    for answer in (
        page,
        client.get("/static/page.js"),
        client.post("/api/curve", json=STATE),
        client.post("/api/curve"),
    ):
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert answer.headers["Referrer-Policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    for name in ("page.js", "page.css", "uPlot.iife.js", "uPlot.min.css"):
        assert f"/static/{name}" in page.text
    asked, left = set(), ["page.js", "page.css", "uPlot.iife.js", "uPlot.min.css"]
    while left:  # with what each module imports
        asked.add(name := left.pop())
        answer = client.get(f"/static/{name}")
        assert answer.status_code == 200, name
        assert name.startswith("uPlot") or len(answer.text.splitlines()) < 400
        left += set(re.findall(r'from "\./([\w.]+)"', answer.text)) - asked
    assert asked >= {path.name for path in STATIC.iterdir() if path.suffix in (".js", ".css")}  # none is left over
    assert all(f'"{name}"' in client.get("/static/units.js").text for name in (*UNITS, *LOSSES))
    assert "://" not in page.text  # nothing comes from elsewhere
    for name in ("nothing.js", "..%2fserver.py", "page.html", "%00"):
        assert client.get(f"/static/{name}").status_code in (404, 422)
    assert [one["name"] for one in client.get("/api/presets").json()] == [one["name"] for one in PRESETS]


def test_who_asks_is_checked(client: TestClient) -> None:
    assert client.get("/", headers={"Host": "evil.example"}).status_code == 400
    assert client.post("/api/curve", json=STATE, headers={"Origin": "http://evil.example"}).status_code == 403
    assert client.post("/api/curve", json=STATE, headers={"Origin": "null"}).status_code == 403
    assert client.post("/api/curve", json=STATE, headers={"Origin": "http://localhost"}).status_code == 200
    good, evil = ("Origin", "http://localhost"), ("Origin", "http://evil.example")
    for headers, status in {(good, evil): 403, (evil, good): 403, (good, evil, good): 403, (good, good): 200}.items():
        assert client.post("/api/curve", json=STATE, headers=list(headers)).status_code == status, headers
    hosts = [("Host", "localhost"), ("Host", "127.0.0.1"), good]  # only one of which the origin is
    for order in (hosts, hosts[::-1]):
        assert client.post("/api/curve", json=STATE, headers=order).status_code in (400, 403)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"student": {"width": 17}}, "student.width: 17 given, must be at most 16 in the explorer"),
        ({"inputs": {"dim": 65 * 20, "spectrum": {"beta": 1.0, "distinct": 65}}}, "must be at most 64"),
        ({"run": {"until": 1e9}}, "run.until: 1e+09 given"),
        ({"run": {}}, "run.until: is missing"),
        ({"start": {"seed": 0, "scale": 1e300}}, "scale: 1e+300 given, must be a number from 0 to 1e100"),
        ({"run": {"until": 1.0, "times": [1.0]}}, "run.times: is not for the explorer"),
        ({"training": {"step": 0.1}}, "training.step: is for a finite data set"),
        (
            {"training": {"learning_rate": 0.1, "batch": {"ratio": 0.5}}},
            "training.batch: a ratio is for a finite data set",
        ),
        ({"training": {"learning_rate": -1}}, "training.learning_rate"),
        ({"teacher": {"width": 1, "target": "product"}, "nothing": 1}, "nothing: is not a table here"),
        ({"level": {"name": "micro", "data": "/etc/passwd"}}, "level: is not a table here"),
        ({"mixture": {"probabilities": [1.0], "means": [[0.0] * 17]}}, "mixture.means.0: 17 given, must be at most 16"),
        ({"tasks": [{}] * 9}, "tasks: 9 given, must be at most 8"),
        ({"tasks": [{"readout": [1.0]}]}, "tasks.0.probability: is missing"),
        (
            {"student": {"width": 7}, "training": {"learning_rate": 0.1, "dropout": {"keep": 0.5}}},
            "training.dropout: 128 cases of a sample, must be at most 64 in the explorer",
        ),
    ],
)
def test_bounds(change: dict[str, Any], message: str, client: TestClient) -> None:
    answer = client.post("/api/curve", json=STATE | change)
    assert answer.status_code == 422
    assert any(message in line for line in answer.json()["problems"])


def test_classes_and_tasks_reach_the_library() -> None:
    mixture = {"probabilities": [0.5, 0.5], "means": [[1.0], [-1.0]], "labels": [1.0, -1.0]}
    readouts = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    tasks = [{"readout": readout, "probability": 0.5} for readout in readouts]
    training = {"learning_rate": 0.1, "anchor": 0.2, "label_flips": 0.1, "input_noise": 0.3}
    asked = work.view(STATE | {"mixture": mixture, "tasks": tasks, "training": training})
    assert asked.problem.mixture == sv.Mixture.from_mapping(mixture)
    assert asked.problem.tasks[1].readout == (0.0, 1.0, 0.0)
    assert asked.start.extras == asked.problem.extras
    assert asked.start.readout.shape == (2, 6)
    labelled = {name: table for name, table in STATE.items() if name != "teacher"}
    assert work.view(labelled | {"mixture": mixture}).problem.teacher.width == 0


def test_requests_that_are_none(client: TestClient) -> None:
    assert client.post("/api/curve", content=b"x").status_code == 400
    assert client.post("/api/curve", content=b"[" * 5000).status_code in (400, 422)
    assert client.post("/api/curve", content=b" " * (LONGEST + 1)).status_code == 413
    assert client.post("/api/curve", content=b'{"run": NaN}').status_code == 400
    assert client.get("/api/curve").status_code == 405
    assert client.post("/api/export/exe", json=STATE).status_code == 404
    assert client.post("/api/simulate", json={"state": STATE, "runs": 10**9}).status_code == 422
    assert client.post("/api/simulate", json={"state": STATE, "seed": -1}).status_code == 422
    big = STATE | {"inputs": {"dim": 10**9}}
    assert "more than the explorer runs" in client.post("/api/simulate", json={"state": big}).json()["problems"][0]


HEAVY = [
    {"student": {"width": 6, "activation": "relu"}},
    {"student": {"width": 5, "activation": "quadratic"}, "teacher": {"width": 3, "activation": "linear"}},
    {"student": {"width": 16, "activation": "relu"}, "teacher": {"width": 16, "activation": "relu"}},
    {"student": {"width": 16, "activation": "erf"}, "teacher": {"width": 16, "activation": "erf"},
     "inputs": {"dim": 6400, "spectrum": {"beta": 1.0, "distinct": 64}}},
    {"run": {"until": 1e6}, "student": {"width": 16}, "teacher": {"width": 16}},
]  # fmt: skip


@pytest.mark.parametrize("change", HEAVY, ids=str)
def test_no_curve_costs_more_than_the_bound(change: dict[str, Any], client: TestClient) -> None:
    """In CPU time, generously: a step that has begun is finished, and what is loaded at first use counts too."""
    began = time.process_time()
    assert client.post("/api/curve", json=STATE | {"start": {"seed": 0}} | change).status_code == 200
    assert time.process_time() - began < 6 * work.SECONDS


def test_a_curve_that_is_cut_off_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "SECONDS", 1e-3)
    state = STATE | {"student": {"width": 6, "activation": "relu"}, "start": {"seed": 0}}
    facts, arrays = unpack(client.post("/api/curve", json=state).content)
    assert "cut off" in facts["message"]
    assert np.isnan(arrays["risk"][-1])
    assert np.isfinite(arrays["risk"][0])


def test_sizes_are_refused_before_they_are_made(client: TestClient) -> None:
    began = time.process_time()
    for change in (
        {"inputs": {"dim": 10**7 + 1, "spectrum": {"beta": 1.0, "distinct": 10**7}}},
        {"training": {"learning_rate": 0.1, "batch": 10**9}},
        {"student": {"width": 10**9}},
    ):
        assert client.post("/api/curve", json=STATE | change).status_code == 422
    assert time.process_time() - began < 1.0


def test_simulations_take_turns_and_give_back_their_place(client: TestClient) -> None:
    slots = Slots("simulate", "simulations", 1)
    release = slots.take()
    with pytest.raises(RequestRefused, match="as many simulations"):
        slots.take()
    release()
    release()
    assert slots.free == 1
    for _ in range(6):  # more than there are places
        answer = client.post("/api/simulate", json={"state": STATE | {"inputs": {"dim": 100}, "run": {"until": 1.0}}})
        assert answer.status_code == 200


def test_texts_that_are_none(client: TestClient) -> None:
    answer = client.post("/api/curve", content=b'{"teacher": {"activation": "\\ud800"}, "\\ud800": 1}')
    assert answer.status_code == 422
    assert client.post("/api/simulate", content=b'{"state": {}, "runs": ' + b"9" * 400 + b"}").status_code == 422


@pytest.mark.parametrize(
    "start", [None, {"student_overlap": np.eye(6).tolist(), "cross_overlap": (0.1 * np.eye(6, 3)).tolist()}]
)
def test_exports_of_any_start_run(
    start: Any,
    client: TestClient,
    tmp_path: Any,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = {name: table for name, table in STATE.items() if name != "start"} | (
        {} if start is None else {"start": start}
    )
    space: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(compile(client.post("/api/export/python", json={"state": state}).text, "page", "exec"), space)
    (tmp_path / "p.toml").write_bytes(client.post("/api/export/toml", json={"state": state}).content)
    assert main(["run", str(tmp_path / "p.toml"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out.partition("\n")[2])
    assert told["risk"]["first"] == pytest.approx(float(space["macro"].start_risk[0]))


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 40), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(
        ["erf", "relu", "linear", "quadratic", "sphere", "\ud800", "unit", "", "x" * 50, [], {}, [1, 2],
         {"beta": 1, "distinct": 4}, 1e308, -1e-320]
    ),
)  # fmt: skip
DATA: dict[str, Any] = {"samples": 2.0, "step": 0.5, "selection": "subsets", "batch": 0.5, "form": "auto"}
AXES = [
    "training.learning_rate",
    "student.width",
    "inputs.dim",
    "start.seed",
    "run.until",
    "x",
    "level.name",
    "inputs.spectrum.x",
]
NAMES = ["width", "activation", "readout", "norm", "dim", "spectrum", "learning_rate", "batch", "label_noise", "weight_decay",
         "train_readout", "seed", "scale", "students", "cross", "until", "loss_factor", "student_overlap", "nothing"]  # fmt: skip


def fuzz(client: TestClient, count: int) -> None:
    @settings(
        max_examples=count, suppress_health_check=list(HealthCheck), deadline=None, derandomize=True, database=None
    )
    @given(st.data())
    def ask(data: st.DataObject) -> None:
        state = json.loads(json.dumps(STATE)) | {"run": {"until": 5.0}}
        for _ in range(data.draw(st.integers(1, 3))):
            table = data.draw(st.sampled_from([*STATE, "level", "x"]))
            part = state.setdefault(table, {})
            if not isinstance(part, dict) or data.draw(st.integers(0, 9)) == 0:
                state[table] = copy.deepcopy(data.draw(VALUES))
            else:
                part[data.draw(st.sampled_from(NAMES))] = copy.deepcopy(data.draw(VALUES))
        where = data.draw(
            st.sampled_from(
                [
                    "curve",
                    "curve",
                    "curvature",
                    "optimal",
                    "simulate",
                    "diagram",
                    "export/toml",
                    "export/csv",
                    "export/python",
                ]
            )
        )
        body: Any = {"state": state}
        if where == "curve":
            body = state
        elif where == "curvature":
            body["at"] = data.draw(VALUES)
        elif where == "optimal":
            body["control"] = data.draw(st.sampled_from([*CONTROLS, *BAD_CONTROLS]))
        elif where == "simulate":
            state["inputs"] = {"dim": 64} | (state["inputs"] if isinstance(state.get("inputs"), dict) else {})
            body |= {name: data.draw(VALUES) for name in data.draw(st.sets(st.sampled_from(["runs", "seed"])))}
            body["level"] = data.draw(st.sampled_from(["micro", "meso", "empirical", "x"]))
            if body["level"] == "empirical":
                body["data"] = DATA | {data.draw(st.sampled_from([*DATA, "x"])): data.draw(VALUES)}
        elif where == "diagram":
            axes = [{"name": data.draw(st.sampled_from(AXES)), "values": [data.draw(VALUES)]} for _ in "xy"]
            body |= dict(zip("xy", axes, strict=True))
        else:
            body |= {name: data.draw(VALUES) for name in data.draw(st.sets(st.sampled_from(["view", "sgd", "x"])))}
        answer = client.post(f"/api/{where}", content=json.dumps(body))
        assert answer.status_code in (200, 404, 422), (where, state, answer.text)
        if answer.status_code == 422:
            lines = answer.json()["problems"]
            assert lines
            assert all(isinstance(line, str) and line and "\n" not in line for line in lines)

    ask()


def test_bad_requests_never_take_it_down(client: TestClient) -> None:
    fuzz(client, 300)


@pytest.mark.slow
def test_thousands_of_bad_requests(client: TestClient) -> None:
    fuzz(client, 10_000)
