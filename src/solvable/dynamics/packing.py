"""A problem as two flat arrays for compiled code. The names below are positions; `pack` is the only writer."""

from typing import NamedTuple

import numpy as np

from solvable.gaussian.pairs import KINDS
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule

# positions in `ints`: sizes and switches, then where each section of `floats` begins
(
    STUDENTS, TEACHERS, BLOCKS, KIND, SPHERE, TRAIN_READOUT, NOISE,
    EIGENVALUES, FRACTIONS, TEACHER_READOUT, TEACHER_FIELDS, TEACHER_BLOCKS, RATES, READOUT_RATES,
) = range(14)  # fmt: skip
# positions in `floats`: the plain numbers at its head
LOSS_FACTOR, LABEL_NOISE, DECAY, BATCH = range(4)
UNKNOWN = -1  # a unit without closed form: compiled code must not ask for its kind


class Packed(NamedTuple):
    ints: np.ndarray
    floats: np.ndarray
    breaks: np.ndarray  # times at which a rate changes its course
    state: np.ndarray  # student rows (blocks, p, n), then the readout (p,), flat


def pack(problem: Problem, start: Overlaps, *, noise: bool = True) -> Packed:
    """`noise=False` drops the order rate^2: the limit of small rates."""
    training, inputs = problem.training, problem.inputs
    breaks = training.schedule.segments[1:, 0].copy()
    if training.readout_rate is not None:
        breaks = np.union1d(breaks, training.readout_schedule.segments[1:, 0])
    T = start.block_teacher_overlap
    sections = {
        EIGENVALUES: inputs.eigenvalues,
        FRACTIONS: inputs.fractions,
        TEACHER_READOUT: problem.teacher.readout_values,
        TEACHER_FIELDS: np.tensordot(inputs.eigenvalues, T, axes=1),
        TEACHER_BLOCKS: T,
        RATES: _segments(training.schedule, breaks),
        READOUT_RATES: _segments(training.readout_schedule, breaks),
    }
    head = np.array([training.loss_factor, training.label_noise, training.weight_decay, training.batch])
    ints = np.empty(14, dtype=np.int64)
    ints[: NOISE + 1] = (
        problem.student.width,
        problem.teacher.width,
        inputs.blocks,
        KINDS.get(problem.student.activation, UNKNOWN) if isinstance(problem.student.activation, str) else UNKNOWN,
        problem.student.norm == "sphere",
        training.train_readout,
        noise,
    )
    at = head.size
    for position, values in sections.items():
        ints[position] = at
        at += values.size
    floats = np.concatenate([head, *(values.ravel() for values in sections.values())])
    rows = np.concatenate([start.block_student_overlap, start.block_cross_overlap], axis=2)
    return Packed(ints, floats, breaks, np.concatenate([rows.ravel(), start.readout]))


def unpack(problem: Problem, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (..., size) as block student overlaps (..., blocks, p, p), cross overlaps and readouts (..., p)."""
    p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks
    rows = states[..., : blocks * p * (p + q)].reshape(*states.shape[:-1], blocks, p, p + q)
    return rows[..., :p], rows[..., p:], states[..., blocks * p * (p + q) :]


def _segments(schedule: Schedule, breaks: np.ndarray) -> np.ndarray:
    """(len(breaks) + 1, 3): start, rate and slope of the schedule in each segment between the breaks."""
    starts = np.concatenate([[0.0], breaks])
    index = np.searchsorted(schedule.segments[:, 0], starts, side="right") - 1
    return np.column_stack([starts, schedule(starts), schedule.segments[index, 2]])
