"""The Gaussian average <g'(z_k) g'(z_l) e^2> of the error e = sum_i s_i g(z_i), for every pair (k, l) of students.

It is the noise that SGD adds to the student overlaps (order rate^2). Summing worschech2024's four-field integrals
I4 over (i, j) gives the same number; the closed forms here take the sum inside. Matrices are (n, n), students come
first, and only the leading (p, p) entries of `out` are filled; `work` is scratch.
"""

import math

from numba import float64, int64, void

from solvable.gaussian.pairs import TWO_OVER_PI
from solvable.gaussian.units import ERF, QUADRATIC
from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled


@compiled()
def _quadratic(p, C, s, work, out):
    """R C + 4 tau K + 8 K2, times 4, with M = diag(s), tau = tr(MC), K = CMC, K2 = CMCMC, R = tau^2 + 2 tr(MCMC)."""
    n = s.size
    tau, square = 0.0, 0.0
    for i in range(n):
        tau += s[i] * C[i, i]
        total = 0.0
        for j in range(n):
            total += s[j] * C[i, j] * C[i, j]
        square += s[i] * total
    risk = tau * tau + 2.0 * square
    for k in range(p):
        for j in range(k, n):
            total = 0.0
            for i in range(n):
                total += C[k, i] * s[i] * C[j, i]
            work[k, j] = total
            if j < p:
                work[j, k] = total
    for k in range(p):
        for m in range(k + 1):
            K2 = 0.0
            for j in range(n):
                K2 += work[k, j] * s[j] * C[m, j]
            out[k, m] = 4.0 * (risk * C[k, m] + 4.0 * tau * work[k, m] + 8.0 * K2)
            out[m, k] = out[k, m]


@compiled()
def _erf(p, C, s, work, out):
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
def _linear(p, C, s, out):
    n = s.size
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += s[i] * s[j] * C[i, j]
    for k in range(p):
        for m in range(p):
            out[k, m] = total


@compiled(void(int64, int64, float64[:, ::1], float64[::1], float64[:, ::1], float64[:, ::1]))
def slopes_times_square(kind, p, C, s, work, out):
    if kind == QUADRATIC:
        _quadratic(p, C, s, work, out)
    elif kind == ERF:
        _erf(p, C, s, work, out)
    else:
        _linear(p, C, s, out)
