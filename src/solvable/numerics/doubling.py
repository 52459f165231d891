"""Step doubling: any one-step method with error control and one order more, for `driving.drive`.

One full step against two half steps gives the error of the half steps: at order k, their difference over 2^k - 1. Adding it
removes the leading term. Steps land on outputs; within a step, at a threshold, the state is found by a shorter one. Systems are
(observe, advance, tolerate, order of advance):

    advance(segment, t, h, y, out, *data)        tolerate(y, rtol, atol, allowed, *data)

the state after h, and the error that each component may have.
"""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.kernel_types import apart

WHOLE, HALF = OWN, OWN + 1  # rows of memory
ROWS = OWN + 2


@compiled()
def double_step(advance, order, segment, t, h, y, rows, out, data):
    """Advance y by h twice, whole and in halves; `out` is the extrapolated state, the second of `rows` keeps the size of the
    correction."""
    whole, half = rows
    apart()
    advance(segment, t, h, y, whole, *data)
    advance(segment, t, 0.5 * h, y, half, *data)
    advance(segment, t + 0.5 * h, 0.5 * h, half, out, *data)
    for i in range(y.size):
        rest = (out[i] - whole[i]) / (2.0**order - 1.0)
        out[i] += rest
        half[i] = abs(rest)


@compiled()
def scaled_error(error, allowed, trial):
    """Largest error in units of what is allowed, and largest |trial|; NaN if anything is."""
    scaled, size = 0.0, 0.0
    for i in range(error.size):
        if error[i] != error[i] or trial[i] != trial[i]:
            return np.nan, np.nan
        scaled, size = max(scaled, error[i] / (allowed[i] + 1e-300)), max(size, abs(trial[i]))
    return scaled, size


@compiled()
def pace(order):
    """See `driving.py`."""
    return 0.9, order + 1.0, 1.0 / (order + 1.0), 0.0, 4.0, True


@compiled(inline=True)
def arrive(system, control, report, memory, data):
    """Begin with a short step, and, because rates may have jumped, go on after a break with one that is not long."""
    if report.fresh != 0:
        share = 1e-3 if report.accepted > 0 else 1e-6
        report.step = min(report.step, share * (report.end - report.time))
        memory[SLOPE, 0] = np.inf  # unknown: not at rest


@compiled(inline=True)
def attempt(system, control, report, h, memory, data):
    y, trial, slope, whole, half = memory[Y], memory[TRIAL], memory[SLOPE], memory[WHOLE], memory[HALF]
    double_step(system[1], system[3], report.segment, report.time, h, y, (whole, half), trial, data)
    report.evaluations += 3
    for i in range(y.size):
        slope[i] = (trial[i] - y[i]) / h
    system[2](trial, control.rtol, control.atol, whole, *data)
    return scaled_error(half, whole, trial)


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    rows = memory[WHOLE], memory[HALF]
    double_step(system[1], system[3], report.segment, report.time, theta * h, memory[Y], rows, out, data)
    report.evaluations += 3
