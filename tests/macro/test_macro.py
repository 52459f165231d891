"""The deterministic limit as a level: endings, thresholds, batches, schedules, invariants, work."""

import numpy as np
import pytest

import solvable as sv


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
    assert half.ending == [sv.Ending.STOPPED]
    assert half.success
    end = half.last()
    risk = sv.moments(sv.field_covariance(quadratic, end), quadratic).risk
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
    batch = sv.run_batch(quadratic, starts, sv.Macro(), until=300, learning_rates=[0.5, 0.8, 2.5])
    diverged = batch.endings == sv.Ending.DIVERGED
    assert not batch.success
    assert diverged.tolist() == [False] * 10 + [True] * 5
    assert "5 of 15 runs: the overlaps diverged: lower the learning rate" in batch.message
    assert (batch.end_time[diverged] < 100).all()
    mean = batch.mean("risk")
    assert mean.left_out == 5
    assert np.isfinite(mean.mean).all()
    assert np.isfinite(mean.standard_error).all()
    assert mean.mean == pytest.approx(batch.risk[:10].mean(axis=0))
    assert (mean.runs == 10).all()


def test_many_divergent_runs_leave_no_nan_in_averages(quadratic: sv.Problem) -> None:
    """500 runs across the stability limit: every one either finite throughout or named as diverged, with its time."""
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.1) for seed in range(10)]
    batch = sv.run_batch(
        quadratic, starts, sv.Macro(rtol=1e-6), times=[0, 50], learning_rates=np.linspace(0.2, 4.0, 50)
    )
    diverged = batch.endings == sv.Ending.DIVERGED
    assert 50 < diverged.sum() < 450
    assert np.isfinite(batch.risk[~diverged]).all()
    assert np.isfinite(batch.end_time[diverged]).all()
    assert np.isfinite(batch.mean("student_overlap").mean).all()
    assert batch.mean().left_out == diverged.sum()


def test_the_printed_stability_limit(quadratic: sv.Problem) -> None:
    """The zero-error solutions are stable below rate_limit and unstable above it."""
    limit = sv.theory.rate_limit(quadratic).value
    target = sv.theory.nearest_solution(quadratic, sv.start(quadratic, seed=0, students="orthogonal", cross=0.1)).value
    tilt = 0.999 * target.cross_overlap
    start = sv.start(quadratic, student_overlap=target.student_overlap + 1e-3 * np.eye(6), cross_overlap=tilt)
    ends = sv.run_batch(quadratic, [start], sv.Macro(), times=[0, 400], learning_rates=[0.9 * limit, 1.1 * limit])
    assert ends.risk[0, -1] < ends.risk[0, 0]
    assert not ends.risk[1, -1] < ends.risk[1, 0]


def test_a_batch_is_the_same_as_single_runs_whatever_the_threads(quadratic: sv.Problem) -> None:
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.05) for seed in range(3)]
    rates = [0.05, 0.1]
    one = sv.run_batch(quadratic, starts, sv.Macro(threads=1), until=100, learning_rates=rates)
    two = sv.run_batch(quadratic, starts, sv.Macro(threads=4), until=100, learning_rates=rates)
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
    assert run.ending == [sv.Ending.CONVERGED]
    assert run.end_time[0] < 1000
    assert np.isfinite(run.risk).all()
    assert run.risk[0, -1] < 1e-14


def test_a_saddle_is_at_rest_but_its_neighbourhood_is_not(quadratic: sv.Problem) -> None:
    Q = 6 / 8 * np.eye(6)
    gradient_flow = sv.Macro(small_rate=True)
    on = sv.run(quadratic, sv.start(quadratic, student_overlap=Q), gradient_flow, until=10_000)
    assert on.ending == [sv.Ending.CONVERGED]
    assert on.risk[0, -1] == pytest.approx(2 / 3 + 2 / 8)
    R = 1e-9 * np.eye(6, 3)
    beside = sv.run(quadratic, sv.start(quadratic, student_overlap=Q, cross_overlap=R), gradient_flow, until=10_000)
    assert beside.risk[0, -1] < 0.01


def test_step_limit_is_told(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    run = sv.run(quadratic, start, sv.Macro(max_steps=10), until=2000)
    assert run.ending == [sv.Ending.STEP_LIMIT]
    assert not run.success
    assert "raise it" in run.message


def test_sphere_keeps_norms_and_readout_balance_is_conserved() -> None:
    problem = sv.convention("arnaboldi2023").problem(p=4, gamma=0.2, Delta=0.3, d=1000, second_layer=True)
    run = sv.run(problem, sv.start(problem, seed=1), sv.Macro(), until=200)
    assert sv.checks.norms_on_sphere(run).passed
    free = sv.convention("arnaboldi2023").problem(p=3, gamma=0.2, d=100, sphere=False, second_layer=True)
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


def test_levels_check_their_settings() -> None:
    for wrong in ({"rtol": 1.0}, {"rtol": 0.0}, {"atol": -1.0}, {"max_steps": 0}, {"threads": 0}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            sv.Macro(**wrong)


def test_work_is_pinned(quadratic: sv.Problem, power_law: sv.Problem) -> None:
    """Right-hand-side evaluations of two fixed tasks: a silent slowdown shows here."""
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.01)
    assert sv.run(quadratic, start, sv.Macro(), until=60, clock="rate").nfev[0] <= 1.05 * 1735
    assert sv.run(power_law, sv.start(power_law, seed=0, scale=0.01), sv.Macro(), until=1000).nfev[0] <= 1.05 * 3295


def test_tighter_tolerance_is_more_accurate(power_law: sv.Problem) -> None:
    """The error follows rtol also with sixteen blocks: no dilution."""
    start = sv.start(power_law, seed=0, scale=0.01)
    reference = sv.run(power_law, start, sv.Macro(rtol=1e-12), until=1000).risk
    for rtol in (1e-6, 1e-8, 1e-10):
        error = np.abs(sv.run(power_law, start, sv.Macro(rtol=rtol), until=1000).risk / reference - 1).max()
        assert error < 300 * rtol
