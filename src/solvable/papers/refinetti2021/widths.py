"""More hidden units: from random weights wider networks find the four classes sooner, and more often, but no better.

SGD at finite dimension from many starts. A start is slow, or never learns, where no unit leans to one of the means. Its speed is
one over the time at which it has made most of the way from the first risk to the least that any run of these units has, and zero if
it never does. In the end the best start of each width is as good as that of any other. Not so the mean over all starts: of four
units many stay where not all classes are told apart, ten of sixteen ReLU networks up to α = 20000, so that it falls with the width.
The abstract does not say which of the two it speaks of. All of this is from small first weights; from a spread of 1, the default of
the authors' code, sixteen units were no faster than eight."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.dynamics.classification import classification_error
from solvable.dynamics.oracle import oracle_error
from solvable.levels import run_batch
from solvable.macro import Macro
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.papers.claims import Claim, beyond, holds
from solvable.papers.figure import PaperFigure, whole
from solvable.papers.parameters import UNREAD, Parameter, table
from solvable.papers.refinetti2021.settings import ANY, CODE, DECAY, KEY, problem, random_start
from solvable.papers.refinetti2021.xor import NAMES
from solvable.plot.style import figure, letter, stroke
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure

PARAMETERS = table(
    Parameter("units", UNREAD, ("relu", "quadratic"), why="the authors' code has ReLU; quadratic units are closed", label="g"),
    Parameter("widths", UNREAD, (4, 6, 8, 12, 16), (4, 8, 12), why="4 and 8 stand in the authors' examples", label="K"),
    Parameter("variance", UNREAD, 0.2, why="an oracle that is wrong one time in ten", label="σ²"),
    Parameter("rate", UNREAD, 0.1, why=CODE, label="learning rate"),
    Parameter("decay", UNREAD, 0.0, why=DECAY, label="weight decay"),
    Parameter("size", UNREAD, 0.1, why=CODE + "; its default is 1, where K = 16 is no faster than 8",
              label="spread of first weights and readouts"),
    Parameter("dim", UNREAD, 1000, 400, why=CODE, label="N"),
    Parameter("starts", UNREAD, 48, 16, why="speeds to about five per cent", label="starts"),
    Parameter("until", UNREAD, 800.0, 600.0, why="almost all wide networks have learned", label="last α of panel a"),
    Parameter("long", UNREAD, 3000.0, 2000.0, why="hardly any start learns later, up to 20000", label="α of the end"),
    Parameter("way", UNREAD, 0.9, why="near the end, yet above the noise of single runs", label="share of the way to go"),
    Parameter("looks", UNREAD, 17, 11, why="smooth curves", label="times of panel a"),
    Parameter("seed", UNREAD, 1, why=ANY),
)  # fmt: skip
FINE = 20  # steps of the risk's times between two looks
BESIDE = 0.5  # points that would cover each other are drawn so far apart


def compute(quick: bool) -> "xarray.Dataset":
    import xarray

    values = PARAMETERS.values(quick)
    units, widths = values["units"], values["widths"]
    looks = np.linspace(0, values["until"], values["looks"])
    times = np.append(np.linspace(0, values["until"], FINE * (len(looks) - 1) + 1), values["long"])
    sgd = Micro(runs=1, seed=values["seed"])
    shape = (len(units), len(widths), values["starts"])
    risk, error, last = np.empty((*shape, len(times))), np.empty((*shape[1:], len(looks))), np.empty(shape)
    equations, expected = np.empty((*shape[1:], len(times))), np.empty(shape[1:])
    for i, j in np.ndindex(shape[:2]):
        here = problem(units[i], widths[j], values["variance"], values["rate"], values["dim"], values["decay"])
        starts = [random_start(here, values["size"], 1000 * values["seed"] + k) for k in range(values["starts"])]
        found = whole(run_batch(here, starts, sgd, times=times, progress=False))
        risk[i, j], last[i, j] = found.risk, _errors(found, times[-1])
        if i == 0:
            error[j] = np.transpose([_errors(found, look) for look in times[:-1:FINE]])
        else:
            followed = run_batch(here, starts, Macro(rtol=1e-6), times=times)
            equations[j], expected[j] = followed.risk, _errors(followed, times[-1])
    return xarray.Dataset(
        {
            "risk": (("unit", "width", "start", "time"), risk),
            "equations": (("width", "start", "time"), equations),
            "error": (("width", "start", "look"), error),
            "last": (("unit", "width", "start"), last),
            "last_equations": (("width", "start"), expected),
        },
        {"unit": list(units), "width": list(widths), "time": times, "look": looks},
        {"oracle": oracle_error(here), **{name: values[name] for name in ("dim", "way", "variance")}},
    )


def _errors(runs: Trajectory, time: float) -> list[float]:
    """How often each run is wrong at this time."""
    return [classification_error(runs.problem, state) for state in runs.states(float(time))]


def _speeds(risk: np.ndarray, least: float, data: "xarray.Dataset") -> np.ndarray:
    """(width, start) one over the first time at which the wanted share of the way to the least risk is made."""
    times, first = data["time"].values, risk[..., :1]
    there = risk <= first - data.attrs["way"] * (first - least)
    return np.where(there.any(axis=-1), 1 / times[np.maximum(np.argmax(there, axis=-1), 1)], 0.0)


def _of_units(data: "xarray.Dataset") -> list[np.ndarray]:
    """Speeds of SGD for each kind of unit."""
    return [_speeds(risk, np.nanmin(risk), data) for risk in data["risk"].values]


def _mean(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the last axis, and its standard error."""
    return values.mean(axis=-1), standard_error(values, axis=-1)


def draw(data: "xarray.Dataset") -> "Figure":
    picture, (left, middle, right) = figure(1, 3, height=2.6, width=7.4)
    widths, found = data["width"].values, _of_units(data)
    for j, width in enumerate(widths):
        left.plot(data["look"], np.median(data["error"].values[j], axis=0), label=f"$K = {width}$", **stroke(j))
    left.axhline(data.attrs["oracle"], color="black", linewidth=0.8, label="oracle")
    for i, unit in enumerate(data["unit"].values):
        options: Any = {"fmt": "os"[i], "color": f"C{i}", "markersize": 4, "label": f"{NAMES[unit]}, SGD"}
        middle.errorbar(widths, *_mean(found[i]), **options)
        ends, beside = data["last"].values[i], widths + BESIDE * (i - 0.5)
        right.errorbar(
            beside, *_mean(ends), **options | {"label": f"{NAMES[unit]}, mean", "mfc": "white", "markersize": 6}
        )
        best: Any = {"color": f"C{i}", "markersize": 3, "zorder": 5, "label": f"{NAMES[unit]}, best"}
        right.plot(beside, ends.min(axis=-1), "os"[i], **best)
    expected = _speeds(data["equations"].values, np.nanmin(data["risk"].values[1]), data)
    middle.plot(widths, _mean(expected)[0], label="quadratic, equations", **stroke(1))
    right.axhline(data.attrs["oracle"], color="black", linewidth=0.8, label="oracle")
    left.set(xlabel="$\\alpha$ = steps/$N$", ylabel="classification error, median", ylim=(0, 0.53), xlim=(0, None))
    middle.set(xlabel="$K$", ylabel="mean of 1/(time to learn)", ylim=(0, 1.75 * found[0].mean(axis=-1).max()))
    right.set(xlabel="$K$", ylabel=f"error at $\\alpha = {float(data['time'][-1]):g}$", ylim=(0, 0.55))
    for ax, name in zip((left, middle, right), "abc", strict=True):
        letter(ax, name)
        ax.legend(loc="upper right")
    middle.set_xticks(widths)
    right.set_xticks(widths)
    title = f"{NAMES[str(data['unit'].values[0])]}, $\\sigma^2 = {data.attrs['variance']}$, $N = {data.attrs['dim']}$"
    left.set_title(title, fontsize=8, loc="right")
    return picture


def claims(data: "xarray.Dataset") -> list[Claim]:
    widths, found, last = data["width"].values, _of_units(data), data["last"].values
    starts, made = last.shape[-1], []
    for i, unit in enumerate(data["unit"].values):
        (speed, error), (end, spread), best = _mean(found[i]), _mean(last[i]), last[i].min(axis=-1)
        order = np.corrcoef(np.log(widths), speed)[0, 1]
        share = (found[i] > 0).mean(axis=-1)
        words = ", ".join(
            f"{width}: {one:.2g} ± {by:.1g} ({part:.0%} learn)"
            for width, one, by, part in zip(widths, speed, error, share, strict=True)
        )
        made += [
            holds(
                FIGURE.key, f"over-parametrised {NAMES[unit]} networks converge faster (correlation of log K and mean speed)",
                source="abstract: faster", printed=1.0, found=order, tolerance=0.15, evidence=f"{starts} starts; {words}",
            ),
            holds(
                FIGURE.key, f"over-parametrising does not improve the final error of the best of {starts} {NAMES[unit]} networks "
                "(widest less narrowest)", source="abstract: final performance", printed=0.0, found=best[-1] - best[0],
                tolerance=0.005,
                evidence=f"errors {best[0]:.4f} and {best[-1]:.4f}, oracle {data.attrs['oracle']:.4f}; but of all starts "
                f"{end[0]:.3f} ± {spread[0]:.1g} and {end[-1]:.3f} ± {spread[-1]:.1g}: {share[0]:.0%} and {share[-1]:.0%} learn",
            ),
        ]  # fmt: skip
    return [*made, _second_route(data, found[1]), _over_all_starts(data)]


def _over_all_starts(data: "xarray.Dataset") -> Claim:
    """By how much the mean final error falls with the width, because few narrow networks learn, by SGD and by the equations."""
    pairs = data["last"].values[1], data["last_equations"].values
    found, expected = (one[0].mean() - one[-1].mean() for one in pairs)
    apart = pairs[0] - pairs[1]
    error = float(np.hypot(standard_error(apart[0]), standard_error(apart[-1])))
    widths = data["width"].values
    return beyond(
        FIGURE.key, f"over all starts {widths[0]} quadratic units are wrong so much more often in the end than {widths[-1]}",
        expected=expected, found=found, error=error, tolerance=max(4 * error, 0.002),
        evidence="SGD at finite N against the equations, from the same starts; those that never learn make the difference",
    )  # fmt: skip


def _second_route(data: "xarray.Dataset", speed: np.ndarray) -> Claim:
    """How much faster wide networks are, by SGD and by the equations from the same starts."""
    expected = _speeds(data["equations"].values, np.nanmin(data["risk"].values[1]), data)
    ratio = speed[-1].mean() / speed[0].mean()
    apart = [_mean(one - other)[1] / other.mean() for one, other in zip(speed, expected, strict=True)]
    error = ratio * float(np.hypot(apart[0], apart[-1]))
    return beyond(
        FIGURE.key, f"{data['width'].values[-1]} quadratic units are so many times as fast as {data['width'].values[0]}",
        expected=expected[-1].mean() / expected[0].mean(), found=ratio, error=error, tolerance=max(4 * error, 0.05 * ratio),
        evidence="SGD at finite N against the equations, from the same starts",
    )  # fmt: skip


FIGURE = PaperFigure(
    f"{KEY}/widths", "More units learn sooner and more often, not better", compute, draw, claims, PARAMETERS
)
