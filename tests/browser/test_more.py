"""Beside the curve, in a real browser: diffusion, finite data, other rules, best schedules, spectra, phase diagrams."""

from typing import Any

import pytest
from pages import drawn, move, risk, simulated

from solvable.web import work

pytestmark = pytest.mark.browser


def test_diffusion_and_finite_data_beside_sgd(page: Any) -> None:
    page.select_option("#preset", "data")
    simulated(page, by_hand=False)
    assert page.is_visible("[id='data.samples']")
    assert page.evaluate("[page.samples.level, page.samples.training.length]") == ["empirical", 2]
    assert "memorised" in page.text_content("#status")
    assert "its training loss" in page.text_content("#risk-legend")
    page.fill("[id='data.samples']", "-1")
    page.keyboard.press("Enter")
    page.click("#simulate")
    page.wait_for_function("document.getElementById('data.samples:wrong').textContent !== ''")
    page.select_option("#level", "meso")
    assert not page.is_visible("[id='data.samples']")
    simulated(page)
    assert "diffusion at dimension 400" in page.text_content("#risk-legend")
    page.wait_for_url("**sgd.level=meso*")


def test_other_rules_have_controls_that_reach_the_library(page: Any) -> None:
    page.click("summary:text-is('Rule')")
    plain = risk(page)
    move(page, "training.momentum.beta", 0.5)
    assert page.evaluate("page.shown.tables.training.momentum") == {"beta": 0.5}
    assert "this momentum is a rate of 0.2" in page.text_content("#status")
    assert risk(page)[-1] < plain[-1]
    move(page, "training.momentum.beta", 0)
    page.select_option("[id='training.rate_rule.kind']", "adagrad")
    drawn(page)
    assert page.evaluate("page.shown.tables.training.rate_rule") == {"kind": "adagrad", "offset": 1}
    page.click("#tab-theory")
    assert page.text_content("#untold").endswith('The closed form does not know the setting "rate follows".')
    state = page.evaluate("page.shown.tables")
    assert work.view(state).problem.training.rate_rule.offset == 1.0
    page.select_option("[id='training.rate_rule.kind']", "line-search")
    drawn(page)
    page.evaluate("() => { page.state['training.momentum.beta'] = 0.5; page.changed('training.momentum.beta'); }")
    page.wait_for_function("document.getElementById('training.rate_rule.kind:wrong').textContent !== ''")
    said = page.text_content("[id='training.rate_rule.kind:wrong']")
    assert said == "Line search cannot go together with momentum, with which the risk falls otherwise."
    page.evaluate("() => { page.state['training.momentum.beta'] = 0; page.changed('training.momentum.beta'); }")
    page.select_option("[id='training.rate_rule.kind']", "nothing")
    drawn(page)
    assert page.evaluate("'rate_rule' in page.shown.tables.training") is False
    page.select_option("[id='training.rule']", "normalised")
    drawn(page)
    assert work.view(page.evaluate("page.shown.tables")).problem.training.rule == "normalised"
    move(page, "training.lookahead", 0.1)
    assert page.evaluate("page.shown.tables.training.lookahead") == 0.1


def test_the_best_schedule_is_drawn_with_what_it_gains(page: Any) -> None:
    page.select_option("#preset", "schedule")
    drawn(page)
    page.click("#tab-schedule")
    page.click("#best")
    page.wait_for_function(
        "document.getElementById('best-words').textContent.startsWith('The best schedule ends')", timeout=90_000
    )
    assert page.locator("#best-rate canvas").count() == 1
    assert "best constant rate" in page.text_content("#best-legend")
    move(page, "training.learning_rate", 0)
    assert page.is_hidden("#best-curves")  # it was of another problem


def test_spectra_and_exponents(page: Any) -> None:
    page.click("#tab-spectrum")
    assert "single eigenvalue" in page.text_content("#spectrum-words")
    move(page, "inputs.spectrum.distinct", 8)
    assert page.text_content("#spectrum-words").startswith("8 eigenvalues fall as k^-2")
    assert page.locator("#exponent canvas").count() == 1
    assert len(page.evaluate("page.shown.facts.eigenvalues")) == 8


def test_a_phase_diagram_comes_in_can_be_cancelled_and_opens_curves(page: Any) -> None:
    page.click("#tab-diagram")
    page.click("#diagram-run")
    stop = "document.getElementById('diagram-stop').click()"
    page.wait_for_function(f"document.getElementById('diagram-progress').value > 0 && ({stop}, true)")
    far = page.evaluate("document.getElementById('diagram-progress').value")
    page.wait_for_timeout(400)
    assert page.evaluate("document.getElementById('diagram-progress').value") == far
    page.select_option("#diagram-y", "teacher.width")
    page.click("#diagram-run")
    page.wait_for_function("document.getElementById('diagram-progress').value === 1", timeout=60_000)
    page.focus("#diagram-canvas")
    for key in ("ArrowRight", "ArrowUp", "ArrowUp"):
        page.keyboard.press(key)
    assert "teacher width 3" in page.text_content("#diagram-words")
    page.keyboard.press("ArrowDown")
    said = page.text_content("#diagram-words")
    page.keyboard.press("Enter")
    drawn(page)
    assert page.evaluate("page.state['teacher.width']") == 2
    assert f"learning rate {page.evaluate('page.state[`training.learning_rate`]')}," in said.replace("e-3", "e-3")
    value = float(said.split("risk at the end ")[1].split(". ")[0])
    assert value == pytest.approx(float(risk(page)[-1]), rel=2e-3)
    move(page, "training.label_noise", 0.5)
    assert "of the settings before" in page.text_content("#diagram-words")


def test_a_phase_diagram_says_why_there_is_none_and_of_what_it_is(page: Any) -> None:
    page.click("#tab-diagram")
    page.select_option("#diagram-y", "training.learning_rate")
    page.click("#diagram-run")
    page.wait_for_function("document.getElementById('diagram-words').textContent.includes('two settings')")
    page.wait_for_function("!document.getElementById('diagram-run').disabled")
    assert page.text_content("#diagram-words") == "Learning rate is on both axes: choose two settings."
    page.select_option("#diagram-y", "student.width")
    page.click("#diagram-run")
    page.wait_for_function("document.getElementById('diagram-progress').value > 0.1")
    move(page, "training.label_noise", 0.5)
    assert page.text_content("#diagram-words") == "This diagram is of the settings before; compute it again."
    page.focus("#diagram-canvas")
    page.keyboard.press("ArrowRight")
    assert "with the settings before" in page.text_content("#diagram-words")
