"""A threshold that is passed behind the last regular look ends the run at its last step."""

import numpy as np
import pytest

import solvable as sv

DIM = 200


def problem_of(**changes):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=DIM),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5),
    ).replace(**changes)


def _target(fields):
    return np.tanh(fields[..., 0]) + fields[..., 1] ** 2


TASKS = (sv.Task(readout=(1.0, 0.0), probability=0.5), sv.Task(readout=(0.0, 1.0), probability=0.5))
ROWS = np.random.default_rng(7).standard_normal((4000, DIM))
DATA = sv.Data(ROWS)
RUNS = {
    "reduced": (problem_of(), {}),
    "cases": (problem_of(tasks=TASKS), {}),
    "paced": (problem_of(training__rate_rule=sv.problems.AdaGrad(offset=1.0)), {}),
    "slow": (problem_of(teacher__target=sv.problems.Target("mixed", 2, _target)), {}),
    "full": (problem_of(), {"form": "full"}),
    "full cases": (problem_of(tasks=TASKS), {"form": "full"}),
    "rows": (problem_of(inputs=DATA.inputs, teacher__overlap="sampled"), {"data": DATA}),
}


@pytest.mark.parametrize("name", RUNS)
def test_a_threshold_passed_at_the_very_end_ends_the_run(name):
    """Between the last look and the last output, as a run without a threshold says that has an output at every step."""
    problem, words = RUNS[name]
    start, level = sv.start(problem, seed=0), sv.Micro(seed=3, **words)
    whole = sv.run(problem, start, level, times=np.arange(0, 241), clock="steps").risk[0]
    looks = np.minimum.accumulate(np.where(np.arange(241) % 16 == 0, whole, np.inf))
    last = next(step for step in range(20, 241) if step % 16 and whole[step] < (1 - 1e-3) * looks[step])
    limit = 0.5 * (whole[last] + looks[last])
    stopped = sv.run(problem, start, level, times=[0, last], clock="steps", stop=sv.when("risk", below=limit))
    assert stopped.ending[0] is sv.results.Ending.STOPPED
    assert stopped.end_time[0] == last == stopped.exit_time()[0]
    assert stopped.risk[0, -1] == pytest.approx(whole[last], rel=1e-6)
    never = sv.run(
        problem, start, level, times=[0, last], clock="steps", stop=sv.when("risk", below=0.999 * whole[last])
    )
    assert never.ending[0] is sv.results.Ending.FINISHED
    assert np.isnan(never.exit_time()[0])


def test_a_threshold_passed_with_the_last_row_ends_the_run():
    """Rows that run out in the middle of a stretch between looks."""
    problem, few = problem_of(), sv.Data(iter(list(np.random.default_rng(8).standard_normal((24, DIM)))))
    start = sv.start(problem, seed=0)
    whole = sv.run(problem, start, sv.Micro(data=few), times=[0, 24, 100], clock="steps")
    assert whole.ending[0] is sv.results.Ending.EXHAUSTED
    norm = np.diagonal(whole.student_overlap[0, 1]).max()
    first = np.diagonal(whole.student_overlap[0, 0]).max()
    side = {"above": 0.5 * (norm + first)} if norm > first else {"below": 0.5 * (norm + first)}
    again = sv.Data(iter(list(np.random.default_rng(8).standard_normal((24, DIM)))))
    stopped = sv.run(problem, start, sv.Micro(data=again), times=[0, 100], clock="steps", stop=sv.when("norm", **side))
    assert stopped.end_time[0] == 24
    assert stopped.ending[0] is sv.results.Ending.STOPPED
