"""The learning rate controls convergence: how fast the last error decays, and the greatest rate at which it does.

Students begin at the teacher with a little weight outside its span. The logarithmic slope of their error is measured, and the rate
at which it changes sign is found by bisection, beside the closed form."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.papers.saad1995.settings import KEY, OURS, committee
from solvable.plot.style import figure, legend_above, letter, stroke
from solvable.theory import optimal_late_rate, rate_limit

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("widths", UNREAD, (2, 3, 4), (2, 3), why=OURS, label="K = M"),
    Parameter("rates", UNREAD, 25, 13, why="smooth curves", label="rates"),
    Parameter("shares", UNREAD, (0.05, 1.08), why="from slow learning to a little beyond", label="η over the greatest stable rate"),
    Parameter("bracket", UNREAD, (0.05, 5.0), why="wide", label="first bracket of the greatest stable η"),
    Parameter("outside", UNREAD, 1e-8, why="so small that the equations are linear", label="first weight outside"),
    Parameter("times", UNREAD, (20.0, 40.0), why="slower modes alone are left", label="α of the slope"),
    Parameter("halvings", UNREAD, 14, 11, why="digits of the limit", label="halvings"),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    found, closed, best, rates, slopes = [], [], [], [], []
    for M in values["widths"]:
        low, high = values["bracket"]
        for _ in range(values["halvings"]):
            middle = (low + high) / 2
            grows = _slope(M, middle, values["outside"], values["times"]) > 0
            low, high = (low, middle) if grows else (middle, high)
        found.append((low + high) / 2)
        closed.append(rate_limit(committee(M, M, 1.0)).value)
        best.append(optimal_late_rate(committee(M, M, 1.0)).value)
        low, high = values["shares"]
        rates.append(np.linspace(low, high, values["rates"]) * closed[-1])
        slopes.append([_slope(M, rate, values["outside"], values["times"]) for rate in rates[-1]])
    return xarray.Dataset(
        {
            "rate": (("width", "share"), rates),
            "slope": (("width", "share"), slopes),
            "limit": (("width",), found),
            "closed": (("width",), closed),
            "best": (("width",), best),
        },
        {"width": list(values["widths"])},
        {"resolution": (values["bracket"][1] - values["bracket"][0]) / 2 ** values["halvings"]},
    )


def _slope(M: int, rate: float, outside: float, times: tuple[float, float]) -> float:
    """d log(error) / d alpha of students that are the teachers but for a little weight outside their span."""
    here = committee(M, M, float(rate))
    first = start(here, student_overlap=(1 + outside) * np.eye(M), cross_overlap=np.eye(M))
    risk = run(here, first, Macro(rtol=1e-8, atol=1e-16), times=times).risk[0]
    return float(np.log(risk[1] / risk[0]) / (times[1] - times[0]))


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    widths = data["width"].values
    for i, M in enumerate(widths):
        left.plot(data["rate"][i], data["slope"][i], label=f"$K = M = {M}$", **stroke(i))
        left.plot(float(data["closed"][i]), 0.0, "o", color=f"C{i}", markersize=5, label=f"limit, $M = {M}$")
    left.axhline(0.0, color="black", linewidth=0.8, label="neither grows nor decays")
    right.plot(widths, data["limit"], "o", color="C0", label="by bisection")
    right.plot(widths, data["closed"], color="C0", linewidth=1, label="closed form")
    right.plot(widths, data["best"], label="fastest decay, closed form", **stroke(1))
    left.set(xlabel="$\\eta$", ylabel="d log(error) / d$\\alpha$")
    right.set(xlabel="$K = M$", ylabel="$\\eta$", ylim=(0, None), xticks=widths)
    for ax, name in zip((left, right), "ab", strict=True):
        letter(ax, name)
    legend_above(picture, [one for ax in (left, right) for one in ax.get_legend_handles_labels()[0]], 4)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    made = [
        beyond(
            FIGURE.key, f"greatest stable rate of {M} erf students and teachers", expected=float(closed), found=float(found),
            tolerance=2 * data.attrs["resolution"] + 1e-3 * float(closed),
            evidence="closed form (noise against slope at the teacher) against bisection of runs",
        )
        for M, found, closed in zip(data["width"].values, data["limit"].values, data["closed"].values, strict=True)
    ]  # fmt: skip
    slope, rates = data["slope"].values, data["rate"].values
    below = (slope < 0) == (rates < data["closed"].values[:, None])
    return [
        holds(
            FIGURE.key, "the learning rate controls convergence (share of rates at which the last error decays below the greatest "
            "stable rate of the closed form and grows above it)", source="abstract: rate", printed=1.0, found=below.mean(),
            tolerance=1.5 / below.size, evidence=f"{rates.shape[1]} rates for each width; one may lie on the limit",
        ),
        *made,
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/rates", "The rate controls convergence", compute, draw, claims, PARAMETERS)
