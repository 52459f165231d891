"""Beyond the paper: where its optimal rate stops being usable, and the escape from exactly no overlap, by noise alone."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import start
from solvable.papers.arnaboldi2023.settings import DROP, KEY, problem, typical_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure, letter
from solvable.results import run, when

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

WIDTHS = (1, 2, 3, 5, 20)
SMALL = 0.02  # square of the overlap at the exit from none
GAMMA = 0.05


def best(p: int, times: np.ndarray, *, usable: bool) -> np.ndarray:
    """Risk over the first one at the rate of fastest growth, or at 0.15 of the width if that is less."""
    rate = theory.optimal_rate(problem(p, 10**5)).value
    here = problem(p, 10**5, min(rate, 0.15 * p) if usable else rate)
    found = run(here, typical_start(here, 3), Macro(rtol=1e-7), times=times / here.training.learning_rate * p)
    return found.risk[0] / found.start_risk[0]


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    times = np.linspace(0, 12, 241)
    dims = np.array([300, 3000] if quick else [100, 300, 1000, 3000, 10_000])
    far = np.array([1e5, 1e7] if quick else [1e4, 1e5, 1e6, 1e7, 1e8])
    many, stop = 200 if quick else 1000, when("cross_overlap", above=float(np.sqrt(SMALL)))

    def from_none(d: float, level: Meso | Micro) -> np.ndarray:
        here = problem(1, int(d), GAMMA)
        first = start(here, student_overlap=[[1.0]], cross_overlap=[[0.0]])
        return whole(run(here, first, level, until=40, clock=KEY, stop=stop, progress=False)).exit_time()

    micro = [from_none(d, Micro(runs=many, seed=1)) for d in dims]
    meso = [from_none(d, Meso(runs=many, seed=2)) for d in far]
    every = np.geomspace(dims[0], far[-1], 30)
    formula = [GAMMA * theory.zero_escape_time(problem(1, int(d), GAMMA), SMALL).value for d in every]
    return xarray.Dataset(
        {
            "optimal": (("width", "time"), [best(p, times, usable=False) for p in WIDTHS]),
            "usable": (("width", "time"), [best(p, times, usable=True) for p in WIDTHS]),
            "micro": (("dim", "run"), micro),
            "meso": (("far", "run"), meso),
            "formula": ("every", formula),
        },
        {"width": list(WIDTHS), "time": times, "dim": dims, "far": far, "every": every},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    for i, p in enumerate(WIDTHS):
        left.plot(data["time"], data["optimal"][i], color=f"C{i}", label=f"$p = {p}$")
        left.plot(data["time"], data["usable"][i], color=f"C{i}", linestyle=":", linewidth=1.0)
    left.plot([], [], color="0.4", linestyle=":", linewidth=1.0, label="$\\gamma \\leq 0.15\\,p$")
    left.set_xlabel("$t = \\gamma\\alpha/p$")
    left.set_ylabel("risk over the first (full: at $\\gamma_{\\rm opt}$)")
    left.set_ylim(0, 2.8)
    left.set_xlim(0, float(data["time"][-1]))
    left.legend(ncols=2, loc="upper right", fontsize=7)
    for name, axis, label, marker in [("micro", "dim", "SGD", "o"), ("meso", "far", "diffusion", "s")]:
        values = data[name].values
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])
        right.errorbar(data[axis], values.mean(axis=1), error, linestyle="", marker=marker, markersize=4, label=label)
    right.plot(data["every"], data["formula"], color="black", label="(52), Dawson's integral")
    right.set_xscale("log")
    right.set_xlabel("dimension $d$")
    right.set_ylabel(f"mean $t$ from $m = 0$ to $m^2 = {SMALL}$")
    right.legend(loc="upper left")
    letter(left, "a")
    letter(right, "b")
    return picture


def usable_gain() -> float:
    """Steps of one student at its optimal rate over those of 10^4 at the largest stable rate, logarithms left out."""
    one, many = problem(1, 3000), problem(10_000, 3000)
    pairs = [(one, theory.optimal_rate(one).value), (many, theory.rate_limit(many).value)]
    single, wide = (theory.plateau(here.replace(training__learning_rate=rate)).value.growth for here, rate in pairs)
    return float(wide / single)


def claims(data: "xarray.Dataset") -> list[Claim]:
    reached = 1 - data["optimal"].values.min(axis=1)
    micro, meso = data["micro"].values, data["meso"].values
    gaps = []
    for values, dims in [(micro, data["dim"].values), (meso, data["far"].values)]:
        stated = np.array([GAMMA * theory.zero_escape_time(problem(1, int(d), GAMMA), SMALL).value for d in dims])
        gaps.append(np.abs(values.mean(axis=1) / stated - 1).max())
    one, many = (
        theory.fewest_steps(problem(p, 3000, 0.1), DROP).value / np.log((p + 1) * (3000 * DROP + 1 - DROP) / (2 * p))
        for p in (1, 10_000)
    )
    test = "tests/theory/test_sphere.py::test_bounds_on_the_rate"
    return [
        judge(
            FIGURE.key, "the formal gain of width in steps is (12 + Delta)/(2 + Delta) = 6 (p = 1 over 10^4, less logarithms)",
            expected=6.0, found=one / many, tolerance=0.05, evidence="theory.fewest_steps",
        ),
        judge(
            FIGURE.key, "the gain that is left at rates where the solution is stable is 10/3 (p = 1 over p = 10^4 at the limit)",
            expected=10 / 3, found=usable_gain(), tolerance=0.03, correction="A20", evidence=test,
        ),
        judge(
            FIGURE.key, "one student at the optimal rate learns (part of the first risk that has gone at best)",
            expected=1.0, found=float(reached[0]), tolerance=0.01, evidence="equations, random start, d = 10^5",
        ),
        *(
            judge(
                FIGURE.key, f"at the optimal rate {p} students lower the risk by no more than {stall} of the first",
                expected=stall, found=float(reached[WIDTHS.index(p)]), tolerance=0.03, correction="A20", evidence=test,
            )
            for p, stall in [(2, 0.5), (3, 0.25), (5, 0.1), (20, 0.05)]
        ),
        judge(
            FIGURE.key, "below a sixth of the width all learn (largest part of the risk left, gamma <= 0.15 p)",
            expected=0.0, found=float(data["usable"].values[:, -1].max()), tolerance=0.02, correction="A20", evidence=test,
        ),
        judge(
            FIGURE.key, "from exactly no overlap noise leads out in the time (52): SGD (worst relative difference)",
            expected=0.0, found=gaps[0], tolerance=0.12, evidence=f"{micro.shape[1]} runs for each dimension",
        ),
        judge(
            FIGURE.key, f"and so do paths of the diffusion up to d = {data['far'].values.max():.0e} (worst relative difference)",
            expected=0.0, found=gaps[1], tolerance=0.05, beyond=True, evidence=f"{meso.shape[1]} paths for each dimension",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/limits", "Where the optimal rate fails, and escape by noise alone", compute, draw, claims)
