"""The equations of motion for any unit, loss and target that has numbers (`functions.py`), in compiled code.

With squared loss and a teacher that adds up units, risk, D and readout drift need averages over two fields only (the formulas
are in `closed_moments.py`), and S is exact for polynomials, else an average over all fields on nodes. Other losses and targets
take all moments from the nodes. A system for each, so that only what is used is compiled; the risk of a teacher that adds up units
never needs nodes, whatever the loss.
"""

from solvable.dynamics.closed_moments import clipped
from solvable.dynamics.equations import assemble, fields, label_noise_at, watch
from solvable.dynamics.kernel_data import (
    DRIFT,
    FIELDS,
    NOISE,
    PLANES,
    RISK,
    SIGNS,
    SYSTEM,
    WATCHED,
)
from solvable.dynamics.node_averages import moments_on_nodes, noise_on_nodes, risk_on_nodes
from solvable.gaussian.pair_planes import fill_pairs
from solvable.gaussian.polynomial_squares import polynomial_squares
from solvable.numerics.compiled import compiled
from solvable.numerics.small_matrices import symmetric_roots


@compiled()
def risk_of_pairs(c, s, product):
    """c <e^2> from averages over two fields."""
    total, size = 0.0, 0.0
    for i in range(s.size):
        for j in range(s.size):
            term = s[i] * s[j] * product[i, j]
            total += term
            size += abs(term)
    return clipped(c * total, c * size)


@compiled()
def drift_of_pairs(problem, s, product, slopes, curvature, D, readout_drift):
    """D and the readout drift of squared loss from averages over two fields."""
    c = problem.loss_factor
    for k in range(problem.students):
        bend, pushed = 0.0, 0.0
        for j in range(s.size):
            D[k, j] = -2.0 * c * s[k] * s[j] * slopes[k, j]
            bend += s[j] * curvature[k, j]
            pushed += s[j] * product[k, j]
        D[k, k] -= 2.0 * c * s[k] * bend
        readout_drift[k] = 2.0 * c * pushed


@compiled(SYSTEM)
def rhs_of_pairs(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Squared loss, a teacher that adds up units; the noise from nodes."""
    problem, rest = problems[segment], work[PLANES:]
    fields(segment, t, y, problems, blocks, numbers, work)
    C, s, n, p = work[FIELDS], work[SIGNS, 0], problem.rows, problem.students
    scratch = rest.reshape(rest.size)
    planes, scratch = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    fill_pairs(student, teacher, p, C, numbers, planes[0], planes[1], planes[2], scratch)
    readout_drift = dy[problem.blocks * problem.moving * n :]
    drift_of_pairs(problem, s, planes[0], planes[1], planes[2], work[DRIFT], readout_drift)
    if problem.noise:
        symmetric_roots(C, planes[2], planes[3], planes[0], planes[1])
        noise_on_nodes(problem, label_noise_at(problem, t), s, planes[0], numbers, scratch, work[NOISE])
    assemble(segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled(SYSTEM)
def rhs_of_polynomials(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Squared loss, polynomial units: exact."""
    problem, rest = problems[segment], work[PLANES:]
    fields(segment, t, y, problems, blocks, numbers, work)
    C, s, S, n, p, c = work[FIELDS], work[SIGNS, 0], work[NOISE], problem.rows, problem.students, problem.loss_factor
    scratch = rest.reshape(rest.size)
    planes, scratch = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    fill_pairs(student, teacher, p, C, numbers, planes[0], planes[1], planes[2], scratch)
    readout_drift, noise = dy[problem.blocks * problem.moving * n :], label_noise_at(problem, t)
    drift_of_pairs(problem, s, planes[0], planes[1], planes[2], work[DRIFT], readout_drift)
    if problem.noise:
        polynomial_squares(student, teacher, p, C, s, numbers, (problem.nodes, problem.node_count), S, scratch)
        for k in range(p):
            for m in range(p):
                S[k, m] = 4.0 * c * c * s[k] * s[m] * (S[k, m] + noise * planes[1, k, m])
    assemble(segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled(SYSTEM)
def rhs_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Any loss and target."""
    problem, rest = problems[segment], work[PLANES:]
    fields(segment, t, y, problems, blocks, numbers, work)
    C, s, n = work[FIELDS], work[SIGNS, 0], problem.rows
    scratch = rest.reshape(rest.size)
    planes, scratch = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    symmetric_roots(C, planes[2], planes[3], planes[0], planes[1])
    moments_on_nodes(
        problem, label_noise_at(problem, t), s, planes[0], planes[1], numbers, work, scratch,
        dy[problem.blocks * problem.moving * n :],
    )  # fmt: skip
    assemble(segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled(SYSTEM)
def observe_pairs(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """Risk and what is watched, for a teacher that adds up units."""
    problem, rest = problems[segment], work[PLANES:]
    fields(segment, t, y, problems, blocks, numbers, work)
    C, s, n = work[FIELDS], work[SIGNS, 0], problem.rows
    scratch = rest.reshape(rest.size)
    planes, scratch = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    fill_pairs(student, teacher, problem.students, C, numbers, planes[0], planes[1], planes[2], scratch)
    seen[RISK] = risk_of_pairs(problem.loss_factor, s, planes[0])
    seen[WATCHED] = watch(problem, y, seen[RISK], work)


@compiled(SYSTEM)
def observe_on_nodes(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """Risk and what is watched, for any target."""
    problem, rest = problems[segment], work[PLANES:]
    fields(segment, t, y, problems, blocks, numbers, work)
    n = problem.rows
    scratch = rest.reshape(rest.size)
    planes, scratch = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    symmetric_roots(work[FIELDS], planes[2], planes[3], planes[0], planes[1])
    seen[RISK] = risk_on_nodes(problem, work[SIGNS, 0], planes[0], numbers, scratch)
    seen[WATCHED] = watch(problem, y, seen[RISK], work)
