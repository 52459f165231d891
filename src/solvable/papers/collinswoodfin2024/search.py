"""Exact line search makes the risk fall fastest at every moment, and so cares for large eigenvalues: of two it leaves the small one
behind. In the end the risk falls slower than at the best fixed rate, the more so the further the eigenvalues are apart."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.collinswoodfin2024.settings import KEY, MINE, begun, problem
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke
from solvable.problems import LineSearch
from solvable.theory import late_rate, optimal_late_rate

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("ratios", UNREAD, (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0), (1.0, 5.0, 20.0, 100.0), MINE,
              "larger over smaller eigenvalue"),
    Parameter("shown", UNREAD, (2.0, 20.0), why=MINE, label="ratios of panel a"),
    Parameter("distance", UNREAD, 2.0, why=MINE, label="$|w_0 - w^\\ast|^2/d$"),
    Parameter("falls", UNREAD, 12.0, why=f"{MINE}: the slowest mode is alone by then",
              label="decays of the best fixed rate followed"),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    ratios, falls, distance = list(values["ratios"]), values["falls"], values["distance"]
    decay, best, rate, last = np.empty((4, len(ratios)))
    for i, ratio in enumerate(ratios):
        pair = (2 * ratio / (1 + ratio), 2 / (1 + ratio))  # of mean one
        plain = problem(pair, 1.0)
        rate[i] = optimal_late_rate(plain).value
        best[i] = late_rate(problem(pair, rate[i])).value
        here = problem(pair, 1.0, LineSearch())
        times = np.array([0.0, 0.8, 1.0]) * falls / best[i]
        found = whole(
            run(here, begun(here, distance), Macro(rtol=1e-10), times=times, keep_blocks=True, progress=False)
        )
        decay[i] = -np.diff(np.log(found.risk[0, 1:]))[0] / np.diff(times[1:])[0]
        last[i] = found.rate[0, -1]
    arrays: dict[str, object] = {
        "decay": (("ratio",), decay), "best": (("ratio",), best), "rate": (("ratio",), rate), "last": (("ratio",), last),
    }  # fmt: skip
    grid = np.linspace(0, falls / 2, 61)
    curves = np.empty((len(values["shown"]), 2, grid.size))
    for i, ratio in enumerate(values["shown"]):
        pair = (2 * ratio / (1 + ratio), 2 / (1 + ratio))
        fixed = optimal_late_rate(problem(pair, 1.0)).value
        for j, here in enumerate((problem(pair, 1.0, LineSearch()), problem(pair, fixed))):
            scaled = grid / late_rate(problem(pair, fixed)).value
            curves[i, j] = run(here, begun(here, distance), Macro(), times=scaled, progress=False).risk[0]
    arrays["risk"] = (("shown", "rule", "time"), curves)
    return xarray.Dataset(
        arrays,
        {"ratio": ratios, "shown": list(values["shown"]), "rule": ["line search", "best fixed rate"], "time": grid},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    for i, ratio in enumerate(data["shown"].values):
        for j, rule in enumerate(data["rule"].values):
            style = stroke(i) | {"linestyle": ("-", ":")[j]}
            left.plot(data["time"], data["risk"][i, j], label=f"{rule}, ratio {ratio:g}", **style)
    left.set_yscale("log")
    left.set_ylim(bottom=1e-5)  # room for the legend
    left.set_xlabel("steps/$d$, in decays of the best fixed rate")
    left.set_ylabel("risk")
    left.legend(loc="lower left", fontsize=7)
    right.plot(data["ratio"], data["best"] / data["decay"], marker="o", markersize=3, **stroke(0))
    right.set_xscale("log")
    right.set_title("decay at the best fixed rate over line search's", fontsize=8, loc="right")
    right.set_xlabel("larger over smaller eigenvalue")
    right.set_ylabel("how many times slower")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    ratio, slower = data["ratio"].values, (data["best"] / data["decay"]).values
    return [
        holds(
            FIGURE.key, f"line search can be arbitrarily slower (by which part of its decay the best fixed rate is ahead, at ratio "
            f"{ratio[-1]:g}; no number is printed: at least half)", source="abstract", printed=1.0, found=1 - 1 / slower[-1],
            tolerance=0.5, evidence="the equations, integrated; best fixed rate in closed form",
        ),
        beyond(
            FIGURE.key, "with one eigenvalue line search is the best fixed rate (its rate)", expected=float(data["rate"][0]),
            found=float(data["last"][0]), tolerance=1e-6, evidence="closed form of the best late rate",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/search", "Line search against the best fixed rate", compute, draw, claims, PARAMETERS)
