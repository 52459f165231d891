"""Figure 2: the learning rate that halves the risk soonest, and how it grows with the student's width."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.papers.bocchi2026.settings import EPSILON, KEY, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, swept
from solvable.plot.style import figure, letter
from solvable.results import when

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEACHERS = 3
UNTIL = 400.0  # a run that has not halved its risk by then never does, at these rates


def half_times(vary: dict[str, Any], seeds: range, quick: bool, **options: Any) -> np.ndarray:
    """(..., start) alpha at which the risk is half the first, NaN where it never is."""
    data = swept(
        quick, problem(TEACHERS, TEACHERS), vary, Macro(rtol=1e-6), times=[UNTIL], stop=when("risk", below=0.5, relative=True),
        seeds=seeds, start={"students": "orthogonal", "cross": EPSILON}, keep=(), title=FIGURE.key,
        **options,
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

    seeds = range(8 if quick else 20)
    widths = np.array([3, 6, 9, 12] if quick else [*range(3, 13), 20, 30])
    settings = [problem(int(p), TEACHERS) for p in widths]
    closed = np.array([theory.optimal_rate(one).value for one in settings])
    limits = np.array([theory.rate_limit(one).value for one in settings])
    best, spread = np.empty(widths.size), np.empty(widths.size)
    shares, optimum = np.linspace(0.6, 1.05, 19 if quick else 46), dict(zip(widths.tolist(), closed, strict=True))
    all_times = half_times(
        {"student.width": widths, "share": shares}, seeds, quick,
        derive={"training.learning_rate": lambda at: at["share"] * optimum[at["student.width"]]},
    )  # fmt: skip
    for i, times in enumerate(all_times):
        rates = closed[i] * shares
        best[i] = best_rate(rates, times)
        halves = [best_rate(rates, times[:, part]) for part in (slice(None, None, 2), slice(1, None, 2))]
        spread[i] = 0.5 * abs(halves[0] - halves[1])  # standard error of the mean of the two halves
    scan = np.concatenate([[0.02, 0.05, 0.1, 0.15], np.arange(0.2, 0.4601, 0.02 if quick else 0.01)])
    return xarray.Dataset(
        {
            "half_time": (("rate", "run"), half_times({"training.learning_rate": scan}, seeds, quick)),
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
    mean, error = times.mean(axis=1), times.std(axis=1, ddof=1) / np.sqrt(times.shape[1])
    left.errorbar(data["rate"].values[reached], mean[reached], error[reached], marker="o", markersize=3, linewidth=1)
    limit = float(data["rate_limit"].sel(width=3))
    left.axvline(limit, color="0.5", linestyle=":", label="zero error unstable beyond")
    left.set_yscale("log")
    left.set_yticks([30, 50, 100, 200], labels=["30", "50", "100", "200"])
    left.tick_params(axis="y", which="minor", labelleft=False)
    left.set_xlabel("learning rate $\\eta$")
    left.set_ylabel("$\\alpha_c$ to half the first risk, $p = p^* = 3$")
    left.legend(loc="upper center")
    small = data.sel(width=data["width"] <= 12)
    slope, offset = np.polyfit(small["width"], small["best_rate"], 1)
    right.errorbar(
        small["width"],
        small["best_rate"],
        small["best_rate_error"],
        marker="o",
        markersize=4,
        linestyle="",
        label="soonest, $\\epsilon = 0.01$",
    )
    right.plot(small["width"], slope * small["width"] + offset, color="C0", label=f"${slope:.3f}\\,p - {-offset:.3f}$")
    right.plot(
        small["width"], small["closed_form"], color="C1", linestyle="--", label="closed form, $\\epsilon \\to 0$"
    )
    right.plot(small["width"], small["rate_limit"], color="0.5", linestyle=":", label="zero error unstable beyond")
    right.set_xlabel("student width $p$")
    right.set_ylabel("optimal learning rate, $p^* = 3$")
    right.legend(loc="upper left")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    times, rates = data["half_time"].values, data["rate"].values
    reached = np.isfinite(times).all(axis=1)
    small = data.sel(width=data["width"] <= 12)
    widths, best = small["width"].values, small["best_rate"].values
    slope, offset = np.polyfit(widths, best, 1)
    residual = 1 - np.var(best - slope * widths - offset) / np.var(best)
    evidence = f"{times.shape[1]} starts, epsilon = 0.01"
    test = "tests/theory/test_plateau.py::test_the_rate_that_escapes_soonest_has_a_closed_form"
    return [
        judge(
            FIGURE.key, "the time to half the risk has a minimum in the rate, p = p* = 3 (its time over that at eta = 0.05)",
            expected=0.3, found=times[reached].mean(axis=1).min() / times[rates == 0.05].mean(), tolerance=0.05, evidence=evidence,
        ),
        judge(
            FIGURE.key, "beyond a rate learning fails, p = p* = 3 (largest rate at which all starts halve their risk)",
            expected=float(data["rate_limit"].sel(width=3)), found=rates[reached].max(), tolerance=0.025,
            evidence=f"{evidence}; expected is theory.rate_limit",
        ),
        judge(
            FIGURE.key, "the optimal rate grows linearly with the width, p = 3 to 12 (share of variance of a straight line)",
            expected=1.0, found=residual, tolerance=0.002, evidence=evidence,
        ),
        judge(
            FIGURE.key, "linear with an offset, not proportional: eta_opt/p rises (ratio between p = 12 and p = 3)",
            expected=1.372, found=best[-1] / 12 / (best[0] / 3), tolerance=0.08, correction="B15", evidence=test,
        ),
        judge(
            FIGURE.key, "it lies below its closed form for vanishing first overlaps (mean ratio)",
            expected=0.9, found=(best / small["closed_form"].values).mean(), tolerance=0.05, correction="B15", evidence=test,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/2", "The learning rate that learns soonest", compute, draw, claims)
