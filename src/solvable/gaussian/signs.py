"""Two correlated normal variables and their signs: the one integral behind erf units with means and behind signs of labels.

For x, y of unit variance, means mu and nu and correlation rho,

    Cov(sign x, sign y) = (2/pi) int_0^{asin rho} exp( -(mu^2 + nu^2 - 2 mu nu sin t) / (2 cos^2 t) ) dt

because the slope in rho is four times their density at zero. An erf unit is the mean of a sign, erf(z/sqrt 2) = <sign(z + xi)>
with a standard normal xi: so the covariance of two erf units of fields with means m and covariance v is the same with
mu = m_i/sqrt(1 + v_ii), rho = v_ij/sqrt((1 + v_ii)(1 + v_jj)).
The integrand is smooth where |rho| < 1. Gauss-Legendre rules of 6, 8, 12, 16, 32 and 64 nodes are right to 1e-14 up to |rho| =
0.35, 0.5, 0.75, 0.9, 0.98 and 0.995. Sums over pairs take a rule that is good for all of them, so that they run in lanes.
"""

import math

import numpy as np

from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled
from solvable.numerics.exponentials import exponential

TWO_OVER_PI = 2.0 / math.pi
LANES = 8  # of short loops, whose length the compiler must know to use vector registers
COUNTS = np.array([6, 8, 12, 16, 32, 64])  # nodes
ENDS = np.array([0.35, 0.5, 0.75, 0.9, 0.98])  # of |rho|, for all but the last
_RULES = [np.polynomial.legendre.leggauss(nodes) for nodes in COUNTS]
_X = np.concatenate([0.5 + 0.5 * x for x, _ in _RULES])
_W = np.concatenate([0.5 * w for _, w in _RULES])


@compiled(inline=True)
def sine(t):
    """sin t for |t| <= pi/2 by its series, to rounding; no branches, so that sums over it run in vector registers."""
    z = t * t
    P = 1.0 / 51090942171709440000.0
    P = P * z - 1.0 / 121645100408832000.0
    P = P * z + 1.0 / 355687428096000.0
    P = P * z - 1.0 / 1307674368000.0
    P = P * z + 1.0 / 6227020800.0
    P = P * z - 1.0 / 39916800.0
    P = P * z + 1.0 / 362880.0
    P = P * z - 1.0 / 5040.0
    P = P * z + 1.0 / 120.0
    P = P * z - 1.0 / 6.0
    return t + t * z * P


@compiled()
def rule_of(rho):
    """Which rule is good up to this |rho|, and the place of its first node."""
    rule, first = 0, 0
    while rule < ENDS.size and rho > ENDS[rule]:
        first += COUNTS[rule]
        rule += 1
    return rule, first


@compiled()
def integrate(rho, mu, nu, spare):
    """Turn `LANES` correlations into Cov(sign x, sign y) by the rule that is good for all of them; `spare` has three times as many
    numbers."""
    largest = 0.0
    angle, product, squares = spare[:LANES], spare[LANES : 2 * LANES], spare[2 * LANES : 3 * LANES]
    for i in range(LANES):
        largest = max(largest, abs(rho[i]))
        angle[i], rho[i] = arcsine(rho[i]), 0.0
        product[i], squares[i] = mu[i] * nu[i], 0.5 * (mu[i] * mu[i] + nu[i] * nu[i])
    rule, first = rule_of(largest)
    for node in range(first, first + COUNTS[rule]):
        x, w = _X[node], TWO_OVER_PI * _W[node]
        for i in range(LANES):
            s = sine(angle[i] * x)
            rho[i] += w * angle[i] * exponential((product[i] * s - squares[i]) / max(1.0 - s * s, 1e-300))


@compiled()
def nearly_parallel(mu, nu, angle):
    """The integral over t = pi/2 - d for d from `angle` to that of |rho| = ENDS[-1]: panels that halve towards zero."""
    total, low, high = 0.0, max(angle, 1e-9), 0.5 * math.pi - math.asin(ENDS[-1])
    while high > low:
        middle = max(low, 0.5 * high)
        for node in range(COUNTS[0] + COUNTS[1], COUNTS[0] + COUNTS[1] + COUNTS[2]):
            d = middle + (high - middle) * _X[node]
            half, sine_squared = math.sin(0.5 * d), math.sin(d) ** 2
            apart = 0.5 * (mu - nu) ** 2 + 2.0 * mu * nu * half * half
            total += _W[node] * (high - middle) * exponential(-apart / sine_squared)
        high = middle
    return total


@compiled()
def sign_covariance(mu, nu, rho):
    """Cov(sign x, sign y); rounding may have carried |rho| beyond 1, which counts as 1."""
    if rho < 0.0:
        nu, rho, sign = -nu, -rho, -1.0
    else:
        sign = 1.0
    end, total = min(rho, ENDS[-1]), 0.0
    rule, first = rule_of(end)
    angle = arcsine(end)
    for node in range(first, first + COUNTS[rule]):
        s = sine(angle * _X[node])
        total += _W[node] * exponential((mu * nu * s - 0.5 * (mu * mu + nu * nu)) / max(1.0 - s * s, 1e-300))
    total *= angle
    if rho > end:
        total += nearly_parallel(mu, nu, math.acos(min(rho, 1.0)))
    return sign * TWO_OVER_PI * total


@compiled()
def sign_mean(mu):
    """<sign x>."""
    return math.erf(mu * math.sqrt(0.5))
