"""erf of eight numbers at once against SciPy, in machine code and as plain Python."""

import numpy as np
import pytest
from scipy.special import erf

from solvable.numerics.compiled import compiled
from solvable.numerics.error_function import erf_with_slope
from solvable.numerics.interpreting import interpreted
from solvable.numerics.lanes import load, store


@compiled()
def both(x, value, slope):
    for i in range(x.size // 8):
        one, other = erf_with_slope(load(x, i))
        store(value, i, one)
        store(slope, i, other)


@pytest.mark.parametrize("kernel", [both, interpreted(both)])
def test_erf_and_its_slope(kernel) -> None:
    sizes = np.concatenate([[0.0, 1.5, np.nextafter(1.5, 2), 9.0, 12.0, 1e300, np.inf], np.linspace(0, 12, 500)])
    sizes = np.concatenate([sizes, np.geomspace(1e-300, 1, 501)])
    x = np.concatenate([sizes, -sizes])
    value, slope = np.full_like(x, np.nan), np.full_like(x, np.nan)
    kernel(x, value, slope)
    assert value == pytest.approx(erf(x / np.sqrt(2)), rel=2e-15, abs=0)
    assert slope == pytest.approx(np.sqrt(2 / np.pi) * np.exp(-0.5 * np.minimum(np.abs(x), 30) ** 2), rel=0, abs=2e-14)


def test_what_is_no_number_stays_so() -> None:
    x = np.array([np.nan, *range(7)])
    value, slope = np.zeros(8), np.zeros(8)
    both(x, value, slope)
    assert np.isnan([value[0], slope[0]]).all()
    assert np.isfinite([value[1:], slope[1:]]).all()
