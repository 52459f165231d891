"""Many steps of the reduced process, with a look at the runs from time to time (`looking.py`)."""

import numpy as np
from numba import float64, from_dtype, int64, types

from solvable.dynamics.flags import BATCHES
from solvable.dynamics.kernel_data import SYSTEM_FUNCTION
from solvable.dynamics.sample import amplitudes, draw, fields
from solvable.micro.batch import clear_sums, collect, learn_batch
from solvable.micro.looking import LOOK, PROCESS_DATA, RUN, SIGHT
from solvable.micro.step import learn
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, load, store


@compiled(strict=True)
def set_segments(form, segments, blocks, step, work):
    """In which segment of its schedules every lane is at a step, and what its rates are made of there; from which step on that may
    be otherwise."""
    time, due, last, at = step / form.dim, np.inf, segments.shape[1] - 1, form.slopes * WIDTH
    form.sloped, form.since = False, step
    for lane in range(WIDTH):
        slot = form.segments * WIDTH + lane
        i = int(work[slot])
        if segments[lane, i].begin > time:
            i = 0
        while i < last and segments[lane, i + 1].begin <= time:
            i += 1
        work[slot] = i
        segment = segments[lane, i]
        work[at + lane], work[at + WIDTH + lane] = segment.begin, segment.rate
        work[at + 2 * WIDTH + lane], work[at + 3 * WIDTH + lane] = segment.rate_slope, segment.readout_rate
        work[at + 4 * WIDTH + lane] = segment.readout_rate_slope
        form.sloped = form.sloped or segment.sloped
        if i < last:
            due = min(due, max(step + 1.0, np.floor(segments[lane, i + 1].begin * form.dim)))
    form.until, i = due, int(work[form.segments * WIDTH])
    now = segments[0, i]
    form.others_sloped = now.decay_slope != 0.0 or now.batch_slope != 0.0 or now.label_noise_slope != 0.0
    for b in range(form.blocks):
        form.others_sloped = form.others_sloped or blocks[i, b].slope != 0.0


@compiled(strict=True)
def set_others(form, frames, segments, blocks, time, work):
    """What schedules say to all lanes."""
    i = int(work[form.segments * WIDTH])
    segment = segments[0, i]
    passed = time - segment.begin
    form.decay = segment.decay + segment.decay_slope * passed
    form.batch = max(1, int(np.rint(segment.batch + segment.batch_slope * passed)))
    form.label_noise = np.sqrt(segment.label_noise + segment.label_noise_slope * passed)
    for b in range(form.blocks):
        frames[b].root = np.sqrt(blocks[i, b].eigenvalue + blocks[i, b].slope * passed)


@compiled(strict=True, inline=True)
def set_numbers(form, frames, segments, blocks, step, work):
    """What schedules say at a step: rates over dim for each lane, all else for all of them; return the first step at which they may
    say otherwise. Segments are looked for where one may end."""
    time, fresh = step / form.dim, not form.since <= step < form.until
    if fresh:
        set_segments(form, segments, blocks, step, work)
    at = form.slopes
    passed = time - load(work, at)
    store(work, form.rate, (load(work, at + 1) + load(work, at + 2) * passed) / form.dim)
    if fresh or form.train_readout or form.train_bias:
        store(work, form.readout_rate, (load(work, at + 3) + load(work, at + 4) * passed) / form.dim)
    if fresh or form.others_sloped or form.cases > 0:  # cases move the roots of eigenvalues elsewhere
        set_others(form, frames, segments, blocks, time, work)
    return step + 1.0 if form.sloped else form.until


@compiled(strict=True, inline=True)
def tell(process, step):
    """Set what schedules say at a step; the first step at which they may say otherwise."""
    forms, frames, _, segments, blocks, _, _, work = process
    return set_numbers(forms[0], frames, segments, blocks, step, work)


@compiled(strict=True, inline=True)
def take(process, more, step):  # noqa: ARG001
    """One step; `more` and the number of the step are for others."""
    forms, frames, numbers, _, _, stream, state, work = process
    form = forms[0]
    if BATCHES and not form.single:
        clear_sums(form, work)
        for _ in range(form.batch):
            draw(form, frames, stream, work)
            fields(form, frames, state, work)
            amplitudes(form, numbers, state, work)
            collect(form, frames, work)
        learn_batch(form, frames, stream, state, work)
        return
    draw(form, frames, stream, work)
    fields(form, frames, state, work)
    amplitudes(form, numbers, state, work)
    learn(form, frames, state, work)


@compiled(strict=True, inline=True)
def advance(tell, take, more, look, observe, process, sight, runs, ends, span):
    """The loop of all kinds of problems, which `tell` and `take` make: the steps begin..end, with a look at every multiple of
    `stride`; `span` is these three and the direction of the threshold. The step it came to, an earlier one if no run goes on."""
    begin, end, stride, direction = span
    due = float(begin)
    for step in range(begin, end):
        if step >= due:
            due = tell(process, float(step))
        take(process, more, step)
        if (step + 1) % stride == 0 and look(observe, process, sight, runs, ends, step + 1, direction) <= 0:
            return step + 1
    return end


SPAN = types.UniTuple(int64, 4)
FOLLOWED = LOOK, SYSTEM_FUNCTION, PROCESS_DATA, SIGHT, from_dtype(RUN)[::1], float64[:, ::1], SPAN


@compiled(int64(*FOLLOWED), strict=True)
def follow(look, observe, process, sight, runs, ends, span):
    """Of problems without cases."""
    return advance(tell, take, (), look, observe, process, sight, runs, ends, span)
