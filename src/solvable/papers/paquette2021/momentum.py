"""Does momentum help? Fast velocities are plain SGD at a larger rate. Slow ones, of friction kappa, make linear students no faster
than the best plain rate does, and faster, up to twice, where the rate is small. Students leave a plateau by exponential growth,
which friction slows down: quadratic ones always wait longer. Erf students lose where they wait and gain up to a seventh where they
do not; beyond the best plain rate they gain a twelfth."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.levels import run, when
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps, start
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.plot.style import figure, letter, stroke
from solvable.problems import Inputs, Momentum, Problem, Student, Teacher, Training
from solvable.theory import momentum_growth, momentum_late_rate

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

KEY = "paquette2021"
MINE = "our choice"
PARAMETERS = table(
    Parameter("frictions", UNREAD, (0.02, 0.05, 0.2, 1.0, 5.0, 100.0), why=MINE, label=r"friction $\kappa$ of panel a"),
    Parameter("rates", UNREAD, tuple(np.geomspace(0.005, 1.9, 61).round(5).tolist()),
              tuple(np.geomspace(0.005, 1.9, 31).round(5).tolist()), MINE, "effective rates of panel a"),
    Parameter("plateau_frictions", UNREAD, (0.2, 0.5, 1.0, 2.0, 5.0, 20.0), (0.2, 1.0, 5.0), MINE,
              r"$\kappa$ of panels b and c"),
    Parameter("quadratic_rates", UNREAD, (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08), (0.01, 0.03, 0.06, 0.08), MINE,
              "effective rates of panel b"),
    Parameter("erf_rates", UNREAD, (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.7, 1.0), (0.05, 0.1, 0.2, 0.25, 0.3, 0.5),
              MINE, "effective rates of panel c"),
    Parameter("tried", UNREAD, (1.0, 0.25), why=f"{MINE}: the best of panel c", label=r"$\kappa$, rate of simulated erf students"),
    Parameter("beta", UNREAD, 0.9, why="the usual one", label=r"$\beta$ of the simulations"),
    Parameter("dim", UNREAD, 4000, 1000, MINE, "$d$ of the simulations"),
    Parameter("runs", UNREAD, 64, 32, MINE, "runs of the simulations"),
    Parameter("seed", UNREAD, 0, why="any", label="seed of the simulations"),
)  # fmt: skip
STATES: dict[str, dict[str, Any]] = {
    "quadratic": {"cross_overlap": [[0.02, 0.01], [0.01, -0.02]], "student_overlap": [[1.0, 0.0], [0.0, 1.0]]},
    "erf": {"cross_overlap": [[0.26, 0.24], [0.24, 0.25]], "student_overlap": [[0.2, 0.19], [0.19, 0.2]]},
}


def problem(unit: str, width: int, rate: float, momentum: Momentum | None = None, dim: int | None = None) -> Problem:
    """As many students as teachers, isotropic inputs, no noise."""
    return Problem(
        teacher=Teacher(width=width, activation=unit, readout="unit"),
        student=Student(width=width, activation=unit, readout="unit"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, momentum=momentum),
    )


def begun(here: Problem, unit: str) -> Overlaps:
    return start(here, **STATES[unit])


def times_to_fall(unit: str, rate: float, momentum: Momentum | None, level: Any, dim: int | None = None) -> np.ndarray:
    """(run,) when the risk has fallen to a tenth of the first; infinite where it never does."""
    here, stop = problem(unit, 2, rate, momentum, dim), when("risk", below=0.1, relative=True)
    found = run(here, begun(here, unit), level, until=400 / rate, stop=stop, progress=False)
    return np.where([ending.name == "STOPPED" for ending in found.ending], found.end_alpha, np.inf)


def logarithm_of_growth(unit: str, rate: float) -> float:
    """Of the cross overlaps of plain SGD, from the start until the risk has fallen to a tenth."""
    here, stop = problem(unit, 2, rate), when("risk", below=0.1, relative=True)
    found = run(here, begun(here, unit), Macro(rtol=1e-7), until=400 / rate, stop=stop, progress=False)
    sizes = [np.linalg.norm(state.cross_overlap) for state in (begun(here, unit), found.last())]
    return float(np.log(sizes[1] / sizes[0]))


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    rates, frictions = list(values["rates"]), list(values["frictions"])
    decay = [
        [momentum_late_rate(problem("linear", 1, rate, Momentum(kappa=kappa))).value for rate in rates] for kappa in frictions
    ]  # fmt: skip
    arrays: dict[str, Any] = {"decay": (("friction", "rate"), np.array(decay))}
    slow = [None, *(Momentum(kappa=kappa) for kappa in values["plateau_frictions"])]
    for unit in ("quadratic", "erf"):
        level = Macro(rtol=1e-7)
        ends = [[times_to_fall(unit, rate, one, level)[0] for rate in values[f"{unit}_rates"]] for one in slow]
        arrays[unit] = (("momentum", f"{unit}_rate"), np.array(ends))
    growth = [logarithm_of_growth("quadratic", rate) for rate in values["quadratic_rates"]]
    arrays["growth"] = (("quadratic_rate",), np.array(growth))
    kappa, rate = values["tried"]
    sgd = Micro(runs=values["runs"], seed=values["seed"])
    for name, one in (("slow", Momentum(kappa=kappa)), ("none", None)):
        arrays[f"erf_{name}"] = (("run",), times_to_fall("erf", rate, one, sgd, values["dim"]))
        arrays[f"expected_{name}"] = ((), times_to_fall("erf", rate, one, Macro(rtol=1e-7))[0])
    times, beta = [5.0, 15.0], values["beta"]
    pair = {}
    for name, here in (
        ("fast", problem("linear", 1, 0.5 * (1 - beta), Momentum(beta=beta), values["dim"])),
        ("plain", problem("linear", 1, 0.5, None, values["dim"])),
    ):
        first = start(here, student_overlap=[[1.0]], cross_overlap=[[0.0]])
        found = whole(run(here, first, Micro(runs=values["runs"], seed=values["seed"]), times=times, progress=False))
        pair[name] = -np.diff(np.log(found.risk), axis=1)[:, 0] / 10.0
    arrays |= {name: (("run",), rows) for name, rows in pair.items()}
    coordinates = {
        "friction": frictions, "rate": rates, "momentum": [np.inf, *values["plateau_frictions"]],
        "quadratic_rate": list(values["quadratic_rates"]), "erf_rate": list(values["erf_rates"]),
    }  # fmt: skip
    return xarray.Dataset(arrays, coordinates, {"beta": str(beta), "dim": str(values["dim"])})


def draw(data: "xarray.Dataset") -> "Figure":
    picture, axes = figure(1, 3, height=2.9)
    first, *others = axes
    rates = data["rate"].values
    for i, kappa in enumerate(data["friction"].values):
        first.plot(rates, data["decay"][i], label=rf"$\kappa = {kappa:g}$", **stroke(i))
    first.plot(rates, rates * (2 - rates), color="k", linewidth=0.8, label="plain")
    first.set_xscale("log")
    first.set_yscale("log")
    first.set_ylim(2e-3, 60)
    first.set_xlabel("effective rate")
    first.set_ylabel("decay of the risk")
    first.legend(loc="upper left", fontsize=6, ncols=2)
    first.set_title("linear", fontsize=8, loc="right")
    for ax, unit in zip(others, ("quadratic", "erf"), strict=True):
        for i, kappa in enumerate(data["momentum"].values):
            style = {"color": "k", "linewidth": 0.8} if np.isinf(kappa) else stroke(i - 1)
            words = "plain" if np.isinf(kappa) else rf"$\kappa = {kappa:g}$"
            ends = data[unit].values[i]
            ax.plot(data[f"{unit}_rate"], np.where(np.isfinite(ends), ends, np.nan), label=words, marker=".", **style)
        ax.set_xscale("log")
        ax.set_yscale("log")
        shown = data[f"{unit}_rate"].values[[0, len(data[f"{unit}_rate"]) // 2, -1]]
        ax.set_xticks(shown, [f"{rate:g}" for rate in shown])
        ax.minorticks_off()
        ax.set_ylim(top=30 * float(np.nanmax(data[unit].where(np.isfinite(data[unit])))))
        ax.set_xlabel("effective rate")
        ax.set_ylabel("steps/$d$ to a tenth of the risk")
        ax.legend(loc="upper right", fontsize=6, ncols=2)
        ax.set_title(unit, fontsize=8, loc="right")
    for ax, name in zip(axes, "abc", strict=True):
        letter(ax, name)
    return picture


def slow(kappa: float) -> Problem:
    return problem("quadratic", 2, 0.01, Momentum(kappa=kappa))


def claims(data: "xarray.Dataset") -> list[Claim]:
    rates, decay = data["rate"].values, data["decay"].values
    plain = rates * (2 - rates)
    fast, bare = data["fast"].values, data["plain"].values
    error, dim = float(np.hypot(standard_error(fast), standard_error(bare))), float(data.attrs["dim"])
    memory = 1 / (
        1 - float(data.attrs["beta"])
    )  # steps that a velocity remembers, by which the first and the last risk come late
    first, largest = float(rates[0]), float(data["friction"][-1])
    apart = float(np.abs(rates - 1).min())
    found = [
        holds(
            FIGURE.key, f"heavy ball with beta = {data.attrs['beta']} gives no improvement over SGD at the adjusted rate (its "
            "decay of the risk over plain SGD's, less one)", source="abstract", printed=0.0,
            found=float(fast.mean() / bare.mean() - 1), tolerance=4 * error / float(bare.mean()) + 2 * memory / dim,
            error=error / float(bare.mean()),
            evidence="exact SGD at finite d, with and without velocities",
        ),
        beyond(
            FIGURE.key, "fastest decay of linear students at any friction and rate: that of plain SGD at its best rate, "
            "less 1/(2 kappa) at the largest friction", expected=float(plain.max()) - 0.5 / largest, found=float(decay.max()),
            tolerance=2 * apart / largest + 2 / largest**2, evidence="plain SGD in closed form; the next orders in 1/kappa",
        ),
        beyond(
            FIGURE.key, f"at the rate {first:g} and friction {4 * first:g} it decays so many times as fast as with plain SGD, "
            "which tends to two at small rates", expected=(4 - (32 * first) ** (1 / 3)) / (2 - first),
            found=float((decay[:, 0] / plain[0]).max()), tolerance=1e-4,
            evidence="a triple root at kappa = 4 rate; the cubic, solved",
        ),
    ]  # fmt: skip
    ends, growth = data["quadratic"].values, data["growth"].values
    delays = [
        (ends[i, j] / ends[0, j] - 1) / (g / momentum_growth(slow(kappa), g).value - 1)
        for i, kappa in enumerate(data["momentum"].values.tolist())
        for j, g in enumerate((growth / ends[0]).tolist())
        if i > 0
    ]
    found.append(
        beyond(
            FIGURE.key, "quadratic students wait longer with momentum, at all frictions and rates: the least delay, over that of "
            "exponential growth", expected=1.0, found=float(np.min(delays)), tolerance=1 / float(growth.min()),
            evidence="growth with friction in closed form, whose begin and end are known to a factor e; the equations",
        )
    )  # fmt: skip
    pair = [data[f"erf_{name}"].values for name in ("slow", "none")]
    ratio = float(pair[0].mean() / pair[1].mean())
    error = ratio * float(np.hypot(*(standard_error(one) / one.mean() for one in pair)))
    found.append(
        beyond(
            FIGURE.key, "erf students at the best friction and rate of these: their time over that of plain SGD at the same rate",
            expected=float(data["expected_slow"] / data["expected_none"]), found=ratio, error=error,
            tolerance=min(4 * error, abs(1 - float(data["expected_slow"] / data["expected_none"]))),  # no gain at all would fail
            evidence="the equations; found by exact SGD at finite d",
        )
    )  # fmt: skip
    return found


FIGURE = PaperFigure(f"{KEY}/momentum", "Does momentum help?", compute, draw, claims, PARAMETERS)
