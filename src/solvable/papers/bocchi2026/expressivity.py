"""Figure 5: what a student can express grows with its width until it can express every quadratic form."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.papers.bocchi2026.settings import KEY
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import figure
from solvable.problems import convention

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIMS = (10, 20, 30)


def compute(quick: bool) -> "xarray.Dataset":  # noqa: ARG001
    """A formula: the quick and the full form are the same."""
    import xarray

    widths = np.arange(1, 46)
    setting = convention(KEY)
    values = [
        [theory.degrees_of_freedom(setting.problem(p=int(p), p_star=1, eta=0.01, N=N)).value for p in widths]
        for N in DIMS
    ]
    return xarray.Dataset({"degrees_of_freedom": (("dim", "width"), values)}, {"dim": list(DIMS), "width": widths})


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=2.8, width=4.2)
    for i, dim in enumerate(data["dim"].values):
        ax.plot(data["width"], data["degrees_of_freedom"].sel(dim=dim), color=f"C{i}", label=f"$N = {dim}$")
        ax.axhline(dim * (dim + 1) / 2, color=f"C{i}", linestyle=":", linewidth=0.9)
    ax.plot([], [], color="0.4", linestyle=":", linewidth=0.9, label="$N(N+1)/2$")
    ax.set_xlabel("student width $p$")
    ax.set_ylabel("degrees of freedom")
    ax.set_xlim(1, 45)
    ax.set_ylim(bottom=0)
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.68))
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    found = data["degrees_of_freedom"].sel(dim=20)
    return [
        judge(
            FIGURE.key, "for p <= N: N p - p (p - 1)/2 (N = 20, p = 8)",
            expected=20 * 8 - 8 * 7 // 2, found=float(found.sel(width=8)), tolerance=0,
            evidence="tests/theory/test_counting.py::test_degrees_of_freedom_are_the_rank_of_the_map",
        ),
        judge(
            FIGURE.key, "for p > N it saturates at N (N + 1)/2, all symmetric matrices (N = 20, p = 45)",
            expected=20 * 21 // 2, found=float(found.sel(width=45)), tolerance=0,
            evidence="tests/theory/test_counting.py::test_degrees_of_freedom_are_the_rank_of_the_map",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/5", "Degrees of freedom of the student", compute, draw, claims)
