"""The diffusion of classes, tasks, masks and noise against SGD itself: means and variances of every overlap and readout."""

import numpy as np
import pytest

import solvable as sv
from comparing import joint_chance, scores
from gate import only
from seeds import seed

XOR = sv.Mixture(
    probabilities=(0.4, 0.3, 0.2, 0.1),
    means=((1.5, 0), (-1.5, 0), (0, 1), (0.3, -1)),
    variances=((0.5, 1.0), (1.5, 0.6), (1.0, 1.0), (1.0, 2.0)),
    labels=(1, 1, -1, -0.5),
)
TWO = sv.Inputs(dim=400, spectrum={"eigenvalues": [1.6, 0.4], "weights": [1, 3]})
TEACHER = {"width": 2, "activation": "erf", "readout": "unit"}


def problem_of(*, teacher=None, student=None, inputs=TWO, mixture=None, tasks=(), **training):
    return sv.Problem(
        teacher=sv.Teacher(**teacher) if teacher else sv.Teacher(width=0),
        student=sv.Student(**{"width": 2, "activation": "erf", "readout": "unit"} | (student or {})),
        inputs=inputs,
        training=sv.Training(**{"learning_rate": 0.6, "loss_factor": 0.5} | training),
        mixture=mixture,
        tasks=tasks,
    )


CASES = {
    "classes, readout": problem_of(mixture=XOR, train_readout=True, readout_rate=0.5),
    "classes and teacher, sphere, batch, noise": problem_of(
        teacher=TEACHER, mixture=XOR, student={"norm": "sphere"}, batch=3, label_noise=0.2, learning_rate=1.0
    ),
    "spikes, input noise": problem_of(
        teacher=TEACHER, mixture=XOR.replace(spikes=((2, 0), (0, 1), (0, 0), (0, 0.5))), input_noise=(0.5, 1.0)
    ),
    "tasks, heads, replay": problem_of(
        teacher={"width": 2, "activation": "erf"}, train_readout=True, readout_rate=0.5,
        tasks=sv.Task.sequence([(1.0, 0.0), (0.3, 0.9)], [1.5], replay=0.3),
    ),
    "dropout, flips, anchor": problem_of(
        teacher=TEACHER, dropout={"keep": 0.7}, label_flips=0.2, anchor=0.5, train_readout=True, readout_rate=0.3,
    ),
    "drift": problem_of(
        teacher=TEACHER | {"drift": 0.5, "overlap": ((1.0, 0.4), (0.4, 1.5))},
        train_readout=True, readout_rate=0.3, weight_decay=0.1,
    ),
    "drift, rotation, classes, sphere, noise": problem_of(
        teacher=TEACHER | {"drift": 0.3, "rotation": 0.8, "overlap": ((1.2, 0.0), (0.0, 1.2))},
        mixture=XOR, student={"norm": "sphere"}, input_noise=0.3, batch=2, learning_rate=1.0,
    ),
    "rotation": problem_of(teacher=TEACHER | {"rotation": 1.0}),
    "quadratic": problem_of(
        teacher={"width": 1}, student={"activation": "quadratic", "readout": "mean"}, learning_rate=0.15,
        mixture=sv.Mixture.opposite(1.0, labels=(0.5, -0.5)), input_noise=0.2,
    ),
    "slow momentum, readout, decay": problem_of(
        teacher=TEACHER, momentum=sv.Momentum(kappa=2.0), train_readout=True, readout_rate=0.3, weight_decay=0.1, label_noise=0.1,
    ),
    "slow momentum, drift": problem_of(teacher=TEACHER | {"drift": 0.5}, momentum=sv.Momentum(kappa=2.0)),
    "slow momentum, sphere, average": problem_of(
        teacher=TEACHER, momentum=sv.Momentum(kappa=2.0), student={"norm": "sphere"}, average=sv.problems.Average(rate=1.0),
    ),
    "plain average, snapshot, anchor": problem_of(
        teacher=TEACHER, average=sv.problems.Average(begin=1.0), snapshot=1.0, anchor=1.0, batch=2,
    ),
}  # fmt: skip
TIMES = [0.5, 2.0, 5.0]


def flat(run):
    """(run, everything): overlaps and readouts at all times."""
    p = run.problem.student.width
    parts = [run.student_overlap[:, :, *np.triu_indices(p)], run.cross_overlap, run.readout]
    if run.problem.extras:
        parts.append(run.extra_overlap[..., :p])
        if run.problem.mixture is None and not run.problem.training.label_flips:
            parts.append(run.extra_overlap[..., p:])  # velocities, averages and snapshots move themselves
    if run.problem.scalars:
        parts.append(run.scalars)
    if run.problem.teacher.is_moving:
        parts.append(run.moving_teacher_overlap[:, :, *np.triu_indices(2)])
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def compared(problem, runs, **settings):
    start = sv.start(problem, seed=seed(0))
    micro = sv.run(problem, start, sv.Micro(runs=runs, seed=seed(1)), times=TIMES)
    meso = sv.run(problem, start, sv.Meso(runs=runs, seed=seed(2), **settings), times=TIMES)
    assert micro.success
    assert meso.success
    return flat(micro), flat(meso)


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(CASES, "classes, readout", "tasks, heads, replay", "dropout, flips, anchor"))
def test_means_and_variances_are_those_of_sgd(name) -> None:
    """Within 5 standard errors; the bias of order 1/dim is far below them at so few runs."""
    one, two = compared(CASES[name], 240)
    for found in scores(one, two):
        assert np.abs(found).max() < 5.0
    assert joint_chance(one, two) > 1e-6


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_means_and_variances_over_many_runs(name) -> None:
    """At ten times the dimension, so that 1/dim is below the standard errors."""
    one, two = compared(CASES[name].replace(inputs__dim=4000), 4000)
    for found in scores(one, two):
        assert np.abs(found).max() < 5.5
    assert joint_chance(one, two) > 1e-6


@pytest.mark.statistical
def test_short_velocities_do_not_stretch_students() -> None:
    """Kicks of few samples leave velocities shorter than their overlaps with students, and with each other, allow. Moved to
    possible ones, they are short still: no path leaves the range of SGD's runs. Once one in eight of these paths diverged."""
    problem = problem_of(
        teacher={"width": 2, "activation": "quadratic"}, student={"activation": "quadratic"}, learning_rate=0.06,
        momentum=sv.Momentum(kappa=4.0), weight_decay=0.5, batch=1,
    ).replace(inputs__dim=80)  # fmt: skip
    start = sv.start(problem, student_overlap=0.7 * np.eye(2), cross_overlap=0.3 * np.eye(2))
    found = []
    for level in (sv.Micro(runs=400, seed=seed(5)), sv.Meso(runs=400, seed=seed(6))):
        run = sv.run(problem, start, level, times=[0.5, 1.0, 2.0])
        assert run.success
        found.append(run.student_overlap[:, :, *np.triu_indices(2)])
    micro, meso = found
    middle, spread = micro.mean(axis=0), micro.std(axis=0)
    assert (np.abs(meso - middle) < 8 * spread).all()
    assert (np.abs(meso.mean(axis=0) - middle) < 0.6 * spread).all()  # order kappa/dim


def test_friction_beyond_the_diffusion_is_refused() -> None:
    problem = problem_of(teacher=TEACHER, momentum=sv.Momentum(kappa=21.0))
    with pytest.raises(
        ValueError, match=r"^training\.momentum\.kappa: 21 given for inputs\.dim = 400, but Meso neglects kappa/dim"
    ):
        sv.run(problem, sv.start(problem, seed=0), sv.Meso(), until=1)
