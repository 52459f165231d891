"""Reports tell what deviates."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed


def test_reports_pass_and_fail() -> None:
    def report(value):
        return sv.checks.Report("x", {"a": np.array([1.0, value])}, {"a": np.ones(2)}, {"a": np.full(2, 0.1)}, 3.0)

    assert report(1.2).passed
    assert not report(1.4).passed
    assert not report(np.nan).passed
    assert report(1.4).worst == np.abs(0.4) / 0.1 or np.isclose(report(1.4).worst, 4)
    assert "FAILED" in str(report(1.4))


def test_all_routes_agree(quadratic: sv.Problem) -> None:
    """Four routes at small rate, three at finite rate; with a spectrum or other units fewer apply."""
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    flow = sv.checks.routes_agree(quadratic, start, until=1500)
    assert set(flow.values) == {"implicit integrator", "closed form", "mode reduction"}
    assert flow.passed
    fast = sv.checks.routes_agree(quadratic.replace(training__learning_rate=0.3), start, until=60, small_rate=False)
    assert set(fast.values) == {"implicit integrator", "mode reduction"}
    assert fast.passed
    generic = sv.start(quadratic, seed=0)
    assert set(sv.checks.routes_agree(quadratic, generic, until=500).values) == {"implicit integrator", "closed form"}
    wrong = sv.checks.Report(
        flow.name, flow.values, {k: 1.001 * v for k, v in flow.references.items()}, flow.scales, 1.0
    )
    assert not wrong.passed


def test_no_second_route_is_told() -> None:
    problem = sv.problems.convention("arnaboldi2023").problem(p=2, gamma=0.1, d=100)
    with pytest.raises(ValueError, match="no second route applies"):
        sv.checks.routes_agree(problem, sv.start(problem, seed=0), until=1)


def test_scheduled_eigenvalues_have_one_route() -> None:
    problem = sv.problems.convention("arnaboldi2023").problem(p=2, gamma=0.1, d=100)
    ramp = sv.Schedule(times=(0, 5), values=(0.1, 1.0), shape="linear")
    problem = problem.replace(inputs__spectrum=sv.Spectrum(eigenvalues=(1.0, ramp)))
    with pytest.raises(ValueError, match="routes_agree: an eigenvalue is a schedule"):
        sv.checks.routes_agree(problem, sv.start(problem, seed=0), until=1)


def test_schedules_leave_the_routes_that_can_follow_them(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    for name in ("batch", "weight_decay", "label_noise"):
        ramp = sv.Schedule(times=(0, 5), values=(1.0, 1.5), shape="linear")
        changing = quadratic.replace(**{f"training__{name}": ramp})
        report = sv.checks.routes_agree(changing, start, until=10, small_rate=False)
        assert report.passed
        assert "implicit integrator" in report.values
        assert "mode reduction" not in report.values


def test_routes_with_a_spectrum(power_law: sv.Problem) -> None:
    report = sv.checks.routes_agree(power_law, sv.start(power_law, seed=0, scale=0.3), until=50, tolerance=1e-5)
    assert set(report.values) == {"implicit integrator"}
    assert report.passed


@pytest.mark.statistical
def test_sampling_check_catches_a_wrong_covariance(quadratic: sv.Problem) -> None:
    factor = np.random.default_rng(seed(0)).standard_normal((9, 9))
    C = factor @ factor.T / 9
    good = sv.checks.moments_against_sampling(quadratic, C, samples=50_000, seed=seed(0), allowed=6)
    assert good.passed
    shifted = sv.checks.Report(
        good.name, good.values, good.references | {"risk": 1.1 * good.values["risk"]}, good.scales, 6.0
    )
    assert not shifted.passed
