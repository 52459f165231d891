"""Averages over pairs in compiled code: against closed forms, against NumPy and against the bivariate normal distribution."""

import numpy as np
import pytest
from scipy.special import erf, expit
from scipy.stats import multivariate_normal

import solvable as sv
from numpy_averages import hermite_pairs, relu_pairs
from solvable.gaussian.all_pairs import Pairs, quadrature_pairs
from solvable.gaussian.closed_forms import KINDS, curvature, product, slopes
from solvable.gaussian.curves import bends, describe
from solvable.gaussian.pair_planes import fill_pairs, pair_scratch
from solvable.gaussian.units import UNITS, hermite

GELU = sv.Activation(
    "gelu",
    lambda z: 0.5 * z * (1 + erf(z / np.sqrt(2))),
    lambda z: 0.5 * (1 + erf(z / np.sqrt(2))) + z * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi),
)
SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), expit)
MINE = sv.Activation("my relu", UNITS["relu"].function, UNITS["relu"].derivative)
SHIFTED = sv.Activation("shifted", lambda z: np.maximum(z - 0.7, 0), lambda z: (z > 0.7) * 1.0)
CLIPPED = sv.Activation("clipped", lambda z: np.clip(z, -1, 1), lambda z: (np.abs(z) < 1) * 1.0)


def pairs(student, teacher, p, C, polynomials=(None, None)) -> Pairs:
    """Of p units of the one kind and all others of the other."""
    places, numbers = [], np.zeros(0)
    for unit, coefficients in zip((student, teacher), polynomials, strict=True):
        found = describe(unit, None if coefficients is None else np.array(coefficients))
        assert found is not None
        places.append((found[0], numbers.size, found[1].size // 2))
        numbers = np.concatenate([numbers, found[1]])
    planes, n = np.empty((3, *C.shape)), len(C)
    fill_pairs(*places, p, np.ascontiguousarray(C), numbers, *planes, np.empty(pair_scratch(n)))
    return Pairs(*planes)


def covariance(seed, n, rank=None):
    factor = np.random.default_rng(seed).standard_normal((n, rank or n))
    return factor @ factor.T / n


def nearly(size, apart):
    """Fields of which two are proportional up to `apart`, one to the other's opposite, and one is apart."""
    C = np.array([[1.0, 0.9, -1.1, 0.3], [0.9, 0.81, -0.99, 0.27], [-1.1, -0.99, 1.21, -0.33], [0.3, 0.27, -0.33, 0.8]])
    C[np.arange(3), np.arange(3)] *= 1 + apart
    return size * C


@pytest.mark.parametrize("size", [1e-8, 1e-3, 1.0, 4.0, 30.0, 1e4])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-6, 0.03, 0.2])
def test_a_table_of_erf_has_the_averages_of_erf(size, apart) -> None:
    """To 1e-10 of the largest, from tiny to huge variance and up to proportional fields."""
    C = nearly(size, apart)
    found = pairs(UNITS["erf"], UNITS["erf"], 2, C)
    for function, one in zip((product, slopes, curvature), found, strict=True):
        exact = np.array([[function(KINDS["erf"], C[i, i], C[j, j], C[i, j]) for j in range(4)] for i in range(4)])
        scale = np.abs(exact).max() if function is product else np.abs(found.slopes).max()
        assert one == pytest.approx(exact, abs=1e-10 * scale)


@pytest.mark.parametrize("size", [1e-8, 1.0, 1e4])
@pytest.mark.parametrize("apart", [0.0, 1e-12, 1e-6, 0.03, 0.2])
def test_a_table_of_relu_has_the_averages_of_relu(size, apart) -> None:
    C = nearly(size, apart)
    closed = relu_pairs(C)
    for units in ((MINE, MINE), (UNITS["relu"], UNITS["relu"]), (MINE, UNITS["relu"])):
        for one, exact in zip(pairs(*units, 2, C), closed, strict=True):
            assert one == pytest.approx(exact, abs=1e-8 * (np.abs(exact).max() + (exact is closed.curvature)))


@pytest.mark.parametrize("rho", [0.3, -0.9, 0.97, 0.9999, -1 + 1e-7])
def test_kinks_anywhere(rho) -> None:
    """Slopes of shifted and clipped ReLU are probabilities of the bivariate normal distribution, which SciPy has."""
    C = np.array([[1.3, rho * np.sqrt(1.3 * 0.9)], [rho * np.sqrt(1.3 * 0.9), 0.9]])

    def below(x, y):
        return multivariate_normal.cdf([x, y], cov=C, abseps=1e-10, releps=1e-10, maxpts=10**7)

    inf = 40.0
    above = below(inf, inf) - below(0.7, inf) - below(inf, 0.7) + below(0.7, 0.7)
    both = below(1, 1) - below(-1, 1) - below(1, -1) + below(-1, -1)
    mixed = below(inf, 1) - below(inf, -1) - below(0.7, 1) + below(0.7, -1)
    for units, exact in (((SHIFTED, SHIFTED), above), ((CLIPPED, CLIPPED), both), ((SHIFTED, CLIPPED), mixed)):
        assert pairs(*units, 1, C).slopes[0, 1] == pytest.approx(exact, abs=3e-8)


@pytest.mark.parametrize("units", [(GELU, GELU), (UNITS["tanh"], SOFTPLUS), (UNITS["tanh"], MINE), (SHIFTED, GELU)])
def test_any_units_equal_quadrature_in_numpy(units) -> None:
    C = 1.5 * covariance(2, 4)
    numpy = quadrature_pairs([units[0]] * 2 + [units[1]] * 2, C, 24)
    for one, two in zip(pairs(*units, 2, C), numpy, strict=True):
        assert one == pytest.approx(two, abs=1e-8 * np.abs(two).max())


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_polynomials_are_exact(rank) -> None:
    """Cubic and linear units, also beside a unit that is none; singular covariances included."""
    C, cubic, line = covariance(7, 4, rank), (0.3, 1.0, -0.5, 0.2), (0.0, 1.0)
    exact = hermite_pairs([np.array(cubic)] * 3 + [np.array(line)], C)
    found = pairs(hermite(cubic), UNITS["linear"], 3, C, (cubic, line))
    for one, two in zip(found, exact, strict=True):
        assert one == pytest.approx(two, abs=1e-14 * np.abs(two).max())
    beside = pairs(hermite(cubic), UNITS["erf"], 2, C, (cubic, None))
    numpy = quadrature_pairs([hermite(cubic)] * 2 + [UNITS["erf"]] * 2, C, 24)
    for one, two in zip(beside, numpy, strict=True):
        assert one == pytest.approx(two, abs=1e-7 * np.abs(two).max())


def test_fields_without_variance_and_what_is_not_finite() -> None:
    C = np.diag([0.0, 1.0])
    found = pairs(SOFTPLUS, GELU, 1, C)
    assert found.product[0, 0] == pytest.approx(np.log(2) ** 2, rel=1e-12)
    assert found.slopes[0, 0] == pytest.approx(0.25, rel=1e-12)
    assert np.isfinite(found.curvature).all()
    assert np.isnan(pairs(GELU, GELU, 1, np.full((2, 2), np.nan)).product).all()
    assert np.isnan(pairs(GELU, GELU, 1, 1e14 * np.eye(2)).product[0, 0])  # beyond the table's end


@pytest.mark.parametrize("unit", [GELU, SOFTPLUS, UNITS["tanh"], UNITS["erf"]], ids=lambda one: one.name)
def test_slopes_of_slopes(unit) -> None:
    """From the table's polynomial, to 1e-9."""
    kind, numbers = describe(unit, None)
    z, h = np.linspace(-8, 8, 1001), 1e-4
    bend = np.empty_like(z)
    bends(kind, numbers, 0, 0, z, bend)
    g = unit.derivative
    exact = (8 * (g(z + h) - g(z - h)) - (g(z + 2 * h) - g(z - 2 * h))) / (12 * h)
    assert bend == pytest.approx(exact, abs=1e-9)
