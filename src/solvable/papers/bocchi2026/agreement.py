"""Figure 1: the equations of the overlaps against the mean of simulated SGD, from one start."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import nearest_frame
from solvable.papers.bocchi2026.settings import KEY, RATE, STUDENTS, TEACHERS, problem, random_start
from solvable.papers.claims import Claim, corrected, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results.observables import crossing_time

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    STUDENTS,
    TEACHERS,
    RATE,
    Parameter("dim", 10_000, 10_000, 4000, label="$N$"),
    Parameter("epsilon", 0.01, 0.01, label="size of the first overlaps, $1/\\sqrt{N}$"),
    Parameter("runs", 10, 10, 8, label="simulations"),
    Parameter("until", UNSAID, 2000, why="the end of the descent", label="last $\\alpha$"),
    Parameter("times", UNSAID, 401, 201, "a smooth line", "number of times"),
    Parameter("seed", UNSAID, 0, why="any", label="seed of the start"),
    Parameter("sgd_seed", UNSAID, 1, why="any", label="seed of the simulations"),
)
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

    values = PARAMETERS.values(quick)
    runs = values["runs"]
    setting = problem(values["p"], values["p_star"], values["eta"]).replace(inputs__dim=values["dim"])
    first = random_start(setting, values["seed"], values["epsilon"])
    times = np.linspace(0, values["until"], values["times"])
    macro = run(setting, first, Macro(), times=times)
    level = Micro(runs=runs, seed=values["sgd_seed"])
    micro = whole(run(setting, first, level, times=times, progress=False))  # the command has a bar
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


def colours(data: Any, panel: int) -> list[str]:
    """One for each line: that of its student, in the second panel the first of the two."""
    p, q = data.sizes["student"], data.sizes["teacher"]
    students = [np.repeat(np.arange(p), q), np.triu_indices(p, 1)[0], np.arange(p)]
    return [f"C{k}" for k in students[panel]] if panel < len(students) else ["0.4"]


def gaps(lines: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(time, line) mean of SGD minus equations, and the standard error of the mean."""
    runs = lines[1:]
    return runs.mean(axis=0) - lines[0], standard_error(runs, axis=0)


def turning(data: "xarray.Dataset") -> tuple[np.ndarray, np.ndarray]:
    """How far the frame S of each run has turned at the end, and how far noise on the start would turn it."""
    setting = Problem.from_json(data.attrs["problem"])
    first = random_start(setting, PARAMETERS.values(False)["seed"])
    frame = nearest_frame(first.cross_overlap)
    noisy = np.array([one.cross_overlap for one in theory.noisy_starts(setting, first, 1000).value])
    ends = data["cross_overlap"].values[1:, -1]
    found, expected = (np.linalg.norm(nearest_frame(one) - frame, axis=(1, 2)) for one in (ends, noisy))
    return found, expected


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.5, sharex=True)
    alpha, count = data["alpha"].values, data.sizes["run"] - 1
    for i, (ax, lines, name) in enumerate(zip(axes.ravel(), panels(data), PANELS, strict=True)):
        mean, error = lines[1:].mean(axis=0), standard_error(lines[1:], axis=0)
        for k, colour in enumerate(colours(data, i)):
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
    last.plot([], [], color="0.4", label="equations")
    last.plot([], [], color=darker("0.4"), linestyle=DASHES, label=f"SGD, mean of {count} runs")
    last.fill_between([], [], [], color="0.4", alpha=0.2, linewidth=0, label="standard error")
    last.legend(loc="upper right")
    for k in range(data.sizes["student"]):
        axes[1, 0].plot([], [], color=f"C{k}", label=f"$k = {k + 1}$")
    named = axes[1, 0].legend(loc="upper left", ncols=2, fontsize=6.5, handlelength=1.2, columnspacing=1)
    named.set_title("student (b: $k < j$)", prop={"size": 6.5})
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    alpha, count = data["alpha"].values, data.sizes["run"] - 1
    apart, noise = (
        float(np.sqrt(np.mean(np.concatenate([part.ravel() for part in parts]) ** 2)))
        for parts in zip(*map(gaps, panels(data)[:3]), strict=True)
    )
    gap, error = (part[alpha > 0, 0] for part in gaps(panels(data)[3]))
    worst = int(np.argmax(np.abs(gap)))
    waiting = int(np.searchsorted(alpha, PLATEAU))
    risk, norms = data["risk"].values, panels(data)[2][1:, waiting].mean(axis=1)
    half = np.array([crossing_time(alpha, one, 0.5 * one[0]) for one in risk])
    evidence = f"{count} runs from the start of the equations"
    frames, turned = turning(data)
    p, q = data.sizes["student"], data.sizes["teacher"]
    spread = {
        name: float(one.std(ddof=1) / np.sqrt(count))
        for name, one in [("risk", risk[1:, waiting]), ("norm", norms), ("half", half[1:] / half[0]), ("frame", turned)]
    }
    return [
        holds(
            FIGURE.key, "the mean risk of SGD follows the equations to the end (largest difference)", source="section 4",
            printed=0.0,
            found=gap[worst], tolerance=5 * error[worst], error=error[worst], evidence=evidence,
        ),
        holds(
            FIGURE.key, "so do all overlaps and norms (root mean square difference, over all of them and all times)",
            source="section 4", printed=0.0, found=apart, tolerance=3 * noise, error=noise,
            evidence=f"{evidence}; tolerance: three standard errors of their mean",
        ),
        holds(
            FIGURE.key, "SGD reaches half the first risk when the equations do (mean ratio of times)", source="section 4",
            printed=1.0,
            found=float(np.mean(half[1:]) / half[0]), tolerance=5 * spread["half"], error=spread["half"], evidence=evidence,
        ),
        holds(
            FIGURE.key, f"SGD waits at the risk 1 + 2/p* - p/(p + 2) (mean at alpha = {PLATEAU})", source="section 7.3",
            printed=1 + 2 / q - p / (p + 2), found=float(risk[1:, waiting].mean()), tolerance=0.004 + 4 * spread["risk"],
            error=spread["risk"], evidence=f"{evidence}; to first order in the rate",
        ),
        holds(
            FIGURE.key, f"where the norms are p/(p + 2) (mean at alpha = {PLATEAU})", source="(10)", printed=p / (p + 2),
            found=float(norms.mean()), tolerance=0.012 + 4 * spread["norm"], error=spread["norm"],
            evidence=f"{evidence}; to first order in the rate, and exp(-8 t/p) is not yet over",
        ),
        corrected(
            FIGURE.key, "SGD does not end at the solution closest to its start: noise turns S (mean Frobenius norm)",
            source="section 5", row="B13", printed=0.0, expected=turned.mean(), found=frames.mean(), error=spread["frame"],
            tolerance=4 * spread["frame"],
            evidence="tests/theory/test_plateau.py::test_sgd_ends_as_the_equations_from_a_noisy_start",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/1", "The equations of the overlaps and simulated SGD", compute, draw, claims, PARAMETERS)
