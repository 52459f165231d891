"""The averages of `erf_means.py` in reverse: how they answer to means, covariance and weights of the fields.

Everything rests on one fact about Gaussian averages, d<f>/dh_i = <f_i> and d<f>/dC_ij = <f_ij>/2: for the squared error it gives
2 s_i <g'_i e> and s_i ( s_j <g'_i g'_j> + delta_ij <g''_i e> ).
"""

import math

from solvable.gaussian.signs import TWO_OVER_PI, sign_covariance, sign_mean
from solvable.numerics.compiled import compiled


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
def back_averages(p, fields, error, noise, bars, asked, averages, to, scratch):
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
                of_offset, of_noise = _back_tilted(k, o, bar, averages[k, o], fields, error, with_pull, to, (m, v), row)
                offset_bar += of_offset
                noise_bar += of_noise
    if square_weight != 0.0:
        offset_bar += _back_weights(fields, error, square_weight, s_bar)
        for i in range(n):
            h_bar[i] += 2.0 * square_weight * error[1][i] * _slope_row(i, fields, error, row)
            for j in range(n):
                C_bar[i, j] += square_weight * error[1][i] * row[j]
    return offset_bar, noise_bar
