"""Linear units, g(z) = z."""

from solvable.numerics.compiled import compiled

PARITY = -1


@compiled()
def product(c11, c22, c12):
    return c12


@compiled()
def slopes(c11, c22, c12):
    return 1.0


@compiled()
def curvature(c11, c22, c12):
    return 0.0


@compiled()
def drift(p, C, s, factor, out):
    for k in range(p):
        for j in range(s.size):
            out[k, j] = factor * s[k] * s[j]


@compiled()
def slopes_times_square(p, C, s, work, out):
    n = s.size
    total = 0.0
    for i in range(n):
        for j in range(n):
            total += s[i] * s[j] * C[i, j]
    for k in range(p):
        for m in range(p):
            out[k, m] = total


@compiled()
def back_product(C, i, j, bar, C_bar):
    C_bar[i, j] += bar


@compiled()
def back_slopes(C, i, j, bar, C_bar):
    """The average is constant."""


@compiled()
def back_curvature(C, i, j, bar, C_bar):
    """The average is constant."""


@compiled()
def back_slopes_times_square(p, C, s, bar, C_bar, s_bar, work):
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
def mean(h, c):
    return h


@compiled()
def mean_slopes(h, c):
    return 1.0, 0.0


def scratch(fields: int) -> tuple[int, int]:
    """Numbers of scratch for `averages_with_means` and for `back_averages`."""
    return 0, 0


@compiled()
def averages_with_means(p, fields, error, noise, asked, out, scratch):
    """The error is normal with mean e_0 = s_0 + s.h and variance s C s."""
    (h, C), (s0, s), (D, S, phi, pull) = fields, error, out
    n, with_noise = s.size, asked[0]
    mean, variance, size, terms = s0, 0.0, abs(s0), 0.0
    for i in range(n):
        mean += s[i] * h[i]
        size += abs(s[i] * h[i])
        row = 0.0
        for j in range(n):
            row += C[i, j] * s[j]
            terms += abs(s[i] * C[i, j] * s[j])
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
    return mean * mean + variance, size * size + terms


@compiled()
def back_averages(p, fields, error, noise, bars, asked, averages, to, scratch):
    (h, C), (s0, s), (D_bar, S_bar, phi_bar, pull_bar, square_weight), (h_bar, C_bar, s_bar) = fields, error, bars, to
    n, with_noise, mean, mean_bar, noise_bar = s.size, asked[0], s0, 0.0, 0.0
    for i in range(n):
        mean += s[i] * h[i]
    for k in range(p):
        mean_bar += phi_bar[k] + pull_bar[k] * h[k]
        h_bar[k] += pull_bar[k] * mean
        for j in range(n):
            s_bar[j] += D_bar[k, j] + pull_bar[k] * C[k, j]
            C_bar[k, j] += pull_bar[k] * s[j]
        for m in range(p if with_noise else 0):
            noise_bar += S_bar[k, m]
    square_bar = noise_bar + square_weight
    mean_bar += 2.0 * mean * square_bar
    for i in range(n):
        s_bar[i] += mean_bar * h[i]
        h_bar[i] += mean_bar * s[i]
        for j in range(n):
            C_bar[i, j] += square_bar * s[i] * s[j]
            s_bar[i] += 2.0 * square_bar * C[i, j] * s[j]
    return mean_bar, noise_bar
