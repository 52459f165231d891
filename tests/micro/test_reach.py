"""Looks that are left out: no run can have passed its threshold meanwhile."""

import numpy as np
import pytest

import solvable as sv
from gate import first, only
from seeds import seed
from solvable.levels import Lane, Plan
from solvable.levels.records import Records
from solvable.micro import looking, reduced
from solvable.micro.reach import ADDEND, steepness
from solvable.results import Ending


def _bump(z):
    return 0.5 * np.exp(-((z - 0.55) ** 2) / 0.0018)


WIGGLE = sv.Activation("wiggle", lambda z: z + 0.5 * np.sin(2 * z), lambda z: 1 + np.cos(2 * z))
UNITS = {
    "linear": "linear", "quadratic": "quadratic", "erf": "erf", "relu": "relu", "tanh": "tanh",
    "hermite": sv.problems.Hermite(coefficients=(0.1, 1.0, 0.5, 0.3)), "own": WIGGLE,
}  # fmt: skip
ROUGH = {  # between the nodes of a rule
    "steep": sv.Activation("steep", lambda z: np.tanh(30 * z), lambda z: 30 * (1 - np.tanh(30 * z) ** 2)),
    "bump": sv.Activation("bump", lambda z: z + _bump(z), lambda z: 1 - (z - 0.55) / 0.0009 * _bump(z)),
}


def problem_of(unit, p=3, q=2, **fields):
    return sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, overlap="sampled"),
        student=sv.Student(width=p, activation=unit),
        inputs=sv.Inputs(dim=320, **fields),
        training=sv.Training(learning_rate=0.2, loss_factor=0.5),
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("unit", "quantity", "blocks"),
    [
        *((unit, "risk", 1) for unit in (*UNITS, *ROUGH)),
        ("erf", "risk", 2), ("erf", "cross_overlap", 1), ("erf", "norm", 2), ("erf", "student_overlap", 1),
    ],
)  # fmt: skip
def test_runs_stop_at_the_first_look_past_the_level(unit, quantity, blocks):
    """As a run without a threshold says that has an output at every look, from the same stream."""
    spectrum = {} if blocks == 1 else {"spectrum": sv.Spectrum(eigenvalues=(0.2, 1.8), weights=(0.5, 0.5))}
    problem, (runs, last) = problem_of((UNITS | ROUGH)[unit], **spectrum), (2, 640) if unit in ROUGH else (6, 1920)
    start, level = sv.start(problem, seed=seed(0)), sv.Micro(runs=runs, seed=seed(1))
    whole = sv.run(problem, start, level, times=np.arange(0, last + 1, 16), clock="steps")
    values = {
        "risk": whole.risk,
        "cross_overlap": np.abs(whole.cross_overlap).max(axis=(2, 3)),
        "norm": np.diagonal(whole.student_overlap, axis1=2, axis2=3).max(axis=2),
        "student_overlap": np.abs(np.tril(whole.student_overlap, -1)).max(axis=(2, 3)),
    }[quantity]
    begin, end = values[:, 0].mean(), values[:, -1].mean()
    limit = 0.5 * (begin + end)
    falls = {"below": limit} if end < begin else {"above": limit}
    stopped = sv.run(problem, start, level, times=[last], clock="steps", stop=sv.when(quantity, **falls))
    for run in range(runs):
        past = values[run] <= limit if end < begin else values[run] >= limit
        assert past.any() == (stopped.ending[run] is sv.results.Ending.STOPPED)
        if past.any():
            assert stopped.end_time[run] == 16 * np.argmax(past)


RAMP = sv.Schedule(times=(0.0, 6.0), rates=(0.6, 1.8), shape="linear")
SHARES = tuple(sv.Schedule(times=(0.0, 6.0), rates=rates, shape="linear") for rates in ((0.2, 0.8), (0.8, 0.2)))
TASKS = tuple(
    sv.Task(readout=readout, probability=share, head=head)
    for head, (readout, share) in enumerate(zip(((1.0, 0.0), (0.3, 1.0)), SHARES, strict=True))
)
WAYS = {  # what else may change what is watched
    "readouts": {"training__train_readout": True},
    "eigenvalues": {
        "inputs__spectrum": sv.Spectrum(eigenvalues=(RAMP, 0.5), weights=(0.5, 0.5)), "training__train_readout": True,
    },
    "tasks": {"tasks": TASKS, "training__train_readout": True},
    "classes": {
        "mixture": sv.Mixture(means=((0.7, 0.2), (-0.7, 0.5)), probabilities=(0.5, 0.5), labels=(1.0, -1.0)),
        "training__train_bias": True, "student__bias": 0.2,
    },
    "momentum": {"training__momentum": 0.5},
    "momentum and drift": {"training__momentum": 0.5, "teacher__drift": 0.2},
    "batches": {"training__batch": 3},
    "drift": {"teacher__drift": 0.3},
    "rotation": {"teacher__rotation": 0.5},
    "drift and eigenvalues": {
        "teacher__drift": 0.3, "inputs__spectrum": sv.Spectrum(eigenvalues=(RAMP, 0.5), weights=(0.5, 0.5)),
    },
}  # fmt: skip


def varied(unit, way, **more):
    return problem_of(UNITS[unit]).replace(**WAYS[way] | more)


def group_of(problem, start, stop, runs=1, number=5):
    """A group of runs that nobody has begun, and its records."""
    lane = Lane(problem, start)
    records = Records([lane], Plan(np.array([0.0, 6.0]), stop=stop), runs)
    seeds = [np.random.SeedSequence([number, i]) for i in range(runs)]
    group = reduced.groups([lane] * runs, seeds, records)[0]
    group._prepare()
    return group


def watched(group, step):
    """What is watched in the present states."""
    ys = group._overlaps()
    return np.array([one.see(y, step / group.records.dim)[0][1] for one, y in zip(group.observers, ys, strict=True)])


@pytest.mark.statistical
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("unit", "quantity"),
    first(
        [
            ("erf", "risk"),
            ("erf", "norm"),
            ("hermite", "risk"),
            ("relu", "risk"),
            ("erf", "readout"),
            ("erf", "cross_overlap"),
        ],
        2,
    ),
)
def test_nothing_out_of_reach_has_changed_by_as_much(unit, quantity, way):
    """Between states of real runs: whatever the bound says cannot have happened has not, for levels near and far."""
    problem = varied(unit, way)
    start = sv.start(problem, seed=seed(6))
    group, random, told = (
        group_of(problem, start, sv.when(quantity, below=0.0), 4, seed(5)),
        np.random.default_rng(seed(7)),
        0,
    )
    skip = 0 if group.observers[0].compiled or quantity != "risk" else 1e-3  # an average over nodes has its error
    for step in range(0, 960, 48):
        values, begin = watched(group, step), group._overlaps()
        gaps = np.abs(values) * 10 ** random.uniform(-2, 0.7, 4) * random.choice([-1, 1], 4)
        if quantity == "risk":
            gaps = np.maximum(gaps, -0.99 * values)
        for i in range(4):
            group.fates[i].level = values[i] + gaps[i]
            looking.note(group.process, group.sight, group.fates, i, step, values[i], skip * values[i], begin[i])
        for gone in (16, 32, 48):
            group.follow(*_followed(group), (step + gone - 16, step + gone, 10**9, 0))
            there = watched(group, step + gone)
            for i in range(4):
                if out_of_reach(group, i, step + gone):
                    told += 1
                    assert (there[i] - values[i] - gaps[i]) * np.sign(gaps[i]) < 0
    assert told > 10


def _followed(group):
    return *group.equations, group.looks.look, group.observe, group.process, group.sight, group.fates, group.ends


def out_of_reach(group, lane, step):
    """What a look decides."""
    time, sight = step / group.records.dim, group.sight
    segment = int(np.searchsorted(sight[0]["begin"], time, side="right")) - 1
    looking.measure(group.process, sight, segment, time, True)
    at = group.process[6].size // 8
    return not looking.may_have_passed(group.fates[lane], sight, segment, lane, time, at)


def assert_no_look_is_missed(problem, monkeypatch):
    """Runs end where they end if all looks are taken."""
    start, level = sv.start(problem, seed=seed(8)), sv.Micro(runs=6, seed=seed(9), threads=1)
    whole = sv.run(problem, start, level, until=6)
    first, last = whole.risk[:, 0].mean(), np.nanmean(whole.risk[:, -1])
    limit = {"below" if last < first else "above": 0.5 * (first + last)}
    found = sv.run(problem, start, level, times=[6], stop=sv.when("risk", **limit))
    monkeypatch.setattr(reduced, "bounds_of", lambda *_: np.full(7, np.inf))
    every = sv.run(problem, start, level, times=[6], stop=sv.when("risk", **limit))
    assert np.array_equal(found.end_time, every.end_time)
    assert list(found.ending) == list(every.ending)
    assert Ending.STOPPED in found.ending


@pytest.mark.statistical
@pytest.mark.parametrize("way", only(WAYS, "tasks", "classes", "drift and eigenvalues"))
@pytest.mark.parametrize("unit", first(["erf", "quadratic", "tanh"]))
def test_looks_that_are_left_out_change_no_result(unit, way, monkeypatch):
    rate = {"training__learning_rate": 0.03} if unit == "quadratic" else {}
    assert_no_look_is_missed(varied(unit, way, **rate), monkeypatch)


@pytest.mark.statistical
@pytest.mark.parametrize("way", ["eigenvalues", "tasks", "rotation", "drift"])
def test_what_changes_while_students_stand_still_is_seen(way, monkeypatch):
    """Students whose rate is next to nothing."""
    still = {"training__learning_rate": 1e-7, "training__train_readout": False}
    assert_no_look_is_missed(varied("erf", way, **still), monkeypatch)


@pytest.mark.statistical
def test_what_changes_along_means_is_seen(monkeypatch):
    """Inputs that hardly differ but by their means."""
    mixture = sv.Mixture(means=((3.0,), (-3.0,)), probabilities=(0.5, 0.5), labels=(1.0, -1.0))
    few = {"mixture": mixture, "inputs__spectrum": sv.Spectrum(eigenvalues=(1e-6,), weights=(1.0,))}
    assert_no_look_is_missed(problem_of("erf").replace(**few), monkeypatch)


def test_steepest_steps_come_close_to_the_level():
    """Where fields are small and aligned the bound is nearly what happens: it is not merely small."""
    problem = problem_of("erf", 1, 1)
    start = sv.start(problem, student_overlap=[[0.01**2]], cross_overlap=[[0.01 * 0.03]], teacher_overlap=[[0.03**2]])
    here, there = (sv.dynamics.moments(np.outer([w, 0.03], [w, 0.03]), problem).risk for w in (0.01, 0.0105))
    group = group_of(problem, start, sv.when("risk", below=there))
    looking.note(group.process, group.sight, group.fates, 0, 0, here, 0.0, group._overlaps()[0])
    run = group.fates[0]
    assert (run.root - run.goal - run.slack) / run.of_students == pytest.approx(0.0005, rel=0.02)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("width", [1, 3])
def test_no_step_within_reach_passes_the_level(unit, width):
    """Random steps and steps along the slope of the risk, of the length that is allowed."""
    problem, random = problem_of(UNITS[unit], width, width), np.random.default_rng(seed(2))
    for size in (0.1, 0.5):
        teachers = size * random.standard_normal((width, 4))
        students = teachers + 0.5 * size * random.standard_normal((width, 4))

        def root(W, teachers=teachers):
            z = np.vstack([W, teachers])
            return np.sqrt(sv.dynamics.moments(z @ z.T, problem).risk)

        slope = np.array([[(root(students + h) - root(students - h)) / 2e-6 for h in row] for row in _steps(students)])
        here = root(students)
        parts = students @ students.T, students @ teachers.T, teachers @ teachers.T
        start = sv.start(
            problem, **dict(zip(("student_overlap", "cross_overlap", "teacher_overlap"), parts, strict=True))
        )
        group = group_of(problem, start, sv.when("risk", below=1e-9))
        for level in ((0.98 * here) ** 2, (1.02 * here) ** 2):
            group.fates[0].level = level
            looking.note(group.process, group.sight, group.fates, 0, 0, here**2, 0.0, group._overlaps()[0])
            run = group.fates[0]
            allowed = min(run.limit, (0.999 * abs(run.root - run.goal) - run.slack) / run.of_students)
            assert allowed > 0
            side = np.sign(np.sqrt(level) - here)
            for step in [side * slope, *random.standard_normal((20, width, 4))]:
                there = root(students + allowed * step / np.linalg.norm(step))
                assert side * (there - np.sqrt(level)) < 0


def _steps(W):
    """(rows, columns) steps of 1e-6 in one coordinate each."""
    return 1e-6 * np.eye(W.size).reshape(*W.shape, *W.shape)


@pytest.mark.parametrize("quantity", ["cross_overlap", "student_overlap", "norm"])
def test_no_step_within_reach_changes_overlaps_by_more(quantity):
    random, problem = np.random.default_rng(3), problem_of("erf", 2, 2)
    for _ in range(20):
        W, T = random.standard_normal((2, 5)), random.standard_normal((2, 5))

        def value(W, T=T):
            Q, R = W @ W.T, W @ T.T
            return {"cross_overlap": np.abs(R).max(), "student_overlap": abs(Q[0, 1]), "norm": np.diag(Q).max()}[
                quantity
            ]

        level = value(W) * random.uniform(0.5, 1.5)
        start = sv.start(problem, student_overlap=W @ W.T, cross_overlap=W @ T.T, teacher_overlap=T @ T.T)
        group = group_of(problem, start, sv.when(quantity, below=level))
        looking.note(group.process, group.sight, group.fates, 0, 0, value(W), 0.0, group._overlaps()[0])
        run = group.fates[0]
        allowed = 0.999 * abs(run.root - run.goal) / run.of_students
        assert allowed > 0
        side = np.sign(level - value(W))
        steps = [W, -W, W[::-1], -W[::-1], np.sign(W @ T.T) @ T, *random.standard_normal((20, 2, 5))]
        for step in steps:
            assert side * (value(W + allowed * step / np.linalg.norm(step)) - level) < 0


@pytest.mark.parametrize("unit", ["erf", "relu", "tanh", "own", *ROUGH])
def test_no_slope_is_steeper_than_the_bound(unit):
    """Nor much less steep, on places that the bound does not look at."""
    problem = problem_of((UNITS | ROUGH)[unit])
    slopes = np.abs(problem.student.unit.derivative(np.linspace(-40, 40, 400_001)))
    assert slopes.max() <= steepness(problem.student)[0] < 1.002 * slopes.max()


def test_means_of_classes_are_part_of_the_bound():
    """The square of the longest mean, with the directions as they are."""
    problem = varied("erf", "classes")
    group = group_of(problem, sv.start(problem, seed=0), sv.when("risk", below=1e-9))
    gram = group.lanes[0].start.stacked.sum(axis=0)[-2:, -2:]
    means = np.array([[0.7, 0.2], [-0.7, 0.5]])
    assert group.sight[6][ADDEND] == pytest.approx(max(m @ gram @ m for m in means))
