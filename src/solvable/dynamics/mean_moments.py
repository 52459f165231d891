"""The moments of one step where fields have means and labels have offsets, in closed form: `closed.py` for one case of a sample.

With z ~ N(h, C), error e = s_0 + sum_i s_i g(z_i), squared loss c (e + noise)^2 and learning amplitude
F_k = 2 c a_k g'(z_k) (e + noise):

    phi_k = <F_k>      D_kj = <dF_k/dz_j>      S_kl = <F_k F_l>      pull_k = 2 c <g_k e>

The prefactors a are arguments of their own, apart from the students' weights s_k in the error: those are -a_k here, but not for
every rule of learning.
"""

from solvable.gaussian.drifts import drift
from solvable.gaussian.means import averages_with_means
from solvable.gaussian.pairs import product, slopes
from solvable.gaussian.squares import slopes_times_square
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
def moments_with_means(kind, p, rule, a, fields, error, out, scratch):
    """Fill `out` = (D, S, phi, pull) for `rule` = (loss factor, label noise, whether S is asked for, whether the pull is),
    prefactors a, `fields` = (h, C) and `error` = (s_0, s). Matrices have a row for each field, of which p are filled."""
    c, noise, with_noise, with_readout = rule
    if is_plain(p, a, fields, error):
        plain_moments(kind, p, rule, fields, error, out, scratch)
        return
    averages_with_means(kind, p, fields, error, noise, (with_noise, with_readout), out, scratch)
    D, S, phi, pull = out
    for k in range(p):
        phi[k] *= 2.0 * c * a[k]
        pull[k] *= 2.0 * c
        for j in range(a.size):
            D[k, j] *= 2.0 * c * a[k]
        for m in range(p if with_noise else 0):
            S[k, m] *= 4.0 * c * c * a[k] * a[m]
