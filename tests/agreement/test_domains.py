"""One home of validity: whatever a later version adds to a problem, nothing that does not know it passes over it."""

import dataclasses

import numpy as np
import pytest

import solvable as sv
from predicting import PAPER, PROBLEMS, about_a_problem, worked
from solvable.dynamics.modes import flow_modes
from solvable.dynamics.quadratic_flow import flow_overlaps
from solvable.problems import FEATURES, Domain, NotApplicable, require
from solvable.problems.conventions import CONVENTIONS
from solvable.problems.domain import FREE, KNOWN, SPECTRA, WORDS, unusual_settings


class Momentum(sv.Training):
    """A rule of a later version."""

    momentum: float = 0.0


class Masked(sv.Inputs):
    mask: float | None = None


def later(problem: sv.Problem) -> sv.Problem:
    """The same problem, with a setting that nobody knows."""
    fields = {name: getattr(problem.training, name) for name in sv.Training.model_fields}
    return problem.replace(training=Momentum(**fields, momentum=0.9))


ROOMS = [sv.theory, sv.landscape, sv.dynamics]
FUNCTIONS = [one for room in ROOMS for one in about_a_problem(room) if one is not sv.theory.available]
FUNCTIONS += [flow_overlaps, flow_modes, sv.empirical.recovery]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda one: one.__name__)
def test_a_setting_of_a_later_version_is_refused(function) -> None:
    """Each works on some problem, and refuses the same problem with one more setting, by name."""
    found = worked(function)
    assert found
    for problem, arguments in found:
        if "trajectory" in arguments:
            arguments["trajectory"] = dataclasses.replace(arguments["trajectory"], problem=later(problem))
        else:
            arguments["problem"] = later(problem)
        with pytest.raises(NotApplicable, match=r"training\.momentum: is 0\.9; .* does not know this setting"):
            function(**arguments)


def test_no_function_of_the_dynamics_is_forgotten() -> None:
    public = [getattr(sv.dynamics, name) for name in sv.dynamics.__all__]
    functions = [one for one in public if not isinstance(one, type)]
    assert about_a_problem(sv.dynamics) == functions
    assert set(functions) <= set(FUNCTIONS)


def test_the_risk_of_another_problem_does_not_pass_over_it() -> None:
    problem = PAPER["bocchi2026"](p=4, p_star=2, eta=0.05)
    run = sv.run(
        problem, sv.start(problem, student_overlap=np.eye(4), cross_overlap=np.zeros((4, 2))), sv.Macro(), until=0.1
    )
    assert run.risk_on(problem).values == pytest.approx(run.risk)
    for one, other in [(run, later(problem)), (dataclasses.replace(run, problem=later(problem)), problem)]:
        with pytest.raises(NotApplicable, match=r"training\.momentum: is 0\.9; `risk_on`.* does not know this setting"):
            one.risk_on(other)


def test_no_prediction_is_available_for_it() -> None:
    for problem in PROBLEMS:
        assert sv.theory.available(problem)
        assert not sv.theory.available(later(problem))


@pytest.mark.parametrize("key", CONVENTIONS)
def test_no_paper_has_symbols_for_it(key) -> None:
    ours = [problem for problem in PROBLEMS if not CONVENTIONS[key]._misfits(problem)]
    assert ours
    for call in (
        sv.problems.convention(key).symbols,
        lambda one: sv.problems.convention(key).risk(one, 1.0),
        lambda one: sv.results.Clock(one, key),
    ):
        call(ours[0])
        with pytest.raises(NotApplicable, match=rf"training\.momentum: is 0\.9; {key} does not know"):
            call(later(ours[0]))


@pytest.mark.parametrize("level", [sv.Macro(), sv.Meso(), sv.Micro(), sv.Empirical()], ids=lambda one: one.name)
def test_no_level_follows_it_until_it_says_so(level) -> None:
    problem = PROBLEMS[4].replace(inputs__dim=64, student__width=64)
    start = sv.start(problem, seed=0)
    with pytest.raises(NotApplicable, match=rf"training\.momentum: is 0\.9; {type(level).__name__} does not know"):
        sv.run(later(problem), start, level, until=0.1)


def test_a_domain_may_name_it() -> None:
    problem = later(PROBLEMS[0])
    require(problem, units="quadratic", knows=("training.momentum",))
    require(problem.replace(training=Momentum(learning_rate=0.1)), units="quadratic")  # at its default
    steps = sv.Schedule(times=(0, 1), rates=(1.0, 2.0))
    moving = Masked(mask=0.3, spectrum=sv.Spectrum(eigenvalues=(steps,)))
    masked = problem.replace(inputs=moving, training__learning_rate=steps)
    for one in (masked, masked.at(2.0)):  # what one time has is not fewer settings
        assert list(unusual_settings(one)) == [("inputs.mask", 0.3), ("training.momentum", 0.9)]


def test_the_known_settings_are_those_of_a_problem() -> None:
    """No path of `KNOWN` or `FEATURES` is misspelt, and today every field has a word or is a feature."""
    parts = {"teacher": sv.Teacher, "student": sv.Student, "inputs": sv.Inputs, "training": sv.Training}
    fields = {f"{part}.{name}" for part, kind in parts.items() for name in kind.model_fields}
    fields |= set(sv.Problem.model_fields) - set(parts)
    assert fields - {"inputs.spectrum"} == (KNOWN - SPECTRA) | set(FEATURES)
    spectra = {name for one in (sv.PowerLaw, sv.Spectrum) for name in one.model_fields}
    assert {f"inputs.spectrum.{name}" for name in spectra} == SPECTRA
    assert len(FREE) == 5


STEPS = sv.Schedule(times=(0, 1), rates=(0.1, 0.2))
GRAM = ((2.0, 0.0), (0.0, 1.0))


@pytest.mark.parametrize(
    ("changes", "allowing", "text"),
    [
        ({"student__activation": "erf"}, {"units": "any"}, "student.activation: is 'erf'; this is for 'quadratic' units"),
        ({"teacher__target": "product"}, {"target": "any"}, "teacher.target: is 'product'; this is for additive targets"),
        ({"teacher__overlap": "sampled"}, {"teachers": "any"},
         "teacher.overlap: is 'sampled'; this is for 'orthonormal' teachers"),
        ({"teacher__overlap": GRAM}, {"teachers": "given"},
         "teacher.overlap: is another Gram matrix; this is for 'orthonormal' teachers"),
        ({"student__readout": "unit"}, {"student_readout": "equal"},
         "student.readout: is 'unit'; this is for readouts 1/width ('mean')"),
        ({"teacher__readout": (1.0, 2.0)}, {"teacher_readout": "positive"},
         "teacher.readout: is (1.0, 2.0); this is for readouts 1/width ('mean')"),
        ({"student__norm": "sphere"}, {"norm": "sphere"}, "student.norm: is 'sphere'; this is for students of free norm"),
        ({"inputs__spectrum": sv.PowerLaw(beta=1.0, distinct=4)}, {"isotropic": False},
         "inputs.spectrum: has 4 eigenvalues; this is for isotropic inputs of variance one"),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(2.0,))}, {"isotropic": False},
         "inputs.spectrum: has the eigenvalue 2; this is for isotropic inputs of variance one"),
        ({"training__label_noise": 0.1}, {"label_noise": True},
         "training.label_noise: is 0.1; this is for labels without noise"),
        ({"training__weight_decay": 0.1}, {"decay": True}, "training.weight_decay: is 0.1; this is for weights without decay"),
        ({"training__batch": 3}, {"batch": True}, "training.batch: is 3; this is for single samples"),
        ({"training__loss": "log-cosh"}, {"loss": "any"}, "training.loss: is 'log-cosh'; this is for the squared loss"),
        ({"training__train_readout": True}, {"trained_readout": True},
         "training.train_readout: is True; this is for a fixed readout"),
        ({"training__samples": 7}, {"samples": True},
         "training.samples: is 7; this is for fresh samples, not a data set"),
        ({"training__learning_rate": STEPS}, {"schedules": "rates"},
         "training.learning_rate: is a schedule; this is for a constant one; problem.at(alpha) has that of one time"),
        ({"training__label_noise": STEPS}, {"label_noise": True, "schedules": True},
         "training.label_noise: is a schedule; this is for labels without noise"),
    ],
)  # fmt: skip
def test_each_setting_has_its_word_and_its_text(changes, allowing, text) -> None:
    problem = PAPER["bocchi2026"](p=4, p_star=2, eta=0.05).replace(**changes)
    assert Domain(units="quadratic").refusals(problem, "this") == [text]
    assert Domain(**{"units": "quadratic", **allowing}).refusals(problem) == []


def test_what_a_domain_may_ask_for() -> None:
    problem = PAPER["bocchi2026"](p=4, p_star=2, eta=0.05)
    asked = Domain(finite_dim=True, power_law=True, norm="sphere", student_width=1, student_readout=0.5)
    assert asked.refusals(problem, "this") == [
        "student.readout: is 'mean'; this is for readouts 0.5",
        "student.width: is 4, not 1; this is for 1 student",
        "student.norm: is 'free'; this is for students of norm one ('sphere')",
        "inputs.spectrum: is not a power law; this is for power laws with positive beta",
        "inputs.dim: is infinite; this is for a finite one",
    ]
    moving = problem.replace(training__batch=sv.Schedule(times=(0, 1), rates=(1, 2)))
    assert len(Domain(batch=True, schedules="rates").refusals(moving)) == 1
    with pytest.raises(TypeError, match="must be a Problem, not str"):
        require("problem.toml")


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ({"teachers": "orthonorml"}, "^teachers: 'orthonorml' given, must be one of 'orthonormal', 'given', 'any'$"),
        ({"schedules": "none"}, "^schedules: 'none' given, must be one of False, 'rates', True$"),
        ({"schedules": 1}, "^schedules: 1 given, must be one of"),
        ({"target": "sum"}, "^target: 'sum' given, must be one of 'additive', 'any'$"),
        ({"norm": "spheres"}, "^norm: 'spheres' given, must be one of 'free', 'sphere', 'any'$"),
        ({"loss": "square"}, "^loss: 'square' given, must be one of 'squared', 'any'$"),
        ({"student_readout": "sqrt"}, "^student_readout: 'sqrt' given, must be .* 'any' or a number$"),
        ({"teacher_readout": True}, "^teacher_readout: True given, must be"),
        ({"decay": "no"}, "^decay: 'no' given, must be one of False, True$"),
        ({"units": ("erf", "quadratics")}, "^units: 'quadratics' given, must be 'any' or names of .*erf"),
        ({"knows": "tasks"}, "^knows: 'tasks' given, must be a tuple of paths$"),
    ],
    ids=str,
)
def test_a_misspelt_word_does_not_make_a_domain_wider(words, text) -> None:
    with pytest.raises(ValueError, match=text):
        Domain(**words)


def test_every_word_is_checked() -> None:
    unchecked = {"units", "student_width", "teacher_width", "knows"}
    assert {field.name for field in dataclasses.fields(Domain)} == unchecked | set(WORDS)


def test_equal_readouts_are_equal_in_proportion() -> None:
    problem = PAPER["bocchi2026"](p=2, p_star=2, eta=0.05)
    equal = Domain(units="quadratic", student_readout="equal")
    for size in (1e-13, 1.0, 1e13):
        assert not equal.refusals(problem.replace(student__readout=(size, size * (1 + 1e-14))))
        assert equal.refusals(problem.replace(student__readout=(size, size * (1 + 1e-9))))
