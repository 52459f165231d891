"""`closed_forms.averages_with_means` for erf units, g(z) = erf(z/sqrt 2), of one or several errors that share their fields.

A slope is a Gaussian: it tilts the law of all fields, and what is left has one or two units. With the slopes of k and l, which may
be the same student, and K = (1 + C_{kl,kl})^-1,

    weight  w = (2/pi) det(K)^(1/2) exp(-h_kl K h_kl / 2),    m = h - C_{.,kl} K h_kl,    v = C - C_{.,kl} K C_{kl,.}

and with one slope w = (2/(pi (1 + C_kk)))^(1/2) exp(-h_k^2/(2 (1 + C_kk))) and the like. Then <g_i> and <g_i g_j> are those
of `signs.py` at mu_i = m_i/(1 + v_ii)^(1/2), <g'_i> = (2/(pi (1 + v_ii)))^(1/2) exp(-mu_i^2/2), and
<z_k e> = m_k <e> + sum_j v_kj s_j <g'_j>. Covariances are series in the correlation where it is not large (`sign_series.py`).

Eight tilts are followed at once, one in each lane: those by two slopes, then none, then those by one slope. What depends on the
fields alone is computed once for all errors.
"""

import math

from solvable.gaussian.sign_series import LIMITS, MOST, TERMS, fill_series, limit_of, sum_series
from solvable.gaussian.signs import LANES, TWO_OVER_PI, integrate
from solvable.numerics.compiled import compiled
from solvable.numerics.error_function import erf_with_slope
from solvable.numerics.lanes import fill, fma, load, root, store

NONE = -1  # no slope
D, B, A, FIRST, SECOND, WEIGHT, ONE, OTHER, SPARE = range(9)  # slots of a tilt; the last are three
TILT = SPARE + 3
# slots of fields under a tilt, one for each field: rows of C and what K makes of them, the factor (1 + v_ii)^(-1/2), which those
# have too; mu; <g>; and their series
ROW, OTHER_ROW, LEFT, OTHER_LEFT, FACTOR, MU, MEAN, SERIES = range(8)


def erf_scratch(fields: int) -> int:
    """Numbers of scratch for `erf_averages`."""
    return LANES * (TILT + (SERIES + MOST) * fields + fields * (fields + 1) // 2)


@compiled()
def set_tilt(lane, k, o, fields, tilt):
    """A lane of the tilt by the slopes of k and o: K = (d, -b; -b, a), (first, second) is what it makes of their means."""
    (h, C), d, b, a, first, second, weight = fields, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0
    if o != NONE:
        det = (1.0 + C[k, k]) * (1.0 + C[o, o]) - C[k, o] * C[k, o]
        a, b, d = (1.0 + C[k, k]) / det, C[k, o] / det, (1.0 + C[o, o]) / det
        first, second = d * h[k] - b * h[o], a * h[o] - b * h[k]
        weight = TWO_OVER_PI / math.sqrt(det) * math.exp(-0.5 * (h[k] * first + h[o] * second))
    elif k != NONE:
        d = 1.0 / (1.0 + C[k, k])
        first = d * h[k]
        weight = math.sqrt(TWO_OVER_PI * d) * math.exp(-0.5 * h[k] * first)
    tilt[D * LANES + lane], tilt[B * LANES + lane], tilt[A * LANES + lane] = d, b, a
    tilt[FIRST * LANES + lane], tilt[SECOND * LANES + lane], tilt[WEIGHT * LANES + lane] = first, second, weight
    tilt[ONE * LANES + lane], tilt[OTHER * LANES + lane] = float(k), float(o)


@compiled()
def next_tilt(k, o, p):
    """The tilt after that by k and o, and whether there is one."""
    if o == NONE:
        return k + 1, NONE, k + 1 < p
    if o < k:
        return k, o + 1, True
    if k + 1 < p:
        return k + 1, 0, True
    return NONE, NONE, True


@compiled()
def lean(fields, tilt, tilted):
    """Fields under eight tilts."""
    h, C = fields
    n = h.size
    for lane in range(LANES):
        k, o = max(int(tilt[ONE * LANES + lane]), 0), max(int(tilt[OTHER * LANES + lane]), 0)
        for i in range(n):
            tilted[(ROW * n + i) * LANES + lane] = C[k, i]
            tilted[(OTHER_ROW * n + i) * LANES + lane] = C[o, i]
    d, b, a, first, second = load(tilt, D), load(tilt, B), load(tilt, A), load(tilt, FIRST), load(tilt, SECOND)
    for i in range(n):
        at_k, at_o = load(tilted, ROW * n + i), load(tilted, OTHER_ROW * n + i)
        x, y = d * at_k - b * at_o, a * at_o - b * at_k
        r = 1.0 / root(1.0 + C[i, i] - x * at_k - y * at_o)
        mu = (h[i] - at_k * first - at_o * second) * r
        mean, slope = erf_with_slope(mu)
        store(tilted, ROW * n + i, at_k * r)
        store(tilted, OTHER_ROW * n + i, at_o * r)
        store(tilted, LEFT * n + i, x * r)
        store(tilted, OTHER_LEFT * n + i, y * r)
        store(tilted, FACTOR * n + i, r)
        store(tilted, MU * n + i, mu)
        store(tilted, MEAN * n + i, mean)
        store(tilted, SERIES * n + i * MOST, slope)


@compiled()
def correlate(C, tilted, pairs):
    """Fill a slot of each pair of fields with their correlation, of z_i + xi_i with independent standard normal xi; the largest
    number of terms that a series needs."""
    n, at, most = C.shape[0], 0, 1
    for i in range(n):
        x, y, r = load(tilted, LEFT * n + i), load(tilted, OTHER_LEFT * n + i), load(tilted, FACTOR * n + i)
        for j in range(i + 1):
            rho = C[i, j] * r * load(tilted, FACTOR * n + j)
            rho = rho - x * load(tilted, ROW * n + j) - y * load(tilted, OTHER_ROW * n + j)
            limit = limit_of(rho)
            if limit < LIMITS.size:
                most = max(most, TERMS[limit])
            store(pairs, at, rho)
            at += 1
    return most


@compiled()
def covary(C, tilt, tilted, pairs):
    """Fill a slot of each pair of fields with the covariance of their units."""
    n, at, most = C.shape[0], 0, correlate(C, tilted, pairs)
    series, spare = tilted[SERIES * n * LANES :], tilt[SPARE * LANES :]
    for i in range(n):
        fill_series(load(tilted, MU * n + i), load(series, i * MOST), most, series, i * MOST)
    for i in range(n):
        for j in range(i + 1):
            rho = load(pairs, at)
            limit = limit_of(rho)
            if limit < LIMITS.size:
                store(pairs, at, sum_series(rho, TERMS[limit], series, i * MOST, j * MOST))
            else:
                one, other = (MU * n + i) * LANES, (MU * n + j) * LANES
                integrate(
                    pairs[at * LANES : (at + 1) * LANES],
                    tilted[one : one + LANES],
                    tilted[other : other + LANES],
                    spare,
                )
            at += 1


@compiled(inline=True)
def mean_of(s0, s, tilted):
    """<e> under eight tilts."""
    mean = fill(s0)
    for i in range(s.size):
        mean = fma(fill(s[i]), load(tilted, MEAN * s.size + i), mean)
    return mean


@compiled(inline=True)
def variance_of(s, pairs):
    """<e^2> - <e>^2 under eight tilts."""
    total, at = fill(0.0), 0
    for i in range(s.size):
        part = fill(0.0)
        for j in range(i):
            part = fma(fill(s[j]), load(pairs, at + j), part)
        total = fma(fill(s[i]), 2.0 * part + s[i] * load(pairs, at + i), total)
        at += i + 1
    return total


@compiled(inline=True)
def take_drift(lane, k, mean, s, tilt, tilted, drift):
    """Fill row k of D from a tilt by its slope alone; <g'_k e>."""
    n, weight, bend = s.size, tilt[WEIGHT * LANES + lane], 0.0
    for j in range(n):
        slope = s[j] * tilted[(SERIES * n + j * MOST) * LANES + lane]
        bend += tilted[(ROW * n + j) * LANES + lane] * slope
        drift[k, j] = weight * slope * tilted[(FACTOR * n + j) * LANES + lane]
    drift[k, k] -= weight * (tilt[FIRST * LANES + lane] * mean + tilt[D * LANES + lane] * bend)
    return weight * mean


@compiled(inline=True)
def take_pulls(lane, p, mean, s, tilted, pairs, pull):
    """Fill <g_k e> from the lane without a tilt; the sum of |terms| of the variance of e."""
    n, at, size = s.size, 0, 0.0
    for k in range(p):
        pull[k] = tilted[(MEAN * n + k) * LANES + lane] * mean
    for i in range(n):
        for j in range(i + 1):
            found = pairs[(at + j) * LANES + lane]
            size += abs(s[i] * s[j] * found) * (1.0 if i == j else 2.0)
            if i < p:
                pull[i] += s[j] * found
            if j < p and j < i:
                pull[j] += s[i] * found
        at += i + 1
    return size


@compiled()
def take(lanes, p, error, noise, asked, out, work):
    """What one error has under so many tilts; <e^2> and the size of its terms if one of them is none."""
    (s0, s), (drift, S, phi, pull), (tilt, tilted, pairs), (with_pairs, with_rest) = error, out, work, asked
    found, size = 0.0, 0.0
    mean = mean_of(s0, s, tilted)
    square = mean * mean + variance_of(s, pairs) if with_pairs else mean
    store(tilt, SPARE, mean)
    store(tilt, SPARE + 1, square)
    store(tilt, SPARE + 2, load(tilt, WEIGHT) * (square + noise))
    for lane in range(lanes):
        k, o = int(tilt[ONE * LANES + lane]), int(tilt[OTHER * LANES + lane])
        mean_here = tilt[SPARE * LANES + lane]
        if o != NONE:
            S[k, o] = S[o, k] = tilt[(SPARE + 2) * LANES + lane]
        elif k != NONE:
            phi[k] = take_drift(lane, k, mean_here, s, tilt, tilted, drift)
        elif with_rest:
            found = tilt[(SPARE + 1) * LANES + lane]
            size = mean_here * mean_here + take_pulls(lane, p, mean_here, s, tilted, pairs, pull)
    return found, size


@compiled()
def erf_averages(p, fields, errors, noise, asked, out, scratch):
    """As `closed_forms.averages_with_means`, for errors (s_0 (error,), s (error, field)), whose number is the first index of all
    that is filled: (D, S, phi, pull). <e^2> of the last error and the size of its terms."""
    (s0, s), (drift, S, phi, pull), (with_noise, with_rest) = errors, out, asked
    n, found = s.shape[1], (0.0, 0.0)
    begin, end = TILT * LANES, (TILT + (SERIES + MOST) * n) * LANES
    tilt, tilted, pairs = scratch[:begin], scratch[begin:end], scratch[end:]
    k, o, more = (0, 0, True) if with_noise and p > 0 else (NONE, NONE, True)
    while more:
        lanes, with_pairs = 0, False
        while lanes < LANES and more:
            set_tilt(lanes, k, o, fields, tilt)
            with_pairs = with_pairs or o != NONE or (k == NONE and with_rest)
            k, o, more = next_tilt(k, o, p)
            lanes += 1
        for lane in range(lanes, LANES):
            set_tilt(lane, int(tilt[ONE * LANES]), int(tilt[OTHER * LANES]), fields, tilt)
        lean(fields, tilt, tilted)
        if with_pairs:
            covary(fields[1], tilt, tilted, pairs)
        for e in range(s0.size):
            last = take(
                lanes,
                p,
                (s0[e], s[e]),
                noise,
                (with_pairs, with_rest),
                (drift[e], S[e], phi[e], pull[e]),
                (tilt, tilted, pairs),
            )
            found = found[0] + last[0], found[1] + last[1]
    return found


@compiled()
def averages_of_several(p, fields, errors, noise, asked, out, scratch):
    """Fill the averages of several errors: what depends on the fields alone is computed once."""
    erf_averages(p, fields, errors, noise, asked, out, scratch)
    return True


@compiled()
def averages_with_means(p, fields, error, noise, asked, out, scratch):
    """Fill the averages of one error; <e^2> and the size of its terms."""
    (s0, s), (D, S, phi, pull), n, k = error, out, error[1].size, out[0].shape[0]
    scratch[0] = s0
    alone = D.reshape(1, k, n), S.reshape(1, k, k), phi.reshape(1, phi.size), pull.reshape(1, pull.size)
    return erf_averages(p, fields, (scratch[:1], s.reshape(1, n)), noise, asked, alone, scratch[1:])
