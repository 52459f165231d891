"""Looks at runs: their overlaps, who has diverged, and who has passed a threshold.

A group of up to eight runs is two tuples: `process` = (PROCESS and FRAME records, numbers, segments, their blocks, stream, state,
work), and `sight` = what `observe` needs, with numbers for each lane, then the states at the last looks and what `reach.py` needs.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numba import float64, from_dtype, int64, types, uint64, void

from solvable.dynamics.equations import eigenvalue_at, segment_at, watch
from solvable.dynamics.flags import CASES, THRESHOLD
from solvable.dynamics.kernel_data import BLOCK, DATA, FRAME, PROBLEM, PROCESS, SEEN, SYSTEM_FUNCTION, WATCHED, record
from solvable.micro.batch import fold
from solvable.micro.reach import SCHEDULED, is_out_of_reach, reach_of_overlaps, reach_of_risk, uncertainty, weight_of
from solvable.numerics.compiled import compiled
from solvable.numerics.ending import Ending
from solvable.numerics.kernel_types import Function
from solvable.numerics.lanes import WIDTH, fill, fma, load, store, where_above
from solvable.numerics.specialising import form_for

GOING = -1  # what has become of a run, else how it ended
STOPPED, DIVERGED = int(Ending.STOPPED), int(Ending.DIVERGED)
ASK = 2  # a direction: the risk is computed elsewhere
# what, and at which step; where its threshold and its bound are; whether somebody else must look; then of the last look its time
# and segment, what was seen and where the threshold is, both as `reach.py` has them, how much a change of weights changes that, and
# how far they may go
RUN = record(
    fate=int, step=int, level=float, bound=float, due=bool, time=float, segment=int,
    root=float, goal=float, slack=float, of_students=float, of_readouts=float, of_teachers=float,
    length=float, teacher_length=float, limit=float, teacher_limit=float,
)  # fmt: skip
# slots behind the state at the last look: students' squared norms, squares of distances, roots of eigenvalues at that look, and
# where velocities turn the frame triangles of their own, now and then
SIZE, STUDENTS, TEACHERS, READOUTS, ROOTS = range(5)

PROCESS_DATA = types.Tuple(
    (
        from_dtype(PROCESS)[::1], from_dtype(FRAME)[::1], float64[::1], from_dtype(PROBLEM)[:, ::1], from_dtype(BLOCK)[:, ::1],
        uint64[::1], float64[::1], float64[::1],
    )
)  # fmt: skip
SIGHT = types.Tuple((*DATA[:3], float64[:, ::1], DATA[4], float64[::1], float64[::1]))


@compiled(strict=True)
def overlaps(form, frames, numbers, state, lane, y):
    """Student rows of every block's overlaps and the readout of one lane, as `dynamics.kernel_data` has them."""
    if CASES and form.cases > 0:
        overlaps_of_rows(form, frames, numbers, state, lane, y)
        return
    p, q = form.students, form.teachers
    n = p + q
    for b in range(form.blocks):
        frame = frames[b]
        rank, triangle = frame.rank, frame.L
        for k in range(p):
            at = (b * p + k) * n
            mine = frame.C + k * rank
            for m in range(p):
                total, other = 0.0, frame.C + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                if frame.freedom > 0:
                    column = triangle
                    for j in range(min(k, m) + 1):
                        total += state[(column + k - j) * WIDTH + lane] * state[(column + m - j) * WIDTH + lane]
                        column += p - j
                y[at + m] = total
            for m in range(q):
                total, other = 0.0, frame.B + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                y[at + p + m] = total
    for k in range(p):
        y[form.blocks * p * n + k] = state[(form.readout + k) * WIDTH + lane]


@compiled(strict=True)
def overlaps_of_rows(form, frames, numbers, state, lane, y):
    """The same with cases: all rows that move in a state, with all rows; then readouts and scalars."""
    m, n = form.state_rows, form.moving + form.fixed
    for b in range(form.blocks):
        for k in range(m):
            for j in range(n):
                y[(b * m + k) * n + j] = overlap(
                    form, frames[b], state, lane, place(form, numbers, k), place(form, numbers, j)
                )
    for k in range(form.heads * form.students + form.scalars):
        y[form.blocks * m * n + k] = state[(form.readout + k) * WIDTH + lane]


@compiled(strict=True)
def place(form, numbers, row):
    """Among the rows that move, then those that are fixed, of a row of a state; that of a student for what still is one."""
    at = int(numbers[form.places + row])
    if form.average_follows and form.average_row <= at < form.average_row + form.students:
        return at - form.average_row + form.student_row
    if form.snapshot_follows and form.snapshot_row <= at < form.snapshot_row + form.students:
        return at - form.snapshot_row + form.student_row
    return at


@compiled(strict=True)
def overlap(form, frame, state, lane, k, j):
    """Of two rows, by their places, in a block."""
    rank, rows, total = frame.rank, form.moving, 0.0
    mine = frame.C + k * rank if k < rows else frame.B + (k - rows) * rank
    other = frame.C + j * rank if j < rows else frame.B + (j - rows) * rank
    for i in range(rank):
        total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
    if frame.freedom > 0 and k < rows and j < rows:
        column = frame.L
        for i in range(min(k, j) + 1):
            total += state[(column + k - i) * WIDTH + lane] * state[(column + j - i) * WIDTH + lane]
            column += rows - i
    return total


@compiled(strict=True, inline=True)
def add_way(now, before, at, begin, end, turn, size, way):
    """Add squares of coordinates, and of what they are away from those at the last look, from slot `at` on and times `turn`."""
    for i in range(begin, end):
        x = load(now, i)
        gone = x - turn * load(before, at + i - begin)
        size, way = fma(x, x, size), fma(gone, gone, way)
    return size, way


@compiled(strict=True, inline=True)
def way_of_triangle(now, before, place, old, rows, first, last, size):
    """The same of rows `first` to `last` of a triangle. Axes of the frame may point either way."""
    way, one = fill(0.0), fill(1.0)
    for j in range(last):
        turn, skip = where_above(load(now, place) * load(before, old), fill(0.0), one, 0.0 - one), max(j, first) - j
        size, way = add_way(now, before, old + skip, place + skip, place + last - j, turn, size, way)
        place += rows - j
        old += rows - j
    return size, way


@compiled(strict=True)
def own_triangle(form, frame, state, work, anchors, place):
    """L of students, and of teachers that walk, alone: it does not turn where velocities before them do."""
    rows, before, width = form.moving, form.teachers if form.drifting else 0, form.student_row + form.students
    count = before + form.students
    for k in range(count):
        row = k if k < before else form.student_row + k - before
        source = frame.L + row
        for j in range(width):
            store(work, form.wide + k * width + j, load(state, source) if j <= row else fill(0.0))
            source += rows - 1 - j if j < row else 0
    fold(count, width, anchors, place, work, form.wide)


@compiled(strict=True)
def measure(process, sight, segment, time, watched):
    """Put how large students are and how far all have come since the last look, of all lanes, into the slots behind the anchors;
    how far only if something is watched."""
    if not CASES and not THRESHOLD:
        measure_sizes(process, sight)
        return
    form, frames, state, work, (problems, blocks, _, _, _, anchors, bounds) = (
        process[0][0], process[1], process[6], process[7], sight,
    )  # fmt: skip
    p, q, at, one = form.students, form.teachers, state.size // WIDTH, fill(1.0)
    rows, first, walking = (form.moving, form.student_row, form.drifting) if form.cases > 0 else (p, 0, False)
    size, students, teachers, readouts, nothing = fill(0.0), fill(0.0), fill(0.0), fill(0.0), fill(0.0)
    place, lower = at + ROOTS + form.blocks, slots_of_triangle(form) if watched else 0
    for b in range(form.blocks):
        frame, weight = frames[b], fill(weight_of(problems[segment], blocks[segment, b], bounds, time))
        begin, end, others = frame.C + first * frame.rank, frame.C + (first + p) * frame.rank, fill(0.0)
        size, way = add_way(state, anchors, begin, begin, end, one, size, fill(0.0))
        if walking:
            nothing, others = add_way(state, anchors, frame.C, frame.C, frame.C + q * frame.rank, one, nothing, others)
        elif form.cases > 0 and form.moving_teachers:
            nothing, others = add_way(state, anchors, frame.B, frame.B, frame.B + q * frame.rank, one, nothing, others)
        if frame.freedom > 0:
            now, here, old, own, mine = state, frame.L, frame.L, rows, first
            if lower > 0:
                here, old, own, mine = (
                    place,
                    place + form.blocks * lower,
                    p + (q if walking else 0),
                    q if walking else 0,
                )
                own_triangle(form, frame, state, work, anchors, here)
                now = anchors
            size, more = way_of_triangle(now, anchors, here, old, own, mine, mine + p, size)
            way = way + more
            if walking:
                nothing, more = way_of_triangle(now, anchors, here, old, own, 0, q, nothing)
                others = others + more
        students, teachers = fma(way, weight, students), fma(others, weight, teachers)
        place += lower
    begin = form.readout
    nothing, readouts = add_way(state, anchors, begin, begin, begin + form.readouts, one, nothing, readouts)
    store(anchors, at + SIZE, size)
    store(anchors, at + STUDENTS, students)
    store(anchors, at + TEACHERS, teachers)
    store(anchors, at + READOUTS, readouts)


@compiled(strict=True)
def measure_sizes(process, sight):
    """Put the squared norms of all students together, of all lanes, into their slots behind the anchors."""
    form, frames, state, anchors, size = process[0][0], process[1], process[6], sight[5], fill(0.0)
    for b in range(form.blocks):
        frame = frames[b]
        for i in range(frame.C, frame.C + form.students * frame.rank):
            size = fma(load(state, i), load(state, i), size)
        if frame.freedom > 0:
            for i in range(frame.L, frame.L + form.students * (form.students + 1) // 2):
                size = fma(load(state, i), load(state, i), size)
    store(anchors, state.size // WIDTH + SIZE, size)


@compiled(strict=True)
def slots_of_triangle(form):
    """Of L of students, and of teachers that walk, alone; 0 where it is not asked for."""
    if form.cases == 0 or form.velocity_row < 0:
        return 0
    count = form.students + (form.teachers if form.drifting else 0)
    return count * (count + 1) // 2


def slots_of_anchors(form: Any, state: int) -> int:
    """For a state of so many slots, and what is kept behind it."""
    blocks = int(form.blocks)
    return int(state + ROOTS + blocks + 2 * blocks * slots_of_triangle.py_func(form))


@compiled(strict=True)
def way_of_roots(problem, blocks, anchors, at, lane, time):
    """How far the root of an eigenvalue is from that at the last look, the largest of those `blocks`."""
    way = 0.0
    for b in range(problem.blocks):
        root = math.sqrt(eigenvalue_at(problem, blocks[b], time))
        way = max(way, abs(root - anchors[(at + ROOTS + b) * WIDTH + lane]))
    return way


@compiled(strict=True)
def may_have_passed(run, sight, segment, lane, time, at):
    """Whether a run must be looked at, from what `measure` has found."""
    problems, blocks, cases, _, _, anchors, bounds = sight
    if problems[segment].several and run.segment != segment:
        return True
    roots = 0.0
    if bounds[SCHEDULED] != 0.0 and problems[segment].watched <= 0:
        roots = way_of_roots(problems[segment], blocks[segment], anchors, at, lane, time)
    way = (
        math.sqrt(anchors[(at + STUDENTS) * WIDTH + lane]),
        math.sqrt(anchors[(at + TEACHERS) * WIDTH + lane]),
        math.sqrt(anchors[(at + READOUTS) * WIDTH + lane]),
        roots,
    )
    return not is_out_of_reach(run, problems[segment], cases[segment], bounds, time, way)


@compiled(strict=True)
def remember(form, run, state, sight, segment, lane, time, value, y):
    """What was seen of a run, and in which state."""
    problems, blocks, cases, numbers, _, anchors, bounds = sight
    problem, at = problems[segment], state.size // WIDTH
    run.time, run.segment = time, segment
    if problem.watched > 0:
        reach_of_overlaps(run, problem, value, y, numbers[lane])
    else:
        reach_of_risk(run, problem, blocks[segment], cases[segment], bounds, time, value, y, numbers[lane])
    for i in range(lane, state.size, WIDTH):
        anchors[i] = state[i]
    for b in range(problem.blocks):
        anchors[(at + ROOTS + b) * WIDTH + lane] = math.sqrt(eigenvalue_at(problem, blocks[segment, b], time))
    place, count = at + ROOTS + problem.blocks, problem.blocks * slots_of_triangle(form)
    for i in range(place, place + count):
        anchors[(i + count) * WIDTH + lane] = anchors[i * WIDTH + lane]


LOOKED = int64(SYSTEM_FUNCTION, PROCESS_DATA, SIGHT, from_dtype(RUN)[::1], float64[:, ::1], int64, int64)
LOOK = Function(LOOKED)  # handed over by its address, so that it is compiled once, apart from the loops


@compiled(LOOKED, strict=True, allocates=True)
def look(observe, process, sight, runs, ends, step, direction):
    """See which runs have diverged or passed their threshold (direction 0: there is none) and keep their states. How many go on;
    -1 if somebody else must look. Who cannot have passed is not looked at."""
    form, frames, known, state = process[0][0], process[1], process[2], process[6]
    problems, blocks, cases, numbers, scratch, anchors, _ = sight
    going, asked, seen, time, at = 0, False, np.empty(SEEN), step / form.dim, state.size // WIDTH
    segment = segment_at(problems, time)
    measure(process, sight, segment, time, direction != 0)
    for lane in range(runs.size):
        run = runs[lane]
        if run.fate != GOING:
            continue
        if not anchors[(at + SIZE) * WIDTH + lane] <= run.bound:
            run.fate = DIVERGED
        elif THRESHOLD and direction != 0 and may_have_passed(run, sight, segment, lane, time, at):
            overlaps(form, frames, known, state, lane, ends[lane])
            if direction == ASK:
                run.due = asked = True
            else:
                if problems[segment].watched > 0:
                    value = watch(problems[segment], ends[lane], 0.0, scratch)
                else:
                    observe(segment, time, ends[lane], seen, problems, blocks, cases, numbers[lane], scratch)
                    value = seen[WATCHED]
                if direction * (value - run.level) >= 0.0:
                    run.fate = STOPPED
                else:
                    remember(form, run, state, sight, segment, lane, time, value, ends[lane])
        if run.fate == GOING:
            going += 1
        else:
            run.step = step
            overlaps(form, frames, known, state, lane, ends[lane])
    return -1 if asked else going


@compiled(void(PROCESS_DATA, SIGHT, from_dtype(RUN)[::1], int64, int64, float64, float64, float64[::1]), strict=True)
def note(process, sight, runs, lane, step, value, error, y):
    """What somebody else has seen of a run, with an error."""
    time, run = step / process[0][0].dim, runs[lane]
    segment = segment_at(sight[0], time)
    measure(process, sight, segment, time, True)
    remember(process[0][0], run, process[6], sight, segment, lane, time, value, y)
    run.slack += 4.0 * uncertainty(run.root, error / sight[0][segment].loss_factor)


@compiled(void(SYSTEM_FUNCTION, PROCESS_DATA, SIGHT, int64, float64[:, ::1], float64[:, ::1]), strict=True)
def see(observe, process, sight, step, y, seen):
    """(lane, size) overlaps of the first lanes, and what `observe` sees of them."""
    problems, blocks, cases, numbers, scratch, _, _ = sight
    time = step / process[0][0].dim
    segment = segment_at(problems, time)
    for lane in range(len(y)):
        overlaps(process[0][0], process[1], process[2], process[6], lane, y[lane])
        observe(segment, time, y[lane], seen[lane], problems, blocks, cases, numbers[lane], scratch)


@compiled(void(PROCESS_DATA, float64[:, ::1]), strict=True)
def all_overlaps(process, y):
    """(lane, size) overlaps of the first lanes."""
    for lane in range(len(y)):
        overlaps(process[0][0], process[1], process[2], process[6], lane, y[lane])


class Looks(NamedTuple):
    """The kernels that look at runs, in the form that a kind of run needs."""

    look: Any
    see: Any
    all_overlaps: Any


def looks_of(*, cases: bool, watched: bool) -> Looks:
    """Return the looks at runs with cases or without, where a threshold is watched or not."""
    return Looks(
        form_for(look, CASES=cases, THRESHOLD=watched), form_for(see, CASES=cases), form_for(all_overlaps, CASES=cases)
    )
