"""A stabilised explicit step of order 2, for stiff systems with a real spectrum (the Runge-Kutta-Chebyshev method RKC,
sommeijer1998): s stages are stable over steps of 0.65 s^2 / radius, radius the largest |eigenvalue| of the Jacobian. No linear
algebra; the radius comes from the power method.
"""

import math

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.vectors import copy

ORDER = 2
DAMPING = 2.0 / 13.0
MOST_STAGES = 300
SAFETY = 1.2  # the power method comes from below


@compiled()
def stages_for(h, radius):
    return 1 + max(1, math.ceil(math.sqrt(1.54 * h * radius + 1.0)))


@compiled()
def longest_step(radius):
    return ((MOST_STAGES - 1.0) ** 2 - 1.0) / (1.54 * radius) if radius > 0.0 else np.inf


@compiled(allocates=True)
def coefficients(s, rows):
    """Rows 1 to s: mu, nu, mu~ and gamma~ of each stage."""
    w0 = 1.0 + DAMPING / s**2
    T, dT, ddT, b = np.zeros(s + 1), np.zeros(s + 1), np.zeros(s + 1), np.zeros(s + 1)
    T[0], T[1], dT[1] = 1.0, w0, 1.0
    for j in range(2, s + 1):
        T[j] = 2 * w0 * T[j - 1] - T[j - 2]
        dT[j] = 2 * T[j - 1] + 2 * w0 * dT[j - 1] - dT[j - 2]
        ddT[j] = 4 * dT[j - 1] + 2 * w0 * ddT[j - 1] - ddT[j - 2]
        b[j] = ddT[j] / dT[j] ** 2
    w1 = dT[s] / ddT[s]
    b[0] = b[1] = b[2]
    rows[1, 2] = b[1] * w1
    for j in range(2, s + 1):
        rows[j, 0] = 2 * b[j] * w0 / b[j - 1]
        rows[j, 1] = -b[j] / b[j - 2]
        rows[j, 2] = 2 * b[j] * w1 / b[j - 1]
        rows[j, 3] = -(1 - b[j - 1] * T[j - 1]) * rows[j, 2]


@compiled()
def chebyshev_step(slope, stages, y, first, h, rows, ints, floats, work, trial):
    """Write the state after h, from `y` with slope `first`; return the size of the error. `work` has three rows."""
    before, last, rate = work[0], work[1], work[2]
    n = y.size
    coefficients(stages, rows)
    copy(y, before)
    for i in range(n):
        last[i] = y[i] + h * rows[1, 2] * first[i]
    for j in range(2, stages + 1):
        slope(last, ints, floats, rate)
        mu, nu, drift, correction = rows[j, 0], rows[j, 1], h * rows[j, 2], h * rows[j, 3]
        rest = 1.0 - mu - nu
        for i in range(n):
            new = rest * y[i] + mu * last[i] + nu * before[i] + drift * rate[i] + correction * first[i]
            before[i] = last[i]
            last[i] = new
    slope(last, ints, floats, rate)
    worst = 0.0
    for i in range(n):
        trial[i] = last[i]
        error = abs(0.8 * (y[i] - last[i]) + 0.4 * h * (first[i] + rate[i]))
        worst = max(worst, error) if error == error else np.inf
    return worst


@compiled(allocates=True)
def spectral_radius(slope, y, first, direction, ints, floats, work, most):
    """Largest |eigenvalue| of the Jacobian at `y`, with a margin, by the power method on differences of slopes; and how many it
    took. `direction` is kept for the next time."""
    probe, rate = work[0], work[1]
    nudge = 1.5e-8 * np.sqrt(np.sum(y * y)) + 1e-150
    found, count = 0.0, 0
    while count < most:
        count += 1
        length = np.sqrt(np.sum(direction * direction))
        for i in range(y.size):
            direction[i] /= length
            probe[i] = y[i] + nudge * direction[i]
        slope(probe, ints, floats, rate)
        for i in range(y.size):
            direction[i] = (rate[i] - first[i]) / nudge
        new = np.sqrt(np.sum(direction * direction))
        if not new > 0.0 or not np.isfinite(new):
            direction[:] = 1.0
            break
        done = abs(new - found) <= 1e-2 * new
        found = new
        if done:
            break
    return SAFETY * found, count
