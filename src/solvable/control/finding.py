"""`optimal`: the best schedule of the numbers that are free."""

from collections.abc import Mapping, Sequence

import numpy as np

from solvable.control.controls import Control
from solvable.control.course import Asked
from solvable.control.gradients import ask, checked_start
from solvable.control.knobs import Knob, knobs
from solvable.control.optimum import Optimum
from solvable.control.searching import SearchPlan, search_best
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.threshold import Threshold


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
        What is free: names of numbers, as "training.learning_rate", with a number of segments or a `Control`. Of the
        probabilities "tasks.0.probability" or "mixture.probabilities.0" some may be free, the others share the rest.
    objective : str or Threshold
        "risk" (at the end), "task risk" (the mean over tasks), "task risk 0" (of the first); one of these with "mean " before
        it (over time); or a threshold of the risk from `when` (the time to it).
    integral : dict, optional
        Integrals over time that are fixed, as {"training.learning_rate": 25.0}.
    guesses : int
        First guesses to descend from: the best constants, then others.
    refine : bool
        Whether segments are halved until finer ones would gain less than a thousandth of the value.
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

    Notes
    -----
    A control changes what is trained on. The test at the end has the classes, tasks and eigenvalues of the problem itself, whose
    schedule returns to them at `until`; a line has no such jump, and a mean over time or a threshold sees what there is.
    """
    if isinstance(guesses, bool) or not isinstance(guesses, int) or guesses < 1:
        raise ValueError(f"guesses: {guesses!r} given, must be a whole number of at least 1")
    asked = ask(problem, until, objective, rtol)
    return search_best(*_given(asked, start, control, integral), SearchPlan(guesses, refine, progress))


def optimal_within(seconds: float, asked: Asked, start: Overlaps, control: Mapping[str, int | Control]) -> Optimum:
    """What can be found in so much time, from one guess; `TimeUp` if not even the best constants."""
    return search_best(
        *_given(asked, start, control, None), SearchPlan(1, refine=False, progress=False, seconds=seconds)
    )


def _given(
    asked: Asked,
    start: Overlaps | Sequence[Overlaps],
    control: Mapping[str, int | Control],
    integral: Mapping[str, float] | None,
) -> tuple[Asked, tuple[Overlaps, ...], tuple[Knob, ...], dict[str, float]]:
    """The arguments of a search, checked."""
    starts = tuple(checked_start(asked.problem, one) for one in (start if isinstance(start, Sequence) else [start]))
    if not starts:
        raise ValueError("start: none given, must be at least one")
    chosen = knobs(asked.problem, asked.until, control)
    return asked, starts, chosen, _integrals(chosen, integral)


def _integrals(chosen: tuple[Knob, ...], integral: Mapping[str, float] | None) -> dict[str, float]:
    """Fixed integrals, which must be within what the bounds allow."""
    if integral is not None and not isinstance(integral, Mapping):
        raise ValueError(
            f"integral: {integral!r:.60} given, must be names with numbers, as {{'training.learning_rate': 25.0}}"
        )
    found, there = dict(integral or {}), {knob.name: knob for knob in chosen}
    for name, value in found.items():
        if name not in there:
            raise ValueError(f"integral: {name}: is not among the controls")
        if isinstance(value, bool) or not isinstance(value, int | float | np.number):
            raise ValueError(f"integral: {name}: {value!r:.60} given, must be a number")
        low, high = (bound * there[name].until for bound in (there[name].lower, there[name].upper))
        if not low <= value <= high:
            raise ValueError(
                f"integral: {name}: {value:g} given, must be from {low:g} to {high:g}, as its bounds allow"
            )
    return found
