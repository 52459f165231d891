"""Runs of problems with classes, tasks and moving teachers as a level: streams, restarts, full weights, refusals."""

import numpy as np
import pytest

import solvable as sv
from comparing import chances, joint_chance, scores
from gate import first
from seeds import seed
from solvable.dynamics import reduced_form
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack

XOR = sv.Mixture.xor(1.5).replace(variances=((0.5, 1.0), (1.5, 0.6), (1.0, 1.0), (1.0, 2.0)))
SOFT = sv.Activation("soft", lambda z: np.log1p(np.exp(z)), lambda z: 1 / (1 + np.exp(-z)))


def problem_of(dim=40, **changes):
    """Four classes, two tasks with heads of their own, two blocks."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim, spectrum={"eigenvalues": [1.5, 0.5], "weights": [1, 1]}),
        training=sv.Training(learning_rate=0.8, loss_factor=0.5, train_readout=True, readout_rate=0.5),
        mixture=XOR,
        tasks=(sv.Task(readout=(1.0, 0.0), probability=0.6), sv.Task(readout=(0.5, -1.0), probability=0.4)),
    )
    return problem.replace(**changes)


MOVING = {"teacher__drift": 0.5, "teacher__rotation": 0.7, "training__input_noise": 0.3, "training__label_noise": 0.1}
MASKED = {
    "training__dropout": {"keep": 0.7},
    "training__label_flips": 0.1,
    "training__batch": 3,
    "training__anchor": 0.5,
}


def everything(run):
    """(run, entry) at the last time."""
    blocks = run.end_blocks
    parts = [
        part
        for part in (blocks.student, blocks.cross, blocks.teacher, blocks.extra, run.end_readout)
        if part is not None
    ]
    return np.concatenate([part.reshape(len(part), -1) for part in parts], axis=1)


@pytest.mark.parametrize("changes", [{}, MOVING, MASKED], ids=["classes", "moving", "masked"])
def test_bits_do_not_depend_on_neighbours_threads_or_outputs(changes):
    problem = problem_of(**changes)
    start = sv.start(problem, seed=0)
    many = sv.run(problem, start, sv.Micro(runs=19, seed=1), until=2, times=[1, 2])
    few = sv.run(problem, start, sv.Micro(runs=3, seed=1, threads=1), times=[2.0])
    assert (everything(many)[:3] == everything(few)).all()
    assert len(np.unique(everything(many)[:, 0])) == 19
    other = sv.start(problem, seed=1)
    batch = sv.levels.run_batch(problem, [other, start], sv.Micro(runs=3, seed=1), times=[2.0])
    assert (everything(batch)[3:] == everything(few)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("changes", [{}, MOVING, MASKED], ids=["classes", "moving", "masked"])
def test_a_restart_continues(changes):
    """In law: 240 runs at alpha = 2, and 240 that were begun again at alpha = 1 from where they were."""
    problem = problem_of(**changes)
    start = sv.start(problem, seed=seed(0))
    whole = sv.run(problem, start, sv.Micro(runs=240, seed=seed(1)), times=[2.0])
    half = sv.run(problem, start, sv.Micro(runs=240, seed=seed(2)), times=[1.0])
    again = sv.levels.run_batch(problem, half.states(), sv.Micro(seed=seed(3)), times=[1.0])
    assert_same_law(everything(whole), everything(again))


@pytest.mark.statistical
@pytest.mark.parametrize("changes", first([MOVING, {}, MASKED]), ids=["moving", "classes", "masked"])
def test_full_weights_have_the_same_law(changes):
    problem = problem_of(**changes)
    start = sv.start(problem, seed=seed(0))
    one, two = (
        sv.run(problem, start, sv.Micro(runs=runs, seed=seed(1), form=form), times=[0.25])
        for runs, form in ((800, "reduced"), (100, "full"))
    )
    assert_same_law(everything(one), everything(two))


def assert_same_law(one, two):
    means, variances = scores(one, two)
    assert np.abs(means).max() < 5.5
    assert np.abs(variances).max() < 6.5  # of few runs, with longer tails
    assert chances(one, two).min() > 1e-6
    assert joint_chance(one, two) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("python", first([False, True]), ids=["table", "python"])
def test_units_of_ones_own_with_cases(python, monkeypatch):
    """A unit that is a table, and one that only Python can call, have the law of full weights."""
    problem = problem_of(**MASKED).replace(
        student__activation=SOFT, teacher__activation=SOFT, training__learning_rate=0.3
    )  # fmt: skip
    start = sv.start(problem, seed=seed(0))
    full = sv.run(problem, start, sv.Micro(runs=100, seed=seed(2), form="full"), times=[0.25])
    if python:
        monkeypatch.setattr(reduced_form, "is_own", lambda _: True)
    found = sv.run(problem, start, sv.Micro(runs=64, seed=seed(1)), times=[0.25])
    assert_same_law(everything(found), everything(full))


@pytest.mark.statistical
def test_dimensions_that_no_vector_has():
    """Four thousand steps at dim 10^9: what overlaps move by, dim times, is what the equations say, to first order."""
    dim, steps = 10**9, 4000
    problem = problem_of(dim=dim)
    start = sv.start(problem, seed=seed(0))
    micro = sv.run(problem, start, sv.Micro(runs=64, seed=seed(1)), times=[steps], clock="steps")
    equations = system(problem, pack(problem, start), nodes=2**10)
    slope = np.empty_like(equations.packed.state)
    equations.rhs(0, 0.0, equations.packed.state, slope, *equations.data())
    expected = slope[: slope.size - 4].reshape(2, 2, 6).sum(axis=0)[:, 4:]  # students with directions
    moved = (micro.direction_overlap[:, 0] - start.direction_overlap) * dim / steps
    error = moved.std(axis=0, ddof=1) / 8
    assert (np.abs(moved.mean(axis=0) - expected) < 5.5 * error).all()
    assert (np.abs(expected) > 5 * error).any()


@pytest.mark.parametrize("level", [sv.Micro(runs=5, seed=1), sv.Meso(runs=5, seed=1)], ids=["micro", "meso"])
def test_risks_of_tasks_make_up_the_risk(level):
    """Weighted by the probabilities of the tasks at each time, which jump; those of two starts."""
    jumps = sv.Task.sequence([(1.0, 0.0), (0.5, -1.0)], [0.5], replay=0.3)
    problem = problem_of(dim=400, tasks=jumps)
    run = sv.levels.run_batch(problem, [sv.start(problem, seed=i) for i in range(2)], level, times=[0.25, 0.5, 1.0])
    shares = np.array([[1.0, 0.0], [0.3, 0.7], [0.3, 0.7]])
    assert run.task_risk.shape == (10, 3, 2)
    assert np.allclose((run.task_risk * shares).sum(axis=2), run.risk, rtol=1e-10)
    assert np.abs(run.task_risk[..., 0] - run.task_risk[..., 1]).min() > 1e-3


def test_data_are_refused():
    problem, rows = problem_of(), np.random.default_rng(0).standard_normal((50, 40))
    start, level = sv.start(problem, seed=0), sv.Micro(data=sv.Data(rows, order="drawn"))
    with pytest.raises(ValueError, match=r"mixture: is .*; Micro with data does not know this setting"):
        sv.run(problem, start, level, until=1)
