"""How many steps, and how many samples, large batches take to leave mediocrity: squared and correlation loss.

Single-index target of information exponent two, a student on the sphere with the overlap of a random one, finite-size SGD. The rate
of a step is proportional to the batch, so that a sample counts as much in a batch of any size."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.levels import run
from solvable.micro import Micro
from solvable.papers.arnaboldi2024.settings import ANY, KEY, OURS, mediocre, single_index
from solvable.papers.claims import Claim, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, legend_above, letter, stroke

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("order", UNREAD, 2, why=OURS, label="ℓ"),
    Parameter("losses", UNREAD, ("squared", "correlation"), why="both of the abstract"),
    Parameter("dim", UNREAD, 200, why="batches beyond dim^(ℓ/2) stay affordable", label="d"),
    Parameter("batches", UNREAD, (1, 4, 16, 64, 256, 1024, 4096, 16384), (1, 8, 64, 4096), why="both sides of d", label="n_b"),
    Parameter("rate", UNREAD, 0.05, why="small enough for single samples to learn", label="rate over batch"),
    Parameter("samples", UNREAD, 40_000, 20_000, why="several times what learning takes", label="samples of small batches"),
    Parameter("least", UNREAD, 60, why="steps of the largest batches", label="least number of steps"),
    Parameter("level", UNREAD, 0.5, why="mediocrity is left", label="overlap that counts as learned"),
    Parameter("runs", UNREAD, 32, 8, why="medians to a tenth", label="runs"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
LOOKS = 160  # times at which overlaps are looked at


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    steps = np.empty((len(values["losses"]), len(values["batches"]), values["runs"]))
    for i, j in np.ndindex(steps.shape[:2]):
        batch, dim = values["batches"][j], values["dim"]
        here = single_index(values["order"], values["rate"] * batch, dim, loss=values["losses"][i], batch=batch)
        last = values["samples"] // batch + values["least"]
        looks = np.unique(np.rint(np.geomspace(1, last, LOOKS)))
        level = Micro(runs=values["runs"], seed=values["seed"])
        found = whole(run(here, mediocre(here, dim), level, times=looks / dim, progress=False))
        there = np.abs(found.cross_overlap[:, :, 0, 0]) > values["level"]
        steps[i, j] = np.where(there.any(axis=1), looks[np.argmax(there, axis=1)], np.inf)
    return xarray.Dataset(
        {"steps": (("loss", "batch", "run"), steps)},
        {"loss": list(values["losses"]), "batch": list(values["batches"])},
        {name: values[name] for name in ("dim", "order")},
    )


def _medians(data: "xarray.Dataset") -> np.ndarray:
    """(loss, batch) median number of steps, infinite where fewer than half of the runs learned."""
    return np.sort(data["steps"].values, axis=-1)[..., data["steps"].shape[-1] // 2]


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    batches, medians, edge = data["batch"].values, _medians(data), data.attrs["dim"] ** (data.attrs["order"] / 2)
    for i, loss in enumerate(data["loss"].values):
        learned = np.isfinite(medians[i])
        for ax, scale in ((left, np.ones(len(batches))), (right, batches)):
            ax.loglog(
                batches[learned], (scale * medians[i])[learned], marker="os"[i], label=f"{loss} loss", **stroke(i)
            )
    for ax, words, name in ((left, "steps", "a"), (right, "samples", "b")):
        ax.axvline(edge, color="black", linewidth=0.8, label="$d^{\\ell/2}$")
        ax.set(xlabel="batch", ylabel=f"{words} until learned, median")
        letter(ax, name)
    legend_above(picture, left.get_legend_handles_labels()[0], 3)
    never = batches[~np.isfinite(medians[0])]
    note = f"squared loss: not learned from {never[0]} on" if never.size else ""
    left.set_title(f"$d = {data.attrs['dim']}$, $\\ell = {data.attrs['order']}$", fontsize=8, loc="right")
    right.set_title(note, fontsize=7, loc="right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    batches, medians, edge = data["batch"].values, _medians(data), data.attrs["dim"] ** (data.attrs["order"] / 2)
    small, largest, runs = batches <= edge, batches[-1], data["steps"].shape[-1]
    learned = np.isfinite(data["steps"].values[:, -1]).mean(axis=-1)
    slope = np.polyfit(np.log(batches[small]), np.log(medians[0, small]), 1)[0]
    return [
        holds(
            FIGURE.key, "up to dim^(l/2) large batches take fewer steps and as many samples (exponent of the steps in the batch)",
            source="abstract: large batches", printed=-1.0, found=slope, tolerance=0.1,
            evidence=f"squared loss, {runs} runs for each of the batches {', '.join(map(str, batches[small]))}",
        ),
        holds(
            FIGURE.key, f"batches far beyond dim^(l/2) are detrimental (share of runs that learn with squared loss at {largest})",
            source="abstract: larger ones", printed=0.0, found=learned[0], tolerance=0.1,
            evidence=f"{runs} runs at the rate that is proportional to the batch",
        ),
        holds(
            FIGURE.key, f"the correlation loss overcomes this (share of runs that learn at {largest})",
            source="abstract: correlation loss", printed=1.0, found=learned[1], tolerance=0.1,
            evidence=f"{runs} runs; median {medians[1, -1]:g} steps, {medians[1, 0]:g} with single samples",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/batches", "Large batches and the correlation loss", compute, draw, claims, PARAMETERS)
