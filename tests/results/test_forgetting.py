"""Forgetting and head starts: from risks of tasks made by hand, and from runs."""

from dataclasses import replace

import numpy as np
import pytest

import solvable as sv
from solvable.macro import Macro
from solvable.problems.tasks import first_sample, stretches

TEACHERS = sv.Teacher(width=2, activation="erf", overlap=((1.0, 0.6), (0.6, 1.0)))


def problem(tasks, **changes):
    return sv.Problem(
        teacher=TEACHERS,
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5, train_readout=True),
        tasks=tasks,
    ).replace(**changes)


def start_of(problem):
    return sv.start(problem, student_overlap=0.3 * np.eye(2), cross_overlap=[[0.2, 0.1], [-0.05, 0.1]])


IN_TURN = (
    sv.Task(readout=(1.0, 0.0), probability=sv.Schedule(times=(0.0, 1.0, 2.0, 3.0), rates=(1.0, 0.0, 1.0, 0.2))),
    sv.Task(readout=(0.0, 1.0), probability=sv.Schedule(times=(0.0, 1.0, 2.0, 3.0), rates=(0.0, 1.0, 0.0, 0.8))),
)


def test_risks_made_by_hand() -> None:
    """Two tasks in turn: the first until 1 and from 2 to 3, the second from 1 to 2 and from 3 on."""
    assert stretches(IN_TURN) == [[(0.0, 1.0), (2.0, 3.0)], [(1.0, 2.0), (3.0, np.inf)]]
    assert [first_sample(task) for task in IN_TURN] == [0.0, 1.0]
    one = problem(IN_TURN)
    run = sv.run(one, start_of(one), Macro(), times=[0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
    risks = np.array([[0.9, 0.8], [0.5, 0.7], [0.1, 0.6], [0.3, 0.2], [0.4, 0.05], [0.02, 0.3], [0.25, 0.01]])
    made = replace(run, task_risk=risks[None])
    nan = np.nan
    first, second = [nan, nan, 0.0, 0.2, 0.3, 0.0, 0.23], [nan, nan, nan, nan, 0.0, 0.25, -0.04]
    assert made.forgetting[0] == pytest.approx(np.column_stack([first, second]), abs=1e-12, nan_ok=True)
    first, second = [0.0, *[nan] * 6], [0.0, 0.1, 0.2, nan, nan, nan, nan]
    assert made.head_start[0] == pytest.approx(np.column_stack([first, second]), abs=1e-12, nan_ok=True)


def test_a_ramp_ends_where_the_other_task_is_as_probable() -> None:
    fading, coming = (sv.Schedule(times=(0.0, 4.0), rates=rates, shape="linear") for rates in ((1.0, 0.2), (0.0, 0.8)))
    tasks = sv.Task(readout=(1.0, 0.0), probability=fading), sv.Task(readout=(0.0, 1.0), probability=coming)
    (one,), (two,) = stretches(tasks)
    assert one == pytest.approx((0.0, 2.5))  # 1 - 0.2 t = 0.2 t
    assert two == pytest.approx((2.5, np.inf))
    half = sv.Task(readout=(1.0, 0.0), probability=0.5)
    assert stretches((half, half)) == [[], []]
    assert first_sample(sv.Task(readout=(1.0, 0.0), probability=0.0)) == np.inf


def test_what_is_read_between_outputs_stays_on_one_side_of_a_switch() -> None:
    """Risks made by hand: the first task falls to a tenth before the switch at 2, the second is as hard as ever after it."""
    one = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]))
    run = sv.run(one, start_of(one), Macro(), times=[0.0, 2.0, 4.0])
    risks = np.array([[1.0, 1.0], [0.1, 1.0], [0.1, 0.01]])
    made = replace(run, task_risk=risks[None], risk=np.array([[1.0, 1.0, 0.01]]), start_risk=np.ones(1))
    assert made.exit_time(0.5) == pytest.approx(2 * np.log10(2))  # a straight line in log from 1 to 0.1
    assert made.exit_time(0.05) == pytest.approx(2 + np.log10(20))  # after the switch, from 1 to 0.01
    between = replace(made, alpha=np.array([0.0, 1.0, 3.0]), risk=np.array([[1.0, 0.8, 0.1]]))
    between = replace(between, task_risk=np.array([[[1.0, 1.0], [0.8, 1.0], [0.2, 0.1]]]))
    assert between.exit_time(0.5) == pytest.approx(1 + np.log2(0.8 / 0.5))  # the first task, from 0.8 to 0.4 at 2
    assert between.exit_time(0.3) == pytest.approx(2 + np.log(np.sqrt(0.1) / 0.3) / np.log(np.sqrt(0.1) / 0.1))


def test_phases_end_at_a_switch() -> None:
    one = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [60.0]), inputs=sv.Inputs(dim=2000))
    start = sv.start(one, seed=0, scale=0.01, readout=[[0.01, 0.004], [0.003, 0.01]])
    run = sv.run(one, start, Macro(), until=120)
    spans = [(phase.start, phase.end) for phase in run.phases()]
    assert len(spans) > 1
    assert all(end <= 60.0 or begin >= 60.0 for begin, end in spans)


def test_default_outputs_have_the_ends_of_tasks() -> None:
    fading, coming = (sv.Schedule(times=(0.0, 4.0), rates=rates, shape="linear") for rates in ((1.0, 0.1), (0.0, 0.9)))
    ramp = sv.Task(readout=(1.0, 0.0), probability=fading), sv.Task(readout=(0.0, 1.0), probability=coming)
    for tasks in (sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [np.sqrt(2.0)]), ramp):
        one = problem(tasks)
        ((_, end),) = stretches(tasks)[0]
        run = sv.run(one, start_of(one), Macro(), until=5.0)
        assert len(run.time) == 202
        assert end in run.time
        assert np.isfinite(run.forgetting[0, -1, 0])
    whole = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]))
    assert len(sv.run(whole, start_of(whole), Macro(), until=5.0).time) == 201  # 2 is one of them


def test_a_run_forgets_and_its_dataset_says_so(tmp_path) -> None:
    one = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [40.0]))
    run = sv.run(one, start_of(one), Macro(), times=[0.0, 20.0, 40.0, 60.0])
    alone = sv.run(one, start_of(one), Macro(), times=[40.0])  # the same, seen at the end of the first stretch alone
    assert run.forgetting[0, 3, 0] == pytest.approx(run.task_risk[0, 3, 0] - alone.task_risk[0, 0, 0], rel=1e-6)
    assert run.forgetting[0, 3, 0] > 0.05
    assert np.isnan(run.forgetting[0, :, 1]).all()  # its stretch does not end
    assert run.head_start[0, 2, 1] == pytest.approx(run.task_risk[0, 0, 1] - run.task_risk[0, 2, 1])
    assert run.head_start[0, 2, 1] > 0.01  # the features of the first task serve the second
    for name in ("forgetting", "head_start"):
        assert run.data[name].dims == ("run", "time", "task")
        np.testing.assert_array_equal(run.data[name], getattr(run, name))
        np.testing.assert_array_equal(run.mean(name).mean, getattr(run, name)[0])
    run.save(tmp_path / "run.nc")
    np.testing.assert_array_equal(sv.Trajectory.load(tmp_path / "run.nc").forgetting, run.forgetting)


def test_what_the_outputs_do_not_tell_is_refused() -> None:
    one = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]))
    run = sv.run(one, start_of(one), Macro(), times=[1.0, 3.0])
    with pytest.raises(ValueError, match=r"forgetting: task 0 ends at 2.0, which is no output time"):
        _ = run.forgetting
    with pytest.raises(ValueError, match="head_start: the first output is at 1, must be at 0"):
        _ = run.head_start
    assert not {"forgetting", "head_start"} & set(run.data)
    short = sv.run(one, start_of(one), Macro(), times=[0.0, 1.0])
    assert np.isnan(short.forgetting).all()  # nothing has ended yet
    plain = problem((), teacher__readout=(1.0, 0.0))
    with pytest.raises(ValueError, match="forgetting: the problem has no tasks"):
        _ = sv.run(plain, start_of(plain), Macro(), times=[1.0]).forgetting
    with pytest.raises(ValueError, match="head_start: the problem has no tasks"):
        sv.run(plain, start_of(plain), Macro(), times=[0.0, 1.0]).mean("head_start")


@pytest.mark.parametrize("level", [Macro(), sv.Meso(seed=1), sv.Micro(seed=1)], ids=lambda level: level.name)
@pytest.mark.parametrize("switch", [0.333, 0.3345])
def test_a_switch_within_a_step(level, switch) -> None:
    """99.9 or 100.35 steps of 300: finite dimensions have an output half a step from it."""
    one = problem(sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [switch]), inputs=sv.Inputs(dim=300))
    run = sv.run(one, start_of(one), level, times=[0.0, switch, 1.0], progress=False)
    assert run.forgetting[0, 1:, 0].tolist() == [0.0, run.task_risk[0, 2, 0] - run.task_risk[0, 1, 0]]
    assert np.isfinite(run.head_start[0]).tolist() == [[True, True], [False, True], [False, False]]
    off = sv.run(one, start_of(one), level, times=[0.0, switch + 0.004, 1.0], progress=False)
    with pytest.raises(ValueError, match=r"task 0 ends at 0\.33"):
        _ = off.forgetting


def test_tasks_that_never_end_have_nothing_to_be_compared_with() -> None:
    """Much replay, and a run that begins after the switch."""
    rows = [(1.0, 0.0), (0.0, 1.0)]
    for tasks in (sv.Task.sequence(rows, [1.0], replay=0.6), problem(sv.Task.sequence(rows, [1.0])).later(1.0).tasks):
        one = problem(()).model_copy(update={"tasks": tasks})
        run = sv.run(one, sv.start(one, student_overlap=np.eye(2)), Macro(), times=[0.0, 2.0])
        with pytest.raises(ValueError, match="forgetting: no task stops being the most probable"):
            _ = run.forgetting
        assert "forgetting" not in run.data
        assert "head_start" in run.data


@pytest.mark.parametrize("level", [Macro(), sv.Meso(seed=1, leap=0.05), sv.Micro(seed=1)], ids=lambda level: level.name)
def test_thresholds_watch_the_readouts_of_all_heads(level) -> None:
    """The second head alone grows past the level. Leaps are given, because those that are chosen depend on what is watched."""
    tasks = sv.Task(readout=(1.0, 0.0), probability=0.0), sv.Task(readout=(0.0, 1.0), probability=1.0)
    one = problem(tasks, inputs=sv.Inputs(dim=2000))
    start = sv.start(
        one, student_overlap=0.5 * np.eye(2), cross_overlap=[[0.2, 0.4], [-0.05, 0.1]], readout=[[0.1, 0.05], [0.1, 0.05]]
    )  # fmt: skip
    run = sv.run(one, start, level, until=50, stop=sv.when("readout", above=0.5))
    assert run.ending == [sv.results.Ending.STOPPED]
    assert run.last().readout[0] == pytest.approx([0.1, 0.05])
    assert run.last().readout[1].max() == pytest.approx(0.5, abs=0.01)
    entry = sv.run(one, start, level, until=50, stop=sv.when("readout", entry=(1, 0), above=0.5))
    assert entry.end_time[0] == pytest.approx(run.end_time[0], rel=1e-6)
    idle = sv.run(one, start, level, until=5, stop=sv.when("readout", entry=(0, 0), above=0.5))
    assert idle.ending == [sv.results.Ending.FINISHED]
    for wrong, said in ((0, r"must be \(head, student\) with 2 heads"), ((2, 0), r"there are \(2, 2\)")):
        with pytest.raises(ValueError, match=said):
            sv.run(one, start, level, until=5, stop=sv.when("readout", entry=wrong, above=0.5))
    plain = problem((), teacher__readout=(1.0, 0.0))
    with pytest.raises(ValueError, match="must be student with 1 head"):
        sv.run(plain, start_of(plain), Macro(), until=1, stop=sv.when("readout", entry=(0, 0), above=0.5))
