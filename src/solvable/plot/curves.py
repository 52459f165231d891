"""Pictures of trajectories: risk, overlaps and readouts against time."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.plot.style import DASHES, axes, in_style, stroke

if TYPE_CHECKING:
    from matplotlib.axes import Axes


FEW = 40  # outputs that are drawn as points where curves are compared
BARS = 12  # error bars along a curve


def dataset(source: Any) -> Any:
    """A dataset, or that of a Trajectory or of a sweep."""
    found = source if hasattr(source, "data_vars") else getattr(source, "data", None)
    if not hasattr(found, "data_vars"):
        raise TypeError(
            f"plot: {type(source).__name__} given, must be a Trajectory (as run(...) returns it), a sweep or an xarray.Dataset"
        )
    return found


def label_time(ax: "Axes", data: Any) -> None:
    ax.set_xlabel(data["time"].attrs.get("long_name", "time"))


@in_style
def risk(source: Any, ax: "Axes | None" = None, *, phases: bool = False, **style: Any) -> "Axes":
    """Draw the risk of every run against time.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw. The runs of a batch at several learning rates get a colour and a line style for each rate. Where
        `average_risk` has been asked for, the risk of averaged weights is drawn too, dashed.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    phases : bool
        Whether to mark the phases of the first run; needs a Trajectory.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=100)
    >>> ax = sv.plot.risk(run, phases=True)
    >>> ax.get_ylabel()
    'risk'
    """
    from matplotlib.cbook import normalize_kwargs
    from matplotlib.lines import Line2D

    data, ax = dataset(source), axes(ax)
    groups, asked = _groups(data), normalize_kwargs(style, Line2D)
    for i, (name, part) in enumerate(groups):
        chosen = (stroke(i) if name else {}) | asked
        lines = ax.plot(data["time"], part["risk"].transpose("time", "run"), **chosen)
        if name:
            lines[0].set_label(name)
        if "average_risk" in part:
            dashed = {"color": lines[0].get_color(), "linestyle": "--"}
            ax.plot(data["time"], part["average_risk"].transpose("time", "run"), **chosen | dashed)
            lines[0].set_label(name or "weights of the run")
            ax.lines[-1].set_label(f"{name} averaged".strip() + " weights" * (not name))
    if len(groups) > 1 or "average_risk" in data:
        ax.legend()
    label_time(ax, data)
    ax.set_ylabel("risk")
    if phases:
        _mark(ax, source)
    return ax


def _mark(ax: "Axes", source: Any) -> None:
    if not hasattr(source, "phases"):
        raise TypeError("phases: only a Trajectory knows its phases")
    place = ax.get_xaxis_transform()
    for one in source.phases(0):
        if one.name == "plateau":
            ax.axvspan(one.start, one.end, color="0.5", alpha=0.15, lw=0)
        elif one.name == "descent":
            ax.axvline(one.start, color="0.5", lw=0.6, ls=":")
        low, high = ax.get_xlim()
        left, right = max(one.start, low), min(one.end, high)
        log = ax.get_xscale() == "log"
        width = np.log(right / left) / np.log(high / low) if log else (right - left) / (high - low)
        if width > 0.03:  # else there is no room for its name
            middle = np.sqrt(left * right) if log else 0.5 * (left + right)
            ax.text(
                middle,
                0.02,
                one.name,
                transform=place,
                rotation=90,
                ha="center",
                va="bottom",
                fontsize="x-small",
                color="0.4",
            )


def _groups(data: Any) -> list[tuple[str, Any]]:
    """The runs that belong together: those at the same learning rate."""
    if "learning_rate" not in data.coords or len(np.unique(data["learning_rate"])) == 1:
        return [("", data)]
    rates = np.unique(data["learning_rate"])
    return [(f"rate {rate:g}", data.isel(run=np.flatnonzero(data["learning_rate"].values == rate))) for rate in rates]


def draw_entries(
    source: Any, name: str, ax: "Axes | None", run: int, style: dict[str, Any], kind: Callable[..., str] | None = None
) -> "Axes":
    """Every entry of a quantity against time, in a band of its error where that is known and not zero; with `kind(*indices)` those
    of a kind have a colour and a name in the legend."""
    data, ax = dataset(source), axes(ax)
    if name not in data or 0 in data[name].shape:
        labelled = data.filter_by_attrs(long_name=lambda label: label is not None)
        drawn = [str(one) for one, it in labelled.items() if {"run", "time"} <= {*it.dims} and 0 not in it.shape]
        raise ValueError(f"plot: the run has no {name}; it has {', '.join(drawn)}")
    values = data[name].isel(run=run)
    lines = ax.plot(data["time"], values.values.reshape(values.sizes["time"], -1), **style)
    if kind is not None:
        kinds = [kind(*place) for place in np.ndindex(values.shape[1:])]
        order = {one: i for i, one in enumerate(dict.fromkeys(kinds))}
        for line, one in zip(lines, kinds, strict=True):
            line.set_color(style.get("color", f"C{order[one]}"))
        for one in order:
            lines[kinds.index(one)].set_label(one)
        ax.legend()
    _shade_errors(ax, data.isel(run=run), lines)
    label_time(ax, data)
    ax.set_ylabel(data[name].attrs.get("long_name", name))
    return ax


def _shade_errors(ax: "Axes", data: Any, lines: list[Any]) -> None:
    """A band around each line that moves, as wide as the error of the overlaps at its times."""
    if "overlap_error" not in data:  # of a dataset made elsewhere
        return
    error = data["overlap_error"].values
    known = np.isfinite(error)
    if not error[known].any():
        return
    for line in lines:
        time, value = line.get_data()
        if not np.nanmax(np.abs(value - value[0])) > 1e-9:  # norms on the sphere, a readout that is not trained
            continue
        low, high = (value + sign * np.where(known, error, np.nan) for sign in (-1, 1))
        ax.fill_between(time, low, high, alpha=0.25, color=line.get_color(), linewidth=0)


@in_style
def cross_overlaps(
    source: Any, ax: "Axes | None" = None, run: int = 0, *, legend: bool = False, **style: Any
) -> "Axes":
    """Draw every student-teacher overlap of one run against time.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    run : int
        Number of the run.
    legend : bool
        Whether to give each teacher a colour, with a legend.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> len(sv.plot.cross_overlaps(run).lines)
    2
    """
    return draw_entries(source, "cross_overlap", ax, run, style, (lambda _, j: f"teacher {j + 1}") if legend else None)


@in_style
def student_overlaps(
    source: Any, ax: "Axes | None" = None, run: int = 0, *, legend: bool = False, **style: Any
) -> "Axes":
    """Draw every overlap between students of one run against time.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    run : int
        Number of the run.
    legend : bool
        Whether to give norms one colour and overlaps of different students another, with a legend.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> ax = sv.plot.student_overlaps(run, legend=True)
    """
    named = ("of two students", "of a student with itself")
    return draw_entries(source, "student_overlap", ax, run, style, (lambda i, j: named[i == j]) if legend else None)


@in_style
def readouts(source: Any, ax: "Axes | None" = None, run: int = 0, *, legend: bool = False, **style: Any) -> "Axes":
    """Draw the second layer of one run against time.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    run : int
        Number of the run.
    legend : bool
        Whether to give each student a colour, or each head where there are several, with a legend.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> problem = problem.replace(training__train_readout=True)
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> ax = sv.plot.readouts(run)
    """
    word = "head" if "head" in dataset(source)["readout"].dims else "student"
    return draw_entries(source, "readout", ax, run, style, (lambda i, *_: f"{word} {i + 1}") if legend else None)


@in_style
def compare(*sources: Any, labels: list[str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw the risks of several trajectories in one picture.

    A single run is a line. Many runs are their mean with its standard error, as bars and as a band, at the times that all of them
    reached, separately for each learning rate; runs that diverged are left out, and the legend says how many. Few outputs are
    points with error bars, because a line between them would say what nobody has computed.

    Parameters
    ----------
    *sources : Trajectory or xarray.Dataset
        What to draw.
    labels : list of str, optional
        Names for the legend; left out, the levels'.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0)
    >>> macro = sv.run(problem, start, sv.Macro(), until=10)
    >>> micro = sv.run(problem, start, sv.Micro(runs=8), until=10, progress=False)
    >>> ax = sv.plot.compare(macro, micro, labels=["equations", "SGD"])
    """
    if not sources:
        raise ValueError("compare: give at least one trajectory")
    if labels is not None and len(labels) != len(sources):
        raise ValueError(f"compare: {len(labels)} labels given for {len(sources)} trajectories, must be as many")
    ax = axes(ax)
    datasets = [dataset(source) for source in sources]
    units = {data["time"].attrs.get("long_name") for data in datasets}
    if len(units) > 1:
        raise ValueError(f"compare: the trajectories have different clocks ({', '.join(map(str, units))})")
    for i, data in enumerate(datasets):
        label = labels[i] if labels else f"{data.attrs.get('level', i)}"
        for name, part in _groups(data):
            _mean(ax, part, f"{label}, {name}" if name else label)
    label_time(ax, datasets[0])
    ax.set_ylabel("risk")
    ax.legend()
    return ax


def _mean(ax: "Axes", data: Any, label: str) -> None:
    kept = data["risk"].values[data["ending"].values != "diverged"]
    runs, lost = len(data["risk"]), len(data["risk"]) - len(kept)
    label += f", {len(kept)} runs (mean ± s.e.)" if len(kept) > 1 else ""
    label += f" ({lost} of {runs} diverged, left out)" if lost else ""
    reached = np.isfinite(kept).all(axis=0) if len(kept) else np.zeros(data.sizes["time"], dtype=bool)
    time, kept = data["time"].values[reached], kept[:, reached]
    mean = kept.mean(axis=0) if len(kept) else np.zeros(0)
    error = standard_error(kept, axis=0) if len(kept) > 1 else None
    bars: dict[str, Any] = {"capsize": 2.5, "elinewidth": 1.0, "label": label}
    if 0 < len(time) <= FEW:
        ax.errorbar(time, mean, error, fmt="o", markersize=3.0, **bars)
        return
    dashes = DASHES[len(ax.containers) % len(DASHES)]
    curve = ax.errorbar(time, mean, error, linestyle=dashes, errorevery=max(1, len(time) // BARS), **bars).lines[0]
    if error is not None:
        ax.fill_between(time, mean - error, mean + error, alpha=0.25, color=curve.get_color(), linewidth=0)
