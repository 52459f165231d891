"""Starts with directions, anchors and heads: the law of drawn ones, prescribed and measured ones, restarts, refusals."""

import numpy as np
import pytest

import solvable as sv
from comparing import scores
from gate import first
from seeds import seed
from solvable.overlaps import embed, fitted, integrated, repaired

BLOCKS = sv.Spectrum(eigenvalues=(2.0, 0.5), weights=(0.25, 0.75))
VECTORS = np.random.default_rng(5).standard_normal((2, 16)) * [[1.0], [1.5]]


def classes(**changes) -> sv.Mixture:
    made = {"probabilities": (0.5, 0.5), "means": ((1.0, 0.5), (-1.0, 0.5)), "labels": (1.0, -1.0)} | changes
    return sv.Mixture(**made)


def problem(q=2, dim=16, overlap="orthonormal", mixture=None, spectrum=BLOCKS, **changes) -> sv.Problem:
    made = sv.Problem(
        teacher=sv.Teacher(width=q, overlap=overlap) if q else sv.Teacher(width=0),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=dim, spectrum=spectrum),
        training=sv.Training(learning_rate=0.1),
        mixture=classes() if mixture is None else mixture,
    )
    return made.replace(**changes) if changes else made


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("overlap", "norm"),
    first([("sampled", "free"), (None, "free"), ("sampled", "sphere")]),
    ids=["teachers", "none", "sphere"],
)
def test_drawn_starts_have_the_law_of_measured_weights(overlap, norm) -> None:
    """Means and variances of every overlap of students, teachers and given directions, 3000 draws each way, within 5.5 standard
    errors."""
    setting = problem(
        q=2 if overlap else 0, overlap=overlap or "orthonormal", mixture=classes(vectors=VECTORS), student__norm=norm
    )
    drawn, measured = [], []
    for number in range(3000):
        drawn.append(sv.start(setting, seed=seed(number)).stacked.ravel())
        random = np.random.default_rng([seed(number), 7])
        W, B = random.standard_normal((2, 16)), random.standard_normal((setting.teacher.width, 16))
        if norm == "sphere":
            W *= 4 / np.linalg.norm(W, axis=1, keepdims=True)
        measured.append(sv.measure(setting, W, B).stacked.ravel())
    for score in scores(np.array(drawn), np.array(measured)):
        assert np.abs(score).max() < 5.5
    first = np.linalg.norm(VECTORS[:, :4], axis=1) ** 2 / 16  # the smaller block holds four inputs
    np.testing.assert_allclose(np.diag(sv.start(setting, seed=0).block_extra_overlap[0, :, -2:]), first)


def test_directions_beside_teachers() -> None:
    mixture = classes(gram=((2.0, 0.3), (0.3, 1.0)), teacher_overlap=((0.4, 0.0), (0.0, -0.2)))
    setting = problem(mixture=mixture, dim=None)
    start = sv.start(
        setting, student_overlap=np.eye(2), cross_overlap=np.zeros((2, 2)), direction_overlap=[[0.1, 0], [0, 0.2]]
    )
    np.testing.assert_allclose(start.direction_overlap, [[0.1, 0], [0, 0.2]])
    total = start.stacked.sum(axis=0)
    np.testing.assert_allclose(total[4:, 4:], mixture.gram)
    np.testing.assert_allclose(total[4:, 2:4], mixture.teacher_overlap)
    np.testing.assert_allclose(start.stacked[0], 0.25 * total)
    blocks = start.block_extra_overlap[:, :, :2].transpose(0, 2, 1)
    again = sv.start(setting, block_student_overlap=start.block_student_overlap, block_direction_overlap=blocks)
    assert again == start
    assert again.hash != sv.start(setting, student_overlap=np.eye(2)).hash
    assert start.anchor_overlap.shape == (2, 0)


@pytest.mark.parametrize("students", ["orthogonal", "spanning"])
def test_other_starts_know_directions(students) -> None:
    setting = problem(q=0, dim=8, spectrum=None, student__width=8)
    start = sv.start(setting, seed=1, students=students, scale=2.0)
    assert start.student_overlap == pytest.approx(4 * np.eye(8))
    assert start.direction_overlap.any()
    if students == "spanning":
        assert start.direction_overlap.T @ start.direction_overlap == pytest.approx(4 * np.eye(2))


def test_anchors_are_the_students_of_the_start() -> None:
    setting = problem(training__anchor=0.5)
    start = sv.start(setting, seed=2)
    assert start.extras == ("direction", "direction", "anchor", "anchor")
    np.testing.assert_array_equal(start.anchor_overlap, start.student_overlap)
    np.testing.assert_array_equal(start.stacked[:, -2:, :-2], start.stacked[:, :2, :-2])
    bare = start.without("anchor")
    assert bare == sv.start(problem(), seed=2)
    assert bare.anchored() == start
    assert start.anchored() == start
    assert fitted(setting, bare) == start
    assert fitted(problem(), start) == bare
    assert fitted(setting, start) is start


def test_measured_anchors_and_directions() -> None:
    setting = problem(training__anchor=0.5, mixture=classes(vectors=VECTORS))
    random = np.random.default_rng(0)
    W, B, old = (random.standard_normal((2, 16)) for _ in range(3))
    now = sv.measure(setting, W, B, anchors=old)
    rows = np.vstack([W, B, VECTORS, old])
    np.testing.assert_allclose(now.stacked.sum(axis=0), rows @ rows.T / 16, atol=1e-14)
    np.testing.assert_allclose(now.stacked[0], rows[:, :4] @ rows[:, :4].T / 16, atol=1e-14)
    basis = np.linalg.qr(random.standard_normal((16, 16)))[0]
    turned = sv.overlaps.Weights(W @ basis.T, B @ basis.T, basis=basis, anchors=old @ basis.T).overlaps(setting)
    np.testing.assert_allclose(turned.stacked, now.stacked, atol=1e-12)


def test_embedded_weights_have_all_overlaps() -> None:
    setting = problem(training__anchor=0.5, dim=40)
    start = sv.start(setting, seed=3)
    weights = embed(setting, start, 4)
    assert weights.directions.shape == (2, 40)
    np.testing.assert_allclose(weights.overlaps(setting).stacked, start.stacked, atol=1e-10)
    bare = problem(q=0, dim=40)
    weights = embed(bare, sv.start(bare, seed=3), 4)
    assert weights.anchors is None
    assert weights.teacher.shape == (0, 40)


@pytest.mark.parametrize("norm", ["free", "sphere"])
def test_integrated_overlaps_are_repaired(norm) -> None:
    """Students that coincide with a direction, a little outside of what is possible."""
    setting = problem(training__anchor=0.5, student__norm=norm, dim=None)
    fixed = {"cross_overlap": np.zeros((2, 2)), "direction_overlap": np.eye(2)}
    start = sv.start(setting, student_overlap=np.eye(2), **fixed)
    parts = start.block_student_overlap - 1e-7 * np.eye(2), start.block_cross_overlap, start.block_teacher_overlap
    with pytest.raises(sv.overlaps.InvalidStart, match="no weights have them"):
        sv.Overlaps(*parts, start.readout, start.extras, start.block_extra_overlap)
    kept = {"extras": start.extras, "extra": start.block_extra_overlap}
    back = repaired(*parts, start.readout, sphere=norm == "sphere", **kept)
    assert back.extras == start.extras
    np.testing.assert_allclose(back.stacked, start.stacked, atol=1e-6)
    raw = integrated(*parts, start.readout, **kept)
    np.testing.assert_array_equal(raw.direction_overlap, start.direction_overlap)


def test_heads() -> None:
    setting = problem(mixture=classes(), tasks=sv.Task.sequence(np.eye(2), [1.0]), training__train_readout=True)
    assert sv.start(setting, seed=0).readout.shape == (2, 2)
    other = sv.start(setting, seed=0, readout=[[1.0, 2.0], [3.0, 4.0]])
    assert other.readout[1, 0] == 3
    assert other.hash != sv.start(setting, seed=0).hash
    with pytest.raises(sv.overlaps.InvalidStart, match=r"readout: shape \(2,\) given, must be \(2, 2\)"):
        sv.start(setting, seed=0, readout=[1.0, 2.0])


def plain_start():
    setting = sv.Problem(
        teacher=sv.Teacher(width=2), student=sv.Student(width=2), training=sv.Training(learning_rate=0.1),
        inputs=sv.Inputs(dim=16, spectrum=BLOCKS),
    )  # fmt: skip
    return setting, sv.start(setting, seed=0)


def test_starts_of_plain_problems_keep_their_hashes() -> None:
    _, start = plain_start()
    assert start.hash == "b032757b1f560f14ca845bdea8849214dfa4fd2c4fff35c2bb2ec035b2cdccd0"
    assert start.extras == ()
    assert start.block_extra_overlap.shape == (2, 0, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sv.measure(problem(), np.ones((2, 16)), np.ones((2, 16))), "directions: are missing"),
        (lambda: sv.measure(problem(), np.ones((2, 16)), np.ones((2, 16)), directions=np.ones((3, 16))), "directions: shape"),
        (
            lambda: sv.measure(plain_start()[0], np.ones((2, 16)), np.ones((2, 16)), directions=np.ones((1, 16))),
            "directions: given although the problem has no mixture",
        ),
        (
            lambda: sv.measure(plain_start()[0], np.ones((2, 16)), np.ones((2, 16)), anchors=np.ones((2, 16))),
            "anchors: given although training.anchor is 0",
        ),
        (
            lambda: sv.overlaps.Weights(np.ones((2, 4)), directions=np.ones((2, 5))),
            "directions: rows of 5 numbers given, must be 4",
        ),
        (lambda: sv.start(problem(), direction_overlap=np.zeros((2, 2))), "student_overlap: is missing"),
        (lambda: sv.start(problem(), student_overlap=np.eye(2), direction_overlap=[[0.0]]), "direction_overlap: shape"),
        (lambda: sv.start(problem(), student_overlap=np.eye(2), direction_overlap=3 * np.eye(2)), "no weights have them"),
        (lambda: sv.run(problem(), plain_start()[1], sv.Macro(), until=1), "Macro does not support it|neither directions"),
        (
            lambda: sv.Overlaps(*(np.eye(1)[None],) * 3, np.ones(1), ("cat",), np.zeros((1, 1, 3))),
            "extras: 'cat' given, must be one of direction, anchor",
        ),
        (
            lambda: sv.Overlaps(*(np.eye(1)[None],) * 3, np.ones(1), ("anchor",), np.zeros((1, 1, 2))),
            r"block_extra_overlap: shape \(1, 1, 2\) given, must be \(1, 1, 3\)",
        ),
    ],
)  # fmt: skip
def test_mistakes(make, message) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def test_starts_belong_to_their_problem() -> None:
    from solvable.overlaps import check_start

    setting, start = plain_start()
    with pytest.raises(sv.overlaps.InvalidStart, match=r"neither directions nor anchors, the problem 2 direction\(s\)"):
        check_start(problem(), start)
    long = problem(mixture=classes(gram=((2.0, 0.0), (0.0, 2.0))))
    with pytest.raises(
        sv.overlaps.InvalidStart, match=r"its directions overlap otherwise than mixture.gram says, by 0.75"
    ):
        check_start(problem(), sv.start(long, seed=0))
    check_start(setting.replace(teacher__drift=0.1), sv.start(setting.replace(teacher__overlap="sampled"), seed=0))


def test_orthogonal_students_beside_directions_that_are_the_same() -> None:
    """Singular Gram matrices have a start too: overlaps with both directions are equal, and of the size of `cross`."""
    setting = problem(q=0, spectrum=None, dim=1000, mixture=classes(gram=((1.0, 1.0), (1.0, 1.0))), student__width=40)
    found = sv.start(setting, seed=0, students="orthogonal", cross=0.01).direction_overlap
    assert found[:, 0] == pytest.approx(found[:, 1], abs=1e-12)
    assert 0.005 < found[:, 0].std() < 0.02


def test_impossible_overlaps_with_directions_name_them() -> None:
    with pytest.raises(sv.overlaps.InvalidStart, match="matrix of students, teachers and directions in block"):
        sv.start(problem(), student_overlap=np.eye(2), direction_overlap=2 * np.eye(2))
    held = problem(q=2, spectrum=None, training__anchor=0.1)
    with pytest.raises(sv.overlaps.InvalidStart, match="matrix of students, teachers and directions must"):
        sv.start(held, student_overlap=np.eye(2), direction_overlap=2 * np.eye(2))
    with pytest.raises(sv.overlaps.InvalidStart, match="matrix of students and teachers must"):
        sv.Overlaps([[[1.0]]], [[[2.0]]], [[[1.0]]], [1.0])


def test_scalars_are_part_of_a_state() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=2),
        training=sv.Training(learning_rate=0.1, train_readout=True, momentum=sv.Momentum(kappa=1.0)),
    )
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=np.zeros((2, 1)))
    assert start.scalars.tolist() == [0.0, 0.0]
    assert start.extras == ("velocity", "velocity")
    other = start.with_scalars([0.1, 0.0])
    assert other != start
    assert other.hash != start.hash
    plain = problem.replace(training__momentum=None)
    assert sv.overlaps.fitted(plain, other) == sv.start(
        plain, student_overlap=np.eye(2), cross_overlap=np.zeros((2, 1))
    )
    with pytest.raises(
        sv.overlaps.InvalidStart, match=r"^scalars: 3 given, the problem has 2 readout_velocity\(s\); give as many"
    ):
        sv.overlaps.check_start(problem, start.with_scalars([0.0] * 3))
    with pytest.raises(sv.overlaps.InvalidStart, match=r"^scalars: 1 given for 2 roles, must be as many"):
        sv.Overlaps([[[1.0]]], [[[0.5]]], [[[1.0]]], [1.0], scalars=[1.0], scalar_roles=("accumulated", "accumulated"))


def test_scalars_are_fitted_by_what_they_are() -> None:
    """The velocity of a single readout is no sum of squared gradients, although there is one number of each."""
    slow = {"train_readout": True, "readout_rate": 0.1, "momentum": sv.Momentum(kappa=1.0)}
    rule = {"rate_rule": sv.problems.AdaGrad(offset=1.0)}

    def problem(**training) -> sv.Problem:
        return sv.Problem(
            teacher=sv.Teacher(width=1),
            student=sv.Student(width=1),
            training=sv.Training(learning_rate=0.1, **training),
        )

    moved = sv.run(problem(**slow), start(problem(**slow)), sv.Macro(), times=[2.0]).last()
    (speed,) = moved.scalars
    assert speed != 0
    assert sv.overlaps.fitted(problem(**rule), moved).scalars.tolist() == [0.0]
    both = sv.overlaps.fitted(problem(**slow, **rule), moved)
    assert both.scalars.tolist() == [speed, 0.0]
    assert both.scalar_roles == ("readout_velocity", "accumulated")
    assert sv.overlaps.fitted(problem(**slow), both) == moved


def start(problem: sv.Problem) -> sv.Overlaps:
    return sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.5]])
