"""How the averages that learning is made of answer to the covariance and to the weights: their reverse.

Everything here adds to `C_bar` and `s_bar` the derivatives of sum (bar * average), where `bar` weighs the averages of `pairs.py`,
`drifts.py` and `squares.py`. Entries of `C_bar` are those of independent entries of C; only their sum over (i, j) and (j, i) has a
meaning, because C is symmetric.
"""

import math

from solvable.gaussian.pairs import TWO_OVER_PI, curvature, product, slopes
from solvable.gaussian.units import ERF, QUADRATIC
from solvable.numerics.arcsine import arcsine
from solvable.numerics.compiled import compiled


@compiled()
def back_product(kind, C, i, j, bar, C_bar):
    """Of <g_i g_j>."""
    if kind == QUADRATIC:
        C_bar[i, i] += bar * C[j, j]
        C_bar[j, j] += bar * C[i, i]
        C_bar[i, j] += 4.0 * bar * C[i, j]
    elif kind == ERF:
        slope = bar * slopes(kind, C[i, i], C[j, j], C[i, j])
        C_bar[i, j] += slope
        C_bar[i, i] -= 0.5 * slope * C[i, j] / (1.0 + C[i, i])
        C_bar[j, j] -= 0.5 * slope * C[i, j] / (1.0 + C[j, j])
    else:
        C_bar[i, j] += bar


@compiled()
def back_slopes(kind, C, i, j, bar, C_bar):
    """Of <g'_i g'_j>."""
    if kind == QUADRATIC:
        C_bar[i, j] += 4.0 * bar
    elif kind == ERF:
        first, second = 1.0 + C[i, i], 1.0 + C[j, j]
        det = first * second - C[i, j] * C[i, j]
        left = bar * TWO_OVER_PI / (det * math.sqrt(det))
        C_bar[i, i] -= 0.5 * left * second
        C_bar[j, j] -= 0.5 * left * first
        C_bar[i, j] += left * C[i, j]


@compiled()
def back_curvature(kind, C, i, j, bar, C_bar):
    """Of <g''_i g_j>, which for erf is -C_ij / (1 + C_ii) <g'_i g'_j>."""
    if kind == QUADRATIC:
        C_bar[j, j] += 2.0 * bar
    elif kind == ERF:
        slope, scale = slopes(kind, C[i, i], C[j, j], C[i, j]), 1.0 / (1.0 + C[i, i])
        C_bar[i, j] -= bar * scale * slope
        C_bar[i, i] += bar * scale * scale * C[i, j] * slope
        back_slopes(kind, C, i, j, -bar * scale * C[i, j], C_bar)


@compiled()
def back_drift(kind, p, C, s, a, factor, bar, C_bar, s_bar, a_bar):
    """Of factor a_k ( s_j <g'_k g'_j> + delta_kj sum_i s_i <g''_k g_i> ), which `bar` (p, n) weighs."""
    for k in range(p):
        along = 0.0
        for j in range(s.size):
            weight = factor * bar[k, j]
            slope = slopes(kind, C[k, k], C[j, j], C[k, j])
            back_slopes(kind, C, k, j, weight * a[k] * s[j], C_bar)
            s_bar[j] += weight * a[k] * slope
            along += weight * s[j] * slope
        weight = factor * bar[k, k]
        for i in range(s.size):
            bend = curvature(kind, C[k, k], C[i, i], C[k, i])
            back_curvature(kind, C, k, i, weight * a[k] * s[i], C_bar)
            s_bar[i] += weight * a[k] * bend
            along += weight * s[i] * bend
        a_bar[k] += along


@compiled()
def back_square(kind, C, s, weight, C_bar, s_bar):
    """Of weight <e^2>."""
    n = s.size
    for i in range(n):
        total = 0.0
        for j in range(n):
            back_product(kind, C, i, j, weight * s[i] * s[j], C_bar)
            total += s[j] * product(kind, C[i, i], C[j, j], C[i, j])
        s_bar[i] += 2.0 * weight * total


@compiled()
def _quadratic(p, C, s, bar, C_bar, s_bar, work):
    """With E the symmetric part of `bar`, H = E C and X = H M C (p, n), V = C E C (n, n): of sum (E * 4 (R C + 4 tau K + 8 K2))."""
    n = s.size
    E, H, V, X = work[0], work[1], work[2], work[3]
    tau, square, along, with_K = 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        row = 0.0
        for j in range(n):
            row += s[j] * C[i, j] * C[i, j]
        tau += s[i] * C[i, i]
        square += s[i] * row
        V[0, i] = row  # K_ii, for a while
    for k in range(p):
        for j in range(n):
            H[k, j] = 0.0
        for m in range(p):
            E[k, m] = 0.5 * (bar[k, m] + bar[m, k])
            along += E[k, m] * C[k, m]
            for j in range(n):
                H[k, j] += E[k, m] * C[m, j]
    risk = tau * tau + 2.0 * square
    for i in range(n):
        s_bar[i] += along * (8.0 * tau * C[i, i] + 16.0 * V[0, i])
    for k in range(p):
        for j in range(n):
            X[k, j] = 0.0
        for i in range(n):
            left = H[k, i] * s[i]
            with_K += left * C[k, i]
            for j in range(n):
                X[k, j] += left * C[i, j]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(p):
                total += C[i, k] * H[k, j]
            V[i, j] = V[j, i] = total
    for i in range(n):
        turn = 0.0  # (C E C M C)_ii
        for j in range(n):
            turn += V[i, j] * s[j] * C[i, j]
            C_bar[i, j] += s[i] * s[j] * (16.0 * along * C[i, j] + 32.0 * V[i, j])
        C_bar[i, i] += (8.0 * tau * along + 16.0 * with_K) * s[i]
        s_bar[i] += 16.0 * (with_K * C[i, i] + tau * V[i, i]) + 64.0 * turn
    for k in range(p):
        for j in range(p):
            C_bar[k, j] += 4.0 * risk * E[k, j]
        for j in range(n):
            C_bar[k, j] += (32.0 * tau * H[k, j] + 64.0 * X[k, j]) * s[j]  # with the transpose, which counts the same


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
def _erf_pair(k, m, weight, C, s, C_bar, s_bar, work):
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
def _linear(p, C, s, bar, C_bar, s_bar):
    weight = 0.0
    for k in range(p):
        for m in range(p):
            weight += bar[k, m]
    for i in range(s.size):
        total = 0.0
        for j in range(s.size):
            C_bar[i, j] += weight * s[i] * s[j]
            total += C[i, j] * s[j]
        s_bar[i] += 2.0 * weight * total


@compiled()
def back_slopes_times_square(kind, p, C, s, bar, C_bar, s_bar, work):
    """Of <g'_k g'_l e^2>, which `bar` (p, p) weighs; `work` are five planes (n, n) of scratch."""
    if kind == QUADRATIC:
        _quadratic(p, C, s, bar, C_bar, s_bar, work)
    elif kind == ERF:
        for k in range(p):
            for m in range(k + 1):
                weight = bar[k, k] if m == k else bar[k, m] + bar[m, k]
                _erf_pair(k, m, weight, C, s, C_bar, s_bar, work)
    else:
        _linear(p, C, s, bar, C_bar, s_bar)
