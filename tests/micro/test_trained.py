"""Training some of the coordinates: against SGD written in NumPy, and against the reduced problem of the papers."""

import numpy as np
import pytest
from scipy.special import erf

import seeds
import solvable as sv
from solvable.papers.worschech2024.settings import predicted_alone, trained_alone
from solvable.problems import Data
from solvable.runfiles.level_tables import level_table

DIM, STEPS = 30, 400
MASKS = {"first": 10, "some": tuple(i % 3 == 0 for i in range(DIM)), "none": 0, "all": DIM}


@pytest.fixture(scope="module")
def problem() -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=tuple(np.linspace(0.5, 1.5, DIM)))),
        training=sv.Training(learning_rate=0.8, loss_factor=0.5, weight_decay=0.3),
    )


@pytest.fixture(scope="module")
def weights() -> sv.overlaps.Weights:
    random = np.random.default_rng(1)
    return sv.overlaps.Weights(random.standard_normal((2, DIM)), random.standard_normal((1, DIM)))


def in_numpy(problem: sv.Problem, W: np.ndarray, teacher: np.ndarray, rows: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Students after SGD on these rows, in batches."""
    W, batch, rate = W.copy(), problem.training.batch, problem.training.learning_rate
    readout, taught = problem.readout_values.ravel(), problem.teacher.readout_values
    for part in rows.reshape(-1, batch, DIM):
        z = part @ W.T / np.sqrt(DIM)
        error = erf(part @ teacher.T / np.sqrt(2 * DIM)) @ taught - erf(z / np.sqrt(2)) @ readout
        F = readout * np.sqrt(2 / np.pi) * np.exp(-(z**2) / 2) * error[:, None]
        W += mask * rate / DIM * (np.sqrt(DIM) * F.T @ part / batch - problem.training.weight_decay * W)
    return W


@pytest.mark.parametrize("trained", MASKS.values(), ids=MASKS)
@pytest.mark.parametrize("batch", [1, 4, 40])
def test_the_others_keep_their_weights(problem, weights, trained, batch) -> None:
    """On given rows, sample by sample the same; batches of 40 are not looked ahead of."""
    data = Data(np.random.default_rng(2).standard_normal((STEPS, DIM)), order="given")
    rows, basis = np.asarray(data.prepared(data.rows)), data.basis
    mask = np.arange(DIM) < trained if isinstance(trained, int) else np.array(trained)
    W, teacher = weights.student @ basis.T, weights.teacher @ basis.T
    expected = in_numpy(problem.replace(training__batch=batch), W, teacher, rows, mask)
    run = sv.run(
        problem.replace(training__batch=batch), weights, sv.Micro(data=data, trained=trained), times=[STEPS // batch],
        clock="steps", progress=False,
    )  # fmt: skip
    assert run.student_overlap[0, -1] == pytest.approx(expected @ expected.T / DIM, rel=1e-11)
    assert run.cross_overlap[0, -1] == pytest.approx(expected @ teacher.T / DIM, rel=1e-11)


def test_training_all_of_them_changes_no_bit(problem, weights) -> None:
    runs = [
        sv.run(problem, weights, level, times=[STEPS], clock="steps", progress=False)
        for level in (sv.Micro(form="full"), sv.Micro(trained=DIM))
    ]
    assert np.array_equal(runs[0].student_overlap, runs[1].student_overlap)


@pytest.mark.parametrize(
    "changes",
    [
        {"training__momentum": 0.5},
        {"training__momentum": sv.Momentum(kappa=1.0)},
        {"training__dropout": {"keep": 0.7}},
        {"training__train_bias": True},
    ],
    ids=["momentum", "slow momentum", "masks", "bias"],
)
def test_features_leave_the_others_alone_too(problem, changes) -> None:
    setting = problem.replace(training__weight_decay=0.1, **changes)
    start = sv.start(setting, seed=0)
    run = sv.run(setting, start, sv.Micro(trained=10), until=2, keep_blocks=True, progress=False)
    blocks = run.blocks.cross[0]
    assert blocks[:, 10:] == pytest.approx(np.broadcast_to(blocks[0, 10:], blocks[:, 10:].shape), rel=1e-12)
    assert np.abs(blocks[-1, :10] - blocks[0, :10]).min() > 0


@pytest.mark.statistical
def test_the_mean_is_that_of_the_trained_coordinates_alone() -> None:
    """Linear units on Gaussian inputs: the exact mean of a problem with so many inputs and the others' field as label noise."""
    dim, n, runs = 40, 12, 400
    values = np.linspace(2.0, 0.5, dim) / np.linspace(2.0, 0.5, dim).mean()
    gaps = np.random.default_rng(seeds.seed(0)).standard_normal((1, dim))
    setting = sv.problems.convention("worschech2024").problem(K=1, M=1, eta=0.3, activation="linear")
    setting = setting.replace(
        teacher__overlap="sampled", inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=tuple(values)))
    )
    times = np.array([1.0, 3.0, 10.0])
    start = sv.overlaps.Weights(np.zeros((1, dim)), gaps)
    level = sv.Micro(runs=runs, seed=seeds.seed(1), trained=n)
    found = sv.run(setting, start, level, times=times, clock="alpha", progress=False).risk
    exact, _ = predicted_alone(trained_alone(values, 0.3, n, gaps), times, dim)
    error = found.std(axis=0, ddof=1) / np.sqrt(runs)
    assert np.abs(found.mean(axis=0) - exact[0]).max() < 5 * error.max()
    untrained, _ = predicted_alone(trained_alone(values, 0.3, dim, gaps), times, dim)
    assert np.abs(found.mean(axis=0) - untrained[0]).max() > 20 * error.max()  # all coordinates would learn more


def test_what_is_no_mask_is_refused(problem, weights) -> None:
    for wrong in (1.5, "a", (1, 0), True, np.ones((2, 2), dtype=bool)):
        with pytest.raises(ValueError, match="must be how many coordinates learn"):
            sv.Micro(trained=wrong)
    with pytest.raises(ValueError, match="trained: -1 given"):
        sv.Micro(trained=-1)
    with pytest.raises(ValueError, match="form: 'reduced' given, but only full weights"):
        sv.Micro(form="reduced", trained=3)
    for level, text in [
        (sv.Micro(trained=DIM + 1), f"{DIM + 1} coordinates to train given for inputs.dim = {DIM}"),
        (sv.Micro(trained=(True, False)), f"2 entries of a mask given for inputs.dim = {DIM}"),
    ]:
        with pytest.raises(ValueError, match=text):
            sv.run(problem, weights, level, until=1)
    for changes in ({"student__norm": "sphere"}, {"training__rule": {"norm": 0.5}}, {"training__repeats": 2}):
        setting = problem.replace(training__weight_decay=0.0, **changes)
        with pytest.raises(ValueError, match="looks at the whole gradient"):
            sv.run(setting, sv.start(setting, seed=0), sv.Micro(trained=3), until=1)


@pytest.mark.parametrize("trained", [7, (True, False, True)])
def test_files_know_it(trained) -> None:
    level = level_table("micro")(trained=trained).level()
    assert level.trained == trained
    assert level.settings()["trained"] == trained
    assert "trained" not in sv.Micro().settings()
