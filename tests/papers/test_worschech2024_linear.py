"""worschech2024, sections 3 and 4, appendices A and B: printed formulas against the block equations, weights and samples."""

import numpy as np
import pytest
from scipy.linalg import expm

import solvable as sv
from seeds import seed
from solvable.papers.worschech2024.settings import linear, train_some, trained_alone

PAPER = sv.problems.convention("worschech2024")
L, ETA = 4, 0.9


class Hierarchy:
    """The paper's matrices at K = M = 1, for a typical teacher."""

    def __init__(self, L: int, beta: float = 1.0):
        k = np.arange(1.0, L + 1) ** -(1 + beta)
        self.values = L * k / k.sum()
        self.c = np.poly(self.values)[::-1]  # c_0 .. c_L
        self.A1 = np.diag(np.full(L - 1, -1.0), 1)
        self.A1[-1] = self.c[:L]
        self.moments = np.array([(self.values**order).mean() for order in range(2 * L + 2)])
        self.T, self.u = self.moments[:L], self.moments[1 : L + 1]
        self.U = np.outer(self.u, np.eye(L)[1])


@pytest.fixture
def orders() -> Hierarchy:
    return Hierarchy(L)


def test_fields_of_higher_order() -> None:
    """Section 3: x^(l) = xi Sigma^l J / sqrt(N) has covariance Q^(2l + 1), not Q^(l); with x^(0) it is Q^(l + 1), in (21) Q^(1)."""
    random = np.random.default_rng(0)
    values, J = np.array([3.0, 2.0, 0.5, 0.1]), random.standard_normal((2, 4))
    covariance = np.diag(values)

    def order(power: int) -> np.ndarray:
        return J @ np.linalg.matrix_power(covariance, power) @ J.T / 4

    for power in (1, 2):
        fields = np.linalg.matrix_power(covariance, power) @ J.T / 2  # x^(l) = xi . fields
        assert np.allclose(fields.T @ covariance @ fields, order(2 * power + 1))
        assert np.allclose(J / 2 @ covariance @ fields, order(power + 1))
        assert not np.allclose(fields.T @ covariance @ fields, order(power), rtol=0.1)
        assert not np.allclose(J / 2 @ covariance @ fields, order(1), rtol=0.1)


def test_readouts_in_the_loss_and_in_the_noise() -> None:
    """(19) needs 1/M, M/K^2, 2/K, and the order rate^2 of (18) (M/K)^2, 1, 2M/K in place of M/K^2, 1, 2/K (linear units)."""
    K, M, eta = 2, 3, 0.8
    problem = PAPER.problem(K=K, M=M, eta=eta, beta=1.0, L=4, N=400, activation="linear")
    start = sv.start(problem, seed=1)
    values, shares = problem.inputs.eigenvalues, problem.inputs.fractions
    Q, R, T = (
        np.einsum("b,bij->ij", values, block).sum()
        for block in (start.block_student_overlap, start.block_cross_overlap, start.block_teacher_overlap)
    )
    begin = sv.run(problem, start, sv.Macro(), times=[0.0]).risk[0, 0]
    assert np.isclose(begin, 0.5 * (T / M + M / K**2 * Q - 2 / K * R))
    assert abs(0.5 * (T + Q - 2 * R) / begin - 1) > 0.5
    h = 1e-5
    noisy, smooth = (
        sv.run(problem, start, sv.Macro(rtol=1e-12, atol=1e-14, small_rate=small), times=[0.0, h], keep_blocks=True)
        for small in (False, True)
    )
    noise = (noisy.student_overlap[0, -1] - smooth.student_overlap[0, -1])[0, 0] / h
    scale = eta**2 / K**2 * float(shares @ values)
    assert np.isclose(noise, scale * (T + (M / K) ** 2 * Q - 2 * M / K * R), rtol=1e-3)
    assert abs(noise / (scale * (T + M / K**2 * Q - 2 / K * R)) - 1) > 0.2


def test_widths_matter_for_linear_units() -> None:
    """B.1: with K = 4, M = 2 the same rate is half as large, and so is the students' variance; rescaled, K = M = 1 is the same."""
    times, scale = np.array([1.0, 10.0, 50.0]), 0.7
    wide = PAPER.problem(K=4, M=2, eta=0.4, beta=1.0, L=16, activation="linear")
    begin = sv.start(wide, student_overlap=scale**2 * np.eye(4), cross_overlap=np.zeros((4, 2)))
    found = sv.theory.linear_risk(wide, begin, times).value

    def single(eta: float, variance: float) -> np.ndarray:
        problem = PAPER.problem(K=1, M=1, eta=eta, beta=1.0, L=16, activation="linear")
        start = sv.start(problem, student_overlap=[[variance]], cross_overlap=[[0.0]])
        return sv.theory.linear_risk(problem, start, times).value

    assert np.allclose(found, single(0.2, scale**2 / 2))
    assert (np.abs(single(0.4, scale**2) / found - 1) > [0.09, 0.25, 0.6]).all()


@pytest.mark.statistical
def test_noise_is_that_of_the_data() -> None:
    """(24) to (27) have T^(l + 1) of the teacher in the noise. With a teacher in the small eigenvalue alone it then shakes nothing
    else, and the loss is less than half of what SGD has."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", overlap="sampled"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(dim=400, spectrum=sv.Spectrum(eigenvalues=(1.9, 0.1))),
        training=sv.Training(learning_rate=1.2, loss_factor=0.5),
    )
    teacher = np.array([0.0, 1.0])[:, None, None]
    start = sv.start(
        problem, block_student_overlap=0 * teacher, block_cross_overlap=0 * teacher, block_teacher_overlap=teacher
    )
    found = sv.run(problem, start, sv.Micro(runs=100, seed=seed(4)), times=[5.0]).mean()
    assert abs(found.mean[0] - sv.theory.linear_mean_risk(problem, start, 5.0).value) < 5 * found.standard_error[0]
    values, eta = problem.inputs.eigenvalues, 1.2
    share = teacher[:, 0, 0]  # in place of the shares of the dimensions
    printed = expm(5.0 * (-2 * eta * np.diag(values) + eta**2 * np.outer(share * values, values))) @ share
    assert 0.5 * values @ printed < 0.6 * found.mean[0]


def test_sign_of_the_last_order(orders: Hierarchy) -> None:
    """(25) has +sum c_k (T - R) for T^(L) - R^(L), which is minus that; (27) and (31) have the sign right."""
    blocks = np.random.default_rng(0).standard_normal(L)
    R = np.array([(blocks * orders.values**order).sum() for order in range(L + 1)])
    assert np.isclose(R[L], -orders.c[:L] @ R[:L])
    assert np.allclose(orders.A1 @ R[:L], -R[1:])
    assert np.allclose(np.sort(np.linalg.eigvals(orders.A1).real), np.sort(-orders.values))


def test_eigenvectors_and_inverses(orders: Hierarchy) -> None:
    """(33), (35), (40); (44) but for its first entry, c_1/2c_0 - eta/(2(2 - eta)) where the print has no 2."""
    V = orders.values ** np.arange(L)[:, None]
    assert np.allclose(orders.A1 @ V, -orders.values * V)
    assert np.allclose(np.linalg.solve(V, orders.u), orders.values / L)
    c = orders.c
    inverse = np.diag(np.full(L - 1, -1.0), -1)
    inverse[0] = c[1:] / c[0]
    assert np.allclose(inverse @ orders.A1, np.eye(L))
    A4 = 2 * orders.A1 + ETA * orders.U
    exact, printed = np.linalg.inv(A4), c[1] / (2 * c[0]) - ETA / (2 - ETA)
    assert np.isclose(exact[0, 0], c[1] / (2 * c[0]) - ETA / (2 * (2 - ETA)))
    assert abs(printed - exact[0, 0]) > 0.3
    assert np.allclose(exact[0, 1:], c[2:] / (2 * c[0]))
    assert np.allclose(
        exact[1:, 0], ETA * np.append(1.0, orders.T[2:]) / (2 * (ETA - 2)) * np.append(2 / ETA, np.ones(L - 2))
    )


def exact_orders(orders: Hierarchy, alpha: float, variance: float) -> np.ndarray:
    """Q^(0..L-1) from the block equations, by their matrix exponential: state (r_b, q_b, 1), r and q per dimension."""
    values = orders.values
    D, zero, one = np.diag(values), np.zeros((L, L)), np.ones((L, 1))
    noise = ETA**2 * np.outer(values, values) / L
    matrix = np.block(
        [
            [-ETA * D, zero, ETA * D @ one],
            [2 * ETA * D - 2 * noise, -2 * ETA * D + noise, noise @ one],
            [np.zeros((1, 2 * L + 1))],
        ]
    )
    state = expm(alpha * matrix) @ np.concatenate([np.zeros(L), np.full(L, variance), [1.0]])
    return np.array([(state[L : 2 * L] * values**order).mean() for order in range(L)])


@pytest.mark.parametrize("alpha", [0.2, 1.0])
def test_solution_of_the_hierarchy(orders: Hierarchy, alpha: float) -> None:
    """(30), (36) to (38), (45) are right. On the way (39) to (41) have 2(eta - 1)u and (2 - eta)u for 2(1 - eta)u and
    eta(2 - eta)u, and (42) one exponential of matrices that do not commute."""
    A1, U, u, T = orders.A1, orders.U, orders.u, orders.T
    A3, A4 = -2 * A1 - 2 * ETA * U, 2 * A1 + ETA * U
    rest = np.linalg.solve(A1, u)
    R = expm(ETA * alpha * A1) @ rest - rest
    assert np.allclose(R[1], 1 - (orders.values * np.exp(-ETA * alpha * orders.values)).mean())
    variance = 0.3
    Q = T + expm(ETA * A4 * alpha) @ (variance * T) + (expm(ETA * A4 * alpha) - 2 * expm(ETA * A1 * alpha)) @ T
    assert np.allclose(Q, exact_orders(orders, alpha, variance))
    assert np.allclose(-A3 @ rest, 2 * (1 - ETA) * u)
    assert np.allclose(ETA * u - A3 @ rest, (2 - ETA) * u)
    assert np.allclose((2 - ETA) * np.linalg.solve(A4, u), -T)
    forward, back = expm(ETA * A4 * alpha), expm(-ETA * A4 * alpha)
    others = forward @ (variance * T) + (2 - ETA) * forward @ np.linalg.solve(A4, (np.eye(L) - back) @ u)
    both = back @ expm(ETA * A1 * alpha), expm((ETA * A1 - ETA * A4) * alpha)  # the right and the printed one
    right, printed = (others + 2 * forward @ (one - np.eye(L)) @ rest for one in both)
    assert np.allclose(right, Q)
    assert np.abs(printed - Q).max() > 0.01


def test_printed_sums_over_modes() -> None:
    """(6) and (56) at alpha = 0 are a fifth of the loss or less (L = 8, eta = 0.9); corrected they give it, then and later."""
    orders = Hierarchy(8)
    half = 0.5 * 1.3
    for factor, epsilon in [(1.0, ETA), (2.0, ETA)]:  # A_1 + eta U in (6), 2 A_1 + eta U in (56)
        values, vectors = np.linalg.eig(factor * orders.A1 + epsilon * orders.U)
        b = np.linalg.solve(vectors / vectors[0], orders.u if factor == 1 else orders.T)
        printed = 1.3 / 16 * float((b * values).sum().real)
        assert abs(printed / half) < 0.2
    assert np.isclose(b.sum().real, 1)
    assert np.isclose(0.5 * 1.3 * float((b * values).sum().real) / (ETA - 2), half)
    problem, start = linear(ETA, 1.0, 8, 0.3)
    alpha = 2.0
    right = half * float((b * values * np.exp(ETA * alpha * values)).sum().real) / (ETA - 2)
    assert np.isclose(right, sv.theory.linear_risk(problem, start, alpha).value)


def test_eigenvectors_at_any_rate(orders: Hierarchy) -> None:
    """B.2.1: the coefficients (54), (55) are right, the third entry of the eigenvectors lacks a factor lambda_B."""
    a, epsilon, c, T = 2.0, 0.7, orders.c, orders.moments
    values, vectors = np.linalg.eig(a * orders.A1 + epsilon * orders.U)
    vectors = vectors / vectors[0]
    assert np.allclose(vectors[1], values / (epsilon - a))
    printed = (epsilon * T[2] - values) / (a * (epsilon - a))
    assert np.allclose(vectors[2], values * printed)
    assert np.abs(printed / vectors[2] - 1).min() > 0.2
    shifted = [a * c[0]]
    for j in range(1, L):
        more = sum(c[L - one] * T[L + 1 - j - one] for one in range(L - j))
        shifted.append((-1) ** (j + 1) * (a * c[j] + epsilon * more) / (a ** (j - 1) * (epsilon - a)))
    shifted.append((-1) ** (L + 1) / (a ** (L - 2) * (epsilon - a)))
    assert np.allclose(np.polyval(shifted[::-1], values), 0, atol=1e-10)


def test_weights_descend_by_dim_times_the_slope() -> None:
    """(59): -eta Sigma (J - B) of (60) is -eta N times the slope of the loss, not -eta times."""
    values, gap = np.array([2.0, 1.0, 0.6, 0.4]), np.array([0.3, -1.0, 0.5, 2.0])

    def loss(gap: np.ndarray) -> float:
        return 0.5 * float(values @ gap**2) / 4

    slope = np.array([(loss(gap + 1e-6 * unit) - loss(gap - 1e-6 * unit)) / 2e-6 for unit in np.eye(4)])
    assert np.allclose(values * gap, 4 * slope)


def test_untrained_coordinates_begin_after_the_trained_ones() -> None:
    """(71), (72), (78) sum from N_l; with all trained nothing is left, so from N_l + 1 as in (10). The integral (74) is then above
    the sum, by less than the zeroth-order error that the paper gives."""
    problem, start = linear(0.05, 1.0, 256, 0.0, finite=True)
    values, top = problem.inputs.eigenvalues, float(problem.inputs.eigenvalues[0])
    assert np.isclose(sv.theory.feature_risk(problem, start, 256, np.inf, small_rate=True).value, 0)
    for n, ratio in [(10, 1.051), (50, 1.011)]:
        exact = sv.theory.feature_risk(problem, start, n, np.inf, small_rate=True).value
        assert np.isclose(exact, 0.5 * values[n:].sum() / 256)
        assert 0.5 * values[n - 1 :].sum() / 256 > 1.01 * exact
        integral = sv.theory.power_law_feature_risk(problem, start, n, np.inf, printed=True).value
        assert np.isclose(integral / exact, ratio, atol=2e-3)
        assert 0 < integral - exact < 0.25 * top / 256 * (n**-2.0 + 256**-2.0)


def test_orders_outside_the_eigenbasis() -> None:
    """(85) to (88) by averages over teacher and students that are done exactly, with sigma^2 = 0.3."""
    random = np.random.default_rng(5)
    basis, values, n, dim, variance = np.linalg.qr(random.standard_normal((8, 8)))[0], 2.0 ** -np.arange(8), 3, 8, 0.3
    S = (basis * values * 8 / values.sum()) @ basis.T
    inner, cross, outer = S[:n, :n], S[:n, n:], S[n:, n:]
    take = np.linalg.solve(inner, cross)
    J_of_B = np.block([[np.eye(n), take], [np.zeros((dim - n, dim))]])  # J = J_of_B B + J_of_J J_o
    J_of_J = np.vstack([-take, np.eye(dim - n)])
    R = np.trace(J_of_B.T @ S) / dim
    Q = (np.trace(J_of_B.T @ S @ J_of_B) + variance * np.trace(J_of_J.T @ S @ J_of_J)) / dim
    tail = np.trace(cross.T @ take)
    assert np.isclose(R, (np.trace(inner) + tail) / dim)
    assert np.isclose(
        Q, (np.trace(inner) + (1 + variance) * tail + variance * np.trace(outer) - 2 * variance * tail) / dim
    )
    printed = 0.5 * (1 - np.trace(inner) / dim + variance * np.trace(outer) / dim - (1 + variance) * tail / dim)
    assert np.isclose(0.5 * (Q - 2 * R + 1), printed)


@pytest.mark.statistical
@pytest.mark.parametrize("turned", [False, True])
def test_trained_coordinates_alone(turned: bool) -> None:
    """SGD of all weights, the others held, against the trained ones as a problem of their own: exact mean and reduced runs."""
    dim, n, eta, runs = 12, 5, 0.4, 600
    random = np.random.default_rng(seed(6))
    values = np.arange(1.0, dim + 1) ** -1.5
    values *= dim / values.sum()
    basis = np.linalg.qr(np.random.default_rng(7).standard_normal((dim, dim)))[0] if turned else np.eye(dim)
    first = random.standard_normal(dim)
    gaps = np.tile(first, (runs, 1))
    for _ in range(3 * dim):
        x = np.sqrt(values) * random.standard_normal((runs, dim)) @ basis.T
        gaps[:, :n] -= eta * ((gaps * x).sum(axis=1) / dim)[:, None] * x[:, :n]
    direct = 0.5 * ((gaps @ basis) ** 2 @ values) / dim
    alone = trained_alone(values, eta, n, first[None], basis if turned else None)
    exact = sv.theory.linear_mean_risk(alone.problem, alone.starts[0], 3 * dim / n).value + alone.rests[0]
    assert abs(direct.mean() - exact) < 5 * direct.std() / np.sqrt(runs)
    found = sv.run(alone.problem, alone.starts[0], sv.Micro(runs=runs, seed=seed(8)), times=[3 * dim / n]).mean()
    assert abs(found.mean[0] + alone.rests[0] - exact) < 5 * found.standard_error[0]


@pytest.mark.statistical
def test_rows_of_a_pool() -> None:
    """Rows that happen to be Gaussian: as the exact mean from these starts says."""
    dim, n, eta = 12, 5, 0.3
    values = np.arange(1.0, dim + 1) ** -1.5
    values *= dim / values.sum()
    pool = np.sqrt(values) * np.random.default_rng(seed(9)).standard_normal((200_000, dim))
    times = np.array([0.5, 3.0])
    risks, gaps = train_some(values, eta, n, times, 100, seed(10), pool=pool)
    alone = trained_alone(values, eta, n, gaps)
    exact = [sv.theory.linear_mean_risk(alone.problem, one, times * dim / n).value for one in alone.starts]
    far = risks - exact - alone.rests[:, None]  # `exact` has the mean noise of all runs in each, so only means agree
    assert (np.abs(far.mean(axis=0)) < 5 * far.std(axis=0) / 10).all()
