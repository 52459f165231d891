"""An explicit Runge-Kutta method of order 8 with dense output of order 7 (Dormand and Prince's 8(5,3), hairer1993, II.10), for
`driving.drive`: the system is (observe, rhs). Twelve stages a step; interpolation takes three more, from the first step with an
output or a threshold on. These steps are also held to the tolerance between their ends, where their own error says nothing: by
what the polynomial would lack without its last term. Without this, outputs are a hundred times worse than the steps.
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.dormand_prince_table import DENSE, FIFTH, FIRST, LAST, NODES, STEP, WEIGHTS
from solvable.numerics.driving import largest, quickness, step_after
from solvable.numerics.kernel_types import apart
from solvable.numerics.vectors import copy

ORDER = 8
DENSE_ORDER = 7
PACE = (0.9, 8.0, 0.125, 0.0, 6.0, False)
HEIGHT = 27.0 * 256.0 / 7.0**7  # largest of theta^4 (1 - theta)^3, what the last coefficient is multiplied with
SHARE = 0.25  # of the last term that counts as the error: outputs are then as good as those of tsit5
COEFFICIENTS, SUM, ZERO = SLOPE + 16, SLOPE + 23, SLOPE + 24  # rows of memory, after those of the stages
ROWS = OWN + 24


@compiled()
def combine(row, h, base, k, out):
    """base plus h times a row of weighted stages. Five at a time, because such loops run in lanes; where fewer are left, the first
    stage, without weight, stands in."""
    apart()
    w, s, last = WEIGHTS[row], FIRST[row], LAST[row]
    k0, k1, k2 = k[0], k[s if s < last else 0], k[s + 1 if s + 1 < last else 0]
    k3, k4 = k[s + 2 if s + 2 < last else 0], k[s + 3 if s + 3 < last else 0]
    w0, w1, w2 = h * w[0], h * w[s] if s < last else 0.0, h * w[s + 1] if s + 1 < last else 0.0
    w3, w4 = h * w[s + 2] if s + 2 < last else 0.0, h * w[s + 3] if s + 3 < last else 0.0
    for i in range(out.size):
        out[i] = base[i] + w0 * k0[i] + w1 * k1[i] + w2 * k2[i] + w3 * k3[i] + w4 * k4[i]
    s += 4
    while s < last:
        k0, k1, k2 = k[s], k[s + 1 if s + 1 < last else 0], k[s + 2 if s + 2 < last else 0]
        k3, k4 = k[s + 3 if s + 3 < last else 0], k[s + 4 if s + 4 < last else 0]
        w0, w1, w2 = h * w[s], h * w[s + 1] if s + 1 < last else 0.0, h * w[s + 2] if s + 2 < last else 0.0
        w3, w4 = h * w[s + 3] if s + 3 < last else 0.0, h * w[s + 4] if s + 4 < last else 0.0
        for i in range(out.size):
            out[i] += w0 * k0[i] + w1 * k1[i] + w2 * k2[i] + w3 * k3[i] + w4 * k4[i]
        s += 5


@compiled()
def largest_share(parts, y, trial, rtol, atol):
    """Largest |part| / (atol + rtol |y|); NaN if anything is. The parts become these."""
    for i in range(y.size):
        parts[i] = abs(parts[i]) / (atol + rtol * max(abs(y[i]), abs(trial[i])) + 1e-300)
    worst = 0.0
    for i in range(y.size):
        if parts[i] != parts[i] or trial[i] != trial[i]:
            return np.nan
        worst = max(worst, parts[i])
    return worst


@compiled()
def scaled_error(h, y, trial, k, rtol, atol, zero, total):
    """The error in units of what is allowed; NaN if anything is."""
    apart()
    fifth, third = 0.0, 0.0
    for row in range(FIFTH, FIFTH + 2):
        combine(row, h, zero, k, total)
        fifth, third = third, largest_share(total, y, trial, rtol, atol)
    return fifth * (fifth / math.sqrt(fifth * fifth + 0.01 * third * third)) if fifth != 0.0 else fifth


@compiled(inline=True)
def arrive(system, control, report, memory, data):
    """The slope, unless interpolation in the step before knew it; after a jump it may ask for a shorter step."""
    if report.fresh == 0 and report.dense != 0:
        copy(memory[SLOPE + STEP], memory[SLOPE])
        return
    before = quickness(memory[Y], memory[SLOPE]) if report.accepted > 0 else 0.0  # where the last step began
    system[1](report.segment, report.time, memory[Y], memory[SLOPE], *data)
    report.evaluations += 1
    if report.fresh != 0:
        for i in range(memory.shape[1]):
            memory[ZERO, i] = 0.0
        report.step = step_after(before, report, memory[Y], memory[SLOPE], control.rtol)


@compiled(inline=True)
def attempt(system, control, report, h, memory, data):
    y, trial, k = memory[Y], memory[TRIAL], memory[SLOPE : SLOPE + 16]
    for stage in range(1, STEP + 1):
        combine(stage, h, y, k, trial)
        if stage < STEP:
            system[1](report.segment, report.time + NODES[stage] * h, trial, k[stage], *data)
    report.evaluations += STEP - 1
    error = scaled_error(h, y, trial, k, control.rtol, control.atol, memory[ZERO], memory[SUM])
    if report.wanted != 0 and error <= 1.0:
        prepare(system, report, h, memory, data)
        for i in range(y.size):
            memory[SUM, i] = SHARE * HEIGHT * memory[COEFFICIENTS + 6, i]
        error = max(error, largest_share(memory[SUM], y, trial, control.rtol, control.atol))
    return error, largest(trial)


@compiled()
def prepare(system, report, h, memory, data):
    """The stages that only interpolation needs, and the coefficients of its polynomial."""
    apart()
    y, trial, k, state = memory[Y], memory[TRIAL], memory[SLOPE : SLOPE + 16], memory[SUM]
    system[1](report.segment, report.time + h, trial, k[STEP], *data)
    for stage in range(STEP + 1, 16):
        combine(stage, h, y, k, state)
        system[1](report.segment, report.time + NODES[stage] * h, state, k[stage], *data)
    report.evaluations += 4
    before, after = k[0], k[STEP]
    f = memory[COEFFICIENTS : COEFFICIENTS + 7]
    for i in range(y.size):
        f[0, i] = trial[i] - y[i]
        f[1, i] = h * before[i] - f[0, i]
        f[2, i] = 2.0 * f[0, i] - h * (after[i] + before[i])
    for row in range(3, 7):
        combine(DENSE - 3 + row, h, memory[ZERO], k, f[row])
    report.dense = 1


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    apart()
    if report.dense == 0:
        prepare(system, report, h, memory, data)
    y, f, x, z = memory[Y], memory[COEFFICIENTS : COEFFICIENTS + 7], theta, 1.0 - theta
    f0, f1, f2, f3, f4, f5, f6 = f[0], f[1], f[2], f[3], f[4], f[5], f[6]
    for i in range(y.size):
        inner = f3[i] + x * (f4[i] + z * (f5[i] + x * f6[i]))
        out[i] = y[i] + x * (f0[i] + z * (f1[i] + x * (f2[i] + z * inner)))
