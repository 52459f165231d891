"""The string method: known paths in a plane, and the flat valley of a data set that does not determine its teacher."""

import numpy as np
import pytest

import solvable as sv
from solvable.numerics.symmetric import to_matrix


def double_well() -> sv.landscape.Potential:
    """(x^2 - 1)^2 + 2 (y - x^2)^2 ... its valley floor between (-1, 1) and (1, 1) is y near x^2, its saddle at the origin."""
    return sv.landscape.Potential(
        lambda v: (v[0] ** 2 - 1) ** 2 + 2 * (v[1] - v[0] ** 2) ** 2,
        lambda v: [
            4 * v[0] * (v[0] ** 2 - 1) - 8 * v[0] * (v[1] - v[0] ** 2),
            4 * (v[1] - v[0] ** 2),
        ],
    )


def test_string_finds_the_saddle_and_the_path_of_least_resistance() -> None:
    hills = double_well()
    found = sv.landscape.string(hills, [-1.0, 1.0], [1.0, 1.0], images=41, tolerance=1e-5, iterations=2000)
    assert found.converged
    assert found.moved <= 1e-5
    assert np.abs(found.points[20]).max() < 2e-3  # the saddle
    assert abs(found.energy.max() - 1) < 1e-5
    gaps = np.linalg.norm(np.diff(found.points, axis=0), axis=1)
    assert np.ptp(gaps) < 0.02 * gaps.mean()
    assert np.isclose(found.length, gaps.sum())
    # everywhere else the force points along the string
    along = found.points[2:] - found.points[:-2]
    force = hills.force(found.points[1:-1])
    across = np.abs(along[:, 0] * force[:, 1] - along[:, 1] * force[:, 0]) / np.linalg.norm(along, axis=1)
    assert across.max() < 0.05 * np.linalg.norm(force, axis=1).max()


def test_the_path_does_not_depend_on_units() -> None:
    plain = double_well()
    slow = sv.landscape.Potential(
        lambda v: 1e-6 * plain.function(v), lambda v: [1e-6 * part for part in plain.gradient(v)]
    )
    found = sv.landscape.string(slow, [-1.0, 1.0], [1.0, 1.0], images=41, tolerance=1e-4)
    assert found.converged
    assert abs(1e6 * found.energy.max() - 1) < 1e-3


def test_own_hessian_and_differences_agree() -> None:
    plain = double_well()

    def hessian(v):
        return [[12 * v[0] ** 2 - 4 - 8 * v[1] + 24 * v[0] ** 2, -8 * v[0]], [-8 * v[0], 4.0]]

    own = sv.landscape.Potential(plain.function, plain.gradient, hessian)
    points = np.random.default_rng(0).standard_normal((5, 2))
    assert np.allclose(own.jacobian(points), plain.jacobian(points), atol=1e-7)


def test_string_over_data_that_do_not_determine_the_teacher() -> None:
    """Below the threshold the string comes to zero training loss at a finite population loss, and passes the limit of gradient
    flow; above, the two losses vanish together."""
    random = np.random.default_rng(0)
    W = np.eye(6)[:1]
    few, many = random.standard_normal((5, 6)), random.standard_normal((21, 6))
    for rows, unique in [(few, False), (many, True)]:
        assert sv.empirical.decide(rows, W).unique == unique
        hills = sv.empirical.TrainingLandscape(rows, W)
        found = sv.landscape.string(hills, hills.identity, hills.solution, images=60, tolerance=2e-4)
        assert found.converged
        assert np.linalg.eigvalsh(to_matrix(found.points)).min() > -1e-12
        assert (np.diff(found.energy[:30]) < 0).all()
        population = hills.population_loss(found.points)
        at = 48
        if unique:
            assert found.energy[at] / population[at] > 1e-4
        else:
            assert found.energy[at] < 1e-8
            assert population[at] > 0.1
            problem = sv.problems.convention("saraomannelli2020").problem(m=6, m_star=1, d=6)
            start = sv.overlaps.Weights(6 * np.eye(6), np.sqrt(6) * W)
            flow = sv.run(problem, start, sv.Empirical(data=sv.Data(rows, prepare=False)), times=[1e4])
            gaps = np.linalg.norm(to_matrix(found.points) - flow.matrix[0, 0], axis=(1, 2))
            assert gaps.min() < found.length / 59


def test_bad_strings_are_refused() -> None:
    hills = double_well()
    for arguments, text in [
        (([1.0], [1.0, 2.0]), "ends of shape"),
        (([1.0, np.nan], [1.0, 2.0]), "must be finite"),
        (([1.0, 1.0], [1.0, 1.0]), "the same point"),
    ]:
        with pytest.raises(ValueError, match=text):
            sv.landscape.string(hills, *arguments)
    for name, value in [("images", 2), ("iterations", 0), ("tolerance", 0.0)]:
        with pytest.raises(ValueError, match=name):
            sv.landscape.string(hills, [-1.0, 1.0], [1.0, 1.0], **{name: value})
    with pytest.raises(TypeError, match="must be a Potential"):
        sv.landscape.string(lambda v: 0.0, [0.0], [1.0])
    wrong = sv.landscape.Potential(lambda v: 0.0, lambda v: [0.0, 0.0, 0.0], lambda v: np.eye(2))
    with pytest.raises(ValueError, match="the gradient has"):
        sv.landscape.string(wrong, [0.0, 0.0], [1.0, 1.0])
    unfinished = sv.landscape.string(hills, [-1.0, 1.0], [1.0, 1.0], iterations=1)
    assert not unfinished.converged
