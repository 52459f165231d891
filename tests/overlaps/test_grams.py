"""Gram matrices with given sums over the blocks, or the reason why there are none."""

import numpy as np
import pytest

import solvable as sv

EIGENVALUES, WEIGHTS = (4.0, 1.0, 1.0, 0.25), (1, 2, 3, 4)


def problem(eigenvalues=EIGENVALUES, weights=WEIGHTS) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=3, activation="erf", overlap="sampled"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=eigenvalues, weights=weights)),
        training=sv.Training(learning_rate=0.1),
    )


def some_blocks(random: np.random.Generator, rank: int) -> np.ndarray:
    factors = random.standard_normal((4, 3, rank)) * random.uniform(0.01, 2, (4, 1, 1))
    return factors @ factors.swapaxes(1, 2)


@pytest.mark.parametrize("rank", [1, 3])
def test_sums_of_any_blocks_are_met_by_positive_ones(rank) -> None:
    """Whatever has blocks has ours: one hundred draws, up to 1e-9 of the sums; eigenvalues of ours above -1e-12."""
    random, one = np.random.default_rng(rank), problem()
    for _ in range(100):
        given = some_blocks(random, rank)
        first, second = given.sum(axis=0), np.tensordot(EIGENVALUES, given, axes=1)
        found = sv.overlaps.block_gram(one, first, second)
        assert found.shape == given.shape
        assert found.sum(axis=0) == pytest.approx(first, abs=1e-9 * np.abs(first).max())
        assert np.tensordot(EIGENVALUES, found, axes=1) == pytest.approx(second, abs=1e-9 * np.abs(second).max())
        assert np.linalg.eigvalsh(found).min() > -1e-12 * np.abs(first).max()


def test_singular_sums_are_met_too() -> None:
    one, base = problem(), np.array([[1.0, 2.0, 0.0], [2.0, 4.0, 0.0], [0.0, 0.0, 0.5]])  # of rank two
    found = sv.overlaps.block_gram(one, base, 1.7 * base)
    assert found.sum(axis=0) == pytest.approx(base, abs=1e-12)
    assert np.tensordot(EIGENVALUES, found, axes=1) == pytest.approx(1.7 * base, abs=1e-11)
    assert sv.overlaps.block_gram(one, 0 * base, 0 * base) == pytest.approx(np.zeros((4, 3, 3)))


def test_the_mean_eigenvalue_gives_shares_of_the_dimensions() -> None:
    one, first = problem(), sv.overlaps.gram(3, overlap=0.3)
    mean = float(one.inputs.fractions @ one.inputs.eigenvalues)
    found = sv.overlaps.block_gram(one, first, mean * first)
    assert found == pytest.approx(one.inputs.fractions[:, None, None] * first, abs=1e-12)


def test_no_other_shares_are_nearer_to_those_of_the_dimensions() -> None:
    """For one unit, relative entropy sum pi log(pi/f): any other shares with the same sums have more."""
    one, f, values = problem(), np.array(WEIGHTS) / 10, np.array(EIGENVALUES)
    shares = sv.overlaps.block_gram(one, [[1.0]], [[2.0]])[:, 0, 0]
    null = np.linalg.svd(np.array([np.ones(4), values]))[2][2:]
    entropy = lambda pi: float(pi @ np.log(pi / f))
    for move in (*null, *-null, null[0] + null[1]):
        assert entropy(shares + 1e-3 * move) > entropy(shares)


def test_ends_of_the_spectrum_are_reached() -> None:
    one, first = problem(), sv.overlaps.gram(2, overlap=0.5)
    assert sv.overlaps.block_gram(one, first, 4 * first)[0] == pytest.approx(first, abs=1e-12)
    assert sv.overlaps.block_gram(one, first, 0.25 * first)[3] == pytest.approx(first, abs=1e-12)
    middle = problem((1.0, 3.0, 1.0), (1, 2, 3))
    assert sv.overlaps.block_gram(middle, first, first)[0] == pytest.approx(first / 4, abs=1e-12)  # by their sizes
    single = problem((2.0,), (1,))
    assert sv.overlaps.block_gram(single, first, 2 * first) == pytest.approx(first[None])


def test_many_eigenvalues_and_a_start() -> None:
    made = problem().replace(inputs__spectrum=sv.PowerLaw(beta=1.0, distinct=256))
    low, high = made.inputs.eigenvalues.min(), made.inputs.eigenvalues.max()
    first = sv.overlaps.gram(3, norm=[1.0, 2.0, 0.5], overlap=0.1)
    for ratio in (low * (1 + 1e-6), 0.5, 1.0, 40.0, high * (1 - 1e-6)):
        blocks = sv.overlaps.block_gram(made, first, ratio * first)
        start = sv.start(made, student_overlap=np.eye(2), block_teacher_overlap=blocks)
        assert start.teacher_overlap == pytest.approx(first, abs=1e-9)
        covariance = sv.dynamics.field_covariance(made, start)[2:, 2:]
        assert covariance == pytest.approx(ratio * first, rel=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (np.eye(2), np.diag([1.0, 4.5]), "^second: over first it is 1 to 4.5 .* 0.25 and 4$"),
        (np.eye(2), [[1.0, 0.9], [0.9, 1.0]], "^second: over first it is 0.1 to 1.9 "),
        (np.diag([1.0, -0.1]), np.eye(2), "^first: must be positive semidefinite but has the eigenvalue -0.1$"),
        (np.diag([1.0, 0.0]), np.eye(2), "^second: is not zero in a direction in which first is"),
        (np.eye(2), np.eye(3), r"^second: shape \(3, 3\) given, must be \(2, 2\) as first$"),
        (np.eye(2), [[1.0, 0.5], [0.0, 1.0]], "^second: must be symmetric$"),
        (np.ones(2), np.eye(2), r"^first: shape \(2,\) given, must be a finite matrix"),
    ],
)
def test_sums_that_no_units_have_are_refused_in_one_line(first, second, text) -> None:
    with pytest.raises(sv.overlaps.InvalidStart, match=text) as told:
        sv.overlaps.block_gram(problem(), first, second)
    assert "\n" not in str(told.value)


def test_alike_units() -> None:
    assert sv.overlaps.gram(3, 2.0, -1.0).tolist() == [[2, -1, -1], [-1, 2, -1], [-1, -1, 2]]  # as far apart as can be
    teacher = sv.Teacher(width=2, overlap=sv.overlaps.gram(2, overlap=0.5))
    assert np.array(teacher.overlap).tolist() == [[1.0, 0.5], [0.5, 1.0]]
    for arguments, text in [
        (
            (3, 1.0, -0.6),
            "^overlap: -0.6 given, must be from -0.5 to 1 times the norm for 3 units, .* eigenvalue -0.2$",
        ),
        ((2, [1.0, 0.1], 0.5), "^overlap: 0.5 given, must be nearer to zero for 2 units"),
        ((2, [1.0, 1.0, 1.0]), "^norm: .* one for each of 2 units"),
        ((2, -1.0), "^norm: -1.0 given"),
        ((0,), "^size: 0 given, must be a whole number, at least 1$"),
        ((2, 1.0, np.nan), "^overlap: nan given, must be finite$"),
    ]:
        with pytest.raises(sv.overlaps.InvalidStart, match=text):
            sv.overlaps.gram(*arguments)
