"""Outputs of a run from the states of its integrator: overlaps of all blocks together, and of each."""

import numpy as np

from solvable.dynamics.kernel_data import Packed, unpack
from solvable.problems import Problem
from solvable.results import Blocks, Lane, Plan

Outputs = tuple[np.ndarray, np.ndarray, np.ndarray, Blocks | None]


def overlaps_of(problem: Problem, states: np.ndarray, plan: Plan) -> Outputs:
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
