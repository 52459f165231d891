"""Linear units in closed form: against the equations, the exact process at finite dimension, full sums and printed numbers."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

PAPER = sv.problems.convention("worschech2024")
TIMES = np.array([0.0, 0.5, 2.0, 10.0, 40.0])


def typical(L: int, beta: float, eta: float, variance: float = 1.0, N: int | None = None):
    """One student of variance `variance`, the teacher spread as the dimensions are."""
    problem = PAPER.problem(K=1, M=1, eta=eta, beta=beta, L=L, N=N, activation="linear").replace(
        teacher__overlap="orthonormal"
    )
    return problem, sv.start(problem, student_overlap=[[variance]], cross_overlap=[[0.0]])


@pytest.mark.parametrize(("K", "M", "noise"), [(1, 1, 0.0), (2, 3, 0.0), (3, 2, 0.3)])
def test_any_widths_rates_and_noise_against_the_equations(K: int, M: int, noise: float) -> None:
    problem = PAPER.problem(K=K, M=M, eta=0.6, beta=1.0, L=8, N=1024, activation="linear")
    problem = problem.replace(training__label_noise=noise)
    start = sv.start(problem, seed=0)
    for small in (False, True):
        run = sv.run(problem, start, sv.Macro(rtol=1e-11, small_rate=small), times=TIMES)
        assert np.allclose(run.risk[0], sv.theory.linear_risk(problem, start, TIMES, small_rate=small).value, rtol=1e-6)


def test_modes() -> None:
    """Weights sum to one, weights x rates to e (2 - e), and rates interlace with the eigenvalues."""
    for eta, beta in [(0.5, 1.0), (1.0, 0.1), (1.9, 0.5)]:
        problem, start = typical(40, beta, eta)
        rates, weights = sv.theory.linear_modes(problem).value
        assert np.isclose(weights.sum(), 1)
        assert np.isclose(weights @ rates, eta * (2 - eta))
        edges = 2 * eta * problem.inputs.eigenvalues
        assert (rates < edges + 1e-12).all()
        assert (rates[:-1] > edges[1:] - 1e-12).all()
        parts = (weights * rates * np.exp(-np.outer(TIMES, rates))).sum(axis=1) / (weights @ rates)
        risk = sv.theory.linear_risk(problem, start, TIMES).value
        assert np.allclose(risk, risk[0] * parts)


def test_modes_at_small_rates() -> None:
    """b = 1/L and |mu| = 2 lambda to lowest order; L b |mu| / 2 lambda to the next, by perturbation of one rank."""
    L, eta = 40, 0.01
    problem, _ = typical(L, 1.0, eta)
    rates, weights = sv.theory.linear_modes(problem).value
    values = problem.inputs.eigenvalues
    gaps = np.subtract.outer(values, values) + np.diag(np.full(L, np.inf))  # lambda_j - lambda_k
    order = (np.outer(values, values) / gaps).sum(axis=0) / L - values / (2 * L)
    assert np.abs(L * weights - 1).max() < 2 * eta
    assert np.abs(rates / (2 * eta * values) - 1).max() < 0.5 * eta
    assert np.allclose((L * weights * rates / (2 * eta * values) - 1) / eta, order, atol=0.002)
    assert order.min() < -0.7  # so the last line says something


@pytest.mark.statistical
@pytest.mark.parametrize(("K", "M"), [(2, 2), (3, 2), (1, 3)])
def test_mean_of_sgd_at_finite_dimension(K: int, M: int) -> None:
    """Exactly the mean of the process, where the limit of many dimensions is some percent off; K and M do matter."""
    problem = PAPER.problem(K=K, M=M, eta=0.5 * K / M, beta=1.0, L=16, N=32, activation="linear").replace(
        training__label_noise=0.05
    )
    start, times = sv.start(problem, seed=seed(1)), np.array([0.5, 2.0, 10.0])
    found = sv.run(problem, start, sv.Micro(runs=2000, seed=seed(1)), times=times).mean()
    exact = sv.theory.linear_mean_risk(problem, start, times).value
    assert (np.abs(found.mean - exact) < 5 * found.standard_error).all()
    assert (np.abs(exact / sv.theory.linear_risk(problem, start, times).value - 1) > 0.02).all()


def test_where_the_rate_is_too_large() -> None:
    """2 in the limit, whatever the spectrum; at L = N far less: 1.57, 1.14, 1.0046, 0.856 at N = 1024 (and 1.0013 at 128)."""
    for beta, edge in [(0.3, 1.5695), (0.75, 1.1383), (1.0, 1.0046), (1.5, 0.8564)]:
        assert np.isclose(sv.theory.rate_limit(typical(1024, beta, 0.1, N=1024)[0]).value, edge, atol=2e-4)
        assert np.isclose(sv.theory.rate_limit(typical(1024, beta, 0.1)[0]).value, 2.0)
    assert np.isclose(sv.theory.rate_limit(typical(128, 1.0, 0.1, N=128)[0]).value, 1.0013, atol=1e-4)
    for eta, grows in [(0.98, False), (1.02, True)]:
        problem, start = typical(128, 1.0, eta, N=128)
        late = sv.theory.linear_mean_risk(problem, start, np.array([50.0, 100.0])).value
        assert (late[1] > late[0]) == grows


def test_the_printed_curve_at_the_edge_is_not_the_mean_of_sgd() -> None:
    """Figure 2 left, N = L = 128 at rate 1: the limit of many dimensions is exceeded by a factor that grows beyond twenty."""
    problem, start = typical(128, 1.0, 1.0, N=128)
    times = np.array([1.0, 10.0, 100.0])
    limit, small = (sv.theory.linear_risk(problem, start, times, small_rate=one).value for one in (False, True))
    assert np.allclose(small, [0.03855, 0.00908, 0.00073], rtol=2e-3)
    assert np.allclose(limit, [0.0775, 0.0184, 0.00148], rtol=5e-3)
    ratio = sv.theory.linear_mean_risk(problem, start, times).value / limit
    assert np.allclose(ratio, [20.9, 78.1, 388], rtol=0.01)


@pytest.mark.statistical
def test_the_median_at_the_edge() -> None:
    """There rare runs carry the mean: the median of SGD is near the limit of many dimensions, a tenth of the mean or less."""
    problem, spread = typical(128, 1.0, 1.0, N=128)
    blocks = np.full((128, 1, 1), 2.0 / 128)
    problem = problem.replace(teacher__overlap="sampled")
    start = sv.start(
        problem, block_student_overlap=0 * blocks, block_cross_overlap=0 * blocks, block_teacher_overlap=blocks
    )
    risks = sv.run(problem, start, sv.Micro(runs=400, seed=seed(2)), times=[10.0]).risk[:, 0]
    limit = sv.theory.linear_risk(problem, spread, 10.0).value
    low, middle, high = np.quantile(risks, [0.3, 0.5, 0.7]) / limit
    assert low < 1.4 < high  # eight standard errors on both sides
    assert middle < 0.1 * sv.theory.linear_mean_risk(problem, spread, 10.0).value / limit


def test_integral_over_a_power_law() -> None:
    """Half-integer limits are right to 6 % from z = 1 on, the printed ones to 21 %; both to 1 % from z = 3 on."""
    problem, start = typical(128, 1.0, 0.01)
    z = np.geomspace(1, 1e3, 60)
    times = z / (0.02 * problem.inputs.eigenvalues.max())
    exact = sv.theory.linear_risk(problem, start, times, small_rate=True).value
    good, printed = (sv.theory.power_law_risk(problem, start, times, limits=one).value for one in (None, (1, 128)))
    assert np.abs(good / exact - 1).max() < 0.065
    assert 0.2 < np.abs(printed / exact - 1).max() < 0.22
    assert np.abs(printed / exact - 1)[z > 3].max() < 0.015
    for beta, slope in [(1.0, -0.50014), (0.3, -0.25303)]:
        problem, start = typical(10**5, beta, 0.01)
        begin, end = sv.theory.power_law_window(problem).value
        window = np.geomspace(30 * begin, end**0.5 * begin**0.5, 30)
        risk = sv.theory.power_law_risk(problem, start, window).value
        assert abs(np.polyfit(np.log(window), np.log(risk), 1)[0] - slope) < 0.02
    assert sv.theory.power_law_risk(problem, start, 0.0).caveats


def test_the_first_eigenvalue_of_figure_seven() -> None:
    problem, _ = typical(128, 0.5, 0.01)
    assert np.isclose(problem.inputs.eigenvalues[0], 52.55, atol=0.01)
    assert np.isclose(1 / (2 * problem.inputs.eigenvalues[0]), 0.0095, atol=5e-5)


def test_inputs_that_are_not_seen() -> None:
    """Zero eigenvalues change nothing, with and without noise, at finite and infinite dim, in and outside the eigenbasis."""
    full = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", overlap="sampled"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(dim=8, spectrum=sv.Spectrum(eigenvalues=(2.0, 0.0, 0.0, 1.0))),
        training=sv.Training(learning_rate=0.1, label_noise=0.2),
    )
    start = sv.start(full, seed=0)
    run = sv.run(full, start, sv.Macro(rtol=1e-10), times=TIMES)
    assert np.allclose(run.risk[0], sv.theory.linear_risk(full, start, TIMES).value, rtol=1e-6)
    assert np.isfinite(sv.theory.linear_mean_risk(full, start, TIMES).value).all()
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((8, 8)))[0]
    for matrix in (basis, np.eye(8)):
        found = sv.theory.hidden_feature_risk(full, matrix, 6, np.array([0.0, 1.0, np.inf]), distance=1.0).value
        assert np.isfinite(found).all()
        assert (np.diff(found) <= 1e-12).all()
    for bad in (-1.0, "soon"):
        with pytest.raises(ValueError, match="alpha"):
            sv.theory.linear_risk(full, start, bad)
    with pytest.raises(ValueError, match="distance"):
        sv.theory.hidden_feature_risk(full, basis, 6, 1.0, distance=-1.0)


@pytest.mark.statistical
def test_some_features_trained() -> None:
    """(10) at 1000, against full-weight SGD with the other coordinates held, and the inflation at finite rate."""
    problem, start = typical(256, 1.0, 0.05, 1e-4, N=256)
    small = [
        float(sv.theory.feature_risk(problem, start, n, 1000.0, small_rate=True).value) for n in (50, 100, 150, 200)
    ]
    assert np.allclose(small, [0.00485, 0.00201, 0.00136, 0.00115], rtol=3e-3)
    finite = float(sv.theory.feature_risk(problem, start, 50, 1e5).value)
    share = float(problem.inputs.eigenvalues[:50].sum() / 256)
    tail = float(sv.theory.feature_risk(problem, start, 50, 1e5, small_rate=True).value)
    assert np.isclose(finite, tail / (1 - 0.5 * 0.05 * share), rtol=1e-3)
    assert np.isclose(
        sv.theory.feature_risk(problem, start, 256, 3.0).value, sv.theory.linear_risk(problem, start, 3.0).value
    )
    random = np.random.default_rng(seed(0))
    values, eta, held = problem.inputs.eigenvalues, 0.05, 50
    J, B = np.zeros((200, 256)), random.standard_normal(256)
    for _ in range(256 * 5):
        x = np.sqrt(values) * random.standard_normal((200, 256))
        error = ((B - J) * x).sum(axis=1) / 16
        J[:, :held] += eta * error[:, None] * x[:, :held] / 16
    risks = 0.5 * ((B - J) ** 2 @ values) / 256
    own = sv.start(problem.replace(teacher__overlap="sampled"), block_student_overlap=np.zeros((256, 1, 1)),
                   block_cross_overlap=np.zeros((256, 1, 1)), block_teacher_overlap=(B**2 / 256)[:, None, None])  # fmt: skip
    predicted = float(sv.theory.feature_risk(problem.replace(teacher__overlap="sampled"), own, held, 5.0).value)
    assert abs(risks.mean() - predicted) < 5 * risks.std() / np.sqrt(200) + 0.005 * predicted


def test_features_outside_the_eigenbasis() -> None:
    """(82) to (88) against the flow of the weights itself, and in the eigenbasis against (10)."""
    problem, start = typical(24, 1.0, 0.1, 1.0, N=24)
    random = np.random.default_rng(1)
    basis = np.linalg.qr(random.standard_normal((24, 24)))[0]
    covariance = (basis * problem.inputs.eigenvalues) @ basis.T
    inner = covariance[:8, :8]
    for alpha in (0.0, 3.0, np.inf):
        fall = np.zeros((8, 8)) if alpha == np.inf else _exponential(-0.1 * alpha * inner)
        move = np.zeros((24, 24))  # the error after, as a linear map of that before
        move[:8, :8] = fall
        move[:8, 8:] = -(np.eye(8) - fall) @ np.linalg.solve(inner, covariance[:8, 8:])
        move[8:, 8:] = np.eye(16)
        direct = 0.5 * 2.0 * np.trace(move.T @ covariance @ move) / 24
        found = sv.theory.hidden_feature_risk(problem, basis, 8, alpha, distance=2.0).value
        assert np.isclose(found, direct)
    plain = sv.theory.hidden_feature_risk(problem, np.eye(24), 8, 5.0, distance=2.0).value
    assert np.isclose(plain, sv.theory.feature_risk(problem, start, 8, 5.0, small_rate=True).value)


def _exponential(matrix: np.ndarray) -> np.ndarray:
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.exp(values)) @ vectors.T


def test_where_they_do_not_apply() -> None:
    problem, start = typical(8, 1.0, 0.1)
    with pytest.raises(sv.theory.NotApplicable, match="is for 'linear' units"):
        sv.theory.linear_risk(PAPER.problem(K=1, M=1, eta=0.1, beta=1.0, L=8), start, 1.0)
    with pytest.raises(sv.theory.NotApplicable, match="is infinite"):
        sv.theory.linear_mean_risk(problem, start, 1.0)
    with pytest.raises(sv.theory.NotApplicable, match="noise grows without bound"):
        sv.theory.linear_risk(problem.replace(training__learning_rate=2.5, training__label_noise=0.1), start, 1.0)
    with pytest.raises(sv.theory.NotApplicable, match="not a power law"):
        sv.theory.power_law_window(problem.replace(inputs__spectrum=None))
    finite, start = typical(8, 1.0, 0.1, N=8)
    for wrong in (0, 9, 1.5):
        with pytest.raises(ValueError, match="features"):
            sv.theory.feature_risk(finite, start, wrong, 1.0)
    with pytest.raises(ValueError, match="must be an orthogonal matrix"):
        sv.theory.hidden_feature_risk(finite, np.ones((8, 8)), 3, distance=1.0)


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("eigenvalues", [(1.0,), (2.0, 0.3)])
def test_the_risk_of_students_that_follow_a_drift(batch, eigenvalues) -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(
            width=2, activation="linear", readout=(1.0, 0.5), overlap=((1.0, 0.4), (0.4, 2.0)), drift=0.05
        ),
        student=sv.Student(width=2, activation="linear", readout=(0.8, -0.4)),
        inputs=sv.Inputs(spectrum=None if len(eigenvalues) == 1 else sv.Spectrum(eigenvalues=eigenvalues)),
        training=sv.Training(learning_rate=0.4, loss_factor=0.5, label_noise=0.2, batch=batch),
    )
    found = sv.theory.drift_risk(problem)
    start = sv.start(problem, student_overlap=np.eye(2))
    late = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[0.0, 1000.0])
    assert late.risk[0, -1] == pytest.approx(found.value, rel=1e-7)
    assert "drift_risk" in [one.name for one in sv.theory.available(problem)]
    with pytest.raises(sv.theory.NotApplicable, match=r"teacher.drift: is 0"):
        sv.theory.drift_risk(problem.replace(teacher__drift=0.0))
    with pytest.raises(sv.theory.NotApplicable, match="so large that the risk grows"):
        sv.theory.drift_risk(problem.replace(training__learning_rate=20.0))
