"""Training and test loss over the ratio of samples to inputs: the limit of many dimensions, by dynamical mean-field theory, over
simulations of large data sets. Beyond the paper, with its tools."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.empirical import Empirical
from solvable.empirical_macro import EmpiricalMacro
from solvable.levels import Level, run
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond
from solvable.papers.dandi2024.settings import ANY, KEY, noisy
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, legend_above, letter
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("units", UNREAD, ("erf", "tanh"), ("erf",), why="smooth ones", label="g"),
    Parameter("rates", UNREAD, (2.0, 1.0), (2.0,), why="stable at every ratio", label="steps of each unit"),
    Parameter(
        "curve", UNREAD, (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.6, 8.0), (0.5, 1.0, 2.0, 4.0, 8.0),
        why="a smooth curve", label="n/N of the limit",
    ),
    Parameter("ratios", UNREAD, (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 2.0, 8.0), why="some of these", label="n/N of data sets"),
    Parameter("noise", UNREAD, 0.1, why="something to memorise", label="variance of the noise"),
    Parameter("steps", UNREAD, (5, 20, 80), (4, 12), why="early and late", label="steps"),
    Parameter("dim", UNREAD, 20_000, 2000, why="hardly different from the limit", label="N"),
    Parameter("runs", UNREAD, 6, why="small errors", label="data sets"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
LOSSES = ("training", "test")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    limit, data = EmpiricalMacro(seed=values["seed"]), Empirical(runs=values["runs"], seed=values["seed"])
    curve, error = np.empty((2, len(LOSSES), len(values["units"]), len(values["curve"]), len(values["steps"])))
    drawn = np.empty((len(LOSSES), len(values["units"]), len(values["ratios"]), values["runs"], len(values["steps"])))
    for i in range(len(values["units"])):
        for j, ratio in enumerate(values["curve"]):
            found = _run(values, i, ratio, limit)
            curve[:, i, j] = _losses(found)[:, 0]
            error[:, i, j] = found.training_loss_error[0], found.risk_error[0]  # type: ignore[index]
        for j, ratio in enumerate(values["ratios"]):
            drawn[:, i, j] = _losses(_run(values, i, ratio, data))
    places = ("loss", "unit", "curve", "step")
    return xarray.Dataset(
        {"limit": (places, curve), "error": (places, error), "drawn": (("loss", "unit", "ratio", "run", "step"), drawn)},
        {
            "loss": list(LOSSES), "unit": list(values["units"]), "curve": list(values["curve"]), "ratio": list(values["ratios"]),
            "step": list(values["steps"]),
        },
        {"dim": values["dim"], "noise": values["noise"]},
    )  # fmt: skip


def _run(values: dict[str, Any], unit: int, ratio: float, level: Level) -> Trajectory:
    problem = noisy(values["units"][unit], values["dim"], ratio, values["rates"][unit], values["noise"])
    first = start(problem, student_overlap=0.5 * np.eye(2), cross_overlap=[[0.1], [0.05]])
    return whole(run(problem, first, level, times=values["steps"], progress=False))


def _losses(found: Trajectory) -> np.ndarray:
    """(2, run, time) training loss, and test loss with its noise."""
    assert found.training_loss is not None
    assert found.gap is not None
    return np.array([found.training_loss, found.training_loss + found.gap])


def draw(data: "xarray.Dataset") -> "Figure":
    units, steps = data["unit"].values, data["step"].values
    picture, panels = figure(1, len(units), height=2.6, width=3.6 * len(units))
    for i, (unit, ax) in enumerate(zip(units, np.ravel(panels), strict=True)):
        for k, step in enumerate(steps):
            for j, name in enumerate(LOSSES):
                mean, error = data["limit"].values[j, i, :, k], 2 * data["error"].values[j, i, :, k]
                dashes = "--" if name == "training" else "-"
                label = f"{step} steps" if name == "test" else None
                ax.plot(data["curve"], mean, dashes, color=f"C{k}", label=label)
                ax.fill_between(data["curve"], mean - error, mean + error, color=f"C{k}", alpha=0.3, linewidth=0)
                drawn = data["drawn"].values[j, i, :, :, k]
                ax.errorbar(
                    data["ratio"], drawn.mean(axis=1), standard_error(drawn, axis=1), fmt="s" if name == "test" else "o",
                    color=f"C{k}", markersize=3.5, label=None if k else f"{name}, $N = {data.attrs['dim']:g}$",
                )  # fmt: skip
        ax.axhline(0.5 * data.attrs["noise"], color="black", linewidth=0.6, label="noise")
        ax.set_xscale("log", base=2)
        ax.set_yscale("log")
        ax.set(xlabel="$n/N$")
        ax.set_title(str(unit), fontsize=8, loc="right")
        letter(ax, "ab"[i])
    first = np.ravel(panels)[0]
    first.set_ylabel("loss (test solid, training dashed)")
    handles = first.get_legend_handles_labels()[0]
    legend_above(picture, handles, len(handles) if len(units) > 1 else 3)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    made = []
    for i, unit in enumerate(data["unit"].values):
        for j, name in enumerate(LOSSES):
            for r, ratio in enumerate(data["ratio"].values):
                at = int(np.argmin(np.abs(data["curve"].values - ratio)))
                drawn = data["drawn"].values[j, i, r, :, -1]
                found, own = float(data["limit"].values[j, i, at, -1]), float(data["error"].values[j, i, at, -1])
                error = float(np.hypot(own, standard_error(drawn, axis=0)))
                made.append(
                    beyond(
                        FIGURE.key, f"{name} loss of {unit} students at n/N = {ratio:g} after the last step, in the limit",
                        expected=float(drawn.mean()), found=found, error=error, tolerance=6 * error,
                        evidence=f"{len(drawn)} data sets at N = {data.attrs['dim']:g}",
                    )
                )  # fmt: skip
    return made


FIGURE = PaperFigure(
    f"{KEY}/limit", "Training and test over the ratio: limit and data sets", compute, draw, claims, PARAMETERS
)
