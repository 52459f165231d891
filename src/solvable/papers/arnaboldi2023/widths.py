"""Figure 2: many runs of SGD around the equations at larger widths."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.macro import Macro
from solvable.micro import Micro
from solvable.papers.arnaboldi2023.settings import KEY, problem, typical_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.results import run

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

WIDTHS = (5, 20)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    dim, runs = (1000, 8) if quick else (5000, 24)
    times = np.linspace(0, 4, 81)
    settings = [problem(p, dim) for p in WIDTHS]
    starts = [typical_start(here, 1) for here in settings]
    micro = [
        whole(run(here, first, Micro(runs=runs, seed=1), times=times, clock=KEY, progress=False)).risk
        for here, first in zip(settings, starts, strict=True)
    ]
    macro = [
        run(here, first, Macro(), times=times, clock=KEY).risk[0] for here, first in zip(settings, starts, strict=True)
    ]
    return xarray.Dataset(
        {"micro": (("width", "run", "time"), micro), "macro": (("width", "time"), macro)},
        {"width": list(WIDTHS), "time": times},
        {"dim": dim},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.7, sharey=True)
    for i, (ax, p) in enumerate(zip(axes, WIDTHS, strict=True)):
        lines = ax.plot(data["time"], data["micro"].values[i].T, color="C0", linewidth=0.6, alpha=0.6)
        lines[0].set_label("SGD")
        ax.plot(data["time"], data["macro"].values[i], color="black", label="equations")
        ax.set_xlabel("$t = \\gamma\\alpha/p$")
        ax.set_title(f"$p = {p}$, $d = {int(data.attrs['dim'])}$, $\\gamma/p = 0.05$", fontsize=8, loc="right")
        letter(ax, "ab"[i])
        ax.set_xlim(0, float(data["time"][-1]))
    axes[0].set_ylabel("population risk")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="upper right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    micro, macro, time = data["micro"].values, data["macro"].values, data["time"].values
    found = []
    for i, p in enumerate(WIDTHS):
        delays = [np.interp(-0.5 * macro[i, 0], -one, time) for one in micro[i]]
        own = np.interp(-0.5 * macro[i, 0], -macro[i], time)
        spread = np.std(delays, ddof=1)
        found.append(
            judge(
                FIGURE.key,
                f"runs scatter around the equations, p = {p} (mean time of half risk, less theirs, over the scatter)",
                expected=0.0,
                found=(np.mean(delays) - own) / spread,
                tolerance=1.5,
                evidence=f"{len(delays)} runs from one start",
            )
        )
        found.append(
            judge(
                FIGURE.key, f"and all learn the teacher, p = {p} (mean risk at the end)",
                expected=0.0, found=micro[i, :, -1].mean(), tolerance=0.05, evidence=f"{len(delays)} runs from one start",
            )
        )  # fmt: skip
    return found


FIGURE = PaperFigure(f"{KEY}/2", "Five and twenty students around their equations", compute, draw, claims)
