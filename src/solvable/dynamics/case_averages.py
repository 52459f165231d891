"""The equations of motion of `case_equations.py` for any unit, loss and target that has numbers: averages over nodes.

Fields are z = h^c + (C^c)^(1/2) g with the nodes g of `node_averages.py`, which are the same for all cases. Here every case has the
fields of all students and teachers, so that nodes keep their places. ReLU units under squared loss have closed averages over two
fields: the nodes are for S alone, because steps would chase the jumps of their slopes.
"""

from solvable.dynamics.case_equations import (
    add_case,
    add_pull,
    assemble_cases,
    set_fields,
    set_weights,
    share_at,
    take_overlaps,
)
from solvable.dynamics.equations import label_noise_at, watch
from solvable.dynamics.kernel_data import PLANES, RISK, SIGNS, SYSTEM, WATCHED
from solvable.dynamics.node_averages import (
    CHUNK,
    LABEL,
    OUTPUT,
    PUSH,
    ROWS,
    TO_LABEL,
    WEIGHT,
    add_drift,
    add_drift_by_stein,
    add_noise,
    add_noise_and_readout,
    finish,
    node_scratch,
    square_error,
    take_labels,
    take_nodes,
    take_pushes,
    take_units,
    weighted_dot,
)
from solvable.gaussian.losses import SQUARED
from solvable.gaussian.relu_means import relu_averages
from solvable.gaussian.units import RELU
from solvable.numerics.compiled import compiled
from solvable.numerics.small_matrices import symmetric_roots


def case_node_scratch(students: int, teachers: int, rows: int, blocks: int) -> int:
    """Numbers of scratch behind the planes."""
    fields = students + teachers
    shared = blocks * (rows**2 + students * rows + students**2 + 1) + (students + rows) * rows + fields
    return shared + 8 * fields**2 + 5 * fields + node_scratch(fields)


@compiled()
def choose_all(problem, who):
    """The rows of all students and teachers."""
    for k in range(problem.students):
        who[k] = k
    for i in range(problem.teachers):
        who[problem.students + i] = problem.first_teacher + i


@compiled()
def take_case(problem, case, h, s, root, numbers, begin, rows):
    """Fields, units, labels and outputs of a chunk of nodes in a case."""
    n = s.size
    take_nodes(problem, root, numbers, begin, rows)
    for i in range(n):
        z = rows[i]
        for c in range(z.size):
            z[c] += h[i]
    take_units(problem, n, numbers, rows)
    take_labels(problem, s, n, rows)
    label = rows[4 * n + LABEL]
    sign = case.sign if problem.product else 1.0  # teachers' readouts have it already
    for c in range(label.size):
        label[c] = case.label + sign * label[c]


@compiled()
def add_amplitudes(problem, n, rows, phi):
    """Add a chunk's part of <F> over a_k."""
    for k in range(problem.students):
        phi[k] += weighted_dot(rows[2 * n + k], rows[4 * n + PUSH], rows[4 * n + WEIGHT])


@compiled()
def case_moments(problem, case, noise, fields, roots, numbers, out, scratch):
    """Fill `out` = (D, S, phi, pull) of a case from `fields` = (h, s) and `roots` = (root of C, its inverse, a scratch matrix)."""
    (h, s), (root, inverse, kept), (D, S, phi, pull) = fields, roots, out
    p, n = problem.students, s.size
    for k in range(p):
        phi[k] = pull[k] = 0.0
        for j in range(n):
            D[k, j] = S[k, j] = 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, h, s, root, numbers, begin, rows)
        if problem.node_fields > n:
            add_noise(problem, noise, numbers, begin, rows[4 * n + LABEL])
        take_pushes(problem, numbers, n, rows)
        if problem.product:
            to_label = rows[4 * n + TO_LABEL]
            for c in range(size):
                to_label[c] *= case.sign
        if problem.smooth:
            add_drift(problem, s, numbers, n, rows, D)
        else:
            add_drift_by_stein(problem, numbers, begin, n, rows, D)
        add_amplitudes(problem, n, rows, phi)
        add_noise_and_readout(problem, noise, n, rows, S, pull)
    for k in range(p):
        phi[k] *= -s[k]
    finish(problem, s, inverse, D, S, kept)


@compiled()
def has_pairs(problem):
    """Whether averages over two fields are closed."""
    ramps = problem.unit == RELU and (problem.teachers == 0 or problem.teacher_unit == RELU)
    return ramps and problem.loss == SQUARED and not problem.product


@compiled()
def case_moments_of_pairs(problem, case, noise, fields, root, numbers, out, scratch):
    """The same from closed averages over two fields, `fields` = (h, C, s), and S on nodes."""
    (h, C, s), (D, S, phi, pull) = fields, out
    p, n, c = problem.students, s.size, problem.loss_factor
    relu_averages(p, (h, C), (case.label, s), out)
    for k in range(p):
        phi[k] *= -2.0 * c * s[k]
        pull[k] *= 2.0 * c
        for j in range(n):
            D[k, j] *= -2.0 * c * s[k]
            S[k, j] = 0.0
    for begin in range(0, problem.node_count if problem.noise else 0, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, h, s, root, numbers, begin, rows)
        w, label, output = rows[4 * n + WEIGHT], rows[4 * n + LABEL], rows[4 * n + OUTPUT]
        for i in range(size):
            w[i] *= 4.0 * c * c * ((label[i] - output[i]) ** 2 + noise)
        for k in range(p):
            for m in range(k + 1):
                S[k, m] += weighted_dot(rows[2 * n + k], rows[2 * n + m], w)
    for k in range(p):
        for m in range(k + 1):
            S[k, m] *= s[k] * s[m]
            S[m, k] = S[k, m]


@compiled(SYSTEM)
def rhs_of_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Any unit, loss and target."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    p, n, B, d, f = (
        problem.students,
        problem.rows,
        problem.blocks,
        problem.directions,
        problem.students + problem.teachers,
    )
    stacks, scratch = scratch[: B * n * n].reshape(B, n, n), scratch[B * n * n :]
    gains, scratch = scratch[: B * p * n].reshape(B, p, n), scratch[B * p * n :]
    spreads, scratch = scratch[: B * p * p].reshape(B, p, p), scratch[B * p * p :]
    columns, scratch = scratch[: p * d].reshape(p, d), scratch[p * d :]
    along, scratch = scratch[: d * n].reshape(d, n), scratch[d * n :]
    eigenvalues, who, scratch = scratch[:B], scratch[B : B + f], scratch[B + f :]
    planes, vectors = scratch[: 8 * f * f].reshape(8, f, f), scratch[8 * f * f : 8 * f * f + 5 * f].reshape(5, f)
    left = scratch[8 * f * f + 5 * f :]
    C, D, S, root, inverse, A, V = planes[0], planes[1], planes[2], planes[3], planes[4], planes[5], planes[6]
    h, a, s, phi, pull = vectors[0], vectors[1], vectors[2], vectors[3], vectors[4]
    take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues)
    gains[:], spreads[:], columns[:], dy[B * problem.moving * n :] = 0.0, 0.0, 0.0, 0.0
    choose_all(problem, who)
    out, sums = (D, S, phi, pull), (gains, spreads, columns)
    for i in range(problem.cases):
        case = cases[segment, i]
        weight = share_at(case, problem, t)
        if weight <= 0.0:
            continue
        set_fields(problem, case, numbers, eigenvalues, p, who, stacks, along, h, C)
        set_weights(problem, case, y, numbers, p, who, a, s)
        symmetric_roots(C, A, V, root, inverse)
        noise = label_noise_at(problem, t)
        if has_pairs(problem):
            case_moments_of_pairs(problem, case, noise, (h, C, s), root, numbers, out, left)
        else:
            case_moments(problem, case, noise, (h, s), (root, inverse, planes[7]), numbers, out, left)
        add_case(problem, case, weight, numbers, eigenvalues, p, who, along, out, sums)
        add_pull(problem, case, weight, y, numbers, p, who, pull, dy)
    assemble_cases(segment, t, y, dy, problems, blocks, numbers, work, stacks, sums)


@compiled()
def square_on_nodes(problem, case, h, s, root, numbers, scratch):
    """<e^2> of a case."""
    n, total = s.size, 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, h, s, root, numbers, begin, rows)
        total += square_error(n, rows)
    return total


@compiled(SYSTEM)
def observe_cases_on_nodes(segment, t, y, seen, problems, blocks, cases, numbers, work):
    """The risk of the present mix of tests, and what is watched."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    p, n, B, d, f = (
        problem.students,
        problem.rows,
        problem.blocks,
        problem.directions,
        problem.students + problem.teachers,
    )
    stacks, scratch = scratch[: B * n * n].reshape(B, n, n), scratch[B * n * n :]
    along, scratch = scratch[: d * n].reshape(d, n), scratch[d * n :]
    eigenvalues, who, scratch = scratch[:B], scratch[B : B + f], scratch[B + f :]
    planes, vectors = scratch[: 5 * f * f].reshape(5, f, f), scratch[5 * f * f : 5 * f * f + 3 * f].reshape(3, f)
    left = scratch[5 * f * f + 3 * f :]
    take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues)
    choose_all(problem, who)
    risk = 0.0
    for i in range(problem.cases, problem.cases + problem.tests):
        case = cases[segment, i]
        weight = share_at(case, problem, t)
        if weight <= 0.0:
            continue
        set_fields(problem, case, numbers, eigenvalues, p, who, stacks, along, vectors[0], planes[0])
        set_weights(problem, case, y, numbers, p, who, vectors[1], vectors[2])
        h, s, C = vectors[0], vectors[2], planes[0]
        if has_pairs(problem):
            square, _ = relu_averages(0, (h, C), (case.label, s), (C, C, h, h))
        else:
            symmetric_roots(C, planes[1], planes[2], planes[3], planes[4])
            square = square_on_nodes(problem, case, h, s, planes[3], numbers, left)
        risk += weight * square
    seen[RISK] = problem.loss_factor * risk
    seen[WATCHED] = watch(problem, y, seen[RISK], work)


@compiled(SYSTEM)
def rhs_of_paced_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """`rhs_of_cases_on_nodes` where the rate follows the risk."""
    plane = work[SIGNS]
    observe_cases_on_nodes(segment, t, y, plane.reshape(plane.size), problems, blocks, cases, numbers, work)
    rhs_of_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work)
