"""Teachers of two units, so that tasks may be alike in their features (overlap V of partners), in their readouts (cosine of the
angle between the two units' readouts), or in both. Transfer is what the first task saves the second: the risk of students that
begin with the second, less that of students that learned the first before, as long after they began with it."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.levels import run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.lee2021.settings import KEY, MARKS, RATE, SCALE, SEEDS, points, problem, risks, starts
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

MINE = "our choice"
GRID = (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0)
PARAMETERS = table(
    Parameter("dim", UNREAD, 3000, 1000, f"{MINE}: a third of the time of 10000", "$D$"),
    RATE,
    SCALE,
    Parameter("students", UNREAD, 4, why=f"{MINE}: as many as both tasks have units", label="students"),
    Parameter("readout", UNREAD, (0.8, 0.6), why=f"{MINE}: unit norm, unequal", label="readouts of the first task"),
    Parameter("switch", UNREAD, 100.0, why=MINE, label="switch, in steps/D"),
    Parameter("soon", UNREAD, 10.0, why=f"{MINE}: beginners wait on their plateau", label="steps/D after the switch, transfer"),
    Parameter("features", UNREAD, GRID, GRID[::2], MINE, "$V$ of the equations"),
    Parameter("simulated", UNREAD, GRID[::2], (0.0, 0.5, 1.0), MINE, "$V$ of the simulations"),
    Parameter("readouts", UNREAD, (1.0, 0.75, 0.5, 0.25, 0.0), (1.0, 0.5, 0.0), MINE, "similarity of readouts"),
    Parameter("starts", UNREAD, 16, 8, "standard errors of 0.01 at the largest", "starts of each point"),
    *SEEDS,
)  # fmt: skip


def rows(first: Any, cosine: float) -> tuple[list[float], list[float]]:
    """Readouts of the first task, and the same turned."""
    x, y = first
    sine = np.sqrt(1 - cosine**2)
    return [x, y], [cosine * x - sine * y, cosine * y + sine * x]


def followed(values: Any, features: float, cosine: float, level: Any, *, swapped: bool = False) -> Trajectory:
    """Runs from all starts, with outputs at the switch, soon after it and as long after it as it took; swapped, students begin with
    the second task and are followed for that short time alone."""
    pair = rows(values["readout"], cosine)
    pair = (pair[1], pair[0]) if swapped else pair
    switch, soon = values["switch"], values["soon"]
    here = problem(features, pair, values["students"], values["rate"], values["dim"], switch)
    first = starts(here, values["starts"], values["scale"], values["seed"])
    times = [0.0, soon] if swapped else [0.0, switch, switch + soon, 2 * switch]
    return whole(run_batch(here, first, level, times=times, progress=False))


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    equations, sgd = Macro(rtol=1e-6), Micro(runs=1, seed=values["sgd_seed"])
    features, simulated, cosines = values["features"], values["simulated"], list(values["readouts"])
    arrays = {}
    for kind, level, grid in (("equations", equations, features), ("sgd", sgd, simulated)):
        shape = (len(cosines), len(features), values["starts"])
        forgotten, saved = np.full(shape, np.nan), np.full(shape, np.nan)
        for i, cosine in enumerate(cosines):
            for V in grid:
                both, alone = (followed(values, V, cosine, level, swapped=swapped) for swapped in (False, True))
                at = i, features.index(V)
                forgotten[at] = both.forgetting[:, -1, 0]
                saved[at] = risks(alone)[:, -1, 0] - risks(both)[:, 2, 1]
        arrays[f"forgetting_{kind}"] = (("readout", "feature", "start"), forgotten)
        arrays[f"transfer_{kind}"] = (("readout", "feature", "start"), saved)
    facts = {"switch": values["switch"], "soon": values["soon"], "dim": values["dim"]}
    return xarray.Dataset(
        arrays, {"feature": list(features), "readout": cosines}, {name: str(value) for name, value in facts.items()}
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.9)
    words = {
        "forgetting": f"forgetting, {float(data.attrs['switch']):g} after the switch",
        "transfer": f"transfer, {float(data.attrs['soon']):g} after the switch",
    }
    for ax, name in ((left, "forgetting"), (right, "transfer")):
        for i, cosine in enumerate(data["readout"].values):
            points(ax, data, name, {"readout": cosine}, "feature", i, f"readouts {cosine:g}")
        ax.set_xlabel("similarity of features $V$")
        ax.set_ylabel(words[name])
    right.set_title(f"mean of {data.sizes['start']} starts, $D = {data.attrs['dim']}$", fontsize=8, loc="right")
    right.legend(loc="lower right", fontsize=7, title=MARKS, title_fontsize=7)
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    half = {"feature": 0.5}

    def compared(claim: str, name: str, more: dict[str, float], less: dict[str, float] | None = None) -> Claim:
        """The mean over starts at one point, or by how much it is above that at another, by SGD and by the equations."""
        pair = []
        for kind in ("sgd", "equations"):
            values = data[f"{name}_{kind}"]
            pair.append((values.sel(more) - (0.0 if less is None else values.sel(less))).values)
        error, expected = float(standard_error(pair[0] - pair[1])), float(pair[1].mean())
        near = min(4 * error, 0.5 * expected)  # positive, as the words say: below zero nothing is near
        return beyond(
            FIGURE.key, claim, expected=expected, found=pair[0].mean(), tolerance=near, error=error,
            evidence="the equations from the same starts; found by exact SGD at finite D",
        )  # fmt: skip

    same, other = {"readout": 1.0}, {"readout": 0.0}
    return [
        compared(
            "at V = 0.5 equal readouts are forgotten by so much more than orthogonal ones", "forgetting", half | same, half | other
        ),
        compared(
            "with equal features, readouts of similarity 0.5 are forgotten by so much more than equal ones", "forgetting",
            {"feature": 1.0, "readout": 0.5}, {"feature": 1.0} | same,
        ),
        compared("features of similarity 0.5 alone, with orthogonal readouts, transfer", "transfer", half | other),
        compared("and with equal readouts", "transfer", half | same),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/readouts", "Similar features, similar readouts", compute, draw, claims, PARAMETERS)
