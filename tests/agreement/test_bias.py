"""Outputs and labels with a bias: every level follows SGD of full weights in NumPy, and the bias as a readout does.

Means over runs of `reference/case_sgd.py` at dim 200: those of Macro within 4 standard errors, 4/dim and its own error, those of
Micro within 5.5 for the worst of all. The first fails where the bias is not trained.
"""

from functools import cache

import numpy as np
import pytest

import solvable as sv
from gate import only
from reference.case_sgd import Setting, simulate
from reference.rules import RULES
from seeds import seed

DIM, RUNS, TIMES, K, WORST = 200, 64, (0.6, 1.5), 4, 5.5
MEANS, LABELS, SHARES = ((1.5, 0.0), (-1.5, 0.5), (0.3, 1.2)), (1.0, -1.0, 1.0), (0.5, 0.3, 0.2)


@cache
def vectors():
    random = np.random.default_rng(seed(1))
    teachers = random.standard_normal((2, DIM))
    return 0.6 * random.standard_normal((2, DIM)) + 0.4 * teachers, teachers


def taught(unit, rate, *, training=None, setting=None, signs=False, blocks=1):
    """A problem with a teacher that has a bias, and the same as arrays."""
    W, V = vectors()
    eigenvalues = (1.5, 0.5) if blocks == 2 else (1.0,)
    problem = sv.Problem(
        teacher=sv.Teacher(
            width=2, activation=unit, overlap="sampled", readout=(0.9, -0.5), bias=0.4, target="sign" if signs else "additive"
        ),
        student=sv.Student(width=2, activation=unit, readout=(0.7, 0.4), bias=-0.3),
        inputs=sv.Inputs(dim=DIM, spectrum=sv.Spectrum(eigenvalues=eigenvalues)),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, train_bias=True, readout_rate=0.6, **(training or {})),
    )  # fmt: skip
    known = Setting(
        student=W, teacher=V, teacher_readout=np.array([[0.9, -0.5]]), readout=np.array([[0.7, 0.4]]), rate=rate, unit=unit,
        teacher_unit=unit, sizes=np.full(blocks, DIM // blocks), variances=np.array([eigenvalues]), signs=signs, readout_rate=0.6,
        bias=-0.3, teacher_bias=0.4, train_bias=True, **{"train_readout": False} | (setting or {}),
    )  # fmt: skip
    return problem, known, sv.overlaps.Weights(W, V)


def classes(unit, loss):
    """Three classes with labels, which learn by the logistic or the squared loss."""
    W, D = vectors()
    problem = sv.Problem(
        student=sv.Student(width=2, activation=unit, readout=(0.9, 0.6), bias=0.2),
        inputs=sv.Inputs(dim=DIM),
        mixture=sv.Mixture(probabilities=SHARES, means=MEANS, vectors=tuple(map(tuple, D.tolist())), labels=LABELS),
        training=sv.Training(
            learning_rate=0.5, loss=loss, loss_factor=0.5, train_bias=True, train_readout=True, readout_rate=0.6
        ),
    )
    push = {} if loss == "squared" else {"push": RULES[loss].setting["push"]}
    known = Setting(
        student=W, readout=np.array([[0.9, 0.6]]), rate=0.5, sizes=np.array([DIM]), variances=np.ones((3, 1)), unit=unit,
        directions=D, means=np.array(MEANS), labels=np.array(LABELS), class_probability=lambda alpha: SHARES, readout_rate=0.6,
        bias=0.2, train_bias=True, **push,
    )  # fmt: skip
    return problem, known, sv.overlaps.Weights(W, None, directions=D)


CLIPPED = RULES["clipped"].setting["rule"]
CASES = {
    "erf, readout, noise, two blocks": lambda: taught(
        "erf", 1.0, blocks=2, training={"train_readout": True, "label_noise": 0.1},
        setting={"train_readout": True, "label_noise": 0.1},
    ),
    "hinge of signs, clipped, look-ahead": lambda: taught(
        "erf", 0.8, signs=True, training={"loss": {"name": "hinge", "sharpness": 6.0}, "rule": {"norm": 0.4}, "lookahead": 0.5},
        setting={"push": RULES["hinge"].setting["push"], "rule": CLIPPED, "lookahead": 0.5},
    ),
    "three uses, batch, slow average": lambda: taught(
        "erf", 1.5, training={"repeats": 3, "batch": 2, "train_readout": True, "average": sv.problems.Average(rate=1.0)},
        setting={"repeats": 3, "batch": 2, "train_readout": True},
    ),
    "classes, linear, logistic": lambda: classes("linear", "logistic"),
    "classes, erf, squared": lambda: classes("erf", "squared"),
    "quadratic": lambda: taught("quadratic", 0.12),
    "ReLU": lambda: taught("relu", 0.5),
    "correlation": lambda: taught(
        "erf", 0.7, training={"loss": "correlation"}, setting={"push": RULES["correlation"].setting["push"]}
    ),
    "Huber": lambda: taught(
        "linear", 0.6, training={"loss": {"name": "huber", "threshold": 0.3}}, setting={"push": RULES["huber"].setting["push"]}
    ),
    "perceptron": lambda: taught(
        "linear", 0.6, signs=True, training={"loss": "perceptron"}, setting={"push": RULES["perceptron"].setting["push"]}
    ),
    "slow momentum, readout": lambda: taught(
        "erf", 1.0, training={"momentum": sv.Momentum(kappa=3.0), "train_readout": True},
        setting={"kappa": 3.0, "train_readout": True},
    ),
}  # fmt: skip
GATE = list(CASES)[:5]


def flat(overlaps, readout, bias):
    """(run, entry) all that moves: overlaps (run, time, p, rows), readouts and biases."""
    return np.concatenate([part.reshape(len(part), -1) for part in (overlaps, readout, bias)], axis=1)


def followed(problem, start, level):
    run = sv.run(problem, start, level, times=TIMES, progress=False)
    assert run.success
    overlaps = np.concatenate([run.student_overlap, run.cross_overlap], axis=-1)
    return flat(overlaps, run.readout, run.bias), float(np.nan_to_num(run.overlap_error).max())


@pytest.mark.statistical
@pytest.mark.parametrize(
    "name", only([name if name in GATE else pytest.param(name, marks=pytest.mark.slow) for name in CASES], *GATE[:3])
)
def test_biases_are_those_of_full_weights(name):
    problem, setting, start = CASES[name]()
    record = simulate(setting, [round(time * DIM) for time in TIMES], RUNS, seed(2))
    q = problem.teacher.width
    full = flat(record.overlaps.sum(axis=2)[:, :, :2, : 2 + q], record.readout, record.bias)
    (limit, error), (runs, _) = (
        followed(problem, start, level) for level in (sv.Macro(), sv.Micro(runs=RUNS, seed=seed(3)))
    )
    spread = full.std(axis=0, ddof=1) / np.sqrt(RUNS)
    assert (np.abs(full.mean(axis=0) - limit[0]) < K * spread + 4 / DIM + error).all()
    both = np.sqrt(spread**2 + runs.var(axis=0, ddof=1) / RUNS)
    assert (np.abs(full.mean(axis=0) - runs.mean(axis=0)) < WORST * both + 1e-9).all()
    rate = problem.training.readout_rate if problem.training.train_readout else None
    still = problem.replace(training__train_bias=False, training__readout_rate=rate)
    other, _ = followed(still, start, sv.Macro())
    assert (np.abs(full.mean(axis=0) - other[0]) > K * spread + 4 / DIM + error).any()


@pytest.mark.statistical
@pytest.mark.parametrize("name", [GATE[0], pytest.param("slow momentum, readout", marks=pytest.mark.slow)])
def test_the_diffusion_has_the_noise_of_the_bias(name):
    """Standard deviations within 5.5 of theirs, means within 5.5 standard errors and 2/dim."""
    problem, _, start = CASES[name]()
    meso, micro = (
        followed(problem, start, level)[0]
        for level in (sv.Meso(runs=96, seed=seed(4)), sv.Micro(runs=512, seed=seed(5)))
    )
    error = np.sqrt(meso.var(axis=0, ddof=1) / 96 + micro.var(axis=0, ddof=1) / 512)
    assert (np.abs(meso.mean(axis=0) - micro.mean(axis=0)) < 5.5 * error + 2 / DIM).all()
    ratio = np.log(meso[:, -2:].std(axis=0, ddof=1) / micro[:, -2:].std(axis=0, ddof=1))
    assert (np.abs(ratio) < 5.5 * np.sqrt(0.5 / 96 + 0.5 / 512)).all()


@pytest.mark.slow
@pytest.mark.statistical
@pytest.mark.parametrize("name", [*GATE[:3], "slow momentum, readout"])
def test_full_weights_of_the_library_have_it_too(name):
    problem, _, start = CASES[name]()
    full, reduced = (
        followed(problem, start, sv.Micro(runs=RUNS, seed=seed(6), form=form))[0] for form in ("full", "reduced")
    )
    both = np.sqrt((full.var(axis=0, ddof=1) + reduced.var(axis=0, ddof=1)) / RUNS)
    assert (np.abs(full.mean(axis=0) - reduced.mean(axis=0)) < WORST * both + 1e-9).all()


@pytest.mark.parametrize("unit", ["linear", "erf", "tanh"])
def test_the_bias_of_odd_units_decays_to_the_teachers(unit):
    """Without means b' = 2 c rate (b* - b), whatever the weights do."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation=unit, bias=0.7),
        student=sv.Student(width=2, activation=unit, bias=-0.2),
        training=sv.Training(learning_rate=0.4, train_bias=True, readout_rate=0.3, label_noise=0.1),
    )
    times = np.linspace(0, 4, 5)
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=0.2 * np.eye(2))
    run = sv.run(problem, start, sv.Macro(nodes=2**10), times=times)
    expected = 0.7 - 0.9 * np.exp(-2 * 0.3 * times)
    slack = 1e-7 if unit != "tanh" else run.overlap_error[0].max()
    assert np.abs(run.bias[0] - expected).max() < slack
    half = sv.run(problem.later(2.0), run.at(2.0), sv.Macro(nodes=2**10), times=[2.0])
    assert np.abs(half.bias[0, 0] - expected[-1]).max() < slack
    fast = problem.replace(training__momentum=0.75, training__learning_rate=0.1, training__readout_rate=0.075)
    again = sv.run(fast, sv.overlaps.fitted(fast, start), sv.Macro(nodes=2**10), times=times)
    assert np.abs(again.bias[0] - expected).max() < slack  # the effective rate is the same


@pytest.mark.statistical
@pytest.mark.parametrize("unit", ["linear", "quadratic", "erf", "relu"])
def test_closed_pushes_are_those_of_samples(unit):
    """The slope of the bias, 2 c rate <e>, in a state with means, of classes with opposite and with equal labels."""
    problem = sv.Problem(
        student=sv.Student(width=2, activation=unit, readout=(0.8, -0.5), bias=0.3),
        mixture=sv.Mixture(
            probabilities=(0.5, 0.3, 0.2), means=((1.0,), (-1.0,), (-1.0,)), gram=((1.0,),), labels=(1.0, -1.0, 1.0)
        ),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5, train_bias=True),
    )  # fmt: skip
    for bias in (0.3, 0.0):  # without a bias opposite classes are alike, and their pushes cancel
        here = problem.replace(student__bias=bias)
        state = sv.start(here, student_overlap=[[0.9, 0.2], [0.2, 0.7]], direction_overlap=[[0.5], [0.4]])
        slope = float(sv.dynamics.derivative(here, state).scalars[0])
        random, root = np.random.default_rng(seed(7)), np.linalg.cholesky([[0.9, 0.2], [0.2, 0.7]])
        kind = random.choice(3, size=400_000, p=(0.5, 0.3, 0.2))
        sign = np.array([1.0, -1.0, -1.0])[kind][:, None]
        z = sign * np.array([0.5, 0.4]) + random.standard_normal((kind.size, 2)) @ root.T
        error = np.array([1.0, -1.0, 1.0])[kind] - here.student.unit.function(z) @ np.array([0.8, -0.5]) - bias
        assert abs(slope - error.mean()) < 5 * error.std() / np.sqrt(kind.size)


@pytest.mark.statistical
def test_risk_loss_and_classification_see_the_bias():
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", target="sign", bias=0.3),
        student=sv.Student(width=2, activation="erf", readout=(0.8, -0.5), bias=0.4),
        training=sv.Training(learning_rate=0.5, loss="logistic", train_bias=True),
    )
    start = sv.start(problem, student_overlap=[[0.9, 0.2], [0.2, 0.7]], cross_overlap=[[0.5], [0.1]])
    run = sv.run(problem, start, sv.Macro(nodes=2**11), times=[0.0])
    C = sv.dynamics.field_covariance(problem, start)
    z = np.random.default_rng(seed(8)).standard_normal((400_000, 3)) @ np.linalg.cholesky(C).T
    label = problem.teacher.labels(z[:, 2:])
    output = problem.student.unit.function(z[:, :2]) @ np.array([0.8, -0.5]) + 0.4
    for found, values in [
        (run.risk[0, 0], (label - output) ** 2), (run.loss[0, 0], np.logaddexp(0, -label * output)),
        (run.classification_error[0, 0], label * output < 0),
    ]:  # fmt: skip
        assert abs(found - values.mean()) < 5 * values.std() / np.sqrt(len(values)) + 2e-3
    other = problem.replace(student__bias=-0.4)
    assert abs(sv.run(other, sv.start(other, student_overlap=[[0.9, 0.2], [0.2, 0.7]], cross_overlap=[[0.5], [0.1]]),
                      sv.Macro(nodes=2**11), times=[0.0]).risk[0, 0] - run.risk[0, 0]) > 0.05  # fmt: skip


@pytest.mark.statistical
def test_files_hold_biases(tmp_path):
    problem = CASES["erf, readout, noise, two blocks"]()[0]
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    assert "bias" not in problem.replace(student__bias=0.0, teacher__bias=0.0, training__train_bias=False).to_toml()
    start = sv.overlaps.Weights(*vectors())
    run = sv.run(problem, start, sv.Micro(runs=2, seed=1), times=[0.0, 0.5], keep_blocks=True, progress=False)
    assert (run.bias[:, 0] == -0.3).all()
    run.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert (again.bias == run.bias).all()
    assert (again.last(1).scalars == run.end_scalars[1]).all()
    assert run.data["scalar_role"].values.tolist() == ["bias"]
    assert (
        sv.run(problem.replace(student__bias=0.0, training__train_bias=False), start, sv.Macro(), times=[0.5]).bias
        is None
    )


@pytest.mark.statistical
def test_what_cannot_have_a_bias_says_so():
    problem = CASES["quadratic"]()[0]
    with pytest.raises(
        sv.problems.NotApplicable, match=r"training\.train_bias: is True; .* does not know this setting"
    ):
        sv.problems.require(problem, label_noise=True, trained_readout=True)
    fixed = problem.replace(training__train_bias=False, training__readout_rate=None)
    state = sv.overlaps.Weights(*vectors()).overlaps(problem)
    with pytest.raises(
        sv.overlaps.InvalidStart, match=r"the bias is .* but the problem's student\.bias is -0\.3 and is not trained"
    ):
        sv.run(fixed, state.with_scalars([0.5]), sv.Macro(), times=[1.0])
    with pytest.raises(
        sv.InvalidProblem, match=r"teacher\.bias: given although there are no teachers; add it to mixture\.labels"
    ):
        classes("erf", "squared")[0].replace(teacher__bias=0.3)
    with pytest.raises(ValueError, match="risk_on: of the run and the other problem one has a bias"):
        sv.run(fixed, state.with_scalars([-0.3]), sv.Macro(), times=[1.0]).risk_on(fixed.replace(student__bias=0.0))


@pytest.mark.statistical
def test_a_data_set_trains_a_bias():
    """On rows that are given, step by step as NumPy does it; revealed samples have the same means."""
    W, V = vectors()
    X = np.random.default_rng(seed(9)).standard_normal((300, DIM))
    data = sv.Data(X)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", overlap="sampled", readout=(0.9, -0.5), bias=0.4),
        student=sv.Student(width=2, activation="erf", readout=(0.7, 0.4), bias=-0.3),
        inputs=sv.Inputs(dim=DIM),
        training=sv.Training(step=0.4, samples=250, train_bias=True, readout_rate=0.3, momentum=0.5),
    )
    start, times = sv.overlaps.Weights(W, V), [0, 1, 6]
    run = sv.run(problem, start, sv.Empirical(data=data), times=times, progress=False)
    unit, slope, rows = (
        problem.student.unit.function,
        problem.student.unit.derivative,
        data.prepared(X[:250]) / np.sqrt(DIM),
    )
    a, b, w, found = np.array([0.7, 0.4]), -0.3, W.copy(), []
    label, velocity, speed = unit(rows @ V.T) @ np.array([0.9, -0.5]) + 0.4, np.zeros_like(W), 0.0
    for step in range(7):
        error = label - unit(rows @ w.T) @ a - b
        if step in times:
            found.append((b, (error**2).mean()))
        velocity = 0.5 * velocity + 0.4 * DIM * (2 * error[:, None] * a * slope(rows @ w.T)).T @ rows / 250
        speed = 0.5 * speed + 0.3 * 2 * error.mean()
        w, b = w + velocity, b + speed
    assert np.allclose(np.stack([run.bias[0], run.training_loss[0]], axis=1), found, atol=1e-10)
    drawn = sv.run(problem, start, sv.Empirical(runs=24, seed=seed(10)), times=times, progress=False)
    spread = drawn.bias.std(axis=0, ddof=1)
    assert (np.abs(drawn.bias.mean(axis=0) - run.bias[0]) < 5.5 * spread * np.sqrt(1 + 1 / 24) + 1e-12).all()


@pytest.mark.statistical
def test_a_log_of_weights_has_its_biases():
    problem, _, start = CASES["quadratic"]()
    W, V = vectors()
    logged = sv.Trajectory.from_weights(problem, np.stack([W, W]), V, times=[0, 10], bias=[-0.3, 0.1])
    assert logged.bias.tolist() == [[-0.3, 0.1]]
    assert logged.risk[0, 0] == pytest.approx(sv.run(problem, start, sv.Macro(), times=[0.0]).risk[0, 0], rel=1e-12)
    assert logged.risk[0, 0] != logged.risk[0, 1]
    with pytest.raises(ValueError, match=r"bias: is missing; the problem trains it, so give its log \(time,\)"):
        sv.Trajectory.from_weights(problem, np.stack([W, W]), V, times=[0, 10])
    fixed = problem.replace(training__train_bias=False, training__readout_rate=None)
    assert sv.Trajectory.from_weights(fixed, W[None], V, times=[0]).bias.tolist() == [[-0.3]]
