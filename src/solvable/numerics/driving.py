"""One loop for every integrator: outputs, breaks, thresholds, rest, divergence, interruption and the lengths of steps.

A system is a set of compiled functions, handed over by address, so that one compiled loop serves all systems with the same kind of
data: `observe` writes the few scalars that outputs and thresholds look at, the others say how the state moves. All are called with
the number of the smooth segment they are in (a system may jump at `breaks`; steps land on them), the time, two arrays and the data:

    rhs(segment, t, y, dy, *data)        observe(segment, t, y, seen, *data)

A method is a set of inner kernels, which are compiled into the loop:

    arrive(system, control, report, memory, data)        make ready at a new state: its slope, the longest step from here
    attempt(system, control, report, h, memory, data)    write the state after h as TRIAL; its error (1: what is allowed), its size
    interpolate(system, control, report, h, theta, memory, out, data)    the state at a fraction of the step that was attempted

and a `pace`: (safety, order of the error, exponents of this error and of the last, largest growth of a step, whether steps land on
outputs, because interpolation costs as much as a step). All arrays come from the caller. `memory` has one row per vector of the
method: the state Y, the TRIAL, a SPARE one for the driver, the SLOPE of the state, and its own.
"""

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.control import SLOPE, SPARE, TRIAL, Y
from solvable.numerics.ending import Ending
from solvable.numerics.kernel_types import apart
from solvable.numerics.vectors import copy

GOING, PAUSED = -1, -2  # no ending yet; the next call goes on
EDGE = 1e-3  # of a step: where a threshold is looked for beside its ends
GROWN = 1e-7  # of the bound: what cannot go on has diverged if it has grown beyond this, and stalled if not


@compiled()
def quickness(y, dy):
    """One over the time in which the state moves by its own size."""
    ratio = 0.0
    for i in range(y.size):
        ratio = max(ratio, abs(dy[i]) / (abs(y[i]) + 1e-3))
    return ratio


@compiled()
def first_step(y, dy, span, rtol):
    """A cautious first step: a hundredth of the time in which the state moves by its own size."""
    ratio = quickness(y, dy)
    if ratio == 0.0:
        return span
    return min(span, 0.01 * max(rtol, 1e-12) ** 0.1 / ratio)


@compiled()
def step_after(before, report, y, dy, rtol):
    """The first step of a segment, in which the state moves by dy: as long as the last one, but for how much quicker it moves than
    with the quickness `before`, and no shorter than a cautious one, which it is where the state hardly moved."""
    now, cautious = quickness(y, dy), first_step(y, dy, report.end - report.time, rtol)
    if report.accepted == 0 or not before > 0.0:
        return cautious
    return max(cautious, report.step * min(5.0, before / now)) if now > 0.0 else 5.0 * report.step


@compiled()
def largest(y):
    """Largest |component|; NaN if anything is."""
    size = 0.0
    for i in range(y.size):
        if y[i] != y[i]:
            return np.nan
        size = max(size, abs(y[i]))
    return size


@compiled()
def at_rest(y, dy, span, rtol, vanished):
    """Whether going on like this for a whole `span` would move nothing beyond rtol: relative to each component, so that
    small ones that grow are not overlooked; relative to the largest where the state has `vanished` for good."""
    size = 0.0
    for i in range(y.size):
        size = max(size, abs(y[i]))
    for i in range(y.size):
        if not abs(dy[i]) * span <= rtol * (size if vanished else abs(y[i])):
            return False
    return True


@compiled()
def crossed(control, seen):
    return control.watched >= 0 and (seen[control.watched] - control.level) * control.direction >= 0.0


@compiled()
def write(report, y, seen, outputs):
    """The present state as the next output."""
    copy(seen, outputs[report.saved, : seen.size])
    copy(y, outputs[report.saved, seen.size :])
    report.saved += 1


@compiled()
def begin(system, control, report, course, memory, data):
    """At the first state: its scalars, the outputs that are not later, its segment; whether the threshold is crossed already."""
    apart()
    times, breaks, outputs = course
    y = memory[Y]
    seen = outputs[times.size, : outputs.shape[1] - y.size]
    copy(outputs[times.size, seen.size :], y)
    report.ending, report.time, report.end, report.fresh = GOING, control.begin, times[times.size - 1], 1
    report.step, report.longest, report.error, report.stiffness = np.inf, np.inf, 1e-4, 0.0
    report.evaluations, report.accepted, report.rejected = 0, 0, 0
    report.segment, report.saved, report.wanted, report.dense = 0, 0, 0, 0
    while report.segment < breaks.size and breaks[report.segment] <= report.time:
        report.segment += 1
    system[0](report.segment, report.time, y, seen, *data)
    while report.saved < times.size and times[report.saved] <= report.time:
        write(report, y, seen, outputs)
    if crossed(control, seen):
        report.ending = Ending.STOPPED
    elif report.saved == times.size:
        report.ending = Ending.FINISHED


@compiled()
def ends(control, report, course, memory):
    """Whether the run is over before another step: interrupted, at rest, or out of steps; or pauses."""
    times, breaks, outputs = course
    y = memory[Y]
    seen = outputs[times.size, : outputs.shape[1] - y.size]
    span = report.end - control.begin
    if report.interrupt != 0:
        report.ending = Ending.INTERRUPTED
    elif report.pause > 0 and report.accepted + report.rejected >= report.pause:
        report.ending = PAUSED
    elif (
        control.rests != 0
        and report.segment == breaks.size
        and (report.fresh == 0 or report.accepted == 0)  # what was at rest before a jump may be unstable after it
        and at_rest(y, memory[SLOPE], span, control.rtol, seen[0] <= control.floor)
    ):
        report.ending = Ending.CONVERGED
        while report.saved < times.size:
            write(report, y, seen, outputs)
    elif report.accepted + report.rejected >= control.max_steps:
        report.ending = Ending.STEP_LIMIT
    return report.ending != GOING


@compiled()
def reject(control, report, pace, h, error):
    """Try a shorter step, unless it would be too short to count."""
    safety, order = pace[0], pace[1]
    report.rejected += 1
    report.step = h * (max(0.2, safety * error ** (-1.0 / order)) if np.isfinite(error) else 0.2)
    if not report.step > 1e-14 * max(abs(report.time), 1e-300):
        computed = error == error and report.size <= GROWN * control.bound
        report.ending = Ending.STALLED if computed else Ending.DIVERGED


@compiled()
def beyond(interpolate, system, control, report, h, theta, course, memory, data):
    """How far beyond the threshold the state is at a fraction of the step."""
    apart()
    outputs, state = course[2], memory[SPARE]
    seen = outputs[outputs.shape[0] - 1, : outputs.shape[1] - state.size]
    interpolate(system, control, report, h, theta, memory, state, data)
    system[0](report.segment, report.time + theta * h, state, seen, *data)
    return (seen[control.watched] - control.level) * control.direction


@compiled()
def peak(interpolate, system, control, report, h, course, memory, data, places, values):
    """A fraction of the step at which the threshold is passed, or 1: by parabolas through the highest value and those beside it,
    until one is right and stays below."""
    apart()
    a, b, c = places
    low, best, high = values
    for _ in range(20):
        rise, fall = (best - low) / (b - a), (best - high) / (c - b)
        if not rise + fall > 0.0:
            return 1.0
        aside = 0.5 * (rise * (c - b) - fall * (b - a)) / (rise + fall)
        promised = best + (rise + fall) / (c - a) * aside * aside
        if abs(aside) < 1e-3 * (c - a):  # so that both sides close in
            aside = (1e-3 if c - b > b - a else -1e-3) * (c - a)
        theta = b + aside
        found = beyond(interpolate, system, control, report, h, theta, course, memory, data)
        if found >= 0.0:
            return theta
        if promised < 0.0 and abs(found - promised) <= -0.1 * promised:
            return 1.0
        if found > best:
            a, low, c, high = (b, best, c, high) if aside > 0.0 else (a, low, b, best)
            b, best = theta, found
        else:
            a, low, c, high = (a, low, theta, found) if aside > 0.0 else (theta, found, c, high)
    return 1.0


@compiled()
def passing(interpolate, system, control, report, h, course, memory, data, before):
    """A fraction of the step at which the threshold is passed although it is not at the ends, 1 if there is none: by a look near
    both ends and in the middle, and for a peak around those that are higher than their neighbours. One peak is not missed, of
    several perhaps."""
    apart()
    times, _, outputs = course
    seen = outputs[times.size, : outputs.shape[1] - memory.shape[1]]
    first, watched = seen[0], seen[control.watched]
    after = (watched - control.level) * control.direction
    near, middle, far, found = -np.inf, -np.inf, -np.inf, 1.0
    for theta in (EDGE, 0.5, 1.0 - EDGE):
        near, middle, far = middle, far, beyond(interpolate, system, control, report, h, theta, course, memory, data)
        if far >= 0.0:
            return theta
    if near >= before and near >= middle:
        places, values = (0.0, EDGE, 0.5), (before, near, middle)
        found = peak(interpolate, system, control, report, h, course, memory, data, places, values)
    if found == 1.0 and middle >= near and middle >= far:
        places, values = (EDGE, 0.5, 1.0 - EDGE), (near, middle, far)
        found = peak(interpolate, system, control, report, h, course, memory, data, places, values)
    if found == 1.0 and far >= middle and far >= after:
        places, values = (0.5, 1.0 - EDGE, 1.0), (middle, far, after)
        found = peak(interpolate, system, control, report, h, course, memory, data, places, values)
    if found == 1.0:
        seen[0] = first
        seen[control.watched] = watched
    return found


@compiled()
def crossing(interpolate, system, control, report, h, course, memory, data, below, high):
    """The fraction of the step at which the threshold is crossed, by false position, safeguarded by halving; `below` is how far
    from it the step began, at the fraction `high` it was passed, as the scalars say."""
    apart()
    outputs = course[2]
    seen = outputs[outputs.shape[0] - 1, : outputs.shape[1] - memory.shape[1]]
    low, above, rounds = 0.0, (seen[control.watched] - control.level) * control.direction, 0
    while high - low > 2e-15 and rounds < 200:
        rounds += 1
        theta = 0.5 * (low + high)
        if rounds % 3 != 0 and below < above:
            theta = low - below * (high - low) / (above - below)
            theta = min(max(theta, low + 1e-15), high - 1e-15)
        excess = beyond(interpolate, system, control, report, h, theta, course, memory, data)
        if excess >= 0.0:
            high, above, below = theta, excess, 0.5 * below
        else:
            low, below, above = theta, excess, 0.5 * above
    return high


@compiled()
def save(interpolate, system, control, report, h, until, course, memory, data):
    """Outputs within the step that are not later than `until`."""
    apart()
    times, breaks, outputs = course
    scalars = outputs.shape[1] - memory.shape[1]
    while report.saved < times.size and times[report.saved] <= until:
        t, row = times[report.saved], outputs[report.saved]
        theta = (t - report.time) / h
        if theta < 1.0:
            interpolate(system, control, report, h, theta, memory, row[scalars:], data)
        else:
            copy(memory[TRIAL], row[scalars:])
        jumps = report.segment < breaks.size and t == breaks[report.segment]  # what begins at a jump is seen at it
        system[0](report.segment + 1 if jumps else report.segment, t, row[scalars:], row[:scalars], *data)
        report.saved += 1


@compiled()
def stop(interpolate, system, control, report, h, course, memory, data, below, high):
    """End at the threshold within the step."""
    apart()
    theta = crossing(interpolate, system, control, report, h, course, memory, data, below, high)
    save(interpolate, system, control, report, h, report.time + theta * h, course, memory, data)
    interpolate(system, control, report, h, theta, memory, memory[SPARE], data)
    copy(memory[SPARE], memory[Y])
    report.ending, report.time = Ending.STOPPED, report.time + theta * h


@compiled()
def move(control, report, pace, h, t, error, lands, breaks, memory):
    """Go on from the trial, which is accepted: the length of the next step, by this error and the one before it. A step that was
    cut short to land does not shorten the next."""
    safety, _, now, before, most, _ = pace
    grown = h * min(most, max(0.2, safety * max(error, 1e-10) ** -now * report.error**before))
    report.step = max(report.step, grown) if lands and grown >= h else grown
    report.error, report.time, report.fresh = max(error, 1e-4), t, 0
    copy(memory[TRIAL], memory[Y])
    if lands and report.segment < breaks.size and t == breaks[report.segment]:
        report.segment += 1
        report.fresh = 1
    if not report.size <= control.bound:
        report.ending = Ending.DIVERGED
    elif t >= report.end:
        report.ending = Ending.FINISHED


@compiled(inline=True)
def step(attempt, interpolate, pace, system, control, report, course, memory, data):
    """One attempt; if it is accepted, whatever lies within it. Whether there is a new state to go on from."""
    times, breaks, outputs = course
    target = report.end
    if report.segment < breaks.size and breaks[report.segment] < target:
        target = breaks[report.segment]
    if pace[5] and times[report.saved] < target:
        target = times[report.saved]
    h = min(report.step, report.longest)
    lands = report.time + 1.01 * h >= target
    if lands:
        h = target - report.time
    seen = outputs[times.size, : outputs.shape[1] - memory.shape[1]]
    report.wanted |= times[report.saved] < report.time + h
    report.dense = 0
    error, report.size = attempt(system, control, report, h, memory, data)
    if not error <= 1.0:
        reject(control, report, pace, h, error)
        return False
    report.accepted += 1
    t = target if lands else report.time + h
    before = (seen[max(control.watched, 0)] - control.level) * control.direction
    system[0](report.segment, t, memory[TRIAL], seen, *data)
    passes, theta = crossed(control, seen), 1.0
    if control.watched >= 0 and not passes and not pace[5]:
        theta = passing(interpolate, system, control, report, h, course, memory, data, before)
        passes = theta < 1.0
    if seen[0] != seen[0]:
        report.ending = Ending.DIVERGED
    elif passes and report.wanted == 0:
        report.step, report.wanted = h, 1  # once more, with an error that counts interpolation
        system[0](report.segment, report.time, memory[Y], seen, *data)
    elif passes:
        stop(interpolate, system, control, report, h, course, memory, data, before, theta)
    else:
        if report.saved < times.size and times[report.saved] <= t:
            save(interpolate, system, control, report, h, t, course, memory, data)
        move(control, report, pace, h, t, error, lands, breaks, memory)
        if report.fresh != 0 and report.ending != Ending.DIVERGED:  # scalars may jump with the system
            system[0](report.segment, report.time, memory[Y], seen, *data)
            if crossed(control, seen):
                report.ending = Ending.STOPPED
        return report.ending == GOING
    return False


@compiled(inline=True)
def drive(arrive, attempt, interpolate, pace, system, control, report, course, memory, data):
    """Follow a system from its first state, in the last row of `outputs`, through `times`.

    `system` is `observe` and what the method asks for, `course` the output times, the breaks and the outputs, a row for each time
    (scalars, then the state; NaN where not reached) and one for the last state. Errors are measured by their maximum over the
    components, so that many small ones do not dilute a bad one. The run ends when a scalar crosses its threshold (and if it returns
    within the same step, but for methods that land on outputs: they interpolate at the cost of a step), when the state
    passes its bound or the first scalar is NaN (diverged), when a whole run from here would move nothing beyond the tolerance
    (converged: the outputs that are left repeat the state), after so many steps, when steps become too short, or when another
    thread sets `report.interrupt`. `report.time` is the present. Where it pauses, another call with the same arguments goes on as
    if there had been no pause.
    """
    outputs = course[2]
    if report.ending == PAUSED:
        report.ending = GOING
    else:
        begin(system, control, report, course, memory, data)
        if report.ending == GOING:
            arrive(system, control, report, memory, data)
    while report.ending == GOING and not ends(control, report, course, memory):
        if step(attempt, interpolate, pace, system, control, report, course, memory, data):
            arrive(system, control, report, memory, data)
    copy(memory[Y], outputs[outputs.shape[0] - 1, outputs.shape[1] - memory.shape[1] :])
