"""The equations of motion of `case_equations.py` for any unit, loss and target that has numbers: averages over nodes.

Fields are z = h^c + (C^c)^(1/2) g with the nodes g of `node_averages.py`, which are the same for all cases. Here every case has the
fields of all students and teachers, so that nodes keep their places. ReLU units under squared loss have closed averages over two
fields: the nodes are for S alone, because steps would chase the jumps of their slopes.
"""

import math

from solvable.dynamics.averages import risk_of_pairs
from solvable.dynamics.case_equations import (
    add_case,
    add_pull,
    assemble_cases,
    set_fields,
    set_weights,
    share_at,
    take_overlaps,
)
from solvable.dynamics.equations import batch_at, label_noise_at, rate_at, watch
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
from solvable.dynamics.output_bias import add_push, bias_at, mean_error_of_ramps, mean_push
from solvable.gaussian.losses import SQUARED
from solvable.gaussian.pair_planes import fill_pairs, pair_scratch
from solvable.gaussian.relu_means import relu_averages
from solvable.gaussian.units import ERF, LINEAR, RELU
from solvable.numerics.compiled import compiled
from solvable.numerics.small_matrices import symmetric_roots

ROOT = math.sqrt(2.0 * math.pi)


def case_node_scratch(students: int, teachers: int, rows: int, blocks: int) -> int:
    """Numbers of scratch behind the planes."""
    fields = students + teachers
    shared = blocks * (rows**2 + students * rows + students**2 + 1) + (students + rows) * rows + fields
    return shared + 8 * fields**2 + 5 * fields + 1 + max(node_scratch(fields), pair_scratch(fields))


@compiled()
def choose_all(problem, who):
    """The rows of all students and teachers."""
    for k in range(problem.students):
        who[k] = k
    for i in range(problem.teachers):
        who[problem.students + i] = problem.first_teacher + i


@compiled()
def take_case(problem, case, bias, h, s, root, numbers, begin, rows):
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
        rows[4 * n + OUTPUT, c] += bias
    if problem.signed:
        for c in range(label.size):
            label[c] = 1.0 if label[c] > 0.0 else -1.0


@compiled()
def add_amplitudes(problem, n, rows, phi):
    """Add a chunk's part of <F> over a_k."""
    for k in range(problem.students):
        phi[k] += weighted_dot(rows[2 * n + k], rows[4 * n + PUSH], rows[4 * n + WEIGHT])


@compiled()
def case_moments(problem, case, rule, fields, roots, numbers, out, scratch):
    """Fill `out` = (D, S, phi, pull) of a case from `rule` = (label noise, bias), `fields` = (h, s) and `roots` = (root of C, its
    inverse, a scratch matrix)."""
    (noise, bias), (h, s), (root, inverse, kept), (D, S, phi, pull) = rule, fields, roots, out
    p, n = problem.students, s.size
    pull[n] = 0.0
    for k in range(p):
        phi[k] = pull[k] = 0.0
        for j in range(n):
            D[k, j] = S[k, j] = 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, bias, h, s, root, numbers, begin, rows)
        if problem.node_fields > n:
            add_noise(problem, noise, numbers, begin, rows[4 * n + LABEL])
        take_pushes(problem, numbers, n, rows)
        pull[n] += mean_push(rows[4 * n + WEIGHT], rows[4 * n + PUSH])
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
    """Whether averages over two fields are closed, or computed as such."""
    if problem.pairs:
        return True
    ramps = problem.unit == RELU and (problem.teachers == 0 or problem.teacher_unit == RELU)
    return ramps and problem.loss == SQUARED and not problem.product and not problem.signed


@compiled()
def correlation_averages(problem, C, s, numbers, out, planes, scratch):
    """<g'_k y>, which is not asked for without means, <d(g'_k y)/dz_j> and <g_k y> of additive labels, from averages over two
    fields; `planes` are three matrices of scratch."""
    (D, _, phi, pull), (product, slopes, curvature) = out, planes
    p = problem.students
    student = problem.unit, problem.unit_at, problem.unit_terms
    teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
    fill_pairs(student, teacher, p, C, numbers, product, slopes, curvature, scratch)
    for k in range(p):
        phi[k] = pull[k] = 0.0
        for j in range(p):
            D[k, j] = 0.0
        for j in range(p, s.size):
            D[k, j] = s[j] * slopes[k, j]
            D[k, k] += s[j] * curvature[k, j]
            pull[k] += s[j] * product[k, j]


@compiled()
def case_moments_of_pairs(problem, case, rule, fields, matrices, numbers, out, scratch):
    """The same from averages over two fields, `fields` = (h, C, s), and S on nodes; the first of `matrices` is the root of C."""
    (noise, bias), (h, C, s), (D, S, phi, pull), root = rule, fields, out, matrices[0]
    p, n, c, seen = problem.students, s.size, problem.loss_factor, 1.0
    if problem.pairs:
        correlation_averages(problem, C, s, numbers, out, (matrices[2], matrices[3], matrices[4]), scratch)
        seen = 0.0  # of the output
    else:
        relu_averages(p, (h, C), (case.label - bias, s), out)
        pull[n] = 2.0 * c * mean_error_of_ramps((h, C), case.label - bias, s)
    for k in range(p):
        phi[k] *= -2.0 * c * s[k]
        pull[k] *= 2.0 * c
        for j in range(n):
            D[k, j] *= -2.0 * c * s[k]
            S[k, j] = 0.0
    for begin in range(0, problem.node_count if problem.noise else 0, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, bias, h, s, root, numbers, begin, rows)
        w, label, output = rows[4 * n + WEIGHT], rows[4 * n + LABEL], rows[4 * n + OUTPUT]
        for i in range(size):
            w[i] *= 4.0 * c * c * ((label[i] - seen * output[i]) ** 2 + noise)
        for k in range(p):
            for m in range(k + 1):
                S[k, m] += weighted_dot(rows[2 * n + k], rows[2 * n + m], w)
    for k in range(p):
        for m in range(k + 1):
            S[k, m] *= s[k] * s[m]
            S[m, k] = S[k, m]


@compiled(inline=True)
def sum_cases(moments, segment, t, y, dy, problems, blocks, cases, numbers, work):
    """The equations with the `moments` of each case, which get the problem, the case, `rule` = (label noise, rate over batch, mean
    of |x|^2/dim, bias), `fields` = (h, C, a, s), seven scratch matrices, numbers, what they fill and further scratch."""
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
    planes, scratch = scratch[: 8 * f * f].reshape(8, f, f), scratch[8 * f * f :]
    vectors, pull, left = scratch[: 4 * f].reshape(4, f), scratch[4 * f : 5 * f + 1], scratch[5 * f + 1 :]
    C, D, S, matrices = planes[0], planes[1], planes[2], planes[3:]
    h, a, s, phi = vectors[0], vectors[1], vectors[2], vectors[3]
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
        size = 0.0
        for b in range(B):
            variance = numbers[case.factors + b] * eigenvalues[b] + numbers[case.input_noise + b]
            size += blocks[segment, b].fraction * variance
        rule = label_noise_at(problem, t), rate_at(problem, t) / batch_at(problem, t), size, bias_at(problem, case, y)
        moments(problem, case, rule, (h, C, a, s), matrices, numbers, out, left)
        add_case(problem, case, weight, numbers, eigenvalues, p, who, along, out, sums)
        add_pull(problem, case, weight, y, numbers, p, who, pull, dy)
        add_push(problem, case, weight, pull[f], dy)
    assemble_cases(segment, t, y, dy, problems, blocks, numbers, work, stacks, sums)


@compiled(inline=True)
def moments_of_case(problem, case, rule, fields, matrices, numbers, out, left):
    (h, C, _, s), seen = fields, (rule[0], rule[3])
    root, inverse, kept = matrices[0], matrices[1], matrices[4]
    symmetric_roots(C, matrices[2], matrices[3], root, inverse)
    if has_pairs(problem):
        case_moments_of_pairs(problem, case, seen, (h, C, s), matrices, numbers, out, left)
    else:
        case_moments(problem, case, seen, (h, s), (root, inverse, kept), numbers, out, left)


@compiled(SYSTEM)
def rhs_of_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Gradients of any unit, loss and target."""
    sum_cases(moments_of_case, segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled()
def square_on_nodes(problem, case, bias, h, s, root, numbers, scratch):
    """<e^2> of a case."""
    n, total = s.size, 0.0
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        rows = scratch[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, bias, h, s, root, numbers, begin, rows)
        total += square_error(n, rows)
    return total


@compiled()
def square_of_signs(problem, case, bias, h, C, s):
    """<e^2> of linear students about labels sign(u) of linear teachers: 1 - 2 <sign(u) y^> + <y^^2>."""
    p, n, output, offset, variance, joint, square = problem.students, s.size, bias, case.label, 0.0, 0.0, 0.0
    for i in range(n):
        if i < p:
            output -= s[i] * h[i]
        else:
            offset += s[i] * h[i]
        for j in range(n):
            term = s[i] * C[i, j] * s[j]
            if i < p and j < p:
                square += term
            elif i >= p and j >= p:
                variance += term
            elif i < p:
                joint -= term
    deviation = math.sqrt(max(variance, 0.0))
    if deviation == 0.0:
        mean = output if offset > 0.0 else -output
    else:
        u = offset / deviation
        mean = output * math.erf(u * math.sqrt(0.5)) + 2.0 * joint / deviation * math.exp(-0.5 * u * u) / ROOT
    return max(1.0 - 2.0 * mean + output * output + square, 0.0)


@compiled()
def is_centred(case, h):
    """Whether neither fields nor labels have a mean."""
    centred = case.label == 0.0
    for i in range(h.size):
        centred = centred and h[i] == 0.0
    return centred


@compiled()
def square_of_erf_signs(problem, C, s):
    """The same of erf students without means: <g_i g_j> = (2/pi) asin(C_ij/sqrt((1 + C_ii)(1 + C_jj))), and a sign is erf of a
    field whose variance is beyond all bounds."""
    p, n, square, variance = problem.students, s.size, 1.0, 0.0
    for i in range(p, n):
        for j in range(p, n):
            variance += s[i] * C[i, j] * s[j]
    for k in range(p):
        joint = 0.0
        for i in range(p, n):
            joint += C[k, i] * s[i]
        if variance > 0.0:  # students' weights are minus their readouts
            square += 4.0 / math.pi * s[k] * math.asin(joint / math.sqrt((1.0 + C[k, k]) * variance))
        for m in range(p):
            ratio = C[k, m] / math.sqrt((1.0 + C[k, k]) * (1.0 + C[m, m]))
            square += 2.0 / math.pi * s[k] * s[m] * math.asin(ratio)
    return max(square, 0.0)


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
        h, s, C, bias = vectors[0], vectors[2], planes[0], bias_at(problem, case, y)
        if problem.linear_sign and problem.kind == LINEAR:
            square = square_of_signs(problem, case, bias, h, C, s)
        elif problem.linear_sign and problem.kind == ERF and bias == 0.0 and is_centred(case, h):
            square = square_of_erf_signs(problem, C, s)
        elif problem.pairs:
            student = problem.unit, problem.unit_at, problem.unit_terms
            teacher = problem.teacher_unit, problem.teacher_at, problem.teacher_terms
            fill_pairs(student, teacher, p, C, numbers, planes[1], planes[2], planes[3], left)
            square = risk_of_pairs(1.0, s, planes[1])
        elif has_pairs(problem):
            square, _ = relu_averages(0, (h, C), (case.label - bias, s), (C, C, h, h))
        else:
            symmetric_roots(C, planes[1], planes[2], planes[3], planes[4])
            square = square_on_nodes(problem, case, bias, h, s, planes[3], numbers, left)
        risk += weight * square
    seen[RISK] = problem.loss_factor * risk
    seen[WATCHED] = watch(problem, y, seen[RISK], work)


@compiled(SYSTEM)
def rhs_of_paced_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """`rhs_of_cases_on_nodes` where the rate follows the risk."""
    plane = work[SIGNS]
    observe_cases_on_nodes(segment, t, y, plane.reshape(plane.size), problems, blocks, cases, numbers, work)
    rhs_of_cases_on_nodes(segment, t, y, dy, problems, blocks, cases, numbers, work)
