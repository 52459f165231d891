"""What a time means in a prediction: every clock of `run` tells and asks for the same times."""

import inspect

import numpy as np
import pytest

import solvable as sv
from predicting import PROBLEMS, about_a_problem, worked

TIMED = [one for one in about_a_problem(sv.theory) if "clock" in inspect.signature(one).parameters]
ASKED = [one for one in TIMED if {"alpha", "time"} & set(inspect.signature(one).parameters)]
RATES = {"plateau": ("growth", "decay"), "linear_modes": ("rates",), "erf_plateau": ("rates",)}
POWERS = {"late_rate": -1, "flow_rate": -1, "flow_tail": 2}


def clocks_of(problem: sv.Problem) -> list[str]:
    units = ["alpha", "rate", *(["steps"] if problem.inputs.dim else []), "bocchi2026", "saraomannelli2020"]
    return [unit for unit in units if unit in ("alpha", "rate", "steps") or not _refuses(problem, unit)]


def _refuses(problem: sv.Problem, unit: str) -> bool:
    try:
        sv.results.Clock(problem, unit)
    except ValueError:
        return True
    return False


def test_whatever_is_given_times_has_a_clock() -> None:
    for function in about_a_problem(sv.theory):
        if {"alpha", "time"} & set(inspect.signature(function).parameters):
            assert function in TIMED
    assert len(TIMED) > 30


@pytest.mark.parametrize("function", ASKED, ids=lambda one: one.__name__)
def test_times_may_be_given_in_any_clock(function) -> None:
    assert worked(function)
    own = inspect.signature(function).parameters["clock"].default
    for problem, arguments in worked(function):
        name = "alpha" if "alpha" in inspect.signature(function).parameters else "time"
        plain = function(**arguments | {name: 0.7}).value
        alpha = sv.results.Clock(problem, own).to_alpha(0.7)
        for clock in clocks_of(problem):
            told = function(
                **arguments | {name: sv.results.Clock(problem, clock).from_alpha(alpha), "clock": clock}
            ).value
            assert told == pytest.approx(plain, rel=1e-9)


@pytest.mark.parametrize("function", [one for one in TIMED if one not in ASKED], ids=lambda one: one.__name__)
def test_times_and_rates_are_told_in_any_clock(function) -> None:
    assert worked(function)
    own = inspect.signature(function).parameters["clock"].default
    for problem, arguments in worked(function):
        plain = function(**arguments).value
        for clock in clocks_of(problem):
            pace = sv.results.Clock(problem, clock).from_alpha(1.0) / sv.results.Clock(problem, own).from_alpha(1.0)
            told = function(**arguments, clock=clock).value
            names = RATES.get(function.__name__)
            if names is None:
                power = POWERS.get(function.__name__, 1)
                assert np.array(told) == pytest.approx(np.array(plain) * pace**power, rel=1e-9)
                assert type(told) is type(plain)
                continue
            for one in names:
                assert getattr(told, one) == pytest.approx(getattr(plain, one) / pace, rel=1e-9)


def test_an_escape_in_steps_is_that_of_a_run_in_steps() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.01, N=10_000)
    start = sv.start(problem, seed=0, students="orthogonal", cross=1e-4)
    time = sv.theory.escape_time(problem, start, 0.01, clock="steps").value
    height = sv.theory.plateau(problem).value.risk
    run = sv.run(problem, start, sv.Macro(), until=2 * time, clock="steps", stop=sv.when("risk", below=0.99 * height))
    assert run.exit_time()[0] == pytest.approx(time, rel=0.02)


def test_a_clock_that_a_problem_has_not_is_refused() -> None:
    problem = PROBLEMS[6]
    with pytest.raises(ValueError, match="clock: 'hours' given"):
        sv.theory.late_rate(problem, clock="hours")
    with pytest.raises(ValueError, match="steps"):
        sv.theory.late_rate(problem, clock="steps")
    scheduled = PROBLEMS[4].replace(training__learning_rate=sv.Schedule(times=(0, 1), rates=(0.1, 0.2)))
    assert sv.theory.flow_tail(scheduled).value > 0
    with pytest.raises(sv.theory.NotApplicable, match="does not pass evenly"):
        sv.theory.flow_tail(scheduled, clock="alpha")
