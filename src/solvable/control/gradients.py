"""`gradient`: derivatives of what a run ends with."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from solvable.control.course import NO_RISK, Asked, Course
from solvable.control.knobs import own_knobs
from solvable.control.objectives import objective as checked_objective
from solvable.dynamics.kernel_data import sizes
from solvable.dynamics.reverse_choice import check_reversible
from solvable.overlaps import Overlaps, check_start, fitted
from solvable.problems import Problem, effective
from solvable.problems.own_functions import check_unchanged
from solvable.results.threshold import Threshold


@dataclass(frozen=True)
class Gradient:
    """What a run ends with, and its derivatives.

    Parameters
    ----------
    value : float
        The logarithm of the last risk, or of its mean over time; or the time at which a threshold is reached. Of several
        starts the mean.
    by : dict
        (values,) derivatives by each number that was asked for: one for a constant, one for each value of a schedule.
    student_overlap, cross_overlap : ndarray
        (blocks, p, p) and (blocks, p, q) derivatives by the overlaps of the start; those by the entries (k, l) and (l, k) are
        halves of the derivative by their common value. Of several starts one for each, the first index.
    readout : ndarray
        (p,), or (heads, p) for several heads: derivatives by the readouts of the start.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> found = sv.gradient(problem, start, until=20, of="training.learning_rate")
    >>> found.by["training.learning_rate"].round(4)
    array([-23.7782])
    """

    value: float
    by: dict[str, np.ndarray]
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    readout: np.ndarray


def gradient(
    problem: Problem,
    start: Overlaps | Sequence[Overlaps],
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
    start : Overlaps or list of them
        The state at time zero; several count equally.
    until : float
        End of the run, in steps/dim.
    of : str or list of str
        Names of numbers, as "training.learning_rate"; each may be a constant or a `Schedule`.
    objective : str or Threshold
        "risk" (the logarithm of the last one), "task risk" (the mean over tasks), "task risk 0" (of the first); one of these with
        "mean " before it (its mean over time); or a threshold of the risk from `when` (the time).
    rtol : float
        Relative error of the steps. A risk far below it is that of rounding, and so are its derivatives.

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
    asked = ask(problem, until, objective, rtol)
    if not isinstance(start, Sequence):
        return _from_start(asked, start, _names(of))
    found = [_from_start(asked, one, _names(of)) for one in start]
    if not found:
        raise ValueError("start: none given, must be at least one")
    by = {name: np.mean([one.by[name] for one in found], axis=0) for name in found[0].by}
    stacked = (
        np.stack([getattr(one, name) for one in found]) for name in ("student_overlap", "cross_overlap", "readout")
    )
    return Gradient(float(np.mean([one.value for one in found])), by, *(part / len(found) for part in stacked))


def _names(of: Any) -> list[str]:
    names = [of] if isinstance(of, str) else of
    if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"of: {of!r:.60} given, must be a name or a list of names, as 'training.learning_rate'")
    return list(names)


def _from_start(asked: Asked, start: Overlaps, names: list[str]) -> Gradient:
    """From one start."""
    problem = asked.problem
    knobs, values = own_knobs(problem, asked.until, names)
    course = Course(asked, checked_start(problem, start), knobs, readouts=True)
    course.place(values)
    if not course.record():
        raise ValueError(f"gradient: {course.failure}")
    found = course.evaluate()
    if course.vanishes:
        raise ValueError(f"gradient: {NO_RISK}")
    by = dict(zip(names, found.gradient, strict=True))
    return Gradient(found.value, by, *_by_start(effective(problem), found.start))


def _by_start(problem: Problem, found: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Derivatives by the state as those by the overlaps of students, by those with teachers, and by readouts."""
    p, q = problem.student.width, problem.teacher.width
    moving, rows, others = sizes(problem)
    heads = problem.heads * p
    overlaps, readout = found[:-others].reshape(-1, moving, rows), found[-others:][:heads]
    symmetric = 0.5 * (overlaps[:, :p, :p] + np.swapaxes(overlaps[:, :p, :p], 1, 2))
    cross = overlaps[:, :p, p : p + q].copy()
    if moving > p:  # teachers have rows of their own
        cross += np.swapaxes(overlaps[:, p : p + q, :p], 1, 2)
    return symmetric, cross, readout.reshape(problem.readout_values.shape)


def ask(problem: Problem, until: Any, objective: Any, rtol: float) -> Asked:
    """What a user asks for, checked."""
    if not isinstance(until, int | float | np.number) or isinstance(until, bool) or not 0 < until < np.inf:
        raise ValueError(f"until: {until!r} given, must be a positive finite time")
    if not isinstance(rtol, int | float | np.number) or not 0 < rtol < 1:
        raise ValueError(f"rtol: {rtol!r} given, must be between 0 and 1")
    check_unchanged(problem)
    found = checked_objective(objective)
    check_reversible(effective(problem))
    found.check(problem)
    return Asked(problem, float(until), found, rtol)


def checked_start(problem: Problem, start: Any) -> Overlaps:
    """A start that fits the problem."""
    if not isinstance(start, Overlaps):
        raise TypeError(f"start: {type(start).__name__} given, must be Overlaps, as start(...) returns them")
    fit = fitted(problem, start)
    check_start(problem, fit)
    return fit
