"""Figure 17: the height of the plateau by the equations and by (95), and how good the formulas are as eigenvalues become many."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024 import committees
from solvable.papers.worschech2024.committees import RATE, SCALE, SPECTRUM
from solvable.papers.worschech2024.settings import KEY
from solvable.plot.style import figure, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("M", 4, 4, label="K = M"),
    Parameter("counts", (2, 8, 10, 12), (2, 8, 10, 12), label="L"),
    Parameter("N", 7000, (7000, 7000, 7000, 6996), why="7000 is not a multiple of 12"),
    RATE,
    SPECTRUM,
    SCALE,
    Parameter("seed", UNSAID, 1, why="one initialisation", label="initialisation"),
    Parameter(
        "many", UNSAID, (2, 4, 8, 12, 30, 100, 300, 1000), (2, 12, 100), "panel b, which the paper does not have", "L of b"
    ),
    Parameter("teachers", UNSAID, 40, 5, "panel b", "teachers of b"),
)  # fmt: skip
TIMES = np.arange(0, 1751, 25.0)
FORMS = ("(95)", "(99), printed", "(99), corrected")


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    use = PARAMETERS.values(quick)
    M, rates = use["M"], {"eta": use["eta"], "beta": use["beta"]}
    settings = [committees.setting(M, L, N, **rates) for L, N in zip(use["counts"], use["N"], strict=True)]
    courses = [committees.follow(one, use["seed"], TIMES, use["sigma"]) for one in settings]
    wide = committees.follow(committees.setting(M, 100, 7000, **rates), use["seed"], TIMES, use["sigma"])
    errors = [_errors(committees.setting(M, L, 7000, **rates), use["teachers"]) for L in use["many"]]
    return xarray.Dataset(
        {
            "risk": (("distinct", "time"), [course.risk for course in courses]),
            "height": ("distinct", [course.place.risk for course in courses]),
            "printed": ("distinct", [theory.rowwise_plateau(one.problem, one.first).value.risk for one in courses]),
            "errors": (("many", "teacher", "form"), errors),
            "wide": ("time", wide.risk / wide.place.risk),
        },
        {"distinct": list(use["counts"]), "time": TIMES, "many": list(use["many"]), "form": list(FORMS)},
    )


def _errors(one: Problem, count: int) -> np.ndarray:
    """(teacher, form) relative errors of the plateau's risk."""
    found = []
    for seed in range(count):
        first = start(one, seed=seed)
        forms = (
            theory.rowwise_plateau(one, first),
            theory.uniform_plateau(one, first, printed=True),
            theory.uniform_plateau(one, first),
        )
        found.append([form.value.risk / theory.erf_plateau(one, first).value.risk - 1 for form in forms])
    return np.array(found)


def draw(data: "xarray.Dataset") -> "Figure":
    from matplotlib.lines import Line2D

    picture, (left, right) = figure(1, 2, height=3.0)
    for i, L in enumerate(data["distinct"].values):
        left.plot(data["time"], 1e3 * data["risk"][i], color=f"C{i}", label=f"$L = {L}$")
        left.axhline(1e3 * float(data["printed"][i]), color="black", linestyle="--", linewidth=0.8, zorder=3)
    heights = 1e3 * data["printed"].values
    margin = 0.5 * np.ptp(heights)
    left.set_ylim(heights.min() - margin, heights.max() + margin)
    left.set_xlim(0, 1750)
    left.set_ylabel("$10^3\\,\\epsilon_g$")
    left.set_xlabel("$\\alpha$")
    lines, _ = left.get_legend_handles_labels()
    lines.append(Line2D([], [], color="black", linestyle="--", linewidth=0.8, label="(95)"))
    left.legend(handles=lines, fontsize=7, ncols=3, loc="upper right")
    for form, marker, colour in zip(FORMS, "os^", ("C0", "C1", "C2"), strict=True):
        size = np.sqrt((data["errors"].sel(form=form) ** 2).mean("teacher"))
        right.loglog(data["many"], size, marker=marker, color=colour, label=form)
    right.set_xlabel("$L$")
    right.set_ylabel("relative error of $\\epsilon_g^*$, rms over teachers")
    right.set_ylim(top=300)
    right.legend(fontsize=7, ncols=2, loc="upper left")
    letter(left, "a")
    letter(right, "b")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    waits = _flat(data["risk"].values)
    return [
        holds(
            FIGURE.key, "(95) gives the height of the plateau for L = 2, 8, 10, 12 (largest difference from the equations)",
            source="section C.2", printed=0.0, found=float(np.abs(waits - data["printed"].values).max()), tolerance=2e-6,
            evidence="equations where they are flattest; tolerance: a fifth of the ticks of the paper's axis",
        ),
        beyond(
            FIGURE.key, "the exact fixed point, at L = 100 too, where powers of the covariance fail in double precision "
            "(equations over it)",
            expected=1.0, found=float(_flat(data["wide"].values[None])[0]), tolerance=0.005,
            evidence="theory.erf_plateau against the equations",
        ),
    ]  # fmt: skip


def _flat(rows: np.ndarray) -> np.ndarray:
    """Values where the curves are flattest."""
    places = np.abs(np.diff(np.log(rows), axis=1)).argmin(axis=1)
    return np.take_along_axis(rows, places[:, None], axis=1)[:, 0]


FIGURE = PaperFigure(f"{KEY}/17", "Height of the plateau and its formulas", compute, draw, claims, PARAMETERS)
