"""Where a trajectory is in the landscape: visits to critical points, and all of the Hessian's eigenvalues from overlaps."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.landscape.critical import weights_at


def problem_of(p, q, dim=None, eta=0.01, **changes):
    return sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=eta).replace(inputs__dim=dim, **changes)


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
    lengths = 0.01 * sv.theory.stair_lengths(problem, graded(problem, [1e-2, 1e-6, 1e-12])).value
    assert lengths == pytest.approx(18 / 8 * np.log([1e4, 1e6]))
    assert np.diff(falls) == pytest.approx(lengths, rel=0.05)
    wide = sv.landscape.visits(run, within=0.1)
    for length, narrow, broad in zip(
        lengths, found[1:3], wide[1:3], strict=True
    ):  # a stay is shorter by the falls at its ends
        assert narrow.length < broad.length < 1.05 * length
        assert narrow.length > length - 7
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


@pytest.mark.statistical
def test_simulated_runs_visit_the_plateau_and_the_solution() -> None:
    problem = problem_of(4, 2, 2000, eta=0.05)
    run = sv.run(
        problem,
        sv.start(problem, seed=seed(1), students="orthogonal"),
        sv.Micro(runs=2, seed=seed(3)),
        times=np.linspace(0, 800, 200),
        progress=False,
    )
    for i in range(2):
        found = [(visit.outside, visit.inside) for visit in sv.landscape.visits(run, i)]
        assert found[0] == (4, 0)
        assert found[-1] == (0, 2)


def test_visits_at_a_finite_rate_and_of_sampled_teachers() -> None:
    """At eta = 0.3 students wait beside the plateau of the risk, still within reach; at 0.7 only with a larger one."""
    for eta, within in [(0.3, 0.01), (0.7, 0.06)]:
        problem = problem_of(6, 3, eta=eta)
        start = sv.start(problem, seed=0, students="orthogonal", cross=1e-4)
        run = sv.run(problem, start, sv.Macro(), times=np.linspace(0, 60 / eta, 300))
        assert [visit[:2] for visit in sv.landscape.visits(run, within=within)][:1] == [(6, 0)]
    sampled = problem_of(3, 2, 500, teacher__overlap="sampled", eta=0.01)
    run = sv.run(sampled, sv.start(sampled, seed=1), sv.Macro(), times=np.linspace(0, 20_000, 300))
    assert sv.landscape.visits(run)[-1][:2] == (0, 2)


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


@pytest.mark.statistical
@pytest.mark.parametrize("overlap", ["orthonormal", GENERIC])
def test_the_nearest_critical_point(overlap) -> None:
    """At a critical point itself; and beside it by the loss between the outputs, which is the mean over Gaussian inputs."""
    problem = problem_of(4, 3, 9, teacher__overlap=overlap)
    sampled = problem.replace(teacher__overlap="sampled")
    points = sv.landscape.critical_points(problem)
    for point in points:
        weights = weights_at(problem, point, seed=seed(5))
        (found, apart), *others = sv.landscape.nearest(sampled, weights.overlaps(sampled), 3)
        assert (found.outside, found.chosen, len(others)) == (point.outside, point.chosen, 2)
        assert apart == pytest.approx(0, abs=1e-9)
        assert others[0][1] > 1e-3
    moved = sv.overlaps.Weights(
        weights.student + 0.02 * np.random.default_rng(seed(0)).standard_normal((4, 9)), weights.teacher
    )
    (found, apart), *_ = sv.landscape.nearest(sampled, moved.overlaps(sampled))
    assert (found.outside, found.chosen) == (point.outside, point.chosen)
    x = np.random.default_rng(seed(1)).standard_normal((200_000, 9))
    outputs = [((x @ one.student.T / 3) ** 2).mean(axis=1) for one in (moved, weights)]
    assert apart <= np.mean((outputs[0] - outputs[1]) ** 2) * 1.02  # no further than the one that it was moved from
    assert len(sv.landscape.nearest(sampled, moved.overlaps(sampled))) == len(points)


@pytest.mark.parametrize(("p", "q", "dim"), [(3, 2, 9), (2, 3, 5), (4, 2, 4)])
def test_curvature_is_the_dense_hessian(p, q, dim) -> None:
    """All p N eigenvalues from the overlaps alone, also where the units fill the space."""
    problem = problem_of(p, q, dim, teacher__overlap="sampled", student__readout=tuple(0.3 * np.arange(1, p + 1)))
    random = np.random.default_rng(2)
    weights = sv.overlaps.Weights(random.standard_normal((p, dim)), random.standard_normal((q, dim)))
    found = sv.landscape.curvature(problem, weights.overlaps(problem))
    values = np.sort(np.concatenate([found.inside, np.tile(found.outside, found.room)]))
    dense = np.linalg.eigvalsh(sv.landscape.hessian(problem, weights))
    assert values == pytest.approx(dense, abs=1e-11)
    for sign in (-1, 0, 1):
        assert found.number(sign) == (np.sign(np.where(abs(dense) < 1e-9, 0, dense)) == sign).sum()


@pytest.mark.parametrize(("p", "q", "dim"), [(1, 1, 6), (3, 1, 9), (4, 2, 4)])
def test_curvature_along_the_sphere(p, q, dim) -> None:
    """All but the p directions in which a student would change its length."""
    problem = problem_of(p, q, dim, teacher__overlap="sampled", student__norm="sphere")
    random = np.random.default_rng(3)
    W = random.standard_normal((p, dim))
    weights = sv.overlaps.Weights(
        np.sqrt(dim) * W / np.linalg.norm(W, axis=1, keepdims=True), random.standard_normal((q, dim))
    )
    found = sv.landscape.curvature(problem, weights.overlaps(problem))
    values = np.sort(np.concatenate([found.inside, np.tile(found.outside, found.room), np.zeros(p)]))
    assert values == pytest.approx(np.linalg.eigvalsh(sv.landscape.sphere_hessian(problem, weights)), abs=1e-11)


@pytest.mark.parametrize("overlap", ["orthonormal", GENERIC])
def test_curvature_at_every_critical_point(overlap) -> None:
    """From overlaps alone, singular as they are there: the spectrum, index and flat directions of the closed forms."""
    problem = problem_of(4, 3, 12, teacher__overlap=overlap)
    for point in sv.landscape.critical_points(problem):
        sampled = problem.replace(teacher__overlap="sampled")
        found = sv.landscape.curvature(sampled, weights_at(problem, point, seed=5).overlaps(sampled))
        values = np.sort(np.concatenate([found.inside, np.tile(found.outside, found.room)]))
        expected = np.concatenate([np.full(count, value) for value, count in point.spectrum])
        assert values == pytest.approx(expected, abs=1e-11)
        assert (found.number(-1), found.number(0)) == (point.index, point.flat)
    start = sv.start(problem_of(6, 3, 1000), seed=0, students="orthogonal")
    solution = sv.theory.nearest_solution(problem_of(6, 3, 1000), start).value
    there = sv.landscape.curvature(problem_of(6, 3, 1000), solution)
    assert (there.number(-1), there.number(0)) == (0, 3003)


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
    start = sv.start(quadratic, seed=0)
    for call, message in [
        (lambda: sv.landscape.visits(run, within="x"), "within: 'x' given"),
        (lambda: sv.landscape.visits(run, run=3), "run 3 given, must be from 0 to 0"),
        (lambda: sv.landscape.visits(quadratic), "must be a Trajectory, not Problem"),
        (lambda: sv.landscape.atlas("problem.toml"), "must be a Problem, not str"),
        (
            lambda: sv.landscape.curvature(quadratic, sv.overlaps.Weights(np.eye(6, 9), np.eye(3, 9))),
            r"not Weights; take weights\.overlaps",
        ),
        (
            lambda: sv.landscape.curvature(quadratic.replace(student__width=4), start),
            r"\(1, 6, 3\), the problem \(1, 4, 3\)",
        ),
        (lambda: sv.landscape.curvature(quadratic, start).number(2), "sign: 2 given"),
        (lambda: sv.landscape.nearest(quadratic, start, 0), "count: 0 given, must be a whole number, at least 1"),
        (
            lambda: sv.landscape.nearest(quadratic.replace(student__norm="sphere"), start),
            "of free norm|diagonal must be 1",
        ),
        (lambda: sv.landscape.nearest(None, start), "must be a Problem"),
        (lambda: sv.landscape.critical_points(quadratic.replace(student__norm="sphere")), "of free norm"),
        (
            lambda: sv.landscape.critical_points(quadratic.replace(student__readout="unit")),
            "student.readout: is 'unit'; the list of critical points is for readouts 1/width",
        ),
        (lambda: sv.plot.landscape(sv.landscape.critical_points(quadratic)), r"landscape\.atlas"),
    ]:
        with pytest.raises((ValueError, TypeError), match=message):
            call()
    noisy = quadratic.replace(training__batch=4, training__label_noise=0.1)  # neither changes the landscape
    assert sv.landscape.critical_points(noisy) == sv.landscape.critical_points(quadratic)
    with pytest.raises(ValueError, match="dim is infinite"):
        sv.landscape.curvature(problem_of(3, 2), graded(problem_of(3, 2), [0.1, 0.1])).number(1)
