"""Beyond the paper: learning goes down a staircase of mixed saddles, which the paper's list of critical points leaves out."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import landscape, theory
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import Overlaps, start
from solvable.papers.bocchi2026.settings import KEY, problem
from solvable.papers.claims import Claim, beyond, corrected
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

BEYOND = "beyond the paper"
PARAMETERS = table(
    Parameter("p", UNSAID, 6, why=f"{BEYOND}: widths of its figures 1 and 3", label="$p$"),
    Parameter("p_star", UNSAID, 3, why=f"{BEYOND}: widths of its figures 1 and 3", label="$p^*$"),
    Parameter("sizes", UNSAID, (1e-2, 1e-6, 1e-10), why="far apart", label="singular values of the first $\\rho$"),
    Parameter("until", UNSAID, 90.0, why="all steps are seen", label="last $\\eta\\alpha$"),
    Parameter("times", UNSAID, 721, 181, "a smooth line", "number of times"),
    Parameter("dim", UNSAID, 10_000, why="any: multiplicities count it", label="$N$"),
    Parameter("seed", UNSAID, 0, why="any"),
)
RUNS = ("graded", "one teacher never met")


def graded_start(setting: Problem, sizes: tuple[float, ...], seed: int) -> Overlaps:
    """Orthonormal students; each teacher is met by its own combination of them. A size of zero is a column of zeros, and stays."""
    p, q = setting.student.width, setting.teacher.width
    frame = np.linalg.qr(np.random.default_rng(seed).standard_normal((p, q)))[0]
    return start(setting, student_overlap=np.eye(p), cross_overlap=frame * sizes)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    setting = problem(values["p"], values["p_star"]).replace(inputs__dim=values["dim"])
    times, sizes = np.linspace(0, values["until"], values["times"]), values["sizes"]
    starts = [graded_start(setting, one, values["seed"]) for one in (sizes, (*sizes[:-1], 0.0))]
    runs = [run(setting, one, Macro(small_rate=True), times=times, clock=KEY) for one in starts]
    visits = landscape.visits(runs[0])
    middles = [int(np.argmin(np.abs(times - 0.5 * (one.start + one.end)))) for one in visits]
    curved = [landscape.curvature_along(one) for one in runs]
    ends = [landscape.visits(one)[-1] for one in runs]
    return xarray.Dataset(
        {
            "risk": (("run", "time"), [one.risk[0] for one in runs]),
            "eigenvalue": (("run", "time", "direction"), [one.inside for one in curved]),
            "end_inside": ("run", [one.inside for one in ends]),
            "end_risk": ("run", [one.risk for one in ends]),
            "visit_inside": ("visit", [one.inside for one in visits]),
            "visit_outside": ("visit", [one.outside for one in visits]),
            "visit_risk": ("visit", [one.risk for one in visits]),
            "visit_negative": ("visit", (curved[0].inside[middles] < -0.5 * 8 / 18).sum(axis=1)),
            "visit_measured": ("visit", runs[0].risk[0, middles]),
            "visit_start": ("visit", [one.start for one in visits]),
            "visit_end": ("visit", [one.end for one in visits]),
            "stair_length": ("stair", 0.01 * theory.stair_lengths(setting, starts[0]).value),
            "fall": ("step", [runs[0].exit_time(below, relative=False)[0] for below in (0.73, 0.4, 0.12)]),
        },
        {"time": times, "run": list(RUNS)},
        {"problem": setting.to_json()},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (top, low) = figure(2, 1, height=2.2, width=5.2, sharex=True)
    time = data["time"].values
    for r, s, risk in zip(
        data["visit_outside"].values, data["visit_inside"].values, data["visit_risk"].values, strict=True
    ):
        top.axhline(risk, color="0.75", linewidth=0.8, linestyle=":")
        top.annotate(
            f"({r}, {s})",
            (time[-1], risk),
            xytext=(4, 0),
            textcoords="offset points",
            va="center",
            annotation_clip=False,
        )
    for i, style in enumerate(("-", "--")):
        top.plot(time, data["risk"].values[i], color=f"C{i}", linestyle=style, label=RUNS[i])
    for begin, end in zip(data["visit_start"].values, data["visit_end"].values, strict=True):
        for ax in (top, low):
            ax.axvspan(begin, end, color="0.93", linewidth=0)
    low.plot(time, data["eigenvalue"].values[0], color="C0", linewidth=0.6)
    for value in (-8 / 18, 0, 8 / 18):
        low.axhline(value, color="0.75", linewidth=0.8, linestyle=":", zorder=1.5)
    top.set_ylabel("generalisation error")
    top.set_ylim(0, 1.02)
    top.legend(loc="center right", bbox_to_anchor=(1.0, 0.725))
    top.set_title("right: visited point (outside, inside)", fontsize=7, loc="right")
    low.set_ylabel("Hessian eigenvalues")
    for count, middle in zip(
        data["visit_negative"].values, 0.5 * (data["visit_start"].values + data["visit_end"].values), strict=True
    ):
        low.annotate(f"{count} at $-8/pp^*$", (max(middle, 8), -0.75), ha="center", fontsize=6.5)
    low.set_yticks([-8 / 18, 0, 8 / 18, 1, 2], labels=["$-8/pp^*$", "0", "$8/pp^*$", "1", "2"])
    low.set_ylim(-0.9, 2.4)
    low.set_xlabel("$t = \\eta\\alpha$")
    low.set_xlim(0, time[-1])
    letter(top, "a")
    letter(low, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    risks, visited = data["visit_measured"].values, data["visit_risk"].values
    p, q = 6, 3
    listed = [
        one
        for one in landscape.critical_points(problem(p, q).replace(inputs__dim=20))
        if 0 in (one.outside, one.inside)
    ]
    paper = np.array([one.risk for one in listed])  # of the classes that the paper has
    expected = [(p - s) * (q - s) for s in range(4)]
    test = "tests/landscape/test_along.py::"
    falls = np.diff(data["fall"].values)

    def nearest(risk: float) -> float:
        return float(paper[np.argmin(np.abs(paper - risk))])

    found = [
        corrected(
            FIGURE.key,
            f"learning waits at the risk of the mixed saddle ({p - s}, {s}); the print is the nearest of the paper's points",
            source="section 4.2", row="B8", printed=nearest(visited[s]), expected=visited[s], found=risks[s], tolerance=0.002,
            evidence=f"{test}test_the_staircase",
        )
        for s in (1, 2)
    ]  # fmt: skip
    end = float(data["risk"].values[1, -1])
    return [
        *found,
        corrected(
            FIGURE.key, "without overlap with one teacher it ends at the mixed saddle (4, 2), of risk 1/4", source="section 4.2",
            row="B8", printed=nearest(0.25), expected=0.25, found=end, tolerance=0.002,
            evidence=f"{test}test_a_start_without_full_rank_ends_at_a_mixed_saddle",
        ),
        beyond(
            FIGURE.key, "each step lasts (p p*/8) log of the ratio of the singular values (mean ratio)", expected=1.0,
            found=np.mean(falls / data["stair_length"].values), tolerance=0.05, evidence="theory.stair_lengths",
        ),
        beyond(
            FIGURE.key, "there the measured Hessian has (p - s)(p* - s) eigenvalues near -8/(p p*), below half of it (difference)",
            expected=0.0, found=float(np.abs(data["visit_negative"].values - expected).max()), tolerance=0,
            evidence=f"{test}test_curvature_at_every_critical_point",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/staircase", "Saddle to saddle: the staircase of the risk", compute, draw, claims, PARAMETERS
)
