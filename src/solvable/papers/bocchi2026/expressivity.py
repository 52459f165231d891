"""Figure 5: what a student can express grows with its width until it can express every quadratic form."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.papers.bocchi2026.settings import KEY, LINES
from solvable.papers.claims import Claim, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure
from solvable.problems import convention

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("dims", UNSAID, (10, 20, 30), why="the axes are not in the text", label="$N$"),
    Parameter("widths", UNSAID, tuple(range(1, 46)), why="past the largest N", label="$p$"),
    Parameter("counted", UNSAID, (1, 2, 4, 6, 8, 10, 12, 15), why="ranks take the square of p N",
    label="$p$ of ranks at the smallest $N$"),
    Parameter("seed", UNSAID, 0, why="any"),
)  # fmt: skip


def rank(p: int, N: int, seed: int) -> int:
    """Of the derivative of W -> W^T W at random weights: how many directions of quadratic forms a student of width p can take."""
    W = np.random.default_rng([seed, p, N]).standard_normal((p, N))
    step = np.einsum("ki,kj->kij", np.ones((p, N)), W)  # V = e_k e_i^T gives e_i w_k^T
    every = np.zeros((p, N, N, N))
    for i in range(N):
        every[:, i, i] = step[:, i]
    every += every.swapaxes(2, 3)
    return int(np.linalg.matrix_rank(every.reshape(p * N, N * N)))


def compute(quick: bool) -> "xarray.Dataset":
    """A formula, and ranks at the smallest N."""
    import xarray

    values = PARAMETERS.values(quick)
    dims, widths, some, setting = values["dims"], values["widths"], values["counted"], convention(KEY)
    found = [
        [theory.degrees_of_freedom(setting.problem(p=p, p_star=1, eta=0.01, N=N)).value for p in widths] for N in dims
    ]
    return xarray.Dataset(
        {
            "degrees_of_freedom": (("dim", "width"), found),
            "rank": ("counted", [rank(p, dims[0], values["seed"]) for p in some]),
        },
        {"dim": list(dims), "width": list(widths), "counted": list(some)},
    )


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(height=2.8, width=4.2)
    for i, dim in enumerate(data["dim"].values):
        ax.plot(
            data["width"],
            data["degrees_of_freedom"].sel(dim=dim),
            label=f"$N = {dim}$",
            color=f"C{i}",
            linestyle=LINES[i],
        )
        ax.axhline(dim * (dim + 1) / 2, color=f"C{i}", linestyle=":", linewidth=0.9)
    ax.plot(
        data["counted"],
        data["rank"],
        color="C0",
        linestyle="",
        marker="o",
        markersize=4,
        label="rank at random weights",
    )
    ax.plot([], [], color="0.4", linestyle=":", linewidth=0.9, label="$N(N+1)/2$")
    ax.set_xlabel("student width $p$")
    ax.set_ylabel("degrees of freedom")
    ax.set_xlim(1, 45)
    ax.set_ylim(bottom=0)
    ax.legend(loc="center right", bbox_to_anchor=(1.0, 0.68))
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    N, rank = int(data["dim"][0]), data["rank"]
    evidence = "rank of the derivative of W^T W at random weights"
    narrow, wide = 6, int(data["counted"].max())
    return [
        holds(
            FIGURE.key, f"for p <= N: N p - p (p - 1)/2 (N = {N}, p = {narrow})", source="section 7.5.1",
            printed=N * narrow - narrow * (narrow - 1) / 2, found=float(rank.sel(counted=narrow)), tolerance=0, evidence=evidence,
        ),
        holds(
            FIGURE.key, f"for p > N it saturates at N (N + 1)/2, all symmetric matrices (N = {N}, p = {wide})",
            source="section 7.5.1", printed=N * (N + 1) / 2, found=float(rank.sel(counted=wide)), tolerance=0, evidence=evidence,
        ),
        holds(
            FIGURE.key, "the lines are these counts (largest difference of ranks from the line)", source="figure 5", printed=0.0,
            found=float(np.abs(rank.values - data["degrees_of_freedom"].values[0, rank["counted"].values - 1]).max()), tolerance=0,
            evidence=evidence,
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/5", "Degrees of freedom of the student", compute, draw, claims, PARAMETERS)
