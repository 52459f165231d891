"""The same sample twice: a gradient that is taken where a first step on the sample would lead leaves mediocrity far sooner.

Single-index targets of information exponents three and four, correlation loss on the sphere, the limit of small rates. A random
student has an overlap of 1/sqrt(d), so that the time to leave shows how many samples, α d, a dimension takes. Averages of
polynomials are exact."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run, when
from solvable.macro import Macro
from solvable.papers.arnaboldi2024.settings import mediocre, single_index
from solvable.papers.arnaboldi2024b.settings import KEY, OURS
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("orders", UNREAD, (3, 4), why=OURS, label="ℓ"),
    Parameter("dims", UNREAD, (1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8), (1e2, 1e4, 1e6), why="powers of ten", label="d"),
    Parameter("lookahead", UNREAD, 0.01, why="a small one shows that any will do", label="ρ"),
    Parameter("level", UNREAD, 0.5, why="mediocrity is left", label="overlap that counts as learned"),
    Parameter("until", UNREAD, 1e9, why="beyond the longest time", label="last α"),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    orders, dims = values["orders"], values["dims"]
    times = np.empty((len(orders), 2, len(dims)))
    for i, j, k in np.ndindex(times.shape):
        here = single_index(orders[i], 1.0, loss="correlation", lookahead=values["lookahead"] * j)
        level, passed = Macro(small_rate=True), when("cross_overlap", above=values["level"])
        found = run(here, mediocre(here, dims[k]), level, until=values["until"], stop=passed)
        times[i, j, k] = found.end_time[0]
    return xarray.Dataset(
        {"time": (("order", "uses", "dim"), times)},
        {"order": list(orders), "uses": [1, 2], "dim": list(dims)},
        {name: values[name] for name in ("lookahead", "level")},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, len(data["order"]), height=2.8)
    for i, ax in enumerate(np.atleast_1d(axes)):
        order, dims = int(data["order"][i]), data["dim"].values
        for j, words in enumerate(("each sample once", f"twice, $\\rho = {data.attrs['lookahead']}$")):
            ax.loglog(dims, data["time"][i, j], marker="os"[j], label=words, **stroke(j))
        guide = float(data["time"][i, 1, -1]) * np.log(dims) / np.log(dims[-1])
        ax.loglog(dims, guide, color="black", linewidth=0.8, label="log $d$")
        ax.set(
            xlabel="$d$",
            ylabel="$\\alpha$ until learned" if i == 0 else "",
            ylim=(None, 300 * float(data["time"][i].max())),
        )
        ax.set_title(f"$\\ell = {order}$", fontsize=8, loc="right")
        letter(ax, "abc"[i])
        ax.legend(loc="upper left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    dims, made = data["dim"].values, []
    for i, order in enumerate(data["order"].values):
        once, twice = data["time"].values[i]
        slope, again = (np.log(one[-1] / one[-2]) / np.log(dims[-1] / dims[-2]) for one in (once, twice))
        made += [
            holds(
                FIGURE.key, f"samples used twice take d of them, logarithms apart, at exponent {order} (exponent of d in the time)",
                source="abstract: dim log(dim)", printed=0.0, found=again, tolerance=0.2,
                evidence=f"equations at small rates; times {twice[-2]:.3g} and {twice[-1]:.3g}; used once: {slope:.2f}",
            ),
            holds(
                FIGURE.key, f"this surpasses what the information exponent {order} dictates (time of samples used twice, over "
                "once, at the largest dimension)", source="abstract: repeated data", printed=0.0, found=twice[-1] / once[-1],
                tolerance=0.1,
                evidence=f"equations at small rates, d = {dims[-1]:g}: {twice[-1]:.3g} and {once[-1]:.3g}",
            ),
            beyond(
                FIGURE.key, f"samples used once take dim^(l/2) at exponent l = {order} (exponent of d in the time)",
                expected=order / 2 - 1, found=slope, tolerance=0.02,
                evidence="dm/dalpha = l m^(l-1) (1 - m^2) from m = d^(-1/2), against runs",
            ),
        ]  # fmt: skip
    return made


FIGURE = PaperFigure(f"{KEY}/repeats", "The same sample twice", compute, draw, claims, PARAMETERS)
