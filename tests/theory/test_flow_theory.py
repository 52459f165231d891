"""Ends and bounds of gradient flow on the population, against the flow itself."""

import numpy as np
import pytest

import solvable as sv
from gate import first

PAPER = sv.problems.convention("saraomannelli2020")


def flow(
    d: int, units: int, times, *, seed: int = 0, spanning: bool = True, sampled: bool = False, width: int | None = None
):
    problem = PAPER.problem(m=width or d, m_star=units, d=d)
    problem = problem.replace(teacher__overlap="sampled") if sampled else problem
    kind = {"students": "spanning"} if spanning else {}
    start = sv.start(problem, seed=seed, scale=d**0.5, **kind)
    return problem, start, sv.run(problem, start, sv.Empirical(), times=times)


@pytest.mark.parametrize(
    ("d", "units", "value"), first([(8, 1, 0.13125), (8, 2, 0.15), (8, 4, 0.15), (16, 8, 0.27778)], 2)
)
def test_tail_of_the_population(d: int, units: int, value: float) -> None:
    """Not 1/16 (26), from any full-rank start and for any teacher of that rank."""
    for spanning, sampled in [(True, False), (False, False), (False, True)]:
        problem, _, run = flow(d, units, [3e4], spanning=spanning, sampled=sampled, width=d if spanning else 4 * d)
        assert np.isclose(run.population_loss[0, 0] * 9e8, value, rtol=0.01)
        assert np.isclose(sv.theory.flow_tail(problem).value, value, rtol=1e-4)
    assert abs(value - 1 / 16) > 0.06


def test_rate_of_a_teacher_of_full_rank() -> None:
    """A = a 1: E ~ d (d + 2)/2 a^2 (a - 1)^2 exp(-4 a (d + 2) t), a = 1/d for orthonormal teachers; and any spectrum."""
    d = 5
    a, times = 1 / d, np.array([1.0, 2.0])
    problem, start, run = flow(d, d, times)
    assert np.isclose(sv.theory.flow_rate(problem, start).value, 4 * (d + 2) / d)
    other = sv.start(problem, seed=3, scale=2.0)
    assert np.isclose(sv.theory.flow_rate(problem, other).value, 8 / d)
    late = d * (d + 2) / 2 * a**2 * (a - 1) ** 2 * np.exp(-4 * a * (d + 2) * times)
    assert np.allclose(run.population_loss[0], late, rtol=0.3)
    assert np.isclose(run.population_loss[0, 1], late[1], rtol=0.01)
    for spanning in (True, False):
        problem, start, _ = flow(3, 7, [1.0], spanning=spanning, sampled=True, seed=2)
        rate = sv.theory.flow_rate(problem, start).value
        times = np.array([18.0, 20.0]) / rate
        _, _, run = flow(3, 7, times, spanning=spanning, sampled=True, seed=2)
        found = -np.diff(np.log(run.population_loss[0]))[0] / np.diff(times)[0]
        assert np.isclose(found, rate, rtol=0.02)


def test_jump_out_of_the_plateau() -> None:
    """docs/ERRATA.md S19: d = 100, m* = 3: the teacher's eigenvalues reach half their end near log(d)/(4 l), not at the printed
    time log(2 d)/(2 m* + 4); they grow at most as exp(4 l t), not as exp((2 m* + 4) t). For l = 1/m*, and 1 as in section 5.1."""
    d, units = 100, 3
    times = np.linspace(0.5, 8, 200)
    problem, _, run = flow(d, units, times)
    for value, top in [(1 / units, run.eigenvalues[0, :, -1]), (1.0, axes_flow([1.0] * units, d, times)[:, -1])]:
        when = times[np.argmax(top > 0.5 * value)]
        assert abs(when / (np.log(d) / (4 * value)) - 1) < 0.15
        assert abs(when / (np.log(2 * d) / (2 * units + 4)) - 1) > 0.8
        growth = np.diff(np.log(top)).max() / (times[1] - times[0])
        assert 0.5 < growth / (4 * value) < 1
    assert np.isclose(sv.theory.flow_jump(problem).value, np.log(d) * units / 4)


def axes_flow(values, d: int, times):
    """Eigenvalues (time, direction), rising, of the flow from A(0) = 1 to a teacher with these eigenvalues of A*."""
    problem = PAPER.problem(m=d, m_star=len(values), d=d).replace(teacher__overlap="sampled")
    units = np.sqrt(len(values) * np.array(values))[:, None] * np.eye(d)[: len(values)]
    weights = sv.overlaps.Weights(d * np.eye(d), np.sqrt(d) * units)
    return sv.run(problem, weights, sv.Empirical(), times=times).eigenvalues[0]


@pytest.mark.parametrize(("d", "values"), [(8, [1.0]), (60, [0.5, 0.5]), (12, [6.0, 2.0, 1.0])])
def test_first_fall_of_the_eigenvalues(d: int, values) -> None:
    """docs/ERRATA.md S18: by (20) the first slope of 1/l is 2 d + 4 - 2 tr A* - 4 l*, neither 2 d, as printed in (24) and (25), nor
    2 d + 4. As long as the teacher's directions are like the others, 1/l = e + (d + 2)(1 - e)/tr A*, e = exp(-2 tr A* t)."""
    trace, soon = sum(values), 1e-7
    slopes = (1 / axes_flow(values, d, [soon])[0] - 1) / soon
    expected = 2 * d + 4 - 2 * trace - 4 * np.array([0.0, max(values)])
    assert np.allclose(slopes[[0, -1]], expected, atol=0.01)
    assert abs(slopes[0] - 2 * d) > 1.9
    assert abs(slopes[0] - 2 * d - 4) > 1.9
    times = np.array([0.2, 1.0]) / (2 * d)
    left = np.exp(-2 * trace * times)
    if trace <= 1:
        law = 1 / (left + (d + 2) * (1 - left) / trace)
        found = axes_flow(values, d, times)[:, 0]
        assert np.allclose(found, law, rtol=0.01)
        assert not np.isclose(found[1], 1 / (1 + (2 * d + 4) * times[1]), rtol=0.01)


def test_gaussian_teachers_have_no_first_fall() -> None:
    """docs/ERRATA.md S18: tr A* is near d, so that the typical eigenvalue falls by a fifth of what (24) says, and less."""
    d = 60
    gaussian = np.random.default_rng(0).standard_normal((60, d))
    problem = PAPER.problem(m=d, m_star=60, d=d).replace(teacher__overlap="sampled")
    weights = sv.overlaps.Weights(d * np.eye(d), np.sqrt(d) * gaussian)
    found = sv.run(problem, weights, sv.Empirical(), times=[0.02])
    assert 1 / np.median(found.eigenvalues[0, 0]) - 1 < 0.2 * (2 * d * 0.02)


def test_bounds_and_integral() -> None:
    times = np.concatenate([np.linspace(0, 2, 4001), np.geomspace(2.001, 1e4, 4000)])
    for spanning in (True, False):
        problem, start, run = flow(6, 2, times, spanning=spanning, width=6 if spanning else 9)
        bound = sv.theory.flow_bound(problem, start, times).value
        assert (run.population_loss[0] <= bound * (1 + 1e-9)).all()
        assert np.isclose(bound[0], run.population_loss[0, 0])
        if spanning:
            summed = np.trapezoid(run.population_loss[0], times)
            assert np.isclose(summed, sv.theory.flow_integral(problem, start).value, rtol=1e-3)
    # bound by bound, pointwise: dE/dt <= -8 E^2 / H
    A, teacher = run.matrix[0, ::200], run.teacher_matrix[0]
    gap = A - teacher
    H = np.trace(gap @ np.linalg.solve(A, gap), axis1=1, axis2=2)
    slope = 2 * gap + np.trace(gap, axis1=1, axis2=2)[:, None, None] * np.eye(6)
    fall = -2 * np.trace(A @ slope @ slope, axis1=1, axis2=2)
    assert (fall <= -8 * run.population_loss[0, ::200] ** 2 / H * (1 - 1e-9)).all()


def test_printed_approximation_is_not_the_flow() -> None:
    """(27) as L = E/2: too low by 1.29, 1.13, 2.00 and 1.74 at t = 0, 0.1, 1 and infinity; as E by twice that."""
    times = np.array([0.0, 0.1, 1.0, 1e5])
    problem, _, run = flow(8, 1, times)
    ratio = run.population_loss[0] / 2 / sv.theory.flow_approximation(problem, times).value
    assert np.allclose(ratio, [1.29, 1.13, 2.00, 1.74], atol=0.01)


def test_printed_exponential_is_not_the_flow() -> None:
    """(29) with eigenvalues one of the teacher from A(0) = 1: there is nothing left to learn."""
    problem = PAPER.problem(m=4, m_star=4, d=4).replace(teacher__overlap="sampled")
    weights = sv.overlaps.Weights(4 * np.eye(4), 4 * np.eye(4))
    run = sv.run(problem, weights, sv.Empirical(), times=[0.0, 1.0])
    assert run.population_loss.max() < 1e-20


def test_where_they_do_not_apply() -> None:
    problem, start, _ = flow(4, 2, [1.0])
    with pytest.raises(sv.theory.NotApplicable, match="so the end is algebraic"):
        sv.theory.flow_rate(problem, start)
    with pytest.raises(sv.theory.NotApplicable, match="so the end is exponential"):
        sv.theory.flow_tail(PAPER.problem(m=4, m_star=4, d=4))
    with pytest.raises(sv.theory.NotApplicable, match="not a data set"):
        sv.theory.flow_tail(problem.replace(training__samples=9))
    with pytest.raises(sv.theory.NotApplicable, match="do not span 4 inputs"):
        sv.theory.flow_tail(PAPER.problem(m=3, m_star=2, d=4))
    with pytest.raises(sv.theory.NotApplicable, match="students='spanning'"):
        sv.theory.flow_integral(problem, sv.start(problem, seed=0))
    with pytest.raises(ValueError, match="time: must not be negative"):
        sv.theory.flow_bound(problem, start, -1)
    with pytest.raises(ValueError, match="must be numbers"):
        sv.theory.flow_approximation(problem, "soon")
    with pytest.raises(sv.theory.NotApplicable, match="there is no plateau"):
        sv.theory.flow_jump(PAPER.problem(m=4, m_star=4, d=4))
