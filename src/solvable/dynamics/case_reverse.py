"""The equations of motion with cases in reverse: `reverse.py` for classes, tasks, flips, masks, anchors and teachers that move.

Behind the derivatives by scheduled numbers and eigenvalues come those by the probability of each case, then of each test, then by
a common factor of all readouts in tests, at one.

One pass forward leaves overlaps and sums over cases at the begin of the scratch of `case_equations.py`; then rows, sums, the
moments of each case, its fields, and the overlaps are gone through backwards. Cases that are alike are gone through one by one,
because their probabilities have derivatives of their own, also where they are zero. Names with `_bar` are weights of what has the
name. Of erf units with means, derivatives by readouts are only complete where these are trained, because they cost more than all
the others.
"""

from solvable.dynamics.case_equations import (
    case_scratch,
    choose_fields,
    cut,
    rhs_of_cases,
    set_fields,
    set_weights,
    share_at,
    take_overlaps,
)
from solvable.dynamics.case_row_reverse import back_along, back_rows, back_stacks
from solvable.dynamics.equations import readout_rate_at
from solvable.dynamics.kernel_data import PLANES
from solvable.dynamics.moment_reverse import back_plain, plain_averages
from solvable.dynamics.output_bias import back_mean_error, bias_at, bias_place, mean_error
from solvable.dynamics.reverse import BACK, EIGENVALUES, LABEL_NOISE, READOUT_RATE, rule_at
from solvable.gaussian.closed_forms import (
    PLANES_OF_REVERSE,
    averages_with_means,
    back_averages,
    mean_reverse_scratch,
    mean_scratch,
)
from solvable.numerics.compiled import compiled

MATRICES, VECTORS = 8, 12  # of one case, over its fields


def case_reverse_scratch(students: int, teachers: int, rows: int, blocks: int, state: int) -> int:
    """Numbers of scratch behind the planes; `state` is the size of a state."""
    fields = students + teachers
    shared = blocks * (rows**2 + students * rows + students**2) + (students + rows) * rows
    each = fields + MATRICES * fields**2 + VECTORS * fields + mean_scratch(fields) + mean_reverse_scratch(fields)
    backward = 2 * shared + blocks + 2 * students + each
    return max(case_scratch(students, teachers, rows, blocks), backward) + state


@compiled(inline=True)
def cut_sums(problem, scratch):
    """Overlaps (stacks, along) and sums (gains, spreads, columns) as `rhs_of_cases` lays them out, and the scratch behind them."""
    p, n, B, d = problem.students, problem.rows, problem.blocks, problem.directions
    stacks, at = cut(scratch, 0, B * n, n)
    gains, at = cut(scratch, at, B * p, n)
    spreads, at = cut(scratch, at, B * p, p)
    columns, at = cut(scratch, at, p, d)
    along, at = cut(scratch, at, d, n)
    sums = gains.reshape(B, p, n), spreads.reshape(B, p, p), columns
    return stacks.reshape(B, n, n), along, sums, scratch[at:]


@compiled()
def back_sums(problem, case, weight, numbers, now, students, who, moments, sums_bar, to):
    """Reverse of `add_case`: to = (D, S, phi of the case, overlaps with directions, eigenvalues); what its probability is weighed
    by. `now` = (overlaps with directions, eigenvalues)."""
    (along, eigenvalues), (D, S, phi), (gains_bar, spreads_bar, columns_bar) = now, moments, sums_bar
    (D_bar, S_bar, phi_bar, along_bar, eigenvalues_bar), n, seen = to, who.size, 0.0
    for j in range(problem.directions):
        mean, spike = numbers[case.means + j], numbers[case.spikes + j]
        for k in range(students):
            bar, found = columns_bar[int(who[k]), j], mean * phi[k]
            phi_bar[k] += weight * bar * mean
            for i in range(n if spike != 0.0 else 0):
                row = int(who[i])
                found += spike * D[k, i] * along[j, row]
                D_bar[k, i] += weight * bar * spike * along[j, row]
                along_bar[j, row] += weight * bar * spike * D[k, i]
            seen += bar * found
    for b in range(problem.blocks):
        factor, extra = numbers[case.factors + b], numbers[case.input_noise + b]
        lam, within = factor * eigenvalues[b], 0.0
        for k in range(students):
            row = int(who[k])
            for j in range(n):
                bar = gains_bar[b, row, int(who[j])]
                among = lam + extra if j < students else lam
                D_bar[k, j] += weight * among * bar
                seen += among * D[k, j] * bar
                within += D[k, j] * bar
            for m in range(students if problem.noise else 0):
                bar = spreads_bar[b, row, int(who[m])]
                S_bar[k, m] += weight * (lam + extra) * bar
                seen += (lam + extra) * S[k, m] * bar
                within += S[k, m] * bar
        eigenvalues_bar[b] += weight * factor * within
    return seen


@compiled()
def back_case_fields(problem, case, numbers, eigenvalues, students, who, overlaps, fields_bar, to):
    """Reverse of `set_fields`: to = (stacks, along, eigenvalues)."""
    (stacks, along), (h_bar, C_bar), (stacks_bar, along_bar, eigenvalues_bar) = overlaps, fields_bar, to
    n = who.size
    for j in range(problem.directions):
        mean, spike = numbers[case.means + j], numbers[case.spikes + j]
        for i in range(n):
            row = int(who[i])
            along_bar[j, row] += mean * h_bar[i]
            for k in range(n if spike != 0.0 else 0):
                along_bar[j, row] += spike * (C_bar[i, k] + C_bar[k, i]) * along[j, int(who[k])]
    for b in range(problem.blocks):
        factor, extra = numbers[case.factors + b], numbers[case.input_noise + b]
        lam, seen = factor * eigenvalues[b], 0.0
        for i in range(n):
            row = int(who[i])
            for j in range(i + 1):
                bar = C_bar[i, j] + (C_bar[j, i] if j < i else 0.0)
                stacks_bar[b, row, int(who[j])] += (lam + extra if i < students else lam) * bar
                seen += bar * stacks[b, row, int(who[j])]
        eigenvalues_bar[b] += factor * seen


@compiled()
def scale(c, students, n, a, raw, out):
    """D, S, phi and the pull from the averages without loss factor and prefactors."""
    (raw_D, raw_S, raw_phi, raw_pull), (D, S, phi, pull) = raw, out
    for k in range(students):
        phi[k], pull[k] = 2.0 * c * a[k] * raw_phi[k], 2.0 * c * raw_pull[k]
        for j in range(n):
            D[k, j] = 2.0 * c * a[k] * raw_D[k, j]
        for m in range(students):
            S[k, m] = 4.0 * c * c * a[k] * a[m] * raw_S[k, m]


@compiled()
def unscale(c, students, n, a, raw, scaled_bar, raw_bar, a_bar):
    """Reverse of `scale`: to the averages, and to the prefactors."""
    (D, S, phi, _), (D_bar, S_bar, phi_bar, pull_bar) = raw, scaled_bar
    of_D, of_S, of_phi, of_pull = raw_bar
    for k in range(students):
        found = phi_bar[k] * phi[k]
        of_phi[k], of_pull[k] = 2.0 * c * a[k] * phi_bar[k], 2.0 * c * pull_bar[k]
        for j in range(n):
            found += D_bar[k, j] * D[k, j]
            of_D[k, j] = 2.0 * c * a[k] * D_bar[k, j]
        a_bar[k] += 2.0 * c * found
        for m in range(students):
            a_bar[k] += 4.0 * c * c * a[m] * S[k, m] * (S_bar[k, m] + S_bar[m, k])
            of_S[k, m] = 4.0 * c * c * a[k] * a[m] * S_bar[k, m]


@compiled()
def back_pull(problem, case, weight, rate, numbers, students, who, pull, weights, pull_bar):
    """Reverse of the drift of the readout that answers a case; what its probability and the rate of the readout are weighed by."""
    base = problem.blocks * problem.moving * problem.rows + case.head * problem.students
    seen, moved = 0.0, 0.0
    for k in range(students):
        row = int(who[k])
        told = weights[base + row] * numbers[case.mask + row]
        pull_bar[k] = rate * weight * told
        seen += rate * told * pull[k]
        moved += weight * told * pull[k]
    return seen, moved


@compiled()
def back_readouts(problem, case, numbers, students, who, a, a_bar, s_bar, bar):
    """Reverse of `set_weights`, where students' weights in the error are minus their prefactors; what a factor of all of them is
    weighed by."""
    base, seen = problem.blocks * problem.moving * problem.rows + case.head * problem.students, 0.0
    for k in range(students):
        found, row = a_bar[k] - s_bar[k], int(who[k])
        bar[base + row] += numbers[case.mask + row] * found
        seen += a[k] * found
    return seen


@compiled()
def has_means(problem, case, numbers):
    """Whether fields of a case may have means, or its error an offset."""
    found = case.label != 0.0 or problem.biased
    for j in range(problem.directions):
        found = found or numbers[case.means + j] != 0.0
    return found


@compiled(inline=True)
def take_case(kind, means, students, rule, fields, error, a, raw, out, left):
    """Moments `out` = (D, S, phi, pull) of a case; `raw` are averages without loss factor and prefactors, of which S is all that a
    case without means has."""
    c, noise, with_noise, with_pull = rule
    if means:
        averages_with_means(kind, students, fields, error, noise, (with_noise, with_pull), raw, left)
        scale(c, students, a.size, a, raw, out)
        return
    n = a.size
    plain = out[0], out[1], raw[1], out[3]
    plain_averages(kind, students, rule, fields[1], error[1], plain, left[: n * n].reshape(n, n))


@compiled(inline=True)
def back_case_moments(kind, means, students, rule, fields, error, known, bars, to, left):
    """Reverse of `take_case`: known = (prefactors, raw averages, room for their weights), bars = (D, S, phi, pull), to = (means,
    covariance, weights in the error, prefactors); what the offset and the label noise are weighed by."""
    (a, raw, room), (D_bar, S_bar, _, pull_bar), (h_bar, C_bar, s_bar, a_bar) = known, bars, to
    (c, noise, with_noise, with_pull), n = rule, a.size
    if means:
        unscale(c, students, n, a, raw, bars, room, a_bar)
        asked, weighed = (with_noise, with_pull), (room[0], room[1], room[2], room[3], 0.0)
        averages = h_bar, C_bar, s_bar
        return back_averages(kind, students, fields, error, noise, weighed, asked, raw[1], averages, left)
    planes, prefactors = left[: PLANES_OF_REVERSE * n * n].reshape(PLANES_OF_REVERSE, n, n), (room[2], room[3])
    reached = C_bar, s_bar
    bars = D_bar, S_bar, pull_bar
    return 0.0, back_plain(kind, students, rule, fields[1], error[1], raw[1], bars, prefactors, reached, planes)


@compiled()
def back_bias(i, now, problem, cases, fields, error, offset_bar, to):
    """Reverse of the offset of case i, and of the push on its bias, 2c <e>, where that is trained: to = (means, covariance, weights
    in the error)."""
    (t, y, weights, bar), case = now, cases[i]
    place, controls = bias_place(problem, case), bar[y.size :]
    if problem.train_bias:
        rate, share, told = readout_rate_at(problem, t), share_at(case, problem, t), weights[place]
        push = 2.0 * problem.loss_factor * mean_error(problem.kind, fields, error[0], error[1])
        controls[READOUT_RATE] += share * told * push
        controls[EIGENVALUES + problem.blocks + i] += rate * told * push
        weight = 2.0 * problem.loss_factor * rate * share * told
        back_mean_error(problem.kind, fields, error[1], weight, to)
        offset_bar += weight
    bar[place] -= offset_bar


@compiled(inline=True)
def back_case(i, now, problem, cases, numbers, overlaps, bars, scratch):
    """Add the derivatives by way of case i. `now` = (t, y, weights, bar), `overlaps` = (stacks, along, eigenvalues), `bars` =
    (weights of the sums, of stacks, of along)."""
    (t, y, weights, bar), (stacks, along, eigenvalues), (sums_bar, stacks_bar, along_bar) = now, overlaps, bars
    controls, case = bar[y.size :], cases[i]
    eigenvalues_bar = controls[EIGENVALUES : EIGENVALUES + problem.blocks]
    weight, rule = share_at(case, problem, t), rule_at(problem, t)
    students, n = choose_fields(problem, case, numbers, scratch)
    who, at = scratch[:n], n + MATRICES * n * n
    planes, at = scratch[n:at].reshape(MATRICES, n, n), at + VECTORS * n
    rows, left = scratch[at - VECTORS * n : at].reshape(VECTORS, n), scratch[at:]
    planes[:], rows[:] = 0.0, 0.0
    C, D, S, C_bar, D_bar, S_bar = planes[0], planes[3], planes[4], planes[5], planes[6], planes[7]
    raw = planes[1], planes[2], rows[3], rows[4]
    h, a, s, phi, pull, h_bar, s_bar, a_bar, phi_bar, pull_bar = (
        rows[0], rows[1], rows[2], rows[5], rows[6], rows[7], rows[8], rows[9], rows[10], rows[11],
    )  # fmt: skip
    set_fields(problem, case, numbers, eigenvalues, students, who, stacks, along, h, C)
    set_weights(problem, case, y, numbers, students, who, a, s)
    fields, error, moments = (h, C), (case.label - bias_at(problem, case, y), s), (D, S, phi, pull)
    kind, means = problem.kind, has_means(problem, case, numbers)
    take_case(kind, means, students, rule, fields, error, a, raw, moments, left)
    seen = back_sums(
        problem, case, weight, numbers, (along, eigenvalues), students, who, (D, S, phi), sums_bar,
        (D_bar, S_bar, phi_bar, along_bar, eigenvalues_bar),
    )  # fmt: skip
    if problem.train_readout:
        rate = readout_rate_at(problem, t)
        drawn, moved = back_pull(problem, case, weight, rate, numbers, students, who, pull, weights, pull_bar)
        seen += drawn
        controls[READOUT_RATE] += moved
    controls[EIGENVALUES + problem.blocks + i] += seen
    to = h_bar, C_bar, s_bar, a_bar  # the moments themselves are no longer needed: their rooms are for weights
    known, of_moments = (a, raw, moments), (D_bar, S_bar, phi_bar, pull_bar)
    offset_bar, noise_bar = back_case_moments(kind, means, students, rule, fields, error, known, of_moments, to, left)
    controls[LABEL_NOISE] += noise_bar
    if problem.biased:
        back_bias(i, now, problem, cases, fields, error, offset_bar, (h_bar, C_bar, s_bar))
    back_readouts(problem, case, numbers, students, who, a, a_bar, s_bar, bar)
    reached = stacks_bar, along_bar, eigenvalues_bar
    back_case_fields(problem, case, numbers, eigenvalues, students, who, (stacks, along), (h_bar, C_bar), reached)


@compiled(BACK)
def back_cases(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of `case_equations.rhs_of_cases`."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    rhs_of_cases(segment, t, y, scratch[scratch.size - y.size :], problems, blocks, cases, numbers, work)
    stacks, along, sums, scratch = cut_sums(problem, scratch)
    eigenvalues, scratch = scratch[: problem.blocks], scratch[problem.blocks :]
    stacks_bar, along_bar, sums_bar, scratch = cut_sums(problem, scratch)
    pulls, at = cut(scratch, 0, 2, problem.students)
    stacks_bar[:], along_bar[:], sums_bar[0][:], sums_bar[1][:], sums_bar[2][:] = 0.0, 0.0, 0.0, 0.0, 0.0
    now, overlaps, bars = (t, y, weights, bar), (stacks, along, eigenvalues), (sums_bar, stacks_bar, along_bar)
    back_rows(segment, now, problems, blocks, work, (stacks, sums), (stacks_bar, sums_bar, pulls))
    for i in range(problem.cases):
        back_case(i, now, problem, cases[segment], numbers, overlaps, bars, scratch[at:])
    back_along(problem, along_bar, stacks_bar)
    back_stacks(problem, stacks_bar, bar)


@compiled(inline=True)
def back_test(i, now, problem, cases, numbers, overlaps, bars, scratch):
    """Add the derivatives of the risk by way of test i, which is number i among the cases."""
    (t, y, weights, bar), (stacks, along, eigenvalues), (stacks_bar, along_bar) = now, overlaps, bars
    controls, case = bar[y.size :], cases[i]
    factor, shares_bar = weights[0] * problem.loss_factor, controls[EIGENVALUES + problem.blocks :]
    weight = factor * share_at(case, problem, t)
    students, n = choose_fields(problem, case, numbers, scratch)
    who, planes = scratch[:n], scratch[n : n + 2 * n * n].reshape(2, n, n)
    at = n + 2 * n * n
    rows, left = scratch[at : at + 6 * n].reshape(6, n), scratch[at + 6 * n :]
    C, C_bar = planes[0], planes[1]
    h, a, s, h_bar, s_bar, a_bar = rows[0], rows[1], rows[2], rows[3], rows[4], rows[5]
    planes[:], rows[:] = 0.0, 0.0
    set_fields(problem, case, numbers, eigenvalues, students, who, stacks, along, h, C)
    set_weights(problem, case, y, numbers, students, who, a, s)
    fields, error = (h, C), (case.label - bias_at(problem, case, y), s)
    found, _ = averages_with_means(problem.kind, 0, fields, error, 0.0, (False, True), (C, C, h, h), left)
    shares_bar[i] += factor * found
    nothing = C, C, h, h, weight  # of the averages only <e^2> counts
    offset_bar, _ = back_averages(
        problem.kind, 0, fields, error, 0.0, nothing, (False, False), C, (h_bar, C_bar, s_bar), left
    )
    if problem.biased:
        bar[bias_place(problem, case)] -= offset_bar
    common = problem.cases + problem.tests
    shares_bar[common] += back_readouts(problem, case, numbers, students, who, a, a_bar, s_bar, bar)
    reached = stacks_bar, along_bar, controls[EIGENVALUES : EIGENVALUES + problem.blocks]
    back_case_fields(problem, case, numbers, eigenvalues, students, who, (stacks, along), (h_bar, C_bar), reached)


@compiled(BACK)
def back_risk_of_cases(segment, t, y, weights, bar, problems, blocks, cases, numbers, work):
    """Of the risk of the present mix of tests, weighed by `weights[0]`."""
    problem, rest = problems[segment], work[PLANES:]
    scratch = rest.reshape(rest.size)
    stacks, along, _, scratch = cut_sums(problem, scratch)
    eigenvalues, scratch = scratch[: problem.blocks], scratch[problem.blocks :]
    stacks_bar, along_bar, _, scratch = cut_sums(problem, scratch)
    stacks_bar[:], along_bar[:] = 0.0, 0.0
    take_overlaps(segment, t, y, problem, blocks, numbers, stacks, along, eigenvalues)
    now, overlaps, bars = (t, y, weights, bar), (stacks, along, eigenvalues), (stacks_bar, along_bar)
    for i in range(problem.cases, problem.cases + problem.tests):
        back_test(i, now, problem, cases[segment], numbers, overlaps, bars, scratch)
    back_along(problem, along_bar, stacks_bar)
    back_stacks(problem, stacks_bar, bar)
