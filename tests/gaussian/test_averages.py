"""Closed-form Gaussian averages against quadrature, against high precision, and on singular covariances."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from solvable.gaussian.closed_forms import KINDS, curvature, drift, product, slopes, slopes_times_square
from solvable.gaussian.quadrature import expect
from solvable.gaussian.units import UNITS

NODES = {"linear": 6, "quadratic": 6, "erf": 80, "hermite3": 6}


def random_covariance(random, n, rank=None):
    factor = random.standard_normal((n, n if rank is None else rank))
    return factor @ factor.T / n


def second_derivative(name, z):
    bends = {"linear": 0 * z, "quadratic": 2 + 0 * z, "erf": -z * np.sqrt(2 / np.pi) * np.exp(-z * z / 2)}
    return (bends | {"hermite3": np.sqrt(6) * z})[name]


@pytest.mark.parametrize("name", KINDS)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 2), size=st.floats(0.05, 1.5))
def test_pair_averages_equal_quadrature(name, seed, rank, size) -> None:
    """Also where the two fields are proportional (rank one)."""
    C = size * random_covariance(np.random.default_rng(seed), 2, rank)
    g, slope = UNITS[name].function, UNITS[name].derivative
    numbers = KINDS[name], C[0, 0], C[1, 1], C[0, 1]
    tolerance = {"abs": 1e-9 if name != "erf" else 2e-5 * max(1.0, C.max() ** 2), "rel": 1e-9}
    average = lambda f: float(expect(f, C, NODES[name]))
    assert product(*numbers) == pytest.approx(average(lambda z: g(z[:, 0]) * g(z[:, 1])), **tolerance)
    assert slopes(*numbers) == pytest.approx(average(lambda z: slope(z[:, 0]) * slope(z[:, 1])), **tolerance)
    bend = average(lambda z: second_derivative(name, z[:, 0]) * g(z[:, 1]))
    assert curvature(*numbers) == pytest.approx(bend, **tolerance)


@pytest.mark.parametrize("name", KINDS)
@given(seed=st.integers(0, 10**6), rank=st.integers(1, 3))
def test_square_averages_equal_quadrature(name, seed, rank) -> None:
    """Two students and one teacher, singular covariances included."""
    random = np.random.default_rng(seed)
    C = 0.5 * random_covariance(random, 3, rank)
    s = random.standard_normal(3)
    g, slope = UNITS[name].function, UNITS[name].derivative
    out = np.empty((3, 3))
    slopes_times_square(KINDS[name], 2, C, s, np.empty((3, 3)), out)

    def integrand(z):
        error = g(z) @ s
        steep = slope(z[:, :2])
        return steep[:, :, None] * steep[:, None, :] * (error**2)[:, None, None]

    expected = expect(integrand, C, {1: 150, 2: 80, 3: 36}[rank] if name == "erf" else 6)
    assert out[:2, :2] == pytest.approx(expected, abs=(3e-5 if name == "erf" else 1e-10) * (1 + np.abs(expected).max()))


@pytest.mark.parametrize("name", KINDS)
@given(seed=st.integers(0, 10**6), students=st.integers(1, 5), teachers=st.integers(1, 5))
def test_drifts_are_sums_of_pair_averages(name, seed, students, teachers) -> None:
    """factor s_k (s_j <g'_k g'_j> + delta_kj sum_i s_i <g''_k g_i>)."""
    random, n = np.random.default_rng(seed), students + teachers
    C, s, out = random_covariance(random, n), random.standard_normal(n), np.empty((n, n))
    drift(KINDS[name], students, C, s, -0.7, out)
    for k in range(students):
        pairs = [(KINDS[name], C[k, k], C[j, j], C[k, j]) for j in range(n)]
        expected = np.array([s[j] * slopes(*pairs[j]) for j in range(n)])
        expected[k] += sum(s[j] * curvature(*pairs[j]) for j in range(n))
        assert out[k] == pytest.approx(-0.7 * s[k] * expected, rel=1e-11, abs=1e-13 * np.abs(expected).max())


@given(seed=st.integers(0, 10**6))
def test_erf_square_equals_the_sum_of_four_field_integrals(seed) -> None:
    """worschech2024's I4, with the corrected brackets, summed over all pairs of units."""
    random = np.random.default_rng(seed)
    C, s = random_covariance(random, 4), random.standard_normal(4)

    def four(i, j, k, m):
        c = C[np.ix_([i, j, k, m], [i, j, k, m])]
        l4 = (1 + c[0, 0]) * (1 + c[1, 1]) - c[0, 1] ** 2

        def bracket(a, b):
            mixed = c[0, 1] * (c[0, a] * c[1, b] + c[0, b] * c[1, a])
            return -c[1, a] * c[1, b] * (1 + c[0, 0]) - c[0, a] * c[0, b] * (1 + c[1, 1]) + mixed

        l0 = l4 * c[2, 3] + bracket(2, 3)
        l1, l2 = l4 * (1 + c[2, 2]) + bracket(2, 2), l4 * (1 + c[3, 3]) + bracket(3, 3)
        return 4 / np.pi**2 / np.sqrt(l4) * np.arcsin(np.clip(l0 / np.sqrt(l1 * l2), -1, 1))

    total = [
        [sum(s[k] * s[m] * four(i, j, k, m) for k in range(4) for m in range(4)) for j in range(2)] for i in range(2)
    ]
    out = np.empty((4, 4))
    slopes_times_square(KINDS["erf"], 2, C, s, np.empty((4, 4)), out)
    assert out[:2, :2] == pytest.approx(np.array(total), rel=1e-9, abs=1e-12)


def test_the_printed_four_field_integral_is_wrong() -> None:
    """docs/ERRATA.md W27: sampled <g'(z1) g'(z2) g(z3) g(z4)> is met by the corrected numerator and missed by the printed one."""
    C = np.array([[1.0, 0.3, 0.2, -0.4], [0.3, 1.2, 0.5, 0.1], [0.2, 0.5, 0.8, 0.3], [-0.4, 0.1, 0.3, 1.5]])
    g, slope = UNITS["erf"].function, UNITS["erf"].derivative
    average = expect(lambda z: slope(z[:, 0]) * slope(z[:, 1]) * g(z[:, 2]) * g(z[:, 3]), C, 24)
    c11, c22, c33, c44 = 1 + np.diag(C)
    l4 = c11 * c22 - C[0, 1] ** 2
    right = (
        l4 * C[2, 3] - C[1, 2] * C[1, 3] * c11 - C[0, 2] * C[0, 3] * c22
        + C[0, 1] * C[0, 2] * C[1, 3] + C[0, 1] * C[0, 3] * C[1, 2]
    )  # fmt: skip
    printed = (
        l4 * C[2, 3] + C[1, 2] * C[1, 3] * c11 + C[0, 2] * C[0, 3] * c22 + C[0, 1] ** 2 * C[0, 2] ** 2 * C[1, 3] ** 2
    )
    l1 = l4 * c33 - C[1, 2] ** 2 * c11 - C[0, 2] ** 2 * c22 + 2 * C[0, 1] * C[0, 2] * C[1, 2]
    l2 = l4 * c44 - C[1, 3] ** 2 * c11 - C[0, 3] ** 2 * c22 + 2 * C[0, 1] * C[0, 3] * C[1, 3]
    value = lambda numerator: 4 / np.pi**2 / np.sqrt(l4) * np.arcsin(numerator / np.sqrt(l1 * l2))
    assert value(right) == pytest.approx(average, abs=1e-5)
    assert abs(value(printed) - average) > 1e-3


def test_erf_pairs_to_high_precision() -> None:
    """Relative error at most 1e-13 at 10 200 points: variances from 1e-8 to 100, two thirds of the pairs near-degenerate.
    (Beyond, rounding of the covariance itself moves the averages by more: by variance x 1e-16.)"""
    random = np.random.default_rng(0)
    mpmath.mp.dps = 40
    worst = 0.0
    for i in range(3400):
        c11, c22 = (float(x) for x in 10 ** random.uniform(-8, 2, 2))
        near = 1 - 10 ** random.uniform(-15, -1)
        rho = float([random.uniform(-1, 1), near, -near][i % 3])
        c12 = rho * float(np.sqrt(c11 * c22))
        a, b, c = mpmath.mpf(c11), mpmath.mpf(c22), mpmath.mpf(c12)
        root = mpmath.sqrt((1 + a) * (1 + b) - c * c)
        exact = {
            product: 2 / mpmath.pi * mpmath.atan2(c, root),
            slopes: 2 / mpmath.pi / root,
            curvature: -2 / mpmath.pi * c / (1 + a) / root,
        }
        for function, value in exact.items():
            worst = max(worst, abs(float((function(KINDS["erf"], c11, c22, c12) - value) / value)))
    assert worst < 1e-13


def test_quadrature_is_exact_for_polynomials() -> None:
    C = random_covariance(np.random.default_rng(1), 3)
    fourth = expect(lambda z: z[:, 0] ** 2 * z[:, 1] * z[:, 2], C, 3)
    assert fourth == pytest.approx(C[0, 0] * C[1, 2] + 2 * C[0, 1] * C[0, 2])
    assert expect(lambda z: z[:, 0] ** 2, np.zeros((2, 2)), 3) == 0
