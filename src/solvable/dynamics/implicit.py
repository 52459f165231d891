"""One linearly implicit step of the overlaps, of order 4 (the Rosenbrock method RODAS, hairer1996, IV.7), for spectra whose largest
eigenvalues make the equations stiff. Six stages share one Jacobian, which `linearised.py` inverts block by block; they live in the
eigenbasis of D at the beginning of the step. Free norms only.
"""

import numpy as np

from solvable.dynamics.equations import closed_moments, fields, readout_rate_at, set_teachers
from solvable.dynamics.kernel_data import ADVANCE, DRIFT, FIELDS, GAIN, NOISE, OVERLAPS, SIGNS, TOLERATE
from solvable.dynamics.linearised import (
    answer,
    block_rates,
    gather,
    respond,
    rotate,
    slope_of_block,
    solve_block,
    unknowns,
)
from solvable.numerics.compiled import compiled
from solvable.numerics.rosenbrock import GAMMA, SLOPES, STAGES, TIMES, A, C
from solvable.numerics.small_matrices import diagonalise, eliminate, substitute

ORDER = 4
NUDGE = 1e-5  # of the largest variance: differences for how D and S depend on C
MOMENT = 1e-3  # of a step: differences in time
BASE, STAGE, CHANGES = 0, 1, 2  # generators: of the first state, of a stage, of each entry of C


@compiled()
def generator(problem, t, X, work, gen):
    """From the covariance and readouts in `work`."""
    p, n = problem.students, problem.rows
    D, S, half, drift = work[DRIFT], work[NOISE], work[GAIN], work[SIGNS, 1]
    closed_moments(problem, t, work, drift)
    for i in range(p):
        for j in range(n):
            gen[i, j], half[i, j] = 0.0, 0.0
            for k in range(p):
                gen[i, j] += X[k, i] * D[k, j]
        for j in range(p):
            half[i, j] = gen[i, j]
        for j in range(p):
            gen[i, j], gen[i, n + j] = 0.0, 0.0
            for k in range(p):
                gen[i, j] += half[i, k] * X[k, j]
        gen[i, n + p] = drift[i] if problem.train_readout else 0.0
    if problem.noise:
        for i in range(p):
            for j in range(p):
                half[i, j] = 0.0
                for k in range(p):
                    half[i, j] += X[k, i] * S[k, j]
            for j in range(p):
                for k in range(p):
                    gen[i, n + j] += half[i, k] * X[k, j]


@compiled()
def covariance(segment, t, X, z, problems, blocks, numbers, work):
    """`equations.fields` of a state in the basis X."""
    problem = problems[segment]
    p, n, turned, half, full = problem.students, problem.rows, work[OVERLAPS], work[GAIN], work[FIELDS]
    for i in range(p):
        for j in range(n):
            turned[i, j] = 0.0
    for b in range(problem.blocks):
        lam = block_rates(problem, blocks[segment, b], t)[0]
        for i in range(p):
            for j in range(n):
                turned[i, j] += lam * z[(b * p + i) * n + j]
    for k in range(p):
        for j in range(n):
            half[k, j] = 0.0
            for i in range(p):
                half[k, j] += X[k, i] * turned[i, j]
    for k in range(p):
        for j in range(p):
            full[k, j] = 0.0
            for i in range(p):
                full[k, j] += half[k, i] * X[j, i]
        for j in range(p, n):
            full[k, j] = half[k, j]
            full[j, k] = half[k, j]
        work[SIGNS, 0, k] = -z[problem.blocks * p * n + k]
    set_teachers(problem, t, numbers, work)


@compiled()
def slope(segment, t, X, z, dz, gen, problems, blocks, numbers, work):
    """dz/dalpha; `gen` becomes the generator of z."""
    problem = problems[segment]
    p, q, size = problem.students, problem.teachers, problem.students * problem.rows
    covariance(segment, t, X, z, problems, blocks, numbers, work)
    generator(problem, t, X, work, gen)
    for b in range(problem.blocks):
        rates = block_rates(problem, blocks[segment, b], t)
        T = numbers[problem.teacher_overlaps + b * q * q :]
        slope_of_block(p, q, rates, gen, z[b * size :], T, dz[b * size :])
    rate = readout_rate_at(problem, t)
    for k in range(p):
        dz[problem.blocks * size + k] = rate * gen[k, size // p + p] if problem.train_readout else 0.0


@compiled()
def nudge(problem, c, amount, X, work):
    """Change the entry of C, in the basis X, or the readout that unknown c stands for."""
    p, n, full, at = problem.students, problem.rows, work[FIELDS], 0
    for i in range(p):
        for j in range(n):
            if j <= i or j >= p:
                if at == c:
                    for k in range(p):
                        if j >= p:
                            full[k, j] += amount * X[k, i]
                            full[j, k] = full[k, j]
                        else:
                            for m in range(p):
                                both = X[k, i] * X[m, j] + X[k, j] * X[m, i]
                                full[k, m] += amount * (both if i != j else 0.5 * both)
                at += 1
    if c >= at:
        work[SIGNS, 0, c - at] -= amount


@compiled()
def differentiate(problem, t, X, gens, work):
    """How the generator changes with each unknown, by central differences."""
    size = 0.0
    for i in range(problem.rows):
        size = max(size, work[FIELDS, i, i])
    for c in range(gens.shape[0] - CHANGES):
        changed, other = gens[CHANGES + c], gens[STAGE]
        nudge(problem, c, NUDGE * size, X, work)
        generator(problem, t, X, work, changed)
        nudge(problem, c, -2.0 * NUDGE * size, X, work)
        generator(problem, t, X, work, other)
        nudge(problem, c, NUDGE * size, X, work)
        for i in range(changed.shape[0]):
            for j in range(changed.shape[1]):
                changed[i, j] = (changed[i, j] - other[i, j]) / (2.0 * NUDGE * size)


@compiled(allocates=True)
def small_system(segment, t, g, z, gens, problems, blocks, numbers, matrix):
    """Factors of the linear system of the unknowns, into `matrix` (unknowns + 1, unknowns): the last row is the order of rows."""
    problem = problems[segment]
    p, q, n, count = problem.students, problem.teachers, problem.rows, matrix.shape[1]
    to_students, to_cross, found = np.zeros((p, p, n + 1)), np.zeros((p, n, q)), np.zeros(count)
    for b in range(problem.blocks):
        rates = block_rates(problem, blocks[segment, b], t)
        T = numbers[problem.teacher_overlaps + b * q * q :]
        respond(p, q, g, rates, gens[BASE], z[b * p * n :], T, to_students, to_cross)
    for c in range(count):
        answer(problem, readout_rate_at(problem, t), gens[CHANGES + c], to_students, to_cross, found)
        for i in range(count):
            matrix[i, c] = (1.0 if i == c else 0.0) - g * found[i]
    eliminate(matrix[:count], matrix[count])


@compiled()
def solve(segment, t, g, z, u, gens, matrix, found, data):
    """Turn u into the solution of (1 - g J) u' = u; z is the state that J belongs to."""
    problems, blocks, _, numbers, work = data
    problem = problems[segment]
    p, q, size, count = problem.students, problem.teachers, problem.students * problem.rows, matrix.shape[1]
    for c in range(count):
        found[c] = 0.0
    for b in range(problem.blocks):
        rates = block_rates(problem, blocks[segment, b], t)
        solve_block(p, q, g, rates, gens[BASE], u[b * size :])
        gather(problem, rates[0], u[b * size :], found)
    if problem.train_readout:
        for k in range(p):
            found[count - p + k] = u[problem.blocks * size + k]
    substitute(matrix[:count], matrix[count], found)
    change, answered = gens[STAGE], work[GAIN].reshape(problem.rows * problem.rows)
    for i in range(p):
        for j in range(change.shape[1]):
            change[i, j] = 0.0
            for c in range(count):
                change[i, j] += found[c] * gens[CHANGES + c, i, j]
    for b in range(problem.blocks):
        lam, pull, spread, decay = block_rates(problem, blocks[segment, b], t)
        T = numbers[problem.teacher_overlaps + b * q * q :]
        slope_of_block(p, q, (lam, pull, spread, 0.0), change, z[b * size :], T, answered)
        solve_block(p, q, g, (lam, pull, spread, decay), gens[BASE], answered)
        for i in range(size):
            u[b * size + i] += g * answered[i]
    if problem.train_readout:
        for k in range(p):
            u[problem.blocks * size + k] = found[count - p + k]


@compiled()
def is_changing(segment, problems, blocks):
    """Whether anything is scheduled to change within the segment."""
    problem = problems[segment]
    slopes = abs(problem.rate_slope) + abs(problem.readout_rate_slope) + abs(problem.decay_slope)
    slopes += abs(problem.batch_slope) + abs(problem.label_noise_slope)
    for b in range(problem.blocks):
        slopes += abs(blocks[segment, b].slope)
    return slopes != 0.0


@compiled()
def slope_in_time(segment, t, h, X, z, out, spare, gen, data):
    """h^2 times the partial derivative of dz/dalpha by time."""
    problems, blocks, _, numbers, work = data
    if is_changing(segment, problems, blocks):
        slope(segment, t + MOMENT * h, X, z, out, gen, problems, blocks, numbers, work)
        slope(segment, t - MOMENT * h, X, z, spare, gen, problems, blocks, numbers, work)
        for i in range(z.size):
            out[i] = h / (2.0 * MOMENT) * (out[i] - spare[i])
    else:
        for i in range(z.size):
            out[i] = 0.0


@compiled()
def turn_all(problem, X, z, out, work):
    """Every block into the basis X; the readout stays."""
    p, n = problem.students, problem.rows
    for b in range(problem.blocks):
        rotate(p, n, X, z[b * p * n :], work[SIGNS, 1], out[b * p * n :])
    for k in range(problem.blocks * p * n, z.size):
        out[k] = z[k]


@compiled(ADVANCE, allocates=True)
def advance(segment, t, h, y, out, problems, blocks, cases, numbers, work):
    """The state after h."""
    data = problems, blocks, cases, numbers, work
    problem = problems[segment]
    p, n, count = problem.students, problem.rows, unknowns(problem)
    X, back, gens = np.empty((p, p)), np.empty((p, p)), np.empty((CHANGES + count, p, n + p + 1))
    matrix, found = np.empty((count + 1, count)), np.empty(count)
    u = np.empty((STAGES + 2, y.size))
    z, in_time = u[STAGES], u[STAGES + 1]

    fields(segment, t, y, problems, blocks, numbers, work)
    closed_moments(problem, t, work, work[SIGNS, 1])
    for i in range(p):
        for j in range(p):
            X[i, j] = work[DRIFT, i, j]
    diagonalise(X, back)
    for i in range(p):
        for j in range(p):
            X[i, j] = back[j, i]
    generator(problem, t, X, work, gens[BASE])
    differentiate(problem, t, X, gens, work)
    turn_all(problem, X, y, z, work)
    small_system(segment, t, GAMMA * h, z, gens, problems, blocks, numbers, matrix)
    slope_in_time(segment, t, h, X, z, in_time, out, gens[STAGE], data)
    for stage in range(STAGES):
        for i in range(y.size):
            total = z[i]
            for j in range(stage):
                total += A[stage, j] * u[j, i]
            out[i] = total
        slope(segment, t + TIMES[stage] * h, X, out, u[stage], gens[STAGE], problems, blocks, numbers, work)
        for i in range(y.size):
            total = h * u[stage, i] + SLOPES[stage] * in_time[i]
            for j in range(stage):
                total += C[stage, j] * u[j, i]
            u[stage, i] = GAMMA * total
        solve(segment, t, GAMMA * h, z, u[stage], gens, matrix, found, data)
    for i in range(y.size):
        z[i] = out[i] + u[STAGES - 1, i]
    turn_all(problem, back, z, out, work)


@compiled(TOLERATE)
def tolerate(y, rtol, atol, allowed, problems, blocks, cases, numbers, work):
    """Error that each overlap may have: what matters is lambda_b Omega^b, its share of the field covariance, compared with
    the largest share that any block has in the same entry. Small entries keep their relative accuracy, blocks that do
    not matter are not followed in vain."""
    problem = problems[0]
    size = problem.moving * problem.rows
    for i in range(size):
        most = 0.0
        for b in range(problem.blocks):
            most = max(most, blocks[0, b].eigenvalue * abs(y[b * size + i]))
        for b in range(problem.blocks):
            allowed[b * size + i] = (atol + rtol * most) / max(blocks[0, b].eigenvalue, 1e-300)
    for k in range(problem.blocks * size, y.size):
        allowed[k] = atol + rtol * abs(y[k])
