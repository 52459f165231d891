"""Training beside test: losses over time of runs on a data set, and at the end of runs along an axis of a sweep; correlations
between two times."""

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.plot.curves import dataset
from solvable.plot.style import axes, in_style
from solvable.plot.sweep_labels import positions_along
from solvable.plot.sweeps import _average, _axes_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TRAIN, TEST, BEST = "training loss", "test loss", "least test loss on the way"


@in_style
def train_and_test(source: Any, ax: "Axes | None" = None, *, label: str = "", color: str | None = None) -> "Axes":
    """Draw the training loss (dashed) and the test loss (solid) of runs on a data set, as means with standard errors.

    The test loss is the mean loss on fresh samples, noise on labels included, so that both are one where nothing is memorised. Of
    runs: against time, without those that diverged, as far as all others came. Of a sweep along one axis: at the end of the runs,
    with the least one that was met on the way (dotted).

    Parameters
    ----------
    source : Trajectory, Swept or xarray.Dataset
        Runs of `Empirical`, or a sweep of them.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    label : str
        What the runs are, for the legend.
    color : str, optional
        Of all curves; left out, the next one for each.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=200), training=sv.Training(step=1.0, samples=sv.Ratio(2), label_noise=0.1),
    ... )
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Empirical(runs=4), until=20, progress=False)
    >>> [line.get_label() for line in sv.plot.train_and_test(run).lines]
    ['training loss', 'test loss']
    """
    data, ax = dataset(source), axes(ax)
    before = f"{label}: " if label else ""
    if "done" in data:
        _along_axis(data, ax, before, color)
    else:
        _over_time(data, _test_losses(source, data), ax, before, color)
    ax.set_yscale("log")
    ax.set_ylabel("loss")
    ax.legend()
    return ax


@in_style
def correlation(
    source: Any, ax: "Axes | None" = None, *, run: int = 0, student: int = 0, other: int | None = None
) -> "Axes":
    """Draw the correlation of a fresh sample's fields at two times, over both, as a map.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        Of `EmpiricalMacro(two_times=True)`.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    run, student : int
        Which run, and which student at the first time.
    other : int, optional
        Which student at the second time; left out, the same.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=1, activation="erf"),
    ...     training=sv.Training(step=1.0, samples=sv.Ratio(2), label_noise=0.1),
    ... )
    >>> start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.1]])
    >>> level = sv.EmpiricalMacro(particles=512, two_times=True)
    >>> sv.plot.correlation(sv.run(problem, start, level, until=10, progress=False)).get_xlabel()
    'steps'
    """
    data = dataset(source)
    if "correlation" not in data:
        raise ValueError("correlation: these runs kept none; EmpiricalMacro(two_times=True) keeps them")
    found, second = data["correlation"].values, student if other is None else other
    runs, p = found.shape[0], found.shape[2]
    for name, given, many in (("run", run, runs), ("student", student, p), ("other", second, p)):
        if given not in range(many):
            raise ValueError(f"{name}: {given!r} given, must be a whole number from 0 to {many - 1}")
    ax, time = axes(ax), data["time"].values
    values = found[run, :, student, :, second]
    image = ax.pcolormesh(time, time, values, shading="nearest", rasterized=True)
    ax.figure.colorbar(image, ax=ax, label="correlation of the fields")
    label = data["time"].attrs.get("long_name", "time")
    ax.set_xlabel(label)
    ax.set_ylabel(f"{label}, other time")
    ax.set_aspect("equal")
    return ax


def _test_losses(source: Any, data: Any) -> np.ndarray:
    """(run, time) in the normalisation of the training loss."""
    if "training_loss" not in data:
        raise ValueError("train_and_test: these runs see every sample once and have no training loss; Empirical has")
    if hasattr(source, "test_loss"):
        found: np.ndarray = source.test_loss
    elif "gap" in data:
        found = (data["training_loss"] + data["gap"]).values
    elif data.attrs.get("base", "alpha") == "alpha":  # the flow: half the mean squared error
        found = data["population_loss"].values + 0.5 * json.loads(data.attrs["problem"])["training"]["label_noise"]
    else:
        raise ValueError("train_and_test: this dataset has no loss on fresh samples; give the Trajectory")
    return found


def _over_time(data: Any, test: np.ndarray, ax: "Axes", before: str, color: str | None) -> None:
    kept = data["ending"].values != "diverged"
    train, time = data["training_loss"].values, data["time"].values
    for name, all_runs, dashes in ((TRAIN, train, "--"), (TEST, test, "-")):
        values = all_runs[kept]
        reached = np.isfinite(values).all(axis=0)
        mean = values[:, reached].mean(axis=0)
        (line,) = ax.plot(time[reached], mean, dashes, color=color, label=before + name)
        stated = data.get("training_loss_error" if name == TRAIN else "risk_error")  # of a limit
        if len(values) > 1 or (len(values) == 1 and "training_loss_error" in data):
            error = standard_error(values[:, reached], axis=0) if len(values) > 1 else stated.values[0][reached]
            ax.fill_between(time[reached], mean - error, mean + error, alpha=0.25, color=line.get_color(), linewidth=0)
    ax.set_xlabel(data["time"].attrs.get("long_name", "time"))


def _along_axis(data: Any, ax: "Axes", before: str, color: str | None) -> None:
    main = _axes_of(data)
    if "end_gap" not in data:
        raise ValueError("train_and_test: needs a sweep of runs on a data set, in steps, with the squared loss")
    if len(main) != 1:
        raise ValueError(f"train_and_test: the sweep has {len(main)} axes, must be one; choose others by data.sel(...)")
    along = main[0]
    test = data["end_training_loss"] + data["end_gap"]
    there = data.assign(test=test, best=data["best_risk"] + test - data["end_risk"])  # with the same noise on labels
    if "end_risk_error" in data:
        there = there.assign(test_error=data["end_risk_error"])
    positions = positions_along(data, along, ax, "x")
    for name, quantity, dashes in ((TRAIN, "end_training_loss", "--"), (TEST, "test", "-"), (BEST, "best", ":")):
        mean, error = _average(there, quantity, (along,))
        ax.errorbar(
            positions, mean.values, np.nan_to_num(error.values), linestyle=dashes, marker="o", markersize=3, color=color,
            label=before + name,
        )  # fmt: skip
