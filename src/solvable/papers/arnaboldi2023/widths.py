"""Figure 2: many runs of SGD around the equations at larger widths."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.papers.arnaboldi2023.settings import KEY, problem, typical_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.results import run, run_batch

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

WIDTHS = (5, 20)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    dim, runs = (1000, 32) if quick else (5000, 48)
    times = np.linspace(0, 4, 81)
    settings = [problem(p, dim) for p in WIDTHS]
    starts = [typical_start(here, 1) for here in settings]
    micro = [
        whole(run(here, first, Micro(runs=runs, seed=1), times=times, clock=KEY, progress=False)).risk
        for here, first in zip(settings, starts, strict=True)
    ]
    noisy = [
        run_batch(here, theory.noisy_starts(here, first, 200).value, Macro(rtol=1e-6), times=times, clock=KEY).risk
        for here, first in zip(settings, starts, strict=True)
    ]
    macro = [
        run(here, first, Macro(), times=times, clock=KEY).risk[0] for here, first in zip(settings, starts, strict=True)
    ]
    return xarray.Dataset(
        {
            "micro": (("width", "run", "time"), micro),
            "macro": (("width", "time"), macro),
            "noisy": (("width", "draw", "time"), noisy),
        },
        {"width": list(WIDTHS), "time": times},
        {"dim": dim},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.7, sharey=True)
    for i, (ax, p) in enumerate(zip(axes, WIDTHS, strict=True)):
        lines = ax.plot(data["time"], data["micro"].values[i, :16].T, color="C0", linewidth=0.6, alpha=0.6)
        lines[0].set_label("SGD")
        ax.plot(data["time"], data["macro"].values[i], color="black", label="equations")
        ax.plot(
            data["time"],
            data["noisy"].values[i].mean(axis=0),
            color="C1",
            linestyle="--",
            label="mean from noisy starts",
        )
        ax.set_xlabel("$t = \\gamma\\alpha/p$")
        ax.set_title(f"$p = {p}$, $d = {int(data.attrs['dim'])}$, $\\gamma/p = 0.05$", fontsize=8, loc="right")
        letter(ax, "ab"[i])
        ax.set_xlim(0, float(data["time"][-1]))
    axes[0].set_ylabel("excess risk")
    axes[0].set_ylim(bottom=0)
    axes[0].legend(loc="upper right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    micro, macro, noisy = (data[name].values for name in ("micro", "macro", "noisy"))
    escape = data["time"].values <= 1.5
    found = []
    for i, p in enumerate(WIDTHS):
        error = np.hypot(micro[i].std(axis=0) / np.sqrt(micro.shape[1]), noisy[i].std(axis=0) / np.sqrt(noisy.shape[1]))
        gap = micro[i].mean(axis=0) - noisy[i].mean(axis=0)
        facts = [
            (
                f"the equations describe the dynamics on average, p = {p} (largest difference of the mean risk up to t = 1.5)",
                0.0, np.abs(micro[i].mean(axis=0) - macro[i])[escape].max(), 0.12, False,
            ),
            (
                f"from noisy starts they do so within errors, p = {p} (largest difference in standard errors, up to t = 1.5)",
                0.0, (np.abs(gap[1:]) / np.maximum(error[1:], 0.003))[escape[1:]].max(), 5.0, True,
            ),
        ]  # fmt: skip
        found += [
            judge(
                FIGURE.key, text, expected=expected, found=value, tolerance=tolerance, beyond=beyond,
                evidence=f"{micro.shape[1]} runs from one start",
            )
            for text, expected, value, tolerance, beyond in facts
        ]  # fmt: skip
    return found


FIGURE = PaperFigure(f"{KEY}/2", "Five and twenty students around their equations", compute, draw, claims)
