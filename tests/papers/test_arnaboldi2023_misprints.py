"""Formulas of arnaboldi2023 as printed, beside what gradients, exact averages and definitions say."""

import numpy as np
import pytest

import solvable as sv


def problem_of(p, gamma=0.3, Delta=0.0, **changes):
    return (
        sv.problems.convention("arnaboldi2023")
        .problem(p=p, gamma=gamma, Delta=Delta, d=40, sphere=False)
        .replace(**changes)
    )


def sample(p, d, seed=0):
    """Weights, teacher, an input and the error label minus output."""
    random = np.random.default_rng(seed)
    w, w_star, x = random.standard_normal((p, d)), random.standard_normal(d), random.standard_normal(d) / np.sqrt(d)
    return w, w_star, x, (w_star @ x) ** 2 - np.mean((w @ x) ** 2)


def differences(loss, at, step=1e-6):
    """Central differences of a function of an array."""
    units = step * np.eye(at.size).reshape(at.size, *at.shape)
    return np.array([(loss(at + unit) - loss(at - unit)) / (2 * step) for unit in units]).reshape(at.shape)


def test_the_error_is_label_minus_output() -> None:
    """A1: with (16) as printed, output minus label, the increments (12) to (15) have the wrong sign: a step down the gradient."""
    d, p, gamma = 40, 3, 0.3
    w, w_star, x, error = sample(p, d)
    steps = differences(lambda w: 0.5 * ((w_star @ x) ** 2 - np.mean((w @ x) ** 2)) ** 2, w)
    moved = -gamma * steps @ w_star / d  # what one step adds to m
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
    S = sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem).noise  # of F = (2/p) e lambda
    assert S * p**2 == pytest.approx(4 * bracket, rel=1e-12)
    assert np.abs(S * p**2 - 16 * bracket).max() > 1


def test_the_risk_of_a_teacher_of_any_norm() -> None:
    """A5: (27) begins with (3 rho^2 + Delta)/2, not (3 + Delta)/2."""
    problem = problem_of(1, teacher__overlap=[[1.7]])
    state = sv.start(problem, student_overlap=[[0.8]], cross_overlap=[[0.4]])
    risk = sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem).risk
    rho, q, m = 1.7, 0.8, 0.4
    rest = (3 * q**2 - 4 * m**2 - 2 * rho * q) / 2
    assert risk == pytest.approx(3 * rho**2 / 2 + rest, rel=1e-12)
    assert abs(risk - (3 / 2 + rest)) > 2


def test_the_rate_of_the_second_layer() -> None:
    """A6: the update (25) of the readouts has the rate gamma/d times the gradient (24), not gamma/p as the sentence before it."""
    d, p, gamma, a = 40, 3, 0.3, np.array([0.7, 1.0, 1.4])
    w, w_star, x, _ = sample(p, d)
    error = np.mean(a * (w @ x) ** 2) - (w_star @ x) ** 2  # that of (22)
    slope = differences(lambda a: 0.5 * (np.mean(a * (w @ x) ** 2) - (w_star @ x) ** 2) ** 2, a)
    assert slope == pytest.approx(error * (w @ x) ** 2 / p, rel=1e-6)
    update = gamma / (p * d) * error * (w @ x) ** 2
    assert update == pytest.approx(gamma / d * slope, rel=1e-6)
    assert np.abs(update - gamma / p * slope).max() > 5 * np.abs(update).max()


def test_the_annealed_time_inline() -> None:
    """A8: of the two prints of the annealed exit time that in section 3 lacks the division of the whole by 2 p."""
    p, d, T, gamma = 3, 3000, 0.1, 1e-9
    problem = sv.problems.convention("arnaboldi2023").problem(p=p, gamma=gamma, d=d)
    found = sv.theory.annealed_escape_time(problem, T).value * gamma / p
    inline = np.log(T * (p + 1) * d + (p + 1) * (1 - T) / (2 * p)) / 8
    right = np.log((T * (p + 1) * d + (p + 1) * (1 - T)) / (2 * p)) / 8
    assert found == pytest.approx(right, rel=1e-6)
    assert inline / right > 1.3


def test_the_excess_risk_at_the_start() -> None:
    """A9: with mu_0 = d sum m^2 and tau_0 = d sum Q_jl^2, (44) must divide by d, as (42) has it."""
    p, d = 4, 300
    problem = sv.problems.convention("arnaboldi2023").problem(p=p, gamma=0.1, d=d)
    state = sv.start(problem, seed=2)
    mu, tau = d * np.sum(state.cross_overlap**2), d * (np.sum(state.student_overlap**2) - p)
    risk = sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem).risk
    assert risk == pytest.approx(1 + 1 / p + tau / (d * p**2) - 2 * mu / (d * p), rel=1e-12)
    assert abs(risk - (1 + 1 / p + d * tau / p**2 - 2 * d * mu / p)) > 1


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_one_step_on_the_sphere(seed) -> None:
    """A10: the last line of (29) and the square of the gradient before it, against a projected step in very many dimensions: the
    display that follows, with 2, 4 and 4 E^2, is right."""
    d, p, gamma = 400_000, 2, 0.3
    w, w_star, x, _ = sample(p, d, seed)
    w, w_star = (np.sqrt(d) * one / np.linalg.norm(one, axis=-1, keepdims=True) for one in (w, w_star))
    w += 0.5 * w_star
    w *= np.sqrt(d) / np.linalg.norm(w, axis=1, keepdims=True)
    z, z_star = w @ x, w_star @ x
    error = z_star**2 - np.mean(z**2)
    slope = -2 / p * error * z[:, None] * x
    moved = w - gamma * slope
    moved *= np.sqrt(d) / np.linalg.norm(moved, axis=1, keepdims=True)
    m, change = w @ w_star / d, (moved - w) @ w_star
    g = gamma / p
    right = 2 * g * z_star * error * z - m / 2 * (4 * g * error * z**2 + 4 * g**2 * error**2 * z**2)
    printed = g * z_star * error * z - m / 2 * (2 * g * error * z**2 + g**2 * error * z**2)
    assert change == pytest.approx(right, abs=0.02 * np.abs(right).max())
    assert np.abs(change - printed).max() > 0.2 * np.abs(right).max()
    assert np.sum(slope**2, axis=1) == pytest.approx(4 * error**2 * z**2 / p**2, rel=0.02)
    assert (np.abs(np.sum(slope**2, axis=1) - 2 * error**2 * z / p**2) > 0.1 * np.sum(slope**2, axis=1)).all()


def printed_scatter(m, gamma, noise):
    """(55): Cov[M, Q] and Var[Q] as printed."""
    g, D = gamma, noise
    cross = (
        72 * g * D * (m**3 - m) - 1440 * g * m**5 + 2880 * g * m**3 - 1440 * g * m + 24 * D * m - 480 * m**3 + 480 * m
    )
    own = (
        576 * g**2 * D * m**4 - 2496 * g**2 * D * m**2 - 11520 * g**2 * m**6 + 54144 * g**2 * m**4 - 73728 * g**2 * m**2
    )
    own += 544 * g * D * m**2 - 11136 * g * m**4 + 22272 * g * m**2 + 320 * m**4 - 1600 * m**2 + 32 * g**2 * D**2
    own += 1920 * g**2 * D + 31104 * g**2 - 544 * g * D - 11136 * g + 48 * D + 1280
    return cross, own


@pytest.mark.parametrize(("m", "gamma", "noise"), [(0.3, 0.1, 0.5), (0.0, 0.05, 0.0), (0.8, 0.2, 1.0)])
def test_the_scatter_of_one_step_has_twice_the_rate(m, gamma, noise) -> None:
    """A11: Cov and Var Q of (55) are those of the rate 2 gamma; Var M is right. And A12: the square of dq has sigma_Q, not
    sigma_m, which differ."""
    problem = problem_of(1, gamma, noise)
    state = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[m]])
    found = sv.dynamics.step_covariance(problem, state) / gamma**2
    assert found[0, 0] == pytest.approx(8 * noise * m**2 - 192 * m**4 + 144 * m**2 + 4 * noise + 48, rel=1e-12)
    cross, own = printed_scatter(m, 2 * gamma, noise)
    assert found[0, 1] == pytest.approx(cross, rel=1e-12, abs=1e-12)
    assert found[1, 1] == pytest.approx(own, rel=1e-11)
    cross, own = printed_scatter(m, gamma, noise)
    assert abs(own / found[1, 1] - 1) > 0.2
    assert m == 0 or abs(cross / found[0, 1] - 1) > 0.2
    assert abs(found[1, 1] / found[0, 0] - 1) > 0.2


def grid(n=5, dim=3):
    """Nodes and weights that average polynomials of degree 2 n - 1 in `dim` Gaussian numbers exactly."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    x = np.stack(np.meshgrid(*[nodes] * dim, indexing="ij")).reshape(dim, -1).T
    chance = np.prod(np.stack(np.meshgrid(*[weights / weights.sum()] * dim, indexing="ij")).reshape(dim, -1), axis=0)
    return x, chance


def euclidean(seed=0):
    """Inputs of variance one and vectors of norms of order one, as appendix H needs; averages (1, x, x x^T) of a function of x."""
    random = np.random.default_rng(seed)
    w, w_star = 2 * random.standard_normal((2, 3))
    x, chance = grid()

    def mean(values):
        return np.tensordot(chance, values, 1)

    return w, w_star, x, x @ w, x @ w_star, mean


def test_the_euclidean_landscape() -> None:
    """A13, A14, A15: (63) to (67) of appendix H by exact averages over inputs, with teachers of any norm. (65) is
    right as printed; the risk has half of the print beside Delta/2; the second moments have twice the rank-one parts."""
    w, w_star, x, z, z_star, mean = euclidean()
    rho, m, q, one = w_star @ w_star, w @ w_star, w @ w, np.eye(3)
    printed = 3 * rho**2 + 3 * q**2 - 4 * m**2 - 2 * rho * q
    risk = mean((z_star**2 - z**2) ** 2) / 2
    assert risk == pytest.approx(printed / 2, rel=1e-12)
    assert abs(risk - printed) > 0.9 * risk
    assert mean(z_star[:, None] ** 2 * z[:, None] * x) == pytest.approx(rho * w + 2 * m * w_star, rel=1e-12)
    assert mean(z[:, None] ** 3 * x) == pytest.approx(3 * q * w, rel=1e-12)
    assert np.abs(mean(z_star[:, None] ** 3 * x) - 3 * q * w).max() > 1  # as (64) has it
    outer = x[:, :, None] * x[:, None, :]
    for field, vector, size in [(z, w, q), (z_star, w_star, rho)]:
        second = mean(field[:, None, None] ** 2 * outer)
        assert second == pytest.approx(size * one + 2 * np.outer(vector, vector), rel=1e-12, abs=1e-12)
        assert np.abs(second - (size * one + np.outer(vector, vector))).max() > 0.1
    slope = -2 * mean(((z_star**2 - z**2) * z)[:, None] * x)
    assert slope == pytest.approx(-2 * ((rho - 3 * q) * w + 2 * m * w_star), rel=1e-12)
    curvature = 2 * mean((3 * z**2 - z_star**2)[:, None, None] * outer)
    ranks = np.outer(w, w), np.outer(w_star, w_star)
    assert curvature == pytest.approx(2 * ((3 * q - rho) * one + 6 * ranks[0] - 2 * ranks[1]), rel=1e-12, abs=1e-12)
    assert np.abs(curvature - 2 * ((3 * q - rho) * one + 3 * ranks[0] - ranks[1])).max() > 1


def test_the_hessian_of_one_loss_has_minus_the_noise() -> None:
    """A15: (61) is 2 (3 lambda^2 - lambda*^2 - sqrt(Delta) z) x x^T, by differences of the gradient (60)."""
    random = np.random.default_rng(3)
    w, w_star, x = random.standard_normal((3, 3))
    noise = 0.8  # sqrt(Delta) z

    def loss(w):
        return 0.5 * ((w_star @ x) ** 2 + noise - (w @ x) ** 2) ** 2

    slope = -2 * ((w_star @ x) ** 2 + noise - (w @ x) ** 2) * (w @ x) * x  # (60) with (58)
    assert differences(loss, w) == pytest.approx(slope, rel=1e-6)
    h = 1e-4
    twice = (differences(loss, w + h * x) - differences(loss, w - h * x)) / (2 * h)
    written = [2 * (3 * (w @ x) ** 2 - (w_star @ x) ** 2 + sign * noise) * x * (x @ x) for sign in (-1, 1)]
    assert twice == pytest.approx(written[0], rel=1e-4)
    assert np.abs(twice - written[1]).max() > 1


def test_the_hessian_on_the_sphere_has_a_factor_of_two() -> None:
    """A17: the mean of (79), as printed, is half of (83) along tangent vectors; (83) itself is right there."""
    w, w_star, x, _, _, mean = euclidean(1)
    w, w_star = w / np.linalg.norm(w), w_star / np.linalg.norm(w_star)
    z, z_star, m = x @ w, x @ w_star, w @ w_star
    tangents = np.linalg.svd(w[None])[2][1:]
    outer, bent = x[:, :, None] * x[:, None, :], w[:, None] * x[:, None, :] * z[:, None, None]
    error = z_star**2 - z**2
    printed = mean((3 * z**2 - z_star**2)[:, None, None] * (outer - bent) + (error * z**2)[:, None, None] * np.eye(3))
    stated = 4 * (m**2 * np.eye(3) + m * np.outer(w, w_star) - np.outer(w_star, w_star))
    along = tangents @ stated @ tangents.T
    problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.1, d=3)
    weights = sv.overlaps.Weights(np.sqrt(3) * w[None], np.sqrt(3) * w_star[None])
    assert tangents @ sv.landscape.sphere_hessian(problem, weights) @ tangents.T == pytest.approx(along, rel=1e-12)
    assert tangents @ printed @ tangents.T == pytest.approx(along / 2, rel=1e-12)
