"""Formulas of arnaboldi2023 as printed, beside what gradients, exact averages and definitions say."""

import numpy as np
import pytest

import solvable as sv


def problem_of(p, gamma=0.3, Delta=0.0, **changes):
    return sv.convention("arnaboldi2023").problem(p=p, gamma=gamma, Delta=Delta, d=40, sphere=False).replace(**changes)


def test_the_error_is_label_minus_output() -> None:
    """A1: with (16) as printed, output minus label, the increments (12) to (15) have the wrong sign: a step down the gradient."""
    random, d, p, gamma = np.random.default_rng(0), 40, 3, 0.3
    w, w_star, x = random.standard_normal((p, d)), random.standard_normal(d), random.standard_normal(d) / np.sqrt(d)

    def loss(w):
        return 0.5 * ((w_star @ x) ** 2 - np.mean((w @ x) ** 2)) ** 2

    units = 1e-6 * np.eye(p * d).reshape(p, d, p, d)
    steps = np.array([[(loss(w + unit) - loss(w - unit)) / 2e-6 for unit in row] for row in units])
    moved = -gamma * steps @ w_star / d  # what one step adds to m
    error = (w_star @ x) ** 2 - np.mean((w @ x) ** 2)
    right = gamma / (p * d) * 2 * error * (w @ x) * (w_star @ x)
    assert moved == pytest.approx(right, rel=1e-5)
    assert np.sign(moved).tolist() != np.sign(-right).tolist()


@pytest.mark.parametrize("p", [2, 3])
def test_the_noise_of_the_student_overlaps_has_a_factor_of_four(p) -> None:
    """A3: C.2 has 16 gamma/p before the bracket, (26b) rightly 4 gamma/p: S of the engine, <F F^T>, at readouts 1/p."""
    problem = problem_of(p)
    state = sv.start(problem, seed=1)
    m, Q, rho = state.cross_overlap, state.student_overlap, 1.0
    tau = rho - np.trace(Q) / p
    K, K2 = m @ m.T - Q @ Q / p, rho * m @ m.T - (m @ m.T @ Q + Q @ m @ m.T) / p + Q @ Q @ Q / p**2
    mean_square = tau**2 + 2 * (rho**2 - 2 * (m.T @ m)[0, 0] / p + np.trace(Q @ Q) / p**2)
    bracket = mean_square * Q + 4 * tau * K + 8 * K2
    S = sv.moments(sv.field_covariance(problem, state), problem).noise
    assert S * p**2 / 4 == pytest.approx(
        bracket, rel=1e-12
    )  # dQ/dt = ... + (4 gamma/p) bracket, with F = (2/p) e lambda


def test_the_risk_of_a_teacher_of_any_norm() -> None:
    """A5: (27) begins with (3 rho^2 + Delta)/2, not (3 + Delta)/2."""
    problem = problem_of(1, teacher__overlap=[[1.7]])
    state = sv.start(problem, student_overlap=[[0.8]], cross_overlap=[[0.4]])
    risk = sv.moments(sv.field_covariance(problem, state), problem).risk
    rho, q, m = 1.7, 0.8, 0.4
    assert risk == pytest.approx((3 * rho**2 + 3 * q**2 - 4 * m**2 - 2 * rho * q) / 2, rel=1e-12)


def test_the_annealed_time_inline() -> None:
    """A8: of the two prints of the annealed exit time that in section 3 lacks the division of the whole by 2 p."""
    p, d, T, gamma = 3, 3000, 0.1, 1e-9
    problem = sv.convention("arnaboldi2023").problem(p=p, gamma=gamma, d=d)
    found = sv.theory.annealed_escape_time(problem, T).value * gamma / p
    inline = np.log(T * (p + 1) * d + (p + 1) * (1 - T) / (2 * p)) / 8
    right = np.log((T * (p + 1) * d + (p + 1) * (1 - T)) / (2 * p)) / 8
    assert found == pytest.approx(right, rel=1e-6)
    assert inline / right > 1.3


def test_the_excess_risk_at_the_start() -> None:
    """A9: with mu_0 = d sum m^2 and tau_0 = d sum Q_jl^2, (44) must divide by d: 1 + 1/p + tau_0/(d p^2) - 2 mu_0/(d p)."""
    p, d = 4, 300
    problem = sv.convention("arnaboldi2023").problem(p=p, gamma=0.1, d=d)
    state = sv.start(problem, seed=2)
    mu, tau = d * np.sum(state.cross_overlap**2), d * (np.sum(state.student_overlap**2) - p)
    risk = sv.moments(sv.field_covariance(problem, state), problem).risk
    assert risk == pytest.approx(1 + 1 / p + tau / (d * p**2) - 2 * mu / (d * p), rel=1e-12)
    assert abs(risk - (1 + 1 / p + d * tau / p**2 - 2 * d * mu / p)) > 1
