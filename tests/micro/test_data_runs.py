"""Full weights on inputs that come as rows."""

from dataclasses import replace

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.overlaps import embed
from solvable.papers.worschech2024.photographs import patches

DIM = 40


def gaussian_rows(count, seed=0, spread=True):
    """Rows with a covariance that is not diagonal, a mean and a scale."""
    random = np.random.default_rng(seed)
    mix = np.linalg.qr(np.random.default_rng(9).standard_normal((DIM, DIM)))[0] * np.sqrt(np.geomspace(10, 0.05, DIM))
    return 5 + 2 * random.standard_normal((count, DIM)) @ (mix.T if spread else np.eye(DIM))


def problem_for(data, **changes):
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=2, activation="erf"),
        inputs=data.inputs,
        training=sv.Training(learning_rate=0.5),
    ).replace(**changes)


@pytest.mark.statistical
def test_gaussian_rows_follow_the_deterministic_limit_of_their_measured_spectrum():
    data = sv.Data(gaussian_rows(20_000, seed(0)), order="drawn")
    problem = problem_for(data)
    start = sv.start(problem, seed=seed(0))
    micro = sv.run(problem, start, sv.Micro(runs=60, seed=seed(0), data=data), times=[0, 2, 5, 10])
    macro = sv.run(problem, start, sv.Macro(), times=[0, 2, 5, 10])
    found = micro.mean("cross_overlap")
    assert np.allclose(micro.cross_overlap[:, 0], start.cross_overlap, atol=1e-12)
    gap = np.abs(found.mean - macro.cross_overlap[0])
    assert (gap < 5 * found.standard_error + 1 / DIM).all()
    assert np.abs(macro.cross_overlap[0, -1] - start.cross_overlap).max() > 0.1  # something was learned
    isotropic = problem.replace(inputs__spectrum=None)
    flat = sv.start(
        isotropic, student_overlap=start.student_overlap, cross_overlap=start.cross_overlap,
        teacher_overlap=start.teacher_overlap,
    )  # fmt: skip
    wrong = sv.run(isotropic, flat, sv.Macro(), times=[0, 2, 5, 10])
    assert (np.abs(found.mean - wrong.cross_overlap[0]) > 5 * found.standard_error + 1 / DIM).any()


def test_arrays_files_and_iterators_give_the_same_run(tmp_path):
    rows = gaussian_rows(400)
    np.save(tmp_path / "rows.npy", rows)
    np.savez(tmp_path / "rows.npz", rows=rows)
    data = sv.Data(rows)
    problem = problem_for(data)
    start = sv.start(problem, seed=0)
    sources = [rows, tmp_path / "rows.npy", str(tmp_path / "rows.npz")]
    runs = [sv.run(problem, start, sv.Micro(data=sv.Data(source)), until=10) for source in sources]
    runs.append(sv.run(problem, start, sv.Micro(data=sv.Data(iter(rows), like=data)), until=10))
    stacks = (rows[i : i + 7] for i in range(0, 400, 7))
    runs.append(sv.run(problem, start, sv.Micro(data=sv.Data(stacks, like=data)), until=10))
    for one in runs[1:]:
        assert np.array_equal(one.risk, runs[0].risk)
    assert runs[0].nfev.tolist() == [400]
    assert runs[0].settings["data"] == runs[1].settings["data"]


def test_weights_in_the_coordinates_of_the_data():
    """The same weights given in the data's coordinates and in the eigenbasis, against SGD written out."""
    rows = gaussian_rows(200)
    data = sv.Data(rows)
    problem = problem_for(data)
    random = np.random.default_rng(1)
    W, W_star = random.standard_normal((2, DIM)), random.standard_normal((1, DIM))
    given = sv.overlaps.Weights(W, W_star, basis=data.basis)
    turned = sv.overlaps.Weights(W @ data.basis, W_star @ data.basis)
    a, b = (sv.run(problem, start, sv.Micro(data=data), times=[5]) for start in (given, turned))
    assert np.allclose(a.cross_overlap, b.cross_overlap, atol=1e-12)
    X = (rows - rows.mean(axis=0)) / np.sqrt(rows.var(axis=0).mean())
    unit, c = problem.student.unit, problem.training.loss_factor
    for x in X:
        h = W @ x / np.sqrt(DIM)
        error = unit.function(W_star @ x / np.sqrt(DIM)).sum() - unit.function(h).mean()
        W = W + 0.5 / np.sqrt(DIM) * np.outer(2 * c * 0.5 * unit.derivative(h) * error, x)
    assert np.allclose(a.student_overlap[0, 0], W @ W.T / DIM, atol=1e-10)
    assert np.allclose(a.cross_overlap[0, 0], W @ W_star.T / DIM, atol=1e-10)


@pytest.mark.statistical
def test_the_risk_is_that_of_the_rows():
    """Rows of two sizes: the risk is the mean squared error on them, far from that of Gaussian inputs with their covariance."""
    random = np.random.default_rng(seed(0))
    rows = random.standard_normal((6000, DIM)) * random.choice([0.5, 3.0], (6000, 1), p=[0.9, 0.1])
    data = sv.Data(rows, order="drawn")
    problem = problem_for(
        data, teacher__activation="quadratic", student__activation="quadratic", training__learning_rate=1e-4
    )
    start = sv.overlaps.Weights(
        *(np.random.default_rng(seed(s)).standard_normal((n, DIM)) for s, n in ((1, 2), (2, 1))), basis=data.basis
    )
    micro = sv.run(problem, start, sv.Micro(data=data, seed=seed(0)), times=[0, 0.1])
    X = data.prepared(rows)
    z = X @ np.vstack([start.student, start.teacher]).T / np.sqrt(DIM)
    truth = np.mean((z[:, 2] ** 2 - 0.5 * (z[:, 0] ** 2 + z[:, 1] ** 2)) ** 2)
    assert abs(micro.risk[0, 0] - truth) < 5 * micro.risk_error[0, 0]
    assert micro.start_risk[0] == micro.risk[0, 0]
    gaussian = sv.run(problem, start, sv.Macro(), times=[0]).risk[0, 0]
    assert abs(gaussian - truth) > 0.5 * truth


def test_directions_of_embedded_overlaps_are_random():
    data = sv.Data(gaussian_rows(100))
    problem = problem_for(data)
    start = sv.start(problem, seed=0)
    first, second = (embed(problem, start, seed) for seed in range(2))
    for weights in (first, second):
        assert np.allclose(weights.overlaps(problem).stacked, start.stacked, atol=1e-12)
        assert 8 <= (weights.student[0] > 0).sum() <= DIM - 8  # in a fair coin's 4 standard deviations
    assert not np.array_equal(first.student, second.student)


def test_shuffled_rows_differ_between_runs_and_last_as_long_as_they_are():
    data = sv.Data(gaussian_rows(400), order="shuffled")
    problem = problem_for(data)
    micro = sv.run(problem, sv.start(problem, seed=0), sv.Micro(runs=4, data=data), until=10)
    assert len(np.unique(micro.risk[:, -1])) == 4
    with pytest.raises(
        ValueError, match=r"data: 400 rows last to alpha = 10, less than the 11 asked for.*order='drawn'"
    ):
        sv.run(problem, sv.start(problem, seed=0), sv.Micro(data=data), until=11)


def test_an_iterator_that_runs_out():
    rows = gaussian_rows(400)
    data = sv.Data(rows)
    problem = problem_for(data)
    micro = sv.run(
        problem, sv.start(problem, seed=0), sv.Micro(data=sv.Data(iter(rows[:250]), like=data)), times=[0, 5, 6, 9]
    )
    assert micro.ending == [sv.results.Ending.EXHAUSTED]
    assert not micro.success
    assert "data ran out" in micro.message
    assert micro.end_alpha[0] == pytest.approx(250 / DIM)
    assert np.isfinite(micro.risk[0]).tolist() == [True, True, True, False]


def test_plain_iterators_come_in_the_eigenbasis_and_never_end():
    problem = problem_for(sv.Data(gaussian_rows(100)), inputs__spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5)))
    roots = np.repeat(np.sqrt([1.5, 0.5]), DIM // 2)

    def forever():
        random = np.random.default_rng(0)
        while True:
            yield roots * random.standard_normal(DIM)

    micro = sv.run(problem, sv.start(problem, seed=0), sv.Micro(data=sv.Data(forever())), until=20)
    assert micro.success
    assert micro.nfev.tolist() == [20 * DIM]


@pytest.mark.parametrize(
    ("level", "text"),
    [
        (lambda data: {"runs": 3, "data": data}, "runs: 3 given, but all would see the same rows"),
        (lambda data: {"runs": 3, "data": sv.Data(iter(data.rows), like=data)}, "an iterator gives its rows once"),
        (lambda data: {"data": data, "form": "reduced"}, "form: 'reduced' given, but the data need not be Gaussian"),
        (lambda data: {"data": sv.Data(data.rows[:, :30])}, "inputs.dim: 40 given, but the data have rows of 30"),
    ],
)
def test_mistakes_are_told(level, text):
    data = sv.Data(gaussian_rows(100))
    problem = problem_for(data)
    with pytest.raises(ValueError, match=text):
        sv.run(problem, sv.start(problem, seed=0), sv.Micro(**level(data)), until=1)


def test_a_row_of_another_length_in_an_iterator_is_told():
    data = sv.Data(gaussian_rows(100))
    problem = problem_for(data)
    rows = iter([np.ones(DIM + 1)] * 100)
    with pytest.raises(ValueError, match=f"rows of {DIM + 1} numbers, must be {DIM}"):
        sv.run(problem, sv.start(problem, seed=0), sv.Micro(data=sv.Data(rows)), until=1)


@pytest.mark.statistical
def test_photographs_train_as_their_spectrum_says():
    """worschech2024, figure 3 right, on photographs that come with installed packages: linear units on 32 x 32 patches. The
    mean of SGD over the deterministic limit is 1 up to its standard error, and to a few percent for patches not being Gaussian."""
    data = sv.Data(patches(8000, seed=seed(0)), order="drawn")
    assert data.dim == 1024
    assert data.eigenvalues[0] > 300  # the mean grey of a patch holds most of the variance
    assert data.eigenvalues.mean() == pytest.approx(1, rel=1e-9)
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", overlap="sampled"),
        student=sv.Student(width=1, activation="linear"),
        inputs=data.inputs,
        training=sv.Training(learning_rate=0.05, loss_factor=0.5),
    )
    start = sv.start(problem, seed=seed(0), scale=0.1)
    times = [1, 3, 10, 20]
    micro = sv.run(problem, start, sv.Micro(runs=6, seed=seed(0), data=data), times=times)
    macro = sv.run(problem, start, sv.Macro(rtol=1e-5), times=times)
    assert micro.success
    assert macro.risk[0, -1] < 0.4 * macro.start_risk[0]
    found = micro.mean("risk")
    assert (np.abs(found.mean / macro.risk[0] - 1) < 0.08 + 6 * found.standard_error / macro.risk[0]).all()


def test_a_run_on_rows_ends_below_its_threshold_on_rows(tmp_path):
    """Between outputs too, where averages over Gaussian inputs are another risk: most entries of these rows vanish."""
    random = np.random.default_rng(4)
    data = sv.Data(
        random.standard_normal((2000, DIM)) * np.where(random.random((2000, 1)) < 0.2, 5.0, 0.1), order="drawn"
    )
    problem = problem_for(data)
    stop = sv.when("risk", below=0.5, relative=True)
    run = sv.run(
        problem,
        sv.start(problem, seed=0),
        sv.Micro(runs=3, seed=1, data=data),
        times=[0, 1000],
        stop=stop,
        progress=False,
    )
    assert [ending.name for ending in run.ending] == ["STOPPED"] * 3
    assert (run.end_risk <= 0.5 * run.start_risk).all()
    assert np.array_equal(run[1].end_risk, run.end_risk[1:2])
    run.save(tmp_path / "run.nc")
    assert np.array_equal(sv.Trajectory.load(tmp_path / "run.nc").end_risk, run.end_risk)
    gaussian = replace(run, measured_end_risk=None).end_risk
    assert (np.abs(gaussian / run.end_risk - 1) > 0.1).all()
