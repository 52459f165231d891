"""Gaussian averages of one step where fields have means, z ~ N(h, C), in closed form for linear, quadratic and erf units.

The error is e = s_0 + sum_i s_i g(z_i). For every student k, and every field j or student l:

    D_kj     <d/dz_j (g'_k e)> = s_j <g'_k g'_j> + delta_kj <g''_k e>
    S_kl     <g'_k g'_l (e^2 + Delta)>
    phi_k    <g'_k e>            pull_k    <g_k e>            square    <e^2>

At h = 0 and s_0 = 0 they are those of `drifts.py`, `squares.py` and `pairs.py`. Fields are (h, C), the error is (s_0, s), what is
filled is (D, S, phi, pull); students come first. `asked` says whether S is wanted, and whether the pull and the square are, which
is returned with the size of its terms.

Linear units: e is normal with mean e_0 = s_0 + s.h and variance s C s. Quadratic units, with M = diag s, u = 2 M h,
e_0 = s_0 + h M h + tr MC and G = C + h h^T, by Wick's theorem for z = h + zeta:

    <e^2>        = e_0^2 + u C u + 2 tr(MCMC)
    <z_k e>      = e_0 h_k + (Cu)_k
    <z_k^2 e>    = e_0 G_kk + 2 h_k (Cu)_k + 2 (CMC)_kk
    <z z^T e^2>  = <e^2> G + 2 e_0 (h (Cu)^T + Cu h^T + 2 CMC) + 2 Cu (Cu)^T + 4 (h (CMCu)^T + CMCu h^T) + 8 CMCMC
"""

from solvable.gaussian.erf_means import erf_averages, erf_scratch
from solvable.gaussian.units import ERF, QUADRATIC
from solvable.numerics.compiled import compiled


def mean_scratch(fields: int) -> int:
    """Numbers of scratch for `averages_with_means`."""
    return max(fields**2 + 2 * fields, 1 + erf_scratch(fields))


@compiled()
def linear_averages(p, fields, error, noise, asked, out):
    (h, C), (s0, s), (D, S, phi, pull) = fields, error, out
    n, with_noise = s.size, asked[0]
    mean, variance, size = s0, 0.0, abs(s0)
    for i in range(n):
        mean += s[i] * h[i]
        size += abs(s[i] * h[i])
        row = 0.0
        for j in range(n):
            row += C[i, j] * s[j]
        variance += s[i] * row
        if i < p:
            pull[i] = row
    for k in range(p):
        phi[k] = mean
        pull[k] += h[k] * mean
        for j in range(n):
            D[k, j] = s[j]
        for m in range(p if with_noise else 0):
            S[k, m] = mean * mean + variance + noise
    return mean * mean + variance, size * size + abs(variance)


@compiled()
def quadratic_vectors(fields, error, K, x, y):
    """Fill x = Cu, K = CMC and y = CMCu; returns e_0, <e^2> and the size of its terms."""
    (h, C), (s0, s) = fields, error
    n = s.size
    mean, square, size = s0, 0.0, abs(s0)
    for i in range(n):
        mean += s[i] * (h[i] * h[i] + C[i, i])
        size += abs(s[i]) * (h[i] * h[i] + C[i, i])
        total = 0.0
        for j in range(n):
            total += 2.0 * s[j] * h[j] * C[i, j]
        x[i] = total
        for j in range(i + 1):
            total = 0.0
            for k in range(n):
                total += C[i, k] * s[k] * C[j, k]
            K[i, j] = K[j, i] = total
    size = size * size
    for i in range(n):
        terms = 2.0 * s[i] * (h[i] * x[i] + K[i, i])
        square += terms
        size += abs(terms)
        total = 0.0
        for j in range(n):
            total += 2.0 * s[j] * h[j] * K[i, j]
        y[i] = total
    return mean, mean * mean + square, size


@compiled()
def quadratic_averages(p, fields, error, noise, asked, out, scratch):
    (h, C), (_, s), (D, S, phi, pull) = fields, error, out
    n, with_noise = s.size, asked[0]
    K, x, y = scratch[: n * n].reshape(n, n), scratch[n * n : n * n + n], scratch[n * n + n : n * n + 2 * n]
    mean, square, size = quadratic_vectors(fields, error, K, x, y)
    for k in range(p):
        phi[k] = 2.0 * (mean * h[k] + x[k])
        pull[k] = mean * (C[k, k] + h[k] * h[k]) + 2.0 * h[k] * x[k] + 2.0 * K[k, k]
        for j in range(n):
            D[k, j] = 4.0 * s[j] * (C[k, j] + h[k] * h[j])
        D[k, k] += 2.0 * mean
        for m in range(k + 1 if with_noise else 0):
            found = (square + noise) * (C[k, m] + h[k] * h[m])
            found += 2.0 * mean * (h[k] * x[m] + x[k] * h[m] + 2.0 * K[k, m]) + 2.0 * x[k] * x[m]
            found += 4.0 * (h[k] * y[m] + y[k] * h[m])
            K2 = 0.0
            for j in range(n):
                K2 += K[k, j] * s[j] * C[m, j]
            S[k, m] = S[m, k] = 4.0 * (found + 8.0 * K2)
    return square, size


@compiled()
def averages_with_means(kind, p, fields, error, noise, asked, out, scratch):
    """<e^2> and the size of its terms; `out` is filled."""
    if kind == QUADRATIC:
        return quadratic_averages(p, fields, error, noise, asked, out, scratch)
    if kind == ERF:
        (s0, s), (D, S, phi, pull), n, k = error, out, error[1].size, out[0].shape[0]
        scratch[0] = s0
        alone = D.reshape(1, k, n), S.reshape(1, k, k), phi.reshape(1, phi.size), pull.reshape(1, pull.size)
        return erf_averages(p, fields, (scratch[:1], s.reshape(1, n)), noise, asked, alone, scratch[1:])
    return linear_averages(p, fields, error, noise, asked, out)
