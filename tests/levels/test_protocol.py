"""What every level promises to `run`, and every trajectory to those who read it, whatever the level."""

import ast
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import solvable as sv
from solvable.results.storage import required
from solvable.results.traits import TRAITS, traits_of

PROBLEM = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.05, N=30)
LIMIT = PROBLEM.replace(  # which needs bounded units where particles are few
    training__samples=400, training__learning_rate=30.0, student__activation="erf", teacher__activation="erf"
)
START = sv.start(PROBLEM, seed=0)
OTHER = sv.start(PROBLEM, seed=1)
TIMES = [0.0, 1.0, 3.0, 10.0]
LEVELS = {
    "macro": sv.Macro(),
    "meso": sv.Meso(runs=2),
    "micro": sv.Micro(runs=2),
    "full weights": sv.Micro(runs=2, form="full"),
    "empirical": sv.Empirical(runs=2),
    "empirical_macro": sv.EmpiricalMacro(particles=512, replicas=2),
}
DRAWING = [name for name in LEVELS if "runs" in vars(LEVELS[name])]
CLOCKS = {"empirical_macro": "steps"}
every_level = pytest.mark.parametrize("name", LEVELS)


def problem_of(name: str) -> sv.Problem:
    if name == "empirical_macro":
        return LIMIT
    return PROBLEM.replace(training__samples=400) if name == "empirical" else PROBLEM


def follow(name: str, start: Any = START, level: Any = None, **options: Any) -> sv.Trajectory:
    """In units of alpha, which all levels share; the limit of a data set in steps, of which it takes few."""
    options = {"clock": CLOCKS.get(name, "alpha"), "times": None if "until" in options else TIMES} | options
    return sv.run(problem_of(name), start, level or LEVELS[name], **options)


def same(a: sv.Trajectory, b: sv.Trajectory) -> bool:
    names = ("alpha", "risk", "student_overlap", "cross_overlap", "readout", "end_alpha", "endings", "start_risk")
    return all(np.array_equal(getattr(a, one), getattr(b, one), equal_nan=True) for one in names)


def test_all_levels_are_here() -> None:
    assert {level.name.replace("_", "") for level in LEVELS.values()} == {name.lower() for name in sv._LEVELS}


@every_level
def test_verbs(name: str) -> None:
    level = LEVELS[name]
    assert sv.results.Clock(PROBLEM, level.clock).unit == level.clock
    assert level.domain.samples == name.startswith("empirical")
    assert json.loads(json.dumps(level.settings())) == level.settings()
    assert "threads" not in level.settings()
    assert callable(level.check)
    assert callable(level.solve)
    assert level == replace(level)


@every_level
def test_traits(name: str) -> None:
    """Those that a stored result finds by the level's name are the level's."""
    level = LEVELS[name]
    found = follow(name)
    assert traits_of(found) is level.traits
    assert level.traits.has_replicas == ("replicas" in vars(level))
    assert level.traits.solves_equations == (name == "macro")
    clock = level.own_clock(problem_of(name))
    assert (clock.unit, clock.base) == (level.clock, "steps" if name in CLOCKS else "alpha")
    if not level.traits.watches_functions:
        with pytest.raises(ValueError, match=f"{type(level).__name__} watches named quantities only"):
            follow(name, stop=sv.when(lambda state: state.readout.sum(), above=2.0))


def test_a_level_that_lacks_something_is_told_what() -> None:
    class Bare:
        name, clock, domain = "bare", "alpha", LEVELS["macro"].domain

        def solve(self, lanes: Any, plan: Any) -> None: ...

    with pytest.raises(TypeError, match=r"run: Bare is no levels.Level, it lacks traits, own_clock, settings, check$"):
        follow("macro", level=Bare())


def test_nobody_compares_names_of_levels() -> None:
    """What a level is like, it says itself (`results/traits.py`)."""
    names, found = {*TRAITS, *sv._LEVELS} - {"weights"}, []
    for path in Path(sv.__file__).parent.rglob("*.py"):
        for one in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(one, ast.Compare):
                parts = [part for side in (one.left, *one.comparators) for part in (side, *getattr(side, "elts", ()))]
                words = {part.value for part in parts if isinstance(part, ast.Constant) and isinstance(part.value, str)}
                found += [f"{path.name}:{one.lineno}"] if names & words else []
    assert found == []


@every_level
def test_curves(name: str) -> None:
    found, runs = follow(name, keep_blocks=True), getattr(LEVELS[name], "runs", 1)
    assert found.level == LEVELS[name].name
    assert found.settings == LEVELS[name].settings() | (
        {"interpreted": True} if found.settings.get("interpreted") else {}
    )
    assert found.success
    assert found.ending == [sv.results.Ending.FINISHED] * runs
    assert np.allclose(found.alpha, TIMES)
    assert np.allclose(found.time, TIMES)
    assert np.allclose(found.end_alpha, TIMES[-1])
    assert found.risk.shape == found.risk_error.shape == found.overlap_error.shape == (runs, 4)
    assert (found.risk[:, -1] < found.risk[:, 0]).all()
    assert np.allclose(found.start_risk, found.risk[:, 0])
    assert np.allclose(found.student_overlap[:, 0], START.student_overlap, atol=1e-12)
    assert np.allclose(found.cross_overlap[:, 0], START.cross_overlap, atol=1e-12)
    assert found.blocks.student.shape == (runs, 4, 1, 2, 2)
    assert np.allclose(found.blocks.student.sum(axis=2), found.student_overlap, atol=1e-14, equal_nan=True)
    assert np.allclose(found.blocks.cross.sum(axis=2), found.cross_overlap, atol=1e-14, equal_nan=True)
    assert found.start_hash.tolist() == [START.hash] * runs
    assert (found.nfev > 0).all()


@every_level
def test_states(name: str) -> None:
    found = follow(name)
    for run, state in enumerate(found.states()):
        assert np.allclose(state.student_overlap, found.student_overlap[run, -1], atol=1e-10)
        assert np.allclose(found.at(3.0, run).cross_overlap, found.cross_overlap[run, 2], atol=1e-10)
        learned = problem_of(name)
        risk = sv.dynamics.moments(sv.dynamics.field_covariance(learned, state), learned, state.readout).risk
        assert risk == pytest.approx(found.risk[run, -1], rel=1e-8)
        assert risk == pytest.approx(found.end_risk[run], rel=1e-8)
    with pytest.raises(ValueError, match="is not an output time, the nearest is"):
        found.at(2.0, 0)
    with pytest.raises(ValueError, match="must be from 0 to"):
        found.last(7)


@pytest.mark.parametrize("name", [name for name in LEVELS if not LEVELS[name].domain.samples])
def test_several_blocks_and_trained_readouts(name: str) -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=200, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
        training=sv.Training(learning_rate=1.0, train_readout=True),
    )
    found = sv.run(problem, sv.start(problem, seed=0), LEVELS[name], times=TIMES, keep_blocks=True)
    runs = len(found.risk)
    assert found.blocks.student.shape == found.blocks.cross.shape == (runs, 4, 2, 2, 2)
    assert np.allclose(found.blocks.student.sum(axis=2), found.student_overlap, atol=1e-14)
    assert (found.readout[:, -1] != found.readout[:, 0]).all()
    for run, state in enumerate(found.states()):
        risk = sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem, state.readout).risk
        assert risk == pytest.approx(found.risk[run, -1], rel=1e-8)
        assert np.allclose(state.block_cross_overlap, found.blocks.cross[run, -1], atol=1e-10)
        assert np.allclose(found.at(3.0, run).readout, found.readout[run, 2], atol=1e-12)
    assert sv.run(problem, found.last(0), LEVELS[name], until=1).success


@every_level
def test_restart(name: str) -> None:
    first = follow(name)
    state = first.last(0)
    then = follow(name, state)
    assert then.success
    assert then.start_hash[0] == state.hash
    assert then.risk[0, 0] == pytest.approx(first.risk[0, -1], rel=1e-8)


@every_level
def test_labels_are_those_of_all_levels(name: str) -> None:
    data, plain = follow(name).data, follow("macro").data
    of_samples = {"training_loss", "matrix", "teacher_matrix", "weights", "teacher_weights", "population_loss"}
    further = of_samples if name == "empirical" else set()
    if name == "empirical_macro":
        further = {"training_loss", "training_loss_error", "identity_residual", "population_loss", "gap"}
    assert set(data.data_vars) - further == set(plain.data_vars) == required() - {"alpha"}
    assert further <= set(data.data_vars)
    assert set(data.coords) == set(plain.coords) == {"time", "alpha", "run", "eigenvalue"}
    for one in (*plain.data_vars, *plain.coords):
        assert data[one].dims == plain[one].dims
        assert data[one].attrs == plain[one].attrs or (name in CLOCKS and one in ("time", "alpha"))
    unit = (
        {"long_name": "steps", "unit": "steps"} if name in CLOCKS else {"long_name": "α = steps / dim", "unit": "alpha"}
    )
    assert data.time.attrs == unit
    assert data.attrs.keys() - {"base"} == plain.attrs.keys()


@every_level
def test_files(name: str, tmp_path) -> None:
    found = follow(name, stop=sv.when("risk", below=0.5, relative=True), until=20)
    found.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert same(found, again)
    assert again.problem == found.problem
    assert again.settings == found.settings
    assert again.stop == found.stop
    assert again.message == found.message
    assert again.last(0).hash == found.last(0).hash


@every_level
def test_the_same_again(name: str) -> None:
    assert same(follow(name), follow(name))
    assert same(follow(name), follow(name, level=replace(LEVELS[name], threads=1)))


@pytest.mark.parametrize("name", DRAWING)
def test_another_seed_is_another_run(name: str) -> None:
    found, other = follow(name), follow(name, level=replace(LEVELS[name], seed=1))
    assert not np.array_equal(found.risk[0], found.risk[1])
    assert not np.isin(other.risk[:, -1], found.risk[:, -1]).any()
    more = follow(name, level=replace(LEVELS[name], runs=3))
    assert same(more.select(run=[0, 1]), found)


@every_level
def test_a_threshold(name: str) -> None:
    until = 40.0 if name in CLOCKS else 400.0
    found = follow(name, stop=sv.when("risk", below=0.5, relative=True), until=until)
    assert found.ending == [sv.results.Ending.STOPPED] * len(found.risk)
    assert found.success
    assert "threshold" in found.message
    assert np.array_equal(found.exit_time(), found.end_time)
    share = found.end_risk / found.start_risk  # Micro looks every 16 steps, which is half a unit of alpha here
    assert ((share > 0.2) & (share <= 0.5 + 1e-9)).all()
    for run in range(len(found.risk)):
        reached = np.isfinite(found.risk[run])
        assert reached.any()
        assert np.array_equal(reached, found.time <= found.end_time[run])
    with pytest.raises(ValueError, match="ended before"):
        found.at(until, 0)


@every_level
def test_batches(name: str) -> None:
    level, starts = LEVELS[name], [START, OTHER]
    rates = [0.02, problem_of(name).training.learning_rate]
    clock = CLOCKS.get(name, "alpha")
    found = sv.levels.run_batch(problem_of(name), starts, level, times=TIMES, clock=clock, learning_rates=rates)
    runs = getattr(level, "runs", 1)
    assert found.labels["learning_rate"].tolist() == np.repeat(rates, 2 * runs).tolist()
    assert found.labels["start"].tolist() == np.tile(np.repeat([0, 1], runs), 2).tolist()
    assert found.start_hash.tolist() == [starts[i].hash for i in found.labels["start"]]
    alone = follow(name, OTHER)
    assert np.allclose(found.select(learning_rate=rates[1], start=1).risk, alone.risk, rtol=1e-12)


@every_level
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"until": -1.0}, "until: -1.0 given, must be a positive finite time"),
        ({"until": np.inf}, "until: inf given, must be"),
        ({"times": [0.0, 2.0, 1.0]}, "times: must be finite, not negative and increasing"),
        ({"times": [-1.0, 1.0]}, "times: must be finite, not negative"),
        ({"times": ["soon"]}, "must be numbers"),
        ({"times": [0.0, 9.0], "until": 5.0}, "is past until=5.0"),
        ({"clock": "days"}, "clock: 'days' given, must be one of"),
        ({"stop": 0.5}, "stop: must come from when"),
        ({"start": None}, "run: a start must be Overlaps"),
        ({"start": sv.start(PROBLEM.replace(student__width=3), seed=0)}, "student"),
    ],
    ids=str,
)
def test_bad_input(name: str, options: dict, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        follow(name, **options)


@every_level
def test_a_level_refuses_bad_fields(name: str) -> None:
    level = LEVELS[name]
    with pytest.raises(TypeError, match=rf"not the class {type(level).__name__}; write {type(level).__name__}\(\)"):
        follow(name, level=type(level))
    with pytest.raises(ValueError, match="threads: 0 given, must be a whole number, at least 1"):
        replace(level, threads=0)
    for field in {"runs", "max_steps"} & set(vars(level)):
        with pytest.raises(ValueError, match=f"{field}: 0 given, must be a whole number, at least 1"):
            replace(level, **{field: 0})
    if not level.domain.samples:
        with pytest.raises(ValueError, match=r"training.samples: 5 given, but .* sees every sample once"):
            sv.run(PROBLEM.replace(training__samples=5), START, level, until=1)


CHANGING = sv.Schedule(times=(0.0, 8.0), rates=(0.3, 0.6), shape="linear")
REMAINING = sv.Schedule(times=(0.0, 8.0), rates=(0.7, 0.4), shape="linear")
SEVERAL = sv.Problem(  # classes, tasks with heads of their own, and anchors, on two blocks
    teacher=sv.Teacher(width=2, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    inputs=sv.Inputs(dim=60, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
    training=sv.Training(learning_rate=0.5, train_readout=True, anchor=0.05),
    mixture=sv.Mixture(probabilities=(CHANGING, REMAINING), means=((1.0,), (-0.6,)), labels=(0.5, -0.5)),
    tasks=sv.Task.sequence([(1.0, 0.0), (0.3, -0.6)], [3.0], replay=0.2),
)
ARRAYS_OF_CASES = ("extra_overlap", "task_risk")
with_cases = pytest.mark.parametrize("name", ["macro", "meso", "micro", "full weights"])


def follow_cases(name: str, problem: sv.Problem = SEVERAL, start: Any = None, **options: Any) -> sv.Trajectory:
    start = sv.start(SEVERAL, seed=0) if start is None else start
    return sv.run(problem, start, LEVELS[name], **{"times": TIMES, "keep_blocks": True} | options)


@with_cases
def test_curves_of_cases(name: str) -> None:
    found, runs = follow_cases(name), getattr(LEVELS[name], "runs", 1)
    assert found.success
    assert found.task_risk.shape == (runs, 4, 2)
    assert found.readout.shape == (runs, 4, 2, 2)
    assert found.extra_overlap.shape == (runs, 4, 3, 7)
    assert np.allclose(found.blocks.extra.sum(axis=2), found.extra_overlap, atol=1e-14)
    shares = np.array([[1, 0], [1, 0], [0.2, 0.8], [0.2, 0.8]])
    assert found.risk == pytest.approx((found.task_risk * shares).sum(axis=2), rel=1e-10)
    assert (np.abs(found.risk[:, -1] / found.risk[:, 0] - 1) > 1e-3).all()
    assert found.end_risk == pytest.approx(found.risk[:, -1], rel=1e-10)
    assert found.start_risk == pytest.approx(found.risk[:, 0], rel=1e-10)
    assert found.risk_on(SEVERAL).values == pytest.approx(found.risk, rel=1e-9)
    assert same(found, follow_cases(name))


@with_cases
def test_a_threshold_of_cases(name: str) -> None:
    """The risk that is watched is that of the tasks of its time: the second one comes at 3."""
    stop = sv.when("risk", below=0.4, relative=True)
    found = follow_cases(name, times=None, until=8.0, stop=stop)
    assert found.ending == [sv.results.Ending.STOPPED] * len(found.risk)
    assert (found.end_time >= 3.0).all()
    for run, time in enumerate(found.end_alpha):
        now = found.last(run)
        mix = sv.run(SEVERAL.later(time), now, sv.Macro(), times=[0.0]).risk[0, 0]
        assert mix <= 0.4 * found.start_risk[run] * (1 + 1e-6)


@with_cases
def test_states_of_cases(name: str) -> None:
    found = follow_cases(name)
    for run, state in enumerate(found.states()):
        for one, at in [(state, -1), (found.at(3.0, run), 2)]:
            assert one.extras == ("direction", "anchor", "anchor")
            assert np.allclose(one.block_extra_overlap, found.blocks.extra[run, at], atol=1e-10)
            assert np.allclose(one.block_cross_overlap, found.blocks.cross[run, at], atol=1e-10)
            assert np.allclose(one.readout, found.readout[run, at], atol=1e-12)
        begun = found.at(0.0, run)
        assert np.allclose(begun.anchor_overlap, begun.student_overlap, atol=1e-12)
        assert not np.allclose(state.anchor_overlap, state.student_overlap, atol=1e-3)


@with_cases
def test_restart_of_cases(name: str) -> None:
    """From the middle, where schedules and anchors go on: Macro to its tolerance, the others from the same risk on."""
    first = follow_cases(name, times=TIMES[:3])
    middle = first.last(0)
    then = follow_cases(name, SEVERAL.later(3.0), middle, times=[0.0, 7.0])
    assert then.success
    assert then.start_hash[0] == middle.hash
    assert then.risk[0, 0] == pytest.approx(first.risk[0, -1], rel=1e-8)
    assert then.task_risk[0, 0] == pytest.approx(first.task_risk[0, -1], rel=1e-8)
    assert np.allclose(then.extra_overlap[0, 0], first.extra_overlap[0, -1], atol=1e-10)
    if name == "macro":
        unbroken = follow_cases(name)
        assert then.risk[0, -1] == pytest.approx(unbroken.risk[0, -1], rel=1e-6)
        assert np.allclose(then.extra_overlap[0, -1], unbroken.extra_overlap[0, -1], atol=1e-6)


@with_cases
def test_files_of_cases(name: str, tmp_path) -> None:
    found = follow_cases(name)
    found.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert same(found, again)
    for array in ARRAYS_OF_CASES:
        assert np.array_equal(getattr(found, array), getattr(again, array))
    assert np.array_equal(found.blocks.extra, again.blocks.extra)
    assert again.problem == found.problem
    assert again.data.identical(found.data)
    assert again.last(0).hash == found.last(0).hash
    assert again.at(3.0, 0).hash == found.at(3.0, 0).hash


def test_a_run_of_one_level_leaves_the_others_alone() -> None:
    """Levels share packed records of a problem: one that writes into them would change later runs of another."""
    problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    before = sv.run(problem, start, sv.Macro(), until=10)
    for level in (sv.Meso(), sv.Micro(), sv.Macro(small_rate=True)):
        sv.run(problem, start, level, until=1, progress=False)
        assert (sv.run(problem, start, sv.Macro(), until=10).risk == before.risk).all(), level


@pytest.mark.parametrize(
    ("level", "settings"),
    [
        *((sv.Macro, {"small_rate": value}) for value in ("no", 1, None)),
        *((sv.Macro, {"seconds": value}) for value in (-1, 0, "5", True, float("nan"))),
        *((sv.Meso, {"leap": value}) for value in (0.0, "1", True)),
    ],
)
def test_settings_of_the_wrong_kind_are_refused(level, settings) -> None:
    (name,) = settings
    with pytest.raises(ValueError, match=f"{name}: .* given, must be"):
        level(**settings)


def test_settings_may_be_numbers_of_numpy() -> None:
    level = sv.Macro(small_rate=np.bool_(True), seconds=np.float32(2.5))
    assert level.small_rate is True
