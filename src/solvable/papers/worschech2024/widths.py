"""Figure 5: plateaus where all eigenvalues differ, for several widths, and for several numbers of eigenvalues, by SGD."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import log_slope, standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds, refuted
from solvable.papers.figure import PaperFigure, swept
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024 import committees
from solvable.papers.worschech2024.committees import DROP, SPECTRUM, TEST
from solvable.papers.worschech2024.settings import KEY, problem
from solvable.plot.style import figure, legend_above, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("widths", (6, 8, 10, 32, 40), (6, 8, 10, 32, 40), (4, 16), label="K = M of a"),
    Parameter("wide", 512, 512, 64, label="L = N of a"),
    Parameter("counts", (25, 50, 100, 250, 500), (25, 50, 100, 250, 500), (10, 100), label="L of b"),
    Parameter("M", 6, 6, 4, label="K = M of b"),
    Parameter("narrow", 500, 500, 100, label="N of b"),
    Parameter("eta", 0.01, 0.01, label="η"),
    SPECTRUM,
    Parameter("sigma", 1e-6, 1e-6, label="σ_J"),
    Parameter("until", (16_000.0, 70_000.0), (16_000.0, 70_000.0), label="α of a and b"),
    Parameter(
        "sgd", (16_000.0, 70_000.0), (16_000.0, 12_000.0), (150.0, 150.0),
        "35 million steps for each of the five curves of b take 4 minutes on two cores; the equations go on", "α to which SGD runs",
    ),
    Parameter("seed", UNSAID, 1, why="one initialisation", label="initialisation"),
    Parameter("teachers", UNSAID, 24, 16, "the escape time scatters over teachers", "teachers for the power of the escape time"),
    Parameter("starts", UNSAID, 12, 3, "as does the end of the plateau", "teachers for the power of its end"),
)  # fmt: skip
LEVEL = Macro(small_rate=True, rtol=1e-4)
LONG = np.geomspace(1, 3e5, 300)
AXES = ("width", "count")  # of panels a and b


def vary(axis: str, use: dict[str, Any]) -> tuple[Problem, dict[str, Any]]:
    """A problem of the panel, and what a sweep needs to vary it."""
    if axis == "count":
        first = problem(use["M"], use["eta"], use["beta"], use["counts"][0], use["narrow"])
        return first, {"vary": {"inputs.spectrum.distinct": use["counts"]}}
    derive = {"student.width": "teacher.width", "student.readout": "teacher.width ** -0.5"}
    first = problem(use["widths"][0], use["eta"], use["beta"], use["wide"], use["wide"])
    return first, {"vary": {"teacher.width": use["widths"]}, "derive": derive}


def risks(
    quick: bool, axis: str, use: dict[str, Any], level: Macro | Micro, times: np.ndarray, seeds: Any
) -> np.ndarray:
    """(case, seed, time)."""
    one, grid = vary(axis, use)
    options: dict[str, Any] = {"level": level, "times": times, "seeds": seeds, "start": {"scale": use["sigma"]}}
    data = swept(quick, one, **grid, **options, title=FIGURE.key)
    found: np.ndarray = data["risk"].isel(run=0).values
    return found


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    use = PARAMETERS.values(quick)
    data: dict[str, Any] = {}
    for axis, until, seen in zip(AXES, use["until"], use["sgd"], strict=True):
        times, steps = np.unique(np.concatenate([np.linspace(0, until, 201), LONG])), np.linspace(0, seen, 101)
        flows = risks(quick, axis, use, LEVEL, times, range(use["starts"]))
        simulated = risks(quick, axis, use, Micro(form="full", seed=1, threads=1), steps, [use["seed"]])
        drawn = times <= until
        data |= {
            f"{axis}_flow": ((axis, f"{axis}_time"), flows[:, use["seed"], drawn]), f"{axis}_time": times[drawn],
            f"{axis}_sgd": ((axis, f"{axis}_step"), simulated[:, 0]), f"{axis}_step": steps,
            **_ends(axis, use, times, flows),
        }  # fmt: skip
    return xarray.Dataset(
        data,
        {"width": list(use["widths"]), "count": list(use["counts"]), "of": ["exact", "uniform"]},
        {"wide": use["wide"], "M": use["M"], "narrow": use["narrow"]},
    )


def _ends(axis: str, use: dict[str, Any], times: np.ndarray, flows: np.ndarray) -> dict[str, Any]:
    """(case, teacher, of) the exact time of the escape and (15); (case, start) when the risk has fallen by a part of the height."""
    wide, narrow = use["wide"], use["narrow"]
    cases = (
        [(M, wide, wide) for M in use["widths"]] if axis == "width" else [(use["M"], L, narrow) for L in use["counts"]]
    )
    tau, ends = np.empty((len(cases), use["teachers"], 2)), np.full((len(cases), use["starts"]), np.nan)
    for i, (M, L, N) in enumerate(cases):
        one = problem(M, use["eta"], use["beta"], L, N)
        for seed in range(use["teachers"]):
            first = start(one, seed=seed, scale=use["sigma"])
            place = theory.erf_plateau(one, first).value
            tau[i, seed] = 1 / place.rates[0], theory.uniform_escape_time(one, first).value
            if seed < use["starts"]:
                ends[i, seed] = committees.crossing(times, flows[i, seed] < (1 - DROP) * place.risk)
    return {f"{axis}_tau": ((axis, "teacher", "of"), tau), f"{axis}_ends": ((axis, "start"), ends)}


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib.lines import Line2D

    picture, axes = figure(1, 2, height=3.2)
    for ax, axis, name in zip(axes, AXES, ("M", "L"), strict=True):
        for i, value in enumerate(data[axis].values):
            ax.plot(
                data[f"{axis}_time"],
                1e3 * data[f"{axis}_flow"][i],
                color=f"C{i}",
                linewidth=0.9,
                label=f"${name} = {value}$",
            )
            ax.plot(data[f"{axis}_step"], 1e3 * data[f"{axis}_sgd"][i], color=f"C{i}", linewidth=2.6, alpha=0.45)
        ax.set_xlabel("$\\alpha$")
        ax.legend(fontsize=7, ncols=2, loc="upper right")
    high = 1e3 * max(float(data[f"{axis}_flow"].sel({f"{axis}_time": 100}, method="nearest").max()) for axis in AXES)
    axes[0].set_xticks(np.arange(0, 20_001, 4000))
    axes[1].set_xticks(np.arange(0, 80_001, 20_000))
    axes[0].set(ylim=(0, 1.1 * min(high, 11)), ylabel="$10^3\\,\\epsilon_g$", xlim=(0, float(data["width_time"][-1])))
    axes[1].set(ylim=(0, 1.1 * min(high, 11)), xlim=(0, float(data["count_time"][-1])))
    titles = f"$L = N = {data.attrs['wide']}$", f"$M = {data.attrs['M']}$, $N = {data.attrs['narrow']}$"
    for ax, title, text in zip(axes, titles, "ab", strict=True):
        ax.set_title(title, fontsize=9, loc="center")
        letter(ax, text)
    lines = [Line2D([], [], color="0.3", linewidth=2.6, alpha=0.45, label="SGD, one initialisation"),
             Line2D([], [], color="0.3", linewidth=0.9, label="equations at small rates, same start")]  # fmt: skip
    legend_above(picture, lines, 2)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    (tau_M, tau_M_error), (tau_L, tau_L_error) = (
        _power(data[axis], data[f"{axis}_tau"].sel(of="exact")) for axis in AXES
    )
    (end_M, end_M_error), (end_L, end_L_error) = (_power(data[axis], data[f"{axis}_ends"]) for axis in AXES)
    widest, excess = int(data["width"][-1]), np.log(data["width_tau"].values[-1])
    excess = excess[:, 1] - excess[:, 0]
    return [
        refuted(
            FIGURE.key, "the escape time grows as M^2, as figure 5 left illustrates (power of M of the exact one; of the end of "
            f"the plateau {end_M:.2f} ± {end_M_error:.2f})",
            source="after (15)", row="W37", printed=2.0, found=tau_M, error=tau_M_error, tolerance=0.3,
            evidence=f"{TEST}::test_escape_rates_are_those_of_the_equations",
        ),
        refuted(
            FIGURE.key, f"(15) is the escape time where L = N (log of (15) over the exact one, M = {widest}, mean over teachers)",
            source="(15)", row="W37", printed=0.0, found=float(excess.mean()), tolerance=0.2,
            error=standard_error(excess),
            evidence=f"{TEST}::test_escape_rates_are_those_of_the_equations",
        ),
        holds(
            FIGURE.key, "the escape time falls as 1/L (power of L of the exact one)", source="after (15)", printed=-1.0,
            found=tau_L, error=tau_L_error, tolerance=3 * tau_L_error,
            evidence="theory.erf_plateau; tolerance: 3 standard errors over teachers",
        ),
        holds(
            FIGURE.key, "with it the plateau (power of L of its end)", source="after (15)", printed=-1.0, found=end_L,
            error=end_L_error, tolerance=3 * end_L_error,
            evidence=f"equations, fall by {DROP:.0%}; tolerance: 3 standard errors over teachers",
        ),
        beyond(
            FIGURE.key, "SGD at this rate follows the equations at small rates (mean log ratio over all curves)", expected=0.0,
            found=float(np.mean([_gap(data, axis) for axis in AXES])), tolerance=0.03,
            evidence="weights of all inputs against the equations, from the same starts",
        ),
    ]  # fmt: skip


def _power(axis: "xarray.DataArray", times: "xarray.DataArray") -> tuple[float, float]:
    """Slope of the logarithm of `times` (case, teacher) against that of the axis: mean over teachers, and its standard error."""
    slopes = log_slope(axis.values, times.values.T)
    return float(slopes.mean()), standard_error(slopes)


def _gap(data: "xarray.Dataset", axis: str) -> float:
    times, steps = data[f"{axis}_time"].values, data[f"{axis}_step"].values
    flows = [np.interp(steps, times, np.log(row)) for row in data[f"{axis}_flow"].values]
    return float((np.log(data[f"{axis}_sgd"].values) - flows)[:, 10:].mean())


FIGURE = PaperFigure(f"{KEY}/5", "Plateaus by SGD for several widths and spectra", compute, draw, claims, PARAMETERS)
