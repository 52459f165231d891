"""Figure 1: the equations of the overlaps against the mean of simulated SGD, from one start."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import nearest_frame
from solvable.papers.bocchi2026.settings import KEY, problem, random_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results import run
from solvable.results.observables import crossing_time

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

UNTIL = 2000  # the end of the descent
MIDDLE = 1200  # later the noise of SGD moves the overlaps along the zero-error solutions, away from the equations
PLATEAU = 250
PANELS = (
    "teacher–student overlaps $\\rho_{kl}$", "student–student overlaps $Q_{kj}$", "student norms $Q_{kk}$",
    "generalisation error",
)  # fmt: skip


DASHES = (0, (3, 3))


def darker(colour: str) -> tuple[float, ...]:
    from matplotlib.colors import to_rgb

    return tuple(0.45 * part for part in to_rgb(colour))


def compute(quick: bool) -> "xarray.Dataset":
    """Run 0 is the equations. The quick form has eight runs at a smaller dim, from the same start."""
    import xarray

    dim, runs = (4000, 8) if quick else (10_000, 10)
    setting = problem().replace(inputs__dim=dim)
    first = random_start(setting, 0)
    times = np.linspace(0, UNTIL, 201 if quick else 401)
    macro = run(setting, first, Macro(), times=times)
    micro = whole(run(setting, first, Micro(runs=runs, seed=1), times=times, progress=False))  # the command has a bar
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


def standard_errors(lines: np.ndarray) -> np.ndarray:
    """(time, line) mean of SGD minus equations, in standard errors of the mean."""
    runs = lines[1:]
    with np.errstate(invalid="ignore", divide="ignore"):
        gap: np.ndarray = (runs.mean(axis=0) - lines[0]) / (runs.std(axis=0, ddof=1) / np.sqrt(len(runs)))
    return gap


def turning(data: "xarray.Dataset") -> tuple[np.ndarray, np.ndarray]:
    """How far the frame S of each run has turned at the end, and how far noise on the start would turn it."""
    setting = Problem.from_json(data.attrs["problem"])
    first = random_start(setting, 0)
    frame = nearest_frame(first.cross_overlap)
    noisy = np.array([one.cross_overlap for one in theory.noisy_starts(setting, first, 1000).value])
    ends = data["cross_overlap"].values[1:, -1]
    found, expected = (np.linalg.norm(nearest_frame(one) - frame, axis=(1, 2)) for one in (ends, noisy))
    return found, expected


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
            ax.plot(alpha, mean[:, k], color=darker(colour), linewidth=1.0, linestyle=DASHES)
        ax.set_ylabel(name)
        letter(ax, "abcd"[i])
        ax.set_xlim(0, alpha[-1])
    for ax in axes[1]:
        ax.set_xlabel("$\\alpha$ = steps / dim")
    last = axes[1, 1]
    last.set_ylim(bottom=0)
    last.plot([], [], color="C0", label="equations")
    last.plot([], [], color=darker("C0"), linestyle=DASHES, label=f"SGD, mean of {count} runs")
    last.fill_between([], [], [], color="C0", alpha=0.2, linewidth=0, label="standard error")
    last.legend(loc="upper right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    alpha, count = data["alpha"].values, data.sizes["run"] - 1
    gaps = [standard_errors(lines)[(alpha > 0) & (alpha <= MIDDLE)].ravel() for lines in panels(data)[:3]]
    risk_gaps = standard_errors(panels(data)[3])[alpha > 0]
    mean = data["risk"].values[1:].mean(axis=0)
    plateau = int(np.searchsorted(alpha, PLATEAU))
    norms = panels(data)[2][1:, plateau].mean()
    printed = theory.plateau(problem(eta=1e-12)).value  # the paper has the limit of small rates
    half = [crossing_time(alpha, one, 0.5 * one[0]) for one in (data["risk"].values[0], mean)]
    evidence = f"mean of {count} runs from the start of the equations"
    frames, turned = turning(data)
    return [
        judge(
            FIGURE.key, f"the mean risk of SGD follows the equations to alpha = {UNTIL} (largest difference, in standard errors)",
            expected=0.0, found=np.abs(risk_gaps).max(), tolerance=5.0, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"so do overlaps and norms, to alpha = {MIDDLE} (root mean square difference, in standard errors)",
            expected=1.0, found=np.sqrt(np.mean(np.concatenate(gaps) ** 2)), tolerance=0.5, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"SGD waits on a plateau of risk 2/p* + 2/(p+2) (at alpha = {PLATEAU})",
            expected=printed.risk, found=mean[plateau], tolerance=0.005, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"where the norms are p/(p+2) (mean at alpha = {PLATEAU})",
            expected=printed.norm, found=norms, tolerance=0.015, evidence=evidence,
        ),
        judge(
            FIGURE.key, "SGD reaches half the first risk when the equations do (ratio of times)",
            expected=1.0, found=half[1] / half[0], tolerance=0.02, evidence=evidence,
        ),
        judge(
            FIGURE.key, f"and learns the teacher (mean risk at alpha = {UNTIL})",
            expected=0.0, found=mean[-1], tolerance=0.02, evidence=evidence,
        ),
        judge(
            FIGURE.key, "but single runs end at solutions of their own, to which noise turns them (mean drift of S)",
            expected=turned.mean(), found=frames.mean(), tolerance=4 * turned.std(ddof=1) / np.sqrt(count), correction="B13",
            evidence="tests/theory/test_plateau.py::test_sgd_ends_as_the_equations_from_a_noisy_start",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/1", "The equations of the overlaps and simulated SGD", compute, draw, claims)
