"""The reduced process has the law of full-weight SGD: every overlap of every block and every readout, over thousands of runs.

Dimensions are small on purpose: the finite size is then a large part of everything. Means, variances and whole
distributions are compared at two times; K is the number of standard errors allowed for the worst of all comparisons.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
import referee

import solvable as sv
from comparing import same_law
from gate import first, only
from seeds import seed

RUNS = 4000
K = 5.0
RARE = 1e-6
TWO = sv.Spectrum(eigenvalues=(1.6, 0.4), weights=(1, 2))
STEEPER = sv.Spectrum(eigenvalues=(1.8, 0.3), weights=(1, 2))
SMALL = sv.Spectrum(eigenvalues=(3.0, 1.5, 0.5), weights=(1, 4, 15))  # of 60: the first block is kept in full
CUBIC = sv.Activation("cubic", lambda z: z**3 - 2 * z, lambda z: 3 * z**2 - 2)


class Case(NamedTuple):
    problem: sv.Problem
    until: float


def case(
    widths, training, *, unit="quadratic", teacher_unit=None, dim=50, spectrum=None, norm="free", until=1.0, **teacher
):
    return Case(
        sv.Problem(
            student=sv.Student(width=widths[0], activation=unit, norm=norm),
            teacher=sv.Teacher(width=widths[1], activation=teacher_unit or unit, overlap="sampled", **teacher),
            inputs=sv.Inputs(dim=dim, spectrum=spectrum),
            training=sv.Training(**training),
        ),
        until,
    )


RAMP = sv.Schedule(times=(0, 0.5, 1), rates=(0.03, 0.1, 0.05), shape="linear")
CASES = {
    "quadratic": case((3, 2), {"learning_rate": 0.12}, until=3.0),
    "quadratic, noise, sphere, readout, two blocks": case(
        (3, 2), {"learning_rate": 0.2, "label_noise": 0.5, "train_readout": True, "readout_rate": 0.4},
        spectrum=TWO, dim=60, norm="sphere",
    ),
    "quadratic, ramp, decay, block kept in full": case(
        (2, 2), {"learning_rate": RAMP, "weight_decay": 1.0}, spectrum=SMALL, dim=60,
    ),
    "quadratic, fewer dimensions than units": case((4, 3), {"learning_rate": 0.05}, dim=6, until=2.0),
    "erf, noise, sphere": case((3, 2), {"learning_rate": 3.0, "label_noise": 0.3}, unit="erf", norm="sphere"),
    "erf, readout, two blocks": case(
        (2, 2), {"learning_rate": 2.0, "train_readout": True}, unit="erf", spectrum=TWO, dim=60,
    ),
    "relu, noise, two blocks": case(
        (3, 2), {"learning_rate": 0.8, "label_noise": 0.1}, unit="relu", spectrum=TWO, dim=60, until=2.0,
    ),
    "relu, batch of 2": case((4, 2), {"learning_rate": 1.5, "batch": 2}, unit="relu"),
    "quadratic, batch of 9, noise, sphere, decay, two blocks": case(
        (3, 2), {"learning_rate": 1.0, "batch": 9, "label_noise": 0.5, "weight_decay": 0.5},
        spectrum=TWO, dim=60, norm="sphere",
    ),
    "quadratic, batch of 4, readout, block kept in full": case(
        (3, 1), {"learning_rate": 0.08, "batch": 4, "train_readout": True}, spectrum=SMALL, dim=60,
    ),
    "linear student of a product": case((2, 2), {"learning_rate": 0.5}, unit="linear", target="product"),
    "tanh student of a relu teacher, log-cosh": case(
        (2, 3), {"learning_rate": 1.5, "loss": "log-cosh", "label_noise": 0.3}, unit="tanh", teacher_unit="relu",
    ),
    "cubic Hermite unit": case(
        (2, 1), {"learning_rate": 0.003}, unit=sv.problems.Hermite(coefficients=(0, 1, 0, 1)), dim=40,
    ),
}  # fmt: skip


QUICK = ("quadratic, ramp, decay, block kept in full", "erf, noise, sphere", "relu, batch of 2")
SLOW = ("linear student of a product", "tanh student of a relu teacher, log-cosh", "cubic Hermite unit")  # in Python


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name",
    only([pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in CASES], *QUICK),
)
def test_reduced_process_has_the_law_of_full_weights(name):
    assert agree(name, reduced(name))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "factor"),
    [
        *first([("erf, noise, sphere", 0.95), ("quadratic", 1.05), ("relu, noise, two blocks", 1.05)]),
        *(
            pytest.param(name, factor, marks=pytest.mark.slow)
            for name, factor in [
                ("quadratic", 0.95),
                ("erf, noise, sphere", 1.05),
                ("relu, noise, two blocks", 0.95),
                ("relu, batch of 2", 0.95),
                ("relu, batch of 2", 1.05),
            ]
        ),
    ],
)
def test_a_rate_five_percent_off_is_caught(name, factor):
    """By the same test."""
    problem = CASES[name].problem
    wrong = problem.replace(training__learning_rate=factor * problem.training.learning_rate)
    assert not agree(name, reduced(name, wrong))


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("name", "change"),
    first(
        [
            ("quadratic, ramp, decay, block kept in full", {"training__weight_decay": 0.8}),
            ("erf, noise, sphere", {"training__label_noise": 0.5}),
            ("quadratic, noise, sphere, readout, two blocks", {"inputs__spectrum": STEEPER}),
            ("quadratic, batch of 9, noise, sphere, decay, two blocks", {"training__batch": 8}),
            ("erf, readout, two blocks", {"training__train_readout": False}),
        ],
        2,
    ),
)  # fmt: skip
def test_other_small_changes_are_caught(name, change):
    assert not agree(name, reduced(name, CASES[name].problem.replace(**change)))


def agree(name, found):
    """Means and variances within K standard errors, all means together, and every distribution."""
    full = simulated(name)
    assert full.shape[1:] == found.shape[1:]
    moving = full.std(axis=0) > 1e-9  # norms on the sphere and fixed readouts do not
    assert np.allclose(full.mean(axis=0)[~moving], found.mean(axis=0)[~moving], atol=1e-9)
    assert moving.sum() > 5
    return same_law(full, found, K, RARE)


@cache
def simulated(name):
    problem, until = CASES[name]
    record = referee.sgd(problem, *weights_of(name), (until / 2, until), RUNS, seed=seed(2))
    return flat(record.student, record.cross, record.readout)


def reduced(name, problem=None):
    base, until = CASES[name]
    start = sv.measure(base, *weights_of(name))
    problem = base if problem is None else problem
    if problem.inputs.spectrum == base.inputs.spectrum and problem.inputs.dim == base.inputs.dim:
        assert sv.run(problem, start, sv.Macro(), until=0.01).success  # the same start serves every level
    micro = sv.run(problem, start, sv.Micro(runs=RUNS, seed=seed(3)), times=(until / 2, until), keep_blocks=True)
    assert micro.success
    return flat(micro.blocks.student, micro.blocks.cross, micro.readout)


def flat(student, cross, readout):
    """(run, entry): upper triangles of students, crosses, readouts at all times."""
    p = student.shape[-1]
    upper = student[..., *np.triu_indices(p)]
    return np.concatenate([part.reshape(len(part), -1) for part in (upper, cross, readout)], axis=1)


@cache
def weights_of(name):
    """Teachers with Gaussian rows; students that know something of them; on the sphere normalised."""
    problem = CASES[name].problem
    random, N = np.random.default_rng(seed(1)), problem.inputs.dim
    teachers = random.standard_normal((problem.teacher.width, N))
    students = 0.4 * random.standard_normal((problem.student.width, problem.teacher.width)) @ teachers
    students += 0.4 * random.standard_normal((problem.student.width, N))
    if problem.student.norm == "sphere":
        students *= np.sqrt(N) / np.linalg.norm(students, axis=1, keepdims=True)
    return students, teachers
