"""Trajectories with directions, anchors, heads and moving teachers: states, files, choices."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.kernel_data import pack, summed, unpack
from solvable.results import Blocks, Ending
from solvable.results.extra_rows import with_rest

BLOCKS = sv.Spectrum(eigenvalues=(2.0, 0.5))


def problem(**changes) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=3, activation="erf"),
        inputs=sv.Inputs(dim=40, spectrum=BLOCKS),
        training=sv.Training(learning_rate=0.1, train_readout=True),
        mixture=sv.Mixture(probabilities=(0.2, 0.8), means=((1.0, 0.0), (0.5, -1.0)), labels=(1.0, -2.0)),
        tasks=sv.Task.sequence([[1.0, 0.0], [0.6, 0.8]], [3.0]),
    ).replace(**changes)


FIXED = problem(training__anchor=0.5)
MOVING = problem(training__anchor=0.5, teacher__drift=0.1)
NO_TEACHER = problem(teacher=sv.Teacher(width=0), tasks=())
ONE_BLOCK = MOVING.replace(inputs__spectrum=None)
SETTINGS = {"fixed": FIXED, "moving": MOVING, "no teacher": NO_TEACHER, "one block": ONE_BLOCK}


def trajectory(setting: sv.Problem, starts: list[sv.Overlaps], *, keep_blocks: bool = True) -> sv.Trajectory:
    """One run for each start, that rests there at three times."""
    states = np.stack([np.stack([pack(setting, start).state] * 3) for start in starts])
    totals, runs = summed(setting, states), len(starts)
    student, cross, readout = unpack(setting, states)
    made = sv.Trajectory(
        problem=setting, level="macro", settings={"rtol": 1e-8}, alpha=np.array([0.0, 1.0, 2.0]),
        risk=np.ones((runs, 3)), risk_error=np.zeros((runs, 3)), overlap_error=np.zeros((runs, 3)), start_risk=np.ones(runs),
        student_overlap=student.sum(axis=2), cross_overlap=cross.sum(axis=2), readout=readout,
        block_teacher_overlap=np.stack([start.block_teacher_overlap for start in starts]),
        end_blocks=Blocks(student[:, -1], cross[:, -1]), end_readout=readout[:, -1],
        start_hash=np.array([start.hash for start in starts], dtype=object), endings=np.full(runs, Ending.FINISHED),
        end_alpha=np.full(runs, 2.0), nfev=np.zeros(runs, dtype=np.int64),
        blocks=Blocks(student, cross) if keep_blocks else None,
    )  # fmt: skip
    return with_rest(made, starts, totals, states[:, -1], states if keep_blocks else None)


def starts_of(setting: sv.Problem) -> list[sv.Overlaps]:
    return [sv.start(setting, seed=number) for number in range(2)]


def assert_close(one: sv.Overlaps, two: sv.Overlaps) -> None:
    assert one.extras == two.extras
    np.testing.assert_allclose(one.stacked, two.stacked, rtol=0, atol=1e-12)
    np.testing.assert_array_equal(one.readout, two.readout)


@pytest.mark.parametrize("setting", SETTINGS.values(), ids=SETTINGS)
def test_states_and_files(setting: sv.Problem, tmp_path) -> None:
    starts = starts_of(setting)
    made = trajectory(setting, starts)
    made.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    for run in (made, again):
        for number, start in enumerate(starts):
            assert_close(run.at(1.0, number), start)
            assert_close(run.last(number), start)
            np.testing.assert_allclose(run.direction_overlap[number, 1], start.direction_overlap, atol=1e-14)
            np.testing.assert_array_equal(run.readout[number, 2], start.readout)
        assert (run.moving_teacher_overlap is None) == (not setting.teacher.is_moving)
    assert again.problem == setting
    np.testing.assert_array_equal(again.data["direction_overlap"], made.direction_overlap)
    assert list(again.data["role"].values) == list(setting.extras)
    if setting.heads > 1:
        assert made.data["readout"].dims == ("run", "time", "head", "student")
    one = made.select(run=[1])
    assert_close(one.last(), starts[1])
    assert_close(one.at(1.0), starts[1])


def test_one_block_needs_no_kept_blocks() -> None:
    starts = starts_of(ONE_BLOCK)
    run = trajectory(ONE_BLOCK, starts, keep_blocks=False)
    assert_close(run.at(1.0, 1), starts[1])
    np.testing.assert_allclose(run.anchor_overlap[0, 0], starts[0].student_overlap, atol=1e-14)


def test_a_file_without_its_extra_rows_is_refused(tmp_path) -> None:
    from solvable.results import storage

    run = trajectory(FIXED, starts_of(FIXED))
    storage.write(run.data.drop_vars("end_block_extra_overlap"), tmp_path / "less.nc")
    with pytest.raises(ValueError, match="not a trajectory, end_block_extra_overlap is missing"):
        sv.Trajectory.load(tmp_path / "less.nc")
    storage.write(run.data.drop_vars("block_extra_overlap"), tmp_path / "less.nc")
    with pytest.raises(ValueError, match="not a trajectory, block_extra_overlap is missing"):
        sv.Trajectory.load(tmp_path / "less.nc")


def test_plain_problems_have_no_directions() -> None:
    setting = problem(mixture=None, tasks=())
    run = trajectory(setting, starts_of(setting))
    assert run.extra_overlap is run.direction_overlap is run.anchor_overlap is None
    with pytest.raises(ValueError, match="mean: 'direction_overlap' given, must be one of risk"):
        run.mean("direction_overlap")
    assert trajectory(FIXED, starts_of(FIXED)).mean("direction_overlap").mean.shape == (3, 3, 2)


def test_levels_refuse_what_they_do_not_know() -> None:
    for setting, name in [
        (FIXED, "tasks"),
        (problem(mixture=None, tasks=(), training__anchor=0.1), "training.anchor"),
    ]:
        start = sv.start(setting, seed=0)
        with pytest.raises(ValueError, match=rf"{name}: is .*; Empirical does not know this setting"):
            sv.run(setting, start, sv.Empirical(), until=1)
