"""Section 4.1 as a picture: norm learning, the plateau at any rate, and the escape from it, with the laws (10) to (13)."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.levels import run, run_batch, when
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.bocchi2026.settings import KEY, LINES, problem, random_start
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

GENERAL = "the paper has formulas"
PARAMETERS = table(
    Parameter("widths", UNSAID, (3, 6, 12, 24), why=GENERAL, label="$p$ of panels a and b"),
    Parameter("teachers", UNSAID, (1, 2, 3, 5), why=GENERAL, label="$p^*$ of panel d"),
    Parameter("students", UNSAID, (3, 4, 6, 8, 12, 16, 24, 32), (3, 6, 12, 24), GENERAL, "$p$ of panel d"),
    Parameter("small", UNSAID, 1e-3, why="a decade of pure growth", label="$\\epsilon$ of panel b"),
    Parameter("rate", UNSAID, 0.002, why="small", label="$\\eta/p$ of panel d"),
    Parameter(
        "etas", UNSAID, (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8), (0.05, 0.3, 0.6), "beyond the paper",
        "$\\eta$ of panel c",
    ),
    Parameter("dim", UNSAID, 100_000, 20_000, "noise small", "$N$ of panel c"),
    Parameter("starts", UNSAID, 60, 24, "standard errors of 2 %", "starts of panels b and d"),
    Parameter("escapes", UNSAID, 400, 200, "shares of variance to 0.05", "starts whose escape times are compared"),
    Parameter("seed", UNSAID, 0, why="any"),
    Parameter("sgd_seed", UNSAID, 2, why="any", label="seed of the simulations"),
)  # fmt: skip
EARLY = 0.8  # eta alpha/p at which (13) is compared: much growth, little of the risk gone


def norms(p: int, times: np.ndarray) -> np.ndarray:
    setting = problem(p)
    alone = start(setting, student_overlap=np.eye(p))
    found = run(setting, alone, Macro(small_rate=True), times=times, clock=KEY)
    return found.student_overlap[0, :, 0, 0]


def reduction(p: int, times: np.ndarray, seeds: range, small: float) -> tuple[np.ndarray, np.ndarray, float]:
    """Mean over starts of the part of the plateau's risk that has gone, at times t = p times `times`, and its closed form; and the
    same on the plateau from the first, at the last of these times, over (13) with the overlaps that were drawn."""
    setting, slow = problem(p), problem(p, eta=1e-9)
    waiting, q = theory.plateau(slow).value, setting.teacher.width
    starts = [random_start(setting, seed, small) for seed in seeds]
    found = run_batch(setting, starts, Macro(small_rate=True), times=p * times, clock=KEY).risk.mean(axis=0)
    written = np.mean([theory.escape_risk(slow, one, p * times / 1e-9).value for one in starts], axis=0)
    settled = [
        start(setting, student_overlap=waiting.norm * np.eye(p), cross_overlap=one.cross_overlap) for one in starts
    ]
    risk = run_batch(setting, settled, Macro(small_rate=True), times=[0.0, p * EARLY], clock=KEY).risk.mean(axis=0)
    drawn = np.mean([np.mean(one.cross_overlap**2) for one in starts])
    printed = 4 * drawn * (np.exp(16 * EARLY / q) - 1) / (1 + 2 / q - p / (p + 2))
    return 1 - found / waiting.risk, 1 - written / waiting.risk, float((1 - risk[1] / risk[0]) / printed)


def decay(p: int) -> float:
    """Rate in t at which a small overlap between two students at the plateau's norm changes."""
    setting = problem(p)
    Q = p / (p + 2) * np.eye(p)
    Q[0, 1] = Q[1, 0] = 1e-5
    found = run(setting, start(setting, student_overlap=Q), Macro(small_rate=True), times=[0, 1], clock=KEY)
    return float(np.log(found.student_overlap[0, 1, 0, 1] / 1e-5))


def moved_to_one(p: int, seed: int) -> tuple[float, float]:
    """Time to half the first risk from overlaps with one teacher that all sit in one student, over that from spread ones; and what
    this would be if the student with the largest overlap decided, at the growth rate of the plateau."""
    setting = problem(p, 1)
    spread = random_start(setting, seed)
    alone = np.zeros((p, 1))
    alone[0] = np.linalg.norm(spread.cross_overlap)
    both = [start(setting, student_overlap=np.eye(p), cross_overlap=alone), spread]
    stop = when("risk", below=0.5, relative=True)
    times = run_batch(setting, both, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    sooner = np.log(alone[0, 0] / np.abs(spread.cross_overlap).max()) / theory.plateau(setting).value.growth
    return float(times[0] / times[1]), float(1 - sooner / times[1])


def growth_of_sgd(eta: float, dim: int, runs: int, seed: int) -> np.ndarray:
    """(run,) growth rate of the size of cross overlaps, between two times on the plateau, from students at its norm."""
    setting = problem(eta=eta).replace(inputs__dim=dim)
    waiting = theory.plateau(setting).value
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 3)))[0]
    first = start(setting, student_overlap=waiting.norm * np.eye(6), cross_overlap=0.02 * frame)
    span = 0.7 / waiting.growth
    found = whole(run(setting, first, Micro(runs=runs, seed=seed), times=[0, span], progress=False)).cross_overlap
    along = np.einsum("rkl,kl->r", found[:, 1], frame) / np.einsum("rkl,kl->r", found[:, 0], frame)
    return np.log(along) / span


def half_times(p: int, q: int, seeds: range, rate: float) -> tuple[np.ndarray, float]:
    """Time rate x alpha to half the plateau's risk at a rate proportional to p, and the mean of its closed form."""
    setting = problem(p, q, eta=rate * p)
    starts = [random_start(setting, seed) for seed in seeds]
    stop = when("risk", below=0.5 * theory.plateau(setting).value.risk)
    found = rate * run_batch(setting, starts, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    return found, float(rate * np.mean([theory.escape_time(setting, one).value for one in starts]))


def explained(p: int, q: int, seeds: range) -> tuple[float, float]:
    """Part of the variance of the escape time that the total first overlap explains, and that of the best student alone."""
    setting = problem(p, q)
    starts = [random_start(setting, seed) for seed in seeds]
    stop = when("risk", below=0.5, relative=True)
    times = run_batch(setting, starts, Macro(rtol=1e-6), until=2e4, stop=stop).exit_time()
    rows = np.array([np.sum(one.cross_overlap**2, axis=1) for one in starts])
    total, best = (np.corrcoef(np.log(size), times)[0, 1] ** 2 for size in (rows.sum(axis=1), rows.max(axis=1)))
    return float(total), float(best)


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    seed, rate = values["seed"], values["rate"]
    seeds, many = range(seed, seed + values["starts"]), range(seed, seed + values["escapes"])
    times, scaled = np.linspace(0, 6, 61), np.linspace(0, 2.2, 45)
    etas, widths, students = np.array(values["etas"]), values["widths"], values["students"]
    fine = np.linspace(0.004, 0.995, 60) * theory.plateau_limit(problem()).value
    grown = np.array([growth_of_sgd(eta, values["dim"], 16, values["sgd_seed"]) for eta in etas])
    halves = [[half_times(max(p, q), q, seeds, rate) for p in students] for q in values["teachers"]]
    gone = [reduction(p, scaled, seeds, values["small"]) for p in widths]
    moved = moved_to_one(12, seed)
    return xarray.Dataset(
        {
            "norm": (("width", "time"), [norms(p, times) for p in widths]),
            "norm_law": (("width", "time"), [theory.norm_learning(problem(p), times / 0.01).value for p in widths]),
            "reduction": (("width", "scaled_time"), [one[0] for one in gone]),
            "law": (("width", "scaled_time"), [one[1] for one in gone]),
            "over_printed": ("width", [one[2] for one in gone]),
            "decay": decay(6),
            "moved": ("of", list(moved)),
            "sgd_growth": (("rate", "sgd_run"), grown),
            "growth": ("fine_rate", [theory.plateau(problem(eta=eta)).value.growth for eta in fine]),
            "growth_at": ("rate", [theory.plateau(problem(eta=eta)).value.growth for eta in etas]),
            "half_time": (("teachers", "students", "start"), [[one[0] for one in row] for row in halves]),
            "escape_time": (("teachers", "students"), [[one[1] for one in row] for row in halves]),
            "explained": (("case", "by"), [explained(6, 3, many), explained(12, 1, many)]),
        },
        {
            "width": list(widths), "time": times, "scaled_time": scaled, "rate": etas, "fine_rate": fine,
            "teachers": list(values["teachers"]), "students": list(students), "by": ["total", "best student"],
            "of": ["found", "best student"],
        },
        {"escapes": values["escapes"]},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ((a, b), (c, d)) = figure(2, 2, height=2.6)
    for i, p in enumerate(data["width"].values):
        a.plot(data["time"], data["norm"][i], color=f"C{i}", linestyle=LINES[i], label=f"$p = {p}$")
        a.plot(data["time"], data["norm_law"][i], color="black", linestyle=":", linewidth=1.0)
        gone = data["reduction"][i].values
        b.plot(
            data["scaled_time"],
            np.where(gone > 3e-5, gone, np.nan),
            color=f"C{i}",
            linestyle=LINES[i],
            label=f"$p = {p}$",
        )
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
    rates, top = data["fine_rate"].values, 0.3  # the legend is above
    c.plot(rates, data["growth"], color="black", label="plateau at this rate")
    first_order = 8 / 18 * rates
    low = first_order < top
    c.plot(rates[low], first_order[low], color="0.6", linestyle="--", label="small rates, $8\\eta/pp^*$")
    c.errorbar(
        data["rate"], grown.mean(axis=1), standard_error(grown, axis=1),
        linestyle="", marker="o", markersize=4, label="SGD",
    )  # fmt: skip
    limit = theory.rate_limit(problem()).value
    c.plot([limit, limit], [0, top], color="C1", linestyle=":", label="zero error unstable beyond")
    c.set_xlabel("learning rate $\\eta$")
    c.set_ylabel("growth of $\\rho$ per $\\alpha$, $p = 6, p^* = 3$")
    c.set_ylim(0, 0.4)
    c.set_yticks([0, 0.1, 0.2, 0.3])
    c.legend(loc="upper left", ncols=2, columnspacing=0.8, fontsize=6.5, handlelength=1.5)
    for i, q in enumerate(data["teachers"].values):
        students = np.maximum(data["students"].values, q)
        times = data["half_time"].values[i]
        d.errorbar(
            students, times.mean(axis=1), standard_error(times, axis=1),
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
    pure = (data["law"].values > 1e-4) & (data["law"].values < 0.01) & (data["scaled_time"].values > 0.5)
    slopes = np.array([
        np.polyfit(data["scaled_time"].values[here], np.log(row[here]), 1)[0]
        for row, here in zip(data["reduction"].values, pure, strict=True)
    ])  # fmt: skip
    widths, at = data["width"].values, int(np.argmin(np.abs(data["width"].values - 6)))
    over = data["over_printed"].values
    norm = data["norm"].values
    return [
        holds(
            FIGURE.key, "norms relax to p/(p + 2) (p = 6, at t = 6)", source="(10)", printed=6 / 8, found=norm[at, -1],
            tolerance=1e-3,
            evidence="integrated equations",
        ),
        holds(
            FIGURE.key, "overlaps with the teacher grow at the rate 8/(p p*) in t (p = 6, p* = 3)", source="(12)", printed=8 / 18,
            found=slopes[at] / 12, tolerance=0.002, evidence="half the slope of panel b, over p",
        ),
        corrected(
            FIGURE.key, "those between students decay, at the rate 16/(p (p + 2)) in t (p = 6)", source="(11)", row="B2",
            printed=16 / 48, expected=-16 / 48, found=float(data["decay"]), tolerance=1e-4,
            evidence="tests/papers/test_bocchi2026.py::test_student_overlaps_decay_on_the_plateau",
        ),
        corrected(
            FIGURE.key, "the risk falls as exp(16 t/(p p*)) in t = eta alpha (p = 6, p* = 3)", source="(13)", row="B3",
            printed=16 / 3,
            expected=16 / 18, found=slopes[at] / widths[at], tolerance=0.01,
            evidence="tests/papers/test_bocchi2026.py::test_the_escape_in_both_clocks",
        ),
        holds(
            FIGURE.key,
            "with t/p for t, (13) is what is lost of the risk, from students on the plateau (ratio farthest from 1, all p)",
            source="section 7.3", printed=1.0, found=over[np.argmax(np.abs(over - 1))], tolerance=0.01,
            evidence="integrated equations, with the first overlaps that were drawn",
        ),
        holds(
            FIGURE.key, "in t/p the exponent is 16/p* whatever p (the one farthest from it, p = 3 to 24)", source="section 4.1",
            printed=16 / 3, found=slopes[np.argmax(np.abs(slopes - 16 / 3))], tolerance=0.03, evidence="slopes of panel b",
        ),
        beyond(
            FIGURE.key, "norms are learned as 1/q = (1 + 2/p)(1 - x) + x/q_0, x = exp(-8 t/p) (largest difference, all p)",
            expected=0.0,
            found=np.abs(norm - data["norm_law"].values).max(), tolerance=1e-6, evidence="theory.norm_learning",
        ),
        beyond(
            FIGURE.key, "from students of norm one overlaps are p/(p + 2) as large, squared, on the plateau (mean ratio to that)",
            expected=1.0, found=np.mean(data["reduction"].values[pure] / data["law"].values[pure]), tolerance=0.01,
            evidence="theory.escape_risk; docs/ERRATA.md B4",
        ),
        *_time_claims(data),
    ]  # fmt: skip


def _time_claims(data: "xarray.Dataset") -> list[Claim]:
    """What sets the time of the escape, and SGD at finite rates."""
    half, closed = data["half_time"].values, data["escape_time"].values
    three, one, five = (int(np.argmin(np.abs(data["teachers"].values - q))) for q in (3, 1, 5))
    mean, error = half.mean(axis=2), standard_error(half, axis=2)
    relative = error / mean
    wide = float(np.hypot(relative[three, -1], relative[three, 0]))
    grown, expected = data["sgd_growth"].values, data["growth_at"].values
    worst = int(np.argmax(np.abs(grown.mean(axis=1) / expected - 1)))
    sure = float(grown[worst].std(ddof=1) / np.sqrt(grown.shape[1]) / expected[worst])
    found, best = data["moved"].values
    share, many = data["explained"].values, int(data.attrs["escapes"])
    test = "tests/theory/test_plateau.py::test_all_students_together_decide_when_the_plateau_is_left"
    return [
        holds(
            FIGURE.key, "the time to escape is only weakly influenced by p (eta ~ p, p* = 3: widest over narrowest student)",
            source="section 4.1", printed=1.0, found=mean[three, -1] / mean[three, 0], tolerance=0.2 + 4 * wide, error=wide,
            evidence="panel d; p grows eight- to elevenfold; weakly is read as by less than a fifth",
        ),
        beyond(
            FIGURE.key, "and as p* has it by linear growth (times at p* = 5 over p* = 1, widest student)",
            expected=closed[five, -1] / closed[one, -1], found=mean[five, -1] / mean[one, -1],
            tolerance=0.1 * closed[five, -1] / closed[one, -1], evidence="theory.escape_time",
        ),
        refuted(
            FIGURE.key,
            "the student with the largest first overlap decides when (variance of times that it explains, p = 6, p* = 3)",
            source="section 4.1", row="B18", printed=1.0, found=share[0, 1], tolerance=0.2, error=1 / np.sqrt(many), evidence=test,
        ),
        corrected(
            FIGURE.key, "moving all overlap with one teacher to one student changes nothing (ratio of times, p = 12)",
            source="section 4.1", row="B18", printed=best, expected=1.0, found=found, tolerance=1e-3, evidence=test,
        ),
        beyond(
            FIGURE.key, "with one teacher the total first overlap decides (variance of times that it explains, p = 12)",
            expected=1.0, found=share[1, 0], tolerance=1e-3, evidence="the equations depend on the total alone",
        ),
        beyond(
            FIGURE.key, "SGD grows off the plateau as its closed form has it at that rate (ratio farthest from 1)", expected=1.0,
            found=grown[worst].mean() / expected[worst], tolerance=5 * sure, error=sure, evidence="theory.plateau",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/escape", "Norm learning, plateau and escape", compute, draw, claims, PARAMETERS)
