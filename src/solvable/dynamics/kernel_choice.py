"""The equations of motion of a problem as functions of a state: which compiled functions, with which data.

Closed moments where there are any, else averages in compiled code; averages in Python around functions that only Python can call.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics import averages, case_averages, case_equations, equations, line_averages, rule_averages
from solvable.dynamics.case_equations import case_scratch, observe_cases
from solvable.dynamics.exactness import has_closed_risk, is_closed, rule_for, squared
from solvable.dynamics.functions import (
    has_numbers,
    is_additive,
    is_on_a_line,
    is_polynomial,
    scratch_size,
    with_functions,
)
from solvable.dynamics.kernel_data import DRIFT, FIELDS, NOISE, RISK, SEEN, WATCHED, Packed, pack, state_of, workspace
from solvable.dynamics.python_moments import general_moments, risk_on_nodes
from solvable.dynamics.quadratic_equations import quadratic_rhs, quadratic_scratch
from solvable.gaussian.closed_forms import for_unit
from solvable.gaussian.rules import Rule
from solvable.overlaps import Overlaps
from solvable.problems.spec import KernelSpec


class System(NamedTuple):
    """The equations of motion of a problem, ready to call: right-hand side, observer, and their data; `compiled` or plain
    Python.
    """

    rhs: Callable[..., None]
    observe: Callable[..., None]
    packed: Packed
    compiled: bool = True
    scratch: int = 0  # numbers of scratch behind the planes

    def workspace(self) -> np.ndarray:
        """Return scratch for one thread."""
        return workspace(int(self.packed.problems["rows"][0]), self.scratch)

    def data(self, work: np.ndarray | None = None) -> tuple[np.ndarray, ...]:
        return self.packed.data(self.workspace() if work is None else work)

    def watching(self, watched: tuple[str, tuple[int, int] | None] | None) -> "System":
        """The same, with this quantity, or this entry of it, for a threshold."""
        return self if watched is None else self._replace(packed=self.packed.watching(*watched))


def closed_kernels(problem: KernelSpec, *, moments: bool) -> tuple[Any, Any]:
    """Return right-hand side and observer of plain equations with closed moments, the faster ones of quadratic units for whoever
    reads nothing but the slope."""
    unit, training = problem.student.unit.name, problem.training
    swift = unit == "quadratic" and problem.inputs.blocks == 1 and not moments and not training.train_readout
    return quadratic_rhs if swift else for_unit(equations.rhs, unit), for_unit(equations.observe, unit)


def _closed_system(problem: KernelSpec, packed: Packed, *, moments: bool) -> System:
    rhs, observe = closed_kernels(problem, moments=moments)
    if rhs is quadratic_rhs:
        return System(rhs, observe, packed, scratch=quadratic_scratch(int(packed.problems["rows"][0])))
    return System(rhs, observe, packed)


def system(problem: KernelSpec, packed: Packed, nodes: int, seed: int = 0, *, moments: bool = True) -> System:
    """With averages over `nodes` points drawn by a seed, where there are nodes; `moments` says whether drift and noise are read
    from the scratch after a call."""
    if problem.features:
        return _of_cases(problem, packed, nodes, seed)
    if is_closed(problem):
        return _closed_system(problem, packed, moments=moments)
    rule = rule_for(problem, nodes, seed)
    found = with_functions(packed, problem, rule)
    if found is None:
        return _python_system(problem, packed, rule)
    rhs = averages.rhs_on_nodes
    if is_additive(problem):
        rhs = averages.rhs_of_polynomials if is_polynomial(problem) else averages.rhs_of_pairs
    return System(rhs, _observer(problem), found, scratch=scratch_size(int(packed.problems["rows"][0])))


def check_functions(problem: KernelSpec) -> None:
    """Raise ValueError for functions that only Python can call beside features whose kernels are compiled alone."""
    if problem.features and not is_closed(problem) and not has_numbers(problem):
        raise ValueError(
            f"{problem.features[0]}: given together with a function that only Python can call, which is not supported"
        )


def _of_cases(problem: KernelSpec, packed: Packed, nodes: int, seed: int) -> System:
    """Where samples come in cases."""
    paced = problem.training.rate_rule is not None
    shape = [int(packed.problems[name][0]) for name in ("students", "teachers", "rows", "blocks")]
    least = case_scratch(*shape)
    if is_closed(problem):
        closed = case_equations.rhs_of_paced_cases if paced else case_equations.rhs_of_cases
        unit = problem.student.unit.name
        return System(for_unit(closed, unit), for_unit(observe_cases, unit), packed, scratch=least)
    on_a_line, closed_risk = is_on_a_line(problem), has_closed_risk(problem)
    found = with_functions(packed, problem, None if on_a_line and closed_risk else rule_for(problem, nodes, seed))
    assert found is not None, "levels call check_functions first"
    observe: Any = case_averages.observe_cases_on_nodes
    if closed_risk:
        observe = for_unit(observe_cases, problem.student.unit.name)
    if on_a_line:
        return System(
            line_averages.rhs_on_a_line, observe, found, scratch=max(least, case_averages.case_node_scratch(*shape))
        )
    if problem.training.is_shaped:
        shaped = rule_averages.rhs_of_paced_rules if paced else rule_averages.rhs_of_rules
        return System(shaped, observe, found, scratch=max(least, rule_averages.rule_scratch(*shape)))
    plain = case_averages.rhs_of_paced_cases_on_nodes if paced else case_averages.rhs_of_cases_on_nodes
    return System(plain, observe, found, scratch=max(least, case_averages.case_node_scratch(*shape)))


def _observer(problem: KernelSpec) -> Callable[..., None]:
    additive = problem.teacher.target == "additive"
    return averages.observe_pairs if additive else averages.observe_on_nodes


def observers(problem: KernelSpec, start: Overlaps, nodes: int) -> list[System]:
    """One that observes the risk, or two where it is an average over nodes: those apart by its error. Rates are not looked at."""
    plain = squared(problem)  # of schedules only those of eigenvalues are looked at
    packed = pack(plain, start)
    if plain.features:
        exact = is_closed(plain) or rule_for(plain, nodes, 0).exact
        return [_of_cases(plain, packed, nodes, seed) for seed in range(1 if exact else 2)]
    if is_closed(plain):
        return [_closed_system(plain, packed, moments=True)]
    exact = plain.teacher.target == "additive"
    found = with_functions(packed, plain, None if exact else rule_for(plain, nodes, 0))
    if found is None:
        return [_python_system(plain, packed, rule_for(plain, nodes, seed)) for seed in range(2)]
    first = System(
        averages.rhs_of_pairs, _observer(plain), found, scratch=scratch_size(int(packed.problems["rows"][0]))
    )
    if exact or rule_for(plain, nodes, 0).exact:
        return [first]
    again = with_functions(packed, plain, rule_for(plain, nodes, 1))
    assert again is not None
    return [first, first._replace(packed=again)]


def risks(problem: KernelSpec, states: list[Overlaps], times: np.ndarray, nodes: int) -> tuple[np.ndarray, np.ndarray]:
    """Risk and its error in states that share their teachers, at their times (steps/dim)."""
    looks = observers(problem, states[0], nodes)
    found = np.empty((len(looks), len(states), SEEN))
    for look, rows in zip(looks, found, strict=True):
        data = look.data()
        segments = np.searchsorted(look.packed.problems["begin"], times, side="right") - 1
        for state, time, segment, row in zip(states, times.tolist(), segments.tolist(), rows, strict=True):
            look.observe(segment, time, state_of(state, problem), row, *data)
    return found[0, :, RISK], np.abs(found[0, :, RISK] - found[-1, :, RISK])


def task_risks(problem: KernelSpec, start: Overlaps, states: np.ndarray, times: np.ndarray, nodes: int) -> np.ndarray:
    """(time, task) risk of every task in packed states (time, size), at their times (steps/dim); NaN where a state is."""
    look = observers(problem, start, nodes)[0]
    begins, first = look.packed.problems["begin"], int(look.packed.problems["cases"][0])
    segments, seen = np.searchsorted(begins, times, side="right") - 1, np.empty(SEEN)
    risks = np.full((len(times), max(len(problem.tasks), 1)), np.nan)
    for task in range(risks.shape[1]):
        cases = look.packed.cases.copy()
        tests = cases[:, first:]
        for name, share in [("probability", "share"), ("slope", "share_slope")]:
            tests[name] = np.where(tests["task"] == task, tests[share], 0.0)
        data = look._replace(packed=look.packed._replace(cases=cases)).data()
        for i in np.flatnonzero(np.isfinite(states).all(axis=1)):
            look.observe(int(segments[i]), float(times[i]), np.ascontiguousarray(states[i]), seen, *data)
            risks[i, task] = seen[RISK]
    return risks


def _python_system(problem: KernelSpec, packed: Packed, rule: Rule) -> System:
    p, q = problem.student.width, problem.teacher.width
    size = problem.inputs.blocks * p * (p + q)

    def rhs(segment: int, t: float, y: Any, dy: Any, *data: Any) -> None:
        problems, blocks, _, numbers, work = data
        equations.fields(segment, t, y, problems, blocks, numbers, work)
        found = general_moments(work[FIELDS], problem, y[size:], rule, noise=bool(problems[segment].noise))
        work[DRIFT, :p], work[NOISE, :p, :p], dy[size:] = found.drift, found.noise, found.readout_drift
        equations.assemble(segment, t, y, dy, *data)

    def observe(segment: int, t: float, y: Any, seen: Any, *data: Any) -> None:
        problems, blocks, _, numbers, work = data
        equations.fields(segment, t, y, problems, blocks, numbers, work)
        if is_additive(problem):
            seen[RISK] = general_moments(work[FIELDS], problem, y[size:], rule, noise=False).risk
        else:
            seen[RISK] = risk_on_nodes(work[FIELDS], problem, y[size:], rule)
        seen[WATCHED] = equations.watch(problems[segment], y, seen[RISK], work)

    return System(rhs, observe, packed, compiled=False)
