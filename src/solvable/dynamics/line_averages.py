"""The equations of motion of losses that look at one variable, which is averaged over on panels: exact up to rounding.

Linear students have F_k = a_k P, where the push P is a function of one normal variable, x = m + sqrt(v) xi:

    residuals   x = y - y^, of linear teachers, labels of classes and noise, with weights t = s = (-a, a*):
    margins     x = y^, of labels of classes, with weights t = a:
                phi_k = a_k <P>    D_kj = a_k t_j <P'>    S_kl = a_k a_l <P^2>    pull_k = h_k <P> + (C t)_k <P'>
    signs       x = y^ and labels sign(u) of linear teachers, u = y_c + sum_l a*_l z_l, of which given x only the chance of a
                positive sign enters: D_kj = a_k a_j A for students, a_k a*_j B for teachers, with B = <delta(u) (P_+ - P_-)>
                and, by Stein's lemma, <P (x - m)> = v A + cov(x, u) B

and a single student of any unit, with labels of classes, has averages over its own field. Panels of Gauss and Legendre end at the
kinks of the loss, where the push jumps or bends, and are graded towards them.
"""

import math

import numpy as np

from solvable.dynamics.case_averages import sum_cases
from solvable.dynamics.kernel_data import SYSTEM
from solvable.gaussian.curves import curve
from solvable.gaussian.losses import CORRELATION, SQUARED
from solvable.gaussian.tables import evaluate
from solvable.gaussian.units import LINEAR
from solvable.numerics.compiled import compiled

REACH = 10  # standard deviations
OCTAVES = 16  # panels halve towards a centre, down to 2 to minus this
CENTRES = 16  # at most
CELLS = 160  # in which the level crossings of a unit are looked for
NARROW = 3e-5  # standard deviations within which a label's change of sign is one jump
ORDER = 10
X = (
    -0.9739065285171717, -0.8650633666889845, -0.6794095682990244, -0.4333953941292472, -0.14887433898163122,
    0.14887433898163122, 0.4333953941292472, 0.6794095682990244, 0.8650633666889845, 0.9739065285171717,
)  # fmt: skip
W = (
    0.06667134430868814, 0.1494513491505806, 0.2190863625159821, 0.26926671930999635, 0.2955242247147529,
    0.2955242247147529, 0.26926671930999635, 0.2190863625159821, 0.1494513491505806, 0.06667134430868814,
)  # fmt: skip
ROOT = math.sqrt(2.0 * math.pi)


@compiled()
def density(xi):
    return math.exp(-0.5 * xi * xi) / ROOT


@compiled()
def raw_push(problem, numbers, x):
    """The push of a residual or margin, and its slope, without label and loss factor."""
    if problem.loss == SQUARED:
        return 2.0 * x, 2.0
    if problem.loss == CORRELATION:
        return 2.0, 0.0
    bits = np.float64(1.0 + abs(x)).view(np.uint64)
    return evaluate(numbers, problem.loss_at, x, bits)


@compiled()
def push_of(problem, numbers, y, output):
    """P and its slope in the output."""
    c = problem.loss_factor
    if problem.margin:
        push, slope = raw_push(problem, numbers, y * output)
        return c * y * push, c * y * y * slope
    push, slope = raw_push(problem, numbers, y - output)
    return c * push, -c * slope


@compiled()
def level(problem, numbers, i):
    """The i-th place that panels are graded to, as a residual or margin: zero, one and the kinks of the loss."""
    return float(i) if i < 2 else numbers[problem.loss_kinks + i - 2]


@compiled()
def sort(values, count):
    """The first numbers in order, by shells."""
    gap = count // 2
    while gap > 0:
        for i in range(gap, count):
            value, j = values[i], i
            while j >= gap and values[j - gap] > value:
                values[j] = values[j - gap]
                j -= gap
            values[j] = value
        gap //= 2


@compiled()
def set_edges(centres, count, edges):
    """Edges of panels over all standard deviations within reach, in order; how many there are."""
    n = 0
    for i in range(2 * REACH + 1):
        edges[n] = float(i - REACH)
        n += 1
    for i in range(count):
        if abs(centres[i]) < REACH:
            edges[n] = centres[i]
            n += 1
            for j in range(OCTAVES + 1):
                for side in (-1.0, 1.0):
                    place = centres[i] + side * 0.5**j
                    if abs(place) < REACH:
                        edges[n] = place
                        n += 1
    sort(edges, n)
    return n


@compiled()
def centre_outputs(problem, numbers, y, mean, deviation, centres, count):
    """Add the places xi at which the output mean + deviation xi has a graded residual or margin, with the label y."""
    for i in range(2 + problem.kink_count):
        if count == CENTRES or deviation <= 0.0 or (problem.margin and y == 0.0):
            return count
        place = level(problem, numbers, i)
        output = place / y if problem.margin else y - place
        centres[count] = (output - mean) / deviation
        count += 1
    return count


@compiled()
def form_of(t, C):
    """t^T C t."""
    total = 0.0
    for i in range(t.size):
        for j in range(t.size):
            total += t[i] * C[i, j] * t[j]
    return max(total, 0.0)


@compiled()
def average_push(problem, numbers, y, shape, room):
    """<P>, <P'> and <P^2> of x = mean + deviation xi, the residual itself (`shape` = (True, mean, deviation)) or the output."""
    residual, mean, deviation = shape
    centres, edges = room[:CENTRES], room[CENTRES:]
    count = 0
    if residual:  # as if the label were x and the output zero
        for i in range(2 + problem.kink_count):
            if deviation > 0.0 and count < CENTRES:
                centres[count] = (level(problem, numbers, i) - mean) / deviation
                count += 1
    else:
        count = centre_outputs(problem, numbers, y, mean, deviation, centres, count)
    n, first, second, square = set_edges(centres, count, edges), 0.0, 0.0, 0.0
    for i in range(n - 1):
        middle, half = 0.5 * (edges[i + 1] + edges[i]), 0.5 * (edges[i + 1] - edges[i])
        for j in range(ORDER):
            xi = middle + half * X[j]
            x = mean + deviation * xi
            push, slope = push_of(problem, numbers, x, 0.0) if residual else push_of(problem, numbers, y, x)
            w = half * W[j] * density(xi)
            first += w * push
            second += w * (push * xi if deviation > 0.0 else (-slope if residual else slope))
            square += w * push * push
    return first, second / (deviation if deviation > 0.0 else 1.0), square


@compiled()
def linear_moments(problem, case, rule, fields, numbers, out, room):
    """Residuals, or margins of labels of classes."""
    (noise, bias), (h, C, a, s), (D, S, phi, pull) = rule, fields, out
    p, n, residual = problem.students, s.size, not problem.margin
    t, y = s if residual else a, case.label
    if problem.signed:
        y = 1.0 if y > 0.0 else -1.0
    mean, variance = y - bias if residual else bias, form_of(t, C) + (noise if residual else 0.0)
    for i in range(n):
        mean += t[i] * h[i]
    first, slope, square = average_push(problem, numbers, y, (residual, mean, math.sqrt(variance)), room)
    pull[n] = first
    for k in range(p):
        phi[k], pull[k] = a[k] * first, h[k] * first
        for j in range(n):
            D[k, j] = a[k] * t[j] * slope
            pull[k] += C[k, j] * t[j] * slope
        for m in range(p):
            S[k, m] = a[k] * a[m] * square


@compiled()
def average_signs(problem, numbers, shape, room):
    """<P>, A, B and <P^2> for labels sign(u): `shape` = (mean and deviation of x, mean and variance of u, their covariance)."""
    mean, deviation, offset, variance, joint = shape
    centres, edges = room[:CENTRES], room[CENTRES:]
    along = joint / deviation if deviation > 0.0 else 0.0  # of u, per standard deviation of x
    own = math.sqrt(max(variance - along * along, 0.0))
    count = centre_outputs(problem, numbers, 1.0, mean, deviation, centres, 0)
    count = centre_outputs(problem, numbers, -1.0, mean, deviation, centres, count)
    turn, narrow = np.inf, own <= NARROW * abs(along)
    if along != 0.0:
        turn = -offset / along
        centres[min(count, CENTRES - 1)] = turn
        count = min(count + 1, CENTRES)
    n, first, second, jump, square, flat = set_edges(centres, count, edges), 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(n - 1):
        middle, half = 0.5 * (edges[i + 1] + edges[i]), 0.5 * (edges[i + 1] - edges[i])
        for j in range(ORDER):
            xi = middle + half * X[j]
            u, x, w = offset + along * xi, mean + deviation * xi, half * W[j] * density(xi)
            up, up_slope = push_of(problem, numbers, 1.0, x)
            down, down_slope = push_of(problem, numbers, -1.0, x)
            chance = (
                0.5 * math.erfc(-u / own * math.sqrt(0.5)) if own > 0.0 and not narrow else (1.0 if u > 0.0 else 0.0)
            )
            push = chance * up + (1.0 - chance) * down
            first += w * push
            second += w * push * xi
            square += w * (chance * up * up + (1.0 - chance) * down * down)
            flat += w * (chance * up_slope + (1.0 - chance) * down_slope)
            if own > 0.0 and not narrow:
                jump += w * density(u / own) / own * (up - down)
    if narrow and abs(turn) < REACH:
        up, _ = push_of(problem, numbers, 1.0, mean + deviation * turn)
        down, _ = push_of(problem, numbers, -1.0, mean + deviation * turn)
        jump = density(turn) / abs(along) * (up - down)
    return first, (second - along * jump) / deviation if deviation > 0.0 else flat, jump, square


@compiled()
def sign_moments(problem, case, bias, fields, numbers, out, room):
    """Labels that are signs of linear teachers."""
    (h, C, a, s), (D, S, phi, pull) = fields, out
    p, n, mean, offset = problem.students, s.size, bias, case.label
    variance, joint = 0.0, 0.0
    for i in range(n):
        mean += a[i] * h[i]
        if i >= p:
            offset += s[i] * h[i]
            for j in range(p, n):
                variance += s[i] * C[i, j] * s[j]
            for k in range(p):
                joint += a[k] * C[k, i] * s[i]
    deviation = math.sqrt(form_of(a, C))
    first, A, B, square = average_signs(problem, numbers, (mean, deviation, offset, max(variance, 0.0), joint), room)
    pull[n] = first
    for k in range(p):
        phi[k], pull[k] = a[k] * first, h[k] * first
        for j in range(n):
            D[k, j] = a[k] * (a[j] * A if j < p else s[j] * B)
            pull[k] += C[k, j] * (a[j] * A if j < p else s[j] * B)
        for m in range(p):
            S[k, m] = a[k] * a[m] * square


@compiled()
def excess(problem, numbers, z, unit, place):
    """Output of the single student at field z, less `place`; `unit` = (readout, bias, one field, value, slope)."""
    a, bias, x, g, slope = unit
    x[0] = z
    curve(problem.unit, numbers, problem.unit_at, problem.unit_terms, x, g, slope)
    return a * g[0] + bias - place


@compiled()
def centre_fields(problem, numbers, y, shape, unit, centres):
    """The places xi at which the output of the single student has a graded residual or margin, and where its field is zero."""
    mean, deviation = shape
    centres[0], count = -mean / deviation, 1
    for i in range(2 + problem.kink_count):
        if problem.margin and y == 0.0:
            return count
        place = level(problem, numbers, i)
        output = place / y if problem.margin else y - place
        before = excess(problem, numbers, mean - deviation * REACH, unit, output)
        for cell in range(1, CELLS + 1):
            high = -REACH + 2.0 * REACH * cell / CELLS
            after = excess(problem, numbers, mean + deviation * high, unit, output)
            if before * after < 0.0 and count < CENTRES:
                low = high - 2.0 * REACH / CELLS
                for _ in range(48):
                    middle = 0.5 * (low + high)
                    if excess(problem, numbers, mean + deviation * middle, unit, output) * before > 0.0:
                        low = middle
                    else:
                        high = middle
                centres[count] = 0.5 * (low + high)
                count += 1
            before = after
    return count


@compiled()
def single_moments(problem, case, bias, fields, numbers, out, room):
    """One student, and labels of classes."""
    (h, C, a, _), (D, S, phi, pull) = fields, out
    mean, deviation, y = h[0], math.sqrt(max(C[0, 0], 0.0)), case.label
    if problem.signed:
        y = 1.0 if y > 0.0 else -1.0
    centres, z, g, slope = (
        room[:CENTRES],
        room[CENTRES:][:ORDER],
        room[CENTRES + ORDER :][:ORDER],
        room[CENTRES + 2 * ORDER :][:ORDER],
    )
    edges, count = room[CENTRES + 3 * ORDER :], 0
    if deviation > 0.0:
        unit = a[0], bias, z[:1], g[:1], slope[:1]
        count = centre_fields(problem, numbers, y, (mean, deviation), unit, centres)
    n = set_edges(centres, count, edges)
    phi[0] = pull[0] = pull[1] = D[0, 0] = S[0, 0] = 0.0
    for i in range(n - 1):
        middle, half = 0.5 * (edges[i + 1] + edges[i]), 0.5 * (edges[i + 1] - edges[i])
        for j in range(ORDER):
            z[j] = mean + deviation * (middle + half * X[j])
        curve(problem.unit, numbers, problem.unit_at, problem.unit_terms, z, g, slope)
        for j in range(ORDER):
            xi = middle + half * X[j]
            push, _ = push_of(problem, numbers, y, a[0] * g[j] + bias)
            w, F = half * W[j] * density(xi), a[0] * slope[j] * push
            phi[0] += w * F
            pull[0] += w * g[j] * push
            pull[1] += w * push
            S[0, 0] += w * F * F
            D[0, 0] += w * F * xi / deviation if deviation > 0.0 else 0.0


@compiled()
def line_moments(problem, case, rule, fields, matrices, numbers, out, scratch):
    """Fill `out` = (D, S, phi, pull) of a case."""
    if problem.kind != LINEAR:
        single_moments(problem, case, rule[3], fields, numbers, out, scratch)
    elif problem.signed and problem.teachers > 0:
        sign_moments(problem, case, rule[3], fields, numbers, out, scratch)
    else:
        linear_moments(problem, case, (rule[0], rule[3]), fields, numbers, out, scratch)


@compiled(SYSTEM)
def rhs_on_a_line(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Losses that look at one variable."""
    sum_cases(line_moments, segment, t, y, dy, problems, blocks, cases, numbers, work)
