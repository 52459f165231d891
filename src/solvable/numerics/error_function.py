"""erf(x/sqrt 2) and its slope for eight numbers at once, without branches.

Up to |x| = 1.5 it is x P(x^2), so that small numbers keep their digits; beyond, 1 - exp(-x^2/2) R(t) with t = (|x| - 5)/(|x| + 5).
P and R interpolate at the zeros of Chebyshev polynomials: P has an error of 2e-17, R of 1e-17 up to |x| = 9, where the value is
one. What the exponential errs by, 1e-14 of the value, is that of `exponentials.py`, whose series and squarings these are.
"""

import math

from solvable.numerics.compiled import compiled
from solvable.numerics.exponentials import LEADING, LOWEST, MIDDLE
from solvable.numerics.lanes import fill, fma, where_above

_EXP = tuple(LEADING / math.factorial(n) for n in range(13))
_NEAR = (
    0.7978845608028653, -0.13298076013380833, 0.01994711402001724, -0.0023746564305073764, 0.00023086937327658347,
    -1.888930753577754e-05, 1.3319306365695283e-06, -8.244472388360657e-08, 4.540875464198647e-09, -2.2306663284948366e-10,
    9.311260992672812e-12, -2.5455681847170876e-13,
)  # fmt: skip
_FAR = (
    0.15383860995001258, -0.28691511052802415, 0.23213762377201097, -0.1617677545281957, 0.09571070456785187,
    -0.046827800980554134, 0.017982741117705845, -0.00475768851208793, 0.0004391013794284533, 0.0002685499226308743,
    -0.00012085954305537694, 1.9531023116443574e-06, 1.337064465688907e-05, -2.578837602893183e-06, -1.7290746014857499e-06,
)  # fmt: skip
EDGE, END, CENTRE = 1.5, 9.0, 5.0
SLOPE = math.sqrt(2.0 / math.pi)


@compiled(inline=True)
def horner(coefficients, x):
    total = fill(coefficients[-1])
    for i in range(len(coefficients) - 2, -1, -1):
        total = fma(total, x, fill(coefficients[i]))
    return total


@compiled(inline=True)
def exponentials(x):
    """exp x for x <= 0; see `exponentials.exponential`."""
    lowest = fill(LOWEST)
    P = horner(_EXP, where_above(lowest, x, lowest, x) * 0.015625 - MIDDLE)
    for _ in range(6):
        P = P * P
    return P


@compiled(inline=True)
def erf_with_slope(x):
    """erf(x/sqrt 2), and sqrt(2/pi) exp(-x^2/2)."""
    zero, end = fill(0.0), fill(END)
    size = where_above(x, zero, x, 0.0 - x)
    size = where_above(size, end, end, size)
    z = size * size
    fall = exponentials(-0.5 * z)
    far = 1.0 - fall * horner(_FAR, (size - CENTRE) / (size + CENTRE))
    value = where_above(size, fill(EDGE), far, size * horner(_NEAR, z))
    return where_above(x, zero, value, 0.0 - value), SLOPE * fall
