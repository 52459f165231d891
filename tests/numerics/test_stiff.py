"""Stiff integrators: their orders, stability, thresholds and endings, on systems with known solutions."""

import numpy as np
import pytest
from numba import float64, int64, njit, void

from solvable.numerics import chebyshev, rosenbrock, stiff
from solvable.numerics.tsit5 import DIVERGED, FALLS, FINISHED, INTERRUPTED, STEP_LIMIT, STOPPED

NONE = np.zeros(1, dtype=np.int64)


def logistic_slope(y, ints, floats, dy):
    dy[:] = y * (1 - y) * floats[0]


def logistic(y0, rate, t):
    return y0 * np.exp(rate * t) / (1 + y0 * (np.exp(rate * t) - 1))


def fitted_order(errors, steps):
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


def test_chebyshev_has_its_order() -> None:
    step, floats, errors, counts = chebyshev.chebyshev_step.py_func, np.array([1.0]), [], [8, 16, 32, 64]
    for count in counts:
        y, first, trial = np.array([0.1, 0.3]), np.empty(2), np.empty(2)
        for _ in range(count):
            logistic_slope(y, NONE, floats, first)
            step(logistic_slope, 5, y, first, 2.0 / count, np.zeros((6, 4)), NONE, floats, np.empty((3, 2)), trial)
            y = trial.copy()
        errors.append(np.abs(y - logistic(np.array([0.1, 0.3]), 1.0, 2.0)).max())
    assert abs(fitted_order(errors, counts) - chebyshev.ORDER) < 0.1


def test_rosenbrock_has_its_orders() -> None:
    """Of the step, and of its error estimate (one more than the embedded order, in one step)."""
    step, floats, errors, estimates, counts = (
        rosenbrock.rosenbrock_step.py_func,
        np.array([1.0]),
        [],
        [],
        [8, 16, 32, 64],
    )

    def factor(y, g, ints, floats, room):
        room[:] = 1 - g * floats[0] * (1 - 2 * y)

    def solve(ints, floats, room, b):
        b /= room

    for count in counts:
        y, trial = np.array([0.1, 0.3]), np.empty(2)
        for i in range(count):
            estimate = step(
                logistic_slope, factor, solve, y, 2.0 / count, NONE, floats, np.empty(2), np.empty((6, 2)), trial
            )
            estimates += [estimate] if i == 0 else []
            y = trial.copy()
        errors.append(np.abs(y - logistic(np.array([0.1, 0.3]), 1.0, 2.0)).max())
    assert abs(fitted_order(errors, counts) - rosenbrock.ORDER) < 0.15
    assert abs(fitted_order(estimates, counts) - rosenbrock.EMBEDDED_ORDER - 1) < 0.25


def test_chebyshev_is_stable_as_far_as_it_says() -> None:
    """The stability polynomial stays below one over the whole stretch, and not twice as far."""
    for stages in (2, 5, 20, 100):
        rows = np.zeros((stages + 2, 4))
        chebyshev.coefficients.py_func(stages, rows)
        longest = (stages - 1) ** 2 / 1.54 - 1 / 1.54  # largest h x radius for which so many are taken

        def amplification(z, stages=stages, rows=rows):
            before, last = 1.0, 1 + rows[1, 2] * z
            for j in range(2, stages + 1):
                mu, nu, drift, gamma = rows[j]
                before, last = last, 1 - mu - nu + mu * last + nu * before + drift * z * last + gamma * z
            return last

        z = -np.linspace(1e-3, max(longest, 0.5), 2000)
        assert np.abs(amplification(z)).max() <= 1 + 1e-12
        assert abs(amplification(-2 * 0.67 * stages**2)) > 1


@njit(void(float64[::1], int64[::1], float64[::1], float64[::1]))
def stiff_slope(y, ints, floats, dy):
    """A fast mode slaved to a slow one, which falls as 1/t."""
    dy[0] = -y[0] * y[0]
    dy[1] = -floats[0] * (y[1] - y[0])


@njit(void(float64[::1], float64, int64[::1], float64[::1], float64[::1]))
def stiff_factor(y, g, ints, floats, room):
    room[0], room[1], room[2] = 1 + 2 * g * y[0], -g * floats[0], 1 + g * floats[0]


@njit(void(int64[::1], float64[::1], float64[::1], float64[::1]))
def stiff_solve(ints, floats, room, b):
    b[0] /= room[0]
    b[1] = (b[1] - room[1] * b[0]) / room[2]


@njit(float64(float64[::1], int64[::1], float64[::1]))
def stiff_growth(y, ints, floats):
    return 0.0


@njit(void(float64[::1], int64[::1], float64[::1], float64[::1]))
def stiff_look(y, ints, floats, seen):
    seen[0] = y[0]


@njit(void(float64[::1], int64[::1], float64[::1], float64[::1]))
def explosion(y, ints, floats, dy):
    dy[0] = y[0] * y[0]
    dy[1] = 0.0


def follow(implicit, times, *, slope=stiff_slope, rtol=1e-6, watch=(-1, 1, 0.0), max_steps=10_000, halt=0.0):
    times = np.asarray(times, dtype=float)
    states, seen, last, report = np.empty((times.size, 2)), np.empty((times.size, 1)), np.empty(2), np.zeros(5)
    stiff.follow(
        implicit, slope, stiff_factor, stiff_solve, stiff_growth, stiff_look, np.array([1.0, 0.0]), times,
        rtol, max_steps, 1e6, *watch, NONE, np.array([1e4]), np.empty(3), states, seen, last, report, np.array([halt]),
    )  # fmt: skip
    return states, last, report


@pytest.mark.parametrize("implicit", [False, True])
def test_stiff_run_over_six_decades(implicit: bool) -> None:
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 30)])
    states, _, report = follow(implicit, times)
    exact = 1 / (1 + times)
    assert report[0] == FINISHED
    assert np.abs(states[:, 0] / exact - 1).max() < (1e-4 if implicit else 3e-3)
    assert abs(states[-1, 1] / states[-1, 0] - 1) < 1e-3
    assert report[2] < (3000 if implicit else 10**6)  # a plain explicit method needs 5 x 10^7
    tighter = follow(implicit, times, rtol=1e-8)[0]
    assert np.abs(tighter[:, 0] / exact - 1).max() < np.abs(states[:, 0] / exact - 1).max() / 10


@pytest.mark.parametrize("implicit", [False, True])
def test_endings(implicit: bool) -> None:
    states, last, report = follow(implicit, [1.0, 10.0], watch=(0, FALLS, 0.2), rtol=1e-9)
    assert report[0] == STOPPED
    assert abs(report[1] - 4) < 1e-5
    assert abs(last[0] - 0.2) < 1e-6
    assert np.isnan(states[1]).all()
    assert follow(implicit, [1.0], watch=(0, FALLS, 2.0))[2][0] == STOPPED  # at once
    assert follow(implicit, [10.0], max_steps=3)[2][0] == STEP_LIMIT
    assert follow(implicit, [10.0], halt=1.0)[2][0] == INTERRUPTED


def test_divergence_is_told() -> None:
    report = follow(False, [2.0], slope=explosion)[2]
    assert report[0] == DIVERGED
    assert abs(report[1] - 1) < 1e-3
