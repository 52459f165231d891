"""What noise on the labels leaves: with more students than the teacher has units the final error rises if the first layer alone
learns, and does not if both do.

erf units, the mean over starts. With one trained layer superfluous students cannot be switched off and fit noise; slowly, in pairs
of opposite sign, they find each other, so that the error at a finite time is shown."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run, run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.goldt2019.settings import ANY, KEY, OURS, first, problem
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke
from solvable.theory import noise_floor

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("widths", UNREAD, (2, 3, 4, 5, 6, 8), (2, 3, 4, 6), why=OURS, label="K"),
    Parameter("teachers", UNREAD, 2, why=OURS, label="M"),
    Parameter("rate", UNREAD, 0.2, why="far below the greatest stable one", label="η"),
    Parameter("noise", UNREAD, 0.01, why="a tenth of the teacher's output in size", label="variance of label noise"),
    Parameter("norm", UNREAD, 0.5, why="a start of order one", label="first Q"),
    Parameter("lean", UNREAD, 0.05, why="so that plateaus are short", label="largest first R"),
    Parameter("starts", UNREAD, 16, 6, why="final errors differ from start to start", label="starts"),
    Parameter("until", UNREAD, 3000.0, 1500.0, why="fast relaxation is over", label="last α"),
    Parameter("dim", UNREAD, 2000, 1000, why="so large that runs hardly differ", label="N of SGD"),
    Parameter("runs", UNREAD, 8, 4, why="errors of the mean of a few per cent", label="runs of SGD"),
    Parameter("followed", UNREAD, 200.0, 100.0, why="a tenth of the time, for SGD", label="last α of SGD"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
LAYERS = ("first layer", "both layers")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    ends = np.empty((2, len(values["widths"]), values["starts"]))
    for i, j in np.ndindex(ends.shape[:2]):
        here = problem(values["widths"][j], values["teachers"], values["rate"], values["noise"], bool(i))
        starts = [
            first(here, values["norm"], values["lean"], 100 * values["seed"] + k) for k in range(values["starts"])
        ]
        ends[i, j] = run_batch(here, starts, Macro(rtol=1e-6), times=[values["until"]]).risk[:, -1]
    curves, runs, times = [], [], np.linspace(0, values["followed"], 11)
    for both in (False, True):
        here = problem(3, values["teachers"], values["rate"], values["noise"], both, values["dim"])
        begin = first(here, values["norm"], values["lean"], values["seed"])
        curves.append(run(here, begin, Macro(), times=times).risk[0])
        level = Micro(runs=values["runs"], seed=values["seed"])
        runs.append(whole(run(here, begin, level, times=times, progress=False)).risk)
    floor = noise_floor(problem(values["teachers"], values["teachers"], values["rate"], values["noise"], False)).value
    return xarray.Dataset(
        {
            "end": (("layers", "width", "start"), ends),
            "equations": (("layers", "time"), curves),
            "sgd": (("layers", "run", "time"), runs),
        },
        {"layers": list(LAYERS), "width": list(values["widths"]), "time": times},
        {"floor": float(floor), **{name: values[name] for name in ("dim", "until", "teachers", "noise")}},
    )


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return values.mean(axis=-1), standard_error(values, axis=-1)


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    widths = data["width"].values
    for i, layers in enumerate(LAYERS):
        mean, error = _mean(data["end"].values[i])
        left.errorbar(
            widths, mean, error, capsize=2, label=f"{layers} learns" if i == 0 else f"{layers} learn", **stroke(i)
        )
        right.semilogy(data["time"], data["equations"][i], label=f"{layers}, equations", **stroke(i))
        mean, error = _mean(data["sgd"].values[i].T)
        right.errorbar(data["time"], mean, error, color=f"C{i}", fmt="os"[i], markersize=3, label=f"{layers}, SGD")
    left.axhline(data.attrs["floor"], color="black", linewidth=0.8, label="$K = M$, closed form")
    left.set(
        xlabel="$K$",
        ylabel=f"error at $\\alpha = {data.attrs['until']:g}$",
        ylim=(0, 1.7 * float(data["end"].mean("start").max())),
    )
    right.set(xlabel="$\\alpha$ = steps/$N$", ylabel="error, $K = 3$", ylim=(None, 20 * float(data["equations"].max())))
    left.set_title(f"$M = {data.attrs['teachers']}$, noise {data.attrs['noise']}", fontsize=8, loc="right")
    right.set_title(f"SGD at $N = {data.attrs['dim']}$", fontsize=8, loc="right")
    for ax, name in zip((left, right), "ab", strict=True):
        letter(ax, name)
        ax.legend(loc="upper right")
    left.legend(loc="upper left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    widths, ends = data["width"].values, data["end"].values
    (one, both), errors = ends.mean(axis=-1), standard_error(ends, axis=-1)
    mean, error = _mean(np.moveaxis(data["sgd"].values, 1, -1))
    gap = np.abs(mean - data["equations"].values)
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
    words = [", ".join(f"{K}: {x:.2g}" for K, x in zip(widths, line, strict=True)) for line in (one, both)]
    return [
        holds(
            FIGURE.key, "the final error increases with size when the first layer alone learns (correlation of width and error)",
            source="abstract: first layer", printed=1.0, found=np.corrcoef(widths, one)[0, 1], tolerance=0.2,
            evidence=f"erf, {ends.shape[-1]} starts; {words[0]}",
        ),
        holds(
            FIGURE.key, "it stays constant or decreases when both layers learn (error of the widest over that of the narrowest)",
            source="abstract: both layers", printed=1.0, found=both[-1] / both[0],
            error=both[-1] / both[0] * float(np.hypot(errors[1, -1] / both[-1], errors[1, 0] / both[0])), tolerance=0.5,
            evidence=f"erf, {ends.shape[-1]} starts; {words[1]}",
        ),
        holds(
            FIGURE.key, "differential equations capture SGD (largest difference of the mean error, over the first error)",
            source="abstract: equations", printed=0.0, found=gap[worst] / data["equations"].values.max(),
            error=error[worst] / data["equations"].values.max(), tolerance=0.02,
            evidence=f"{data['sgd'].shape[1]} runs at N = {data.attrs['dim']}, three students",
        ),
        beyond(
            FIGURE.key, "the error of as many students as teachers is the closed noise floor", expected=data.attrs["floor"],
            found=one[0], tolerance=0.03 * data.attrs["floor"],
            evidence="closed form to first order in the noise, against late runs",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/widths", "Wider students and noisy labels", compute, draw, claims, PARAMETERS)
