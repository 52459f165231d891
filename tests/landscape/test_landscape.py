"""Slopes and curvature against finite differences, and every critical point against a dense eigendecomposition."""

import numpy as np
import pytest

import solvable as sv
from solvable.landscape.critical import weights_at


def problem_of(p, q, dim, **changes):
    return sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=0.1).replace(inputs__dim=dim, **changes)


def some_weights(problem, seed=0):
    random, dim = np.random.default_rng(seed), problem.inputs.dim
    return sv.overlaps.Weights(
        *(random.standard_normal((n, dim)) for n in (problem.student.width, problem.teacher.width))
    )


def moved(weights, direction, step):
    dim = weights.student.shape[1]
    return sv.overlaps.Weights(weights.student + step * np.sqrt(dim) * direction, weights.teacher)


CASES = [
    problem_of(3, 2, 7),
    problem_of(2, 3, 5, training__loss_factor=0.5),
    problem_of(3, 2, 6, student__readout=(0.5, -0.3, 1.0), teacher__readout=(1.0, 0.4)),
]


MANY = problem_of(20, 16, 40, teacher__overlap=np.diag(np.arange(1.0, 17)))
ERF = problem_of(3, 2, 7, student__activation="erf")


@pytest.mark.parametrize("problem", CASES)
def test_risk_slopes_and_curvature(problem) -> None:
    """The risk is that of the overlaps; gradient and Hessian are its finite differences."""
    weights = some_weights(problem)
    sampled = problem.replace(teacher__overlap="sampled")
    start = weights.overlaps(sampled)
    risk = sv.landscape.population_risk(problem, weights)
    assert risk == pytest.approx(
        sv.dynamics.moments(sv.dynamics.field_covariance(sampled, start), sampled).risk, rel=1e-12
    )
    random = np.random.default_rng(1)
    shape = weights.student.shape
    for _ in range(3):
        V, X = random.standard_normal(shape), random.standard_normal(shape)
        slope = np.sum(sv.landscape.gradient(problem, weights) * V)
        ahead, behind = (sv.landscape.population_risk(problem, moved(weights, V, step)) for step in (1e-5, -1e-5))
        assert slope == pytest.approx((ahead - behind) / 2e-5, rel=1e-6)
        ahead, behind = (sv.landscape.gradient(problem, moved(weights, V, step)) for step in (1e-5, -1e-5))
        product = sv.landscape.hessian_product(problem, weights, V)
        assert product == pytest.approx((ahead - behind) / 2e-5, rel=1e-5, abs=1e-6)
        dense = sv.landscape.hessian(problem, weights)
        assert dense @ V.ravel() == pytest.approx(product.ravel(), rel=1e-10, abs=1e-12)
        assert X.ravel() @ dense @ V.ravel() == pytest.approx(V.ravel() @ dense @ X.ravel(), rel=1e-10)


GENERIC = {2: [[1.0, 0.3], [0.3, 0.8]], 3: [[1.0, 0.2, 0.0], [0.2, 1.5, -0.3], [0.0, -0.3, 0.7]]}


@pytest.mark.parametrize("overlap", ["orthonormal", "generic"])
@pytest.mark.parametrize(("p", "q", "dim"), [(3, 2, 7), (2, 3, 6), (4, 2, 5), (1, 1, 4), (5, 3, 6), (2, 2, 2)])
def test_every_critical_point(p, q, dim, overlap) -> None:
    """docs/ERRATA.md B8: the gradient vanishes at all of them, mixed ones included; risk and spectrum with exact multiplicities."""
    teacher = GENERIC.get(q, [[1.7]]) if overlap == "generic" else overlap
    problem = problem_of(p, q, dim, training__loss_factor=0.5, teacher__overlap=teacher)
    points = sv.landscape.critical_points(problem)
    assert len({(point.outside, point.chosen) for point in points}) == len(points)
    if p > 1 and q > 1 and dim > q:
        assert any(point.outside and 0 < point.inside < q for point in points)
    for point in points:
        weights = weights_at(problem, point, seed=3)
        assert np.abs(sv.landscape.gradient(problem, weights)).max() < 1e-13
        assert sv.landscape.population_risk(problem, weights) == pytest.approx(point.risk, abs=1e-13)
        found = np.linalg.eigvalsh(sv.landscape.hessian(problem, weights))
        expected = np.concatenate([np.full(count, value) for value, count in point.spectrum])
        assert found == pytest.approx(expected, abs=1e-12)
        assert point.index == (found < -1e-10).sum()
        assert point.flat == (np.abs(found) < 1e-10).sum()


def test_the_only_minima_are_the_best_students() -> None:
    for p, q in [(4, 2), (3, 3)]:
        minima = [point for point in sv.landscape.critical_points(problem_of(p, q, 9)) if point.kind == "minimum"]
        assert [(point.outside, point.inside, point.risk) for point in minima] == [(0, q, 0.0)]
    (best,) = [point for point in sv.landscape.critical_points(problem_of(2, 3, 9)) if point.kind == "minimum"]
    assert (best.outside, best.inside) == (0, 2)
    assert best.risk > 0


def test_the_solutions_have_flat_directions_that_lead_nowhere() -> None:
    """With more students than teachers there are (p - p*) (N - p*) flat directions that are not tangent to the solutions."""
    p, q, dim = 5, 2, 8
    solution = sv.landscape.critical_points(problem_of(p, q, dim))[-1]
    assert solution.flat - solution.tangent == (p - q) * (dim - q)
    assert solution.tangent == sv.theory.solution_dimension(problem_of(p, q, dim)).value


def test_a_million_dimensions_are_a_formula() -> None:
    points = sv.landscape.critical_points(problem_of(6, 3, 10**6))
    plateau = next(point for point in points if (point.outside, point.inside) == (6, 0))
    assert sum(count for _, count in plateau.spectrum) == 6 * 10**6
    assert plateau.risk == pytest.approx(2 / 3 + 2 / 8)
    assert plateau.index == 6 * 3
    assert plateau.index / plateau.flat == pytest.approx(3 / (10**6 - 3 - 3.5))


def test_the_plateau_needs_room() -> None:
    """docs/ERRATA.md B9: r = p directions outside the teachers exist up to p = N - p* only; there index/flat is largest."""

    def plateau(p):
        points = sv.landscape.critical_points(problem_of(p, 2, 9))
        return [point for point in points if (point.outside, point.inside) == (p, 0)]

    assert plateau(8) == []
    ratios = [point.index / point.flat for p in range(1, 8) for point in plateau(p)]
    assert len(ratios) == 7
    assert max(ratios) == ratios[-1] == pytest.approx(2 / 3)


@pytest.mark.slow
def test_random_searches_find_no_other() -> None:
    """Newton-like searches for a vanishing gradient from random weights end at one of the listed risks."""
    from scipy.optimize import root

    problem = problem_of(3, 2, 5)
    risks = np.array([point.risk for point in sv.landscape.critical_points(problem)])
    teachers = np.sqrt(5) * np.eye(2, 5)
    random, ended = np.random.default_rng(0), 0

    def slope(flat):
        return sv.landscape.gradient(problem, sv.overlaps.Weights(np.sqrt(5) * flat.reshape(3, 5), teachers)).ravel()

    kinds = set()
    for _ in range(40):
        found = root(slope, random.standard_normal(15), method="lm", options={"ftol": 1e-15, "xtol": 1e-15})
        if np.abs(found.fun).max() < 1e-9:
            risk = sv.landscape.population_risk(
                problem, sv.overlaps.Weights(np.sqrt(5) * found.x.reshape(3, 5), teachers)
            )
            assert np.abs(risks - risk).min() < 1e-6
            kinds.add(round(risk, 4))
            ended += 1
    assert ended >= 20
    assert len(kinds) >= 3


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sv.landscape.gradient(ERF, some_weights(ERF)), "is for 'quadratic' units"),
        (lambda: sv.landscape.gradient(problem_of(3, 2, 7), some_weights(problem_of(2, 2, 7))), "2 students and 2 teachers given"),
        (lambda: sv.landscape.hessian(problem_of(3, 2, 3000), some_weights(problem_of(3, 2, 3000))), "use hessian_product"),
        (lambda: sv.landscape.gradient(problem_of(3, 2, 9), some_weights(problem_of(3, 2, 7))), "weights of 7 dimensions given"),
        (lambda: sv.landscape.critical_points(problem_of(3, 2, None)), "inputs.dim is infinite"),
        (lambda: sv.landscape.critical_points(problem_of(3, 3, 2)), "do not fit into 2 dimensions"),
        (lambda: sv.landscape.critical_points(problem_of(3, 2, 9, teacher__overlap=[[1, 1], [1, 1]])), "not independent"),
        (lambda: sv.landscape.critical_points(problem_of(3, 2, 9, teacher__overlap="sampled")), "whose Gram matrix is given"),
        (lambda: sv.landscape.critical_points(MANY), "more than 20000 of them"),
    ],
)  # fmt: skip
def test_mistakes_are_told(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
