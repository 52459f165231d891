"""The explorer in class: what stays in sight, what is kept, played, told and undone."""

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from pages import drawn, move, risk, simulated

pytestmark = pytest.mark.browser
SIZES = [(1280, 800), (1920, 1080), (390, 844)]
RATE = "training.learning_rate"


def in_sight(page: Any, selector: str) -> bool:
    box = page.locator(selector).bounding_box()
    return bool(box and box["y"] >= -1 and box["y"] + box["height"] <= page.viewport_size["height"] + 1)


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_the_plot_stays_in_sight_while_one_moves_any_control(size: tuple[int, int], page: Any) -> None:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.evaluate("document.querySelectorAll('form details').forEach(one => { one.open = true; })")
    page.wait_for_timeout(200)
    assert page.evaluate("document.documentElement.scrollWidth") <= size[0]
    for name in ("teacher.width", RATE, "inputs.dim", "run.until"):
        page.locator(f"[id='{name}:slide']").scroll_into_view_if_needed()
        page.focus(f"[id='{name}:slide']")
        page.keyboard.press("ArrowLeft")
        drawn(page)
        assert in_sight(page, f"[id='{name}:slide']")
        assert in_sight(page, "#risk")


def test_undo_redo_back_and_reset(page: Any) -> None:
    assert page.is_disabled("#undo")
    first = risk(page)
    for value in (-0.9, -0.8, -0.5):  # one move of one slider
        move(page, RATE, value)
    page.wait_for_url("**learning_rate=0.3162*")
    move(page, "student.width", 3)
    page.wait_for_url("**student.width=3*")
    page.go_back()
    page.wait_for_function("page.state['student.width'] === 6")
    drawn(page)
    assert page.input_value("[id='student.width']") == "6"
    assert page.evaluate(f"page.state['{RATE}']") == 0.3162
    page.keyboard.press("Control+z")
    page.wait_for_function(f"page.state['{RATE}'] === 0.1")
    drawn(page)
    assert np.array_equal(risk(page), first)
    assert page.is_disabled("#undo")
    page.click("#redo")
    page.wait_for_function(f"page.state['{RATE}'] === 0.3162")
    drawn(page)
    page.click("#reset")
    page.wait_for_function(f"page.state['{RATE}'] === 0.1")
    drawn(page)
    assert np.array_equal(risk(page), first)
    page.click("#undo")
    page.wait_for_function(f"page.state['{RATE}'] === 0.3162")


def test_kept_curves_and_what_differs(page: Any, opened: Callable[..., Any]) -> None:
    page.click("#keep")
    assert "kept: the same as now" in page.text_content("#risk-legend")
    move(page, RATE, -0.3)
    legend = page.text_content("#risk-legend")
    assert "kept: learning rate 0.1 → 0.5012 (half of the risk gone 3.6 times sooner)" in legend
    page.click("#keep")
    move(page, "student.width", 3)
    assert "student width 6 → 3" in page.text_content("#risk-legend")
    assert page.evaluate("page.plots.risk.made.series.length") == 1 + 1 + 2
    page.wait_for_url("**student.width=3*")
    other = opened(page.url)
    other.wait_for_function("page.kept.length === 2 && page.kept.every(one => one.curve)")
    assert other.text_content("#risk-legend") == page.text_content("#risk-legend")
    page.click("#risk-legend button >> nth=0")
    assert page.evaluate("page.kept.length") == 1
    assert "0.1 → " not in page.text_content("#risk-legend")


@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_play_goes_through_the_phases(motion: str, opened: Callable[..., Any]) -> None:
    """As a film, or in single pictures for those who want no motion; the landscape follows where it is open."""
    page = opened(reduced_motion=motion)
    page.click("#tab-landscape")
    page.evaluate("page.scrub(60)")
    seen = [page.text_content("#now")]
    page.click("#play")
    page.wait_for_function("text => document.getElementById('now').textContent !== text", arg=seen[0])
    page.wait_for_function("document.querySelector('.phase[aria-pressed=true]').textContent.startsWith('escape')")
    assert page.text_content("#phase-words").startswith("An overlap that grew unseen")
    page.wait_for_function("document.getElementById('bent').textContent.startsWith('Hessian at α = ')")
    assert "Pause" in page.text_content("#play")
    page.click("#play")
    stopped = page.text_content("#now")
    page.wait_for_timeout(300)
    assert page.text_content("#now") == stopped
    assert "Play" in page.text_content("#play")


def test_a_story_is_told_step_by_step(page: Any) -> None:
    assert page.text_content("#where") == "1 of 5"
    told = []
    for step in range(4):
        told.append(page.text_content("#told"))
        assert page.is_enabled("#after")
        page.click("#after")
        page.wait_for_function("step => page.state['story.step'] === step", arg=step + 1)
        drawn(page)
        if step == 1:
            page.wait_for_function("page.kept.length === 1 && page.kept[0].curve !== null")
            assert "learning rate 0.1 → 0.5" in page.text_content("#risk-legend")
    assert len(set(told)) == 4
    assert page.is_disabled("#after")
    simulated(page, by_hand=False)
    page.go_back()  # one step, with its simulation
    page.wait_for_function("page.state['story.step'] === 3")
    assert page.text_content("#where") == "4 of 5"
    move(page, RATE, -0.2)
    assert page.text_content("#where") == "4 of 5, changed"
    page.select_option("#preset", "")
    assert page.is_hidden("#story")


def test_words_where_things_happen(page: Any) -> None:
    page.click(".phase:has-text('plateau')")
    assert page.text_content("#phase-words").startswith("The risk hardly falls: near a saddle")
    page.click("#tab-landscape")
    page.wait_for_function(
        "document.getElementById('unlisted').textContent.includes('nearest critical point is a saddle')"
    )
    assert "no teacher is learned" in page.text_content("#unlisted")
    assert "directions lead down from it" in page.text_content("#unlisted")
    page.click("#tab-words")
    for word in ("plateau", "escape", "saddle", "overlap", "risk"):
        assert page.locator(f"#glossary dt:text-is('{word}')").count() == 1


def test_names_in_the_plot_never_collide(page: Any) -> None:
    """Neither with each other nor with the curve, at any rate, on linear and logarithmic axes."""
    page.evaluate(
        "() => { const {fillText: write, clearRect: clear} = CanvasRenderingContext2D.prototype; globalThis.written = []; "
        "CanvasRenderingContext2D.prototype.clearRect = function (...box) { "
        "if (this.canvas.closest('#risk')) written.length = 0; clear.apply(this, box); }; "
        "CanvasRenderingContext2D.prototype.fillText = function (text, x, y, ...rest) { "
        "if (this.canvas.closest('#risk') && this.textAlign === 'left' && this.font.startsWith('12px') && /[a-z]{4}/.test(text)) "
        "written.push([text, x, y, this.measureText(text).width]); write.call(this, text, x, y, ...rest); }; }"
    )
    for value, logarithmic in ((-1.6, True), (-1, False), (-0.5, True), (-0.15, False), (0, True)):
        page.evaluate("() => { written.length = 0; }")
        page.set_checked("#logy", logarithmic)
        move(page, RATE, value)
        page.wait_for_timeout(30)
        names = page.evaluate("written.splice(0)")
        latest = {text: (x, y, width) for text, x, y, width in names if text != "risk"}
        assert latest
        boxes = [(x, y - 11, x + width, y + 3) for x, y, width in latest.values()]
        for i, (a, b, c, d) in enumerate(boxes):
            for e, f, g, h in boxes[:i]:
                assert not (a < g and e < c and b < h and f < d), latest


def test_the_downloaded_picture_is_the_one_seen(page: Any) -> None:
    import matplotlib.pyplot as plt

    page.click("#keep")
    move(page, RATE, -0.5)
    with page.expect_download() as waiting:
        page.select_option("#kind", "png")
        page.click("#take")
    picture = plt.imread(waiting.value.path())
    seen = page.evaluate("document.querySelector('#risk canvas').toDataURL('image/png').split(',')[1]")
    import base64

    plot = plt.imread(io.BytesIO(base64.b64decode(seen)))
    height, width = plot.shape[:2]
    opaque = plot[..., 3] == 1
    inside = picture[12 : 12 + height, 12 : 12 + width]
    assert opaque.sum() > 1000
    assert np.allclose(inside[opaque][:, :3], plot[opaque][:, :3], atol=0.01)
    below = picture[12 + height : 12 + height + 30, 12 : 12 + width, :3]
    assert below.min() < 0.5  # its legend


def test_everything_can_be_done_by_keyboard_and_has_a_name(page: Any) -> None:
    page.focus("#tab-overlaps")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab-landscape"
    assert page.is_visible("#landscape")
    unnamed = page.evaluate(
        "() => Array.from(document.querySelectorAll('input, select, button, canvas, progress, [role=img]')).filter(e => "
        "!e.closest('.uplot') && !(e.labels?.length || e.getAttribute('aria-label') || e.textContent.trim())).map(e => e.id)"
    )
    assert unnamed == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_is_readable(scheme: str, opened: Callable[..., Any]) -> None:
    """A contrast of 4.5 at least, of all that is not switched off."""
    page = opened(color_scheme=scheme)
    poor = page.evaluate(
        """() => {
          const parse = text => text.match(/[\\d.]+/g).map(Number);
          const light = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
            .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
          const ground = e => {
            for (; e; e = e.parentElement) {
              const found = parse(getComputedStyle(e).backgroundColor);
              if (found[3] !== 0) return found;
            }
            return [255, 255, 255];
          };
          const seen = e => e.offsetParent && !e.disabled && !e.closest('.uplot');
          const written = e => Array.from(e.childNodes).some(n => n.nodeType === 3 && n.textContent.trim());
          return Array.from(document.querySelectorAll('body *')).filter(e => seen(e) && written(e)).map(e => {
            const [a, b] = [light(parse(getComputedStyle(e).color)), light(ground(e))];
            return [(Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05), e.id || e.tagName];
          }).filter(([ratio]) => ratio < 4.5);
        }"""
    )
    assert poor == []


def test_a_kept_curve_has_its_own_settings_even_if_newer_ones_are_refused(page: Any) -> None:
    page.fill(f"[id='{RATE}']", "-3")
    page.press(f"[id='{RATE}']", "Tab")
    page.wait_for_function("document.body.classList.contains('stale')")
    page.click("#keep")
    assert page.evaluate(f"page.kept.map(one => one.settings['{RATE}'])") == [0.1]
    assert "kept: learning rate 0.1 → -3" in page.text_content("#risk-legend")


def test_kept_curves_are_compared_by_the_end_of_a_late_plateau(opened: Callable[..., Any]) -> None:
    """Where half of the first risk is lost before the plateau, which is not what one sees."""
    page = opened()
    page.select_option("#preset", "rules")
    for step in range(1, 5):
        page.click("#after")
        page.wait_for_function("step => page.state['story.step'] === step", arg=step)
    drawn(page)
    page.wait_for_function("page.kept.length === 1 && page.kept[0].curve !== null")
    assert "loss squared → huber (the plateau left 1.3 times sooner)" in page.text_content("#risk-legend")


@pytest.mark.parametrize(("given", "where"), [("-1", "1 of 5"), ("1.5", "2 of 5"), ("99", "5 of 5")])
def test_a_link_to_no_step_of_a_story(given: str, where: str, opened: Callable[..., Any]) -> None:
    page = opened(f"#story.name=rules&story.step={given}")
    assert page.text_content("#where").startswith(where)
    if page.is_enabled("#before"):
        before = page.evaluate("page.state['story.step']")
        page.click("#before")
        page.wait_for_function("step => page.state['story.step'] === step", arg=before - 1)


def test_training_that_diverges_is_not_told_as_done(opened: Callable[..., Any]) -> None:
    page = opened("#teacher.width=1&student.width=2&inputs.dim=100&training.learning_rate=0.05&sgd.level=empirical"
                  "&data.samples=2&data.step=2.5&sgd.runs=2")  # fmt: skip
    page.click("#simulate")
    page.wait_for_function("document.getElementById('problems').textContent.includes('diverged')")
    page.wait_for_function("!document.getElementById('simulate').disabled")
    assert page.evaluate("page.samples.time.at(-1)") == 200
    assert page.text_content("#status") == "Training on the data set has ended early."
    assert page.text_content("#phase-words").startswith("With fresh samples: ")


def test_the_list_of_critical_points_is_not_cut_off(page: Any) -> None:
    for width in (1280, 1500, 1920):
        page.set_viewport_size({"width": width, "height": 800})
        page.click("#tab-landscape")
        page.wait_for_function("document.querySelectorAll('#critical tbody tr').length === 5")
        assert page.evaluate("(e => e.scrollWidth <= e.clientWidth)(document.getElementById('landscape'))"), width


def test_a_click_or_a_drag_in_the_plot_chooses_the_time(page: Any) -> None:
    box = page.locator("#risk .u-over").bounding_box()
    at = lambda share: (box["x"] + share * box["width"], box["y"] + 60)
    page.mouse.move(*at(0.2), steps=3)
    page.wait_for_timeout(50)
    assert page.evaluate("page.state['view.at']") is None  # it only crossed the plot
    page.click("#play")
    page.mouse.click(*at(0.3))
    assert page.evaluate("page.state['view.at']") == pytest.approx(60, abs=1)
    assert "Play" in page.text_content("#play")
    page.mouse.move(*at(0.3))
    page.mouse.down()
    page.mouse.move(*at(0.5), steps=4)
    page.mouse.up()
    assert page.evaluate("page.state['view.at']") == pytest.approx(100, abs=1)
    assert page.text_content("#now").startswith("α = 100")
