"""A stabilised explicit step of order 2, for stiff systems with a real spectrum (the Runge-Kutta-Chebyshev method RKC,
sommeijer1998): s stages are stable over steps of 0.65 s^2 / radius, radius the largest |eigenvalue| of the Jacobian. No linear
algebra; the radius comes from the power method. Steps land on outputs; within a step, at a
threshold, the state is found by a shorter one.

For `driving.drive`; the system does not depend on time within a segment and is (observe, rhs).
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.driving import largest
from solvable.numerics.kernel_types import apart

ORDER = DENSE_ORDER = 2
PACE = (0.8, 3.0, 1.0 / 3.0, 0.0, 5.0, True)
DAMPING = 2.0 / 13.0
MOST_STAGES = 300
SAFETY = 1.2  # the power method comes from below
RADIUS_EVERY = 10  # steps
BEFORE, RATE, DIRECTION = OWN, OWN + 1, OWN + 2  # rows of memory
ROWS = OWN + 3


@compiled()
def stages_for(h, radius):
    return 1 + max(1, math.ceil(math.sqrt(1.54 * h * radius + 1.0)))


@compiled()
def longest_step(radius):
    return ((MOST_STAGES - 1.0) ** 2 - 1.0) / (1.54 * radius) if radius > 0.0 else np.inf


@compiled()
def scale(stages):
    """w1 of the shifted Chebyshev polynomial: T'(w0) / T''(w0)."""
    w0 = 1.0 + DAMPING / stages**2
    T, dT, ddT = w0, 1.0, 0.0
    T_before, dT_before, ddT_before = 1.0, 0.0, 0.0
    for _ in range(2, stages + 1):
        T_new = 2 * w0 * T - T_before
        dT_new = 2 * T + 2 * w0 * dT - dT_before
        ddT_new = 4 * dT + 2 * w0 * ddT - ddT_before
        T_before, dT_before, ddT_before = T, dT, ddT
        T, dT, ddT = T_new, dT_new, ddT_new
    return dT / ddT


@compiled()
def first_weight(stages):
    """b of the first three stages: T''_2 / T'_2^2 at w0."""
    w0 = 1.0 + DAMPING / stages**2
    return 0.25 / (w0 * w0)


@compiled()
def chebyshev_step(system, report, stages, h, memory, out, data):
    """Write the state after h; return the size of the error."""
    apart()
    y, first, before, rate = memory[Y], memory[SLOPE], memory[BEFORE], memory[RATE]
    w0, w1, b = 1.0 + DAMPING / stages**2, scale(stages), first_weight(stages)
    T, dT, ddT = w0, 1.0, 0.0
    T_before, dT_before, ddT_before = 1.0, 0.0, 0.0
    b_before = b
    for i in range(y.size):
        before[i] = y[i]
        out[i] = y[i] + h * b * w1 * first[i]
    for _ in range(2, stages + 1):
        T_new = 2 * w0 * T - T_before
        dT_new = 2 * T + 2 * w0 * dT - dT_before
        ddT_new = 4 * dT + 2 * w0 * ddT - ddT_before
        b_new = ddT_new / dT_new**2
        mu, nu, drift = 2 * b_new * w0 / b, -b_new / b_before, 2 * b_new * w1 / b
        correction, rest = -(1 - b * T) * drift * h, 1.0 - mu - nu
        system[1](report.segment, report.time, out, rate, *data)
        for i in range(y.size):
            new = rest * y[i] + mu * out[i] + nu * before[i] + h * drift * rate[i] + correction * first[i]
            before[i] = out[i]
            out[i] = new
        T_before, dT_before, ddT_before, b_before = T, dT, ddT, b
        T, dT, ddT, b = T_new, dT_new, ddT_new, b_new
    system[1](report.segment, report.time, out, rate, *data)
    report.evaluations += stages
    for i in range(y.size):
        before[i] = 0.8 * (y[i] - out[i]) + 0.4 * h * (first[i] + rate[i])
    return largest(before)


@compiled()
def length(y):
    total = 0.0
    for i in range(y.size):
        total += y[i] * y[i]
    return math.sqrt(total)


@compiled()
def spectral_radius(system, report, most, memory, data):
    """Largest |eigenvalue| of the Jacobian, with a margin, by the power method on differences of slopes. The direction is kept for
    the next time."""
    y, first, direction, probe, rate = memory[Y], memory[SLOPE], memory[DIRECTION], memory[BEFORE], memory[RATE]
    nudge = 1.5e-8 * length(y) + 1e-150
    found = 0.0
    for _ in range(most):
        size = length(direction)
        for i in range(y.size):
            direction[i] /= size
            probe[i] = y[i] + nudge * direction[i]
        system[1](report.segment, report.time, probe, rate, *data)
        report.evaluations += 1
        for i in range(y.size):
            direction[i] = (rate[i] - first[i]) / nudge
        new = length(direction)
        if not new > 0.0 or not np.isfinite(new):
            scatter(direction)
            break
        done = abs(new - found) <= 1e-2 * new
        found = new
        if done:
            break
    return SAFETY * found


@compiled()
def scatter(direction):
    """Any direction that no symmetry knows."""
    for i in range(direction.size):
        direction[i] = math.cos(2.399963 * i) + 0.01


@compiled()
def arrive(system, control, report, memory, data):
    """The slope, and now and then the radius."""
    y, slope = memory[Y], memory[SLOPE]
    system[1](report.segment, report.time, y, slope, *data)
    report.evaluations += 1
    if report.fresh != 0:
        scatter(memory[DIRECTION])
        speed = max(largest(slope), 1e-300)
        report.step = min(report.step, control.rtol ** (1.0 / 3.0) * max(largest(y), 1e-300) / speed)
    if report.fresh != 0 or report.accepted % RADIUS_EVERY == 0:
        report.stiffness = spectral_radius(system, report, 100 if report.fresh != 0 else 10, memory, data)
        report.longest = longest_step(report.stiffness)


@compiled()
def attempt(system, control, report, h, memory, data):
    """Errors relative to the largest |component|."""
    stages = stages_for(h, report.stiffness)
    error = chebyshev_step(system, report, stages, h, memory, memory[TRIAL], data)
    return error / (control.atol + control.rtol * max(largest(memory[Y]), 1e-300)), largest(memory[TRIAL])


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    stages = stages_for(theta * h, report.stiffness)
    chebyshev_step(system, report, stages, theta * h, memory, out, data)
