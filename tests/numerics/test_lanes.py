"""Eight numbers at once compute what NumPy computes for each of them, to the last bit, whoever their neighbours are."""

from fractions import Fraction

import numpy as np
import pytest
from numba import njit

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

SLOTS = 64
SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 5e-324, -2.2e-308, 1.7e308, -1.7e308, 1 + 2**-52]


@njit(error_model="numpy")
def arithmetic(x, y, out):
    n = x.size // WIDTH
    for i in range(n):
        a, b = load(x, i), load(y, i)
        store(out, i, a + b)
        store(out, n + i, a - b)
        store(out, 2 * n + i, a * b)
        store(out, 3 * n + i, a / b)
        store(out, 4 * n + i, root(a))
        store(out, 5 * n + i, a + 0.1)
        store(out, 6 * n + i, 0.1 - a)
        store(out, 7 * n + i, a * 0.1)
        store(out, 8 * n + i, 0.1 / a)
        store(out, 9 * n + i, where_above(a, b, a * b, a - b))
        store(out, 10 * n + i, fill(0.1))


@njit(error_model="numpy")
def fused(x, y, z, out):
    for i in range(x.size // WIDTH):
        store(out, i, fma(load(x, i), load(y, i), load(z, i)))


@njit(error_model="numpy")
def choices(x, y, chosen, some):
    for i in range(x.size // WIDTH):
        a, b = load(x, i), load(y, i)
        store(chosen, i, where_above(a, b, fill(1.0), fill(0.0)))
        some[i] = any_above(a, b)


@njit(error_model="numpy")
def words(x, y, shift, out):
    n = x.size // WIDTH
    for i in range(n):
        a, b, s = load(x, i), load(y, i), load(shift, i)
        store(out, i, a + b)
        store(out, n + i, a - b)
        store(out, 2 * n + i, a ^ b)
        store(out, 3 * n + i, a | b)
        store(out, 4 * n + i, a & b)
        store(out, 5 * n + i, a << s)
        store(out, 6 * n + i, a >> s)
        store(out, 7 * n + i, a >> np.uint64(11))
        store(out, 8 * n + i, np.uint64(7) - a)
        store(out, 9 * n + i, a + (-1))
        store(out, 10 * n + i, fill(np.uint64(2**64 - 1)))


@njit(error_model="numpy")
def bits(x, y, out, back):
    for i in range(x.size // WIDTH):
        store(out, i, as_words(load(x, i)))
        store(back, i, as_lanes(load(y, i)))


@njit(error_model="numpy")
def exchange(x, lane, value, taken, out):
    """Take one lane of each slot out and put another value there."""
    for i in range(x.size // WIDTH):
        a = load(x, i)
        taken[i] = get(a, lane)
        store(out, i, put(a, lane, value))


def same_bits(ours: np.ndarray, theirs: np.ndarray) -> bool:
    """NaN are equal whatever their payload; zeros differ in their sign."""
    nan = np.isnan(theirs)
    return bool((np.isnan(ours) == nan).all() and (ours.view(np.uint64) == theirs.view(np.uint64))[~nan].all())


def pairs() -> tuple[np.ndarray, np.ndarray]:
    """Every pair of special values, then numbers of all sizes."""
    rng = np.random.default_rng(0)
    a, b = (np.ravel(v) for v in np.meshgrid(SPECIAL, SPECIAL))
    size = SLOTS * WIDTH - a.size
    random = rng.normal(size=(2, size)) * 2.0 ** rng.integers(-300, 300, size=(2, size))
    return np.concatenate([a, random[0]]), np.concatenate([b, random[1]])


@pytest.fixture(scope="module")
def numbers() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    x, y = pairs()
    out = np.empty((11, x.size))
    arithmetic(x, y, out.ravel())
    return x, y, out


def test_arithmetic_is_numpys(numbers) -> None:
    x, y, ours = numbers
    with np.errstate(all="ignore"):
        theirs = [x + y, x - y, x * y, x / y, np.sqrt(x), x + 0.1, 0.1 - x, x * 0.1, 0.1 / x]
        theirs += [np.where(x > y, x * y, x - y), np.full(x.size, 0.1)]
    for i, (a, b) in enumerate(zip(ours, theirs, strict=True)):
        assert same_bits(a, b), i
    assert not same_bits(ours[0], np.nextafter(theirs[0], np.inf))  # one bit would be seen


def test_a_lane_does_not_depend_on_its_neighbours(numbers) -> None:
    x, y, ours = numbers
    order = np.random.default_rng(1).permutation(x.size)  # every number gets another lane and other neighbours
    again = np.empty((11, x.size))
    arithmetic(x[order], y[order], again.ravel())
    assert same_bits(again, ours[:, order])


def test_fma_rounds_once() -> None:
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, SLOTS * WIDTH))
    z = -x * y * (1 + rng.choice([0, 2**-52, 2**-30, 0.5], x.size))  # cancels, so that a second rounding shows
    out = np.empty_like(x)
    fused(x, y, z, out)
    exact = [float(Fraction(a) * Fraction(b) + Fraction(c)) for a, b, c in zip(x, y, z, strict=True)]
    assert out.tolist() == exact
    assert (x * y + z != exact).mean() > 0.3


def test_fma_of_special_values() -> None:
    x, y = pairs()
    z = np.roll(y, 3)
    out = np.empty_like(x)
    fused(x, y, z, out)
    with np.errstate(all="ignore"):
        theirs = x * y + z
    unclear = np.isfinite(x) & np.isfinite(y) & np.isfinite(z)  # rounded once or twice: the test above decides
    assert same_bits(out[~unclear], theirs[~unclear])
    assert (~unclear).sum() > 60


def test_above_is_strict_and_false_for_nan() -> None:
    x, y = pairs()
    chosen, some = np.empty_like(x), np.empty(SLOTS, dtype=bool)
    choices(x, y, chosen, some)
    assert chosen.tolist() == (x > y).tolist()
    assert some.tolist() == (x > y).reshape(SLOTS, WIDTH).any(axis=1).tolist()


def test_any_above_sees_every_lane_alone() -> None:
    chosen, some = np.empty(WIDTH * WIDTH), np.empty(WIDTH, dtype=bool)
    for low, high, seen in [(0.0, 1.0, True), (np.nan, 1.0, True), (0.0, np.nan, False), (0.0, -0.0, False)]:
        x = np.full((WIDTH, WIDTH), low)
        np.fill_diagonal(x, high)  # in slot i only lane i may be above
        choices(x.ravel(), np.zeros(x.size), chosen, some)
        assert some.tolist() == [seen] * WIDTH
        assert chosen.reshape(WIDTH, WIDTH).tolist() == (np.eye(WIDTH) * seen).tolist()


def test_words_are_numpys() -> None:
    rng = np.random.default_rng(3)
    x, y = rng.integers(0, 2**64, size=(2, SLOTS * WIDTH), dtype=np.uint64)
    x[:3], y[:3] = [0, 2**64 - 1, 2**63], [1, 1, 2**63]  # sums and differences wrap around
    shift = np.arange(x.size, dtype=np.uint64) % np.uint64(64)
    ours = np.empty((11, x.size), dtype=np.uint64)
    words(x, y, shift, ours.ravel())
    u = np.uint64
    theirs = [x + y, x - y, x ^ y, x | y, x & y, x << shift, x >> shift, x >> u(11), u(7) - x, x - u(1)]
    theirs += [np.full(x.size, u(2**64 - 1))]
    assert ours.tolist() == [b.tolist() for b in theirs]


def test_bits_of_numbers_and_back() -> None:
    x, _ = pairs()
    y = x.view(np.uint64) ^ np.uint64(1 << 63)
    out, back = np.empty_like(y), np.empty_like(x)
    bits(x, y, out, back)
    assert out.tolist() == x.view(np.uint64).tolist()  # NaN with payload and sign, too
    assert back.view(np.uint64).tolist() == y.tolist()


@pytest.mark.parametrize("kind", [np.float64, np.uint64])
def test_get_and_put_touch_one_lane(kind) -> None:
    x = np.arange(3 * WIDTH).astype(kind)
    for lane in range(WIDTH):
        taken, out = np.empty(3, dtype=kind), np.empty_like(x)
        exchange(x, lane, kind(99), taken, out)
        expected = x.reshape(3, WIDTH).copy()
        assert taken.tolist() == expected[:, lane].tolist()
        expected[:, lane] = 99
        assert out.tolist() == expected.ravel().tolist()


def test_slots_in_memory() -> None:
    """Slot i is [8 i, 8 i + 8), and storing leaves the other slots alone."""
    x, out = np.arange(4.0 * WIDTH), np.full(4 * WIDTH, -1.0)

    @njit
    def move(x, out):
        store(out, 1, load(x, 3))

    move(x, out)
    assert out.reshape(4, WIDTH)[1].tolist() == x.reshape(4, WIDTH)[3].tolist()
    assert (np.delete(out.reshape(4, WIDTH), 1, axis=0) == -1).all()
