"""`gradient` and `optimal`: what a run ends with as a function of all that may be chosen."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.control.controls import COLUMNS, Control, Knob, own_value
from solvable.control.controls import _columns as columns_of
from solvable.control.course import Course
from solvable.control.optimum import Optimum
from solvable.control.searching import Search, search_best
from solvable.dynamics.exactness import is_closed
from solvable.overlaps import Overlaps, check_start, fitted
from solvable.problems import Problem, Schedule, features
from solvable.results.threshold import Threshold

OBJECTIVES = ("risk", "mean risk")


@dataclass(frozen=True)
class Gradient:
    """What a run ends with, and its derivatives.

    Parameters
    ----------
    value : float
        The logarithm of the last risk, or of its mean over time; or the time at which a threshold is reached.
    by : dict
        (values,) derivatives by each number that was asked for: one for a constant, one for each value of a schedule.
    student_overlap, cross_overlap : ndarray
        (blocks, p, p) and (blocks, p, q) derivatives by the overlaps of the start; those by the entries (k, l) and (l, k) are halves
        of the derivative by their common value.
    readout : ndarray
        (p,) derivatives by the readouts of the start.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> found = sv.gradient(problem, start, until=20, of="training.learning_rate")
    >>> found.by["training.learning_rate"].round(4)
    array([-6.4061])
    """

    value: float
    by: dict[str, np.ndarray]
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    readout: np.ndarray


def gradient(
    problem: Problem,
    start: Overlaps,
    *,
    until: float,
    of: str | Sequence[str] = (),
    objective: str | Threshold = "risk",
    rtol: float = 1e-8,
) -> Gradient:
    """Derivatives of what a run of `Macro` ends with, by numbers of the problem and by the start.

    They are exact for the computed solution, up to rounding, at the cost of some eight runs however many numbers there are.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps
        The state at time zero.
    until : float
        End of the run, in steps/dim.
    of : str or list of str
        Names of numbers, as "training.learning_rate"; each may be a constant or a `Schedule`.
    objective : str or Threshold
        "risk" (the logarithm of the last one), "mean risk" (the logarithm of its mean over time), or a threshold of the risk from
        `when` (the time).
    rtol : float
        Relative error of the steps.

    Returns
    -------
    Gradient
        Value and derivatives.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> sv.gradient(problem, start, until=20).readout.shape
    (2,)
    """
    start = _checked(problem, start, until, objective)
    names = [of] if isinstance(of, str) else list(of)
    chosen = [_own(problem, until, name) for name in names]
    course = Course(problem, start, until, [knob for knob, _ in chosen], objective, rtol)
    course.place([values for _, values in chosen])
    if not course.record():
        raise ValueError("gradient: the run does not come to its end: it diverges, or does not reach the threshold")
    found = course.evaluate()
    p, q = problem.student.width, problem.teacher.width
    rows = found.start[:-p].reshape(-1, p, p + q)
    symmetric = 0.5 * (rows[..., :p] + np.swapaxes(rows[..., :p], 1, 2))
    return Gradient(
        found.value, dict(zip(names, found.gradient, strict=True)), symmetric, rows[..., p:].copy(), found.start[-p:]
    )


def _own(problem: Problem, until: float, name: str) -> tuple[Knob, np.ndarray]:
    """A number of the problem with the values that it has."""
    columns, largest = columns_of(problem, name), own_value(problem, name)
    number: Any = getattr(problem.training, name.partition(".")[2]) if name in COLUMNS else None
    if number is None:
        number = (
            problem.training.learning_rate if name in COLUMNS else problem.inputs.spectrum.eigenvalues[columns[0] - 5]
        )  # type: ignore[union-attr]
    schedule = number if isinstance(number, Schedule) else Schedule(times=(0.0,), rates=(float(number),))
    begins, values = np.array(schedule.times), np.array(schedule.rates)
    return Knob(
        name, columns, begins, np.diff(np.append(begins, until)), schedule.shape, 0.0, max(largest, 1.0)
    ), values


def optimal(
    problem: Problem,
    start: Overlaps | Sequence[Overlaps],
    *,
    until: float,
    control: Mapping[str, int | Control],
    objective: str | Threshold = "risk",
    integral: Mapping[str, float] | None = None,
    guesses: int = 3,
    refine: bool = True,
    rtol: float = 1e-8,
    progress: bool | None = None,
) -> Optimum:
    """The best schedule of the numbers that are free, by gradients through the exact equations.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps or list of them
        The state at time zero; several count equally.
    until : float
        End of the run, in steps/dim.
    control : dict
        What is free: names of numbers, as "training.learning_rate", with a number of segments or a `Control`.
    objective : str or Threshold
        "risk" (at the end), "mean risk" (over time), or a threshold of the risk from `when` (the time to it).
    integral : dict, optional
        Integrals over time that are fixed, as {"training.learning_rate": 25.0}.
    guesses : int
        First guesses to descend from: the best constants, then others.
    refine : bool
        Whether segments are halved until finer ones would gain less than a thousandth.
    rtol : float
        Relative error of the steps.
    progress : bool, optional
        Whether to show a bar where it takes long; left out: on terminals.

    Returns
    -------
    Optimum
        The problem with the best schedule, its value and gain, and a certificate.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> best = sv.optimal(problem, start, until=20, control={"training.learning_rate": 10}, refine=False)
    >>> best.value < best.constant[1]
    True
    """
    starts = [start] if isinstance(start, Overlaps) else list(start)
    if not starts:
        raise ValueError("start: none given, must be at least one")
    checked = tuple(_checked(problem, one, until, objective) for one in starts)
    if isinstance(guesses, bool) or not isinstance(guesses, int) or guesses < 1:
        raise ValueError(f"guesses: {guesses!r} given, must be a whole number of at least 1")
    held = dict(integral or {})
    for name in held:
        if name not in control:
            raise ValueError(f"integral: {name}: is not among the controls")
    search = Search(problem, checked, float(until), objective, held, rtol)
    return search_best(search, control, guesses, refine, progress)


def _checked(problem: Problem, start: Overlaps, until: float, objective: Any) -> Overlaps:
    if not isinstance(until, int | float | np.number) or isinstance(until, bool) or not 0 < until < np.inf:
        raise ValueError(f"until: {until!r} given, must be a positive finite time")
    if not isinstance(objective, Threshold) and objective not in OBJECTIVES:
        raise ValueError(f"objective: {objective!r} given, must be 'risk', 'mean risk' or a threshold from when(...)")
    if isinstance(objective, Threshold) and (objective.quantity != "risk"):
        raise ValueError(f"objective: a threshold of {objective.quantity!r} given, must be one of the risk")
    if features(problem) or not is_closed(problem):
        raise ValueError("gradient: units without closed form, classes, tasks and masks have no reverse yet")
    fit = fitted(problem, start)
    check_start(problem, fit)
    return fit
