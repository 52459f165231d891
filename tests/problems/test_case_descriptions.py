"""Classes, tasks and masks as descriptions: what is accepted, how mistakes are told, files and hashes."""

import numpy as np
import pytest

import solvable as sv
from solvable.problems import Dropout

LINEAR = {"times": (0.0, 4.0), "shape": "linear"}
BLOCKS = sv.Spectrum(eigenvalues=(2.0, 0.5), weights=(0.25, 0.75))


def plain(**changes) -> sv.Problem:
    made = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=3, activation="erf"),
        training=sv.Training(learning_rate=0.1),
    )
    return made.replace(**changes) if changes else made


def classes(**changes) -> sv.Mixture:
    made = {"probabilities": (0.3, 0.7), "means": ((1.0, 0.0), (0.5, -1.0))} | changes
    return sv.Mixture(**made)


FULL = plain(
    inputs=sv.Inputs(dim=40, spectrum=BLOCKS),
    mixture=classes(
        probabilities=(sv.Schedule(rates=(0.2, 0.6), **LINEAR), sv.Schedule(rates=(0.8, 0.4), **LINEAR)),
        gram=((1.0, 0.2), (0.2, 2.0)), variances=((1.0, 2.0), (0.5, 1.0)), labels=(1.0, -1.0),
        spikes=((0.0, 0.3), (0.0, 0.0)), teacher_overlap=((0.1, 0.0), (0.0, 0.2)),
    ),
    tasks=sv.Task.sequence([[1.0, 0.0], [0.6, 0.8]], [3.0], replay=0.1),
    student__readout=((1.0, 0.5, 0.2), (0.1, 0.2, 0.3)),
    teacher__drift=0.1, teacher__rotation=0.2,
    training__dropout={"keep": 0.8}, training__input_noise=(0.1, 0.2), training__label_flips=0.1, training__anchor=0.3,
)  # fmt: skip
VECTORS = plain(
    inputs=sv.Inputs(dim=8), mixture=classes(vectors=np.linspace(-1, 1, 16).reshape(2, 8), labels=(0.0, 1.0))
)


@pytest.mark.parametrize("problem", [FULL, VECTORS], ids=["all", "vectors"])
def test_files_keep_all_of_it(problem: sv.Problem) -> None:
    for copy in (sv.Problem.from_toml(problem.to_toml()), sv.Problem.from_json(problem.to_json())):
        assert copy == problem
        assert copy.hash == problem.hash


def test_heads_that_are_numbered_as_if_left_out_have_the_same_hash() -> None:
    rows, switches = [(1.0, 0.0), (0.0, 1.0)], [2.0]
    problem = plain(tasks=sv.Task.sequence(rows, switches))
    numbered = plain(tasks=sv.Task.sequence(rows, switches, heads=(0, 1)))
    shared, swapped = (plain(tasks=sv.Task.sequence(rows, switches, heads=heads)) for heads in ((0, 0), (1, 0)))
    assert numbered.hash == problem.hash
    assert numbered.likeness == problem.likeness
    assert len({one.hash for one in (problem, shared, swapped)}) == 3
    single = plain(tasks=(sv.Task(readout=(1.0, 0.0), probability=1.0, head=0),))
    assert single.hash == plain(tasks=(sv.Task(readout=(1.0, 0.0), probability=1.0),)).hash


def ending(first: float, last: float) -> sv.Schedule:
    return sv.Schedule(times=(0.0, 1.0), rates=(first, last))


def test_what_schedules_end_with_can_be_saved_and_loaded(tmp_path) -> None:
    """A class that no longer comes, and rates that have fallen to zero."""
    problem = plain(
        mixture=classes(probabilities=(ending(0.3, 0.0), ending(0.7, 1.0)), labels=(1.0, -1.0)),
        training__learning_rate=ending(0.1, 0.0), training__train_readout=True, training__readout_rate=ending(0.1, 0.0),
    )  # fmt: skip
    for now in (problem.at(2.0), problem.later(2.0)):
        assert sv.Problem.from_json(now.to_json()) == now
        with pytest.raises(sv.InvalidProblem, match=r"training\.learning_rate: is zero at all times by now"):
            now.save(tmp_path / "problem.toml")
        run = sv.run(now, sv.start(now, student_overlap=np.eye(3)), sv.Macro(), times=[0.0, 1.0])
        run.save(tmp_path / "run.nc")
        assert sv.Trajectory.load(tmp_path / "run.nc").problem == now
    shares = problem.replace(training__learning_rate=0.1, training__readout_rate=0.1).at(2.0)
    assert shares.mixture.probabilities == (0.0, 1.0)
    assert sv.Problem.from_toml(shares.to_toml()) == shares
    for given in ("0", "0.0", '{"times": [0.0], "rates": [0.0]}'):
        text = plain().to_json().replace('"learning_rate":0.1', f'"learning_rate":{given}')
        assert text != plain().to_json()
        assert float(sv.Problem.from_json(text).training.schedule(1.0)) == 0
    for wrong in ("-1", "false", '{"times": [0.0], "rates": []}'):
        with pytest.raises(sv.InvalidProblem, match=r"training\.learning_rate"):
            sv.Problem.from_json(plain().to_json().replace('"learning_rate":0.1', f'"learning_rate":{wrong}'))


def test_each_feature_is_in_the_hash_and_by_its_name() -> None:
    changes = {
        "mixture": classes(labels=(1.0, -1.0)),
        "tasks": (sv.Task(readout=(1.0, 0.0), probability=1.0),),
        "teacher.drift": 0.1,
        "teacher.rotation": 0.1,
        "training.dropout": Dropout(keep=0.5),
        "training.input_noise": 0.1,
        "training.label_flips": 0.1,
        "training.anchor": 0.1,
    }
    made = {name: plain(**{name.replace(".", "__"): value}) for name, value in changes.items()}
    assert len({problem.hash for problem in made.values()} | {plain().hash}) == 1 + len(changes)
    assert {name: problem.features for name, problem in made.items()} == {name: (name,) for name in changes}
    assert plain().features == ()
    assert FULL.features == tuple(changes)


def test_problems_without_features_keep_their_hashes_and_files() -> None:
    assert plain().hash == "9c84e3fe6d89712729d7b508d3ec5c5f2ec4a16e10425d459bedf3f2345e9b39"
    words = ("mixture", "tasks", "drift", "rotation", "dropout", "noise =", "flips", "anchor")
    assert not [word for word in words if word in plain().to_toml().replace("label_noise", "")]
    assert plain(training__input_noise=0.0, tasks=()).hash == plain().hash


def test_labels_by_class_need_no_teacher() -> None:
    problem = sv.Problem(
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=0.1),
        mixture=sv.Mixture.xor(1.5, variance=0.5),
    )
    assert problem.teacher.width == 0
    assert problem.teacher.readout_values.shape == (0,)
    assert "teacher" not in problem.to_toml()
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    np.testing.assert_array_equal(problem.mixture.block_gram(np.array([0.25, 0.75])).sum(axis=0), 2.25 * np.eye(2))
    np.testing.assert_array_equal(sv.Mixture.opposite(2.0).block_gram(np.ones(1)), [[[4.0]]])


def test_tasks_in_sequence() -> None:
    first, second, third = sv.Task.sequence(np.eye(3), [2.0, 5.0], replay=0.2, heads=(0, 1, 0))
    at = [[float(task.probability(time)) for task in (first, second, third)] for time in (1.0, 3.0, 6.0)]
    np.testing.assert_allclose(at, [[1.0, 0.0, 0.0], [0.2, 0.8, 0.0], [0.1, 0.1, 0.8]])
    problem = plain(teacher__width=3, tasks=(first, second, third))
    assert problem.task_heads == (0, 1, 0)
    assert problem.readout_values.shape == (2, 3)
    assert plain(tasks=sv.Task.sequence(np.eye(2), [1.0], heads=(0, 0))).readout_values.shape == (3,)


def test_numbers_of_one_time() -> None:
    now = FULL.at(4.0)
    assert now.mixture.probabilities == pytest.approx((0.6, 0.4))
    assert [task.probability for task in now.tasks] == pytest.approx([0.1, 0.9])
    assert plain(mixture=classes()).at(1.0).mixture == classes()


def test_replace_reaches_inside() -> None:
    changed = FULL.replace(tasks__1__readout=(0.0, 1.0), mixture__labels=(2.0, 3.0), training__dropout__keep=0.5)
    assert changed.tasks[1].readout == (0.0, 1.0)
    assert changed.tasks[0] == FULL.tasks[0]
    assert changed.mixture.labels == (2.0, 3.0)
    assert changed.training.dropout == Dropout(keep=0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sv.Mixture.xor(-1.0), "distance: -1.0 given, must not be negative"),
        (lambda: sv.Mixture.opposite(float("nan")), "distance: nan given, must be finite"),
        (lambda: classes(probabilities=(0.5, 0.4)), "probabilities: must sum to 1, but sum to 0.9"),
        (lambda: classes(probabilities=(1.2, 0.2)), "probabilities.0: 1.2 given, must be less than or equal to 1"),
        (
            lambda: classes(probabilities=(sv.Schedule(rates=(0.2, 0.6), **LINEAR), 0.8)),
            "probabilities: must sum to 1, but sum to 1.4 from time 4 on",
        ),
        (
            lambda: classes(
                probabilities=(
                    sv.Schedule(rates=(0.2, 0.6), **LINEAR), sv.Schedule(times=(0.0, 4.0), rates=(0.8, 0.4)),
                )
            ),
            "steps and linear ones are mixed",
        ),
        (lambda: classes(means=((1.0,),)), "means: 1 rows given for 2 classes"),
        (lambda: classes(means=((1.0,), (1.0, 2.0))), "means: its rows have different lengths"),
        (lambda: classes(means=((), ())), "means: no directions given"),
        (lambda: classes(gram=((1.0,),)), r"gram: shape \(1, 1\) given for 2 directions"),
        (lambda: classes(gram=((1.0, 2.0), (2.0, 1.0))), "gram: must be positive semidefinite, its lowest .* -1"),
        (lambda: classes(gram=((1.0, 0.2), (0.1, 1.0))), "gram: must be symmetric"),
        (lambda: classes(gram=np.eye(2), vectors=np.ones((2, 4))), "gram: given although vectors"),
        (lambda: classes(vectors=np.ones((3, 4))), r"vectors: shape \(3, 4\) given, must be \(2, 4\)"),
        (lambda: classes(vectors=np.full((2, 400), 25.0)), "vectors: the mean of an input has entries up to 1.25"),
        (lambda: classes(variances=(1.0,)), r"variances: shape \(1,\) given for 2 classes"),
        (lambda: classes(variances=(1.0, 0.0)), "variances: must be positive"),
        (lambda: classes(variances=((), ())), r"variances: shape \(2, 0\) given for 2 classes"),
        (lambda: classes(vectors=((), ())), r"vectors: shape \(2, 0\) given, must be \(2, 1\)"),
        (
            lambda: plain(
                mixture=sv.Mixture(probabilities=(1 / 1024,) * 1024, means=((1.0,),) * 1024), training__dropout={"keep": 0.5}
            ),
            "mixture: 1024 classes, 0 tasks, 8 masks and 1 signs of labels make 8192 cases of a sample, must be at most 4096",
        ),
        (lambda: classes(labels=(1.0,)), "labels: 1 given for 2 classes"),
        (lambda: classes(spikes=((0.0, -1.0), (0.0, 0.0))), "spikes: are variances, must not be negative"),
        (lambda: classes(teacher_overlap=((0.0,),)), "teacher_overlap: 1 rows given for 2 directions"),
        (lambda: plain(mixture=classes(gram=[np.eye(2)] * 3)), "mixture.gram: 3 blocks given, but inputs have 1"),
        (lambda: plain(mixture=classes(variances=np.ones((2, 3)))), "mixture.variances: 3 blocks given, but .* 1"),
        (lambda: plain(mixture=classes(vectors=np.ones((2, 4)))), "mixture.vectors: rows of 4 numbers given, .*dim = infinite"),
        (lambda: plain(mixture=classes(teacher_overlap=np.ones((2, 3)))), "mixture.teacher_overlap: must have 2"),
        (lambda: plain(mixture=classes(teacher_overlap=np.ones((2, 2)))), "mixture.teacher_overlap: no vectors have"),
        (
            lambda: plain(mixture=classes(teacher_overlap=np.zeros((2, 2))), teacher__overlap="sampled"),
            "mixture.teacher_overlap: given although teachers are sampled",
        ),
        (lambda: plain(teacher__width=0), "teacher.width: 0 given, must be greater than 0; only a mixture with labels"),
        (lambda: plain(teacher__width=0, mixture=classes()), "teacher.width: 0 given"),
        (
            lambda: sv.Problem(student=sv.Student(width=1), training=sv.Training(learning_rate=0.1)),
            "teacher: is missing; only a mixture with labels",
        ),
        (lambda: sv.Task(readout=(1.0,), probability=1.5), "probability: 1.5 given, must be less than or equal to 1"),
        (lambda: sv.Task.sequence(np.eye(2), [1.0, 2.0]), "switches: 2 given for 2 tasks, must be one less"),
        (lambda: sv.Task.sequence(np.eye(3), [2.0, 1.0]), "switches: must be positive and increase"),
        (lambda: sv.Task.sequence(np.eye(2), [1.0], replay=1.0), "replay: 1.0 given"),
        (lambda: sv.Task.sequence(np.eye(2), [1.0], heads=(0,)), "heads: 1 given for 2 tasks"),
        (lambda: plain(tasks=sv.Task.sequence(np.eye(3), [1.0, 2.0])), "tasks.0.readout: 3 given for 2 teachers"),
        (lambda: plain(tasks=sv.Task.sequence(np.eye(2), [1.0], heads=(0, 2))), r"tasks: heads \(0, 2\) given"),
        (lambda: plain(tasks=sv.Task.sequence(np.eye(2), [1.0])[:1]), "tasks.probability: must sum to 1, .* time 1 on"),
        (
            lambda: plain(tasks=sv.Task.sequence(np.eye(2), [1.0]), teacher__readout="sqrt"),
            "teacher.readout: given although tasks have their own",
        ),
        (lambda: plain(tasks=sv.Task.sequence(np.eye(2), [1.0]), teacher__target="product"), "teacher.target: tasks"),
        (
            lambda: plain(tasks=(sv.Task(readout=(1, 0), probability=0.5, head=0), {"readout": (1, 0), "probability": 0.5})),
            "tasks: some have a head and some have not",
        ),
        (
            lambda: FULL.replace(
                tasks__0__probability=sv.Schedule(rates=(0.2, 0.6), **LINEAR),
                tasks__1__probability=sv.Schedule(rates=(0.8, 0.4), **LINEAR),
            ),
            "mixture.probabilities: change linearly while",
        ),
        (lambda: FULL.replace(tasks__2__readout=(1.0, 0.0)), "tasks.2: given, must be a number from 0 to 1"),
        (lambda: plain(student__readout=((1.0, 1.0, 1.0),) * 2), "student.readout: for 2 heads given, but tasks use 1"),
        (lambda: plain(student__readout=((1.0,),)), "student.readout: must have 3 values for each head"),
        (lambda: plain(training__dropout={"keep": 0.0}), "training.dropout.keep: 0.0 given, must be greater than 0"),
        (lambda: plain(training__dropout={"keep": 0.5, "test_factor": 1.0}), "training.dropout.test_factor: given"),
        (lambda: plain(training__dropout={"keep": 0.5}, student__width=9), "training.dropout: given for 9 students"),
        (lambda: plain(training__input_noise=-1.0), "training.input_noise: -1.0 given"),
        (lambda: plain(training__input_noise=(1.0, -1.0)), "training.input_noise: must be numbers that are not"),
        (lambda: plain(training__input_noise=(1.0, 2.0)), r"training.input_noise: 2 given for 1 block\(s\)"),
        (lambda: plain(training__label_flips=0.7), "training.label_flips: 0.7 given, must be less than or equal to 0.5"),
        (lambda: plain(training__anchor=-1.0), "training.anchor: -1.0 given"),
        (lambda: plain(teacher__drift=-1.0), "teacher.drift: -1.0 given"),
        (lambda: plain(teacher__width=1, teacher__rotation=1.0), r"teacher.rotation: given for 1 teacher\(s\)"),
        (lambda: sv.Teacher(width=0, drift=1.0), "drift: given although there are no teachers"),
        (lambda: sv.Teacher(width=0, overlap=()), "overlap: given although there are no teachers"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(make, message) -> None:
    with pytest.raises(sv.InvalidProblem, match=message) as caught:
        make()
    assert len(caught.value.problems) == 1


def test_a_schema_for_editors() -> None:
    schema = sv.Problem.model_json_schema()
    assert {"mixture", "tasks"} <= schema["properties"].keys()
    assert {"dropout", "input_noise", "label_flips", "anchor"} <= schema["$defs"]["Training"]["properties"].keys()
    assert "probabilities" in schema["$defs"]["Mixture"]["required"]


def test_tasks_of_one_table_and_with_another_replay() -> None:
    table = {"sequence": [[1, 0], [0, 1], [1, 1]], "switches": [5, 9], "replay": 0.1}
    tasks = sv.Task.sequence([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [5.0, 9.0], replay=0.1)
    problem = sv.Problem(
        teacher=sv.Teacher(width=2), student=sv.Student(width=2), training=sv.Training(learning_rate=0.1), tasks=table
    )
    assert problem.tasks == tasks
    again = problem.replace(tasks__replay=0.3)
    assert again.tasks == sv.Task.sequence([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [5.0, 9.0], replay=0.3)
    later = again.replace(tasks__switches=[6.0, 9.0], training__learning_rate=0.2)
    assert later.tasks == sv.Task.sequence([(1.0, 0.0), (0.0, 1.0), (1.0, 1.0)], [6.0, 9.0], replay=0.3)
    half = problem.replace(
        tasks=[sv.Task(readout=(1.0, 0.0), probability=0.5), sv.Task(readout=(0.0, 1.0), probability=0.5)]
    )
    with pytest.raises(sv.InvalidProblem, match=r"tasks.replay: given, but the tasks are no sequence"):
        half.replace(tasks__replay=0.1)
    with pytest.raises(sv.InvalidProblem, match=r"tasks.replay: given together with other fields of tasks"):
        problem.replace(tasks__replay=0.1, tasks__0__readout=(1.0, 1.0))
    with pytest.raises(
        sv.InvalidProblem, match=r"tasks: a table given, must be tables \[\[tasks\]\], one for each task"
    ):
        problem.replace(tasks={"readout": [1, 0]})
    with pytest.raises(
        sv.InvalidProblem, match=r"tasks.switches: 1 given for 2 tasks|tasks.switches: 0 given for 2 tasks"
    ):
        problem.replace(tasks={"sequence": [[1, 0], [0, 1]]})


def test_mixtures_by_a_distance() -> None:
    assert sv.Mixture.from_mapping({"xor": 2.0, "variance": 0.5}) == sv.Mixture.xor(2.0, 0.5)
    assert sv.Mixture.from_mapping({"opposite": 2, "labels": [2.0, -2.0]}) == sv.Mixture.opposite(
        2.0, labels=(2.0, -2.0)
    )
    assert sv.Mixture.xor(1.0, 0.5).replace(xor=3.0) == sv.Mixture.xor(3.0, 0.5)
    for made, message in [
        (lambda: sv.Mixture.xor("a"), "distance: 'a' given, must be a number"),
        (lambda: sv.Mixture.from_mapping({"xor": "a"}), "xor: 'a' given, must be a number"),
        (lambda: sv.Mixture.xor(1e200), r"distance: 1e\+200 given, must be finite and at most 1e\+75 in size"),
        (lambda: sv.Mixture.xor(float("nan")), "distance: nan given, must be finite"),
        (lambda: sv.Mixture.xor(1.0).replace(xor=None), "xor: None given, must be a number"),
        (lambda: sv.Mixture.from_mapping({"xor": 1.0, "opposite": 1.0}), "opposite: given together with xor"),
    ]:
        with pytest.raises(sv.InvalidProblem, match=message):
            made()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sv.Task.sequence([(1, 0), (0, 1)], ["a"]), "switches: .* given, must be times"),
        (
            lambda: sv.Task.sequence([(1, 0), (0, 1)], 5, replay=[0.1]),
            "replay: .* must be a number, .* give each Task a `probability`",
        ),
        (lambda: sv.Task.sequence([(1, 0), (0, 1)], 5, heads=5), "heads: 5 given, must be a number for each task"),
        (lambda: sv.Task.sequence([(1, 0), (0, 1)], [10**400]), "switches: .* given, must be times"),
        (lambda: sv.Task.sequence(3, 5), "readouts: 3 given, must be a row of numbers for each task"),
        (
            lambda: sv.Training(learning_rate=0.1, dropout=0.5),
            "dropout: 0.5 given, must be a Dropout, as { keep = 0.8 }",
        ),
    ],
)
def test_what_is_easily_mistaken(make, message) -> None:
    with pytest.raises(sv.InvalidProblem, match=message):
        make()
    assert sv.Task.sequence([(1, 0), (0, 1)], 5) == sv.Task.sequence([(1, 0), (0, 1)], [5.0])
