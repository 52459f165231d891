"""The equations of motion as functions of a state, where the moments have no closed form: around averages over nodes."""

from collections.abc import Callable
from typing import Any

from solvable.dynamics import equations
from solvable.dynamics.equations import CROSS, RISK, assemble, fields, largest_cross
from solvable.dynamics.general import general_moments, is_closed, is_exact, risk_on_nodes, rule_for
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


def observers(problem: Problem, nodes: int) -> list[Callable[..., None]]:
    """One observer of risk and largest cross overlap, or two where the risk is an average over nodes: those apart by its error.
    Faster than `system`, for many runs: there are no slopes to average."""
    plain = problem.replace(training__loss="squared")  # whatever the loss, the risk is the squared error
    if is_closed(plain):
        return [equations.observe]
    if is_exact(plain, nodes, noise=False):
        return [system(plain, rule_for(plain, nodes, 0), noise=False)[1]]
    return [_on_nodes(plain, rule_for(plain, nodes, seed)) for seed in range(2)]


def _on_nodes(problem: Problem, rule: Rule) -> Callable[..., None]:
    p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks

    def observe(y: Any, ints: Any, floats: Any, work: Any, observed: Any) -> None:
        fields(y, ints, floats, work[0], work[1, 0])
        observed[RISK] = risk_on_nodes(work[0], problem, y[blocks * p * (p + q) :], rule)
        observed[CROSS] = largest_cross(y, p, p + q, blocks)

    return observe
