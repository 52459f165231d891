"""Figure 4: the string between the start and the teacher, over the training loss. On the flat part straight lines between images
cut through a curved set of zero loss, which leaves the losses that are seen there."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import empirical, landscape
from solvable.numerics.symmetric import to_matrix
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure
from solvable.papers.saraomannelli2020.settings import KEY, log_mean, teacher
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

DIMS, SAMPLES, IMAGES, TOLERANCE = (4, 6, 8), (8, 12, 16, 20), 100, 1e-4


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    many = 2 if quick else 10
    shape = (len(DIMS), len(SAMPLES), many)
    training, population = np.full((2, *shape, IMAGES), np.nan)
    unique, moved, lowest = np.full((3, *shape), np.nan)
    for i, d in enumerate(DIMS):
        for j, n in enumerate(SAMPLES):
            for k in range(many):
                random = np.random.default_rng([d, k])
                units, rows = teacher("unit", 1, d, random), random.standard_normal((max(SAMPLES), d))[:n]
                hills = empirical.TrainingLandscape(rows, units)
                found = landscape.string(hills, hills.identity, hills.solution, images=IMAGES, tolerance=TOLERANCE)
                training[i, j, k], population[i, j, k] = found.energy, hills.population_loss(found.points)
                unique[i, j, k], moved[i, j, k] = empirical.recovered(rows, units), found.moved
                lowest[i, j, k] = np.linalg.eigvalsh(to_matrix(found.points)).min()
    axes = ("dim", "samples", "run")
    return xarray.Dataset(
        {
            "training_loss": ((*axes, "image"), training), "population_loss": ((*axes, "image"), population),
            "unique": (axes, unique), "moved": (axes, moved), "lowest": (axes, lowest),
        },
        {"dim": list(DIMS), "samples": list(SAMPLES), "image": np.arange(1, IMAGES + 1)},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 4, height=2.6, sharey=True)
    images = data["image"].values[:-1]  # the last has no loss
    for j, (ax, n) in enumerate(zip(axes, SAMPLES, strict=True)):
        for i in range(len(DIMS)):
            if np.isfinite(data["moved"].values[i, j]).all():
                for name, line in [("training_loss", "-"), ("population_loss", "--")]:
                    ax.semilogy(images, log_mean(data[name].values[i, j])[:-1], color=f"C{i}", linestyle=line)
        ax.set_title(f"$n = {n}$", fontsize=9, loc="center")
        ax.set_xlabel("image")
        ax.set_ylim(1e-24, 1e3)
        letter(ax, "abcd"[j])
    axes[0].set_ylabel("loss (full: training, dashed: population)")
    for i, d in enumerate(DIMS):
        axes[-1].plot([], [], color=f"C{i}", label=f"$d = {d}$")
    axes[-1].legend(fontsize=7, loc="lower left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    training, population, unique = (data[name].values for name in ("training_loss", "population_loss", "unique"))
    there = np.isfinite(data["moved"].values)
    at, few = 80, (DIMS.index(8), SAMPLES.index(8))
    ratio = np.where(unique == 1, np.log10(training[..., at] / population[..., at]), np.nan)
    clear = np.nanmean(ratio[[0, 0, 2], [2, 3, 3]], axis=1)
    falls = np.diff(training[there][:, : IMAGES // 2], axis=1).max() < 0
    near = (log_mean(training[few])[at], log_mean(population[few])[at])
    return [
        judge(
            FIGURE.key, "d = 8, n = 8: the string is at zero training loss (log10 of the log-mean at image 81; less counts as -10)",
            expected=-10.0, found=max(-10.0, float(np.log10(near[0]))), tolerance=0.5,
            evidence="strings converged to 1e-4 of their length per iteration",
        ),
        judge(
            FIGURE.key, "while the population loss there is still of order one (log10 of the log-mean)",
            expected=0.0, found=float(np.log10(near[1])), tolerance=0.5, evidence="the same strings",
        ),
        judge(
            FIGURE.key, "where the teacher is determined both vanish together (d = 4, n = 16 and 20; d = 8, n = 20: smallest "
            "mean of log10 E_n/E at image 81)",
            expected=-1.0, found=float(clear.min()), tolerance=2.0,
            evidence="data sets that determine the teacher",
        ),
        judge(
            FIGURE.key, "the training loss falls all along the first half of every string (1: it does)",
            expected=1.0, found=float(falls), tolerance=0.0, evidence="minimum energy paths from the start",
        ),
        judge(
            FIGURE.key, "all images are positive semidefinite (smallest eigenvalue)",
            expected=0.0, found=float(np.nanmin(data["lowest"].values)), tolerance=1e-12, evidence="eigenvalues of all images",
            beyond=True,
        ),
        judge(
            FIGURE.key, "strings have converged (largest motion in the last iteration over the length)",
            expected=0.0, found=float(np.nanmax(data["moved"].values)), tolerance=TOLERANCE,
            evidence="landscape.string", beyond=True,
        ),
        judge(
            FIGURE.key, "n = 8: d = 8, below n = 2d - 1, is never determined, d = 4, above, mostly is (difference of the shares)",
            expected=1.0, found=float(np.nanmean(unique[0, 0]) - np.nanmean(unique[2, 0])), tolerance=0.4,
            evidence="certified decisions",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/4", "Strings over the training loss, from the start to the teacher", compute, draw, claims)
