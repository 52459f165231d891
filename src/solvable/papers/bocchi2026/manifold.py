"""Figure 6: the set of zero-error students has a dimension that grows linearly with the width."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.papers.bocchi2026.settings import KEY, LINES, problem
from solvable.papers.claims import Claim, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("teachers", UNSAID, (1, 3, 5, 8), why="the curves are not in the text", label="$p^*$"),
    Parameter("widths", UNSAID, tuple(range(1, 21)), why="the axis is not in the text", label="$p$"),
    Parameter("seed", UNSAID, 0, why="any"),
)


def rank(p: int, q: int, seed: int) -> int:
    """Of the velocities of a random solution S W* under all rotations of the students: how many directions it can move in."""
    frame = np.linalg.qr(np.random.default_rng([seed, p, q]).standard_normal((p, q)))[0]
    rows, columns = np.triu_indices(p, 1)
    turned = np.zeros((rows.size, p, q))
    turned[np.arange(rows.size), rows] = frame[columns]
    turned[np.arange(rows.size), columns] = -frame[rows]
    return int(np.linalg.matrix_rank(turned.reshape(rows.size, p * q))) if rows.size else 0


def compute(quick: bool) -> "xarray.Dataset":
    """A formula, and ranks."""
    import xarray

    values = PARAMETERS.values(quick)
    teachers, widths, seed = values["teachers"], values["widths"], values["seed"]
    found = [[theory.solution_dimension(problem(p, q)).value if p >= q else np.nan for p in widths] for q in teachers]
    ranks = [[rank(p, q, seed) if p >= q else np.nan for p in widths] for q in teachers]
    return xarray.Dataset(
        {"dimension": (("teachers", "width"), found), "rank": (("teachers", "width"), ranks)},
        {"teachers": list(teachers), "width": list(widths)},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=2.8, width=4.2)
    for i, q in enumerate(data["teachers"].values):
        ax.plot(data["width"], data["dimension"][i], color=f"C{i}", linestyle=LINES[i], label=f"$p^* = {q}$")
        ax.plot(data["width"], data["rank"][i], color=f"C{i}", linestyle="", marker="os^D"[i], markersize=4)
    ax.plot([], [], color="0.4", linestyle="", marker="o", markersize=4, label="rank of rotations")
    ax.set_xlabel("student width $p$")
    ax.set_ylabel("dimension of the zero-error set")
    ax.set_xticks(range(0, 21, 4))
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper left")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    rank = data["rank"]
    evidence = "rank of the velocities of a random solution under rotations"
    gap = np.abs(rank - data["dimension"])
    return [
        holds(
            FIGURE.key, "p p* - p* (p* + 1)/2 directions (p = 6, p* = 3)", source="section 4.1", printed=6 * 3 - 3 * 4 / 2,
            found=float(rank.sel(teachers=3, width=6)), tolerance=0, evidence=evidence,
        ),
        holds(
            FIGURE.key, "positive also at equal widths: p (p - 1)/2 (p = p* = 5)", source="section 4.1", printed=10.0,
            found=float(rank.sel(teachers=5, width=5)), tolerance=0, evidence=evidence,
        ),
        holds(
            FIGURE.key, "phase retrieval, p* = 1: p - 1 (p = 12)", source="section 7.5.2", printed=11.0,
            found=float(rank.sel(teachers=1, width=12)), tolerance=0, evidence=evidence,
        ),
        holds(
            FIGURE.key, "the lines are these counts (largest difference of ranks from the line)", source="figure 6", printed=0.0,
            found=float(gap.max()), tolerance=0, evidence=evidence,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/6", "Dimension of the zero-error set", compute, draw, claims, PARAMETERS)
