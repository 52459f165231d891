"""Losses and rules as files and Python describe them: names, parameters, one's own, hashes, and what is refused in one line."""

import math
import pickle

import numpy as np
import pytest

import solvable as sv
from solvable.gaussian.losses import LOSSES
from solvable.levels import Lane
from solvable.problems import ClipSamples, Hinge, Huber, Loss, Rule

SIGNS = ("logistic", "hinge", "perceptron")  # losses that take labels for signs


def problem_of(*, target="additive", **training):
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", target=target),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=200),
        training=sv.Training(learning_rate=0.5, **training),
    )


def halved(F, fields, label, output, size):
    F *= 0.5


def own_loss(scale=1.0):
    return Loss(
        "mine",
        lambda e: scale * (np.sqrt(1 + e**2) - 1),
        lambda e: scale * e / np.sqrt(1 + e**2),
        lambda e: scale * (1 + e**2) ** -1.5,
    )


@pytest.mark.parametrize(
    "training",
    [
        *({"loss": name} for name in LOSSES),
        {"loss": Huber(threshold=0.3)},
        {"loss": Hinge(sharpness=7.0)},
        {"rule": "normalised"},
        {"rule": ClipSamples(norm=2.0)},
        {"lookahead": 0.3},
        {"repeats": 4},
    ],
)
def test_files_hold_it(training):
    loss = training.get("loss")
    target = "sign" if getattr(loss, "name", loss) in SIGNS else "additive"
    problem = problem_of(target=target, **training)
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    assert sv.Problem.from_json(problem.to_json()) == problem
    plain = problem_of(target=target)
    assert (problem.hash == plain.hash) == (training == {"loss": "squared"})


def test_files_of_plain_problems_do_not_show_it():
    text = problem_of().to_toml()
    assert not any(word in text for word in ("lookahead", "repeats", "rule"))


def test_losses_by_name_have_numbers_too():
    assert problem_of(loss="huber").replace(training__loss__threshold=0.5) == problem_of(loss=Huber(threshold=0.5))
    with pytest.raises(sv.InvalidProblem, match=r"training\.loss: 'absolute' has no numbers; 'huber' and 'hinge' have"):
        problem_of(loss="absolute").replace(training__loss__threshold=0.5)


def test_the_loss_is_kept_in_files_and_sweeps(tmp_path):
    """Once it was asked for; an axis of losses then has another name, and blocks are kept for it."""
    problem = problem_of(loss="huber").replace(inputs__spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5)))
    start = sv.start(problem, seed=0)
    run = sv.run(problem, start, sv.Micro(runs=2, seed=1), times=[0.0, 0.5], keep_blocks=True, progress=False)
    assert "loss" not in run.data
    assert run.mean("loss").mean == pytest.approx(run.loss.mean(axis=0))
    run.save(tmp_path / "run.nc")
    assert (run.data["loss"].values == run.loss).all()
    assert (sv.Trajectory.load(tmp_path / "run.nc").loss == run.loss).all()
    with pytest.raises(ValueError, match=r"loss: inputs have several blocks.* run with keep_blocks=True"):
        sv.run(problem, start, sv.Micro(seed=1), times=[0.5], progress=False).loss  # noqa: B018
    swept = sv.sweep(
        problem, vary={"training.loss": ["squared", {"name": "huber", "threshold": 0.2}]}, keep=("loss", "risk"),
        level=sv.Micro(runs=2, seed=1), start={"seed": 0}, times=[0.0, 0.5], progress=False, store=None, workers=0,
    )  # fmt: skip
    assert swept.data["loss"].dims == ("training__loss", "run", "time")
    assert (swept.data["loss"][0] == swept.data["risk"][0]).all()
    small = problem.replace(training__loss__threshold=0.2)
    alone = sv.run(small, start, sv.Micro(runs=2, seed=1), times=[0.0, 0.5], keep_blocks=True, progress=False)
    assert (swept.data["loss"][1] == alone.loss).all()


def test_parameters_have_paths():
    problem = problem_of(loss=Huber(threshold=0.3), rule=ClipSamples(norm=2.0))
    changed = problem.replace(training__loss__threshold=0.5, training__rule__norm=1.0)
    assert changed.training.loss.threshold == 0.5
    assert changed.training.rule.norm == 1.0
    swept = sv.sweep(
        problem, vary={"training.loss.threshold": [0.2, 0.4]}, level=sv.Macro(rtol=1e-4, nodes=2**10),
        start={"student_overlap": [[1.0, 0.0], [0.0, 1.0]], "cross_overlap": [[0.2], [0.1]]}, times=[0.0, 0.5],
        progress=False, store=None, workers=0,
    )  # fmt: skip
    assert swept.data["risk"].sizes["threshold"] == 2


@pytest.mark.parametrize(
    ("training", "line"),
    [
        ({"loss": "hubber"}, r"loss: 'hubber' given \(did you mean huber\?\), must be 'squared'"),
        ({"loss": {"name": "huber", "threshold": 0.0}}, "loss.threshold: 0.0 given, must be greater than 0"),
        ({"loss": {"threshold": 1.0}}, "loss: .* given, must be a table with a name"),
        ({"loss": {"name": "cubic"}}, "loss: 'cubic' given, must be 'squared'"),
        ({"loss": {"name": "cubic", "threshold": 1.0}}, "must be a table with the name 'huber' or 'hinge'"),
        (
            {"loss": {"name": "hinge", "threshold": 1.0}},
            "loss.threshold: is not a field here, must be one of name, sharpness$",
        ),
        ({"loss": "mse"}, "loss: 'mse' given, which is called 'squared' here"),
        ({"loss": "cross-entropy"}, "loss: 'cross-entropy' given, which is called 'logistic' here"),
        ({"rule": lambda F, z, y, o, s: None}, r'or an instance of Rule, sv\.Rule\("name", function\)'),
        ({"loss": {"name": "hinge", "sharpness": 1000.0}}, "sharpness: 1000.0 given, must be less than or equal to 30"),
        ({"rule": "clip"}, "rule: 'clip' given, must be 'normalised', or a ClipSamples, as { norm = 1.0 }, or an"),
        ({"rule": {"norm": -1.0}}, "rule.norm: -1.0 given, must be greater than 0"),
        ({"lookahead": -1.0}, "lookahead: -1.0 given"),
        ({"repeats": 0}, "repeats: 0 given"),
        ({"repeats": 2, "lookahead": 0.1}, "lookahead: given together with repeats"),
        ({"repeats": 2, "momentum": 0.9}, "repeats: given together with momentum"),
        ({"repeats": 2, "rate_rule": sv.problems.Polyak()}, "rate_rule: given together with repeats, of which each"),
        (
            {"rule": "normalised", "rate_rule": sv.problems.LineSearch()},
            "line search given together with rule or lookahead",
        ),
    ],
)
def test_mistakes_are_told_in_one_line(training, line):
    with pytest.raises(sv.InvalidProblem, match=line) as caught:
        sv.Training(learning_rate=1.0, **training)
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("amplitude", "line"),
    [
        (3, "amplitude: 3 given, must be a function"),
        (lambda F: None, "amplitude: takes 1 arguments, must take five: F, fields, label, output, size"),
        (lambda F, z, y, o, s: F * 0.5, r"it returns something; it must change F in place, as F\[:\] = \.\.\. does"),
        (
            lambda F, z, y, o, s: F.undo(),
            "does not compile: Unknown attribute 'undo' .* at line .* of test_rule_descriptions.py",
        ),
        (lambda F, z, y, o, s: input("x"), "does not compile: .*'input'"),
    ],
)
def test_rules_that_do_not_compile_are_refused(amplitude, line):
    with pytest.raises(ValueError, match=line) as caught:
        Rule("mine", amplitude)
    assert "\n" not in str(caught.value)


def test_rules_that_are_not_finite_are_refused():
    def root(F, fields, label, output, size):
        F[:] = math.sqrt(label)

    with pytest.raises(ValueError, match="amplitude: of the rule 'root' is not finite"):
        Rule("root", root)


def test_rules_that_draw_are_refused():
    def drawn(F, fields, label, output, size):
        F *= np.random.rand()  # noqa: NPY002

    with pytest.raises(ValueError, match="'drawn' differs from call to call; it must not draw"):
        Rule("drawn", drawn)


@pytest.mark.parametrize(
    ("functions", "of", "line"),
    [
        ((np.square, lambda e: 2 * e, lambda e: 2 + 0 * e), "output", "of: 'output' given, must be 'residual'"),
        (
            (np.square, lambda e: -2 * e, lambda e: -2 + 0 * e),
            "residual",
            "push: is 12 at -6, but differences give -12",
        ),
        (
            (lambda e: math.exp(e), np.exp, np.exp),
            "residual",
            "push: it, or what it is the slope of, fails on an array: ",
        ),
        (
            (np.exp, np.exp, lambda e: 1.0),
            "residual",
            "push_slope: must map an array of numbers to one of the same shape",
        ),
    ],
)
def test_losses_that_are_none_are_refused(functions, of, line):
    with pytest.raises(ValueError, match=line) as caught:
        Loss("mine", *functions, of=of)
    assert "\n" not in str(caught.value)


def test_a_table_may_have_a_name_alone():
    assert problem_of(loss={"name": "squared"}) == problem_of()
    assert problem_of(target="sign", loss={"name": "hinge"}) == problem_of(target="sign", loss="hinge")


def test_rules_that_change_nothing_are_refused():
    def renamed(F, fields, label, output, size):
        F = 0.5 * F

    with pytest.raises(ValueError, match=r"'renamed' leaves F as it is; change it in place, F\[:\] = \.\.\."):
        Rule("renamed", renamed)
    assert Rule("halved", halved).name == "halved"


def test_rules_stay_within_their_students():
    """What they write beyond the last one would fall on other numbers."""

    def last(F, fields, label, output, size):
        F[4] = 0.0

    rule = Rule("last", last)  # which may be for five students
    with pytest.raises(
        sv.InvalidProblem, match=r"training\.rule: the rule 'last' asks for a student beyond the last one, .* 2"
    ):
        problem_of(rule=rule)
    assert problem_of().replace(student__width=5, training__rule=rule).training.rule == rule
    with pytest.raises(IndexError):
        rule.compiled(np.ones(2), np.ones(2), 0.0, 0.0, 1.0)


def test_own_functions_are_known_by_their_code():
    def third(F, fields, label, output, size):
        F /= 3.0

    first, second = problem_of(rule=Rule("mine", halved)), problem_of(rule=Rule("mine", third))
    assert problem_of(rule=Rule("mine", halved)) == first
    assert first != second
    assert first.hash != second.hash
    assert problem_of(loss=own_loss(1.0)).hash != problem_of(loss=own_loss(2.0)).hash
    assert problem_of(loss=own_loss(2.0)) == problem_of(loss=own_loss(2.0))
    assert set(problem_of(loss=own_loss(), rule=Rule("mine", halved)).own_functions()) == {
        "training.loss",
        "training.rule",
    }


@pytest.mark.parametrize("training", [{"loss": own_loss()}, {"rule": Rule("mine", halved)}])
def test_files_cannot_hold_functions(training):
    with pytest.raises(sv.InvalidProblem, match="the function 'mine' cannot be written to a file"):
        problem_of(**training).to_toml()


def test_rules_travel_to_other_processes():
    rule = pickle.loads(pickle.dumps(Rule("mine", halved)))
    F = np.ones(2)
    rule.compiled(F, np.zeros(2), 0.0, 0.0, 1.0)
    assert (F == 0.5).all()


def test_who_takes_the_path_with_cases():
    assert problem_of().features == ()
    assert problem_of(target="sign", loss="logistic").features == ("teacher.target",)
    assert problem_of(loss="correlation").features == ("training.loss",)
    assert problem_of(rule="normalised", repeats=2).features == ("training.rule", "training.repeats")
    linear = problem_of(loss="huber").replace(teacher__activation="linear", student__activation="linear")
    assert linear.features == ("training.loss",)


@pytest.mark.parametrize(
    ("training", "setting"),
    [({"rule": "normalised"}, "rule"), ({"lookahead": 0.1}, "lookahead"), ({"repeats": 2}, "repeats")],
)
def test_closed_forms_do_not_know_rules(training, setting):
    problem = problem_of(**training)
    with pytest.raises(sv.problems.NotApplicable, match=f"training.{setting}: is .* does not know this setting"):
        sv.problems.require(problem, label_noise=True)
    if setting != "repeats":  # batches that are used again are what it is for
        with pytest.raises(ValueError, match=f"training.{setting}"):
            sv.run(problem, sv.start(problem, seed=0), sv.Empirical(), until=1.0)


def test_what_micro_cannot_do_is_refused_in_one_line():
    data = sv.Data(np.random.default_rng(0).standard_normal((50, 200)))
    for training, line in [
        ({"rule": "normalised"}, "Micro with data does not know this setting"),
        ({"loss": "correlation"}, "loss: given together with data"),
    ]:
        problem = problem_of(**training).replace(inputs=data.inputs)
        with pytest.raises(ValueError, match=line):
            sv.run(problem, sv.start(problem, seed=0), sv.Micro(data=data), until=0.1)
    target = sv.problems.Target("square", 1, lambda z: z[:, 0] ** 2)
    wild = problem_of(rule="normalised").replace(teacher__target=target)
    for level in (sv.Micro(), sv.Macro()):
        with pytest.raises(
            ValueError, match=r"training\.rule: given together with a function that only Python can call"
        ):
            sv.run(wild, sv.start(wild, seed=0), level, until=0.1)


@pytest.mark.parametrize("level", [sv.Macro(), sv.Micro(), sv.Meso()], ids=["macro", "micro", "meso"])
@pytest.mark.parametrize("feature", ["mixture", "anchor", "flips"])
def test_what_only_python_can_call_is_refused_before_anything_runs(level, feature):
    target = sv.problems.Target("square", 1, lambda z: z[:, 0] ** 2)
    changes = {
        "mixture": {"mixture": sv.Mixture.opposite(1.0)},
        "anchor": {"training__anchor": 0.1},
        "flips": {"training__label_flips": 0.1},
    }[feature]
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, target=target), student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=50), training=sv.Training(learning_rate=0.1),
    ).replace(**changes)  # fmt: skip
    with pytest.raises(ValueError, match="given together with a function that only Python can call"):
        level.check([Lane(problem, sv.start(problem, seed=0))])


def test_signs_as_labels():
    teacher = sv.Teacher(width=2, activation="erf", target="sign", readout=(1.0, -1.0))
    assert teacher.labels(np.array([[1.0, 0.5], [0.2, 0.9]])).tolist() == [1.0, -1.0]
