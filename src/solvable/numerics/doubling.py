"""Step doubling: any one-step method of order 2 with error control and one order more.

One full step against two half steps gives the error of the half steps; adding a third of the difference removes its leading
term. Steps land on outputs and on the system's jumps; a threshold is found by repeating the last step with shorter lengths.
"""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.tsit5 import (
    CONVERGED,
    DIVERGED,
    FINISHED,
    INTERRUPT,
    INTERRUPTED,
    STALLED,
    STEP_LIMIT,
    STOPPED,
    WATCHED,
    at_rest,
    repeat,
)  # fmt: skip
from solvable.numerics.vectors import copy

ORDER = 3


@compiled()
def double_step(advance, segment, t, h, y, data, whole, half, out):
    """Advance y by h twice, whole and in halves; `out` is the extrapolated state, `half` keeps |difference| / 3."""
    advance(segment, t, h, y, whole, *data)
    advance(segment, t, 0.5 * h, y, out, *data)
    copy(out, half)
    advance(segment, t + 0.5 * h, 0.5 * h, half, out, *data)
    for i in range(y.size):
        third = (out[i] - whole[i]) / 3.0
        out[i] += third
        half[i] = abs(third)


@compiled()
def largest(error, allowed, trial):
    """Largest error in units of what is allowed, and largest |trial|; NaN if anything is."""
    scaled, size = 0.0, 0.0
    for i in range(error.size):
        if error[i] != error[i] or trial[i] != trial[i]:
            return np.nan, np.nan
        scaled, size = max(scaled, error[i] / (allowed[i] + 1e-300)), max(size, abs(trial[i]))
    return scaled, size


@compiled(allocates=True)
def solve(
    advance, observe, tolerate, y0, begin, times, breaks,
    rtol, atol, max_steps, bound, floor, direction, level,
    data, states, observed, last, report,
):  # fmt: skip
    """As `tsit5.solve`, with `advance` in place of the right-hand side and the error that each component may have from
    `tolerate`; `report[2]` counts calls of `advance`."""
    n, m, n_times, n_breaks = y0.size, observed.shape[1], times.size, breaks.size
    end = times[n_times - 1]
    y, trial, whole, half = y0.copy(), np.empty(n), np.empty(n), np.empty(n)
    seen = np.empty(m)
    states[:] = np.nan
    observed[:] = np.nan

    t, segment, saved = begin, 0, 0
    calls, accepted, rejected = 0, 0, 0
    ending, end_time = FINISHED, end
    observe(segment, t, y, seen, *data)
    while saved < n_times and times[saved] <= t:
        copy(y, states[saved])
        copy(seen, observed[saved])
        saved += 1
    while segment < n_breaks and breaks[segment] <= t:
        segment += 1
    done = t >= end
    if direction != 0 and (seen[WATCHED] - level) * direction >= 0.0:
        ending, end_time, done = STOPPED, t, True
    h = 1e-6 * (end - t)
    resting = False

    while not done:
        if report[INTERRUPT] != 0.0:
            ending, end_time = INTERRUPTED, t
            break
        if resting and segment == n_breaks and seen[0] <= floor:
            ending, end_time = CONVERGED, t
            repeat(saved, y, seen, states, observed)
            break
        if accepted + rejected >= max_steps:
            ending, end_time = STEP_LIMIT, t
            break
        target = times[saved]
        breaking = segment < n_breaks and breaks[segment] <= target
        if breaking:
            target = breaks[segment]
        lands = t + 1.01 * h >= target
        step = target - t if lands else h

        double_step(advance, segment, t, step, y, data, whole, half, trial)
        calls += 3
        tolerate(trial, rtol, atol, whole, *data)
        error, size = largest(half, whole, trial)
        if not error <= 1.0:
            rejected += 1
            h = step * (0.2 if not np.isfinite(error) else max(0.2, 0.9 * error ** (-1.0 / 3.0)))
            if not h > 1e-14 * max(abs(t), 1e-300):
                ending, end_time = DIVERGED if not size <= 1e-4 * bound else STALLED, t
                break
            continue
        accepted += 1
        for i in range(n):
            half[i] = (trial[i] - y[i]) / step
        resting = at_rest(trial, half, end - begin, rtol, True)
        observe(segment, t + step, trial, seen, *data)
        if seen[0] != seen[0]:
            ending, end_time = DIVERGED, t
            break
        if direction != 0 and (seen[WATCHED] - level) * direction >= 0.0:
            low, high = 0.0, 1.0
            while high - low > 1e-10:
                share = 0.5 * (low + high)
                double_step(advance, segment, t, share * step, y, data, whole, half, trial)
                observe(segment, t + share * step, trial, seen, *data)
                if (seen[WATCHED] - level) * direction >= 0.0:
                    high = share
                else:
                    low = share
            double_step(advance, segment, t, high * step, y, data, whole, half, trial)
            copy(trial, y)
            ending, end_time = STOPPED, t + high * step
            break
        t = target if lands else t + step
        copy(trial, y)
        growth = min(4.0, max(0.3, 0.9 * max(error, 1e-10) ** (-1.0 / 3.0)))
        if not lands or growth < 1.0 or step * growth > h:  # else the step was cut short to land: keep the longer one
            h = step * growth
        if not size <= bound:
            ending, end_time = DIVERGED, t
            break
        if lands:
            while saved < n_times and times[saved] <= t:
                copy(y, states[saved])
                copy(seen, observed[saved])
                saved += 1
            if breaking:
                segment += 1
                h = min(h, 1e-3 * (end - t))  # the rate may have jumped
            done = saved >= n_times

    copy(y, last)
    report[0], report[1], report[2] = ending, end_time, calls
    report[3], report[4] = accepted, rejected
