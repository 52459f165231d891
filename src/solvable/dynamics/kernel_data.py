"""A problem in the form that compiled code shares: records of named numbers, and the arrays that they point into.

Compiled functions get `problems, blocks, cases, numbers, work` in this order (`Packed.data`):

    problems  (segment,)         PROBLEM: sizes, switches, and every scheduled number as value and slope within the segment
    blocks    (segment, block)   BLOCK: an eigenvalue of the inputs and its share of the dimensions
    cases     (segment, case)    CASE: what may happen to a sample
    numbers   flat               readouts and overlaps of what does not move, nodes of averages; places in it are fields of PROBLEM
    work      (plane, row, row)  scratch: the planes named below

A segment is a stretch of time in which every schedule is smooth. The state `y` holds, for each block, the overlaps of the rows
that move with all rows, shape (blocks, moving, rows), then the readout (students,). Students come first among the rows, then
teachers. `pack` is the only writer.
"""

from collections.abc import Iterable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, void

from solvable.gaussian.pairs import KINDS
from solvable.numerics.kernel_types import Function
from solvable.overlaps import Overlaps
from solvable.overlaps.watching import WATCHABLE
from solvable.problems import Problem

UNKNOWN = -1  # a unit without closed form: compiled code must not ask for its kind
RISK, WATCHED = 0, 1  # what `observe` sees: the risk, and whatever a threshold is for
SEEN = 2
NUMBERS = {name: number for number, name in enumerate(WATCHABLE)}  # in PROBLEM.watched
NOTHING = -1
# planes of `work`: covariance of the fields, signed readouts (a row), scratch, drift D, noise S, drift of overlaps, overlaps
FIELDS, SIGNS, SCRATCH, DRIFT, NOISE, GAIN, OVERLAPS = range(7)
PLANES = 7


def record(**fields: type) -> np.dtype[Any]:
    """A dtype whose elements are records in compiled code and in Python."""
    return np.dtype((np.record, np.dtype(list(fields.items()), align=True)))


PROBLEM = record(
    students=int, teachers=int, rows=int, moving=int, blocks=int, cases=int,
    kind=int, sphere=bool, train_readout=bool, noise=bool,
    watched=int, watched_row=int, watched_column=int,
    loss_factor=float,
    begin=float, sloped=bool,
    rate=float, rate_slope=float, readout_rate=float, readout_rate_slope=float, decay=float, decay_slope=float,
    batch=float, batch_slope=float, label_noise=float, label_noise_slope=float,
    teacher_readout=int, teacher_overlaps=int, teacher_fields=int,
    columns=int, column_eigenvalues=int, teacher_rows=int,
    # functions without closed moments (`functions.py`): kinds, places of their numbers, and what averages they need
    unit=int, unit_at=int, unit_terms=int, teacher_unit=int, teacher_at=int, teacher_terms=int,
    loss=int, loss_at=int, margin=bool, product=bool, smooth=bool,
    nodes=int, node_count=int, node_fields=int,
)  # fmt: skip
# the reduced process of SGD: sizes and switches, slots of its state and its workspace, places in its numbers, and what schedules
# change, at present
PROCESS = record(
    students=int, teachers=int, blocks=int, unit=int, teacher_unit=int,
    product=bool, loss=int, margin=bool, sphere=bool, train_readout=bool, single=bool, noisy=bool,
    readout=int,
    normals=int, fields=int, teacher_fields=int, amplitudes=int, pushes=int, column=int, rate=int, readout_rate=int,
    segments=int, outsides=int, sums=int, push_sums=int, factor=int, triangle=int, wide=int,
    teacher_readout=int, unit_numbers=int, degree=int, teacher_numbers=int, teacher_degree=int, loss_numbers=int,
    loss_factor=float, dim=float,
    batch=int, decay=float, label_noise=float,
)  # fmt: skip
# one block of it: coordinates on the fixed frame, freedom of what lies outside (0: nothing does), slots of C, L, B, of its draws
# and of its sums over a batch, and the root of its eigenvalue, at present
FRAME = record(rank=int, freedom=int, C=int, L=int, B=int, draws=int, sums=int, root=float)
BLOCK = record(eigenvalue=float, slope=float, fraction=float)
CASE = record(probability=float, slope=float)

DATA = (
    from_dtype(PROBLEM)[::1], from_dtype(BLOCK)[:, ::1], from_dtype(CASE)[:, ::1],
    float64[::1], float64[:, :, ::1],
)  # fmt: skip
SYSTEM = void(int64, float64, float64[::1], float64[::1], *DATA)  # (segment, time, y, what is written, *data)
SYSTEM_FUNCTION = Function(SYSTEM)
ADVANCE = void(int64, float64, float64, float64[::1], float64[::1], *DATA)  # (segment, t, h, y, y after h, *data)
TOLERATE = void(float64[::1], float64, float64, float64[::1], *DATA)  # (y, rtol, atol, allowed errors, *data)


class Packed(NamedTuple):
    """A problem and a state packed for compiled code: records and the arrays that they point into."""

    problems: np.ndarray
    blocks: np.ndarray
    cases: np.ndarray
    numbers: np.ndarray
    state: np.ndarray

    @property
    def breaks(self) -> np.ndarray:
        """Times at which a schedule changes its slope or jumps."""
        return self.problems["begin"][1:].copy()

    def data(self, work: np.ndarray) -> tuple[np.ndarray, ...]:
        return self.problems, self.blocks, self.cases, self.numbers, work

    def watching(self, quantity: str, entry: tuple[int, int] | None = None) -> "Packed":
        """The same, with this quantity for a threshold: one entry of it, or the largest absolute one."""
        problems = self.problems.copy()
        problems["watched"] = NUMBERS[quantity]
        problems["watched_row"], problems["watched_column"] = (-1, -1) if entry is None else entry
        return self._replace(problems=problems)


def pack(problem: Problem, start: Overlaps, *, noise: bool = True) -> Packed:
    """`noise=False` drops the order rate^2: the limit of small rates."""
    problems, blocks, cases = (records.copy() for records in _records(problem, noise))  # those of others stay
    T, q = start.block_teacher_overlap, problem.teacher.width
    fields = np.empty((len(problems), 2, q * q))  # values and slopes
    fields[:, 0], fields[:, 1] = (blocks[name] @ T.reshape(-1, q * q) for name in ("eigenvalue", "slope"))
    numbers = np.concatenate([problem.teacher.readout_values, T.ravel(), fields.ravel()])
    return Packed(problems, blocks, cases, numbers, state_of(start))


@lru_cache(maxsize=8)
def _records(problem: Problem, noise: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """PROBLEM, BLOCK and CASE of each segment, which do not depend on the start."""
    inputs, scheduled, q = problem.inputs, problem.training.segments, problem.teacher.width
    spectrum = inputs.segments if inputs.is_scheduled else ()
    begins = _begins((*scheduled.values(), *spectrum))
    blocks = np.zeros((len(begins), inputs.blocks), dtype=BLOCK)
    blocks["fraction"], blocks["eigenvalue"] = inputs.fractions, 0.0 if spectrum else inputs.eigenvalues
    for b, rows in enumerate(spectrum):
        blocks["eigenvalue"][:, b], blocks["slope"][:, b] = _within(rows, begins)
    teachers = inputs.blocks * q * q  # numbers that their overlaps are, after their readouts
    problems = np.zeros(len(begins), dtype=PROBLEM)
    for name, number in _plain_numbers(problem, noise).items():
        problems[name] = number
    problems["begin"], problems["sloped"] = begins, (blocks["slope"] != 0).any(axis=1)
    problems["teacher_overlaps"], problems["teacher_fields"] = q, q + teachers + 2 * q * q * np.arange(len(begins))
    for name, rows in scheduled.items():
        problems[name], problems[name + "_slope"] = _within(rows, begins)
        problems["sloped"] |= problems[name + "_slope"] != 0
    cases = np.array([[(1.0, 0.0)]] * len(begins), dtype=CASE)
    return problems, blocks, cases


def _begins(courses: Iterable[np.ndarray]) -> np.ndarray:
    """When segments begin: where any of the schedules does."""
    return np.unique(np.concatenate([np.zeros(1), *(course[:, 0] for course in courses if len(course) > 1)]))


def state_of(start: Overlaps) -> np.ndarray:
    """Overlaps as a state."""
    rows = np.concatenate([start.block_student_overlap, start.block_cross_overlap], axis=2)
    return np.concatenate([rows.ravel(), start.readout])


def _plain_numbers(problem: Problem, noise: bool) -> dict[str, Any]:
    """Sizes, switches and what no schedule changes, the same in all segments."""
    training, activation = problem.training, problem.student.activation
    p, q = problem.student.width, problem.teacher.width
    return {
        "students": p, "teachers": q, "rows": p + q, "moving": p, "blocks": problem.inputs.blocks, "cases": 1,
        "kind": KINDS.get(activation, UNKNOWN) if isinstance(activation, str) else UNKNOWN,
        "sphere": problem.student.norm == "sphere", "train_readout": training.train_readout, "noise": noise,
        "watched": NOTHING, "watched_row": -1, "watched_column": -1,
        "loss_factor": training.loss_factor,
    }  # fmt: skip


def _within(rows: np.ndarray, begins: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Value and slope of a schedule at the begin of each segment."""
    if len(rows) == 1:
        return rows[0, 1] + rows[0, 2] * (begins - rows[0, 0]), rows[0, 2]
    begin, value, slope = rows[np.searchsorted(rows[:, 0], begins, side="right") - 1].T
    return value + slope * (begins - begin), slope


def unpack(problem: Problem, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (..., size) as block student overlaps (..., blocks, p, p), cross overlaps and readouts (..., p)."""
    p, q, blocks = problem.student.width, problem.teacher.width, problem.inputs.blocks
    rows = states[..., : blocks * p * (p + q)].reshape(*states.shape[:-1], blocks, p, p + q)
    return rows[..., :p], rows[..., p:], states[..., blocks * p * (p + q) :]


def workspace(students: int, teachers: int, more: int = 0) -> np.ndarray:
    """The planes, and behind them at least so many numbers more."""
    n = students + teachers
    return np.zeros((PLANES - (-more // n**2), n, n))
