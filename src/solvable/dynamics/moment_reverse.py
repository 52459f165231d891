"""The moments of one step in reverse, where fields have no means (`closed_moments.py`): to the covariance and the signed readouts.

The prefactors a = -s of the students are weighed apart, because readouts may be zero.
"""

from solvable.gaussian.closed_forms import (
    back_drift,
    back_product,
    back_slopes,
    back_slopes_times_square,
    drift,
    product,
    slopes,
    slopes_times_square,
)
from solvable.numerics.compiled import compiled


@compiled()
def plain_averages(kind, p, rule, C, s, out, scratch):
    """Fill out = (D, S, S without the students' readouts, pull of these); rule = (loss factor, label noise, whether S is asked for,
    whether the pull is)."""
    (c, noise, with_noise, with_pull), (D, S, bare, pull) = rule, out
    drift(kind, p, C, s, -2.0 * c, D)
    if with_noise:
        slopes_times_square(kind, p, C, s, scratch, bare)
    for k in range(p):
        for m in range(p if with_noise else 0):
            bare[k, m] += noise * slopes(kind, C[k, k], C[m, m], C[k, m])
            S[k, m] = 4.0 * c * c * s[k] * s[m] * bare[k, m]
        pull[k] = 0.0
        for j in range(s.size if with_pull else 0):
            pull[k] += 2.0 * c * s[j] * product(kind, C[k, k], C[j, j], C[k, j])


@compiled()
def back_noise(kind, p, rule, C, s, bare, S_bar, prefactors, to, planes):
    """Of S, to the covariance, the signed readouts and the prefactors; what the label noise is weighed by."""
    (c, noise, _, _), (a, a_bar), (C_bar, s_bar), seen = rule, prefactors, to, 0.0
    for k in range(p):
        for m in range(p):
            bar = 4.0 * c * c * S_bar[k, m]
            a_bar[k] += bar * a[m] * bare[k, m]
            a_bar[m] += bar * a[k] * bare[k, m]
            S_bar[k, m] = bar = bar * a[k] * a[m]
            seen += bar * slopes(kind, C[k, k], C[m, m], C[k, m])
            back_slopes(kind, C, k, m, bar * noise, C_bar)
    back_slopes_times_square(kind, p, C, s, S_bar, C_bar, s_bar, planes)
    return seen


@compiled()
def back_plain(kind, p, rule, C, s, bare, bars, prefactors, to, planes):
    """Reverse of `plain_averages`: bars = (D, S, pull), prefactors = room for a and its weights, to = (C, s); what the label noise
    is weighed by. The weights of S are spoilt."""
    (c, _, with_noise, with_pull), (D_bar, S_bar, pull_bar), (a, a_bar), (C_bar, s_bar) = rule, bars, prefactors, to
    seen = 0.0
    for k in range(p):
        a[k], a_bar[k] = -s[k], 0.0
    back_drift(kind, p, C, s, a, 2.0 * c, D_bar, C_bar, s_bar, a_bar)
    if with_noise:
        seen = back_noise(kind, p, rule, C, s, bare, S_bar, prefactors, to, planes)
    for k in range(p):
        weight = 2.0 * c * pull_bar[k]
        for j in range(s.size if with_pull else 0):
            back_product(kind, C, k, j, weight * s[j], C_bar)
            s_bar[j] += weight * product(kind, C[k, k], C[j, j], C[k, j])
        s_bar[k] -= a_bar[k]
    return seen
