"""Colours and line styles that tell curves apart, for colour-blind readers too."""

import re
from pathlib import Path

import numpy as np
import pytest
from colours import EYES, contrast_on_white, difference, lab, least_difference
from matplotlib.colors import to_rgb

import solvable
from solvable.plot import style
from solvable.plot.style import DASHES, stroke

# CIEDE2000. One is just noticeable on large fields side by side; thin lines apart from each other need many. Ours must exceed the
# palette of Okabe and Ito (2008), which is made for this, by the same measure.
LEAST = 15.0
OKABE_ITO = ("0072b2", "d55e00", "009e73", "cc79a7", "e69f00", "56b4e9")  # without black and its pale yellow
GREY = 10.0  # from the grey of guides, which are thinner and dashed too
PAGE = Path(solvable.__file__).parent / "web/static/page.css"


def cycle() -> np.ndarray:
    import matplotlib

    with style():
        return np.array([to_rgb(one["color"]) for one in matplotlib.rcParams["axes.prop_cycle"]])


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((50, 2.6772, -79.7751), (50, 0, -82.7485), 2.0425),
        ((50, 0, 0), (50, -1, 2), 2.3669),
        ((50, 2.5, 0), (73, 25, -18), 27.1492),
        ((50, 2.5, 0), (61, -5, 29), 22.8977),
        ((50, 2.5, 0), (56, -27, -3), 31.9030),
        ((50, 2.5, 0), (58, 24, 15), 19.4535),
    ],
)
def test_differences_are_those_of_the_published_pairs(one, other, expected) -> None:
    """Of Sharma, Wu and Dalal 2005, table 1."""
    assert difference(np.array(one, float), np.array(other, float)) == pytest.approx(expected, abs=1e-4)


def test_simulated_eyes() -> None:
    """They see greys as greys; red and green that differ in hue alone look alike without one kind of cone."""
    for eyes, matrix in EYES.items():
        assert matrix.sum(axis=1) == pytest.approx(1.0, abs=2e-6), eyes
    red, green = lab(np.array([0.75, 0.35, 0.30])), lab(np.array([0.45, 0.50, 0.20]))
    seen = [lab(np.array(one), "deuteranopia") for one in ([0.75, 0.35, 0.30], [0.45, 0.50, 0.20])]
    assert difference(*seen) < 0.5 * difference(red, green)


@pytest.mark.parametrize("eyes", EYES)
def test_the_first_six_colours_differ(eyes) -> None:
    first = cycle()[:6]
    assert least_difference(first, eyes) > LEAST
    for other, least in [("black", LEAST), ("0.5", GREY)]:
        assert difference(lab(first, eyes), lab(np.array(to_rgb(other)), eyes)).min() > least
    former = [to_rgb(f"#{one}") for one in ("1f5fa8", "d1495b", "2e8b57", "e09f3e", "6d4c91", "3d9fb3")]
    assert least_difference(np.array(former), "protanopia") < 5  # the check would notice
    published = np.array([to_rgb(f"#{one}") for one in OKABE_ITO])
    assert min(least_difference(published, eyes) for eyes in EYES) < LEAST


def test_all_colours_are_seen_on_white() -> None:
    assert contrast_on_white(cycle()[:6]).min() > 2.5
    assert contrast_on_white(cycle()).min() > 1.9
    assert min(least_difference(cycle(), eyes) for eyes in EYES) > 12


def test_line_styles_go_with_colours() -> None:
    """The first six curves differ without any colour."""
    assert len(set(DASHES)) == len(DASHES) == 6
    assert [stroke(i)["linestyle"] for i in range(7)] == [*DASHES, DASHES[0]]
    assert stroke(2) == {"color": "C2", "linestyle": "-."}


def test_the_explorer_has_the_same_colours() -> None:
    """Its first three on white are those of the figures; those on a dark ground differ as well."""
    text = PAGE.read_text(encoding="utf-8")
    light, dark = (np.array([to_rgb(one) for one in found]) for found in zip(*_named(text), strict=True))
    assert light == pytest.approx(cycle()[:3])
    assert contrast_on_white(light).min() > 4.5
    for eyes in EYES:
        assert least_difference(dark, eyes) > LEAST


def _named(text: str) -> list[list[str]]:
    return [re.findall(rf"--{name}: (#\w+)", text) for name in ("one", "two", "three")]
