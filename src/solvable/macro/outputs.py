"""What is kept of a run: states as overlaps, and the overlaps of all lanes as one trajectory."""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.dynamics.kernel_data import Packed, summed, unpack
from solvable.levels import Lane, Plan
from solvable.problems import Problem
from solvable.results import Blocks, Trajectory
from solvable.results.building import Curves, Ends, build
from solvable.results.extra_rows import with_rest

if TYPE_CHECKING:
    from solvable.macro.level import Macro

Outputs = tuple[np.ndarray, np.ndarray, np.ndarray, Blocks | None]


class Solved(NamedTuple):
    """Of one lane: overlaps in all blocks together (time, ...) and, if asked for, in each; the last state, packed."""

    student: np.ndarray
    cross: np.ndarray
    readout: np.ndarray
    blocks: Blocks | None
    risk: np.ndarray
    risk_error: np.ndarray
    overlap_error: np.ndarray
    start_risk: float
    last: np.ndarray
    interpreted: bool = False
    states: np.ndarray | None = None  # packed, where there is more in them than the above
    task_risk: np.ndarray | None = None
    raised: float = 0.0  # rtol, where averages that jump in time did not allow what was asked for

    @property
    def moving(self) -> np.ndarray:
        """(time, everything that moves) overlaps and readouts."""
        parts = self.student, self.cross, self.readout
        return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


def labelled(level: "Macro", lanes: list[Lane], plan: Plan, solved: list[Solved], reports: np.ndarray) -> Trajectory:
    """What the lanes came to, as one trajectory."""
    problem = lanes[0].problem
    kept = [one.blocks for one in solved if one.blocks is not None]
    blocks = Blocks(_stacked([one.student for one in kept]), _stacked([one.cross for one in kept])) if kept else None
    end_student, end_cross, end_readout = unpack(problem, _stacked([one.last for one in solved]))
    tasks = [one.task_risk for one in solved if one.task_risk is not None]
    curves = Curves(
        alpha=plan.times,
        risk=_stacked([one.risk for one in solved]),
        student_overlap=_stacked([one.student for one in solved]),
        cross_overlap=_stacked([one.cross for one in solved]),
        readout=_stacked([one.readout for one in solved]),
        risk_error=_stacked([one.risk_error for one in solved]),
        overlap_error=_stacked([one.overlap_error for one in solved]),
        blocks=blocks,
        task_risk=_stacked(tasks) if tasks else None,
    )
    endings, times, evaluations = (reports[name].copy() for name in ("ending", "time", "evaluations"))
    ends = Ends(Blocks(end_student, end_cross), end_readout, endings, times, evaluations)
    settings = level.settings() | ({"interpreted": True} if any(one.interpreted for one in solved) else {})
    raised = max(one.raised for one in solved)
    settings |= {"raised_rtol": raised} if raised else {}
    starts, risks = [lane.start for lane in lanes], np.array([one.start_risk for one in solved])
    made = build(problem, level.name, settings, starts, risks, curves, ends, stop=plan.stop)
    states = [one.states for one in solved if one.states is not None]
    if not states:
        return made
    outputs = _stacked(states)
    return with_rest(made, starts, summed(problem, outputs), _stacked([one.last for one in solved]), outputs)


def _stacked(runs: list[np.ndarray]) -> np.ndarray:
    """(run, ...); of a single run without a copy, which is most of the time that labels take."""
    return runs[0][None] if len(runs) == 1 else np.stack(runs)


def overlaps(problem: Problem, states: np.ndarray, plan: Plan) -> Outputs:
    """Of packed states: in all blocks together, and in each if asked for."""
    student, cross, readout = unpack(problem, states)
    blocks = Blocks(student, cross) if plan.keep_blocks else None
    if problem.inputs.blocks == 1:
        return student[:, 0], cross[:, 0], readout, blocks
    return student.sum(axis=1), cross.sum(axis=1), readout, blocks


def overlaps_of_rows(lane: Lane, packed: Packed, block: np.ndarray, states: np.ndarray, plan: Plan) -> Outputs:
    """The same of states that are weights."""
    p, q, m = lane.problem.student.width, lane.problem.teacher.width, block.size
    J, B = states[:, : p * m].reshape(-1, p, m), packed.numbers[-q * m :].reshape(q, m)
    totals = J @ J.transpose(0, 2, 1), J @ B.T, states[:, p * m :]
    if not plan.keep_blocks:
        return *totals, None
    parts = [_blocks_of_rows(lane.problem, one, B, block) for one in J]
    return *totals, Blocks(np.stack([one.student for one in parts]), np.stack([one.cross for one in parts]))


def last_rows(lane: Lane, packed: Packed, block: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The last state, packed as overlaps."""
    p, q, m = lane.problem.student.width, lane.problem.teacher.width, block.size
    found = _blocks_of_rows(lane.problem, last[: p * m].reshape(p, m), packed.numbers[-q * m :].reshape(q, m), block)
    return np.concatenate([np.concatenate([found.student, found.cross], axis=2).ravel(), last[p * m :]])


def _blocks_of_rows(problem: Problem, J: np.ndarray, B: np.ndarray, block: np.ndarray) -> Blocks:
    """Overlaps per block of weights whose columns are sorted by block."""
    edges = np.searchsorted(block, np.arange(1, problem.inputs.blocks))
    pairs = zip(np.split(J, edges, axis=1), np.split(B, edges, axis=1), strict=True)
    student, cross = zip(*((j @ j.T, j @ b.T) for j, b in pairs), strict=True)
    return Blocks(np.array(student), np.array(cross))
