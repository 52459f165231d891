"""Figure 6: the set of zero-error students has a dimension that grows linearly with the width."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.papers.bocchi2026.settings import KEY, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import figure

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEACHERS = (1, 3, 5, 8)


def compute(quick: bool) -> "xarray.Dataset":  # noqa: ARG001
    """A formula: the quick and the full form are the same."""
    import xarray

    widths = np.arange(1, 21)
    values = [
        [theory.solution_dimension(problem(int(p), q)).value if p >= q else np.nan for p in widths] for q in TEACHERS
    ]
    return xarray.Dataset({"dimension": (("teachers", "width"), values)}, {"teachers": list(TEACHERS), "width": widths})


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=2.8, width=4.2)
    for teachers in data["teachers"].values:
        ax.plot(data["width"], data["dimension"].sel(teachers=teachers), marker="o", label=f"$p^* = {teachers}$")
    ax.set_xlabel("student width $p$")
    ax.set_ylabel("dimension of the zero-error set")
    ax.set_xticks(range(0, 21, 4))
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    three = data["dimension"].sel(teachers=3).values
    evidence = "tests/theory/test_counting.py::test_solution_dimension_is_that_of_the_tangent_space"
    return [
        judge(
            FIGURE.key, "p p* - p* (p* + 1)/2 at p = 6, p* = 3",
            expected=12, found=float(data["dimension"].sel(teachers=3, width=6)), tolerance=0, evidence=evidence,
        ),
        judge(
            FIGURE.key, "linear in p with slope p* (p* = 3)",
            expected=3, found=float(np.unique(np.diff(three[2:])).mean()), tolerance=0, evidence=evidence,
        ),
        judge(
            FIGURE.key, "phase retrieval, p* = 1: p - 1 (p = 12)",
            expected=11, found=float(data["dimension"].sel(teachers=1, width=12)), tolerance=0, evidence=evidence,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/6", "Dimension of the zero-error set", compute, draw, claims)
