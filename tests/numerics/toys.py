"""Small systems with known solutions, and an entry for each integrator: data are one array of numbers."""

from types import SimpleNamespace

import numpy as np
from numba import float64, int64, types, void

from solvable.numerics import chebyshev, dormand_prince, doubling, rosenbrock, tsit5
from solvable.numerics.compiled import compiled
from solvable.numerics.control import CONTROL_TYPE, REPORT, REPORT_TYPE, control, outputs_for
from solvable.numerics.driving import drive
from solvable.numerics.kernel_types import Function

VECTOR, MATRIX = float64[::1], float64[:, ::1]
RHS, STEP = void(int64, float64, VECTOR, VECTOR, VECTOR), void(int64, float64, float64, VECTOR, VECTOR, VECTOR)
TOLERATE, SOLVE = void(VECTOR, float64, float64, VECTOR, VECTOR), void(VECTOR, VECTOR)
FACTOR, GROWTH = void(int64, VECTOR, float64, VECTOR), float64(int64, VECTOR, VECTOR)
REST = CONTROL_TYPE, REPORT_TYPE, types.Tuple((VECTOR, VECTOR, MATRIX)), MATRIX, types.Tuple((VECTOR,))

LOGISTIC, DECAY, EXPLOSION, STIFF, PENDULUM, CLIFF = range(6)  # data[0]; then rates; the last three numbers are scratch


@compiled(RHS)
def rhs(segment, t, y, dy, data):
    for i in range(y.size):
        if data[0] == LOGISTIC:
            dy[i] = data[1] * y[i] * (1.0 - y[i])
        elif data[0] == DECAY:
            dy[i] = -data[1 + segment] * y[i]
        elif data[0] == EXPLOSION:
            dy[i] = y[i] * y[i]
        elif data[0] == PENDULUM:
            dy[i] = y[i + 1] if i % 2 == 0 else -np.sin(y[i - 1])
        elif data[0] == CLIFF:
            dy[i] = -1.0 if y[i] > 0.5 else data[1]
        else:  # a fast mode slaved to a slow one, which falls as 1/t
            dy[i] = -y[0] * y[0] if i == 0 else -data[1] * (y[1] - y[0])


@compiled(RHS)
def observe(segment, t, y, seen, data):
    seen[0] = y[0]


@compiled(STEP, allocates=True)
def advance(segment, t, h, y, out, data):
    """Midpoint rule, order 2."""
    slope, middle = np.empty(y.size), np.empty(y.size)
    rhs(segment, t, y, slope, data)
    for i in range(y.size):
        middle[i] = y[i] + 0.5 * h * slope[i]
    rhs(segment, t, middle, slope, data)
    for i in range(y.size):
        out[i] = y[i] + h * slope[i]


@compiled(TOLERATE)
def tolerate(y, rtol, atol, allowed, data):
    for i in range(y.size):
        allowed[i] = atol + rtol * abs(y[i])


@compiled(FACTOR)
def factor(segment, y, g, data):
    """Of two components at most."""
    room = data[data.size - 3 :]
    room[1] = 0.0
    for i in range(y.size):
        slope = 0.0
        if data[0] == LOGISTIC:
            slope = data[1] * (1.0 - 2.0 * y[i])
        elif data[0] == DECAY:
            slope = -data[1 + segment]
        elif data[0] == EXPLOSION:
            slope = 2.0 * y[i]
        elif data[0] == STIFF:
            slope = -2.0 * y[0] if i == 0 else -data[1]
            room[1] = -g * data[1]
        room[2 * i] = 1.0 - g * slope


@compiled(SOLVE)
def solve(b, data):
    room = data[data.size - 3 :]
    b[0] /= room[0]
    if b.size > 1:
        b[1] = (b[1] - room[1] * b[0]) / room[2]


@compiled(GROWTH)
def growth(segment, y, data):
    return 0.0


@compiled(void(Function(RHS), Function(RHS), *REST))
def by_tsit5(observe, rhs, control, report, course, memory, data):
    drive(
        tsit5.arrive, tsit5.attempt, tsit5.interpolate, tsit5.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(Function(RHS), Function(RHS), *REST))
def by_dormand_prince(observe, rhs, control, report, course, memory, data):
    drive(
        dormand_prince.arrive, dormand_prince.attempt, dormand_prince.interpolate, dormand_prince.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(Function(RHS), Function(STEP), Function(TOLERATE), int64, *REST))
def by_doubling(observe, advance, tolerate, order, control, report, course, memory, data):
    drive(
        doubling.arrive, doubling.attempt, doubling.interpolate, doubling.pace(order),
        (observe, advance, tolerate, order), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(Function(RHS), Function(RHS), Function(FACTOR), Function(SOLVE), Function(GROWTH), *REST))
def by_rosenbrock(observe, rhs, factor, solve, growth, control, report, course, memory, data):
    drive(
        rosenbrock.arrive, rosenbrock.attempt, rosenbrock.interpolate, rosenbrock.PACE,
        (observe, rhs, factor, solve, growth), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(Function(RHS), Function(RHS), *REST))
def by_chebyshev(observe, rhs, control, report, course, memory, data):
    drive(
        chebyshev.arrive, chebyshev.attempt, chebyshev.interpolate, chebyshev.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


DOUBLED = SimpleNamespace(ORDER=3, DENSE_ORDER=3, **vars(doubling))  # of steps of order 2
METHODS = {
    "tsit5": (tsit5, by_tsit5, (observe, rhs)),
    "dormand_prince": (dormand_prince, by_dormand_prince, (observe, rhs)),
    "doubling": (DOUBLED, by_doubling, (observe, advance, tolerate, 2)),
    "rosenbrock": (rosenbrock, by_rosenbrock, (observe, rhs, factor, solve, growth)),
    "chebyshev": (chebyshev, by_chebyshev, (observe, rhs)),
}


def follow(name, kind, y0, times, *, rates=(1.0,), breaks=(), interrupt=0, report=None, entry=None, **told):
    """States, the last state, and the report."""
    method, compiled_entry, system = METHODS[name]
    times, first = np.array(times, dtype=float), np.array(y0, dtype=float)
    outputs, report = outputs_for(times, first, 1), np.zeros(1, REPORT)[0] if report is None else report
    report.interrupt = interrupt
    told = {"rtol": 1e-8, "atol": 1e-14, "bound": 1e8, "max_steps": 100_000} | told
    (entry or compiled_entry)(
        *system,
        control(**told),
        report,
        (times, np.array(breaks, dtype=float), outputs),
        np.empty((method.ROWS, first.size)),
        (np.array([kind, *rates, 0.0, 0.0, 0.0]),),
    )
    return outputs[:-1, 1:], outputs[-1, 1:], report
