"""Phase retrieval as a landscape: Euclidean and on the sphere, with the corrected numbers of arnaboldi2023, appendix H."""

import numpy as np
import pytest

import solvable as sv

DIM = 7


def problem_of(p=1, **options):
    return sv.problems.convention("arnaboldi2023").problem(p=p, gamma=0.1, d=DIM, **options)


def unit_rows(p, seed=0):
    rows = np.random.default_rng(seed).standard_normal((p, DIM))
    return np.sqrt(DIM) * rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_the_three_kinds_of_critical_points() -> None:
    """docs/ERRATA.md A13, A14: excess 3/2, 4/3, 0 and eigenvalues -6, -2; -4, +4, 0; 12, 4 for a teacher of norm one."""
    points = sv.landscape.critical_points(problem_of(sphere=False))
    assert [point.risk for point in points] == pytest.approx([1.5, 4 / 3, 0])
    spectra = [point.spectrum for point in points]
    assert spectra[0] == ((pytest.approx(-6), 1), (pytest.approx(-2), DIM - 1))
    assert spectra[1] == ((pytest.approx(-4), 1), (0.0, DIM - 2), (pytest.approx(4), 1))
    assert spectra[2] == ((pytest.approx(4), DIM - 1), (pytest.approx(12), 1))


@pytest.mark.parametrize("p", [1, 3])
def test_slopes_and_curvature_along_the_sphere(p) -> None:
    """Against finite differences of the risk along great circles."""
    problem, teacher = problem_of(p), unit_rows(1, 9)
    W, random = unit_rows(p), np.random.default_rng(1)
    weights = sv.overlaps.Weights(W, teacher)
    U = W / np.sqrt(DIM)
    for _ in range(3):
        V = random.standard_normal(U.shape)
        V -= np.sum(V * U, axis=1, keepdims=True) * U
        length = np.linalg.norm(V, axis=1, keepdims=True)

        def risk(s, V=V, length=length):
            moved = np.cos(s * length) * U + np.sin(s * length) * V / length
            return sv.landscape.population_risk(problem, sv.overlaps.Weights(np.sqrt(DIM) * moved, teacher))

        h = 1e-4
        assert np.sum(sv.landscape.sphere_gradient(problem, weights) * V) == pytest.approx(
            (risk(h) - risk(-h)) / (2 * h), rel=1e-5
        )
        curved = V.ravel() @ sv.landscape.sphere_hessian(problem, weights) @ V.ravel()
        assert curved == pytest.approx((risk(h) - 2 * risk(0.0) + risk(-h)) / h**2, rel=1e-4)


@pytest.mark.parametrize("m", [0.0, 0.4, 1.0])
def test_one_student_on_the_sphere(m) -> None:
    """docs/ERRATA.md A17, A18: tangent eigenvalues 4 m^2, dim - 2 times, and 4 (2 m^2 - 1); at m = 0 dim - 2 of them vanish."""
    axes = np.sqrt(DIM) * np.eye(DIM)
    student = m * axes[:1] + np.sqrt(1 - m**2) * axes[1:2]
    weights = sv.overlaps.Weights(student, axes[:1])
    values = np.linalg.eigvalsh(sv.landscape.sphere_hessian(problem_of(), weights))
    expected = np.sort([0.0, *[4 * m**2] * (DIM - 2), 4 * (2 * m**2 - 1)])  # the first is off the sphere
    if m == 1:
        expected = np.sort([0.0, *[4.0] * (DIM - 1)])
    assert values == pytest.approx(expected, abs=1e-12)
    assert sv.landscape.population_risk(problem_of(), weights) == pytest.approx(2 * (1 - m**2))
    gradient = sv.landscape.sphere_gradient(problem_of(), weights)
    assert gradient == pytest.approx(4 * m * (m * student - axes[:1]) / np.sqrt(DIM), abs=1e-12)


def test_no_overlap_at_all_is_a_saddle_for_several_students() -> None:
    """docs/ERRATA.md A19: at m = 0, Q = 1 the excess is 1 + 1/p, below that of students that coincide; some directions rise."""
    axes = np.sqrt(DIM) * np.eye(DIM)
    weights = sv.overlaps.Weights(axes[1:5], axes[:1])
    problem = problem_of(4)
    assert sv.landscape.population_risk(problem, weights) == pytest.approx(1.25)
    same = sv.overlaps.Weights(np.repeat(axes[1:2], 4, axis=0), axes[:1])
    assert sv.landscape.population_risk(problem, same) == pytest.approx(2.0)
    assert np.abs(sv.landscape.sphere_gradient(problem, weights)).max() < 1e-14
    values = np.linalg.eigvalsh(sv.landscape.sphere_hessian(problem, weights))
    assert values[0] < -0.1
    assert values[-1] > 0.1


def test_students_must_be_on_the_sphere() -> None:
    with pytest.raises(ValueError, match="must be 1 on the sphere"):
        sv.landscape.sphere_hessian(problem_of(), sv.overlaps.Weights(2 * unit_rows(1), unit_rows(1, 3)))
