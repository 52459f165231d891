"""What new users get wrong is answered in one line that says what to write."""

import math

import numpy as np
import pytest

import solvable as sv

PROBLEM = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
START = sv.start(PROBLEM, seed=0)
SCHEDULED = PROBLEM.replace(training__learning_rate=sv.Schedule(times=(0, 1), rates=(0.1, 0.2)))
CASES = {
    "by place": (lambda: sv.Teacher(2), r"Teacher: give fields by name, not by place: Teacher\(width="),
    "bare spectrum": (lambda: sv.Inputs(spectrum=[1, 2]), r"spectrum: .*sv\.Spectrum\(eigenvalues=\.\.\.\)"),
    "two names": (lambda: sv.Schedule(times=(0, 1), rates=(1, 2), values=(1, 2)), "values: given together with rates"),
    "typo": (
        lambda: sv.start(PROBLEM, students="ortho"),
        "students: 'ortho' given, must be 'gaussian', 'orthogonal' or",
    ),
    "no function": (lambda: sv.Activation("sin", "x", "y"), "function: 'x' given, must be a function of arrays"),
    "scalars": (lambda: sv.Activation("sin", np.sin, math.cos), "derivative: must be a function of arrays"),
    "no run": (lambda: sv.plot.risk(PROBLEM), "plot: Problem given, must be a Trajectory"),
    "lost schedule": (
        lambda: sv.levels.run_batch(SCHEDULED, START, sv.Macro(), until=1, learning_rates=[0.1]),
        "learning_rates: numbers given, but the problem has a schedule",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_answer_is_one_line(name: str) -> None:
    call, text = CASES[name]
    with pytest.raises((TypeError, ValueError), match=text) as error:
        call()
    assert "\n" not in str(error.value)


def test_schedules_may_replace_a_schedule() -> None:
    rates = [SCHEDULED.training.learning_rate, sv.Schedule(times=(0, 1), rates=(0.2, 0.1))]
    assert sv.levels.run_batch(SCHEDULED, START, sv.Macro(), until=1, learning_rates=rates).risk.shape[0] == 2


def test_times_of_sgd_mean_the_nearest_step_and_files_are_netcdf(tmp_path) -> None:
    run = sv.run(PROBLEM, START, sv.Micro(runs=1, seed=0), times=[0, 1 / 3])
    assert run.at(1 / 3) == run.at(0.333)
    with pytest.raises(ValueError, match="not an output time"):
        run.at(0.3336)
    with pytest.raises(ValueError, match=r"save: .*r\.csv given, must end in \.nc"):
        run.save(tmp_path / "r.csv")
    run.save(tmp_path / "r.nc")
    assert [one.name for one in tmp_path.iterdir()] == ["r.nc"]
