"""What the figures of this paper share: two tasks one after the other, each with teachers and a head of its own.

We have read the abstract, what others quote of the text, and the authors' public code; its defaults are named where we use them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps, start
from solvable.papers.parameters import UNREAD, Parameter
from solvable.plot.style import stroke
from solvable.problems import Inputs, Problem, Student, Task, Teacher, Training
from solvable.results import Trajectory

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

KEY = "lee2021"
CODE = "the default of the authors' public code"
DIM = Parameter("dim", 10_000, 10_000, 1000, label="$D$")
RATE = Parameter("rate", UNREAD, 1.0, why=f"{CODE} in one of its versions", label="rate of both layers")
SCALE = Parameter("scale", UNREAD, 0.001, why=CODE, label="standard deviation of first weights and heads")
SEEDS = (
    Parameter("seed", UNREAD, 0, why="any", label="seed of the first start"),
    Parameter("sgd_seed", UNREAD, 1, why="any", label="seed of the simulations"),
)
Rows = tuple[Sequence[float], Sequence[float]]


def problem(features: float, readouts: Rows, students: int, rate: float, dim: int, switch: float) -> Problem:
    """Two tasks, of which the second begins at `switch` (steps/dim). Each has as many teachers as its readouts have entries,
    orthonormal; `features` is the overlap of each with its partner of the other task."""
    width = len(readouts[0])
    overlap = np.kron([[1.0, features], [features, 1.0]], np.eye(width))
    none = [0.0] * width
    return Problem(
        teacher=Teacher(width=2 * width, activation="erf", overlap=overlap.tolist()),
        student=Student(width=students, activation="erf"),
        inputs=Inputs(dim=dim),
        training=Training(learning_rate=rate, loss_factor=0.5, train_readout=True),
        tasks=Task.sequence([[*readouts[0], *none], [*none, *readouts[1]]], [switch]),
    )


def starts(problem: Problem, count: int, scale: float, seed: int) -> list[Overlaps]:
    """Gaussian weights and heads of this standard deviation."""
    found = []
    for number in range(seed, seed + count):
        heads = scale * np.random.default_rng([number, 1]).standard_normal((problem.heads, problem.student.width))
        found.append(start(problem, seed=number, scale=scale, readout=heads))
    return found


def risks(trajectory: Trajectory) -> np.ndarray:
    """(run, time, task)"""
    return np.asarray(trajectory.task_risk)


def peak(x: np.ndarray, values: np.ndarray) -> float:
    """Where a parabola through the largest of the values and its neighbours is largest; an end if that is the largest."""
    i = int(np.argmax(values))
    if i in (0, len(x) - 1):
        return float(x[i])
    near = slice(i - 1, i + 2)
    square, slope, _ = np.polyfit(x[near], values[near], 2)
    return float(-slope / (2 * square))


def peak_with_error(x: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Of the mean of `values` (point, start), with its standard error by leaving out one start at a time."""
    count = values.shape[1]
    left = np.array([peak(x, np.delete(values, i, axis=1).mean(axis=1)) for i in range(count)])
    return peak(x, values.mean(axis=1)), float((count - 1) * standard_error(left))


MARKS = "lines: equations, marks: SGD"  # what `points` draws


def points(ax: "Axes", data: "xarray.Dataset", name: str, where: dict[str, Any], x: str, i: int, label: str) -> None:
    """The mean over starts by the equations as a line, by SGD as points; bars are standard errors of their difference."""
    lines, noisy = (data[f"{name}_{kind}"].sel(where).transpose(x, "start").values for kind in ("equations", "sgd"))
    ax.plot(data[x], lines.mean(axis=1), label=label, **stroke(i))
    known = np.isfinite(noisy).all(axis=1)  # not all points are simulated
    error = standard_error((noisy - lines)[known], axis=1)
    look: dict[str, Any] = {"linestyle": "", "marker": "osv^D"[i], "markersize": 3.5, "markerfacecolor": "none"}
    ax.errorbar(data[x].values[known], noisy[known].mean(axis=1), error, color=f"C{i}", **look)
