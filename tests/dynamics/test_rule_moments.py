"""Moments of losses and rules: against dense quadrature in NumPy, sampling, and limits that have formulas."""

import math
from itertools import pairwise

import numpy as np
import pytest

import solvable as sv
from reference.case_sgd import UNITS
from reference.rules import RULES
from seeds import seed
from solvable.dynamics.exactness import is_closed, is_exact, rule_for
from solvable.dynamics.functions import is_on_a_line
from solvable.gaussian.closed_forms import KINDS
from solvable.gaussian.losses import LOSSES

EXACT = ("huber", "absolute", "repeats", "lookahead", "logistic", "hinge", "perceptron")  # of linear units
COVARIANCE = np.array([[0.9, 0.2, 0.4, 0.1], [0.2, 0.7, -0.1, 0.3], [0.4, -0.1, 1.1, 0.2], [0.1, 0.3, 0.2, 0.8]])


def problem_of(unit="erf", *, target="additive", students=2, **training):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation=unit, target=target, readout=(1.2, -0.7)),
        student=sv.Student(width=students, activation=unit, readout=(0.8, 0.5)[:students]),
        training=sv.Training(learning_rate=0.9, loss_factor=0.5, **training),
    )


def amplitudes(problem, spelled, z, y):
    """F of every sample and what pushes the readouts, by their definition; |x|^2/dim is one."""
    (g, slope), a, setting = UNITS[problem.student.activation], problem.student.readout_values, spelled.setting

    def gradient(z):
        output = g(z) @ a
        push = 0.5 * setting.get("push", lambda y, o: 2 * (y - o))(y, output)[:, None]
        return setting.get("rule", lambda F, *_: F)(a * slope(z) * push, z, y, output, 1.0), g(z) * push

    F, V = gradient(z)
    if problem.training.lookahead:
        return gradient(z + problem.training.lookahead * F)
    total = [F, V]
    for _ in range(1, problem.training.repeats):
        z = z + 1.0 * F  # `moments` has rate one
        F, V = gradient(z)
        total = [total[0] + F, total[1] + V]
    return total


@pytest.mark.statistical
@pytest.mark.parametrize("name", list(RULES))
@pytest.mark.parametrize("unit", ["linear", "erf"])
def test_moments_equal_sampling(name, unit):
    """Within 5.5 standard errors of 200 000 samples, and 2 % of the largest moment where there are nodes."""
    spelled, size = RULES[name], 200_000
    problem = problem_of(unit, target="sign" if spelled.signs else "additive", **spelled.training)
    random = np.random.default_rng(seed(1))
    z = random.standard_normal((size, 4)) @ np.linalg.cholesky(COVARIANCE).T
    F, V = amplitudes(problem, spelled, z[:, :2], problem.teacher.labels(z[:, 2:]))
    found = sv.dynamics.moments(COVARIANCE, problem, nodes=2**14)
    exact = is_exact(problem, 2**14, noise=True)
    assert exact == (name == "correlation" or (unit == "linear" and name in EXACT))
    for value, draws in [
        (found.drift @ COVARIANCE, F[:, :, None] * z[:, None, :]),
        (found.noise, F[:, :, None] * F[:, None, :]),
        (found.readout_drift, V),
    ]:
        error = draws.std(axis=0) / np.sqrt(size)
        slack = 0.0 if exact else 0.02 * np.abs(value).max()
        assert (np.abs(value - draws.mean(axis=0)) < 5.5 * error + slack + 1e-12).all()


@pytest.mark.parametrize("loss", [name for name in LOSSES if name not in ("squared", "log-cosh", "correlation")])
@pytest.mark.parametrize("scale", [0.01, 1.0, 400.0])
def test_linear_students_and_signs_of_a_linear_teacher(loss, scale):
    """On panels, at output deviations from 0.08 to 20: against ten thousand panels of NumPy, to 1e-9."""
    problem = problem_of("linear", target="sign", students=2, loss=loss)
    C = COVARIANCE.copy()
    C[:2] *= math.sqrt(scale)
    C[:, :2] *= math.sqrt(scale)
    assert is_on_a_line(problem)
    found = sv.dynamics.moments(C, problem)
    one, a, b = LOSSES[loss], np.array([0.8, 0.5, 0, 0]), np.array([0, 0, 1.2, -0.7])
    v, joint, variance = a @ C @ a, a @ C @ b, b @ C @ b
    x, w = panels(np.sqrt(v))
    spread = np.sqrt(variance - joint**2 / v)
    chance = 0.5 * (1 + np.vectorize(math.erf)(joint / v * x / spread / np.sqrt(2)))
    up, down = (0.5 * (sign * one.push(sign * x) if one.of == "margin" else one.push(sign - x)) for sign in (1.0, -1.0))
    mean, square = chance * up + (1 - chance) * down, chance * up**2 + (1 - chance) * down**2
    assert np.allclose(found.noise, np.outer(a, a)[:2, :2] * (w @ square), rtol=1e-9)
    # <F z_i> = C_i. D: the field of the output, and that of the label, whose mean given x and its sign is known
    inverse = np.exp(-0.5 * (joint / v * x / spread) ** 2) / np.sqrt(2 * np.pi) * spread
    along = {"x": w @ (mean * x), "u": w @ (joint / v * x * mean + inverse * (up - down))}
    for weights, name in [(a, "x"), (b, "u")]:
        assert np.allclose((found.drift @ C @ weights), a[:2] * along[name], rtol=1e-8, atol=1e-12)


def panels(deviation):
    """Points and weights of a normal variable, on panels that end at -2, -1, 0, 1, 2 (all kinks) and at 10 deviations."""
    ends = np.array([-10 * deviation, -2, -1, 0, 1, 2, 10 * deviation])
    ends = np.unique(np.clip(ends, -10 * deviation, 10 * deviation))
    edges = np.concatenate([np.linspace(low, high, 4000)[:-1] for low, high in pairwise(ends)])
    edges = np.append(edges, ends[-1])
    x, w = np.polynomial.legendre.leggauss(8)
    middle, half = (edges[1:] + edges[:-1]) / 2, np.diff(edges) / 2
    points, weights = (middle[:, None] + half[:, None] * x).ravel(), (half[:, None] * w).ravel()
    return points, weights * np.exp(-0.5 * (points / deviation) ** 2) / (np.sqrt(2 * np.pi) * deviation)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("student", "teacher"), [("linear", "linear"), ("linear", "tanh"), ("erf", "erf"), ("erf", "tanh")]
)
def test_the_risk_about_signs_is_closed(student, teacher):
    """It does not change with the nodes, and is that of 400 000 samples within 5.5 standard errors."""
    problem = problem_of(student, target="sign", loss="logistic").replace(
        teacher={"width": 1, "activation": teacher, "target": "sign", "readout": (-0.7,)}
    )
    C = COVARIANCE[:3, :3]
    few, many = (sv.dynamics.moments(C, problem, nodes=nodes) for nodes in (2**8, 2**13))
    z = np.random.default_rng(seed(5)).standard_normal((400_000, 3)) @ np.linalg.cholesky(C).T
    errors = (
        0.5 * (problem.teacher.labels(z[:, 2:]) - problem.student.unit.function(z[:, :2]) @ np.array([0.8, 0.5])) ** 2
    )
    assert few.risk == many.risk
    assert abs(few.risk - errors.mean()) < 5.5 * errors.std() / np.sqrt(len(errors))
    assert is_exact(problem, 2**8, noise=True) == (student == "linear")


def test_absolute_loss_of_linear_units_has_the_closed_form():
    """D_kj = 2c a_k s_j sqrt(2/pi)/sigma_e, S = 4 c^2 a a^T."""
    problem = problem_of("linear", loss="absolute", label_noise=0.3)
    s, a = np.array([-0.8, -0.5, 1.2, -0.7]), np.array([0.8, 0.5])
    sigma = np.sqrt(s @ COVARIANCE @ s + 0.3)
    found = sv.dynamics.moments(COVARIANCE, problem)
    assert np.allclose(found.drift, np.outer(a, s) * np.sqrt(2 / np.pi) / sigma, rtol=1e-12)
    assert np.allclose(found.noise, np.outer(a, a), rtol=1e-12)


def test_the_perceptron_has_its_classical_angle():
    """One student about the sign of one teacher, S = c^2 a^2 P(unequal signs), P = acos(rho)/pi; also nearly aligned."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", target="sign"),
        student=sv.Student(width=1, activation="linear"),
        training=sv.Training(learning_rate=1.0, loss="perceptron"),
    )
    for rho in (-0.9, 0.0, 0.3, 0.99, 1 - 1e-6, 1 - 1e-9):
        C = np.array([[0.5, rho * np.sqrt(0.5)], [rho * np.sqrt(0.5), 1.0]])
        found = sv.dynamics.moments(C, problem)
        chance = np.arctan2(np.sqrt(1 - rho**2), rho) / np.pi
        assert found.noise[0, 0] == pytest.approx(chance, rel=1e-6, abs=1e-9)
        assert found.drift[0, 1] == pytest.approx(1 / np.sqrt(2 * np.pi), rel=1e-6)  # whatever the angle
        assert found.drift[0, 0] == pytest.approx(-1 / np.sqrt(2 * np.pi * 0.5), rel=1e-5)


@pytest.mark.parametrize("unit", KINDS)
def test_correlation_loss_is_closed(unit):
    """Against tensor Gauss-Hermite rules over all fields."""
    problem = problem_of(unit, loss="correlation", label_noise=0.4)
    assert is_closed(problem)
    found = sv.dynamics.moments(COVARIANCE, problem)
    (g, slope), a, b = UNITS[unit], np.array([0.8, 0.5]), np.array([1.2, -0.7])

    def drift(z):
        return (a * slope(z[:, :2]) * (g(z[:, 2:]) @ b)[:, None])[:, :, None] * z[:, None, :]

    def noise(z):
        square = (g(z[:, 2:]) @ b) ** 2 + 0.4
        F = a * slope(z[:, :2])
        return F[:, :, None] * F[:, None, :] * square[:, None, None]

    nodes = 24 if unit == "erf" else 8
    tolerance = 1e-6 if unit == "erf" else 1e-12
    assert np.allclose(found.drift @ COVARIANCE, sv.gaussian.expect(drift, COVARIANCE, nodes), atol=tolerance)
    assert np.allclose(found.noise, sv.gaussian.expect(noise, COVARIANCE, nodes), atol=tolerance)


@pytest.mark.parametrize("unit", ["tanh", "relu"])
def test_correlation_loss_of_other_units_needs_nodes_for_the_noise_alone(unit):
    """Drift, readout drift and risk are averages over two fields: they do not change with the nodes, and equal dense quadrature."""
    problem = problem_of(unit, loss="correlation", label_noise=0.4)
    few, many = (sv.dynamics.moments(COVARIANCE, problem, nodes=nodes) for nodes in (2**8, 2**13))
    for name in ("drift", "readout_drift", "risk"):
        assert np.allclose(getattr(few, name), getattr(many, name), rtol=1e-12)
    assert not np.allclose(few.noise, many.noise, rtol=1e-6)
    assert np.allclose(few.noise, many.noise, rtol=0.2)
    z = np.random.default_rng(0).standard_normal((400_000, 4)) @ np.linalg.cholesky(COVARIANCE).T
    (g, slope), a, b = UNITS[unit], np.array([0.8, 0.5]), np.array([1.2, -0.7])
    draws = (a * slope(z[:, :2]) * (g(z[:, 2:]) @ b)[:, None])[:, :, None] * z[:, None, :]
    error = draws.std(axis=0) / np.sqrt(len(z))
    assert (np.abs(draws.mean(axis=0) - many.drift @ COVARIANCE) < 5.5 * error).all()


def test_polynomials_seen_again_are_exact():
    problem = problem_of("quadratic", lookahead=0.2)
    assert rule_for(problem, 2**13, 0).exact
    assert not rule_for(problem_of("quadratic", repeats=4), 2**13, 0).exact
    assert rule_for(problem_of("linear", repeats=4, label_noise=0.1), 2**13, 0).exact


def test_the_identity_as_a_rule_is_sgd():
    def nothing(F, fields, label, output, size):
        pass

    ruled, plain = problem_of("erf", rule=sv.Rule("nothing", nothing)), problem_of("erf")
    found, exact = (sv.dynamics.moments(COVARIANCE, one, nodes=2**15) for one in (ruled, plain))
    assert np.allclose(found.drift, exact.drift, atol=2e-3)
    assert np.allclose(found.noise, exact.noise, atol=2e-3)
    assert found.risk == pytest.approx(exact.risk, rel=1e-12)
