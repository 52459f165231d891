"""The scatter of one step against cubature, sampling and the printed case of arnaboldi2023."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed


def problem_of(p, q, rate=0.3, **changes):
    problem = sv.Problem(
        teacher=sv.Teacher(width=q, overlap="sampled"),
        student=sv.Student(width=p, readout=tuple(0.4 + 0.3 * np.arange(p))),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, label_noise=0.2),
    )
    return problem.replace(**changes)


def increments(problem, state, z, zeta):
    """(sample, m) by the rule of SGD: dim times what one step adds to R and Q."""
    p, training = problem.student.width, problem.training
    a, rate = state.readout, training.learning_rate
    error = z[:, p:] ** 2 @ problem.teacher.readout_values - z[:, :p] ** 2 @ a + np.sqrt(training.label_noise) * zeta
    F = rate * 2 * training.loss_factor * a * 2 * z[:, :p] * error[:, None]
    cross = (F[:, :, None] * z[:, None, p:]).reshape(len(z), -1)
    student = F[:, :, None] * z[:, None, :p]
    student = student + student.transpose(0, 2, 1) + F[:, :, None] * F[:, None, :]
    return np.concatenate([cross, student[:, *np.triu_indices(p)]], axis=1)


@pytest.mark.parametrize(("p", "q"), [(1, 1), (2, 1), (1, 2), (3, 1)])
def test_covariance_against_cubature(p, q) -> None:
    """Products of increments are of degree 12 in all fields and the label's noise: seven nodes each are exact."""
    problem = problem_of(p, q)
    state = sv.start(problem, seed=1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    n = p + q + 1
    grid = np.stack(np.meshgrid(*[nodes] * n, indexing="ij")).reshape(n, -1).T
    chance = np.prod(np.stack(np.meshgrid(*[weights / weights.sum()] * n, indexing="ij")).reshape(n, -1), axis=0)
    z = grid[:, :-1] @ np.linalg.cholesky(sv.dynamics.field_covariance(problem, state)).T
    X = increments(problem, state, z, grid[:, -1])
    mean = chance @ X
    assert sv.dynamics.step_covariance(problem, state) == pytest.approx(
        (X - mean).T @ (chance[:, None] * (X - mean)), rel=1e-10, abs=1e-12
    )


@pytest.mark.statistical
def test_covariance_against_sampling() -> None:
    problem = problem_of(5, 3)
    state = sv.start(problem, seed=seed(1))
    random = np.random.default_rng(seed(0))
    sums = []
    for _ in range(20):
        z = random.standard_normal((20_000, 8)) @ np.linalg.cholesky(sv.dynamics.field_covariance(problem, state)).T
        sums.append(np.cov(increments(problem, state, z, random.standard_normal(len(z))).T))
    error = np.std(sums, axis=0, ddof=1) / np.sqrt(20)
    deviation = np.abs(np.mean(sums, axis=0) - sv.dynamics.step_covariance(problem, state)) / error
    assert np.sqrt(np.mean(deviation**2)) < 1.5
    assert deviation.max() < 8


@pytest.mark.parametrize(("m", "gamma", "noise"), [(0.3, 0.1, 0.5), (0.0, 0.05, 0.0), (0.8, 0.2, 1.0)])
def test_one_student_on_the_sphere_of_the_paper(m, gamma, noise) -> None:
    """arnaboldi2023, (55): Var M is right as printed, Cov and Var Q after gamma -> 2 gamma (docs/ERRATA.md A11)."""
    problem = (
        sv.problems.convention("arnaboldi2023")
        .problem(p=1, d=1000, gamma=gamma, Delta=noise)
        .replace(student__norm="free")
    )
    state = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[m]])
    found = sv.dynamics.step_covariance(problem, state) / gamma**2
    assert found[0, 0] == pytest.approx(48 + 4 * noise + (144 + 8 * noise) * m**2 - 192 * m**4, rel=1e-12)
    if m == 0.3:
        assert found[0, 1] == pytest.approx(61.13, abs=0.01)
        assert found[1, 1] == pytest.approx(299.01, abs=0.01)


@pytest.mark.statistical
def test_covariance_on_the_sphere() -> None:
    """One step of sampled fields, with students scaled back to norm one, at a dim so large that the scaling is linear."""
    problem = problem_of(2, 1, student__norm="sphere", student__readout="mean", teacher__overlap="orthonormal")
    state = sv.start(problem, student_overlap=[[1, 0.3], [0.3, 1]], cross_overlap=[[0.4], [-0.2]])
    free = problem.replace(student__norm="free")
    random, dim = np.random.default_rng(seed(0)), 1e9
    sums = []
    for _ in range(20):
        z = random.standard_normal((20_000, 3)) @ np.linalg.cholesky(sv.dynamics.field_covariance(problem, state)).T
        X = increments(free, state, z, random.standard_normal(len(z))) / dim
        Q = np.stack([1 + X[:, 2], 0.3 + X[:, 3], 1 + X[:, 4]], axis=1)
        root = np.sqrt(Q[:, [0, 2]])
        moved = np.stack(
            [(0.4 + X[:, 0]) / root[:, 0], (-0.2 + X[:, 1]) / root[:, 1], Q[:, 1] / root.prod(axis=1)], axis=1
        )
        sums.append(dim**2 * np.cov(moved.T))
    error = np.std(sums, axis=0, ddof=1) / np.sqrt(20)
    exact = sv.dynamics.step_covariance(problem, state)
    assert np.abs(exact[[2, 4]]).max() < 1e-12  # norms do not scatter
    assert (np.abs(np.mean(sums, axis=0) - exact[np.ix_([0, 1, 3], [0, 1, 3])]) / error).max() < 6


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"student__activation": "erf"}, "student.activation: is 'erf'"),
        ({"training__batch": 2}, "training.batch: is 2"),
        ({"student__width": 45, "student__readout": "mean"}, "more than 40 units"),
        ({"training__learning_rate": sv.Schedule(times=(0, 1), rates=(0.1, 0.2))}, "is a schedule"),
    ],
)
def test_what_has_no_closed_form(changes, message) -> None:
    problem = problem_of(2, 1, **changes)
    with pytest.raises(ValueError, match=message):
        sv.dynamics.step_covariance(problem, sv.start(problem.replace(inputs__dim=200), seed=0))
