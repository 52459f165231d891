"""The equations of motion as functions of a state, where the moments have no closed form: around averages over nodes."""

from collections.abc import Callable
from typing import Any

from solvable.dynamics import equations
from solvable.dynamics.equations import CROSS, RISK, assemble, fields, largest_cross
from solvable.dynamics.general import general_moments, is_closed, rule_for
from solvable.gaussian.rules import Rule
from solvable.problems import Problem


def system(problem: Problem, rule: Rule, *, noise: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    """Right-hand side and observer with the signatures of the integrators."""
    p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks
    size = blocks * p * (p + q)

    def rhs(segment: int, alpha: float, y: Any, ints: Any, floats: Any, work: Any, dy: Any) -> None:
        fields(y, ints, floats, work[0], work[1, 0])
        found = general_moments(work[0], problem, y[size:], rule, noise=noise)
        work[3, :p], work[4, :p, :p], dy[size:] = found.drift, found.noise, found.readout_drift
        assemble(segment, alpha, y, ints, floats, work, dy)

    def observe(y: Any, ints: Any, floats: Any, work: Any, observed: Any) -> None:
        fields(y, ints, floats, work[0], work[1, 0])
        observed[RISK] = general_moments(work[0], problem, y[size:], rule, noise=False).risk
        observed[CROSS] = largest_cross(y, p, p + q, blocks)

    return rhs, observe


def observer(problem: Problem, nodes: int, seed: int) -> Callable[..., None]:
    """Of risk and largest cross overlap."""
    if is_closed(problem):
        return equations.observe
    return system(problem, rule_for(problem, nodes, seed), noise=False)[1]
