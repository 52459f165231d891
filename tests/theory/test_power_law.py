"""Power-law spectra at small rates: integrals and their corrections, the window, and some coordinates trained."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

PAPER = sv.problems.convention("worschech2024")


def typical(L: int, beta: float, variance: float = 1.0, N: int | None = None, eta: float = 0.01):
    problem = PAPER.problem(K=1, M=1, eta=eta, beta=beta, L=L, N=N, activation="linear")
    problem = problem.replace(teacher__overlap="orthonormal")
    return problem, sv.start(problem, student_overlap=[[variance]], cross_overlap=[[0.0]])


def sum_and_integral(problem: sv.Problem, start: sv.Overlaps, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    times = z / (0.02 * problem.inputs.eigenvalues.max())
    total = sv.theory.linear_risk(problem, start, times, small_rate=True).value
    limits = (1, problem.inputs.spectrum.distinct)
    return total, sv.theory.power_law_risk(problem, start, times, limits=limits).value


@pytest.mark.parametrize("beta", [0.01, 0.5, 1.0])
def test_the_sum_exceeds_the_integral_most_at_the_start(beta: float) -> None:
    """By what power_law_gap says; the print has 1/L^(1 + beta) for half of it, which is larger and so a bound too."""
    for L in (10, 128):
        problem, start = typical(L, beta)
        total, integral = sum_and_integral(problem, start, np.append(0.0, np.geomspace(1e-4, 1e3, 300)))
        gaps, bound = total - integral, sv.theory.power_law_gap(problem, start).value
        assert gaps.argmax() == 0
        assert bound * (1 - 0.25 / L) < gaps[0] < bound
        more = problem.inputs.eigenvalues[0] / L * 0.5 * L ** -(1 + beta)
        assert gaps[0] < bound + more
        assert more / bound > 30 / L * (bound / gaps[0] - 1)  # the half is the tight one


@pytest.mark.parametrize(("beta", "largest"), [(0.01, 0.0004), (0.5, 0.0025), (1.0, 0.0085)])
def test_the_ends_of_the_sum(beta: float, largest: float) -> None:
    """(48): with half of the first and of the last term the integral is a bound from z = 1 on but for `largest` of the sum, for the
    first decade of times. (49) as printed, (1 + s^2) lambda_1/(2L) exp(-z), is twice f(1)/2, and falls below the difference later,
    because f(L)/2 stays."""
    problem, start = typical(128, beta)
    z = np.geomspace(1, 10, 100)
    total, integral = sum_and_integral(problem, start, z)
    ends = sv.theory.power_law_ends(problem, start, z / (0.02 * problem.inputs.eigenvalues.max())).value
    excess = ((total - integral - ends) / total).max()
    assert 0.8 * largest < excess < largest
    printed = problem.inputs.eigenvalues[0] / 128 * np.exp(-z)  # (1 + s^2) = 2
    first = ends - 0.5 * problem.inputs.eigenvalues[-1] / 128 * np.exp(-z / 128 ** (1 + beta))
    assert np.allclose(printed, 2 * first)
    assert (printed > total - integral)[z < 5].all()
    assert (printed < total - integral)[z > 9].all()


def test_the_second_gamma_function_and_the_power_law_itself() -> None:
    """(52) over (50) is 19 % at z = 1 and 1e-5 at z = 10; (53) over the sum is 3 % at beta = 1, but 48 times it at beta = 0.01."""
    z = np.array([1.0, 10.0])
    for beta, ratios, law in [(1.0, (1.189, 1.00001), 1.027), (0.5, (1.119, 1.0), 1.270), (0.01, (1.055, 1.0), 48.5)]:
        problem, start = typical(128, beta)
        times = z / (0.02 * problem.inputs.eigenvalues.max())
        total, integral = sum_and_integral(problem, start, z)
        one = sv.theory.power_law_risk(problem, start, times, limits=(0, 128)).value
        assert np.allclose(one / integral, ratios, atol=1e-3)
        power = sv.theory.power_law_risk(problem, start, times, limits=(0, np.inf)).value
        assert np.isclose(power[1] / total[1], law, rtol=2e-3)
        assert np.isclose(np.log(power[1] / power[0]) / np.log(10), -beta / (1 + beta))
    with pytest.raises(ValueError, match="limits"):
        sv.theory.power_law_risk(problem, start, 1.0, limits=(2, 1))


def local_exponent(problem: sv.Problem, start: sv.Overlaps, alpha: float) -> float:
    near = alpha * np.array([0.999, 1.001])
    risk = sv.theory.linear_risk(problem, start, near, small_rate=True).value
    return float(np.diff(np.log(risk))[0] / np.diff(np.log(near))[0])


@pytest.mark.parametrize("beta", [0.5, 1.0, 1.5])
def test_the_printed_window_ends_where_there_is_no_power_law_any_more(beta: float) -> None:
    """At the printed end the local exponent is more than twice -beta/(1 + beta); `within` tells where it is near."""
    problem, start = typical(30_000, beta)
    s = beta / (1 + beta)
    end = sv.theory.power_law_window(problem).value[1]
    assert local_exponent(problem, start, end) < -2 * s
    first, last = sv.theory.power_law_window(problem, within=0.1).value
    assert first < last < 0.2 * end
    assert np.isclose(local_exponent(problem, start, last), -1.1 * s, rtol=0.005)
    assert np.isclose(abs(local_exponent(problem, start, first) / -s - 1), 0.1, atol=0.01)  # L is finite
    middle = local_exponent(problem, start, np.sqrt(first * last))
    assert abs(middle / -s - 1) < 0.1


def test_a_window_that_is_not_there() -> None:
    assert sv.theory.power_law_window(typical(256, 0.3)[0], within=0.1).caveats
    assert not sv.theory.power_law_window(typical(256, 2.0)[0], within=0.1).caveats
    with pytest.raises(ValueError, match="within"):
        sv.theory.power_law_window(typical(256, 0.3)[0], within=1.5)


def test_printed_integral_counts_untrained_coordinates_twice() -> None:
    """(11), (79): 58 % above (10) at alpha = 100 with 50 of 256 trained; with N_l in place of L it is right to a percent."""
    problem, start = typical(256, 1.0, 1e-4, N=256, eta=0.05)
    times = np.geomspace(1, 1e4, 30)
    for n in (50, 100, 150, 200):
        exact = sv.theory.feature_risk(problem, start, n, times, small_rate=True).value
        assert np.allclose(sv.theory.power_law_feature_risk(problem, start, n, times).value, exact, rtol=0.01)
    sums, printed = (
        float(one.value)
        for one in (
            sv.theory.feature_risk(problem, start, 50, 100.0, small_rate=True),
            sv.theory.power_law_feature_risk(problem, start, 50, 100.0, printed=True),
        )
    )
    assert np.isclose(printed, 0.01056, atol=5e-5)
    assert np.isclose(sums, 0.00668, atol=5e-5)
    repeated = PAPER.problem(K=1, M=1, eta=0.1, beta=1.0, L=8, N=16, activation="linear")
    with pytest.raises(sv.theory.NotApplicable, match="repeat"):
        sv.theory.power_law_feature_risk(repeated, sv.start(repeated, seed=0), 4, 1.0)


@pytest.mark.parametrize(
    ("beta", "dim", "exponent"), [(0.3, 1024, -0.49), (0.3, 256, -0.57), (0.3, 200_000, -0.324), (1.5, 1024, -1.5)]
)
def test_where_the_power_of_the_features_is_not_seen(beta: float, dim: int, exponent: float) -> None:
    """N_l^-beta - N^-beta has the local exponent -beta / (1 - (N_l/N)^beta): for 10 % of -beta one needs N > 11^(1/beta) N_l, which
    is 3000 N_l at beta = 0.3 and 5 N_l at beta = 1.5."""
    problem, start = typical(dim, beta, 0.0, N=dim)
    n = np.unique(np.geomspace(16, min(dim, 1024) // 8, 4).astype(int))
    risk = np.array([sv.theory.feature_risk(problem, start, int(one), np.inf, small_rate=True).value for one in n])
    found = np.polyfit(np.log(n), np.log(risk), 1)[0]
    assert np.isclose(found, exponent, atol=0.012)
    middle = np.sqrt(n[0] * n[-1])
    assert np.isclose(found, -beta / (1 - (middle / dim) ** beta), rtol=0.04)


def test_all_numbers_of_hidden_features_at_once() -> None:
    problem, _ = typical(24, 1.0, 1.0, N=24)
    basis = np.linalg.qr(np.random.default_rng(2).standard_normal((24, 24)))[0]
    rests = sv.theory.hidden_feature_rests(problem, basis, distance=2.0).value
    single = [sv.theory.hidden_feature_risk(problem, basis, n, distance=2.0).value for n in range(1, 24)]
    assert np.allclose(rests[1:24], single)
    assert np.isclose(rests[0], 1.0)
    assert rests[24] == 0.0


@pytest.mark.statistical
@pytest.mark.parametrize("beta", [0.3, 1.5])
def test_mean_over_random_bases(beta: float) -> None:
    """The deterministic equivalent, to five standard errors of 40 bases and 1 % for terms of order 1/n."""
    problem, _ = typical(128, beta, 1.0, N=128)
    random = np.random.default_rng(seed(3))
    bases = [np.linalg.qr(random.standard_normal((128, 128)))[0] for _ in range(40)]
    rests = np.array([sv.theory.hidden_feature_rests(problem, basis, distance=1.0).value for basis in bases])
    for n in (8, 32, 96):
        mean, error = rests[:, n].mean(), rests[:, n].std(ddof=1) / np.sqrt(40)
        expected = sv.theory.hidden_feature_mean(problem, n, distance=1.0).value
        assert abs(mean - expected) < 5 * error + 0.01 * expected
    assert sv.theory.hidden_feature_mean(problem, 128, distance=1.0).value == 0.0


@pytest.mark.parametrize("beta", [0.75, 1.5])
def test_what_a_random_basis_costs(beta: float) -> None:
    """beta [u / sin u]^(1 + beta) times what is left in the eigenbasis, with the same power of n."""
    problem, start = typical(200_000, beta, 0.0, N=200_000)
    u = np.pi / (1 + beta)
    outside = sv.theory.hidden_feature_mean(problem, 300, distance=1.0).value
    inside = sv.theory.feature_risk(problem, start, 300, np.inf, small_rate=True).value
    assert np.isclose(outside / inside, beta * (u / np.sin(u)) ** (1 + beta), rtol=0.02)
