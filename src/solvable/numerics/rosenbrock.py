"""A linearly implicit step of order 4, for stiff systems whose Jacobian is at hand (the Rosenbrock method RODAS, hairer1996,
IV.7): six stages, one matrix 1 - g J for all of them, damping of the fastest modes complete (L-stable). Order 3 embedded.
"""

import numpy as np

from solvable.numerics.compiled import compiled

ORDER = 4
EMBEDDED_ORDER = 3
GAMMA = 0.25
STAGES = 6

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
def rosenbrock_step(slope, factor, solve, y, h, ints, floats, room, work, trial):
    """Write the state after h; return the size of the error. The system gives
    `slope(y, ints, floats, dy)`; `factor(y, g, ints, floats, room)`, which makes ready to solve (1 - g J(y)) v = b; and
    `solve(ints, floats, room, b)`, which turns b into v."""
    n, g = y.size, GAMMA * h
    factor(y, g, ints, floats, room)
    for stage in range(STAGES):
        u = work[stage]
        for i in range(n):
            total = y[i]
            for j in range(stage):
                total += A[stage, j] * work[j, i]
            trial[i] = total
        slope(trial, ints, floats, u)
        for i in range(n):
            total = h * u[i]
            for j in range(stage):
                total += C[stage, j] * work[j, i]
            u[i] = GAMMA * total
        solve(ints, floats, room, u)
    worst = 0.0
    for i in range(n):
        error = abs(work[STAGES - 1, i])
        trial[i] += work[STAGES - 1, i]
        worst = max(worst, error) if error == error else np.inf
    return worst
