"""Figure 3: training and population loss of phase retrieval, for few and for many samples."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import empirical, theory
from solvable.empirical import Empirical
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.saraomannelli2020.settings import KEY, first, follow, log_mean, log_slope, losses, problem, teacher
from solvable.plot.style import figure, letter
from solvable.results import run

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

D, SAMPLES = 8, (8, 12, 15, 18, 24, 40)
TIMES = np.geomspace(1e-3, 1e4, 141)
# log-mean of E at t = 10^4, its standard deviation over data sets (in log), and how often the teacher is determined
KNOWN = {
    8: (3.8, 0.44, 0.0), 12: (0.66, 1.9, 0.17), 15: (0.028, 3.3, 0.63), 18: (2.4e-4, 2.9, 0.95), 24: (3.7e-6, 1.6, 1.0),
    40: (1.2e-7, 0.9, 1.0),
}  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    many = 25 if quick else 100
    training, population = np.empty((2, len(SAMPLES), many, TIMES.size))
    unique = np.empty((len(SAMPLES), many), dtype=bool)
    for j in range(many):
        random = np.random.default_rng([D, j])
        units, rows = teacher("unit", 1, D, random), random.standard_normal((max(SAMPLES), D))
        for i, n in enumerate(SAMPLES):
            training[i, j], population[i, j] = losses(follow(rows[:n], units, TIMES, 1e-8))
            unique[i, j] = empirical.recovered(rows[:n], units)
    setting = problem(D, 1)
    flow = whole(run(setting, first(setting), Empirical(), times=TIMES))
    return xarray.Dataset(
        {
            "training_loss": (("samples", "run", "time"), training),
            "population_loss": (("samples", "run", "time"), population),
            "unique": (("samples", "run"), unique),
            "flow": ("time", flow.population_loss[0]),
            "printed": ("time", theory.flow_approximation(setting, TIMES).value),
        },
        {"samples": list(SAMPLES), "time": TIMES},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=3.0, sharey=True)
    for ax, name in zip(axes, ("training_loss", "population_loss"), strict=True):
        for i, n in enumerate(SAMPLES):
            curves = np.maximum(data[name].values[i] / 2, 1e-32)
            ax.loglog(TIMES, curves[:40].T, color=f"C{i}", alpha=0.1, linewidth=0.5, rasterized=True)
            ax.loglog(TIMES, log_mean(curves), color=f"C{i}", label=f"$n/d = {n / D:g}$", zorder=3)
        ax.set_xlabel("flow time $t$")
        ax.set_ylim(1e-17, 1e2)
        ax.set_xlim(1e-3, 1e4)
    axes[1].loglog(TIMES, data["flow"] / 2, color="black", linestyle="--", label="population", zorder=4)
    axes[1].loglog(TIMES, data["printed"], color="black", linestyle=":", label="printed, (27)", zorder=4)
    axes[0].set_ylabel("training loss $L_n = E_n/2$")
    axes[1].set_ylabel("population loss $L = E/2$")
    axes[1].legend(fontsize=6.5, loc="lower left", ncols=2)
    letter(axes[0], "a")
    letter(axes[1], "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    many = data.sizes["run"]
    logs = np.log(np.maximum(data["population_loss"].values, 1e-32))
    at = int(np.argmin(np.abs(TIMES - 1000)))
    stated = [
        judge(
            FIGURE.key, f"n = {n}: log-mean of E at t = 10^4 (natural log)",
            expected=float(np.log(mean)), found=float(logs[i, :, -1].mean()),
            tolerance=4 * deviation * float(np.hypot(1 / np.sqrt(many), 0.1)), evidence=f"{many} data sets", beyond=True,
        )
        for i, (n, (mean, deviation, _)) in enumerate(KNOWN.items())
    ]  # fmt: skip
    stated += [
        judge(
            FIGURE.key, f"n = {n}: part of the data sets that determine the teacher",
            expected=share, found=float(data["unique"].values[i].mean()),
            tolerance=4 * float(np.sqrt(max(share * (1 - share), 0.01) * (1 / many + 1 / 100))),
            evidence="certified decisions", beyond=True,
        )
        for i, (n, (_, _, share)) in enumerate(KNOWN.items())
    ]  # fmt: skip
    training, population = log_mean(data["training_loss"].values[0]), log_mean(data["population_loss"].values[0])
    ratio = data["flow"].values / 2 / data["printed"].values
    printed = "tests/theory/test_flow_theory.py::test_printed_approximation_is_not_the_flow"
    at_one = int(np.argmin(np.abs(TIMES - 1)))
    near = {8: 0.0, 40: 1.0}
    return [
        judge(
            FIGURE.key, "below the threshold (n = 8): zero training loss at a large population loss (log10 E_n at t = 10^3; less "
            "counts as -13)",
            expected=-13.0, found=max(-13.0, float(np.log10(training[at]))), tolerance=1.0, evidence=f"E is {population[at]:.2g}",
        ),
        judge(
            FIGURE.key, "a typical data set is learnt to zero population loss if n/d > 1.875 = n_c/d (n = 40: share below 10^-4)",
            expected=near[40], found=float((data["population_loss"].values[-1, :, -1] < 1e-4).mean()), tolerance=0.05,
            evidence="population loss at t = 10^4",
        ),
        judge(
            FIGURE.key, "and not if n/d = 1 (share below 10^-4)",
            expected=near[8], found=float((data["population_loss"].values[0, :, -1] < 1e-4).mean()), tolerance=0.0,
            evidence="population loss at t = 10^4",
        ),
        judge(
            FIGURE.key, "n = 40: the loss falls nearly as t^-2 (slope of the log-mean over [10^2, 10^4])",
            expected=-2.0, found=log_slope(TIMES, log_mean(data["population_loss"].values[-1]), 1e2, 1e4), tolerance=0.1,
            evidence=f"{many} data sets",
        ),
        judge(
            FIGURE.key, "(27), read as L = E/2, is too low by a factor of 2.0 at t = 1",
            expected=2.0, found=float(ratio[at_one]), tolerance=0.02, evidence=printed, correction="S21",
        ),
        judge(
            FIGURE.key, "the population's flow and (27) are not indistinguishable: their ratio ranges up to 2.0 (largest)",
            expected=2.0, found=float(ratio.max()), tolerance=0.1, evidence=printed, correction="S25",
        ),
        *stated,
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/3", "Phase retrieval: training and population loss", compute, draw, claims)
