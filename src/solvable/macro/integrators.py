"""Entries of the integrators for the equations of motion: one compiled function each, with its types."""

from typing import Any, NamedTuple

from numba import float64, int64, types, void

from solvable.dynamics import implicit
from solvable.dynamics.equations import observe
from solvable.dynamics.kernel_data import ADVANCE, DATA, SYSTEM_FUNCTION, TOLERATE
from solvable.dynamics.weight_equations import advance_rows, observe_rows, tolerate_rows
from solvable.gaussian.closed_forms import for_unit
from solvable.numerics import dormand_prince, doubling, tsit5
from solvable.numerics.compiled import compiled
from solvable.numerics.control import CONTROL_TYPE, REPORT_TYPE
from solvable.numerics.driving import drive
from solvable.numerics.kernel_types import Function

# what a run is told, how it goes, (times, breaks, outputs), memory, data
REST = (
    CONTROL_TYPE, REPORT_TYPE, types.Tuple((float64[::1], float64[::1], float64[:, ::1])), float64[:, ::1],
    types.Tuple(DATA),
)  # fmt: skip
ORDERS = {"implicit": implicit.ORDER, "weights": 2}  # of the steps that are doubled
FINE, FINER = 1e-7, 1e-9  # rtol from which on order 8 needs less work than order 5, of one block and of several


@compiled(void(SYSTEM_FUNCTION, SYSTEM_FUNCTION, *REST), pure=True)
def fifth_order(observe, rhs, control, report, course, memory, data):
    drive(
        tsit5.arrive, tsit5.attempt, tsit5.interpolate, tsit5.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(SYSTEM_FUNCTION, SYSTEM_FUNCTION, *REST), pure=True)
def eighth_order(observe, rhs, control, report, course, memory, data):
    drive(
        dormand_prince.arrive, dormand_prince.attempt, dormand_prince.interpolate, dormand_prince.PACE,
        (observe, rhs), control, report, course, memory, data,
    )  # fmt: skip


@compiled(void(SYSTEM_FUNCTION, Function(ADVANCE), Function(TOLERATE), int64, *REST))
def doubled(observe, advance, tolerate, order, control, report, course, memory, data):
    drive(
        doubling.arrive, doubling.attempt, doubling.interpolate, doubling.pace(order),
        (observe, advance, tolerate, order), control, report, course, memory, data,
    )  # fmt: skip


class Integrator(NamedTuple):
    """A way to integrate the equations: the compiled `entry`, the functions of the `system`, and how many `rows` of memory
    it needs.
    """

    entry: Any
    system: tuple[
        Any, ...
    ]  # observer first; what steps are made of; the order of steps that are doubled; explicit ones: empty
    rows: int  # of memory


def integrator(method: str, rtol: float, blocks: int, unit: Any = None) -> Integrator:
    """Return one of Macro's methods at this tolerance, those that take moments apart with the formulas of a closed unit.

    With several blocks stability limits the steps more than accuracy does, and order 5 has the longer ones for its work.
    """
    if method == "implicit":
        parts = for_unit(observe, unit), for_unit(implicit.advance, unit), implicit.tolerate
        return Integrator(doubled, (*parts, ORDERS[method]), doubling.ROWS)
    if method == "weights":
        parts = for_unit(observe_rows, unit), for_unit(advance_rows, unit), tolerate_rows
        return Integrator(doubled, (*parts, ORDERS[method]), doubling.ROWS)
    if rtol <= (FINE if blocks == 1 else FINER):
        return Integrator(eighth_order, (), dormand_prince.ROWS)
    return Integrator(fifth_order, (), tsit5.ROWS)
