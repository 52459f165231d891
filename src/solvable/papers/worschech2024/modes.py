"""Figures 10 to 12: the modes of linear units at any rate: their shares, and how far they lie from the eigenvalues of the inputs.

The paper's B = 2 A_1 + eta U has the eigenvalues -|lambda_B| that `theory.linear_modes` gives as rates, eta |lambda_B|; its b_k sum
to one as the weights do. At small rates |lambda_B| is 2 lambda and b is 1/L, so L b |lambda_B| is compared with 2 lambda."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable import theory
from solvable.papers.claims import Claim, beyond, corrected, holds
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import Parameter, Parameters, table
from solvable.papers.worschech2024.settings import KEY, excess, linear
from solvable.plot.style import figure, letter

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TEST = "tests/theory/test_linear_theory.py::test_modes"
DASHES: tuple[Any, ...] = (
    "-",
    "--",
    "-.",
    ":",
    (0, (5, 1)),
    (0, (3, 1, 1, 1)),
    (0, (1, 1)),
    (0, (8, 2)),
    (0, (4, 1, 1, 1)),
)

TEN_TABLE = table(
    Parameter("distinct", (10, 20, 30, 40, 50, 75, 100, 125), (10, 20, 30, 40, 50, 75, 100, 125), label="L"),
    Parameter("betas", (0.1, 1.0), (0.1, 1.0), label="beta (left, right)"),
    Parameter("etas", (1.0, 1.0), (1.0, 1.0), label="eta (left, right)"),
)
ELEVEN_TABLE = table(
    Parameter("distinct", (40,), (40,), label="L"),
    Parameter("betas", (1.0, 0.5, 0.1, 0.01), (1.0, 0.5, 0.1, 0.01), label="beta"),
    Parameter("etas", (0.1, 0.5, 1.0), (0.1, 0.5, 1.0), label="eta (upper left, upper right, center)"),
)
TWELVE_TABLE = table(
    Parameter("distinct", (150, 125, 100, 75, 50, 25, 20, 15, 10), (150, 125, 100, 75, 50, 25, 20, 15, 10), label="L"),
    Parameter("betas", (0.1, 1.0), (0.1, 1.0), label="beta (left, right)"),
    Parameter("etas", (1.0, 0.5), (1.0, 0.5), label="epsilon = eta (left, right)"),
)


def _modes(L: int, beta: float, eta: float) -> np.ndarray:
    """(3, L): |lambda_B|, b, and the eigenvalues of the inputs."""
    setting = linear(eta, beta, L, 1.0)[0]
    found = theory.linear_modes(setting).value
    return np.array([found.rates / eta, found.weights, setting.inputs.eigenvalues])


def _compute(parameters: Parameters, paired: bool, quick: bool) -> "xarray.Dataset":
    """Modes for each L, and for the pairs of beta and eta or for all their combinations."""
    import xarray

    given = parameters.values(quick)
    betas, etas, counts = given["betas"], given["etas"], given["distinct"]
    panels = list(zip(betas, etas, strict=True)) if paired else [(b, e) for e in etas for b in betas]
    modes = np.full((len(panels), len(counts), 3, max(counts)), np.nan)
    for i, (beta, eta) in enumerate(panels):
        for j, L in enumerate(counts):
            modes[i, j, :, :L] = _modes(L, beta, eta)
    return xarray.Dataset(
        {"modes": (("setting", "distinct", "of", "mode"), modes)},
        {
            "distinct": list(counts), "of": ["rate", "weight", "eigenvalue"], "mode": np.arange(1, max(counts) + 1),
            "beta": ("setting", [b for b, _ in panels]), "eta": ("setting", [e for _, e in panels]),
        },
    )  # fmt: skip


def _shares(data: "xarray.Dataset") -> np.ndarray:
    """(setting, distinct, mode) L b |lambda_B|."""
    modes = data["modes"].values
    found: np.ndarray = data["distinct"].values[:, None] * modes[:, :, 0] * modes[:, :, 1]
    return found


def _name(ax: "Axes", beta: float | None, eta: float, text: str) -> None:
    ax.set_title(f"$\\eta = {eta:g}$" + ("" if beta is None else f", $\\beta = {beta:g}$"), fontsize=9, loc="center")
    ax.set_xlabel("$k$")
    letter(ax, text)


def _draw_counts(axes: list["Axes"], data: "xarray.Dataset", curves: np.ndarray, label: str) -> None:
    """A panel per setting, a line per L."""
    for i, ax in enumerate(axes):
        for j, L in enumerate(data["distinct"].values):
            ax.loglog(
                data["mode"], curves[i, j], color=f"C{j % 8}", linestyle=DASHES[j], linewidth=1.2, label=f"$L = {L}$"
            )
        ax.set_ylabel(label)


def draw_ten(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 2, height=2.9)
    _draw_counts(list(axes), data, _shares(data), "$L\\, b_k |\\lambda_{B,k}|$")
    for i, (ax, text) in enumerate(zip(axes, "ab", strict=True)):
        _name(ax, float(data["beta"][i]), float(data["eta"][i]), text)
        ax.legend(fontsize=6, ncols=2)
    return picture


def draw_eleven(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.5)
    shares, betas = _shares(data), len(set(data["beta"].values))
    for panel, (ax, text) in enumerate(zip(axes.flat[:3], "abc", strict=True)):
        for i in range(betas):
            at = panel * betas + i
            ax.loglog(data["mode"], shares[at, 0], color=f"C{i}", label=f"$\\beta = {float(data['beta'][at]):g}$")
            ax.loglog(data["mode"], 2 * data["modes"][at, 0, 2], color=f"C{i}", linestyle="--", linewidth=1.0)
        ax.set_ylabel("$L\\, b_k |\\lambda_{B,k}|$")
        _name(ax, None, float(data["eta"][panel * betas]), text)
    axes[0, 0].loglog([], [], color="0.4", label="$L\\, b_k |\\lambda_{B,k}|$")
    axes[0, 0].loglog([], [], color="0.4", linestyle="--", label="$2 \\lambda_k$")
    axes[1, 1].axis("off")
    axes[1, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="center left", fontsize=8)
    return picture


def draw_twelve(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(2, 2, height=2.7)
    modes = data["modes"].values
    _draw_counts(list(axes[0]), data, modes[:, :, 0], "$|\\lambda_{B,k}|$")
    _draw_counts(list(axes[1]), data, 2 * modes[:, :, 2] - modes[:, :, 0], "$2\\lambda_k - |\\lambda_{B,k}|$")
    for i, (ax, text) in enumerate(zip(axes.flat, "abcd", strict=True)):
        _name(ax, float(data["beta"][i % 2]), float(data["eta"][i % 2]), text)
    axes[0, 0].legend(fontsize=6, ncols=2)
    return picture


def claims_ten(data: "xarray.Dataset") -> list[Claim]:
    key, shares, L = f"{KEY}/10", _shares(data), data["distinct"].values
    sums = np.nansum(shares, axis=-1) / L
    last = np.array([one[count - 1] / one[count - 2] for one, count in zip(shares[0], L, strict=True)])
    return [
        corrected(
            key, "the loss begins at (1 + sigma^2)/2, so b |lambda_B| sum to 2 - eta (largest over beta and L)", source="(56)",
            row="W14", printed=float(L.max()), expected=1.0, found=float(sums.max()), tolerance=1e-9, evidence=TEST,
        ),
        holds(
            key, "left: at rate 1 the power-law decay is destroyed, the last share is above the one before it (by which share "
            "below, where it is)", source="section B.2.1", printed=0.0, found=excess(1 - last), tolerance=0.01,
            evidence=f"the last over the one before: {last.min():.2f} to {last.max():.2f}; a power law has "
            f"{(1 - 1 / L[0]) ** 1.1:.2f} to {(1 - 1 / L[-1]) ** 1.1:.2f}",
        ),
    ]  # fmt: skip


def claims_eleven(data: "xarray.Dataset") -> list[Claim]:
    key, betas = f"{KEY}/11", len(set(data["beta"].values))
    off = np.abs(np.log(_shares(data)[:, 0] / (2 * data["modes"].values[:, 0, 2])))
    largest = off.max(axis=-1).reshape(-1, betas)  # (eta, beta)
    typical = np.median(off, axis=-1).reshape(-1, betas)
    return [
        holds(
            key, "the differences grow with the rate (by how much the largest one falls, where it does)", source="section B.2.1",
            printed=0.0, found=excess(-np.diff(largest, axis=0)), tolerance=0.01,
            evidence=f"largest |ln(L b |lambda_B| / 2 lambda)| at beta = 1: {_listed(largest[:, 0])} at rates 0.1, 0.5, 1",
        ),
        holds(
            key, "the smaller beta, the larger the deviation (by how much the median one falls, where it does)",
            source="section B.2.1", printed=0.0, found=excess(-np.diff(typical, axis=1)), tolerance=0.01,
            evidence=f"median |ln(L b |lambda_B| / 2 lambda)| at rate 1: {_listed(typical[2])} at beta = 1, 0.5, 0.1, 0.01",
        ),
    ]  # fmt: skip


def _listed(values: np.ndarray) -> str:
    return ", ".join(f"{one:.2g}" for one in values)


def claims_twelve(data: "xarray.Dataset") -> list[Claim]:
    key, modes, L = f"{KEY}/12", data["modes"].values, data["distinct"].values
    shifts = 2 * modes[:, :, 2] - modes[:, :, 0]
    below = np.concatenate([modes[:, :, 2, 1:], np.zeros((*modes.shape[:2], 1))], axis=-1)
    below = np.where(np.isnan(below) & ~np.isnan(shifts), 0.0, below)
    with np.errstate(invalid="ignore"):
        inside = (shifts > 0) & (modes[:, :, 0] > 2 * below)
    places = shifts / (2 * (modes[:, :, 2] - below))
    squares = np.nansum(modes[1, :, 2] ** 2, axis=-1) / L
    return [
        beyond(
            key, "every mode lies between two neighbouring eigenvalues, 2 lambda_(k + 1) < |lambda_B| < 2 lambda_k (modes that do)",
            expected=float(2 * L.sum()), found=float(inside.sum()), tolerance=0.0,
            evidence=f"second route: interlacing under a perturbation by one rank; places in the gaps {np.nanmin(places):.1e} to "
            f"{np.nanmax(places):.2f}",
        ),
        corrected(
            key, "right: the modes that enter are those of 2 A_1 + eta U (sum of all shifts over the mean square eigenvalue)",
            source="(6)", row="W14", printed=1.0, expected=0.5, found=float((np.nansum(shifts[1], axis=-1) / squares).max()),
            tolerance=1e-6, evidence=TEST,
        ),
    ]  # fmt: skip


def _figure(
    number: int, title: str, parameters: Parameters, draw: Callable[..., "Figure"], claims: Callable[..., list[Claim]]
) -> PaperFigure:
    return PaperFigure(
        f"{KEY}/{number}", title, lambda quick: _compute(parameters, number != 11, quick), draw, claims, parameters
    )


TEN = _figure(10, "Shares of the modes at rate one", TEN_TABLE, draw_ten, claims_ten)
ELEVEN = _figure(11, "Shares of the modes and the eigenvalues", ELEVEN_TABLE, draw_eleven, claims_eleven)
TWELVE = _figure(12, "How far the modes lie from the eigenvalues", TWELVE_TABLE, draw_twelve, claims_twelve)
