"""Entries of the integrators for the equations of motion: one compiled function each, with its types."""

from numba import float64, int64, types, void

from solvable.dynamics.equations import observe, rhs
from solvable.dynamics.exponential import ADVANCE, TOLERATE, advance, tolerate
from solvable.dynamics.kernel_data import DATA, SYSTEM_FUNCTION
from solvable.dynamics.rows import advance_rows, observe_rows, tolerate_rows
from solvable.numerics.compiled import compiled
from solvable.numerics.doubling import solve as solve_doubled
from solvable.numerics.tsit5 import solve as solve_explicit

REST = (
    float64[::1], float64, float64[::1], float64[::1],
    float64, float64, int64, float64, float64, int64, float64,
    types.Tuple(DATA), float64[:, ::1], float64[:, ::1], float64[::1], float64[::1],
)  # fmt: skip


@compiled(void(SYSTEM_FUNCTION, SYSTEM_FUNCTION, *REST), pure=True, allocates=True)
def explicit(
    rhs, observe, y0, begin, times, breaks, rtol, atol, max_steps, bound, floor, direction, level,
    data, states, observed, last, report,
):  # fmt: skip
    """See `tsit5.solve`."""
    solve_explicit(
        rhs, observe, y0, begin, times, breaks, rtol, atol, max_steps, bound, floor, direction, level,
        data, states, observed, last, report,
    )  # fmt: skip


@compiled(
    void(types.FunctionType(ADVANCE), SYSTEM_FUNCTION, types.FunctionType(TOLERATE), *REST),
    allocates=True,
)
def doubled(
    advance, observe, tolerate, y0, begin, times, breaks, rtol, atol, max_steps, bound, floor, direction, level,
    data, states, observed, last, report,
):  # fmt: skip
    """See `doubling.solve`."""
    solve_doubled(
        advance, observe, tolerate, y0, begin, times, breaks, rtol, atol, max_steps, bound, floor, direction, level,
        data, states, observed, last, report,
    )  # fmt: skip


KERNELS = {
    "explicit": (explicit, rhs, observe),
    "exponential": (doubled, advance, observe, tolerate),
    "weights": (doubled, advance_rows, observe_rows, tolerate_rows),
}
