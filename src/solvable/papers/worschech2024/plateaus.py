"""Figures 4, 17, 18 and 19: the symmetric plateau of erf students, its height and its length, and beyond the paper L = 1024."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.overlaps import start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.worschech2024.settings import KEY, problem
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results import Trajectory, run

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEST = "tests/theory/test_committee.py"
DROP = 0.02
BEGIN = 500.0  # on the plateau, as in the paper


def setting(M: int, L: int, N: int = 7000) -> Problem:
    return problem(M, 0.1, 0.25, L, N // L * L)


def follow(one: Problem, seed: int, times: np.ndarray) -> Trajectory:
    first = start(one, seed=seed, scale=0.01)
    return whole(run(one, first, Macro(small_rate=True, rtol=1e-6), times=times, keep_blocks=True))


def weighted(one: Problem, blocks: np.ndarray, order: int = 1) -> np.ndarray:
    """Overlaps of this order: sum over blocks of eigenvalue^order times the block's."""
    return np.tensordot(one.inputs.eigenvalues**order, blocks, axes=1)


def crossing(times: np.ndarray, risk: np.ndarray, level: float) -> float:
    late = times > BEGIN
    below = np.flatnonzero(late & (risk < level))
    return float(times[below[0]]) if below.size else float("nan")


def compute_four(quick: bool) -> "xarray.Dataset":
    import xarray

    one, seeds = setting(4, 10), (0,) if quick else (0, 1, 2)
    times = np.concatenate([np.arange(0, 1500, 25.0), np.arange(1500, 6001, 10.0)])
    rows: dict[str, list[np.ndarray | float]] = {
        name: [] for name in ("risk", "cross", "student", "height", "found", "predicted", "recipe")
    }
    plateau_cross, plateau_risk, orders, escape = [], [], [], []
    for seed in seeds:
        followed = follow(one, seed, times)
        first = followed.at(0.0)
        place = theory.erf_plateau(one, first).value
        blocks = followed.blocks
        assert blocks is not None
        here = followed.at(BEGIN)
        rows["risk"].append(followed.risk[0])
        rows["cross"].append(np.einsum("b,tbij->tij", one.inputs.eigenvalues, blocks.cross[0]))
        rows["student"].append(np.einsum("b,tbij->tij", one.inputs.eigenvalues, blocks.student[0]))
        rows["height"].append(place.risk)
        rows["found"].append(crossing(times, followed.risk[0], (1 - DROP) * place.risk))
        rows["predicted"].append(BEGIN + theory.plateau_drop(one, here, DROP).value)
        rows["recipe"].append(BEGIN + theory.printed_plateau_length(one, here).value)
        plateau_cross.append(place.cross_overlap)
        plateau_risk.append(float(followed.risk[0, np.argmin(np.abs(times - 700))]))
        orders.append([weighted(one, here.block_student_overlap, k).mean() for k in (2, 4, 6)])
        escape.append([1 / place.rates[0], theory.uniform_escape_time(one, first).value])
    return xarray.Dataset(
        {
            "risk": (("seed", "time"), rows["risk"]),
            "cross": (("seed", "time", "student", "teacher"), rows["cross"]),
            "student": (("seed", "time", "student", "student_"), rows["student"]),
            "plateau_cross": (("seed", "teacher"), plateau_cross), "plateau_risk": ("seed", plateau_risk),
            "orders": (("seed", "order"), orders), "escape": (("seed", "of"), escape),
            **{name: ("seed", rows[name]) for name in ("height", "found", "predicted", "recipe")},
        },
        {"seed": list(seeds), "time": times, "order": [2, 4, 6], "of": ["exact", "uniform"]},
    )  # fmt: skip


def draw_four(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 3, height=2.5)
    one = data.isel(seed=0)
    axes[0].plot(data["time"], one["cross"].values.reshape(data.sizes["time"], -1), color="C0", linewidth=0.8)
    for value in one["plateau_cross"].values:
        axes[0].plot([0, 3000], [value, value], "k--", linewidth=0.6)
    axes[1].plot(data["time"], one["student"].values.reshape(data.sizes["time"], -1), color="C1", linewidth=0.8)
    axes[2].plot(data["time"], one["risk"], color="C2")
    axes[2].axhline(float(one["height"]), color="black", linestyle="--", linewidth=0.6)
    axes[2].axvline(float(one["predicted"]), color="black", linestyle=":", label=f"drop by {DROP:.0%}, predicted")
    axes[2].axvline(float(one["recipe"]), color="0.6", linestyle=":", label="printed recipe")
    axes[2].set_ylim(0.0065, 0.0075)
    axes[2].set_xlim(0, 4000)
    axes[2].legend(fontsize=6.5, loc="lower left")
    for ax, name, text in zip(axes, ("$R^{(1)}_{in}$", "$Q^{(1)}_{ij}$", "$\\epsilon_g$"), "abc", strict=True):
        ax.set_xlabel("$\\alpha$")
        ax.set_ylabel(name)
        letter(ax, text)
    return picture


def claims_four(data: "xarray.Dataset") -> list[Claim]:
    times = data["time"].values
    at = int(np.argmin(np.abs(times - 700)))
    gap = np.abs(data["cross"].values[:, at] - data["plateau_cross"].values[:, None]).max()
    return [
        judge(
            f"{KEY}/4", "student-teacher overlaps have M plateau heights, one for each teacher (largest difference from exact)",
            expected=0.0, found=float(gap), tolerance=0.003, evidence=f"{TEST}::test_plateau_is_where_the_equations_wait",
        ),
        judge(
            f"{KEY}/4", "they are between 0.16 and 0.21, about R* of (13) (mean)",
            expected=1 / np.sqrt(4 * 7), found=float(data["plateau_cross"].mean()), tolerance=0.02, evidence="theory.erf_plateau",
        ),
        judge(
            f"{KEY}/4", "the plateau's risk is that of the exact fixed point (largest difference)",
            expected=0.0, found=float(np.abs(data["plateau_risk"].values - data["height"].values).max()), tolerance=2e-6,
            evidence="equations at alpha = 700",
        ),
        judge(
            f"{KEY}/4", "the escape time (15) is about 478 for beta = 0.25, not the 239 of C.4 (mean)",
            expected=478.0, found=float(data["escape"].sel(of="uniform").mean()), tolerance=25.0, correction="W36",
            evidence=f"{TEST}::test_length_of_the_plateau",
        ),
        judge(
            f"{KEY}/4", "the plateau ends (2 % down) where the modes of its escape say (largest |predicted / found - 1|)",
            expected=0.0, found=float(np.abs(data["predicted"].values / data["found"].values - 1).max()), tolerance=0.05,
            beyond=True,
            evidence=f"{TEST}::test_length_of_the_plateau",
        ),
    ]  # fmt: skip


def draw_eighteen(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.6)
    one = data.isel(seed=0)
    left.plot(data["time"], one["cross"].values.reshape(data.sizes["time"], -1), color="C0", linewidth=0.8)
    right.plot(data["time"], one["student"].values.reshape(data.sizes["time"], -1), color="C1", linewidth=0.8)
    for ax, name, text in [(left, "$R^{(1)}_{in}$", "a"), (right, "$Q^{(1)}_{ij}$", "b")]:
        ax.set_xlabel("$\\alpha$")
        ax.set_ylabel(name)
        letter(ax, text)
    text = ", ".join(f"$Q^{{*({k})}} = {float(one['orders'].sel(order=k)):.3g}$" for k in (2, 4, 6))
    right.text(0.03, 0.93, text, transform=right.transAxes, fontsize=7)
    return picture


def claims_eighteen(data: "xarray.Dataset") -> list[Claim]:
    fourth = data["orders"].sel(order=4).values
    sixth = data["orders"].sel(order=6).values
    return [
        judge(
            f"{KEY}/18", "the plateau of Q of order 4 is near 4.75 (mean), so beta is 0.25, which the caption leaves out",
            expected=4.75, found=float(fourth.mean()), tolerance=1.0, evidence="equations at alpha = 500",
        ),
        judge(
            f"{KEY}/18", "and of order 6 near 81 (mean)", expected=81.0, found=float(sixth.mean()), tolerance=18.0,
            evidence="equations at alpha = 500",
        ),
    ]  # fmt: skip


COUNTS = (2, 8, 10, 12)


def compute_seventeen(quick: bool) -> "xarray.Dataset":
    import xarray

    counts = (*COUNTS, 100) if quick else (*COUNTS, 100, 1000)
    times = np.arange(0, 1501, 25.0)
    rows, heights = [], []
    for L in counts:
        one = setting(4, L)
        followed = follow(one, 1, times)
        rows.append(followed.risk[0])
        heights.append(theory.erf_plateau(one, followed.at(0.0)).value.risk)
    return xarray.Dataset(
        {"risk": (("distinct", "time"), rows), "height": ("distinct", heights)},
        {"distinct": list(counts), "time": times},
    )


def draw_seventeen(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.8)
    for i, L in enumerate(data["distinct"].values):
        ax.plot(data["time"], data["risk"][i], color=f"C{i}", label=f"$L = {L}$")
        ax.axhline(float(data["height"][i]), color=f"C{i}", linestyle="--", linewidth=0.8)
    ax.set_ylim(0.004, 0.012)
    ax.set_xlabel("$\\alpha$")
    ax.set_ylabel("$\\epsilon_g$ (dashed: the exact plateau)")
    ax.legend(fontsize=7)
    return picture


def claims_seventeen(data: "xarray.Dataset") -> list[Claim]:
    lows = np.abs(np.diff(np.log(data["risk"].values), axis=1)).argmin(axis=1)
    flat = np.array([row[i] for row, i in zip(data["risk"].values, lows, strict=True)])
    gap = np.abs(flat / data["height"].values - 1)
    found = [
        judge(
            f"{KEY}/17", "the risk of the plateau is that of the exact fixed point (L = 2, 8, 10, 12: largest relative difference)",
            expected=0.0, found=float(gap[:4].max()), tolerance=1e-3, evidence=f"{TEST}::test_plateau_is_where_the_equations_wait",
        ),
        judge(
            f"{KEY}/17", "also at L = 100, where powers of the covariance fail in double precision (relative difference)",
            expected=0.0, found=float(gap[4]), tolerance=0.01, beyond=True, evidence="blocks of eigenvalues",
        ),
    ]  # fmt: skip
    if gap.size > 5:
        risk, height = data["risk"].values[5, 1:], float(data["height"][5])
        slope = np.gradient(np.log(risk), np.log(data["time"].values[1:]))[np.argmin(np.abs(risk - height))]
        found.append(
            judge(
                f"{KEY}/17", "at L = 1000 of N = 7000 nothing waits at the fixed point: the risk falls through its height "
                "(power of alpha there; 0 on a plateau)",
                expected=-0.65, found=float(slope), tolerance=0.15, beyond=True, evidence="blocks of eigenvalues",
            )
        )  # fmt: skip
    return found


def compute_nineteen(quick: bool) -> "xarray.Dataset":
    import xarray

    cases = [(4, 2), (4, 4), (4, 6), (4, 8), (2, 8), (3, 8), (6, 8), (8, 8)]
    cases = cases[1:6:2] if quick else cases
    times = np.concatenate([np.arange(0, 600, 50.0), np.arange(600, 14_001, 20.0)])
    rows = []
    for M, L in cases:
        one = setting(M, L)
        followed = follow(one, 2, times)
        place = theory.erf_plateau(one, followed.at(0.0)).value
        here = followed.at(BEGIN)
        found = crossing(times, followed.risk[0], (1 - DROP) * place.risk)
        try:
            predicted = BEGIN + theory.plateau_drop(one, here, DROP).value
        except theory.NotApplicable:
            predicted = np.nan
        rows.append([found, predicted, BEGIN + theory.printed_plateau_length(one, here).value])
    found, predicted, recipe = np.array(rows).T
    return xarray.Dataset(
        {"found": ("case", found), "predicted": ("case", predicted), "recipe": ("case", recipe)},
        {"width": ("case", [M for M, _ in cases]), "distinct": ("case", [L for _, L in cases])},
    )


def draw_nineteen(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.4)
    low, high = 0.8 * float(data["found"].min()), 1.25 * float(data["found"].max())
    ax.loglog([low, high], [low, high], color="0.6", linewidth=0.8)
    ax.loglog(data["found"], data["predicted"], "o", markersize=5, label="modes of the escape")
    ax.loglog(data["found"], data["recipe"], "x", markersize=5, label="printed recipe, (117)")
    for i in range(data.sizes["case"]):
        ax.annotate(
            f"M={int(data['width'][i])}, L={int(data['distinct'][i])}", (float(data["found"][i]), float(data["predicted"][i])),
            textcoords="offset points", xytext=(5, -8), fontsize=6,
        )  # fmt: skip
    ax.set_xlabel("end of the plateau (2 % down), equations")
    ax.set_ylabel("estimated")
    ax.legend(fontsize=7)
    return picture


def claims_nineteen(data: "xarray.Dataset") -> list[Claim]:
    found, predicted, recipe = (data[name].values for name in ("found", "predicted", "recipe"))
    good = np.isfinite(found) & np.isfinite(predicted)
    return [
        judge(
            f"{KEY}/19", "the end of the plateau follows from the modes of its escape (largest |predicted / found - 1|)",
            expected=0.0, found=float(np.abs(predicted / found - 1)[good].max()), tolerance=0.06, beyond=True,
            evidence=f"{TEST}::test_length_of_the_plateau",
        ),
        judge(
            f"{KEY}/19", "in all cases there is a plateau to leave (share of them)", expected=1.0, found=float(good.mean()),
            tolerance=0.0, evidence="theory.plateau_drop", beyond=True,
        ),
        judge(
            f"{KEY}/19", "the printed recipe gives its order of magnitude (largest |log ratio|)",
            expected=0.0, found=float(np.abs(np.log(recipe / found))[good].max()), tolerance=0.5,
            evidence="theory.printed_plateau_length",
        ),
    ]  # fmt: skip


FOUR = PaperFigure(f"{KEY}/4", "The symmetric plateau of four erf students", compute_four, draw_four, claims_four)
SEVENTEEN = PaperFigure(
    f"{KEY}/17", "Height of the plateau for 2 to 1000 eigenvalues", compute_seventeen, draw_seventeen, claims_seventeen
)
EIGHTEEN = PaperFigure(
    f"{KEY}/18", "Overlaps of all orders on the plateau", compute_four, draw_eighteen, claims_eighteen
)
NINETEEN = PaperFigure(
    f"{KEY}/19",
    "Length of the plateau for several widths and spectra",
    compute_nineteen,
    draw_nineteen,
    claims_nineteen,
)
