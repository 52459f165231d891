"""Averages with means: closed forms against tensor rules, sampling, today's forms without means, and high precision."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import erf

from numpy_averages import relu_pairs
from seeds import seed
from solvable.gaussian.closed_forms import KINDS, averages_with_means, drift, mean_scratch, product, slopes_times_square
from solvable.gaussian.quadrature import expect
from solvable.gaussian.relu_means import relu_averages
from solvable.gaussian.sign_series import LIMITS, MOST, TERMS, fill_series, sum_series
from solvable.gaussian.signs import sign_covariance
from solvable.gaussian.units import UNITS
from solvable.numerics.compiled import compiled
from solvable.numerics.exponentials import exponential
from solvable.numerics.interpreting import interpreted
from solvable.numerics.lanes import load, store

BENDS = {
    "linear": lambda z: 0 * z,
    "quadratic": lambda z: 2 + 0 * z,
    "erf": lambda z: -z * np.sqrt(2 / np.pi) * np.exp(-z * z / 2),
    "hermite3": lambda z: np.sqrt(6) * z,
}


def setting(random, n, rank):
    """Means, covariance with eigenvalues up to 0.7, which tensor rules resolve, and weights."""
    factor = random.standard_normal((n, rank))
    C = factor @ factor.T
    return random.standard_normal(n), 0.7 * C / np.linalg.eigvalsh(C)[-1], random.standard_normal(n)


def found(name, p, h, C, s0, s, noise=0.0):
    """D (p, n), S (p, p), phi, pull and the square as one row."""
    n = len(h)
    D, S, phi, pull = np.zeros((n, n)), np.zeros((n, n)), np.zeros(n), np.zeros(n)
    scratch = np.full(mean_scratch(n), np.nan)
    square, _ = averages_with_means(KINDS[name], p, (h, C), (s0, s), noise, (True, True), (D, S, phi, pull), scratch)
    return np.concatenate([D[:p].ravel(), S[:p, :p].ravel(), phi[:p], pull[:p], [square]])


def integrand(name, p, h, s0, s, noise):
    """Of what `found` returns, by definition."""
    g, slope, bend = UNITS[name].function, UNITS[name].derivative, BENDS[name]

    def of(z):
        z = z + h
        error, steep = s0 + g(z) @ s, slope(z)
        drifts = steep[:, :p, None] * steep[:, None, :] * s
        drifts[:, range(p), range(p)] += bend(z[:, :p]) * error[:, None]
        noises = steep[:, :p, None] * steep[:, None, :p] * (error**2 + noise)[:, None, None]
        rows = drifts, noises, steep[:, :p] * error[:, None], g(z[:, :p]) * error[:, None], error**2
        return np.concatenate([row.reshape(len(z), -1) for row in rows], axis=1)

    return of


@pytest.mark.parametrize("name", KINDS)
@given(number=st.integers(0, 10**6), rank=st.integers(1, 3), s0=st.sampled_from([0.0, 0.8]))
def test_averages_with_means_equal_tensor_rules(name, number, rank, s0) -> None:
    """Two students and one teacher, singular covariances included. The rule's own error for erf is 1e-7."""
    h, C, s = setting(np.random.default_rng(number), 3, rank)
    nodes = {1: 150, 2: 80, 3: 36}[rank] if name == "erf" else 6
    expected = expect(integrand(name, 2, h, s0, s, 0.3), C, nodes)
    tolerance = (3e-7 if name == "erf" else 1e-11) * (1 + np.abs(expected).max())
    assert found(name, 2, h, C, s0, s, 0.3) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("name", KINDS)
@given(number=st.integers(0, 10**6), rank=st.integers(1, 5))
def test_without_means_they_are_those_of_before(name, number, rank) -> None:
    _, C, s = setting(np.random.default_rng(number), 5, rank)
    D, S = np.zeros((5, 5)), np.zeros((5, 5))
    drift(KINDS[name], 3, C, s, 1.0, D)
    slopes_times_square(KINDS[name], 3, C, s, np.zeros((5, 5)), S)
    pairs = np.array([[product(KINDS[name], C[i, i], C[j, j], C[i, j]) for j in range(5)] for i in range(5)])
    now = found(name, 3, np.zeros(5), C, 0.0, s)
    drifts, noises, phi, pull = np.split(now[:-1], np.cumsum([15, 9, 3]))
    same = {"rel": 1e-12, "abs": 1e-12 * (1 + np.abs(S).max())}
    assert s[:3, None] * drifts.reshape(3, 5) == pytest.approx(D[:3], **same)
    assert noises.reshape(3, 3) == pytest.approx(S[:3, :3], **same)
    assert np.abs(phi).max() <= 1e-12 or name == "linear"
    assert pull == pytest.approx(pairs[:3] @ s, **same)
    assert now[-1] == pytest.approx(s @ pairs @ s, **same)


@pytest.mark.statistical
@pytest.mark.parametrize("name", KINDS)
def test_averages_with_means_equal_sampling(name) -> None:
    """Within 6 standard errors of 200 000 samples with three students and two teachers; means 10 % off are caught."""
    random = np.random.default_rng(seed(4))
    h, C, s = setting(random, 5, 5)
    values, vectors = np.linalg.eigh(C)
    z = random.standard_normal((200_000, 5)) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T
    sample = integrand(name, 3, h, 0.5, s, 0.2)(z)
    error = sample.std(axis=0) / np.sqrt(len(z)) + 1e-9  # some do not scatter
    apart = lambda means: np.abs(found(name, 3, means, C, 0.5, s, 0.2) - sample.mean(axis=0)) / error
    assert apart(h).max() < 6
    assert apart(h + 0.3 * s).max() > 6


def relu_found(h, C, s0, s):
    """D C (n, n), phi, pull and the square as one row."""
    n = len(h)
    D, phi, pull = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    square, _ = relu_averages(n, (h, C), (s0, s), (D, D, phi, pull))
    return np.concatenate([(D @ C).ravel(), phi, pull, [square]]), D


@given(number=st.integers(0, 10**6), rank=st.integers(1, 4))
def test_relu_without_means_has_the_arc_cosine_kernels(number, rank) -> None:
    _, C, s = setting(np.random.default_rng(number), 4, rank)
    pairs = relu_pairs(C)
    found, D = relu_found(np.zeros(4), C, 0.0, s)
    expected = s * pairs.slopes + np.diag(pairs.curvature @ s)
    same = {"abs": 1e-6 if rank == 1 else 1e-9}  # along one direction correlations are one, up to rounding
    assert (np.abs(D - expected) < same["abs"]).all()
    assert found[-1] == pytest.approx(s @ pairs.product @ s, **same)
    assert found[20:24] == pytest.approx(pairs.product @ s, **same)


@pytest.mark.statistical
def test_averages_of_relu_with_means_equal_sampling() -> None:
    """Within 6 standard errors of 400 000 samples; D by Stein's lemma, D C = <g'_k e (z - h)>."""
    random = np.random.default_rng(seed(5))
    h, C, s = setting(random, 4, 4)
    z = random.standard_normal((400_000, 4)) @ np.linalg.cholesky(C + 1e-14 * np.eye(4)).T
    steep, value = (z + h > 0) * 1.0, np.maximum(z + h, 0.0)
    error = 0.5 + value @ s
    rows = (
        (steep * error[:, None])[:, :, None] * z[:, None, :],
        steep * error[:, None],
        value * error[:, None],
        error**2,
    )
    sample = np.concatenate([row.reshape(len(z), -1) for row in rows], axis=1)
    error = sample.std(axis=0) / np.sqrt(len(z)) + 1e-5  # some units are hardly ever on
    assert (np.abs(relu_found(h, C, 0.5, s)[0] - sample.mean(axis=0)) < 6 * error).all()


def erf_by_pairs(p, h, C, s0, s):
    """S of `found` for erf units: tilts by linear algebra, and the integral over each pair of fields by itself."""
    S = np.empty((p, p))
    for k, m in np.ndindex(p, p):
        two = np.eye(len(h))[[k, m]]
        K = np.linalg.inv(np.eye(2) + two @ C @ two.T)
        weight = 2 / np.pi * np.sqrt(np.linalg.det(K)) * np.exp(-0.5 * (two @ h) @ K @ (two @ h))
        mean, v = h - C @ two.T @ K @ (two @ h), C - C @ two.T @ K @ two @ C
        mu, root = mean / np.sqrt(1 + np.diag(v)), np.sqrt(1 + np.diag(v))
        pairs = [
            [sign_covariance(mu[i], mu[j], v[i, j] / (root[i] * root[j])) for j in range(len(h))] for i in range(len(h))
        ]
        S[k, m] = weight * ((s0 + s @ erf(mu / np.sqrt(2))) ** 2 + s @ np.array(pairs) @ s)
    return S


@given(
    number=st.integers(0, 10**6),
    size=st.sampled_from([0.01, 0.3, 3.0, 30.0]),
    rank=st.integers(1, 5),
    far=st.floats(0, 6),
)
def test_small_and_large_fields_of_erf_units(number, size, rank, far) -> None:
    """Correlations from almost zero to almost one: series of all lengths and integrals, with more pairs of slopes than lanes."""
    random = np.random.default_rng(number)
    h, C, s = setting(random, 5, rank)
    h, C = far * h, size * C
    noise = found("erf", 4, h, C, 0.8, s)[20:36].reshape(4, 4)
    assert noise == pytest.approx(erf_by_pairs(4, h, C, 0.8, s), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ["erf", "quadratic", "hermite3"])
def test_plain_python_computes_what_machine_code_does(name) -> None:
    h, C, s = setting(np.random.default_rng(1), 4, 4)
    arguments = KINDS[name], 3, (h, 5 * C), (0.4, s), 0.1, (True, True)
    outs = [tuple(np.zeros(shape) for shape in ((4, 4), (4, 4), 4, 4)) for _ in range(2)]
    squares = [
        kernel(*arguments, out, np.full(mean_scratch(4), np.nan))
        for kernel, out in zip((averages_with_means, interpreted(averages_with_means)), outs, strict=True)
    ]
    assert squares[1] == pytest.approx(squares[0], rel=1e-12)
    for one, other in zip(*outs, strict=True):
        assert other == pytest.approx(one, rel=1e-12, abs=1e-14)


@compiled()
def series(rho, mu, nu, count, room, out):
    fill_series(load(mu, 0), load(room, 0), count, room, 0)
    fill_series(load(nu, 0), load(room, MOST), count, room, MOST)
    store(out, 0, sum_series(load(rho, 0), count, room, 0, MOST))


@pytest.mark.parametrize("limit", range(len(LIMITS)))
def test_series_of_the_covariance_of_signs(limit) -> None:
    """Right to 2e-13 at its limit, whatever the means; two terms in three are not enough."""
    random = np.random.default_rng(limit)
    means = np.concatenate([random.uniform(-5, 5, (40, 2, 8)), random.uniform(-0.3, 0.3, (40, 2, 8))])
    off = np.zeros((2, len(means)))
    for number, (mu, nu) in enumerate(means):
        rho, out, room = LIMITS[limit] * np.array([1.0, -1.0] * 4), np.zeros(8), np.zeros(16 * MOST)
        room[:8], room[8 * MOST : 8 * MOST + 8] = (np.sqrt(2 / np.pi) * np.exp(-0.5 * one**2) for one in (mu, nu))
        expected = np.array([sign_covariance(*one) for one in zip(mu, nu, rho, strict=True)])
        for row, count in zip(off, (TERMS[limit], 2 * TERMS[limit] // 3), strict=True):
            series(rho, mu, nu, int(count), room, out)
            row[number] = np.abs(out - expected).max()
    assert off[0].max() < 2e-13
    assert off[1].max() > 1e-12


@given(mu=st.floats(-4, 4), nu=st.floats(-4, 4), rho=st.floats(-0.9999, 0.9999))
def test_covariance_of_signs_in_high_precision(mu, nu, rho) -> None:
    integral = mpmath.quad(
        lambda t: mpmath.exp(-(mu**2 + nu**2 - 2 * mu * nu * mpmath.sin(t)) / (2 * mpmath.cos(t) ** 2)),
        [mpmath.asin(rho) * share for share in (0, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 1)],
    )
    assert sign_covariance(mu, nu, rho) == pytest.approx(float(2 * integral / mpmath.pi), abs=2e-13)


def test_exponential() -> None:
    x = -np.concatenate([[0.0, 1e-300], np.geomspace(1e-9, 39.9, 500), np.linspace(0, 39, 100)])
    found = np.array([exponential(one) for one in x])
    assert found == pytest.approx(np.exp(x), rel=1e-13, abs=0)
    assert np.abs(found - np.exp(x)).max() < 2e-14
    assert 0 <= exponential(-1e9) < 1e-17
