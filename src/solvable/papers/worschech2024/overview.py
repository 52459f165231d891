"""Figure 1: with more distinct eigenvalues the plateau shortens and vanishes, and the end slows down."""

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.papers.worschech2024.settings import KEY, excess, problem
from solvable.plot.style import figure
from solvable.results.flat_spans import plateaus

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

ONE_TABLE = table(
    Parameter("width", 2, 2, label="K = M"),
    Parameter("eta", 0.1, 0.1, label="eta"),
    Parameter("beta", 1.0, 1.0, label="beta"),
    Parameter("scale", 0.01, 0.01, label="sigma_J"),
    Parameter("dim", 1024, 1024, label="N"),
    Parameter("distinct", (1, 4, 16, 64), (1, 4, 16, 64), label="L"),
    Parameter("until", 3500.0, 3500.0, label="last alpha"),
    Parameter("runs", UNSAID, 8, why="the caption does not say whether it is SGD or equations, so here are both", label="SGD runs"),
    Parameter("sgd_until", UNSAID, 3500.0, 600.0, "as the equations", "last alpha of SGD"),
    Parameter("sgd_distinct", UNSAID, (1, 4, 16, 64), (1, 4), "all L", "L of SGD"),
    Parameter("start_seed", UNSAID, 3, why="any", label="seed of the weights"),
    Parameter("sgd_seed", UNSAID, 1, why="any", label="seed of SGD"),
    Parameter("outputs", UNSAID, 351, 176, "a smooth line", "outputs"),
)  # fmt: skip


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    given = ONE_TABLE.values(quick)
    times = np.linspace(0, given["until"], given["outputs"])
    equations, heights = [], []
    sgd = np.full((len(given["distinct"]), given["runs"], times.size), np.nan)
    for i, L in enumerate(given["distinct"]):
        setting = problem(given["width"], given["eta"], given["beta"] if L > 1 else 0.0, L, given["dim"])
        first = start(setting, seed=given["start_seed"], scale=given["scale"])
        equations.append(whole(run(setting, first, Macro(rtol=1e-6), times=times)).risk[0])
        heights.append(theory.erf_plateau(setting, first).value.risk)
        if L in given["sgd_distinct"]:
            seen = times[times <= given["sgd_until"]]
            level = Micro(runs=given["runs"], seed=given["sgd_seed"])
            sgd[i, :, : seen.size] = whole(run(setting, first, level, times=seen, progress=False)).risk
    return xarray.Dataset(
        {
            "equations": (("distinct", "time"), equations), "sgd": (("distinct", "run", "time"), sgd),
            "height": ("distinct", heights),
        },
        {"distinct": list(given["distinct"]), "time": times},
    )  # fmt: skip


def draw(data: "xarray.Dataset") -> "Figure":
    picture, ax = figure(1, 1, height=3.2, width=5.0)
    dots = (0, (1, 2))
    for i, (L, line) in enumerate(zip(data["distinct"].values, ("-", "--", "-.", (0, (5, 1))), strict=True)):
        ax.semilogy(data["time"], data["equations"][i], color=f"C{i}", linestyle=line, label=f"$L = {L}$")
        mean = np.exp(np.log(data["sgd"].values[i]).mean(axis=0))
        ax.semilogy(data["time"], mean, color="black", linestyle=dots, linewidth=0.9, zorder=4)
    ax.semilogy(
        [], [], color="black", linestyle=dots, linewidth=0.9, label=f"SGD, geometric mean of {data.sizes['run']} runs"
    )
    ax.set_xlabel("$\\alpha$")
    ax.set_ylabel("generalisation error $\\epsilon_g$")
    ax.set_ylim(1e-5, 0.3)
    ax.legend(fontsize=7, ncols=2)
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    key, times, risks = f"{KEY}/1", data["time"].values, data["equations"].values
    lengths = np.array(
        [sum(one.length for one in plateaus(times, risk) if one.left and one.height < 0.02) for risk in risks]
    )
    at, late = int(np.argmin(np.abs(times - 1000))), times.searchsorted(2500)
    falls = risks[:, late] / risks[:, -1]
    power, exponential = (_misfit(risks, times, straight) for straight in (np.log, np.asarray))
    better = np.log(np.array([exponential[0] / power[0], power[-1] / exponential[-1]]))
    sgd = np.log(data["sgd"].values[:2, :, times.searchsorted(500)] / risks[:2, times.searchsorted(500), None])
    far = np.abs(sgd.mean(axis=1)) / (standard_error(sgd, axis=1))
    return [
        holds(
            key, "the plateau shortens as L grows (largest growth from one L to the next, in units of the length at L = 1)",
            source="figure 1 caption", printed=0.0, found=excess(np.diff(lengths) / lengths[0]), tolerance=0.01,
            evidence="results.flat_spans.plateaus: " + ", ".join(f"{one:.0f}" for one in lengths),
        ),
        holds(
            key, "until it disappears (length at L = 64, in units of that at L = 1)", source="figure 1 caption", printed=0.0,
            found=float(lengths[-1] / lengths[0]), tolerance=0.01, evidence="results.flat_spans.plateaus",
        ),
        holds(
            key, "convergence slows down as L grows (largest growth, from one L to the next, of the ln of the loss's fall)",
            source="figure 1 caption", printed=0.0, found=excess(np.diff(np.log(falls))), tolerance=0.01,
            evidence="from alpha = 2500 to 3500 the loss falls by factors " + ", ".join(f"{one:.3g}" for one in falls),
        ),
        holds(
            key, "from an exponential (L = 1) to a power law (L = 64): ln of its misfit over that of the other law, after 2500, "
            "where positive", source="figure 1 caption", printed=0.0, found=excess(better), tolerance=0.01,
            evidence=f"misfit of the power law over that of the exponential: {power[0] / exponential[0]:.2g} at L = 1, "
            f"{power[-1] / exponential[-1]:.2g} at L = 64",
        ),
        beyond(
            key, "L = 1 and 4 are on their plateau at alpha = 1000 (largest |loss / height - 1|)", expected=0.0,
            found=float(np.abs(risks[:2, at] / data["height"].values[:2] - 1).max()), tolerance=0.03,
            evidence="second route: theory.erf_plateau of these very teachers",
        ),
        beyond(
            key, "L = 1 and 4: SGD is where the equations are (alpha = 500, difference of the logarithms in standard errors)",
            expected=0.0, found=float(far.max()), tolerance=6.0,
            evidence=f"second route: {sgd.shape[1]} runs of SGD; six standard errors are 1 in 2000 at so few runs",
        ),
    ]  # fmt: skip


def _misfit(risks: np.ndarray, times: np.ndarray, straight: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Root mean square of what a straight line leaves of ln(risk) after 2500, against ln(time) or the time itself."""
    late = times >= 2500
    x, y = straight(times[late]), np.log(risks[:, late])
    left = [one - np.polyval(np.polyfit(x, one, 1), x) for one in y]
    found: np.ndarray = np.sqrt(np.mean(np.square(left), axis=1))
    return found


FIGURE = PaperFigure(
    f"{KEY}/1", "From isotropic inputs to a power law: plateau and slow end", compute, draw, claims, ONE_TABLE
)
