"""Figure 2: how the population loss falls, for teachers narrower and wider than the inputs."""

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

D, SAMPLES, WIDTHS = 8, 72, (2, 4, 8, 16)  # the paper leaves the number of samples open: nine per dimension
TIMES = np.geomspace(1e-3, 1e4, 141)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    many = 8 if quick else 100
    population, training = np.empty((2, len(WIDTHS), many, TIMES.size))
    late = np.full((len(WIDTHS), many, 2), np.nan)  # what theory says of the end of each run, and what is found there
    for i, width in enumerate(WIDTHS):
        for j in range(many):
            random = np.random.default_rng([width, j])
            units, rows = teacher("gaussian", width, D, random), random.standard_normal((SAMPLES, D))
            training[i, j], population[i, j] = losses(follow(rows, units, TIMES, 1e-6 if width < D else 1e-9))
            if width < D:
                late[i, j] = empirical.tail(rows, units).training, training[i, j, -1] * TIMES[-1] ** 2
            else:
                rate = empirical.late_rate(rows, units)
                ends = np.array([20.0, 30.0]) / rate
                found = losses(follow(rows, units, ends, 1e-9))[1]
                late[i, j] = rate, -np.diff(np.log(found))[0] / np.diff(ends)[0]
    setting = problem(D, 2)
    flow = whole(run(setting, first(setting), Empirical(), times=[1e4]))
    return xarray.Dataset(
        {
            "population_tail": flow.population_loss[0, 0] * 1e8,
            "population_loss": (("width", "run", "time"), population),
            "training_loss": (("width", "run", "time"), training),
            "late": (("width", "run", "of"), late),
        },
        {"width": list(WIDTHS), "time": TIMES, "of": ["theory", "flow"]},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 4, height=2.5, sharey=True)
    for i, (ax, width) in enumerate(zip(axes, WIDTHS, strict=True)):
        curves = np.maximum(data["population_loss"].values[i], 1e-32)
        ax.loglog(data["time"], curves.T, color=f"C{i}", alpha=0.15, linewidth=0.6, rasterized=True)
        mean = log_mean(curves)
        ax.loglog(data["time"], mean, color=f"C{i}")
        anchor = int(np.argmin(np.abs(TIMES - 10)))
        chosen = TIMES >= 1
        ax.loglog(TIMES[chosen], mean[anchor] * (TIMES[chosen] / TIMES[anchor]) ** -2, "k:", linewidth=1.0)
        ax.set_title(f"$m^* = {width}$", fontsize=9, loc="center")
        ax.set_xlabel("flow time $t$")
        ax.set_ylim(1e-26, 1e4)
        ax.set_xlim(1e-3, 1e4)
        ax.set_xticks([1e-2, 1, 1e2])
        letter(ax, "abcd"[i])
    axes[0].set_ylabel("population loss $E$")
    axes[0].plot([], [], color="C0", alpha=0.3, linewidth=0.6, label="single data sets")
    axes[0].plot([], [], color="C0", label="log-mean")
    axes[0].plot([], [], "k:", linewidth=1.0, label="$t^{-2}$")
    axes[0].legend(fontsize=6.5, loc="lower left", title=f"$d = {D}$, $n = {SAMPLES}$", title_fontsize=7)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    mean = log_mean(np.moveaxis(data["population_loss"].values, 1, 0))
    late, many = data["late"].values, data.sizes["run"]
    ratio = late[:, :, 1] / late[:, :, 0]
    at = {t: int(np.argmin(np.abs(TIMES - t))) for t in (10, 100, 1000)}
    loose = 3 if many < 50 else 1
    tail = "tests/theory/test_flow_theory.py::test_tail_of_the_population"
    stated = [
        judge(
            FIGURE.key, f"m* = {width} < d: the loss falls as t^-2 (slope of the log-mean over [10^3, 10^4])",
            expected=-2.0, found=log_slope(TIMES, mean[i], 1e3, 1e4), tolerance=0.03 * loose, evidence=f"{many} data sets",
        )
        for i, width in enumerate(WIDTHS[:2])
    ]  # fmt: skip
    stated += [
        judge(
            FIGURE.key, f"m* = {width}: t^2 E_n ends at tr(D)/4 of each data set (median of found over predicted, t = 10^4)",
            expected=1.0, found=float(np.median(ratio[i])), tolerance=0.02, evidence="empirical.tail", beyond=True,
        )
        for i, width in enumerate(WIDTHS[:2])
    ]  # fmt: skip
    stated += [
        judge(
            FIGURE.key, f"m* = {width} >= d: exponential, at the rate 2 mu of each data set (median |found / predicted - 1|)",
            expected=0.0, found=float(np.median(np.abs(ratio[i] - 1))), tolerance=0.02,
            evidence="tests/empirical/test_recovery.py::test_late_rate_of_the_flow_on_samples", correction="S23",
        )
        for i, width in list(enumerate(WIDTHS))[2:]
    ]  # fmt: skip
    return [
        *stated,
        judge(
            FIGURE.key, "m* = 8 = d: the slope seen on [10, 100] is only about -2.7, though the end is exponential",
            expected=-2.7, found=log_slope(TIMES, mean[2], 10, 100), tolerance=0.3 * loose,
            evidence="tests/empirical/test_recovery.py::test_late_rate_of_the_flow_on_samples", correction="S23",
        ),
        judge(
            FIGURE.key, "m* = 8: at t = 10^3 the loss is far below any t^-2 (log10 of the log-mean; less counts as -11)",
            expected=-11.0, found=max(-11.0, float(np.log10(mean[2, at[1000]]))), tolerance=1.5,
            evidence=f"{many} data sets",
        ),
        judge(
            FIGURE.key, "m* = 16: the loss at t = 100 is about 2e-12 (log10 of the log-mean)",
            expected=np.log10(2e-12), found=float(np.log10(mean[3, at[100]])), tolerance=0.7 * loose, evidence=f"{many} data sets",
        ),
        judge(
            FIGURE.key, "on the population t^2 E tends to (d - m*)(m* + 2) / (16 (d + 2)), not 1/16 (26) (d = 8, m* = 2, t = 10^4)",
            expected=theory.flow_tail(problem(D, 2)).value, found=float(data["population_tail"]), tolerance=1e-3, evidence=tail,
            correction="S20",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/2", "Population loss for teachers narrower and wider than the inputs", compute, draw, claims
)
