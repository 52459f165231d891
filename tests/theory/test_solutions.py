"""Where quadratic students end, and how the last part of the way goes."""

import numpy as np
import pytest

import solvable as sv


def follow(p, q, eta, end, seed=0):
    """Run at p students, q teachers to rate x alpha = end."""
    problem = sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=eta)
    start = sv.start(problem, seed=seed, students="orthogonal", cross=0.01)
    return problem, start, sv.run(problem, start, sv.Macro(), times=[end / 2, end], clock="rate")


@pytest.mark.parametrize(("p", "q"), [(6, 3), (4, 1), (5, 4)])
def test_the_end_is_the_nearest_solution(p, q) -> None:
    problem, start, run = follow(p, q, 0.01, 3000)
    predicted = sv.theory.nearest_solution(problem, start).value
    assert run.last().cross_overlap == pytest.approx(predicted.cross_overlap, abs=2e-3)
    assert run.last().student_overlap == pytest.approx(predicted.student_overlap, abs=2e-3)
    assert sv.dynamics.moments(sv.dynamics.field_covariance(problem, predicted), problem).risk == pytest.approx(
        0, abs=1e-14
    )


def test_the_nearest_solution_is_nearest() -> None:
    """No other frame gives weights closer to the start: distance/dim = tr Q + (p/p*) tr T - 2 sqrt(p/p*) tr(S^T R)."""
    problem, start, _ = follow(5, 2, 0.1, 1)
    R = start.cross_overlap
    best = sv.theory.nearest_solution(problem, start).value.cross_overlap / np.sqrt(5 / 2)
    random = np.random.default_rng(0)
    others = np.linalg.qr(random.standard_normal((2000, 5, 2)))[0]
    assert np.einsum("kl,kl->", best, R) > np.einsum("nkl,kl->n", others, R).max()
    assert np.einsum("kl,kl->", best, R) == pytest.approx(np.linalg.svd(R)[1].sum())


@pytest.mark.parametrize(("p", "q", "share"), [(6, 3, 0.01), (4, 1, 0.01), (5, 3, 0.4), (6, 3, 0.7)])
def test_the_final_descent_is_algebraic(p, q, share) -> None:
    """docs/ERRATA.md B14: with more students than teachers the risk ends as t^-2 with the stated amplitude, at any
    rate; it is not a fast exponential end."""
    limit = sv.theory.rate_limit(sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=0.01)).value
    problem, _, run = follow(p, q, share * limit, 6000)
    assert run.risk[0, 0] / run.risk[0, 1] == pytest.approx(4, rel=0.02)
    assert run.risk[0] == pytest.approx(sv.theory.late_risk(problem, run.alpha).value, rel=0.02)


def test_late_distance() -> None:
    problem, start, run = follow(6, 3, 0.01, 6000)
    target = sv.theory.nearest_solution(problem, start).value.cross_overlap
    distance = np.linalg.norm(run.cross_overlap[0] - target, axis=(1, 2))
    assert distance == pytest.approx(sv.theory.late_distance(problem, run.alpha).value, rel=0.02)


def test_equal_widths_end_exponentially_at_the_rate_of_the_escape() -> None:
    """The other half of B14: p = p*, risk ~ exp(-16 t / p^2)."""
    problem = sv.problems.convention("bocchi2026").problem(p=3, p_star=3, eta=0.01)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    run = sv.run(problem, start, sv.Macro(small_rate=True), times=[8, 12], clock="rate")
    assert np.log(run.risk[0, 0] / run.risk[0, 1]) / 4 == pytest.approx(16 / 9, rel=0.02)


@pytest.mark.parametrize(
    ("changes", "function", "message"),
    [
        ({"student__width": 2}, "rate_limit", "2 students cannot reproduce 3 teachers"),
        (
            {"training__label_noise": 0.1},
            "rate_limit",
            "label_noise: is 0.1; this closed form is for labels without noise",
        ),
        ({"student__width": 3}, "late_risk", "the end is exponential"),
        ({"training__learning_rate": 1.5}, "late_risk", "is not below the limit 0.9"),
        ({"training__learning_rate": sv.Schedule(times=(0, 1), rates=(1, 2))}, "late_risk", "is a schedule"),
        ({"teacher__overlap": 2 * np.eye(3)}, "late_distance", "is for 'orthonormal' teachers"),
    ],
)
def test_predictions_say_where_they_do_not_apply(quadratic, changes, function, message) -> None:
    problem = quadratic.replace(**changes)
    arguments = () if function == "rate_limit" else (100.0,)
    with pytest.raises(sv.theory.NotApplicable, match=message):
        getattr(sv.theory, function)(problem, *arguments)


def test_no_nearest_solution_without_full_rank(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, student_overlap=np.eye(6), cross_overlap=0.1 * np.eye(6, 3)[:, [0, 0, 0]])
    with pytest.raises(sv.theory.NotApplicable, match="has rank 1"):
        sv.theory.nearest_solution(quadratic, start)


def test_predictions_carry_assumptions_and_source(quadratic: sv.Problem) -> None:
    prediction = sv.theory.late_risk(quadratic, 1000.0)
    assert prediction.assumptions
    assert prediction.source
    half = quadratic.replace(training__loss_factor=0.5, training__learning_rate=0.02)
    assert sv.theory.late_risk(half, 1000.0).value == pytest.approx(prediction.value / 2)
    assert sv.theory.rate_limit(half).value == pytest.approx(2 * sv.theory.rate_limit(quadratic).value)


@pytest.mark.parametrize(("p", "eta"), [(3, 0.01), (3, 0.2), (2, 0.1)])
def test_the_last_fall_with_as_many_students_as_teachers(p, eta) -> None:
    """At any rate below the limit, from the integrated equations."""
    problem = sv.problems.convention("bocchi2026").problem(p=p, p_star=p, eta=eta)
    rate = sv.theory.late_rate(problem).value
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.2)
    end = np.log(1e9) / rate
    run = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[0, end, end + 1 / rate])
    assert np.log(run.risk[0, 1] / run.risk[0, 2]) == pytest.approx(1.0, rel=0.01)
    with pytest.raises(sv.theory.NotApplicable, match="algebraic"):
        sv.theory.late_rate(problem.replace(student__width=p + 1))
    with pytest.raises(sv.theory.NotApplicable, match="does not vanish"):
        sv.theory.late_rate(problem.replace(training__learning_rate=5.0))


def test_without_full_rank_learning_ends_at_a_saddle(quadratic) -> None:
    start = sv.start(quadratic, student_overlap=np.eye(6), cross_overlap=0.1 * np.eye(6, 3) * [1, 1, 0])
    with pytest.raises(
        sv.theory.NotApplicable, match=r"rank 2 .* with 2 directions inside the teachers' span and 4 outside"
    ):
        sv.theory.nearest_solution(quadratic, start)
