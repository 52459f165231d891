"""The averages of `means.py` for erf units, g(z) = erf(z/sqrt 2).

A slope is a Gaussian: it tilts the law of all fields, and what is left has one or two units. With the slopes of k and l, which may
be the same student, and K = (1 + C_{kl,kl})^-1,

    weight  w = (2/pi) det(K)^(1/2) exp(-h_kl K h_kl / 2),    m = h - C_{.,kl} K h_kl,    v = C - C_{.,kl} K C_{kl,.}

and with one slope w = (2/(pi (1 + C_kk)))^(1/2) exp(-h_k^2/(2 (1 + C_kk))) and the like. Then <g_i> and <g_i g_j> are those
of `signs.py` at mu_i = m_i/(1 + v_ii)^(1/2), <g'_i> = (2/(pi (1 + v_ii)))^(1/2) exp(-mu_i^2/2), and
<z_k e> = m_k <e> + sum_j v_kj s_j <g'_j>.
"""

import math

from solvable.gaussian.signs import TWO_OVER_PI, sign_covariance, sign_mean
from solvable.numerics.compiled import compiled


@compiled()
def mean_and_square(s0, s, m, v, mu, scale):
    """<e>, Var e and the size of its terms for z ~ N(m, v); mu and scale = (1 + v_ii)^(-1/2) are filled."""
    mean, variance, size = s0, 0.0, 0.0
    for i in range(s.size):
        scale[i] = 1.0 / math.sqrt(1.0 + v[i, i])
        mu[i] = m[i] * scale[i]
        mean += s[i] * sign_mean(mu[i])
        for j in range(i + 1):
            weight = s[i] * s[j] if i == j else 2.0 * s[i] * s[j]
            if weight != 0.0:
                term = weight * sign_covariance(mu[i], mu[j], v[i, j] * scale[i] * scale[j])
                variance += term
                size += abs(term)
    return mean, variance, size


@compiled()
def tilt_by_one(k, h, C, m, v):
    """Fill m and v; the weight."""
    n, part = h.size, 1.0 / (1.0 + C[k, k])
    for i in range(n):
        m[i] = h[i] - C[i, k] * part * h[k]
        for j in range(n):
            v[i, j] = C[i, j] - C[i, k] * part * C[k, j]
    return math.sqrt(TWO_OVER_PI * part) * math.exp(-0.5 * h[k] * h[k] * part)


@compiled()
def tilt_by_two(k, o, h, C, m, v):
    """Fill m and v; the weight."""
    n, det = h.size, (1.0 + C[k, k]) * (1.0 + C[o, o]) - C[k, o] * C[k, o]
    a, b, d = (1.0 + C[k, k]) / det, C[k, o] / det, (1.0 + C[o, o]) / det
    first, second = d * h[k] - b * h[o], a * h[o] - b * h[k]
    for i in range(n):
        m[i] = h[i] - C[i, k] * first - C[i, o] * second
        x, y = d * C[i, k] - b * C[i, o], a * C[i, o] - b * C[i, k]
        for j in range(i + 1):
            v[i, j] = v[j, i] = C[i, j] - x * C[j, k] - y * C[j, o]
    return TWO_OVER_PI / math.sqrt(det) * math.exp(-0.5 * (h[k] * first + h[o] * second))


@compiled()
def erf_drift(k, fields, error, D, m, v):
    """Fill row k of D; <g'_k e>."""
    (h, C), (s0, s) = fields, error
    weight = tilt_by_one(k, h, C, m, v)
    mean, bend = s0, 0.0
    for j in range(s.size):
        part = 1.0 / (1.0 + v[j, j])
        slope = s[j] * math.sqrt(TWO_OVER_PI * part) * math.exp(-0.5 * m[j] * m[j] * part)
        mean += s[j] * sign_mean(m[j] * math.sqrt(part))
        bend += v[k, j] * slope
        D[k, j] = weight * slope
    D[k, k] -= weight * (m[k] * mean + bend)
    return weight * mean


@compiled()
def erf_averages(p, fields, error, noise, with_noise, out, scratch):
    """See `means.averages_with_means`."""
    (h, C), (s0, s), (D, S, phi, pull) = fields, error, out
    n = s.size
    v, rest = scratch[: n * n].reshape(n, n), scratch[n * n :]
    m, mu, scale = rest[:n], rest[n : 2 * n], rest[2 * n : 3 * n]
    for k in range(p):
        phi[k] = erf_drift(k, fields, error, D, m, v)
        for j in range(k + 1 if with_noise else 0):
            weight = tilt_by_two(k, j, h, C, m, v)
            mean, variance, _ = mean_and_square(s0, s, m, v, mu, scale)
            S[k, j] = S[j, k] = weight * (mean * mean + variance + noise)
    mean, variance, size = mean_and_square(s0, s, h, C, mu, scale)
    for k in range(p):
        pull[k] = sign_mean(mu[k]) * mean
        for j in range(n):
            if s[j] != 0.0:
                pull[k] += s[j] * sign_covariance(mu[k], mu[j], C[k, j] * scale[k] * scale[j])
    return mean * mean + variance, mean * mean + size
