"""A linearly implicit step of order 4, for stiff systems whose Jacobian is at hand (the Rosenbrock method RODAS, hairer1996,
IV.7): six stages, one matrix 1 - g J for all of them, damping of the fastest modes complete (L-stable). Order 3 embedded. Steps
land on outputs; within a step, at a threshold, the state is found by a shorter one.

For `driving.drive`; here the system does not depend on time within a segment and is (observe, rhs, factor, solve, growth):

    factor(segment, y, g, *data)     make ready to solve (1 - g J(y)) v = b
    solve(b, *data)                  turn b into v
    growth(segment, y, *data)        the largest eigenvalue of J, or above
"""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import OWN, SLOPE, TRIAL, Y
from solvable.numerics.driving import largest
from solvable.numerics.kernel_types import apart

ORDER = DENSE_ORDER = 4
EMBEDDED_ORDER = 3
PACE = (0.8, EMBEDDED_ORDER + 1.0, 1.0 / (EMBEDDED_ORDER + 1), 0.0, 5.0, True)
GAMMA = 0.25
STAGES = 6
ROWS = OWN + STAGES

TIMES = np.array([0.0, 0.386, 0.21, 0.63, 1.0, 1.0])  # of the stages, in steps; for systems that depend on time
SLOPES = np.array([0.25, -0.1043, 0.1035, -0.0362, 0.0, 0.0])  # weights of the slope in time
A = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1.544, 0.0, 0.0, 0.0, 0.0],
        [0.9466785280815826, 0.2557011698983284, 0.0, 0.0, 0.0],
        [3.314825187068521, 2.896124015972201, 0.9986419139977817, 0.0, 0.0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 0.0],
        [1.221224509226641, 6.019134481288629, 12.53708332932087, -0.6878860361058950, 1.0],
    ]
)
C = np.array(
    [
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [-5.6688, 0.0, 0.0, 0.0, 0.0],
        [-2.430093356833875, -0.2063599157091915, 0.0, 0.0, 0.0],
        [-0.1073529058151375, -9.594562251023355, -20.47028614809616, 0.0, 0.0],
        [7.496443313967647, -10.24680431464352, -33.99990352819905, 11.70890893206160, 0.0],
        [8.083246795921522, -7.981132988064893, -31.52159432874371, 16.31930543123136, -6.058818238834054],
    ]
)


@compiled()
def rosenbrock_step(system, report, h, memory, out, data):
    """Write the state after h; return the size of the error."""
    apart()
    y, slope, u = memory[Y], memory[SLOPE], memory[OWN : OWN + STAGES]
    _, rhs, factor, solve, _ = system
    factor(report.segment, y, GAMMA * h, *data)
    for i in range(y.size):
        u[0, i] = GAMMA * h * slope[i]
    solve(u[0], *data)
    for stage in range(1, STAGES):
        for i in range(y.size):
            total = y[i]
            for j in range(stage):
                total += A[stage, j] * u[j, i]
            out[i] = total
        rhs(report.segment, report.time, out, u[stage], *data)
        for i in range(y.size):
            total = h * u[stage, i]
            for j in range(stage):
                total += C[stage, j] * u[j, i]
            u[stage, i] = GAMMA * total
        solve(u[stage], *data)
    report.evaluations += STAGES - 1
    for i in range(y.size):
        out[i] += u[STAGES - 1, i]
    return largest(u[STAGES - 1])


@compiled()
def arrive(system, control, report, memory, data):
    """The slope, and a step over which nothing grows so fast that the matrix could become singular."""
    y, slope = memory[Y], memory[SLOPE]
    system[1](report.segment, report.time, y, slope, *data)
    report.evaluations += 1
    report.longest = 0.5 / (GAMMA * max(system[4](report.segment, y, *data), 1e-300))
    if report.fresh != 0:
        speed = max(largest(slope), 1e-300)
        report.step = min(report.step, control.rtol**0.25 * max(largest(y), 1e-300) / speed)


@compiled()
def attempt(system, control, report, h, memory, data):
    """Errors relative to the largest |component|."""
    error = rosenbrock_step(system, report, h, memory, memory[TRIAL], data)
    return error / (control.atol + control.rtol * max(largest(memory[Y]), 1e-300)), largest(memory[TRIAL])


@compiled()
def interpolate(system, control, report, h, theta, memory, out, data):
    rosenbrock_step(system, report, theta * h, memory, out, data)
