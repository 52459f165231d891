"""Figure 1: one student around its equations, and the mean time to escape mediocrity against dimension, at several widths."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import digamma

from solvable import theory
from solvable.levels import when
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.arnaboldi2023.paths import compute_paths, draw_paths, judge_paths, path_rows
from solvable.papers.arnaboldi2023.settings import ANY, KEY, RATIO, TENTH, problem
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, swept
from solvable.papers.parameters import UNSAID, Parameter, table
from solvable.plot.style import figure, letter
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLOCK = 125  # starts that run together
PATHS = path_rows(1)
PARAMETERS = table(
    *PATHS,
    Parameter("widths", UNSAID, (1, 2, 5, 20), (1, 5), why="from one student to many", label="p, right panel"),
    Parameter("ratio", UNSAID, 0.05, why=RATIO, label="γ/p, right panel"),
    Parameter("drop", UNSAID, 0.1, why=TENTH, label="T, right panel"),
    Parameter(
        "dims", UNSAID, (100, 300, 1000, 3000, 10_000), (300, 1000),
        why="two decades around the dimension of the left panel", label="d, right panel",
    ),
    Parameter(
        "starts", UNSAID, 500, 375,
        why="the paper averages over many starts; 500 give the mean to 2 % and take a minute", label="starts",
    ),
    Parameter("seed", UNSAID, 5, why=ANY, label="seed of the right panel"),
)  # fmt: skip
EVERY = np.geomspace(100, 1e5, 7)  # dimensions at which formulas are drawn


def exits(level: Micro | Macro, values: dict[str, Any], quick: bool) -> np.ndarray:
    """(width, dim, start) first passages in the paper's time."""
    widths, dims, ratio, count = values["widths"], values["dims"], values["ratio"], values["starts"]
    assert count % BLOCK == 0
    stop = when("risk", below=1 - values["drop"], relative=True)
    data = swept(
        quick, problem(1, 1000, ratio, values["label_noise"]), {"student.width": list(widths), "inputs.dim": list(dims)}, level,
        until=30 / ratio, stop=stop, seeds=range(0, count, BLOCK), starts=BLOCK, keep=(),
        derive={"training.learning_rate": f"{ratio} * student.width"}, title=FIGURE.key,
    )  # fmt: skip
    return ratio * np.asarray(data["exit_time"].values).reshape(len(widths), len(dims), -1)


def formulas(values: dict[str, Any]) -> dict[str, np.ndarray]:
    """(width, dim) of (46) and (47) as printed; and the shift by noise, which has no dim."""
    widths, ratio, drop = values["widths"], values["ratio"], values["drop"]

    def at(p: int, d: float) -> Problem:
        return problem(p, int(d), ratio * p, values["label_noise"])

    def of(p: int, d: float) -> tuple[float, float, float]:
        here = at(p, d)
        quenched = theory.quenched_escape_time(here, drop, 20_000, values["seed"], printed=True).value
        return (
            ratio * quenched.mean,
            ratio * quenched.standard_error,
            ratio * theory.annealed_escape_time(here, drop).value,
        )

    times = np.array([[of(p, d) for d in EVERY] for p in widths])
    plateaus = [at(p, 1000) for p in widths]
    growth = np.array([theory.plateau(here).value.growth / ratio for here in plateaus])
    noise = np.array([theory.plateau_noise(here).value for here in plateaus])
    return {
        "quenched": times[:, :, 0],
        "quenched_error": times[:, :, 1],
        "annealed": times[:, :, 2],
        "growth": growth,
        "shift": np.log1p(noise) / (2 * growth),
    }


def compute(quick: bool) -> "xarray.Dataset":
    values = PARAMETERS.values(quick)
    data = compute_paths(**{row.name: values[row.name] for row in PATHS})
    simulated, plain = exits(Micro(runs=1, seed=values["seed"]), values, quick), exits(Macro(rtol=1e-6), values, quick)
    stated = formulas(values)
    data = data.assign_coords(p=list(values["widths"]), d=list(values["dims"]), every=EVERY)
    for name, found in [("simulated", simulated), ("equations", plain), ("gap", plain - simulated)]:
        data[name] = (("p", "d"), found.mean(axis=2))
        data[f"{name}_error"] = (("p", "d"), standard_error(found, axis=2))
    for name in ("quenched", "quenched_error", "annealed"):
        data[name] = (("p", "every"), stated[name])
    data["growth"], data["shift"] = ("p", stated["growth"]), ("p", stated["shift"])
    data.attrs |= {name: values[name] for name in ("ratio", "drop", "starts")}
    return data


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (a, b, c) = figure(1, 3, height=2.9, width=9.5)
    draw_paths(data, a)
    a.legend(loc="lower left", fontsize=7, bbox_to_anchor=(0, 0.16))
    for i, p in enumerate(data["p"].values):
        _draw_width(data, i, int(p), b, c)
    b.plot([], [], color="0.4", linestyle="--", label="(46)")
    b.plot([], [], color="0.4", linestyle=":", label="(47)")
    b.legend(fontsize=6.5, loc="upper left")
    c.plot([], [], color="0.4", label="$\\log(1 + v)/2\\omega$")
    c.legend(fontsize=6.5, loc="upper right", ncols=2)
    for ax, label in [(b, "mean exit time $t$"), (c, "exit time $t$: equations less SGD")]:
        dims = data["d"].values
        ax.set(xscale="log", xlabel="dimension $d$", ylabel=label, xlim=(dims[0] / 1.5, dims[-1] * 1.5))
        ax.set_xticks(dims, labels=[str(d) for d in dims])
        ax.minorticks_off()
    b.set_ylim(0.2, 1.75)
    c.set_ylim(top=0.15)
    b.set_title(f"$\\gamma/p = {data.attrs['ratio']}$, $T = {data.attrs['drop']}$", fontsize=8, loc="right")
    c.set_title("what noise changes, from the same starts", fontsize=8, loc="right")
    c.axhline(0, color="0.7", linewidth=0.8)
    for ax, name in zip((a, b, c), "abc", strict=True):
        letter(ax, name)
    return picture


def _draw_width(data: "xarray.Dataset", i: int, p: int, times: "Axes", gaps: "Axes") -> None:
    marks: Any = {"color": f"C{i}", "linestyle": "", "marker": "os^D"[i], "markersize": 4}
    times.errorbar(data["d"], data["simulated"][i], data["simulated_error"][i], label=f"SGD, $p = {p}$", **marks)
    times.plot(data["every"], data["quenched"][i], color=f"C{i}", linestyle="--", linewidth=1.0)
    times.plot(data["every"], data["annealed"][i], color=f"C{i}", linestyle=":", linewidth=1.0)
    apart = data["d"].values * 1.06 ** (i - 1.5)
    gaps.errorbar(apart, data["gap"][i], data["gap_error"][i], label=f"$p = {p}$", **marks)
    gaps.axhline(float(data["shift"][i]), color=f"C{i}", linewidth=1.0)


def claims(data: "xarray.Dataset") -> list[Claim]:
    return [*judge_paths(FIGURE.key, data), *judge_formulas(data), *judge_simulations(data)]


def judge_formulas(data: "xarray.Dataset") -> list[Claim]:
    key, gap = FIGURE.key, data["quenched"].values - data["annealed"].values
    every, widths = data["every"].values, data["p"].values
    thousand, wide = int(np.argmin(np.abs(every - 1000))), int(widths[-1])
    limit = (np.log(wide / 2) - digamma(wide / 2)) / (2 * float(data["growth"][-1]))
    return [
        holds(
            key, "(46) and (47) differ by a d independent constant for narrow networks (p = 1: difference at d = 10^5 over 10^3)",
            source="section 3", printed=1.0, found=gap[0, -1] / gap[0, thousand], tolerance=0.02, evidence="quadrature",
        ),
        beyond(
            key, "that constant is (0.5772 + log 2)/(2 omega) at p = 1",
            expected=(np.euler_gamma + np.log(2)) / (2 * float(data["growth"][0])),
            found=gap[0, -1], tolerance=1e-3, evidence="(46) by quadrature at d = 10^5, and the mean of log chi^2",
        ),
        holds(
            key, f"(46) and (47) give the same outcome for large width (ratio at p = {wide}, d = 10^3)",
            source="section 3", printed=1.0, found=data["quenched"].values[-1, thousand] / data["annealed"].values[-1, thousand],
            tolerance=0.1, evidence="20000 starts",
        ),
        beyond(
            key, f"they differ by (log(p/2) - digamma(p/2))/(2 omega), about 1/(2 omega p) (p = {wide})",
            expected=limit, found=gap[-1, -1], error=float(data["quenched_error"][-1, -1]),
            tolerance=4 * float(data["quenched_error"][-1, -1]),
            evidence="(46) over 20000 starts at d = 10^5, and the mean of log chi^2",
        ),
    ]  # fmt: skip


def judge_simulations(data: "xarray.Dataset") -> list[Claim]:
    """At the dimensions of which T d is large."""
    key, many = FIGURE.key, f"{data.attrs['starts']} random starts for each width and dimension"
    data = data.sel(d=data["d"].values >= 300)
    widths, d, mean, error = (
        data["p"].values,
        data["d"].values,
        data["simulated"].values,
        data["simulated_error"].values,
    )
    stated = np.array([np.interp(np.log(d), np.log(data["every"]), one) for one in data["quenched"].values])
    ratios = mean[:, -1] / stated[:, -1]
    worst = int(np.argmax(np.abs(ratios - 1)))
    centred = np.log(d) - np.log(d).mean()
    slope, slope_error = weighted(
        mean @ centred / (stated @ centred), np.sqrt(error**2 @ centred**2) / (stated @ centred)
    )
    large, shift = data["d"].values >= 1000, data["shift"].values[:, None]
    earlier, earlier_error = weighted(
        (data["gap"].values / shift)[:, large], (data["gap_error"].values / shift)[:, large]
    )
    test = "tests/theory/test_sphere.py::test_sgd_escapes_earlier_by_its_noise"
    return [
        holds(
            key, "the leading dependence on dimension is log d (slope of SGD over that of (46), mean over widths)", source="(46)",
            printed=1.0, found=slope, error=slope_error, tolerance=4 * slope_error + 0.02, evidence=many,
        ),
        holds(
            key, f"the formulas are a good approximation: SGD over (46) at d = {d[-1]} and the worst width, p = {widths[worst]}",
            source="section 3", printed=1.0, found=ratios[worst], error=error[worst, -1] / stated[worst, -1], tolerance=0.1,
            evidence=f"{many}; good is read as to a tenth",
        ),
        beyond(
            key, "averaged over random starts SGD escapes earlier than the equations, by log(1 + v)/(2 omega) (ratio, d >= 1000)",
            expected=1.0, found=earlier, error=earlier_error, tolerance=4 * earlier_error + 0.15,
            evidence=f"{test}; {many}; to first order in the noise",
        ),
    ]  # fmt: skip


def weighted(values: np.ndarray, errors: np.ndarray) -> tuple[float, float]:
    """Mean by inverse squares of the errors, and its error."""
    weights = 1 / errors**2
    return float((values * weights).sum() / weights.sum()), float(1 / np.sqrt(weights.sum()))


FIGURE = PaperFigure(
    f"{KEY}/1",
    "Escaping mediocrity: one student, and the time against dimension and width",
    compute,
    draw,
    claims,
    PARAMETERS,
)
