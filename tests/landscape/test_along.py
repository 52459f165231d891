"""Where a trajectory is in the landscape: visits to critical points, and all of the Hessian's eigenvalues from overlaps."""

import numpy as np
import pytest

import solvable as sv
from solvable.landscape.critical import weights_at


def problem_of(p, q, dim=None, eta=0.01, **changes):
    return sv.convention("bocchi2026").problem(p=p, p_star=q, eta=eta).replace(inputs__dim=dim, **changes)


def graded(problem, sizes, mixed=True):
    """Orthonormal students whose cross overlap has the given singular values."""
    p, q = problem.student.width, problem.teacher.width
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.standard_normal((n, q)))[0] for n in (p, q))
    cross = left * sizes @ right if mixed else left * sizes
    return sv.start(problem, student_overlap=np.eye(p), cross_overlap=cross)


def followed(problem, start, until):
    return sv.run(problem, start, sv.Macro(small_rate=True), times=np.linspace(0, until, 400), clock="bocchi2026")


@pytest.mark.parametrize("dim", [None, 10**6])
def test_the_staircase(dim) -> None:
    """Well separated singular values of the first cross overlap: the mixed saddles (p - s, s) one after the other, each for the
    time p p*/8 log(ratio of neighbours), by the growth 8/(p p*) that all of them have."""
    problem = problem_of(6, 3, dim)
    run = followed(problem, graded(problem, [1e-2, 1e-6, 1e-12]), 120)
    found = sv.landscape.visits(run)
    assert [(visit.outside, visit.inside) for visit in found] == [(6, 0), (5, 1), (4, 2), (0, 3)]
    assert [visit.risk for visit in found] == pytest.approx([11 / 12, 5 / 9, 1 / 4, 0])
    assert all(visit.closest < 0.003 for visit in found)
    falls = [run.exit_time(below, relative=False)[0] for below in (0.73, 0.4, 0.12)]  # between the steps
    assert np.diff(falls) == pytest.approx(18 / 8 * np.log([1e4, 1e6]), rel=0.05)
    assert found[-1].length == pytest.approx(120 - found[-1].start)


def test_a_start_without_full_rank_ends_at_a_mixed_saddle() -> None:
    """A column of zeros stays zero: that teacher is never learned, and the run ends at (p - s, s) at positive risk."""
    problem = problem_of(5, 3)
    run = followed(problem, graded(problem, [1e-2, 1e-2, 0], mixed=False), 3000)
    last = sv.landscape.visits(run, within=1e-5)[-1]
    assert (last.outside, last.inside, last.end) == (3, 2, 3000)
    assert run.risk[0, -1] == pytest.approx(last.risk, rel=1e-4)
    points = sv.landscape.critical_points(problem.replace(inputs__dim=50))
    (mixed,) = [point for point in points if (point.outside, point.inside) == (3, 2)]
    assert mixed.kind == "saddle"


def test_simulated_runs_visit_the_plateau_and_the_solution() -> None:
    problem = problem_of(4, 2, 2000, eta=0.05)
    run = sv.run(
        problem,
        sv.start(problem, seed=1, students="orthogonal"),
        sv.Micro(runs=2, seed=3),
        times=np.linspace(0, 800, 200),
        progress=False,
    )
    for i in range(2):
        found = [(visit.outside, visit.inside) for visit in sv.landscape.visits(run, i)]
        assert found[0] == (4, 0)
        assert found[-1] == (0, 2)


GENERIC = [[1.0, 0.2, 0.0], [0.2, 1.5, -0.3], [0.0, -0.3, 0.7]]


@pytest.mark.parametrize("overlap", ["orthonormal", GENERIC])
def test_every_critical_point_is_recognised(overlap) -> None:
    """Overlaps of weights at each critical point, in random directions, are at distance zero from it and from no other."""
    problem = problem_of(4, 3, 9, teacher__overlap=overlap)
    for point in sv.landscape.critical_points(problem):
        state = weights_at(problem, point, seed=5).overlaps(problem.replace(teacher__overlap="sampled"))
        run = sv.run(problem, state, sv.Macro(small_rate=True), times=[0, 1e-6])
        (found,) = sv.landscape.visits(run, within=1e-9)
        assert (found.outside, found.chosen) == (point.outside, point.chosen)
        assert found.risk == pytest.approx(point.risk)


@pytest.mark.parametrize(("p", "q", "dim"), [(3, 2, 9), (2, 3, 5), (4, 2, 4)])
def test_curvature_is_the_dense_hessian(p, q, dim) -> None:
    """All p N eigenvalues from the overlaps alone, also where the units fill the space."""
    problem = problem_of(p, q, dim, teacher__overlap="sampled", student__readout=tuple(0.3 * np.arange(1, p + 1)))
    random = np.random.default_rng(2)
    weights = sv.Weights(random.standard_normal((p, dim)), random.standard_normal((q, dim)))
    found = sv.landscape.curvature(problem, weights.overlaps(problem))
    values = np.sort(np.concatenate([found.inside, np.tile(found.outside, found.room)]))
    dense = np.linalg.eigvalsh(sv.landscape.hessian(problem, weights))
    assert values == pytest.approx(dense, abs=1e-11)
    for sign in (-1, 0, 1):
        assert found.number(sign) == (np.sign(np.where(abs(dense) < 1e-9, 0, dense)) == sign).sum()


def test_curvature_along_a_run() -> None:
    """It begins and ends with the index that the atlas has for the plateau and the solution."""
    problem = problem_of(3, 3, 1000)
    run = followed(problem, sv.start(problem, seed=0, students="orthogonal", cross=1e-7), 200)
    along = sv.landscape.curvature_along(run)
    assert along.inside.shape == (400, 18)
    negative = along.number(-1, rounding=1e-4)
    points = {(point.outside, point.inside): point for point in sv.landscape.critical_points(problem)}
    assert negative[20] == points[3, 0].index
    assert negative[-1] == points[0, 3].index == 0
    assert along.number(0, rounding=1e-4)[-1] == points[0, 3].flat
    assert along.inside[-1].max() == pytest.approx(points[0, 3].spectrum[-1][0], rel=1e-3)


def test_mistakes_are_told(quadratic) -> None:
    run = sv.run(quadratic, sv.start(quadratic, seed=0), sv.Macro(), until=1)
    with pytest.raises(ValueError, match="within: 0 given"):
        sv.landscape.visits(run, within=0)
    erf = quadratic.replace(student__activation="erf", teacher__activation="erf")
    with pytest.raises(ValueError, match="activation"):
        sv.landscape.visits(sv.run(erf, sv.start(erf, seed=0), sv.Macro(), until=1))
    with pytest.raises(ValueError, match="dim is infinite"):
        sv.landscape.curvature(problem_of(3, 2), graded(problem_of(3, 2), [0.1, 0.1])).number(1)
