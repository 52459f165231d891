"""Soft committee machines that can, can more than, and cannot do what their teacher does, and teachers of different lengths.

Two students of two teachers, three of two, two of three, and three of three teachers whose squared lengths are 1, 2 and 3: they are
found one after the other, the longest first. SGD at finite dimension beside the equations."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.papers.saad1995.settings import ANY, KEY, OURS, committee, small_start
from solvable.plot.style import figure, legend_above, letter, stroke
from solvable.theory import erf_plateau

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

NAMES = ("realizable", "over-realizable", "unrealizable", "graded teachers")
PARAMETERS = table(
    Parameter("students", UNREAD, (2, 3, 2, 3), why=OURS, label="K"),
    Parameter("teachers", UNREAD, (2, 2, 3, 3), why=OURS, label="M"),
    Parameter("lengths", UNREAD, (1.0, 2.0, 3.0), why="they differ clearly", label="squared lengths of graded teachers"),
    Parameter("rate", UNREAD, 0.3, why="far below the greatest stable one", label="η"),
    Parameter("norm", UNREAD, 0.5, why="a start of order one", label="largest first Q"),
    Parameter("lean", UNREAD, 0.02, 0.05, why="of the order of what is random at this dimension", label="largest first R"),
    Parameter("dim", UNREAD, 4000, 2000, why="so large that runs hardly differ", label="N of SGD"),
    Parameter("runs", UNREAD, 16, 8, why="errors of the mean below two per cent", label="runs of SGD"),
    Parameter("until", UNREAD, 1500.0, why="all plateaus are left", label="last α"),
    Parameter("followed", UNREAD, 600.0, 150.0, why="what follows is slow", label="last α of SGD"),
    Parameter("settled", UNREAD, 200.0, why="the symmetric subspace is at rest, its instability not yet seen",
              label="rate × α of the plateau"),
    Parameter("seed", UNREAD, 3, why=ANY),
)  # fmt: skip
POINTS, LOOKS = 151, 9


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    times, samples = np.linspace(0, values["until"], POINTS), np.linspace(0, values["followed"], LOOKS)
    risks, beside, runs, lengths = [], [], [], ((), (), (), values["lengths"])
    for K, M, length in zip(values["students"], values["teachers"], lengths, strict=True):
        here = committee(K, M, values["rate"], length, values["dim"])
        first = small_start(here, values["norm"], values["lean"], values["seed"])
        risks.append(run(here, first, Macro(), times=times).risk[0])
        beside.append(run(here, first, Macro(), times=samples).risk[0])
        level = Micro(runs=values["runs"], seed=values["seed"])
        runs.append(whole(run(here, first, level, times=samples, progress=False)).risk)
    plateaus = [_plateau(M, values["settled"]) for M in (2, 3)]
    return xarray.Dataset(
        {
            "equations": (("scenario", "time"), risks),
            "beside": (("scenario", "sample"), beside),
            "sgd": (("scenario", "run", "sample"), runs),
            "plateau": (("teachers", "route"), plateaus),
        },
        {"scenario": list(NAMES), "time": times, "sample": samples, "teachers": [2, 3], "route": ["run", "closed"]},
        {name: values[name] for name in ("dim", "rate", "students", "teachers")},
    )


def _plateau(M: int, settled: float) -> tuple[float, float]:
    """Its height at small rates, by following equal students, and in closed form."""
    here = committee(M, M, 1.0)
    first = start(here, student_overlap=np.full((M, M), 0.2), cross_overlap=np.full((M, M), 0.05))
    followed = run(here, first, Macro(small_rate=True, rtol=1e-13), times=[settled])
    return float(followed.risk[0, -1]), float(erf_plateau(here, first).value.risk)


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.8, sharey=True)
    for i, name in enumerate(NAMES):
        ax, K, M = axes[i // 2], data.attrs["students"][i], data.attrs["teachers"][i]
        ax.semilogy(data["time"], data["equations"][i], label=f"{name} $K={K}$, $M={M}$", **stroke(i))
        mean, error = _mean(data["sgd"].values[i])
        ax.errorbar(data["sample"], mean, error, color=f"C{i}", fmt="os^v"[i], markersize=3, label=f"{name}, SGD")
    for ax, name in zip(axes, "ab", strict=True):
        letter(ax, name)
        ax.set(xlabel="$\\alpha$ = steps/$N$", xlim=(0, None), ylim=(1e-7, 2))
    axes[0].set(ylabel="generalization error")
    legend_above(picture, [one for ax in axes for one in ax.get_legend_handles_labels()[0]], 4)
    axes[1].set_title(f"$\\eta = {data.attrs['rate']}$; SGD at $N = {data.attrs['dim']}$", fontsize=8, loc="right")
    return picture


def _mean(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return runs.mean(axis=0), standard_error(runs, axis=0)


def claims(data: "xarray.Dataset") -> list[Claim]:
    risk, sgd, plateau = (data[name].values for name in ("equations", "sgd", "plateau"))
    mean, error = _mean(np.moveaxis(sgd, 1, 0))
    gap = np.abs(mean - data["beside"].values)
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
    left = risk[:, -1] / risk[:, 0]
    can = int(np.argmax(left[[0, 1, 3]]))
    return [
        holds(
            FIGURE.key, "the equations describe the generalization error (largest difference of the mean of SGD)",
            source="abstract: equations", printed=0.0, found=gap[worst], error=error[worst], tolerance=0.01,
            evidence=f"{sgd.shape[1]} runs at N = {data.attrs['dim']}, four scenarios",
        ),
        holds(
            FIGURE.key, "what is realizable is learned (largest share of the first error that is left)",
            source="abstract: scenarios", printed=0.0, found=left[[0, 1, 3]][can], tolerance=1e-3,
            evidence=f"equations; realizable {left[0]:.1g}, over-realizable {left[1]:.1g}, graded {left[3]:.1g}; "
            f"unrealizable {left[2]:.2g}",
        ),
        *(
            beyond(
                FIGURE.key, f"height of the symmetric plateau of {M} students and teachers at small rates", expected=closed,
                found=found, tolerance=1e-11 * closed,
                evidence="closed form against following equal students, to the error of integration",
            )
            for M, (found, closed) in zip(data["teachers"].values, plateau, strict=True)
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/scenarios", "What a committee can learn", compute, draw, claims, PARAMETERS)
