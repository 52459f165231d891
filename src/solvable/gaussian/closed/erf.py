"""Erf units, g(z) = erf(z/sqrt 2): a slope is a Gaussian, which tilts the law of all fields. With means: `erf_means.py` and
`erf_reverses.py`."""

import math

from solvable.gaussian.erf_means import averages_of_several, averages_with_means, erf_scratch
from solvable.gaussian.erf_reverses import back_averages
from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled

PARITY = -1
TWO_OVER_PI = 2.0 / math.pi
__all__ = ["averages_of_several", "averages_with_means", "back_averages"]


def scratch(fields: int) -> tuple[int, int]:
    """Numbers of scratch for `averages_with_means` and for `back_averages`."""
    return 1 + erf_scratch(fields), fields**2 + 2 * fields


@compiled()
def product(c11, c22, c12):
    return TWO_OVER_PI * arcsine(c12 / math.sqrt((1.0 + c11) * (1.0 + c22)))


@compiled()
def slopes(c11, c22, c12):
    return TWO_OVER_PI / math.sqrt((1.0 + c11) * (1.0 + c22) - c12 * c12)


@compiled()
def curvature(c11, c22, c12):
    """-c12 / (1 + c11) <g'(z1) g'(z2)>."""
    return -c12 / (1.0 + c11) * TWO_OVER_PI / math.sqrt((1.0 + c11) * (1.0 + c22) - c12 * c12)


@compiled()
def drift(p, C, s, factor, out):
    """<g''_k g_i> is -C_ki / (1 + C_kk) <g'_k g'_i>."""
    for k in range(p):
        a, variance, bend = TWO_OVER_PI * factor * s[k], 1.0 + C[k, k], 0.0
        for j in range(s.size):
            term = a * s[j] / math.sqrt(variance * (1.0 + C[j, j]) - C[k, j] * C[k, j])
            out[k, j] = term
            bend += C[k, j] * term
        out[k, k] -= bend / variance


@compiled()
def _tilt(C, s, at_k, at_m, a, b, d, scale, ratio):
    """With rows k and m of C and (1 + C_{kl,kl})^-1 = (d, -b; -b, a): fill `ratio` with the correlations below the diagonal of the
    tilted covariance plus one, `scale` with the inverse roots of its diagonal; what i = j adds to the sum is returned."""
    total, at = 0.0, 0
    for i in range(s.size):
        u, v = d * at_k[i] - b * at_m[i], a * at_m[i] - b * at_k[i]
        left = C[i, i] - u * at_k[i] - v * at_m[i]
        scale[i] = 1.0 / math.sqrt(1.0 + left)
        total += s[i] * s[i] * arcsine(left / (1.0 + left))
    for i in range(s.size):
        r = scale[i]
        u, v = r * (d * at_k[i] - b * at_m[i]), r * (a * at_m[i] - b * at_k[i])
        for j in range(i):
            ratio[at + j] = (r * C[i, j] - u * at_k[j] - v * at_m[j]) * scale[j]
        at += i
    return total


@compiled()
def slopes_times_square(p, C, s, work, out):
    """The slopes tilt the Gaussian: C -> C - C_{.,kl} (1 + C_{kl,kl})^-1 C_{kl,.}; the rest is a two-field average.

    Pairs (i, j) lie in `work` without gaps, first their correlations, then their weights: one long sum over arcsines."""
    n = s.size
    flat, pairs = work.reshape(n * n), n * (n - 1) // 2
    ratio, weight, scale = flat[:pairs], flat[pairs : 2 * pairs], flat[2 * pairs :]
    at = 0
    for i in range(n):
        for j in range(i):
            weight[at + j] = 2.0 * s[i] * s[j]
        at += i
    for k in range(p):
        for m in range(k + 1):
            det = (1.0 + C[k, k]) * (1.0 + C[m, m]) - C[k, m] * C[k, m]
            total = _tilt(C, s, C[k], C[m], (1.0 + C[k, k]) / det, C[k, m] / det, (1.0 + C[m, m]) / det, scale, ratio)
            for i in range(pairs):
                total += weight[i] * arcsine(ratio[i])
            out[k, m] = TWO_OVER_PI * TWO_OVER_PI / math.sqrt(det) * total
            out[m, k] = out[k, m]


@compiled()
def back_product(C, i, j, bar, C_bar):
    slope = bar * slopes(C[i, i], C[j, j], C[i, j])
    C_bar[i, j] += slope
    C_bar[i, i] -= 0.5 * slope * C[i, j] / (1.0 + C[i, i])
    C_bar[j, j] -= 0.5 * slope * C[i, j] / (1.0 + C[j, j])


@compiled()
def back_slopes(C, i, j, bar, C_bar):
    first, second = 1.0 + C[i, i], 1.0 + C[j, j]
    det = first * second - C[i, j] * C[i, j]
    left = bar * TWO_OVER_PI / (det * math.sqrt(det))
    C_bar[i, i] -= 0.5 * left * second
    C_bar[j, j] -= 0.5 * left * first
    C_bar[i, j] += left * C[i, j]


@compiled()
def back_curvature(C, i, j, bar, C_bar):
    """Reverse of -C_ij / (1 + C_ii) <g'_i g'_j>."""
    slope, scale = slopes(C[i, i], C[j, j], C[i, j]), 1.0 / (1.0 + C[i, i])
    C_bar[i, j] -= bar * scale * slope
    C_bar[i, i] += bar * scale * scale * C[i, j] * slope
    back_slopes(C, i, j, -bar * scale * C[i, j], C_bar)


@compiled()
def _back_angles(factor, s, W, root, ratio, W_bar, s_bar):
    """Of factor sum_ij s_i s_j arcsin(W_ij / sqrt((1 + W_ii)(1 + W_jj))), to the lower triangle of W, where entries beside the
    diagonal count for both, and to s; the sum."""
    n, at, total = s.size, 0, 0.0
    for i in range(n):
        root[i] = 1.0 / math.sqrt(1.0 + W[i, i])
        for j in range(i):
            ratio[at + j] = W[i, j] * root[i] * root[j]
        at += i
    angle = ratio[at : 2 * at]
    for i in range(at):
        angle[i] = arcsine(ratio[i])
    at = 0
    for i in range(n):
        cosine = root[i] * math.sqrt(1.0 + 2.0 * W[i, i])
        own = arcsine(W[i, i] * root[i] * root[i])
        along = s[i] * own
        W_bar[i, i] = factor * s[i] * s[i] * root[i] * root[i] * root[i] / cosine
        for j in range(i):
            r, turn = ratio[at + j], angle[at + j]
            slope = 2.0 * factor * s[i] * s[j] / math.sqrt(1.0 - r * r)
            W_bar[i, j] = slope * root[i] * root[j]
            W_bar[i, i] -= 0.5 * slope * r * root[i] * root[i]
            W_bar[j, j] -= 0.5 * slope * r * root[j] * root[j]
            s_bar[j] += 2.0 * factor * s[i] * turn
            along += 2.0 * s[j] * turn
        s_bar[i] += factor * (along + s[i] * own)
        total += s[i] * along
        at += i
    return total


@compiled()
def _back_pair(k, m, weight, C, s, C_bar, s_bar, work):
    """Of weight <g'_k g'_m e^2>: W is the tilted covariance C - P Z P^T with P = C_{.,km} and Z = (1 + C_{km,km})^-1."""
    n = s.size
    W, W_bar, at_k, at_m = work[0], work[1], work[2, 0], work[2, n - 1]
    det = (1.0 + C[k, k]) * (1.0 + C[m, m]) - C[k, m] * C[k, m]
    kk, mm, km = (1.0 + C[m, m]) / det, (1.0 + C[k, k]) / det, -C[k, m] / det
    for i in range(n):
        u, v = kk * C[k, i] + km * C[m, i], km * C[k, i] + mm * C[m, i]
        for j in range(i + 1):
            W[i, j] = C[i, j] - u * C[k, j] - v * C[m, j]
        at_k[i], at_m[i] = 0.0, 0.0
    factor = weight * TWO_OVER_PI * TWO_OVER_PI / math.sqrt(det)
    flat = work[3:5].reshape(2 * n * n)
    whole = -0.5 * factor * _back_angles(factor, s, W, flat[:n], flat[n:], W_bar, s_bar)  # of the logarithm of det
    for i in range(n):  # W_bar P
        for j in range(i):
            half = 0.5 * W_bar[i, j]
            C_bar[i, j] += W_bar[i, j]
            at_k[i] += half * C[k, j]
            at_m[i] += half * C[m, j]
            at_k[j] += half * C[k, i]
            at_m[j] += half * C[m, i]
        C_bar[i, i] += W_bar[i, i]
        at_k[i] += W_bar[i, i] * C[k, i]
        at_m[i] += W_bar[i, i] * C[m, i]
    Y_kk, Y_mm, Y_km = 0.0, 0.0, 0.0  # Y = P^T W_bar P
    for i in range(n):
        Y_kk += C[k, i] * at_k[i]
        Y_mm += C[m, i] * at_m[i]
        Y_km += C[k, i] * at_m[i]
        C_bar[k, i] -= 2.0 * (at_k[i] * kk + at_m[i] * km)
        C_bar[m, i] -= 2.0 * (at_k[i] * km + at_m[i] * mm)
    left_k, left_m = kk * Y_kk + km * Y_km, km * Y_km + mm * Y_mm  # Z Y
    above, below = kk * Y_km + km * Y_mm, km * Y_kk + mm * Y_km
    C_bar[k, k] += left_k * kk + above * km + whole * kk
    C_bar[m, m] += below * km + left_m * mm + whole * mm
    C_bar[k, m] += left_k * km + above * mm + below * kk + left_m * km + 2.0 * whole * km


@compiled()
def back_slopes_times_square(p, C, s, bar, C_bar, s_bar, work):
    for k in range(p):
        for m in range(k + 1):
            weight = bar[k, k] if m == k else bar[k, m] + bar[m, k]
            _back_pair(k, m, weight, C, s, C_bar, s_bar, work)


@compiled()
def mean(h, c):
    return math.erf(h / math.sqrt(2.0 * (1.0 + c)))


@compiled()
def mean_slopes(h, c):
    spread = 1.0 + c
    slope = math.sqrt(2.0 / (math.pi * spread)) * math.exp(-0.5 * h * h / spread)
    return slope, -0.5 * slope * h / spread
