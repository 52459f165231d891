"""The equations of motion where steps are no gradients of single samples: moments of the amplitudes F on nodes.

F starts as that of SGD, a_k g'(z_k) P(y, y^), and a rule shapes it (`problems/rules.py`). A look-ahead takes it at
z_k + rho F_k |x|^2/dim; repeats add it up along h_0 = z, h_(j+1) = h_j + (rate/B) F(h_j) |x|^2/dim. Either way F is a function of
the fields and of the label, so that with the nodes g of `node_averages.py`

    phi = <F>      D = <F g^T> (C^(1/2))^+      S = <F F^T>      pull = <sum over uses of g_k P>

by Stein's lemma: F may jump. |x|^2/dim is the mean variance of the case's inputs, to which it tends.
"""

import math

import numpy as np

from solvable.dynamics.case_averages import case_node_scratch, observe_cases_on_nodes, sum_cases, take_case
from solvable.dynamics.kernel_data import SIGNS, SYSTEM
from solvable.dynamics.node_averages import CHUNK, LABEL, OUTPUT, PUSH, ROWS, WEIGHT, add_noise, take_pushes
from solvable.dynamics.output_bias import mean_push
from solvable.gaussian.curves import curve
from solvable.numerics.compiled import compiled
from solvable.numerics.own_kernels import call_amplitude
from solvable.numerics.small_matrices import symmetric_roots
from solvable.problems.rules import CLIPPED, GRADIENT, NORMALISED, OWN_RULE


def rule_scratch(students: int, teachers: int, rows: int, blocks: int) -> int:
    """Numbers of scratch behind the planes: of every student four rows more, and two for a rule of one's own."""
    return case_node_scratch(students, teachers, rows, blocks) + (4 * CHUNK + 2) * students


@compiled()
def take_amplitudes(problem, a, numbers, n, rows, F, V):
    """F of gradients, and what pushes the readouts, at the present units and outputs."""
    take_pushes(problem, numbers, n, rows)
    push = rows[4 * n + PUSH]
    for k in range(problem.students):
        for c in range(push.size):
            F[k, c] = a[k] * rows[2 * n + k, c] * push[c]
            V[k, c] = rows[n + k, c] * push[c]


@compiled()
def apply_rule(problem, size, n, rows, F, own):
    """Shape F of every node; `own` (2, students) is handed to a rule of one's own."""
    p = problem.students
    for c in range(F.shape[1]):
        if problem.rule == OWN_RULE:
            for k in range(p):
                own[0, k], own[1, k] = F[k, c], rows[k, c]
            label, output = rows[4 * n + LABEL, c], rows[4 * n + OUTPUT, c]
            call_amplitude(problem.rule_address, own[0], own[1], label, output, size)
            for k in range(p):
                F[k, c] = own[0, k]
        elif problem.rule == CLIPPED or problem.rule == NORMALISED:
            square = 0.0
            for k in range(p):
                square += F[k, c] * F[k, c]
            length = math.sqrt(size * square)
            factor = 1.0
            if problem.rule == NORMALISED:
                factor = 1.0 / length if length > 0.0 else 0.0
            elif length > problem.rule_number:
                factor = problem.rule_number / length
            for k in range(p):
                F[k, c] *= factor
        elif problem.rule != GRADIENT:  # no rule
            F[:, c] = np.nan


@compiled()
def move_students(problem, a, bias, numbers, n, step, rows, F):
    """Add step F to the students' fields; units and outputs there."""
    output = rows[4 * n + OUTPUT]
    for c in range(output.size):
        output[c] = bias
    for k in range(problem.students):
        for c in range(output.size):
            rows[k, c] += step * F[k, c]
        curve(problem.unit, numbers, problem.unit_at, problem.unit_terms, rows[k], rows[n + k], rows[2 * n + k])
        for c in range(output.size):
            output[c] += a[k] * rows[n + k, c]


@compiled()
def use_samples(problem, rule, a, numbers, n, rows, parts, own):
    """F and V of the nodes in `rows`, over all uses of a sample; `parts` = (F, V, and the same of one use). Returns the mean of the
    pushes, added up."""
    (_, step, size, bias), (F, V, once, pushed), w = rule, parts, rows[4 * n + WEIGHT]
    take_amplitudes(problem, a, numbers, n, rows, F, V)
    apply_rule(problem, size, n, rows, F, own)
    if problem.lookahead > 0.0:
        move_students(problem, a, bias, numbers, n, problem.lookahead * size, rows, F)
        take_amplitudes(problem, a, numbers, n, rows, F, V)
        apply_rule(problem, size, n, rows, F, own)
    total = mean_push(w, rows[4 * n + PUSH])
    for k in range(problem.students if problem.repeats > 1 else 0):
        for c in range(F.shape[1]):
            once[k, c], pushed[k, c] = F[k, c], V[k, c]
    for _ in range(1, problem.repeats):
        move_students(problem, a, bias, numbers, n, step * size, rows, once)
        take_amplitudes(problem, a, numbers, n, rows, once, pushed)
        total += mean_push(w, rows[4 * n + PUSH])
        apply_rule(problem, size, n, rows, once, own)
        for k in range(problem.students):
            for c in range(F.shape[1]):
                F[k, c] += once[k, c]
                V[k, c] += pushed[k, c]
    return total


@compiled()
def add_moments(problem, numbers, begin, weights, F, V, out):
    """Add a chunk's part of <F g^T>, S, phi and the pull."""
    D, S, phi, pull = out
    n = D.shape[1]
    for k in range(problem.students):
        for c in range(weights.size):
            phi[k] += weights[c] * F[k, c]
            pull[k] += weights[c] * V[k, c]
        for d in range(n):
            at, total = problem.nodes + d * problem.node_count + begin, 0.0
            for c in range(weights.size):
                total += weights[c] * F[k, c] * numbers[at + c]
            D[k, d] += total
        for m in range(k + 1):
            total = 0.0
            for c in range(weights.size):
                total += weights[c] * F[k, c] * F[m, c]
            S[k, m] += total


@compiled()
def rule_moments(problem, case, rule, fields, matrices, numbers, out, scratch):
    """Fill `out` = (D, S, phi, pull) of a case."""
    (h, C, a, s), (D, S, phi, pull) = fields, out
    p, n, root, inverse, kept = problem.students, s.size, matrices[0], matrices[1], matrices[4]
    symmetric_roots(C, matrices[2], matrices[3], root, inverse)
    pull[n] = 0.0
    for k in range(p):
        phi[k] = pull[k] = 0.0
        for j in range(n):
            D[k, j] = S[k, j] = 0.0
    own, scratch = scratch[: 2 * p].reshape(2, p), scratch[2 * p :]
    for begin in range(0, problem.node_count, CHUNK):
        size = min(CHUNK, problem.node_count - begin)
        parts = scratch[: 4 * p * size].reshape(4, p, size)
        behind = scratch[4 * p * size :]
        rows = behind[: (4 * n + ROWS) * size].reshape(4 * n + ROWS, size)
        take_case(problem, case, rule[3], h, s, root, numbers, begin, rows)
        if problem.node_fields > n:
            add_noise(problem, rule[0], numbers, begin, rows[4 * n + LABEL])
        pull[n] += use_samples(problem, rule, a, numbers, n, rows, (parts[0], parts[1], parts[2], parts[3]), own)
        add_moments(problem, numbers, begin, rows[4 * n + WEIGHT], parts[0], parts[1], out)
    for k in range(p):
        for m in range(k):
            S[m, k] = S[k, m]
        for j in range(n):
            kept[k, j] = D[k, j]
        for j in range(n):
            D[k, j] = 0.0
            for d in range(n):
                D[k, j] += kept[k, d] * inverse[d, j]


@compiled(SYSTEM)
def rhs_of_rules(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """Any unit, loss, target and rule."""
    sum_cases(rule_moments, segment, t, y, dy, problems, blocks, cases, numbers, work)


@compiled(SYSTEM)
def rhs_of_paced_rules(segment, t, y, dy, problems, blocks, cases, numbers, work):
    """The same where the rate follows the state."""
    plane = work[SIGNS]
    observe_cases_on_nodes(segment, t, y, plane.reshape(plane.size), problems, blocks, cases, numbers, work)
    rhs_of_rules(segment, t, y, dy, problems, blocks, cases, numbers, work)
