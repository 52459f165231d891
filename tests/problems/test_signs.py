"""Labels that are signs: one meaning of zero at every level, classes shift the output before its sign is taken."""

import numpy as np
import pytest

import seeds
import solvable as sv
from solvable.dynamics.cases import case_table


def problem(**changes) -> sv.Problem:
    plain = sv.Problem(
        teacher=sv.Teacher(width=1, activation="relu", target="sign", readout="unit"),
        student=sv.Student(width=1, activation="linear", readout="unit"),
        inputs=sv.Inputs(dim=400),
        training=sv.Training(learning_rate=0.4, loss_factor=0.5),
    )
    return plain.replace(**changes)


def test_an_output_of_zero_has_the_sign_minus_one() -> None:
    teacher = problem().teacher
    assert teacher.labels(np.array([[-1.0], [0.0], [2.0]])).tolist() == [-1.0, -1.0, 1.0]
    assert teacher.labels(np.array([[-1.0], [2.0], [0.5]]), np.array([0.3, -3.0, -0.1])).tolist() == [1.0, -1.0, 1.0]


@pytest.mark.statistical
def test_the_first_training_loss_is_the_risk() -> None:
    """With relu teachers, of which half the outputs are zero, and with classes that shift outputs: means over 40,000 samples."""
    shifted = sv.Mixture(probabilities=(0.5, 0.5), means=((1.0,), (-1.0,)), labels=(0.7, -0.4))
    for one in (problem(), problem(teacher__activation="linear", mixture=shifted)):
        data = one.replace(training=sv.Training(step=0.1, samples=5000))
        start = sv.start(data, student_overlap=[[1.0]], cross_overlap=[[0.3]])
        run = sv.run(data, start, sv.Empirical(runs=8, seed=seeds.seed(1)), times=[0, 1], progress=False)
        error = run.training_loss[:, 0].std(ddof=1) / np.sqrt(8)
        assert abs(run.training_loss[:, 0].mean() - run.risk[0, 0]) < 6 * error + run.risk_error.max()


@pytest.mark.statistical
def test_a_flip_turns_every_sign() -> None:
    """At one half, flips leave nothing to learn about the teacher, whatever the sign of zero is."""
    half = problem(training__label_flips=0.5)
    table = case_table(half)
    assert table.label[table.sign < 0] > 0
    start = sv.start(half, student_overlap=[[0.5]], cross_overlap=[[0.0]])
    run = sv.run(half, start, sv.Micro(runs=400, seed=seeds.seed(2)), times=[1.0], progress=False)
    overlap = run.cross_overlap[:, -1, 0, 0]
    assert abs(overlap.mean()) < 5 * overlap.std() / np.sqrt(400)
