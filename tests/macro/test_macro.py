"""The deterministic limit as a level: endings, thresholds, batches, schedules, invariants, work."""

import time
from dataclasses import replace

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.kernel_choice import closed_kernels
from solvable.levels import Lane, Plan
from solvable.macro import integration
from solvable.macro import level as level_module
from solvable.macro.choice import chosen
from solvable.macro.integrators import integrator


def test_known_plateau_and_half_risk(quadratic: sv.Problem) -> None:
    """Start 1.0, plateau 2/p* + 2/(p + 2) = 0.9167 (bocchi2026), left before the risk is halved."""
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=1e-4)
    run = sv.run(quadratic, start, sv.Macro(), until=4000)
    assert run.success
    assert run.risk[0, 0] == pytest.approx(2 / 3 + 2 / 6, rel=1e-3)
    (plateau,) = run.plateaus()
    assert plateau.height == pytest.approx(2 / 3 + 2 / 8, rel=1e-3)
    assert plateau.end < run.exit_time()[0] < 2500


def test_threshold_stops_exactly(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    half = sv.run(quadratic, start, sv.Macro(), until=6000, stop=sv.when("risk", below=0.5, relative=True))
    assert half.ending == [sv.results.Ending.STOPPED]
    assert half.success
    end = half.last()
    risk = sv.dynamics.moments(sv.dynamics.field_covariance(quadratic, end), quadratic).risk
    assert risk == pytest.approx(0.5 * half.risk[0, 0], rel=1e-9)
    assert np.isnan(half.risk[0, half.alpha > half.end_alpha[0]]).all()
    assert half.end_time[0] == pytest.approx(sv.run(quadratic, start, sv.Macro(), until=6000).exit_time()[0], rel=1e-3)
    aligned = sv.run(quadratic, start, sv.Macro(), until=6000, stop=sv.when("cross_overlap", above=0.2))
    assert np.abs(aligned.last().cross_overlap).max() == pytest.approx(0.2, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("weights",), "when: 'weights' given, must be one of risk, cross_overlap"),
        (("risk",), "give either below or above"),
    ],
)
def test_bad_thresholds(arguments, message) -> None:
    with pytest.raises(ValueError, match=message):
        sv.when(*arguments)
    with pytest.raises(ValueError, match="not negative"):
        sv.when("risk", below=float("nan"))


def test_divergence_is_named_with_its_time_and_never_averaged(quadratic: sv.Problem) -> None:
    """Rates below and above the stability limit p p*/(4 (p* + 2)) = 0.9 in one batch."""
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.01) for seed in range(5)]
    batch = sv.levels.run_batch(quadratic, starts, sv.Macro(), until=300, learning_rates=[0.5, 0.8, 2.5])
    diverged = batch.endings == sv.results.Ending.DIVERGED
    assert not batch.success
    assert diverged.tolist() == [False] * 10 + [True] * 5
    assert "5 of 15 runs: the overlaps diverged: lower the learning rate" in batch.message
    assert (batch.end_time[diverged] < 100).all()
    with pytest.raises(ValueError, match=r"runs differ in learning_rate; choose by select\(learning_rate="):
        batch.mean("risk")
    slow = batch.select(learning_rate=0.5)
    mean = slow.mean("risk")
    assert (mean.runs, mean.left_out) == (5, 0)
    assert mean.mean == pytest.approx(batch.risk[:5].mean(axis=0))
    assert mean.standard_error == pytest.approx(batch.risk[:5].std(axis=0, ddof=1) / np.sqrt(5))
    assert slow.problem.training.learning_rate == 0.5
    lost = batch.select(learning_rate=2.5).mean()
    assert (lost.runs, lost.left_out) == (0, 5)
    with pytest.raises(ValueError, match="'rate' given, must be one of run, start, learning_rate"):
        batch.select(rate=0.5)
    with pytest.raises(ValueError, match="no run has"):
        batch.select(learning_rate=7.0)


def test_many_divergent_runs_leave_no_nan_in_averages(quadratic: sv.Problem) -> None:
    """500 runs across the stability limit: every one either finite throughout or named as diverged, with its time."""
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.1) for seed in range(10)]
    batch = sv.levels.run_batch(
        quadratic, starts, sv.Macro(rtol=1e-6), times=[0, 50], learning_rates=np.linspace(0.2, 4.0, 50)
    )
    diverged = batch.endings == sv.results.Ending.DIVERGED
    assert 50 < diverged.sum() < 450
    assert np.isfinite(batch.risk[~diverged]).all()
    assert np.isfinite(batch.end_time[diverged]).all()
    for rate in np.unique(batch.labels["learning_rate"]):
        some = batch.select(learning_rate=rate)
        mean = some.mean("student_overlap")
        assert mean.left_out == (some.endings == sv.results.Ending.DIVERGED).sum()
        assert np.isfinite(mean.mean).all() == (mean.runs > 0)


def test_means_of_stopped_runs_end_with_the_first_stop(quadratic: sv.Problem) -> None:
    """Whoever is still going when others have stopped is no fair sample."""
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.05) for seed in range(4)]
    batch = sv.levels.run_batch(
        quadratic, starts, sv.Macro(), until=2000, stop=sv.when("risk", below=0.5, relative=True)
    )
    assert batch.exit_time() == pytest.approx(batch.end_time)
    whole = sv.levels.run_batch(quadratic, starts, sv.Macro(), until=2000)
    assert whole.exit_time() == pytest.approx(batch.end_time, rel=1e-3)
    together = batch.alpha < batch.end_time.min()
    assert batch.mean().mean[together] == pytest.approx(whole.mean().mean[together])
    assert np.isnan(batch.mean().mean[~together]).all()
    late = sv.levels.run_batch(quadratic, starts, sv.Macro(), times=np.linspace(200, 2000, 500))
    assert late.exit_time() == pytest.approx(batch.end_time, rel=1e-3)  # relative to the start, not to the first output


@pytest.mark.parametrize("first", [0.0, 1e-6, 1e-4])
@pytest.mark.parametrize("unit", ["quadratic", "erf"])
def test_warm_up(unit, first) -> None:
    """A rate that is (almost) zero at first lets the step grow; what follows must not be stepped over blindly."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation=unit),
        student=sv.Student(width=2, activation=unit),
        training=sv.Training(learning_rate=sv.Schedule(times=(0, 1000), rates=(first, 0.1))),
    )
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.1, 0.0], [0.05, 0.2]])
    after = sv.run(problem.replace(training__learning_rate=0.1), start, sv.Macro(), times=[500.0])
    whole = sv.run(problem, start, sv.Macro(), times=[1500.0])
    assert whole.success
    assert np.isfinite(whole.student_overlap).all()
    assert whole.risk[0, 0] == pytest.approx(after.risk[0, 0], rel=0.3, abs=1e-9)


def test_huge_rates_diverge(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0)
    for rate in (1e3, 1e150, 1e300):
        run = sv.run(quadratic.replace(training__learning_rate=rate), start, sv.Macro(), until=10)
        assert run.ending == [sv.results.Ending.DIVERGED]


def test_large_starts_are_no_divergence() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.1),
    )
    run = sv.run(problem, sv.start(problem, seed=0, scale=2e4), sv.Macro(), until=400)
    assert run.success
    assert run.risk[0, -1] < 1e-6 * run.risk[0, 0]


def test_slow_blocks_are_followed_to_the_end() -> None:
    """Linear units: the exact solution of each block, long after the risk has fallen below rounding of its terms."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(spectrum=sv.PowerLaw(beta=0.5, distinct=16)),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5),
    )
    start = sv.start(problem, student_overlap=[[1.0]])
    run = sv.run(problem, start, sv.Macro(small_rate=True), times=[200.0], keep_blocks=True)
    lam, f = problem.inputs.eigenvalues, problem.inputs.fractions
    assert run.blocks.cross[0, 0, :, 0, 0] == pytest.approx(f * (1 - np.exp(-0.5 * lam * 200)), rel=1e-6)


def test_zero_absolute_tolerance_is_allowed(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, student_overlap=0.75 * np.eye(6), cross_overlap=1e-9 * np.eye(6, 3))
    ends = [
        sv.run(quadratic, start, sv.Macro(atol=atol), times=[60.0], clock="rate").risk[0, 0] for atol in (0.0, 1e-14)
    ]
    assert ends[0] == pytest.approx(ends[1], rel=1e-5)


@pytest.mark.parametrize(("norm", "rtol"), [("free", 1e-8), ("free", 1e-5), ("sphere", 1e-8), ("sphere", 1e-5)])
def test_every_output_can_be_restarted_from(norm, rtol) -> None:
    """At the solution the overlaps are singular; integration errors must not make a state impossible."""
    for unit, width in [("linear", 2), ("erf", 2), ("quadratic", 2)]:
        problem = sv.Problem(
            teacher=sv.Teacher(width=width, activation=unit),
            student=sv.Student(width=width, activation=unit, norm=norm),
            inputs=sv.Inputs(dim=400, spectrum=sv.PowerLaw(beta=0.5, distinct=4)),
            training=sv.Training(learning_rate=0.1, loss_factor=0.5),
        )
        run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(rtol=rtol), until=3000, keep_blocks=True)
        for i in range(0, 201, 20):
            state = run.at(run.time[i])
            assert state.student_overlap == pytest.approx(run.student_overlap[0, i], abs=1000 * rtol)
            sv.run(problem, state, sv.Macro(), times=[0.1])
        sv.run(problem, run.last(), sv.Macro(), until=1)


def test_a_rate_raised_past_the_limit_after_convergence_diverges() -> None:
    """The rounding-negative part of a singular state must not carry the run off to impossible overlaps."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2),
        student=sv.Student(width=2),
        training=sv.Training(learning_rate=sv.Schedule(times=(0, 2000), rates=(0.05, 1.0))),
    )
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3, 0.1], [0.0, 0.2]])
    run = sv.run(problem, start, sv.Macro(), until=3000)
    assert run.ending == [sv.results.Ending.DIVERGED]
    assert run.end_time[0] > 2000


def test_tiny_overlaps_still_escape(quadratic: sv.Problem) -> None:
    """Down to 1e-16, well below atol, a plateau is not an end."""
    exits = []
    for size in (1e-12, 1e-14, 1e-16):
        start = sv.start(quadratic, student_overlap=0.75 * np.eye(6), cross_overlap=size * np.eye(6, 3))
        stop = sv.when("risk", below=0.5, relative=True)
        exits.append(
            sv.run(quadratic, start, sv.Macro(small_rate=True, atol=0.0), until=200, clock="rate", stop=stop).end_time[
                0
            ]
        )
    assert np.diff(exits) == pytest.approx([np.log(100) / (8 / 18)] * 2, rel=1e-3)


@pytest.mark.parametrize("unit", ["erf", "tanh"])
def test_ctrl_c_stops_a_long_run(unit) -> None:
    import signal
    import subprocess
    import sys
    import time

    code = (
        "import numpy as np, solvable as sv\n"
        "p = sv.problems.convention('worschech2024').problem(K=9, M=9, eta=0.1)\n"
        f"p = p.replace(student__activation='{unit}', teacher__activation='{unit}')\n"
        "s = sv.start(p, student_overlap=np.eye(9))\n"
        "print('ready', flush=True)\n"
        "sv.run(p, s, sv.Macro(rtol=1e-12, max_steps=10**9), until=1e9)\n"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # tests in the background ignore it
    )  # fmt: skip
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(2)
        child.send_signal(signal.SIGINT)
        _, error = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode != 0
    assert "KeyboardInterrupt" in error


def test_the_stability_limit(quadratic: sv.Problem) -> None:
    """The zero-error solutions are stable below rate_limit and unstable above it."""
    limit = sv.theory.rate_limit(quadratic).value
    target = sv.theory.nearest_solution(quadratic, sv.start(quadratic, seed=0, students="orthogonal", cross=0.1)).value
    tilt = 0.999 * target.cross_overlap
    start = sv.start(quadratic, student_overlap=target.student_overlap + 1e-3 * np.eye(6), cross_overlap=tilt)
    ends = sv.levels.run_batch(
        quadratic, [start], sv.Macro(), times=[0, 400], learning_rates=[0.9 * limit, 1.1 * limit]
    )
    assert ends.risk[0, -1] < ends.risk[0, 0]
    assert ends.endings[1] == sv.results.Ending.DIVERGED or ends.risk[1, -1] > ends.risk[1, 0]


def test_a_batch_is_the_same_as_single_runs_whatever_the_threads(quadratic: sv.Problem) -> None:
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.05) for seed in range(3)]
    rates = [0.05, 0.1]
    one = sv.levels.run_batch(quadratic, starts, sv.Macro(threads=1), until=100, learning_rates=rates)
    two = sv.levels.run_batch(quadratic, starts, sv.Macro(threads=4), until=100, learning_rates=rates)
    assert np.array_equal(one.student_overlap, two.student_overlap)
    assert one.labels["learning_rate"].tolist() == [0.05] * 3 + [0.1] * 3
    assert one.labels["start"].tolist() == [0, 1, 2, 0, 1, 2]
    single = sv.run(quadratic.replace(training__learning_rate=0.1), starts[1], sv.Macro(), until=100)
    assert np.array_equal(single.risk[0], one.risk[4])
    assert one.data["learning_rate"].dims == ("run",)


def test_convergence_is_noticed(quadratic: sv.Problem) -> None:
    """Equal widths converge exponentially; the outputs after that repeat the end."""
    problem = quadratic.replace(student__width=3, training__learning_rate=0.1)
    run = sv.run(problem, sv.start(problem, seed=0, students="orthogonal", cross=0.01), sv.Macro(), until=20_000)
    assert run.ending == [sv.results.Ending.CONVERGED]
    assert run.end_time[0] < 1000
    assert np.isfinite(run.risk).all()
    assert run.risk[0, -1] < 1e-14


def test_a_saddle_is_at_rest_but_its_neighbourhood_is_not(quadratic: sv.Problem) -> None:
    Q = 6 / 8 * np.eye(6)
    gradient_flow = sv.Macro(small_rate=True)
    on = sv.run(quadratic, sv.start(quadratic, student_overlap=Q), gradient_flow, until=10_000)
    assert on.ending == [sv.results.Ending.CONVERGED]
    assert on.risk[0, -1] == pytest.approx(2 / 3 + 2 / 8)
    R = 1e-9 * np.eye(6, 3)
    beside = sv.run(quadratic, sv.start(quadratic, student_overlap=Q, cross_overlap=R), gradient_flow, until=10_000)
    assert beside.risk[0, -1] < 0.01


def test_step_limit_is_told(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    run = sv.run(quadratic, start, sv.Macro(max_steps=10), until=2000)
    assert run.ending == [sv.results.Ending.STEP_LIMIT]
    assert not run.success
    assert "raise it" in run.message


def test_sphere_keeps_norms_and_readout_balance_is_conserved() -> None:
    problem = sv.problems.convention("arnaboldi2023").problem(p=4, gamma=0.2, Delta=0.3, d=1000, second_layer=True)
    run = sv.run(problem, sv.start(problem, seed=1), sv.Macro(), until=200)
    assert sv.checks.norms_on_sphere(run).passed
    free = sv.problems.convention("arnaboldi2023").problem(p=3, gamma=0.2, d=100, sphere=False, second_layer=True)
    start = sv.start(free, seed=0)
    flow = sv.run(free, start, sv.Macro(small_rate=True), until=200)
    assert np.ptp(flow.readout[0, -1]) > 0.1
    assert sv.checks.layer_balance(flow).passed
    coarse = sv.run(free, start, sv.Macro(), until=200)
    with pytest.raises(ValueError, match="small rates only"):
        sv.checks.layer_balance(coarse)
    fields = {**coarse.__dict__, "settings": {"small_rate": True}}
    fields.pop("clock", None)
    assert not sv.checks.layer_balance(sv.Trajectory(**fields)).passed  # the check can fail


def test_restart_continues_the_run(power_law: sv.Problem) -> None:
    start = sv.start(power_law, seed=0, scale=0.1)
    whole = sv.run(power_law, start, sv.Macro(), times=[0, 50, 100], keep_blocks=True)
    second = sv.run(power_law, whole.at(50), sv.Macro(), times=[0, 50])
    assert second.risk[0, -1] == pytest.approx(whole.risk[0, -1], rel=1e-7)
    assert whole.last().stacked == pytest.approx(whole.at(100).stacked)
    with pytest.raises(ValueError, match="not an output time"):
        whole.at(60)
    with pytest.raises(ValueError, match="keep_blocks=True"):
        sv.run(power_law, start, sv.Macro(), until=10).at(10)


def test_schedule_equals_restarts_at_the_new_rate(quadratic: sv.Problem) -> None:
    schedule = sv.Schedule(times=(0, 40, 100), rates=(0.2, 0.05, 0.4))
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    whole = sv.run(quadratic.replace(training__learning_rate=schedule), start, sv.Macro(), times=[0, 40, 100, 130])
    for rate, length, expected in [(0.2, 40, 1), (0.05, 60, 2), (0.4, 30, 3)]:
        piece = sv.run(quadratic.replace(training__learning_rate=rate), start, sv.Macro(), times=[length])
        start = piece.last()
        assert piece.risk[0, 0] == pytest.approx(whole.risk[0, expected], rel=1e-7)


def test_small_rate_runs_on_the_rate_scaled_clock_alone(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    ends = [
        sv.run(
            quadratic.replace(training__learning_rate=rate), start, sv.Macro(small_rate=True), until=5, clock="rate"
        ).risk
        for rate in (0.01, 0.3, sv.Schedule(times=(0, 20), rates=(0.01, 0.5), shape="linear"))
    ]
    assert ends[1] == pytest.approx(ends[0], rel=1e-7)
    assert ends[2] == pytest.approx(ends[0], rel=1e-6)


def test_the_closed_form_is_a_method(quadratic: sv.Problem) -> None:
    """Gradient flow of any start, entry by entry, as the integrator has it; refused where it is not the closed form."""
    start = sv.start(quadratic, seed=0, scale=0.8)
    times = [0.0, 100.0, 1000.0, 3000.0]
    closed = sv.run(quadratic, start, sv.Macro(small_rate=True, method="closed"), times=times)
    stepped = sv.run(quadratic, start, sv.Macro(small_rate=True, rtol=1e-11), times=times)
    assert closed.risk == pytest.approx(stepped.risk, rel=1e-8)
    assert closed.student_overlap == pytest.approx(stepped.student_overlap, abs=1e-8)
    assert closed.last().cross_overlap == pytest.approx(stepped.last().cross_overlap, abs=1e-8)
    with pytest.raises(ValueError, match="small_rate is false"):
        sv.run(quadratic, start, sv.Macro(method="closed"), times=times)
    stop = sv.when("risk", below=0.5)
    with pytest.raises(ValueError, match="does not watch thresholds"):
        sv.run(quadratic, start, sv.Macro(small_rate=True, method="closed"), times=times, stop=stop)
    noisy = quadratic.replace(training__label_noise=0.1)
    with pytest.raises(sv.InvalidProblem, match="label_noise"):
        sv.run(noisy, start, sv.Macro(small_rate=True, method="closed"), times=times)


def test_levels_check_their_settings() -> None:
    for wrong in ({"rtol": 1.0}, {"rtol": 0.0}, {"atol": -1.0}, {"max_steps": 0}, {"threads": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sv.Macro(**wrong)


def test_work_is_pinned(quadratic: sv.Problem, power_law: sv.Problem) -> None:
    """Right-hand-side evaluations of two fixed tasks: a silent slowdown shows here."""
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    assert sv.run(quadratic, start, sv.Macro(), until=60, clock="rate").nfev[0] <= 1.05 * 1218
    assert sv.run(power_law, sv.start(power_law, seed=0, scale=0.01), sv.Macro(), until=1000).nfev[0] <= 1.05 * 3295


def test_tighter_tolerance_is_more_accurate(power_law: sv.Problem) -> None:
    """The error follows rtol also with sixteen blocks: no dilution."""
    start = sv.start(power_law, seed=0, scale=0.01)
    reference = sv.run(power_law, start, sv.Macro(rtol=1e-12), until=1000).risk
    for rtol in (1e-6, 1e-8, 1e-10):
        error = np.abs(sv.run(power_law, start, sv.Macro(rtol=rtol), until=1000).risk / reference - 1).max()
        assert error < 300 * rtol


def test_weights_in_place_of_overlaps() -> None:
    """The same equations at small rates, for repeated and for single eigenvalues, from overlaps and from weights."""
    times = np.array([0.0, 1.0, 10.0, 100.0])
    for L, N in [(16, 16), (8, 64)]:
        problem = sv.problems.convention("worschech2024").problem(K=2, M=3, eta=0.5, beta=1.0, L=L, N=N)
        start = sv.start(problem, seed=0, scale=0.3)
        exact = sv.run(
            problem, start, sv.Macro(small_rate=True, rtol=1e-10, method="explicit"), times=times, keep_blocks=True
        )
        rows = sv.run(
            problem, start, sv.Macro(small_rate=True, rtol=1e-7, method="weights"), times=times, keep_blocks=True
        )
        assert np.abs(rows.risk / exact.risk - 1).max() < 1e-5
        for name in ("student_overlap", "cross_overlap"):
            assert np.abs(getattr(rows, name) - getattr(exact, name)).max() < 1e-5
        assert np.abs(rows.blocks.student - exact.blocks.student).max() < 1e-5
        assert np.abs(rows.last().stacked - exact.last().stacked).max() < 1e-5
        random = np.random.default_rng(1)
        weights = sv.overlaps.Weights(random.standard_normal((2, N)), random.standard_normal((3, N)))
        given, measured = (
            sv.run(problem, one, sv.Macro(small_rate=True, rtol=1e-7, method="weights"), times=times)
            for one in (weights, weights.overlaps(problem))
        )
        assert np.abs(given.risk / measured.risk - 1).max() < 1e-5


def test_weights_are_chosen_where_they_are_cheaper() -> None:
    problem = sv.problems.convention("worschech2024").problem(K=8, M=8, eta=0.1, beta=1.0, L=64, N=64)
    start, level = sv.start(problem, seed=0, scale=0.01), sv.Macro(small_rate=True, rtol=1e-4)
    lane, plan = Lane(problem, start), Plan(np.array([1000.0]))
    assert chosen(level, lane, plan) == "weights"
    assert chosen(sv.Macro(rtol=1e-4), lane, plan) != "weights"  # noise moves weights at random
    few = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=4, N=400)
    assert chosen(level, Lane(few, sv.start(few, seed=0)), plan) == "explicit"


def test_weights_refused() -> None:
    problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=4, N=8)
    with pytest.raises(ValueError, match="small_rate is false"):
        sv.run(problem, sv.start(problem, seed=0), sv.Macro(method="weights"), until=1)
    sphere = problem.replace(student__norm="sphere")
    with pytest.raises(ValueError, match="'sphere'"):
        sv.run(sphere, sv.start(sphere, seed=0), sv.Macro(method="weights", small_rate=True), until=1)


def test_a_function_of_the_overlaps_stops_a_run(quadratic: sv.Problem) -> None:
    """The same threshold by name and by function, with its own level and sign, from the same steps in Python."""
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    asked = []

    def largest(overlaps: sv.Overlaps) -> float:
        asked.append(overlaps.cross_overlap)
        return float(np.abs(overlaps.cross_overlap).max())

    named = sv.run(quadratic, start, sv.Macro(), until=6000, stop=sv.when("cross_overlap", above=0.3))
    own = sv.run(quadratic, start, sv.Macro(), until=6000, stop=sv.when(largest, above=0.3))
    assert own.ending == [sv.results.Ending.STOPPED]
    assert own.end_time == pytest.approx(named.end_time, rel=1e-12)
    assert own.risk == pytest.approx(named.risk, rel=1e-9, nan_ok=True)
    assert len(asked) < 200
    below = sv.when(lambda overlaps: -largest(overlaps), below=-0.3)
    assert sv.run(quadratic, start, sv.Macro(), until=6000, stop=below).end_time == pytest.approx(named.end_time)
    assert own.exit_time() == pytest.approx(named.end_time)
    with pytest.raises(ValueError, match="a function given, but Micro watches named quantities only"):
        sv.run(quadratic.replace(inputs__dim=50), start, sv.Micro(), until=1, stop=below)
    with pytest.raises(ValueError, match="method 'closed' has no overlaps"):
        sv.run(quadratic, start, sv.Macro(method="closed", small_rate=True), until=1, stop=below)


def test_a_stop_by_function_is_kept_without_it(quadratic: sv.Problem, tmp_path) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    stop = sv.when(lambda overlaps: -overlaps.student_overlap[0, 0], below=-1.2)
    run = sv.run(quadratic, start, sv.Macro(rtol=1e-5), until=600, stop=stop)
    run.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert again.stop is not None
    assert (again.stop.quantity, again.stop.level, again.stop.function) == ("function", -1.2, None)


def test_progress_is_told_in_alpha(quadratic: sv.Problem) -> None:
    """A run that takes long says now and then how far it is."""
    start, told = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01), []
    stop = sv.when(lambda overlaps: time.sleep(0.01) or 0.0, above=1.0)
    plan = replace(Plan(np.array([6000.0]), stop), report=lambda done, total: told.append((done, total)))
    sv.Macro(rtol=1e-9).solve([Lane(quadratic, start)], plan)
    done = [one for one, _ in told]
    assert len(done) >= 2
    assert done == sorted(done)
    assert 0 < done[-1] <= told[-1][1] == 6000.0


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("stop", [None, sv.when("risk", below=0.3, relative=True)], ids=["whole", "to a threshold"])
def test_small_runs_in_slices_are_the_same_to_the_bit(rtol: float, stop, monkeypatch: pytest.MonkeyPatch) -> None:
    rate = sv.Schedule(times=(0.0, 5.0), rates=(0.1, 0.05))
    problem = sv.Problem(
        teacher=sv.Teacher(width=2), student=sv.Student(width=3), training=sv.Training(learning_rate=rate)
    )
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    level, plan = sv.Macro(rtol=rtol), Plan(np.linspace(0, 100, 31), stop)
    for kernel in (*closed_kernels(problem, moments=False), integrator("explicit", rtol, 1).entry):
        kernel.settle()
    assert integration.is_small(level, [Lane(problem, start)], plan)
    monkeypatch.setattr(integration, "SLICE", 3)
    monkeypatch.setattr(level_module, "SLICE", 3)
    told: list[float] = []
    sliced = level.solve([Lane(problem, start)], replace(plan, report=lambda done, total: told.append(done)))
    monkeypatch.setattr(level_module, "is_small", lambda *_: False)
    whole = level.solve([Lane(problem, start)], plan)
    assert len(told) > 5
    assert told == sorted(told)
    for name in ("risk", "cross_overlap", "student_overlap", "end_alpha", "nfev", "endings"):
        assert np.array_equal(getattr(sliced, name), getattr(whole, name), equal_nan=True), name


def test_what_is_not_small_computes_in_another_thread() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=3, eta=0.01)
    one, plan = Lane(problem, sv.start(problem, seed=0, students="orthogonal", cross=0.1)), Plan(np.array([1.0]))
    many = replace(plan, times=np.arange(integration.MANY + 1.0))
    wide = problem.replace(student__width=integration.FEW - 2)
    spectrum = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.1, beta=1.0, L=4, N=400)
    own = replace(plan, stop=sv.when(lambda o: o.readout.sum(), above=0.9))
    assert not integration.is_small(sv.Macro(), [one, one], plan)
    assert not integration.is_small(sv.Macro(method="implicit"), [one], plan)
    assert not integration.is_small(sv.Macro(), [one], many)
    assert not integration.is_small(sv.Macro(), [one], own)
    for other in (wide, spectrum, problem.replace(student__activation="relu")):
        assert not integration.is_small(sv.Macro(), [replace(one, problem=other)], plan)
