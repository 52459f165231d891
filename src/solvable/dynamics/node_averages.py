"""Moments of one step as averages over fixed nodes in compiled code, for any unit, target and loss.

With z = C^(1/2) g, g standard normal and the symmetric root, F_k = a_k g'_k P(y, y^) and P the push with its loss factor:

    S_kl     <F_k F_l>
    D_kj     a_k ( delta_kj <g''_k P> + a_j <g'_k g'_j dP/dy^> )  for students j,    a_k <g'_k dP/dy dy/dz_j>  for teachers
    readout  <g_k P>

or, where units have kinks or the push jumps, D = <F g^T> (C^(1/2))^+ by Stein's lemma, which scatters more but needs no second
slope; with the pseudo-inverse, singular covariances are harmless. Nodes are taken in chunks, one row of scratch for each
quantity, so that every loop runs over neighbouring nodes.
"""

import math

from solvable.dynamics.kernel_data import DRIFT, NOISE, SCRATCH
from solvable.gaussian.curves import bends, curve
from solvable.gaussian.losses import CORRELATION, SQUARED
from solvable.gaussian.units import TABULATED
from solvable.numerics.compiled import compiled

CHUNK = 256
# rows of scratch behind those of fields: weights, label, output, push, its slopes in output and label, a product
WEIGHT, LABEL, OUTPUT, PUSH, TO_OUTPUT, TO_LABEL, COLUMN = range(7)
ROWS = 7


def node_scratch(fields: int) -> int:
    """Numbers of scratch: a row of fields, values, slopes and bends of each field, then the others."""
    return (4 * fields + ROWS) * CHUNK


@compiled()
def weighted_dot(a, b, w):
    total = 0.0
    for i in range(w.size):
        total += a[i] * b[i] * w[i]
    return total


@compiled()
def take_nodes(problem, root, numbers, begin, rows):
    """Fields of the nodes that begin at number `begin`, and their weights; rows (4 n + ROWS, chunk)."""
    n, size = root.shape[0], rows.shape[1]
    for i in range(n):
        z = rows[i]
        for c in range(size):
            z[c] = 0.0
        for d in range(n):
            at, factor = problem.nodes + d * problem.node_count + begin, root[i, d]
            for c in range(size):
                z[c] += factor * numbers[at + c]
    at = problem.nodes + problem.node_fields * problem.node_count + begin
    for c in range(size):
        rows[4 * n + WEIGHT, c] = numbers[at + c]


@compiled()
def take_units(problem, n, numbers, rows):
    """Values and slopes of all units at the fields."""
    for i in range(n):
        if i < problem.students:
            curve(problem.unit, numbers, problem.unit_at, problem.unit_terms, rows[i], rows[n + i], rows[2 * n + i])
        elif not problem.product:
            curve(
                problem.teacher_unit, numbers, problem.teacher_at, problem.teacher_terms,
                rows[i], rows[n + i], rows[2 * n + i],
            )  # fmt: skip


@compiled()
def take_labels(problem, s, n, rows):
    """Labels without noise, and outputs."""
    p, label, output = problem.students, rows[4 * n + LABEL], rows[4 * n + OUTPUT]
    for c in range(label.size):
        label[c] = 1.0 if problem.product else 0.0
        output[c] = 0.0
    for i in range(n):
        x = rows[i] if problem.product and i >= p else rows[n + i]
        if i < p:
            for c in range(output.size):
                output[c] -= s[i] * x[c]
        elif problem.product:
            for c in range(label.size):
                label[c] *= x[c]
        else:
            for c in range(label.size):
                label[c] += s[i] * x[c]


@compiled()
def square_error(n, rows):
    """Sum of weights times squared errors."""
    w, label, output = rows[4 * n + WEIGHT], rows[4 * n + LABEL], rows[4 * n + OUTPUT]
    total = 0.0
    for c in range(w.size):
        total += w[c] * (label[c] - output[c]) ** 2
    return total


@compiled()
def take_pushes(problem, numbers, n, rows):
    """Push and its slopes, with the loss factor."""
    label, output, push = rows[4 * n + LABEL], rows[4 * n + OUTPUT], rows[4 * n + PUSH]
    to_output, to_label, x = rows[4 * n + TO_OUTPUT], rows[4 * n + TO_LABEL], rows[4 * n + COLUMN]
    factor = problem.loss_factor
    for c in range(x.size):
        x[c] = label[c] * output[c] if problem.margin else label[c] - output[c]
    if problem.loss == SQUARED:
        for c in range(x.size):
            push[c], to_label[c] = 2.0 * x[c], 2.0
    elif problem.loss == CORRELATION:  # whatever the margin
        for c in range(x.size):
            push[c], to_label[c] = 2.0, 0.0
    else:
        curve(TABULATED, numbers, problem.loss_at, 0, x, push, to_label)
    if problem.margin:
        for c in range(x.size):
            bare, slope = factor * push[c], factor * to_label[c]
            push[c], to_label[c], to_output[c] = bare * label[c], bare + slope * x[c], slope * label[c] * label[c]
    else:
        for c in range(x.size):
            push[c] *= factor
            to_label[c] *= factor
            to_output[c] = -to_label[c]


@compiled()
def add_noise(problem, noise, numbers, begin, label):
    """The noise of labels, a field of its own where it does not enter by its variance alone."""
    at, factor = problem.nodes + (problem.node_fields - 1) * problem.node_count + begin, math.sqrt(noise)
    for c in range(label.size):
        label[c] += factor * numbers[at + c]


@compiled()
def noise_on_nodes(problem, noise, s, root, numbers, scratch, S):
    """S of squared loss, the first students' rows; for targets that are added up of units."""
    p, n = problem.students, s.size
    for k in range(p):
        for m in range(p):
            S[k, m] = 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_nodes(problem, root, numbers, begin, rows)
        take_units(problem, n, numbers, rows)
        take_labels(problem, s, n, rows)
        w, label, output = rows[4 * n + WEIGHT], rows[4 * n + LABEL], rows[4 * n + OUTPUT]
        for c in range(size):
            w[c] *= (label[c] - output[c]) ** 2 + noise
        for k in range(p):
            for m in range(k + 1):
                S[k, m] += weighted_dot(rows[2 * n + k], rows[2 * n + m], w)
    for k in range(p):
        for m in range(k + 1):
            S[k, m] *= 4.0 * problem.loss_factor**2 * s[k] * s[m]
            S[m, k] = S[k, m]


@compiled()
def risk_on_nodes(problem, s, root, numbers, scratch):
    """c <e^2>."""
    n, total = s.size, 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_nodes(problem, root, numbers, begin, rows)
        take_units(problem, n, numbers, rows)
        take_labels(problem, s, n, rows)
        total += square_error(n, rows)
    return problem.loss_factor * total


@compiled()
def label_slope(problem, s, n, j, rows, column):
    """Multiply by dy/dz_j, of teacher j."""
    if not problem.product:
        for c in range(column.size):
            column[c] *= s[j] * rows[2 * n + j, c]
        return
    for i in range(problem.students, n):
        if i != j:
            for c in range(column.size):
                column[c] *= rows[i, c]


@compiled()
def add_drift(problem, s, numbers, n, rows, D):
    """Add a chunk's part of D over a_k, by slopes."""
    p, w, push, column = problem.students, rows[4 * n + WEIGHT], rows[4 * n + PUSH], rows[4 * n + COLUMN]
    to_output, to_label = rows[4 * n + TO_OUTPUT], rows[4 * n + TO_LABEL]
    for j in range(n):
        for c in range(w.size):
            column[c] = -s[j] * rows[2 * n + j, c] * to_output[c] if j < p else to_label[c]
        if j >= p:
            label_slope(problem, s, n, j, rows, column)
        for k in range(p):
            D[k, j] += weighted_dot(rows[2 * n + k], column, w)
    for k in range(p):
        bends(problem.unit, numbers, problem.unit_at, problem.unit_terms, rows[k], rows[3 * n + k])
        D[k, k] += weighted_dot(rows[3 * n + k], push, w)


@compiled()
def add_drift_by_stein(problem, numbers, begin, n, rows, D):
    """Add a chunk's part of <F g^T> over a_k."""
    w, push, column = rows[4 * n + WEIGHT], rows[4 * n + PUSH], rows[4 * n + COLUMN]
    for d in range(n):
        at = problem.nodes + d * problem.node_count + begin
        for c in range(w.size):
            column[c] = push[c] * numbers[at + c]
        for k in range(problem.students):
            D[k, d] += weighted_dot(rows[2 * n + k], column, w)


@compiled()
def add_noise_and_readout(problem, noise, n, rows, S, readout_drift):
    """Add a chunk's part of S over a_k a_l, and of the readout drift."""
    p, w, push = problem.students, rows[4 * n + WEIGHT], rows[4 * n + PUSH]
    square = rows[4 * n + COLUMN]
    more = 4.0 * problem.loss_factor**2 * noise if problem.loss == SQUARED or problem.loss == CORRELATION else 0.0
    for c in range(w.size):
        square[c] = w[c] * (push[c] * push[c] + more)
    for k in range(p):
        readout_drift[k] += weighted_dot(rows[n + k], push, w)
        for m in range(k + 1):
            S[k, m] += weighted_dot(rows[2 * n + k], rows[2 * n + m], square)


@compiled()
def moments_on_nodes(problem, noise, s, root, inverse, numbers, work, scratch, readout_drift):
    """Fill the first rows of the planes DRIFT and NOISE of `work`, and the readout drift."""
    p, n, D, S = problem.students, s.size, work[DRIFT], work[NOISE]
    for k in range(p):
        readout_drift[k] = 0.0
        for j in range(n):
            D[k, j] = S[k, j] = 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_nodes(problem, root, numbers, begin, rows)
        take_units(problem, n, numbers, rows)
        take_labels(problem, s, n, rows)
        if problem.node_fields > n:
            add_noise(problem, noise, numbers, begin, rows[4 * n + LABEL])
        take_pushes(problem, numbers, n, rows)
        if problem.smooth:
            add_drift(problem, s, numbers, n, rows, D)
        else:
            add_drift_by_stein(problem, numbers, begin, n, rows, D)
        add_noise_and_readout(problem, noise, n, rows, S, readout_drift)
    finish(problem, s, inverse, D, S, work[SCRATCH])


@compiled()
def finish(problem, s, inverse, D, S, kept):
    """Readouts as factors, and the root's inverse for Stein's lemma."""
    p, n = problem.students, s.size
    for k in range(p):
        for j in range(n):
            kept[k, j] = -s[k] * D[k, j]
        for j in range(n):
            total = kept[k, j]
            if not problem.smooth:
                total = 0.0
                for d in range(n):
                    total += kept[k, d] * inverse[d, j]
            D[k, j] = total
        for m in range(k + 1):
            S[k, m] *= s[k] * s[m]
            S[m, k] = S[k, m]
