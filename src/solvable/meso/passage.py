"""Where a path of the diffusion meets its threshold within a leap.

Within a leap the mean follows the dense output of its step, and what the two kicks added grows in proportion to time: the line of
the leap. The noise leaves it as a Brownian bridge, which is zero at both ends. To first order what is watched does so too,

    f(theta) = f(line at theta) + b(theta),    b a Brownian bridge with the variance sigma^2 h theta (1 - theta)

where sigma^2 is the variance that kicks give to what is watched in a unit of time: that of a few kicks with samples of their own.
The leap is halved, and the bridge drawn there, until the line is straight within its noise or too far from the level. Let a > 0
and b be the distances from the level at the ends of a straight stretch, and s^2 = sigma^2 times its length. If b <= 0 the level is
passed for sure, else with the probability exp(-2 a b/s^2). Given that, the first passage is at the share u/(1 + u) of the stretch,
where u has the inverse Gaussian distribution of mean a/|b| and shape a^2/s^2: the bridge at the share t, divided by 1 - t, is a
Brownian motion with drift in the time t/(1 - t), and by reflection the sign of b does not matter.

All that is drawn here comes from a stream of its own, so that a path is the same with and without a threshold, until it stops, if
its leaps are: a run with a threshold on the largest of several entries takes more of them (`level.MANY_LEAPS`), because the noise
of the largest is not that of one.
"""

import math

import numpy as np

from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED
from solvable.meso.leap import kick, restore
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, store
from solvable.numerics.random import STREAM, normals, uniform
from solvable.numerics.tsit5 import dense
from solvable.numerics.vectors import copy

UNKNOWN = -1.0  # by how much what is watched has moved in recent leaps, and its variance
NEVER = 2.0  # the share of a leap at which a threshold is met that is not
KEEPS = 0.7  # of how far what is watched moved, from one leap to the next
GROWS = 2.0  # the variance that was found, at most from one leap to the next
FAR = 3.0  # times farther than what is watched moved lately: the level is not met within a leap
CLEAR = 4.0  # times the noise away from the level at both ends: it is met with a chance below exp(-32)
KICKS = 10.0  # times what the two kicks of a leap did: by chance that may be a few times less than the noise
PROBES = 32  # kicks that tell the variance: its error makes passages by noise some 1/32 too rare or too frequent
PART = 0.01  # of a leap: the time of such a kick, so short that what is watched answers in proportion
STRAIGHT = 0.05  # of its noise: what a stretch may bend to count as straight
LONGEST, SHORTEST, DEEPEST = 0.25, 2.0**-40, 64  # stretches of a leap, and how many are waiting at most
LOOKS = 4096  # within a leap, after which stretches count as straight: what is watched is no smooth function there
EXACT = 1e-13  # what is watched is right to this part


@compiled(strict=True)
def two_draws(stream, draws):
    """A normal number as draws[0], and one in (0, 1] as draws[WIDTH]."""
    normals(stream, draws, 0, 1)
    store(draws, 1, uniform(stream))


@compiled(strict=True)
def on_line(theta, h, y, steps, out):
    """The state at a share of a leap that ended at y, without the bridge."""
    k, before, base, trial = steps
    dense(theta, h, base, k, out)
    for i in range(y.size):
        out[i] += theta * (y[i] - trial[i]) - (1.0 - theta) * (base[i] - before[i])


@compiled(strict=True)
def distance(observe, place, theta, y, data, path, steps, out, seen):
    """How far what is watched is from its level on the line, negative beyond it."""
    h, alpha, segment = place
    on_line(theta, h, y, steps, out)
    observe(segment, alpha + theta * h, out, seen, *data)
    return path.direction * (path.level - seen[WATCHED])


@compiled(strict=True)
def passing_share(a, b, noise, draws):
    """The share of a straight stretch after which the level is first passed, given that it is, from two draws."""
    mean = a / max(abs(b), 1e-12 * a)
    r = 0.5 * mean * (noise * draws[0] / a) ** 2
    u = mean / (1.0 + r + math.sqrt(r * (r + 2.0)))  # the smaller root of Michael, Schucany and Haas (1976)
    if draws[WIDTH] * (mean + u) > mean:
        u = mean * mean / u
    return u / (1.0 + u)


@compiled(strict=True, allocates=True)
def probe(functions, place, y, data, sampler, geometry, along):
    """Variance of what is watched in a unit of time at y, by kicks; and into `along` how the state moves with what is watched, by
    regression. Zero where noise does not move it."""
    (rhs, observe), (h, alpha, segment) = functions, place
    moves, changes, slope, seen = np.empty((PROBES, y.size)), np.empty(PROBES), np.empty_like(y), np.empty(SEEN)
    for n in range(PROBES):
        copy(y, moves[n])
        kick(rhs, PART * h, alpha, segment, moves[n], data, sampler, geometry, slope, 1)
        observe(segment, alpha, moves[n], seen, *data)
        changes[n] = seen[WATCHED]
    size, centre, total = abs(changes[0]), changes.sum() / PROBES, 0.0
    for n in range(PROBES):
        changes[n] -= centre
        total += changes[n] * changes[n]
    if not total > PROBES * (EXACT * size) ** 2:
        return 0.0
    for n in range(PROBES):
        for i in range(y.size):
            along[i] += changes[n] / total * (moves[n, i] - y[i])
    return total / ((PROBES - 1) * PART * h)


@compiled(strict=True, allocates=True)
def first_passage(observe, place, y, data, path, steps, ends, variance, stream):
    """The share of a leap at which the level is first passed, or NEVER; `ends` are the distances from it at the leap's ends."""
    out, seen, draws = np.empty_like(y), np.empty(SEEN), np.empty(2 * WIDTH)
    waiting, top = np.empty((DEEPEST, 3)), 0  # right ends of stretches: share, distance of the line, bridge
    waiting[0, 0], waiting[0, 1], waiting[0, 2] = 1.0, ends[1], 0.0
    left, line, bridge, looks = 0.0, ends[0], 0.0, 0
    while top >= 0:
        looks += 1
        right, goal, there = waiting[top, 0], waiting[top, 1], waiting[top, 2]
        width, a, b = right - left, line + bridge, goal + there
        noise, middle = math.sqrt(variance * place[0] * width), 0.5 * (left + right)
        between = distance(observe, place, middle, y, data, path, steps, out, seen)
        bend = abs(between - 0.5 * (line + goal))
        clear = min(a, b) > CLEAR * noise + 2.0 * bend
        fine = width < SHORTEST or top + 1 == DEEPEST or looks > LOOKS or between != between
        if (width > LONGEST and between == between) or not (clear or fine or bend <= STRAIGHT * noise):
            two_draws(stream, draws)
            top += 1
            waiting[top, 0], waiting[top, 1] = middle, between
            waiting[top, 2] = 0.5 * (bridge + there + noise * draws[0])
            continue
        if not clear:
            two_draws(stream, draws)
            if b <= 0.0 or (noise > 0.0 and draws[WIDTH] < math.exp(-2.0 * a * b / (noise * noise))):
                two_draws(stream, draws)
                return left + width * passing_share(a, b, noise, draws)
        left, line, bridge = right, goal, there
        top -= 1
    return NEVER


@compiled(strict=True, allocates=True)
def stop_at(functions, place, theta, y, data, sampler, geometry, path, along, seen):
    """From the state on the line at this share of the leap, y, that at the level: with the noise of a bridge there, then moved as
    far as what is watched is from its level, in the direction in which noise moves both."""
    (rhs, observe), (h, alpha, segment), problem = functions, place, data[0][place[2]]
    kick(
        rhs,
        theta * (1.0 - theta) * h,
        alpha + theta * h,
        segment,
        y,
        data,
        sampler,
        geometry,
        np.empty_like(y),
        path.rounds,
    )
    restore(y, problem, geometry)
    slope, moved, last = 1.0, 0.0, 0.0
    for _ in range(20):
        observe(segment, alpha + theta * h, y, seen, *data)
        missing = path.level - seen[WATCHED]
        if abs(missing) <= EXACT * abs(path.level):
            return
        if moved != 0.0:
            slope = min(max((last - missing) / moved, 0.2), 5.0)
        last, moved = missing, missing / slope
        for i in range(y.size):
            y[i] += moved * along[i]
        restore(y, problem, geometry)


@compiled(strict=True)
def is_clear(observe, place, y, data, path, steps, ends, seen):
    """Whether the line and its noise stay away from the level: as the two kicks of the leap show it, or as was found lately."""
    (h, alpha, segment), (k, _, base, trial) = place, steps
    observe(segment, alpha, base, seen, *data)
    first = path.direction * (path.level - seen[WATCHED]) - ends[0]
    observe(segment, alpha + h, trial, seen, *data)
    last = path.direction * (path.level - seen[WATCHED]) - ends[1]
    a = distance(observe, place, 0.25, y, data, path, steps, k[7], seen)
    b = distance(observe, place, 0.5, y, data, path, steps, k[7], seen)
    c = distance(observe, place, 0.75, y, data, path, steps, k[7], seen)
    bend = max(abs(ends[0] - 2.0 * a + b), abs(a - 2.0 * b + c), abs(b - 2.0 * c + ends[1]))
    noise = KICKS * math.hypot(first, last)
    if path.variance > 0.0:
        noise = min(noise, CLEAR * math.sqrt(path.variance * h))
    return min(ends[0], ends[1], a, b, c) > bend + noise


@compiled(strict=True)
def may_pass(observe, place, y, data, path, steps, before, seen):
    """Whether the level may be passed within a leap that ended at y; `before` was watched at its beginning, `seen` is seen at y."""
    known, risk, watched = path.moved >= 0.0, seen[RISK], seen[WATCHED]
    path.moved = max(abs(watched - before), KEEPS * path.moved)
    path.variance *= GROWS
    ends = path.direction * (path.level - before), path.direction * (path.level - watched)
    if min(ends[0], ends[1]) <= 0.0:
        return True
    if known and min(ends[0], ends[1]) > FAR * path.moved:
        return False
    clear = is_clear(observe, place, y, data, path, steps, ends, seen)
    seen[RISK], seen[WATCHED] = risk, watched
    return not clear


@compiled(strict=True, allocates=True)
def passage(functions, place, y, data, sampler, geometry, path, steps, before, seen):
    """The share of a leap after which what is watched first passes its level, or NEVER. Where it does, y, which comes as the leap's
    end, becomes the state there, and `seen` what is seen at it; `before` was watched at the leap's beginning."""
    observe, h, line, along = functions[1], place[0], np.empty_like(y), np.zeros_like(y)
    ends = path.direction * (path.level - before), path.direction * (path.level - seen[WATCHED])
    forms, frames, numbers, stream, state, work, sums = sampler
    aside = forms, frames, numbers, stream[STREAM * WIDTH :], state, work, sums
    on_line(0.5, h, y, steps, line)
    restore(line, data[0][place[2]], geometry)
    variance = probe(functions, place, line, data, aside, geometry, along)
    path.variance = GROWS * variance
    theta = first_passage(observe, place, y, data, path, steps, ends, variance, aside[3])
    if theta < NEVER:
        on_line(theta, h, y, steps, line)
        copy(line, y)
        if variance > 0.0:
            stop_at(functions, place, theta, y, data, aside, geometry, path, along, seen)
        else:
            restore(y, data[0][place[2]], geometry)
            observe(place[2], place[1] + theta * h, y, seen, *data)
    return theta
