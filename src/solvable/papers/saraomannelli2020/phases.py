"""Figure 1: how many samples it takes to recover the teacher, against its width. The paper's circles are from gradient descent;
here they lie on decisions by certificate, which need no extrapolation. Teachers have Gaussian weights."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure, swept
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.saraomannelli2020.settings import KEY, LINES, problem
from solvable.plot.style import figure, legend_above
from solvable.sweeps import FewestSamples

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

EXTENT = "the axis is not in the text; up to m* > d, where the number saturates"
PARAMETERS = table(
    Parameter("dims", (4, 8, 16), (4, 8, 16), label="$d$"),
    Parameter("limit_widths", UNSAID, tuple(range(1, 17)), (1, 2, 3, 4, 6), EXTENT, "$m^*$ of the line at $d = \\infty$"),
    Parameter("further_dim", UNSAID, 32, why="beyond the paper: where (13) and (14) fail by far"),
    Parameter(
        "widths", UNSAID,
        (tuple(range(1, 7)), tuple(range(1, 11)), (1, 2, 3, 4, 6, 8, 10, 12, 14, 15, 16, 18), (1, 2, 4, 8, 16, 24, 31)),
        ((1, 2, 3, 4), (1, 2, 4, 6, 7), (1, 4, 15), (4,)), EXTENT, "$m^*$, by $d$",
    ),
    Parameter(
        "instances", UNSAID, (400, 400, 200, 12), (60, 60, 24, 4), "standard errors of 0.3 samples and less up to d = 16",
        "data sets of each point by certificate, by $d$",
    ),
    Parameter(
        "flow_widths", UNSAID, ((1, 2, 3), (1, 2, 3, 4, 6), (1, 2, 4, 8, 12)), ((1, 2), (1, 2, 4), (4,)),
        "where the number is not d (d + 1)/2", "$m^*$ of gradient flow, by $d$",
    ),
    Parameter(
        "flows", UNSAID, (60, 60, 16), (20, 20, 8), "several runs: paired with certificates on the same data, few are enough",
        "data sets of each point by gradient flow, by $d$",
    ),
    Parameter("seed", UNSAID, 1, why="any"),
)  # fmt: skip
BLOCKS = 2  # points for each width
HEURISTIC = 0.02  # how well the statistical dimension is known to meet certified means


def fewest(
    d: int, widths: tuple[int, ...], blocks: int, each: int, by: str, seed: int, quick: bool
) -> dict[int, np.ndarray]:
    """Samples that each data set needs, by the teacher's width; where all need as many, a few data sets are enough."""
    data = swept(
        quick, problem(d, 1), {"teacher.width": widths, "recovery.seed": range(seed, seed + blocks)},
        measure=FewestSamples(each, seed, by), title=f"{FIGURE.key}, d = {d}, by {by}",
        derive={"recovery.instances": lambda at: min(3, each) if at["teacher.width"] >= d - 1 else each},
        where=lambda at: at["teacher.width"] < d - 1 or at["recovery.seed"] == seed,
    )  # fmt: skip
    found = data["fewest"].transpose("width", "seed", "instance").values.reshape(len(widths), -1)
    return {m: row[np.isfinite(row)] for m, row in zip(widths, found, strict=True)}


def points(values: Any, i: int, d: int, quick: bool) -> list[tuple[float, ...]]:
    """One row for each width: mean number of samples with its spread and error, by certificate and by flow, and how far flow is
    from certificates on the same data."""
    many, widths, seed = values["instances"][i], values["widths"][i], values["seed"]
    certified = fewest(d, widths, BLOCKS, many // BLOCKS, "certificate", seed, quick)
    flows: dict[int, np.ndarray] = {}
    if i < len(values["flows"]):
        flows = fewest(d, values["flow_widths"][i], 1, values["flows"][i], "flow", seed, quick)
    rows: list[tuple[float, ...]] = []
    for m, found in certified.items():
        spread, flow = float(found.std(ddof=1)), flows.get(m, np.full(2, np.nan))
        gap = flow - found[: flow.size]  # the same data
        flow_error = standard_error(flow)
        rows.append((d, m, found.mean(), spread, spread / np.sqrt(found.size), flow.mean(), flow_error, gap.mean()))
    return rows


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    dims = [*values["dims"], values["further_dim"]]
    rows = [row for i, d in enumerate(dims) for row in points(values, i, d, quick)]
    names = ("dim", "width", "mean", "spread", "error", "flow", "flow_error", "flow_gap")
    columns = dict(zip(names, zip(*rows, strict=True), strict=True))
    wide = np.array(values["limit_widths"])
    return xarray.Dataset(
        {name: ("point", np.array(column, dtype=int if name in ("dim", "width") else float)) for name, column in columns.items()}
        | {"limit": ("limit_width", [theory.recovery_limit(problem(2 * int(m), int(m))).value for m in wide])},
        {"limit_width": wide},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=4.2, width=5.4)
    for i, d in enumerate(np.unique(data["dim"])):
        part = data.isel(point=np.flatnonzero(data["dim"].values == d))
        widths = np.arange(1, int(part["width"].max()) + 1)
        settings = [problem(int(d), int(m)) for m in widths]
        colour = {"color": f"C{i}"}
        ax.plot(widths, [theory.counted_threshold(one).value / d for one in settings], linewidth=1.2, **colour)
        ax.plot(
            widths, [theory.recovery_threshold(one).value / d for one in settings], linestyle=LINES[1], linewidth=1.0, **colour
        )  # fmt: skip
        ax.errorbar(
            part["width"], part["mean"] / d, part["spread"] / d, linestyle="", marker="^sDv"[i], markersize=3.0,
            elinewidth=0.8, label=f"$d = {d}$", **colour,
        )  # fmt: skip
        ax.plot(
            part["width"], part["flow"] / d, linestyle="", marker="o", markersize=8, markerfacecolor="none", **colour
        )
    wide = data["limit_width"].values
    every = np.geomspace(1, data["width"].values.max(), 60)
    ax.plot(every, every + 1, color="black", linewidth=1.2)
    ax.plot(wide, data["limit"], color="black", linestyle=LINES[1], linewidth=1.0)
    ax.plot([], [], color="black", linewidth=1.2, label="$d = \\infty$")
    ax.plot([], [], color="0.4", linewidth=1.2, label="printed, (13) and (14)")
    ax.plot([], [], color="0.4", linestyle=LINES[1], linewidth=1.0, label="statistical dimension, corrected")
    ax.plot([], [], color="0.4", linestyle="", marker="o", markersize=8, markerfacecolor="none", label="gradient flow")
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set_xticks([1, 2, 4, 8, 16, 32], ["1", "2", "4", "8", "16", "32"])
    ax.set_xlim(0.85, every[-1] * 1.15)
    ax.set_yticks([1.5, 2, 3, 5, 10, 17], ["1.5", "2", "3", "5", "10", "17"])
    ax.set_ylim(1.3, 18)
    ax.minorticks_off()
    ax.set_xlabel("teacher width $m^*$")
    ax.set_ylabel("samples that determine the teacher, $N^*/d$\n(mean and standard deviation)")
    legend_above(picture, ax.get_legend_handles_labels()[0], 4)
    return picture


def size(values: np.ndarray) -> float:
    """Root mean square."""
    return float(np.sqrt(np.mean(values**2)))


def claims(data: "xarray.Dataset") -> list[Claim]:
    names = ("dim", "width", "mean", "error", "flow", "flow_error", "flow_gap")
    d, m, mean, error, flow, flow_error, gap = (data[name].values for name in names)
    printed = np.array([theory.counted_threshold(problem(int(a), int(b))).value for a, b in zip(d, m, strict=True)])
    small, full, seen = (d <= 8) & (m < d - 1), m >= d - 1, np.isfinite(flow)
    predicted = "tests/theory/test_recovery_theory.py::test_predicted_threshold_meets_certified_ones"
    found = [
        holds(
            FIGURE.key, "for d <= 8 it takes n_c samples in the mean, within a sample (root mean square difference)", source="(13)",
            printed=0.0, found=size((mean - printed)[small]), tolerance=1.0, error=size(error[small]),
            evidence="certified decisions",
        ),
        holds(
            FIGURE.key, "for m* >= d - 1 it takes d (d + 1)/2 samples, no fewer (largest difference)", source="section 3",
            printed=0.0, found=np.abs(mean[full] - d[full] * (d[full] + 1) / 2).max(), tolerance=0.0,
            evidence="certified decisions",
        ),
        holds(
            FIGURE.key, "gradient flow needs n_c samples in the mean, within a sample, d = 4 and 8 (root mean square difference)",
            source="section 4", printed=0.0, found=size((flow - printed)[small & seen]), tolerance=1.0,
            error=size(flow_error[small & seen]), evidence="flow to t = 10^6 and beyond, where undecided",
        ),
        beyond(
            FIGURE.key, "gradient flow finds the teacher where certificates say that it can (largest mean difference in samples)",
            expected=0.0, found=np.abs(gap[seen]).max(), tolerance=0.25, evidence="certificates on the same data",
        ),
    ]  # fmt: skip
    for one, width in [(16, 4), (32, 4)]:
        i = int(np.flatnonzero((d == one) & (m == width))[0])
        right = theory.recovery_threshold(problem(one, width)).value
        found.append(
            corrected(
                FIGURE.key, f"d = {one}, m* = {width}: it takes {right:.0f} samples in the mean", source="(13)", row="S12",
                printed=float(printed[i]), expected=right, found=mean[i], tolerance=HEURISTIC * right + 4 * error[i],
                error=error[i], evidence=predicted,
            )
        )  # fmt: skip
    i = int(np.flatnonzero((d == 16) & (m == 4))[0])
    right = theory.recovery_threshold(problem(16, 4)).value
    found.append(
        corrected(
            FIGURE.key, f"gradient flow needs {right:.0f} samples too, d = 16, m* = 4", source="section 4", row="S14",
            printed=float(printed[i]), expected=right, found=flow[i], tolerance=HEURISTIC * right + 4 * flow_error[i],
            error=flow_error[i], evidence="tests/empirical/test_recovery.py::test_flow_does_not_recover_at_the_printed_number",
        )
    )  # fmt: skip
    i = int(np.flatnonzero((d == 32) & (m == 4))[0])
    found.append(
        refuted(
            FIGURE.key, "m* = 4: m* + 1 samples for each dimension are enough as d grows (N*/d at d = 32, and rising)",
            source="(14)", row="S13", printed=5.0, found=mean[i] / 32, tolerance=0.5, error=error[i] / 32, evidence=predicted,
        )
    )  # fmt: skip
    return found


FIGURE = PaperFigure(
    f"{KEY}/1", "Samples that determine the teacher, against its width", compute, draw, claims, PARAMETERS
)
