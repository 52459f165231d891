"""Kicks where samples come in cases: each of the sampled steps draws its case, so that the scatter between cases is in the noise.

In place of deviations from the mean, half of the samples count with the opposite sign: sqrt(n/m) times their sum then has mean
zero and the covariance of n samples, whatever the mean of one is. The F F^T of a block count with the variance of their cases.
"""

import math
from typing import Any

from solvable.dynamics.case_sample import case_amplitudes, case_fields, draw_case, of_head, set_chances
from solvable.dynamics.equations import batch_at, eigenvalue_at, label_noise_at, rate_at, readout_rate_at
from solvable.dynamics.kernel_data import DRIFT, NOISE
from solvable.dynamics.own import in_python
from solvable.dynamics.sample import draw
from solvable.meso import leap
from solvable.meso.leap import factor, mean, multiply, normalise, push, spread
from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import WIDTH, fill, fma, load, put, store


@compiled(strict=True)
def collect_case(form, frames, work, sums):
    """Add eight samples: F (z, g)^T for each block, F F^T for each block, and what pushes the readouts of each head."""
    at, p, sign = 0, form.students, fill(1.0)
    for lane in range(WIDTH // 2):
        sign = put(sign, lane, -1.0)
    for b in range(form.blocks):
        width, z = frames[b].rank + p, frames[b].draws + form.seen
        for k in range(p):
            f = sign * load(work, form.amplitudes + k)
            for i in range(width):
                store(sums, at, fma(f, load(work, z + i), load(sums, at)))
                at += 1
    for b in range(form.blocks):
        scale = load(work, form.spreads + b)
        variance = sign * scale * scale
        for k in range(p):
            f = variance * load(work, form.amplitudes + k)
            for j in range(k + 1):
                store(sums, at, fma(f, load(work, form.amplitudes + j), load(sums, at)))
                at += 1
    for t in range(form.heads):
        for k in range(p):
            one = of_head(form, work, t, load(work, form.pushes + k))
            store(sums, at, fma(sign, one, load(sums, at)))
            at += 1


def sums_of(blocks: int, students: int, rows: int, heads: int) -> int:
    """How many sums `collect_case` keeps."""
    return blocks * (students * rows + students * (students + 1) // 2) + heads * students


@compiled(strict=True)
def gather_cases(sampler, rounds):
    forms, frames, numbers, stream, state, work, sums = sampler
    form = forms[0]
    sums[:] = 0.0
    for _ in range(rounds):
        draw(form, frames, stream, work)
        draw_case(form, frames, numbers, stream, state, work)
        case_fields(form, frames, state, work)
        case_amplitudes(form, numbers, state, work)
        collect_case(form, frames, work, sums)


@compiled(strict=True)
def kick_cases(_rhs, h, alpha, segment, y, data, sampler, geometry, _slope, rounds):
    """As `leap.kick`."""
    problem, blocks, work, sums = data[0][segment], data[1], data[4], sampler[6]
    form, frames = sampler[0][0], sampler[1]
    p, n, batch = problem.students, problem.rows, batch_at(problem, alpha)
    rounds = max(1, min(rounds, int(h * form.dim * batch / WIDTH)))
    samples = rounds * WIDTH
    factor(y, problem, geometry[1], geometry[2])
    spread(form, frames, geometry[2], y, n - p, sampler[4])
    form.label_noise = math.sqrt(label_noise_at(problem, alpha))
    for b in range(problem.blocks):
        frames[b].root = math.sqrt(eigenvalue_at(problem, blocks[segment, b], alpha))
    set_chances(form, frames, sampler[2], segment, alpha - problem.begin, sampler[5])
    gather_cases(sampler, rounds)
    work[DRIFT], work[NOISE] = 0.0, 0.0  # sums have mean zero
    size, eta, at = math.sqrt(h * samples / (form.dim * batch)), rate_at(problem, alpha), problem.blocks * p * n
    for b in range(problem.blocks):
        push(b, eta * size, 1.0, samples, problem, work, sums, geometry)
        outside = eta * eta * blocks[segment, b].fraction / batch * size
        multiply(b, outside, samples, problem, y, work, sums, geometry[0], at)
        at += p * (p + 1) // 2
    if problem.train_readout:
        readouts = problem.heads * p
        for k in range(readouts):
            y[y.size - readouts + k] += size * readout_rate_at(problem, alpha) * mean(sums, at + k, samples)
    if problem.sphere:
        normalise(y, problem, geometry[3])


def _variant(kernel: Any, name: str, **others: Any) -> Any:
    """The Python of a kernel, with other kernels in the place of those that it calls by these names."""
    function = in_python(kernel, **others)
    function.__module__, function.__name__, function.__qualname__ = __name__, name, name
    return function


leap_cases = compiled(strict=True)(_variant(leap.leap, "leap_cases", kick=kick_cases))
follow_cases = compiled(leap.follow.declared, strict=True, allocates=True)(
    _variant(leap.follow, "follow_cases", leap=leap_cases)
)
