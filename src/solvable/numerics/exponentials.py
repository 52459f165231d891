"""The exponential function of negative numbers without branches and bits, so that sums over it run in vector registers.

exp x = (exp(x/64))^64: a series for x/64 about the middle of [-40/64, 0], then six squarings, which make rounding of the series 64
times as large, 1e-14 of the value. Below -40 the value is that of -40, 4e-18.
"""

import math

from solvable.numerics.compiled import compiled

LOWEST, MIDDLE = -40.0, -0.3125
LEADING = math.exp(MIDDLE)


@compiled(inline=True)
def exponential(x):
    """exp x for x <= 0, with an absolute error of 2e-14 at most."""
    u = max(x, LOWEST) * 0.015625 - MIDDLE
    P = 1.0 / 479001600.0
    P = P * u + 1.0 / 39916800.0
    P = P * u + 1.0 / 3628800.0
    P = P * u + 1.0 / 362880.0
    P = P * u + 1.0 / 40320.0
    P = P * u + 1.0 / 5040.0
    P = P * u + 1.0 / 720.0
    P = P * u + 1.0 / 120.0
    P = P * u + 1.0 / 24.0
    P = P * u + 1.0 / 6.0
    P = P * u + 0.5
    P = P * u + 1.0
    P = LEADING * (P * u + 1.0)
    P = P * P
    P = P * P
    P = P * P
    P = P * P
    P = P * P
    return P * P
