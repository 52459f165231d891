"""Four Gaussian classes that no line separates (XOR): how often two-layer networks of a few units are wrong.

Against time and against the signal-to-noise ratio 1/σ, beside the oracle that knows the classes. Odd units such as erf, without
bias, give +m and −m opposite outputs and never learn it. Each unit leans to the mean of its own class from the first;
`refinetti2021/widths` has random starts."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.dynamics.classification import classification_error
from solvable.dynamics.oracle import oracle_error
from solvable.gaussian.chances import error_of_crossed_classes
from solvable.levels import run
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.papers.refinetti2021.settings import ANY, CODE, DECAY, KEY, aligned, leaning_start, problem
from solvable.plot.style import figure, letter, stroke
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("units", UNREAD, ("relu", "quadratic"), why="the authors' code has ReLU; quadratic units are closed", label="g"),
    Parameter("odd", UNREAD, "erf", why="the default of the authors' code", label="odd unit"),
    Parameter("width", UNREAD, 4, why=CODE, label="K"),
    Parameter("variances", UNREAD, (1.0, 0.5, 0.3, 0.2, 0.15, 0.1), (0.5, 0.2),
              why="oracles from almost chance to few errors", label="σ²"),
    Parameter("shown", UNREAD, 0.2, why="an oracle that is wrong one time in ten", label="σ² of panel a"),
    Parameter("rate", UNREAD, 0.1, why=CODE, label="learning rate"),
    Parameter("slower", UNREAD, 0.5, why="beyond the paper: the error that the rate leaves", label="factor on the rate"),
    Parameter("decay", UNREAD, 0.0, why=DECAY, label="weight decay"),
    Parameter("size", UNREAD, 0.1, why=CODE, label="spread of first weights and readouts"),
    Parameter("lean", UNREAD, 0.2, why="beyond what is random at this dimension, so that SGD follows the equations",
              label="first cosines with the means"),
    Parameter("dim", UNREAD, 5000, 2000, why="so large that runs hardly differ", label="N of SGD"),
    Parameter("runs", UNREAD, 16, 8, why="errors of the mean below 10⁻³", label="runs of SGD"),
    Parameter("until", UNREAD, 500.0, 300.0, why="little changes afterwards", label="last α"),
    Parameter("tolerance", UNREAD, 1e-5, 1e-4, why="below the errors of SGD", label="tolerance of the integration"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
POINTS, EACH = 41, 4  # times of the equations, and every how many of them SGD is looked at


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    times = np.linspace(0, values["until"], POINTS)
    level, sgd = Macro(rtol=values["tolerance"]), Micro(runs=values["runs"], seed=values["seed"])
    units, variances = values["units"], values["variances"]
    macro, micro, best = [], [], []
    for unit in units:
        settings = [_problem(unit, variance, values) for variance in variances]
        pairs = [(here, leaning_start(here, values["size"], values["lean"])) for here in settings]
        macro.append([run(*pair, level, times=times).classification_error[0] for pair in pairs])
        micro.append(
            [whole(run(*pair, sgd, times=times[::EACH], progress=False)).classification_error for pair in pairs]
        )
        best.append([classification_error(here, aligned(here)) for here in settings])
    odd = _problem(values["odd"], values["shown"], values)
    slower = _slower(settings[0], times[-1], values)
    followed = run(odd, leaning_start(odd, values["size"], values["lean"]), level, times=times)
    return xarray.Dataset(
        {
            "macro": (("unit", "variance", "time"), macro),
            "micro": (("unit", "variance", "run", "sample"), micro),
            "aligned": (("unit", "variance"), best),
            "slower": ((), slower),
            "odd": (("time",), followed.classification_error[0]),
            "oracle": (("variance",), [oracle_error(here) for here in settings]),
        },
        {"unit": list(units), "variance": list(variances), "time": times, "sample": times[::EACH]},
        {name: values[name] for name in ("dim", "width", "shown", "odd", "slower")},
    )


def _problem(unit: str, variance: float, values: Any) -> Problem:
    return problem(unit, values["width"], variance, values["rate"], values["dim"], values["decay"])


def _slower(setting: Problem, until: float, values: Any) -> float:
    """The last error at a smaller rate, after as much longer."""
    factor = values["slower"]
    here = setting.replace(training__learning_rate=factor * values["rate"])
    first = leaning_start(here, values["size"], values["lean"])
    return float(run(here, first, Macro(), times=[until / factor]).classification_error[0, -1])


NAMES = {"relu": "ReLU", "quadratic": "quadratic", "erf": "erf"}


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, right) = figure(1, 2, height=2.8, sharey=True)
    shown, ratio = data.sel(variance=data.attrs["shown"]), 1 / np.sqrt(data["variance"].values)
    for i, unit in enumerate(data["unit"].values):
        here = shown.sel(unit=unit)
        mean, error = _mean(here["micro"].values)
        name = f"{NAMES[unit]}, equations"
        left.plot(data["time"], here["macro"], label=name, **stroke(i))
        left.errorbar(
            data["sample"], mean, error, color=f"C{i}", fmt="os"[i], markersize=3, label=f"{NAMES[unit]}, SGD"
        )
        ends = data.sel(unit=unit)
        right.plot(ratio, ends["macro"].values[:, -1], label=name, **stroke(i))
        mean, error = _mean(ends["micro"].values[..., -1].T)
        right.errorbar(ratio, mean, error, color=f"C{i}", fmt="os"[i], markersize=3, label=f"{NAMES[unit]}, SGD")
    left.plot(data["time"], data["odd"], label=f"{NAMES[data.attrs['odd']]} (odd): never", **stroke(2))
    left.axhline(float(shown["oracle"]), color="black", linewidth=0.8, label="oracle")
    grid = np.linspace(ratio.min(), ratio.max(), 61)
    right.plot(grid, [error_of_crossed_classes(one) for one in grid], color="black", linewidth=0.8, label="oracle")
    left.set(xlabel="$\\alpha$ = steps/$N$", ylabel="classification error", ylim=(0, 0.55), xlim=(0, None))
    left.set_title(f"$K = {data.attrs['width']}$, $\\sigma^2 = {data.attrs['shown']}$", fontsize=8, loc="right")
    right.set(xlabel="signal-to-noise ratio $1/\\sigma$")
    right.set_title(
        f"at $\\alpha = {float(data['time'][-1]):g}$; SGD at $N = {data.attrs['dim']}$", fontsize=8, loc="right"
    )
    letter(left, "a")
    letter(right, "b")
    left.legend(loc="upper right", bbox_to_anchor=(1.0, 0.88))
    right.legend(loc="upper right")
    return picture


def _mean(runs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis, and its standard error."""
    return runs.mean(axis=0), standard_error(runs, axis=0)


def claims(data: "xarray.Dataset") -> list[Claim]:
    macro, micro, oracle = (data[name].values for name in ("macro", "micro", "oracle"))
    mean, error = _mean(np.moveaxis(micro, 2, 0))
    gap = np.abs(mean - macro[..., ::EACH])
    worst = np.unravel_index(int(np.argmax(gap)), gap.shape)
    odd, best = data["odd"].values, data["aligned"].values / oracle
    excess = (macro[..., -1] - oracle) / (0.5 - oracle)
    size = f"{micro.shape[2]} runs at N = {data.attrs['dim']}"
    found = [
        holds(
            FIGURE.key, f"a network of {data.attrs['width']} {NAMES[unit]} units, which lean to their classes from the first, is "
            "near-optimal (share of what there is to learn that it does not, at the worst ratio)",
            source="abstract: near-optimal", printed=0.0, found=excess[i].max(), tolerance=0.15,
            evidence=f"equations; {excess[i].min():.3f} at the best ratio; random starts: refinetti2021/widths",
        )
        for i, unit in enumerate(data["unit"].values)
    ]  # fmt: skip
    return [
        *found,
        holds(
            FIGURE.key, "closed equations track the learning (largest difference of the mean error of SGD)",
            source="abstract: equations", printed=0.0, found=gap[worst], error=error[worst], tolerance=0.01,
            evidence=f"{size}, both units, all ratios and times",
        ),
        beyond(
            FIGURE.key, "what quadratic units lack is the noise of the rate (excess at a smaller rate and the same rate × time)",
            expected=data.attrs["slower"], found=(float(data["slower"]) - oracle[0]) / (macro[-1, 0, -1] - oracle[0]),
            tolerance=0.15, evidence="equations at two rates; to first order the excess is proportional to the rate",
        ),
        beyond(
            FIGURE.key, "odd units without bias stay at chance (error furthest from one half)", expected=0.5,
            found=odd[int(np.argmax(np.abs(odd - 0.5)))], tolerance=1e-3,
            evidence="+m and −m have one label and opposite outputs; tolerance: nodes of the average",
        ),
        beyond(
            FIGURE.key, "four units along the four means are optimal (error over the oracle's, furthest from one)", expected=1.0,
            found=best.flat[int(np.argmax(np.abs(best - 1)))], tolerance=0.02,
            evidence="average over the network's fields against the oracle's closed form",
        ),
    ]  # fmt: skip


FIGURE = PaperFigure(f"{KEY}/xor", "Four classes that no line separates", compute, draw, claims, PARAMETERS)
