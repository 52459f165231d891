"""Pictures of sweeps: families of curves, a quantity along an axis, heat maps, phase diagrams."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.curves import dataset
from solvable.plot.style import axes, figure, in_style, letter
from solvable.plot.sweep_entries import REPEATED, entries, entry
from solvable.plot.sweep_labels import edges_of, name_of, place_of, positions_along, short, title_of
from solvable.problems.nearest import not_one_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

QUANTITIES = (
    "exit_time", "end_risk", "end_time", "start_risk", "nfev", "fewest", "success", "end_training_loss", "end_gap", "best_risk",
    "best_time", "interpolation_time",
)  # fmt: skip
LOST = ("diverged", "disagreed")  # endings of runs whose last values mean nothing
PANELS = 6


@in_style
def sweep(source: Any, quantity: str | None = None) -> "Figure":
    """Draw a sweep as its axes ask for, averaged over seeds and runs.

    One axis: a family of curves and the quantity. Two: a heat map, and a phase diagram where some runs do not reach the
    threshold. A third axis makes panels.

    Parameters
    ----------
    source : Swept or xarray.Dataset
        What to draw.
    quantity : str, optional
        Name of the quantity; left out, one that the sweep has. Of a kept array it is the last output, and all entries are
        drawn: "forgetting" of all tasks, "forgetting.0" of the first.

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
    if quantity != "success" and quantity.partition(".")[0] not in data.data_vars:
        known = [name for name in QUANTITIES if name in data or (name == "success" and "exit_time" in data)]
        known += [str(name) for name in data.data_vars if name not in (*known, "done", "failure", "ending")]
        raise ValueError(f"quantity: {not_one_of(quantity, known)}")
    main = _axes_of(data)
    if len(main) <= 1:
        return _along(data, quantity, main[0] if main else None)
    if "fewest" in data and quantity == "fewest":
        return _panels(data, main[:-1], lambda part, ax: phases(part, main[-1], ax=ax))
    if any(data[dim].dtype.kind not in "iuf" for dim in main[-2:]):
        return _panels(data, main[:-2], lambda part, ax: lines(part, quantity, main[-2], main[-1], ax=ax))
    data, kinds = entries(data, quantity) if len(main) == 2 else (data, [quantity])
    if quantity == "exit_time" and bool((data["exit_time"].isnull() & data["done"]).any()):
        kinds.append("success")
    y, x = main[-2:]
    if len(main) == 2:
        picture, panels = figure(1, len(kinds), height=2.9, width=3.6 * len(kinds) + 0.2)
        for i, (ax, kind) in enumerate(zip(np.atleast_1d(panels), kinds, strict=True)):
            heat_map(data, kind, x, y, ax=ax)
            if len(kinds) > 1:
                letter(ax, "abcdef"[i])
        return picture
    return _panels(data, main[:-2], lambda part, ax: heat_map(part, quantity, x, y, ax=ax))


def _choose(data: Any) -> str:
    for name in ("fewest", "forgetting", "classification_error"):
        if name in data and bool(data[name].notnull().any()):
            return name
    return "exit_time" if "exit_time" in data and bool(data["exit_time"].notnull().any()) else "end_risk"


def _axes_of(data: Any) -> list[str]:
    """The axes that are looked along: not the seeds, not those with one value."""
    dims = [str(dim) for dim in data["done"].dims]
    return [dim for dim in dims if data.sizes[dim] > 1 and not str(data[dim].attrs.get("field", dim)).endswith(".seed")]


def _average(data: Any, quantity: str, kept: tuple[str, ...]) -> tuple[Any, Any]:
    """Mean over runs and seeds, and its standard error: over seeds if there are several, else over runs. Times that some runs do
    not have, and values of runs of which some broke off, are not averaged. A single run may state its own error."""
    there = data["done"] if "ending" not in data else data["done"] & (data["ending"] != "")
    values = data["exit_time"].notnull().where(there) if quantity == "success" else data[quantity]
    over = [dim for dim in values.dims if dim not in kept]
    mean = values.mean(over)
    if quantity in ("exit_time", "interpolation_time"):
        mean = mean.where(~(values.isnull() & there).any(over))
    elif quantity != "success" and "ending" in data:
        mean = mean.where(~data["ending"].isin(LOST).any(over))
    runs = [dim for dim in over if dim in REPEATED]
    seeds = [dim for dim in over if dim not in runs and values.sizes[dim] > 1]
    along = seeds or runs
    each = values.mean([dim for dim in over if dim not in along])
    if not along or (not seeds and all(values.sizes[dim] == 1 for dim in runs)):
        stated = f"{quantity}_error"
        return mean, data[stated].mean(over) if stated in data else mean.where(False)
    count = each.notnull().sum(along)
    return mean, (each.std(along, ddof=1) / np.sqrt(count)).where(count > 1)


@in_style
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

    ax = axes(ax)
    data, quantity = entry(dataset(source), quantity)
    mean, _ = _average(data, quantity, (x, y))
    values = mean.transpose(y, x).values.astype(float)
    finite = values[np.isfinite(values)]
    norm: Any = None
    if quantity == "success":
        norm = Normalize(0, 1)
    elif finite.size and finite.min() > 0 and finite.max() > 5 * finite.min():
        norm = LogNorm(finite.min(), finite.max())
    along, up = positions_along(data, x, ax, "x"), positions_along(data, y, ax, "y")
    ax.set_facecolor("0.85")
    cells = edges_of(along, ax.get_xscale()), edges_of(up, ax.get_yscale())
    mesh = ax.pcolormesh(*cells, np.ma.masked_invalid(values), norm=norm, cmap="viridis")
    if min(values.shape) > 3 and finite.size > 8 and finite.max() > finite.min():
        levels = [0.5] if quantity == "success" else None
        if isinstance(norm, LogNorm):
            round_ones = np.outer(10.0 ** np.arange(-30, 31), [1, 2, 5]).ravel()
            levels = [one for one in round_ones if finite.min() < one < finite.max()][:12]
        drawn = ax.contour(along, up, np.ma.masked_invalid(values), levels, norm=norm, colors="white", linewidths=0.8)
        if quantity != "success":
            ax.clabel(drawn, fontsize=6, fmt=lambda level: f"{level:.3g}")
    ax.figure.colorbar(mesh, ax=ax, label=name_of(data, quantity))
    if not np.isfinite(values).all():
        ax.set_title("grey: not for all runs", fontsize=6, loc="right")
    return ax


@in_style
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
    ax = axes(ax)
    data, quantity = entry(dataset(source), quantity)
    along, each = (one, other) if data[one].dtype.kind in "iuf" else (other, one)
    mean, error = _average(data, quantity, (one, other))
    positions = positions_along(data, along, ax, "x")
    for value in data[each].values:
        part, spread = mean.sel({each: value}), error.sel({each: value})
        spreads = np.nan_to_num(spread.values)
        ax.errorbar(positions, part.values, spreads, marker="o", markersize=3.5, linewidth=1.0, label=short(value))
    ax.set_ylabel(name_of(data, quantity))
    ax.legend(title=title_of(data, each), fontsize=7)
    return ax


@in_style
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
    along = positions_along(data, x, ax, "x")
    ax.set_facecolor("0.85")
    cells = edges_of(along, ax.get_xscale()), edges_of(samples, "linear")
    mesh = ax.pcolormesh(*cells, np.ma.masked_invalid(enough), vmin=0, vmax=1, cmap="viridis")
    if len(along) > 1:
        ax.contour(along, samples, np.ma.masked_invalid(enough), [0.5], colors="white", linewidths=1.0)
    ax.set_ylabel("samples")
    ax.figure.colorbar(mesh, ax=ax, label="share of data sets that have enough")
    return ax


@in_style
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
    risk = data["risk"].where(~data["ending"].isin(LOST))
    mean = risk.mean([dim for dim in risk.dims if dim not in (along, "time")])
    shown = np.unique(np.linspace(0, len(values) - 1, min(8, len(values))).round().astype(int))
    for i, at in enumerate(shown):
        times = data["time"] if "at_time" not in data.coords else _shared_clock(data, along, int(at))
        colour = colormaps["viridis"](0.9 * i / max(1, len(shown) - 1))
        curve = mean.isel({along: at}).values
        ax.plot(
            times, curve, color=colour, label=short(values[at]) + ("" if np.isfinite(curve).any() else ", broke off")
        )
    ax.set_yscale("log")
    ax.set_xlabel("time" if data["time"].attrs.get("long_name") is None else data["time"].attrs["long_name"])
    ax.set_ylabel("risk")
    ax.legend(title=title_of(data, along), fontsize=7)
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
    data, quantities = entries(data, quantity)
    _draw_along(panels[-1], data, quantities, along)
    return picture


def _draw_along(ax: "Axes", data: Any, quantities: list[str], along: str) -> None:
    """Quantities with their standard errors along an axis; a cross at the bottom where a mean is not known."""
    positions = positions_along(data, along, ax, "x")
    missing = np.zeros(len(positions), dtype=bool)
    for one in quantities:
        mean, error = _average(data, one, (along,))
        label = data[one].attrs["entry"] if len(quantities) > 1 else None
        ax.errorbar(
            positions, mean.values, np.nan_to_num(error.values), marker="o", markersize=3.5, linewidth=1.0, label=label
        )
        missing |= np.isnan(mean.values)
    ax.set_ylabel(name_of(data, quantities[0] if len(quantities) == 1 else quantities[0].partition(".")[0]))
    if missing.any():
        bottom = ax.get_xaxis_transform()
        ax.plot(
            positions[missing], np.full(missing.sum(), 0.03), "x", color="0.4", transform=bottom, markersize=5,
            label="not for all runs",
        )  # fmt: skip
    if missing.any() or len(quantities) > 1:
        ax.legend(fontsize=7)


def _panels(data: Any, others: list[str], draw: Any) -> "Figure":
    """A panel for each value of the axes beyond, as many as there is room for."""
    if not others:
        picture, ax = figure(1, 1, height=3.0, width=4.2)
        draw(data, ax)
        return picture
    first, rest = others[-1], others[:-1]
    left_out = [f"{title_of(data, dim)}: first of {data.sizes[dim]}" for dim in rest]
    if data.sizes[first] > PANELS:
        left_out.append(f"{PANELS} of {data.sizes[first]} values of {title_of(data, first)}")
    data = data.isel(dict.fromkeys(rest, 0))
    shown = np.unique(np.linspace(0, data.sizes[first] - 1, min(PANELS, data.sizes[first])).round().astype(int))
    columns = min(2, len(shown))
    picture, panels = figure(-(-len(shown) // columns), columns, height=2.8)
    panels = np.atleast_1d(panels).ravel()
    for ax, at in zip(panels, shown, strict=False):
        part = data.isel({first: int(at)})
        draw(part, ax)
        ax.set_title(place_of(part, [*rest, first]), fontsize=8)
    for ax in panels[len(shown) :]:
        ax.remove()
    if left_out:
        picture.suptitle(f"shown: {'; '.join(left_out)}", fontsize=8)
    return picture
