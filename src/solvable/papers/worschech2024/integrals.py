"""Figures 7 to 9: the sum over the spectrum as an integral, what corrects it, and where it is a power of time."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from solvable import theory
from solvable.overlaps import Overlaps
from solvable.papers.claims import Claim, beyond, corrected, holds, refuted
from solvable.papers.figure import PaperFigure
from solvable.papers.parameters import UNSAID, Parameter, Parameters, table
from solvable.papers.worschech2024.settings import KEY, linear
from solvable.plot.style import figure, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEST = "tests/theory/test_power_law.py"
SUM, INTEGRAL, ENDS, BOUND, ONE, LAW, HALF = "sum", "integral", "ends", "bound", "one", "law", "half"
LABELS = {
    SUM: "sum (47)", INTEGRAL: "integral (50)", ENDS: "integral + 0th order", BOUND: "integral + upper bound",
    ONE: "only the first $\\Gamma$ (52)", LAW: "power law (53)", HALF: "half-integer limits (ours)",
}  # fmt: skip
LINES = {SUM: "-", INTEGRAL: "--", ENDS: "-.", BOUND: (0, (1, 1)), ONE: (0, (3, 1, 1, 1)), LAW: (0, (5, 3)), HALF: ":"}
RATE = "one over twice the largest eigenvalue"


class Shown(NamedTuple):
    """The curves of the two panels, in the order of the paper's legends, and ours."""

    left: tuple[str, ...]
    right: tuple[str, ...]


def _table(
    betas: tuple[float, float], etas: tuple[Any, Any], untils: tuple[float, float], *more: Parameter
) -> Parameters:
    return table(
        Parameter("dim", 128, 128, label="N = L"),
        Parameter("variance", 1.0, 1.0, label="sigma_J^2"),
        Parameter("betas", betas, betas, label="beta (left, right)"),
        Parameter("etas", etas, etas, label="eta (left, right)"),
        Parameter("untils", UNSAID, untils, why="the ends of the paper's axes", label="last alpha (left, right)"),
        *more,
    )


SMALL = Parameter("small_dim", UNSAID, 10, why="the paper says of the order of ten", label="a moderate N")
SEVEN_TABLE = _table((0.5, 0.5), (RATE, 1e-5), (20.0, 3000.0), SMALL)
EIGHT_TABLE = _table((0.5, 0.01), (0.01, 0.01), (100.0, 100.0))
NINE_TABLE = _table((1.0, 0.01), (0.01, 0.01), (40.0, 40.0))


def _curves(dim: int, variance: float, beta: float, eta: float, times: np.ndarray) -> np.ndarray:
    """(curve, time) in the order of LABELS."""
    setting, first = linear(eta, beta, dim, variance)
    total = theory.linear_risk(setting, first, times, small_rate=True).value
    integral, one, law, half = (
        theory.power_law_risk(setting, first, times, limits=limits).value
        for limits in ((1, dim), (0, dim), (0, np.inf), None)
    )
    ends = theory.power_law_ends(setting, first, times).value
    bound = theory.power_law_gap(setting, first).value
    return np.array([total, integral, integral + ends, integral + bound, one, law, half])


def _compute(parameters: Parameters, quick: bool) -> "xarray.Dataset":
    import xarray

    given = parameters.values(quick)
    rows, times, windows = [], [], []
    for beta, eta, until in zip(given["betas"], given["etas"], given["untils"], strict=True):
        top = float(linear(1.0, beta, given["dim"], 1.0)[0].inputs.eigenvalues.max())
        rate = 1 / (2 * top) if eta == RATE else float(eta)
        begin, end = theory.power_law_window(linear(rate, beta, given["dim"], 1.0)[0]).value
        times.append(np.geomspace(1.0, until, 101))
        rows.append(_curves(given["dim"], given["variance"], beta, rate, times[-1]))
        windows.append([rate, top, begin, end])
    return xarray.Dataset(
        {
            "risk": (("panel", "curve", "point"), rows),
            "time": (("panel", "point"), times),
            "of_panel": (("panel", "what"), windows),
        },
        {"curve": list(LABELS), "beta": ("panel", list(given["betas"])), "what": ["rate", "top", "begin", "end"]},
        {"dim": given["dim"]},
    )


def _draw(data: "xarray.Dataset", shown: Shown) -> "Figure":
    """The paper's panels, and under each what its curves differ by from the sum."""
    picture, axes = figure(2, 2, height=2.4, sharex="col")
    for column, names in enumerate(shown):
        risk, times = data["risk"][column].sel(curve=list(names)).values, data["time"][column].values
        upper, lower = axes[:, column]
        for j, name in enumerate(names):
            look: dict[str, Any] = {"color": f"C{list(LABELS).index(name)}", "linestyle": LINES[name]}
            upper.loglog(times, risk[j], **look, label=LABELS[name])
            if j:
                lower.semilogx(times, 100 * (risk[j] / risk[0] - 1), **look)
        rate, _, begin, _ = data["of_panel"][column].values
        if times[0] < begin < times[-1]:
            upper.axvline(begin, color="0.7", linewidth=0.7, label="$\\alpha = 1/(2\\eta\\lambda_+)$")
            lower.axvline(begin, color="0.7", linewidth=0.7)
        shown_rate = "10^{-5}" if rate == 1e-5 else f"{rate:.3g}"
        upper.set_title(f"$\\beta = {float(data['beta'][column]):g}$, $\\eta = {shown_rate}$", fontsize=9, loc="center")
        upper.legend(fontsize=6.5)
        lower.axhline(0, color="0.6", linewidth=0.6)
        lower.set_xlabel("$\\alpha$")
    for ax, text in zip(axes.flat, "abcd", strict=True):
        letter(ax, text)
    axes[0, 0].set_ylabel("$\\epsilon_g$")
    axes[1, 0].set_ylabel("difference from the sum, %")
    return picture


def compute_seven(quick: bool) -> "xarray.Dataset":
    """And for the paper's N and for ten: sum less integral at alpha = 0, and its bound, in units of (1 + sigma^2) lambda_1 / 2L."""
    data, beta = _compute(SEVEN_TABLE, quick), SEVEN_TABLE.values(quick)["betas"][0]
    dims = [int(data.attrs["dim"]), SEVEN_TABLE.values(quick)["small_dim"]]
    gaps = []
    for dim in dims:
        setting, first = linear(0.01, beta, dim, 1.0)
        unit = float(setting.inputs.eigenvalues.max()) / dim
        total = float(theory.linear_risk(setting, first, 0.0, small_rate=True).value)
        integral = float(theory.power_law_risk(setting, first, 0.0, limits=(1, dim)).value)
        gaps.append([(total - integral) / unit, float(theory.power_law_gap(setting, first).value) / unit])
    return data.assign_coords(size=dims, side=["gap", "bound"]).assign(start=(("size", "side"), gaps))


def claims_seven(data: "xarray.Dataset") -> list[Claim]:
    key = f"{KEY}/7"
    of_panel = data["of_panel"].sel(what=["top", "begin"]).values
    total, integral, ends = data["risk"][0].sel(curve=[SUM, INTEGRAL, ENDS]).values
    excess, unit = (total - ends) / total, of_panel[0, 0] / int(data.attrs["dim"])
    (large, bound), (small, small_bound) = data["start"].values
    beta, dims = float(data["beta"][0]), data["size"].values.astype(float)
    half = 0.5 * dims ** -(1 + beta)  # by which the printed bound is larger
    return [
        corrected(
            key, "1/(2 lambda_1) at beta = 0.5, N = 128", source="figure 7 caption", row="W19", printed=0.001,
            expected=float((np.arange(1.0, 129.0) ** -1.5).sum() / 256), found=1 / (2 * of_panel[0, 0]), tolerance=1e-6,
            evidence="tests/theory/test_linear_theory.py::test_the_first_eigenvalue_of_figure_seven",
        ),
        holds(
            key, "right: the zeroth order begins to be valid at alpha = 1/(2 eta lambda_1)", source="figure 7 caption",
            printed=950.0, found=float(of_panel[1, 1]), tolerance=5.0, evidence="theory.power_law_window",
        ),
        corrected(
            key, "(49) at alpha = 1, left: sum less integral is half of the first term, in units of "
            "(1 + sigma^2) lambda_1 exp(-1) / 2L", source="(49)", row="W17", printed=1.0, expected=0.5,
            found=float((total - integral)[0] / unit / np.exp(-1)), tolerance=0.03, evidence=f"{TEST}::test_the_ends_of_the_sum",
        ),
        refuted(
            key, "left: the zeroth order bounds the error (largest excess over it, from alpha = 1 on, as a share of the sum)",
            source="figure 7 caption", row="W18", printed=0.0, found=float(excess.max()), tolerance=1e-3,
            evidence=f"{TEST}::test_the_ends_of_the_sum; 0.24 % at beta = 0.5, 0.8 % at beta = 1",
        ),
        holds(
            key, "the worst-case bound is an upper bound that is nearly reached at alpha = 0 (gap over bound, N = 128)",
            source="section B.2", printed=1.0, found=large / (bound + half[0]), tolerance=0.001, evidence="theory.power_law_gap",
        ),
        holds(
            key, "and works for N of order ten as well (gap over bound, N = 10)", source="section B.2", printed=1.0,
            found=small / (small_bound + half[1]), tolerance=0.03, evidence="theory.power_law_gap",
        ),
        beyond(
            key, "with 1/(2 L^(1 + beta)) in the bound it is reached to order L^-(2 + beta) (gap over bound, N = 10)",
            expected=1 - (1 + beta) / 12 * dims[1] ** -(2 + beta) / small_bound, found=small / small_bound, tolerance=5e-5,
            evidence="the next Euler-Maclaurin term, -(1 + beta)/(12 L^(2 + beta))",
        ),
    ]  # fmt: skip


def claims_eight(data: "xarray.Dataset") -> list[Claim]:
    total, ends = (data["risk"].sel(curve=name).values for name in (SUM, ENDS))
    zeroth = np.abs(ends / total - 1).max(axis=1)
    return [
        holds(
            f"{KEY}/8", f"{side}: with the zeroth order the integral is the sum (largest relative difference, beta = {beta})",
            source="section B.2", printed=0.0, found=float(zeroth[i]), tolerance=0.03,
            evidence="theory.power_law_ends; 3 % is a line's width in the print",
        )
        for i, (side, beta) in enumerate([("left", 0.5), ("right", 0.01)])
    ]  # fmt: skip


def compute_nine(quick: bool) -> "xarray.Dataset":
    """And the power law: (53) over the sum, what the sum does at the end of the window, and how long it is near its power."""
    data, given = _compute(NINE_TABLE, quick), NINE_TABLE.values(quick)
    ratios, ends, spans = [], [], []
    for beta, eta in zip(given["betas"], given["etas"], strict=True):
        setting, first = linear(eta, beta, given["dim"], given["variance"])
        begin, end = theory.power_law_window(setting).value
        at = begin * np.array([1.0, 10.0, 100.0])
        law = theory.power_law_risk(setting, first, at, limits=(0, np.inf)).value
        ratios.append(law / theory.linear_risk(setting, first, at, small_rate=True).value)
        near = end * np.array([0.99, 1.01])
        both = (
            theory.linear_risk(setting, first, near, small_rate=True).value,
            theory.power_law_risk(setting, first, near).value,
        )
        ends.append([np.diff(np.log(risk))[0] / np.diff(np.log(near))[0] for risk in both])
        within = theory.power_law_window(setting, within=0.1).value
        spans.append([_span(setting, first, beta), within[1] / within[0]])
    factors = [
        np.divide(*theory.power_law_window(linear(0.01, beta, 2, 1.0)[0]).value[::-1]) / 2 ** (1 + beta)
        for beta in np.geomspace(0.01, 100, 40)
    ]
    return data.assign(
        law=(("panel", "z"), ratios), at_end=(("panel", "route"), ends), span=(("panel", "route"), spans),
        factor=("many", factors),
    )  # fmt: skip


def _span(setting: Problem, first: Overlaps, beta: float) -> float:
    """Last over first of the times from which on the local exponent of the sum is within 10 %; zero if there are none."""
    begin, end = theory.power_law_window(setting).value
    times = np.geomspace(begin, end, 4001)
    slopes = np.gradient(np.log(theory.linear_risk(setting, first, times, small_rate=True).value), np.log(times))
    good = np.flatnonzero(np.abs(slopes / (-beta / (1 + beta)) - 1) <= 0.1)
    if not good.size:
        return 0.0
    first_good = good[np.flatnonzero(np.diff(good, prepend=-2) > 1)[-1]]  # of the last stretch
    return float(times[good[-1]] / times[first_good])


def claims_nine(data: "xarray.Dataset") -> list[Claim]:
    key = f"{KEY}/9"
    total, one = (data["risk"].sel(curve=name).values for name in (SUM, ONE))
    inside = data["time"].values > data["of_panel"].sel(what="begin").values[:, None]
    ratio = np.where(inside, np.abs(one / total - 1), 0.0).max(axis=1)
    found, expected = data["at_end"].values[0]
    measured, within = data["span"].values[0]
    return [
        *[
            holds(
                key, f"{side}: with only the first gamma function it is the sum (largest relative difference, beta = {beta})",
                source="(52)", printed=0.0, found=float(ratio[i]), tolerance=0.05,
                evidence="theory.power_law_risk, limits (0, L), alpha > 1/(2 eta lambda_1); 5 % is a line's width in the print",
            )
            for i, (side, beta) in enumerate([("left", 1.0), ("right", 0.01)])
        ],
        holds(
            key, "beta = 1: inside the window the power law has the prefactor of (53) ((53) over the sum, z = 10)", source="(53)",
            printed=1.0, found=float(data["law"][0, 1]), tolerance=0.05, evidence="theory.power_law_risk, limits (0, infinity)",
        ),
        refuted(
            key, "beta = 0.01: inside the window the loss is (53) (the least of (53) over the sum at z = 1, 10, 100)",
            source="(53)", row="W20", printed=1.0, found=float(data["law"][1].min()), tolerance=0.05,
            evidence=f"{TEST}::test_the_second_gamma_function_and_the_power_law_itself",
        ),
        corrected(
            key, "beta = 1: the local exponent at the end of the window", source="after (9)", row="W20", printed=-0.5,
            expected=float(expected), found=float(found), tolerance=0.01,
            evidence=f"{TEST}::test_the_printed_window_ends_where_there_is_no_power_law_any_more",
        ),
        holds(
            key, "Gamma(1 + s)^(1/s) is at most about one (largest over beta from 0.01 to 100)", source="after (52)", printed=1.0,
            found=float(data["factor"].max()), tolerance=0.01, evidence="theory.power_law_window",
        ),
        beyond(
            key, "beta = 1, L = 128: the times at which the local exponent is within 10 % of -1/2 span a factor (the printed "
            "window spans 13000)", expected=float(measured), found=float(within), tolerance=0.1 * float(measured),
            evidence="second route: the local exponent of the sum on a grid",
        ),
    ]  # fmt: skip


SEVEN = PaperFigure(
    f"{KEY}/7", "The sum over the spectrum and its integral, at two rates", compute_seven,
    lambda data: _draw(data, Shown((SUM, INTEGRAL, ENDS), (SUM, INTEGRAL, ENDS, BOUND))), claims_seven, SEVEN_TABLE,
)  # fmt: skip
EIGHT = PaperFigure(
    f"{KEY}/8", "The sum over the spectrum and its integral, for two spectra", lambda quick: _compute(EIGHT_TABLE, quick),
    lambda data: _draw(data, Shown(*((SUM, INTEGRAL, ENDS, HALF),) * 2)), claims_eight, EIGHT_TABLE,
)  # fmt: skip
NINE = PaperFigure(
    f"{KEY}/9", "Where the loss falls as a power", compute_nine, lambda data: _draw(data, Shown(*((SUM, INTEGRAL, ONE),) * 2)),
    claims_nine, NINE_TABLE,
)  # fmt: skip
