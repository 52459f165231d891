"""Figure 3: of all zero-error solutions, learning ends at the one nearest to where it began."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.papers.bocchi2026.settings import KEY, problem, random_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import figure, letter
from solvable.results import run_batch
from solvable.results.observables import local_exponent

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


def compute(quick: bool) -> "xarray.Dataset":
    """Run 0 is the one whose end is predicted; the others start elsewhere. Time is t = eta alpha."""
    setting = problem()
    starts = [random_start(setting, seed) for seed in range(6 if quick else 21)]
    times = np.concatenate([[0.0], np.geomspace(0.05, 2000, 241)])
    found = run_batch(setting, starts, Macro(), times=times, clock=KEY)
    target, data = theory.nearest_solution(setting, starts[0]).value, found.data
    data["distance"] = (("run", "time"), found.distance(target, of="cross_overlap"))
    data["weight_distance"] = (("run", "time"), found.distance(target))
    data.attrs["nearest_distance"] = theory.nearest_distance(setting, starts[0]).value
    for name, law in [("late_distance", theory.late_distance), ("late_risk", theory.late_risk)]:
        data[name] = ("time", np.concatenate([[np.nan], law(setting, found.alpha[1:]).value]))
    return data


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    time, late = data["time"], data["time"] > 20
    for ax, name in [(left, "distance"), (right, "risk")]:
        lines = ax.plot(time, data[name][1:].T, color="0.75", linewidth=0.9)
        lines[0].set_label("other starts")
        ax.plot(time, data[name][0], color="black", label="start that defines $\\bar\\rho$")
        ax.set_xscale("log")
        ax.set_xlim(time[1], time[-1])
        ax.set_xlabel("$t = \\eta\\alpha$")
    left.axhline(np.sqrt(2 * data.sizes["student"]), color="C1", linestyle=":", label="unrelated, $\\sqrt{2p}$")
    left.set_ylabel("distance to prediction  $\\|\\rho(t) - \\bar\\rho\\|_F$")
    left.set_ylim(bottom=0)
    left.legend(loc="lower left")
    right.plot(
        time[late], data["late_risk"][late], color="C1", linestyle="--", label="late-time theory, $\\propto t^{-2}$"
    )
    right.legend(loc="lower left")
    right.set_yscale("log")
    right.set_ylabel("generalisation error")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    own, others = data["distance"].values[0], data["distance"].values[1:]
    p = data.sizes["student"]
    end = float(data["time"][-1])
    slope = local_exponent(data["time"].values, data["risk"].values[0])[-1]
    return [
        judge(
            FIGURE.key, f"the run from rho_0 ends at the predicted solution (distance at t = {end:.0f})",
            expected=0.0, found=own[-1], tolerance=0.01 * own[0], evidence="distance of rho to eq. (19)",
        ),
        judge(
            FIGURE.key, "the solution is as far from the first weights as (17) at (19) says (distance over sqrt(dim))",
            expected=data.attrs["nearest_distance"], found=data["weight_distance"].values[0, 0], tolerance=1e-3,
            evidence="tests/results/test_results.py::test_frames_and_distances",
        ),
        judge(
            FIGURE.key, "runs from other starts end at a finite distance from it, that of unrelated frames sqrt(2p) (mean)",
            expected=np.sqrt(2 * p), found=others[:, -1].mean(), tolerance=0.5, evidence=f"{len(others)} other starts",
        ),
        judge(
            FIGURE.key, f"all runs converge to zero error (largest risk at t = {end:.0f})",
            expected=0.0, found=data["risk"].values[:, -1].max(), tolerance=1e-3, evidence="risks of all runs",
        ),
        judge(
            FIGURE.key, "the final descent is algebraic, risk ~ t^-2, not faster than the escape (exponent at the end)",
            expected=-2.0, found=slope, tolerance=0.1, correction="B14",
            evidence="tests/theory/test_solutions.py::test_the_final_descent_is_algebraic",
        ),
        judge(
            FIGURE.key, "late-time distance over its closed form",
            expected=1.0, found=own[-1] / float(data["late_distance"][-1]), tolerance=0.1, correction="B14",
            evidence="tests/theory/test_solutions.py::test_late_distance",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/3", "Learning ends at the solution nearest to the start", compute, draw, claims)
