"""The one loop under every integrator: orders, outputs, breaks, thresholds and endings, on systems with known solutions."""

import threading
import time

import numpy as np
import pytest
from toys import CLIFF, DECAY, EXPLOSION, LOGISTIC, METHODS, PENDULUM, STIFF, follow

from solvable.numerics import chebyshev, dormand_prince, rosenbrock, tsit5
from solvable.numerics.control import FALLS, REPORT, RISES, SLOPE, TRIAL, Y, control
from solvable.numerics.ending import Ending
from solvable.numerics.interpreting import interpreted

EACH = pytest.mark.parametrize("method", METHODS)
EXPLICIT = pytest.mark.parametrize("method", ["tsit5", "dormand_prince"])
RTOL = {"tsit5": 1e-9, "dormand_prince": 1e-9, "doubling": 1e-8, "rosenbrock": 1e-8, "chebyshev": 1e-7}
COUNTS = {  # of steps, over a time of 8
    "tsit5": [40, 80, 160], "dormand_prince": [20, 30, 40], "doubling": [64, 128, 256],
    "rosenbrock": [32, 64, 128], "chebyshev": [64, 128, 256],
}  # fmt: skip
GLOBAL = {"tsit5": 1e-7, "dormand_prince": 1e-7, "doubling": 1e-6, "rosenbrock": 1e-6, "chebyshev": 3e-5}


def logistic(y0, t):
    grown = np.exp(t)
    return y0 * grown / (1 + y0 * (grown - 1))


def pendulum(times):
    from scipy.integrate import solve_ivp

    right = lambda t, y: [y[1], -np.sin(y[0])]
    return solve_ivp(right, (0, times[-1]), [1.0, 0.5], method="DOP853", rtol=1e-13, atol=1e-15, t_eval=times).y.T


def fixed_steps(name, kind, start, end, count):
    """The state after `count` equal steps, and halfway through the first, by a method's own kernels."""
    module, _, system = METHODS[name]
    system = (*system, 2) if name == "doubling" else system  # the order of the step that is doubled
    arrive, attempt, between = (interpreted(getattr(module, part)) for part in ("arrive", "attempt", "interpolate"))
    memory, report, told = np.zeros((module.ROWS, 2)), np.zeros(1, REPORT)[0], control(rtol=1.0, atol=1.0)
    data, h, middle = (np.array([kind, 1.0, 0.0, 0.0, 0.0]),), end / count, np.empty(2)
    memory[Y], report.end, report.step = start, end, h
    for i in range(count):
        report.fresh, report.dense, report.time = i == 0, 0, i * h
        arrive(system, told, report, memory, data)
        attempt(system, told, report, h, memory, data)
        if i == 0:
            between(system, told, report, h, 0.5, memory, middle, data)
        memory[Y] = memory[TRIAL]
    return memory[Y], middle


@EACH
def test_fitted_orders_are_the_declared_ones(method) -> None:
    """Over a fixed time the error falls with the declared power of the step, within one step by one power more."""
    module, counts = METHODS[method][0], np.array(COUNTS[method])
    smooth = method in ("rosenbrock", "chebyshev")
    start = np.array([0.1, 0.3] if smooth else [1.0, 0.5])
    exact = (lambda t: logistic(start, t)) if smooth else (lambda t: pendulum([0.0, t])[1])
    errors = []
    for count in counts:
        end, middle = fixed_steps(method, LOGISTIC if smooth else PENDULUM, start, 8.0, count)
        errors.append([np.abs(end - exact(8.0)).max(), np.abs(middle - exact(4.0 / count)).max()])
    slopes = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slopes == pytest.approx([module.ORDER, module.DENSE_ORDER + 1], abs=0.4)


def test_order_conditions_of_dormand_prince() -> None:
    """Quadrature, stage sums, and trees of a few kinds up to order 8; the weights of the error sum to zero."""
    A, c, b = dormand_prince.WEIGHTS[:16], dormand_prince.NODES, dormand_prince.WEIGHTS[12]
    assert A.sum(axis=1) == pytest.approx(c, abs=1e-14)
    for k in range(8):
        assert b @ c**k == pytest.approx(1 / (k + 1), abs=1e-14)
    for k in range(1, 7):  # sum_ij b_i a_ij c_j^k, and with a power of c_i before it
        for power in range(7 - k):
            assert (b * c**power) @ A @ c**k == pytest.approx(1 / ((k + 1) * (k + 2 + power)), abs=1e-13)
    chain = c.copy()
    for order in range(2, 8):
        assert b @ chain == pytest.approx(1 / float(np.prod(np.arange(1, order + 1))), abs=1e-13)
        chain = A @ chain
    assert dormand_prince.WEIGHTS[20:].sum(axis=1) == pytest.approx(0, abs=1e-13)


@EACH
def test_outputs_meet_the_tolerance_and_do_not_change_the_steps(method) -> None:
    times = np.linspace(0, 8, 81)
    states, last, report = follow(method, LOGISTIC, [0.1, 0.3], times, rtol=RTOL[method])
    exact = logistic(np.array([0.1, 0.3]), times[:, None])
    assert report.ending == Ending.FINISHED
    assert report.time == 8.0
    assert np.abs(states - exact).max() < GLOBAL[method]
    assert (states[-1] == last).all()
    if method == "tsit5":  # the others land on outputs, or hold interpolation to the tolerance where there are some
        _, same, few = follow(method, LOGISTIC, [0.1, 0.3], [8.0], rtol=RTOL[method])
        assert [few.accepted, few.rejected] == [report.accepted, report.rejected]
        assert np.array_equal(same, last)


@EACH
def test_an_output_at_the_end_of_a_step_is_the_state_there(method) -> None:
    """Steps land on a break: an output there is not interpolated, and one at the start is the start."""
    states, _, _ = follow(method, DECAY, [1.0], [0.0, 1.0, 2.0], rates=[1.0, 1.0], breaks=[1.0], rtol=1e-7)
    _, there, _ = follow(method, DECAY, [1.0], [1.0], rates=[1.0, 1.0], rtol=1e-7)
    assert states[0, 0] == 1.0
    assert states[1, 0] == pytest.approx(there[0], rel=1e-6)


@EACH
def test_steps_land_on_breaks(method) -> None:
    """With jumps in the rate the solution is exact piecewise; stepping over a jump would cost many digits."""
    times = np.array([0.5, 1.0, 1.2, 1.5, 4.0])
    states, _, report = follow(method, DECAY, [1.0], times, breaks=[1.0, 1.5], rates=[1.0, 4.0, 0.1], rtol=RTOL[method])
    exponent = np.array([0.5, 1.0, 1.8, 3.0, 3.25])
    assert states[:, 0] == pytest.approx(np.exp(-exponent), abs=GLOBAL[method])
    assert report.segment == 2


@EACH
def test_a_step_that_was_cut_short_does_not_shorten_the_next(method) -> None:
    """Nine breaks within a moment cost a step each, and then the run goes on with the step that it had before them."""
    _, _, plain = follow(method, LOGISTIC, [0.9], [40.0], rtol=1e-4, rests=False)
    _, _, broken = follow(method, LOGISTIC, [0.9], [40.0], breaks=np.linspace(20, 20 + 1e-9, 9), rtol=1e-4, rests=False)
    assert broken.accepted - plain.accepted <= 12


@EACH
def test_thresholds_are_found_within_a_step(method) -> None:
    """A fall through 0.3 and a rise through 7 of exp(-2 t) and exp(2 t): the scalar is at its level to rounding."""
    told = {"rtol": RTOL[method], "max_steps": 10**6}
    states, last, report = follow(method, DECAY, [1.0], [0, 0.1, 5], rates=[2.0], watch=(0, FALLS, 0.3), **told)
    assert report.ending == Ending.STOPPED
    assert report.time == pytest.approx(-np.log(0.3) / 2, rel=10 * GLOBAL[method])
    assert last[0] == pytest.approx(0.3, rel=1e-13)
    assert last[0] <= 0.3
    assert states[1, 0] == pytest.approx(np.exp(-0.2), abs=GLOBAL[method])
    assert np.isnan(states[2, 0])
    _, last, report = follow(method, DECAY, [1.0], [5], rates=[-2.0], watch=(0, RISES, 7.0), **told)
    assert report.time == pytest.approx(np.log(7.0) / 2, rel=10 * GLOBAL[method])
    assert last[0] == pytest.approx(7.0, rel=1e-13)


@pytest.mark.parametrize("method", ["tsit5", "dormand_prince", "doubling"])  # which follow small components
def test_a_step_that_is_taken_again_begins_at_its_own_scalars(method) -> None:
    """The first scalar falls from 1e-6 through 1e-7 in one step, which is taken again for the sake of interpolation. Below 1e-7 the
    state counts as vanished and would be at rest: the run must see that it is not there yet."""
    told = {"rtol": 1e-4, "floor": 1e-7, "watch": (0, FALLS, 1e-7)}
    _, last, report = follow(method, LOGISTIC, [1e-6, 1.0], [10.0], rates=[-1.0], **told)
    assert report.ending == Ending.STOPPED
    assert last[0] == pytest.approx(1e-7, rel=1e-13)


@EXPLICIT
@pytest.mark.parametrize("level", [-0.9, -1.0, -1.019])
def test_a_threshold_that_is_passed_and_left_within_a_step(method, level) -> None:
    """A pendulum that turns at -1.02: steps are longer than it stays below the levels. Their first crossing is found wherever the
    steps happen to end."""
    from scipy.integrate import solve_ivp

    right, falls = lambda t, y: [y[1], -np.sin(y[0])], lambda t, y: y[0] - level
    falls.direction, falls.terminal = -1, True
    for angle in np.linspace(0, 0.9, 10):
        first = [angle, np.sqrt(2 * (np.cos(angle) - np.cos(1.02)))]
        exact = solve_ivp(right, (0, 10), first, rtol=1e-10, atol=1e-12, max_step=0.02, events=falls).t[-1]
        _, last, report = follow(method, PENDULUM, first, [20.0], rtol=1e-6, watch=(0, FALLS, level))
        assert report.ending == Ending.STOPPED
        assert last[0] == pytest.approx(level, rel=1e-12)
        assert report.time == pytest.approx(exact, abs=1e-3)


@EACH
def test_a_threshold_true_at_the_start_stops_there(method) -> None:
    states, last, report = follow(method, DECAY, [1.0], [0, 1, 2], watch=(0, FALLS, 2.0))
    assert (report.ending, report.time, last[0]) == (Ending.STOPPED, 0.0, 1.0)
    assert states[0, 0] == 1.0
    assert np.isnan(states[1:]).all()


@EACH
def test_blow_up_is_called_divergence_at_its_time(method) -> None:
    states, _, report = follow(method, EXPLOSION, [1.0], [0, 0.5, 2.0], rtol=1e-6)
    assert report.ending == Ending.DIVERGED
    assert report.time == pytest.approx(1.0, abs=1e-3)
    assert states[1, 0] == pytest.approx(2.0, rel=1e-3)
    assert np.isnan(states[2, 0])


@EACH
def test_steps_that_shrink_without_end_stall_or_diverge(method) -> None:
    """At a wall with an enormous slope behind it steps shrink until they do not count. Large states there are a divergence, and so
    are those that nobody can compute. (The midpoint rule under `doubling` sees the wall late.)"""
    cases = [(np.nan, 1e8, Ending.DIVERGED), (1e15, 1e8, Ending.STALLED), (1e15, 1e3, Ending.DIVERGED)]
    near = 0.1 if method == "doubling" else 1e-6
    for slope, bound, ending in cases[: 1 if method == "doubling" else 3]:
        states, last, report = follow(method, CLIFF, [1.0], [0.1, 2.0], rates=[slope], bound=bound, rtol=1e-6)
        assert report.ending == ending
        assert report.time == pytest.approx(0.5, abs=near)
        assert last[0] == pytest.approx(0.5, abs=near)
        assert np.isnan(states[1, 0])


@EACH
def test_a_state_at_rest_converges_and_fills_the_outputs(method) -> None:
    states, last, report = follow(method, DECAY, [0.0], [0, 1, 1e9])
    assert report.ending == Ending.CONVERGED
    assert (states == 0).all()
    assert last[0] == 0
    _, _, report = follow(method, DECAY, [0.0], [0, 1, 2], rests=False)
    assert report.ending == Ending.FINISHED


@EACH
def test_slow_growth_is_not_taken_for_rest(method) -> None:
    """A small component that still grows must not end the run, nor the little time that is left before its end."""
    states, _, report = follow(method, DECAY, [1e-13], [0, 10.0], rates=[-1.0], atol=1e-24, rtol=RTOL[method])
    assert report.ending == Ending.FINISHED
    assert states[-1, 0] == pytest.approx(1e-13 * np.exp(10), rel=1e-3)
    _, _, report = follow(method, DECAY, [1.0], np.linspace(0, 5, 501), rates=[0.3], rtol=1e-5)
    assert report.ending == Ending.FINISHED


@EACH
def test_step_limit(method) -> None:
    states, _, report = follow(method, LOGISTIC, [0.1], [0, 1e4], max_steps=5, rests=False)
    assert report.ending == Ending.STEP_LIMIT
    assert 0 < report.time < 1e4
    assert report.accepted + report.rejected == 5
    assert np.isnan(states[-1]).all()


@EACH
def test_interruption(method) -> None:
    """Before the first step; and from another thread, which also sees how far the run is."""
    _, last, report = follow(method, LOGISTIC, [0.1], [0, 1.0], interrupt=1)
    assert (report.ending, report.time, last[0]) == (Ending.INTERRUPTED, 0.0, 0.1)


def test_another_thread_interrupts_and_sees_the_time() -> None:
    """Thousands of pendulums for ever: interrupted after a moment."""
    seen = []

    def interrupt(report):
        while not report.time > 0:
            time.sleep(0.01)
        seen.append(report.time)
        report.interrupt = 1

    report = np.zeros(1, REPORT)[0]
    thread = threading.Thread(target=interrupt, args=[report])
    thread.start()
    _, _, report = follow("tsit5", PENDULUM, [1.0, 0.5] * 500, [1e9], max_steps=10**9, report=report)
    thread.join()
    assert report.ending == Ending.INTERRUPTED
    assert 0 < seen[0] <= report.time


@EXPLICIT
def test_many_pieces_cost_a_step_each(method) -> None:
    """After a jump the state moves a tenth faster or slower, so that the last step is a good guess."""
    rates, breaks = 1.0 + 0.1 * (np.arange(301) % 2), np.linspace(0, 30, 302)[1:-1]
    states, _, report = follow(method, DECAY, [1.0], [30.0], rates=rates, breaks=breaks, rtol=1e-5, rests=False)
    assert report.accepted + report.rejected <= 1.05 * rates.size
    assert states[0, 0] == pytest.approx(np.exp(-30 * rates.mean()), rel=1e-3)


@EXPLICIT
def test_a_jump_to_a_thousandfold_rate_keeps_the_tolerance(method) -> None:
    """The last step before it would be far too long."""
    times = np.linspace(0, 20, 41)
    states, _, report = follow(method, DECAY, [1.0], times, rates=[1e-3, 1.0], breaks=[10.0], rtol=1e-8)
    passed = np.where(times < 10, times / 1e3, times - 9.99)
    assert states[:, 0] == pytest.approx(np.exp(-passed), rel=1e-6)
    assert report.rejected <= 12


@EACH
def test_machine_code_and_python_agree(method) -> None:
    told = {"rates": [1.0, 2.0], "breaks": [0.5], "rtol": 1e-5, "watch": (0, FALLS, 0.2)}
    one, last_one, _ = follow(method, DECAY, [1.0], [0.0, 0.7, 3.0], **told)
    two, last_two, _ = follow(method, DECAY, [1.0], [0.0, 0.7, 3.0], entry=interpreted(METHODS[method][1]), **told)
    assert two == pytest.approx(one, rel=1e-9, nan_ok=True)
    assert last_two == pytest.approx(last_one, rel=1e-9)


@EXPLICIT
@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-9, 1e-11])
def test_global_error_follows_the_tolerance(method, rtol) -> None:
    times = np.linspace(0, 30, 31)
    states, _, _ = follow(method, PENDULUM, [1.0, 0.5], np.linspace(0, 30, 301), rtol=rtol)
    assert np.abs(states[::10] - pendulum(times)).max() < 30 * rtol


def test_outputs_of_few_steps_are_as_good_as_the_steps() -> None:
    """Order 8 takes steps so long that interpolation would err more than they do, were it not held to the tolerance."""
    times = np.linspace(0, 12, 601)
    states, _, _ = follow("dormand_prince", LOGISTIC, [1e-3, 1e-2], times, rtol=1e-8)
    assert np.abs(states - logistic(np.array([1e-3, 1e-2]), times[:, None])).max() < 0.5e-8


@pytest.mark.parametrize(("method", "rtol", "most"), [("tsit5", 1e-8, 2275), ("dormand_prince", 1e-10, 1839)])
def test_work_is_pinned(method, rtol, most) -> None:
    """Right-hand-side evaluations of a fixed task: a silent slowdown shows here."""
    _, _, report = follow(method, PENDULUM, [1.0, 0.5], [0, 30], rtol=rtol)
    assert report.evaluations <= 1.05 * most


@EXPLICIT
def test_the_largest_error_counts_whatever_is_beside_it(method) -> None:
    """Fifty pendulums are followed in the steps of one, and so is one among many that hang at rest."""
    counts = [
        follow(method, PENDULUM, start, [0, 30])[2]
        for start in ([1.0, 0.5], [1.0, 0.5] * 50, [1.0, 0.5] + [0.0, 0.0] * 49)
    ]
    assert len({(one.evaluations, one.accepted, one.rejected) for one in counts}) == 1


def test_nan_is_never_lost() -> None:
    """In whichever component it appears: the step is rejected and the run ends as diverged, not as converged."""
    k, scratch, zero = np.zeros((16, 3)), np.empty(3), np.zeros(3)
    for i in range(3):
        trial = np.ones(3)
        trial[i] = np.nan
        assert np.isnan(tsit5.scaled_error(0.1, np.ones(3), trial, k, 1e-8, 1e-14, scratch)).all()
        assert np.isnan(dormand_prince.scaled_error(0.1, np.ones(3), trial, k, 1e-8, 1e-14, zero, scratch))


@pytest.mark.parametrize("method", ["rosenbrock", "chebyshev"])
def test_a_stiff_run_over_six_decades(method) -> None:
    times = np.concatenate([[0.0], np.geomspace(1e-4, 1e4, 30)])
    implicit, exact = method == "rosenbrock", 1 / (1 + times)
    errors = []
    for rtol in (1e-6, 1e-8):
        states, _, report = follow(method, STIFF, [1.0, 0.0], times, rates=[1e4], rtol=rtol, atol=0.0, rests=False)
        assert report.ending == Ending.FINISHED
        assert abs(states[-1, 1] / states[-1, 0] - 1) < 1e-3
        errors.append(np.abs(states[:, 0] / exact - 1).max())
        if rtol == 1e-6:
            assert report.evaluations < (3000 if implicit else 10**6)  # a plain explicit method needs 5 x 10^7
    assert errors[0] < (1e-4 if implicit else 3e-3)
    assert errors[1] < errors[0] / 10


def test_the_error_of_rosenbrock_is_that_of_its_embedded_method() -> None:
    attempt, arrive, errors, lengths = (
        interpreted(rosenbrock.attempt),
        interpreted(rosenbrock.arrive),
        [],
        [0.4, 0.2, 0.1],
    )
    system, data, told = (
        METHODS["rosenbrock"][2],
        (np.array([LOGISTIC, 1.0, 0.0, 0.0, 0.0]),),
        control(rtol=0.0, atol=1.0),
    )
    for h in lengths:
        memory, report = np.zeros((rosenbrock.ROWS, 2)), np.zeros(1, REPORT)[0]
        memory[Y] = 0.1, 0.3
        arrive(system, told, report, memory, data)
        errors.append(attempt(system, told, report, h, memory, data)[0])
    assert np.polyfit(np.log(lengths), np.log(errors), 1)[0] == pytest.approx(rosenbrock.EMBEDDED_ORDER + 1, abs=0.25)


def test_chebyshev_is_stable_as_far_as_it_says() -> None:
    """The stability polynomial stays below one over the whole stretch, and not twice as far."""
    step, system = interpreted(chebyshev.chebyshev_step), METHODS["chebyshev"][2]

    def amplification(stages, z):
        memory, out = np.zeros((chebyshev.ROWS, z.size)), np.empty(z.size)
        memory[Y], memory[SLOPE] = 1.0, z
        right = lambda segment, t, y, dy, data: np.multiply(z, y, out=dy)
        step((system[0], right), np.zeros(1, REPORT)[0], stages, 1.0, memory, out, (None,))
        return out

    for stages in (2, 5, 20, 100):
        longest = ((stages - 1) ** 2 - 1) / 1.54  # largest h x radius for which so many are taken
        assert np.abs(amplification(stages, -np.linspace(1e-3, max(longest, 0.5), 2000))).max() <= 1 + 1e-12
        assert abs(amplification(stages, np.array([-2 * 0.67 * stages**2]))[0]) > 1
