"""A path of the diffusion from its start to its end: outputs, breaks of schedules, thresholds, and the lengths of leaps."""

import numpy as np
from numba import float64, from_dtype, types

from solvable.dynamics.flags import THRESHOLD
from solvable.dynamics.kernel_data import DATA, SEEN, SYSTEM_FUNCTION, WATCHED
from solvable.meso.leap import CRUDE, GEOMETRY, PATH, SAMPLER, TOO_LONG, leap
from solvable.meso.passage import UNKNOWN, may_pass, passage
from solvable.numerics.compiled import compiled
from solvable.numerics.driving import GOING, crossed, largest
from solvable.numerics.ending import Ending
from solvable.numerics.tsit5 import ORDER
from solvable.numerics.vectors import copy

# states, what was seen, and a flag to break off
OUTPUTS = types.Tuple((float64[:, ::1], float64[:, ::1], float64[::1]))


@compiled(strict=True)
def is_over(path, halt):
    """Whether the path ends before another leap."""
    if path.ending == GOING and halt != 0.0:
        path.ending = Ending.INTERRUPTED
    elif path.ending == GOING and path.taken >= path.most:
        path.ending = Ending.STEP_LIMIT
    return path.ending != GOING


@compiled(strict=True)
def is_bounded(y, problem, bound):
    """Whether all overlaps are within the bound, and readouts and scalars, which may be larger, are numbers."""
    return largest(y[: problem.blocks * problem.moving * problem.rows]) <= bound and largest(y) < np.inf


@compiled(
    types.void(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, from_dtype(PATH)[::1], float64[::1], float64[::1], float64[::1], types.Tuple(DATA),
        SAMPLER, GEOMETRY, OUTPUTS,
    ),
    strict=True,
    allocates=True,
)  # fmt: skip
def follow(rhs, observe, paths, times, breaks, y, data, sampler, geometry, outputs):
    """Leap from time zero to the last of `times`, landing on all of them and on the `breaks` of the schedules; how it ended is
    left in the path. `rhs` are the equations, `observe` sees what is watched: called by their addresses, since machine code that
    holds them takes far longer to make. A threshold is met within a leap, where `passage` finds it, or where what is watched jumps
    with the schedules. y becomes the last state; outputs are rows for the times that were reached."""
    path, (states, observed, halt) = paths[0], outputs
    t, h_next, segment, output = 0.0, path.leap, 0, 0
    path.ending, path.moved, path.variance = GOING, UNKNOWN, UNKNOWN
    steps = np.empty((8, y.size)), np.empty_like(y), np.empty_like(y), np.empty_like(y)
    seen = np.empty(SEEN)
    observe(segment, t, y, seen, *data)
    if crossed(path, seen):
        path.ending = Ending.STOPPED
    while True:
        while segment < breaks.size and breaks[segment] <= t:  # what begins at a jump is seen at it
            segment += 1
            path.moved, path.variance = UNKNOWN, UNKNOWN
            observe(segment, t, y, seen, *data)
            if path.ending == GOING and crossed(path, seen):
                path.ending = Ending.STOPPED
        while output < times.size and times[output] <= t:
            copy(y, states[output])
            copy(seen, observed[output])
            output += 1
        if path.ending == GOING and output == times.size:
            path.ending = Ending.FINISHED
        if is_over(path, halt[0]):
            break
        end = min(times[output], breaks[segment]) if segment < breaks.size else times[output]
        h = path.fixed if path.fixed > 0.0 else min(h_next, path.longest)
        lands = t + 1.01 * h >= end
        if lands:
            h = end - t
        error = leap(rhs, h, t, segment, y, data, sampler, geometry, path, steps)
        path.taken += 1
        if path.fixed <= 0.0 and not error <= TOO_LONG:
            h_next = h * (0.2 if not np.isfinite(error) else max(0.2, 0.9 * error ** (-1.0 / ORDER)))
            continue
        if path.fixed > 0.0 and not error * path.rtol <= CRUDE:
            path.ending = Ending.LEAP
            break
        grown = h * min(5.0, max(0.2, 0.9 * max(error, 1e-6) ** (-1.0 / ORDER)))
        h_next = max(grown, h_next) if lands else grown
        began, t = t, end if lands else t + h
        if not is_bounded(y, data[0][segment], path.bound):
            path.ending = Ending.DIVERGED
            break
        watched = seen[WATCHED]
        observe(segment, t, y, seen, *data)
        place = h, began, segment
        if THRESHOLD and path.watched >= 0 and may_pass(observe, place, y, data, path, steps, watched, seen):
            share = passage((rhs, observe), place, y, data, sampler, geometry, path, steps, watched, seen)
            if share <= 1.0:
                t = t if share == 1.0 else began + share * h
                path.ending = Ending.STOPPED
    path.time = t
