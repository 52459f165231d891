"""Fixed steps of order 5 through a system, and their exact reverse (the discrete adjoint of `tsit5.py`).

An adaptive run is recorded once; its steps are then frozen, so that the result is a smooth function of the state and of all numbers
of the system, and its derivatives are those of what is computed, to rounding. With a step y' = y + h sum_s b_s k_s, k_s = f(Y_s),
Y_s = y + h sum_{r<s} a_sr k_r and the costate L = dJ/dy', from the last stage to the first:

    K_s = h b_s L + h sum_{r>s} a_rs W_r,     W_s = f_y(Y_s)^T K_s,     then L + sum_s W_s is the costate before the step

and f_u(Y_s)^T K_s is added to the derivatives by the numbers u of the segment. Where an integral of a scalar over time counts too, the
scalar is a component of its own, the first thing that `observe` sees, with the same weights h b_s.
"""

from solvable.numerics.compiled import compiled
from solvable.numerics.driving import GOING, begin, ends, step
from solvable.numerics.ending import Ending
from solvable.numerics.tsit5 import NODES, PACE, STAGES, arrive, attempt, combine, interpolate
from solvable.numerics.vectors import copy

STAGE_COUNT = 6  # the seventh serves the error only
WEIGHTS = 6  # row of STAGES


@compiled()
def record(system, control, report, course, memory, data, times, segments):
    """Follow the system adaptively and keep when each step ended and in which segment it lay; how many there were. If there is no
    room for more, the run has reached its limit of steps."""
    begin(system, control, report, course, memory, data)
    count = 0
    times[0] = report.time
    if report.ending == GOING:
        arrive(system, control, report, memory, data)
    while report.ending == GOING and not ends(control, report, course, memory):
        accepted, segment = report.accepted, report.segment
        if count + 1 >= times.size:
            report.ending = Ending.STEP_LIMIT
            break
        if step(attempt, interpolate, PACE, system, control, report, course, memory, data):
            arrive(system, control, report, memory, data)
        if report.accepted > accepted:
            segments[count], times[count + 1] = segment, report.time
            count += 1
    return count


@compiled()
def stages(system, segment, t, h, y, k, trial, data):
    """The slopes of one step."""
    system[1](segment, t, y, k[0], *data)
    for s in range(1, STAGE_COUNT):
        combine(s, h, y, k, trial)
        system[1](segment, t + NODES[s] * h, trial, k[s], *data)


@compiled()
def march(system, times, segments, states, seen, memory, data):
    """Repeat the recorded steps from the first of `states`, and fill the others; the integral of the first scalar over time."""
    k, trial, integral = memory[1:7], memory[0], 0.0
    for i in range(segments.size):
        t, h, segment = times[i], times[i + 1] - times[i], segments[i]
        stages(system, segment, t, h, states[i], k, trial, data)
        combine(WEIGHTS, h, states[i], k, states[i + 1])
        for s in range(STAGE_COUNT if seen.size > 0 else 0):
            if s > 0:
                combine(s, h, states[i], k, trial)
            else:
                copy(states[i], trial)
            system[0](segment, t + NODES[s] * h, trial, seen, *data)
            integral += h * STAGES[WEIGHTS, s] * seen[0]
    return integral


@compiled()
def reverse(system, times, segments, states, weight, costates, controls, memory, row, data):
    """From the costate at the end, the last of `costates`, those before every step; `controls` (segment, 2, number) gets the
    derivatives by values at the begin of a segment and by slopes within it. `weight` is that of the integral of the first scalar;
    `memory` has 15 rows of scratch for the state, `row` one for the numbers.
    Systems are (observe, rhs, reverse of the first scalar, reverse of rhs)."""
    k, trial, K, W, scalar = memory[1:7], memory[0], memory[7], memory[8:14], memory[14]
    count = controls.shape[2]
    for i in range(segments.size - 1, -1, -1):
        t, h, segment = times[i], times[i + 1] - times[i], segments[i]
        y, after, before = states[i], costates[i + 1], costates[i]
        stages(system, segment, t, h, y, k, trial, data)
        copy(after, before)
        for s in range(STAGE_COUNT - 1, -1, -1):
            for j in range(y.size):
                total = STAGES[WEIGHTS, s] * after[j]
                for r in range(s + 1, STAGE_COUNT):
                    total += STAGES[r, s] * W[r, j]
                K[j] = h * total
                W[s, j] = 0.0
            if s > 0:
                combine(s, h, y, k, trial)
            else:
                copy(y, trial)
            at = t + NODES[s] * h
            for j in range(count):
                row[j] = 0.0
            if weight != 0.0:
                scalar[0] = weight * h * STAGES[WEIGHTS, s]
                system[2](segment, at, trial, scalar, W[s], row, *data)
            system[3](segment, at, trial, K, W[s], row, *data)
            passed = at - data[0][segment].begin
            for j in range(count):
                controls[segment, 0, j] += row[j]
                controls[segment, 1, j] += passed * row[j]
            for j in range(y.size):
                before[j] += W[s, j]


@compiled()
def hamiltonian(system, times, segments, states, costates, weight, seen, slope, out, data):
    """(step, 2): costate times slope at both ends of each step, with `weight` times the first scalar; systems are (observe, rhs)."""
    for i in range(segments.size):
        for end in range(2):
            system[1](segments[i], times[i + end], states[i + end], slope, *data)
            total = 0.0
            for j in range(slope.size):
                total += costates[i + end, j] * slope[j]
            if weight != 0.0:
                system[0](segments[i], times[i + end], states[i + end], seen, *data)
                total += weight * seen[0]
            out[i, end] = total
