"""A data matrix that is never drawn: its answers are those of one matrix, and their law is that of a drawn one."""

import numpy as np
import pytest

import solvable as sv
from comparing import chances
from gate import only
from seeds import seed
from solvable.empirical import revealed
from solvable.empirical.revealed import Revealed, Space, residual

TWO = sv.Spectrum(eigenvalues=(1.6, 0.6), weights=(0.4, 0.6))
CLASSES = sv.Mixture(
    probabilities=(0.3, 0.7), means=((1.0, 0.0), (0.0, -1.0)), labels=(1.0, -1.0), variances=(1.0, 0.5),
    spikes=((0.1, 0.0), (0.0, 0.2)),
)  # fmt: skip


def problem(
    unit: str = "erf", p: int = 2, q: int = 1, dim: int = 30, spectrum=None, mixture=None, **training
) -> sv.Problem:
    student = {name: training.pop(name) for name in ("norm", "readout") if name in training}
    overlap = training.pop("overlap", "orthonormal")
    return sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, overlap=overlap),
        student=sv.Student(width=p, activation=unit, **student),
        inputs=sv.Inputs(dim=dim, spectrum=spectrum),
        training=sv.Training(**({"step": 0.5} | training)),
        mixture=mixture,
    )


TRANSCRIPTS = {
    "all": problem(p=3, q=2, dim=60, samples=90, label_noise=0.1, weight_decay=0.1),
    "subsets": problem("relu", p=3, q=2, dim=60, samples=90, batch=30),
    "drawn": problem("tanh", dim=60, samples=90, batch=30, selection="drawn"),
    "shuffled": problem(dim=60, samples=90, batch=25, selection="shuffled"),
    "partition": problem(dim=60, samples=90, batch=30, selection="partition", label_noise=0.1),
    "persistent": problem("quadratic", dim=60, step=0.05, samples=90, batch=30, selection="persistent", repeats=3),
    "sphere": problem(dim=60, samples=90, norm="sphere"),
    "readout": problem(dim=60, samples=90, train_readout=True, loss="log-cosh"),
    "two blocks": problem(p=3, q=2, dim=60, samples=90, spectrum=TWO),
    "many blocks": problem(dim=60, samples=90, spectrum=sv.PowerLaw(beta=0.5, distinct=60), overlap="sampled"),
    "classes": problem(dim=60, samples=90, batch=40, spectrum=TWO, mixture=CLASSES, label_flips=0.1),
    "whole matrix": problem(dim=20, samples=30),
    "more inputs than samples": problem(dim=4000, samples=20),
}


@pytest.mark.parametrize("form", ["coordinates", "frames"])
@pytest.mark.parametrize("name", TRANSCRIPTS)
def test_the_transcript_is_one_matrix(name: str, form: str) -> None:
    one = TRANSCRIPTS[name]
    report = sv.checks.transcript_is_one_matrix(one, sv.start(one, seed=3), steps=30, form=form)
    assert report.passed, str(report)
    assert all(np.ptp(value) > 0 for key, value in report.values.items() if key != "readout")


def test_equal_students_ask_one_question() -> None:
    """Columns that depend on each other are found, and frames stay orthonormal."""
    one = problem(p=3, q=2, dim=60, samples=90, label_noise=0.1)
    start = sv.start(
        one,
        student_overlap=[[1, 1, 0.2], [1, 1, 0.2], [0.2, 0.2, 1]],
        cross_overlap=[[0.1, 0.0], [0.1, 0.0], [0.0, 0.3]],
    )
    assert sv.checks.transcript_is_one_matrix(one, start).passed
    random = np.random.default_rng(0)
    space = Space(one, np.array([4]), 60)
    matrix, weights = Revealed(90, space, 60, 60, random), random.standard_normal((3, 4))
    weights[1] = 2 * weights[0]
    assert np.linalg.matrix_rank(matrix.right(weights)) == 2
    for _ in range(10):
        rows = matrix.left(random.standard_normal((90, 2)) @ [[1.0, 0.0, 1.0], [0.0, 1.0, 1e-9]])
        matrix.right(rows)
    U, A, V, B = matrix.frames
    assert V.shape[1] == 20
    for frame in (U, V):
        assert np.abs(frame.T @ frame - np.eye(frame.shape[1])).max() < 1e-13
    assert np.abs(V.T @ A - B.T @ U).max() < 1e-11 * np.abs(A).max()


def test_residuals_are_orthogonal_however_small() -> None:
    random = np.random.default_rng(1)
    frame, _ = np.linalg.qr(random.standard_normal((50, 10)))
    outside = random.standard_normal((50, 2))
    for size in (1.0, 1e-6, 1e-10):
        block = frame @ random.standard_normal((10, 2)) + size * outside
        c, E, R = residual(frame, block)
        assert E.shape == (50, 2)
        assert np.abs(frame.T @ E).max() < 1e-14
        assert np.abs(frame @ c + E @ R - block).max() < 1e-13
    assert residual(frame, frame @ random.standard_normal((10, 2)))[1].shape == (50, 0)


LAWS = {
    "erf": problem(samples=45, step=0.8, label_noise=0.1, weight_decay=0.2),
    "relu batches": problem("relu", samples=45, batch=14, weight_decay=0.2, label_noise=0.1),
    "quadratic": problem("quadratic", step=0.03, samples=45, label_noise=0.1),
    "partition": problem(samples=45, step=0.8, batch=15, selection="partition", label_noise=0.1),
    "two blocks": problem(samples=45, step=0.8, spectrum=TWO),
    "classes": problem(samples=45, step=0.8, spectrum=TWO, mixture=CLASSES, label_noise=0.1),
    "repeated": problem(batch=30, step=0.8, repeats=2, label_noise=0.1),
    "sphere": problem(samples=45, step=0.8, norm="sphere", train_readout=True),
    "momentum": problem(samples=45, batch=15, label_noise=0.1, weight_decay=0.2, momentum=0.4),
}


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(LAWS, "partition", "classes", "momentum"))
def test_the_law_is_that_of_a_drawn_matrix(name: str) -> None:
    one = LAWS[name]
    report = sv.checks.law_of_dense(one, sv.start(one, seed=0), runs=150, seed=seed(2))
    assert report.passed, str(report)


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("form", ["coordinates", "frames"])
@pytest.mark.parametrize("name", LAWS)
def test_the_law_is_that_of_a_drawn_matrix_in_thousands_of_runs(name: str, form: str) -> None:
    one = LAWS[name]
    report = sv.checks.law_of_dense(one, sv.start(one, seed=0), runs=4000, seed=seed(3), form=form)
    assert report.passed, str(report)


@pytest.mark.statistical
def test_the_checks_can_fail(monkeypatch) -> None:
    """Answers that forget what was asked before are neither one matrix nor of the right law."""
    one = LAWS["erf"]
    start = sv.start(one, seed=0)
    asks = Revealed.right

    def forget(self, rows):
        kept, self.asked_left = self.asked_left, 0
        answer = asks(self, rows)
        self.asked_left = kept
        return answer

    monkeypatch.setattr(Revealed, "right", forget)
    assert sv.checks.transcript_is_one_matrix(one, start).worst > 1e6
    assert not sv.checks.law_of_dense(one, start, runs=150, seed=seed(4)).passed
    monkeypatch.undo()
    monkeypatch.setattr(revealed.Space, "grow", lambda self, count, random: np.zeros((0, count)))
    assert not sv.checks.law_of_dense(one, start, runs=150, seed=seed(5)).passed


def wishart(n: int, N: int) -> list[float]:
    """E[(X^T X)^k] = m_k 1 for k = 0 to 4."""
    return [
        1, n, n * (n + N + 1), n * (n**2 + N**2 + 3 * n * N + 3 * n + 3 * N + 4),
        n * (n**3 + N**3 + 6 * n**2 * N + 6 * n * N**2 + 6 * n**2 + 6 * N**2 + 17 * n * N + 21 * n + 21 * N + 20),
    ]  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("form", ["revealed", "full"])
def test_linear_units_have_the_moments_of_wishart_matrices(form: str) -> None:
    """Full-batch steps multiply w - w* by 1 - (step/n) X^T X."""
    n, N, step, runs = 60, 40, 0.4, 1500
    one = problem("linear", p=1, dim=N, samples=n, step=step, loss_factor=0.5)
    start = sv.start(one, student_overlap=[[0.5]], cross_overlap=[[0.2]])
    run = sv.run(one, start, sv.Empirical(runs=runs, seed=seed(6), form=form), until=2, progress=False)
    assert run.settings["matrix"] == ("coordinates" if form == "revealed" else "dense")
    distance = run.student_overlap[..., 0, 0] - 2 * run.cross_overlap[..., 0, 0] + 1.0
    moments, x = wishart(n, N), -step / n
    for t, binomial in ((1, (1, 2, 1)), (2, (1, 4, 6, 4, 1))):
        expected = 1.1 * sum(b * x**k * moments[k] for k, b in enumerate(binomial))
        found = distance[:, t]
        assert abs(found.mean() - expected) < 5 * found.std() / np.sqrt(runs)
    # risk c <(w - w*).x>^2 and training loss are forms in the same vector
    assert run.risk[:, 2] == pytest.approx(0.5 * distance[:, 2], rel=1e-10)
    loss = run.training_loss[:, 1]
    expected = 0.5 / n * 1.1 * (moments[1] + 2 * x * moments[2] + x**2 * moments[3])
    assert abs(loss.mean() - expected) < 5 * loss.std() / np.sqrt(runs)


@pytest.mark.statistical
def test_several_matrices_share_a_space() -> None:
    """Answers of independent matrices on shared coordinates are independent: products are those of drawn matrices."""
    one, random, found = problem(dim=12, samples=1), np.random.default_rng(seed(7)), [[], []]
    drawn = np.random.default_rng(seed(8))
    for _ in range(2000):
        space = Space(one, np.array([1]), 10)
        first, second = (Revealed(5, space, 4, 4, random) for _ in range(2))
        w = np.ones((1, 1))
        w = first.left(first.right(w))
        v = second.right(w)
        w = second.left(v)
        found[0].append([(v**2).sum(), (w**2).sum(), (first.right(w) ** 2).sum()])
        X, Y = drawn.standard_normal((2, 5, 12))
        w = X.T @ X[:, 0]
        v = Y @ w
        w = Y.T @ v
        found[1].append([(v**2).sum(), (w**2).sum(), ((X @ w) ** 2).sum()])
    assert chances(*(np.array(one) for one in found)).min() > 1e-6
