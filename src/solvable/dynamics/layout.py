"""The reduced process in memory: where its numbers lie, and its first state from overlaps.

In each block, split the coordinates of the weights into those on a fixed orthonormal frame that spans the teachers, and the
rest: V/sqrt(dim) = [B | 0] for the teachers and [C | L] for the students, L lower triangular on a frame that moves with them.
A block too small for that keeps all its coordinates on a fixed frame: C and B are then its weights, and L is empty.
"""

from typing import NamedTuple

import numpy as np

from solvable.gaussian.losses import LOSSES, TABULATED_LOSS
from solvable.gaussian.tables import tabulate
from solvable.gaussian.units import OWN, POLYNOMIAL, TABULATED, UNITS
from solvable.numerics.lanes import WIDTH, slots
from solvable.overlaps import Overlaps, gram_factor
from solvable.problems import Hermite, Problem, Target
from solvable.problems.networks import Network

# positions in `ints`: sizes and switches, then slots of the state and of the workspace, then positions in `floats`
(
    STUDENTS, TEACHERS, BLOCKS, UNIT, TEACHER_UNIT, PRODUCT, LOSS, SPHERE, TRAIN_READOUT, BATCH, NOISY,
    READOUT,
    NORMALS, FIELDS, TEACHER_FIELDS, AMPLITUDES, PUSHES, COLUMN, RATE, READOUT_RATE, SEGMENTS, OUTSIDES,
    SUMS, PUSH_SUMS, FACTOR, TRIANGLE, WIDE,
    ROOTS, TEACHER_READOUT, NUMBERS, DEGREE, TEACHER_NUMBERS, TEACHER_DEGREE, LOSS_NUMBERS, MARGIN,
    TABLE,
) = range(36)  # fmt: skip
# in the table of blocks, for each: coordinates on the fixed frame, freedom of what lies outside (0: nothing does), slots of
# C, L, B, of its draws and of its sums over a batch
RANK, FREEDOM, C, L, B, DRAWS, SUM = range(7)
ROW = 7
# positions in `floats`
LOSS_FACTOR, LABEL_NOISE, DECAY, DIM = range(4)


class Layout(NamedTuple):
    ints: np.ndarray
    floats: np.ndarray
    slots: int  # of the state
    work: int  # slots of the workspace


class Block(NamedTuple):
    rank: int
    freedom: int


def shapes(problem: Problem) -> list[Block]:
    """How each block is kept. A batch needs as many directions outside as there are students, one sample needs one."""
    p, q = problem.student.width, problem.teacher.width
    more = 1 if problem.training.batch == 1 else p
    blocks = []
    for size in problem.inputs.block_sizes:
        freedom = int(size) - q - p
        blocks.append(Block(q, freedom) if freedom > more else Block(int(size), 0))
    return blocks


def layout(problem: Problem) -> Layout:
    """Of a problem, whatever its learning rates and its start."""
    training, p, q = problem.training, problem.student.width, problem.teacher.width
    blocks = shapes(problem)
    single = training.batch == 1
    state = work = 0
    table = np.empty((len(blocks), ROW), dtype=np.int64)
    for row, (rank, freedom) in zip(table, blocks, strict=True):
        triangle = p * (p + 1) // 2 if freedom else 0
        row[[RANK, FREEDOM, C, L, B, DRAWS]] = rank, freedom, state, state + p * rank, state + p * rank + triangle, work
        state += p * rank + triangle + q * rank
        work += rank + (p if freedom else 0)
    normals = work + (sum(freedom > 0 for _, freedom in blocks) if single else 0) + (training.label_noise > 0)
    ints = np.zeros(TABLE, dtype=np.int64)
    ints[: READOUT + 1] = (
        p, q, len(blocks), _unit(problem.student), _unit(problem.teacher),
        problem.teacher.target == "product", LOSSES[training.loss].kind, problem.student.norm == "sphere",
        training.train_readout, training.batch, training.label_noise > 0, state,
    )  # fmt: skip
    ints[NORMALS] = normals
    at = normals
    for position, size in [
        (FIELDS, p), (TEACHER_FIELDS, q), (AMPLITUDES, p), (PUSHES, p), (COLUMN, p), (RATE, 1), (READOUT_RATE, 1),
        (SEGMENTS, 2), (OUTSIDES, len(blocks)),
    ]:  # fmt: skip
        ints[position] = at
        at += size
    if not single:
        ints[SUMS] = at
        for row, (rank, freedom) in zip(table, blocks, strict=True):
            row[SUM] = at
            at += p * rank + (p * p if freedom else 0)
        for position, size in [(PUSH_SUMS, p), (FACTOR, p * p), (TRIANGLE, p * p), (WIDE, 2 * p * p)]:
            ints[position] = at
            at += size
    head = np.array([training.loss_factor, np.sqrt(training.label_noise), training.weight_decay, problem.inputs.dim])
    sections = {
        ROOTS: np.sqrt(problem.inputs.eigenvalues),
        TEACHER_READOUT: problem.teacher.readout_values,
        NUMBERS: _numbers(problem.student),
        TEACHER_NUMBERS: _numbers(problem.teacher),
        LOSS_NUMBERS: _loss_numbers(training.loss),
    }
    ints[MARGIN] = LOSSES[training.loss].of == "margin"
    ints[DEGREE], ints[TEACHER_DEGREE] = sections[NUMBERS].size - 1, sections[TEACHER_NUMBERS].size - 1
    place = head.size
    for position, values in sections.items():
        ints[position] = place
        place += values.size
    floats = np.concatenate([head, *sections.values()])
    return Layout(np.concatenate([ints, table.ravel()]), floats, state + p, at)


def is_own(problem: Problem) -> bool:
    """Whether functions decide what is learned that compiled code cannot call: targets, units and losses that no table holds."""
    wild = LOSSES[problem.training.loss].kind == TABULATED_LOSS and tabulate(LOSSES[problem.training.loss]) is None
    return wild or OWN in (_unit(problem.student), _unit(problem.teacher)) or isinstance(problem.teacher.target, Target)


def _unit(network: Network) -> int:
    """The kind of a network's unit in compiled code."""
    if isinstance(network.activation, Hermite):
        return POLYNOMIAL
    kind = UNITS[network.activation].kind if isinstance(network.activation, str) else TABULATED
    return OWN if kind == TABULATED and tabulate(network.unit) is None else kind


def _numbers(network: Network) -> np.ndarray:
    """What a unit is made of: coefficients in powers of the field, or a table."""
    if _unit(network) == TABULATED:
        table = tabulate(network.unit)
        assert table is not None
        return table
    coefficients = network.hermite_coefficients
    return np.zeros(1) if coefficients is None else np.polynomial.hermite_e.herme2poly(coefficients)


def _loss_numbers(name: str) -> np.ndarray:
    """The table of the push, if it is one."""
    table = tabulate(LOSSES[name]) if LOSSES[name].kind == TABULATED_LOSS else None
    return np.zeros(1) if table is None else table


def coordinates(problem: Problem, start: Overlaps) -> np.ndarray:
    """(slots,) the state of one run."""
    p, parts = problem.student.width, []
    for (rank, freedom), Q, R, T in zip(
        shapes(problem),
        start.block_student_overlap,
        start.block_cross_overlap,
        start.block_teacher_overlap,
        strict=True,
    ):
        if freedom:
            frame = _triangle(T)
            inside = np.linalg.lstsq(frame, R.T, rcond=1e-12)[0].T
            outside = _triangle(Q - inside @ inside.T)
            parts += [inside.ravel(), *(outside[j:, j] for j in range(p)), frame.ravel()]
        else:
            rows = gram_factor(np.block([[Q, R], [R.T, T]]), rank)
            parts += [rows[:p].ravel(), rows[p:].ravel()]
    return np.concatenate([*parts, start.readout])


def _triangle(gram: np.ndarray) -> np.ndarray:
    """Lower triangular F with F F^T = gram, also where gram is singular."""
    upper: np.ndarray = np.linalg.qr(gram_factor(gram, len(gram)).T)[1]
    return upper.T * np.where(np.diag(upper) < 0, -1.0, 1.0)


def lanes(states: list[np.ndarray]) -> np.ndarray:
    """States of up to eight runs as flat slots; lanes without a run repeat the first."""
    result = slots(len(states[0]))
    result[:] = np.stack([states[i] if i < len(states) else states[0] for i in range(WIDTH)], axis=1).ravel()
    return result


def rate_tables(problems: list[Problem]) -> np.ndarray:
    """(2, lane, segment, 3) courses of the learning and of the readout rate: begin, rate and slope of each segment. Lanes with
    fewer segments than others have some that never begin."""
    chosen = [problems[i] if i < len(problems) else problems[0] for i in range(WIDTH)]
    schedules = [[one.training.schedule for one in chosen], [one.training.readout_schedule for one in chosen]]
    most = max(len(one.segments) for row in schedules for one in row)
    tables = np.full((2, WIDTH, most, 3), np.inf)
    for table, row in zip(tables, schedules, strict=True):
        for lane, schedule in zip(table, row, strict=True):
            lane[: len(schedule.segments)] = schedule.segments
    return tables
