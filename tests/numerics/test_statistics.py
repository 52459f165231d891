"""Standard errors and slopes, against their definitions."""

import numpy as np
import pytest

from solvable.numerics.statistics import log_slope, standard_error


def test_standard_errors() -> None:
    values = np.random.default_rng(0).standard_normal((50, 3))
    by_hand = [np.sqrt(((one - one.mean()) ** 2).sum() / 49 / 50) for one in values.T]
    assert standard_error(values, axis=0) == pytest.approx(by_hand)
    assert isinstance(standard_error(values[:, 0]), float)
    assert standard_error(values[:, 0]) == pytest.approx(by_hand[0])


def test_slopes_of_power_laws() -> None:
    x = np.geomspace(0.1, 1000, 40)
    assert log_slope(x, 3 * x**-0.7) == pytest.approx(-0.7)
    bent = np.where(x < 10, x**-0.5, 10**0.5 / x)
    assert log_slope(x, bent, 20, 1000) == pytest.approx(-1)
    assert log_slope(x, [x**2, bent], 0.1, 9) == pytest.approx([2, -0.5])
