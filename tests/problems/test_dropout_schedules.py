"""A keep probability that changes in time: what it may be, the numbers of one time, files, and that runs follow it."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.dynamics.cases import case_table
from solvable.problems import Dropout

FALLING = sv.Schedule(times=(0, 2), rates=(1.0, 0.5))


def masked(keep: object = FALLING) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=2000),
        training=sv.Training(
            learning_rate=0.5, label_noise=0.2, dropout=Dropout(keep=keep, scale="test", test_factor=0.7)
        ),
    )


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"keep": FALLING}, "scale: is 'train', must be 'test' where keep is a schedule"),
        ({"keep": FALLING, "scale": "test"}, "test_factor: is missing"),
        (
            {"keep": sv.Schedule(times=(0,), rates=(1.5,)), "scale": "test", "test_factor": 0.5},
            "at most 1 at all times",
        ),
        (
            {"keep": sv.Schedule(times=(0, 1), rates=(1, 0.5), shape="linear"), "scale": "test", "test_factor": 0.5},
            "must go in steps",
        ),
    ],
)
def test_what_is_refused(fields, message) -> None:
    with pytest.raises(ValueError, match=message):
        Dropout(**fields)


def test_one_time_and_later_times() -> None:
    problem = masked()
    assert problem.training.is_scheduled
    assert problem.at(1.0).training.dropout.keep == 1.0
    assert problem.at(3.0).training.dropout.keep == 0.5
    assert problem.later(1.0).training.dropout.keep.times == (0.0, 1.0)
    assert problem.at(3.0).training.dropout.tested == 0.7
    constant = masked(0.5)
    assert constant.training.at(1.0) is constant.training


def test_files() -> None:
    problem = masked()
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    assert sv.Problem.from_json(problem.to_json()) == problem
    assert problem.hash != masked(0.5).hash


def test_the_table_of_cases() -> None:
    table = case_table(masked())
    assert table.begins.tolist() == [0.0, 2.0]
    assert table.probability[0] == pytest.approx([1.0, 0.0, 0.0, 0.0])  # both, one or the other, none
    assert table.probability[1] == pytest.approx([0.25] * 4)
    fixed = case_table(masked(0.5))
    assert np.array_equal(table.mask, fixed.mask)
    assert table.probability[1] == pytest.approx(fixed.probability[0])


@pytest.mark.statistical
def test_levels_follow_it() -> None:
    """Also as two runs, one after the other, with constants."""
    problem = masked()
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.2)
    whole = sv.run(problem, start, sv.Macro(rtol=1e-10), until=4.0).risk[0, -1]
    first = sv.run(problem.at(0.0), start, sv.Macro(rtol=1e-10), until=2.0)
    second = sv.run(problem.at(2.0), first.last(), sv.Macro(rtol=1e-10), until=2.0).risk[0, -1]
    assert whole == pytest.approx(second, rel=1e-8)
    assert abs(whole / sv.run(masked(1.0), start, sv.Macro(), until=4.0).risk[0, -1] - 1) > 0.05
    for level in (sv.Micro(runs=64, seed=seed(1)), sv.Meso(runs=64, seed=seed(2))):
        risks = sv.run(problem, start, level, until=4.0, progress=False).risk[:, -1]
        error = risks.std(ddof=1) / np.sqrt(risks.size)
        assert abs(risks.mean() - whole) < 5 * error + 0.01 * whole  # finite dim
