"""When does it memorise? Training and test loss of erf, tanh, ReLU and quadratic students on data sets of half to eight times as
many samples as inputs, with noise on the labels. Beyond the paper, with its tools."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.empirical import Empirical
from solvable.levels import run
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
    Parameter(
        "units", UNREAD, ("erf", "tanh", "relu", "quadratic"), why="bounded and not, with a kink and without", label="g"
    ),
    Parameter("rates", UNREAD, (2.0, 1.0, 1.0, 0.02), why="stable at every ratio", label="steps of each unit"),
    Parameter(
        "ratios", UNREAD, (0.5, 1.0, 2.0, 4.0, 8.0), (0.5, 2.0, 8.0), why="from memorised to learned", label="n/N"
    ),
    Parameter("noise", UNREAD, 0.1, why="something to memorise", label="variance of the noise"),
    Parameter("steps", UNREAD, 120, 60, why="most of what happens", label="steps"),
    Parameter("dim", UNREAD, 1000, 200, why="runs hardly differ", label="N"),
    Parameter("runs", UNREAD, 8, 6, why="small errors", label="runs"),
    Parameter("checked", UNREAD, 2.0, why="a ratio that is both", label="n/N of drawn matrices"),
    Parameter("seed", UNREAD, 1, why=ANY),
)
COLOURS = 0.9  # of the colour map


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    units, ratios, steps = values["units"], values["ratios"], values["steps"]
    shape = (2, len(units), len(ratios), values["runs"], steps + 1)
    losses, drawn = np.empty(shape), np.empty((2, len(units), values["runs"]))
    for i, (unit, rate) in enumerate(zip(units, values["rates"], strict=True)):
        for j, ratio in enumerate(ratios):
            losses[:, i, j] = _losses(_run(values, unit, rate, ratio, "revealed"))
        drawn[:, i] = _losses(_run(values, unit, rate, values["checked"], "full"))[..., -1]
    return xarray.Dataset(
        {
            "training": (("unit", "ratio", "run", "step"), losses[0]),
            "test": (("unit", "ratio", "run", "step"), losses[1]),
            "drawn": (("loss", "unit", "run"), drawn),
        },
        {"unit": list(units), "ratio": list(ratios), "step": np.arange(steps + 1), "loss": ["training", "test"]},
        {name: values[name] for name in ("dim", "noise", "checked")},
    )


def _run(values: dict[str, Any], unit: str, rate: float, ratio: float, form: Any) -> Trajectory:
    problem = noisy(unit, values["dim"], ratio, rate, values["noise"])
    first = start(problem, student_overlap=0.5 * np.eye(2), cross_overlap=[[0.1], [0.05]])
    level = Empirical(runs=values["runs"], seed=values["seed"], form=form)
    return whole(run(problem, first, level, times=range(values["steps"] + 1), progress=False))


def _losses(found: Trajectory) -> np.ndarray:
    """(2, run, step) training loss, and test loss with its noise."""
    assert found.training_loss is not None
    assert found.gap is not None
    return np.array([found.training_loss, found.training_loss + found.gap])


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib import colormaps

    units, ratios = data["unit"].values, data["ratio"].values
    picture, panels = figure(2, len(units), height=2.1, width=8.0)
    floor = 0.5 * data.attrs["noise"]
    for i, unit in enumerate(units):
        above, below = panels[0, i], panels[1, i]
        for j, ratio in enumerate(ratios):
            colour = colormaps["viridis"](COLOURS * j / max(1, len(ratios) - 1))
            for name, dashes in (("training", "--"), ("test", "-")):
                values = data[name].values[i, j]
                label = f"$n/N = {ratio:g}$" if name == "test" else None
                above.plot(data["step"], values.mean(axis=0), dashes, color=colour, label=label)
        for name, fmt in (("training", "o--"), ("test", "s-")):
            ends = data[name].values[i, :, :, -1]
            below.errorbar(
                ratios, ends.mean(axis=1), standard_error(ends, axis=1), fmt=fmt, color="C0" if name == "test" else "C1",
                markersize=3.5, label=f"{name}, at the end",
            )  # fmt: skip
        least = data["test"].values[i].min(axis=-1)
        below.errorbar(
            ratios,
            least.mean(axis=1),
            standard_error(least, axis=1),
            fmt="^:",
            color="C2",
            markersize=3.5,
            label="least test",
        )
        for ax in (above, below):
            ax.axhline(floor, color="black", linewidth=0.6, label="noise" if ax is below else None)
            ax.set_yscale("log")
        below.set_xscale("log", base=2)
        above.set(xlabel="steps")
        above.set_title(str(unit), fontsize=8, loc="right")
        below.set(xlabel="$n/N$")
        letter(above, "abcdefgh"[i])
        letter(below, "abcdefgh"[len(units) + i])
    panels[0, 0].set_ylabel("loss (test solid, training dashed)")
    panels[1, 0].set_ylabel("loss")
    handles = [one for ax in panels[:, 0] for one in ax.get_legend_handles_labels()[0]]
    legend_above(picture, handles, (len(handles) + 1) // 2)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    made = []
    at = list(data["ratio"].values).index(data.attrs["checked"])
    for i, unit in enumerate(data["unit"].values):
        for j, name in enumerate(("training", "test")):
            found, expected = np.log(data[name].values[i, at, :, -1]), np.log(data["drawn"].values[j, i])
            ratio = float(np.exp(found.mean() - expected.mean()))
            error = ratio * float(np.hypot(standard_error(found, axis=0), standard_error(expected, axis=0)))
            made.append(
                beyond(
                    FIGURE.key, f"{name} loss of {unit} students at n/N = {data.attrs['checked']:g} after the last step, without "
                    "the data matrix, over that with it", expected=1.0, found=ratio, error=error, tolerance=5 * error,
                    evidence=f"{len(found)} runs each, geometric means, against drawn matrices",
                )
            )  # fmt: skip
    return made


FIGURE = PaperFigure(f"{KEY}/memory", "When does it memorise?", compute, draw, claims, PARAMETERS)
