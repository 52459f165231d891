"""Why a training differs from theory: each cause is found where it is the only one."""

from importlib import import_module

import numpy as np
import pytest

import solvable as sv
from gate import first
from seeds import seed

DIM, STEPS = 60, np.array([0, 60, 300, 1200, 3000])


def problem(rate=0.3, inputs=None):
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=1, activation="erf"),
        inputs=inputs or sv.Inputs(dim=DIM),
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )


def trained(of, rows, rate, basis=None):
    log, w_star = logged(rows, rate)
    return log.trajectory(of, w_star, basis=basis)


def logged(rows, rate):
    """SGD in NumPy on rows drawn with replacement, as a log of weights, and the teacher."""
    from scipy.special import erf

    random = np.random.default_rng(seed(3))
    w, w_star = random.standard_normal((2, 1, DIM))
    w = w_star + 0.5 * w
    log = sv.results.WeightLog(STEPS)
    for step in range(STEPS[-1] + 1):
        log(step, w)
        x = rows[random.integers(len(rows))] / DIM**0.5
        field = w @ x
        error = erf(field / 2**0.5) - erf(w_star @ x / 2**0.5)
        w = w - rate * (error * np.sqrt(2 / np.pi) * np.exp(-(field**2) / 2))[:, None] * x
    return log, w_star


def gaussian_rows():
    return np.random.default_rng(seed(4)).standard_normal((20_000, DIM))


@pytest.mark.statistical
def test_what_follows_theory_shows_no_mismatch_of_its_own():
    found = sv.checks.mismatch(trained(problem(), gaussian_rows(), 0.3), seed=seed(0))
    assert not found.clear("training")
    assert "inputs" not in found.changes
    assert "Gaussian inputs to the training" in str(found)
    assert "look at plain" not in str(found)


@pytest.mark.statistical
def test_a_training_with_another_rate_is_found():
    found = sv.checks.mismatch(trained(problem(), gaussian_rows(), 1.2))
    assert found.largest == "training"
    assert found.clear("training")
    assert str(found).endswith("look at plain, lr * dim, loss_factor, basis, batch, momentum")


@pytest.mark.statistical
def test_inputs_that_are_not_gaussian_are_found():
    random = np.random.default_rng(seed(5))
    rows = gaussian_rows() * np.exp(0.6 * random.standard_normal((20_000, 1)))
    data = sv.Data(rows)
    of = problem(inputs=data.inputs)
    found = sv.checks.mismatch(trained(of, data.prepared(data.rows), 0.3, data.basis), data)
    assert found.clear("inputs")
    assert np.abs(found.changes["inputs"]).max() > 3 * np.abs(found.changes["size"]).max()
    assert not found.clear("training")


@pytest.mark.statistical
def test_a_large_rate_shows_beside_gradient_flow():
    found = sv.checks.mismatch(trained(problem(3.0), gaussian_rows(), 3.0))
    assert found.largest == "rate"


@pytest.mark.statistical
def test_a_small_dimension_shows_as_size():
    """From a start that prefers no teacher, students specialise by chance alone: at infinite dimension they never do."""
    of = small_problem(dim=20).replace(training__learning_rate=2.0)
    first = sv.start(of, student_overlap=[[0.5, 0.2], [0.2, 0.5]], cross_overlap=np.full((2, 2), 0.3))
    found = sv.checks.mismatch(sgd(of, first, seed(11), [0, 10, 50, 120]), seed=seed(12))
    assert found.largest == "size"
    assert found.clear("size")
    assert not found.clear("training")


@pytest.mark.statistical
@pytest.mark.parametrize("runs", first([4, 2, 64]))
def test_sgd_beside_itself_raises_no_false_alarm(runs):
    """Thirty times. Four standard errors of two runs would be exceeded in most of them. Many runs see the finite size, rightly."""
    of = small_problem(dim=50)
    first, alarms = sv.start(of, seed=0), 0
    for i in range(30):
        found = sv.checks.mismatch(sgd(of, first, seed(100 + i), [0, 1, 5, 20]), runs=runs, seed=seed(200 + i))
        alarms += found.clear("training") or (runs < 8 and found.clear("size"))
    assert alarms <= 1  # each at most with the chance of 6e-5 for a time, were logarithms normal


def small_problem(dim):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=0.5),
    )


def sgd(of, first, number, times):
    return sv.run(of, first, sv.Micro(seed=number), times=times, keep_blocks=True)


def test_students_limit_is_that_of_the_runs():
    one = np.ones(1)
    for runs, limit in ((2, 10_050), (4, 32.62), (16, 5.48), (64, 4.287), (np.inf, 4.0)):
        for factor in (0.99, 1.01):
            found = sv.checks.Mismatch(one, {"size": factor * limit * one}, {"size": one}, runs)
            assert found.clear("size") == (factor > 1)


@pytest.mark.statistical
@pytest.mark.parametrize("change", ["plain", "basis", "teacher"])
def test_first_weights_must_be_those_of_the_log(change):
    data = sv.Data(gaussian_rows()[:500])
    log, w_star = logged(data.prepared(data.rows), 0.3)
    found = log.trajectory(problem(inputs=data.inputs), w_star, basis=data.basis)
    given = {"plain": False, "basis": data.basis, "teacher_weights": w_star}
    sv.checks.mismatch(found, data, first=log.first(**given), runs=2)
    given |= {"plain": {"plain": True}, "basis": {"basis": None}, "teacher": {"teacher_weights": w_star + 0.1}}[change]
    with pytest.raises(ValueError, match="first: its overlaps are not those of the log's first entry"):
        sv.checks.mismatch(found, data, first=log.first(**given), runs=2)


def test_runs_that_begin_apart_are_refused():
    random, w_star = np.random.default_rng(0), np.ones((1, DIM))
    weights = random.standard_normal((2, 2, 1, DIM))
    weights[1, 0] = weights[0, 0]
    sv.checks.mismatch(sv.Trajectory.from_weights(problem(), weights, w_star, [0, 60]), runs=2)
    weights[1, 0] *= 1.1
    with pytest.raises(ValueError, match="mismatch: the runs begin at different weights"):
        sv.checks.mismatch(sv.Trajectory.from_weights(problem(), weights, w_star, [0, 60]), runs=2)


@pytest.mark.statistical
def test_inputs_of_another_covariance_are_refused():
    rows = gaussian_rows()[:500] * np.linspace(0.5, 2, DIM)
    with pytest.raises(ValueError, match=r"inputs: their covariance is not that of the data; say inputs=data.inputs"):
        sv.checks.mismatch(trained(problem(), rows, 0.3), sv.Data(rows))
    with pytest.raises(ValueError, match="data: ndarray given, must be Data"):
        sv.checks.mismatch(trained(problem(), rows, 0.3), rows)


def test_a_student_that_has_learned_all_at_first_is_no_trouble():
    w_star = np.random.default_rng(0).standard_normal((1, DIM))
    rest = sv.Trajectory.from_weights(problem(), np.array([w_star, w_star]), w_star, [0, 60])
    with pytest.raises(ValueError, match="mismatch: the training has no risk at any time"):
        sv.checks.mismatch(rest, runs=2)
    left = sv.Trajectory.from_weights(problem(), np.array([w_star, 1.5 * w_star]), w_star, [0, 60])
    found = sv.checks.mismatch(left, runs=2)
    assert found.largest == "training"
    assert found.clear("training")
    assert np.isfinite(found.changes["size"]).all()


def test_a_rate_at_which_only_the_problem_diverges_is_told():
    of = problem(1000.0).replace(student__activation="quadratic", teacher__activation="quadratic")
    random = np.random.default_rng(0)
    weights, w_star = random.standard_normal((3, 1, DIM)), random.standard_normal((1, DIM))
    found = sv.Trajectory.from_weights(of, weights, w_star, [0, 600, 1200])
    with pytest.raises(
        ValueError, match=r"with the problem's learning rate diverges, the training did not; is .* lr \* dim"
    ):
        sv.checks.mismatch(found, runs=2)


def test_progress_is_passed_on(monkeypatch):
    asked = []
    real = sv.run

    def listening(*arguments, **settings):
        asked.append(settings["progress"])
        return real(*arguments, **settings)

    monkeypatch.setattr(import_module("solvable.checks.mismatch"), "run", listening)
    w_star = np.ones((1, DIM))
    found = sv.Trajectory.from_weights(problem(), np.ones((2, 1, DIM)) * 0.5, w_star, [0, 60])
    sv.checks.mismatch(found, runs=2, progress=False)
    assert asked == [False] * 3


def test_what_it_needs_is_told():
    w_star = np.ones((1, DIM))
    with pytest.raises(ValueError, match="mismatch: needs a trajectory with a time after 0"):
        sv.checks.mismatch(sv.Trajectory.from_weights(problem(), 0.5 * np.ones((1, 1, DIM)), w_star, [0]))
    of = problem()
    late = sv.run(of, sv.start(of, seed=0), sv.Macro(), times=[1.0, 2.0])
    with pytest.raises(ValueError, match="mismatch: needs a trajectory that begins at time 0"):
        sv.checks.mismatch(late)
    with pytest.raises(ValueError, match="runs: 1 given"):
        sv.checks.mismatch(sv.run(of, sv.start(of, seed=0), sv.Macro(), until=1, keep_blocks=True), runs=1)
