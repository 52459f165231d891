"""Figures 1 (left) and 3: runs of SGD and paths of the diffusion around the equations, from one start, and when they escape."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.levels import Level, run, when
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.arnaboldi2023.settings import ANY, KEY, PUBLISHED, problem, typical_start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def path_rows(p: int) -> tuple[Parameter, ...]:
    precise = "the paper has multiple runs; so many that their mean is known far better than from the ten drawn"
    return (
        Parameter("width", p, p, label="p"),
        Parameter("dim", 3000, 3000, label="d"),
        Parameter("rate", UNSAID, 0.1, why=PUBLISHED, label="γ"),
        Parameter("label_noise", UNSAID, 1e-4, why=PUBLISHED, label="Δ"),
        Parameter("path_drop", UNSAID, 0.01, why=PUBLISHED, label="T of the paths"),
        Parameter("until", UNSAID, 10.0, why=PUBLISHED, label="last t"),
        Parameter("drawn", UNSAID, 10, why=PUBLISHED, label="runs and paths drawn"),
        Parameter("averaged", UNSAID, 200, 32, why=precise, label="runs whose risk is averaged"),
        Parameter("counted", UNSAID, 1000, 200, why=precise, label="runs and paths whose exit is counted"),
        Parameter("path_seed", UNSAID, 3, why=ANY, label="seed of the paths"),
    )


def compute_paths(
    *, width: int, dim: int, rate: float, label_noise: float, path_drop: float, until: float, drawn: int, averaged: int,
    counted: int, path_seed: int,
) -> "xarray.Dataset":  # fmt: skip
    """Risks (excess) of runs and paths from one start; exit times of many more; the end of SGD at late times."""
    import xarray

    here = problem(width, dim, rate, label_noise)
    first, stop = typical_start(here, path_seed), when("risk", below=1 - path_drop, relative=True)
    times = np.concatenate([[0.0], np.geomspace(0.1, until, 121)])
    levels: dict[str, Level] = {
        "micro": Micro(runs=averaged, seed=path_seed), "meso": Meso(runs=drawn, seed=path_seed + 1),
        "macro": Macro(rtol=1e-10, atol=1e-14),
    }  # fmt: skip
    curves = {
        name: whole(run(here, first, one, times=times, clock=KEY, progress=False)) for name, one in levels.items()
    }
    passing: dict[str, Level] = {
        "micro": Micro(runs=counted, seed=path_seed + 2), "meso": Meso(runs=counted, seed=path_seed + 3),
        "macro": Macro(rtol=1e-10),
    }  # fmt: skip
    exits = {
        name: whole(run(here, first, one, until=50, clock=KEY, stop=stop, progress=False)).exit_time()
        for name, one in passing.items()
    }
    variables: dict[str, Any] = {
        "risk_micro": (("run", "time"), curves["micro"].risk),
        "risk_meso": (("path", "time"), curves["meso"].risk),
        "risk_macro": ("time", curves["macro"].risk[0]),
        "drawn_micro": ("path", curves["micro"].exit_time(1 - path_drop)[:drawn]),
        "drawn_meso": ("path", curves["meso"].exit_time(1 - path_drop)),
        "exit_micro": ("many", exits["micro"]),
        "exit_meso": ("many", exits["meso"]),
        "exit_macro": exits["macro"][0],
        "exit_noisy": theory.noisy_escape_time(here, path_drop, start=first).value.mean * rate / width,
    }
    if width == 1:
        variables |= {"floor": theory.noise_floor(here).value, "end": ("late", late_risks(here, until, path_seed + 4))}
    values = {"width": width, "dim": dim, "rate": rate, "label_noise": label_noise, "path_drop": path_drop}
    return xarray.Dataset(variables, {"time": times}, values | {"drawn": drawn, "problem": here.to_json()})


def late_risks(here: Problem, until: float, seed: int) -> np.ndarray:
    """Mean of each of sixteen runs over the last three quarters of the time, beginning near the teacher."""
    near = start(here, student_overlap=[[1.0]], cross_overlap=[[0.99]])
    times = np.linspace(0, until, 41)
    found = whole(run(here, near, Micro(runs=16, seed=seed), times=times, clock=KEY, progress=False))
    return np.asarray(found.risk[:, 20:].mean(axis=1))


def draw_paths(data: Any, ax: "Axes") -> None:
    time, drawn = data["time"].values[1:], int(data.attrs["drawn"])
    kinds = [("micro", "C0", "-", "SGD", 0.03), ("meso", "C1", "--", "diffusion (SDE)", 0.09)]
    for name, colour, line, label, height in kinds:
        lines = ax.plot(
            time, data[f"risk_{name}"].values[:drawn, 1:].T, color=colour, linestyle=line, linewidth=0.6, alpha=0.7
        )
        lines[0].set_label(label)
        rug = data[f"drawn_{name}"].values
        ax.plot(rug, np.full(drawn, height), "|", color=colour, markersize=6, transform=ax.get_xaxis_transform())
    ax.plot(time, data["risk_macro"].values[1:], color="black", label="equations (ODE)")
    ax.axvline(float(data["exit_macro"]), color="black", linestyle=":", linewidth=0.9, label="exit (ODE)")
    ax.plot([], [], "|", color="0.4", markersize=6, label="exits (SGD, SDE)")
    ax.set(xscale="log", yscale="log", xlim=(0.1, time[-1]), ylim=(1e-5, 4), xlabel="$t$")
    ax.set_ylabel("$\\mathcal{R} - \\Delta/2$")
    facts = data.attrs
    named = f"$p = {facts['width']}$, $d = {facts['dim']}$, $\\gamma = {facts['rate']:g}$, $T = {facts['path_drop']:g}$"
    ax.set_title(named, fontsize=8, loc="right")


def spread(times: np.ndarray) -> tuple[float, float]:
    """Standard deviation of the logarithm, and its relative standard error by the fourth moment."""
    centred = np.log(times) - np.log(times).mean()
    square = np.mean(centred**2)
    return float(np.sqrt(square)), float(np.sqrt((np.mean(centred**4) / square**2 - 1) / (4 * times.size)))


def judge_paths(key: str, data: Any) -> list[Claim]:
    p, drawn = int(data.attrs["width"]), int(data.attrs["drawn"])
    caption = f"figure {key.split('/')[1]} caption"
    micro, meso, plain = data["exit_micro"].values, data["exit_meso"].values, float(data["exit_macro"])
    one, other = (standard_error(times) for times in (micro, meso))
    evidence = f"{micro.size} runs and paths from one start"
    (wide, wide_error), (far, far_error) = spread(micro), spread(meso)
    wide_error = far / wide * np.hypot(wide_error, far_error)
    found = [
        holds(
            key, f"from one start exit times do not change considerably (mean of SGD over that of the equations, p = {p})",
            source=caption, printed=1.0, found=micro.mean() / plain, error=one / plain,
            tolerance=np.sqrt(micro.size / drawn) * one / plain,
            evidence=f"{evidence}; tolerance: the standard error of the {drawn} runs that the figure shows",
        ),
        holds(
            key, f"the SDE describes the process: its mean exit time over that of SGD, p = {p}",
            source="(11)" if p == 1 else "(53)", printed=1.0, found=meso.mean() / micro.mean(),
            error=np.hypot(one, other) / micro.mean(), tolerance=4 * np.hypot(one, other) / micro.mean(), evidence=evidence,
        ),
        holds(
            key, f"the SDE captures the variance that the ODE does not exhibit (ratio of the spreads of log exit times, p = {p})",
            source=caption, printed=1.0, found=far / wide, error=wide_error, tolerance=4 * wide_error, evidence=evidence,
        ),
        beyond(
            key, f"mean exit time of SGD from one start, p = {p}: first passage of overlaps that grow and scatter linearly",
            expected=float(data["exit_noisy"]), found=micro.mean(), error=one, tolerance=4 * one,
            evidence="theory.noisy_escape_time; tests/theory/test_sphere.py::test_mean_exits_from_one_start",
        ),
    ]  # fmt: skip
    return found + (judge_single(key, data) if p == 1 else [])


def judge_single(key: str, data: Any) -> list[Claim]:
    """What section 2 says of one student's risk: its average, and its end."""
    drawn, risks = int(data.attrs["drawn"]), data["risk_micro"].values
    gap = np.abs(risks.mean(axis=0) - data["risk_macro"].values)
    worst = int(np.argmax(gap))
    of_drawn = risks[:, worst].std(ddof=1) / np.sqrt(drawn)
    end, floor = data["end"].values, float(data["floor"])
    error = standard_error(end) / floor
    return [
        holds(
            key, f"the averaged risk agrees with the equations (largest difference, at t = {data['time'].values[worst]:.2g})",
            source="section 2", printed=0.0, found=gap[worst], error=of_drawn * np.sqrt(drawn / len(risks)), tolerance=2 * of_drawn,
            evidence=f"{len(risks)} runs from one start; tolerance: two standard errors of the {drawn} runs that the figure shows",
        ),
        holds(
            key, "SGD ends at the excess risk gamma Delta/(1 - 6 gamma), in units of it",
            source="(8)", printed=1.0, found=end.mean() / floor, error=error, tolerance=4 * error + 0.01,
            evidence=f"{end.size} runs at late times; tolerance: four standard errors and what is of order 1/d",
        ),
    ]  # fmt: skip


PARAMETERS = table(*path_rows(2))


def compute(quick: bool) -> "xarray.Dataset":
    return compute_paths(**PARAMETERS.values(quick))


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=3.0, width=4.6)
    draw_paths(data, ax)
    ax.legend(loc="lower left", fontsize=7, bbox_to_anchor=(0.36, 0.12))
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    return judge_paths(FIGURE.key, data)


FIGURE = PaperFigure(
    f"{KEY}/3", "Two students: SGD and its diffusion around the equations", compute, draw, claims, PARAMETERS
)
