"""Check that all methods of integration give the same learning curve."""

import contextlib

import numpy as np

from solvable.checks.report import Report
from solvable.dynamics.exactness import is_closed
from solvable.dynamics.modes import flow_modes
from solvable.levels import run
from solvable.macro import Macro
from solvable.overlaps import InvalidStart, Overlaps
from solvable.problems import InvalidProblem, Problem


def routes_agree(
    problem: Problem, start: Overlaps, until: float, *, small_rate: bool = True, tolerance: float = 1e-6
) -> Report:
    """Check that all ways to integrate the equations give the same risk.

    The reference is the explicit integrator at rtol 1e-11. The others are the implicit integrator, the closed form of
    gradient flow (at small rates) and the reduction to modes; a route that does not apply to the problem is left out.

    Parameters
    ----------
    problem : Problem
        What is learned.
    start : Overlaps
        The state at time zero.
    until : float
        End of the run (steps/dim).
    small_rate : bool
        Whether terms of order rate^2 are dropped.
    tolerance : float
        Allowed deviation relative to the first risk.

    Returns
    -------
    Report
        The risk by each route; the keys of `values` tell which were taken.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> report = sv.checks.routes_agree(problem, sv.start(problem, seed=0), until=10)
    >>> report.passed, sorted(report.values)
    (True, ['closed form', 'implicit integrator'])
    """
    if problem.inputs.is_scheduled:
        raise ValueError("routes_agree: an eigenvalue is a schedule, which the explicit integrator alone can follow")
    times = np.linspace(0.0, until, 51)
    reference = run(problem, start, Macro(rtol=1e-11, method="explicit", small_rate=small_rate), times=times).risk[0]
    found = {}
    if is_closed(problem) and problem.student.norm == "free":
        level = Macro(rtol=1e-8, method="implicit", small_rate=small_rate)
        found["implicit integrator"] = run(problem, start, level, times=times).risk[0]
    if small_rate:
        with contextlib.suppress(InvalidProblem, InvalidStart):
            found["closed form"] = run(problem, start, Macro(small_rate=True, method="closed"), times=times).risk[0]
    with contextlib.suppress(InvalidProblem, InvalidStart):
        found["mode reduction"] = flow_modes(problem, start, times, small_rate=small_rate).risk
    if not found:
        raise ValueError("routes_agree: no second route applies to this problem and start")
    scale = np.full(times.size, tolerance * reference[0])
    return Report("routes agree", found, dict.fromkeys(found, reference), dict.fromkeys(found, scale), 1.0)
