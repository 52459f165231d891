"""AdaGrad-Norm for noiseless least squares: its rate tends to a constant, which a closed form gives for any start and spectrum. Far
from the teacher it is inversely proportional to the mean eigenvalue."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.collinswoodfin2024.settings import KEY, MINE, begun, problem
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke
from solvable.problems import AdaGrad
from solvable.theory import adagrad_rate

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dim", UNREAD, 2000, 400, MINE, "$d$ of the simulations"),
    Parameter("rate", UNREAD, 1.0, why=MINE, label=r"$\eta_0$"),
    Parameter("offset", UNREAD, 0.5, why=MINE, label="$b$"),
    Parameter("shape", UNREAD, (0.4, 1.6), why=MINE, label="eigenvalues over their mean"),
    Parameter("means", UNREAD, (0.25, 0.5, 1.0, 2.0, 4.0), (0.25, 1.0, 4.0), MINE, "mean eigenvalues"),
    Parameter("shown", UNREAD, (0.25, 1.0, 4.0), why=MINE, label="mean eigenvalues of panel a"),
    Parameter("distances", UNREAD, (2.0, 10.0, 300.0), why=MINE, label="$|w_0 - w^\\ast|^2/d$ of panel b"),
    Parameter("until", UNREAD, 60.0, 30.0, MINE, "end of the runs, in steps/d times the mean eigenvalue"),
    Parameter("runs", UNREAD, 16, 8, MINE, "runs of each point"),
    Parameter("seed", UNREAD, 0, why="any", label="seed of the simulations"),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    shape, rule, rate = np.array(values["shape"]), AdaGrad(offset=values["offset"]), values["rate"]
    means, distances, shown = list(values["means"]), list(values["distances"]), list(values["shown"])
    closed, equations = np.empty((2, len(distances), len(means)))
    last = np.empty((len(means), values["runs"]))
    for j, mean in enumerate(means):
        here = problem(mean * shape, rate, rule, dim=values["dim"])
        for i, distance in enumerate(distances):
            first = begun(here, distance)
            scale = max(1.0, np.sqrt(distance))  # far starts have small rates for long
            closed[i, j] = adagrad_rate(here, first).value
            times = [0.0, 8 * values["until"] * scale / mean]
            equations[i, j] = whole(run(here, first, Macro(rtol=1e-9), times=times, progress=False)).rate[0, -1]
        sgd = Micro(runs=values["runs"], seed=values["seed"])
        times = [0.0, values["until"] / mean]
        last[j] = whole(run(here, begun(here, distances[0]), sgd, times=times, progress=False)).rate[:, -1]
    grid = np.linspace(0, values["until"] / 4, 101)
    curves = []
    for mean in shown:
        here = problem(mean * shape, rate, rule, dim=values["dim"])
        curves.append(run(here, begun(here, distances[0]), Macro(), times=grid, progress=False).rate[0])
    arrays = {
        "closed": (("distance", "mean"), closed),
        "equations": (("distance", "mean"), equations),
        "sgd": (("mean", "run"), last),
        "curve": (("shown", "time"), np.array(curves)),
    }
    coordinates = {"mean": means, "distance": distances, "shown": shown, "time": grid}
    return xarray.Dataset(arrays, coordinates, {"dim": str(values["dim"])})


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    nearest = data["closed"].isel(distance=0)
    for i, mean in enumerate(data["shown"].values):
        left.plot(data["time"], data["curve"][i], label=f"mean {mean:g}", **stroke(i))
        if mean in data["mean"].values:
            left.axhline(float(nearest.sel(mean=mean)), color=f"C{i}", linewidth=0.6)
    left.set_xlabel("steps/$d$")
    left.set_ylabel("learning rate")
    left.set_yscale("log")
    left.set_ylim(top=12)  # room for the legend
    left.legend(loc="upper right", fontsize=7, title="thin lines: closed form", title_fontsize=7)
    for i, distance in enumerate(data["distance"].values):
        right.plot(data["mean"], data["closed"][i], label=f"distance {distance:g}", **stroke(i))
        right.plot(data["mean"], data["equations"][i], linestyle="", marker="o", markersize=3, color=f"C{i}")
    sgd = data["sgd"].values
    right.errorbar(
        data["mean"], sgd.mean(axis=1), 2 * sgd.std(axis=1), linestyle="", marker="x", markersize=4, color="k"
    )
    right.set_xscale("log")
    right.set_yscale("log")
    right.set_xticks(data["mean"].values, [f"{mean:g}" for mean in data["mean"].values])
    right.minorticks_off()
    right.set_ylim(bottom=2e-5)
    right.set_xlabel("mean eigenvalue")
    right.set_ylabel("last rate")
    right.legend(
        loc="lower left",
        fontsize=7,
        title=f"dots: equations; crosses: SGD, $d = {data.attrs['dim']}$",
        title_fontsize=6,
    )
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    means, closed, equations = data["mean"].values, data["closed"].values, data["equations"].values
    slope = float(np.polyfit(np.log(means), np.log(equations[-1]), 1)[0])
    found = [
        holds(
            FIGURE.key, "the last rate is inversely proportional to the mean eigenvalue (its exponent, from far starts)",
            source="abstract", printed=-1.0, found=slope, tolerance=0.05, evidence="the equations, integrated",
        )
    ]  # fmt: skip
    for i, distance in enumerate(data["distance"].values[:2]):
        found.append(
            beyond(
                FIGURE.key, f"last rate from distance {distance:g} at mean eigenvalue {means[-1]:g}", expected=closed[i, -1],
                found=equations[i, -1], tolerance=1e-4 * closed[i, -1], evidence="closed form",
            )
        )  # fmt: skip
    middle = len(means) // 2
    sample = data["sgd"].values[middle]
    error, dim = float(standard_error(sample)), float(data.attrs["dim"])
    found.append(
        beyond(
            FIGURE.key, f"last rate of SGD at mean eigenvalue {means[middle]:g}", expected=closed[0, middle], found=sample.mean(),
            tolerance=4 * error + 4 / dim * closed[0, middle], error=error, evidence="closed form; SGD at finite d",
        )
    )  # fmt: skip
    return found


FIGURE = PaperFigure(f"{KEY}/adagrad", "The last rate of AdaGrad-Norm", compute, draw, claims, PARAMETERS)
