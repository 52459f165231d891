"""The exponential function without branches, so that sums over it run in vector registers.

exp x = 2^n exp r with n the nearest whole number to x / log 2: adding 1.5 2^52 rounds and leaves n in the last bits, which become
an exponent. The series of exp r for |r| <= log(2)/2 has terms up to the 13th power, after which 4e-18 is left.
"""

import numpy as np

from solvable.numerics.compiled import compiled

PER_LOG_2 = 1.4426950408889634
LOG_2, REST = 0.693147180369123816490, 1.90821492927058770002e-10  # in two parts, the first with zeros at its end
ROUND = 1.5 * 2.0**52
LOWEST = -708.0
BIAS, EXPONENT = np.uint64(1023), np.uint64(52)


@compiled(strict=True, inline=True)
def exponential(x):
    """exp x for x up to 700; below -708, where it underflows, its value there."""
    x = max(x, LOWEST)
    shifted = x * PER_LOG_2 + ROUND
    n = shifted - ROUND
    r = (x - n * LOG_2) - n * REST
    P = 1.0 / 6227020800.0
    P = P * r + 1.0 / 479001600.0
    P = P * r + 1.0 / 39916800.0
    P = P * r + 1.0 / 3628800.0
    P = P * r + 1.0 / 362880.0
    P = P * r + 1.0 / 40320.0
    P = P * r + 1.0 / 5040.0
    P = P * r + 1.0 / 720.0
    P = P * r + 1.0 / 120.0
    P = P * r + 1.0 / 24.0
    P = P * r + 1.0 / 6.0
    P = P * r + 0.5
    P = P * r + 1.0
    P = P * r + 1.0
    power = (np.float64(shifted).view(np.uint64) + BIAS) << EXPONENT
    return P * np.uint64(power).view(np.float64)
