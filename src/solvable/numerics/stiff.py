"""Stiff systems over long times, by stabilised explicit or linearly implicit steps. Steps land on outputs; a threshold is found
by repeating the last step with shorter lengths.

The system is a set of compiled functions with fixed signatures, so that this file compiles once and is cached for every system.
"""

import numpy as np
from numba import boolean, float64, int64, types, void

from solvable.numerics import chebyshev, rosenbrock
from solvable.numerics.chebyshev import chebyshev_step, longest_step, spectral_radius, stages_for
from solvable.numerics.compiled import compiled
from solvable.numerics.rosenbrock import GAMMA, rosenbrock_step
from solvable.numerics.tsit5 import DIVERGED, FINISHED, INTERRUPTED, STALLED, STEP_LIMIT, STOPPED
from solvable.numerics.vectors import copy

SLOPE = types.FunctionType(void(float64[::1], int64[::1], float64[::1], float64[::1]))  # (y, ints, floats, dy)
FACTOR = types.FunctionType(
    void(float64[::1], float64, int64[::1], float64[::1], float64[::1])
)  # (y, g, ints, floats, room): make ready to solve (1 - g J(y)) v = b
SOLVE = types.FunctionType(void(int64[::1], float64[::1], float64[::1], float64[::1]))  # (ints, floats, room, b -> v)
GROWTH = types.FunctionType(
    float64(float64[::1], int64[::1], float64[::1])
)  # (y, ints, floats): largest eigenvalue of J, or above
OBSERVE = types.FunctionType(void(float64[::1], int64[::1], float64[::1], float64[::1]))  # (y, ints, floats, seen)

ROWS = rosenbrock.STAGES + 3  # of work
RADIUS_EVERY = 10  # steps


@compiled()
def largest(y):
    size = 0.0
    for i in range(y.size):
        if y[i] != y[i]:
            return np.inf
        size = max(size, abs(y[i]))
    return size


@compiled(
    void(
        boolean, SLOPE, FACTOR, SOLVE, GROWTH, OBSERVE, float64[::1], float64[::1],
        float64, int64, float64, int64, int64, float64,
        int64[::1], float64[::1], float64[::1],
        float64[:, ::1], float64[:, ::1], float64[::1], float64[::1], float64[::1],
    ),
    allocates=True,
)  # fmt: skip
def follow(
    implicit, slope, factor, solve, growth, observe, y0, times,
    rtol, max_steps, bound, watched, direction, level,
    ints, floats, room,
    states, observed, last, report, halt,
):  # fmt: skip
    """Follow dy/dt = slope from y0 at time 0 through `times`; a step may err by `rtol` times the largest |y|.

    Beyond `bound` the state has diverged; the run stops where `observed[watched]` passes `level` (watched < 0: nowhere), or
    where another thread writes into `halt`. `report` becomes ending, end time, right-hand sides, accepted and rejected steps.
    """
    n = y0.size
    y, trial, first = y0.copy(), np.empty(n), np.empty(n)
    work, rows, seen = np.empty((ROWS, n)), np.zeros((chebyshev.MOST_STAGES + 2, 4)), np.empty(observed.shape[1])
    towards = np.cos(np.arange(n) * 2.399963) + 0.01  # any direction that no symmetry knows
    states[:] = np.nan
    observed[:] = np.nan
    power = -1.0 / (rosenbrock.EMBEDDED_ORDER + 1.0 if implicit else chebyshev.ORDER + 1.0)

    t, saved, calls, accepted, rejected, stiffness = 0.0, 0, 0, 0, 0, 0.0
    ending, h, fresh = FINISHED, 0.0, True
    observe(y, ints, floats, seen)
    if times[0] <= 0.0:
        copy(y, states[0])
        copy(seen, observed[0])
        saved = 1
    done = saved >= times.size
    if watched >= 0 and (seen[watched] - level) * direction >= 0.0:
        ending, done = STOPPED, True
    size = max(largest(y), 1e-300)
    longest = np.inf

    while not done:
        if halt[0] != 0.0:
            ending = INTERRUPTED
            break
        if accepted + rejected >= max_steps:
            ending = STEP_LIMIT
            break
        if fresh:
            slope(y, ints, floats, first)
            calls += 1
            if implicit:
                longest = 0.5 / (GAMMA * max(growth(y, ints, floats), 1e-300))
            elif accepted % RADIUS_EVERY == 0:
                stiffness, count = spectral_radius(
                    slope, y, first, towards, ints, floats, work, 100 if accepted == 0 else 10
                )
                longest = longest_step(stiffness)
                calls += count
            if accepted == 0:
                speed = largest(first)
                h = rtol ** (-power) * size / speed if speed > 0.0 else times[-1]
            fresh = False
        left, h = times[saved] - t, min(h, longest)
        lands = h >= left
        step = left if lands else min(h, 0.5 * left)
        if implicit:
            error = rosenbrock_step(slope, factor, solve, y, step, ints, floats, room, work, trial)
            calls += rosenbrock.STAGES
        else:
            stages = stages_for(step, stiffness)
            error = chebyshev_step(slope, stages, y, first, step, rows, ints, floats, work, trial)
            calls += stages
        error /= rtol * size
        if not error <= 1.0:
            rejected += 1
            h = step * (0.2 if not np.isfinite(error) else max(0.2, 0.8 * error**power))
            if not h > 1e-14 * max(t, 1e-300):
                ending = DIVERGED if size > 1e-4 * bound else STALLED
                break
            continue
        accepted += 1
        observe(trial, ints, floats, seen)
        if watched >= 0 and (seen[watched] - level) * direction >= 0.0:
            low, high = 0.0, 1.0
            while high - low > 1e-10:
                share = 0.5 * (low + high)
                if implicit:
                    rosenbrock_step(slope, factor, solve, y, share * step, ints, floats, room, work, trial)
                else:
                    chebyshev_step(slope, stages, y, first, share * step, rows, ints, floats, work, trial)
                observe(trial, ints, floats, seen)
                if (seen[watched] - level) * direction >= 0.0:
                    high = share
                else:
                    low = share
            copy(trial, y)
            ending, t = STOPPED, t + high * step
            break
        t = times[saved] if lands else t + step
        copy(trial, y)
        size, fresh = max(largest(y), 1e-300), True
        grown = step * min(5.0, 0.8 * max(error, 1e-12) ** power)
        h = max(h, grown) if lands and grown >= step else grown
        if not size <= bound:
            ending = DIVERGED
            break
        if lands:
            copy(y, states[saved])
            copy(seen, observed[saved])
            saved += 1
            done = saved >= times.size

    copy(y, last)
    report[0], report[1], report[2], report[3], report[4] = ending, t, calls, accepted, rejected
