"""The best dropout in time, beside the best constant and no dropout at all: two students of one teacher, with noise on the labels.

The best keep probability is one up to a time of 1.5 and then falls, to about one half; tests multiply the output by a factor
between. Most of what dropout gains is there with a constant, and a twentieth more with the schedule."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.gains import LOOKS, POINTS, followed, gain_claim
from solvable.papers.mignacco2025.settings import FACTOR, HALF, KEEP, KEY, NOTEBOOK, PRINTED, best, setting
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, legend_above, letter, stroke

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("rate", 1.0, 1.0, label="learning rate"),
    Parameter("deviation", 0.2, 0.2, label="deviation of labels"),
    Parameter("until", 5.0, 5.0, label="last α"),
    Parameter("segments", 50, 50, label="values of the keep probability"),
    Parameter("keep", 0.7, 0.7, label="first keep probability"),
    Parameter("dim", UNREAD, 10_000, 3000, why="so large that runs hardly differ", label="N of SGD"),
    Parameter("runs", UNREAD, 96, 64, why="gains to a few per cent", label="runs of SGD"),
    Parameter("seed", UNREAD, 1, why="any will do"),
)  # fmt: skip
NAMES = ("best dropout", "best constants", "no dropout")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    until = values["until"]
    problem, start = setting(values["rate"], values["deviation"], values["dim"], values["keep"])
    plain, _ = setting(values["rate"], values["deviation"], values["dim"], 1.0)
    found = best(problem, start, until, values["segments"])
    runs = [followed(one, start, until, values) for one in (found.problem, found.constant_problem, plain)]
    times = np.linspace(0.0, until, POINTS)
    keep = [found.schedule[KEEP](times), np.full(POINTS, found.constant[0][KEEP]), np.ones(POINTS)]
    return xarray.Dataset(
        {
            "macro": (("schedule", "time"), [macro for macro, _ in runs]),
            "micro": (("schedule", "run", "look"), [micro for _, micro in runs]),
            "keep": (("schedule", "time"), keep),
            "factor": (("schedule",), [found.schedule[FACTOR].rates[0], found.constant[0][FACTOR], 1.0]),
            "value": (("schedule",), [found.value, found.constant[1], runs[2][0][-1]]),
        },
        {"schedule": list(NAMES), "time": times},
        {"dim": values["dim"], "gap": found.certificate.gap},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, panels = figure(1, 2, height=2.5)
    for j, name in enumerate(NAMES):
        panels[0].plot(data["time"], data["keep"].values[j], drawstyle="steps-post", **stroke(j))
        panels[1].plot(data["time"], data["macro"].values[j], label=name, **stroke(j))
        looks = np.linspace(0, float(data["time"][-1]), LOOKS)
        panels[1].plot(looks, data["micro"].values[j].mean(axis=0), "o", color=f"C{j}", ms=3)
    panels[1].plot([], [], "o", color="0.4", ms=3, label=f"SGD, $N = {data.attrs['dim']}$")
    panels[0].set(ylabel="keep probability", ylim=(0.0, 1.05))
    panels[1].set(yscale="log", ylabel="risk")
    for ax, name in zip(panels, "ab", strict=True):
        ax.set(xlabel="$\\alpha$ = steps/$N$")
        letter(ax, name)
    legend_above(picture, [line for line in panels[1].lines if not line.get_label().startswith("_")], 4)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    macro, micro, value = data["macro"].values, data["micro"].values, data["value"].values
    evidence = f"SGD at N = {data.attrs['dim']}, means of {data.sizes['run']} runs, against the equations"
    gains = [
        gain_claim(
            FIGURE.key, f"log gain of the best dropout over {name}", (macro[j], macro[0]), (micro[j], micro[0]), evidence
        )
        for j, name in ((1, "the best constants"), (2, "no dropout"))
    ]  # fmt: skip
    return [
        holds(
            FIGURE.key, "objective with the best dropout, half of the last risk", source=NOTEBOOK, printed=PRINTED,
            found=HALF * float(value[0]), tolerance=2e-6,
            evidence=f"50 values and the factor of tests; steps of relative error 1e-8, where the notebook takes the defaults of "
            f"its integrator; gap {data.attrs['gap']:.2g}",
        ),
        *gains,
        beyond(
            FIGURE.key, "last risk with the best dropout", expected=float(macro[0, -1]), found=float(value[0]),
            tolerance=1e-6 * float(value[0]),
            evidence="the run of Macro with the schedule, against the value on the steps of the search",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/dropout", "The best dropout", compute, draw, claims, PARAMETERS)
