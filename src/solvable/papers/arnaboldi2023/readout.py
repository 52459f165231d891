"""Figure 5: training the second layer as well hardly changes when the teacher is met, only what comes after."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import start
from solvable.papers.arnaboldi2023.settings import KEY, problem, typical_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.results import run

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIM = 1000
WIDTHS = (20, 50)
CASES = ("fixed", "trained")


def compute(quick: bool) -> "xarray.Dataset":
    """Largest overlap with the teacher, of the equations and of SGD, from the same start with and without training readouts."""
    import xarray

    runs, times = (8, np.linspace(0, 2, 41)) if quick else (10, np.linspace(0, 2, 101))
    found: dict[str, list[list[np.ndarray]]] = {"macro": [], "micro": [], "readout": []}
    for p in WIDTHS:
        fixed = problem(p, DIM)
        base = typical_start(fixed, 2)
        rows: dict[str, list[np.ndarray]] = {name: [] for name in found}
        for case in CASES:
            here = problem(p, DIM, second_layer=case == "trained")
            first = start(here, student_overlap=base.student_overlap, cross_overlap=base.cross_overlap)
            macro = run(here, first, Macro(rtol=1e-6), times=times, clock=KEY)
            micro = whole(run(here, first, Micro(runs=runs, seed=1), times=times, clock=KEY, progress=False))
            rows["macro"].append(np.abs(macro.cross_overlap).max(axis=(2, 3))[0])
            rows["micro"].append(np.abs(micro.cross_overlap).max(axis=(2, 3)))
            ends = p * macro.readout[0, -1]
            rows["readout"].append(np.array([ends.min(), ends.max()]))
        for name, values in rows.items():
            found[name].append(values)
    return xarray.Dataset(
        {
            "macro": (("width", "case", "time"), found["macro"]),
            "micro": (("width", "case", "run", "time"), found["micro"]),
            "readout": (("width", "case", "end"), found["readout"]),
        },
        {"width": list(WIDTHS), "case": list(CASES), "time": times},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.7, sharey=True)
    for i, (ax, p) in enumerate(zip(axes, WIDTHS, strict=True)):
        for j, case in enumerate(CASES):
            colour = f"C{2 * j}"
            ax.plot(data["time"], data["micro"].values[i, j].T, color=colour, linewidth=0.5, alpha=0.5)
            ax.plot(data["time"], data["macro"].values[i, j], color=colour, label=f"second layer {case}")
        ax.set_xlabel("$t = \\gamma\\alpha/p$")
        ax.set_title(f"$p = {p}$, $d = {DIM}$", fontsize=8, loc="right")
        ax.set_xlim(0, float(data["time"][-1]))
        letter(ax, "ab"[i])
    axes[0].plot([], [], color="0.5", linewidth=0.5, label="single runs of SGD")
    axes[0].set_ylabel("largest overlap $\\max_j |m_j|$")
    axes[0].set_ylim(0, 1.02)
    axes[0].legend(loc="lower right", fontsize=7)
    return picture


def crossing(data: "xarray.Dataset", width: int, case: int, level: float) -> float:
    values = data["macro"].values[width, case]
    return float(np.interp(level, np.maximum.accumulate(values), data["time"].values))


def claims(data: "xarray.Dataset") -> list[Claim]:
    result = []
    for i, p in enumerate(WIDTHS):
        for level, tolerance in [(0.2, 0.05), (0.5, 0.05), (0.9, 0.12)]:
            ratio = crossing(data, i, 1, level) / crossing(data, i, 0, level)
            result.append(
                judge(
                    FIGURE.key, f"the largest overlap passes {level} at the same time, readout trained or not, p = {p} (ratio)",
                    expected=1.0, found=ratio, tolerance=tolerance, evidence="equations from one start",
                )
            )  # fmt: skip
        passed = [
            np.mean(
                [
                    np.interp(0.5, np.maximum.accumulate(one), data["time"].values)
                    for one in data["micro"].values[i, case]
                ]
            )
            for case in range(2)
        ]
        result.append(
            judge(
                FIGURE.key, f"so it does in SGD, p = {p} (ratio of mean times of 0.5)",
                expected=1.0, found=passed[1] / passed[0], tolerance=0.12, evidence=f"{data.sizes['run']} runs from one start",
            )
        )  # fmt: skip
    return result


FIGURE = PaperFigure(f"{KEY}/5", "With and without a trained second layer", compute, draw, claims)
