"""The locally optimal learning rate: at every moment the one by which the risk falls fastest."""

import numpy as np

from solvable.control.controls import Control
from solvable.control.course import Course
from solvable.control.gradients import ask, checked_start
from solvable.control.knobs import knobs
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule

RATE = "training.learning_rate"
STEPS = 4  # of the integration, within each piece


def greedy(
    problem: Problem, start: Overlaps, *, until: float, segments: int = 600, upper: float | None = None
) -> Schedule:
    """The learning rate by which the risk falls fastest at every moment, to set beside the best schedule.

    It may do far worse: where a plateau must be left, it anneals to hold the state that it is in.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps
        The state at time zero.
    until : float
        End of the run, in steps/dim.
    segments : int
        How many pieces of equal length it is constant in, each with the rate that is best at its begin.
    upper : float, optional
        Largest rate; left out, five times the problem's own.

    Returns
    -------
    Schedule
        The rates.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> rate = sv.control.greedy(problem, start, until=20, segments=100)
    >>> len(rate.rates), max(rate.rates) <= 0.5
    (100, True)

    Notes
    -----
    d risk/dalpha = h_1 rate + h_2 rate^2 + h_0; the least value on [0, upper] is taken.
    """
    asked = ask(problem, until, "risk", 1e-8)
    (knob,) = knobs(problem, asked.until, {RATE: Control(segments=segments, upper=upper)})
    course = Course(asked, checked_start(problem, start), [knob])
    begins, places = course.system.packed.problems["begin"], np.linspace(knob.lower, knob.upper, 3)
    rates, state = np.zeros(knob.size), course.first.copy()
    for i, (begin, end) in enumerate(zip(knob.begins, np.append(knob.begins[1:], knob.until), strict=True)):
        segment, speeds = int(np.searchsorted(begins, begin, side="right")) - 1, []
        for place in places:
            rates[i] = place
            course.place([rates])
            speeds.append(course.risk_slopes(state, begin, segment)[2])
        rates[i] = _lowest(places, np.array(speeds))
        course.place([rates])
        times = np.union1d(np.linspace(begin, end, STEPS + 1), begins[(begins > begin) & (begins < end)])
        states = np.empty((times.size, state.size))
        states[0] = state
        course.follow((times, np.searchsorted(begins, times[:-1], side="right") - 1), states)
        state = states[-1].copy()
    return knob.schedule(rates)


def _lowest(places: np.ndarray, values: np.ndarray) -> float:
    """Where the parabola through three values is lowest between the outer places."""
    bend, slope, _ = np.polyfit(places, values, 2)
    if bend > 0 and places[0] < -0.5 * slope / bend < places[2]:
        return float(-0.5 * slope / bend)
    return float(places[2] if values[2] < values[0] else places[0])
