"""Figure 2: the learning rate that halves the risk soonest, and how it grows with the student's width."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import when
from solvable.macro import Macro
from solvable.numerics.statistics import standard_error
from solvable.papers.bocchi2026.settings import KEY, SIZE, TEACHERS, problem
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, swept
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

LOW = (0.02, 0.05, 0.1, 0.15)
PARAMETERS = table(
    TEACHERS,
    Parameter("p", 3, 3, label="$p$ of panel a"),
    SIZE,
    Parameter("starts", 20, 20, 8, label="initialisations"),
    Parameter(
        "rates", UNSAID, (*LOW, *np.arange(0.2, 0.4601, 0.01).round(2).tolist()),
        (*LOW, *np.arange(0.2, 0.4601, 0.02).round(2).tolist()), "up to where learning fails", "$\\eta$ of panel a",
    ),
    Parameter("widths", UNSAID, tuple(range(3, 13)), (3, 6, 9, 12), "the axis is not in the text", "$p$ of panel b"),
    Parameter("shares", UNSAID, 46, 19, "a parabola through the lowest five", "rates for each $p$ of panel b"),
    Parameter("until", UNSAID, 400.0, why="what has not halved its risk by then never does", label="last $\\alpha$"),
    Parameter("seed", UNSAID, 0, why="any"),
)  # fmt: skip


def half_times(values: Any, vary: dict[str, Any], quick: bool, **options: Any) -> np.ndarray:
    """(..., start) alpha at which the risk is half the first, NaN where it never is."""
    data = swept(
        quick, problem(values["p"], values["p_star"]), vary, Macro(rtol=1e-6), times=[values["until"]],
        stop=when("risk", below=0.5, relative=True), seeds=range(values["seed"], values["seed"] + values["starts"]),
        start={"students": "orthogonal", "cross": values["epsilon"]}, keep=(), title=FIGURE.key, **options,
    )  # fmt: skip
    times: np.ndarray = data["exit_time"].isel(run=0).values
    return times


def best_rate(rates: np.ndarray, times: np.ndarray) -> float:
    """Where a parabola in log(rate) through the lowest mean and its neighbours has its minimum."""
    mean = np.where(np.isfinite(times).all(axis=1), times.mean(axis=1), np.inf)
    lowest = int(np.clip(np.argmin(mean), 2, len(rates) - 3))
    near = slice(lowest - 2, lowest + 3)
    a, b, _ = np.polyfit(np.log(rates[near]), mean[near], 2)
    return float(np.exp(-b / (2 * a)))


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    widths, scan = np.array(values["widths"]), np.array(values["rates"])
    settings = [problem(int(p), values["p_star"]) for p in widths]
    closed = np.array([theory.optimal_rate(one).value for one in settings])
    limits = np.array([theory.rate_limit(one).value for one in settings])
    best, spread = np.empty(widths.size), np.empty(widths.size)
    shares, optimum = np.linspace(0.6, 1.05, values["shares"]), dict(zip(widths.tolist(), closed, strict=True))
    all_times = half_times(
        values, {"student.width": widths, "share": shares}, quick,
        derive={"training.learning_rate": lambda at: at["share"] * optimum[at["student.width"]]},
    )  # fmt: skip
    for i, times in enumerate(all_times):
        rates = closed[i] * shares
        best[i] = best_rate(rates, times)
        halves = [best_rate(rates, times[:, part]) for part in (slice(None, None, 2), slice(1, None, 2))]
        spread[i] = 0.5 * abs(halves[0] - halves[1])  # standard error of the mean of the two halves
    return xarray.Dataset(
        {
            "half_time": (("rate", "run"), half_times(values, {"training.learning_rate": scan}, quick)),
            "best_rate": ("width", best),
            "best_rate_error": ("width", spread),
            "closed_form": ("width", closed),
            "rate_limit": ("width", limits),
        },
        {"rate": scan, "width": widths},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    times = data["half_time"].values
    reached = np.isfinite(times).all(axis=1)
    mean, error = times.mean(axis=1), standard_error(times, axis=1)
    left.errorbar(data["rate"].values[reached], mean[reached], error[reached], marker="o", markersize=3, linewidth=1)
    limit = float(data["rate_limit"].sel(width=3))
    left.axvline(limit, color="0.5", linestyle=":", label="zero error unstable beyond")
    left.set_yscale("log")
    left.set_yticks([30, 50, 100, 200], labels=["30", "50", "100", "200"])
    left.tick_params(axis="y", which="minor", labelleft=False)
    left.set_xlabel("learning rate $\\eta$")
    left.set_ylabel("$\\alpha_c$ to half the first risk, $p = p^* = 3$")
    left.legend(loc="upper center")
    slope, offset = np.polyfit(data["width"], data["best_rate"], 1)
    right.errorbar(
        data["width"],
        data["best_rate"],
        data["best_rate_error"],
        marker="o",
        markersize=4,
        linestyle="",
        label="soonest, $\\epsilon = 0.01$",
    )
    right.plot(data["width"], slope * data["width"] + offset, color="C0", label=f"${slope:.3f}\\,p - {-offset:.3f}$")
    right.plot(data["width"], data["closed_form"], color="C1", linestyle="--", label="closed form, $\\epsilon \\to 0$")
    right.plot(data["width"], data["rate_limit"], color="0.5", linestyle=":", label="zero error unstable beyond")
    right.set_xlabel("student width $p$")
    right.set_ylabel("optimal learning rate, $p^* = 3$")
    right.legend(loc="upper left")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    times, rates = data["half_time"].values, data["rate"].values
    widths, best = data["width"].values, data["best_rate"].values
    learned = np.isfinite(times).mean(axis=1)
    edge = float(np.interp(-0.5, -learned[rates > 0.4], rates[rates > 0.4]))
    slope, offset = np.polyfit(widths, best, 1)
    residual = 1 - np.var(best - slope * widths - offset) / np.var(best)
    evidence = f"{times.shape[1]} starts, epsilon = 0.01"
    return [
        holds(
            FIGURE.key, "the optimal rate grows linearly with the width, p = 3 to 12 (share of variance of a straight line)",
            source="section 4.1", printed=1.0, found=residual, tolerance=0.002, evidence=evidence,
        ),
        holds(
            FIGURE.key, "the trend is linear, with an offset (largest difference from the line over the range of rates)",
            source="figure 2", printed=0.0, found=np.abs(best - slope * widths - offset).max() / np.ptp(best), tolerance=0.03,
            evidence=evidence,
        ),
        beyond(
            FIGURE.key,
            "p = p* = 3: learning fails from that rate on at which zero error is unstable (where half of the starts fail)",
            expected=float(data["rate_limit"].sel(width=3)), found=edge, tolerance=float(np.diff(rates).min()),
            evidence="theory.rate_limit, from linear stability",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/2", "The learning rate that learns soonest", compute, draw, claims, PARAMETERS)
