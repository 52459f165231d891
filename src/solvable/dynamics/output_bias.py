"""The output's bias, a number of the state behind the readouts of all heads: it is the readout of a unit g = 1 without weights.

It shifts the outputs of its head, and what pushes it is the mean push of the loss; the last entry of what moments call `pull` has
that. For the squared loss that is 2 c <e>, closed for the units whose means are.
"""

import math

from solvable.gaussian.closed_forms import mean, mean_slopes
from solvable.numerics.compiled import compiled


@compiled()
def bias_at(problem, case, y):
    """What is added to the output that answers a case."""
    if not problem.biased:
        return 0.0
    return y[problem.blocks * problem.moving * problem.rows + problem.heads * problem.students + case.head]


@compiled()
def bias_place(problem, case):
    """Where in a state the bias is that answers a case."""
    return problem.blocks * problem.moving * problem.rows + problem.heads * problem.students + case.head


@compiled()
def add_push(problem, case, weight, push, dy):
    """Add a case's part of the drift of the bias that answers it."""
    if problem.train_bias:
        dy[problem.blocks * problem.moving * problem.rows + problem.heads * problem.students + case.head] += (
            weight * push
        )


@compiled()
def mean_error(kind, fields, offset, s):
    """<s_0 + sum_i s_i g(z_i)> of closed units."""
    (h, C), total = fields, offset
    for i in range(s.size):
        total += s[i] * mean(kind, h[i], C[i, i])
    return total


@compiled()
def mean_error_of_ramps(fields, offset, s):
    """<s_0 + sum_i s_i g(z_i)> of ReLU units."""
    (h, C), total = fields, offset
    for i in range(s.size):
        ramp = max(h[i], 0.0)
        if C[i, i] > 0.0:
            u = h[i] / math.sqrt(C[i, i])
            ramp = 0.5 * h[i] * math.erfc(-u * math.sqrt(0.5)) + math.sqrt(C[i, i] / (2.0 * math.pi)) * math.exp(
                -0.5 * u * u
            )
        total += s[i] * ramp
    return total


@compiled()
def back_mean_error(kind, fields, s, weight, to):
    """Reverse of `mean_error`: to = (means, covariance, weights in the error)."""
    (h, C), (h_bar, C_bar, s_bar) = fields, to
    for i in range(s.size):
        by_mean, by_variance = mean_slopes(kind, h[i], C[i, i])
        s_bar[i] += weight * mean(kind, h[i], C[i, i])
        h_bar[i] += weight * s[i] * by_mean
        C_bar[i, i] += weight * s[i] * by_variance


@compiled()
def mean_push(weights, push):
    """The mean of the push over nodes."""
    total = 0.0
    for c in range(weights.size):
        total += weights[c] * push[c]
    return total
