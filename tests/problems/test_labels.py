"""Labels that a loss of the margin cannot learn from are refused where they meet the loss."""

from typing import Any

import numpy as np
import pytest

import solvable as sv
from solvable.cli.main import main
from solvable.problems import Hinge, Loss, Target

STUDENT = sv.Student(width=1, activation="erf")
OWN = Loss(
    "own", lambda m: np.logaddexp(0, -m), lambda m: 1 / (1 + np.exp(m)), lambda m: -1 / (2 + np.exp(m) + np.exp(-m)),
    of="margin",
)  # fmt: skip


def problem_of(loss: Any = "logistic", **parts: Any) -> sv.Problem:
    return sv.Problem(
        student=STUDENT, inputs=sv.Inputs(dim=20), training=sv.Training(learning_rate=0.5, loss=loss), **parts
    )


def classes(*labels: float) -> dict[str, sv.Mixture]:
    return {"mixture": sv.Mixture.opposite(1.0, labels=labels)}  # type: ignore[arg-type]


def tasks(*readouts: float) -> tuple[sv.Task, ...]:
    return tuple(sv.Task(readout=(one,), probability=1 / len(readouts)) for one in readouts)


ZERO = r"which is zero for the label 0, so that its samples teach nothing; give labels of both signs, as 1 and -1"
ONE_SIGN = r"which tells labels by their signs alone; give labels of both signs"
REFUSED = {
    "one and zero": (classes(1, 0), "mixture.labels: 0, 1 given with the loss 'logistic'.*" + ZERO),
    "one and two": (classes(1, 2), "mixture.labels: 1, 2 given.*" + ONE_SIGN),
    "an own loss": ({"loss": OWN, **classes(1, 0)}, "mixture.labels: 0, 1 given with the loss 'own'.*" + ZERO),
    "a sharp hinge": ({"loss": Hinge(sharpness=9.0), **classes(0, 1)}, "with the loss 'hinge'.*" + ZERO),
    "real numbers": (
        {"teacher": sv.Teacher(width=1)},
        "teacher.target: 'additive' gives labels that may be any number, but the loss 'logistic' takes them for signs; say "
        "target = 'sign'",
    ),
    "products": (
        {"teacher": sv.Teacher(width=1, target="product"), "loss": "perceptron"}, "teacher.target: 'product' gives labels"
    ),
    "an own target of zero and one": (
        {"teacher": sv.Teacher(width=1, target=Target("step", 1, lambda z: (z[:, 0] > 0) * 1.0))},
        "teacher.target: 0, 1 given.*" + ZERO,
    ),
    "a task without teachers": (
        {"teacher": sv.Teacher(width=1, target="sign"), "tasks": tasks(1.0, 0.0)},
        "tasks.1.readout: is zero for every teacher, so that labels have no sign",
    ),
    "a teacher of zero": (
        {"teacher": sv.Teacher(width=1, target="sign", readout=0.0)}, "teacher.readout: is zero for every teacher"
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_labels_without_signs_are_refused(name: str) -> None:
    parts, message = REFUSED[name]
    with pytest.raises(sv.InvalidProblem, match=message):
        problem_of(**parts)


@pytest.mark.parametrize(
    "parts",
    [
        classes(1, -1), classes(0.5, -2), classes(1, 1), {"loss": "squared", **classes(1, 0)},
        {"loss": "correlation", **classes(1, 0)}, {"loss": "correlation", "teacher": sv.Teacher(width=1)},
        {"teacher": sv.Teacher(width=1, target="sign")}, {"loss": OWN, "teacher": sv.Teacher(width=1, activation="erf")},
        {"teacher": sv.Teacher(width=1, target=Target("side", 1, lambda z: np.where(z[:, 0] > 0, 1.0, -1.0)))},
        {"teacher": sv.Teacher(width=1, target="sign", readout=0.0, bias=1.0)},
    ],
)  # fmt: skip
def test_labels_with_signs_are_accepted(parts: dict[str, Any]) -> None:
    assert problem_of(**parts).student == STUDENT


def test_changes_are_checked_too() -> None:
    problem = problem_of(**classes(1, -1))
    with pytest.raises(sv.InvalidProblem, match=r"mixture\.labels: 0, 1 given"):
        problem.replace(mixture__labels=(1.0, 0.0))
    squared = problem_of("squared", **classes(1, 0))
    with pytest.raises(sv.InvalidProblem, match=r"mixture\.labels: 0, 1 given"):
        squared.replace(training__loss="hinge")


@pytest.mark.parametrize(("labels", "message"), [([1.0, 0.0] * 10, ZERO), ([1.0, 2.0] * 10, ONE_SIGN)])
def test_labels_of_data_are_checked_before_training(labels: list[float], message: str) -> None:
    random = np.random.default_rng(0)
    teacher = sv.Teacher(width=1, target="sign", overlap="sampled")
    problem = problem_of(teacher=teacher).replace(
        training__learning_rate=None, training__step=0.1, training__samples=20
    )
    weights = sv.overlaps.Weights(random.standard_normal((1, 20)), random.standard_normal((1, 20)))
    data = sv.Data(random.standard_normal((20, 20)), prepare=False)
    with pytest.raises(ValueError, match="^labels: .*" + message):
        sv.run(problem, weights, sv.Empirical(data=data, labels=labels), until=2, progress=False)


def test_the_command_line_tells_it_in_one_line(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = problem_of(**classes(1, -1)).to_toml()
    file = tmp_path / "labels.toml"
    file.write_text(text.replace("-1.0,\n]\n", "0.0,\n]\n") if "-1.0,\n]\n" in text else text)
    assert "0.0,\n]" in file.read_text()
    assert main(["run", str(file), "--until", "1"]) == 2
    told = capsys.readouterr().err.strip().splitlines()
    assert len(told) == 1
    assert "mixture.labels: 0, 1 given with the loss 'logistic'" in told[0]
