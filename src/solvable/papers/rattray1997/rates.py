"""The best learning rate in time, beside the best constant and the greedy one, without and with label noise: schedules above, risks
of the equations and of SGD below.

Erf committees must leave a symmetric plateau. Without noise the best rate is nearly constant and falls at the end; with noise it
falls from the first, and in the end as one over time. The greedy rate, which is best for the moment, anneals to hold the plateau.
Overparameterised quadratic students leave theirs at every rate, and gain less."""

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.control import Control
from solvable.papers.claims import Claim, beyond
from solvable.papers.figure import PaperFigure
from solvable.papers.gains import LOOKS, POINTS, followed, gain_claim
from solvable.papers.parameters import UNREAD, Parameter, Parameters, table
from solvable.papers.rattray1997.settings import KEY, OURS, RATE, best, greedily, setting
from solvable.plot.style import figure, legend_above, letter, stroke

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

NAMES = ("best schedule", "best constant", "greedy rate")
FAINT = 1e-3  # of the length of a run: how much longer it is made to see what more data are worth


def parameters(unit: str) -> Parameters:
    """The table of one unit."""
    erf = unit == "erf"
    return table(
        Parameter("noises", UNREAD, (0.0, 0.1 if erf else 0.05), why=OURS, label="label noise"),
        Parameter("untils", UNREAD, (60.0, 400.0) if erf else (60.0, 60.0), (60.0, 120.0) if erf else (60.0, 60.0),
                  why="long enough to leave the plateau; quick: the noisy run is cut short", label="last α"),
        Parameter("segments", UNREAD, (50, 80) if erf else (40, 40), (20, 12), why="gaps of about one per cent",
                  label="values of the rate"),
        Parameter("rate", UNREAD, 1.0 if erf else 0.5, why="where the search begins", label="first rate"),
        Parameter("upper", UNREAD, 6.0 if erf else 1.5, why=OURS, label="largest rate"),
        Parameter("pieces", UNREAD, 600, 300, why="its risk changes in the fourth digit", label="pieces of the greedy rate"),
        Parameter("dim", UNREAD, 10_000, 3000, why="finite dimension shows where a plateau is left", label="N of SGD"),
        Parameter("runs", UNREAD, 48, 16, why="gains to a few per cent", label="runs of SGD"),
        Parameter("seed", UNREAD, 1, why="any will do"),
    )  # fmt: skip


def compute(unit: str, quick: bool) -> "xarray.Dataset":
    import xarray

    values = TABLES[unit].values(quick)
    cases = len(values["noises"])
    macro = np.empty((cases, len(NAMES), POINTS))
    micro = np.empty((cases, len(NAMES), values["runs"], LOOKS))
    rates, facts = np.empty_like(macro), np.empty((cases, 3))
    for i, (noise, until, segments) in enumerate(
        zip(values["noises"], values["untils"], values["segments"], strict=True)
    ):
        problem, start = setting(unit, noise, values["dim"], values["rate"])
        free = {RATE: Control(segments=segments, upper=values["upper"])}
        found = best(problem, start, until, free)
        longer = [best(problem, start, (1 + sign * FAINT) * until, free).value for sign in (1, -1)]
        local = greedily(problem, start, until, values["upper"], values["pieces"])
        for j, one in enumerate((found.problem, found.constant_problem, local)):
            macro[i, j], micro[i, j] = followed(one, start, until, values)
            rates[i, j] = one.training.schedule(np.linspace(0.0, until, POINTS))
        slope = np.log(longer[0] / longer[1]) / (2 * FAINT * until)
        facts[i] = found.certificate.gap, found.certificate.hamiltonian[0], slope
    return xarray.Dataset(
        {
            "macro": (("noise", "schedule", "time"), macro),
            "micro": (("noise", "schedule", "run", "look"), micro),
            "rate": (("noise", "schedule", "time"), rates),
            "until": (("noise",), list(values["untils"])),
            "gap": (("noise",), facts[:, 0]),
            "hamiltonian": (("noise",), facts[:, 1]),
            "worth": (("noise",), facts[:, 2]),
        },
        {"noise": list(values["noises"]), "schedule": list(NAMES)},
        {"dim": values["dim"]},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, panels = figure(2, len(data["noise"]), height=2.2, sharex="col")
    for i, noise in enumerate(data["noise"].values):
        times = np.linspace(0.0, float(data["until"][i]), POINTS)
        above, below = panels[:, i]
        for j, name in enumerate(NAMES):
            above.plot(times, data["rate"].values[i, j], drawstyle="steps-post", label=name, **stroke(j))
            below.plot(times, data["macro"].values[i, j], **stroke(j))
            below.plot(
                np.linspace(0, times[-1], LOOKS), data["micro"].values[i, j].mean(axis=0), "o", color=f"C{j}", ms=3
            )
        below.plot([], [], "o", color="0.4", ms=3, label=f"SGD, $N = {data.attrs['dim']}$")
        above.set(ylabel="learning rate", ylim=(0, 1.15 * data["rate"].values[i, :2].max()))
        above.set_title(f"label noise {noise:g}", fontsize=8, loc="right")
        below.set(yscale="log", ylabel="risk", xlabel="$\\alpha$ = steps/$N$")
    for ax, name in zip(panels.ravel(), "abcd", strict=True):
        letter(ax, name)
    legend_above(picture, [*panels[0, 0].lines, panels[1, 0].lines[-1]], 4)
    return picture


def claims(key: str, data: "xarray.Dataset") -> list[Claim]:
    made, evidence = [], f"SGD at N = {data.attrs['dim']}, means of {data.sizes['run']} runs, against the equations"
    for i, noise in enumerate(data["noise"].values):
        macro, micro = data["macro"].values[i], data["micro"].values[i]
        for j in (1, 2):
            made.append(
                gain_claim(
                    key, f"log gain of the best schedule over the {NAMES[j]} (label noise {noise:g})",
                    (macro[j], macro[0]), (micro[j], micro[0]), evidence,
                )
            )  # fmt: skip
        worth = float(data["worth"][i])
        made.append(
            beyond(
                key, f"the Hamiltonian is the change of the log risk with more data (label noise {noise:g})", expected=worth,
                found=float(data["hamiltonian"][i]), tolerance=0.005 * abs(worth),
                evidence=f"best schedules that are {FAINT:g} longer and shorter; gap {float(data['gap'][i]):.2g}",
            )
        )  # fmt: skip
    return made


def _figure(unit: str, title: str) -> PaperFigure:
    key = f"{KEY}/{unit}"
    judged: Any = partial(claims, key)
    return PaperFigure(key, title, partial(compute, unit), draw, judged, TABLES[unit])


TABLES = {unit: parameters(unit) for unit in ("erf", "quadratic")}
ERF = _figure("erf", "The best learning rate of erf committees")
QUADRATIC = _figure("quadratic", "The best learning rate of overparameterised quadratic students")
