"""The checks that all figures undergo notice what they are for."""

import numpy as np
import perturbing
import pytest
import xarray
from legends import covered
from test_figures import COVERED

from solvable.papers.claims import beyond
from solvable.plot.style import figure, style


def drawn(add, place: str = "upper left") -> float:
    """The share of the legend that is covered, on axes from 0 to 1."""
    with style():
        picture, ax = figure(1, 1, width=4)
        add(ax)
        ax.set(xlim=(0, 1), ylim=(0, 1))
        ax.legend(loc=place)
    (share,) = covered(picture)
    return share


CURVES = {
    "line": lambda ax: ax.plot([0, 1], [1, 0.8], label="a long name of a curve"),
    "vertical": lambda ax: ax.axvline(0.2, label="a long name of a curve"),
    "points": lambda ax: ax.plot(np.linspace(0, 0.3, 50), np.linspace(1, 0.9, 50), "o", label="a long name of a curve"),
    "one point": lambda ax: ax.plot([0.1], [0.95], "o", label="a long name of a curve"),
    "scatter": lambda ax: ax.scatter(np.linspace(0, 0.3, 50), np.linspace(1, 0.9, 50), label="a long name of a curve"),
    "band": lambda ax: ax.fill_between([0, 1], [0.5, 0.5], [1, 1], label="a long name of a curve"),
    "bars": lambda ax: ax.bar([0.2], [1.0], width=0.3, label="a long name of a curve"),
    "errors": lambda ax: ax.errorbar([0.05, 0.1, 0.2], [0.5, 0.5, 0.5], 0.5, label="a long name of a curve"),
}


@pytest.mark.parametrize("kind", CURVES)
def test_a_legend_over_data_is_noticed(kind) -> None:
    assert drawn(CURVES[kind]) > COVERED
    assert drawn(CURVES[kind], "lower right") == 0


def test_what_is_cut_off_or_nowhere_covers_nothing() -> None:
    assert drawn(lambda ax: ax.plot([0, 1], [3, 0.95 + 3], label="outside")) == 0
    assert drawn(lambda ax: ax.plot([], [], label="for the legend alone")) == 0
    assert drawn(lambda ax: ax.plot([0, 0.1, 1], [0.99, np.nan, 0.1], label="broken")) < 0.01


DATA = xarray.Dataset(
    {
        "risk": ("time", np.array([1.0, 0.5, 0.25, 0.125])),
        "count": ("kind", [3, 4]),
        "late": ("run", [np.nan, 2.0]),
    },
    attrs={"slope": 0.5},
)


def claim(name: str, found: float):
    return beyond("a/1", name, expected=found, found=found, tolerance=1.0, evidence="here")


def test_claims_that_no_data_move_are_noticed() -> None:
    def claims(data):
        risk = data["risk"].values
        return [
            claim("ratio", risk[1] / risk[0]), claim("count", int(data["count"][0])), claim("attribute", data.attrs["slope"]),
            claim("falls", float((np.diff(risk) < 0).all())), claim("known", float(np.isfinite(data["late"]).mean())),
            claim("pi", np.pi), claim("size", data.sizes["time"]),
        ]  # fmt: skip

    first = claims(DATA)
    assert perturbing.unmoved(claims, first, perturbing.scaled(DATA)) == ["falls", "known", "pi", "size"]
    assert perturbing.unmoved(claims, first, perturbing.scrambled(DATA)) == ["pi", "size"]


def test_claims_that_break_on_some_data_are_judged_by_the_others() -> None:
    def claims(data):
        if (data["risk"] < 0).any() or not np.isfinite(data["risk"]).all() or data["risk"][0] < 0.9:
            raise ValueError("no such risk")
        return [claim("first", float(data["risk"][0])), claim("pi", np.pi)]

    assert perturbing.unmoved(claims, claims(DATA), perturbing.scaled(DATA)) == ["pi"]
