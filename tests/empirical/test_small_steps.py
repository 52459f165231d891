"""A learning rate that was meant as the step of a data set: a warning with both numbers, and none where steps are useful."""

import warnings
from pathlib import Path
from typing import Any

import pytest

import solvable as sv
from solvable.cli.main import main


def problem_of(dim: int = 300, **training: Any) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim), training=sv.Training(samples=300, **training),
    )  # fmt: skip


def follow(problem: sv.Problem, level: Any = None) -> sv.Trajectory:
    return sv.run(problem, sv.start(problem, seed=0), level or sv.Empirical(), until=2, progress=False)


BOTH = (
    r"training\.learning_rate: 0\.5 makes steps of 0\.00167, because it is divided by dim = 300; on batches of 300 samples "
    r"steps of order 1 learn: say step = 0\.5 if it was meant so"
)


def test_a_rate_for_a_step_is_told_with_both_numbers() -> None:
    with pytest.warns(UserWarning, match=BOTH):
        slow = follow(problem_of(learning_rate=0.5))
    assert slow.risk[0, -1] > 0.98 * slow.risk[0, 0]  # as it says, nothing is learned
    assert follow(problem_of(step=0.5)).training_loss[0, -1] < 0.8 * slow.training_loss[0, 0]


def test_the_limit_of_a_data_set_tells_it_too() -> None:
    with pytest.warns(UserWarning, match=BOTH):
        follow(problem_of(learning_rate=0.5), sv.EmpiricalMacro(particles=256, replicas=2))


@pytest.mark.parametrize(
    "training",
    [
        {"learning_rate": 0.5, "batch": 1},  # steps of 0.5/dim are those of SGD
        {"learning_rate": 0.5, "batch": 10},
        {"learning_rate": 150.0},
        {"learning_rate": 0.5, "momentum": 0.95},
        {"learning_rate": sv.Schedule(times=(0, 1), rates=(300.0, 0.1))},
        {"step": 1e-4},  # a step is what it says
        {"dim": 20, "learning_rate": 0.5},
    ],
)
def test_useful_steps_are_not_told(training: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        follow(problem_of(**training))


def test_the_command_line_tells_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    problem_of(learning_rate=0.5).save(tmp_path / "slow.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        assert main(["run", str(tmp_path / "slow.toml"), "--level", "empirical", "--until", "2"]) == 0
    lines = [line for line in capsys.readouterr().err.splitlines() if "learning_rate" in line]
    assert len(lines) == 1
    assert lines[0].startswith("solvable: training.learning_rate: 0.5 makes steps of 0.00167")
