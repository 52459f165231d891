"""The risk of another problem along a run: the same weights, asked about other labels, inputs or units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps import check_start, integrated
from solvable.problems import Problem

if TYPE_CHECKING:
    import xarray

    from solvable.results.trajectory import Trajectory


def risk_on(trajectory: Trajectory, other: Problem) -> xarray.DataArray:
    """See `Trajectory.risk_on`."""
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import risks

    t = trajectory
    students, crosses, teachers = _rows(t, other)
    free = other.replace(student__norm="free")
    found = np.full((2, *t.risk.shape), np.nan)
    for run, reached in enumerate(np.isfinite(t.risk)):
        parts = zip(students[run][reached], crosses[run][reached], t.readout[run][reached], strict=True)
        states = [integrated(Q, R, teachers[run], a) for Q, R, a in parts]
        first = students[run][0], crosses[run][0], teachers[run], other.student.readout_values
        check_start(free, integrated(*first))  # refuses other teachers
        if states:
            found[:, run, reached] = risks(other, states, t.alpha[reached], NODES)
    return t.data["risk"].copy(data=found[0]).assign_coords(risk_error=(("run", "time"), found[1]))


def _rows(t: Trajectory, other: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Overlaps of students (run, time, block, p, p), with teachers, and of teachers (run, block, p*, p*), in the blocks of the
    other problem."""
    if not isinstance(other, Problem):
        raise TypeError(f"risk_on: must be given a Problem, not {type(other).__name__}")
    own, asked = t.problem.inputs, other.inputs
    widths, had = (other.student.width, other.teacher.width), (t.problem.student.width, t.problem.teacher.width)
    if widths != had:
        raise ValueError(f"risk_on: the other problem has (students, teachers) = {widths}, the run {had}")
    if asked.blocks == 1:
        return t.student_overlap[:, :, None], t.cross_overlap[:, :, None], t.teacher_overlap[:, None]
    if asked.blocks != own.blocks or np.abs(asked.fractions - own.fractions).max() > 1e-12:
        raise ValueError(
            f"risk_on: the other problem has {asked.blocks} blocks of inputs and the run {own.blocks}, they must be the same ones, "
            f"or the other problem must have one"
        )
    if t.blocks is None:
        raise ValueError("risk_on: the overlaps of the single blocks were not kept; run with keep_blocks=True")
    return t.blocks.student, t.blocks.cross, t.block_teacher_overlap
