"""Figure 2: how the population loss falls, for teachers narrower and wider than the inputs; and what section 5.1 says about
gradient flow on the population itself."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import empirical, theory
from solvable.empirical import Empirical
from solvable.levels import run
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.saraomannelli2020.settings import (
    KEY,
    first,
    follow,
    log_mean,
    log_slopes,
    losses,
    problem,
    teacher,
)
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dim", 8, 8, label="$d$"),
    Parameter("widths", (2, 4, 8, 16), (2, 4, 8, 16), label="$m^*$"),
    Parameter("runs", 100, 100, 8, label="simulations"),
    Parameter("samples", UNSAID, 72, why="nine for each dimension, enough for every panel", label="$n$"),
    Parameter("times", UNSAID, (1e-3, 1e4, 141), why="a decade of t^-2 is seen", label="first, last and number of times"),
    Parameter("jump_dim", UNSAID, 100, why="d >> m* = 3", label="$d$ of the jump in section 5.1"),
    Parameter("seed", UNSAID, 0, why="any"),
)  # fmt: skip
LATE = (20.0, 25.0, 30.0)  # decay times of the loss at which an exponential end is measured
JUMP_WIDTH = 3


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    d, widths, many = values["dim"], values["widths"], values["runs"]
    times = np.geomspace(*values["times"])
    population, training = np.empty((2, len(widths), many, times.size))
    tail, late = np.full((2, len(widths), many), np.nan), np.full((len(widths), many, 3), np.nan)
    for i, width in enumerate(widths):
        for j in range(many):
            random = np.random.default_rng([values["seed"], width, j])
            units, rows = teacher("gaussian", width, d, random), random.standard_normal((values["samples"], d))
            training[i, j], population[i, j] = losses(follow(rows, units, times, 1e-6 if width < d else 1e-9))
            if width < d:
                tail[:, i, j] = empirical.tail(rows, units).training, training[i, j, -1] * times[-1] ** 2
            else:
                tail[0, i, j] = empirical.tail_rate(rows, units)
                late[i, j] = losses(follow(rows, units, np.array(LATE) / tail[0, i, j], 1e-9))[1]
    return xarray.Dataset(
        {
            "population_loss": (("width", "run", "time"), population),
            "training_loss": (("width", "run", "time"), training),
            "tail": (("of", "width", "run"), tail),
            "late_loss": (("width", "run", "late"), late),
        }
        | on_the_population(d, values["jump_dim"]),
        {"width": list(widths), "time": times, "of": ["theory", "flow"]},
        {"samples": values["samples"], "dim": d, "jump_dim": values["jump_dim"]},
    )


def on_the_population(d: int, jump_dim: int) -> dict[str, Any]:
    """t^2 E at t = 10^4 (m* = 2); E at two late times (orthonormal teacher, m* = d); the largest eigenvalue of A (m* = 3)."""
    narrow, full = problem(d, 2), problem(d, d)
    flows = [
        whole(run(one, first(one), Empirical(), times=times)) for one, times in [(narrow, [1e4]), (full, [3.0, 4.0])]
    ]
    jump_times = np.linspace(0.04, 2.0, 50)
    units = np.sqrt(JUMP_WIDTH) * np.eye(jump_dim)[:JUMP_WIDTH]  # eigenvalues 1 of A*, as in section 5.1
    found = follow(None, units, jump_times)
    return {
        "population_tail": flows[0].population_loss[0, 0] * 1e8,
        "full_rank_loss": ("two", flows[1].population_loss[0]),
        "informative": ("jump_time", found.eigenvalues[0, :, -1]),
        "jump_time": jump_times,
    }


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 4, height=2.6, sharey=True)
    times = data["time"].values
    for i, (ax, width) in enumerate(zip(axes, data["width"].values, strict=True)):
        curves = np.maximum(data["population_loss"].values[i], 1e-32)
        ax.loglog(times, curves.T, color=f"C{i}", alpha=min(0.15, 4 / len(curves)), linewidth=0.6, rasterized=True)
        ax.loglog(times, log_mean(curves), color=f"C{i}")
        ax.loglog(times[times >= 0.1], 1 / (16 * times[times >= 0.1] ** 2), "k:", linewidth=1.0)
        ax.set_title(f"$m^* = {width}$", fontsize=9, loc="center")
        ax.set_xlabel("flow time $t$")
        ax.set_ylim(1e-20, 1e4)
        ax.set_xlim(times[0], times[-1])
        ax.set_xticks([1e-2, 1, 1e2])
        letter(ax, "abcd"[i])
    axes[0].set_ylabel("population loss $E$")
    axes[0].plot([], [], color="C0", alpha=0.3, linewidth=0.6, label="single data sets")
    axes[0].plot([], [], color="C0", label="log-mean")
    axes[0].plot([], [], "k:", linewidth=1.0, label="printed, (26)")
    title = f"$d = {int(data.attrs['dim'])}$, $n = {int(data.attrs['samples'])}$"
    axes[0].legend(fontsize=6.5, loc="lower left", title=title, title_fontsize=7)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    times, widths, d, many = data["time"].values, data["width"].values, int(data.attrs["dim"]), data.sizes["run"]
    tail, late = data["tail"].values, np.log(np.maximum(data["late_loss"].values, 1e-32))
    found = []
    for i in np.flatnonzero(widths < d):
        slopes = log_slopes(times, data["population_loss"].values[i], 1e3, 1e4)
        error = standard_error(slopes)
        found += [
            holds(
                FIGURE.key, f"m* = {widths[i]} < d: the loss falls as t^-2 (slope of the log-mean over [10^3, 10^4])",
                source="figure 2", printed=-2.0, found=slopes.mean(), tolerance=0.03 + 4 * error, error=error,
                evidence=f"{many} data sets",
            ),
            beyond(
                FIGURE.key, f"m* = {widths[i]}: t^2 E_n ends where theory has it for each data set (median ratio at t = 10^4)",
                expected=1.0, found=float(np.median(tail[1, i] / tail[0, i])), tolerance=0.02, evidence="empirical.tail",
            ),
        ]  # fmt: skip
    for i in np.flatnonzero(widths >= d):
        falls = -np.diff(late[i], axis=1) / np.diff(LATE)  # in units of the predicted rate
        found += [
            holds(
                FIGURE.key, f"m* = {widths[i]} >= d: exponential (rate in the last stretch over that before it; 0.82 for t^-2)",
                source="figure 2", printed=1.0, found=float(np.median(falls[:, 1] / falls[:, 0])), tolerance=0.03,
                evidence=f"{many} data sets, after {LATE[0]:.0f} to {LATE[2]:.0f} decay times",
            ),
            beyond(
                FIGURE.key, f"m* = {widths[i]}: at the rate of the slowest mode of each data set (median ratio)",
                expected=1.0, found=float(np.median(falls[:, 1])), tolerance=0.02, evidence="empirical.tail_rate",
            ),
        ]  # fmt: skip
    return [*found, *_population_claims(data, d)]


def _population_claims(data: "xarray.Dataset", d: int) -> list[Claim]:
    test = "tests/theory/test_flow_theory.py::"
    full, times, top, dim = (
        problem(d, d),
        data["jump_time"].values,
        data["informative"].values,
        int(data.attrs["jump_dim"]),
    )
    after = np.arange(times.size) > np.argmin(top)
    jump, growth = times[np.argmax(after & (top > 0.5))], np.diff(np.log(top)).max() / (times[1] - times[0])
    return [
        corrected(
            FIGURE.key, "t^2 E tends to (d - m*)(m* + 2) / (16 (d + 2)) (d = 8, m* = 2, t = 10^4)", source="(26)", row="S20",
            printed=1 / 16, expected=theory.flow_tail(problem(d, 2)).value, found=float(data["population_tail"]), tolerance=1e-3,
            evidence=f"{test}test_tail_of_the_population",
        ),
        corrected(
            FIGURE.key, "orthonormal teacher, m* = d = 8: E falls at the rate 4 (d + 2)/d", source="(29)", row="S22",
            printed=2.0 * (2 * d + 4), expected=theory.flow_rate(full, first(full)).value,
            found=float(-np.diff(np.log(data["full_rank_loss"].values))[0]), tolerance=0.02,
            evidence=f"{test}test_rate_of_a_teacher_of_full_rank",
        ),
        corrected(
            FIGURE.key, f"eigenvalues 1 of the teacher are met at half their height near log(d)/4 (d = {dim}, m* = 3)",
            source="section 5.1", row="S19", printed=np.log(2 * dim) / (2 * JUMP_WIDTH + 4), expected=np.log(dim) / 4, found=jump,
            tolerance=0.15 * np.log(dim) / 4, evidence=f"{test}test_jump_out_of_the_plateau",
        ),
        refuted(
            FIGURE.key, f"they grow as exp((2 m* + 4) t) (largest growth rate; d = {dim}, m* = 3)", source="section 5.1", row="S19",
            printed=2.0 * JUMP_WIDTH + 4, found=growth, tolerance=4.0, evidence=f"{test}test_jump_out_of_the_plateau",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/2", "Population loss for teachers narrower and wider than the inputs", compute, draw, claims, PARAMETERS
)
