"""A label of information exponent 3 from no overlap at all: batches that are used twice find the teacher, batches that are used
once do not, after as many steps and twice as many samples."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.empirical import Empirical
from solvable.levels import run
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.dandi2024.settings import ANY, KEY, cubic
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, legend_above, letter, stroke
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("unit", UNREAD, "erf", why="an odd unit that no cubic is", label="g"),
    Parameter("repeats", UNREAD, (1, 2, 4), (1, 2), why="once, twice, and more", label="uses of a batch"),
    Parameter("ratio", UNREAD, 2.0, why="batches as large as the dimension, so that uses see each other",
              label="samples per dimension in a batch"),
    Parameter("step", UNREAD, 1.0, why="stable", label="step"),
    Parameter("steps", UNREAD, 24, 8, why="until those that learn have learned half", label="steps"),
    Parameter("dim", UNREAD, 10000, 2000, why="an overlap of 1/√N is small", label="N"),
    Parameter("small", UNREAD, 1000, 500, why="a matrix that fits into memory, as a second route", label="N of drawn matrices"),
    Parameter("runs", UNREAD, 32, 16, why="errors below the effect", label="runs"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
FAR = 5.0  # standard errors


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    found = [_run(values, repeats, values["dim"], "revealed") for repeats in values["repeats"]]
    small = [_run(values, 2, values["small"], form) for form in ("revealed", "full")]
    return xarray.Dataset(
        {
            "cosine": (("repeats", "run", "step"), [_cosine(one) for one in found]),
            "risk": (("repeats", "run", "step"), [one.risk for one in found]),
            "small": (("form", "run", "step"), [_cosine(one) for one in small]),
        },
        {"repeats": list(values["repeats"]), "step": np.arange(values["steps"] + 1), "form": ["revealed", "full"]},
        {name: values[name] for name in ("dim", "ratio", "small", "unit")},
    )


def _run(values: dict[str, object], repeats: int, dim: int, form: str) -> Trajectory:
    problem = cubic(values["unit"], dim, values["ratio"], values["step"], repeats)  # type: ignore[arg-type]
    first = start(problem, student_overlap=[[1.0]], cross_overlap=[[0.0]])
    level = Empirical(runs=values["runs"], seed=values["seed"], form=form)  # type: ignore[arg-type]
    return whole(run(problem, first, level, times=range(values["steps"] + 1), progress=False))  # type: ignore[operator]


def _cosine(found: Trajectory) -> np.ndarray:
    """(run, step) of student and teacher."""
    cosine: np.ndarray = found.cross_overlap[..., 0, 0] / np.sqrt(found.student_overlap[..., 0, 0])
    return cosine


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.6, width=6.4)
    for i, repeats in enumerate(data["repeats"].values):
        name = "once" if repeats == 1 else "twice" if repeats == 2 else f"{repeats} times"
        for ax, values in ((left, data["cosine"].values[i]), (right, data["risk"].values[i])):
            ax.errorbar(
                data["step"], values.mean(axis=0), standard_error(values, axis=0), **stroke(i), label=f"used {name}",
                marker=".",
            )  # fmt: skip
    left.axhline(0, color="0.7", linewidth=0.6)
    left.set(xlabel="steps", ylabel="cosine of student and teacher")
    right.set(xlabel="steps", ylabel="risk")
    for ax, name in ((left, "a"), (right, "b")):
        letter(ax, name)
    handles = left.get_legend_handles_labels()[0]
    legend_above(picture, handles, len(handles))
    right.set_title(f"$N = {data.attrs['dim']}$, batches of ${data.attrs['ratio']:g} N$", fontsize=8, loc="right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    once, twice = data["cosine"].values[0], data["cosine"].values[1]
    ends = [one[:, -1] for one in (once, twice)]
    errors = [float(standard_error(one, axis=0)) for one in ends]
    runs = data.sizes["run"]
    far = np.abs(twice.mean(axis=0)) > FAR * standard_error(twice, axis=0)
    made = [
        holds(
            FIGURE.key, "one pass does not find a target of information exponent 3 (cosine after the last step)",
            source="abstract: exponents", printed=0.0, found=ends[0].mean(), error=errors[0], tolerance=5 * errors[0],
            evidence=f"{runs} runs; batches used twice: {ends[1].mean():.3f} ± {errors[1]:.3f}",
        ),
        holds(
            FIGURE.key, f"with batches used twice, the first step at which the cosine is {FAR:g} standard errors from zero",
            source="abstract: two steps", printed=2.0, found=float(np.argmax(far)) if far.any() else np.inf, tolerance=0.5,
            evidence=", ".join(f"after {i}: {twice[:, i].mean():.4f} ± {standard_error(twice[:, i], axis=0):.4f}" for i in (1, 2)),
        ),
    ]  # fmt: skip
    for step, words in ((2, "two steps"), (-1, "the last step")):
        revealed, full = (one[:, step] for one in data["small"].values)
        apart = float(np.hypot(standard_error(revealed, axis=0), standard_error(full, axis=0)))
        made.append(
            beyond(
                FIGURE.key, f"cosine after {words} by a matrix that is never drawn, batches used twice", expected=full.mean(),
                found=revealed.mean(), error=apart, tolerance=4.5 * apart,
                evidence=f"drawn matrices at N = {data.attrs['small']}, {runs} runs each",
            )
        )  # fmt: skip
    return made


FIGURE = PaperFigure(f"{KEY}/twice", "A batch used twice", compute, draw, claims, PARAMETERS)
