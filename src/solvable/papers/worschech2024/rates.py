"""Figures 2 and 13: linear units at small and at any rate, the integral over the spectrum, and SGD."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import run, run_batch
from solvable.micro import Micro
from solvable.numerics.statistics import log_slope, standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024.settings import KEY, excess, from_distances, linear, problem
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TWO_TABLE = table(
    Parameter("left_dim", 128, 128, label="N = L, left"),
    Parameter("left_eta", 1.0, 1.0, label="eta, left"),
    Parameter("left_beta", 1.0, 1.0, label="beta, left"),
    Parameter("left_variance", 1.0, 1.0, label="sigma_J^2, left"),
    Parameter("left_runs", UNSAID, 1000, 64, "the paper has no SGD there; ours shows mean and median", "runs of SGD, left"),
    Parameter("left_until", UNSAID, 200.0, 100.0, why="the end of the paper's axis", label="last alpha, left"),
    Parameter("left_seed", UNSAID, 1, why="any", label="seed of SGD, left"),
    Parameter("dim", 256, 256, label="N = L, right"),
    Parameter("eta", 0.1, 0.1, label="eta, right"),
    Parameter("beta", 0.75, 0.75, label="beta, right"),
    Parameter("scale", 0.01, 0.01, label="sigma_J, right"),
    Parameter("runs", 5, 5, label="starts, right"),
    Parameter("more_runs", UNSAID, 40, 16, "beside the paper's five, for standard errors", "all starts, right"),
    Parameter("until", 1000.0, 1000.0, 100.0, label="last alpha, right"),
    Parameter("start_seed", UNSAID, 0, why="any", label="seed of the first start, right"),
    Parameter("sgd_seed", UNSAID, 2, why="any", label="seed of SGD, right"),
)  # fmt: skip


def compute_two(quick: bool) -> "xarray.Dataset":
    import xarray

    given = TWO_TABLE.values(quick)
    left = _left(**{name.removeprefix("left_"): value for name, value in given.items() if name.startswith("left_")})
    grid = np.geomspace(1, given["until"], 41)
    setting, typical = linear(given["eta"], given["beta"], given["dim"], given["scale"] ** 2)
    finite = problem(1, given["eta"], given["beta"], given["dim"], given["dim"], "linear")
    starts = [start(finite, seed=given["start_seed"] + i, scale=given["scale"]) for i in range(given["more_runs"])]
    runs = whole(run_batch(finite, starts, Micro(seed=given["sgd_seed"]), times=grid, progress=False)).risk
    means = [theory.linear_mean_risk(finite, one, grid).value for one in starts]
    return xarray.Dataset(
        {
            **left,
            "integral": ("grid", theory.power_law_risk(setting, typical, grid, limits=(1, given["dim"])).value),
            "any_right": ("grid", theory.linear_risk(setting, typical, grid).value),
            "sgd": (("run", "grid"), runs),
            "own_mean": (("run", "grid"), means),
        },
        {"grid": grid},
        {"shown": given["runs"], "beta": given["beta"], "limit": _limit(given["left_dim"], given["left_beta"])},
    )


def _left(dim: int, eta: float, beta: float, variance: float, runs: int, until: float, seed: int) -> dict[str, Any]:
    """(8), (6), the exact mean at this dim, and SGD from the typical start."""
    times = np.geomspace(1, until, 61)
    setting, first = linear(eta, beta, dim, variance, finite=True)
    spread = from_distances(setting, np.full(dim, 1 + variance))
    found = whole(run(*spread, Micro(runs=runs, seed=seed), times=times, progress=False)).risk
    return {
        "time": times,
        "small": ("time", theory.linear_risk(setting, first, times, small_rate=True).value),
        "any": ("time", theory.linear_risk(setting, first, times).value),
        "mean": ("time", theory.linear_mean_risk(setting, first, times).value),
        "left_sgd": (("left_run", "time"), found),
    }


def _limit(dim: int, beta: float) -> float:
    return float(theory.rate_limit(linear(1.0, beta, dim, 1.0, finite=True)[0]).value)


def draw_two(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=3.0)
    times, grid, shown = data["time"], data["grid"], int(data.attrs["shown"])
    low, middle, high = np.quantile(data["left_sgd"].values, [0.25, 0.5, 0.75], axis=0)
    left.loglog(times, data["small"], label="(8), small $\\eta$ limit")
    left.loglog(times, data["any"], linestyle="--", label="(6), no approximation, $N \\to \\infty$")
    left.loglog(times, data["mean"], color="C2", linestyle=":", label="exact mean of SGD, $N = 128$")
    left.loglog(times, middle, color="C2", label="median of SGD, and quartiles")
    left.fill_between(times, low, high, color="C2", alpha=0.2, linewidth=0)
    left.set_ylim(top=60)
    right.loglog(grid, data["sgd"][:shown].mean("run"), color="C0", label=f"SGD, mean of {shown} starts")
    right.loglog(grid, data["integral"], color="C1", linestyle="--", label="(9)")
    right.loglog(
        grid, data["sgd"].mean("run"), color="C2", linestyle=":", label=f"SGD, mean of {data.sizes['run']} starts"
    )
    for ax, text in [(left, "a"), (right, "b")]:
        ax.set_xlabel("$\\alpha$")
        ax.legend(fontsize=6.5)
        letter(ax, text)
    left.set_ylabel("$\\epsilon_g$")
    return picture


def claims_two(data: "xarray.Dataset") -> list[Claim]:
    key, ratio = f"{KEY}/2", data["any"].values / data["small"].values
    at = int(np.argmin(np.abs(data["time"].values - 100)))
    far = data["left_sgd"].values[:, at] / data["any"].values[at]
    late = data["grid"].values <= 100
    sgd, means = data["sgd"].values, data["own_mean"].values
    own = (sgd / means).mean(axis=1)
    on = sgd[:, late].mean(axis=1) / data["integral"].values[late].mean()
    beta = float(data.attrs["beta"])
    slopes = np.array([log_slope(data["grid"].values, one, 1, 100) for one in sgd])
    return [
        holds(
            key, "left: without approximation the loss lies above the small-rate one (by which share below, where it does)",
            source="section 4.1", printed=0.0, found=excess(1 - ratio), tolerance=0.01,
            evidence=f"theory.linear_risk: {ratio.min():.2f} to {ratio.max():.2f} times it",
        ),
        refuted(
            key, "left: (6) is exact at N = L = 128, rate 1 (mean of SGD over it, alpha = 100)", source="(6)", row="W44",
            printed=1.0, found=float(data["mean"][at] / data["any"][at]), tolerance=0.05,
            evidence="tests/theory/test_linear_theory.py::test_the_printed_curve_at_the_edge_is_not_the_mean_of_sgd; the rate "
            f"is at its limit {float(data.attrs['limit']):.4f}, and rare runs carry the mean: that of {len(far)} runs is "
            f"{far.mean():.3g} times it, their median {np.median(far):.2f}",
        ),
        holds(
            key, "right: SGD lies on (9) (mean over starts and alpha from 1 to 100, over that of (9))", source="figure 2",
            printed=1.0, found=float(on.mean()), tolerance=0.05 + 4 * standard_error(on), error=standard_error(on),
            evidence=f"{len(sgd)} starts; (9) leaves out the order of the rate, 1/(1 - rate/2) = 1.05",
        ),
        beyond(
            key, "right: SGD has the exact mean of this dimension and these starts (their ratio, over starts and times)",
            expected=1.0, found=float(own.mean()), tolerance=5 * standard_error(own), error=standard_error(own),
            evidence="second route: theory.linear_mean_risk; five standard errors",
        ),
        corrected(
            key, "right: the exponent over alpha from 1 to 100 is that of the incomplete gamma functions at L = 256",
            source="after (9)", row="W20", printed=-beta / (1 + beta),
            expected=log_slope(data["grid"].values, data["integral"].values, 1, 100), found=float(slopes.mean()),
            tolerance=max(0.01, 5 * standard_error(slopes)), error=standard_error(slopes),
            evidence="tests/theory/test_power_law.py::test_the_printed_window_ends_where_there_is_no_power_law_any_more",
        ),
    ]  # fmt: skip


THIRTEEN_TABLE = table(
    Parameter("dim", 128, 128, label="N = L"),
    Parameter("variance", 0.0, 0.0, label="sigma_J^2"),
    Parameter("beta", 1.0, 1.0, label="beta"),
    Parameter("etas", (0.1, 0.5, 1.0), (0.1, 0.5, 1.0), label="eta (upper left, upper right, bottom)"),
    Parameter("untils", UNSAID, (300.0, 60.0, 300.0), why="the ends of the paper's axes", label="last alpha"),
)


def compute_thirteen(quick: bool) -> "xarray.Dataset":
    import xarray

    given = THIRTEEN_TABLE.values(quick)
    times = np.array([np.geomspace(1, until, 101) for until in given["untils"]])
    risks = []
    for eta, here in zip(given["etas"], times, strict=True):
        setting, first = linear(eta, given["beta"], given["dim"], given["variance"])
        risks.append([theory.linear_risk(setting, first, here, small_rate=small).value for small in (True, False)])
    return xarray.Dataset(
        {"risk": (("eta", "of", "point"), risks), "time": (("eta", "point"), times)},
        {"eta": list(given["etas"]), "of": ["small", "any"]},
    )


def draw_thirteen(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.4)
    for i, (ax, text) in enumerate(zip(axes.flat[:3], "abc", strict=True)):
        ax.loglog(data["time"][i], data["risk"][i, 0], label="(8), small $\\eta$ limit")
        ax.loglog(data["time"][i], data["risk"][i, 1], linestyle="--", label="(6), no approximation")
        ax.set_title(f"$\\eta = {float(data['eta'][i]):g}$", fontsize=9, loc="center")
        ax.set_xlabel("$\\alpha$")
        ax.set_ylabel("$\\epsilon_g$")
        letter(ax, text)
    axes[1, 1].axis("off")
    axes[1, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="center left", fontsize=8)
    return picture


def claims_thirteen(data: "xarray.Dataset") -> list[Claim]:
    key, times = f"{KEY}/13", data["time"].values
    stated = []
    for i, eta in enumerate(data["eta"].values):
        small, general = data["risk"].values[i]
        slopes = [log_slope(times[i], one, 1, 50) for one in (small, general)]
        stated.append(
            holds(
                key, f"rate {eta:g}: it does not change the scaling (difference of the exponents over alpha from 1 to 50)",
                source="section B.2.1", printed=0.0, found=slopes[1] - slopes[0], tolerance=0.02, evidence="theory.linear_risk",
            )
        )  # fmt: skip
        at = int(np.argmin(np.abs(times[i] - 10)))
        stated.append(
            beyond(
                key, f"rate {eta:g}: it multiplies the loss by 1/(1 - rate/2) (at alpha = 10)", expected=1 / (1 - eta / 2),
                found=float(general[at] / small[at]), tolerance=0.03,
                evidence="second route: slow modes see the loss as label noise; 3 % for the finite L",
            )
        )  # fmt: skip
    return stated


TWO = PaperFigure(f"{KEY}/2", "Linear units: small and any rate, and SGD", compute_two, draw_two, claims_two, TWO_TABLE)
THIRTEEN = PaperFigure(
    f"{KEY}/13", "What a finite rate adds", compute_thirteen, draw_thirteen, claims_thirteen, THIRTEEN_TABLE
)
