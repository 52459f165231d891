"""Quadratic units, g(z) = z^2.

With means, M = diag(s), u = 2 M h, e_0 = s_0 + h M h + tr MC and G = C + h h^T, by Wick's theorem for z = h + zeta:

    <e^2>        = e_0^2 + u C u + 2 tr(MCMC)
    <z_k e>      = e_0 h_k + (Cu)_k
    <z_k^2 e>    = e_0 G_kk + 2 h_k (Cu)_k + 2 (CMC)_kk
    <z z^T e^2>  = <e^2> G + 2 e_0 (h (Cu)^T + Cu h^T + 2 CMC) + 2 Cu (Cu)^T + 4 (h (CMCu)^T + CMCu h^T) + 8 CMCMC
"""

from solvable.numerics.compiled import compiled

PARITY = 1


@compiled()
def product(c11, c22, c12):
    return c11 * c22 + 2.0 * c12 * c12


@compiled()
def slopes(c11, c22, c12):
    return 4.0 * c12


@compiled()
def curvature(c11, c22, c12):
    return 2.0 * c22


@compiled()
def error_square(C, s):
    """Centred first: the plain sum of products cancels near zero risk."""
    total, tau, size = 0.0, 0.0, 0.0
    for i in range(s.size):
        tau += s[i] * C[i, i]
        row, positive = 0.0, 0.0
        for j in range(s.size):
            square = C[i, j] * C[i, j]
            row += s[j] * square
            positive += abs(s[j]) * square
        total += 2.0 * s[i] * row
        size += 2.0 * abs(s[i]) * positive
    return tau * tau + total, tau * tau + size


@compiled()
def drift(p, C, s, factor, out):
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
def slopes_times_square(p, C, s, work, out):
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
def back_product(C, i, j, bar, C_bar):
    C_bar[i, i] += bar * C[j, j]
    C_bar[j, j] += bar * C[i, i]
    C_bar[i, j] += 4.0 * bar * C[i, j]


@compiled()
def back_slopes(C, i, j, bar, C_bar):
    C_bar[i, j] += 4.0 * bar


@compiled()
def back_curvature(C, i, j, bar, C_bar):
    C_bar[j, j] += 2.0 * bar


@compiled()
def back_slopes_times_square(p, C, s, bar, C_bar, s_bar, work):
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
def mean(h, c):
    return h * h + c


@compiled()
def mean_slopes(h, c):
    return 2.0 * h, 1.0


def scratch(fields: int) -> tuple[int, int]:
    """Numbers of scratch for `averages_with_means` and for `back_averages`."""
    return fields**2 + 2 * fields, 5 * fields**2 + 8 * fields


@compiled()
def _vectors(fields, error, K, x, y):
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
def averages_with_means(p, fields, error, noise, asked, out, scratch):
    (h, C), (_, s), (D, S, phi, pull) = fields, error, out
    n, with_noise = s.size, asked[0]
    K, x, y = scratch[: n * n].reshape(n, n), scratch[n * n : n * n + n], scratch[n * n + n : n * n + 2 * n]
    mean, square, size = _vectors(fields, error, K, x, y)
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
def _back_noise(p, fields, s, known, S_bar, to, planes, vectors):
    """Of sum (S_bar * S): E = 4 times its symmetric part, H = E C, X = H M C (p, n), V = C E C. Adds to h_bar, C_bar and s_bar what
    does not go by way of the mean error, of <e^2>, of x = Cu, K = CMC and y = Ku: their weights are returned or left in `vectors`;
    that of K is 4 mean E. `known` = (x, y, mean error, <e^2> + Delta)."""
    (h, C), (x, y, mean, square), (h_bar, C_bar, s_bar) = fields, known, to
    (E, H, V, X), (x_bar, y_bar, Eh, Ex, Ey) = planes, vectors
    n, mean_bar, square_bar = s.size, 0.0, 0.0
    for k in range(p):
        Eh[k] = Ex[k] = Ey[k] = 0.0
        for j in range(n):
            H[k, j] = 0.0
        for m in range(p):
            E[k, m] = 2.0 * (S_bar[k, m] + S_bar[m, k])
            Eh[k] += E[k, m] * h[m]
            Ex[k] += E[k, m] * x[m]
            Ey[k] += E[k, m] * y[m]
            square_bar += E[k, m] * (C[k, m] + h[k] * h[m])
            C_bar[k, m] += square * E[k, m]
            for j in range(n):
                H[k, j] += E[k, m] * C[m, j]
    for k in range(p):
        mean_bar += 4.0 * h[k] * Ex[k]
        h_bar[k] += 2.0 * square * Eh[k] + 4.0 * mean * Ex[k] + 8.0 * Ey[k]
        x_bar[k] += 4.0 * mean * Eh[k] + 4.0 * Ex[k]
        y_bar[k] += 8.0 * Eh[k]
        for j in range(n):
            X[k, j] = 0.0
        for i in range(n):
            left = H[k, i] * s[i]
            mean_bar += 4.0 * left * C[k, i]
            for j in range(n):
                X[k, j] += left * C[i, j]
    for i in range(n):
        for j in range(i + 1):
            total = 0.0
            for k in range(p):
                total += C[i, k] * H[k, j]
            V[i, j] = V[j, i] = total
    for i in range(n):
        turn = 0.0
        for j in range(n):
            turn += V[i, j] * s[j] * C[i, j]
            C_bar[i, j] += 8.0 * s[i] * V[i, j] * s[j]
        s_bar[i] += 16.0 * turn + 4.0 * mean * V[i, i]  # the second by way of K
    for k in range(p):
        for j in range(n):
            C_bar[k, j] += (16.0 * X[k, j] + 8.0 * mean * H[k, j]) * s[j]  # the second by way of K, with its transpose
    return mean_bar, square_bar


@compiled()
def _back_y(C, s, h, x, y_bar, C_bar, s_bar):
    """Of y_bar . C M C u by way of C and M; by way of u it has been counted."""
    n = s.size
    for i in range(n):
        seen = 0.0
        for j in range(n):
            seen += C[i, j] * y_bar[j]
        s_bar[i] += seen * x[i]
        for j in range(n):
            C_bar[i, j] += s[i] * seen * 2.0 * s[j] * h[j]
            C_bar[i, j] += y_bar[i] * s[j] * x[j]


@compiled()
def back_averages(p, fields, error, noise, bars, asked, averages, to, scratch):
    (h, C), (_, s), (D_bar, S_bar, phi_bar, pull_bar, square_weight), (h_bar, C_bar, s_bar) = fields, error, bars, to
    n, (with_noise, with_pull) = s.size, asked
    planes, rows = scratch[: 5 * n * n].reshape(5, n, n), scratch[5 * n * n : 5 * n * n + 8 * n].reshape(8, n)
    K, (x, y, x_bar, y_bar, u_bar) = planes[0], (rows[0], rows[1], rows[2], rows[3], rows[4])
    mean, square, _ = _vectors(fields, error, K, x, y)
    for i in range(n):
        x_bar[i] = y_bar[i] = u_bar[i] = 0.0
    mean_bar, square_bar, noise_bar = 0.0, square_weight, 0.0
    if with_noise:
        mean_bar, noise_bar = _back_noise(
            p, fields, s, (x, y, mean, square + noise), S_bar, to, (planes[1], planes[2], planes[3], planes[4]),
            (x_bar, y_bar, rows[5], rows[6], rows[7]),
        )  # fmt: skip
        square_bar += noise_bar
    for k in range(p):
        mean_bar += 2.0 * (phi_bar[k] * h[k] + D_bar[k, k])
        h_bar[k] += 2.0 * phi_bar[k] * mean
        x_bar[k] += 2.0 * phi_bar[k]
        for j in range(n):
            weight = 4.0 * D_bar[k, j]
            C_bar[k, j] += weight * s[j]
            h_bar[k] += weight * s[j] * h[j]
            h_bar[j] += weight * s[j] * h[k]
            s_bar[j] += weight * (C[k, j] + h[k] * h[j])
        if with_pull:
            pull = pull_bar[k]
            mean_bar += pull * (C[k, k] + h[k] * h[k])
            C_bar[k, k] += pull * mean
            h_bar[k] += 2.0 * pull * (mean * h[k] + x[k])
            x_bar[k] += 2.0 * pull * h[k]
            for j in range(n):  # 2 K_kk = 2 sum_j s_j C_kj^2
                C_bar[k, j] += 4.0 * pull * s[j] * C[k, j]
                s_bar[j] += 2.0 * pull * C[k, j] * C[k, j]
    mean_bar += 2.0 * mean * square_bar
    for i in range(n):
        for j in range(n):
            u = 2.0 * s[j] * h[j]
            u_bar[i] += C[i, j] * x_bar[j] + K[i, j] * y_bar[j]
            # x = Cu, <e^2> = ... + uCu + 2 tr(MCMC), and y = CMCu
            C_bar[i, j] += x_bar[i] * u + square_bar * (4.0 * s[i] * h[i] * s[j] * h[j] + 4.0 * s[i] * C[i, j] * s[j])
        u_bar[i] += 2.0 * square_bar * x[i]
        s_bar[i] += 4.0 * square_bar * K[i, i]
    _back_y(C, s, h, x, y_bar, C_bar, s_bar)
    for i in range(n):
        h_bar[i] += 2.0 * s[i] * (u_bar[i] + mean_bar * h[i])
        s_bar[i] += 2.0 * h[i] * u_bar[i] + mean_bar * (h[i] * h[i] + C[i, i])
        C_bar[i, i] += mean_bar * s[i]
    return mean_bar, noise_bar
