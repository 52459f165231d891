"""The integrator: its orders, events, breaks and endings, on systems with known solutions."""

import numpy as np
import pytest
from numba import float64, int64, njit, void

from solvable.numerics import tsit5

SYSTEM = void(int64, float64, float64[::1], float64[::1], float64[::1])


@njit(SYSTEM)
def pendulum(segment, t, y, dy, floats):
    dy[0] = y[1]
    dy[1] = -np.sin(y[0])


@njit(SYSTEM)
def switched_decay(segment, t, y, dy, floats):
    """Decay whose rate jumps between segments."""
    dy[0] = -floats[segment] * y[0]


@njit(SYSTEM)
def explosion(segment, t, y, dy, floats):
    dy[0] = y[0] * y[0]


@njit(SYSTEM)
def first(segment, t, y, observed, floats):
    observed[:] = y[0]


def solve(rhs, y0, times, *, rtol=1e-8, atol=1e-14, breaks=(), floats=(0.0,), watch=None, max_steps=100_000):
    times = np.array(times, dtype=float)
    states, observed = np.empty((len(times), len(y0))), np.empty((len(times), 2))
    last, report = np.empty(len(y0)), np.zeros(tsit5.REPORT)
    direction, level = (0, 0.0) if watch is None else watch
    tsit5.solve(
        rhs, first, np.array(y0, dtype=float), 0.0, times, np.array(breaks, dtype=float), rtol, atol, max_steps, 1e8, -np.inf,
        direction, level, (np.array(floats, dtype=float),), states, observed, last, report,
    )  # fmt: skip
    return states, last, report


def reference(times):
    from scipy.integrate import solve_ivp

    right = lambda t, y: [y[1], -np.sin(y[0])]
    return solve_ivp(right, (0, times[-1]), [1.0, 0.5], method="DOP853", rtol=1e-13, atol=1e-15, t_eval=times).y.T


def fixed_steps(h, end):
    """States after equal steps of length h up to `end`, and halfway through the last step by dense output."""
    k, y, out, middle = np.empty((7, 2)), np.array([1.0, 0.5]), np.empty(2), np.empty(2)
    floats = np.zeros(1)
    for _ in range(round(end / h)):
        pendulum(0, 0.0, y, k[0], floats)
        for stage in range(1, 7):
            tsit5.combine(stage, h, y, k, out)
            pendulum(0, 0.0, out, k[stage], floats)
        tsit5.interpolate(0.5, h, y, k, np.empty(7), middle)
        y[:] = out
    return out, middle


def test_fitted_orders_are_the_declared_ones() -> None:
    """Over a fixed time the error falls as h^5; within one step that of the dense output as h^(4 + 1)."""
    lengths = 0.2 / 2.0 ** np.arange(3)
    steps, dense = [], []
    for h in lengths:
        end, _ = fixed_steps(h, 8.0)
        steps.append(np.abs(end - reference([4.0, 8.0])[1]).max())
        _, middle = fixed_steps(h, h)
        dense.append(np.abs(middle - reference([h / 2, h])[0]).max())
    slopes = np.polyfit(np.log(lengths), np.log(np.column_stack([steps, dense])), 1)[0]
    assert slopes == pytest.approx([tsit5.ORDER, tsit5.DENSE_ORDER + 1], abs=0.4)


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9, 1e-11])
def test_global_error_follows_the_tolerance(rtol: float) -> None:
    times = np.linspace(0, 30, 301)
    states, _, _ = solve(pendulum, [1.0, 0.5], times, rtol=rtol)
    assert np.abs(states - reference(times)).max() < 30 * rtol


def test_events_are_found_to_rounding() -> None:
    """cos-like fall through 0.3, and a rise, on the linear decay exp(-2 t)."""
    _, last, report = solve(switched_decay, [1.0], [0, 5], floats=[2.0], watch=(tsit5.FALLS, 0.3), rtol=1e-10)
    assert report[0] == tsit5.STOPPED
    assert report[1] == pytest.approx(-np.log(0.3) / 2, rel=1e-8)
    assert last[0] == pytest.approx(0.3, rel=1e-9)
    _, _, report = solve(switched_decay, [1.0], [0, 5], floats=[-2.0], watch=(tsit5.RISES, 7.0), rtol=1e-10)
    assert report[1] == pytest.approx(np.log(7.0) / 2, rel=1e-8)


def test_an_event_true_at_the_start_stops_there_and_later_outputs_are_missing() -> None:
    states, last, report = solve(switched_decay, [1.0], [0, 1, 2], floats=[1.0], watch=(tsit5.FALLS, 2.0))
    assert report[:2].tolist() == [tsit5.STOPPED, 0.0]
    assert last[0] == 1.0
    assert np.isnan(states[1:]).all()


def test_steps_land_on_breaks() -> None:
    """With jumps in the rate the solution is exact piecewise; stepping over a jump would cost many digits."""
    rates, breaks = [1.0, 30.0, 0.1], [1.0, 1.5]
    times = np.array([0.5, 1.0, 1.2, 1.5, 4.0])
    states, _, report = solve(switched_decay, [1.0], times, breaks=breaks, floats=rates, rtol=1e-9)
    exponent = [0.5, 1.0, 1.0 + 6.0, 16.0, 16.25]
    assert states[:, 0] == pytest.approx(np.exp(-np.array(exponent)), rel=1e-7)
    assert report[4] <= 3  # hardly a step is rejected


def test_blow_up_is_called_divergence_at_its_time() -> None:
    states, _, report = solve(explosion, [1.0], [0, 0.5, 2.0])
    assert report[0] == tsit5.DIVERGED
    assert report[1] == pytest.approx(1.0, abs=1e-6)
    assert states[1, 0] == pytest.approx(2.0, rel=1e-7)
    assert np.isnan(states[2, 0])


def test_a_state_at_rest_converges_and_fills_the_outputs() -> None:
    states, _, report = solve(switched_decay, [0.0], [0, 1, 1e9], floats=[1.0])
    assert report[0] == tsit5.CONVERGED
    assert (states == 0).all()


def test_slow_growth_is_not_taken_for_rest() -> None:
    """A small component that still grows must not end the run."""
    states, _, report = solve(switched_decay, [1e-13], [0, 30.0], floats=[-1.0], atol=1e-22)
    assert report[0] == tsit5.FINISHED
    assert states[-1, 0] == pytest.approx(1e-13 * np.exp(30), rel=1e-5)


def test_nan_is_never_lost() -> None:
    """In whichever component it appears: the step is rejected and the run ends as diverged, not as converged."""
    k, scratch = np.zeros((7, 3)), np.empty(3)
    for i in range(3):
        trial = np.ones(3)
        trial[i] = np.nan
        assert np.isnan(tsit5.scaled_error(0.1, np.ones(3), trial, k, 1e-8, 1e-14, scratch)).all()


def test_the_end_of_a_run_is_not_rest() -> None:
    """Close to the end there is little time left to move in; that alone is no convergence."""
    _, _, report = solve(switched_decay, [1.0], np.linspace(0, 5, 2001), floats=[0.3])
    assert report[0] == tsit5.FINISHED


def test_step_limit() -> None:
    states, _, report = solve(pendulum, [1.0, 0.5], [0, 1e4], max_steps=50)
    assert report[0] == tsit5.STEP_LIMIT
    assert 0 < report[1] < 1e4
    assert np.isnan(states[-1]).all()


def test_outputs_do_not_change_the_steps() -> None:
    _, last_few, few = solve(pendulum, [1.0, 0.5], [0, 10])
    _, last_many, many = solve(pendulum, [1.0, 0.5], np.linspace(0, 10, 1001))
    assert few[2] == many[2]
    assert np.array_equal(last_few, last_many)


def test_work_is_pinned() -> None:
    """Right-hand-side evaluations of a fixed task: a silent slowdown shows here."""
    _, _, report = solve(pendulum, [1.0, 0.5], [0, 30], rtol=1e-8)
    assert report[2] <= 1.05 * 2275


@njit(SYSTEM)
def pendulums(segment, t, y, dy, floats):
    for i in range(0, y.size, 2):
        dy[i] = y[i + 1]
        dy[i + 1] = -np.sin(y[i])


def test_the_largest_error_counts_whatever_is_beside_it() -> None:
    """Fifty pendulums are followed in the steps of one, and so is one among many that hang at rest."""
    _, _, alone = solve(pendulums, [1.0, 0.5], [0, 30])
    _, _, alike = solve(pendulums, [1.0, 0.5] * 50, [0, 30])
    _, _, among = solve(pendulums, [1.0, 0.5] + [0.0, 0.0] * 49, [0, 30])
    assert alike[2:5].tolist() == among[2:5].tolist() == alone[2:5].tolist()
