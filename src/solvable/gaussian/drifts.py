"""The Gaussian average <d/dz_j (g'(z_k) e)> of the error e = sum_i s_i g(z_i), for every student k and every field j:

    s_j <g'_k g'_j> + delta_kj sum_i s_i <g''_k g_i>

It is the drift of SGD. The two-field averages are those of `pairs.py`, by rows, which run in vector registers.
"""

import math

from numba import float64, int64, void

from solvable.gaussian.pairs import TWO_OVER_PI
from solvable.gaussian.units import ERF, QUADRATIC
from solvable.numerics.compiled import compiled


@compiled()
def _quadratic(p, C, s, factor, out):
    n = s.size
    tau = 0.0
    for j in range(n):
        tau += s[j] * C[j, j]
    for k in range(p):
        a = 4.0 * factor * s[k]
        for j in range(n):
            out[k, j] = a * s[j] * C[k, j]
        out[k, k] += 0.5 * a * tau


@compiled()
def _erf(p, C, s, factor, out):
    """<g''_k g_i> is -C_ki / (1 + C_kk) <g'_k g'_i>."""
    for k in range(p):
        a, variance, bend = TWO_OVER_PI * factor * s[k], 1.0 + C[k, k], 0.0
        for j in range(s.size):
            term = a * s[j] / math.sqrt(variance * (1.0 + C[j, j]) - C[k, j] * C[k, j])
            out[k, j] = term
            bend += C[k, j] * term
        out[k, k] -= bend / variance


@compiled()
def _linear(p, s, factor, out):
    for k in range(p):
        for j in range(s.size):
            out[k, j] = factor * s[k] * s[j]


@compiled(void(int64, int64, float64[:, ::1], float64[::1], float64, float64[:, ::1]))
def drift(kind, p, C, s, factor, out):
    """Fill the first p rows of `out` (n, n) with the average times factor s_k."""
    if kind == QUADRATIC:
        _quadratic(p, C, s, factor, out)
    elif kind == ERF:
        _erf(p, C, s, factor, out)
    else:
        _linear(p, s, factor, out)
