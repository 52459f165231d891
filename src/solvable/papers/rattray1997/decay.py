"""The best weight decay in time: noisy labels, overparameterised quadratic students, learning rate and decay free together, beside
the best rate alone.

Decay helps while the norms are too large, and vanishes in the end; the best constant decay is close to none."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.control import Control
from solvable.papers.claims import Claim, beyond
from solvable.papers.figure import PaperFigure
from solvable.papers.gains import LOOKS, POINTS, followed, gain_claim
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.papers.rattray1997.settings import DECAY, KEY, OURS, RATE, best, setting
from solvable.plot.style import figure, legend_above, letter, stroke

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("noise", UNREAD, 0.05, why=OURS, label="label noise"),
    Parameter("until", UNREAD, 60.0, 40.0, why="well into the descent", label="last α"),
    Parameter("segments", UNREAD, 40, 12, why="gaps of about one per cent", label="values of each control"),
    Parameter("rate", UNREAD, 0.5, why="where the search begins", label="first rate"),
    Parameter("upper", UNREAD, (1.5, 1.0), why="the rate stays inside, decay touches it at the first moment",
              label="largest rate and decay"),
    Parameter("dim", UNREAD, 10_000, 3000, why="so large that runs hardly differ", label="N of SGD"),
    Parameter("runs", UNREAD, 48, 16, why="gains to a few per cent", label="runs of SGD"),
    Parameter("seed", UNREAD, 1, why="any will do"),
)  # fmt: skip
NAMES = ("rate and decay", "rate alone", "best constants")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    problem, start = setting("quadratic", values["noise"], values["dim"], values["rate"])
    rate, decay = (Control(segments=values["segments"], upper=upper) for upper in values["upper"])
    both = best(problem, start, values["until"], {RATE: rate, DECAY: decay})
    alone = best(problem, start, values["until"], {RATE: rate})
    problems = (both.problem, alone.problem, both.constant_problem)
    runs = [followed(one, start, values["until"], values) for one in problems]
    times = np.linspace(0.0, values["until"], POINTS)
    tables = [(one.training.segments["rate"], one.training.segments["decay"]) for one in problems]
    shown = [[rows[np.searchsorted(rows[:, 0], times, side="right") - 1, 1] for rows in pair] for pair in tables]
    return xarray.Dataset(
        {
            "macro": (("schedule", "time"), [macro for macro, _ in runs]),
            "micro": (("schedule", "run", "look"), [micro for _, micro in runs]),
            "control": (("schedule", "name", "time"), shown),
            "value": (("schedule",), [both.value, alone.value, both.constant[1]]),
        },
        {"schedule": list(NAMES), "name": ["learning rate", "weight decay"], "time": times},
        {"dim": values["dim"], "gap": both.certificate.gap},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, panels = figure(1, 3, height=2.5, width=7.4)
    for j, name in enumerate(NAMES):
        for ax, i in zip(panels[:2], range(2), strict=True):
            ax.plot(data["time"], data["control"].values[j, i], drawstyle="steps-post", **stroke(j))
        panels[2].plot(data["time"], data["macro"].values[j], label=name, **stroke(j))
        looks = np.linspace(0, float(data["time"][-1]), LOOKS)
        panels[2].plot(looks, data["micro"].values[j].mean(axis=0), "o", color=f"C{j}", ms=3)
    panels[2].plot([], [], "o", color="0.4", ms=3, label=f"SGD, $N = {data.attrs['dim']}$")
    panels[2].set(yscale="log", ylabel="risk")
    for ax, label, name in zip(panels, ("learning rate", "weight decay", "risk"), "abc", strict=True):
        ax.set(xlabel="$\\alpha$ = steps/$N$", ylabel=label)
        letter(ax, name)
    for ax in panels[:2]:
        ax.set_ylim(bottom=0.0)
    names = [line for line in panels[2].lines if not line.get_label().startswith("_")]
    legend_above(picture, names, 4)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    macro, micro = data["macro"].values, data["micro"].values
    evidence = f"SGD at N = {data.attrs['dim']}, means of {data.sizes['run']} runs, against the equations"
    pairs = [(1, "the best rate alone"), (2, "the best constants")]
    made = [
        gain_claim(
            FIGURE.key,
            f"log gain of the best rate and decay over {name}",
            (macro[j], macro[0]),
            (micro[j], micro[0]),
            evidence,
        )
        for j, name in pairs
    ]
    value = float(data["value"][0])
    return [
        *made,
        beyond(
            FIGURE.key, "last risk with the best rate and decay", expected=float(macro[0, -1]), found=value,
            tolerance=1e-5 * value, evidence="the run of Macro with the schedules, against the value on the steps of the search",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/decay", "The best weight decay", compute, draw, claims, PARAMETERS)
