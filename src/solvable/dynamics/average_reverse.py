"""The equations of motion in reverse for smooth units without closed form: `averages.rhs_of_pairs` and `observe_pairs`.

Averages over two fields are series, whose derivatives are series again (`gaussian/series_reverses.py`). The noise is an average
over fixed nodes z = R xi with the symmetric root R of C: through the fields of every node weights reach R, and the covariance by
dR_ij = dC_ij / (r_i + r_j), in the eigenbasis of C with roots r. So derivatives are those of what is computed.
"""

import math

from solvable.dynamics.averages import drift_of_pairs
from solvable.dynamics.equations import fields, label_noise_at
from solvable.dynamics.functions import scratch_size
from solvable.dynamics.kernel_data import DRIFT, FIELDS, NOISE, PLANES, SIGNS
from solvable.dynamics.node_averages import (
    CHUNK,
    COLUMN,
    LABEL,
    OUTPUT,
    PUSH,
    ROWS,
    TO_LABEL,
    TO_OUTPUT,
    WEIGHT,
    node_scratch,
    noise_on_nodes,
    take_labels,
    take_nodes,
    take_units,
    weighted_dot,
)
from solvable.dynamics.reverse import (
    BACK,
    BARE,
    LABEL_NOISE,
    MORE,
    OF_DRIFT,
    OF_FIELDS,
    OF_NOISE,
    OF_PREFACTORS,
    OF_READOUT,
    OF_SIGNS,
    READOUT_DRIFT,
    back_fields,
    forget,
    scratch_of_reverse,
    take_apart,
)
from solvable.gaussian.curves import bends
from solvable.gaussian.pair_planes import ROW, fill_pairs, pair_scratch
from solvable.gaussian.series_reverses import back_pair
from solvable.numerics.compiled import compiled
from solvable.numerics.small_matrices import symmetric_roots

# matrices behind the planes of the reverse, then the scratch of averages
PRODUCT, SLOPES, CURVATURE, ROOT, INVERSE, SQUARES, VECTORS, OF_ROOT, MATRICES = range(9)
FLAT = 1e-9  # of the largest root: sums of roots below this have no derivative


def scratch_of_average_reverse(rows: int) -> int:
    """Numbers behind the planes of the equations."""
    return (
        scratch_of_reverse(rows) + MATRICES * rows**2 + max(scratch_size(rows), pair_scratch(rows) + node_scratch(rows))
    )


@compiled()
def series_size(fields):
    """Numbers in which `fill_pairs` keeps the series: nodes lie behind them."""
    return fields * (2 * ROW + 1)


@compiled(inline=True)
def take_pairs(problem, numbers, work):
    """Fill the averages over two fields; the matrices, and the scratch that keeps the series."""
    rest = work[PLANES + MORE :]
    matrices = rest[:MATRICES]
    rest = rest[MATRICES:]
    scratch = rest.reshape(rest.size)
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    fill_pairs(
        student, teacher, problem.students, work[FIELDS], numbers, matrices[PRODUCT], matrices[SLOPES], matrices[CURVATURE],
        scratch,
    )  # fmt: skip
    return matrices, scratch


@compiled()
def back_drifts(problem, matrices, scratch, work):
    """Of D and the readout drift, to the covariance, the signed readouts and the prefactors a = -s of the students."""
    p, c, C, s = problem.students, problem.loss_factor, work[FIELDS], work[SIGNS, 0]
    D_bar, s_bar, a_bar = work[OF_DRIFT], work[OF_SIGNS, 0], work[OF_PREFACTORS, 0]
    planes = matrices[PRODUCT], matrices[SLOPES], matrices[CURVATURE]
    for k in range(p):
        a, own, seen = -s[k], 2.0 * c * D_bar[k, k], 0.0
        readout_bar = 2.0 * c * work[OF_READOUT, 0, k] if problem.train_readout else 0.0
        for j in range(s.size):
            weight = 2.0 * c * D_bar[k, j]
            along = weight * planes[1][k, j] + own * planes[2][k, j]
            seen += s[j] * along
            s_bar[j] += a * along + readout_bar * planes[0][k, j]
            back_pair(
                k, j, (readout_bar * s[j], weight * a * s[j], own * a * s[j]), planes, C, scratch, work[OF_FIELDS]
            )
        a_bar[k] += seen


@compiled()
def back_chunk(problem, noise, s, numbers, begin, rows, X_bar, X, of_root, s_bar):
    """A chunk of nodes: add to X = <g'_k g'_l (e^2 + Delta)>, to the weights of the root and of s; what Delta is weighed by."""
    p, n, seen = problem.students, s.size, 0.0
    w, label, output, error = rows[4 * n + WEIGHT], rows[4 * n + LABEL], rows[4 * n + OUTPUT], rows[4 * n + PUSH]
    square, total, turn = rows[4 * n + TO_OUTPUT], rows[4 * n + TO_LABEL], rows[4 * n + COLUMN]
    for c in range(w.size):
        error[c], total[c] = label[c] - output[c], 0.0
        square[c] = w[c] * (error[c] * error[c] + noise)
    for k in range(p):
        slope, bend = rows[2 * n + k], rows[3 * n + k]
        for c in range(w.size):
            turn[c] = 0.0
        for m in range(p):
            X[k, m] += weighted_dot(slope, rows[2 * n + m], square)
            for c in range(w.size):
                turn[c] += (X_bar[k, m] + X_bar[m, k]) * rows[2 * n + m, c]
        for c in range(w.size):
            total[c] += 0.5 * turn[c] * slope[c]
            bend[c] *= square[c] * turn[c]
    for c in range(w.size):
        seen += w[c] * total[c]
        error[c] *= 2.0 * w[c] * total[c]
    for i in range(n):
        z, slope = rows[i], rows[2 * n + i]
        for c in range(w.size):
            s_bar[i] += error[c] * rows[n + i, c]
            z[c] = error[c] * s[i] * slope[c] + (rows[3 * n + i, c] if i < p else 0.0)
    for d in range(n):
        at = problem.nodes + d * problem.node_count + begin
        for i in range(n):
            total = 0.0
            for c in range(w.size):
                total += rows[i, c] * numbers[at + c]
            of_root[i, d] += total
    return seen


@compiled()
def back_root(of_root, eigenvalues, vectors, turned, C_bar):
    """Add to C_bar what the weights of the symmetric root of C reach; eigenvectors are in the rows of `vectors`."""
    n, largest = of_root.shape[0], 0.0
    for i in range(n):
        largest = max(largest, math.sqrt(max(eigenvalues[i, i], 0.0)))
    for i in range(n):
        for j in range(n):
            turned[i, j] = 0.0
            for k in range(n):
                for m in range(n):
                    turned[i, j] += vectors[i, k] * 0.5 * (of_root[k, m] + of_root[m, k]) * vectors[j, m]
            both = math.sqrt(max(eigenvalues[i, i], 0.0)) + math.sqrt(max(eigenvalues[j, j], 0.0))
            turned[i, j] = turned[i, j] / both if both > FLAT * largest else 0.0
    for i in range(n):
        for j in range(n):
            for k in range(n):
                for m in range(n):
                    C_bar[k, m] += vectors[i, k] * turned[i, j] * vectors[j, m]


@compiled()
def back_noise_of_nodes(problem, noise, numbers, matrices, scratch, work):
    """Of S, to the covariance, the signed readouts and the prefactors; what the label noise is weighed by."""
    p, n, c, s, seen = problem.students, problem.rows, problem.loss_factor, work[SIGNS, 0], 0.0
    X, S_bar, a_bar, of_root = work[BARE], work[OF_NOISE], work[OF_PREFACTORS, 0], matrices[OF_ROOT]
    X_bar = matrices[PRODUCT]  # no longer needed
    for k in range(n):
        for m in range(n):
            X[k, m] = of_root[k, m] = 0.0
            X_bar[k, m] = 4.0 * c * c * s[k] * s[m] * S_bar[k, m] if k < p and m < p else 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_nodes(problem, matrices[ROOT], numbers, begin, rows)
        take_units(problem, n, numbers, rows)
        take_labels(problem, s, n, rows)
        for k in range(p):
            bends(problem.unit, numbers, problem.unit_at, problem.unit_terms, rows[k], rows[3 * n + k])
        seen += back_chunk(problem, noise, s, numbers, begin, rows, X_bar, X, of_root, work[OF_SIGNS, 0])
    back_root(of_root, matrices[SQUARES], matrices[VECTORS], matrices[SLOPES], work[OF_FIELDS])
    for k in range(p):
        for m in range(p):
            a_bar[k] -= 4.0 * c * c * S_bar[k, m] * s[m] * X[k, m]
            a_bar[m] -= 4.0 * c * c * S_bar[k, m] * s[k] * X[k, m]
    return seen


@compiled(BACK)
def back_of_pairs(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of `averages.rhs_of_pairs`."""
    problem, noise = problems[segment], label_noise_at(problems[segment], t)
    fields(segment, t, y, problems, blocks, numbers, work)
    matrices, scratch = take_pairs(problem, numbers, work)
    s, p = work[SIGNS, 0], problem.students
    drift_of_pairs(
        problem, s, matrices[PRODUCT], matrices[SLOPES], matrices[CURVATURE], work[DRIFT], work[READOUT_DRIFT, 0]
    )
    if problem.noise:
        symmetric_roots(work[FIELDS], matrices[SQUARES], matrices[VECTORS], matrices[ROOT], matrices[INVERSE])
        noise_on_nodes(problem, noise, s, matrices[ROOT], numbers, scratch[series_size(problem.rows) :], work[NOISE])
    forget(work)
    take_apart(segment, t, y, weights, bar, problems, blocks, cases, numbers, work)
    for k in range(p):
        work[OF_PREFACTORS, 0, k] = 0.0
    back_drifts(problem, matrices, scratch, work)
    if problem.noise:
        bar[y.size + LABEL_NOISE] += back_noise_of_nodes(
            problem, noise, numbers, matrices, scratch[series_size(problem.rows) :], work
        )
    for k in range(p):
        work[OF_SIGNS, 0, k] -= work[OF_PREFACTORS, 0, k]
    back_fields(segment, t, y, bar, problems, blocks, numbers, work)


@compiled(BACK)
def back_pairs_risk(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of the risk, weighed by `weights[0]`."""
    problem = problems[segment]
    fields(segment, t, y, problems, blocks, numbers, work)
    matrices, scratch = take_pairs(problem, numbers, work)
    forget(work)
    s, n, factor = work[SIGNS, 0], problem.rows, weights[0] * problem.loss_factor
    planes = matrices[PRODUCT], matrices[SLOPES], matrices[CURVATURE]
    for i in range(n):
        for j in range(n):
            work[OF_SIGNS, 0, i] += 2.0 * factor * s[j] * planes[0][i, j]
            back_pair(i, j, (factor * s[i] * s[j], 0.0, 0.0), planes, work[FIELDS], scratch, work[OF_FIELDS])
    back_fields(segment, t, y, bar, problems, blocks, numbers, work)
