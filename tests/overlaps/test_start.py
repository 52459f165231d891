"""Starts: the law of sampled ones, the idealised ones, prescribed ones, and what is refused."""

import numpy as np
import pytest

import solvable as sv
from gate import first
from seeds import seed
from solvable.overlaps import nearest_frame


def problem(p=2, q=2, dim=20, spectrum=None, overlap="orthonormal", norm="free", **training) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=q, overlap=overlap),
        student=sv.Student(width=p, norm=norm),
        inputs=sv.Inputs(dim=dim, spectrum=spectrum),
        training=sv.Training(learning_rate=0.1, **training),
    )


BLOCKS = sv.Spectrum(eigenvalues=(2.0, 0.5), weights=(0.25, 0.75))


def many(setting, draw, count=4000):
    """(count, blocks, n, n) overlaps of many draws."""
    return np.stack([draw(setting, seed(number)).stacked for number in range(count)])


def from_weights(setting, number, scale=0.7):
    """The same law, the long way: draw all weights and measure them."""
    random = np.random.default_rng([number, 99])
    dim, p, q = setting.inputs.dim, setting.student.width, setting.teacher.width
    W = scale * random.standard_normal((p, dim))
    if setting.teacher.overlap == "sampled":
        B = random.standard_normal((q, dim))
    else:  # orthonormal with its share of the norm in every block
        B, at = np.zeros((q, dim)), 0
        for size, share in zip(setting.inputs.block_sizes, setting.inputs.fractions, strict=True):
            frame = np.linalg.qr(random.standard_normal((size, q)))[0].T
            B[:, at : at + size] = frame * np.sqrt(dim * share)
            at += size
    if setting.student.norm == "sphere":
        W *= np.sqrt(dim) / np.linalg.norm(W, axis=1, keepdims=True)
    return sv.measure(setting, W, B)


@pytest.mark.statistical
@pytest.mark.parametrize(
    "setting",
    first(
        [
            problem(dim=16, spectrum=BLOCKS, overlap="sampled"),
            problem(dim=10, norm="sphere", q=1),
            problem(dim=12),
            problem(dim=12, overlap="sampled"),
            problem(dim=16, spectrum=BLOCKS),
            problem(dim=4, spectrum=BLOCKS, overlap="sampled"),  # a block of one dimension: fewer than units
        ],
        2,
    ),
    ids=["blocks sampled", "sphere", "orthonormal", "sampled", "blocks", "tiny block"],
)
def test_sampled_starts_have_the_law_of_measured_weights(setting: sv.Problem) -> None:
    """Means and second moments of every overlap, 4000 draws each way: all within 5.5 standard errors."""
    scale = 1.0 if setting.student.norm == "sphere" else 0.7
    drawn = many(setting, lambda one, number: sv.start(one, seed=number, scale=scale))
    measured = many(setting, lambda one, number: from_weights(one, number, scale))
    for power in (1, 2):
        a, b = drawn**power, measured**power
        error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / len(a)) + 1e-12
        assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) / error).max() < 5.5


def test_huge_dimensions_cost_nothing() -> None:
    start = sv.start(problem(dim=10**12, overlap="sampled"), seed=0)
    assert start.student_overlap == pytest.approx(np.eye(2), abs=1e-5)
    assert np.abs(start.cross_overlap).max() < 1e-5


@pytest.mark.statistical
def test_idealised_start(quadratic: sv.Problem) -> None:
    starts = [sv.start(quadratic, seed=seed(i), students="orthogonal", cross=0.02) for i in range(200)]
    assert starts[0].student_overlap == pytest.approx(np.eye(6))
    assert starts[0] == sv.start(quadratic, seed=seed(0), students="orthogonal", cross=0.02)
    assert starts[0] != starts[1]
    values = np.concatenate([start.cross_overlap.ravel() for start in starts])
    assert values.std() == pytest.approx(0.02, rel=5 / np.sqrt(2 * values.size))
    default = sv.start(quadratic, seed=seed(0), students="orthogonal")
    assert default.cross_overlap == pytest.approx(starts[0].cross_overlap / 2)
    seeded = sv.start(quadratic, seed=np.random.SeedSequence(seed(0)), students="orthogonal", cross=0.02)
    assert seeded == starts[0]


def test_prescribed_overlaps_are_shared_among_blocks() -> None:
    setting = problem(spectrum=BLOCKS)
    Q, R = np.array([[1.0, 0.2], [0.2, 2.0]]), np.array([[0.1, 0.0], [0.0, -0.3]])
    start = sv.start(setting, student_overlap=Q, cross_overlap=R)
    assert start.block_student_overlap[1] == pytest.approx(0.75 * Q)
    assert start.cross_overlap == pytest.approx(R)
    assert start.teacher_overlap == pytest.approx(np.eye(2))
    again = sv.start(
        setting, block_student_overlap=start.block_student_overlap, block_cross_overlap=start.block_cross_overlap
    )
    assert again == start


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sv.start(problem()), "seed: is missing"),
        (lambda: sv.start(problem(dim=None), seed=0), "inputs.dim: infinite, but a sampled start needs a finite one"),
        (lambda: sv.start(problem(dim=None), seed=0, students="orthogonal"), "inputs.dim: infinite"),
        (lambda: sv.start(problem(), seed=0, students="round"), "students: 'round' given"),
        (lambda: sv.start(problem(), seed=0, cross=0.1), "cross: given with Gaussian students"),
        (
            lambda: sv.start(problem(), seed=0, students="orthogonal", scale=0.1, cross=0.2),
            r"cross: 0.2 given for students of scale 0.1, but overlaps that large need students of scale 0\.\d",
        ),
        (lambda: sv.start(problem(), seed=0, scale=-1), "scale: -1 given"),
        (lambda: sv.start(problem(), seed=0, student_overlap=np.eye(2)), "seed: given although"),
        (lambda: sv.start(problem(), cross_overlap=np.eye(2)), "student_overlap: is missing"),
        (
            lambda: sv.start(problem(), student_overlap=np.eye(3)),
            r"student_overlap: shape \(3, 3\) given, must be \(2, 2\)",
        ),
        (lambda: sv.start(problem(), student_overlap=np.eye(2), readout=[1.0]), "readout: shape"),
        (
            lambda: sv.start(problem(), student_overlap=np.eye(2), cross_overlap=2 * np.eye(2)),
            "no weights have them.*-1",
        ),
        (lambda: sv.start(problem(), student_overlap=[[1, 0.5], [0, 1]]), "must be symmetric"),
        (lambda: sv.start(problem(), student_overlap=[[np.nan, 0], [0, 1]]), "must be finite"),
        (lambda: sv.start(problem(), student_overlap=np.eye(2), block_student_overlap=[np.eye(2)]), "given twice"),
        (
            lambda: sv.start(problem(), student_overlap=np.eye(2), teacher_overlap=2 * np.eye(2)),
            "differs from the problem's",
        ),
        (lambda: sv.start(problem(overlap="sampled"), student_overlap=np.eye(2)), "teacher_overlap: is missing"),
        (
            lambda: sv.start(problem(norm="sphere"), student_overlap=2 * np.eye(2)),
            "on the sphere its diagonal must be 1",
        ),
        (lambda: sv.start(problem(norm="sphere"), seed=0, scale=2), "scale: 2 given, must be 1 on the sphere"),
        (lambda: sv.start(problem(dim=4, spectrum=BLOCKS), seed=0), "a block of 1 dimensions cannot hold 2"),
        (
            lambda: sv.measure(problem(), np.ones((2, 5)), np.ones((2, 20))),
            r"weights: shape \(2, 5\) given, must be \(2, 20\)",
        ),
        (lambda: sv.measure(problem(dim=None), np.ones((2, 5)), np.ones((2, 5))), "inputs.dim: infinite"),
    ],
)
def test_refusals(make, message) -> None:
    with pytest.raises(sv.overlaps.InvalidStart, match=message):
        make()


def test_measure_in_another_basis() -> None:
    setting = problem(dim=8, spectrum=BLOCKS, overlap="sampled")
    random = np.random.default_rng(0)
    W, B = random.standard_normal((2, 8)), random.standard_normal((2, 8))
    basis = np.linalg.qr(random.standard_normal((8, 8)))[0]
    rotated = sv.measure(setting, W @ basis.T, B @ basis.T, basis=basis)
    assert rotated.stacked == pytest.approx(sv.measure(setting, W, B).stacked)
    assert rotated.student_overlap == pytest.approx(W @ W.T / 8)


def test_measure_takes_tensor_likes() -> None:
    class Tensor:
        """What a PyTorch tensor with gradients looks like from here."""

        def __init__(self, values):
            self.values = values

        def detach(self):
            return self

        def cpu(self):
            return self.values

    setting = problem(dim=8, overlap="sampled")
    W = np.random.default_rng(0).standard_normal((2, 8))
    assert sv.measure(setting, Tensor(W), Tensor(W)) == sv.measure(setting, W, W)


def test_overlaps_cannot_be_changed() -> None:
    start = sv.start(problem(), student_overlap=np.eye(2))
    with pytest.raises(ValueError, match="read-only"):
        start.block_student_overlap[0, 0, 0] = 2


def test_nearest_frame_is_the_polar_factor() -> None:
    R = np.random.default_rng(0).standard_normal((5, 6, 3))
    S = nearest_frame(R)
    assert S.transpose(0, 2, 1) @ S == pytest.approx(np.broadcast_to(np.eye(3), (5, 3, 3)), abs=1e-13)
    stretch = S.transpose(0, 2, 1) @ R
    assert stretch == pytest.approx(stretch.transpose(0, 2, 1))
    assert (np.linalg.eigvalsh(stretch) > 0).all()
    assert np.isnan(nearest_frame(np.outer(np.ones(4), [1.0, 2.0]))).all()
