"""Figure 6: the power law of the end where all eigenvalues differ, and (17) near the teacher."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import log_slope, standard_error
from solvable.overlaps import Overlaps, start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, swept, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024.approach import LATER, NAMES, SHARED, WHOLE, approach, draw_later
from solvable.papers.worschech2024.settings import KEY, problem
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LEFT = (
    Parameter("width", 40, 40, 12, label="K = M of a"),
    Parameter("dim", 512, 512, 96, label="L = N of a"),
    Parameter("rate", 0.01, 0.01, label="η of a"),
    Parameter("scale", 1e-6, 1e-6, label="σ_J of a"),
    Parameter("betas", (0.5, 0.75, 1.0, 1.25, 1.5), (0.5, 0.75, 1.0, 1.25, 1.5), (0.5, 1.5), label="β of a"),
    Parameter("starts", 10, 10, 6, label="initialisations of a"),
    Parameter(
        "sgd", 50_000.0, 1500.0, 50.0, "50 runs of 26 million steps take 3 hours; SGD of one start for each β shows that the "
        "equations at small rates, which go on for all ten, are its average", "α to which SGD runs",
    ),
)  # fmt: skip
RIGHT = (
    *SHARED,
    Parameter("L", 9, 9),
    Parameter("N", UNSAID, 9000, why="that of figure 20"),
    Parameter("sigma", UNSAID, 0.01, why="that of figure 20", label="σ_J"),
    Parameter("begin", UNSAID, 1000.0, why="that of figure 20", label="α₀"),
    Parameter("seed", UNSAID, 0, why="one initialisation", label="initialisation of b"),
)
FAR = Parameter(
    "far", UNSAID, 1024, 128, "beyond the paper: near the teacher with many eigenvalues", "L of a typical teacher"
)
PARAMETERS = table(*LEFT, *RIGHT, FAR)
TIMES = np.unique(np.concatenate([np.geomspace(10, 5e4, 121), np.linspace(1000, 5e4, 50)]))
LATE = 5e3
WINDOW = (0.3, 10.0)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    use = PARAMETERS.values(quick)
    one = problem(use["width"], use["rate"], use["betas"][0], use["dim"], use["dim"])
    steps = np.linspace(0, use["sgd"], 51)[1:]
    flows, simulated = (
        swept(
            quick, one, {"inputs.spectrum.beta": use["betas"]}, level, times=times, seeds=range(count),
            start={"scale": use["scale"]}, title=FIGURE.key,
        )["risk"].isel(run=0)
        for level, times, count in [
            (Macro(small_rate=True, rtol=1e-4), TIMES, use["starts"]),
            (Micro(form="full", seed=1, threads=1), steps, 1),
        ]
    )  # fmt: skip
    near = approach(use, use["L"], use["seed"])
    far_times, far = _far(use)
    return xarray.Dataset(
        {
            "risk": (("beta", "start", "time"), flows.values),
            "sgd": (("beta", "step"), simulated.values[:, 0]),
            "whole": ("whole_time", near.whole),
            **{name: (("distinct", "seed", "later"), near.later[name][None, None]) for name in NAMES},
            **far,
        },
        {
            "beta": list(use["betas"]), "time": TIMES, "step": steps, "whole_time": WHOLE, "later": LATER, "distinct": [use["L"]],
            "far_time": far_times,
        },
        {"M": use["width"], "N": use["dim"], "begin": use["begin"], "far": use["far"]},
    )  # fmt: skip


def _far(use: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """From students that have all components of a typical teacher with errors of one size: the equations and (122)."""
    one = problem(use["M"], use["eta"], use["beta"], use["far"])
    T = start(one, student_overlap=np.eye(use["M"]), cross_overlap=np.eye(use["M"])).block_teacher_overlap
    state = Overlaps(1.1 * T, T, T, one.student.readout_values)
    times = np.geomspace(0.1, 1e2, 41)
    risk = whole(run(one, state, Macro(small_rate=True, rtol=1e-5), times=times)).risk[0]
    printed = theory.erf_late_risk(one, state, times, printed=True).value
    return times, {"far": ("far_time", risk), "far_printed": ("far_time", printed)}


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=3.3)
    _draw_left(left, data)
    right.semilogy(data["whole_time"], data["whole"], color="C0")
    later = data.attrs["begin"] + data["later"]
    right.semilogy(later, data["printed"][0, 0], color="C3", linestyle="--")
    right.set(xlabel="$\\alpha$", xlim=(0, 3000))
    right.set_title("$M = 2$, $L = 9$, $\\beta = 1$", fontsize=9, loc="center")
    small = right.inset_axes((0.42, 0.5, 0.56, 0.46))
    draw_later(small, data, int(data["distinct"][0]), 1000)
    small.tick_params(labelsize=6, pad=1.5, which="both")
    small.set_xlabel("$\\alpha - \\alpha_0$", fontsize=7, labelpad=1)
    right.legend(*small.get_legend_handles_labels(), loc="lower left", fontsize=6.5)
    letter(left, "a")
    letter(right, "b")
    return picture


def _draw_left(ax: "Axes", data: "xarray.Dataset") -> None:
    small, times = ax.inset_axes((0.5, 0.56, 0.48, 0.42)), data["time"].values
    shown = times >= 500
    for i, beta in enumerate(data["beta"].values):
        mean = data["risk"].values[i].mean(axis=0)
        ax.semilogy(times, mean, color=f"C{i}", linewidth=1.0, label=f"$\\beta = {beta:g}$")
        ax.semilogy(data["step"], data["sgd"][i], color=f"C{i}", linewidth=2.6, alpha=0.45)
        small.loglog(times[shown], mean[shown], color=f"C{i}", linewidth=1.0)
        late = times >= LATE
        line = np.exp(np.log(mean[late]).mean()) * (times[late] / np.exp(np.log(times[late]).mean())) ** (
            -beta / (1 + beta)
        )
        small.loglog(times[late], line, color="black", linestyle=":", linewidth=0.9)
    ax.semilogy([], [], color="0.3", linewidth=2.6, alpha=0.45, label="SGD, one start")
    small.loglog([], [], color="black", linestyle=":", linewidth=0.9, label="$\\alpha^{-\\beta/(1+\\beta)}$")
    small.legend(fontsize=6, loc="lower left", borderpad=0.1, handlelength=1.5)
    small.tick_params(labelsize=6, pad=1.5, which="both")
    ax.set(xlabel="$\\alpha$", ylabel="$\\epsilon_g$", xlim=(0, times[-1]))
    means = data["risk"].mean("start")
    ax.set_ylim(0.15 * float(means[..., -1].min()), 30 * float(means.sel(time=5000, method="nearest").max()))
    ax.legend(fontsize=6.5, loc="lower left", ncols=3)
    named = f"$M = {data.attrs['M']}$, $L = N = {data.attrs['N']}$; mean of {data.sizes['start']} starts"
    ax.set_title(named, fontsize=8, loc="right")


def _slope(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Power of `times` in each row of `values`."""
    found: np.ndarray = log_slope(times, np.atleast_2d(values))
    return found


def claims(data: "xarray.Dataset") -> list[Claim]:
    times, betas = data["time"].values, data["beta"].values
    late = times >= LATE
    stated = -betas / (1 + betas)
    slopes = np.array([_slope(times[late], row[:, late]) for row in data["risk"].values])  # (beta, start)
    ratio = slopes / stated[:, None]
    of_start = ratio.mean(axis=0)
    error = standard_error(of_start)
    listed = ", ".join(f"{slope:.2f} for {line:.2f}" for slope, line in zip(slopes.mean(axis=1), stated, strict=True))
    steps = data["step"].values
    mean = np.array([np.interp(steps, times, row[0]) for row in np.log(data["risk"].values)])
    after = data["later"].values >= 200
    off = (data["printed"] / data["equations"]).values[0, 0, after]
    far_times = data["far_time"].values
    window = (far_times >= WINDOW[0]) & (far_times <= WINDOW[1])
    far, far_printed = (
        float(_slope(far_times[window], data[name].values[window])[0]) for name in ("far", "far_printed")
    )
    power = holds(
        FIGURE.key, f"the end falls as alpha^(-beta/(1 + beta)) (power over it from alpha = 5000 on, mean over beta: {listed})",
        source="section 5.2", printed=1.0, found=float(of_start.mean()), error=error, tolerance=2.5 * error,
        evidence=f"{of_start.size} starts, which all betas share; tolerance: 2.5 standard errors; at the paper's size alone",
    )  # fmt: skip
    return [
        *([power] if data.attrs["N"] == PARAMETERS.values(False)["dim"] else []),  # small ones scatter by half of the power
        holds(
            FIGURE.key, f"near the teacher, with L = {data.attrs['far']}, the power is -1/2 for beta = 1",
            source="section 5.2", printed=-0.5, found=far, tolerance=0.03, evidence="equations between alpha = 0.3 and 10",
        ),
        beyond(
            FIGURE.key, "and (122) has the same one there", expected=far_printed, found=far, tolerance=0.01,
            evidence="theory.erf_late_risk, printed, against the equations",
        ),
        beyond(
            FIGURE.key, "SGD follows the equations at small rates (mean log ratio)", expected=0.0,
            found=float((np.log(data["sgd"].values) - mean)[:, 10:].mean()), tolerance=0.03,
            evidence="weights of all inputs against the equations, from the same starts",
        ),
        holds(
            FIGURE.key, "(17) follows the equations from alpha_0 + 200 on (largest |log ratio|)", source="figure 6 right",
            printed=0.0, found=float(np.abs(np.log(off)).max()), tolerance=0.07,
            evidence="tolerance: a hundredth of the three decades of the paper's axis",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/6", "The end: a power law, and (17) near the teacher", compute, draw, claims, PARAMETERS)
