"""Figures 2 and 7 to 13: linear units in closed form: small and any rate, integrals over the spectrum, modes."""

from typing import TYPE_CHECKING

import numpy as np

from solvable import theory
from solvable.micro import Micro
from solvable.overlaps import start
from solvable.papers.claims import Claim, judge
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.worschech2024.settings import KEY, linear, problem
from solvable.plot.style import figure, letter
from solvable.results import run

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

TEST = "tests/theory/test_linear_theory.py"
TIMES = np.geomspace(1e-3, 1e4, 141)


def compute_two(quick: bool) -> "xarray.Dataset":
    import xarray

    setting, first = linear(1.0, 1.0, 128, 1.0, finite=True)
    curves = {
        "small": theory.linear_risk(setting, first, TIMES, small_rate=True).value,
        "any": theory.linear_risk(setting, first, TIMES).value,
        "mean": theory.linear_mean_risk(setting, first, TIMES).value,
    }
    N = 256
    right, typical = linear(0.1, 0.75, N, 1e-4)
    finite = problem(1, 0.1, 0.75, N, N, "linear")
    grid = np.geomspace(1, 100 if quick else 1000, 41)
    count = 5 if quick else 40
    runs = [
        whole(run(finite, start(finite, seed=i, scale=0.01), Micro(seed=i), times=grid, progress=False)).risk[0]
        for i in range(count)
    ]
    curves |= {
        "printed": theory.power_law_risk(right, typical, TIMES, limits=(1, N)).value,
        "general": theory.linear_risk(right, typical, TIMES).value,
        "general_grid": theory.linear_risk(right, typical, grid).value,
    }
    data = {name: ("time" if len(values) == TIMES.size else "grid", values) for name, values in curves.items()}
    return xarray.Dataset({**data, "sgd": (("run", "grid"), runs)}, {"time": TIMES, "grid": grid})


def draw_two(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8)
    left.loglog(TIMES, data["small"], label="(8), small rates")
    left.loglog(TIMES, data["any"], label="(6), any rate, $N \\to \\infty$")
    left.loglog(TIMES, data["mean"], color="black", linestyle=":", label="mean of SGD at $N = 128$")
    left.set_ylim(1e-7, 30)
    right.loglog(data["grid"], data["sgd"].T, color="C0", alpha=0.2, linewidth=0.6)
    right.loglog(data["grid"], data["sgd"].mean("run"), color="C0", label="SGD, mean")
    chosen = (TIMES >= 1) & (float(data["grid"][-1]) >= TIMES)
    right.loglog(TIMES[chosen], data["printed"][chosen], color="C1", linestyle="--", label="(9)")
    for ax, text in [(left, "a"), (right, "b")]:
        ax.set_xlabel("$\\alpha$")
        ax.legend(fontsize=7)
        letter(ax, text)
    left.set_ylabel("$\\epsilon_g$")
    return picture


def claims_two(data: "xarray.Dataset") -> list[Claim]:
    at = [int(np.argmin(np.abs(TIMES - t))) for t in (1, 10, 100)]
    key = f"{KEY}/2"
    ratio = data["any"].values[at] / data["small"].values[at]
    late = data["grid"].values >= (30 if len(data["sgd"]) == 5 else 100)
    sgd = data["sgd"].values
    gap = sgd.mean(axis=0)[late] / data["general_grid"].values[late] - 1
    error = (sgd.std(axis=0, ddof=1) / np.sqrt(len(sgd)) / data["general_grid"].values)[late]
    return [
        judge(
            key, "left: at rate 1 the general curve is 1/(1 - rate/2) = 2 times the small-rate one (largest over alpha = "
            "1, 10, 100)",
            expected=2.0, found=float(ratio.max()), tolerance=0.04, evidence="theory.linear_risk",
        ),
        judge(
            key, "left: the mean of SGD at N = L = 128 is not the exact curve: 388 times it at alpha = 100 (rate 1 is at its "
            "limit 1.0013)",
            expected=388.0, found=float(data["mean"][at[2]] / data["any"][at[2]]), tolerance=10.0, correction="W44",
            evidence=f"{TEST}::test_the_printed_curve_at_the_edge_is_not_the_mean_of_sgd",
        ),
        judge(
            key, "right: SGD follows the theory (largest |mean / theory - 1| at late times, less 4 standard errors)",
            expected=0.0, found=max(0.0, float((np.abs(gap) - 4 * error).max())), tolerance=0.05,
            evidence=f"{len(sgd)} starts, N = L = 256",
        ),
        judge(
            key, "right: at L = 256 the local power is -0.52 over [1, 100], not yet -beta/(1 + beta) = -0.43",
            expected=-0.52, found=_slope(TIMES, data["general"].values, 1, 100), tolerance=0.05, beyond=True,
            evidence="theory.linear_risk",
        ),
    ]  # fmt: skip


def _slope(times: np.ndarray, values: np.ndarray, begin: float, end: float) -> float:
    chosen = (times >= begin) & (times <= end)
    return float(np.polyfit(np.log(times[chosen]), np.log(values[chosen]), 1)[0])


def compute_integrals(quick: bool) -> "xarray.Dataset":  # noqa: ARG001  (milliseconds)
    """For each setting the sum (47), its integral (50), with half-integer limits, and the power law (53)."""
    import xarray

    settings = [(0.5, 0.01), (0.5, 1e-4), (0.01, 0.01), (1.0, 0.01)]
    rows = []
    for beta, eta in settings:
        setting, first = linear(eta, beta, 128, 1.0)
        rows.append(
            [
                theory.linear_risk(setting, first, TIMES, small_rate=True).value,
                theory.power_law_risk(setting, first, TIMES, limits=(1, 128)).value,
                theory.power_law_risk(setting, first, TIMES).value,
            ]
        )
    names = ["sum", "printed", "half-integer"]
    return xarray.Dataset(
        {"risk": (("setting", "of", "time"), rows)},
        {
            "time": TIMES,
            "of": names,
            "beta": ("setting", [b for b, _ in settings]),
            "eta": ("setting", [e for _, e in settings]),
        },
    )


def draw_integrals(data: "xarray.Dataset", chosen: tuple[int, int]) -> "Figure":
    picture, axes = figure(2, 2, height=2.2, sharex=True)
    for column, i in enumerate(chosen):
        part = data["risk"].values[i]
        for j, (name, line) in enumerate([("sum (47)", "-"), ("integral (50)", "--"), ("half-integer limits", ":")]):
            axes[0, column].loglog(TIMES, np.maximum(part[j], 1e-30), color=f"C{j}", linestyle=line, label=name)
            if j:
                axes[1, column].semilogx(TIMES, part[j] / part[0] - 1, color=f"C{j}", linestyle=line, label=name)
        axes[0, column].set_title(
            f"$\\beta = {float(data['beta'][i])}$, $\\eta = {float(data['eta'][i]):g}$", fontsize=9, loc="center"
        )
        axes[0, column].set_ylim(1e-6, 3)
        axes[1, column].set_ylim(-0.6, 0.3)
        axes[1, column].axhline(0, color="0.6", linewidth=0.6)
        axes[1, column].set_xlabel("$\\alpha$")
    axes[0, 0].set_ylabel("$\\epsilon_g$")
    axes[1, 0].set_ylabel("relative error")
    axes[0, 0].legend(fontsize=7)
    return picture


def claims_integrals(key: str, data: "xarray.Dataset") -> list[Claim]:
    setting, _ = linear(0.01, 0.5, 128, 1.0)
    top = float(setting.inputs.eigenvalues.max())
    z = 0.02 * top * TIMES
    found = data["risk"].values
    inside = (z >= 3) & (z <= 0.03 * 128**1.5)
    printed, half = (np.abs(found[0, j] / found[0, 0] - 1) for j in (1, 2))
    near = int(np.argmin(np.abs(z - 1)))
    begin, _ = theory.power_law_window(setting).value
    stated = {
        f"{KEY}/7": [
            judge(
                key, "beta = 0.5, N = 128: 1/(2 lambda_1) is 0.0095 (lambda_1 = 52.55), not 0.001",
                expected=0.0095, found=1 / (2 * top), tolerance=1e-4, correction="W19",
                evidence=f"{TEST}::test_the_first_eigenvalue_of_figure_seven",
            ),
            judge(
                key, "rate 0.01: the corrections matter up to alpha = 1/(2 rate lambda_1) = 0.95",
                expected=0.95, found=begin, tolerance=0.01, evidence="theory.power_law_window",
            ),
        ],
        f"{KEY}/8": [
            judge(
                key, "the integral is within 2 % of the sum from z = 2 rate lambda_1 alpha = 3 to 0.03 L^(1 + beta) "
                "(largest, beta = 0.5)",
                expected=0.0, found=float(printed[inside].max()), tolerance=0.02, evidence="theory.power_law_risk",
            ),
            judge(
                key, "near z = 1 half-integer limits are at least twice as good as the printed ones (ratio of errors)",
                expected=0.25, found=float(half[near] / printed[near]), tolerance=0.25, beyond=True,
                evidence="theory.power_law_risk",
            ),
        ],
        f"{KEY}/9": [
            judge(
                key, "beta = 1: inside the window the loss falls nearly as alpha^(-1/2) (slope between 10 begin and end/10)",
                expected=-0.5, found=_window_slope(1.0), tolerance=0.08, evidence="theory.linear_risk",
            ),
            judge(
                key, "beta = 0.01: no power law to speak of, the slope is far from -beta/(1 + beta) = -0.01",
                expected=-0.5, found=_window_slope(0.01), tolerance=0.2, beyond=True, evidence="theory.linear_risk",
            ),
        ],
    }  # fmt: skip
    return stated[key]


def _window_slope(beta: float) -> float:
    setting, first = linear(0.01, beta, 128, 1.0)
    begin, end = theory.power_law_window(setting).value
    times = np.geomspace(10 * begin, max(end / 10, 20 * begin), 40)
    return _slope(times, theory.linear_risk(setting, first, times, small_rate=True).value, times[0], times[-1])


def compute_modes(quick: bool) -> "xarray.Dataset":  # noqa: ARG001  (milliseconds)
    import xarray

    counts, rows = [25, 50, 100, 150], {}
    for L in counts:
        for beta in (0.1, 1.0):
            for eta in (0.1, 0.5, 1.0):
                found = theory.linear_modes(linear(eta, beta, L, 1.0)[0]).value
                rows[L, beta, eta] = np.pad(
                    [found.rates / eta, found.weights], ((0, 0), (0, 150 - L)), constant_values=np.nan
                )
    cube = np.array([[[rows[L, b, e] for e in (0.1, 0.5, 1.0)] for b in (0.1, 1.0)] for L in counts])
    return xarray.Dataset(
        {"modes": (("distinct", "beta", "eta", "of", "mode"), cube)},
        {
            "distinct": counts,
            "beta": [0.1, 1.0],
            "eta": [0.1, 0.5, 1.0],
            "of": ["rate", "weight"],
            "mode": np.arange(1, 151),
        },
    )


def draw_modes(data: "xarray.Dataset", which: int) -> "Figure":
    picture, axes = figure(1, 2, height=2.6)
    for ax, beta, text in zip(axes, (0.1, 1.0), "ab", strict=True):
        part = data["modes"].sel(beta=beta)
        if which == 10:
            for i, L in enumerate(data["distinct"].values):
                one = part.sel(distinct=L, eta=1.0)
                ax.loglog(data["mode"], one.sel(of="weight") * one.sel(of="rate"), color=f"C{i}", label=f"$L = {L}$")
            ax.set_ylabel("$b_k |\\mu_k|$")
        elif which == 11:
            for i, eta in enumerate((0.1, 0.5, 1.0)):
                one = part.sel(distinct=50, eta=eta)
                ax.loglog(
                    data["mode"],
                    50 * one.sel(of="weight") * one.sel(of="rate"),
                    color=f"C{i}",
                    label=f"$\\eta = {eta}$",
                )
            values = linear(0.1, beta, 50, 1.0)[0].inputs.eigenvalues
            ax.loglog(np.arange(1, 51), 2 * values, "k--", linewidth=1.0, label="$2\\lambda_k$")
            ax.set_ylabel("$L\\, b_k |\\mu_k|$, $L = 50$")
        else:
            for i, eta in enumerate((0.1, 0.5, 1.0)):
                rates = part.sel(distinct=100, eta=eta).sel(of="rate").values[:100]
                values = linear(eta, beta, 100, 1.0)[0].inputs.eigenvalues
                ax.loglog(
                    np.arange(1, 101), np.maximum(2 * values - rates, 1e-16), color=f"C{i}", label=f"$\\eta = {eta}$"
                )
            ax.set_ylabel("$2\\lambda_k - |\\mu_k|$, $L = 100$")
        ax.set_title(f"$\\beta = {beta}$", fontsize=9, loc="center")
        ax.set_xlabel("$k$")
        ax.legend(fontsize=7)
        letter(ax, text)
    return picture


def claims_modes(key: str, data: "xarray.Dataset") -> list[Claim]:
    rates, weights = (data["modes"].sel(of=one).values for one in ("rate", "weight"))
    sums, products = np.nansum(weights, axis=-1), np.nansum(weights * rates, axis=-1)
    etas = data["eta"].values
    last = [float(one[~np.isnan(one)][-1] / one[~np.isnan(one)][-2]) for one in (weights * rates)[:, 0, 2]]
    modes = f"{TEST}::test_modes"
    values = linear(0.5, 1.0, 100, 1.0)[0].inputs.eigenvalues
    fifty = linear(0.1, 1.0, 50, 1.0)[0].inputs.eigenvalues
    shift = 2 * values - rates[2, 1, 1, :100]
    stated = {
        f"{KEY}/10": [
            judge(
                key, "the weights of all modes sum to one (largest difference)", expected=0.0,
                found=float(np.abs(sums - 1).max()), tolerance=1e-10, correction="W14", evidence=modes,
            ),
            judge(
                key, "beta = 0.1, rate 1: the last mode has more than twice the share of its neighbour, for all L (1: it has)",
                expected=1.0, found=float(min(last) > 2), tolerance=0.0, evidence="theory.linear_modes",
            ),
        ],
        f"{KEY}/11": [
            judge(
                key, "weights times rates sum to 2 - rate, in units of the rate (largest difference)", expected=0.0,
                found=float(np.abs(products - (2 - etas)).max()), tolerance=1e-9, correction="W14", evidence=modes,
            ),
            judge(
                key, "at small rates the shares are those of the eigenvalues (L = 50, beta = 1, rate 0.1: largest |L b |mu| "
                "/ 2 lambda - 1|)",
                expected=0.0, found=float(np.abs(50 * (weights * rates)[1, 1, 0, :50] / (2 * fifty) - 1).max()), tolerance=0.15,
                evidence="theory.linear_modes",
            ),
        ],
        f"{KEY}/12": [
            judge(
                key, "every mode lies between two eigenvalues, and all but the first nearly at one (beta = 1, "
                "rate 0.5: largest shift over 2 lambda beyond the tenth)",
                expected=0.0, found=float((shift / (2 * values))[10:].max()), tolerance=0.05, evidence=modes,
            ),
            judge(
                key, "the spectrum that enters is that of A_1 + (rate/2) U, not A_1 + rate U (sum of all shifts)",
                expected=0.5 * float((values**2).mean()), found=float(shift.sum()), tolerance=1e-6, correction="W14",
                evidence=modes,
            ),
        ],
    }  # fmt: skip
    return stated[key]


def compute_rates(quick: bool) -> "xarray.Dataset":  # noqa: ARG001  (milliseconds)
    import xarray

    rows = []
    for eta in (0.1, 0.5, 1.0):
        setting, first = linear(eta, 1.0, 128, 0.0)
        rows.append([theory.linear_risk(setting, first, TIMES, small_rate=small).value for small in (True, False)])
    return xarray.Dataset(
        {"risk": (("eta", "of", "time"), rows)}, {"eta": [0.1, 0.5, 1.0], "time": TIMES, "of": ["small", "any"]}
    )


def draw_rates(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 3, height=2.4, sharey=True)
    for i, (ax, text) in enumerate(zip(axes, "abc", strict=True)):
        ax.loglog(TIMES, data["risk"][i, 0], label="(8), small rates")
        ax.loglog(TIMES, data["risk"][i, 1], label="(6), any rate")
        ax.set_title(f"$\\eta = {float(data['eta'][i])}$", fontsize=9, loc="center")
        ax.set_xlabel("$\\alpha$")
        ax.set_ylim(1e-6, 1)
        ax.set_xlim(1e-2, 1e3)
        letter(ax, text)
    axes[0].set_ylabel("$\\epsilon_g$")
    axes[0].legend(fontsize=7)
    return picture


def claims_rates(data: "xarray.Dataset") -> list[Claim]:
    at = int(np.argmin(np.abs(TIMES - 1)))
    ratio = data["risk"].values[:, 1, at] / data["risk"].values[:, 0, at]
    return [
        judge(
            f"{KEY}/13", f"rate {eta}: at alpha = 1 the general curve is {value} times the small-rate one, about 1/(1 - rate/2)",
            expected=value, found=float(one), tolerance=0.01, evidence="theory.linear_risk", beyond=True,
        )
        for eta, value, one in zip((0.1, 0.5, 1.0), (1.052, 1.335, 2.01), ratio, strict=True)
    ]  # fmt: skip


TWO = PaperFigure(f"{KEY}/2", "Linear units: small and any rate, and SGD", compute_two, draw_two, claims_two)


def _integrals(number: int, title: str, chosen: tuple[int, int]) -> PaperFigure:
    key = f"{KEY}/{number}"
    return PaperFigure(
        key,
        title,
        compute_integrals,
        lambda data: draw_integrals(data, chosen),
        lambda data: claims_integrals(key, data),
    )


def _modes(number: int, title: str) -> PaperFigure:
    key = f"{KEY}/{number}"
    return PaperFigure(
        key, title, compute_modes, lambda data: draw_modes(data, number), lambda data: claims_modes(key, data)
    )


SEVEN = _integrals(7, "The sum over the spectrum and its integral, at two rates", (0, 1))
EIGHT = _integrals(8, "The sum over the spectrum and its integral, for two spectra", (0, 2))
NINE = _integrals(9, "Where the loss falls as a power", (3, 2))
TEN = _modes(10, "Shares of the modes at rate one")
ELEVEN = _modes(11, "Shares of the modes and the eigenvalues")
TWELVE = _modes(12, "How far the modes lie from the eigenvalues")
THIRTEEN = PaperFigure(f"{KEY}/13", "What a finite rate adds", compute_rates, draw_rates, claims_rates)
