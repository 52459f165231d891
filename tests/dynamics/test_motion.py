"""The right-hand side by its name: what a Macro run does next."""

import numpy as np
import pytest

import solvable as sv

STEP = 1e-3


def problem(unit="quadratic", **changes) -> sv.Problem:
    plain = sv.Problem(
        teacher=sv.Teacher(width=2, activation=unit),
        student=sv.Student(width=3, activation=unit),
        training=sv.Training(learning_rate=0.3, label_noise=0.2, batch=2),
    )
    return plain.replace(**changes)


SPECTRUM = sv.Spectrum(eigenvalues=(2.0, 0.5, 0.1), weights=(1, 2, 3))
FALLING = sv.Schedule(times=(0.0, 4.0), rates=(0.4, 0.1), shape="linear")
RISING = sv.Spectrum(eigenvalues=(1.0, sv.Schedule(times=(0.0, 4.0), values=(0.2, 1.5), shape="linear")))
CASES = {
    "decay": (problem(training__weight_decay=0.3), False),
    "blocks": (problem("erf", inputs__spectrum=SPECTRUM), False),
    "sphere": (problem("erf", student__norm="sphere", inputs__spectrum=SPECTRUM), False),
    "readout": (problem("erf", training__train_readout=True, training__readout_rate=0.2), False),
    "schedule": (problem(training__learning_rate=FALLING), False),
    "curriculum": (problem(inputs__spectrum=RISING), False),
    "small rate": (problem("tanh", inputs__spectrum=SPECTRUM), True),
    "polynomial": (problem(sv.problems.Hermite(coefficients=(0.0, 1.0, 0.5))), False),
}


def some_start(one: sv.Problem) -> sv.Overlaps:
    random = np.random.default_rng(3)
    norms = np.eye(3) if one.student.norm == "sphere" else np.diag([0.9, 1.1, 0.7])
    return sv.start(one, student_overlap=norms, cross_overlap=0.3 * random.uniform(-1, 1, (3, 2)))


FADING = sv.Schedule(times=(0.0, 4.0), rates=(0.8, 0.3), shape="linear")
RISING_TOO = sv.Schedule(times=(0.0, 4.0), rates=(0.2, 0.7), shape="linear")
CLASSES = sv.Mixture(
    probabilities=(FADING, RISING_TOO), means=((1.0, 0.0), (-0.5, 0.8)), labels=(1.0, -1.0), variances=(0.7, 1.2)
)
TASKS = (sv.Task(readout=(1.0, 0.0), probability=RISING_TOO), sv.Task(readout=(0.3, -0.6), probability=FADING))
SEVERAL = {
    "classes": problem("erf", mixture=CLASSES, inputs__spectrum=SPECTRUM),
    "tasks": problem("erf", tasks=TASKS, training__train_readout=True, training__readout_rate=0.3),
    "masks": problem(training__dropout={"keep": 0.7}, training__input_noise=0.2, training__label_flips=0.1),
    "anchor": problem("erf", training__anchor=0.4, mixture=CLASSES),
    "drift": problem("erf", teacher__drift=0.3, teacher__overlap=((1.0, 0.4), (0.4, 1.0))),
    "rotation": problem("erf", teacher__rotation=0.5),
}


@pytest.mark.parametrize("name", SEVERAL)
def test_it_is_the_slope_of_a_run_with_cases(name) -> None:
    """Of every overlap that moves, extra rows and teachers too; the others have none."""
    one = SEVERAL[name]
    times = np.array([1.0 - STEP, 1.0, 1.0 + STEP])
    run = sv.run(one, some_start(one), sv.Macro(rtol=1e-13), times=times, keep_blocks=True, progress=False)
    found = sv.dynamics.derivative(one, run.at(1.0), alpha=1.0)
    assert run.blocks is not None
    for values, speed in [
        (run.blocks.student, found.block_student_overlap),
        (run.blocks.cross, found.block_cross_overlap),
        (run.blocks.teacher, found.block_teacher_overlap),
        (run.blocks.extra, found.block_extra_overlap),
        (run.readout, found.readout),
    ]:
        if values is None:
            assert speed is None
            continue
        slope = (values[0, 2] - values[0, 0]) / (2 * STEP)
        assert speed.shape == slope.shape
        assert speed == pytest.approx(slope, abs=3e-6)
    assert (found.block_extra_overlap is None) == (not one.extras)
    assert (found.block_teacher_overlap is None) == (not one.teacher.is_moving)
    if one.extras:
        assert np.abs(found.block_extra_overlap[..., :3]).max() > 1e-3
        assert not found.block_extra_overlap[..., 3:].any()


def test_a_data_set_has_no_equations_of_motion() -> None:
    with pytest.raises(
        ValueError, match=r"^training\.samples: is 50; `derivative` is for fresh samples, not a data set$"
    ):
        sv.dynamics.derivative(problem(training__samples=50), some_start(problem()))


@pytest.mark.parametrize("name", CASES)
def test_it_is_the_slope_of_a_run(name) -> None:
    """Central differences of a run at rtol 1e-13; their error is STEP^2/6 times the third derivative, here below 3e-6."""
    one, small_rate = CASES[name]
    times = np.array([1.0 - STEP, 1.0, 1.0 + STEP])
    level = sv.Macro(rtol=1e-13, small_rate=small_rate, method="explicit")
    run = sv.run(one, some_start(one), level, times=times, keep_blocks=True, progress=False)
    found = sv.dynamics.derivative(one, run.at(1.0), alpha=1.0, small_rate=small_rate)
    assert run.blocks is not None
    for values, speed in [
        (run.blocks.student[0], found.block_student_overlap),
        (run.blocks.cross[0], found.block_cross_overlap),
        (run.readout[0], found.readout),
    ]:
        slope = (values[2] - values[0]) / (2 * STEP)
        assert speed.shape == slope.shape
        assert speed == pytest.approx(slope, abs=3e-6)
    assert np.abs(found.student_overlap).max() > 1e-3
    assert found.cross_overlap == pytest.approx(found.block_cross_overlap.sum(axis=0))
    assert np.any(found.readout != 0) == one.training.train_readout


def test_schedules_are_looked_at_and_the_rest_is_not() -> None:
    one = CASES["schedule"][0]
    state = some_start(one)
    slow, fast = (sv.dynamics.derivative(one, state, alpha) for alpha in (4.0, 0.0))
    constant = sv.dynamics.derivative(one.replace(training__learning_rate=0.1), state, alpha=17.0)
    assert slow.cross_overlap == pytest.approx(constant.cross_overlap, abs=1e-15)
    assert fast.cross_overlap == pytest.approx(4 * slow.cross_overlap, abs=1e-15)  # of first order in the rate


def test_a_state_of_another_problem_is_refused() -> None:
    wider = problem(student__width=4)
    with pytest.raises(sv.overlaps.InvalidStart, match=r"^start: has"):
        sv.dynamics.derivative(wider, some_start(problem()))
