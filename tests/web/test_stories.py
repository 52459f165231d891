"""What the stories say is what the library finds."""

import copy
import re
from typing import Any

import numpy as np
import pytest

import solvable as sv
from solvable.web import schedules, simulations, work
from solvable.web.presets import PRESETS
from solvable.web.server import STATIC

STORIES = {one["name"]: one for one in PRESETS}
NAMES = re.findall(
    r'\["((?:teacher|student|training|inputs|start|run|data)\.[\w.]+)", "', (STATIC / "fields.js").read_text()
)
STEPS = [(name, step) for name, story in STORIES.items() for step in range(len(story["steps"]))]


def tables(name: str, step: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tables of a step, and the data set of its simulation, as the page makes them."""
    story = STORIES[name]
    state, data = copy.deepcopy(story["state"]), {"selection": "all", "batch": 0.5, "form": "auto"}
    for one in story["steps"][: step + 1]:
        for path, value in one.get("change", {}).items():
            *outer, last = path.split(".")
            place: Any = data if outer == ["data"] else state
            for word in outer if outer != ["data"] else []:
                place = place.setdefault(word, {})
            place[last] = value
    training = state["training"]
    for rule, unused in (("rate_rule", {"kind": "nothing"}), ("momentum", {"beta": 0.0})):
        if training.get(rule) == unused:
            del training[rule]
    if state["inputs"].get("spectrum", {}).get("distinct") == 1:
        del state["inputs"]["spectrum"]
    return state, data


def curve(name: str, step: int) -> sv.Trajectory:
    return work.trajectory(work.view(tables(name, step)[0]))


def half(name: str, step: int) -> float:
    return float(curve(name, step).exit_time(0.5)[0])


def plateau(name: str, step: int) -> tuple[float, float]:
    """Begin and end of the longest one that has been left."""
    return max(
        ((one.start, one.end) for one in curve(name, step).plateaus() if one.left), key=lambda one: one[1] - one[0]
    )


def ends(name: str, step: int) -> simulations.Piece:
    """The last piece of a step's simulation."""
    state, data = tables(name, step)
    asked = STORIES[name]["steps"][step]["simulate"]
    wanted = simulations.Simulation.read(
        work.view(state), asked | {"data": data if asked["level"] == "empirical" else None}
    )
    *_, last = wanted.pieces()
    return last


@pytest.mark.parametrize(("name", "step"), STEPS, ids=str)
def test_every_step_can_be_computed(name: str, step: int) -> None:
    story = STORIES[name]
    one = story["steps"][step]
    assert set(one) <= {"say", "change", "keep", "alone", "view", "simulate", "best"}
    assert set(one.get("change", {})) <= set(NAMES)
    assert 3 <= len(story["steps"]) <= 5
    assert len(one["say"]) < 260
    found = curve(name, step)
    assert found.success


def test_a_plateau_its_escape_and_the_rate() -> None:
    assert plateau("bocchi2026", 0)[1] == pytest.approx(80, rel=0.05)
    assert half("bocchi2026", 0) == pytest.approx(103, abs=0.6)
    assert half("bocchi2026", 2) == pytest.approx(29, abs=0.6)
    asked = work.view(tables("bocchi2026", 3)[0])
    assert sv.theory.rate_limit(asked.problem).value < 1.0
    assert curve("bocchi2026", 3).risk[0, -1] > 0.7
    asked = work.view(tables("bocchi2026", 1)[0])
    state = work.trajectory(asked).at(40.0)
    (point, _), *_ = sv.landscape.nearest(asked.problem, state, 1)
    assert (point.kind, point.inside) == ("saddle", 0)
    assert point.index > 0


def test_the_dimension_enters_by_its_logarithm() -> None:
    assert half("arnaboldi2023", 1) / half("arnaboldi2023", 0) == pytest.approx(1.5, abs=0.1)


def test_widths() -> None:
    phases = [one.name for one in curve("saraomannelli2020", 0).phases()]
    assert phases == ["norm learning", "plateau", "escape", "descent"]
    alone = curve("saraomannelli2020", 1)
    assert alone.risk[0, -1] == pytest.approx(0.7, abs=0.05)
    assert half("saraomannelli2020", 1) < half("saraomannelli2020", 0)
    assert curve("saraomannelli2020", 2).risk[0, -1] < 1e-10
    assert half("saraomannelli2020", 2) < half("saraomannelli2020", 0)
    assert half("saraomannelli2020", 3) == pytest.approx(470, abs=5)
    assert half("saraomannelli2020", 0) == pytest.approx(320, abs=5)


def test_structure_shortens_the_plateau_and_slows_the_end() -> None:
    spread, even = plateau("worschech2024", 0), plateau("worschech2024", 1)
    assert even[1] / spread[1] == pytest.approx(4, abs=0.5)
    last = [one.exponent(0.9 * one.time[-1], one.time[-1]).value for one in (curve("worschech2024", i) for i in (0, 1))]
    assert last[1] < 2 * last[0]
    asked = work.view(tables("worschech2024", 2)[0])
    found, power = work.trajectory(asked), work.power(asked)
    assert power == pytest.approx(-0.5)
    assert found.plateaus() == []
    early = (found.time > 1) & (found.time < 10)
    assert np.allclose(work.exponents(found)[early], power, atol=0.07)
    assert work.exponents(found)[-1] < 3 * power


def test_noise_falls_with_the_dimension() -> None:
    def scatter(step: int) -> float:
        state, _ = tables("diffusion", step)
        wanted = STORIES["diffusion"]["steps"][step]["simulate"]
        asked = simulations.Simulation.read(work.view(state | {"run": {"until": 15.0}}), wanted)
        *_, last = asked.pieces()
        return float(last.risk[:, -1].std())

    sgd, leaping, large = (scatter(step) for step in range(3))
    assert 0.2 < leaping / sgd < 5
    assert large < 0.2 * sgd


def test_memorised_or_understood() -> None:
    start = curve("data", 0).start_risk[0]
    few, many, epochs = (ends("data", step) for step in range(3))
    assert (few.training[:, -1] < 0.02).all()
    assert (few.risk[:, -1] > start).all()
    for one in (many, epochs):
        assert (one.risk[:, -1] < 0.01).all()
        assert (one.training[:, -1] < 0.01).all()


def test_other_rules_leave_the_plateau_sooner() -> None:
    plain, momentum, repeats, polyak, huber = (plateau("rules", step)[1] for step in range(5))
    assert plain == pytest.approx(140, abs=3)
    assert momentum == pytest.approx(plain / 2, rel=0.05)
    assert repeats < momentum
    assert polyak < 0.9 * plain
    assert huber < 0.9 * plain
    state, _ = tables("rules", 0)
    twice = work.trajectory(work.view(state | {"training": state["training"] | {"learning_rate": 1.0}}))
    assert np.allclose(twice.risk, curve("rules", 1).risk)


def test_best_schedules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedules, "SECONDS", 4.0)  # on a busy machine too
    found = [
        schedules.best(work.view(tables("schedule", step)[0]), schedules.check({"training": {"learning_rate": 20}}))
        for step in (1, 2)
    ]
    quiet, noisy = (np.array(one["schedule"]["training.learning_rate"]["rates"]) for one in found)
    assert (np.diff(quiet[3:15]) > 0).all()
    assert quiet[-1] < 0.7 * quiet[10]
    assert noisy[-1] < 0.2 * noisy.max()
    assert all(one["risk"] < one["constant"]["risk"] for one in found)
