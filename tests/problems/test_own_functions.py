"""Functions of one's own that change after they were made: every verb that uses them notices."""

import math
from typing import Any

import numpy as np
import pytest

import solvable as sv

START = {"student_overlap": [[1.0]], "cross_overlap": [[0.3]]}


def scope_of(text: str) -> dict[str, Any]:
    """Names as a notebook has them, with a global k that the function f reads through another function."""
    scope: dict[str, Any] = {"np": np, "math": math, "k": 1.0, "table": np.ones(2), "__name__": "__main__"}
    exec("def inner(x):\n    return k * table[0] * x", scope)
    exec(text, scope)
    return scope


def taught(target: str = "lambda z: inner(np.tanh(z[:, 0]))") -> tuple[sv.Problem, dict[str, Any]]:
    scope = scope_of(f"f = {target}")
    teacher = sv.Teacher(width=1, target=sv.problems.Target("own", 1, scope["f"]))
    return problem_of(teacher=teacher), scope


def problem_of(**parts: Any) -> sv.Problem:
    given: dict[str, Any] = {
        "teacher": sv.Teacher(width=1, activation="erf"), "student": sv.Student(width=1, activation="erf"),
        "inputs": sv.Inputs(dim=100), "training": sv.Training(learning_rate=0.1),
    }  # fmt: skip
    return sv.Problem(**given | parts)


def activated() -> tuple[sv.Problem, dict[str, Any]]:
    scope = scope_of("g = lambda z: inner(np.tanh(z))\ndg = lambda z: inner(1 / np.cosh(np.clip(z, -300, 300)) ** 2)")
    student = sv.Student(width=1, activation=sv.Activation("own", scope["g"], scope["dg"]))
    return problem_of(student=student), scope


def with_loss() -> tuple[sv.Problem, dict[str, Any]]:
    scope = scope_of("f = lambda e: inner(e**2)\ndf = lambda e: inner(2 * e)\nddf = lambda e: inner(2 + 0 * e)")
    loss = sv.problems.Loss("own", scope["f"], scope["df"], scope["ddf"])
    return problem_of(training=sv.Training(learning_rate=0.1, loss=loss)), scope


def with_rule() -> tuple[sv.Problem, dict[str, Any]]:
    scope = scope_of("def f(F, fields, label, output, size):\n    F[:] = k * F")
    return problem_of(training=sv.Training(learning_rate=0.1, rule=sv.Rule("own", scope["f"]))), scope


def with_rate() -> tuple[sv.Problem, dict[str, Any]]:
    scope = scope_of("f = lambda alpha, risk, square, accumulated: k / (1 + alpha)")
    rule = sv.problems.RateFunction("own", scope["f"])
    return problem_of(training=sv.Training(learning_rate=0.1, rate_rule=rule)), scope


PLACES = {
    "teacher.target": taught, "student.activation": activated, "training.loss": with_loss, "training.rule": with_rule,
    "training.rate_rule": with_rate,
}  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_run_asks_whether_functions_are_what_they_were(place: str) -> None:
    problem, scope = PLACES[place]()
    start = sv.start(problem, **START)
    run = sv.run(problem, start, sv.Macro(), until=0.1)
    scope["k"] = 1.0 * scope["k"]  # as a cell of a notebook that is run again
    assert sv.run(problem, start, sv.Macro(), until=0.1).risk == pytest.approx(run.risk, rel=0, abs=0)
    scope["k"] = 2.0
    with pytest.raises(sv.InvalidProblem, match=rf"{place}: 'own': has changed since it was made"):
        sv.run(problem, start, sv.Macro(), until=0.1)


VERBS = {
    "run_batch": lambda problem, start, run: sv.levels.run_batch(problem, [start], sv.Macro(), until=0.1),
    "optimal": lambda problem, start, run: sv.optimal(
        problem, start, until=1.0, control={"training.learning_rate": 2}, refine=False
    ),
    "gradient": lambda problem, start, run: sv.gradient(problem, start, until=1.0),
    "fit": lambda problem, start, run: sv.fit(
        (run.alpha[1:], run.risk[0, 1:], np.full(200, 0.01)), problem, free=["training.learning_rate"], start=start
    ),
    "save": lambda problem, start, run: run.save("changed.nc"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_other_verbs_ask_too(verb: str) -> None:
    problem, scope = taught()
    start = sv.start(problem, **START)
    run = sv.run(problem, start, sv.Macro(), until=0.1)
    scope["k"] = 2.0
    with pytest.raises(sv.InvalidProblem, match=r"teacher\.target: 'own': has changed"):
        VERBS[verb](problem, start, run)


CHANGES = {
    "an entry of an array": lambda scope: scope["table"].__setitem__(0, 3.0),
    "another array": lambda scope: scope.__setitem__("table", np.full(2, 3.0)),
    "an inner function": lambda scope: exec("def inner(x):\n    return 3 * x", scope),
    "the code of an inner function": lambda scope: setattr(scope["inner"], "__code__", (lambda x: 3 * x).__code__),
    "a name that was built in": lambda scope: scope.__setitem__("abs", lambda x: 3 * x),
}


@pytest.mark.parametrize("change", CHANGES)
def test_everything_that_is_reached_counts(change: str) -> None:
    problem, scope = taught("lambda z: abs(inner(z[:, 0]))")
    target = problem.own_functions()["teacher.target"]
    target.check_unchanged()
    CHANGES[change](scope)
    with pytest.raises(ValueError, match="has changed since it was made"):
        target.check_unchanged()


def test_a_list_in_use_is_read_again() -> None:
    scope = scope_of("numbers = [1.0]\nf = lambda z: numbers[0] * z[:, 0]")
    target = sv.problems.Target("own", 1, scope["f"])
    target.check_unchanged()
    scope["numbers"][0] = 2.0
    with pytest.raises(ValueError, match="has changed since it was made"):
        target.check_unchanged()


def test_a_cell_counts() -> None:
    def factory() -> Any:
        factor = 1.0

        def change() -> None:
            nonlocal factor
            factor = 2.0

        return (lambda z: factor * z[:, 0]), change

    function, change = factory()
    target = sv.problems.Target("own", 1, function)
    target.check_unchanged()
    change()
    with pytest.raises(ValueError, match="has changed since it was made"):
        target.check_unchanged()
