"""The equations of motion as functions of a state, where the moments have no closed form: around averages over nodes."""

from collections.abc import Callable
from typing import Any

from solvable.dynamics import equations
from solvable.dynamics.equations import assemble, fields, watch
from solvable.dynamics.general import general_moments, is_closed, is_exact, risk_on_nodes, rule_for
from solvable.dynamics.kernel_data import DRIFT, FIELDS, NOISE, RISK, WATCHED
from solvable.gaussian.rules import Rule
from solvable.problems import Problem


def system(problem: Problem, rule: Rule, *, noise: bool) -> tuple[Callable[..., None], Callable[..., None]]:
    """Right-hand side and observer with the signatures of the integrators."""
    p, q = problem.student.width, problem.teacher.width
    size = problem.inputs.blocks * p * (p + q)

    def rhs(segment: int, t: float, y: Any, dy: Any, *data: Any) -> None:
        problems, blocks, _, numbers, work = data
        fields(segment, t, y, problems, blocks, numbers, work)
        found = general_moments(work[FIELDS], problem, y[size:], rule, noise=noise)
        work[DRIFT, :p], work[NOISE, :p, :p], dy[size:] = found.drift, found.noise, found.readout_drift
        assemble(segment, t, y, dy, *data)

    def observe(segment: int, t: float, y: Any, seen: Any, *data: Any) -> None:
        problems, blocks, _, numbers, work = data
        fields(segment, t, y, problems, blocks, numbers, work)
        seen[RISK] = general_moments(work[FIELDS], problem, y[size:], rule, noise=False).risk
        seen[WATCHED] = watch(problems[segment], y, seen[RISK], work)

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
    size = problem.inputs.blocks * problem.student.width * (problem.student.width + problem.teacher.width)

    def observe(segment: int, t: float, y: Any, seen: Any, *data: Any) -> None:
        problems, blocks, _, numbers, work = data
        fields(segment, t, y, problems, blocks, numbers, work)
        seen[RISK] = risk_on_nodes(work[FIELDS], problem, y[size:], rule)
        seen[WATCHED] = watch(problems[segment], y, seen[RISK], work)

    return observe
