"""Entries of what gradients are made of, one compiled function each, with its types: an adaptive run that is recorded, the same
steps again, and their reverse (`numerics/adjoint.py`)."""

from numba import float64, int64, types, void

from solvable.dynamics.kernel_data import DATA, SYSTEM_FUNCTION
from solvable.dynamics.reverse import BACK_FUNCTION
from solvable.numerics import adjoint
from solvable.numerics.compiled import compiled
from solvable.numerics.control import CONTROL_TYPE, REPORT_TYPE

ROWS = float64[:, ::1]
COURSE = types.Tuple((float64[::1], float64[::1], ROWS))
MESH = types.Tuple((float64[::1], int64[::1]))
PAIR = types.Tuple((ROWS, ROWS))
SYSTEM = (SYSTEM_FUNCTION, SYSTEM_FUNCTION)


@compiled(int64(*SYSTEM, CONTROL_TYPE, REPORT_TYPE, COURSE, ROWS, types.Tuple(DATA), MESH))
def record(observe, rhs, control, report, course, memory, data, mesh):
    return adjoint.record((observe, rhs), control, report, course, memory, data, mesh)


@compiled(float64(*SYSTEM, MESH, ROWS, float64[::1], ROWS, types.Tuple(DATA)))
def march(observe, rhs, mesh, states, seen, memory, data):
    return adjoint.march((observe, rhs), mesh, states, seen, memory, data)


@compiled(void(*SYSTEM, BACK_FUNCTION, BACK_FUNCTION, MESH, PAIR, float64, float64[:, :, ::1], PAIR, types.Tuple(DATA)))
def reverse(observe, rhs, back_risk, back, mesh, path, weight, numbers, memory, data):
    adjoint.reverse((observe, rhs, back_risk, back), mesh, path, weight, numbers, memory, data)


@compiled(void(*SYSTEM, MESH, PAIR, float64, ROWS, float64[::1], float64[::1], types.Tuple(DATA)))
def hamiltonian(observe, rhs, mesh, path, weight, out, seen, slope, data):
    adjoint.hamiltonian((observe, rhs), mesh, path, weight, out, seen, slope, data)
