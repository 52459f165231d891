"""The arcsine of the erf averages against high precision, as machine code and as plain Python."""

import math

import mpmath
import numpy as np
import pytest

from solvable.numerics.arcsine import arcsine


@pytest.mark.parametrize("function", [arcsine, arcsine.py_func])
def test_to_a_few_units_in_the_last_place(function) -> None:
    """4e-16 of its value at 6000 points: all of (-1, 1), about the seam at 0.6, tiny, and next to one."""
    random = np.random.default_rng(0)
    points = np.concatenate(
        [
            random.uniform(-1, 1, 2000),
            random.uniform(0.55, 0.72, 2000),
            10 ** random.uniform(-300, 0, 1000),
            1 - 10 ** random.uniform(-16, -1, 1000),
        ]
    )
    mpmath.mp.dps = 30
    exact = [mpmath.asin(mpmath.mpf(float(x))) for x in points]
    worst = max(abs((function(float(x)) - value) / value) for x, value in zip(points, exact, strict=True))
    assert worst < 4e-16


@pytest.mark.parametrize("function", [arcsine, arcsine.py_func])
def test_at_the_ends(function) -> None:
    assert function(1.0) == function(1.0 + 1e-15) == -function(-1.0) == -function(-1.0 - 1e-15) == 0.5 * math.pi
    assert math.copysign(1.0, function(-0.0)) == -1.0
    assert math.isnan(function(math.nan))
