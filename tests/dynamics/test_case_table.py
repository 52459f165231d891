"""The table of cases: probabilities that sum to one at all times, and means over cases that are those of the description."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.cases import ALIKE, alike, case_table

LINEAR = {"times": (0.0, 4.0), "shape": "linear"}


def problem(**changes) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=3, activation="erf"),
        inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=(2.0, 0.5))),
        training=sv.Training(learning_rate=0.1),
    ).replace(**changes)


MIXTURE = sv.Mixture(
    probabilities=(sv.Schedule(rates=(0.2, 0.6), **LINEAR), sv.Schedule(rates=(0.8, 0.4), **LINEAR)),
    means=((1.0, 0.0), (0.5, -1.0)), labels=(1.0, -2.0), variances=((1.0, 2.0), (0.5, 1.0)), spikes=((0.0, 0.3), (0.0, 0.0)),
)  # fmt: skip
TASKS = sv.Task.sequence([[1.0, 0.0], [0.6, 0.8]], [3.0], replay=0.1)
FULL = problem(
    mixture=MIXTURE,
    tasks=TASKS,
    training__dropout={"keep": 0.8},
    training__label_flips=0.1,
    training__input_noise=(0.1, 0.2),
)


def test_a_plain_problem_is_one_case() -> None:
    for tests in (False, True):
        table = case_table(problem(), tests=tests)
        assert table.size == 1
        assert (table.probability, table.slope, table.label, table.sign, table.head) == (1, 0, 0, 1, 0)
        np.testing.assert_array_equal(table.teacher_readout, [[0.5, 0.5]])
        np.testing.assert_array_equal(table.mask, np.ones((1, 3)))
        assert table.means.shape == table.spikes.shape == (1, 0)
        assert not table.input_noise.any()


def test_cases_multiply_and_their_probabilities_sum_to_one() -> None:
    table = case_table(FULL)
    assert table.size == 2 * 2 * 2 * 8
    np.testing.assert_array_equal(table.begins, [0.0, 3.0, 4.0])
    np.testing.assert_allclose(table.probability.sum(axis=1), 1.0, atol=1e-14)
    np.testing.assert_allclose(table.slope.sum(axis=1), 0.0, atol=1e-14)
    for task in range(2):
        np.testing.assert_allclose(table.share[:, table.task == task].sum(axis=1), 1.0, atol=1e-14)
    before, after = table.probability[0] + 3.0 * table.slope[0], table.probability[1]
    first = table.class_number == 0
    assert before[first].sum() == pytest.approx(0.5)  # halfway up, three quarters of the way
    assert after[first].sum() == pytest.approx(0.5)
    assert after[table.task == 0].sum() == pytest.approx(0.1)
    assert not before[table.task == 1].any()


def test_means_over_cases_are_those_of_the_description() -> None:
    table = case_table(FULL)
    weight = table.probability[1]
    np.testing.assert_allclose(weight @ table.mask, np.ones(3))  # kept students count 1/keep times
    np.testing.assert_allclose(weight @ table.mask**2, np.full(3, 1 / 0.8))
    assert weight @ table.sign == pytest.approx(0.8)
    assert weight @ table.label == pytest.approx(0.8 * (0.5 * 1.0 - 0.5 * 2.0))
    np.testing.assert_allclose(weight @ table.teacher_readout, 0.8 * np.array([0.1 + 0.9 * 0.6, 0.9 * 0.8]))
    np.testing.assert_allclose(weight @ table.means, [0.75, -0.5])
    np.testing.assert_allclose(weight @ table.factors, [0.75, 1.5])
    np.testing.assert_allclose(weight @ table.spikes, [0.0, 0.15])
    np.testing.assert_allclose(weight @ table.input_noise, [0.1, 0.2])
    np.testing.assert_array_equal(np.unique(table.head[table.task == 1]), [1])


def test_tests_are_clean() -> None:
    table = case_table(FULL.replace(training__dropout={"keep": 0.8, "scale": "test"}), tests=True)
    assert table.size == 4
    np.testing.assert_array_equal(table.mask, np.full((4, 3), 0.8))
    np.testing.assert_array_equal(table.sign, np.ones(4))
    assert not table.input_noise.any()
    np.testing.assert_array_equal(table.task, [0, 0, 1, 1])
    np.testing.assert_allclose(table.share[1], [0.5, 0.5, 0.5, 0.5])
    np.testing.assert_allclose(table.probability[1], [0.05, 0.05, 0.45, 0.45])
    unscaled = case_table(FULL.replace(training__dropout={"keep": 0.8, "scale": "test", "test_factor": 0.9}))
    assert set(np.unique(unscaled.mask)) == {0.0, 1.0}


def test_labels_by_class_without_a_teacher() -> None:
    table = case_table(
        sv.Problem(student=sv.Student(width=2), training=sv.Training(learning_rate=0.1), mixture=sv.Mixture.xor(1.0))
    )
    assert table.teacher_readout.shape == (4, 0)
    np.testing.assert_array_equal(table.label, [1, 1, -1, -1])


def test_what_knows_one_case_refuses_several() -> None:
    quadratic = sv.Problem(
        teacher=sv.Teacher(width=1), student=sv.Student(width=1), training=sv.Training(learning_rate=0.1)
    )
    mixed = quadratic.replace(mixture=sv.Mixture.opposite(1.0))
    state = sv.start(mixed, student_overlap=[[1.0]])
    for ask in (
        lambda: sv.dynamics.field_covariance(mixed, state),
        lambda: sv.dynamics.step_covariance(mixed, state),
        lambda: sv.dynamics.moments(np.eye(2), mixed),
    ):
        with pytest.raises(ValueError, match=r"^mixture: is .*does not know this setting"):
            ask()
    anchored = quadratic.replace(training__anchor=1.0)
    found = sv.dynamics.field_covariance(anchored, sv.start(anchored, student_overlap=[[2.0]], cross_overlap=[[0.5]]))
    np.testing.assert_array_equal(found, [[2.0, 0.5], [0.5, 1.0]])


def test_cases_that_are_alike() -> None:
    """Chains have all cases once, of equal fields up to the sign of their means, and the first of each leads."""
    tasks = tuple(sv.Task(readout=(1.0, 0.5), probability=share) for share in (0.5, 0.3, 0.2))
    classes = problem(mixture=sv.Mixture.xor(1.0))
    more = classes.replace(training__label_flips=0.1, tasks=tasks)
    for one, chains in ((FULL, None), (problem(), 1), (classes, 2), (more, 4)):
        table = case_table(one)
        first, following, turn = alike(table)
        seen: list[int] = []
        for leader in np.flatnonzero(first):
            chain, case = [], int(leader)
            while case >= 0:
                chain.append(case)
                case = int(following[case])
            for case in chain:
                assert table.means[case] == pytest.approx(turn[case] * table.means[leader])
                for name in ("spikes", "factors", "input_noise"):
                    np.testing.assert_array_equal(getattr(table, name)[case], getattr(table, name)[leader])
                for name in ("mask", "teacher_readout"):
                    np.testing.assert_array_equal(getattr(table, name)[case] != 0, getattr(table, name)[leader] != 0)
            assert len(chain) <= ALIKE
            seen += chain
        assert sorted(seen) == list(range(table.size))
        assert chains is None or first.sum() == chains
