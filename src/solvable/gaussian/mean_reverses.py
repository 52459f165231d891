"""The averages of `means.py` in reverse: how they answer to means, covariance and weights of the fields.

`bars` = (D_bar, S_bar, phi_bar, pull_bar, weight) weigh what `averages_with_means` fills and, the last, the <e^2> that it returns;
derivatives are added to `to` = (h_bar, C_bar, s_bar). What the offset s_0 and the noise Delta are weighed by is returned. Entries
of C_bar are those of independent entries of C; only their sum over (i, j) and (j, i) has a meaning.

Everything rests on one fact about Gaussian averages, d<f>/dh_i = <f_i> and d<f>/dC_ij = <f_ij>/2: for the squared error it gives
2 s_i <g'_i e> and s_i ( s_j <g'_i g'_j> + delta_ij <g''_i e> ).
"""

import math

from solvable.gaussian.means import quadratic_vectors
from solvable.gaussian.signs import TWO_OVER_PI, sign_covariance, sign_mean
from solvable.gaussian.units import ERF, QUADRATIC
from solvable.numerics.compiled import compiled


def mean_reverse_scratch(fields: int) -> int:
    """Numbers of scratch for `back_averages`, before those of `averages_with_means`."""
    return 5 * fields**2 + 8 * fields


@compiled()
def _linear(p, fields, error, bars, with_noise, to):
    (h, C), (s0, s), (D_bar, S_bar, phi_bar, pull_bar, square_weight), (h_bar, C_bar, s_bar) = fields, error, bars, to
    n, mean, mean_bar, noise_bar = s.size, s0, 0.0, 0.0
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


@compiled()
def _quadratic_noise(p, fields, s, known, S_bar, to, planes, vectors):
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
def _quadratic(p, fields, error, noise, bars, asked, to, scratch):
    (h, C), (_, s), (D_bar, S_bar, phi_bar, pull_bar, square_weight), (h_bar, C_bar, s_bar) = fields, error, bars, to
    n, (with_noise, with_pull) = s.size, asked
    planes, rows = scratch[: 5 * n * n].reshape(5, n, n), scratch[5 * n * n : 5 * n * n + 8 * n].reshape(8, n)
    K, (x, y, x_bar, y_bar, u_bar) = planes[0], (rows[0], rows[1], rows[2], rows[3], rows[4])
    mean, square, _ = quadratic_vectors(fields, error, K, x, y)
    for i in range(n):
        x_bar[i] = y_bar[i] = u_bar[i] = 0.0
    mean_bar, square_bar, noise_bar = 0.0, square_weight, 0.0
    if with_noise:
        mean_bar, noise_bar = _quadratic_noise(
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


@compiled(inline=True)
def _slope_law(k, fields, j):
    """Mean and one plus the variance of field j under the slope of k."""
    h, C = fields
    part = 1.0 / (1.0 + C[k, k])
    return h[j] - C[k, j] * part * h[k], 1.0 + C[j, j] - C[k, j] * part * C[k, j]


@compiled()
def _back_slope(k, fields, error, D_bar, phi_bar, to):
    """Of phi_bar <g'_k e> and sum_j D_bar_j ( s_j <g'_k g'_j> + delta_kj <g''_k e> ); what s_0 is weighed by."""
    (h, C), (s0, s), (h_bar, C_bar, s_bar) = fields, error, to
    part = 1.0 / (1.0 + C[k, k])
    weight = math.sqrt(TWO_OVER_PI * part) * math.exp(-0.5 * h[k] * h[k] * part)
    beta = -D_bar[k]
    of_mean, part_bar, value, mean = phi_bar + beta * h[k] * part, 0.0, 0.0, s0
    for j in range(s.size):
        m, v = _slope_law(k, fields, j)
        slope = math.sqrt(TWO_OVER_PI / v) * math.exp(-0.5 * m * m / v)
        output = sign_mean(m / math.sqrt(v))
        of_slope = D_bar[j] + beta * part * C[k, j]
        mean += s[j] * output
        value += s[j] * slope * of_slope
        s_bar[j] += weight * (of_mean * output + of_slope * slope)
        direct = weight * s[j] * slope
        m_bar = direct * (of_mean - of_slope * m / v)
        v_bar = 0.5 * direct * (-of_mean * m + of_slope * (m * m / v - 1.0)) / v
        part_bar += direct * beta * C[k, j] - C[k, j] * (h[k] * m_bar + C[k, j] * v_bar)
        C_bar[k, j] += direct * beta * part - part * (h[k] * m_bar + 2.0 * C[k, j] * v_bar)
        h_bar[j] += m_bar
        h_bar[k] -= C[k, j] * part * m_bar
        C_bar[j, j] += v_bar
    value += of_mean * mean
    h_bar[k] += weight * (mean * beta * part - value * h[k] * part)
    part_bar += weight * (mean * beta * h[k] + value * (0.5 / part - 0.5 * h[k] * h[k]))
    C_bar[k, k] -= part * part * part_bar
    return weight * of_mean


@compiled()
def _slope_row(k, fields, error, D):
    """Fill D_j = s_j <g'_k g'_j> + delta_kj <g''_k e>; <g'_k e>."""
    (h, C), (s0, s) = fields, error
    part = 1.0 / (1.0 + C[k, k])
    weight = math.sqrt(TWO_OVER_PI * part) * math.exp(-0.5 * h[k] * h[k] * part)
    mean, bend = s0, 0.0
    for j in range(s.size):
        m, v = _slope_law(k, fields, j)
        slope = s[j] * math.sqrt(TWO_OVER_PI / v) * math.exp(-0.5 * m * m / v)
        mean += s[j] * sign_mean(m / math.sqrt(v))
        bend += C[k, j] * part * slope
        D[j] = weight * slope
    D[k] -= weight * (h[k] * part * mean + bend)
    return weight * mean


@compiled()
def _back_weights(fields, error, weight, s_bar):
    """Of weight <e^2> by s_i: 2 weight <g_i e>; what s_0 is weighed by, 2 weight <e>."""
    (h, C), (s0, s) = fields, error
    n, mean = s.size, s0
    for i in range(n):
        mean += s[i] * sign_mean(h[i] / math.sqrt(1.0 + C[i, i]))
    for i in range(n):
        root, total = 1.0 / math.sqrt(1.0 + C[i, i]), 0.0
        for j in range(n):
            other = 1.0 / math.sqrt(1.0 + C[j, j])
            total += s[j] * sign_covariance(h[i] * root, h[j] * other, C[i, j] * root * other)
        s_bar[i] += 2.0 * weight * (total + sign_mean(h[i] * root) * mean)
    return 2.0 * weight * mean


@compiled()
def _mean_error(fields, error):
    """<e>."""
    (h, C), (s0, s) = fields, error
    mean = s0
    for i in range(s.size):
        mean += s[i] * sign_mean(h[i] / math.sqrt(1.0 + C[i, i]))
    return mean


@compiled()
def _back_tilted(k, o, bar, value, fields, error, with_weights, to, tilted, row):
    """Of bar <g'_k g'_o (e^2 + Delta)>, whose value is known: by way of the tilted law (m, v), which is filled, and its weight w.
    What s_0 and Delta are weighed by."""
    (h, C), (h_bar, C_bar, s_bar), (m, v) = fields, to, tilted
    s = error[1]
    n = s.size
    det = (1.0 + C[k, k]) * (1.0 + C[o, o]) - C[k, o] * C[k, o]
    kk, oo, ko = (1.0 + C[o, o]) / det, (1.0 + C[k, k]) / det, -C[k, o] / det
    first, second = kk * h[k] + ko * h[o], ko * h[k] + oo * h[o]
    weight = bar * TWO_OVER_PI / math.sqrt(det) * math.exp(-0.5 * (h[k] * first + h[o] * second))
    for i in range(n):
        u, w = kk * C[k, i] + ko * C[o, i], ko * C[k, i] + oo * C[o, i]
        m[i] = h[i] - C[k, i] * first - C[o, i] * second
        for j in range(n):
            v[i, j] = C[i, j] - u * C[k, j] - w * C[o, j]
    if with_weights:
        offset_bar = _back_weights((m, v), error, weight, s_bar)
    else:
        offset_bar = 2.0 * weight * _mean_error((m, v), error)
    whole = bar * value
    of_k, of_o, Y_kk, Y_oo, Y_ko = 0.0, 0.0, 0.0, 0.0, 0.0  # P^T m_bar, and Y = P^T v_bar P
    for i in range(n):
        m_bar = 2.0 * weight * s[i] * _slope_row(i, (m, v), error, row)
        at_k, at_o = 0.0, 0.0
        for j in range(n):
            v_bar = weight * s[i] * row[j]
            C_bar[i, j] += v_bar
            at_k += v_bar * C[k, j]
            at_o += v_bar * C[o, j]
        h_bar[i] += m_bar
        of_k += C[k, i] * m_bar
        of_o += C[o, i] * m_bar
        Y_kk += C[k, i] * at_k
        Y_oo += C[o, i] * at_o
        Y_ko += C[k, i] * at_o
        C_bar[k, i] -= m_bar * first + 2.0 * (at_k * kk + at_o * ko)
        C_bar[o, i] -= m_bar * second + 2.0 * (at_k * ko + at_o * oo)
    r_k, r_o = kk * of_k + ko * of_o, ko * of_k + oo * of_o  # Z P^T m_bar
    h_bar[k] -= whole * first + r_k
    h_bar[o] -= whole * second + r_o
    left_k, left_o = kk * Y_kk + ko * Y_ko, ko * Y_ko + oo * Y_oo  # Z Y
    above, below = kk * Y_ko + ko * Y_oo, ko * Y_kk + oo * Y_ko
    # Z Y Z + whole (r r^T - Z) / 2 + (Z P^T m_bar) r^T, where r = Z h
    C_bar[k, k] += left_k * kk + above * ko + 0.5 * whole * (first * first - kk) + r_k * first
    C_bar[o, o] += below * ko + left_o * oo + 0.5 * whole * (second * second - oo) + r_o * second
    C_bar[k, o] += left_k * ko + above * oo + below * kk + left_o * ko + whole * (first * second - ko)
    C_bar[k, o] += r_k * second + r_o * first
    return offset_bar, weight


@compiled()
def _back_pull(k, bar, fields, error, to):
    """Of bar <g_k e>; what s_0 is weighed by."""
    (h, C), (s0, s), (h_bar, C_bar, s_bar) = fields, error, to
    n, root = s.size, 1.0 / math.sqrt(1.0 + C[k, k])
    part = root * root
    own = sign_mean(h[k] * root)
    weight = root * math.sqrt(TWO_OVER_PI) * math.exp(-0.5 * h[k] * h[k] * part)
    mean, bend = s0, 0.0
    for j in range(n):
        other = 1.0 / math.sqrt(1.0 + C[j, j])
        s_bar[j] += bar * (
            sign_covariance(h[k] * root, h[j] * other, C[k, j] * root * other) + own * sign_mean(h[j] * other)
        )
        m, v = _slope_law(k, fields, j)
        slope = s[j] * math.sqrt(TWO_OVER_PI / v) * math.exp(-0.5 * m * m / v)
        mean += s[j] * sign_mean(m / math.sqrt(v))
        bend += C[k, j] * part * slope
        C_bar[k, j] += bar * weight * slope
        # <g'_j g_k> and <g''_j g_k>
        m, v = _slope_law(j, fields, k)
        there = other * math.sqrt(TWO_OVER_PI) * math.exp(-0.5 * h[j] * h[j] * other * other)
        seen = sign_mean(m / math.sqrt(v))
        h_bar[j] += bar * s[j] * there * seen
        slope = math.sqrt(TWO_OVER_PI / v) * math.exp(-0.5 * m * m / v)
        C_bar[j, j] -= 0.5 * bar * s[j] * there * other * other * (h[j] * seen + C[k, j] * slope)
    h_bar[k] += bar * weight * mean
    C_bar[k, k] -= 0.5 * bar * weight * (h[k] * part * mean + bend)
    return bar * own


@compiled()
def _erf(p, fields, error, bars, asked, S, to, scratch):
    h, (D_bar, S_bar, phi_bar, pull_bar, square_weight), (h_bar, C_bar, s_bar) = fields[0], bars, to
    n, (with_noise, with_pull) = h.size, asked
    v, m, row = scratch[: n * n].reshape(n, n), scratch[n * n : n * n + n], scratch[n * n + n : n * n + 2 * n]
    offset_bar, noise_bar = 0.0, 0.0
    for k in range(p):
        offset_bar += _back_slope(k, fields, error, D_bar[k], phi_bar[k], to)
        if with_pull:
            offset_bar += _back_pull(k, pull_bar[k], fields, error, to)
        for o in range(k + 1 if with_noise else 0):
            bar = S_bar[k, k] if k == o else S_bar[k, o] + S_bar[o, k]
            if bar != 0.0:
                of_offset, of_noise = _back_tilted(k, o, bar, S[k, o], fields, error, with_pull, to, (m, v), row)
                offset_bar += of_offset
                noise_bar += of_noise
    if square_weight != 0.0:
        offset_bar += _back_weights(fields, error, square_weight, s_bar)
        for i in range(n):
            h_bar[i] += 2.0 * square_weight * error[1][i] * _slope_row(i, fields, error, row)
            for j in range(n):
                C_bar[i, j] += square_weight * error[1][i] * row[j]
    return offset_bar, noise_bar


@compiled()
def back_averages(kind, p, fields, error, noise, bars, asked, averages, to, scratch):
    """Add to `to`; what s_0 and Delta are weighed by. `asked` says whether S_bar and pull_bar count (and, for erf, whether s_bar is
    wanted from S: it is wherever readouts are trained); `averages` are S as `averages_with_means` fills it."""
    if kind == QUADRATIC:
        return _quadratic(p, fields, error, noise, bars, asked, to, scratch)
    if kind == ERF:
        return _erf(p, fields, error, bars, asked, averages, to, scratch)
    return _linear(p, fields, error, bars, asked[0], to)
