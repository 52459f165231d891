"""Figure 4: the frame S = rho (rho^T rho)^(-1/2) is conserved by the equations, for orthonormal students and teachers at any rate;
not with overlapping ones, and not by SGD."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import Overlaps, start
from solvable.papers.bocchi2026.noise import drift_of_noise
from solvable.papers.bocchi2026.settings import KEY, problem, random_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results import run_batch

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

SIZES = (0.03, 0.1)  # of the overlaps between students at a generic start
TEACHERS = (0.05, 0.1)  # overlap of the first two teachers
SGD_RATE, SGD_DIM = 0.1, 3000
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

    slow, fast = problem(), problem(eta=0.4)
    seeds = range(6 if quick else 30)
    times = np.concatenate([[0.0], np.geomspace(0.05, 200, 160)])
    families = [
        (slow, [random_start(slow, seed) for seed in seeds]),
        (fast, [random_start(fast, seed) for seed in seeds]),
    ]
    families += [(slow, [tilted_start(slow, seed, size) for seed in seeds]) for size in SIZES]
    for size in TEACHERS:
        bent = slow.replace(teacher__overlap=[[1, size, 0], [size, 1, 0], [0, 0, 1]])
        families.append((bent, [random_start(bent, seed) for seed in seeds]))
    simulated = problem(eta=SGD_RATE).replace(inputs__dim=SGD_DIM)
    levels = [Macro()] * len(families) + [Micro(runs=1, seed=4)]
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
        lines = left.plot(time, data["frame"].values[0, 0, :, :, column], linewidth=1.0, color=f"C{column}")
        lines[0].set_label(f"teacher {column + 1}")
    left.set_ylabel("elements of $S = \\rho\\,(\\rho^T\\rho)^{-1/2}$")
    left.set_ylim(-0.95, 0.6)
    left.legend(loc="lower center", ncols=3, handlelength=1.0, columnspacing=1.0)
    styles = ["-", "--", "-", "-", "-.", "-.", ":"]
    typical = np.median(data["drift"].values, axis=1)
    for i, case in enumerate(CASES):
        right.plot(time[1:], np.maximum(typical[i, 1:], 1e-16), linestyle=styles[i], label=case)
    right.set_yscale("log")
    right.set_ylim(1e-16, 10)
    right.set_ylabel("drift  $\\|S(t) - S(0)\\|_F$, median of starts")
    right.legend(loc="lower left", bbox_to_anchor=(0.12, 0.2), fontsize=7, ncols=2, columnspacing=0.8)
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
    return [
        judge(
            FIGURE.key, "S(t) is conserved from orthonormal students at eta = 0.01 (largest drift)",
            expected=0.0, found=drift[0].max(), tolerance=1e-10, evidence="deterministic limit, rtol 1e-8",
        ),
        judge(
            FIGURE.key, "the conservation needs no small rate: it holds at eta = 0.4 (largest drift)",
            expected=0.0, found=drift[1].max(), tolerance=1e-10, correction="B12",
            evidence="tests/papers/test_bocchi2026.py::test_the_frame_is_conserved_at_any_rate",
        ),
        judge(
            FIGURE.key, "students that overlap at the start turn S, in proportion: drift at 0.1 over drift at 0.03 (mean ratio)",
            expected=SIZES[1] / SIZES[0], found=np.mean(drift[3] / drift[2]), tolerance=0.7, correction="B13",
            evidence="tests/papers/test_bocchi2026.py::test_the_frame_drifts_from_generic_students",
        ),
        judge(
            FIGURE.key, "teachers that overlap turn S too, in proportion: drift at 0.1 over drift at 0.05 (median ratio)",
            expected=TEACHERS[1] / TEACHERS[0], found=np.median(drift[5] / drift[4]), tolerance=0.4, correction="B13",
            evidence="tests/papers/test_bocchi2026.py::test_the_frame_drifts_from_generic_students",
        ),
        judge(
            FIGURE.key, f"SGD turns S at any dim, by its noise (mean drift at eta = {SGD_RATE}; bocchi2026/noise has the law)",
            expected=drift_of_noise(SGD_RATE, 4000), found=drift[6].mean(),
            tolerance=4 * drift[6].std(ddof=1) / np.sqrt(drift.shape[1]), correction="B13",
            evidence="tests/theory/test_plateau.py::test_sgd_ends_as_the_equations_from_a_noisy_start",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/4", "The frame of the solution is conserved", compute, draw, claims)
