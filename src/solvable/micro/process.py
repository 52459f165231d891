"""Many steps of the reduced process, with a look at the runs from time to time.

A group of up to eight runs is two tuples: `process` = (PROCESS and FRAME records, numbers, segments, their blocks, stream, state,
work), and `sight` = what `observe` needs, with numbers for each lane, then the states at the last looks and the unit's steepness.
"""

import numpy as np
from numba import float64, from_dtype, int64, types, uint64, void

from solvable.dynamics.equations import segment_at
from solvable.dynamics.kernel_data import BLOCK, DATA, FRAME, PROBLEM, PROCESS, SEEN, SYSTEM_FUNCTION, WATCHED, record
from solvable.dynamics.sample import amplitudes, draw, fields
from solvable.micro.batch import clear_sums, collect, learn_batch
from solvable.micro.reach import reach
from solvable.micro.step import learn
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH

GOING, PASSED, LOST = 0, 1, 2  # what has become of a run
# what, and at which step; where its threshold and its bound are; how far it may go before the next look
RUN = record(fate=int, step=int, level=float, bound=float, reach=float)

PROCESS_DATA = types.Tuple(
    (
        from_dtype(PROCESS)[::1], from_dtype(FRAME)[::1], float64[::1], from_dtype(PROBLEM)[:, ::1], from_dtype(BLOCK)[:, ::1],
        uint64[::1], float64[::1], float64[::1],
    )
)  # fmt: skip
SIGHT = types.Tuple((*DATA[:3], float64[:, ::1], DATA[4], float64[::1], float64[::1]))


@compiled(strict=True)
def set_numbers(form, frames, segments, blocks, step, work):
    """What schedules say at a step: rates over dim for each lane, all else for all of them; return the first step at which they may
    say otherwise. Every lane remembers in which segment of its schedules it is."""
    time, due, last = step / form.dim, np.inf, segments.shape[1] - 1
    for lane in range(WIDTH):
        slot = form.segments * WIDTH + lane
        i = int(work[slot])
        if segments[lane, i].begin > time:
            i = 0
        while i < last and segments[lane, i + 1].begin <= time:
            i += 1
        work[slot] = i
        segment = segments[lane, i]
        passed = time - segment.begin
        work[form.rate * WIDTH + lane] = (segment.rate + segment.rate_slope * passed) / form.dim
        work[form.readout_rate * WIDTH + lane] = (segment.readout_rate + segment.readout_rate_slope * passed) / form.dim
        if segment.sloped:
            due = step + 1.0
        elif i < last:
            due = min(due, max(step + 1.0, np.floor(segments[lane, i + 1].begin * form.dim)))
    i = int(work[form.segments * WIDTH])
    segment = segments[0, i]
    passed = time - segment.begin
    form.decay = segment.decay + segment.decay_slope * passed
    form.batch = max(1, int(np.rint(segment.batch + segment.batch_slope * passed)))
    form.label_noise = np.sqrt(segment.label_noise + segment.label_noise_slope * passed)
    for b in range(form.blocks):
        frames[b].root = np.sqrt(blocks[i, b].eigenvalue + blocks[i, b].slope * passed)
    return due


@compiled(strict=True)
def overlaps(form, frames, numbers, state, lane, y):
    """Student rows of every block's overlaps and the readout of one lane, as `dynamics.kernel_data` has them."""
    if form.cases > 0:
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


@compiled(strict=True)
def _way(form, frames, state, anchors, lane, in_fields):
    """Sum of the squares of all students' coordinates, and of what they are away from the state at the last look; that times
    the eigenvalues, if it is `in_fields`."""
    size, way = 0.0, 0.0
    if form.cases > 0 and form.velocity_row >= 0:  # velocities may be far larger than students
        return size_of_students(form, frames, state, lane), np.inf
    for b in range(form.blocks):
        frame, part = frames[b], 0.0
        for i in range(frame.C * WIDTH + lane, frame.B * WIDTH + lane, WIDTH):
            size += state[i] ** 2
            part += (state[i] - anchors[i]) ** 2
        way += part * frame.root**2 if in_fields else part
    return size, way


@compiled(strict=True)
def size_of_students(form, frames, state, lane):
    """Sum of the squares of all students' coordinates."""
    total = 0.0
    for b in range(form.blocks):
        for k in range(form.student_row, form.student_row + form.students):
            total += overlap(form, frames[b], state, lane, k, k)
    return total


@compiled(
    int64(SYSTEM_FUNCTION, PROCESS_DATA, SIGHT, from_dtype(RUN)[::1], float64[:, ::1], int64, int64),
    strict=True,
    allocates=True,
)
def look(observe, process, sight, runs, ends, step, direction):
    """See which runs have diverged or passed their threshold (direction 0: there is none) and keep their states. How many go on.
    Who cannot have passed is not looked at."""
    form, frames, known, state = process[0][0], process[1], process[2], process[6]
    problems, blocks, cases, numbers, scratch, anchors, steepness = sight
    going, seen, time = 0, np.empty(SEEN), step / form.dim
    segment = segment_at(problems, time)
    for lane in range(runs.size):
        run = runs[lane]
        if run.fate != GOING:
            continue
        size, way = _way(form, frames, state, anchors, lane, problems[segment].watched <= 0)
        if not size <= run.bound:
            run.fate = LOST
        elif direction != 0 and not way < run.reach**2:
            overlaps(form, frames, known, state, lane, ends[lane])
            observe(segment, time, ends[lane], seen, problems, blocks, cases, numbers[lane], scratch)
            if direction * (seen[WATCHED] - run.level) >= 0.0:
                run.fate = PASSED
            if form.cases == 0:  # with cases the risk moves with probabilities, teachers and heads too: look every time
                run.reach = reach(
                    problems[segment], steepness, seen[WATCHED], run.level, ends[lane], numbers[lane], scratch
                )
            for i in range(frames[0].C * WIDTH + lane, frames[form.blocks - 1].B * WIDTH + lane, WIDTH):
                anchors[i] = state[i]
        if run.fate == GOING:
            going += 1
        else:
            run.step = step
            overlaps(form, frames, known, state, lane, ends[lane])
    return going


@compiled(
    int64(
        SYSTEM_FUNCTION,
        PROCESS_DATA,
        SIGHT,
        from_dtype(RUN)[::1],
        float64[:, ::1],
        int64,
        int64,
        int64,
        int64,
    ),
    strict=True,
)
def follow(observe, process, sight, runs, ends, begin, end, stride, direction):
    """Take the steps begin..end, with a look at every multiple of `stride`; return the step it came to, an earlier one if no
    run goes on."""
    forms, frames, numbers, segments, blocks, stream, state, work = process
    form, due = forms[0], float(begin)
    for step in range(begin, end):
        if step >= due:
            due = set_numbers(form, frames, segments, blocks, float(step), work)
        if form.single:
            draw(form, frames, stream, work)
            fields(form, frames, state, work)
            amplitudes(form, numbers, state, work)
            learn(form, frames, state, work)
        else:
            clear_sums(form, work)
            for _ in range(form.batch):
                draw(form, frames, stream, work)
                fields(form, frames, state, work)
                amplitudes(form, numbers, state, work)
                collect(form, frames, work)
            learn_batch(form, frames, stream, state, work)
        if (step + 1) % stride == 0 and look(observe, process, sight, runs, ends, step + 1, direction) == 0:
            return step + 1
    return end


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
