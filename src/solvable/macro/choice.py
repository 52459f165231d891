"""Which method follows a lane: the one that is given, if it can, or the one that is estimated to need the least work."""

from typing import TYPE_CHECKING

import numpy as np

from solvable.dynamics.equal_units import orbits_of
from solvable.dynamics.exactness import is_closed, rule_for
from solvable.dynamics.functions import has_numbers
from solvable.dynamics.gaussian_moments import start_moments
from solvable.dynamics.weight_equations import columns
from solvable.levels import Lane, Plan
from solvable.macro.integrators import FINER
from solvable.problems import Problem

if TYPE_CHECKING:
    from solvable.macro.level import Macro

METHODS = ("auto", "explicit", "implicit", "weights", "closed")
SHARPER = 30.0  # tolerance of implicit steps: on a plateau their errors grow by more than those of explicit ones
NOISY = 10.0  # times the drift: noise beyond this makes no stiff equations but diverging ones


def chosen(level: "Macro", lane: Lane, plan: Plan) -> str:
    """The explicit method must resolve the fastest block, the implicit one solves with a Jacobian and lands on outputs: compare
    their work, in right-hand sides. Calibrated on two to eight linear and erf students with 8 to 1024 eigenvalues, where the one
    that is chosen takes at most one and a half times as long as the other."""
    if level.method != "auto":
        return level.method
    problem = lane.problem
    if problem.inputs.blocks == 1 or problem.inputs.is_scheduled or problem.student.norm == "sphere":
        return "explicit"
    if problem.features:
        return "explicit"
    found = start_moments(problem, lane.start)
    drift, rate = found.drift, float(problem.training.schedule.segments[:, 1].max())
    noise = rate * float(problem.inputs.fractions @ problem.inputs.eigenvalues) * np.abs(found.noise).max()
    if not np.isfinite(drift).all() or (not level.small_rate and not noise < NOISY * np.abs(drift).max()):
        return "explicit"  # which finds sooner that it diverges
    p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks
    speed = lane.problem.inputs.eigenvalues.max() * np.abs(np.linalg.eigvalsh(drift[:, :p])).max()
    stretches = 2 * speed * lane.problem.training.schedule.integral(plan.times[-1])
    step = 8 + 5 * p + 1.3 * p * (p * (p + 1) + 2 * p * q) / blocks
    work = {
        "explicit": (3.0 if level.rtol <= FINER else 1.8) * stretches,  # order 8 or 5
        "implicit": step * (60 + 2.5 * plan.times.size + 10 * (level.rtol / SHARPER) ** -0.2),
    }
    equal = orbits_of(problem, lane.start) is not None
    if not misfits_of_rows(level, problem) and not equal and (plan.stop is None or plan.stop.function is None):
        numbers = columns(lane.start, lane.weights) * (3 * p + q) / (blocks * (p + q) ** 2)
        work["weights"] = 30 / np.sqrt(level.rtol) * numbers
    return min(work, key=work.__getitem__)


def misfits_of_rows(level: "Macro", problem: Problem) -> list[str]:
    """Why weights cannot stand for overlaps."""
    reasons = {
        "small_rate is false; noise moves weights at random": not level.small_rate,
        "student.norm is 'sphere'": problem.student.norm == "sphere",
        "an eigenvalue is a schedule": problem.inputs.is_scheduled,
        "training.train_readout is true": problem.training.train_readout,
        "the moments have no closed form": not is_closed(problem),
    }
    return [reason for reason, holds in reasons.items() if holds]


def check_method(level: "Macro", lanes: list[Lane]) -> None:
    """Refuse what the method that is given cannot do."""
    problem = lanes[0].problem
    if level.method == "closed" and not level.small_rate:
        raise ValueError("method: 'closed' given, but small_rate is false; the closed form is that of gradient flow")
    if not is_closed(problem):
        rule_for(problem, level.nodes, 0)
    for name in problem.features:
        if level.method not in ("auto", "explicit"):
            raise ValueError(f"method: {level.method!r} given, but {name} is too; must be 'explicit' or 'auto'")
        if not has_numbers(problem):
            raise ValueError(f"{name}: given together with a function that only Python can call; Macro has no averages")
    if level.method == "weights":
        for misfit in misfits_of_rows(level, problem):
            raise ValueError(f"method: 'weights' given, but {misfit}")
        if any(orbits_of(lane.problem, lane.start) is not None for lane in lanes):
            raise ValueError(
                "method: 'weights' given, but units start exactly alike, which weights keep only up to rounding; must be "
                "'explicit', 'implicit' or 'auto'"
            )
    for one in [lane.problem for lane in lanes] if level.method == "implicit" else []:
        if one.student.norm == "sphere":
            raise ValueError("method: 'implicit' given, but student.norm is 'sphere'; must be 'explicit' or 'auto'")
        if one.inputs.is_scheduled:
            raise ValueError("method: 'implicit' given, but an eigenvalue is a schedule; must be 'auto'")
        if not is_closed(one):
            raise ValueError("method: 'implicit' given, but the moments have no closed form; must be 'auto'")
