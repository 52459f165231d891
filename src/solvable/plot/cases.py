"""Pictures of classes and tasks: overlaps with the means' directions, risks of single tasks, classification errors."""

from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.plot.curves import dataset, draw_entries, label_time
from solvable.plot.style import axes, in_style

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@in_style
def direction_overlaps(
    source: Any, ax: "Axes | None" = None, run: int = 0, *, legend: bool = False, **style: Any
) -> "Axes":
    """Draw every overlap of a student with a direction of the classes' means against time.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    run : int
        Number of the run.
    legend : bool
        Whether to give each direction a colour, with a legend.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     student=sv.Student(width=2, activation="erf"), inputs=sv.Inputs(dim=100),
    ...     training=sv.Training(learning_rate=0.1), mixture=sv.Mixture.opposite(1.0),
    ... )
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> len(sv.plot.direction_overlaps(run).lines)
    2
    """
    kind = (lambda _, j: f"direction {j + 1}") if legend else None
    return draw_entries(source, "direction_overlap", ax, run, style, kind)


@in_style
def task_risks(source: Any, ax: "Axes | None" = None, **style: Any) -> "Axes":
    """Draw the risk of every task against time, as the mean over the runs, on a logarithmic scale.

    Parameters
    ----------
    source : Trajectory or xarray.Dataset
        What to draw. Times that not all runs reached are left out.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=2, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=100), training=sv.Training(learning_rate=0.1),
    ...     tasks=sv.Task.sequence([(1, 0), (0, 1)], [5.0]),
    ... )
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> [line.get_label() for line in sv.plot.task_risks(run).lines]
    ['task 1', 'task 2']
    """
    data, ax = dataset(source), axes(ax)
    if "task_risk" not in data:
        raise ValueError("task_risks: the problem has no tasks")
    for task, values in enumerate(data["task_risk"].transpose("task", "run", "time").values):
        ax.plot(data["time"], values.mean(axis=0), **{"label": f"task {task + 1}"} | style)
    ax.set_yscale("log")
    ax.legend()
    label_time(ax, data)
    ax.set_ylabel("risk of a task")
    return ax


@in_style
def classification_error(source: Any, ax: "Axes | None" = None, **style: Any) -> "Axes":
    """Draw how often signs are wrong against time, for every run, and the least that this can be where that is known.

    Parameters
    ----------
    source : Trajectory
        What to draw.
    ax : matplotlib Axes, optional
        Where to draw; left out, a new figure.
    **style
        Passed on to matplotlib's `plot`.

    Returns
    -------
    matplotlib Axes
        The axes that were drawn into.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     student=sv.Student(width=1, activation="linear"), inputs=sv.Inputs(dim=100),
    ...     training=sv.Training(learning_rate=0.1), mixture=sv.Mixture.opposite(1.0),
    ... )
    >>> run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=10)
    >>> [line.get_label() for line in sv.plot.classification_error(run).lines[1:]]
    ['oracle']
    """
    if not hasattr(source, "classification_error"):
        raise TypeError(f"classification_error: {type(source).__name__} given, must be a Trajectory")
    data, ax = dataset(source), axes(ax)
    ax.plot(data["time"], np.transpose(source.classification_error), **style)
    try:
        ax.axhline(source.oracle_error, color="0.5", linestyle="--", linewidth=1.0, label="oracle")
        ax.legend()
    except (AttributeError, ValueError):  # it is known for some classes alone
        pass
    label_time(ax, data)
    ax.set_ylabel("classification error")
    return ax
