"""The averages of `means.py` over two fields for ReLU units, g(z) = max(z, 0) with slope Theta: all but S.

For x and y with means h, standard deviations r and covariance c, by Stein's lemma:

    <Theta_x Theta_y>   (1 + <sign x> + <sign y> + <sign x sign y>)/4, by `signs.py`
    <delta_x Theta_y>   f_x Phi(m/v),     <delta_x y+> = f_x (m Phi(m/v) + v phi(m/v))
    <Theta_x y+>        h_y <Theta_x Theta_y> + r_y^2 <Theta_x delta_y> + c <delta_x Theta_y>
    <x+ y+>             h_x <Theta_x y+> + r_x^2 <delta_x y+> + c <Theta_x Theta_y>

with the density f_x of x at zero, and mean m = h_y - c h_x/r_x^2 and deviation v of y where x is zero. A field without variance has
slope one half where it vanishes.
"""

import math

from solvable.gaussian.signs import sign_covariance
from solvable.numerics.compiled import compiled

ROOT_HALF, ROOT_TWO_PI = math.sqrt(0.5), math.sqrt(2.0 * math.pi)
LEAST = 1e-200  # variance below which there is none


@compiled()
def step_mean(mean, deviation):
    """<Theta(z)> of one field."""
    if deviation > 0.0:
        return 0.5 + 0.5 * math.erf(ROOT_HALF * mean / deviation)
    return 1.0 if mean > 0.0 else 0.5 if mean == 0.0 else 0.0


@compiled()
def ramp_mean(mean, deviation):
    """<max(z, 0)> of one field."""
    found = mean * step_mean(mean, deviation)
    if deviation > 0.0:
        found += deviation / ROOT_TWO_PI * math.exp(-0.5 * (mean / deviation) ** 2)
    return found


@compiled()
def at_zero(mean, variance):
    """The density of a field at zero."""
    if variance <= LEAST:
        return 0.0
    return math.exp(-0.5 * mean * mean / variance) / (ROOT_TWO_PI * math.sqrt(variance))


@compiled()
def given_zero(x, y, h, C):
    """Mean and deviation of field y where field x is zero."""
    if C[x, x] <= LEAST:
        return h[y], math.sqrt(max(C[y, y], 0.0))
    part = C[x, y] / C[x, x]
    return h[y] - part * h[x], math.sqrt(max(C[y, y] - part * C[x, y], 0.0))


@compiled()
def steps_mean(x, y, h, C):
    """<Theta_x Theta_y>."""
    first, second = step_mean(h[x], math.sqrt(max(C[x, x], 0.0))), step_mean(h[y], math.sqrt(max(C[y, y], 0.0)))
    if C[x, x] <= LEAST or C[y, y] <= LEAST:
        return first * second
    r, q = math.sqrt(C[x, x]), math.sqrt(C[y, y])
    return first * second + 0.25 * sign_covariance(h[x] / r, h[y] / q, C[x, y] / (r * q))


@compiled()
def relu_pair(x, y, h, C):
    """<Theta_x Theta_y>, <Theta_x y+>, <delta_x y+> and <x+ y+>, of different fields."""
    m, v = given_zero(x, y, h, C)
    back, spread = given_zero(y, x, h, C)
    f, d = at_zero(h[x], C[x, x]), at_zero(h[y], C[y, y])
    steps, bent = steps_mean(x, y, h, C), f * ramp_mean(m, v)
    ramp = h[y] * steps + C[y, y] * d * step_mean(back, spread) + C[x, y] * f * step_mean(m, v)
    return steps, ramp, bent, h[x] * ramp + C[x, x] * bent + C[x, y] * steps


@compiled()
def relu_averages(p, fields, error, out):
    """Fill D, phi and pull of `out`; <e^2> and the size of its terms."""
    (h, C), (s0, s), (D, _, phi, pull) = fields, error, out
    n, square, size = s.size, s0 * s0, s0 * s0
    for k in range(n):
        deviation = math.sqrt(max(C[k, k], 0.0))
        step, ramp = step_mean(h[k], deviation), ramp_mean(h[k], deviation)
        own = h[k] * ramp + C[k, k] * step
        mean, bend, total = s0 * step + s[k] * ramp, s0 * at_zero(h[k], C[k, k]), s0 * ramp + s[k] * own
        square += s[k] * (2.0 * s0 * ramp + s[k] * own)
        size += abs(s[k] * (2.0 * s0 * ramp)) + s[k] * s[k] * own
        for j in range(n):
            if j != k and (s[j] != 0.0 or k < p):
                steps, other, bent, product = relu_pair(k, j, h, C)
                mean += s[j] * other
                bend += s[j] * bent
                total += s[j] * product
                square += s[k] * s[j] * product
                size += abs(s[k] * s[j] * product)
                if k < p:
                    D[k, j] = s[j] * steps
        if k < p:
            D[k, k], phi[k], pull[k] = s[k] * step + bend, mean, total
    return square, size
