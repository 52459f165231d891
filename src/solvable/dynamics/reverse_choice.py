"""The equations of motion of a problem with their reverse: which compiled functions, with which data."""

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from solvable.dynamics import average_reverse, averages, case_equations, case_reverse, equations, reverse
from solvable.dynamics.exactness import is_closed, rule_for
from solvable.dynamics.functions import has_numbers, is_polynomial, with_functions
from solvable.dynamics.gaussian_moments import NODES
from solvable.dynamics.kernel_data import Packed, pack, workspace
from solvable.gaussian.closed_forms import KINDS, for_unit
from solvable.overlaps import Overlaps
from solvable.problems import NotApplicable, Problem
from solvable.problems.domain import ONE_PASS
from solvable.problems.spec import KernelSpec

CASES = (
    "mixture", "tasks", "teacher.drift", "teacher.rotation", "training.dropout", "training.input_noise", "training.label_flips",
    "training.anchor", "teacher.bias", "student.bias", "training.train_bias",
)  # fmt: skip
REVERSIBLE = replace(ONE_PASS, target="additive", loss="squared", knows=CASES)
WHO = "the gradient"  # for messages
_CLOSED = ", ".join(KINDS)


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


def check_reversible(problem: Problem) -> None:
    """Refuse what has no reverse: what the domain leaves out, and units that are neither closed nor smooth tables."""
    REVERSIBLE.require(problem, WHO)
    if problem.training.train_bias and not problem.training.train_readout:
        raise NotApplicable(f"training.train_bias: is true and train_readout is not; {WHO} is for both or none")
    if is_closed(problem):
        return
    if problem.features:
        raise NotApplicable(
            f"student.activation: is {problem.student.activation!r:.60}; with {problem.features[0]} {WHO} is for {_CLOSED} units, "
            "as the teacher's"
        )
    for name, network in [("student", problem.student), ("teacher", problem.teacher)]:
        if network.unit.kinks or not has_numbers(problem) or is_polynomial(problem):
            raise NotApplicable(
                f"{name}.activation: is {network.activation!r:.60}; {WHO} is for {_CLOSED} and other smooth units"
            )


def reversible(problem: Problem, start: Overlaps, *, readouts: bool = False) -> Reversible:
    """Refuses what has no reverse. `readouts`: derivatives by those are wanted also where they are not trained."""
    check_reversible(problem)
    spec = KernelSpec.of(problem)
    if readouts and problem.features and not problem.training.train_readout:
        spec = spec.replace(training__train_readout=True, training__readout_rate=0.0)
    packed = pack(spec, start)
    rows, columns = int(packed.problems["rows"][0]), reverse.EIGENVALUES + packed.blocks.shape[1]
    if problem.features:
        return _of_cases(packed, columns, spec.student.unit.name)
    if is_closed(problem):
        kernels = equations.rhs, equations.observe, reverse.back, reverse.back_risk
        rhs, observe, back, back_risk = (for_unit(kernel, spec.student.unit.name) for kernel in kernels)
        return Reversible(rhs, observe, back, back_risk, packed, reverse.scratch_of_reverse(rows), columns)
    found = with_functions(packed, problem, rule_for(problem, NODES, 0))  # the nodes that Macro has
    assert found is not None
    functions = (
        averages.rhs_of_pairs,
        averages.observe_pairs,
        average_reverse.back_of_pairs,
        average_reverse.back_pairs_risk,
    )
    return Reversible(*functions, found, average_reverse.scratch_of_average_reverse(rows), columns)


def _of_cases(packed: Packed, columns: int, unit: str) -> Reversible:
    """With derivatives by the probabilities of all cases and tests, and by the factor of all readouts in tests."""
    p, q, rows, blocks = (int(packed.problems[name][0]) for name in ("students", "teachers", "rows", "blocks"))
    kernels = (
        case_equations.rhs_of_cases,
        case_equations.observe_cases,
        case_reverse.back_cases,
        case_reverse.back_risk_of_cases,
    )
    rhs, observe, back, back_risk = (for_unit(kernel, unit) for kernel in kernels)
    scratch = case_reverse.case_reverse_scratch(p, q, rows, blocks, packed.state.size)
    return Reversible(rhs, observe, back, back_risk, packed, scratch, columns + packed.cases.shape[1] + 1)
