"""Figure 19: the end of the plateau for several spectra and widths, with the paper's estimate and that from the escape's modes."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024 import committees
from solvable.papers.worschech2024.committees import DROP, RATE, SCALE, SPECTRUM
from solvable.papers.worschech2024.settings import KEY
from solvable.plot.style import figure, legend_above, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("counts", (2, 4, 6, 8), (2, 4, 6, 8), (4, 8), label="L of a"),
    Parameter("M", 4, 4, label="K = M of a"),
    Parameter("widths", (2, 3, 4, 6, 8), (2, 3, 4, 6, 8), (2, 6), label="K = M of b"),
    Parameter("L", UNSAID, 10, why="that of figure 4", label="L of b"),
    Parameter("N", 7000, 7000, why="6996 for L = 6, a multiple of it"),
    RATE,
    SPECTRUM,
    SCALE,
    Parameter("begin", 500.0, 500.0, label="α₀"),
    Parameter("seed", UNSAID, 2, why="one initialisation", label="initialisation"),
)
TIMES = np.concatenate([np.arange(0, 600, 25.0), np.arange(600, 14_001, 20.0)])
LINES = {"recipe": "--", "predicted": ":"}


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    use = PARAMETERS.values(quick)
    cases = [(use["M"], L) for L in use["counts"]] + [(M, use["L"]) for M in use["widths"]]
    rows, curves = [], []
    for M, L in cases:
        one = committees.setting(M, L, use["N"], eta=use["eta"], beta=use["beta"])
        course = committees.follow(one, use["seed"], TIMES, use["sigma"])
        here, height = course.followed.at(use["begin"]), course.place.risk
        tau = theory.uniform_escape_time(one, course.first).value
        rows.append(
            {
                "end": committees.crossing(TIMES, course.risk < (1 - DROP) * height, use["begin"]),
                "predicted": use["begin"] + theory.plateau_drop(one, here, DROP).value,
                "recipe": use["begin"] + theory.printed_plateau_length(one, here).value,
                "falls": _falling(height - course.risk, height) / tau,
            }
        )
        curves.append(course.risk)
    return xarray.Dataset(
        {"risk": (("case", "time"), curves), **{name: ("case", [row[name] for row in rows]) for name in rows[0]}},
        {"width": ("case", [M for M, _ in cases]), "distinct": ("case", [L for _, L in cases]), "time": TIMES},
        {"begin": use["begin"], "left": len(use["counts"])},
    )


def _falling(fall: np.ndarray, height: float) -> float:
    """Time in which the fall of the risk grows by e, between 0.1 % and 2 % of the height."""
    early, late = (int(np.flatnonzero((TIMES > 600) & (fall > part * height))[0]) for part in (0.001, DROP))
    return float((TIMES[late] - TIMES[early]) / np.log(fall[late] / fall[early]))


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib.lines import Line2D

    picture, axes = figure(1, 2, height=3.1)
    for i in range(data.sizes["case"]):
        left = i < data.attrs["left"]
        ax, colour = axes[0 if left else 1], f"C{i if left else i - data.attrs['left']}"
        label = f"$L = {int(data['distinct'][i])}$" if left else f"$M = {int(data['width'][i])}$"
        ax.plot(data["time"], 1e3 * data["risk"][i], color=colour, label=label)
        for name, line in LINES.items():
            ax.axvline(float(data[name][i]), ymax=1 if left else 0.88, color=colour, linestyle=line, linewidth=0.9)
    for ax, text, high, box in zip(axes, "ab", (7000, 12_000), ((6.6, 7.3), (0, 10)), strict=True):
        ax.axvline(data.attrs["begin"], color="black", linewidth=0.9)
        ax.set(xlabel="$\\alpha$", xlim=(0, high), ylim=box)
        letter(ax, text)
    axes[0].legend(fontsize=7, loc="lower left", bbox_to_anchor=(0.1, 0.03))
    axes[1].legend(fontsize=7, ncols=5, loc="upper right", columnspacing=0.8, handlelength=1.0)
    axes[0].set_ylabel("$10^3\\,\\epsilon_g$")
    lines = [
        Line2D([], [], color="black", linewidth=0.9, label="$\\alpha_0$"),
        Line2D([], [], color="0.4", linestyle="--", linewidth=0.9, label="end by (117)"),
        Line2D([], [], color="0.4", linestyle=":", linewidth=0.9, label=f"fall by {DROP:.0%}, by modes"),
    ]
    legend_above(picture, lines, 3)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    ratio = data["falls"].values
    return [
        holds(
            FIGURE.key, "for all spectra and widths the fall of the risk grows by e in half of (116) (largest |ratio to it - 1|)",
            source="(116)", printed=0.0, found=float(np.abs(2 * ratio - 1).max()), tolerance=0.12,
            evidence="equations, between falls by 0.1 % and 2 %; the M - 1 modes of a sampled teacher differ by as much",
        ),
        beyond(
            FIGURE.key, f"the fall by {DROP:.0%} follows from the modes of the escape (largest |predicted / found - 1|)",
            expected=0.0, found=float(np.abs(data["predicted"] / data["end"] - 1).max()), tolerance=0.06,
            evidence="linearised escape against the equations",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/19", "Length of the plateau for several spectra and widths", compute, draw, claims, PARAMETERS
)
