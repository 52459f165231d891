"""Entries of what gradients are made of, one compiled function each, with its types: an adaptive run that is recorded, the same
steps again, and their reverse (`numerics/adjoint.py`)."""

from numba import float64, int64, types, void

from solvable.dynamics.kernel_data import DATA, SYSTEM_FUNCTION
from solvable.dynamics.reverse import BACK_FUNCTION
from solvable.numerics import adjoint
from solvable.numerics.compiled import compiled
from solvable.numerics.control import CONTROL_TYPE, REPORT_TYPE

COURSE = types.Tuple((float64[::1], float64[::1], float64[:, ::1]))
MESH = (float64[::1], int64[::1])  # when steps end, the segment of each
STATES = float64[:, ::1]


@compiled(int64(SYSTEM_FUNCTION, SYSTEM_FUNCTION, CONTROL_TYPE, REPORT_TYPE, COURSE, STATES, types.Tuple(DATA), *MESH))
def record(observe, rhs, control, report, course, memory, data, times, segments):
    return adjoint.record((observe, rhs), control, report, course, memory, data, times, segments)


@compiled(float64(SYSTEM_FUNCTION, SYSTEM_FUNCTION, *MESH, STATES, float64[::1], STATES, types.Tuple(DATA)))
def march(observe, rhs, times, segments, states, seen, memory, data):
    return adjoint.march((observe, rhs), times, segments, states, seen, memory, data)


@compiled(
    void(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, BACK_FUNCTION, BACK_FUNCTION,
        *MESH, STATES, float64, STATES, float64[:, :, ::1], STATES, float64[::1], types.Tuple(DATA),
    )
)  # fmt: skip
def reverse(observe, rhs, back_observe, back, times, segments, states, weight, costates, controls, memory, row, data):
    system = observe, rhs, back_observe, back
    adjoint.reverse(system, times, segments, states, weight, costates, controls, memory, row, data)


@compiled(
    void(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, *MESH, STATES, STATES, float64, float64[::1], float64[::1], STATES, types.Tuple(DATA),
    )
)  # fmt: skip
def hamiltonian(observe, rhs, times, segments, states, costates, weight, seen, slope, out, data):
    adjoint.hamiltonian((observe, rhs), times, segments, states, costates, weight, seen, slope, out, data)
