"""Many steps of the reduced process, with a look at the runs from time to time."""

import numpy as np
from numba import boolean, float64, int64, uint64, void

from solvable.dynamics import layout as lay
from solvable.dynamics.averages import HIGHEST, LOWEST
from solvable.dynamics.kernel_data import DATA, SEEN, SYSTEM_FUNCTION, WATCHED
from solvable.dynamics.sample import amplitudes, draw, fields
from solvable.micro.batch import clear_sums, collect, learn_batch
from solvable.micro.step import learn
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH

GOING, PASSED, LOST = 0, 1, 2  # what has become of a run


@compiled(strict=True)
def set_rates(ints, floats, tables, step, work):
    """Rates of a step over dim, for each lane; return the first step at which they may be others. Every lane remembers in which
    segment of its schedules it is."""
    time, due, last = step / floats[lay.DIM], np.inf, tables.shape[2] - 1
    for which in range(2):
        slot = (ints[lay.RATE] if which == 0 else ints[lay.READOUT_RATE]) * WIDTH
        segment = (ints[lay.SEGMENTS] + which) * WIDTH
        for lane in range(WIDTH):
            i = int(work[segment + lane])
            if tables[which, lane, i, 0] > time:
                i = 0
            while i < last and tables[which, lane, i + 1, 0] <= time:
                i += 1
            work[segment + lane] = i
            begin, rate, slope = tables[which, lane, i]
            work[slot + lane] = (rate + slope * (time - begin)) / floats[lay.DIM]
            if slope != 0.0:
                due = step + 1.0
            elif i < last:
                due = min(due, max(step + 1.0, np.floor(tables[which, lane, i + 1, 0] * floats[lay.DIM])))
    return due


@compiled(strict=True)
def overlaps(ints, state, lane, y):
    """Student rows of every block's overlaps and the readout of one lane, as `dynamics.kernel_data` has them."""
    p, q = ints[lay.STUDENTS], ints[lay.TEACHERS]
    n = p + q
    for b in range(ints[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        rank, triangle = ints[row + lay.RANK], ints[row + lay.L]
        for k in range(p):
            at = (b * p + k) * n
            mine = ints[row + lay.C] + k * rank
            for m in range(p):
                total, other = 0.0, ints[row + lay.C] + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                if ints[row + lay.FREEDOM] > 0:
                    column = triangle
                    for j in range(min(k, m) + 1):
                        total += state[(column + k - j) * WIDTH + lane] * state[(column + m - j) * WIDTH + lane]
                        column += p - j
                y[at + m] = total
            for m in range(q):
                total, other = 0.0, ints[row + lay.B] + m * rank
                for i in range(rank):
                    total += state[(mine + i) * WIDTH + lane] * state[(other + i) * WIDTH + lane]
                y[at + p + m] = total
    for k in range(p):
        y[ints[lay.BLOCKS] * p * n + k] = state[(ints[lay.READOUT] + k) * WIDTH + lane]


@compiled(strict=True)
def _size(ints, state, lane):
    """Sum of the squares of all students' coordinates."""
    total = 0.0
    for b in range(ints[lay.BLOCKS]):
        row = lay.TABLE + b * lay.ROW
        for i in range(ints[row + lay.C], ints[row + lay.B]):
            total += state[i * WIDTH + lane] ** 2
    return total


@compiled(
    int64(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, boolean,
        int64[::1], float64[::1], int64, float64[::1], int64, float64[::1], *DATA[:3], float64[:, ::1],
        DATA[4], int64[::1], int64[::1], float64[:, ::1],
    ),
    strict=True,
    allocates=True,
)  # fmt: skip
def look(
    observe, bound, coarsely,
    ints, state, step, bounds, direction, levels, problems, blocks, cases, numbers, scratch, fate, when, ends,
):  # fmt: skip
    """See which runs have diverged or passed their threshold (direction 0: none) and keep their states. How many go on. A look at
    the risk may begin `coarsely`, with its bounds."""
    going, seen = 0, np.empty(SEEN)
    for lane in range(fate.size):
        if fate[lane] != GOING:
            continue
        if not _size(ints, state, lane) <= bounds[lane]:
            fate[lane] = LOST
        elif direction != 0:
            overlaps(ints, state, lane, ends[lane])
            near = True
            if coarsely:
                bound(0, 0.0, ends[lane], seen, problems, blocks, cases, numbers[lane], scratch)
                near = not (direction * (seen[LOWEST if direction < 0 else HIGHEST] - levels[lane]) < 0.0)
            if near:
                observe(0, 0.0, ends[lane], seen, problems, blocks, cases, numbers[lane], scratch)
            if near and direction * (seen[WATCHED] - levels[lane]) >= 0.0:
                fate[lane] = PASSED
        if fate[lane] == GOING:
            going += 1
        else:
            when[lane] = step
            overlaps(ints, state, lane, ends[lane])
    return going


@compiled(
    int64(
        SYSTEM_FUNCTION, SYSTEM_FUNCTION, boolean,
        int64[::1], float64[::1], float64[:, :, :, ::1], uint64[::1], float64[::1], float64[::1],
        int64, int64, int64, float64[::1], int64, float64[::1], *DATA[:3], float64[:, ::1], DATA[4],
        int64[::1], int64[::1], float64[:, ::1],
    ),
    strict=True,
)  # fmt: skip
def follow(
    observe, bound, coarsely,
    ints, floats, tables, stream, state, work,
    begin, end, stride, bounds, direction, levels, problems, blocks, cases, numbers, scratch, fate, when, ends,
):  # fmt: skip
    """Take the steps begin..end, with a look at every multiple of `stride`; return the step it came to, an earlier one if no
    run goes on."""
    due = float(begin)
    for step in range(begin, end):
        if step >= due:
            due = set_rates(ints, floats, tables, float(step), work)
        if ints[lay.BATCH] == 1:
            draw(ints, stream, work)
            fields(ints, floats, state, work)
            amplitudes(ints, floats, state, work)
            learn(ints, floats, state, work)
        else:
            clear_sums(ints, work)
            for _ in range(ints[lay.BATCH]):
                draw(ints, stream, work)
                fields(ints, floats, state, work)
                amplitudes(ints, floats, state, work)
                collect(ints, work)
            learn_batch(ints, floats, stream, state, work)
        if (step + 1) % stride == 0:
            going = look(
                observe, bound, coarsely,
                ints, state, step + 1, bounds, direction, levels, problems, blocks, cases, numbers, scratch,
                fate, when, ends,
            )  # fmt: skip
            if going == 0:
                return step + 1
    return end


@compiled(void(int64[::1], float64[::1], float64[:, ::1]), strict=True)
def all_overlaps(ints, state, y):
    """(lane, size) overlaps of the first lanes."""
    for lane in range(len(y)):
        overlaps(ints, state, lane, y[lane])
