"""Thresholds of recovery: against sampling, certified decisions, linear programming and known numbers."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import nnls

import solvable as sv
from seeds import seed

PAPER = sv.problems.convention("saraomannelli2020")


def problem(d: int, units: int = 1, n: int | None = None) -> sv.Problem:
    return PAPER.problem(m=d, m_star=units, d=d, n=n)


def test_counted_threshold_is_the_papers() -> None:
    assert sv.theory.counted_threshold(problem(8, 1)).value == 15
    assert sv.theory.counted_threshold(problem(16, 4)).value == 70
    assert sv.theory.counted_threshold(problem(8, 7)).value == 36
    assert sv.theory.counted_threshold(problem(8, 20)).value == 36
    assert sv.theory.counted_threshold(problem(8, 1)).caveats == ()
    assert "not a threshold" in sv.theory.counted_threshold(problem(16, 2)).caveats[0]


@pytest.mark.statistical
def test_statistical_dimension_against_sampled_spectra() -> None:
    random = np.random.default_rng(seed(0))
    for d, r in [(5, 1), (12, 3)]:
        k = d - r
        G = random.standard_normal((20_000, k, k))
        values = np.linalg.eigvalsh((G + G.transpose(0, 2, 1)) / 2)
        taus = np.linspace(0, 6, 241)
        each = [r * tau**2 + (np.maximum(values - tau, 0) ** 2).sum(axis=1) for tau in taus]
        best = min(each, key=np.mean)
        sampled, error = r * (r + 1) / 2 + r * k + best.mean(), best.std() / np.sqrt(20_000)
        assert error < 0.03
        assert abs(sv.theory.statistical_dimension(problem(d, r)).value - sampled) < 5 * error
    assert sv.theory.statistical_dimension(problem(6, 6)).value == 21
    ratios = [sv.theory.recovery_threshold(problem(d)).value / d for d in (400, 800, 1200)]
    assert 2.8 < ratios[0] < ratios[1] < ratios[2] < 3.308  # nothing is lost far out in the spectrum


def test_limits_of_the_cavity_argument() -> None:
    """Values found by another program."""
    for r, value in [(1, 3.3077), (4, 12.0974)]:
        assert abs(sv.theory.recovery_limit(problem(20, r)).value - value) < 1e-4


@pytest.mark.slow
def test_limits_of_the_cavity_argument_for_more_teachers() -> None:
    for r, value in [(2, 6.1827), (3, 9.1277), (6, 18.0655)]:
        assert abs(sv.theory.recovery_limit(problem(20, r)).value - value) < 1e-4
    for r in (60, 100, 300):
        assert abs(sv.theory.recovery_limit(problem(400, r)).value - 3 * r - 0.39 / r) < 2e-3


@pytest.mark.statistical
def test_predicted_threshold_meets_certified_ones() -> None:
    """Mean N* within 5 standard errors plus 2 %, where the printed count is off by more than ten samples."""
    for d, r, many in [(8, 1, 100), (16, 4, 25), (24, 3, 12)]:
        found = sv.empirical.recovery(problem(d, r), many, seed=seed(11))
        predicted = sv.theory.recovery_threshold(problem(d, r)).value
        assert abs(found.mean - predicted) < 5 * found.standard_error + 0.02 * predicted
    assert found.mean > sv.theory.counted_threshold(problem(24, 3)).value + 10
    assert found.mean / 24 > 4 + 0.1  # (14) has m* + 1 = 4 as the limit from below
    assert sv.theory.recovery_threshold(problem(6, 5)).value == 21


@pytest.mark.statistical
def test_exact_probability_at_one_sample_more_than_inputs() -> None:
    known = {2: 1.0, 3: 0.431708, 4: 0.173273, 5: 0.066533, 6: 0.024794, 8: 0.003244}
    for d, value in known.items():
        assert abs(sv.theory.unique_probability(problem(d)).value - value) < 1e-6
    with mpmath.workdps(40):  # the oscillating integral from which the positive one comes
        d = 7
        whole = mpmath.quad(lambda u: mpmath.sech(u) ** d, [-mpmath.inf, 0, mpmath.inf])
        part = mpmath.quad(
            lambda u: mpmath.sech(u) ** d * mpmath.re((1 + 2j * u / mpmath.pi) * (1 - 2j * u / mpmath.pi) ** d),
            [-mpmath.inf, 0, mpmath.inf],
        )
        assert abs(sv.theory.unique_probability(problem(7)).value - float((d + 1) * part / whole / 2**d)) < 1e-12
    random = np.random.default_rng(seed(0))
    hits = np.array([sv.empirical.decide(random.standard_normal((5, 4)), np.eye(4)[0]).unique for _ in range(600)])
    exact = sv.theory.unique_probability(problem(4)).value
    assert abs(hits.mean() - exact) < 5 * np.sqrt(exact * (1 - exact) / 600)


@pytest.mark.statistical
def test_hidden_rays_by_counting() -> None:
    """Also: the criterion of the paper is sufficient, not necessary (d = 3, n = 5: 0.823 against 0.890)."""
    random = np.random.default_rng(seed(1))
    d, n, many = 3, 5, 400
    hidden, criterion, unique = 0, 0, 0
    for _ in range(many):
        rows = random.standard_normal((n, d))
        rows *= np.sign(rows[:, :1])
        inside = [_in_cone(rows[i], np.delete(rows, i, axis=0)) for i in range(n)]
        decided = sv.empirical.decide(rows, np.eye(d)[0]).unique
        assert decided or not any(inside)
        hidden, criterion, unique = hidden + inside[0], criterion + any(inside), unique + decided
    exact = sv.theory.hidden_ray_probability(problem(d, n=n)).value
    error = np.sqrt(0.25 / many)
    assert abs(hidden / many - exact) < 5 * error
    assert abs(criterion / many - 0.823) < 5 * error
    assert abs(unique / many - 0.890) < 5 * error
    rare = sv.theory.hidden_ray_probability(
        problem(64, n=160)
    ).value  # docs/ERRATA.md S16: 160 times this bounds the criterion
    assert abs(rare / 3.3e-7 - 1) < 0.01
    assert 160 * rare < 1e-4
    assert sv.theory.hidden_ray_probability(problem(8, n=8)).value == 0.0
    assert 0 < sv.theory.hidden_ray_probability(problem(64, n=3000)).value < 1


def _in_cone(ray: np.ndarray, others: np.ndarray) -> bool:
    return bool(nnls(others.T, ray)[1] < 1e-9)


@pytest.mark.statistical
def test_printed_threshold_fails_at_large_dim() -> None:
    """At alpha = 2.25 > 2 the teacher is determined ever more rarely as d grows, and at d = 64 an explicit second positive
    definite interpolator shows it."""
    shares = [
        float(sv.empirical.recovery(problem(d), many, seed=seed(3)).probability(int(2.25 * d))[0])
        for d, many in [(8, 100), (24, 60)]
    ]
    assert shares[0] > 0.85  # 0.957 of very many, and 0.65: four standard errors and more
    assert shares[1] < shares[0] - 0.05
    random = np.random.default_rng(0)  # one data set that shows it; of others some do and some do not
    rows, teacher = random.standard_normal((144, 64)), np.eye(64)[:1]
    decision = sv.empirical.decide(rows, teacher)
    assert not decision.unique
    share = 1.0
    while np.linalg.eigvalsh(teacher.T @ teacher + share * decision.certificate)[0] <= 0:
        share /= 2
    other = teacher.T @ teacher + share * decision.certificate
    assert np.linalg.eigvalsh(other)[0] > 0
    left = np.einsum("si,ij,sj->s", rows, other - teacher.T @ teacher, rows)
    apart = np.linalg.norm(other - teacher.T @ teacher)
    assert apart > 1e-6
    assert np.abs(left).max() < 1e-9 * apart * (rows**2).sum(axis=1).max()


def test_where_they_do_not_apply() -> None:
    theory = sv.theory
    with pytest.raises(theory.NotApplicable, match="not between 2 and 3000"):
        theory.unique_probability(problem(1))
    with pytest.raises(theory.NotApplicable, match=r"teacher\.width: is 2, not 1"):
        theory.unique_probability(problem(5, 2))
    with pytest.raises(theory.NotApplicable, match=r"not dim \+ 1 = 6"):
        theory.unique_probability(problem(5, 1, n=9))
    with pytest.raises(theory.NotApplicable, match=r"training\.samples: is not given"):
        theory.hidden_ray_probability(problem(5))
    with pytest.raises(theory.NotApplicable, match=r"inputs\.dim: is infinite"):
        theory.counted_threshold(problem(5).replace(inputs__dim=None))
    with pytest.raises(theory.NotApplicable, match="is for labels without noise"):
        theory.recovery_threshold(problem(5).replace(training__label_noise=0.1))
