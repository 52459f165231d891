"""Problems as records: rows, cases and heads in their places, and plain problems as they were."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.cases import case_table
from solvable.dynamics.kernel_data import PLACES, pack, state_of, unpack, unpack_rest
from solvable.overlaps import integrated

TASKS = sv.Task.sequence([[1.0, 0.0], [0.6, 0.8]], [3.0])


def problem(**changes) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=3, activation="erf"),
        inputs=sv.Inputs(dim=40, spectrum=sv.Spectrum(eigenvalues=(2.0, 0.5))),
        training=sv.Training(learning_rate=0.1),
    ).replace(**changes)


FULL = problem(
    mixture=sv.Mixture(
        probabilities=(0.2, 0.8), means=((1.0, 0.0), (0.5, -1.0)), labels=(1.0, -2.0), variances=((1.0, 2.0), (0.5, 1.0)),
        spikes=((0.0, 0.3), (0.0, 0.0)),
    ),
    tasks=TASKS, training__label_flips=0.1, training__input_noise=(0.1, 0.2), training__anchor=0.7, training__train_readout=True,
    training__learning_rate=sv.Schedule(times=(0.0, 2.0), rates=(0.1, 0.2)),
)  # fmt: skip
MOVING = FULL.replace(teacher__drift=0.2, teacher__rotation=0.3)


def test_a_plain_problem_is_packed_as_before() -> None:
    start = sv.start(problem(), seed=0)
    packed = pack(problem(), start)
    one = packed.problems[0]
    assert (one.rows, one.moving, one.cases, one.tests, one.heads, one.first_teacher) == (5, 3, 1, 0, 1, 3)
    assert not one.several
    sections = problem().teacher.readout_values, start.block_teacher_overlap
    fields = np.tensordot([2.0, 0.5], start.block_teacher_overlap, axes=1)
    expected = np.concatenate([*(part.ravel() for part in sections), fields.ravel(), np.zeros(4)])
    np.testing.assert_array_equal(packed.numbers, expected)
    rows = np.concatenate([start.block_student_overlap, start.block_cross_overlap], axis=2)
    np.testing.assert_array_equal(packed.state, np.concatenate([rows.ravel(), start.readout]))
    assert (packed.cases["probability"] == 1).all()


@pytest.mark.parametrize(("setting", "moving"), [(FULL, 3), (MOVING, 5)], ids=["fixed", "moving"])
def test_rows_and_cases_lie_where_records_say(setting: sv.Problem, moving: int) -> None:
    start = sv.start(setting, seed=1)
    packed, stacked = pack(setting, start), start.stacked
    np.testing.assert_array_equal(packed.problems["begin"], [0.0, 2.0, 3.0])
    one = packed.problems[1]
    assert (one.rows, one.moving, one.heads, one.directions, one.tasks) == (10, moving, 2, 2, 2)
    assert (one.first_teacher, one.first_direction, one.first_anchor) == (3, 5, 7)
    assert (one.cases, one.tests) == (8, 4)
    assert one.several
    assert one.spiked
    assert not one.masked
    fixed = packed.numbers[one.teacher_overlaps :][: 2 * (10 - moving) ** 2].reshape(2, 10 - moving, 10 - moving)
    np.testing.assert_array_equal(fixed, stacked[:, moving:, moving:])
    np.testing.assert_array_equal(packed.state[: 2 * moving * 10].reshape(2, moving, 10), stacked[:, :moving])
    np.testing.assert_array_equal(packed.state[2 * moving * 10 :].reshape(2, 3), start.readout)
    for tests, first in ((False, 0), (True, 8)):
        table = case_table(setting, packed.problems["begin"], tests=tests)
        for i in range(table.size):
            case = packed.cases[1, first + i]
            assert case.probability == table.probability[1, i]
            assert case.share == table.share[1, i]
            assert (case.label, case.sign, case.task, case.head) == tuple(
                getattr(table, name)[i] for name in ("label", "sign", "task", "head")
            )
            for name in PLACES:
                row = getattr(table, name)[i]
                np.testing.assert_array_equal(packed.numbers[case[name] :][: row.size], row)


def test_drifting_teachers_are_drawn_back_to_their_overlaps() -> None:
    packed = pack(MOVING, sv.start(MOVING, seed=1))
    one = packed.problems[0]
    assert (one.drift, one.rotation, one.anchor) == (0.2, 0.3, 0.7)
    drawn = packed.numbers[one.drift_overlaps :][:8].reshape(2, 2, 2)
    np.testing.assert_array_equal(drawn, [0.5 * np.eye(2)] * 2)


@pytest.mark.parametrize("setting", [problem(), FULL, MOVING], ids=["plain", "fixed", "moving"])
def test_states_are_overlaps_again(setting: sv.Problem) -> None:
    start = sv.start(setting, seed=1)
    states = np.stack([pack(setting, start).state] * 2)
    student, cross, readout = unpack(setting, states)
    teacher, extra = unpack_rest(setting, start, states)
    assert (teacher is None) == (not setting.teacher.is_moving)
    assert (extra is None) == (not setting.extras)
    back = integrated(
        student[1], cross[1], start.block_teacher_overlap if teacher is None else teacher[1], readout[1],
        start.extras, None if extra is None else extra[1],
    )  # fmt: skip
    assert back == start
    np.testing.assert_array_equal(state_of(back, setting), states[0])


def test_probabilities_in_time_break_the_integration() -> None:
    shares = sv.Schedule(times=(0.0, 4.0), rates=(0.2, 0.6), shape="linear")
    rest = sv.Schedule(times=(0.0, 4.0), rates=(0.8, 0.4), shape="linear")
    setting = FULL.replace(mixture__probabilities=(shares, rest))
    packed = pack(setting, sv.start(setting, seed=1))
    np.testing.assert_array_equal(packed.breaks, [2.0, 3.0, 4.0])
    np.testing.assert_array_equal(packed.problems["sloped"], [True, True, True, False])
    first = packed.cases[1, 0]  # the first class of the first task, not flipped
    assert first.probability == pytest.approx(0.4 * 0.9)
    assert first.slope == pytest.approx(0.1 * 0.9)
