"""Curves of classes, tasks, masks, noise and moving teachers in the deterministic limit: closed forms, restarts, refusals."""

import numpy as np
import pytest

import solvable as sv
from gate import only
from seeds import seed
from solvable.dynamics.classification import classification_error
from solvable.dynamics.oracle import oracle_error
from solvable.gaussian.closed_forms import KINDS, curvature, slopes
from solvable.macro import Macro

TINY = 1e-13  # a learning rate at which nothing is learned
SHARP = Macro(rtol=1e-10)


def linear(**changes):
    """One linear student of one linear teacher, F = e."""
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", readout="unit"),
        student=sv.Student(width=1, activation="linear", readout="unit"),
        training=sv.Training(learning_rate=0.3, loss_factor=0.5),
    ).replace(**changes)


def from_overlaps(problem, cross=0.3, norm=0.5):
    return sv.start(problem, student_overlap=[[norm]], cross_overlap=[[cross]])


def test_noise_on_inputs_is_decay_for_a_linear_student_at_small_rates() -> None:
    level = Macro(rtol=1e-10, small_rate=True)
    noisy, decaying = linear(training__input_noise=0.4), linear(training__weight_decay=0.4)
    runs = [sv.run(one, from_overlaps(one), level, until=10) for one in (noisy, decaying)]
    assert runs[0].student_overlap == pytest.approx(runs[1].student_overlap, rel=1e-8)
    assert runs[0].cross_overlap == pytest.approx(runs[1].cross_overlap, rel=1e-8)
    full = [sv.run(one, from_overlaps(one), SHARP, until=10) for one in (noisy, decaying)]
    assert np.abs(full[0].student_overlap - full[1].student_overlap).max() > 1e-2  # the second order differs


@pytest.mark.parametrize("unit", ["quadratic", "erf"])
def test_dropout_changes_the_diagonal_of_the_drift(unit) -> None:
    """The mean of D over masks is D, its diagonal less 2 c a_k^2 (1/keep - 1) (<g'_k^2> + <g''_k g_k>)."""
    keep, a, c, rate = 0.6, np.array([0.7, -0.4]), 0.5, 0.3
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit, readout="unit"),
        student=sv.Student(width=2, activation=unit, readout=tuple(a)),
        training=sv.Training(learning_rate=rate, loss_factor=c),
    )
    start = sv.start(problem, student_overlap=[[0.8, 0.2], [0.2, 0.5]], cross_overlap=[[0.3], [-0.2]])
    masked = problem.replace(training__dropout={"keep": keep})
    step, level = 1e-5, Macro(rtol=1e-12, small_rate=True)
    plain, dropped = (sv.run(one, start, level, times=[step]) for one in (problem, masked))
    change = (dropped.cross_overlap - plain.cross_overlap)[0, 0, :, 0] / step
    C, kind = start.student_overlap, KINDS[unit]
    own = [(kind, C[k, k], C[k, k], C[k, k]) for k in range(2)]
    less = [2 * c * a[k] ** 2 * (1 / keep - 1) * (slopes(*own[k]) + curvature(*own[k])) for k in range(2)]
    assert change == pytest.approx(-rate * np.array(less) * start.cross_overlap[:, 0], rel=1e-3)


def test_drifting_teachers_forget_and_keep_their_overlaps() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", drift=0.5, overlap=((1.0, 0.4), (0.4, 1.0))),
        student=sv.Student(width=1, activation="erf"),
        training=sv.Training(learning_rate=TINY),
    )
    start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.5, -0.3]])
    run = sv.run(problem, start, SHARP, until=3)
    fading = np.exp(-0.5 * run.time)[:, None, None] * start.cross_overlap
    assert run.cross_overlap[0] == pytest.approx(fading, rel=1e-8)
    assert run.moving_teacher_overlap[0] == pytest.approx(np.broadcast_to(start.teacher_overlap, (201, 2, 2)), rel=1e-8)


def test_the_risk_of_a_drifting_teacher_is_stationary() -> None:
    """[delta/(rate + delta) + rate noise/2]/(1 - rate/2) for a linear student of loss (y - y^)^2/2: <e^2>, twice the risk."""
    rate, drift, noise = 0.4, 0.1, 0.3
    problem = linear(teacher__drift=drift, training__learning_rate=rate, training__label_noise=noise)
    run = sv.run(problem, from_overlaps(problem), SHARP, until=200)
    expected = (drift / (rate + drift) + 0.5 * rate * noise) / (1 - 0.5 * rate)
    assert 2 * run.risk[0, -1] == pytest.approx(expected, rel=1e-7)


def test_turning_teachers() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", rotation=0.7),
        student=sv.Student(width=1, activation="erf"),
        training=sv.Training(learning_rate=TINY),
    )
    start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.5, -0.3]])
    run = sv.run(problem, start, SHARP, until=4)
    c, s = np.cos(0.7 * run.time), np.sin(0.7 * run.time)
    assert run.cross_overlap[0, :, 0] == pytest.approx(
        np.stack([0.5 * c - 0.3 * s, -0.3 * c - 0.5 * s], axis=1), abs=1e-8
    )


@pytest.mark.parametrize("overlap", [((1.0, 0.6), (0.6, 1.0)), ((1.0, 0.0), (0.0, 2.0)), ((1.5, 0.0), (0.0, 1.5))])
@pytest.mark.parametrize("level", [SHARP, sv.Micro(seed=1)], ids=["macro", "micro"])
def test_turning_keeps_the_overlaps_of_teachers_or_is_refused(level, overlap) -> None:
    """Two blocks: the whole vectors turn, so that the sum over the blocks stays, whatever the blocks do."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", overlap=overlap),
        student=sv.Student(width=1, activation="erf"),
        inputs=sv.Inputs(dim=20, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5), weights=(1, 1))),
        training=sv.Training(learning_rate=0.1),
    )
    T = np.array(overlap)
    if T[0, 0] != T[1, 1] or T[0, 1]:
        with pytest.raises(
            ValueError, match=r"rotation: the first two teachers .* must be orthogonal and of equal length"
        ):
            problem.replace(teacher__rotation=0.7)
        return
    apart = 0.5 * (T + np.array([[0.4, 0.3], [0.3, -0.4]]))
    problem = problem.replace(teacher__rotation=0.7)
    start = sv.start(problem, student_overlap=[[1.0]], block_teacher_overlap=[apart, T - apart])
    run = sv.run(problem, start, level, times=[0.0, 1.0, 3.0])
    assert run.moving_teacher_overlap[0] == pytest.approx(np.tile(T, (3, 1, 1)), abs=1e-7)


def test_a_linear_student_of_two_opposite_classes_ends_at_the_best_error() -> None:
    """Gradient flow ends at the least squares solution, along the means: as good as who knows them."""
    problem = sv.Problem(
        student=sv.Student(width=1, activation="linear", readout="unit"),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5),
        mixture=sv.Mixture.opposite(1.2, variance=0.7),
    )
    start = sv.start(problem, student_overlap=[[0.5]])
    run = sv.run(problem, start, Macro(rtol=1e-10, small_rate=True), until=60)
    assert run.classification_error[0, 0] > run.oracle_error + 0.05
    assert run.classification_error[0, -1] == pytest.approx(run.oracle_error, abs=1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", only(["linear", "quadratic", "erf", "relu"], "erf", "relu"))
def test_classification_errors_equal_sampling(unit) -> None:
    """Within 6 standard errors of 400 000 inputs in 30 dimensions, with two blocks and labels of classes and teacher."""
    random, dim = np.random.default_rng(seed(4)), 30
    directions = random.standard_normal((2, dim))
    mixture = sv.Mixture(
        probabilities=(0.3, 0.7), means=((1.0, 0.0), (-0.5, 1.0)), labels=(1.0, -1.0), variances=((1.0, 0.5), (0.7, 1.0)),
        spikes=((0.0, 1.0), (0.0, 0.0)), vectors=tuple(map(tuple, directions)),
    )  # fmt: skip
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit, readout=0.8, overlap="sampled"),
        student=sv.Student(width=2, activation=unit, readout=(0.6, -0.9)),
        inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
        training=sv.Training(learning_rate=0.1),
        mixture=mixture,
    )
    W, V = random.standard_normal((2, dim)), random.standard_normal((1, dim))
    g = problem.student.unit.function
    kind = random.choice(2, size=400_000, p=mixture.probabilities)
    zeta = random.standard_normal((len(kind), 2))
    x = (np.array(mixture.means)[kind] + np.sqrt(mixture.spike_variances[kind]) * zeta) @ directions / np.sqrt(dim)
    deviation = np.repeat(np.sqrt(np.array(mixture.variances) * (1.5, 0.5)), dim // 2, axis=1)
    x += deviation[kind] * random.standard_normal(x.shape)
    for taught in (problem, problem.replace(teacher=sv.Teacher(width=0))):
        V_or_none = V if taught.teacher.width else np.zeros((0, dim))
        state = sv.measure(taught, W, V_or_none, taught.readout_values, directions=directions)
        label = np.array(mixture.labels)[kind] + (
            0.8 * g(x @ V.T / np.sqrt(dim))[:, 0] if taught.teacher.width else 0.0
        )
        output = g(x @ W.T / np.sqrt(dim)) @ taught.readout_values
        wrong = 0.5 - 0.5 * np.sign(label) * np.sign(output)
        allowed = 6 * wrong.std() / np.sqrt(len(kind)) + (1e-3 if unit in ("quadratic", "relu") else 1e-4)
        assert classification_error(taught, state) == pytest.approx(wrong.mean(), abs=allowed)


def test_oracles_are_those_of_known_mixtures_only() -> None:
    student, training = sv.Student(width=2, activation="erf"), sv.Training(learning_rate=0.1)
    crossed = sv.Problem(student=student, training=training, mixture=sv.Mixture.xor(2.0, variance=0.5))
    right = 0.9772498680518208  # of a standard normal number below 2 / sqrt(2 x 0.5) = 2
    assert oracle_error(crossed) == pytest.approx(2 * right * (1 - right), rel=1e-12)
    means = [(*row, 0.7) for row in crossed.mixture.means]  # a third direction that all classes share
    gram = ((4.0, 0.0, 1.0), (0.0, 4.0, 0.0), (1.0, 0.0, 2.0))
    shifted = crossed.mixture.replace(means=means, gram=gram)
    assert oracle_error(crossed.replace(mixture=shifted)) == pytest.approx(oracle_error(crossed), rel=1e-12)
    assert oracle_error(crossed.replace(mixture__labels=(1.0,) * 4)) == 0
    for change, message in [
        ({"probabilities": (0.4, 0.2, 0.2, 0.2)}, "known for two classes, and for"),
        ({"variances": (1.0, 1.0, 2.0, 2.0)}, "the classes have different variances; in many dimensions the length"),
        ({"spikes": ((1.0, 0.0), *[(0.0, 0.0)] * 3)}, "the classes have different spikes"),
        ({"labels": (1.0, 1.0, 0.0, 0.0)}, "the label of a class is 0, which has no sign"),
    ]:
        with pytest.raises(ValueError, match=f"oracle_error: {message}"):
            oracle_error(crossed.replace(mixture=crossed.mixture.replace(**change)))
    with pytest.raises(ValueError, match="oracle_error: needs classes that give the labels"):
        oracle_error(linear())


@pytest.mark.statistical
def test_the_oracle_of_two_classes_equals_their_densities() -> None:
    """Of unequal probabilities, with two blocks, spikes and a common shift: within 6 standard errors of 200 000 inputs that are
    told apart by their densities."""
    random, dim = np.random.default_rng(seed(17)), 6
    vectors = random.standard_normal((2, dim))
    mixture = sv.Mixture(
        probabilities=(0.2, 0.8), means=((1.5, 0.5), (0.3, -0.4)), labels=(-1.0, 2.0), variances=((0.5, 1.0), (0.5, 1.0)),
        spikes=((0.6, 0.2), (0.6, 0.2)), vectors=tuple(map(tuple, vectors)),
    )  # fmt: skip
    problem = sv.Problem(
        student=sv.Student(width=1, activation="erf"), training=sv.Training(learning_rate=0.1), mixture=mixture,
        inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
    )  # fmt: skip
    means = np.array(mixture.means) @ vectors / np.sqrt(dim)
    covariance = np.diag([0.75] * 3 + [0.5] * 3) + vectors.T @ np.diag([0.6, 0.2]) @ vectors / dim
    kind = random.choice(2, size=200_000, p=mixture.probabilities)
    x = means[kind] + random.multivariate_normal(np.zeros(dim), covariance, size=len(kind))
    logs = [
        np.log(share) - 0.5 * np.einsum("ni,ij,nj->n", x - mean, np.linalg.inv(covariance), x - mean)
        for share, mean in zip(mixture.probabilities, means, strict=True)
    ]
    wrong = (logs[1] > logs[0]) != (kind == 1)
    assert oracle_error(problem) == pytest.approx(wrong.mean(), abs=6 * wrong.std() / np.sqrt(len(kind)))


def test_a_label_without_a_sign_is_refused() -> None:
    problem = sv.Problem(
        student=sv.Student(width=1, activation="linear"), training=sv.Training(learning_rate=0.1),
        mixture=sv.Mixture.opposite(3.0, labels=(1.0, 0.0)),
    )  # fmt: skip
    run = sv.run(problem, sv.start(problem, student_overlap=[[0.5]]), Macro(), times=[0.0, 1.0])
    with pytest.raises(ValueError, match="classification_error: the label of a class is 0, which has no sign"):
        _ = run.classification_error


def two_tasks(**changes):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", overlap=((1.0, 0.5), (0.5, 1.0))),
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5, train_readout=True),
        tasks=sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [5.0], replay=0.2),
    ).replace(**changes)


def start_of(problem):
    return sv.start(problem, student_overlap=0.3 * np.eye(2), cross_overlap=[[0.2, 0.02], [-0.05, 0.1]])


def test_the_risk_is_that_of_the_present_mix_of_tasks() -> None:
    problem = two_tasks()
    run = sv.run(problem, start_of(problem), Macro(), times=[0.0, 4.0, 5.0, 8.0])
    shares = np.array([[1, 0], [1, 0], [0.2, 0.8], [0.2, 0.8]])
    assert run.risk[0] == pytest.approx((shares * run.task_risk[0]).sum(axis=1), rel=1e-12)
    single = problem.replace(tasks=(), teacher__readout=(1.0, 0.0))
    alone = sv.run(single, start_of(single), Macro(), times=[0.0, 4.0])
    assert run.task_risk[0, :2, 0] == pytest.approx(alone.risk[0], rel=1e-7)
    assert run.readout[0, 1, 1] == pytest.approx(run.readout[0, 0, 1])  # the second head waits


def test_a_restart_equals_a_run_without_a_break() -> None:
    mixture = sv.Mixture(probabilities=(0.4, 0.6), means=((1.0,), (-0.5,)), labels=(1.0, -1.0), variances=(1.0, 0.5))
    problem = two_tasks(
        mixture=mixture, teacher__drift=0.2, training__anchor=0.3, training__input_noise=0.3,
        tasks=(sv.Task(readout=(1.0, 0.0), probability=0.5), sv.Task(readout=(0.0, 1.0), probability=0.5)),
    )  # fmt: skip
    start = start_of(problem)
    whole = sv.run(problem, start, SHARP, times=[2.0, 5.0])
    first = sv.run(problem, start, SHARP, until=2.0)
    second = sv.run(problem, first.last(), SHARP, until=3.0)
    assert second.risk[0, -1] == pytest.approx(whole.risk[0, -1], rel=1e-8)
    assert second.last().stacked == pytest.approx(whole.last().stacked, rel=1e-7, abs=1e-9)
    assert second.readout[0, -1] == pytest.approx(whole.readout[0, -1], rel=1e-8)
    anew = sv.run(problem, first.last().anchored(), SHARP, until=3.0)  # `last` keeps the first anchors
    assert abs(anew.risk[0, -1] - whole.risk[0, -1]) > 1e-3 * whole.risk[0, -1]


def changing(shape: str) -> sv.Problem:
    """Classes and tasks come and go: one in steps while the other does as `shape` says."""
    linear = {"times": (0.0, 3.0), "shape": "linear"}
    classes = tuple(sv.Schedule(rates=rates, **linear) for rates in [(0.1, 0.7), (0.9, 0.3)])
    tasks = sv.Task.sequence([(1.0, 0.0), (0.0, 1.0), (0.5, -0.5)], [1.0, 2.5], replay=0.3)
    if shape == "tasks":
        classes = tuple(sv.Schedule(times=(0.0, 1.0, 2.0), rates=rates) for rates in [(0.1, 0.7, 0.2), (0.9, 0.3, 0.8)])
        fading = tuple(sv.Schedule(rates=rates, **linear) for rates in [(0.8, 0.2), (0.2, 0.8)])
        tasks = tuple(
            sv.Task(readout=one.readout, probability=share) for one, share in zip(tasks, fading, strict=False)
        )
    mixture = sv.Mixture(probabilities=classes, means=((1.0,), (-0.5,)), labels=(1.0, -1.0), variances=(1.0, 0.5))
    return two_tasks(mixture=mixture, tasks=tasks)


@pytest.mark.parametrize("shape", ["classes", "tasks"])
@pytest.mark.parametrize("begin", [0.35, 1.0, 1.7, 4.0])
def test_a_run_that_goes_on_later_equals_one_without_a_break(shape, begin) -> None:
    """Before, at and between changes of the probabilities, and after all of them."""
    problem, level = changing(shape), Macro(rtol=1e-12)
    start = start_of(problem)
    unbroken = sv.run(problem, start, level, times=[begin + 0.5, begin + 2.0])
    half, then = sv.run(problem, start, level, times=[begin]), problem.later(begin)
    rest = sv.run(then, half.last(), level, times=[0.5, 2.0])
    for name in ("risk", "student_overlap", "cross_overlap", "readout", "extra_overlap", "task_risk"):
        assert getattr(rest, name) == pytest.approx(getattr(unbroken, name), rel=1e-10, abs=1e-12)
    again = sv.Problem.model_validate(then.model_dump())
    assert again == then
    assert again.later(0.0) == then
    if begin < 2:  # what `later` is for: without it schedules would begin anew
        anew = sv.run(problem, half.last(), level, times=[0.5, 2.0])
        assert np.abs(anew.risk / unbroken.risk - 1).max() > 1e-4


def test_thresholds_watch_teachers_not_directions() -> None:
    problem = linear(mixture=sv.Mixture(probabilities=(1.0,), means=((2.0,),), gram=((9.0,),), labels=(3.0,)))
    start = from_overlaps(problem, cross=0.1)
    run = sv.run(problem, start, Macro(), until=20, stop=sv.when("cross_overlap", above=0.5))
    assert run.ending[0] == sv.results.Ending.STOPPED
    assert run.last().cross_overlap[0, 0] == pytest.approx(0.5, rel=1e-8)


@pytest.mark.parametrize("method", ["implicit", "weights", "closed"])
def test_methods_that_do_not_know_cases_refuse(method) -> None:
    problem = two_tasks()
    with pytest.raises(ValueError, match=f"method: '{method}' given, but"):
        sv.run(problem, start_of(problem), Macro(method=method), until=1)


def test_classification_errors_are_observables(tmp_path) -> None:
    """Means, datasets, files and sweeps have them; with several blocks a run must keep these, which sweeps do by themselves."""
    problem = sv.Problem(
        student=sv.Student(width=1, activation="erf"), inputs=sv.Inputs(dim=60, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
        training=sv.Training(learning_rate=0.3), mixture=sv.Mixture.opposite(1.5),
    )  # fmt: skip
    start, times = sv.start(problem, seed=0), [0.0, 2.0, 5.0]
    with pytest.raises(
        ValueError, match="classification_error: inputs have several blocks, whose overlaps were not kept"
    ):
        sv.run(problem, start, Macro(), times=times).mean("classification_error")
    run = sv.run(problem, start, Macro(), times=times, keep_blocks=True)
    assert "classification_error" not in run.data
    mean = run.mean("classification_error").mean
    assert mean[-1] < mean[0]
    np.testing.assert_array_equal(run.data["classification_error"], mean[None])
    run.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(sv.Trajectory.load(tmp_path / "run.nc").classification_error, mean[None])
    options = {"times": times, "keep": ["classification_error"], "store": None, "workers": 0}
    swept = sv.sweep(problem, {"training.learning_rate": [0.3]}, **options)
    np.testing.assert_allclose(swept.data["classification_error"].values.ravel(), mean, rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"when: 'classification_error' given, must be one of .* for Macro: lambda overlaps"
    ):
        sv.when("classification_error", below=0.2)
    level = sv.when(lambda overlaps: sv.dynamics.classification_error(problem, overlaps), below=float(mean[1]))
    assert sv.run(problem, start, Macro(), until=5, stop=level).end_time[0] == pytest.approx(2.0, rel=1e-4)


@pytest.mark.parametrize("unit", ["linear", "quadratic", "erf", "relu"])
def test_opposite_classes_are_looked_up(unit) -> None:
    """The error of four classes is the average of each class alone."""
    problem = sv.Problem(
        student=sv.Student(width=2, activation=unit, readout=(0.6, -0.9)), training=sv.Training(learning_rate=0.1),
        mixture=sv.Mixture.xor(1.3),
    )  # fmt: skip
    state = sv.start(problem, student_overlap=[[1.0, 0.2], [0.2, 0.7]], direction_overlap=[[0.9, -0.3], [0.1, 0.8]])
    alone = []
    for mean, label in zip(problem.mixture.means, problem.mixture.labels, strict=True):
        one = sv.Mixture(probabilities=(1.0,), means=(mean,), labels=(label,), gram=problem.mixture.gram)
        alone.append(classification_error(problem.replace(mixture=one), state))
    assert classification_error(problem, state) == pytest.approx(np.mean(alone), abs=1e-4)  # nodes are not symmetric
    assert np.ptp(alone) > 0.01


def test_a_unit_of_ones_own_is_not_taken_for_another_of_its_name() -> None:
    def error(name: str) -> float:
        shifted = sv.Activation(name, lambda z: np.tanh(z - 1), lambda z: 1 - np.tanh(z - 1) ** 2)
        problem = sv.Problem(
            teacher=sv.Teacher(width=1, activation="linear"),
            student=sv.Student(width=1, activation=shifted),
            training=sv.Training(learning_rate=0.1),
        )
        start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.6]])
        return float(sv.run(problem, start, sv.Macro(), times=[0.0, 0.1]).classification_error[0, 0])

    z = np.random.default_rng(0).standard_normal((2, 200_000))
    output, label = np.tanh(0.6 * z[0] + 0.8 * z[1] - 1), z[0]
    assert error("tanh") == error("shifted")
    assert error("tanh") == pytest.approx(np.mean(output * label < 0), abs=0.005)
