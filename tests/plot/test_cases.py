"""Pictures of classes and tasks, and of curves with few outputs."""

import numpy as np
import pytest

import solvable as sv


@pytest.fixture(scope="module")
def classes() -> sv.Trajectory:
    problem = sv.Problem(
        student=sv.Student(width=2, activation="linear"),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.2),
        mixture=sv.Mixture(probabilities=(0.5, 0.5), means=((1.0, 0.5), (-1.0, 0.5)), labels=(1.0, -1.0)),
    )
    return sv.run(problem, sv.start(problem, seed=0), sv.Macro(), times=np.linspace(0, 5, 6))


@pytest.fixture(scope="module")
def tasks() -> sv.Trajectory:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=3, activation="erf"),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.5, train_readout=True),
        tasks=sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]),
    )
    return sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=4)


def names(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def test_overlaps_with_directions(classes) -> None:
    ax = sv.plot.direction_overlaps(classes, sv.plot.figure()[1], legend=True)
    assert names(ax) == ["direction 1", "direction 2"]
    assert len(ax.lines) == 4
    with pytest.raises(
        ValueError, match="plot: the run has no cross_overlap; it has risk, student_overlap, readout, direction_overlap"
    ):
        sv.plot.cross_overlaps(classes, sv.plot.figure()[1])


def test_classification_errors_and_the_oracle(classes) -> None:
    ax = sv.plot.classification_error(classes, sv.plot.figure()[1])
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), classes.classification_error[0])
    assert ax.lines[1].get_ydata()[0] == classes.oracle_error
    assert names(ax) == ["oracle"]


def test_tasks_and_heads(tasks) -> None:
    ax = sv.plot.task_risks(tasks, sv.plot.figure()[1])
    assert names(ax) == ["task 1", "task 2"]
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), tasks.task_risk[0, :, 1])
    heads = sv.plot.readouts(tasks, sv.plot.figure()[1], legend=True)
    assert names(heads) == ["head 1", "head 2"]
    assert [line.get_color() for line in heads.lines] == ["C0"] * 3 + ["C1"] * 3
    assert len(sv.plot.readouts(tasks, sv.plot.figure()[1]).lines) == 6
    with pytest.raises(ValueError, match="task_risks: the problem has no tasks"):
        sv.plot.task_risks(tasks.data.drop_vars("task_risk"), sv.plot.figure()[1])


def test_few_outputs_are_points_with_error_bars(tasks) -> None:
    few = sv.run(
        tasks.problem, sv.start(tasks.problem, seed=0), sv.Micro(runs=8), times=[1.0, 2.0, 3.0], progress=False
    )
    ax = sv.plot.compare(tasks, few, ax=sv.plot.figure()[1])
    _, bars = ax.containers
    assert bars.has_yerr
    assert bars.lines[0].get_linestyle() == "None"
    assert names(ax) == ["macro", "micro, 8 runs (mean ± s.e.)"]
