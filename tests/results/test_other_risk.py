"""Runs one by one, and the risk of another problem along them."""

import numpy as np
import pytest

import solvable as sv
from solvable.gaussian import expect
from solvable.gaussian.units import UNITS

SPECTRUM = sv.Spectrum(eigenvalues=(1.5, 0.25), weights=(1, 2))


@pytest.fixture(scope="module")
def problem() -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", readout=(1.0, 0.5)),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=300, spectrum=SPECTRUM),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5, train_readout=True),
    )


@pytest.fixture(scope="module")
def batch(problem) -> sv.Trajectory:
    starts = [sv.start(problem, seed=number, readout=[0.4, 0.7]) for number in range(2)]
    times = np.array([0.0, 2.0, 7.0])
    return sv.levels.run_batch(
        problem, starts, sv.Macro(), times=times, learning_rates=[0.5, 1.0], keep_blocks=True, progress=False
    )


def risk_by_quadrature(problem: sv.Problem, state: sv.Overlaps) -> float:
    """c <(y - y^)^2> from its definition."""
    C, p = sv.dynamics.field_covariance(problem, state), problem.student.width
    unit, other = (UNITS[network.activation].function for network in (problem.student, problem.teacher))

    def squared(z: np.ndarray) -> np.ndarray:
        return (other(z[:, p:]) @ problem.teacher.readout_values - unit(z[:, :p]) @ state.readout) ** 2

    return problem.training.loss_factor * float(expect(squared, C, 24))


OTHERS = {
    "readouts": {"teacher__readout": (-0.3, 2.0)},
    "eigenvalues": {"inputs__spectrum": sv.Spectrum(eigenvalues=(0.1, 3.0), weights=(1, 2))},
    "units": {"teacher__activation": "tanh", "student__activation": "quadratic"},
    "isotropic": {"inputs__spectrum": None},
}


@pytest.mark.parametrize("name", OTHERS)
def test_it_is_the_risk_of_the_recorded_states(name, problem, batch) -> None:
    """Up to 1e-6, which 24 nodes in each direction leave for erf and tanh."""
    other = problem.replace(**OTHERS[name])
    found = batch.risk_on(other)
    assert found.dims == ("run", "time")
    assert found["learning_rate"].values.tolist() == batch.labels["learning_rate"].tolist()
    for run in range(len(batch)):
        for i, time in enumerate(batch.time):
            state = batch.at(time, run)
            if name == "isotropic":
                state = sv.Overlaps(
                    state.student_overlap[None], state.cross_overlap[None], state.teacher_overlap[None], state.readout
                )
            assert found[run, i] == pytest.approx(risk_by_quadrature(other, state), rel=1e-6)
    assert np.abs(found.values / batch.risk - 1).min() > 1e-3
    assert found["risk_error"].shape == found.shape


def test_on_its_own_problem_it_is_the_run(problem, batch) -> None:
    assert batch.risk_on(problem).values == pytest.approx(batch.risk, rel=1e-12)


def test_schedules_of_eigenvalues_count_from_the_same_time(problem, batch) -> None:
    rising = sv.Schedule(times=(0.0, 10.0), values=(0.25, 2.0), shape="linear")
    changing = problem.replace(inputs__spectrum=sv.Spectrum(eigenvalues=(1.5, rising), weights=(1, 2)))
    found = batch.risk_on(changing)
    for i, time in enumerate(batch.alpha):
        assert found.values[:, i] == pytest.approx(batch.risk_on(changing.at(time)).values[:, i], rel=1e-12)


def test_what_a_run_did_not_reach_is_nan(problem) -> None:
    start = sv.start(problem, seed=0, readout=[0.4, 0.7])
    stop = sv.when("risk", below=0.9, relative=True)
    run = sv.run(problem, start, sv.Macro(), until=50, stop=stop, keep_blocks=True, progress=False)
    found = run.risk_on(problem.replace(teacher__readout=(1.0, 1.0)))
    assert np.isnan(found.values).tolist() == np.isnan(run.risk).tolist()
    assert np.isnan(found.values).any()


def test_rows_that_do_not_fit_are_refused_in_one_line(problem, batch) -> None:
    for changes, text in [
        (
            {"student__width": 3},
            r"^risk_on: the other problem has \(students, teachers\) = \(3, 2\), the run \(2, 2\)$",
        ),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(1.5, 0.25))}, r"^risk_on: .* blocks of inputs"),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, 2.0, 3.0))}, r"^risk_on: .* 3 blocks of inputs"),
        ({"teacher__overlap": [[1.0, 0.5], [0.5, 1.0]]}, r"^teacher_overlap: differs"),
    ]:
        with pytest.raises(ValueError, match=text) as told:
            batch.risk_on(problem.replace(**changes))
        assert "\n" not in str(told.value)
    with pytest.raises(TypeError, match=r"^risk_on: must be given a Problem, not dict$"):
        batch.risk_on({})
    brief = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), until=1, progress=False)
    with pytest.raises(ValueError, match=r"^risk_on: .* keep_blocks=True$"):
        brief.risk_on(problem)
    assert brief.risk_on(problem.replace(inputs__spectrum=None)).shape == brief.risk.shape


MOVING = sv.Schedule(times=(0.0, 4.0), rates=(0.2, 0.7), shape="linear")
LESS = sv.Schedule(times=(0.0, 4.0), rates=(0.8, 0.3), shape="linear")
CLASSES = sv.Mixture(probabilities=(0.3, 0.7), means=((1.0,), (-0.6,)), labels=(1.0, -0.5), variances=(0.7, 1.3))
TASKS = (sv.Task(readout=(1.0, 0.0), probability=MOVING), sv.Task(readout=(0.3, -0.6), probability=LESS))


@pytest.fixture(scope="module")
def with_cases(problem) -> sv.Trajectory:
    several = problem.replace(
        teacher__readout="mean", mixture=CLASSES, tasks=TASKS, training__anchor=0.2, training__dropout={"keep": 0.8}
    )
    start = sv.start(several, seed=0, readout=[[0.4, 0.7], [0.2, -0.5]])
    return sv.run(several, start, sv.Macro(), times=[0.0, 2.0, 7.0], keep_blocks=True, progress=False)


def test_classes_and_tasks_on_their_own_problem_are_the_run(with_cases) -> None:
    assert with_cases.risk_on(with_cases.problem).values == pytest.approx(with_cases.risk, rel=1e-12)


@pytest.mark.parametrize("blocks", [1, 2])
def test_a_task_asked_alone_is_its_risk(problem, with_cases, blocks) -> None:
    """Tasks that never change, and none of the first: the risk of the second. Without classes: that of single readouts."""
    second = tuple(one.replace(probability=float(i)) for i, one in enumerate(TASKS))
    spectrum = problem.inputs.spectrum if blocks == 2 else None
    alone = with_cases.problem.replace(tasks=second, inputs__spectrum=spectrum)
    found = with_cases.risk_on(alone).values
    if blocks == 2:
        assert found == pytest.approx(with_cases.task_risk[:, :, 1], rel=1e-12)
    plain = alone.replace(mixture=None, training__anchor=0.0, training__dropout=None)
    bare = with_cases.risk_on(plain)
    for i, time in enumerate(with_cases.time):
        state = with_cases.at(time)
        parts = [state.block_student_overlap, state.block_cross_overlap, state.block_teacher_overlap]
        if blocks == 1:
            parts = [part.sum(axis=0, keepdims=True) for part in parts]
        single = problem.replace(teacher__readout=TASKS[1].readout, inputs__spectrum=spectrum)
        expected = risk_by_quadrature(single, sv.Overlaps(*parts, state.readout[1]))
        assert bare[0, i] == pytest.approx(expected, rel=1e-6)
        assert abs(found[0, i] / expected - 1) > 1e-3


def test_probabilities_count_from_the_same_time(with_cases) -> None:
    found, other = with_cases.risk_on(with_cases.problem).values, with_cases.problem
    for i, time in enumerate(with_cases.alpha):
        assert found[:, i] == pytest.approx(with_cases.risk_on(other.at(time)).values[:, i], rel=1e-12)
    assert np.abs(with_cases.risk_on(other.at(0.0)).values[:, -1] / found[:, -1] - 1).max() > 1e-3


def test_cases_that_do_not_fit_are_refused_in_one_line(problem, batch, with_cases) -> None:
    several = with_cases.problem
    wider = sv.Mixture(probabilities=(0.5, 0.5), means=((1.0, 0.0), (-1.0, 0.5)), labels=(1.0, -1.0))
    longer = sv.Mixture(probabilities=(0.5, 0.5), means=((1.0,), (-1.0,)), labels=(1.0, -1.0), gram=((2.0,),))
    for run, other, text in [
        (batch, problem.replace(mixture=CLASSES), r"^risk_on: the other problem has 1 directions of means, the run 0$"),
        (
            batch,
            problem.replace(teacher__readout="mean", tasks=TASKS),
            r"^risk_on: the other problem has readouts for 2 heads, the run for 1$",
        ),
        (
            with_cases,
            several.replace(tasks=()),
            r"^risk_on: the other problem has readouts for 1 heads, the run for 2$",
        ),
        (with_cases, several.replace(mixture=wider), r"^risk_on: the other problem has 2 directions .* the run 1$"),
        (
            with_cases,
            several.replace(mixture=longer),
            r"^start: its directions overlap otherwise than mixture.gram says",
        ),
        (
            batch,
            problem.replace(teacher__drift=0.1),
            r"^teacher\.drift: is 0\.1; `risk_on` does not know this setting$",
        ),
        (batch, problem.replace(teacher__rotation=0.1), r"^teacher\.rotation: is 0\.1; `risk_on` does not know"),
    ]:
        with pytest.raises(ValueError, match=text) as told:
            run.risk_on(other)
        assert "\n" not in str(told.value)
    turning = problem.replace(teacher__rotation=0.1)
    moved = sv.run(turning, sv.start(turning, seed=0), sv.Macro(), until=1, keep_blocks=True, progress=False)
    with pytest.raises(
        ValueError, match=r"^teacher\.rotation: is 0\.1; `risk_on`, of a run, does not know this setting$"
    ):
        moved.risk_on(problem)


def test_a_trajectory_is_a_sequence_of_runs(batch) -> None:
    assert len(batch) == 4
    assert [one.risk.tolist() for one in batch] == batch.risk[:, None].tolist()
    for number, one in enumerate(batch):
        assert len(one) == 1
        assert one.problem.training.learning_rate == batch.labels["learning_rate"][number]
        assert one.last() == batch.last(number) == batch.states()[number]
        assert one.at(2.0) == batch.at(2.0, number) == batch.states(2.0)[number]
    assert batch[-1].last() == batch.last(3)
    assert batch[1:3].risk.tolist() == batch.risk[1:3].tolist()
    with pytest.raises(IndexError, match=r"^trajectory: run 4 given, must be from 0 to 3$"):
        batch[4]
