"""Methods of `Trajectory`: the states of its runs, at an output or at the end, to go on from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps import Overlaps, repaired
from solvable.results.blocks import Blocks
from solvable.results.selecting import run_number
from solvable.results.traits import traits_of

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def at(self: Trajectory, time: float, run: int | None = None) -> Overlaps:
    """The state at an output time, to restart from or to change the task.

    Parameters
    ----------
    time : float
        An output time, in the unit of `clock`. Outputs of `Micro` are at whole steps: a time means the nearest.
    run : int, optional
        Number of the run; may be left out where there is only one.

    Returns
    -------
    Overlaps
        The state of that run at that time.

    Examples
    --------
    >>> state = run.at(50.0)
    >>> state.cross_overlap.shape
    (2, 1)
    """
    run = run_number(self, "at", run, "; `states(time)` gives those of all")
    i = int(np.argmin(np.abs(self.time - time)))
    if not (abs(self.time[i] - time) <= 1e-9 * max(1.0, abs(time)) or _is_step(self, i, time)):
        raise ValueError(f"at: {time} is not an output time, the nearest is {self.time[i]}; ask for it by `times`")
    blocks = self.blocks
    if blocks is None and self.block_teacher_overlap.shape[1] == 1:
        totals = self.student_overlap, self.cross_overlap, self.moving_teacher_overlap, self.extra_overlap
        blocks = Blocks.of([None if part is None else part[:, :, None] for part in totals])
    if blocks is None:
        raise ValueError("at: the overlaps of the single blocks were not kept; run with keep_blocks=True")
    if np.isnan(self.risk[run, i]):
        raise ValueError(f"at: run {run} ended before, at {self.end_time[run]:.6g} ({self.ending[run].text})")
    scalars = None if self.scalars is None else self.scalars[run, i]
    return _state(self, run, blocks.pick(run, i), self.readout[run, i], scalars)


def _is_step(trajectory: Trajectory, output: int, time: float) -> bool:
    """Tell whether an output is at the whole step of SGD that is nearest to a time."""
    if not traits_of(trajectory).takes_samples or not time >= 0:
        return False
    dim = trajectory.problem.inputs.dim or 0
    return bool(abs(trajectory.alpha[output] - trajectory.clock.to_alpha(time)) * dim <= 0.5 * (1 + 1e-9))


def last(self: Trajectory, run: int | None = None) -> Overlaps:
    """The state in which a run ended.

    A run from there begins at time 0: if the problem has schedules, `problem.later(alpha)` lets them go on. Of a run on a data
    set it knows the weights alone: the samples of a run from there are new ones.

    Parameters
    ----------
    run : int, optional
        Number of the run; may be left out where there is only one.

    Returns
    -------
    Overlaps
        The last state of that run.

    Examples
    --------
    >>> further = sv.run(problem, run.last(), sv.Macro(), until=100)
    >>> bool(further.risk[0, -1] < run.risk[0, -1])
    True
    """
    run = run_number(self, "last", run, "; `states()` gives those of all")
    if not np.isfinite(self.end_blocks.student[run]).all():
        raise ValueError(f"last: run {run} has no finite last state ({self.ending[run].text})")
    scalars = None if self.end_scalars is None else self.end_scalars[run]
    return _state(self, run, self.end_blocks.pick(run), self.end_readout[run], scalars)


def _state(
    trajectory: Trajectory, run: int, blocks: Blocks, readout: np.ndarray, scalars: np.ndarray | None
) -> Overlaps:
    teacher = trajectory.block_teacher_overlap[run] if blocks.teacher is None else blocks.teacher
    sphere = trajectory.problem.student.norm == "sphere"
    extras = () if blocks.extra is None else trajectory.problem.extras
    return repaired(
        blocks.student, blocks.cross, teacher, readout,
        sphere=sphere, extras=extras, extra=blocks.extra, scalars=scalars,
        scalar_roles=() if scalars is None else trajectory.problem.scalars,
    )  # fmt: skip


def states(self: Trajectory, time: float | None = None) -> list[Overlaps]:
    """The states of all runs, as starts for `run_batch`.

    Parameters
    ----------
    time : float, optional
        An output time, in the unit of `clock`; left out, the end of each run.

    Returns
    -------
    list of Overlaps
        One state for each run.

    Examples
    --------
    >>> len(run.states())
    1
    """
    return [self.last(run) if time is None else self.at(time, run) for run in range(len(self.risk))]
