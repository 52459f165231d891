"""Sweeps over what is inside classes and tasks, in Python and in files: problems of the points, and the names of their results."""

from pathlib import Path

import numpy as np
import pytest

import solvable as sv
from solvable.sweeps.files import read
from solvable.sweeps.grid import Grid
from solvable.sweeps.measures import Run

FILE = """
[student]
width = 2
activation = "erf"
[teacher]
width = 2
activation = "erf"
[inputs]
dim = 100
[training]
learning_rate = 0.1
[mixture]
probabilities = [0.5, 0.5]
means = [[1.0], [-1.0]]
labels = [1.0, -1.0]
[[tasks]]
readout = [1.0, 0.0]
probability = 0.5
[[tasks]]
readout = [0.0, 1.0]
probability = 0.5
[start]
seed = 0
[run]
until = 1.0
[sweep]
keep = ["risk", "direction_overlap", "task_risk"]
[vary]
"""


def planned(vary: str, path: Path) -> list[sv.Problem]:
    file = path / "sweep.toml"
    file.write_text(FILE + vary)
    points = list(read(file).points)
    assert len({point.key for point in points}) == len(points)
    return [point.problem for point in points]


@pytest.mark.parametrize(
    ("vary", "look"),
    [
        ('"mixture.gram" = [[[1.0]], [[4.0]]]', lambda one: one.mixture.gram),
        ('"mixture.labels" = [[1.0, -1.0], [2.0, 3.0]]', lambda one: one.mixture.labels),
        ('"tasks.1.readout" = [[0.6, 0.8], [1.0, 0.0]]', lambda one: one.tasks[1].readout),
        ('"training.dropout" = [{keep = 0.5}, {keep = 0.8}]', lambda one: one.training.dropout),
        ('"training.input_noise" = [0.1, 0.2]', lambda one: one.training.input_noise),
        ('"teacher.drift" = [0.1, 0.2]', lambda one: one.teacher.drift),
        (
            "tasks = [[{readout = [1.0, 0.0], probability = 1.0}], [{readout = [0.0, 1.0], probability = 1.0}]]",
            lambda one: one.tasks,
        ),
        (
            "mixture = [{probabilities = [1.0], means = [[1.0]]}, {probabilities = [1.0], means = [[2.0]]}]",
            lambda one: one.mixture,
        ),
    ],
)
def test_points_of_a_file(vary, look, tmp_path: Path) -> None:
    first, second = planned(vary, tmp_path)
    assert look(first) != look(second)
    assert first.hash != second.hash


def test_probabilities_follow_from_a_variable(tmp_path: Path) -> None:
    rules = '"tasks.0.probability" = "replay"\n"tasks.1.probability" = "1 - replay"\n'
    first, second = planned(f"replay = [0.1, 0.25]\n[derive]\n{rules}", tmp_path)
    assert [task.probability for task in first.tasks] == pytest.approx([0.1, 0.9])
    assert [task.probability for task in second.tasks] == pytest.approx([0.25, 0.75])


@pytest.mark.parametrize(
    ("vary", "message"),
    [
        ('"tasks.2.readout" = [[0.6, 0.8], [1.0, 0.0]]', "tasks.2.readout: 2 given, must be a number from 0 to 1"),
        ('"tasks.0.probability" = [0.2, 0.5]', "tasks.probability: must sum to 1, but sum to 0.7"),
        ('"tasks.readout" = [[0.6, 0.8]]', "tasks.readout: cannot vary inside tasks, which is a list"),
        ("teacher = [{width = 1}]", "teacher: is no name for a variable"),
    ],
)
def test_mistakes(vary, message, tmp_path: Path) -> None:
    with pytest.raises(sv.InvalidProblem, match=message):
        planned(vary, tmp_path)


def test_grid_in_python() -> None:
    from solvable.runfiles.runfile import RunTable, StartTable

    problem = sv.Problem(
        student=sv.Student(width=2, activation="erf"), training=sv.Training(learning_rate=0.1), inputs=sv.Inputs(dim=50),
        mixture=sv.Mixture.xor(1.0),
    )  # fmt: skip
    measure = Run(sv.Macro(), StartTable(seed=0), RunTable(until=1.0))
    grid = Grid(problem, measure, {"mixture": [sv.Mixture.xor(distance) for distance in (1.0, 2.0)]})
    points = [grid.point(number) for number in range(grid.size)]
    np.testing.assert_array_equal([point.problem.mixture.gram[0][0] for point in points], [1.0, 4.0])
    assert points[0].key != points[1].key
    assert points[0].key == Grid(problem, measure, {"mixture.variances": [(1.0,) * 4]}).point(0).key


def test_outputs_that_do_not_tell_what_is_forgotten_are_refused_before_anything_runs() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"), student=sv.Student(width=2, activation="erf"), inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=0.1), tasks=sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]),
    )  # fmt: skip
    vary, options = {"training.learning_rate": [0.1, 0.2]}, {"keep": ["forgetting"], "store": None, "workers": 0}
    with pytest.raises(
        ValueError, match=r"keep: 'forgetting' given, but task 0 ends at 2.0 \(steps/dim\), which is none of"
    ):
        sv.sweep(problem, vary, times=[0.0, 1.0, 3.0], **options)
    swept = sv.sweep(problem, vary, times=[0.0, 2.0, 3.0], **options)
    assert np.isfinite(swept.data["forgetting"].isel(time=-1, task=0)).all()


@pytest.fixture(scope="module")
def forgetful():
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"), student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=100), training=sv.Training(learning_rate=1.0, train_readout=True),
        tasks=sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [2.0]),
    )  # fmt: skip
    vary = {"training.learning_rate": np.geomspace(0.1, 2.0, 4), "tasks.1.readout": [(0.0, 1.0), (0.6, 0.8)]}
    keep = ["risk", "forgetting", "task_risk", "head_start", "readout"]
    return sv.sweep(problem, vary, times=[0.0, 2.0, 4.0], keep=keep, store=None, workers=0)


def test_pictures_of_kept_arrays(forgetful) -> None:
    """At the last output that has a value, an entry by itself; a task without any is left out."""
    from solvable.plot.sweep_entries import entries

    one = forgetful.data.isel({forgetful.data["done"].dims[1]: [0]})
    _, right = sv.plot.sweep(one).axes  # forgetting, which was kept
    assert right.get_ylabel() == "forgetting, task 1, last output"
    drawn = right.lines[0].get_ydata()
    np.testing.assert_allclose(drawn, one["forgetting"].isel(time=-1, task=0).values.ravel())
    assert [text.get_text() for text in sv.plot.sweep(one, "task_risk").axes[1].get_legend().get_texts()] == [
        "task 1",
        "task 2",
    ]
    data, names = entries(one, "head_start")  # NaN from the first sample of a task on
    assert names == ["head_start.0", "head_start.1"]
    np.testing.assert_allclose(
        data["head_start.1"].values.ravel(), one["head_start"].isel(time=1, task=1).values.ravel()
    )
    with pytest.raises(ValueError, match=r"quantity: 'forgetting.1' given, which has no values"):
        sv.plot.sweep(one, "forgetting.1")
    ax = sv.plot.lines(forgetful, "task_risk.1", "learning_rate", forgetful.data["done"].dims[1])
    assert ax.get_legend().get_title().get_text() == "task 2 readout"
    with pytest.raises(ValueError, match=r"'task_risk' has several entries, give one of task_risk.0, task_risk.1"):
        sv.plot.lines(forgetful, "task_risk", "learning_rate", forgetful.data["done"].dims[1])


def test_tables_have_a_column_for_each_entry(forgetful, tmp_path: Path, monkeypatch) -> None:
    import csv

    from solvable.sweeps import gather

    gather.export(forgetful.data, tmp_path / "all.csv")
    with open(tmp_path / "all.csv") as file:
        rows = list(csv.DictReader(file))
    assert {"forgetting.0", "forgetting.1", "task_risk.0", "task_risk.1", "readout.1.0"} <= rows[0].keys()
    np.testing.assert_allclose(
        [float(row["task_risk.1"]) for row in rows], forgetful.data["task_risk"].isel(task=1).values.ravel()
    )
    assert gather.left_out(forgetful.data, "all.csv") == []
    monkeypatch.setattr(gather, "COLUMNS", 3)
    assert gather.left_out(forgetful.data, "all.csv") == ["readout"]
    assert gather.left_out(forgetful.data, "all.nc") == []


def test_cells_on_a_logarithmic_axis() -> None:
    from solvable.plot.sweep_labels import edges_of

    np.testing.assert_allclose(edges_of(np.array([1.0, 100.0, 10000.0]), "log"), [0.1, 10.0, 1000.0, 100000.0])
    np.testing.assert_allclose(edges_of(np.array([1.0, 2.0, 4.0]), "linear"), [0.5, 1.5, 3.0, 5.0])


def test_whole_mixtures_and_tasks_are_called_by_what_differs() -> None:
    from solvable.sweeps.labels import labels_of

    assert labels_of("mixture", [sv.Mixture.xor(1.0), sv.Mixture.xor(2.0)]) == ["gram.0.0 = 1", "gram.0.0 = 4"]
    both = [sv.Mixture.xor(1.0), sv.Mixture.xor(2.0), sv.Mixture.xor(1.0, variance=0.5)]
    assert labels_of("mixture", both)[2] == "gram.0.0 = 1, variances.0 = 0.5"
    assert labels_of("tasks", [sv.Task.sequence([(1.0, 0.0), (0.0, 1.0)], [time]) for time in (1.0, 2.0)]) == [
        "0.probability.times.1 = 1", "0.probability.times.1 = 2",
    ]  # fmt: skip
    assert labels_of("tasks", [()]) == ["tasks"]


SIMILARITY = """
[student]
width = 2
activation = "erf"
[teacher]
width = 2
activation = "erf"
[inputs]
dim = 100
[training]
learning_rate = 0.1
[tasks]
sequence = [[1.0, 0.0], [0.0, 1.0]]
switches = [2]
[start]
scale = 0.1
[run]
until = 4.0
[vary]
"tasks.replay" = [0.0, 0.2]
similarity = [0.0, 0.3]
[derive]
teacher.overlap = "[[1, similarity], [similarity, 1]]"
"""


@pytest.mark.parametrize("rule", ['"[[1, similarity], [similarity, 1]]"', '[[1, "similarity"], ["similarity", 1]]'])
@pytest.mark.parametrize("listed", [False, True])
def test_similarity_and_replay_are_numbers_of_a_file(rule, listed, tmp_path: Path) -> None:
    text = SIMILARITY.replace('"[[1, similarity], [similarity, 1]]"', rule)
    if listed:  # the same tasks one by one
        tasks = "".join(
            f"[[tasks]]\nreadout = {readout}\nprobability = {{ times = [0, 2], rates = {rates} }}\n"
            for readout, rates in (("[1.0, 0.0]", "[1, 0]"), ("[0.0, 1.0]", "[0, 1]"))
        )
        text = text.replace("[tasks]\nsequence = [[1.0, 0.0], [0.0, 1.0]]\nswitches = [2]\n", tasks)
    (tmp_path / "sweep.toml").write_text(text)
    points = [point.problem for point in read(tmp_path / "sweep.toml").points]
    assert [point.teacher.overlap[0][1] for point in points] == [0.0, 0.3, 0.0, 0.3]
    assert [point.tasks[0].probability.rates[1] for point in points] == [0.0, 0.0, 0.2, 0.2]


def test_the_distance_of_classes_is_a_number_of_a_file(tmp_path: Path) -> None:
    table = SIMILARITY.partition("[tasks]")[0].replace(
        '[teacher]\nwidth = 2\nactivation = "erf"\n', "[run]\nuntil = 1.0\n"
    )
    (tmp_path / "sweep.toml").write_text(
        table + '[mixture]\nxor = 1.0\nvariance = 0.5\n[vary]\n"mixture.xor" = [1.0, 2]\n'
    )
    planned = read(tmp_path / "sweep.toml")
    assert [point.problem.mixture for point in planned.points] == [sv.Mixture.xor(1.0, 0.5), sv.Mixture.xor(2.0, 0.5)]
    assert planned.grid.dims == ("xor",)
