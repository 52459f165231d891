"""Random numbers for eight runs at once. Each lane has a stream of its own, so a run draws the same numbers wherever it sits.

A stream is xoshiro256++ (Blackman and Vigna 2021), seeded from a tree of seeds: one key for each run. Normal numbers are made
by Box and Muller's transformation, squares of chi by the method of Marsaglia and Tsang (2000).
"""

import math
from enum import IntEnum

import numpy as np

from solvable.numerics.compiled import compiled
from solvable.numerics.lanes import (
    WIDTH,
    any_above,
    as_lanes,
    as_words,
    fill,
    fma,
    get,
    load,
    put,
    root,
    store,
    where_above,
)

STREAM = 4  # words of a stream
_U = np.uint64
_ONE, _MANTISSA, _TWO52 = _U(0x3FF0000000000000), _U(0x000FFFFFFFFFFFFF), _U(0x4330000000000000)
_1, _11, _12, _17, _19, _23, _41, _45, _52, _63 = (_U(n) for n in (1, 11, 12, 17, 19, 23, 41, 45, 52, 63))
_LN2, _SQRT2 = math.log(2.0), math.sqrt(2.0)
# log((1 + s) / (1 - s)) / s in powers of s^2, best on s <= (sqrt 2 - 1) / (sqrt 2 + 1): error 2e-18
_LOG = (
    2.0, 0.6666666666666765, 0.3999999999930234, 0.2857142876064168, 0.22222197056726047, 0.1818363168022933,
    0.1531252814836419, 0.14809710360655277,
)  # fmt: skip
_SIN = tuple((-1) ** k * (math.pi / 2) ** (2 * k + 1) / math.factorial(2 * k + 1) for k in range(8))
_COS = tuple((-1) ** k * (math.pi / 2) ** (2 * k) / math.factorial(2 * k) for k in range(9))


class Purpose(IntEnum):
    """What random numbers are drawn for: the first branch from a user's seed, so that no two uses of one seed share a stream."""

    REDUCED = 0
    FULL_WEIGHTS = 1
    TEST_ROWS = 2
    DIFFUSION = 3
    FLOW = 4
    DESCENT = 5
    DATA_LIMIT = 6
    RECOVERY = 7
    NOISY_STARTS = 8


def seed_sequence(seed: int | np.random.SeedSequence) -> np.random.SeedSequence:
    return seed if isinstance(seed, np.random.SeedSequence) else np.random.SeedSequence(seed)


def child(seed: int | np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """The seed at `key` of the tree that grows from `seed`: the same however many others are drawn."""
    root_ = seed_sequence(seed)
    return np.random.SeedSequence(root_.entropy, spawn_key=(*root_.spawn_key, *key))


def streams(seeds: list[np.random.SeedSequence]) -> np.ndarray:
    """Streams of up to eight runs, flat slots; lanes without a run repeat the first."""
    words = [seed.generate_state(STREAM, np.uint64) for seed in seeds]
    return np.stack([words[i] if i < len(words) else words[0] for i in range(WIDTH)], axis=1).ravel()


@compiled(strict=True, inline=True)
def word(stream):
    """Eight random words."""
    a, b, c, d = load(stream, 0), load(stream, 1), load(stream, 2), load(stream, 3)
    t = a + d
    result = ((t << _23) | (t >> _41)) + a
    t = b << _17
    c = c ^ a
    d = d ^ b
    b = b ^ c
    a = a ^ d
    store(stream, 0, a)
    store(stream, 1, b)
    store(stream, 2, c ^ t)
    store(stream, 3, (d << _45) | (d >> _19))
    return result


@compiled(strict=True, inline=True)
def _horner(coefficients, x):
    total = fill(coefficients[-1])
    for i in range(len(coefficients) - 2, -1, -1):
        total = fma(total, x, fill(coefficients[i]))
    return total


@compiled(strict=True, inline=True)
def _minus_log(u):
    """-log u for u in (0, 1]."""
    bits = as_words(u)
    exponent = as_lanes((bits >> _52) | _TWO52) - 4503599627371519.0  # 2^52 + 1023
    m = as_lanes((bits & _MANTISSA) | _ONE)
    edge = fill(_SQRT2)
    exponent = where_above(m, edge, exponent + 1.0, exponent)
    m = where_above(m, edge, m * 0.5, m)
    s = (m - 1.0) / (m + 1.0)
    return fma(exponent, fill(-_LN2), 0.0 - s * _horner(_LOG, s * s))


@compiled(strict=True, inline=True)
def uniform(stream):
    """Eight numbers in (0, 1]."""
    return 2.0 - as_lanes((word(stream) >> _12) | _ONE)


@compiled(strict=True, inline=True)
def normals(stream, out, first, count):
    """Fill slots [first, first + count) of `out` with normal numbers; draws an even number of them."""
    for i in range(0, count, 2):
        r = root(2.0 * _minus_log(uniform(stream)))
        bits = word(stream)
        v = as_lanes((bits >> _12) | _ONE) - 1.5  # angle in right angles from -1/2 to 1/2; two bits choose the quadrant
        s, c = _horner(_SIN, v * v) * v * r, _horner(_COS, v * v) * r
        sign = bits << _63
        swap, zero = as_lanes(((bits >> _1) << _63) | _ONE), fill(0.0)
        store(out, first + i, as_lanes(as_words(where_above(swap, zero, c, s)) ^ sign))
        if i + 1 < count:
            store(out, first + i + 1, as_lanes(as_words(where_above(swap, zero, s, c)) ^ sign))


@compiled(strict=True, inline=True)
def _lane_uniform(stream, lane):
    """A number in (0, 1] from the stream of one lane alone."""
    a, b, c, d = stream[lane], stream[WIDTH + lane], stream[2 * WIDTH + lane], stream[3 * WIDTH + lane]
    t = a + d
    result = ((t << _23) | (t >> _41)) + a
    t = b << _17
    c ^= a
    d ^= b
    b ^= c
    a ^= d
    stream[lane], stream[WIDTH + lane], stream[2 * WIDTH + lane] = a, b, c ^ t
    stream[3 * WIDTH + lane] = (d << _45) | (d >> _19)
    return 2.0**-53 * (float(result >> _11) + 1.0)


@compiled(strict=True, inline=True)
def chi(stream, x, freedom):
    """Eight numbers of the chi distribution, of at least two degrees of freedom, from normal numbers x.

    The proposal d (1 + c x)^3 is accepted if log u < x^2/2 + d (1 - (1 + t)^3 + 3 log(1 + t)), t = c x; for |t| <= 1/4 the
    right side is at least -d t^4, so u < 1 - d t^4 decides for almost all draws without a logarithm.
    """
    d = 0.5 * freedom - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    u, t = uniform(stream), c * x
    sure = 1.0 - d * (t * t) * (t * t)
    if any_above(u, sure) or any_above(t * t, fill(0.0625)):
        for lane in range(WIDTH):
            y, chance, cx = get(x, lane), get(u, lane), get(t, lane)
            if chance <= get(sure, lane) and cx * cx <= 0.0625:
                continue
            while cx <= -1.0 or (math.log(chance) >= 0.5 * y * y + d * (1.0 - (1.0 + cx) ** 3 + 3.0 * math.log1p(cx))):
                radius = math.sqrt(-2.0 * math.log(_lane_uniform(stream, lane)))
                y = radius * math.cos(2.0 * math.pi * _lane_uniform(stream, lane))
                chance, cx = _lane_uniform(stream, lane), c * y
            t = put(t, lane, cx)
    v = t + 1.0
    return root(2.0 * d * v * v * v)
