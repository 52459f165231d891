"""Figure 4: the frame S = rho (rho^T rho)^(-1/2) is conserved by the equations, for orthonormal students and teachers at any rate;
not with overlapping ones, and not by SGD."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps, start
from solvable.papers.bocchi2026.noise import drift_of_noise
from solvable.papers.bocchi2026.settings import EPSILON, KEY, LINES, problem, random_start
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

SIZES = (0.03, 0.1)  # of the overlaps between students at a generic start
TEACHERS = (0.05, 0.1)  # overlap of the first two teachers
SGD_RATE, SGD_DIM = 0.1, 3000
SAME = "the paper names none: those of figure 3"
PARAMETERS = table(
    Parameter("p", UNSAID, 6, why=SAME, label="$p$"),
    Parameter("p_star", UNSAID, 3, why=SAME, label="$p^*$"),
    Parameter("eta", UNSAID, 0.01, why=SAME, label="$\\eta$"),
    Parameter("epsilon", UNSAID, EPSILON, why=SAME, label="$\\epsilon$"),
    Parameter("times", UNSAID, (0.05, 200.0, 160), why="until the teacher is learned", label="first, last and number of times"),
    Parameter("starts", UNSAID, 30, 8, "panel b; panel a is the first", "starts of each case"),
    Parameter("fast_eta", UNSAID, 0.4, why="beyond the paper: panel b", label="the other $\\eta$ of panel b"),
    Parameter("seed", UNSAID, 0, why="any"),
    Parameter("sgd_seed", UNSAID, 4, why="any", label="seed of the simulations"),
)  # fmt: skip
CASES = (
    "orthonormal, $\\eta$ = 0.01", "orthonormal, $\\eta$ = 0.4", *(f"student overlaps ~ {size}" for size in SIZES),
    *(f"teacher overlap {size}" for size in TEACHERS), f"SGD, $\\eta$ = {SGD_RATE}, $N$ = {SGD_DIM}",
)  # fmt: skip


def tilted_start(setting: Problem, seed: int, size: float) -> Overlaps:
    """The random start with symmetric Gaussian student overlaps of a given size added off the diagonal."""
    base = random_start(setting, seed)
    noise = np.random.default_rng([seed, 1]).standard_normal(base.student_overlap.shape)
    tilt = np.triu(noise, 1) * size
    return start(setting, student_overlap=base.student_overlap + tilt + tilt.T, cross_overlap=base.cross_overlap)


def compute(quick: bool) -> "xarray.Dataset":
    """Frames S(t) of several starts in each case; S of the first start at the paper's rate is the paper's figure."""
    import xarray

    values = PARAMETERS.values(quick)
    slow, fast = (problem(values["p"], values["p_star"], values[name]) for name in ("eta", "fast_eta"))
    seeds, epsilon = range(values["seed"], values["seed"] + values["starts"]), values["epsilon"]
    times = np.concatenate([[0.0], np.geomspace(*values["times"])])
    families = [(one, [random_start(one, seed, epsilon) for seed in seeds]) for one in (slow, fast)]
    families += [(slow, [tilted_start(slow, seed, size) for seed in seeds]) for size in SIZES]
    for size in TEACHERS:
        bent = slow.replace(teacher__overlap=[[1, size, 0], [size, 1, 0], [0, 0, 1]])
        families.append((bent, [random_start(bent, seed, epsilon) for seed in seeds]))
    simulated = problem(values["p"], values["p_star"], SGD_RATE).replace(inputs__dim=SGD_DIM)
    levels = [Macro()] * len(families) + [Micro(runs=1, seed=values["sgd_seed"])]
    families.append((simulated, [start(simulated, seed=seed, students="orthogonal") for seed in seeds]))
    runs = [
        whole(run_batch(setting, starts, level, times=times, clock=KEY, progress=False))
        for (setting, starts), level in zip(families, levels, strict=True)
    ]
    frames, drift = np.stack([one.frame for one in runs]), np.stack([one.frame_drift() for one in runs])
    return xarray.Dataset(
        {
            "frame": (("case", "run", "time", "student", "teacher"), frames),
            "drift": (("case", "run", "time"), drift),
        },
        {"time": times, "case": list(CASES)},
        {"problem": slow.to_json()},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    time = data["time"].values
    for column in range(data.sizes["teacher"]):
        lines = left.plot(
            time, data["frame"].values[0, 0, :, :, column], linewidth=1.0, color=f"C{column}", linestyle=LINES[column]
        )
        lines[0].set_label(f"teacher {column + 1}")
    left.set_ylabel("elements of $S = \\rho\\,(\\rho^T\\rho)^{-1/2}$")
    left.set_ylim(-0.95, 0.6)
    left.legend(loc="lower center", ncols=3, handlelength=1.0, columnspacing=1.0)
    typical = np.median(data["drift"].values, axis=1)
    for i, case in enumerate(CASES):
        right.plot(time[1:], np.maximum(typical[i, 1:], 1e-16), linestyle=LINES[i % len(LINES)], label=case)
    right.set_yscale("log")
    right.set_ylim(1e-16, 10)
    right.set_ylabel("drift  $\\|S(t) - S(0)\\|_F$, median")
    right.legend(loc="lower left", bbox_to_anchor=(0.25, 0.15), fontsize=6.5)
    for ax in (left, right):
        ax.set_xscale("log")
        ax.set_xlim(time[1], time[-1])
        ax.set_xlabel("$t = \\eta\\alpha$")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    drift = data["drift"].values.max(axis=2)
    drift[6] = data["drift"].values[6, :, -1]  # noise makes it wander on the way
    many = drift.shape[1]
    students, teachers = drift[3] / drift[2], drift[5] / drift[4]
    errors = [float(1.25 * np.std(one, ddof=1) / np.sqrt(many)) for one in (drift[3], students, teachers)]  # of medians
    noise = standard_error(drift[6])
    generic = "tests/papers/test_bocchi2026.py::test_the_frame_drifts_from_generic_students"
    return [
        holds(
            FIGURE.key, "S(t) is conserved from orthonormal students at eta = 0.01 (largest drift)", source="(22)", printed=0.0,
            found=drift[0].max(), tolerance=1e-10, evidence="deterministic limit, rtol 1e-8",
        ),
        beyond(
            FIGURE.key, "and at eta = 0.4: no small rate is needed (largest drift)", expected=0.0, found=drift[1].max(),
            tolerance=1e-10, evidence="the mode reduction of dynamics/modes.py closes at any rate; docs/ERRATA.md B12",
        ),
        refuted(
            FIGURE.key,
            "students end at the closest solution from arbitrary weights (drift from students that overlap by 0.1, median)",
            source="section 4.1", row="B13", printed=0.0, found=float(np.median(drift[3])), tolerance=0.03, error=errors[0],
            evidence=generic,
        ),
        beyond(
            FIGURE.key, f"S turns in proportion to their overlaps (drift at {SIZES[1]} over drift at {SIZES[0]}, median)",
            expected=SIZES[1] / SIZES[0], found=float(np.median(students)), tolerance=0.1 + 4 * errors[1], error=errors[1],
            evidence="first order in the overlaps",
        ),
        beyond(
            FIGURE.key, f"and to those of teachers (drift at {TEACHERS[1]} over drift at {TEACHERS[0]}, median)",
            expected=TEACHERS[1] / TEACHERS[0], found=float(np.median(teachers)), tolerance=0.1 + 4 * errors[2], error=errors[2],
            evidence="first order in the overlaps",
        ),
        corrected(
            FIGURE.key, f"SGD turns S, whatever N, by its noise (mean drift at eta = {SGD_RATE}, N = {SGD_DIM})",
            source="section 5",
            row="B13", printed=0.0, expected=drift_of_noise(SGD_RATE, 4000), found=drift[6].mean(), tolerance=4 * noise,
            error=noise,
            evidence="tests/theory/test_plateau.py::test_sgd_ends_as_the_equations_from_a_noisy_start",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/4", "The frame of the solution is conserved", compute, draw, claims, PARAMETERS)
