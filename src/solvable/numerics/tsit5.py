"""An explicit Runge-Kutta method of order 5 with dense output (tsitouras2011), for `driving.drive`; systems are (observe, rhs)."""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.driving import quickness, step_after
from solvable.numerics.vectors import copy

ORDER = 5
DENSE_ORDER = 4

PACE = (0.9, 5.0, 0.14, 0.08, 5.0, False)
ROWS = OWN + 7  # the stages after the first, and the error

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
def dense(theta, h, y, k, out):
    """The state at the fraction `theta` of a step, from its seven stages (order 4, tsitouras2011)."""
    t, t2 = theta, theta * theta
    w0 = -1.0530884977290216 * t * (t - 1.3299890189751412) * (t2 - 1.4364028541716351 * t + 0.7139816917074209)
    w1 = 0.1017 * t2 * (t2 - 2.1966568338249754 * t + 1.2949852507374631)
    w2 = 2.490627285651252793 * t2 * (t2 - 2.38535645472061657 * t + 1.57803468208092486)
    w3 = -16.54810288924490272 * (t - 1.21712927295533244) * (t - 0.61620406037800089) * t2
    w4 = 47.37952196281928122 * (t - 1.203071208372362603) * (t - 0.658047292653547382) * t2
    w5 = -34.87065786149660974 * (t - 1.2) * (t - 0.666666666666666667) * t2
    w6 = 2.5 * (t - 1.0) * (t - 0.6) * t2
    k0, k1, k2, k3, k4, k5, k6 = k[0], k[1], k[2], k[3], k[4], k[5], k[6]
    for i in range(y.size):
        total = w0 * k0[i] + w1 * k1[i] + w2 * k2[i] + w3 * k3[i] + w4 * k4[i] + w5 * k5[i] + w6 * k6[i]
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


@compiled(inline=True)
def arrive(system, control, report, memory, data):
    """The slope: the last stage of the step before, or, after a jump, a new one, which may ask for a shorter step."""
    if report.fresh == 0:
        copy(memory[SLOPE + 6], memory[SLOPE])
        return
    before = quickness(memory[Y], memory[SLOPE + 6]) if report.accepted > 0 else 0.0
    system[1](report.segment, report.time, memory[Y], memory[SLOPE], *data)
    report.evaluations += 1
    report.step = step_after(before, report, memory[Y], memory[SLOPE], control.rtol)


@compiled(inline=True)
def attempt(system, control, report, h, memory, data):
    y, trial, k = memory[Y], memory[TRIAL], memory[SLOPE : SLOPE + 7]
    for stage in range(1, 7):
        combine(stage, h, y, k, trial)
        system[1](report.segment, report.time + NODES[stage] * h, trial, k[stage], *data)
    report.evaluations += 6
    return scaled_error(h, y, trial, k, control.rtol, control.atol, memory[SLOPE + 7])


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    dense(theta, h, memory[Y], memory[SLOPE : SLOPE + 7], out)
