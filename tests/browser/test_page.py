"""The explorer in a real browser: load, move, watch, simulate, cancel, share, download."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pages import drawn, move, risk, simulated

import solvable as sv

pytestmark = pytest.mark.browser


def test_first_curve_and_sliders(page: Any) -> None:
    before = risk(page)
    assert page.text_content("#status").startswith("Half of the first risk is gone at")
    assert "plateau" in page.text_content("#phases")
    assert page.locator("#risk canvas").count() == 1
    move(page, "training.learning_rate", -0.5)
    after = risk(page)
    assert after[-1] < before[-1]
    page.wait_for_url("**learning_rate=0.3162*")
    move(page, "student.width", 3)
    assert page.evaluate("page.shown.arrays.cross.shape.slice(1)") == [3, 3]


def test_the_library_agrees_with_what_is_drawn(page: Any) -> None:
    page.select_option("#preset", "worschech2024")
    drawn(page)
    state = page.evaluate("page.shown.tables")
    problem = sv.Problem.from_mapping({name: state[name] for name in ("teacher", "student", "inputs", "training")})
    start = sv.start(problem, **state["start"])
    times = np.array(page.evaluate("Array.from(page.shown.arrays.time.values)"), dtype=float)
    alone = sv.run(problem, start, sv.Macro(), times=np.unique(times))
    assert np.allclose(risk(page), alone.risk[0], rtol=1e-3, atol=1e-6)


def test_a_simulation_streams_in_and_can_be_cancelled(page: Any) -> None:
    move(page, "inputs.dim", 3)
    simulated(page)
    assert "the first simulated run" in page.text_content("#overlaps-legend")
    found = page.evaluate("page.samples.risk.map(row => row.at(-1))")
    assert len(found) == 4
    assert len(set(found)) == 4
    move(page, "inputs.dim", 5.2)
    page.click("#simulate")
    page.wait_for_function("page.samples && page.samples.risk.length > 0", timeout=60_000)
    page.click("#cancel")
    assert not page.is_disabled("#simulate")
    far = page.evaluate("page.samples.time.length")
    time.sleep(1.0)
    assert page.evaluate("page.samples.time.length") == far
    assert page.evaluate("document.getElementById('progress').value") < 1


def test_a_link_reproduces_the_view(page: Any, opened: Callable[..., Any]) -> None:
    """The problem, how one looks at it, the time under the cursor, and the very same simulated runs."""
    page.select_option("#preset", "arnaboldi2023")
    drawn(page)
    move(page, "training.label_noise", 0.25)
    page.check("#logx")
    page.uncheck("#logy")
    page.select_option("#which", "students")
    page.evaluate("page.scrub(50)")
    page.fill("#runs", "3")
    simulated(page)
    page.click("#take")
    page.wait_for_function("document.getElementById('status').textContent === 'Copied as link.'")
    link = page.evaluate("navigator.clipboard.readText()")
    other = opened(link)
    simulated(other, by_hand=False)
    assert other.evaluate("page.state") == page.evaluate("page.state")
    assert np.array_equal(risk(other), risk(page))
    assert other.evaluate("page.samples") == page.evaluate("page.samples")
    assert len(page.evaluate("page.samples.risk")) == 3
    for seen in ("#now", "#risk-legend", "#overlaps-legend", "#phases"):
        assert other.text_content(seen) == page.text_content(seen)
    assert other.is_checked("#logx")
    assert not other.is_checked("#logy")


def test_addresses_hold_the_whole_state(page: Any) -> None:
    """Also the defaults, a second link in the same tab, and a reload."""
    page.click("summary:text-is('Start')")
    page.select_option("[id='start.students']", "gaussian")
    drawn(page)
    page.wait_for_function("!location.hash.includes('orthogonal')")  # soon, not at once
    page.reload()
    drawn(page)
    assert page.evaluate("page.state['start.students']") == "gaussian"
    page.evaluate("() => { location.hash = 'training.learning_rate=0.5&training.label_noise=1'; }")
    page.wait_for_function("page.state['training.label_noise'] === 1")
    page.evaluate("() => { location.hash = 'student.width=4'; }")
    page.wait_for_function("page.state['student.width'] === 4")
    drawn(page)
    assert page.evaluate("[page.state['training.learning_rate'], page.state['training.label_noise']]") == [0.1, 0]


def test_addresses_that_are_wrong_say_so(page: Any) -> None:
    page.evaluate(
        "() => { location.hash = 'student.width=abc&nothing=1&view.overlaps=x&view.log_time=maybe&teacher.width=2'; }"
    )
    page.wait_for_function("page.state['teacher.width'] === 2")
    drawn(page)
    lines = page.locator("#problems li").all_text_contents()
    assert [line.partition(":")[0] for line in lines] == ["student.width", "nothing", "view.overlaps", "view.log_time"]
    assert lines[0] == "student.width: abc in the address, which it cannot be; 6 is taken."
    assert page.evaluate("page.shown.arrays.cross.shape.slice(1)") == [6, 2]
    move(page, "student.width", 3)
    assert page.text_content("#problems") == ""


def test_every_kind_of_overlap_is_drawn(page: Any) -> None:
    assert page.locator("#overlaps-legend li").all_text_contents() == ["teacher 1", "teacher 2", "teacher 3"]
    assert page.evaluate("page.plots.overlaps.made.series.length") == 1 + 18
    page.select_option("#which", "students")
    assert page.evaluate("page.plots.overlaps.made.series.length") == 1 + 21
    page.check("[id='training.train_readout']")
    drawn(page)
    page.select_option("#which", "readout")
    assert page.evaluate("page.plots.overlaps.made.series.length") == 1 + 6
    page.uncheck("[id='training.train_readout']")
    drawn(page)
    assert page.evaluate("page.plots.overlaps.made.series.length") == 1 + 18


def test_any_number_of_eigenvalues(page: Any) -> None:
    for L in (2, 3, 7, 64):
        move(page, "inputs.spectrum.distinct", L)
        assert page.text_content("#problems") == ""
        assert page.evaluate("page.shown.facts.dim") % L == 0


def test_sliders_answer_while_a_simulation_runs(page: Any) -> None:
    move(page, "inputs.dim", 5.0)
    page.click("#simulate")
    page.wait_for_function("page.samples && page.samples.risk.length > 0", timeout=60_000)
    before = risk(page)
    began = time.monotonic()
    move(page, "training.learning_rate", -0.5)
    assert time.monotonic() - began < 5.0
    assert risk(page)[-1] < before[-1]
    assert page.evaluate("page.samples") is None  # it was of another problem


def test_the_page_obeys_its_own_policy(browser: Any, address: str) -> None:
    page = browser.new_context().new_page()
    complaints: list[str] = []
    page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    page.goto(address)
    page.wait_for_selector("#risk canvas")
    assert complaints == []
    page.context.close()


def test_downloads_open_again(page: Any, tmp_path: Path) -> None:
    taken = {}
    simulated(page)
    for kind in ("csv", "nc", "png", "svg", "sgd.csv"):
        with page.expect_download() as waiting:
            page.select_option("#kind", kind)
            page.click("#take")
        taken[kind] = tmp_path / f"run.{kind}"
        waiting.value.save_as(taken[kind])
    back = sv.Trajectory.load(taken["nc"])
    assert np.allclose(back.risk[0], risk(page), rtol=1e-5)
    table = np.genfromtxt(taken["csv"], delimiter=",", names=True)
    assert np.array_equal(table["risk"], back.risk[0])
    assert taken["png"].read_bytes()[:4] == b"\x89PNG"
    assert "<svg" in taken["svg"].read_text(encoding="utf-8")
    assert "SGD at dimension" in taken["svg"].read_text(encoding="utf-8")
    runs = np.genfromtxt(taken["sgd.csv"], delimiter=",", names=True)
    assert np.allclose(runs["risk_4"], page.evaluate("page.samples.risk[3]"))
    page.select_option("#kind", "python")
    page.click("#take")
    page.wait_for_function("document.getElementById('status').textContent === 'Copied as python.'")
    code = page.evaluate("navigator.clipboard.readText()")
    seed = page.evaluate("page.state['sgd.seed']")
    assert f"seed={seed}" in code
    space: dict[str, Any] = {}
    exec(compile(code.partition("with sv.plot")[0], "page", "exec"), space)
    assert space["macro"].problem.hash == back.problem.hash


def test_scrubbing_through_time(page: Any) -> None:
    page.evaluate(
        "() => { const c = document.getElementById('cursor'); c.value = 20; c.dispatchEvent(new Event('input')); }"
    )
    assert page.text_content("#now").startswith("α = ")
    page.click("#tab-landscape")
    page.wait_for_function("document.getElementById('bent').textContent.startsWith('Hessian at')")
    page.wait_for_function("document.querySelectorAll('#critical tbody tr').length === 5")
    losses = [float(text) for text in page.locator("#critical tbody td:nth-child(2)").all_text_contents()]
    assert losses == sorted(losses)
    page.wait_for_url("**view.at=*")
    page.focus("#cursor")
    first = page.text_content("#now")
    page.keyboard.press("ArrowRight")
    assert page.text_content("#now") != first


def test_mistakes_are_told_and_pass(opened: Callable[..., Any]) -> None:
    page = opened("#student.width=99", wait=False)
    page.wait_for_selector("#problems li")
    said = "99 does not work here: it must be at most 16 in the explorer; the library takes more."
    assert page.text_content("[id='student.width:wrong']") == said
    assert page.text_content("#problems") == f"Student width: {said}"  # also where the field is out of sight
    assert page.get_attribute("[id='student.width']", "aria-invalid") == "true"
    assert page.text_content("#status") == "Not computed."
    page.fill("[id='student.width']", "4")
    page.keyboard.press("Enter")
    drawn(page)
    assert page.text_content("#problems") == ""
    assert page.get_attribute("[id='student.width']", "aria-invalid") is None
    page.fill("[id='student.width']", "")
    page.keyboard.press("Tab")
    assert (
        page.text_content("[id='student.width:wrong']") == "This field is empty. The curve still has student width 4."
    )
    page.focus("[id='student.width']")
    page.keyboard.press("Escape")
    assert page.input_value("[id='student.width']") == "4"
    assert page.text_content("[id='student.width:wrong']") == ""
    page.set_viewport_size({"width": 390, "height": 844})
    page.locator("[id='training.learning_rate']").scroll_into_view_if_needed()
    page.fill("[id='training.learning_rate']", "-1")
    page.keyboard.press("Enter")
    page.wait_for_selector("#problems li")
    box = page.locator("[id='training.learning_rate:wrong']").bounding_box()  # seen on a phone too
    assert 0 <= box["y"] < 844


def test_everything_has_a_name_and_fits(page: Any) -> None:
    """For screen readers, and on a phone."""
    unnamed = page.evaluate(
        "() => Array.from(document.querySelectorAll('input, select, button, canvas[role], progress')).filter(e => "
        "!(e.labels?.length || e.getAttribute('aria-label') || (e.tagName === 'BUTTON' && e.textContent.trim()))).map(e => e.id)"
    )
    assert unnamed == []
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 800})
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click("#tab-numbers")
    page.wait_for_function("document.querySelectorAll('#values tbody tr').length === 13")
    assert page.locator("#values tbody tr").last.text_content().startswith("200")
    page.wait_for_function("document.getElementById('said').textContent.startsWith('Half of the first risk')")


@pytest.mark.parametrize("size", [(667, 375), (640, 400), (390, 800), (390, 600), (1280, 800)], ids=str)
def test_nothing_covers_a_control(size: tuple[int, int], page: Any) -> None:
    """Also with the table open: what has the focus can be seen."""
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("document.querySelectorAll('form details').forEach(one => { one.open = true; })")
    page.wait_for_timeout(200)
    covered = page.evaluate(
        "() => Array.from(document.querySelectorAll('#controls input:enabled, #controls select, #cursor, #which, #play'))"
        ".filter(e => e.offsetParent !== null && !e.closest('[hidden]')).filter(e => { "
        "e.focus(); e.scrollIntoView({block: 'end'}); const box = e.getBoundingClientRect(); "
        "const top = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2); return top !== e; }).map(e => e.id)"
    )
    assert covered == []


def test_arrows_in_fields_step_as_sliders_do(page: Any) -> None:
    page.focus("[id='training.learning_rate']")
    page.keyboard.press("ArrowDown")
    drawn(page)
    assert page.text_content("#problems") == ""
    assert 0.09 < page.evaluate("page.state['training.learning_rate']") < 0.1
    assert page.input_value("[id='training.learning_rate']") == str(
        page.evaluate("page.state['training.learning_rate']")
    )


def slow_curves(page: Any, seconds: float) -> None:
    def late(route: Any) -> None:
        time.sleep(seconds)
        route.continue_()

    page.route("**/api/curve", late)


def test_sgd_begins_where_its_own_curve_begins(page: Any) -> None:
    """Asked for while the curve of another problem is still on the screen."""
    move(page, "inputs.dim", 2.5)
    slow_curves(page, 1.0)
    page.evaluate(
        "() => { const s = document.getElementById('student.width:slide'); s.value = 2; s.dispatchEvent(new Event('input')); }"
    )
    page.wait_for_function("document.getElementById('status').textContent === 'Computing…'")
    simulated(page)
    drawn(page)
    first = page.evaluate("page.samples.risk[0][0]")
    assert first == page.evaluate("page.shown.facts.start_risk")
    assert page.evaluate("[page.shown.arrays.cross.shape[1], page.samples.cross[0].length]") == [2, 6]
    assert page.text_content("#status").startswith("SGD has finished")


def test_what_diverges_says_so_and_is_seen(page: Any) -> None:
    move(page, "inputs.dim", 2)
    move(page, "training.learning_rate", 1)
    assert "The weights grow without bound" in page.text_content("#status")
    assert page.evaluate("page.shown.count") > 50
    page.click("#simulate")
    page.wait_for_selector("#problems li")
    assert "diverged at" in page.text_content("#problems")
    move(page, "training.learning_rate", -1)
    assert page.text_content("#problems") == ""


def test_what_is_refused_or_cancelled_leaves_no_trace(page: Any) -> None:
    page.fill("#runs", "99")
    page.click("#simulate")
    page.wait_for_selector("#problems li")
    assert "The number of runs cannot be 99: it must be a whole number from 1 to 16" in page.text_content("#problems")
    page.fill("#runs", "2")
    move(page, "inputs.dim", 5.3)
    page.click("#simulate")
    page.wait_for_function("page.samples && page.samples.risk.length > 0", timeout=60_000)
    assert page.text_content("#problems") == ""
    page.wait_for_url("**sgd.seed=*")
    page.click("#cancel")
    page.wait_for_function("!location.hash.includes('sgd.seed')")
    assert "sgd.runs=99" not in page.url
    with page.expect_download() as waiting:  # what is on the screen can be taken all the same
        page.select_option("#kind", "png")
        page.click("#take")
    assert waiting.value.failure() is None


def test_tiny_risks_have_readable_axes(page: Any) -> None:
    """A linear student learns exactly; below its accuracy the curve is not drawn, and few labels stand at the axis."""
    page.evaluate(
        "() => { location.hash = 'teacher.activation=linear&student.activation=linear&teacher.width=1&student.width=2"
        "&run.until=3000&training.learning_rate=0.3'; }"
    )
    page.wait_for_function("page.state['run.until'] === 3000")
    drawn(page)
    assert page.input_value("#preset") == ""
    low = page.evaluate("page.plots.risk.made.scales.y.min")
    assert 1e-8 < low < 1e-5
    assert "its accuracy" in page.text_content("#risk-legend")
    labels = page.evaluate("page.decades(1e-9, 200, 10)")
    assert 5 < len(labels) < 14
    assert page.evaluate("page.decades(0.3, 3, 10)") == [0.5, 1, 2]
    assert page.evaluate("page.decades(0.009679, 1.3, 10)") == [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1]
    assert page.evaluate("page.decades(0.72, 0.96, 10)") == [0.75, 0.8, 0.85, 0.9, 0.95]
    page.evaluate("() => { location.hash = ''; }")
    page.wait_for_function("document.getElementById('preset').value === 'bocchi2026'")


def test_the_landscape_tells_why_it_is_empty(page: Any) -> None:
    page.select_option("#preset", "arnaboldi2023")
    drawn(page)
    page.click("#tab-landscape")
    page.wait_for_function("document.getElementById('bent').textContent.startsWith('Hessian at')")
    page.select_option("#preset", "worschech2024")
    drawn(page)
    page.click("#tab-landscape")
    assert page.text_content("#unbent") == "The landscape is for quadratic units; here the student activation is erf."
    assert not page.is_visible("#critical")
    assert not page.is_visible("#hessian")


def test_a_mistake_of_the_page_is_not_blamed_on_the_server(browser: Any, address: str) -> None:
    page = browser.new_context(bypass_csp=True).new_page()
    page.goto(address)
    drawn(page)
    page.route("**/api/curve", lambda route: route.abort())
    page.evaluate("() => { page.changed('run.until'); }")
    page.wait_for_selector("#problems li")
    assert "does not answer" in page.text_content("#problems")
    assert page.evaluate("document.body.classList.contains('stale')")
    page.unroute("**/api/curve")
    page.evaluate(
        "() => { document.getElementById('matrix').getContext = () => { throw new Error('broken'); }; page.changed('run.until'); }"
    )
    page.wait_for_function("!document.body.classList.contains('stale')")
    assert page.text_content("#problems") == ""
    page.evaluate(
        "() => { delete document.getElementById('matrix').getContext; page.changed('run.until'); }"
    )  # and the page goes on
    drawn(page)
    page.context.close()


def test_many_clients_at_once(address: str) -> None:
    """Six that each ask for a curve of more than a second beside four simulations: the page and a light curve are answered in
    their turn, and nothing is refused but a fifth simulation, until one of the four is gone."""
    heavy = {"teacher": {"width": 2, "activation": "relu"}, "student": {"width": 6, "activation": "relu"}, "inputs": {"dim": 1000},
             "training": {"learning_rate": 0.1}, "start": {"seed": 0}, "run": {"until": 200.0}}  # fmt: skip
    light = heavy | {"teacher": {"width": 1}, "student": {"width": 2}}
    endless = {"state": light | {"inputs": {"dim": 10**7}}, "runs": 1}

    def ask(path: str, body: Any = None) -> Any:
        return urllib.request.urlopen(address + path, json.dumps(body).encode() if body else None, timeout=60)

    def refused(path: str, body: Any) -> int:
        try:
            ask(path, body).close()
        except urllib.error.HTTPError as error:
            return error.code
        return 200

    simulations = [ask("api/simulate", endless) for _ in range(4)]
    with ThreadPoolExecutor(6) as clients:
        curves = [clients.submit(refused, "api/curve", heavy) for _ in range(6)]
        time.sleep(0.5)
        began = time.monotonic()
        assert ask("").status == 200
        assert time.monotonic() - began < 5.0
        assert refused("api/simulate", endless) == 429
        assert ask("api/curve", light).status == 200
        assert [one.result() for one in curves] == [200] * 6
    for one in simulations:
        one.close()
    for _ in range(100):
        if refused("api/simulate", endless) == 200:
            break
        time.sleep(0.1)
    else:
        pytest.fail("the places of closed simulations are not given back")


def test_a_busy_server_is_asked_again_for_the_newest(page: Any) -> None:
    refusals: list[Any] = []

    def refuse_twice(route: Any) -> None:
        refusals.append(route.request.post_data_json)
        if len(refusals) > 2:
            route.continue_()
            return
        body = json.dumps({"problems": ["curve: as many as this server takes are waiting"]})
        route.fulfill(status=429, headers={"Retry-After": "1", "Content-Type": "application/json"}, body=body)

    page.route("**/api/curve", refuse_twice)
    page.evaluate("() => { page.state['run.until'] = 50; page.changed('run.until'); }")
    page.wait_for_function("() => document.getElementById('status').textContent.includes('busy')")
    assert "as many as this server takes" in page.text_content("#problems")
    page.evaluate("() => { page.state['run.until'] = 60; page.changed('run.until'); }")
    drawn(page)
    assert refusals[-1]["run"]["until"] == 60
    assert page.text_content("#problems") == ""
    page.unroute("**/api/curve")


def test_the_latest_request_wins(page: Any) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.url) if one.url.endswith("/api/curve") else None)
    values = [round(-2 + 0.05 * i, 2) for i in range(40)]
    page.evaluate(
        "([id, values]) => { const s = document.getElementById(id); "
        "for (const v of values) { s.value = v; s.dispatchEvent(new Event('input')); } }",
        ["training.learning_rate:slide", values],
    )
    drawn(page)
    assert len(asked) <= 3  # not one for each of forty moves
    state = page.evaluate("page.shown.tables")
    assert state["training"]["learning_rate"] == pytest.approx(10 ** values[-1], rel=1e-3)
    problem = sv.Problem.from_mapping(
        json.loads(json.dumps({k: state[k] for k in ("teacher", "student", "inputs", "training")}))
    )
    assert page.evaluate("page.shown.facts.hash") == problem.hash[:12]
