"""A problem in the form that compiled code shares: records of named numbers, and the arrays that they point into.

Compiled functions get `problems, blocks, cases, numbers, work` in this order (`Packed.data`):

    problems  (segment,)         PROBLEM: sizes, switches, and every scheduled number as value and slope within the segment
    blocks    (segment, block)   BLOCK: an eigenvalue of the inputs and its share of the dimensions
    cases     (segment, case)    CASE: what may happen to a sample (`cases.py`), then what may happen in a test
    numbers   flat               readouts and overlaps of what does not move, nodes of averages; places in it are fields of PROBLEM
                                 and CASE
    work      (plane, row, row)  scratch: the planes named below

A segment is a stretch of time in which every schedule is smooth. The state `y` holds, for each block, the overlaps of the rows
that move with all rows, shape (blocks, moving, rows), then the readouts (heads, students), then the scalars of the problem, of
which biases (heads,) are the first.
Students come first among the rows, then their velocities, averages and snapshots (from `velocities`, `averages`, `snapshots` on; 0
if there are none), then teachers (from `first_teacher` on; they are among those that move if they drift or turn), then directions
of a mixture (from `first_direction` on), then anchors (from `first_anchor` on). `teacher_overlaps` are those of all rows that do
not move, (blocks, fixed, fixed). A problem without classes, tasks and masks (`several` is false) has one case, whose places are not
set: `teacher_readout` of PROBLEM is all there is. `pack` is the only writer.
"""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, void

from solvable.dynamics.cases import Cases, alike, case_table, probability_begins
from solvable.dynamics.rows import firsts, moving_rows, row_order
from solvable.gaussian.closed_forms import words_of
from solvable.numerics.kernel_types import Function
from solvable.overlaps import Overlaps
from solvable.overlaps.watching import WATCHABLE
from solvable.problems import RateFunction
from solvable.problems.rate_rules import KINDS as KINDS_OF_RULES
from solvable.problems.rules import rule_numbers
from solvable.problems.schedules import begins_of, within
from solvable.problems.spec import KernelSpec

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
    tests=int, tasks=int, heads=int, directions=int, first_teacher=int, first_direction=int, first_anchor=int,
    several=bool, spiked=bool, masked=bool, anchor=float, drift=float, rotation=float, drift_overlaps=int,
    kind=int, even=bool, sphere=bool, train_readout=bool, noise=bool,
    watched=int, watched_row=int, watched_column=int,
    loss_factor=float,
    velocities=int, averages=int, snapshots=int, average_rate=float, average_begin=float, average_follows=bool,
    snapshot_follows=bool, slow=bool, scalars=int, readout_velocities=bool,
    pace=int, pace_number=float, pace_function=int, pace_begin=float,
    begin=float, sloped=bool,
    rate=float, rate_slope=float, readout_rate=float, readout_rate_slope=float, decay=float, decay_slope=float,
    batch=float, batch_slope=float, label_noise=float, label_noise_slope=float, friction=float, friction_slope=float,
    teacher_readout=int, teacher_overlaps=int, teacher_fields=int,
    columns=int, column_eigenvalues=int, teacher_rows=int,
    # functions without closed moments (`functions.py`): kinds, places of their numbers, and what averages they need
    unit=int, unit_at=int, unit_terms=int, teacher_unit=int, teacher_at=int, teacher_terms=int,
    loss=int, loss_at=int, margin=bool, product=bool, smooth=bool,
    nodes=int, node_count=int, node_fields=int,
    # labels that are signs, kinks of the loss, and what becomes of a sample's gradient (`rule_averages.py`)
    signed=bool, linear_sign=bool, pairs=bool, loss_kinks=int, kink_count=int, shaped=bool, rule=int, rule_number=float,
    rule_address=int, lookahead=float, repeats=int,
    # biases of outputs (`output_bias.py`), and how many numbers learn as readouts do, these included
    biased=bool, train_bias=bool, readouts=int,
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
    # slots of what sloped rates are made of; from which step to which they hold, and whether rates, or others, are sloped there
    slopes=int, since=float, until=float, sloped=bool, others_sloped=bool,
    # cases (0: none, and nothing below is used): rows that move and rows of the fixed frame, where among these directions and
    # anchors begin; slots; places in the numbers; what moves teachers and pulls students back
    cases=int, moving=int, fixed=int, moving_teachers=bool, directions=int, direction=int, anchors=int, heads=int,
    masked=bool, spiked=bool, seen=int,
    case=int, chances=int, label=int, head=int, case_teachers=int, case_readout=int, mask=int, weights=int, spikes=int,
    spreads=int, walks=int,
    table=int, stride=int, entries=int, chance_table=int, walk_factor=int, places=int,
    drift=float, rotation=float, anchor=float,
    # rows that move, by their places among these (-1: none): the first student, velocity, average and snapshot, and the first that
    # samples move; rows and scalars of a state; share of a velocity that is kept and what it is scaled with
    state_rows=int, scalars=int, student_row=int, velocity_row=int, average_row=int, snapshot_row=int, learner=int,
    drifting=bool, slow=bool, nesterov=bool, readout_velocities=bool, average_follows=bool, snapshot_follows=bool,
    beta=float, gain=float, friction=float, average_rate=float, average_begin=float,
    # rates that follow the state: kind of rule and its number; slots of the rate that it multiplies and of triangles of all blocks;
    # where G is in the state
    pace=int, pace_number=float, base_rate=int, triangles=int, accumulated=int,
    # labels that are signs; what becomes of a sample's gradient (`rule_sample.py`), and slots for it: |x|^2/dim, the output, sums
    signed=bool, shaped=bool, rule=int, rule_number=float, rule_address=int, lookahead=float, repeats=int,
    norm=int, output=int, kept=int, own=int,
    # batches of such rules: the largest one (0: what lies outside the frames is not drawn for each sample), its rows, their sums
    largest=int, outer_rows=int, outer=int,
    # biases of outputs: readouts and they together, slots of that of a case and of the push
    biased=bool, train_bias=bool, readouts=int, case_bias=int, bare_push=int,
)  # fmt: skip
# one block of it: coordinates on the fixed frame, freedom of what lies outside (0: nothing does), slots of C, L, B, of its draws,
# of its sums over a batch and of the factor R of a batch, and the root of its eigenvalue, at present. With cases `root` is 1,
# because draws have their scale already, and `deviation` has the root
FRAME = record(rank=int, freedom=int, C=int, L=int, B=int, draws=int, sums=int, factor=int, root=float, deviation=float)
# an eigenvalue, its slope and its share of the dimensions; `fraction` is that, or what of it the equations take the noise of
BLOCK = record(eigenvalue=float, slope=float, fraction=float, share=float)
# one case: probability (of a test: of its task and class), share within its task, label, number of task and head, places of what
# it is made of: means and spikes (directions,), eigenvalue factors and input noise (blocks,), teacher readouts, mask (students,);
# whether it is the first of cases that are alike, the next one (-1: none), and the sign of its means relative to the first
CASE = record(
    probability=float, slope=float, share=float, share_slope=float, label=float, sign=float, task=int, head=int,
    means=int, spikes=int, factors=int, input_noise=int, teacher_readout=int, mask=int,
    first=bool, following=int, turn=float,
)  # fmt: skip
PLACES = ("means", "spikes", "factors", "input_noise", "teacher_readout", "mask")

DATA = (
    from_dtype(PROBLEM)[::1], from_dtype(BLOCK)[:, ::1], from_dtype(CASE)[:, ::1],
    float64[::1], float64[:, :, ::1],
)  # fmt: skip
SYSTEM = void(int64, float64, float64[::1], float64[::1], *DATA)  # (segment, time, y, what is written, *data)
SYSTEM_FUNCTION = Function(SYSTEM)
ADVANCE = void(int64, float64, float64, float64[::1], float64[::1], *DATA)  # (segment, t, h, y, y after h, *data)
TOLERATE = void(float64[::1], float64, float64, float64[::1], *DATA)  # (y, rtol, atol, allowed errors, *data)


def copied(records: np.ndarray) -> np.ndarray:
    """A copy of records as bytes: NumPy goes from field to field, fifty times as long."""
    return np.ndarray(records.shape, records.dtype, bytearray(records.tobytes()))


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
        row, column = (-1, -1) if entry is None else entry
        if quantity == "readout" and problems["heads"][0] > 1 and entry is not None:
            row = row * int(problems["students"][0]) + column  # of a head; all their readouts are in one row
        problems["watched_row"], problems["watched_column"] = row, column
        return self._replace(problems=problems)


def pack(problem: KernelSpec, start: Overlaps, *, noise: bool = True) -> Packed:
    """`noise=False` drops the order rate^2: the limit of small rates."""
    problems, blocks, cases, constant = (copied(array) for array in records_of(problem, noise))  # those of others stay
    if problem.features:
        still = row_order(problem)[moving_rows(problem) :]
        numbers = [start.stacked[:, still[:, None], still].ravel(), constant]
        return Packed(problems, blocks, cases, np.concatenate(numbers), state_of(start, problem))
    T, q = start.block_teacher_overlap, problem.teacher.width
    fields = np.empty((len(problems), 2, q * q))  # values and slopes
    fields[:, 0], fields[:, 1] = (blocks[name] @ T.reshape(-1, q * q) for name in ("eigenvalue", "slope"))
    return Packed(problems, blocks, cases, np.concatenate([constant, T.ravel(), fields.ravel()]), state_of(start))


@lru_cache(maxsize=8)
def records_of(problem: KernelSpec, noise: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """What does not depend on the start: PROBLEM, BLOCK and CASE of each segment, and numbers. Those are the readouts of the
    teachers, before what the start gives; or, behind it, all that cases are made of."""
    inputs, scheduled = problem.inputs, problem.training.segments
    spectrum = inputs.segments if inputs.is_scheduled else ()
    begins = begins_of((*scheduled.values(), *spectrum))
    if problem.features:
        begins = np.union1d(begins, [*probability_begins(problem), *follower_begins(problem)])
    blocks = np.zeros((len(begins), inputs.blocks), dtype=BLOCK)
    blocks["fraction"], blocks["eigenvalue"] = inputs.fractions, 0.0 if spectrum else inputs.eigenvalues
    blocks["share"] = inputs.fractions
    for b, rows in enumerate(spectrum):
        blocks["eigenvalue"][:, b], blocks["slope"][:, b] = within(rows, begins)
    problems = np.zeros(len(begins), dtype=PROBLEM)
    for name, number in _plain_numbers(problem, noise).items():
        problems[name] = number
    problems["begin"], problems["sloped"] = begins, (blocks["slope"] != 0).any(axis=1)
    for name, rows in scheduled.items():
        problems[name], problems[name + "_slope"] = within(rows, begins)
        problems["sloped"] |= problems[name + "_slope"] != 0
    for name, until in zip(("average_follows", "snapshot_follows"), _followed(problem), strict=True):
        problems[name] = begins < until
    cases, numbers = (_all_cases if problem.features else _one_case)(problem, problems)
    return problems, blocks, cases, numbers


def _one_case(problem: KernelSpec, problems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The record of the only case in each segment, and the readouts of the teachers; tells PROBLEM where numbers are."""
    q, segments = problem.teacher.width, len(problems)
    teachers = problem.inputs.blocks * q * q  # numbers that their overlaps are, after their readouts
    problems["teacher_overlaps"], problems["teacher_fields"] = q, q + teachers + 2 * q * q * np.arange(segments)
    cases = np.zeros((segments, 1), dtype=CASE)
    cases["probability"] = cases["share"] = cases["sign"] = 1.0
    return cases, problem.teacher.readout_values


def _all_cases(problem: KernelSpec, problems: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Records of all cases and of all tests in each segment, and their numbers, with what drifting teachers are drawn back to,
    behind the overlaps of the rows that do not move; tells PROBLEM where they are."""
    teacher, begins = problem.teacher, problems["begin"]
    moving, rows, _ = sizes(problem)
    at = problem.inputs.blocks * (rows - moving) ** 2
    kept = np.array(teacher.overlap) if isinstance(teacher.overlap, tuple) else np.eye(teacher.width)
    numbers = [(problem.inputs.fractions[:, None, None] * kept).ravel() if teacher.drift else np.zeros(0)]
    problems["drift_overlaps"] = at
    found = []
    for tests in (False, True):
        table = case_table(problem, begins, tests=tests)
        records, more = _cases(table, at + sum(one.size for one in numbers))
        found.append(records)
        numbers += more
        problems["sloped"] |= (table.slope != 0).any(axis=1)
    return np.concatenate(found, axis=1), np.concatenate(numbers)


def _cases(table: Cases, at: int) -> tuple[np.ndarray, list[np.ndarray]]:
    """Records of cases whose numbers begin at this place, and these numbers."""
    found = np.zeros((table.begins.size, table.size), dtype=CASE)
    for name in ("probability", "slope", "share", "share_slope", "label", "sign", "task", "head"):
        found[name] = getattr(table, name)
    found["first"], found["following"], found["turn"] = alike(table)
    numbers = []
    for name in PLACES:
        values = getattr(table, name)
        found[name] = at + values.shape[1] * np.arange(table.size)
        numbers.append(values.ravel())
        at += values.size
    return found, numbers


def _followed(problem: KernelSpec) -> tuple[float, float]:
    """Until when averages and snapshots are the students themselves; 0 where they never are."""
    average, snapshot = problem.training.average, problem.training.snapshot
    return max((average and average.begin) or 0.0, 0.0), snapshot or 0.0


def follower_begins(problem: KernelSpec) -> list[float]:
    """Times from which on averages and snapshots are no longer the students themselves."""
    return [time for time in _followed(problem) if time > 0]


def state_of(start: Overlaps, problem: KernelSpec | None = None) -> np.ndarray:
    """Overlaps as a state of a problem (None: one without features, where only students move)."""
    if problem is None or not problem.features:
        rows = np.concatenate([start.block_student_overlap, start.block_cross_overlap], axis=2)
        return np.concatenate([rows.ravel(), start.readout.ravel()])
    order = row_order(problem)
    return np.concatenate(
        [start.stacked[:, order[: moving_rows(problem), None], order].ravel(), start.readout.ravel(), start.scalars]
    )


def _plain_numbers(problem: KernelSpec, noise: bool) -> dict[str, Any]:
    """Sizes, switches and what no schedule changes, the same in all segments."""
    training = problem.training
    p, q, extras, average = problem.student.width, problem.teacher.width, problem.extras, training.average
    return {
        "students": p, "teachers": q, "rows": p + q + len(extras), "moving": moving_rows(problem), "blocks": problem.inputs.blocks,
        **_counts(problem), "heads": problem.heads, "directions": extras.count("direction"),
        **firsts(problem), **_rule(problem), "slow": training.is_slow, "scalars": len(problem.scalars),
        "readout_velocities": "readout_velocity" in problem.scalars,
        "average_rate": (average and average.rate) or 0.0, "average_begin": (average and average.begin) or 0.0,
        "anchor": training.anchor, "drift": problem.teacher.drift, "rotation": problem.teacher.rotation,
        **words_of(problem.student.activation),
        "sphere": problem.student.norm == "sphere", "train_readout": training.train_readout, "noise": noise,
        "watched": NOTHING, "watched_row": -1, "watched_column": -1,
        "loss_factor": training.loss_factor, "loss": training.loss_function.kind, "signed": problem.teacher.target == "sign",
        **rule_words(problem), **bias_words(problem),
    }  # fmt: skip


def bias_words(problem: KernelSpec) -> dict[str, Any]:
    """Of biases, and how many numbers learn as readouts do."""
    biases = problem.scalars.count("bias")
    count = problem.heads * problem.student.width + biases
    return {"biased": biases > 0, "train_bias": problem.training.train_bias, "readouts": count}


def rule_words(problem: KernelSpec) -> dict[str, Any]:
    """What becomes of a sample's gradient; the address of a rule of one's own is that of this process."""
    training = problem.training
    kind, number, address = rule_numbers(training.rule)
    return {
        "shaped": training.is_shaped, "rule": kind, "rule_number": number, "rule_address": address,
        "lookahead": training.lookahead, "repeats": training.repeats,
    }  # fmt: skip


def _rule(problem: KernelSpec) -> dict[str, Any]:
    """Of rates that follow the state."""
    rule = problem.training.rate_rule
    if rule is None:
        return {}
    own = {"pace_function": rule.address, "pace_begin": rule.begin} if isinstance(rule, RateFunction) else {}
    return {"pace": KINDS_OF_RULES[rule.kind], "pace_number": rule.number} | own


def _counts(problem: KernelSpec) -> dict[str, Any]:
    """How many cases there are, and what some of them have."""
    if not problem.features:
        return {"cases": 1, "tests": 0, "tasks": 1}
    train, tests = case_table(problem), case_table(problem, tests=True)
    return {
        "cases": train.size, "tests": tests.size, "tasks": len(problem.tasks) or 1, "several": True,
        "spiked": bool(train.spikes.any()), "masked": bool((train.mask != 1).any()),
    }  # fmt: skip


def sizes(problem: KernelSpec) -> tuple[int, int, int]:
    """How many rows move, how many there are, and how many numbers a state ends with: readouts and scalars."""
    p, q = problem.student.width, problem.teacher.width
    return moving_rows(problem), p + q + len(problem.extras), problem.heads * p + len(problem.scalars)


def summed(problem: KernelSpec, states: np.ndarray) -> np.ndarray:
    """States (..., size) with the overlaps of all blocks together: states of one block."""
    moving, rows, others = sizes(problem)
    overlaps = states[..., :-others].reshape(*states.shape[:-1], -1, moving * rows).sum(axis=-2)
    return np.concatenate([overlaps, states[..., -others:]], axis=-1)


def unpack(problem: KernelSpec, states: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """States (..., size) as block student overlaps (..., blocks, p, p), cross overlaps and readouts (..., p) or (..., heads, p)."""
    p, q, first = problem.student.width, problem.teacher.width, firsts(problem)["first_teacher"]
    rows, first_readout = _rows(problem, states), states.shape[-1] - sizes(problem)[2]
    readout = states[..., first_readout : first_readout + problem.heads * p]
    readout = readout.reshape(*states.shape[:-1], problem.heads, p) if problem.heads > 1 else readout
    return rows[..., :p, :p], rows[..., :p, first : first + q], readout


def unpack_scalars(problem: KernelSpec, states: np.ndarray) -> np.ndarray:
    """(..., scalars) of states (..., size)."""
    return states[..., states.shape[-1] - len(problem.scalars) :]


def unpack_rest(
    problem: KernelSpec, start: Overlaps, states: np.ndarray
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """What else states hold: block teacher overlaps (..., blocks, q, q) where teachers move, and the overlaps of extra rows with
    all rows (..., blocks, extra, rows) where there are any, with those that do not move from the start; else None. States of one
    block (`summed`) are those of all blocks together."""
    n, moving, rows = problem.student.width + problem.teacher.width, moving_rows(problem), _rows(problem, states)
    first = firsts(problem)["first_teacher"]
    teachers = slice(first, first + problem.teacher.width)
    teacher = rows[..., teachers, teachers] if problem.teacher.is_moving else None
    if not problem.extras:
        return teacher, None
    order = row_order(problem)
    fixed = start.stacked[:, order[moving:, None], order[moving:]]
    if rows.shape[-3] < len(fixed):
        fixed = fixed.sum(axis=0, keepdims=True)
    fixed = np.broadcast_to(fixed, (*states.shape[:-1], *fixed.shape))
    below = np.concatenate([np.swapaxes(rows[..., moving:], -1, -2), fixed], axis=-1)
    places = np.argsort(order)  # of the rows of overlaps
    return teacher, np.concatenate([rows, below], axis=-2)[..., places[n:, None], places]


def _rows(problem: KernelSpec, states: np.ndarray) -> np.ndarray:
    """(..., blocks, moving, rows) without a copy."""
    moving, rows, others = sizes(problem)
    return states[..., :-others].reshape(*states.shape[:-1], -1, moving, rows)


def workspace(rows: int, more: int = 0) -> np.ndarray:
    """The planes over all rows, and behind them at least so many numbers more."""
    return np.zeros((PLANES - (-more // rows**2), rows, rows))
