"""Words of other conventions: errors propose ours; what a problem shows of itself; schedules of functions."""

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solvable as sv

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=1, activation="linear", readout="unit"),
    student=sv.Student(width=1, activation="linear", readout="unit"),
    training=sv.Training(learning_rate=0.5, loss_factor=0.5),
)
FALLING = r"a function given, must be .*Schedule; sv\.Schedule\.of\(function, times\) makes one of a function"


def falling(time: float) -> float:
    return 1.0 / (1.0 + time)


WORDS = {
    "K": (lambda: sv.Student(K=2), r"K: is not a field here \(did you mean width\?\)"),
    "units": (lambda: sv.Student(units=2), r"units: .*did you mean width"),
    "hidden": (lambda: sv.Student(hidden=2), r"hidden: .*did you mean width"),
    "M": (lambda: sv.Teacher(M=2), r"M: .*did you mean width"),
    "N": (lambda: sv.Inputs(N=100), r"N: .*did you mean dim"),
    "d": (lambda: sv.Inputs(d=100), r"d: .*did you mean dim"),
    "sum": (
        lambda: sv.Student(width=2, readout="sum"),
        r"^readout: 'sum' given \(did you mean unit\?\), must be 'mean', 'sqrt' or 'unit', or a number, or a list$",
    ),
    "average": (lambda: sv.Student(width=2, readout="average"), r"'average' given \(did you mean mean\?\)"),
    "gelu": (
        lambda: sv.Student(width=2, activation="gelu"),
        r"'gelu' given \(a unit that has no name here is given as sv\.Activation\)",
    ),
    "ReLU": (lambda: sv.Student(width=2, activation="ReLU"), r"'ReLU' given \(did you mean relu\?\)"),
    "a function as a rate": (lambda: sv.Training(learning_rate=falling), "learning_rate: " + FALLING),
    "a function as decay": (lambda: sv.Training(learning_rate=1.0, weight_decay=falling), "weight_decay: " + FALLING),
    "a function as a share": (lambda: sv.Task(readout=(1.0,), probability=falling), "probability: " + FALLING),
    "a function as momentum": (lambda: sv.Training(learning_rate=1.0, momentum=falling), r"sv\.Schedule\.of"),
    "a function as a unit": (lambda: sv.Student(width=2, activation=np.cos), r'sv\.Activation\("name", function, derivative\)'),
}  # fmt: skip


@pytest.mark.parametrize("word", WORDS)
def test_words_of_others_are_told_ours(word: str) -> None:
    make, message = WORDS[word]
    with pytest.raises(sv.InvalidProblem) as error:
        make()
    assert any(re.search(message, line) for line in error.value.problems), error.value.problems


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ({}, "training=Training(learning_rate=0.5, loss_factor=0.5))"),
        ({"training__batch": 4}, "Training(learning_rate=0.5, batch=4, loss_factor=0.5)"),
        ({"student__norm": "sphere"}, "student=Student(width=1, activation='linear', readout='unit', norm='sphere')"),
        ({"inputs__dim": 10}, "inputs=Inputs(dim=10)"),
        ({"mixture": sv.Mixture.opposite(1.0)}, "labels=(1.0, -1.0)"),
    ],
)
def test_a_problem_shows_what_is_not_at_its_default(changes: dict[str, Any], shown: str) -> None:
    text = repr(PROBLEM.replace(**changes))
    assert shown in text
    assert "None" not in text
    assert "tasks" not in text
    names = {name: getattr(sv, name) for name in ("Problem", "Teacher", "Student", "Training", "Inputs", "Mixture")}
    assert eval(text, names) == PROBLEM.replace(**changes)  # nothing is lost


def test_a_batch_of_one_of_a_data_set_is_shown() -> None:
    training = sv.Training(step=1.0, samples=10, batch=1)
    assert repr(training) == "Training(step=1.0, batch=1, samples=10)"


def test_a_schedule_of_a_function_follows_it_in_the_equations() -> None:
    """Linear units, whose equations are dR = eta (T - R), dQ = 2 eta (R - Q) + eta^2 (T - 2 R + Q): with lines through the values
    to 1e-8, and the function itself as the square of the distance between times."""
    start = sv.start(PROBLEM, student_overlap=[[0.5]], cross_overlap=[[0.1]])

    def reference(rate: Any, stops: np.ndarray) -> np.ndarray:
        state = np.array([0.1, 0.5])
        for low, high in pairwise(stops):
            state = solve_ivp(slopes, (low, high), state, args=(rate,), rtol=1e-11, atol=1e-13).y[:, -1]
        return state

    def slopes(time: float, state: np.ndarray, rate: Any) -> list[float]:
        (R, Q), eta = state, rate(time)
        return [eta * (1 - R), 2 * eta * (R - Q) + eta**2 * (1 - 2 * R + Q)]

    errors = []
    for pieces in (8, 16, 32):
        times = np.linspace(0.0, 4.0, pieces + 1)
        schedule = sv.Schedule.of(falling, times)
        problem = PROBLEM.replace(training__learning_rate=schedule)
        run = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[4.0], progress=False)
        ends = np.array([run.cross_overlap[0, -1, 0, 0], run.student_overlap[0, -1, 0, 0]])
        through = reference(lambda t, times=times: np.interp(t, times, falling(times)), times)
        assert np.abs(ends - through).max() < 1e-8
        errors.append(np.abs(ends - reference(falling, np.array([0.0, 4.0]))).max())
    assert errors[0] / errors[1] == pytest.approx(4.0, rel=0.2)
    assert errors[1] / errors[2] == pytest.approx(4.0, rel=0.2)


@pytest.mark.parametrize(
    ("function", "times", "message"),
    [
        (0.5, (0, 1), "function: 0.5 given, must be a function of one time"),
        (falling, (1, 2), r"times: must start at 0 and increase, got \(1.0, 2.0\)"),
        (falling, "now", "times: 'now' given, must be numbers from 0 on"),
        (lambda time: time - 1, (0, 2), "rates: must not be negative"),
        (lambda time: (time, time), (0, 2), r"function: is \[0.0, 0.0\] at time 0, must be a finite number"),
        (lambda time: np.inf if time else 1.0, (0, 2), "function: is inf at time 2, must be a finite number"),
    ],
)
def test_schedules_of_what_is_no_function_are_refused(function: Any, times: Any, message: str) -> None:
    with pytest.raises(sv.InvalidProblem, match=message):
        sv.Schedule.of(function, times)
