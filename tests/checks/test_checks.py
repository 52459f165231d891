"""Reports tell what deviates."""

import numpy as np

import solvable as sv


def test_reports_pass_and_fail() -> None:
    def report(value):
        return sv.checks.Report("x", {"a": np.array([1.0, value])}, {"a": np.ones(2)}, {"a": np.full(2, 0.1)}, 3.0)

    assert report(1.2).passed
    assert not report(1.4).passed
    assert not report(np.nan).passed
    assert report(1.4).worst == np.abs(0.4) / 0.1 or np.isclose(report(1.4).worst, 4)
    assert "FAILED" in str(report(1.4))


def test_sampling_check_catches_a_wrong_covariance(quadratic: sv.Problem) -> None:
    factor = np.random.default_rng(0).standard_normal((9, 9))
    C = factor @ factor.T / 9
    good = sv.checks.moments_against_sampling(quadratic, C, samples=50_000)
    assert good.passed
    shifted = sv.checks.Report(
        good.name, good.values, good.references | {"risk": 1.1 * good.values["risk"]}, good.scales, 5.0
    )
    assert not shifted.passed
