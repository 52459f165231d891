"""The third Hermite unit, g(z) = He_3(z)/sqrt 6 = (z^3 - 3 z)/sqrt 6, whose square averages to one at unit variance.

For fields z_i of mean h_i and covariance C let m, q, r be the averages of g, g' = t (z^2 - 1)/2 and g'' = t z; t = g''' = sqrt 6.
Averages over two fields end with the third power of C, <f_i f_j> = sum_n C_ij^n/n! <f_i^(n)> <f_j^(n)>, so that

    <g_i g_j> = m_i m_j + q_i q_j C_ij + r_i r_j C_ij^2/2 + C_ij^3,
    P1_ij = <g'_i g'_j> = q_i q_j + r_i r_j C_ij + 3 C_ij^2,
    P2_ij = <g''_i g'_j> = r_i q_j + t r_j C_ij,           P3_ij = <g''_i g''_j> = r_i r_j + 6 C_ij.

The same expansion of a product with the polynomial g'_k g'_l of degree (2, 2) gives

    <g'_k g'_l e^2> = sum_(a, b <= 2) <d_k^a d_l^b (g'_k g'_l)>/(a! b!) <(C_k d)^a (C_l d)^b e^2>,

where C_k d = sum_i C_ki d/dz_i. With e_0 = <e>, phi_i = <g'_i e>, w_i = <g''_i e>, R = <e^2>, A_k = h_k^2 + C_kk - 1, c = C_kl and

    T_ki = s_i C_ki      U_ki = s_i C_ki^2      V_i = s_i C_ki C_li      Y1_k = P1 T_k      Y2_k = P2 T_k      Y3_k = P3 U_k
    x_k = T_k phi        u_k = T_k q            d_k = 2 U_k w + 2 T_k Y1_k

this is 3/2 times

    (A_k A_l + 4 h_k h_l c + 2 c^2) R + 4 (h_k A_l + 2 c h_l) x_k + 4 (h_l A_k + 2 c h_k) x_l + A_l d_k + A_k d_l
    + 8 (h_k h_l + c) (V w + T_k Y1_l) + 2 U_k Y3_l + 4 V P3 V + 4 t (u_k U_l C_k + u_l U_k C_l)
    + 4 h_l (t e_0 U_k C_l + U_k Y2_l + 2 V Y2_k) + 4 h_k (t e_0 U_l C_k + U_l Y2_k + 2 V Y2_l).
"""

import math

from solvable.numerics.compiled import compiled

PARITY = -1
THIRD, FACTOR = math.sqrt(6.0), 1.5  # t, and the factor of <g'_k g'_l e^2>
M, Q, R, PHI, W, PULL, X, U, D, V, CV, ROWS = range(12)
M_BAR, Q_BAR, R_BAR, PHI_BAR, W_BAR, X_BAR, U_BAR, D_BAR, H, H_BAR, ALL_ROWS = range(ROWS, ROWS + 11)
Y1, Y2, Y3, PLANES = range(4)
Y1_BAR, Y2_BAR, Y3_BAR, T_BAR, U_ROWS_BAR, ALL_PLANES = range(PLANES, PLANES + 6)  # matrices (n, n); above rows (n,)


@compiled()
def product(c11, c22, c12):
    return c12 * (c12 * c12 + 1.5 * (c11 - 1.0) * (c22 - 1.0))


@compiled()
def slopes(c11, c22, c12):
    return 1.5 * (c11 - 1.0) * (c22 - 1.0) + 3.0 * c12 * c12


@compiled()
def curvature(c11, c22, c12):
    return 3.0 * c12 * (c22 - 1.0)


@compiled()
def mean(h, c):
    return h * (h * h + 3.0 * c - 3.0) / THIRD


@compiled()
def mean_slopes(h, c):
    return 0.5 * THIRD * (h * h + c - 1.0), 0.5 * THIRD * h


def scratch(fields: int) -> tuple[int, int]:
    return PLANES * fields**2 + ROWS * fields, ALL_PLANES * fields**2 + ALL_ROWS * fields


@compiled()
def slopes_times_square(p, C, s, work, out):
    """The sum of the module's docstring without means, where w_k = t u_k; d_k waits on the diagonal of `out`."""
    n, w, square = s.size, work[0], 0.0
    for i in range(n):
        total, cubes = 0.0, 0.0
        for j in range(n):
            total += s[j] * (C[j, j] - 1.0) * C[i, j]
            cubes += s[j] * C[i, j] * C[i, j] * C[i, j]
        w[i] = 3.0 * total
        square += s[i] * (1.5 * (C[i, i] - 1.0) * total + cubes)
    for k in range(p):
        total = w[k] * w[k] / 6.0
        for i in range(n):
            row = 0.0
            for j in range(n):
                row += C[i, j] * C[i, j] * s[j] * C[k, j]
            total += s[i] * C[k, i] * (C[k, i] * w[i] + 3.0 * row)
        out[k, k] = 2.0 * total
    for k in range(p):
        for m in range(k):
            out[k, m] = out[m, k] = _centred_pair(k, m, C, s, w, square, out)
    for k in range(p):
        out[k, k] = _centred_pair(k, k, C, s, w, square, out)


@compiled()
def _centred_pair(k, m, C, s, w, square, out):
    n, c, A, B = s.size, C[k, m], C[k, k] - 1.0, C[m, m] - 1.0
    total, one, other = 0.0, 0.0, 0.0
    for i in range(n):
        CV, CU, CCT = 0.0, 0.0, 0.0
        for j in range(n):
            T = C[i, j] * s[j] * C[m, j]
            CV += T * C[k, j]
            CU += T * C[m, j]
            CCT += T * C[i, j]
        T = s[i] * C[k, i]
        total += T * (8.0 * c * (C[m, i] * w[i] + 3.0 * CCT) + 12.0 * C[k, i] * CU + 24.0 * C[m, i] * CV)
        one += T * C[m, i] * C[m, i]
        other += T * C[k, i] * C[m, i]
    total += (A * B + 2.0 * c * c) * square + B * out[k, k] + A * out[m, m]
    return FACTOR * (total + 4.0 * (w[k] * w[m] * c / 3.0 + w[k] * one + w[m] * other))


@compiled()
def _cut(n, planes, rows, numbers):
    end = planes * n * n
    return numbers[:end].reshape(planes, n, n), numbers[end : end + rows * n].reshape(rows, n)


@compiled()
def _set_vectors(fields, error, rows):
    """Fill the rows m, q, r, phi, w and that of <g_i e>; return e_0, <e^2> and the size of its terms."""
    (h, C), (s0, s), n, (m, q, r) = fields, error, error[1].size, (rows[M], rows[Q], rows[R])
    average, size = s0, abs(s0)
    for i in range(n):
        m[i], q[i], r[i] = mean(h[i], C[i, i]), 0.5 * THIRD * (h[i] * h[i] + C[i, i] - 1.0), THIRD * h[i]
        average += s[i] * m[i]
        size += abs(s[i] * m[i])
    square, size = average * average, size * size
    for i in range(n):
        first, second, third, terms = 0.0, 0.0, 0.0, 0.0
        for j in range(n):
            c = C[i, j]
            one, two, three = s[j] * q[j] * c, 0.5 * s[j] * r[j] * c * c, s[j] * c * c * c
            first += one
            second += two
            third += three
            terms += abs(q[i] * one + r[i] * two + three)
        covariance = q[i] * first + r[i] * second + third
        rows[PHI, i] = q[i] * average + r[i] * first + THIRD * second
        rows[W, i] = r[i] * average + THIRD * first
        rows[PULL, i] = m[i] * average + covariance
        square += s[i] * covariance
        size += abs(s[i]) * terms
    return average, square, size


@compiled()
def _set_products(p, C, s, rows, planes):
    """Fill the planes Y1, Y2 and Y3, and the rows x, u and d."""
    q, r, n = rows[Q], rows[R], s.size
    for k in range(p):
        x = u = d = 0.0
        for i in range(n):
            first = second = third = 0.0
            for j in range(n):
                c, T = C[i, j], s[j] * C[k, j]
                first += (q[i] * q[j] + r[i] * r[j] * c + 3.0 * c * c) * T
                second += (r[i] * q[j] + THIRD * r[j] * c) * T
                third += (r[i] * r[j] + 6.0 * c) * T * C[k, j]
            planes[Y1, k, i], planes[Y2, k, i], planes[Y3, k, i] = first, second, third
            T = s[i] * C[k, i]
            x += T * rows[PHI, i]
            u += T * q[i]
            d += 2.0 * T * (C[k, i] * rows[W, i] + first)
        rows[X, k], rows[U, k], rows[D, k] = x, u, d


@compiled()
def _sums(k, m, C, s, average, rows, planes):
    """Fill the rows V and C V; return V w + T_k Y1_m, V r, V C V, U_k Y3_m, U_k C_m, U_m C_k and what h_m and h_k multiply."""
    v, plain, along, turned, total = rows[V], 0.0, 0.0, 0.0, 0.0
    to_k, to_m, by_k, by_m = 0.0, 0.0, 0.0, 0.0
    for i in range(s.size):
        v[i] = s[i] * C[k, i] * C[m, i]
    for i in range(s.size):
        T, row = s[i] * C[k, i], 0.0
        for j in range(s.size):
            row += C[i, j] * v[j]
        rows[CV, i] = row
        plain += v[i] * rows[W, i] + T * planes[Y1, m, i]
        along += v[i] * rows[R, i]
        turned += v[i] * row
        total += T * C[k, i] * planes[Y3, m, i]
        to_k += v[i] * C[k, i]
        to_m += v[i] * C[m, i]
        by_k += T * C[k, i] * planes[Y2, m, i] + 2.0 * v[i] * planes[Y2, k, i]
        by_m += s[i] * C[m, i] * C[m, i] * planes[Y2, k, i] + 2.0 * v[i] * planes[Y2, m, i]
    return plain, along, turned, total, to_k, to_m, by_k + THIRD * average * to_k, by_m + THIRD * average * to_m


@compiled()
def _pair(k, m, fields, s, known, rows, planes):
    """<g'_k g'_m (e^2 + Delta)> from known = (e_0, <e^2> + Delta)."""
    (h, C), (average, square) = fields, known
    plain, along, turned, total, to_k, to_m, by_k, by_m = _sums(k, m, C, s, average, rows, planes)
    c, A, B = C[k, m], h[k] * h[k] + C[k, k] - 1.0, h[m] * h[m] + C[m, m] - 1.0
    value = (A * B + 4.0 * h[k] * h[m] * c + 2.0 * c * c) * square + B * rows[D, k] + A * rows[D, m]
    value += 4.0 * (h[k] * B + 2.0 * c * h[m]) * rows[X, k] + 4.0 * (h[m] * A + 2.0 * c * h[k]) * rows[X, m]
    value += 8.0 * (h[k] * h[m] + c) * plain + 2.0 * total + 4.0 * (along * along + 6.0 * turned)
    value += 4.0 * (THIRD * (rows[U, k] * to_m + rows[U, m] * to_k) + h[m] * by_k + h[k] * by_m)
    return FACTOR * value


@compiled()
def averages_with_means(p, fields, error, noise, asked, out, scratch):
    C, s, (D_out, S_out, phi, pull), n = fields[1], error[1], out, error[1].size
    planes, rows = _cut(n, PLANES, ROWS, scratch)
    average, square, size = _set_vectors(fields, error, rows)
    q, r = rows[Q], rows[R]
    for k in range(p):
        phi[k], pull[k] = rows[PHI, k], rows[PULL, k]
        for j in range(n):
            D_out[k, j] = s[j] * (q[k] * q[j] + r[k] * r[j] * C[k, j] + 3.0 * C[k, j] * C[k, j])
        D_out[k, k] += rows[W, k]
    if asked[0]:
        _set_products(p, C, s, rows, planes)
        for k in range(p):
            for m in range(k + 1):
                S_out[k, m] = S_out[m, k] = _pair(k, m, fields, s, (average, square + noise), rows, planes)
    return square, size


@compiled()
def back_slopes(C, i, j, bar, C_bar):
    C_bar[i, i] += 1.5 * bar * (C[j, j] - 1.0)
    C_bar[j, j] += 1.5 * bar * (C[i, i] - 1.0)
    C_bar[i, j] += 6.0 * bar * C[i, j]


@compiled()
def back_curvature(C, i, j, bar, C_bar):
    C_bar[i, j] += 3.0 * bar * (C[j, j] - 1.0)
    C_bar[j, j] += 3.0 * bar * C[i, j]


@compiled()
def _back_pair(k, m, beta, fields, s, known, rows, planes, to):
    """Reverse of beta/FACTOR times `_pair`, to the covariance, the weights and the means, and to rows and planes of weights; return
    what <e^2> + Delta and e_0 are weighed by."""
    (h, C), (average, square), (h_bar, C_bar, s_bar), n = fields, known, to, s.size
    c, A, B = C[k, m], h[k] * h[k] + C[k, k] - 1.0, h[m] * h[m] + C[m, m] - 1.0
    plain, along, _, _, to_k, to_m, by_k, by_m = _sums(k, m, C, s, average, rows, planes)
    v, Cv, w, r = rows[V], rows[CV], rows[W], rows[R]
    x, y, d, e = rows[X, k], rows[X, m], rows[D, k], rows[D, m]
    A_bar, B_bar = beta * (B * square + 4.0 * h[m] * y + e), beta * (A * square + 4.0 * h[k] * x + d)
    C_bar[k, k] += A_bar
    C_bar[m, m] += B_bar
    C_bar[k, m] += beta * (4.0 * (h[k] * h[m] + c) * square + 8.0 * (h[m] * x + h[k] * y + plain))
    h_bar[k] += 2.0 * h[k] * A_bar + 4.0 * beta * (h[m] * (c * square + 2.0 * plain) + B * x + 2.0 * c * y + by_m)
    h_bar[m] += 2.0 * h[m] * B_bar + 4.0 * beta * (h[k] * (c * square + 2.0 * plain) + A * y + 2.0 * c * x + by_k)
    rows[X_BAR, k] += 4.0 * beta * (h[k] * B + 2.0 * c * h[m])
    rows[X_BAR, m] += 4.0 * beta * (h[m] * A + 2.0 * c * h[k])
    rows[D_BAR, k] += beta * B
    rows[D_BAR, m] += beta * A
    both, scale = 8.0 * beta * (h[k] * h[m] + c), 4.0 * beta * THIRD
    of_k, of_m = scale * (rows[U, m] + h[m] * average), scale * (rows[U, k] + h[k] * average)
    rows[U_BAR, k] += scale * to_m
    rows[U_BAR, m] += scale * to_k
    for i in range(n):
        T, at_k, at_m = s[i] * C[k, i], C[k, i], C[m, i]
        for j in range(n):
            C_bar[i, j] += 24.0 * beta * v[i] * v[j]
        v_bar = (
            8.0 * beta * (along * r[i] + 6.0 * Cv[i] + h[m] * planes[Y2, k, i] + h[k] * planes[Y2, m, i]) + both * w[i]
        )
        rows[R_BAR, i] += 8.0 * beta * along * v[i]
        rows[W_BAR, i] += both * v[i]
        planes[Y2_BAR, k, i] += 4.0 * beta * (h[k] * s[i] * at_m * at_m + 2.0 * h[m] * v[i])
        planes[Y2_BAR, m, i] += 4.0 * beta * (h[m] * T * at_k + 2.0 * h[k] * v[i])
        planes[U_ROWS_BAR, k, i] += of_k * at_m + beta * (4.0 * h[m] * planes[Y2, m, i] + 2.0 * planes[Y3, m, i])
        planes[U_ROWS_BAR, m, i] += of_m * at_k + 4.0 * beta * h[k] * planes[Y2, k, i]
        planes[Y3_BAR, m, i] += 2.0 * beta * T * at_k
        planes[T_BAR, k, i] += both * planes[Y1, m, i]
        planes[Y1_BAR, m, i] += both * T
        C_bar[m, i] += of_k * T * at_k + v_bar * T
        C_bar[k, i] += of_m * s[i] * at_m * at_m + v_bar * s[i] * at_m
        s_bar[i] += v_bar * at_k * at_m
    return beta * (A * B + 4.0 * h[k] * h[m] * c + 2.0 * c * c), scale * (h[m] * to_k + h[k] * to_m)


@compiled()
def _back_products(p, C, s, rows, planes, to):
    """Reverse of `_set_products`."""
    (_, C_bar, s_bar), q, r, n = to, rows[Q], rows[R], s.size
    for k in range(p):
        x, u, d = rows[X_BAR, k], rows[U_BAR, k], 2.0 * rows[D_BAR, k]
        T_bar, U_bar = planes[T_BAR, k], planes[U_ROWS_BAR, k]
        for i in range(n):
            T = s[i] * C[k, i]
            T_bar[i] += x * rows[PHI, i] + u * q[i] + d * planes[Y1, k, i]
            U_bar[i] += d * rows[W, i]
            rows[PHI_BAR, i] += x * T
            rows[Q_BAR, i] += u * T
            rows[W_BAR, i] += d * T * C[k, i]
            planes[Y1_BAR, k, i] += d * T
        for i in range(n):
            first, second, third = planes[Y1_BAR, k, i], planes[Y2_BAR, k, i], planes[Y3_BAR, k, i]
            for j in range(n):
                c, T = C[i, j], s[j] * C[k, j]
                T_bar[j] += first * (q[i] * q[j] + r[i] * r[j] * c + 3.0 * c * c)
                T_bar[j] += second * (r[i] * q[j] + THIRD * r[j] * c)
                U_bar[j] += third * (r[i] * r[j] + 6.0 * c)
                two, three = second * T, third * T * C[k, j]
                _back_two(i, j, 0.0, first * T, C, rows, C_bar)
                rows[Q_BAR, j] += two * r[i]
                rows[R_BAR, i] += two * q[j] + three * r[j]
                rows[R_BAR, j] += two * THIRD * c + three * r[i]
                C_bar[i, j] += two * THIRD * r[j] + 6.0 * three
        for i in range(n):
            s_bar[i] += C[k, i] * (T_bar[i] + U_bar[i] * C[k, i])
            C_bar[k, i] += s[i] * (T_bar[i] + 2.0 * U_bar[i] * C[k, i])


@compiled()
def _back_vectors(fields, error, average, weights, rows, to):
    """Reverse of `_set_vectors`, with weights of <e^2> and e_0; return what s_0 is weighed by."""
    C, s, (of_square, of_average), (h_bar, C_bar, s_bar) = fields[1], error[1], weights, to
    m, q, r, n = rows[M], rows[Q], rows[R], s.size
    of_average += 2.0 * average * of_square
    for i in range(n):
        phi, w, own = rows[PHI_BAR, i], rows[W_BAR, i], of_square * s[i]
        of_average += phi * q[i] + w * r[i]
        rows[Q_BAR, i] += phi * average
        rows[R_BAR, i] += w * average
        for j in range(n):
            c = C[i, j]
            _back_two(i, j, own * s[j], 0.0, C, rows, C_bar)
            s_bar[i] += 2.0 * of_square * s[j] * (q[i] * q[j] * c + 0.5 * r[i] * r[j] * c * c + c * c * c)
            s_bar[j] += phi * (r[i] * q[j] * c + 0.5 * THIRD * r[j] * c * c) + w * THIRD * q[j] * c
            rows[R_BAR, i] += phi * s[j] * q[j] * c
            rows[Q_BAR, j] += s[j] * c * (phi * r[i] + w * THIRD)
            rows[R_BAR, j] += 0.5 * phi * THIRD * s[j] * c * c
            C_bar[i, j] += phi * s[j] * (r[i] * q[j] + THIRD * r[j] * c) + w * THIRD * s[j] * q[j]
    for i in range(n):
        s_bar[i] += of_average * m[i]
        m_bar = rows[M_BAR, i] + of_average * s[i]
        h_bar[i] += m_bar * q[i] + rows[Q_BAR, i] * r[i] + rows[R_BAR, i] * THIRD
        C_bar[i, i] += 0.5 * (m_bar * r[i] + rows[Q_BAR, i] * THIRD)
    return of_average


@compiled()
def _back_two(i, j, of_covariance, of_slopes, C, rows, C_bar):
    """Reverse of q_i q_j C_ij + r_i r_j C_ij^2/2 + C_ij^3, and of its derivative P1_ij."""
    c, q, r = C[i, j], rows[Q], rows[R]
    of_q, of_r = of_covariance * c + of_slopes, (0.5 * of_covariance * c + of_slopes) * c
    rows[Q_BAR, i] += of_q * q[j]
    rows[Q_BAR, j] += of_q * q[i]
    rows[R_BAR, i] += of_r * r[j]
    rows[R_BAR, j] += of_r * r[i]
    C_bar[i, j] += of_covariance * (q[i] * q[j] + 3.0 * c * c) + of_q * r[i] * r[j] + 6.0 * of_slopes * c


@compiled()
def _back_square(p, fields, s, known, S_bar, rows, planes, to):
    """Reverse of the noise, which S_bar (p, p) weighs; return what <e^2> + Delta and e_0 are weighed by."""
    of_square, of_average = 0.0, 0.0
    _set_products(p, fields[1], s, rows, planes)
    for k in range(p):
        for m in range(k + 1):
            beta = FACTOR * (S_bar[k, k] if m == k else S_bar[k, m] + S_bar[m, k])
            one, other = _back_pair(k, m, beta, fields, s, known, rows, planes, to)
            of_square += one
            of_average += other
    _back_products(p, fields[1], s, rows, planes, to)
    return of_square, of_average


@compiled()
def back_averages(p, fields, error, noise, bars, asked, averages, to, scratch):
    C, s, (D_bar, S_bar, phi_bar, pull_bar, square_weight), n = fields[1], error[1], bars, error[1].size
    (with_noise, with_pull), (_, C_bar, s_bar) = asked, to
    planes, rows = _cut(n, ALL_PLANES, ALL_ROWS, scratch)
    average, square, _ = _set_vectors(fields, error, rows)
    planes[PLANES:], rows[ROWS:] = 0.0, 0.0
    q, r, of_average, of_noise = rows[Q], rows[R], 0.0, 0.0
    for k in range(p):
        pull = pull_bar[k] if with_pull else 0.0
        rows[PHI_BAR, k], rows[M_BAR, k] = phi_bar[k], pull * average
        rows[W_BAR, k] += D_bar[k, k]
        of_average += pull * rows[M, k]
        for j in range(n):
            c = C[k, j]
            s_bar[j] += D_bar[k, j] * (q[k] * q[j] + r[k] * r[j] * c + 3.0 * c * c)
            s_bar[j] += pull * (q[k] * q[j] * c + 0.5 * r[k] * r[j] * c * c + c * c * c)
            _back_two(k, j, pull * s[j], D_bar[k, j] * s[j], C, rows, C_bar)
    if with_noise:
        of_noise, more = _back_square(p, fields, s, (average, square + noise), S_bar, rows, planes, to)
        of_average += more
    return _back_vectors(fields, error, average, (square_weight + of_noise, of_average), rows, to), of_noise


@compiled()
def back_slopes_times_square(p, C, s, bar, C_bar, s_bar, work):
    """As with means, which are zero here."""
    planes, rows = _cut(s.size, ALL_PLANES, ALL_ROWS, work.reshape(work.size))
    planes[PLANES:], rows[ROWS:] = 0.0, 0.0
    fields, error, to = (rows[H], C), (0.0, s), (rows[H_BAR], C_bar, s_bar)
    average, square, _ = _set_vectors(fields, error, rows)
    weights = _back_square(p, fields, s, (average, square), bar, rows, planes, to)
    _back_vectors(fields, error, average, weights, rows, to)
