"""Fixed steps of order 5 through a system, and their exact reverse (the discrete adjoint of `tsit5.py`).

An adaptive run is recorded once; its steps are then frozen, so that the result is a smooth function of the state and of all numbers
of the system, and its derivatives are those of what is computed, to rounding. With a step y' = y + h sum_s b_s k_s, k_s = f(Y_s),
Y_s = y + h sum_{r<s} a_sr k_r and the costate L = dJ/dy', from the last stage to the first:

    K_s = h b_s L + h sum_{r>s} a_rs W_r,     W_s = f_y(Y_s)^T K_s,     then L + sum_s W_s is the costate before the step

and f_u(Y_s)^T K_s is added to the derivatives by the numbers u of the segment. Where an integral of a scalar over time counts too,
the scalar is a component of its own, the first thing that `observe` sees, with the same weights h b_s.

Systems are (observe, rhs), or (observe, rhs, reverse of the first scalar, reverse of rhs). A reverse is called with the weights of
what the function writes, and adds derivatives to `bar`: those by the state, then those by the numbers u,

    back(segment, t, y, weights, bar, *data)

A mesh is (times, segments): when steps end, the first entry being the begin of the run, and the segment that each lies in.
"""

from solvable.numerics.compiled import compiled
from solvable.numerics.driving import GOING, begin, ends, step
from solvable.numerics.ending import Ending
from solvable.numerics.tsit5 import NODES, PACE, STAGES, arrive, attempt, combine, interpolate
from solvable.numerics.vectors import copy

STAGE_COUNT = 6  # the seventh serves the error only
WEIGHTS = 6  # row of STAGES


@compiled()
def record(system, control, report, course, memory, data, mesh):
    """Follow the system adaptively and keep its mesh; how many steps there were. If there is no room for more, the run has reached
    its limit of steps."""
    times, segments = mesh
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
def stage(s, h, y, k, trial):
    """The state in which slope s of a step is taken."""
    if s > 0:
        combine(s, h, y, k, trial)
    else:
        copy(y, trial)


@compiled()
def slopes(system, segment, t, h, y, k, trial, data):
    """All slopes of one step."""
    for s in range(STAGE_COUNT):
        stage(s, h, y, k, trial)
        system[1](segment, t + NODES[s] * h, trial, k[s], *data)


@compiled()
def march(system, mesh, states, seen, memory, data):
    """Repeat the recorded steps from the first of `states`, and fill the others; the integral of the first scalar over time, unless
    `seen` is empty. `memory` has 7 rows of scratch for the state."""
    times, segments = mesh
    k, trial, integral = memory[1:7], memory[0], 0.0
    for i in range(segments.size):
        t, h, segment = times[i], times[i + 1] - times[i], segments[i]
        slopes(system, segment, t, h, states[i], k, trial, data)
        combine(WEIGHTS, h, states[i], k, states[i + 1])
        for s in range(STAGE_COUNT if seen.size > 0 else 0):
            stage(s, h, states[i], k, trial)
            system[0](segment, t + NODES[s] * h, trial, seen, *data)
            integral += h * STAGES[WEIGHTS, s] * seen[0]
    return integral


@compiled()
def weigh(s, h, after, bars, weights):
    """K_s of a step, from the costate after it and the derivatives W_r of the later stages."""
    for j in range(weights.size):
        total = STAGES[WEIGHTS, s] * after[j]
        for r in range(s + 1, STAGE_COUNT):
            total += STAGES[r, s] * bars[r, j]
        weights[j] = h * total


@compiled()
def reverse(system, mesh, path, weight, numbers, memory, data):
    """From the costate at the end, the last one of `path` = (states, costates), those before every step; `numbers` (segment, 2, u)
    gets the derivatives by values at the begin of a segment and by slopes within it. `weight` is that of the integral of the first
    scalar; `memory` = (9 rows of scratch for the state, 6 for derivatives)."""
    (times, segments), (states, costates), (rows, bars) = mesh, path, memory
    k, trial, weights, scalar = rows[1:7], rows[0], rows[7], rows[8]
    size = states.shape[1]
    for i in range(segments.size - 1, -1, -1):
        t, h, segment = times[i], times[i + 1] - times[i], segments[i]
        y, after, before = states[i], costates[i + 1], costates[i]
        slopes(system, segment, t, h, y, k, trial, data)
        copy(after, before)
        for s in range(STAGE_COUNT - 1, -1, -1):
            weigh(s, h, after, bars, weights)
            stage(s, h, y, k, trial)
            bar, at = bars[s], t + NODES[s] * h
            for j in range(bar.size):
                bar[j] = 0.0
            if weight != 0.0:
                scalar[0] = weight * h * STAGES[WEIGHTS, s]
                system[2](segment, at, trial, scalar, bar, *data)
            system[3](segment, at, trial, weights, bar, *data)
            passed = at - data[0][segment].begin
            for j in range(numbers.shape[2]):
                numbers[segment, 0, j] += bar[size + j]
                numbers[segment, 1, j] += passed * bar[size + j]
            for j in range(size):
                before[j] += bar[j]


@compiled()
def hamiltonian(system, mesh, path, weight, out, seen, slope, data):
    """(step, 2): costate times slope at both ends of each step, with `weight` times the first scalar."""
    (times, segments), (states, costates) = mesh, path
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
