"""Beyond the paper: the noise of SGD decides, at any dim, which solution is selected and when the plateau is left."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.overlaps import nearest_frame, start
from solvable.papers.bocchi2026.settings import KEY, problem
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.problems import Problem
from solvable.results import run, run_batch, when

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

RATE = 0.3  # of the escape times


def setting(eta: float, dim: int) -> Problem:
    return problem(eta=eta).replace(inputs__dim=dim)


def drift_of_sgd(eta: float, dim: int, starts: int) -> np.ndarray:
    """(start,) how far one run from each start ends from the frame that it began with."""
    here = setting(eta, dim)
    first = [start(here, seed=seed, students="orthogonal") for seed in range(starts)]
    until = 3 * max(theory.escape_time(here, one).value for one in first)
    ends = whole(run_batch(here, first, Micro(runs=1, seed=7), times=[0, until], progress=False))
    return ends.frame_drift()[:, -1]


def drift_of_noise(eta: float, draws: int) -> float:
    """Mean Frobenius distance between the frames of random starts and of the same with the noise of SGD added; dim drops out."""
    v, random = theory.plateau_noise(problem(eta=eta)).value, np.random.default_rng(0)
    first = random.standard_normal((draws, 6, 3))
    noisy = first + np.sqrt(v) * random.standard_normal(first.shape)
    return float(np.linalg.norm(nearest_frame(noisy) - nearest_frame(first), axis=(1, 2)).mean())


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    rates = np.array([0.03, 0.1, 0.3] if quick else [0.03, 0.1, 0.2, 0.3, 0.5])
    dims = [300, 3000] if quick else [300, 3000, 30_000]
    starts = 32 if quick else 64
    drift = np.array([[drift_of_sgd(eta, dim, starts) for eta in rates] for dim in dims])
    fine = np.geomspace(0.005, 0.6, 25)
    here = setting(RATE, 3000 if quick else 30_000)
    first, stop = start(here, seed=1, students="orthogonal"), when("risk", below=0.5, relative=True)
    options: dict[str, Any] = {"until": 300, "stop": stop}
    count = 100 if quick else 300
    escapes = whole(run(here, first, Micro(runs=count, seed=3), progress=False, **options)).exit_time()
    noisy = theory.noisy_starts(here, first, 1000).value
    return xarray.Dataset(
        {
            "drift": (("dim", "rate", "start"), drift),
            "predicted_drift": ("fine_rate", [drift_of_noise(eta, 4000) for eta in fine]),
            "predicted_at": ("rate", [drift_of_noise(eta, 20_000) for eta in rates]),
            "escape": ("sgd_run", escapes),
            "predicted_escape": ("draw", run_batch(here, noisy, Macro(rtol=1e-6), **options).exit_time()),
            "equations_escape": run(here, first, Macro(), **options).exit_time()[0],
        },
        {"rate": rates, "dim": dims, "fine_rate": fine},
        {"problem": here.to_json(), "escape_dim": here.inputs.dim},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.9)
    drift = data["drift"].values
    for i, dim in enumerate(data["dim"].values):
        mean, error = drift[i].mean(axis=1), drift[i].std(axis=1, ddof=1) / np.sqrt(drift.shape[2])
        left.errorbar(
            data["rate"].values, mean, error, linestyle="", marker="osv"[i], markersize=6 - i,
            markerfacecolor="none", color=f"C{i}", label=f"SGD, $N = {dim}$",
        )  # fmt: skip
    left.plot(data["fine_rate"], data["predicted_drift"], color="black", label="noisy start, any $N$")
    left.axhline(np.sqrt(6), color="0.5", linestyle=":", label="unrelated frames")
    left.set_xscale("log")
    left.set_ylim(0, 2.7)
    left.set_xlabel("learning rate $\\eta$")
    left.set_title("$p = 6$, $p^* = 3$", fontsize=8, loc="right")
    left.set_ylabel("how far $S$ turns,  $\\langle\\|S_{\\rm end} - S_0\\|_F\\rangle$")
    left.legend(loc="upper left", bbox_to_anchor=(0.0, 0.9))
    for values, colour, name in [
        (data["escape"].values, "C0", f"SGD, {data.sizes['sgd_run']} runs"),
        (data["predicted_escape"].values, "black", "equations, noisy starts"),
    ]:
        right.step(np.sort(values), np.arange(1, values.size + 1) / values.size, color=colour, label=name)
    right.axvline(float(data["equations_escape"]), color="C1", linestyle="--", label="equations, the start itself")
    right.set_xlabel("$\\alpha$ at half the first risk")
    right.set_ylabel("fraction of runs")
    right.set_ylim(0, 1)
    right.set_title(f"$\\eta = {RATE}$, $N = {int(data.attrs['escape_dim'])}$", fontsize=8, loc="right")
    right.legend(loc="lower right", fontsize=7, frameon=True, framealpha=1, edgecolor="none")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    drift, expected = data["drift"].values, data["predicted_at"].values
    mean, error = drift.mean(axis=2), drift.std(axis=2, ddof=1) / np.sqrt(drift.shape[2])
    escapes, noisy = data["escape"].values, data["predicted_escape"].values
    spread = np.hypot(escapes.std(ddof=1) / np.sqrt(escapes.size), noisy.std(ddof=1) / np.sqrt(noisy.size))
    tenth = int(np.argmin(np.abs(data["rate"].values - 0.1)))
    test = "tests/theory/test_plateau.py::test_sgd_ends_as_the_equations_from_a_noisy_start"
    return [
        judge(
            FIGURE.key, "SGD does not end at the nearest solution: at eta = 0.1 its noise turns S by (mean)",
            expected=expected[tenth], found=mean[:, tenth].mean(), tolerance=4 * error[:, tenth].mean() / np.sqrt(len(mean)),
            correction="B13", evidence=test,
        ),
        judge(
            FIGURE.key, "by an amount independent of N (largest to smallest N, largest difference in standard errors)",
            expected=0.0, found=(np.abs(mean[-1] - mean[0]) / np.hypot(error[-1], error[0])).max(), tolerance=4.0,
            beyond=True, evidence=test,
        ),
        judge(
            FIGURE.key, "and known in advance: that of a start with the variance of the plateau's noise added (in standard errors)",
            expected=0.0, found=(np.abs(mean - expected) / error).max(), tolerance=4.0, beyond=True, evidence=test,
        ),
        judge(
            FIGURE.key, "SGD escapes when the equations do from noisy starts (difference of means in standard errors)",
            expected=0.0, found=(escapes.mean() - noisy.mean()) / spread, tolerance=4.0, beyond=True,
            evidence="first passages of half the risk",
        ),
        judge(
            FIGURE.key, "with their spread (ratio of standard deviations)",
            expected=1.0, found=escapes.std() / noisy.std(), tolerance=0.3, beyond=True, evidence="first passages of half the risk",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/noise", "What the noise of SGD selects", compute, draw, claims)
