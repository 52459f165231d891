"""Figure 1: one student around its equations, and the mean time to escape mediocrity against width and dimension."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma

from solvable import theory
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import Overlaps, start
from solvable.papers.arnaboldi2023.paths import compute_paths, draw_paths, judge_paths
from solvable.papers.arnaboldi2023.settings import DROP, KEY, PER_WIDTH, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, swept
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results import when

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIM = 1000
BLOCK = 250  # starts that run together
WIDTHS = (1, 2, 5, 10, 20)


def noisy_start(here: Problem, seed: int) -> Overlaps:
    found: Overlaps = theory.noisy_starts(here, start(here, seed=seed), 1, seed=seed).value[0]
    return found


def exits(vary: dict[str, Any], count: int, quick: bool, level: Macro | Meso | Micro, begin: Any = None) -> np.ndarray:
    """(along the axis, start) first passages in the paper's time."""
    assert count % BLOCK == 0
    data = swept(
        quick, problem(1, DIM), vary, level, until=30 / PER_WIDTH, stop=when("risk", below=1 - DROP, relative=True),
        seeds=range(0, count, BLOCK), starts=BLOCK, start=begin, keep=(),
        derive={"training.learning_rate": f"{PER_WIDTH} * student.width"}, title=FIGURE.key,
    )  # fmt: skip
    found = data["exit_time"].values
    return PER_WIDTH * found.reshape(len(found), -1)


def compare(vary: dict[str, Any], count: int, quick: bool, level: Meso | Micro) -> list[dict[str, float]]:
    """At each value of an axis: what was simulated, the equations from the same starts and from noisy ones, the formulas."""
    rows = [exits(vary, count, quick, one, begin) for one, begin in
            [(level, None), (Macro(rtol=1e-6), None), (Macro(rtol=1e-6), noisy_start)]]  # fmt: skip
    ((name, values),) = vary.items()
    settings = [problem(value, DIM) if name == "student.width" else problem(1, value) for value in values]
    return [_means(here, *row) for here, row in zip(settings, zip(*rows, strict=True), strict=True)]


def _means(here: Problem, simulated: np.ndarray, plain: np.ndarray, corrected: np.ndarray) -> dict[str, float]:
    """Over random starts."""
    count = simulated.size
    gap = plain - simulated  # from the same starts
    omega = theory.plateau(here).value.growth / PER_WIDTH
    return {
        "simulated": simulated.mean(),
        "error": simulated.std(ddof=1) / np.sqrt(count),
        "equations": plain.mean(),
        "gap": gap.mean(),
        "gap_error": gap.std(ddof=1) / np.sqrt(count),
        "shift": np.log1p(theory.plateau_noise(here).value) / (2 * omega),
        "corrected": corrected.mean(),
        "quenched": PER_WIDTH * theory.quenched_escape_time(here, DROP).value.mean,
        "noisy": PER_WIDTH * theory.noisy_escape_time(here, DROP).value.mean,
        "annealed": PER_WIDTH * theory.annealed_escape_time(here, DROP).value,
    }


def compute(quick: bool) -> "xarray.Dataset":
    count = 250 if quick else 3000
    widths = [1, 2, 5] if quick else list(WIDTHS)
    dims = [100, 1000, 10_000] if quick else [100, 300, 1000, 3000, 10_000, 100_000]
    by_width = compare({"student.width": widths}, count, quick, Micro(runs=1, seed=5))
    by_dim = compare({"inputs.dim": dims}, count, quick, Meso(runs=1, seed=6))
    data = compute_paths(1, quick)
    for axis, rows in [("p", by_width), ("d", by_dim)]:
        for name in rows[0]:
            data[f"{name}_{axis}"] = (axis, [row[name] for row in rows])
    data = data.assign_coords(p=widths, d=dims)
    data.attrs["starts"] = count
    return data


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (a, b, c) = figure(1, 3, height=2.7, width=9.5)
    draw_paths(data, a)
    a.legend(loc="center right", fontsize=7)
    for ax, axis, name in [(b, "p", "SGD"), (c, "d", "diffusion")]:
        x = data[axis].values
        ax.errorbar(
            x, data[f"simulated_{axis}"], data[f"error_{axis}"], linestyle="", marker="o", markersize=4, label=name
        )
        ax.plot(x, data[f"equations_{axis}"], color="0.5", label="equations")
        ax.plot(x, data[f"corrected_{axis}"], color="black", label="equations, noisy starts")
        ax.plot(x, data[f"quenched_{axis}"], color="C1", linestyle="--", label="(46) quenched")
        ax.plot(x, data[f"noisy_{axis}"], color="C4", linestyle="-.", linewidth=1.0, label="(46) with noise")
        ax.plot(x, data[f"annealed_{axis}"], color="C2", linestyle=":", label="(47) annealed")
        ax.set_xscale("log")
        ax.set_ylabel("mean exit time $t$")
        ax.legend(fontsize=6.5, loc="upper right" if axis == "p" else "lower right")
    b.set_xticks(data["p"].values, labels=[str(p) for p in data["p"].values])
    b.minorticks_off()
    b.set_xlabel("student width $p$")
    b.set_title(f"$d = {DIM}$, $\\gamma/p = {PER_WIDTH}$, $T = {DROP}$", fontsize=8, loc="right")
    c.set_xlabel("dimension $d$")
    c.set_title(f"$p = 1$, $\\gamma = {PER_WIDTH}$, $T = {DROP}$", fontsize=8, loc="right")
    for ax, name in zip((a, b, c), "abc", strict=True):
        letter(ax, name)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    gap = data["quenched_d"].values - data["annealed_d"].values
    omega = theory.plateau(problem(1, DIM)).value.growth / PER_WIDTH
    constant = np.euler_gamma + np.log(2) - np.log(1 - DROP)
    slope = np.polyfit(np.log(data["d"].values), data["simulated_d"].values, 1)[0]
    test = "tests/theory/test_sphere.py::test_sgd_escapes_earlier_by_its_noise"
    return [
        *judge_paths(FIGURE.key, data),
        judge(
            FIGURE.key, "the time to escape grows with log d, as log d/(2 omega) (slope at p = 1, times 2 omega)",
            expected=1.0, found=slope * 2 * omega, tolerance=0.15, evidence="diffusion, panel c",
        ),
        judge(
            FIGURE.key, "quenched and annealed times differ by a constant, (0.5772 + log 2 - log(1 - T))/(2 omega) at p = 1",
            expected=constant / (2 * omega), found=gap[-1], tolerance=0.02 * gap[-1], evidence="(46), (47)",
        ),
        judge(
            FIGURE.key, "which vanishes with the width (largest p: difference over that at p = 1)",
            expected=(np.log(pmax := int(data["p"][-1])) - digamma(pmax / 2) - np.log(2)) / constant,
            found=float((data["quenched_p"][-1] - data["annealed_p"][-1]) / (data["quenched_p"][0] - data["annealed_p"][0])),
            tolerance=0.1, evidence="(46), (47)",
        ),
        *(
            judge(
                FIGURE.key, f"stochasticity matters: SGD escapes earlier than the equations by log(1 + v)/(2 omega), p = {p}",
                expected=float(data["shift_p"][i]), found=float(data["gap_p"][i]), correction="A21", evidence=test,
                tolerance=4 * float(data["gap_error_p"][i]) + 0.25 * float(data["shift_p"][i]),
            )
            for i, p in enumerate(data["p"].values)
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/1", "Escaping mediocrity: one student, and the time against width and dimension", compute, draw, claims
)
