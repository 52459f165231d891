"""The equations of motion of a problem with their reverse: which compiled functions, with which data."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from solvable.dynamics import equations, reverse
from solvable.dynamics.kernel_data import Packed, pack, workspace
from solvable.gaussian.units import UNITS
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.problems.domain import ONE_PASS

CLOSED = tuple(name for name, unit in UNITS.items() if unit.closed)
REVERSIBLE = replace(ONE_PASS, units=CLOSED, target="additive", loss="squared")
WHO = "the gradient"  # for messages


class Reversible(NamedTuple):
    """The equations of motion of a problem and their reverse, ready to call: `data` holds what they share."""

    rhs: Callable[..., None]
    observe: Callable[..., None]
    back: Callable[..., None]
    back_risk: Callable[..., None]
    packed: Packed
    more: int  # numbers of scratch behind the planes of the equations
    columns: int  # numbers whose derivatives there are

    def data(self) -> tuple[np.ndarray, ...]:
        """For one thread."""
        return self.packed.data(workspace(int(self.packed.problems["rows"][0]), self.more))


def reversible(problem: Problem, start: Overlaps) -> Reversible:
    """Refuses what has no reverse."""
    REVERSIBLE.require(problem, WHO)
    packed = pack(problem, start)
    more = reverse.scratch_of_reverse(int(packed.problems["rows"][0]))
    columns = reverse.EIGENVALUES + packed.blocks.shape[1]
    return Reversible(equations.rhs, equations.observe, reverse.back, reverse.back_risk, packed, more, columns)
