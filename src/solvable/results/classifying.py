"""Classification errors, and other numbers, of all states of a trajectory, on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from solvable.numerics.threads import cores, gather, pool, raise_if_abandoned
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.quantities import CURVE, observable

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory

NAME = "classification_error"


def is_asked_for(problem: Problem) -> bool:
    """Whether classes alone give the labels and all have a sign, so that signs are what is learned."""
    labels = None if problem.mixture is None else problem.mixture.labels
    return labels is not None and not problem.teacher.width and 0.0 not in labels


def check_blocks(trajectory: Trajectory, name: str = NAME) -> None:
    """Raise unless the trajectory has the overlaps that fields follow from."""
    if trajectory.blocks is None and trajectory.block_teacher_overlap.shape[1] > 1:
        raise ValueError(f"{name}: inputs have several blocks, whose overlaps were not kept; run with keep_blocks=True")


@observable("run time", "classification error", CURVE, from_states=True, applies=is_asked_for)
def classification_error(trajectory: Trajectory) -> np.ndarray:
    """(run, time) how often output and label have different signs, over the mix of tasks and classes at each time, without
    noise on labels. With several blocks of inputs it needs keep_blocks=True. Exact for linear and quadratic units and for one
    or two erf, tanh or ReLU units; errors of averages over nodes are about 7e-5 (eight ReLU units that have learned), 3e-4
    (eight others), 1e-3 (sixteen) or 2e-3 (any other unit). Once it was asked for, `data` and files have it too."""
    from solvable.dynamics.classification import classification_error as error_of

    return of_states(NAME, trajectory, error_of)


def of_states(name: str, trajectory: Trajectory, function: Callable[[Problem, Overlaps, float], float]) -> np.ndarray:
    """(run, time) a function of problem, state and time (steps/dim), in all states that there are."""
    t = trajectory
    check_blocks(t, name)
    values = np.full(t.risk.shape, np.nan)

    def work(places: np.ndarray) -> None:
        for run, i in places.tolist():
            raise_if_abandoned()
            values[run, i] = function(t.problem, t.at(float(t.time[i]), run), float(t.alpha[i]))

    shares = np.array_split(np.argwhere(np.isfinite(t.risk)), cores())
    gather([pool(cores()).submit(work, share) for share in shares if len(share)])
    return values


def of_ends(trajectory: Trajectory) -> tuple[float, np.ndarray] | None:
    """Of the first output of the first run that has one, and of the last states (run,); None where labels have no signs or nothing
    tells the overlaps of blocks."""
    from solvable.dynamics.classification import classification_error as error_of

    t = trajectory
    if not is_asked_for(t.problem) or not np.isfinite(t.risk[0, 0]):
        return None
    single = t.block_teacher_overlap.shape[1] == 1
    first = error_of(t.problem, t.at(float(t.time[0]), 0), float(t.alpha[0])) if single or t.blocks else float("nan")
    ends = np.full(len(t), np.nan)
    for run in np.flatnonzero(np.isfinite(t.end_blocks.student).all(axis=(1, 2, 3))):
        ends[run] = error_of(t.problem, t.last(int(run)), float(t.end_alpha[run]))
    return first, ends
