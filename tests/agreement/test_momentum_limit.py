"""Momentum and averages at finite dim against their limits: the equations, and plain SGD at the effective rate."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

TIMES = [1.0, 2.0, 4.0]
K = 5.0  # standard errors, for the worst of some hundred numbers


def problem_of(*, spectrum=(0.5, 1.5), dim=1000, student=None, teacher=None, **training):
    return sv.Problem(
        teacher=sv.Teacher(**{"width": 2, "activation": "erf"} | (teacher or {})),
        student=sv.Student(**{"width": 2, "activation": "erf", "readout": "unit"} | (student or {})),
        inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=spectrum)),
        training=sv.Training(**{"learning_rate": 0.5, "loss_factor": 0.5, "label_noise": 0.1} | training),
    )


SLOW = sv.Momentum(kappa=2.0)
CASES = {
    "slow, decay": problem_of(momentum=SLOW, weight_decay=0.1),
    "slow, isotropic, sphere": problem_of(momentum=SLOW, spectrum=(1.0,), student={"norm": "sphere"}),
    "slow, quadratic": problem_of(
        momentum=SLOW, student={"activation": "quadratic"}, teacher={"activation": "quadratic"}, learning_rate=0.05
    ),
    "slow, relu, readout, batch": problem_of(
        momentum=SLOW, student={"activation": "relu"}, teacher={"activation": "relu"}, train_readout=True, batch=3,
        spectrum=(1.0,),
    ),
    "averages": problem_of(average=sv.problems.Average(begin=1.0), momentum=SLOW, snapshot=1.0, anchor=1.0),
    "fast": problem_of(momentum=0.5, learning_rate=0.2, average=sv.problems.Average(rate=1.0)),
}  # fmt: skip


def start_of(problem):
    p = problem.student.width
    return sv.start(problem, student_overlap=0.1 + 0.9 * np.eye(p), cross_overlap=[[0.3, 0.0], [0.1, 0.2]])


def apart(sample, limit):
    """Largest deviation of the mean of runs from a limit, in standard errors; allowing for one of 3/dim."""
    error = np.sqrt(sample.var(axis=0) / len(sample) + (1e-3 * np.abs(limit)) ** 2) + 1e-9
    return (np.abs(sample.mean(axis=0) - limit) / error).max()


@pytest.mark.statistical
@pytest.mark.parametrize("name", CASES)
def test_runs_follow_the_equations(name):
    problem, start = CASES[name], start_of(CASES[name])
    limit = sv.run(problem, start, sv.Macro(), times=TIMES)
    run = sv.run(problem, start, sv.Micro(runs=96, seed=seed(1)), times=TIMES)
    assert run.success
    for quantity in ("student_overlap", "cross_overlap", "readout", "risk"):
        assert apart(getattr(run, quantity), getattr(limit, quantity)[0]) < K
    roles = np.array(["student"] * 2 + ["teacher"] * 2 + list(problem.extras))
    columns = np.flatnonzero((roles != "velocity") | problem.training.is_slow)
    rows = columns[columns >= 4, None] - 4
    assert apart(run.extra_overlap[:, :, rows, columns], limit.extra_overlap[0][:, rows, columns]) < K
    plain = problem.replace(training__momentum=None)
    other = sv.run(plain, sv.overlaps.fitted(plain, start), sv.Macro(), times=TIMES)
    assert apart(run.student_overlap, other.student_overlap[0]) > 2 * K


@pytest.mark.statistical
@pytest.mark.slow
def test_fast_velocities_approach_plain_sgd_as_one_over_dim():
    """N (mean of tr Q - limit) does not depend on N: -2.9 for Nesterov's steps from this start, and near zero for heavy ball."""
    found = {}
    for nesterov in (False, True):
        for dim in (50, 200):
            problem = problem_of(
                dim=dim,
                spectrum=(1.0,),
                learning_rate=0.5,
                label_noise=0.0,
                momentum=sv.Momentum(beta=0.8, nesterov=nesterov),
            )
            limit = sv.run(problem, start_of(problem), sv.Macro(), times=[2.0])
            run = sv.run(problem, start_of(problem), sv.Micro(runs=40_000, seed=seed(2)), times=[2.0])
            sample = np.trace(run.student_overlap[:, 0], axis1=1, axis2=2)
            away = sample.mean() - np.trace(limit.student_overlap[0, 0])
            found[nesterov, dim] = dim * away, dim * sample.std() / np.sqrt(len(sample))
        (first, one), (second, two) = found[nesterov, 50], found[nesterov, 200]
        assert abs(first - second) < 4 * np.hypot(one, two) + 0.1 * abs(first)  # and what is of order 1/N^2
    (heavy, one), (ahead, two) = found[False, 50], found[True, 50]
    assert abs(ahead) > 10 * two
    assert abs(ahead - heavy) > 10 * np.hypot(one, two)


@pytest.mark.statistical
def test_overlaps_of_fast_velocities():
    """N Omega_vv = eta_0^2 S/(1 - beta^2) and N Omega_vu = eta D Omega + eta^2 S, with u = w + beta/(1 - beta) v."""
    beta, rate, dim = 0.8, 0.1, 400
    problem = problem_of(dim=dim, spectrum=(1.0,), learning_rate=rate, momentum=beta)
    limit = sv.run(problem, start_of(problem), sv.Macro(), times=[1.0])
    now = limit.at(1.0).without("velocity")
    plain = sv.problems.effective(problem)
    found = sv.dynamics.moments(sv.dynamics.field_covariance(plain, now), plain, now.readout)
    run = sv.run(problem, start_of(problem), sv.Micro(runs=4000, seed=seed(3)), times=[1.0])
    squares = dim * run.extra_overlap[:, 0, :, 4:]
    expected = rate**2 * found.noise / (1 - beta**2)
    error = squares.std(axis=0) / np.sqrt(len(squares))
    assert (np.abs(squares.mean(axis=0) - expected) < 5 * error + 0.05 * np.abs(expected).max()).all()
    eta, u = rate / (1 - beta), beta / (1 - beta)
    crossed = dim * run.velocity_overlap[:, 0] + u * squares
    Omega = np.concatenate([now.student_overlap, now.cross_overlap], axis=1)
    expected = eta * found.drift @ Omega.T + eta**2 * found.noise
    error = crossed.std(axis=0) / np.sqrt(len(crossed))
    assert (np.abs(crossed.mean(axis=0).T - expected) < 5 * error + 0.05 * np.abs(expected).max()).all()


@pytest.mark.parametrize("form", ["reduced", "full"])
@pytest.mark.parametrize(("begin", "first"), [(0.0, 0), (0.1, 2), (0.12, 3)])
def test_a_plain_average_is_the_mean_of_all_steps(form, begin, first):
    """Exactly, in every run: overlaps with teachers are linear in the weights. It begins with the step at or behind its time."""
    problem = problem_of(dim=20, spectrum=(1.0,), average=sv.problems.Average(begin=begin), snapshot=begin)
    run = sv.run(problem, start_of(problem), sv.Micro(runs=3, seed=1, form=form), times=np.arange(9) / 20)
    averages, copies = run.extra_overlap[:, :, 0:2, 2:4], run.extra_overlap[:, :, 2:4, 2:4]
    for step in range(9):
        begun = min(first, step)
        expected = run.cross_overlap[:, begun : step + 1].mean(axis=1)
        np.testing.assert_allclose(averages[:, step], expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(copies[:, step], run.cross_overlap[:, begun], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_an_exponential_average_moves_by_its_share_after_each_step(form):
    problem = problem_of(dim=20, spectrum=(1.0,), average=sv.problems.Average(rate=3.0))
    run = sv.run(problem, start_of(problem), sv.Micro(runs=3, seed=1, form=form), times=np.arange(6) / 20)
    expected = run.cross_overlap[:, 0]
    for step in range(1, 6):
        expected = expected + 3 / 20 * (run.cross_overlap[:, step] - expected)
        np.testing.assert_allclose(run.extra_overlap[:, step, :, 2:4], expected, rtol=1e-12, atol=1e-14)
