"""The diffusion of losses and rules: means and standard deviations are those of SGD, and a rule that is left out is missed."""

import numpy as np
import pytest

import solvable as sv
from reference.rules import RULES
from seeds import seed

DIM, TIME = 2000, 1.0


def problem_of(name, unit):
    rule = RULES[name]
    return sv.Problem(
        teacher=sv.Teacher(
            width=1, activation=unit, readout="unit", target="sign" if rule.signs else "additive"
        ),
        student=sv.Student(width=2, activation=unit, readout=(0.7, 0.4)),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
        training=sv.Training(learning_rate=0.8, loss_factor=0.5, **rule.training),
    )  # fmt: skip


def ends(problem, level):
    start = sv.start(problem, student_overlap=[[0.6, 0.1], [0.1, 0.8]], cross_overlap=[[0.3], [-0.2]])
    run = sv.run(problem, start, level, times=[TIME], progress=False)
    assert run.success
    return np.concatenate([run.student_overlap[:, 0].reshape(len(run.risk), -1), run.cross_overlap[:, 0, :, 0]], axis=1)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "unit", "paths"),
    [("correlation", "erf", 128), ("perceptron", "linear", 96), ("clipped", "erf", 24), ("repeats", "erf", 24)],
)
def test_paths_have_the_means_and_spreads_of_sgd(name, unit, paths):
    """Means within 5.5 standard errors and 2/dim, standard deviations within 5.5 of theirs (at most a factor of two)."""
    problem = problem_of(name, unit)
    meso, micro = ends(problem, sv.Meso(runs=paths, seed=seed(1))), ends(problem, sv.Micro(runs=512, seed=seed(2)))
    error = np.sqrt(meso.var(axis=0, ddof=1) / paths + micro.var(axis=0, ddof=1) / 512)
    assert (np.abs(meso.mean(axis=0) - micro.mean(axis=0)) < 5.5 * error + 2 / DIM).all()
    ratio = np.log(meso.std(axis=0, ddof=1) / micro.std(axis=0, ddof=1))
    assert (np.abs(ratio) < 5.5 * np.sqrt(0.5 / paths + 0.5 / 512)).all()
    plain = problem.replace(
        training__loss="squared", training__rule=None, training__lookahead=0.0, training__repeats=1
    )  # fmt: skip
    other = ends(plain, sv.Micro(runs=512, seed=seed(2)))
    assert (np.abs(meso.mean(axis=0) - other.mean(axis=0)) > 5.5 * error + 2 / DIM).any()
