"""Reverses of averages with means, against central differences."""

import numpy as np
import pytest

from solvable.gaussian.closed_forms import KINDS, averages_with_means, back_averages, mean_reverse_scratch, mean_scratch

P, N, STEP = 3, 5, 1e-5


def averages(kind, given):
    """D, S, phi, pull as `averages_with_means` fills them, with the rows of teachers empty, and <e^2>."""
    h, C, s0, s, noise = given
    out = np.zeros((N, N)), np.zeros((N, N)), np.zeros(N), np.zeros(N)
    square, _ = averages_with_means(
        kind, P, (h, C), (float(s0), s), float(noise), (True, True), out, np.zeros(mean_scratch(N))
    )
    return *out, square


@pytest.mark.parametrize("unit", KINDS)
def test_means_covariance_weights_offset_and_noise(unit) -> None:
    kind, random = KINDS[unit], np.random.default_rng(2)
    rows = random.standard_normal((N, N + 2))
    given = [random.standard_normal(N), rows @ rows.T / (N + 2), 0.3, random.standard_normal(N), 0.2]
    bars = [random.standard_normal(np.shape(one)) for one in averages(kind, given)]
    for one in bars[:4]:
        one[P:] = 0.0
    bars[1][:, P:] = 0.0
    bars[4] = 0.7
    to = np.zeros(N), np.zeros((N, N)), np.zeros(N)
    of_offset, of_noise = back_averages(
        kind, P, (given[0], given[1]), (given[2], given[3]), given[4], tuple(bars), (True, True), averages(kind, given)[1],
        to, np.full(mean_reverse_scratch(N), np.nan),
    )  # fmt: skip
    found = to[0], to[1], of_offset, to[2], of_noise
    for number, one in enumerate(given):
        move = random.standard_normal(np.shape(one))
        move = move + move.T

        def value(size, number=number, move=move):
            moved = [one + size * move if i == number else one for i, one in enumerate(given)]
            return sum(np.sum(bar * part) for bar, part in zip(bars, averages(kind, moved), strict=True))

        difference = (value(STEP) - value(-STEP)) / (2 * STEP)
        assert np.sum(found[number] * move) == pytest.approx(difference, rel=1e-7, abs=1e-8)
