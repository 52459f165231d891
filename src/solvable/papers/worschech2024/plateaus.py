"""Figures 4 and 18: the symmetric plateau of erf students in overlaps of orders 1, 4 and 6, its height and its end."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024 import committees
from solvable.papers.worschech2024.committees import DROP, RATE, SCALE, Course
from solvable.papers.worschech2024.plateau_claims import claims_eighteen, claims_four
from solvable.papers.worschech2024.settings import KEY
from solvable.plot.style import figure, legend_above, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("M", 4, 4, label="K = M"),
    Parameter("L", 10, 10),
    Parameter("N", 7000, 7000),
    RATE,
    committees.UNSAID_SPECTRUM,
    SCALE,
    Parameter("begin", 300.0, 300.0, label="α₀"),
    Parameter("orders", (1, 4, 6), (1, 4, 6), label="orders of the overlaps"),
    Parameter(
        "seeds",
        UNSAID,
        [6, 1, 2, 3, 4, 5, 7, 8],
        [6, 1],
        "the first is drawn; claims average over all",
        "initialisations",
    ),
    Parameter(
        "teachers",
        UNSAID,
        400,
        100,
        "to tell by how much the heights of one teacher scatter",
        "teachers for the scatter",
    ),
)
TIMES = np.concatenate([np.arange(0, 1500, 25.0), np.arange(1500, 7001, 10.0)])
ON = 700.0  # on the plateau: students have become equal, and do not part yet
GROWING = (1600.0, 2300.0)  # differences between students grow by themselves


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    use = PARAMETERS.values(quick)
    one = committees.setting(use["M"], use["L"], use["N"], eta=use["eta"], beta=use["beta"])
    courses = [committees.follow(one, seed, TIMES, use["sigma"]) for seed in use["seeds"]]
    rows = [_numbers(course, use["begin"]) for course in courses]
    drawn, orders = courses[0], use["orders"]
    overlaps = [drawn.overlaps(k) for k in orders]
    heights = {
        name: [theory.uniform_plateau(one, drawn.first, k, printed=printed).value for k in orders]
        for name, printed in [("printed", True), ("alike", False)]
    }
    state = drawn.place.state
    small = committees.setting(use["M"], use["L"], use["N"] // 10, eta=use["eta"], beta=use["beta"])
    return xarray.Dataset(
        {
            "risk": ("time", drawn.risk),
            "cross": (("order", "time", "student", "teacher"), [R for R, _ in overlaps]),
            "student_overlap": (("order", "time", "student", "student_"), [Q for _, Q in overlaps]),
            "exact_cross": (("order", "teacher"), [committees.of_order(one, state.block_cross_overlap, k)[0] for k in orders]),
            "exact_student": ("order", [committees.of_order(one, state.block_student_overlap, k)[0, 0] for k in orders]),
            **{f"{name}_cross": ("order", [value.cross_overlap[0] for value in found]) for name, found in heights.items()},
            **{f"{name}_student": ("order", [value.student_overlap for value in found]) for name, found in heights.items()},
            **{name: ("seed", [row[name] for row in rows]) for name in rows[0]},
            "pairs": (("sample", "power", "pair"), committees.pairs(one, use["teachers"], (1, 2))),
            "fewer_pairs": (("sample", "power", "pair"), committees.pairs(small, use["teachers"], (1, 2))),
            **committees.scatter(one, use["teachers"], orders),
            "moments": ("double", [float((one.inputs.eigenvalues**k).mean()) for k in (2, 4)]),
        },
        {"time": TIMES, "order": list(orders), "seed": list(use["seeds"]), "power": [1, 2], "double": [2, 4]},
        {"begin": use["begin"], "N": use["N"]},
    )  # fmt: skip


def _numbers(course: Course, begin: float) -> dict[str, float]:
    """Of one start: heights, times of growth, and when the plateau ends, by the equations and by each estimate."""
    one, first, place, risk = course.problem, course.first, course.place, course.risk
    R, here = course.overlaps()[0], course.followed.at(begin)
    on, early, late = (int(np.searchsorted(TIMES, t)) for t in (ON, *GROWING))
    apart, fall = np.linalg.norm(R - R.mean(axis=1, keepdims=True), axis=(1, 2)), place.risk - risk
    span, level = GROWING[1] - GROWING[0], np.e * R[int(np.searchsorted(TIMES, begin))].mean()
    return {
        "height": place.risk, "waits": float(risk[on]),
        "rowwise_height": theory.rowwise_plateau(one, first).value.risk,
        "printed_height": theory.uniform_plateau(one, first, printed=True).value.risk,
        "alike_height": theory.uniform_plateau(one, first).value.risk,
        "mean_cross": float(R[on].mean()), "alike_mean": float(theory.uniform_plateau(one, first).value.cross_overlap[0]),
        "gap": float(np.abs(R[on] / place.cross_overlap - 1).max()),
        "tau": theory.uniform_escape_time(one, first).value, "fastest": 1 / place.rates[0],
        "parting": span / float(np.log(apart[late] / apart[early])), "falling": span / float(np.log(fall[late] / fall[early])),
        "end": committees.crossing(TIMES, risk < (1 - DROP) * place.risk, ON),
        "reached": committees.crossing(TIMES, R.max(axis=(1, 2)) > level, ON),
        "predicted": begin + theory.plateau_drop(one, here, DROP).value,
        "right": begin + theory.overlap_escape_time(one, here).value,
        "recipe": begin + theory.printed_plateau_length(one, here).value,
    }  # fmt: skip


def _panel(ax: "Axes", data: "xarray.Dataset", name: str, order: int, box: tuple[float, float, float, float]) -> None:
    """All entries over time; the inset shows the plateau, (13) or (98) as printed, and the exact heights."""
    cross = name == "cross"
    values = data[name if cross else "student_overlap"].sel(order=order).values.reshape(data.sizes["time"], -1)
    times, colour = data["time"].values, "C0" if cross else "C1"
    ax.plot(times, values, color=colour, linewidth=0.7)
    window = (times >= 250) & (times <= 1250)
    small = committees.inset(ax, box, times[window], values[window], color=colour, linewidth=0.7)
    for height in np.atleast_1d(data[f"exact_{name}"].sel(order=order)):
        small.axhline(float(height), color="black", linestyle=":", linewidth=0.9)
    small.axhline(float(data[f"printed_{name}"].sel(order=order)), color="C3", linestyle="--", linewidth=1.0)
    letters = ("R", "in") if cross else ("Q", "ij")
    ax.set_ylabel(f"${letters[0]}^{{({order})}}_{{{letters[1]}}}$")
    ax.set_xlabel("$\\alpha$")
    ax.set_xlim(0, times[-1])


def _legend(picture: "Figure", printed: str, *extra: Any) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color="C0", linewidth=0.7, label="every $i$ and $n$"),
        Line2D([], [], color="C1", linewidth=0.7, label="every $i$ and $j$"),
        Line2D([], [], color="C3", linestyle="--", linewidth=1.0, label=printed),
        Line2D([], [], color="black", linestyle=":", linewidth=0.9, label="exact height"),
        *extra,
    ]
    legend_above(picture, lines, 4)


def draw_four(data: "xarray.Dataset") -> "Figure":
    from matplotlib.lines import Line2D

    picture, axes = figure(1, 3, height=2.9)
    _panel(axes[0], data, "cross", 1, (0.18, 0.56, 0.26, 0.38))
    _panel(axes[1], data, "student", 1, (0.19, 0.56, 0.25, 0.38))
    ax, one, times = axes[2], data.isel(seed=0), data["time"].values
    risk, height, printed = 1e3 * data["risk"].values, 1e3 * float(one["height"]), 1e3 * float(one["printed_height"])
    ax.plot(times, risk, color="C2")
    ax.axhline(height, color="black", linestyle=":", linewidth=1.0)
    ax.axhline(printed, color="C3", linestyle="--", linewidth=1.0)
    ax.axvline(data.attrs["begin"], color="black", linewidth=0.9)
    ax.axvline(float(one["recipe"]), color="C3", linestyle="-.", linewidth=0.9)
    ax.axvline(float(one["predicted"]), color="C4", linestyle=(0, (1, 1)), linewidth=0.9)
    ax.set(xlim=(0, 3700), ylim=(min(printed, 0.97 * height) - 0.1, max(printed, height) + 0.1))
    ax.set(xlabel="$\\alpha$", ylabel="$10^3\\,\\epsilon_g$")
    window = (times >= 400) & (times <= 1600)
    small = committees.inset(ax, (0.32, 0.5, 0.4, 0.34), times[window], risk[window], color="C2")
    small.axhline(height, color="black", linestyle=":", linewidth=0.9)
    small.set_ylim(height * 0.9997, height * 1.001)
    for ax, text in zip(axes, "abc", strict=True):
        letter(ax, text)
    _legend(
        picture, "(13); (99) in c", Line2D([], [], color="C2", label="$\\epsilon_g$"),
        Line2D([], [], color="black", linewidth=0.9, label="$\\alpha_0$"),
        Line2D([], [], color="C3", linestyle="-.", linewidth=0.9, label="$\\alpha_P$ by (12), (15)"),
        Line2D([], [], color="C4", linestyle=(0, (1, 1)), linewidth=0.9, label=f"fall by {DROP:.0%}, by modes"),
    )  # fmt: skip
    return picture


def draw_eighteen(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.4)
    for row, order in zip(axes, (4, 6), strict=True):
        _panel(row[0], data, "cross", order, (0.1, 0.56, 0.3, 0.4))
        _panel(row[1], data, "student", order, (0.1, 0.56, 0.3, 0.4))
    for ax, text in zip(axes.flat, "abcd", strict=True):
        letter(ax, text)
    _legend(picture, "(98), as printed")
    return picture


FOUR = PaperFigure(
    f"{KEY}/4", "The symmetric plateau of four erf students", compute, draw_four, claims_four, PARAMETERS
)
EIGHTEEN = PaperFigure(
    f"{KEY}/18", "Overlaps of orders 4 and 6 on the plateau", compute, draw_eighteen, claims_eighteen, PARAMETERS
)
