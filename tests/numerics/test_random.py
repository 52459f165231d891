"""The streams are xoshiro256++, the numbers have the laws they claim, and a run draws its own numbers wherever it sits."""

import math

import mpmath
import numpy as np
import pytest
from numba import njit
from scipy import stats

from seeds import seed
from solvable.numerics import random
from solvable.numerics.lanes import WIDTH, load, store
from solvable.numerics.random import chi, child, normals, streams, uniform, word

MASK = 2**64 - 1
EPS = 2.0**-52
RARE = 1e-6  # a chance that no test here may meet
FREEDOMS = [1.0, 2.0, 3.0, 10.0, 1e4, 1e9]  # one is what a block of a single direction leaves


@njit(error_model="numpy")
def words_of(stream, out):
    for i in range(out.size // WIDTH):
        store(out, i, word(stream))


@njit(error_model="numpy")
def uniforms_of(stream, out):
    for i in range(out.size // WIDTH):
        store(out, i, uniform(stream))


@njit(error_model="numpy")
def chis_of(stream, x, freedom, out):
    for i in range(x.size // WIDTH):
        store(out, i, chi(stream, load(x, i), freedom))


@njit(error_model="numpy")
def functions(x, minus_log, sine, cosine):
    """What normal numbers are made of; the angle is counted in right angles."""
    for i in range(x.size // WIDTH):
        u = load(x, i)
        v = u - 0.5
        store(minus_log, i, random._minus_log(u))
        store(sine, i, random._horner(random._SIN, v * v) * v)
        store(cosine, i, random._horner(random._COS, v * v))


def seeds(*keys: int, seed: int = 0) -> list[np.random.SeedSequence]:
    return [child(seed, key) for key in (keys or range(WIDTH))]


def sample(draw, stream: np.ndarray, count: int, *arguments) -> np.ndarray:
    """(count, 8): one column for each lane."""
    out = np.empty(count * WIDTH, dtype=np.uint64 if draw is words_of else float)
    draw(stream, *arguments, out)
    return out.reshape(count, WIDTH)


def normal_numbers(stream: np.ndarray, count: int) -> np.ndarray:
    out = np.empty(count * WIDTH)
    normals(stream, out, 0, count)
    return out.reshape(count, WIDTH)


def chi_numbers(stream: np.ndarray, count: int, freedom: float) -> np.ndarray:
    return sample(chis_of, stream, count, normal_numbers(stream, count).ravel(), freedom)


def rare_count(found: int, expected: float) -> bool:
    """Whether so many rare events, or so few, come once in a million times."""
    return min(stats.poisson.sf(found - 1, expected), stats.poisson.cdf(found, expected)) < RARE


def rotated(x: int, k: int) -> int:
    return (x << k | x >> (64 - k)) & MASK


def xoshiro(state: list[int], count: int) -> list[int]:
    """The published algorithm on Python's integers; `state` moves on."""
    drawn = []
    for _ in range(count):
        drawn.append((rotated((state[0] + state[3]) & MASK, 23) + state[0]) & MASK)
        t = state[1] << 17 & MASK
        state[2] ^= state[0]
        state[3] ^= state[1]
        state[1] ^= state[2]
        state[0] ^= state[3]
        state[2] ^= t
        state[3] = rotated(state[3], 45)
    return drawn


def stream_that_draws(*first: int) -> np.ndarray:
    """A stream for each lane whose first word is given: with a = 0 it is d turned by 23 bits."""
    state = np.random.default_rng(0).integers(1, 2**64, size=(4, WIDTH), dtype=np.uint64)
    state[0] = 0
    state[3] = [rotated(value, 64 - 23) for value in first]
    return state.ravel()


def test_reference() -> None:
    """xoshiro256plusplus.c from the state 1, 2, 3, 4."""
    assert xoshiro([1, 2, 3, 4], 5) == [41943041, 58720359, 3588806011781223, 3591011842654386, 9228616714210784205]


def test_words_are_xoshiros() -> None:
    states = [[int(w) for w in seed.generate_state(4, np.uint64)] for seed in seeds()]
    stream = streams(seeds())
    ours = sample(words_of, stream, 200)
    for lane, state in enumerate(states):
        assert ours[:, lane].tolist() == xoshiro(state, 200)
        assert stream.reshape(4, WIDTH)[:, lane].tolist() == state


def test_one_lane_alone_moves_its_stream_as_a_word_does() -> None:
    together, alone = streams(seeds()), streams(seeds())
    drawn = sample(words_of, together, 50)
    for lane in (0, 3, 7):
        values = [random._lane_uniform(alone, lane) for _ in range(50)]
        assert values == [((int(w) >> 11) + 1) / 2**53 for w in drawn[:, lane]]
    moved = [lane in (0, 3, 7) for lane in range(WIDTH)]
    assert (alone == together).reshape(4, WIDTH).all(axis=0).tolist() == moved


@pytest.mark.statistical
def test_uniforms() -> None:
    count = 50_000
    drawn = sample(uniforms_of, streams(seeds(seed=seed(1))), count)
    assert stats.kstest(drawn.ravel(), "uniform").pvalue > RARE
    first = sample(uniforms_of, stream_that_draws(0, MASK, *[1 << 63] * 6), 1)[0]
    assert first[:3].tolist() == [1.0, 2.0**-52, 0.5]  # the ends: never 0, whose logarithm is infinite


@pytest.mark.statistical
def test_normals_have_their_law() -> None:
    drawn = normal_numbers(streams(seeds(seed=seed(2))), 200_000)
    z, count, k = drawn.ravel(), drawn.size, 5
    assert stats.kstest(drawn[:25_000].ravel(), "norm").pvalue > RARE
    for power, mean, variance in [(1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96), (6, 15, 10395 - 225)]:
        assert abs((z**power).mean() - mean) < k * math.sqrt(variance / count)
    for edge in (2.0, 3.0, 4.0, 4.7):  # of the last, 4 are expected
        for above in (z > edge, z < -edge):
            assert not rare_count(above.sum(), count * stats.norm.sf(edge))
    assert np.abs(z).max() < math.sqrt(2 * 52 * math.log(2))


def test_normals_at_the_ends_of_the_uniforms() -> None:
    ends = normal_numbers(stream_that_draws(0, MASK, *[1 << 63] * 6), 2)
    assert ends[:, 0].tolist() == [0, 0]
    radius = np.hypot(*ends)
    assert radius[1] == pytest.approx(math.sqrt(104 * math.log(2)), rel=4 * EPS)
    assert radius[2] == pytest.approx(math.sqrt(2 * math.log(2)), rel=4 * EPS)


@pytest.mark.statistical
def test_normals_point_everywhere_alike() -> None:
    """The two numbers of a draw: their angle is uniform in every quadrant and knows nothing of their radius."""
    drawn = normal_numbers(streams(seeds(seed=seed(3))), 50_000)
    x, y = drawn[::2].ravel(), drawn[1::2].ravel()
    angle, square = np.arctan2(y, x), x**2 + y**2
    assert stats.kstest(angle, stats.uniform(-math.pi, 2 * math.pi).cdf).pvalue > RARE
    assert stats.kstest(square, stats.chi2(2).cdf).pvalue > RARE
    k, error = 5, 1 / math.sqrt(x.size)
    for f in (np.cos, np.sin):
        for turns in (1, 2, 4, 8):
            assert abs(f(turns * angle).mean()) < k * error * math.sqrt(0.5)
            assert abs(np.corrcoef(f(turns * angle), square)[0, 1]) < k * error


@pytest.mark.statistical
@pytest.mark.parametrize("freedom", FREEDOMS)
def test_chi_has_its_law(freedom: float) -> None:
    drawn = chi_numbers(streams(seeds(seed=seed(4))), 25_000, freedom).ravel()
    assert stats.kstest(drawn, stats.chi(freedom).cdf).pvalue > RARE
    wrong = freedom + 0.05 * math.sqrt(2 * freedom)  # moves the square by a twentieth of its deviation
    assert stats.kstest(drawn, stats.chi(wrong).cdf).pvalue < 1e-6
    k, deviation = 5, math.sqrt(2 * freedom)
    z = (drawn**2 - freedom) / deviation  # skewness sqrt(8 / freedom), kurtosis 3 + 12 / freedom
    assert abs(z.mean()) < k / math.sqrt(drawn.size)
    assert abs((z**2).mean() - 1) < k * math.sqrt((2 + 12 / freedom) / drawn.size)
    for tail in (1e-3, 1e-4):
        for outside in (drawn < stats.chi.ppf(tail, freedom), drawn > stats.chi.isf(tail, freedom)):
            assert not rare_count(outside.sum(), tail * drawn.size)


@pytest.mark.statistical
def test_chi_without_rejection_would_be_seen() -> None:
    """The proposal alone, for two degrees of freedom: what the test above would say about it."""
    x, d = normal_numbers(streams(seeds(seed=seed(4))), 25_000).ravel(), 2 / 3
    v = 1 + x[np.abs(x) < math.sqrt(9 * d)] / math.sqrt(9 * d)
    assert stats.kstest(np.sqrt(2 * d * v**3), stats.chi(2).cdf).pvalue < 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("freedom", [2.0, 1e4])
def test_chi_numbers_are_independent(freedom: float) -> None:
    """Of each other in time, of other lanes, and of the normal numbers drawn after them."""
    stream = streams(seeds(seed=seed(5)))
    drawn = chi_numbers(stream, 20_000, freedom)
    after = normal_numbers(stream, 20_000)
    k, error = 5.5, 1 / math.sqrt(20_000)
    both = np.hstack([drawn[1:], drawn[:-1], after[1:]])
    assert np.abs(np.corrcoef(both.T) - np.eye(3 * WIDTH)).max() < k * error  # 276 pairs


@pytest.mark.statistical
def test_lanes_and_runs_are_independent() -> None:
    """Sixteen runs with neighbouring keys, and the same shifted in time: no correlation of numbers or of their squares."""
    count = 20_000
    drawn = np.hstack([normal_numbers(streams(seeds(*range(8 * i, 8 * i + 8), seed=seed(0))), count) for i in range(2)])
    k, error = 5.5, 1 / math.sqrt(count)
    for z in (drawn, drawn**2):
        for lag in (1, 2):
            both = np.hstack([z[lag:], z[:-lag]])
            assert np.abs(np.corrcoef(both.T) - np.eye(both.shape[1])).max() < k * error  # 496 pairs


@pytest.mark.parametrize("freedom", [None, 1.0, 2.0, 5.0, 1e4])
def test_a_run_draws_the_same_wherever_it_sits(freedom: float | None) -> None:
    def draw(*keys: int) -> tuple[np.ndarray, np.ndarray]:
        stream = streams(seeds(*keys))
        drawn = normal_numbers(stream, 3000) if freedom is None else chi_numbers(stream, 3000, freedom)
        return drawn, stream.reshape(4, WIDTH)

    drawn, end = draw(*range(8))
    for keys in [(3, 7, 0, 5, 6, 2, 4, 1), (90, 91, 92, 93, 5, 94, 95, 96), (6,)]:
        others, others_end = draw(*keys)
        for lane, key in enumerate(keys):
            if key < WIDTH:
                assert others[:, lane].tolist() == drawn[:, key].tolist()
                assert others_end[:, lane].tolist() == end[:, key].tolist()
    assert len({tuple(lane) for lane in drawn[:2].T}) == WIDTH


def test_small_freedom_goes_through_rejection() -> None:
    """A rejected lane draws three words more, the others none: else the test above would say nothing about that branch."""
    stream, plain = streams(seeds()), streams(seeds())
    x = normal_numbers(stream, 20).ravel()
    normal_numbers(plain, 20)
    sample(chis_of, stream, 20, x, 2.0)
    sample(words_of, plain, 20)
    kept = (stream == plain).reshape(4, WIDTH).all(axis=0)
    assert 0 < kept.sum() < WIDTH
    states = [[int(w) for w in lane] for lane in plain.reshape(4, WIDTH).T]
    for lane in np.flatnonzero(~kept):
        extra = next(
            n for n in range(1, 31) if xoshiro(states[lane], 1) and states[lane] == stream[lane::WIDTH].tolist()
        )
        assert extra % 3 == 0


@pytest.mark.parametrize("freedom", [2.0, 1e4, 1e9])
def test_a_sure_acceptance_stays_one_beside_a_lane_that_is_not(freedom: float) -> None:
    """u just below the simple bound 1 - d t^4: accepted whether or not a neighbour needs the logarithm, which cancels in d."""
    d = 0.5 * freedom - 1 / 3
    for ours in np.linspace(0.01, 1.0, 50):
        below = math.ceil(ours**4 / (81 * d) * (1 + 1e-9) * 2**52) + 1  # u = 1 - below 2^-52
        quiet, disturbed = (stream_that_draws(*[below << 12] * WIDTH) for _ in range(2))
        x = np.full(WIDTH, ours)
        alone = sample(chis_of, quiet, 1, x, freedom)
        x[-1] = 0.3 * math.sqrt(9 * d)  # t = 0.3 lies beyond the simple bound
        beside = sample(chis_of, disturbed, 1, x, freedom)
        assert beside[0, :-1].tolist() == alone[0, :-1].tolist()
        assert disturbed.reshape(4, WIDTH)[:, :-1].tolist() == quiet.reshape(4, WIDTH)[:, :-1].tolist()


def test_children() -> None:
    keys = [(), *[(i,) for i in range(30)], *[(i, j) for i in range(30) for j in range(30)]]
    states = {tuple(child(seed, *key).generate_state(4, np.uint64)) for seed in (0, 1) for key in keys}
    assert len(states) == 2 * len(keys)
    again = child(7, 3, 4).generate_state(4, np.uint64)
    parent = np.random.SeedSequence(7)
    assert child(7, 3, 4).generate_state(4, np.uint64).tolist() == again.tolist()
    assert child(parent, 3, 4).generate_state(4, np.uint64).tolist() == again.tolist()
    assert child(child(7, 3), 4).generate_state(4, np.uint64).tolist() == again.tolist()
    parent.spawn(2)  # asking for a child neither counts nor is counted
    assert child(parent, 3, 4).generate_state(4, np.uint64).tolist() == again.tolist()
    assert np.random.SeedSequence(7).spawn(4)[3].spawn(5)[4].generate_state(4, np.uint64).tolist() == again.tolist()
    assert random.seed_sequence(parent) is parent


def test_streams_repeat_the_first_run_in_empty_lanes() -> None:
    few, many = streams(seeds(0, 1, 2)).reshape(4, WIDTH), streams(seeds()).reshape(4, WIDTH)
    assert few[:, :3].tolist() == many[:, :3].tolist()
    assert few[:, 3:].tolist() == [[state] * 5 for state in many[:, 0]]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_normals_fill_their_slots_and_draw_an_even_number(count: int) -> None:
    whole, part = streams(seeds()), streams(seeds())
    even = count + count % 2
    expected = normal_numbers(whole, even)[:count]
    out = np.full(12 * WIDTH, -1.5)
    normals(part, out, 3, count)
    slots = out.reshape(12, WIDTH)
    assert slots[3 : 3 + count].tolist() == expected.tolist()
    assert (slots[:3] == -1.5).all()
    assert (slots[3 + count :] == -1.5).all()
    assert part.tolist() == whole.tolist()
    plain = streams(seeds())
    sample(words_of, plain, even)
    assert part.tolist() == plain.tolist()  # one word for each number


def test_accuracy_of_logarithm_and_angle() -> None:
    """Errors in units of the last place, also on both sides of the cut of the logarithm at sqrt(1/2) and beside one."""
    rng = np.random.default_rng(0)
    few = EPS * np.arange(1, 129)
    u = np.concatenate(
        [
            *[1 - few, 0.5 + few, 0.5 - few, few, math.sqrt(0.5) + few, math.sqrt(0.5) - few, 2.0 ** -np.arange(53)],
            *[rng.random(600), 1 - rng.random(300) ** 4, rng.random(300) ** 8],
        ]
    )
    u = np.resize(u, 2048 + WIDTH)
    ours = np.empty((3, u.size))
    functions(u, *ours)
    v = u - 0.5
    assert ours[0, u == 1].tolist() == [0] * int((u == 1).sum())
    with mpmath.workdps(40):
        exact = [
            [-mpmath.log(mpmath.mpf(a)) for a in u.tolist()],
            [mpmath.sinpi(mpmath.mpf(a) / 2) for a in v.tolist()],
            [mpmath.cospi(mpmath.mpf(a) / 2) for a in v.tolist()],
        ]
        worst = [
            max(float(abs(a - b)) / math.ulp(b) for a, b in zip(row.tolist(), theirs, strict=True))
            for row, theirs in zip(ours, exact, strict=True)
        ]
    for error, bound in zip(worst, [3.0, 2.0, 1.5], strict=True):
        assert error < bound
