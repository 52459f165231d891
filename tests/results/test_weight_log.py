"""A log that a training loop keeps: what it copies, what it leaves out, and the trajectory that it becomes."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path

import numpy as np
import pytest

import solvable as sv
from solvable.results import WeightLog

EXAMPLE = Path(__file__).parents[2] / "examples" / "beside_training.py"


@pytest.fixture
def problem():
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=0.5),
    )


def filled(steps=None, until=10):
    log, weights = WeightLog(steps), np.random.default_rng(0).normal(size=(2, 50))
    for step in range(until + 1):
        log(step, weights)
        weights *= 1.01
    return log


def test_it_copies_and_becomes_the_same_as_from_weights(problem):
    teacher = np.random.default_rng(1).normal(size=(1, 50))
    first = np.random.default_rng(0).normal(size=(2, 50))
    weights = [first * 1.01**step for step in (0, 5, 10)]
    wanted = sv.Trajectory.from_weights(problem, weights, teacher, [0, 5, 10], plain=True)
    found = filled(steps=5).trajectory(problem, teacher, plain=True)
    assert found.time.tolist() == [0, 5, 10]
    assert np.allclose(found.student_overlap, wanted.student_overlap, rtol=1e-12)
    assert np.allclose(found.risk, wanted.risk, rtol=1e-12)
    begin = filled(steps=5).first(teacher, plain=True).overlaps(problem)
    assert np.allclose(begin.cross_overlap, wanted.cross_overlap[0, 0], rtol=1e-12)


def test_it_keeps_the_steps_that_it_was_asked_for():
    assert repr(filled()) == "WeightLog: 11 states, steps 0 to 10"
    assert repr(filled([1, 7, 99])) == "WeightLog: 2 states, steps 1 to 7"
    assert repr(WeightLog()) == "WeightLog: empty"
    log = WeightLog(np.array([3]))
    log(2, "not looked at")
    assert len(log) == 0


def test_a_layer_with_one_output_is_a_readout(problem):
    log, trained = WeightLog(), problem.replace(training__train_readout=True)
    for step in range(3):
        log(step, np.ones((2, 50)), readout=np.full((1, 2), step + 1.0))
    found = log.trajectory(trained, np.ones((1, 50)))
    assert found.readout[0].tolist() == [[1, 1], [2, 2], [3, 3]]


@pytest.mark.parametrize("kind", [np.zeros, np.ones])
def test_one_student_keeps_its_readout_also_as_a_start(problem, kind):
    log, one = WeightLog(), problem.replace(student__width=1, training__train_readout=True)
    log(0, np.ones((1, 50)), readout=kind((1, 1)))
    assert log.first(np.ones((1, 50))).overlaps(one).readout.tolist() == kind(1).tolist()
    assert log.trajectory(one, np.ones((1, 50))).readout[0].tolist() == kind((1, 1)).tolist()


def test_velocities_are_scaled_as_the_weights_and_zero_without_momentum(problem):
    moving, teacher = problem.replace(training__momentum=0.5), np.ones((1, 50))
    log = WeightLog()
    for step in range(2):
        log(step, np.ones((2, 50)), velocities=np.full((2, 50), 0.1 * step))
    found = log.trajectory(moving, teacher, plain=True)
    assert np.allclose(found.at(1).velocity_overlap, 50 * 0.1)
    late = WeightLog()
    late(1, np.ones((2, 50)), velocities=np.full((2, 50), 0.1))
    assert np.allclose(late.first(teacher, plain=True).overlaps(moving).velocity_overlap, 50 * 0.1)
    with pytest.raises(ValueError, match=r"velocities: are missing.*momentum_buffer"):
        filled().trajectory(moving, teacher)
    still = filled().trajectory(problem.replace(training__momentum=0), teacher)
    assert np.allclose(still.risk, filled().trajectory(problem, teacher).risk)


def test_a_bias_is_kept(problem):
    log, biased = WeightLog(), problem.replace(training__train_bias=True)
    for step in range(3):
        log(step, np.ones((2, 50)), bias=np.array([0.5 * step]))
    found = log.trajectory(biased, np.ones((1, 50)))
    assert found.scalars[0].ravel().tolist() == [0, 0.5, 1]


class Whole:
    """A number as of another framework: an index, and a hash that is not its value's."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def test_steps_may_be_numbers_of_any_framework():
    for steps in ([0, 5], np.array([0, 5]), [0.0, 5.0], range(0, 6, 5), 5, 5.0, np.int64(5)):
        log = WeightLog(steps)
        for step in range(6):
            log(Whole(step), np.ones((2, 50)))
        assert repr(log) == "WeightLog: 2 states, steps 0 to 5"
    with pytest.raises(ValueError, match=r"step: 1.7 given, must be a whole number"):
        WeightLog()(1.7, np.ones((2, 50)))


@pytest.mark.parametrize("steps", [0, -1, True, "ten", [0.5], [-1], [], 0.5, [np.inf], [[1]], np.geomspace(1, 10, 4)])
def test_bad_steps_are_told(steps):
    with pytest.raises(ValueError, match="steps: "):
        WeightLog(steps)


def test_bad_entries_are_told(problem):
    with pytest.raises(ValueError, match="log: is empty"):
        WeightLog().trajectory(problem, np.ones((1, 50)))
    log = filled()
    with pytest.raises(ValueError, match="step: 10 given after 10"):
        log(10, np.ones((2, 50)))
    with pytest.raises(ValueError, match="readout: given at some steps only"):
        log(11, np.ones((2, 50)), readout=np.ones(2))
    with pytest.raises(ValueError, match=r"weights: shape \(3, 50\) given after \(2, 50\)"):
        log(11, np.ones((3, 50)))
    with pytest.raises(
        ValueError, match=r"weights: shape \(50,\) given, must be \(p, dim\); a single unit is w\[None\]"
    ):
        WeightLog()(0, np.ones(50))
    with pytest.raises(ValueError, match="weights: dict given, must be an array of numbers"):
        WeightLog()(0, {"weight": np.ones((2, 50))})


def test_a_layer_in_place_of_its_weights_is_told():
    class Linear:
        weight = np.ones((2, 50))

    with pytest.raises(ValueError, match=r"weights: Linear given, must be an array of numbers; give its .weight"):
        WeightLog()(0, Linear())


@pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")
def test_numbers_of_half_precision_and_steps_of_pytorch():
    import torch

    log = WeightLog([0, 5])
    log(torch.tensor(5), torch.ones((2, 50), dtype=torch.bfloat16, requires_grad=True))
    assert repr(log) == "WeightLog: 1 states, steps 5 to 5"


def test_the_example_says_what_it_needs():
    said = subprocess.run([sys.executable, str(EXAMPLE), "tensorflow"], capture_output=True, text=True, check=False)
    assert said.stderr == "framework: 'tensorflow' given, must be pytorch or jax\n"


LOWEST, MEASURED, HIGHEST = 0.9, 1.23, 1.5  # the example's one run over theory, in either framework


@pytest.mark.parametrize("factor", [1 / 1.5, 1.5])
def test_a_wrong_rate_would_not_lie_on_theory(factor):
    """The bounds of the next test are narrow enough: theory at another rate ends outside."""
    digits, example = pytest.importorskip("sklearn.datasets").load_digits(), run_path(str(EXAMPLE))
    data, steps = sv.Data(digits.data), example["STEPS"]
    random = np.random.default_rng(0)
    units = (random.normal(0, data.dim**-0.5, (k, data.dim)) for k in (example["WIDTH"], 1))
    first = sv.overlaps.Weights(*(data.dim**0.5 * one for one in units), basis=data.basis)
    right, wrong = (example["described"](data, rate * example["LR"] * data.dim) for rate in (1.0, factor))
    ends = [sv.run(one, first, sv.Macro(), until=steps, clock="steps").risk[0, -1] for one in (right, wrong)]
    assert not LOWEST < MEASURED * ends[0] / ends[1] < HIGHEST


@pytest.mark.parametrize(("name", "module"), [("pytorch", "torch"), ("jax", "jax")])
def test_real_training_lies_on_theory(name, module, tmp_path):
    """Where the framework is installed."""
    if find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    command = [sys.executable, str(EXAMPLE), name, str(tmp_path / "beside.png")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    words = said.replace(",", "").split()
    found, theory = (float(words[words.index(word) + 1]) for word in (name, "theory"))
    assert LOWEST < found / theory < HIGHEST
    assert (tmp_path / "beside.png").stat().st_size > 10_000
