"""Pictures of sweeps: families of curves, a quantity along an axis, heat maps, phase diagrams."""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.curves import dataset
from solvable.plot.style import axes, figure, letter

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTITIES = (
    "exit_time", "end_risk", "end_time", "start_risk", "nfev", "fewest", "success", "end_training_loss", "end_gap", "best_risk",
    "best_time", "interpolation_time",
)  # fmt: skip
SUCCESS = "share of runs that get there"
REPEATED = ("run", "instance")  # dimensions that are averaged over
PANELS = 6
ROOM = 10  # letters of the names along an axis; longer ones are slanted
SCHEDULE = re.compile(r"times=\(([^)]*)\) rates=\(([^)]*)\) shape='(\w+)'")  # as a schedule shows itself


def sweep(source: Any, quantity: str | None = None) -> "Figure":
    """Draw a sweep as its axes ask for, averaged over seeds and runs.

    One axis: a family of curves and the quantity. Two: a heat map, and a phase diagram where some runs do not reach the
    threshold. A third axis makes panels.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        What to draw.
    quantity : str, optional
        Name of the quantity; left out, one that the sweep has.

    Returns
    -------
    matplotlib Figure
        The picture.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"training.learning_rate": [0.1, 0.2]}, until=10, store=None, workers=0)
    >>> picture = sv.plot.sweep(swept)
    """
    data = dataset(source)
    if not bool(data["done"].any()):
        failed = "; all that were tried failed" if bool((data["failure"] != "").any()) else ""
        raise ValueError(f"show: no point is there yet{failed}")
    quantity = quantity or _choose(data)
    if quantity != "success" and quantity not in data.data_vars:
        known = [name for name in QUANTITIES if name in data or (name == "success" and "exit_time" in data)]
        raise ValueError(f"quantity: {quantity!r} given, must be one of {', '.join(known)}")
    main = _axes_of(data)
    if len(main) <= 1:
        return _along(data, quantity, main[0] if main else None)
    if "fewest" in data and quantity == "fewest":
        return _panels(data, main[:-1], lambda part, ax: phases(part, main[-1], ax=ax))
    if any(data[dim].dtype.kind not in "iuf" for dim in main[-2:]):
        return _panels(data, main[:-2], lambda part, ax: lines(part, quantity, main[-2], main[-1], ax=ax))
    kinds = [quantity]
    if quantity == "exit_time" and bool((data["exit_time"].isnull() & data["done"]).any()):
        kinds.append("success")
    y, x = main[-2:]
    if len(main) == 2:
        picture, panels = figure(1, len(kinds), height=2.9, width=3.6 * len(kinds) + 0.2)
        for i, (ax, kind) in enumerate(zip(np.atleast_1d(panels), kinds, strict=True)):
            heat_map(data, kind, x, y, ax=ax)
            if len(kinds) > 1:
                letter(ax, "ab"[i])
        return picture
    return _panels(data, main[:-2], lambda part, ax: heat_map(part, quantity, x, y, ax=ax))


def _choose(data: Any) -> str:
    if "fewest" in data:
        return "fewest"
    return "exit_time" if "exit_time" in data and bool(data["exit_time"].notnull().any()) else "end_risk"


def _axes_of(data: Any) -> list[str]:
    """The axes that are looked along: not the seeds, not those with one value."""
    dims = [str(dim) for dim in data["done"].dims]
    return [dim for dim in dims if data.sizes[dim] > 1 and not str(data[dim].attrs.get("field", dim)).endswith(".seed")]


def _average(data: Any, quantity: str, kept: tuple[str, ...]) -> tuple[Any, Any]:
    """Mean over runs and seeds, and its standard error: over seeds if there are several, else over runs. Times that some runs do
    not have, and values of runs of which some diverged, are not averaged."""
    there = data["done"] if "ending" not in data else data["done"] & (data["ending"] != "")
    values = data["exit_time"].notnull().where(there) if quantity == "success" else data[quantity]
    over = [dim for dim in values.dims if dim not in kept]
    mean = values.mean(over)
    if quantity in ("exit_time", "interpolation_time"):
        mean = mean.where(~(values.isnull() & there).any(over))
    elif quantity != "success" and "ending" in data:
        mean = mean.where(~(data["ending"] == "diverged").any(over))
    runs = [dim for dim in over if dim in REPEATED]
    seeds = [dim for dim in over if dim not in runs and values.sizes[dim] > 1]
    along = seeds or runs
    each = values.mean([dim for dim in over if dim not in along])
    if not along:
        return mean, each.where(False)
    count = each.notnull().sum(along)
    return mean, (each.std(along, ddof=1) / np.sqrt(count)).where(count > 1)


def heat_map(source: Any, quantity: str, x: str, y: str, ax: "Axes | None" = None) -> "Axes":
    """Draw a quantity over two axes of a sweep, averaged over the others, with contour lines.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        What to draw.
    quantity : str
        Name of the quantity, for instance "end_risk" or "exit_time". Cells without a value are grey.
    x, y : str
        Names of the axes.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> vary = {"student.width": [2, 3], "training.learning_rate": [0.1, 0.2]}
    >>> swept = sv.sweep(problem, vary, until=10, store=None, workers=0)
    >>> ax = sv.plot.heat_map(swept, "end_risk", "learning_rate", "width")
    """
    from matplotlib.colors import LogNorm, Normalize

    data, ax = dataset(source), axes(ax)
    mean, _ = _average(data, quantity, (x, y))
    values = mean.transpose(y, x).values.astype(float)
    finite = values[np.isfinite(values)]
    norm: Any = None
    if quantity == "success":
        norm = Normalize(0, 1)
    elif finite.size and finite.min() > 0 and finite.max() > 5 * finite.min():
        norm = LogNorm(finite.min(), finite.max())
    along, up = _positions(data, x, ax, "x"), _positions(data, y, ax, "y")
    ax.set_facecolor("0.85")
    mesh = ax.pcolormesh(along, up, np.ma.masked_invalid(values), norm=norm, shading="nearest", cmap="viridis")
    if min(values.shape) > 3 and finite.size > 8 and finite.max() > finite.min():
        levels = [0.5] if quantity == "success" else None
        if isinstance(norm, LogNorm):
            round_ones = np.outer(10.0 ** np.arange(-30, 31), [1, 2, 5]).ravel()
            levels = [one for one in round_ones if finite.min() < one < finite.max()][:12]
        drawn = ax.contour(along, up, np.ma.masked_invalid(values), levels, norm=norm, colors="white", linewidths=0.8)
        if quantity != "success":
            ax.clabel(drawn, fontsize=6, fmt=lambda level: f"{level:.3g}")
    ax.figure.colorbar(mesh, ax=ax, label=_name(data, quantity))
    if not np.isfinite(values).all():
        ax.set_title("grey: not for all runs", fontsize=6, loc="right")
    return ax


def lines(source: Any, quantity: str, one: str, other: str, ax: "Axes | None" = None) -> "Axes":
    """Draw a quantity along the numeric one of two axes, with a line for each value of the other.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        What to draw.
    quantity : str
        Name of the quantity, for instance "end_risk" or "exit_time".
    one, other : str
        Names of the two axes.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> vary = {"student.width": [2, 3], "training.learning_rate": [0.1, 0.2]}
    >>> swept = sv.sweep(problem, vary, until=10, store=None, workers=0)
    >>> ax = sv.plot.lines(swept, "end_risk", "learning_rate", "width")
    """
    data, ax = dataset(source), axes(ax)
    along, each = (one, other) if data[one].dtype.kind in "iuf" else (other, one)
    mean, error = _average(data, quantity, (one, other))
    positions = _positions(data, along, ax, "x")
    for value in data[each].values:
        part, spread = mean.sel({each: value}), error.sel({each: value})
        spreads = np.nan_to_num(spread.values)
        ax.errorbar(positions, part.values, spreads, marker="o", markersize=3.5, linewidth=1.0, label=_short(value))
    ax.set_ylabel(_name(data, quantity))
    ax.legend(title=_title(data, each), fontsize=7)
    return ax


def phases(source: Any, x: str, ax: "Axes | None" = None) -> "Axes":
    """Draw the share of data sets in which so many samples determine the teacher, from a sweep of recovery.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        A sweep with measure=FewestSamples(...).
    x : str
        Name of the axis along x; the number of samples is along y, with a line at one half.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=3, n=None)
    >>> measure = sv.sweeps.FewestSamples(instances=3)
    >>> swept = sv.sweep(problem, {"inputs.dim": [3, 4]}, measure=measure, store=None, workers=0)
    >>> ax = sv.plot.phases(swept, "dim")
    """
    data, ax = dataset(source), axes(ax)
    fewest = data["fewest"]
    over = [dim for dim in fewest.dims if dim != x]
    most = int(fewest.max())
    samples = np.unique(np.linspace(0, 1.1 * most, min(200, most + 2)).astype(int))
    enough = [(fewest <= n).where(fewest.notnull()).mean(over).values for n in samples]
    along = _positions(data, x, ax, "x")
    ax.set_facecolor("0.85")
    mesh = ax.pcolormesh(
        along, samples, np.ma.masked_invalid(enough), vmin=0, vmax=1, shading="nearest", cmap="viridis"
    )
    if len(along) > 1:
        ax.contour(along, samples, np.ma.masked_invalid(enough), [0.5], colors="white", linewidths=1.0)
    ax.set_ylabel("samples")
    ax.figure.colorbar(mesh, ax=ax, label="share of data sets that have enough")
    return ax


def family(source: Any, along: str, ax: "Axes | None" = None) -> "Axes":
    """Draw the risk over time for each value of one axis of a sweep, as the mean over runs and seeds.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        What to draw; it must have kept the risk.
    along : str
        Name of the axis.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"training.learning_rate": [0.1, 0.2]}, until=10, store=None, workers=0)
    >>> ax = sv.plot.family(swept, "learning_rate")
    """
    from matplotlib import colormaps

    data, ax = dataset(source), axes(ax)
    values = data[along].values
    risk = data["risk"].where(data["ending"] != "diverged")
    mean = risk.mean([dim for dim in risk.dims if dim not in (along, "time")])
    shown = np.unique(np.linspace(0, len(values) - 1, min(8, len(values))).round().astype(int))
    for i, at in enumerate(shown):
        times = data["time"] if "at_time" not in data.coords else _shared_clock(data, along, int(at))
        colour = colormaps["viridis"](0.9 * i / max(1, len(shown) - 1))
        curve = mean.isel({along: at}).values
        ax.plot(
            times, curve, color=colour, label=_short(values[at]) + ("" if np.isfinite(curve).any() else ", diverged")
        )
    ax.set_yscale("log")
    ax.set_xlabel("time" if data["time"].attrs.get("long_name") is None else data["time"].attrs["long_name"])
    ax.set_ylabel("risk")
    ax.legend(title=_title(data, along), fontsize=7)
    return ax


def _shared_clock(data: Any, along: str, at: int) -> np.ndarray:
    clock = data["at_time"].isel({along: at})
    values: np.ndarray = clock.mean([dim for dim in clock.dims if dim != "time"]).values
    return values


def _along(data: Any, quantity: str, along: str | None) -> "Figure":
    """A family of curves, if curves are kept, and the quantity along an axis."""
    if along is None:  # seeds alone
        along = next((str(dim) for dim in data["done"].dims if data.sizes[dim] > 1), str(data["done"].dims[0]))
    curves = "risk" in data
    picture, panels = figure(1, 2 if curves else 1, height=2.9, width=7.0 if curves else 3.8)
    panels = np.atleast_1d(panels)
    if curves:
        family(data, along, ax=panels[0])
        letter(panels[0], "a")
        letter(panels[1], "b")
    mean, error = _average(data, quantity, (along,))
    positions = _positions(data, along, panels[-1], "x")
    panels[-1].errorbar(positions, mean.values, np.nan_to_num(error.values), marker="o", markersize=3.5, linewidth=1.0)
    panels[-1].set_ylabel(_name(data, quantity))
    missing = np.isnan(mean.values)
    if missing.any():
        bottom = panels[-1].get_xaxis_transform()
        panels[-1].plot(
            positions[missing], np.full(missing.sum(), 0.03), "x", color="0.4", transform=bottom, markersize=5,
            label="not for all runs",
        )  # fmt: skip
        panels[-1].legend(fontsize=7)
    return picture


def _panels(data: Any, others: list[str], draw: Any) -> "Figure":
    """A panel for each value of the axes beyond, as many as there is room for."""
    if not others:
        picture, ax = figure(1, 1, height=3.0, width=4.2)
        draw(data, ax)
        return picture
    first, rest = others[-1], others[:-1]
    left_out = [f"{_title(data, dim)}: first of {data.sizes[dim]}" for dim in rest]
    if data.sizes[first] > PANELS:
        left_out.append(f"{PANELS} of {data.sizes[first]} values of {_title(data, first)}")
    data = data.isel(dict.fromkeys(rest, 0))
    shown = np.unique(np.linspace(0, data.sizes[first] - 1, min(PANELS, data.sizes[first])).round().astype(int))
    columns = min(2, len(shown))
    picture, panels = figure(-(-len(shown) // columns), columns, height=2.8)
    panels = np.atleast_1d(panels).ravel()
    for ax, at in zip(panels, shown, strict=False):
        part = data.isel({first: int(at)})
        draw(part, ax)
        ax.set_title(_place(part, [*rest, first]), fontsize=8)
    for ax in panels[len(shown) :]:
        ax.remove()
    if left_out:
        picture.suptitle(f"shown: {'; '.join(left_out)}", fontsize=8)
    return picture


def _positions(data: Any, dim: str, ax: "Axes", which: str) -> np.ndarray:
    """Where the values of an axis are drawn; labels the axis, and makes it logarithmic where they are spaced so."""
    values = data[dim].values
    (ax.set_xlabel if which == "x" else ax.set_ylabel)(_title(data, dim))
    if values.dtype.kind not in "iuf":
        places: np.ndarray = np.arange(len(values))
        names = [_short(value) for value in values]
        slanted: dict[str, Any] = {"rotation": 25, "ha": "right", "rotation_mode": "anchor", "fontsize": 7}
        long = which == "x" and max(map(len, names)) > ROOM
        (ax.set_xticks if which == "x" else ax.set_yticks)(places, names, **(slanted if long else {}))
        return places
    if len(values) > 2 and values.min() > 0 and values.max() / values.min() >= 8:
        steps = np.diff(np.log(values))
        if steps.std() < 0.2 * abs(steps.mean()):
            (ax.set_xscale if which == "x" else ax.set_yscale)("log")
    if values.dtype.kind in "iu" and len(values) <= 12:
        (ax.set_xticks if which == "x" else ax.set_yticks)(values, [str(value) for value in values])
        (ax.xaxis if which == "x" else ax.yaxis).set_ticks([], minor=True)
    return values


def _place(part: Any, dims: list[str]) -> str:
    return ", ".join(f"{_title(part, dim)} {_short(part[dim].values[()])}" for dim in dims)


def _title(data: Any, dim: str) -> str:
    """What an axis is called: the field, with whose it is for those that teachers and students both have."""
    first, _, last = str(data[dim].attrs.get("field", dim)).rpartition(".")
    whose = f"{first} " if first in ("teacher", "student") else ""
    return whose + last.replace("_", " ")


def _name(data: Any, quantity: str) -> str:
    if quantity == "success":
        return SUCCESS
    return str(data[quantity].attrs.get("long_name", quantity.replace("_", " ")))


def _short(value: Any) -> str:
    """A schedule by its values and, behind each but the first, the time from which on it holds."""
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    found = SCHEDULE.fullmatch(str(value))
    if found is None:
        return str(value)
    times, rates = ([f"{float(part):.4g}" for part in text.split(",") if part.strip()] for text in found.groups()[:2])
    steps = [rates[0], *(f"{rate} ({time})" for rate, time in zip(rates[1:], times[1:], strict=True))]
    return (", " if found[3] == "steps" else " to ").join(steps)
