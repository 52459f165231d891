"""Figure 1: the equations of the overlaps against the mean of simulated SGD, from one start."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.macro import Macro
from solvable.micro import Micro
from solvable.papers.bocchi2026.settings import KEY, problem, random_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.plot.style import figure, letter
from solvable.results import run
from solvable.results.observables import crossing_time

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

UNTIL = 2000  # the end of the descent
MIDDLE = 1200  # until here the sampling noise of the overlaps has not grown yet
PLATEAU = 250
PANELS = (
    "teacher–student overlaps $\\rho_{kl}$", "student–student overlaps $Q_{kj}$", "student norms $Q_{kk}$",
    "generalisation error",
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    """Run 0 is the equations. The quick form has eight runs at a smaller dim, from the same start."""
    import xarray

    dim, runs = (4000, 8) if quick else (10_000, 10)
    setting = problem().replace(inputs__dim=dim)
    first = random_start(setting, 0)
    times = np.linspace(0, UNTIL, 201 if quick else 401)
    macro = run(setting, first, Macro(), times=times)
    micro = run(setting, first, Micro(runs=runs, seed=1), times=times)
    return xarray.concat(
        [macro.data, micro.data], dim="run", data_vars="all", coords="minimal", compat="override", join="override",
        combine_attrs="drop_conflicts",
    ).assign_coords(level=("run", ["macro"] + ["micro"] * runs))  # fmt: skip


def panels(data: Any) -> list[np.ndarray]:
    """(run, time, line) of each panel."""
    Q, p = data["student_overlap"].values, data.sizes["student"]
    rho = data["cross_overlap"].values
    return [
        rho.reshape(*rho.shape[:2], -1),
        Q[:, :, *np.triu_indices(p, 1)],
        Q[:, :, np.arange(p), np.arange(p)],
        data["risk"].values[:, :, None],
    ]


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.5, sharex=True)
    alpha, count = data["alpha"].values, data.sizes["run"] - 1
    for i, (ax, lines, name) in enumerate(zip(axes.ravel(), panels(data), PANELS, strict=True)):
        mean, error = lines[1:].mean(axis=0), lines[1:].std(axis=0, ddof=1) / np.sqrt(count)
        colours = [f"C{k % 10}" for k in range(lines.shape[2])]
        for k, colour in enumerate(colours):
            ax.fill_between(
                alpha, mean[:, k] - error[:, k], mean[:, k] + error[:, k], color=colour, alpha=0.2, linewidth=0
            )
            ax.plot(alpha, lines[0, :, k], color=colour, linewidth=1.0)
            ax.plot(alpha, mean[:, k], color="black", linewidth=0.8, linestyle=(0, (3, 3)))
        ax.set_ylabel(name)
        letter(ax, "abcd"[i])
        ax.set_xlim(0, alpha[-1])
    for ax in axes[1]:
        ax.set_xlabel("$\\alpha$ = steps / dim")
    last = axes[1, 1]
    last.set_ylim(bottom=0)
    last.plot([], [], color="C0", label="equations")
    last.plot([], [], color="black", linestyle=(0, (3, 3)), label=f"SGD, mean of {count} runs")
    last.fill_between([], [], [], color="C0", alpha=0.2, linewidth=0, label="standard error")
    last.legend(loc="upper right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    alpha, count = data["alpha"].values, data.sizes["run"] - 1
    kept = alpha <= MIDDLE
    gaps = [np.abs(lines[1:].mean(axis=0) - lines[0])[kept].max() for lines in panels(data)]
    mean = data["risk"].values[1:].mean(axis=0)
    plateau = int(np.searchsorted(alpha, PLATEAU))
    norms = panels(data)[2][1:, plateau].mean()
    p, p_star = data.sizes["student"], data.sizes["teacher"]
    half = [crossing_time(alpha, one, 0.5 * one[0]) for one in (data["risk"].values[0], mean)]
    evidence = f"mean of {count} runs from the start of the equations"
    return [
        judge(
            FIGURE.key, f"the mean of SGD follows the equations: risk (largest difference to alpha = {MIDDLE})",
            expected=0.0, found=gaps[3], tolerance=0.02, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"the same for all overlaps and norms (largest difference to alpha = {MIDDLE})",
            expected=0.0, found=max(gaps[:3]), tolerance=0.1, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"SGD waits on a plateau of risk 2/p* + 2/(p+2) (at alpha = {PLATEAU})",
            expected=2 / p_star + 2 / (p + 2), found=mean[plateau], tolerance=0.005, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"where the norms are p/(p+2) (mean at alpha = {PLATEAU})",
            expected=p / (p + 2), found=norms, tolerance=0.015, evidence=evidence,
        ),
        judge(
            FIGURE.key, "SGD reaches half the first risk when the equations do (ratio of times)",
            expected=1.0, found=half[1] / half[0], tolerance=0.02, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"and learns the teacher (mean risk at alpha = {UNTIL})",
            expected=0.0, found=mean[-1], tolerance=0.02, evidence=evidence,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/1", "The equations of the overlaps and simulated SGD", compute, draw, claims)
