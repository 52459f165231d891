"""Checks before a run: settings of levels, and results that must fit into memory."""

from typing import Any

import numpy as np

from solvable.dynamics.kernel_data import sizes
from solvable.levels.plan import Lane, Plan
from solvable.numerics.memory import FLOAT, check_memory, counted
from solvable.numerics.threads import cores
from solvable.problems import ClipBatches, Problem

LARGE = 16  # samples of a batch that clipping takes for many
FEW = 10  # as many times fewer than dimensions: the mean of a batch then adds at most a twentieth to the length of its gradient
MOST = 10**18  # that compiled code counts to
RUN = 1000  # bytes of a run beside its numbers: its seed, its place in lists


def check_whole(level: Any, **least: int) -> None:
    """Raise unless these fields of a level are whole numbers, at least so large; `threads` may be None, `seed` a SeedSequence.
    Compiled code counts in 64 bits; only seeds may be larger."""
    for name, low in least.items():
        value = getattr(level, name)
        if (name == "threads" and value is None) or (name == "seed" and isinstance(value, np.random.SeedSequence)):
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < low:
            raise ValueError(f"{name}: {value!r} given, must be a whole number, at least {low}")
        if "seed" not in name and name != "runs" and value > MOST:
            raise ValueError(f"{name}: {counted(int(value))} given, must be at most 10^18")
        object.__setattr__(level, name, int(value))


def check_settings(level: Any, *switches: str, **positive: str) -> None:
    """Raise unless `switches` are true or false, and those of `positive`, which says what they are, None or positive and finite."""
    for name in switches:
        value = getattr(level, name)
        if not isinstance(value, bool | np.bool_):
            raise ValueError(f"{name}: {value!r} given, must be True or False")
        object.__setattr__(level, name, bool(value))
    for name, what in positive.items():
        value = getattr(level, name)
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if value is not None and not (number and 0 < value < np.inf):
            raise ValueError(f"{name}: {value!r} given, must be {what}")


def check_outputs(lanes: list[Lane], plan: Plan, runs: int = 1, *, beside: int = 0, copies: int = 1) -> None:
    """Refuse more runs of each lane and more outputs than memory holds. `beside` are the numbers that a level keeps of an output
    beside overlaps and risk; `copies` tells how many of all there are while it works."""
    problem, many, times = lanes[0].problem, len(lanes) * runs, plan.times.size
    moving, rows, readouts = sizes(problem)
    state = problem.inputs.blocks * moving * rows + readouts
    output = moving * rows + readouts + 2 + beside + (state if plan.keep_blocks else 0)
    whole = min(many, cores()) * times * state  # while a run is on its way, its blocks are kept too
    needed = many * (RUN + FLOAT * (4 * state + copies * times * output)) + FLOAT * whole
    check_memory("runs" if many > times else "times", f"{counted(many)} run(s) with {times} outputs", needed)


def check_rule(problem: Problem) -> None:
    """Refuse `ClipBatches` of small batches, whose gradients scatter in length, and of batches that are not small beside dim, whose
    mean counts too: limits know the mean square of single samples alone."""
    training, dim = problem.training, problem.inputs.dim
    if not isinstance(training.rate_rule, ClipBatches):
        return
    least, most = training.segments["batch"][:, 1].min(), training.segments["batch"][:, 1].max()
    if least < LARGE:
        raise ValueError(
            f"training.batch: {least:g} given with clipping, whose limit is that of large batches, at least {LARGE}; use Micro"
        )
    if dim is not None and FEW * most > dim:
        raise ValueError(
            f"training.batch: {most:g} given with clipping and inputs.dim = {dim}, must be at most dim/{FEW}, so that "
            f"gradients are mostly noise; use Micro"
        )
