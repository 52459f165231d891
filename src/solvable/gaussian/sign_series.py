"""The covariance of the signs of two correlated normal variables (`signs.py`) as a series in their correlation.

Its slope in rho is four times their density at zero, which is Mehler's series, so that with phi the normal density

    Cov(sign x, sign y) = sum_n rho^(n+1) u_n(mu) u_n(nu),       u_n(mu) = 2 phi(mu) He_n(mu) / ((n + 1) n!)^(1/2)
    u_(n+1) = ( mu u_n - n u_(n-1) / (n + 1)^(1/2) ) / (n + 2)^(1/2)

Each factor belongs to one variable: many pairs of few variables cost two operations for each term. Cramer's bound
|He_n| <= 1.087 (n!)^(1/2) exp(mu^2/4) says that what is left after N terms is at most 0.752 |rho|^(N+1) / ((N + 1) (1 - |rho|)),
whatever the means: `TERMS` are those that leave 1e-13 up to |rho| = `LIMITS`. Values are eight lanes wide.
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import any_above, fill, fma, load, store, where_above

LIMITS = np.array([0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])


def _terms(rho: float, left: float = 1e-13) -> int:
    count = 1
    while 0.752 * rho ** (count + 1) / ((count + 1) * (1 - rho)) > left:
        count += 1
    return count


TERMS = np.array([_terms(rho) for rho in LIMITS])
MOST = int(TERMS[-1])
_FORTH = np.array([1 / math.sqrt(n + 2) for n in range(MOST)])
_BACK = np.array([-n / math.sqrt((n + 1) * (n + 2)) for n in range(MOST)])


@compiled(inline=True)
def limit_of(rho):
    """The number of the least limit that no |rho| is beyond; one more than the last if there is none."""
    size, number = where_above(rho, fill(0.0), rho, 0.0 - rho), 0
    while number < LIMITS.size and any_above(size, fill(LIMITS[number])):
        number += 1
    return number


@compiled(inline=True)
def fill_series(mu, first, count, series, at):
    """Slots of u_0, which is `first`, to u_(count-1)."""
    before, now = fill(0.0), first
    store(series, at, now)
    for n in range(count - 1):
        before, now = now, fma(mu * _FORTH[n], now, before * _BACK[n])
        store(series, at + n + 1, now)


@compiled(inline=True)
def sum_series(rho, count, series, one, other):
    """The covariance, from the series that begin at these slots."""
    total = fill(0.0)
    for n in range(count - 1, -1, -1):
        total = fma(total, rho, load(series, one + n) * load(series, other + n))
    return total * rho
