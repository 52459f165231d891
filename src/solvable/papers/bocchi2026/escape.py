"""Section 4.1 as a picture: norm learning, the plateau at any rate, and the escape from it, with the laws (10) to (13)."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import start
from solvable.papers.bocchi2026.settings import KEY, problem, random_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.results import run, run_batch, when

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

WIDTHS = (3, 6, 12, 24)
TEACHERS = (1, 2, 3, 5)
SMALL = 1e-3  # first overlaps of the escape law, small enough for a decade of pure growth
RATE = 0.002  # per student, where widths are compared


def norms(p: int, times: np.ndarray) -> np.ndarray:
    setting = problem(p)
    alone = start(setting, student_overlap=np.eye(p))
    found = run(setting, alone, Macro(small_rate=True), times=times, clock=KEY)
    return found.student_overlap[0, :, 0, 0]


def reduction(p: int, times: np.ndarray, seeds: range) -> tuple[np.ndarray, np.ndarray]:
    """Mean over starts of the part of the plateau's risk that has gone, at times t = p times `times`, and its closed form."""
    setting, slow = problem(p), problem(p, eta=1e-9)
    waiting = theory.plateau(slow).value
    starts = [start(setting, seed=seed, students="orthogonal", cross=SMALL) for seed in seeds]
    found = run_batch(setting, starts, Macro(small_rate=True), times=p * times, clock=KEY).risk.mean(axis=0)
    written = np.mean([theory.escape_risk(slow, one, p * times / 1e-9).value for one in starts], axis=0)
    return 1 - found / waiting.risk, 1 - written / waiting.risk


def decay(p: int) -> float:
    """Rate in t at which a small overlap between two students at the plateau's norm changes."""
    setting = problem(p)
    Q = p / (p + 2) * np.eye(p)
    Q[0, 1] = Q[1, 0] = 1e-5
    found = run(setting, start(setting, student_overlap=Q), Macro(small_rate=True), times=[0, 1], clock=KEY)
    return float(np.log(found.student_overlap[0, 1, 0, 1] / 1e-5))


def moved_to_one(p: int) -> float:
    """Time to half the first risk from overlaps with one teacher that all sit in one student, over that from spread ones."""
    setting = problem(p, 1)
    spread = random_start(setting, 0)
    alone = np.zeros((p, 1))
    alone[0] = np.linalg.norm(spread.cross_overlap)
    both = [start(setting, student_overlap=np.eye(p), cross_overlap=alone), spread]
    stop = when("risk", below=0.5, relative=True)
    times = run_batch(setting, both, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    return float(times[0] / times[1])


def growth_of_sgd(eta: float, dim: int, runs: int) -> np.ndarray:
    """(run,) growth rate of the size of cross overlaps, between two times on the plateau, from students at its norm."""
    setting = problem(eta=eta).replace(inputs__dim=dim)
    waiting = theory.plateau(setting).value
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0]
    first = start(setting, student_overlap=waiting.norm * np.eye(6), cross_overlap=0.02 * frame)
    span = 0.7 / waiting.growth
    found = whole(run(setting, first, Micro(runs=runs, seed=2), times=[0, span], progress=False)).cross_overlap
    along = np.einsum("rkl,kl->r", found[:, 1], frame) / np.einsum("rkl,kl->r", found[:, 0], frame)
    return np.log(along) / span


def half_times(p: int, q: int, seeds: range) -> tuple[np.ndarray, float]:
    """Time rate x alpha to half the plateau's risk at a rate proportional to p, and the mean of its closed form."""
    setting = problem(p, q, eta=RATE * p)
    starts = [random_start(setting, seed) for seed in seeds]
    stop = when("risk", below=0.5 * theory.plateau(setting).value.risk)
    found = RATE * run_batch(setting, starts, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    return found, float(RATE * np.mean([theory.escape_time(setting, one).value for one in starts]))


def explained(p: int, q: int, count: int) -> tuple[float, float]:
    """Part of the variance of the escape time that the total first overlap explains, and that of the best student alone."""
    setting = problem(p, q)
    starts = [random_start(setting, seed) for seed in range(count)]
    stop = when("risk", below=0.5, relative=True)
    times = run_batch(setting, starts, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    rows = np.array([np.sum(one.cross_overlap**2, axis=1) for one in starts])
    total, best = (np.corrcoef(np.log(size), times)[0, 1] ** 2 for size in (rows.sum(axis=1), rows.max(axis=1)))
    return float(total), float(best)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    seeds = range(24 if quick else 60)
    times = np.linspace(0, 6, 61)
    scaled = np.linspace(0, 2.2, 45)
    etas = np.array([0.05, 0.3, 0.6] if quick else [0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
    limit = theory.plateau_limit(problem()).value
    fine = np.linspace(0.004, 0.995, 60) * limit
    grown = np.array([growth_of_sgd(eta, 20_000 if quick else 100_000, 16) for eta in etas])
    widths = [3, 6, 12, 24] if quick else [3, 4, 6, 8, 12, 16, 24, 32]
    halves = [[half_times(max(p, q), q, seeds) for p in widths] for q in TEACHERS]
    gone = [reduction(p, scaled, seeds) for p in WIDTHS]
    pairs = [explained(6, 3, 200 if quick else 400), explained(12, 1, 200 if quick else 400)]
    return xarray.Dataset(
        {
            "norm": (("width", "time"), [norms(p, times) for p in WIDTHS]),
            "norm_law": (("width", "time"), [theory.norm_learning(problem(p), times / 0.01).value for p in WIDTHS]),
            "reduction": (("width", "scaled_time"), [one[0] for one in gone]),
            "law": (("width", "scaled_time"), [one[1] for one in gone]),
            "decay": decay(6),
            "moved": moved_to_one(12),
            "sgd_growth": (("rate", "sgd_run"), grown),
            "growth": ("fine_rate", [theory.plateau(problem(eta=eta)).value.growth for eta in fine]),
            "growth_at": ("rate", [theory.plateau(problem(eta=eta)).value.growth for eta in etas]),
            "half_time": (("teachers", "students", "start"), [[one[0] for one in row] for row in halves]),
            "escape_time": (("teachers", "students"), [[one[1] for one in row] for row in halves]),
            "explained": (("case", "by"), pairs),
        },
        {
            "width": list(WIDTHS), "time": times, "scaled_time": scaled, "rate": etas, "fine_rate": fine,
            "teachers": list(TEACHERS), "students": widths, "by": ["total", "best student"],
        },
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ((a, b), (c, d)) = figure(2, 2, height=2.6)
    for i, p in enumerate(WIDTHS):
        a.plot(data["time"], data["norm"][i], color=f"C{i}", label=f"$p = {p}$")
        a.plot(data["time"], data["norm_law"][i], color="black", linestyle=":", linewidth=1.0)
        gone = data["reduction"][i].values
        b.plot(data["scaled_time"], np.where(gone > 3e-5, gone, np.nan), color=f"C{i}", label=f"$p = {p}$")
        b.plot(data["scaled_time"], data["law"][i], color="black", linestyle=":", linewidth=1.0)
    a.plot([], [], color="black", linestyle=":", linewidth=1.0, label="closed form")
    a.set_xlabel("$t = \\eta\\alpha$")
    a.set_ylabel("student norms $Q_{kk}$")
    a.set_ylim(0.4, 1.01)
    a.legend(loc="lower right", ncols=3, columnspacing=1.0)
    b.plot([], [], color="black", linestyle=":", linewidth=1.0, label="(13), corrected")
    b.set_yscale("log")
    b.set_ylim(1e-6, 1.5)
    b.set_xlabel("$\\eta\\alpha/p$")
    b.set_ylabel("part of the plateau's risk gone")
    b.legend(loc="lower right")
    grown = data["sgd_growth"].values
    c.plot(data["fine_rate"], data["growth"], color="black", label="plateau at this rate")
    c.plot(
        data["fine_rate"], 8 / 18 * data["fine_rate"], color="0.6", linestyle="--", label="small rates, $8\\eta/pp^*$"
    )
    c.errorbar(
        data["rate"], grown.mean(axis=1), grown.std(axis=1, ddof=1) / np.sqrt(grown.shape[1]),
        linestyle="", marker="o", markersize=4, label="SGD",
    )  # fmt: skip
    c.axvline(theory.rate_limit(problem()).value, color="C1", linestyle=":", label="zero error unstable beyond")
    c.set_xlabel("learning rate $\\eta$")
    c.set_ylabel("growth of $\\rho$ per $\\alpha$, $p = 6, p^* = 3$")
    c.set_ylim(0, 0.34)
    c.legend(loc="upper left", ncols=2, columnspacing=0.8, fontsize=7, frameon=True, framealpha=1, edgecolor="none")
    for i, q in enumerate(TEACHERS):
        students = np.maximum(data["students"].values, q)
        times = data["half_time"].values[i]
        d.errorbar(
            students, times.mean(axis=1), times.std(axis=1, ddof=1) / np.sqrt(times.shape[1]),
            linestyle="", marker="o", markersize=4, color=f"C{i}", label=f"$p^* = {q}$",
        )  # fmt: skip
        d.plot(students, data["escape_time"][i], color=f"C{i}", linewidth=1.0)
    d.plot([], [], color="0.4", linewidth=1.0, label="if growth went on")
    d.set_xscale("log")
    d.set_xticks([3, 6, 12, 24], labels=["3", "6", "12", "24"])
    d.minorticks_off()
    d.set_ylim(0, 3.6)
    d.set_xlabel("student width $p$")
    d.set_ylabel("$\\eta\\alpha/p$ at half the plateau's risk")
    d.legend(loc="upper right", ncols=3, columnspacing=0.8, handlelength=1.2)
    for ax, name in zip((a, b, c, d), "abcd", strict=True):
        letter(ax, name)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    norm, written = data["norm"].values, data["norm_law"].values
    pure = (data["law"].values > 1e-4) & (data["law"].values < 0.01) & (data["scaled_time"].values > 0.5)
    gone, right = (data[name].values[pure] for name in ("reduction", "law"))
    slopes = [
        np.polyfit(data["scaled_time"].values[here], np.log(row[here]), 1)[0]
        for row, here in zip(data["reduction"].values, pure, strict=True)
    ]
    grown, expected = data["sgd_growth"].values, data["growth_at"].values
    error = grown.std(axis=1, ddof=1) / np.sqrt(grown.shape[1])
    half = data["half_time"].values.mean(axis=2)
    three = half[TEACHERS.index(3)]
    closed = data["escape_time"].values
    law = closed[TEACHERS.index(3)]
    ratio = half[:, -1] / half[TEACHERS.index(1), -1]
    test = "tests/theory/test_plateau.py::"
    return [
        judge(
            FIGURE.key, "norms relax to p/(p + 2) as norm learning states, p = 3 to 24 (largest difference)",
            expected=0.0, found=np.abs(norm - written).max(), tolerance=1e-6, evidence=f"{test}test_norms_are_learned_as_stated",
        ),
        judge(
            FIGURE.key, "with eta ~ p the risk falls as exp(16 eta alpha/(p p*)), whatever p (mean exponent, p* = 3)",
            expected=16 / 3, found=np.mean(slopes), tolerance=0.1, correction="B3",
            evidence=f"{test}test_to_first_order_the_plateau_is_the_printed_one",
        ),
        judge(
            FIGURE.key, "the exponent does not depend on p (largest over smallest)",
            expected=1.0, found=max(slopes) / min(slopes), tolerance=0.03, evidence="slopes of panel b",
        ),
        judge(
            FIGURE.key, "from students of norm one the amplitude of (13) is |rho_0|^2 p/(p + 2) (mean ratio to that)",
            expected=1.0, found=np.mean(gone / right), tolerance=0.01, correction="B4",
            evidence=f"{test}test_the_escape_with_and_without_norm_learning",
        ),
        judge(
            FIGURE.key, "overlaps between students decay, at the rate 16/(p (p + 2)) in t (p = 6)",
            expected=-16 / 48, found=float(data["decay"]), tolerance=1e-4, correction="B2",
            evidence="tests/papers/test_bocchi2026.py::test_student_overlaps_decay_on_the_plateau",
        ),
        judge(
            FIGURE.key, "students wait, and overlaps grow, as the plateau at this rate has it: SGD (worst, in standard errors)",
            expected=0.0, found=np.abs((grown.mean(axis=1) - expected) / error).max(), tolerance=4.0,
            beyond=True, evidence=f"growth between two times, {grown.shape[1]} runs at each rate",
        ),
        judge(
            FIGURE.key, "the time to escape is only weakly influenced by the width (largest over smallest p, p* = 3)",
            expected=law[-1] / law[0], found=three[-1] / three[0], tolerance=0.05,
            evidence="panel d, rate proportional to p; expected is that of theory.escape_time",
        ),
        judge(
            FIGURE.key, "and governed by the teacher's (times at p* = 5 over p* = 1)",
            expected=float(closed[-1, -1] / closed[0, -1]), found=ratio[-1], tolerance=0.3,
            evidence="panel d, rate proportional to p; expected is that of theory.escape_time",
        ),
        judge(
            FIGURE.key, "it is set by the total overlap at the start (variance of escape times explained by it, p* = 1)",
            expected=1.0, found=float(data["explained"].values[1, 0]), tolerance=1e-3, correction="B18",
            evidence=f"{test}test_all_students_together_decide_when_the_plateau_is_left",
        ),
        judge(
            FIGURE.key, "not by the largest one alone: all of it moved to one student changes nothing (ratio of times)",
            expected=1.0, found=float(data["moved"]), tolerance=1e-3, correction="B18",
            evidence=f"{test}test_all_students_together_decide_when_the_plateau_is_left",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/escape", "Norm learning, plateau and escape", compute, draw, claims)
