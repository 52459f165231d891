"""The averages of `means.py` for erf units, g(z) = erf(z/sqrt 2).

A slope is a Gaussian: it tilts the law of all fields, and what is left has one or two units. With the slopes of k and l, which may
be the same student, and K = (1 + C_{kl,kl})^-1,

    weight  w = (2/pi) det(K)^(1/2) exp(-h_kl K h_kl / 2),    m = h - C_{.,kl} K h_kl,    v = C - C_{.,kl} K C_{kl,.}

and with one slope w = (2/(pi (1 + C_kk)))^(1/2) exp(-h_k^2/(2 (1 + C_kk))) and the like. Then <g_i> and <g_i g_j> are those
of `signs.py` at mu_i = m_i/(1 + v_ii)^(1/2), <g'_i> = (2/(pi (1 + v_ii)))^(1/2) exp(-mu_i^2/2), and
<z_k e> = m_k <e> + sum_j v_kj s_j <g'_j>. Where all means vanish, the integrals over pairs are arcsines.
"""

import math

from solvable.gaussian.signs import LANES, TWO_OVER_PI, sign_mean, sum_over_pairs
from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled


def erf_scratch(fields: int) -> int:
    """Numbers of scratch for `erf_averages`: means and scales, and four numbers for each pair."""
    return 2 * fields + 4 * (fields * (fields + 1) // 2 + LANES)


@compiled()
def fill_up(count, angle, product, squares, weight):
    """Pairs that fill lanes and add nothing."""
    for i in range(count, angle.size):
        angle[i] = product[i] = squares[i] = weight[i] = 0.0


@compiled(inline=True)
def sum_pairs(largest, shifted, angle, product, squares, weight):
    """Sum of weights times covariances over pairs; where nothing is shifted they are arcsines."""
    if shifted:
        return sum_over_pairs(largest, angle, product, squares, weight)
    total = 0.0
    for i in range(angle.size):
        total += weight[i] * angle[i]
    return TWO_OVER_PI * total


@compiled(inline=True)
def square_tilted(C, error, shifted, tilt, at_k, at_o, vectors, pairs):
    """<e^2> under a tilt (d, b, a, first, second) by the slopes of k and o, whose rows of C are given: K = (d, -b; -b, a), and
    (first, second) is what it makes of their means. Without a tilt all of it is zero. With the sum of |terms| of its variance."""
    (s0, s), (d, b, a, first, second), (h, mu, scale) = error, tilt, vectors
    angle, product, squares, weight = pairs
    n, mean, largest, size, at = s.size, s0, 0.0, 0.0, 0
    for i in range(n):
        x, y = d * at_k[i] - b * at_o[i], a * at_o[i] - b * at_k[i]
        scale[i] = 1.0 / math.sqrt(1.0 + C[i, i] - x * at_k[i] - y * at_o[i])
        mu[i] = (h[i] - at_k[i] * first - at_o[i] * second) * scale[i]
        if shifted:
            mean += s[i] * sign_mean(mu[i])
    for i in range(n):
        r = scale[i]
        x, y = r * (d * at_k[i] - b * at_o[i]), r * (a * at_o[i] - b * at_k[i])
        for j in range(i + 1):
            angle[at + j] = (r * C[i, j] - x * at_k[j] - y * at_o[j]) * scale[j]
            product[at + j] = mu[i] * mu[j]
            squares[at + j] = 0.5 * (mu[i] * mu[i] + mu[j] * mu[j])
            weight[at + j] = 2.0 * s[i] * s[j]
        weight[at + i] = s[i] * s[i]
        at += i + 1
    fill_up(at, angle, product, squares, weight)
    for begin in range(0, angle.size, LANES):
        for i in range(begin, begin + LANES):
            largest = max(largest, abs(angle[i]))
            angle[i] = arcsine(angle[i])
            size += abs(weight[i] * angle[i])
    return mean * mean + sum_pairs(largest, shifted, angle, product, squares, weight), mean * mean + size


@compiled(inline=True)
def tilt_by(k, o, h, C):
    """The tilt by the slopes of k and o, and its weight."""
    det = (1.0 + C[k, k]) * (1.0 + C[o, o]) - C[k, o] * C[k, o]
    a, b, d = (1.0 + C[k, k]) / det, C[k, o] / det, (1.0 + C[o, o]) / det
    first, second = d * h[k] - b * h[o], a * h[o] - b * h[k]
    weight = TWO_OVER_PI / math.sqrt(det) * math.exp(-0.5 * (h[k] * first + h[o] * second))
    return (d, b, a, first, second), weight


@compiled(inline=True)
def erf_drift(k, fields, error, D):
    """Fill row k of D; <g'_k e>."""
    (h, C), (s0, s) = fields, error
    part = 1.0 / (1.0 + C[k, k])
    weight = math.sqrt(TWO_OVER_PI * part) * math.exp(-0.5 * h[k] * h[k] * part)
    mean, bend = s0, 0.0
    for j in range(s.size):
        m, left = h[j] - C[k, j] * part * h[k], 1.0 / (1.0 + C[j, j] - C[k, j] * part * C[k, j])
        slope = s[j] * math.sqrt(TWO_OVER_PI * left) * math.exp(-0.5 * m * m * left)
        mean += s[j] * sign_mean(m * math.sqrt(left))
        bend += C[k, j] * part * slope
        D[k, j] = weight * slope
    D[k, k] -= weight * (h[k] * part * mean + bend)
    return weight * mean


@compiled(inline=True)
def erf_pull(k, C, error, shifted, mu, scale, pairs):
    """<g_k e> of fields without tilt, whose mu and scale are given."""
    s0, s = error
    angle, product, squares, weight = pairs
    n, mean, largest = s.size, s0, 0.0
    for j in range(n):
        rho = C[k, j] * scale[k] * scale[j]
        largest = max(largest, abs(rho))
        mean += s[j] * sign_mean(mu[j])
        angle[j], weight[j] = arcsine(rho), s[j]
        product[j], squares[j] = mu[k] * mu[j], 0.5 * (mu[k] * mu[k] + mu[j] * mu[j])
    count = n + -n % LANES
    angle, product, squares, weight = angle[:count], product[:count], squares[:count], weight[:count]
    fill_up(n, angle, product, squares, weight)
    found = sum_pairs(largest, shifted, angle, product, squares, weight)
    return sign_mean(mu[k]) * mean + found


@compiled()
def erf_averages(p, fields, error, noise, asked, out, scratch):
    """See `means.averages_with_means`."""
    (h, C), (_, s), (D, S, phi, pull) = fields, error, out
    n, (with_noise, with_rest) = s.size, asked
    count = n * (n + 1) // 2
    count += -count % LANES
    mu, scale, rest = scratch[:n], scratch[n : 2 * n], scratch[2 * n :]
    vectors = h, mu, scale
    pairs = rest[:count], rest[count : 2 * count], rest[2 * count : 3 * count], rest[3 * count : 4 * count]
    shifted = False
    for i in range(n):
        shifted = shifted or h[i] != 0.0
    for k in range(p):
        phi[k] = erf_drift(k, fields, error, D)
        for j in range(k + 1 if with_noise else 0):
            tilt, weight = tilt_by(k, j, h, C)
            square, _ = square_tilted(C, error, shifted, tilt, C[k], C[j], vectors, pairs)
            S[k, j] = S[j, k] = weight * (square + noise)
    if not with_rest:
        return 0.0, 0.0
    square, size = square_tilted(C, error, shifted, (0.0, 0.0, 0.0, 0.0, 0.0), h, h, vectors, pairs)
    for k in range(p):
        pull[k] = erf_pull(k, C, error, shifted, mu, scale, pairs)
    return square, size
