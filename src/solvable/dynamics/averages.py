"""The Gaussian moments of one SGD step for any unit, loss and target that has numbers (`functions.py`), in compiled code.

With squared loss and a teacher that adds up units, risk, D and readout drift need averages over two fields only (see `closed.py`
for the formulas), and S averages over all fields, on nodes. Other losses and targets take all moments from the nodes.
"""

from solvable.dynamics.closed import clipped
from solvable.dynamics.node_averages import moments_on_nodes, noise_on_nodes, risk_on_nodes
from solvable.gaussian.pair_planes import fill_pairs
from solvable.gaussian.polynomial_squares import polynomial_squares
from solvable.numerics.compiled import compiled
from solvable.numerics.eigen import symmetric_roots


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
def average_risk(problem, C, s, numbers, scratch):
    """c <e^2> for any unit and target."""
    n = s.size
    planes, rest = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :]
    if problem.additive:
        student = problem.unit, problem.unit_at, problem.unit_terms
        teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
        fill_pairs(student, teacher, problem.students, C, numbers, planes[0], planes[1], planes[2], rest)
        return risk_of_pairs(problem.loss_factor, s, planes[0])
    symmetric_roots(C, planes[2], planes[3], planes[0], planes[1])
    return risk_on_nodes(problem, s, planes[0], numbers, rest)


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


@compiled()
def average_moments(problem, noise, with_noise, C, s, numbers, work, scratch, readout_drift):
    """Fill D in work[0], S in work[1] (if asked for, or where it comes with the rest) and the readout drift; return the risk.
    work[2] is scratch."""
    n, p, c = s.size, problem.students, problem.loss_factor
    planes, rest, S = scratch[: 4 * n * n].reshape(4, n, n), scratch[4 * n * n :], work[1]
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    if not problem.pairs:
        symmetric_roots(C, planes[2], planes[3], planes[0], planes[1])
        return moments_on_nodes(problem, noise, s, planes[0], planes[1], numbers, work, rest, readout_drift)
    fill_pairs(student, teacher, p, C, numbers, planes[0], planes[1], planes[2], rest)
    drift_of_pairs(problem, s, planes[0], planes[1], planes[2], work[0], readout_drift)
    risk = risk_of_pairs(c, s, planes[0])
    if with_noise and problem.exact_square:
        polynomial_squares(student, teacher, p, C, s, numbers, (problem.nodes, problem.node_count), S, rest)
        for k in range(p):
            for m in range(p):
                S[k, m] = 4.0 * c * c * s[k] * s[m] * (S[k, m] + noise * planes[1, k, m])
    elif with_noise:
        symmetric_roots(C, planes[2], planes[3], planes[0], planes[1])
        noise_on_nodes(problem, noise, s, planes[0], numbers, rest, S)
    return risk
