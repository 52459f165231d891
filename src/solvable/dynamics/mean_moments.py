"""The moments of one step where fields have means and labels have offsets, in closed form: those of one case of a sample.

With z ~ N(h, C), error e = s_0 + sum_i s_i g(z_i), squared loss c (e + noise)^2 and learning amplitude
F_k = 2 c a_k g'(z_k) (e + noise):

    phi_k = <F_k>      D_kj = <dF_k/dz_j>      S_kl = <F_k F_l>      pull_k = 2 c <g_k e>

The prefactors a are arguments of their own, apart from the students' weights s_k in the error: those are -a_k here, but not for
every rule of learning.
"""

from solvable.gaussian.closed_forms import (
    averages_of_several,
    averages_with_means,
    drift,
    product,
    slopes,
    slopes_times_square,
)
from solvable.numerics.compiled import compiled


@compiled()
def is_plain(p, a, fields, error):
    """Whether there are neither means nor an offset, and the students' weights are minus their prefactors."""
    (h, _), (s0, s) = fields, error
    plain = s0 == 0.0
    for i in range(s.size):
        plain = plain and h[i] == 0.0
    for k in range(p):
        plain = plain and s[k] == -a[k]
    return plain


@compiled()
def plain_moments(kind, p, rule, fields, error, out, scratch):
    """As `moments_with_means`, where there are no means: the units' slopes are odd or the error is even, so that phi vanishes."""
    c, noise, with_noise, with_readout = rule
    (_, C), (_, s), (D, S, phi, pull) = fields, error, out
    n = s.size
    drift(kind, p, C, s, -2.0 * c, D)
    if with_noise:
        slopes_times_square(kind, p, C, s, scratch[: n * n].reshape(n, n), S)
    for k in range(p):
        phi[k] = pull[k] = 0.0
        for m in range(p if with_noise else 0):
            if noise > 0.0:
                S[k, m] += noise * slopes(kind, C[k, k], C[m, m], C[k, m])
            S[k, m] *= 4.0 * c * c * s[k] * s[m]
        for j in range(n if with_readout else 0):
            pull[k] += 2.0 * c * s[j] * product(kind, C[k, k], C[j, j], C[k, j])


@compiled()
def set_scale(p, rule, a, out):
    """Turn averages of the error into moments of the learning amplitude."""
    (c, _, with_noise, _), (D, S, phi, pull) = rule, out
    for k in range(p):
        phi[k] *= 2.0 * c * a[k]
        pull[k] *= 2.0 * c
        for j in range(a.size):
            D[k, j] *= 2.0 * c * a[k]
        for m in range(p if with_noise else 0):
            S[k, m] *= 4.0 * c * c * a[k] * a[m]


@compiled()
def moments_with_means(kind, p, rule, a, fields, error, out, scratch):
    """Fill `out` = (D, S, phi, pull) for `rule` = (loss factor, label noise, whether S is asked for, whether the pull is),
    prefactors a, `fields` = (h, C) and `error` = (s_0, s). Matrices have a row for each student at least, of which p are filled."""
    _, noise, with_noise, with_readout = rule
    if is_plain(p, a, fields, error):
        plain_moments(kind, p, rule, fields, error, out, scratch)
        return
    averages_with_means(kind, p, fields, error, noise, (with_noise, with_readout), out, scratch)
    set_scale(p, rule, a, out)


@compiled()
def moments_of_several(kind, p, rule, a, fields, errors, out, scratch):
    """As `moments_with_means` for several errors of the same fields: prefactors, errors and what is filled have one more index, the
    first."""
    _, noise, with_noise, with_readout = rule
    (s0, s), (D, S, phi, pull), plain = errors, out, True
    for e in range(s0.size):
        plain = plain and is_plain(p, a[e], fields, (s0[e], s[e]))
    together = not plain and averages_of_several(
        kind, p, fields, errors, noise, (with_noise, with_readout), out, scratch
    )
    for e in range(s0.size):
        one = D[e], S[e], phi[e], pull[e]
        if together:
            set_scale(p, rule, a[e], one)
        else:
            moments_with_means(kind, p, rule, a[e], fields, (s0[e], s[e]), one, scratch)
