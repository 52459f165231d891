"""A method of `Trajectory`: the risk of another problem for the same weights, with other labels, inputs or units."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from solvable.overlaps import check_start, first_scalars, integrated
from solvable.problems import EVERYTHING, FEATURES, Problem
from solvable.results.averaged import bare, bias_scalars

if TYPE_CHECKING:
    import xarray

    from solvable.results.trajectory import Trajectory

STILL_TEACHERS = replace(
    EVERYTHING, knows=tuple({*EVERYTHING.knows, *FEATURES} - {"teacher.drift", "teacher.rotation"})
)


def risk_on(self: Trajectory, other: Problem) -> xarray.DataArray:
    """The risk of another problem for the students of this run, at every output.

    Weights and readouts are the run's; labels, units and eigenvalues are the other problem's.

    Parameters
    ----------
    other : Problem
        It must have the same widths and teachers, and the same blocks of inputs (the run needs `keep_blocks=True`
        then) or only one; as many heads; and the same directions of means, or no mixture. Teachers must not move.

    Returns
    -------
    xarray.DataArray
        (run, time) risks. The coordinate `risk_error` is the error from averages over nodes, zero where all are
        exact.

    Examples
    --------
    >>> run.risk_on(problem.replace(training__label_noise=0.1)).shape
    (1, 201)
    """
    _check(self, other)
    found = _risks(self, other)
    return self.data["risk"].copy(data=found[0]).assign_coords(risk_error=(("run", "time"), found[1]))


def opposite_risk(trajectory: Trajectory) -> np.ndarray | None:
    """(run, time) the risk where every label has the wrong sign, which is that of readouts of opposite sign. None where it is not
    known: of several blocks that were not kept, and of risks that were measured on rows of data."""
    t = trajectory
    if (t.problem.inputs.blocks > 1 and t.blocks is None) or t.settings.get("data") is not None:
        return None
    opposite: np.ndarray = _risks(t, t.problem, sign=-1.0)[0]
    return opposite


def _risks(t: Trajectory, other: Problem, sign: float = 1.0) -> np.ndarray:
    """(2, run, time) risks of another problem for these outputs, or with the other sign, and their errors."""
    from solvable.dynamics.gaussian_moments import NODES
    from solvable.dynamics.kernel_choice import risks

    other = bare(other)
    students, crosses, teachers, extras = _rows(t, other)
    free = other.replace(student__norm="free")
    found = np.full((2, *t.risk.shape), np.nan)
    for run, reached in enumerate(np.isfinite(t.risk)):
        arrays = (students, crosses, sign * t.readout, extras, sign * bias_scalars(t))
        parts = zip(*(part[run][reached] for part in arrays), strict=True)
        states = [integrated(Q, R, teachers[run], a, other.extras, E, bias) for Q, R, a, E, bias in parts]
        first = students[run][0], crosses[run][0], teachers[run], other.readout_values, other.extras, extras[run][0]
        check_start(free, integrated(*first, first_scalars(free)))  # refuses other teachers and directions
        if states:
            found[:, run, reached] = risks(other, states, t.alpha[reached], NODES)
    return found


def _check(t: Trajectory, other: Problem) -> None:
    """Raise unless the rows of the run are those of the other problem."""
    if not isinstance(other, Problem):
        raise TypeError(f"risk_on: must be given a Problem, not {type(other).__name__}")
    STILL_TEACHERS.require(t.problem, "`risk_on`, of a run,")
    STILL_TEACHERS.require(other, "`risk_on`")
    widths, had = (other.student.width, other.teacher.width), (t.problem.student.width, t.problem.teacher.width)
    if widths != had:
        raise ValueError(f"risk_on: the other problem has (students, teachers) = {widths}, the run {had}")
    if other.heads != t.problem.heads:
        raise ValueError(
            f"risk_on: the other problem has readouts for {other.heads} heads, the run for {t.problem.heads}"
        )
    if ("bias" in other.scalars) != ("bias" in t.problem.scalars):
        raise ValueError(
            "risk_on: of the run and the other problem one has a bias (student.bias, training.train_bias), one not"
        )
    asked, had_directions = (0 if one.mixture is None else one.mixture.directions for one in (other, t.problem))
    if asked not in (0, had_directions):
        raise ValueError(f"risk_on: the other problem has {asked} directions of means, the run {had_directions}")


def _rows(t: Trajectory, other: Problem) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Overlaps of students (run, time, block, p, p), with teachers, of teachers (run, block, p*, p*), and of the other problem's
    directions with all rows (run, time, block, direction, rows), in the blocks of the other problem."""
    own, asked = t.problem.inputs, other.inputs
    d = len(other.extras)
    n = other.student.width + other.teacher.width + d
    if asked.blocks == 1:
        one_block = t.student_overlap[:, :, None], t.cross_overlap[:, :, None], t.teacher_overlap[:, None]
        return *one_block, _of_directions(t.student_overlap[:, :, None], t.extra_overlap, d, n)
    if asked.blocks != own.blocks or np.abs(asked.fractions - own.fractions).max() > 1e-12:
        raise ValueError(
            f"risk_on: the other problem has {asked.blocks} blocks of inputs and the run {own.blocks}, they must be the same ones, "
            f"or the other problem must have one"
        )
    if t.blocks is None:
        raise ValueError("risk_on: the overlaps of the single blocks were not kept; run with keep_blocks=True")
    extras = _of_directions(t.blocks.student, t.blocks.extra, d, n)
    return t.blocks.student, t.blocks.cross, t.block_teacher_overlap, extras


def _of_directions(students: np.ndarray, extra: np.ndarray | None, d: int, n: int) -> np.ndarray:
    """Rows of the first extras, which are directions, without columns of anchors."""
    if extra is None:
        return np.zeros((*students.shape[:3], 0, n))
    extra = extra.reshape(*students.shape[:3], *extra.shape[-2:])
    return extra[..., :d, :n]
