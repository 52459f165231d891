"""Figures 1 (left) and 3: runs of SGD and paths of the diffusion around the equations, from one start, and when they escape."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.papers.arnaboldi2023.settings import DROP, KEY, problem, typical_start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.plot.style import figure
from solvable.problems import Problem
from solvable.results import run, run_batch, when
from solvable.results.plan import Level

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

DIM, DELTA = 3000, 0.5
SHOWN = 10


def setting(p: int) -> Problem:
    """At the fastest rate for one student, and as much for each of several."""
    return problem(p, DIM, p / (12 + DELTA), DELTA)


def compute_paths(p: int, quick: bool) -> "xarray.Dataset":
    """Risks (excess) of SHOWN runs and paths; exit times of many."""
    import xarray

    here = setting(p)
    first, stop = typical_start(here), when("risk", below=1 - DROP, relative=True)
    times, many = np.linspace(0, 5, 101), 100 if quick else 1000
    levels: dict[str, Level] = {"micro": Micro(runs=SHOWN, seed=1), "meso": Meso(runs=SHOWN, seed=2), "macro": Macro()}
    curves = {
        name: whole(run(here, first, one, times=times, clock=KEY, progress=False)) for name, one in levels.items()
    }
    passing: dict[str, Level] = {"micro": Micro(runs=many, seed=3), "meso": Meso(runs=many, seed=4), "macro": Macro()}
    exits = {
        name: whole(run(here, first, one, until=15, clock=KEY, stop=stop, progress=False)).exit_time()
        for name, one in passing.items()
    }
    noisy = theory.noisy_starts(here, first, 1000).value
    predicted = run_batch(here, noisy, Macro(rtol=1e-6), until=15, clock=KEY, stop=stop).exit_time()
    variables: dict[str, Any] = {
        f"risk_{name}": (("run", "time"), one.risk) for name, one in curves.items() if name != "macro"
    }
    variables |= {f"shown_{name}": ("run", one.exit_time(1 - DROP)) for name, one in curves.items() if name != "macro"}
    variables |= {f"exit_{name}": ("many", one) for name, one in exits.items() if name != "macro"}
    variables |= {
        "risk_macro": ("time", curves["macro"].risk[0]),
        "exit_macro": exits["macro"][0],
        "floor": theory.noise_floor(here).value if p == 1 else np.nan,
        "exit_noisy": ("draw", predicted),
    }
    return xarray.Dataset(variables, {"time": times}, {"problem": here.to_json(), "width": p})


def draw_paths(data: Any, ax: "Axes") -> None:
    time = data["time"].values
    for name, colour, label in [("micro", "C0", "SGD"), ("meso", "C2", "diffusion")]:
        lines = ax.plot(time, data[f"risk_{name}"].values.T, color=colour, linewidth=0.6, alpha=0.7)
        lines[0].set_label(label)
        level = (1 - DROP) * float(data["risk_macro"][0])
        ax.plot(data[f"shown_{name}"].values, np.full(SHOWN, level), "|", color=colour, markersize=6)
    ax.plot(time, data["risk_macro"], color="black", label="equations")
    ax.axvline(float(data["exit_macro"]), color="black", linestyle=":", linewidth=0.9, label="their exit")
    ax.set_xlabel("$t = \\gamma\\alpha/p$")
    ax.set_ylabel("excess risk")
    ax.set_xlim(0, time[-1])
    ax.set_ylim(bottom=0)
    ax.set_title(f"$p = {int(data.attrs['width'])}$, $d = {DIM}$, $\\Delta = {DELTA}$", fontsize=8, loc="right")


def judge_paths(key: str, data: Any) -> list[Claim]:
    p = int(data.attrs["width"])
    micro, meso, noisy = (data[f"exit_{name}"].values for name in ("micro", "meso", "noisy"))
    error = np.hypot(micro.std(ddof=1), meso.std(ddof=1)) / np.sqrt(micro.size)
    evidence = f"{micro.size} runs and paths from one start"
    test = "tests/theory/test_sphere.py::test_sgd_escapes_earlier_by_its_noise"
    late = data["risk_micro"].values[:, -20:].mean()
    found = [
        judge(
            key, f"the diffusion has the exit times of SGD, p = {p} (difference of means, in standard errors)",
            expected=0.0, found=(meso.mean() - micro.mean()) / error, tolerance=4.0, evidence=evidence,
        ),
        judge(
            key, f"and their spread, which the equations do not show, p = {p} (ratio of standard deviations)",
            expected=1.0, found=meso.std() / micro.std(), tolerance=6 * np.sqrt(1 / micro.size), evidence=evidence,
        ),
        judge(
            key, f"the mean exit is that of the equations from noisy starts, p = {p}",
            expected=noisy.mean(), found=micro.mean(), beyond=True, evidence=test,
            tolerance=4 * np.hypot(micro.std() / np.sqrt(micro.size), noisy.std() / np.sqrt(noisy.size)),
        ),
    ]  # fmt: skip
    if p == 1:
        found.append(
            judge(
                key, "SGD ends at the excess gamma Delta/(1 - 6 gamma) of (8) (mean at late times)",
                expected=float(data["floor"]), found=late, tolerance=0.1 * float(data["floor"]), evidence=f"{SHOWN} runs",
            )
        )  # fmt: skip
    return found


def compute(quick: bool) -> "xarray.Dataset":
    return compute_paths(2, quick)


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=2.8, width=4.6)
    draw_paths(data, ax)
    ax.legend(loc="upper right", fontsize=7)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    return judge_paths(FIGURE.key, data)


FIGURE = PaperFigure(f"{KEY}/3", "Two students: SGD and its diffusion around the equations", compute, draw, claims)
