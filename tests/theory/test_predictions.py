"""The decorator that makes a function a prediction: documentation, domain, clocks, and the list of what applies."""

import inspect
from importlib import import_module

import pytest

import solvable as sv
from predicting import about_a_problem
from solvable.problems import Domain, Problem
from solvable.theory.prediction import MOMENT, PREDICTIONS, TIME, Prediction, prediction

PROBLEM = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.05, N=1000)
SCHEDULED = PROBLEM.replace(training__learning_rate=sv.Schedule(times=(0.0, 1.0), rates=(0.1, 0.2)))


def waiting(problem: Problem, start: sv.Overlaps, alpha: float, *, clock: str = "alpha") -> Prediction:
    """Time from `alpha` until the tenth unit of time.

    Parameters
    ----------
    start : Overlaps
        A start of its own.

    Returns
    -------
    Prediction
        Its value: float, the time.

    Notes
    -----
    Ten less what is given.
    """
    return Prediction(10.0 - alpha, ("none",), clock)


@pytest.fixture
def added():
    """A prediction for quadratic units at the end of the theory."""
    before = dict(PREDICTIONS)
    yield prediction(Domain(units="quadratic", schedules=True), clock=TIME)(waiting)
    PREDICTIONS.clear()
    PREDICTIONS.update(before)


def test_an_added_prediction_is_listed(added) -> None:
    (*_, last) = sv.theory.available(PROBLEM)
    assert (last.name, last.call) == ("waiting", "waiting(problem, start, alpha)")
    assert last.what == "Time from `alpha` until the tenth unit of time."
    erf = PROBLEM.replace(student__activation="erf", teacher__activation="erf")
    (*_, last) = sv.theory.available(erf, why=True)
    assert last.reason == "student.activation: is 'erf', as the teacher's; this closed form is for 'quadratic' units"
    with pytest.raises(sv.theory.NotApplicable, match="is for 'quadratic' units"):
        added(erf, None, 1.0)


def test_the_shared_entries_are_written_and_own_ones_stay(added) -> None:
    text = inspect.getdoc(added)
    names = [line.partition(" : ")[0] for line in text.splitlines() if " : " in line]
    assert names == ["problem", "start", "alpha", "clock"]
    assert "start : Overlaps\n    A start of its own." in text
    assert "clock : str\n    Unit of times and of rates per time, as in `run`." in text
    assert text.index("Parameters") < text.index("Returns") < text.index("Notes")


def test_times_come_in_and_go_out_in_the_clock(added) -> None:
    """A step is a thousandth of a unit; the body counts in its own clock."""
    assert added(PROBLEM, None, 4.0).value == 6.0
    told = added(PROBLEM, None, 4000.0, clock="steps")
    assert told.value == pytest.approx(6000.0, rel=1e-12)
    assert told.source == "alpha"
    with pytest.raises(sv.theory.NotApplicable, match="'rate' time does not pass evenly"):
        added(SCHEDULED, None, 4.0, clock="rate")


def test_a_moment_is_converted_through_schedules(added) -> None:
    moment = prediction(Domain(units="quadratic", schedules=True), clock=MOMENT)(waiting)
    clock = sv.results.Clock(SCHEDULED, "rate")
    assert moment(SCHEDULED, None, clock.from_alpha(4.0), clock="rate").value == pytest.approx(clock.from_alpha(6.0))


@pytest.mark.parametrize("name", ["escape_time", "nearest_solution", "uniform_plateau"])
def test_a_start_of_another_problem_is_refused(name: str) -> None:
    """Also where the formula looks at the teachers alone."""
    erf = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, N=1000)
    problem = erf if name == "uniform_plateau" else PROBLEM
    other = sv.start(problem.replace(student__width=3), seed=0)
    with pytest.raises(sv.overlaps.InvalidStart, match=r"start: has \(blocks, students, teachers\)"):
        getattr(sv.theory, name)(problem, other)


def test_calls_that_do_not_fit_are_told_as_python_tells_them(added) -> None:
    with pytest.raises(TypeError, match=r"waiting\(\) missing 1 required positional argument: 'alpha'"):
        added(PROBLEM, None)


def test_all_predictions_are_registered() -> None:
    public = {one.__name__ for one in about_a_problem(sv.theory)} - {"available"}
    assert public == PREDICTIONS.keys()
    order = import_module("solvable.theory.available").ORDER
    assert {one.function.__module__.rpartition(".")[2] for one in PREDICTIONS.values()} == set(order)
