"""Quantities against time."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.style import axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def _dataset(source: Any) -> Any:
    """A dataset, or anything that has one (a Trajectory)."""
    return getattr(source, "data", source) if not hasattr(source, "data_vars") else source


def _label_time(ax: "Axes", data: Any) -> None:
    ax.set_xlabel(data["time"].attrs.get("long_name", "time"))


def risk(source: Any, ax: "Axes | None" = None, **style: Any) -> "Axes":
    """Risk of every run."""
    data, ax = _dataset(source), axes(ax)
    ax.plot(data["time"], data["risk"].transpose("time", "run"), **style)
    _label_time(ax, data)
    ax.set_ylabel("risk")
    return ax


def _entries(source: Any, name: str, ax: "Axes | None", run: int, style: dict[str, Any]) -> "Axes":
    data, ax = _dataset(source), axes(ax)
    values = data[name].isel(run=run)
    ax.plot(data["time"], values.values.reshape(values.sizes["time"], -1), **style)
    _label_time(ax, data)
    ax.set_ylabel(data[name].attrs.get("long_name", name))
    return ax


def cross_overlaps(source: Any, ax: "Axes | None" = None, run: int = 0, **style: Any) -> "Axes":
    """Every student-teacher overlap of one run."""
    return _entries(source, "cross_overlap", ax, run, style)


def student_overlaps(source: Any, ax: "Axes | None" = None, run: int = 0, **style: Any) -> "Axes":
    """Every overlap between students of one run."""
    return _entries(source, "student_overlap", ax, run, style)


def compare(*sources: Any, labels: list[str] | None = None, ax: "Axes | None" = None) -> "Axes":
    """Risks of several trajectories of one problem: a line for a single run, mean and standard error for many.

    Runs that diverged are left out, and the legend says how many.
    """
    ax = axes(ax)
    datasets = [_dataset(source) for source in sources]
    units = {data["time"].attrs.get("long_name") for data in datasets}
    if len(units) > 1:
        raise ValueError(f"compare: the trajectories have different clocks ({', '.join(map(str, units))})")
    for i, data in enumerate(datasets):
        label = labels[i] if labels else str(data.attrs.get("level", f"{i}"))
        kept = data["risk"].where(data["ending"] != "diverged", drop=True)
        lost = data.sizes["run"] - kept.sizes["run"]
        if lost:
            label += f" ({lost} of {data.sizes['run']} diverged, left out)"
        if kept.sizes["run"] == 0:
            ax.plot([], [], label=label)
            continue
        mean = kept.mean("run")
        (line,) = ax.plot(data["time"], mean, label=label)
        if kept.sizes["run"] > 1:
            error = kept.std("run", ddof=1) / np.sqrt(kept.count("run"))
            ax.fill_between(data["time"], mean - error, mean + error, alpha=0.25, color=line.get_color(), linewidth=0)
    _label_time(ax, datasets[0])
    ax.set_ylabel("risk")
    ax.legend()
    return ax
