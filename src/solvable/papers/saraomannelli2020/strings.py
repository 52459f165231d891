"""Figure 4: the string between the start and the teacher, over the training loss. On the flat part straight lines between images
cut through a curved set of zero loss, which leaves the losses that are seen there."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import empirical, landscape
from solvable.papers.claims import Claim, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.saraomannelli2020.settings import KEY, LINES, follow, log_mean, losses, teacher
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dims", (4, 6, 8), (4, 6, 8), label="$d$"),
    Parameter("samples", (8, 12, 16, 20), (8, 12, 16, 20), label="$n$"),
    Parameter("width", 1, 1, label="$m^*$"),
    Parameter("images", 100, 100, label="images of a string"),
    Parameter("strings", 10, 10, 2, label="realisations"),
    Parameter("tolerance", UNSAID, 1e-4, why="motion in one iteration over the length", label="convergence of a string"),
    Parameter("seed", UNSAID, 0, why="any"),
)  # fmt: skip
VANISHED = 1e-6  # of the training loss, over its first: what gradient descent leaves behind at zero loss


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    dims, samples, many, images = (values[name] for name in ("dims", "samples", "strings", "images"))
    shape = (len(dims), len(samples), many)
    training, population = np.full((2, *shape, images), np.nan)
    unique, ends = np.full((2, *shape), np.nan)
    for i, d in enumerate(dims):
        for k in range(many):
            random = np.random.default_rng([values["seed"], d, k])
            units, rows = teacher("unit", values["width"], d, random), random.standard_normal((max(samples), d))
            for j, n in enumerate(samples):
                hills = empirical.TrainingLandscape(rows[:n], units)
                found = landscape.string(
                    hills, hills.identity, hills.solution, images=images, tolerance=values["tolerance"]
                )
                training[i, j, k], population[i, j, k] = found.energy, hills.population_loss(found.points)
                unique[i, j, k] = empirical.recovered(rows[:n], units)
                ends[i, j, k] = losses(follow(rows[:n], units, np.array([1e4])))[1][0]
    axes = ("dim", "samples", "run")
    return xarray.Dataset(
        {
            "training_loss": ((*axes, "image"), training), "population_loss": ((*axes, "image"), population),
            "unique": (axes, unique), "flow_end": (axes, ends),
        },
        {"dim": list(dims), "samples": list(samples), "image": np.arange(1, images + 1)},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 4, height=2.8, sharey=True)
    images = data["image"].values[:-1]  # the last has no loss
    colours = {4: "C1", 6: "C4", 8: "C0"}  # red, purple and blue, as in the paper
    for j, (ax, n) in enumerate(zip(axes, data["samples"].values, strict=True)):
        for i, d in enumerate(data["dim"].values):
            for name, line in [("training_loss", LINES[0]), ("population_loss", LINES[1])]:
                ax.semilogy(images, log_mean(data[name].values[i, j])[:-1], color=colours[int(d)], linestyle=line)
        ax.set_title(f"$n = {n}$", fontsize=9, loc="center")
        ax.set_xlabel("image of the string")
        ax.set_ylim(1e-24, 1e3)
        letter(ax, "abcd"[j])
    axes[0].set_ylabel("loss")
    for d, colour in colours.items():
        axes[-1].plot([], [], color=colour, label=f"$d = {d}$")
    for name, line in [("training, $E_n$", LINES[0]), ("population, $E$", LINES[1])]:
        axes[-1].plot([], [], color="0.4", linestyle=line, label=name)
    axes[-1].legend(fontsize=7, loc="lower left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    training, population = data["training_loss"].values, data["population_loss"].values
    gone = np.argmax(training < VANISHED * training[..., :1], axis=-1)  # the last image has no loss at all
    there = np.take_along_axis(population, gone[..., None], axis=-1)[..., 0]
    d, n = data["dim"].values[:, None, None], data["samples"].values[:, None]
    far_below, above = (n <= d) & (data["unique"].values < 1), (n >= 2 * d + 4) & (data["unique"].values > 0)
    many = data.sizes["run"]
    return [
        holds(
            FIGURE.key, "n = d = 8: the string comes to zero training loss where gradient descent does (median ratio of E there)",
            source="section 6", printed=1.0, found=float(np.median((there / data["flow_end"].values)[far_below])), tolerance=0.05,
            evidence=f"gradient flow to t = 10^4 on the same {many} data sets",
        ),
        holds(
            FIGURE.key, "n > 2 d - 1: only at the teacher (n >= 2 d + 4: median of E where E_n vanishes, over the first E)",
            source="figure 4", printed=0.0, found=float(np.median((there / population[..., 0])[above])), tolerance=0.003,
            evidence="0.1 for n = d = 8; data sets that certificates say determine the teacher",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/4", "Strings over the training loss, from the start to the teacher", compute, draw, claims, PARAMETERS
)
