"""Gap, interpolation and early stopping of runs on a data set, their pictures, and sweeps over the ratio."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    inputs=sv.Inputs(dim=200),
    training=sv.Training(step=1.0, samples=sv.Ratio(0.5), label_noise=0.1, loss_factor=0.5),
)
START = sv.start(PROBLEM, seed=0)


@pytest.fixture(scope="module")
def run() -> sv.Trajectory:
    return sv.run(PROBLEM, START, sv.Empirical(runs=3), until=150, progress=False)


def test_the_gap_is_test_less_training(run: sv.Trajectory) -> None:
    assert run.gap == pytest.approx(run.risk + 0.5 * 0.1 - run.training_loss)
    assert (run.gap[:, -1] > run.gap[:, 0] + 0.05).all()
    assert run.mean("gap").mean.shape == (151,)
    assert run.data["gap"].values == pytest.approx(run.gap)
    assert run.data["training_loss"].attrs["normalisation"] == "mean loss with its factor"
    quadratic = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=8, Delta=0.2)
    flow = sv.run(quadratic, sv.start(quadratic, seed=0), sv.Empirical(), until=2)
    assert flow.gap == pytest.approx(2 * (flow.population_loss + 0.1 - flow.training_loss))
    assert flow.data["training_loss"].attrs["normalisation"] == "half the mean squared error"
    assert "gap" not in flow.data
    assert sv.run(PROBLEM.replace(training__loss="log-cosh"), START, sv.Empirical(), until=2).gap is None


@pytest.mark.statistical
@pytest.mark.parametrize("mixture", [None, sv.Mixture.opposite(1.5)], ids=["plain", "classes"])
def test_the_gap_knows_labels_of_the_wrong_sign(mixture) -> None:
    """Before the first step, and with very many samples, there is none."""
    runs = 12
    problem = PROBLEM.replace(
        inputs__dim=20, training__samples=4000, training__label_flips=0.3, training__step=0.5, mixture=mixture
    )
    means = {} if mixture is None else {"direction_overlap": [[0.5], [0.5]]}
    start = sv.start(problem, student_overlap=[[1.0, 0.8], [0.8, 1.0]], cross_overlap=[[0.6], [0.6]], **means)
    run = sv.run(problem, start, sv.Empirical(runs=runs, seed=seed(0)), until=2, progress=False)
    error = run.gap[:, 0].std(ddof=1) / runs**0.5
    assert abs(run.gap[:, 0].mean()) < 6 * error
    plain = run.risk + 0.5 * 0.1 - run.training_loss
    assert plain[:, 0].mean() < -20 * error
    assert run.test_loss == pytest.approx(run.training_loss + run.gap)
    blocks = problem.replace(inputs__spectrum=sv.Spectrum(eigenvalues=(1.6, 0.6), weights=(0.4, 0.6)))
    start = sv.start(blocks, seed=0)
    for keep in (False, True):
        run = sv.run(blocks, start, sv.Empirical(), until=1, keep_blocks=keep, progress=False)
        assert (run.gap is not None) == keep
        if not keep:
            with pytest.raises(ValueError, match="label_flips need Gaussian inputs, and keep_blocks=True"):
                run.test_loss  # noqa: B018


def test_the_test_loss_is_in_the_words_of_the_training_loss() -> None:
    logistic = PROBLEM.replace(
        training__loss="logistic",
        training__label_noise=0.0,
        training__samples=20000,
        inputs__dim=20,
        teacher__target="sign",
    )
    run = sv.run(logistic, START, sv.Empirical(), until=3, progress=False)
    assert run.test_loss == pytest.approx(run.training_loss, rel=0.03)
    assert sv.plot.train_and_test(run).lines[1].get_ydata() == pytest.approx(run.loss[0])
    with pytest.raises(ValueError, match="has no loss on fresh samples; give the Trajectory"):
        sv.plot.train_and_test(run.data)
    noisy = logistic.replace(training__label_noise=0.1, training__samples=20)
    with pytest.raises(ValueError, match="test_loss: not known for the loss 'logistic'"):
        sv.run(noisy, START, sv.Empirical(), until=3, progress=False).test_loss  # noqa: B018
    quadratic = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=8, Delta=0.2)
    flow = sv.run(quadratic.replace(training__loss_factor=0.7), sv.start(quadratic, seed=0), sv.Empirical(), until=2)
    assert flow.test_loss == pytest.approx(flow.population_loss + 0.1)
    for source in (flow, flow.data):
        assert sv.plot.train_and_test(source).lines[1].get_ydata() == pytest.approx(flow.test_loss[0])


def test_interpolation_is_read_between_outputs(run: sv.Trajectory) -> None:
    times = run.interpolation_time(0.05)
    for time, loss in zip(times, run.training_loss, strict=True):
        at = int(time)
        assert loss[at] >= 0.05 * loss[0] >= loss[at + 1]
    assert np.isnan(run.interpolation_time(1e-9, relative=False)).all()
    with pytest.raises(ValueError, match="below: 0 given, must be positive"):
        run.interpolation_time(0)


def test_early_stopping_is_the_least_risk(run: sv.Trajectory) -> None:
    best = run.early_stopping()
    assert best.risk == pytest.approx(run.risk.min(axis=1))
    assert best.time.tolist() == run.time[run.risk.argmin(axis=1)].tolist()
    assert best.gain == pytest.approx(run.risk[:, -1] - run.risk.min(axis=1))
    assert (best.gain > 0).all()
    least = run.risk.argmin(axis=1)
    assert best.after.tolist() == run.time[least - 1].tolist()
    assert best.before.tolist() == run.time[least + 1].tolist()
    first = sv.run(PROBLEM, START, sv.Empirical(), until=1, progress=False).early_stopping()
    assert first.time[0] == first.before[0] > first.after[0]  # it still falls
    stopped = sv.run(
        PROBLEM,
        START,
        sv.Empirical(runs=3),
        until=150,
        stop=sv.when("training_loss", below=0.5, relative=True),
        progress=False,
    )
    assert np.isfinite(stopped.early_stopping().gain).all()
    macro = sv.run(PROBLEM.replace(training__samples=None, training__learning_rate=0.1), START, sv.Macro(), until=1)
    assert macro.gap is None
    for method in (macro.early_stopping, macro.interpolation_time):
        with pytest.raises(ValueError, match="has no training loss"):
            method()


def test_pictures_have_both_losses(run: sv.Trajectory) -> None:
    ax = sv.plot.train_and_test(run, label="erf", color="C1")
    assert [line.get_label() for line in ax.lines] == ["erf: training loss", "erf: test loss"]
    train, test = (line.get_ydata() for line in ax.lines)
    assert train == pytest.approx(run.training_loss.mean(axis=0))
    assert test == pytest.approx(run.risk.mean(axis=0) + 0.05)
    assert ax.get_xlabel() == "steps"
    macro = sv.run(PROBLEM.replace(training__samples=None, training__learning_rate=0.1), START, sv.Macro(), until=1)
    with pytest.raises(ValueError, match="have no training loss"):
        sv.plot.train_and_test(macro)


def test_sweeps_over_the_ratio() -> None:
    swept = sv.sweep(
        PROBLEM, {"training.samples.ratio": [0.5, 2.0]}, level=sv.Empirical(runs=2), seeds=[0], until=30,
        keep=("risk", "training_loss", "gap"), store=None, workers=0,
    )  # fmt: skip
    data = swept.data
    assert data["ratio"].values.tolist() == [0.5, 2.0]
    assert data["end_gap"].values == pytest.approx(data["gap"].values[..., -1])
    assert data["best_risk"].values == pytest.approx(data["risk"].values.min(axis=-1))
    assert (data["end_gap"].mean(["seed", "run"]).diff("ratio") < 0).all()
    assert data["time"].attrs["long_name"] == "steps"
    ax = sv.plot.train_and_test(swept)
    assert [one.get_label() for one in ax.containers] == ["training loss", "test loss", "least test loss on the way"]
    assert sv.plot.sweep(swept, "interpolation_time") is not None
    with pytest.raises(ValueError, match="has 0 axes, must be one"):
        sv.plot.train_and_test(data.isel(ratio=[0]))
