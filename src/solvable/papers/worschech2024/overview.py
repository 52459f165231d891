"""Figure 1: with more distinct eigenvalues the plateau shortens and vanishes, and the end slows down."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.worschech2024.settings import KEY, problem
from solvable.plot.style import figure
from solvable.results import run
from solvable.results.observables import plateaus

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

COUNTS, UNTIL = (1, 4, 16, 64), 3500.0


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    times = np.linspace(0, UNTIL, 176 if quick else 351)
    equations, sgd, heights = [], [], []
    for L in COUNTS:
        setting = problem(2, 0.1, 1.0 if L > 1 else 0.0, L, 1024)
        first = start(setting, seed=3, scale=0.01)
        equations.append(whole(run(setting, first, Macro(rtol=1e-6), times=times)).risk[0])
        heights.append(theory.erf_plateau(setting, first).value.risk)
        simulated = np.full(times.size, np.nan)
        if L <= 4 or not quick:
            seen = times[times <= 600] if quick else times
            runs = whole(run(setting, first, Micro(runs=8, seed=1), times=seen, progress=False))
            simulated[: seen.size] = np.exp(np.log(runs.risk).mean(axis=0))
        sgd.append(simulated)
    return xarray.Dataset(
        {
            "equations": (("distinct", "time"), equations),
            "sgd": (("distinct", "time"), sgd),
            "height": ("distinct", heights),
        },
        {"distinct": list(COUNTS), "time": times},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.0, width=4.8)
    for i, L in enumerate(COUNTS):
        ax.semilogy(data["time"], data["equations"][i], color=f"C{i}", label=f"$L = {L}$")
        ax.semilogy(data["time"], data["sgd"][i], color="black", linestyle=(0, (2, 4)), linewidth=0.9, zorder=4)
    ax.semilogy([], [], color="black", linestyle=(0, (2, 4)), linewidth=0.9, label="SGD, log-mean of 8 runs")
    ax.set_xlabel("$\\alpha$")
    ax.set_ylabel("generalisation error $\\epsilon_g$")
    ax.set_ylim(1e-4, 0.3)
    ax.legend(fontsize=7)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    times, risks = data["time"].values, data["equations"].values
    lengths = [sum(one.length for one in plateaus(times, risk, flatness=0.2) if one.height < 0.02) for risk in risks]
    at = int(np.argmin(np.abs(times - 1000)))
    gaps = np.abs(np.log(data["sgd"].values / data["equations"].values))
    early = (times > 20) & (times < 1200)
    left = times[np.argmax(risks < 0.5 * float(data["height"][0]), axis=1)]
    seen = np.nanmax(np.where(np.isfinite(gaps[:2, early]), gaps[:2, early], np.nan))
    return [
        judge(
            FIGURE.key, "L = 1 and 4 are still on the plateau at alpha = 1000, at the height of these teachers (largest "
            "|ratio - 1|)",
            expected=0.0, found=float(np.abs(risks[:2, at] / data["height"].values[:2] - 1).max()), tolerance=0.03,
            evidence="theory.erf_plateau",
        ),
        judge(
            FIGURE.key, "the plateau shortens as L grows (1: L = 4 leaves it before L = 1, and L = 16 before L = 4)",
            expected=1.0, found=float((np.diff(left[:3]) < 0).all()), tolerance=0.0,
            evidence="first time at half of the height of L = 1",
        ),
        judge(
            FIGURE.key, "and is gone at L = 64 (its length, alpha)", expected=0.0, found=float(lengths[3]), tolerance=0.0,
            evidence="results.observables.plateaus",
        ),
        judge(
            FIGURE.key, "late learning slows down with L (1: the risk at 3500 over that at 2500 rises with L, from 4 to 64)",
            expected=1.0, found=float((np.diff(risks[1:, -1] / risks[1:, times.searchsorted(2500)]) > 0).all()), tolerance=0.0,
            evidence="equations with noise",
        ),
        judge(
            FIGURE.key, "SGD at N = 1024 follows the equations up to the drop (L = 1, 4: largest |log ratio| of the log-mean)",
            expected=0.0, found=float(seen), tolerance=0.15, evidence="8 runs of the exact process", beyond=True,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/1", "From isotropic inputs to a power law: plateau and slow end", compute, draw, claims)
