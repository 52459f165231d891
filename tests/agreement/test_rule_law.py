"""Finite-size SGD by rules of learning has the law of full weights, at dim 40, where the finite size is a large part of everything.

The reduced process against `reference/case_sgd.py`, which shares nothing with it: every overlap of both blocks and every readout at
two times; means and variances within K standard errors for the worst of all, whole distributions by Kolmogorov and Smirnov's test.
The same test fails where the rule is left out, or where it sees the mean length of inputs in the place of each one's own.
"""

from functools import cache

import numpy as np
import pytest

import solvable as sv
from comparing import chances, joint_chance, scores
from reference.case_sgd import Setting, simulate
from reference.rules import RULES
from seeds import seed

RUNS, MANY = 800, 12_000
K, RARE = 5.5, 1e-6
DIM, TIMES, RATE = 40, (0.75, 2.0), 1.2
EIGENVALUES = (1.5, 0.5)
GATE = ("perceptron", "clipped", "lookahead", "own")
NAMES = [pytest.param(name, marks=() if name in GATE else pytest.mark.slow) for name in RULES]


@cache
def vectors():
    random = np.random.default_rng(seed(1))
    teachers = random.standard_normal((2, DIM))
    return 0.6 * random.standard_normal((2, DIM)) + 0.4 * teachers, teachers


def problem_of(name):
    rule = RULES[name]
    return sv.Problem(
        teacher=sv.Teacher(
            width=2,
            activation="erf",
            overlap="sampled",
            readout=(0.9, -0.5),
            target="sign" if rule.signs else "additive",
        ),
        student=sv.Student(width=2, activation="erf", readout=(0.7, 0.4)),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=EIGENVALUES)),
        training=sv.Training(
            learning_rate=RATE, loss_factor=0.5, train_readout=True, readout_rate=0.5, label_noise=0.1, **rule.training
        ),
    )


@cache
def simulated(name, runs):
    W, V = vectors()
    setting = Setting(
        student=W, teacher=V, teacher_readout=np.array([[0.9, -0.5]]), readout=np.array([[0.7, 0.4]]), rate=RATE,
        sizes=np.array([20, 20]), variances=np.array([EIGENVALUES]), signs=RULES[name].signs, readout_rate=0.5, label_noise=0.1,
        **RULES[name].setting,
    )  # fmt: skip
    record = simulate(setting, [round(time * DIM) for time in TIMES], runs, seed(2))
    return flat(record.overlaps[:, :, :, :2], record.readout)


def reduced(problem, runs, form="reduced"):
    level = sv.Micro(runs=runs, seed=seed(3), form=form)
    run = sv.run(problem, sv.overlaps.Weights(*vectors()), level, times=TIMES, keep_blocks=True, progress=False)
    assert run.success
    return flat(np.concatenate([run.blocks.student, run.blocks.cross], axis=-1), run.readout)


def flat(rows, readout):
    """(run, entry) all that moves, each entry once."""
    first, second = zip(*((i, j) for i in range(2) for j in range(i, 4)), strict=True)
    return np.concatenate([rows[..., first, second].reshape(len(rows), -1), readout.reshape(len(readout), -1)], axis=1)


def agree(full, found):
    means, variances = scores(full, found)
    worst = max(np.abs(means).max(), np.abs(variances).max())
    return worst < K and chances(full, found).min() > RARE and joint_chance(full, found) > RARE


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_the_reduced_process_has_the_law_of_full_weights(name):
    assert agree(simulated(name, RUNS), reduced(problem_of(name), RUNS))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", list(RULES))
def test_the_law_over_thousands_of_runs(name):
    assert agree(simulated(name, MANY), reduced(problem_of(name), MANY))


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", ["correlation", "clipped", "lookahead", "repeats", "own"])
def test_full_weights_of_the_library_have_it_too(name):
    assert agree(simulated(name, RUNS), reduced(problem_of(name), RUNS // 4, form="full"))


@pytest.mark.statistical
@pytest.mark.parametrize("name", NAMES)
def test_a_rule_that_is_left_out_is_missed(name):
    problem = problem_of(name)
    without = {"training__loss": "squared", "training__rule": None, "training__lookahead": 0.0, "training__repeats": 1}
    assert not agree(simulated(name, RUNS), reduced(problem.replace(**without), RUNS))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "batch", "sizes"), [("clipped", 4, (20, 20)), ("own", 3, (5, 35)), ("repeats", 2, (20, 20))]
)
def test_batches_of_rules_have_it_too(name, batch, sizes):
    """Also where a block is so small that it keeps all its coordinates; the control is a batch of one more."""
    problem = problem_of(name).replace(
        training__batch=batch, training__learning_rate=2.5, inputs__spectrum__weights=tuple(size / 20 for size in sizes)
    )
    W, V = vectors()
    setting = Setting(
        student=W, teacher=V, teacher_readout=np.array([[0.9, -0.5]]), readout=np.array([[0.7, 0.4]]), rate=2.5,
        sizes=np.array(sizes), variances=np.array([EIGENVALUES]), readout_rate=0.5, label_noise=0.1, batch=batch,
        **RULES[name].setting,
    )  # fmt: skip
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    full = flat(record.overlaps[:, :, :, :2], record.readout)
    assert agree(full, reduced(problem, RUNS))
    assert not agree(full, reduced(problem.replace(training__batch=batch + 2), RUNS))


@pytest.mark.statistical
def test_the_length_of_each_input_counts():
    """A rule that leaves out samples of long inputs learns nothing where all have the mean length."""

    def short(F, fields, label, output, size):
        if size > 1.0:
            F[:] = 0.0

    problem = problem_of("own").replace(training__rule=sv.Rule("short", short))
    W, V = vectors()
    setting = Setting(
        student=W, teacher=V, teacher_readout=np.array([[0.9, -0.5]]), readout=np.array([[0.7, 0.4]]), rate=RATE,
        sizes=np.array([20, 20]), variances=np.array([EIGENVALUES]), readout_rate=0.5, label_noise=0.1,
        rule=lambda F, z, y, output, size: F * (size <= 1.0),
    )  # fmt: skip
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    full = flat(record.overlaps[:, :, :, :2], record.readout)
    assert agree(full, reduced(problem, RUNS))
    assert not agree(full, reduced(problem.replace(training__rule=None), RUNS))
