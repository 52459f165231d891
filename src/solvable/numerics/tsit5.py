"""An adaptive explicit Runge-Kutta integrator of order 5 with dense output (tsitouras2011).

The system is a pair of compiled functions: `rhs(segment, t, y, dy, *data)` writes dy/dt, `observe(segment, t, y, seen, *data)` a
few scalars that outputs and events need. Both receive the number of the smooth segment they are in: a system may jump at `breaks`,
and steps land on them. Whoever solves a system declares an entry with its types.
"""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.vectors import copy

ORDER = 5
DENSE_ORDER = 4

FINISHED, STOPPED, CONVERGED, DIVERGED, STEP_LIMIT, STALLED, INTERRUPTED = range(7)
RISES, FALLS, WATCHED = 1, -1, 1
REPORT, INTERRUPT = 6, 5  # size of `report`, and the place in it where another thread asks to stop

NODES = np.array([0.0, 0.161, 0.327, 0.9, 0.9800255409045097, 1.0, 1.0])
STAGES = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
        [0.161, 0.0, 0.0, 0.0, 0.0, 0.0],
        [-0.008480655492356989, 0.335480655492357, 0.0, 0.0, 0.0, 0.0],
        [2.8971530571054935, -6.359448489975075, 4.3622954328695815, 0.0, 0.0, 0.0],
        [5.325864828439257, -11.748883564062828, 7.4955393428898365, -0.09249506636175525, 0.0, 0.0],
        [5.86145544294642, -12.92096931784711, 8.159367898576159, -0.071584973281401, -0.028269050394068383, 0.0],
        [0.09646076681806523, 0.01, 0.4798896504144996, 1.379008574103742, -3.290069515436081, 2.324710524099774],
    ]
)
# Difference between the fifth-order weights (the last row of STAGES) and the embedded fourth-order ones.
ERROR = np.array(
    [
        -0.00178001105222577714,
        -0.0008164344596567469,
        0.007880878010261995,
        -0.1447110071732629,
        0.5823571654525552,
        -0.45808210592918697,
        1.0 / 66.0,
    ]
)


@compiled()
def dense_weights(theta, weights):
    """Weights of the seven stages at the fraction `theta` of a step (order 4, tsitouras2011)."""
    t, t2 = theta, theta * theta
    weights[0] = -1.0530884977290216 * t * (t - 1.3299890189751412) * (t2 - 1.4364028541716351 * t + 0.7139816917074209)
    weights[1] = 0.1017 * t2 * (t2 - 2.1966568338249754 * t + 1.2949852507374631)
    weights[2] = 2.490627285651252793 * t2 * (t2 - 2.38535645472061657 * t + 1.57803468208092486)
    weights[3] = -16.54810288924490272 * (t - 1.21712927295533244) * (t - 0.61620406037800089) * t2
    weights[4] = 47.37952196281928122 * (t - 1.203071208372362603) * (t - 0.658047292653547382) * t2
    weights[5] = -34.87065786149660974 * (t - 1.2) * (t - 0.666666666666666667) * t2
    weights[6] = 2.5 * (t - 1.0) * (t - 0.6) * t2


@compiled()
def interpolate(theta, h, y, k, weights, out):
    dense_weights(theta, weights)
    for i in range(y.size):
        total = 0.0
        for s in range(7):
            total += weights[s] * k[s, i]
        out[i] = y[i] + h * total


@compiled()
def combine(stage, h, y, k, out):
    """State at which a stage is evaluated. Written out per stage: loops over the components then run in lanes."""
    a0, a1, a2 = h * STAGES[stage, 0], h * STAGES[stage, 1], h * STAGES[stage, 2]
    a3, a4, a5 = h * STAGES[stage, 3], h * STAGES[stage, 4], h * STAGES[stage, 5]
    k0, k1, k2, k3, k4, k5 = k[0], k[1], k[2], k[3], k[4], k[5]
    if stage == 1:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i]
    elif stage == 2:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i] + a1 * k1[i]
    elif stage == 3:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i] + a1 * k1[i] + a2 * k2[i]
    elif stage == 4:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i]
    elif stage == 5:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i]
    else:
        for i in range(y.size):
            out[i] = y[i] + a0 * k0[i] + a1 * k1[i] + a2 * k2[i] + a3 * k3[i] + a4 * k4[i] + a5 * k5[i]


@compiled()
def scaled_error(h, y, trial, k, rtol, atol, scratch):
    """Largest |error| / (atol + rtol |y|) and largest |trial|; both NaN if anything is."""
    k0, k1, k2, k3, k4, k5, k6 = k[0], k[1], k[2], k[3], k[4], k[5], k[6]
    e0, e1, e2, e3, e4, e5, e6 = ERROR[0], ERROR[1], ERROR[2], ERROR[3], ERROR[4], ERROR[5], ERROR[6]
    for i in range(y.size):
        total = e0 * k0[i] + e1 * k1[i] + e2 * k2[i] + e3 * k3[i] + e4 * k4[i] + e5 * k5[i] + e6 * k6[i]
        scratch[i] = abs(h * total) / (atol + rtol * max(abs(y[i]), abs(trial[i])) + 1e-300)
    error, size = 0.0, 0.0
    for i in range(y.size):
        if scratch[i] != scratch[i] or trial[i] != trial[i]:
            return np.nan, np.nan
        error, size = max(error, scratch[i]), max(size, abs(trial[i]))
    return error, size


@compiled()
def at_rest(y, dy, span, rtol, vanished):
    """Whether going on like this for a whole `span` would move nothing beyond rtol: relative to each component, so that
    small ones that grow are not overlooked; relative to the largest where the state has `vanished` for good."""
    largest = 0.0
    for i in range(y.size):
        largest = max(largest, abs(y[i]))
    for i in range(y.size):
        if not abs(dy[i]) * span <= rtol * (largest if vanished else abs(y[i])):
            return False
    return True


@compiled()
def repeat(saved, y, seen, states, observed):
    """Fill the outputs that are left with the state at rest."""
    for j in range(saved, states.shape[0]):
        copy(y, states[j])
        copy(seen, observed[j])


@compiled()
def first_step(y, dy, span, rtol):
    """A cautious first step: a hundredth of the time in which the state moves by its own size."""
    ratio = 0.0
    for i in range(y.size):
        ratio = max(ratio, abs(dy[i]) / (abs(y[i]) + 1e-3))
    if ratio == 0.0:
        return span
    return min(span, 0.01 * max(rtol, 1e-12) ** 0.1 / ratio)


@compiled(allocates=True)
def solve(
    rhs, observe, y0, begin, times, breaks,
    rtol, atol, max_steps, bound, floor, direction, level,
    data, states, observed, last, report,
):  # fmt: skip
    """Integrate y from y0 at `begin` and write `states[j]`, `observed[j]` at every `times[j]`, NaN where not reached.

    Error control is by the maximum over components of |error| / (atol + rtol |y|), so that many small
    components do not dilute one bad one. `breaks` are the inner jumps of the system. The run stops when
    `observed[1]` crosses `level` in `direction` (0: never), when |y| passes `bound` or `observed[0]`
    is NaN (diverged), when a whole run from here would move nothing beyond the tolerance (converged: the remaining
    outputs repeat the state; once `observed[0]` has fallen to `floor` nothing can grow any more, which is easier to
    tell), after `max_steps`, or when another thread sets `report[INTERRUPT]`.
    `last` receives the final state; `report` = [ending, end time, rhs evaluations, accepted steps, rejected steps, interrupt].
    """
    n, m, n_times, n_breaks = y0.size, observed.shape[1], times.size, breaks.size
    end = times[n_times - 1]
    k = np.empty((7, n))
    y, trial, middle = y0.copy(), np.empty(n), np.empty(n)
    seen, weights = np.empty(m), np.empty(7)
    states[:] = np.nan
    observed[:] = np.nan

    t, segment, saved = begin, 0, 0
    evaluations, accepted, rejected = 0, 0, 0
    ending, end_time = FINISHED, end
    while saved < n_times and times[saved] <= t:
        copy(y, states[saved])
        observe(segment, t, y, seen, *data)
        copy(seen, observed[saved])
        saved += 1
    while segment < n_breaks and breaks[segment] <= t:
        segment += 1

    observe(segment, t, y, seen, *data)
    done = t >= end
    if direction != 0 and (seen[WATCHED] - level) * direction >= 0.0:
        ending, end_time, done = STOPPED, t, True
    rhs(segment, t, y, k[0], *data)
    evaluations += 1
    h = first_step(y, k[0], end - t, rtol)
    previous = 1e-4

    while not done:
        if report[INTERRUPT] != 0.0:
            ending, end_time = INTERRUPTED, t
            break
        if segment == n_breaks and at_rest(y, k[0], end - begin, rtol, seen[0] <= floor):
            ending, end_time = CONVERGED, t
            observe(segment, t, y, seen, *data)
            repeat(saved, y, seen, states, observed)
            break
        if accepted + rejected >= max_steps:
            ending, end_time = STEP_LIMIT, t
            break
        target = end
        if segment < n_breaks and breaks[segment] < end:
            target = breaks[segment]
        lands = t + 1.01 * h >= target
        if lands:
            h = target - t

        for s in range(1, 7):
            combine(s, h, y, k, trial)
            rhs(segment, t + NODES[s] * h, trial, k[s], *data)
        evaluations += 6

        error, size = scaled_error(h, y, trial, k, rtol, atol, middle)
        if not error <= 1.0:
            rejected += 1
            h *= 0.2 if not np.isfinite(error) else max(0.2, 0.9 * error**-0.2)
            if not h > 1e-14 * max(abs(t), 1e-300):
                ending = DIVERGED if not size <= 1e-4 * bound else STALLED
                end_time = t
                break
            continue

        accepted += 1
        t_new = target if lands else t + h
        observe(segment, t_new, trial, seen, *data)
        if seen[0] != seen[0]:
            ending, end_time = DIVERGED, t
            break
        crossed = direction != 0 and (seen[WATCHED] - level) * direction >= 0.0
        theta_end = 1.0
        if crossed:
            low, high = 0.0, 1.0
            while high - low > 1e-14:
                theta = 0.5 * (low + high)
                if theta <= low or theta >= high:
                    break
                interpolate(theta, h, y, k, weights, middle)
                observe(segment, t + theta * h, middle, seen, *data)
                if (seen[WATCHED] - level) * direction >= 0.0:
                    high = theta
                else:
                    low = theta
            theta_end = high
        t_stop = t + theta_end * h if crossed else t_new

        while saved < n_times and times[saved] <= t_stop:
            if times[saved] == t_new:
                copy(trial, states[saved])
            else:
                interpolate((times[saved] - t) / h, h, y, k, weights, states[saved])
            observe(segment, times[saved], states[saved], observed[saved], *data)
            saved += 1

        if crossed:
            interpolate(theta_end, h, y, k, weights, middle)
            copy(middle, y)
            ending, end_time = STOPPED, t_stop
            break
        t = t_new
        copy(trial, y)
        if not size <= bound:
            ending, end_time = DIVERGED, t
            break
        if t >= end:
            break
        if lands:
            segment += 1
            rhs(segment, t, y, k[0], *data)
            evaluations += 1
            h = min(5.0 * h, first_step(y, k[0], end - t, rtol))  # the rate may have jumped
        else:
            copy(k[6], k[0])
            h *= min(5.0, max(0.2, 0.9 * max(error, 1e-10) ** -0.14 * previous**0.08))
            previous = max(error, 1e-4)

    copy(y, last)
    report[0], report[1], report[2] = ending, end_time, evaluations
    report[3], report[4] = accepted, rejected
