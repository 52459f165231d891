"""Specifications of kernels: what a problem tells them, changed without validation; and no other problem is ever made for them."""

import numpy as np
import pytest

import solvable as sv
from gate import first
from solvable.dynamics.exactness import squared
from solvable.dynamics.kernel_data import pack
from solvable.dynamics.reverse_choice import reversible
from solvable.problems import Problem
from solvable.problems.spec import KernelSpec

CLASSES = {"mixture": sv.Mixture.opposite(1.0), "training__rate_rule": sv.problems.AdaGrad(offset=1.0)}
PROBLEMS = {
    "plain": {},
    "turning teachers": {"teacher__rotation": 0.3},
    "classes": CLASSES,
    "schedules": {"training__learning_rate": sv.Schedule(times=(0, 1), rates=(0.2, 0.1)), "training__loss": "log-cosh"},
    "rules": {"training__rule": "normalised", "training__repeats": 2},
    "eigenvalues": {"inputs__spectrum": sv.Spectrum(eigenvalues=(0.5, 1.5)), "training__loss": "correlation"},
}


def problem_of(kind: str) -> sv.Problem:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=60),
        training=sv.Training(learning_rate=0.2),
    )
    return problem.replace(**PROBLEMS[kind])


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_specification_is_what_its_problem_says(kind) -> None:
    problem = problem_of(kind)
    spec = KernelSpec.of(problem)
    assert spec == KernelSpec.of(problem_of(kind))
    assert hash(spec) == hash(KernelSpec.of(problem_of(kind)))
    assert spec != spec.replace(training__loss_factor=3.0)
    for name in ("features", "extras", "scalars", "heads", "task_heads"):
        assert getattr(spec, name) == getattr(problem, name)
    start = sv.start(problem, seed=0)
    for one, other in zip(pack(problem, start), pack(spec, start), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_changed_specification_is_that_of_the_changed_problem(kind) -> None:
    """Where the change is one that validation lets through; what was kept of the old parts does not stay."""
    problem = problem_of(kind)
    assert problem.training.segments["batch"][0, 1] == 1
    changes = {"training__batch": 3, "training__label_noise": 0.3, "student__width": 3}
    spec, changed = KernelSpec.of(problem).replace(**changes), problem.replace(**changes)
    start = sv.start(changed, seed=0)
    for one, other in zip(pack(changed, start), pack(spec, start), strict=True):
        assert np.array_equal(one, other)
    assert spec.training.segments["batch"][0, 1] == 3


def test_nothing_is_validated_but_names() -> None:
    spec = KernelSpec.of(problem_of("plain")).replace(training__learning_rate=-1.0)
    assert spec.training.learning_rate == -1.0
    for name in ("training__rate", "trainings", "loss"):
        with pytest.raises(AttributeError, match=f"{name}: is no part of a problem and no field of one"):
            spec.replace(**{name: 1.0})


def test_the_risk_is_that_of_squared_loss_without_rules() -> None:
    training = squared(problem_of("rules").replace(training__loss="log-cosh")).training
    assert (training.loss, training.rule, training.repeats, training.learning_rate) == ("squared", None, 1, 1.0)


LEVELS = [
    sv.Macro(),
    sv.Micro(runs=1, threads=1),
    sv.Meso(runs=1, threads=1),
    sv.Micro(runs=1, form="full", threads=1),
]


@pytest.fixture
def no_problem(monkeypatch) -> None:
    """From now on no problem can be made, validated or not."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a problem is made")

    for name in ("__init__", "model_construct", "model_validate", "model_copy", "replace"):
        monkeypatch.setattr(Problem, name, refuse)


@pytest.mark.parametrize("level", first(LEVELS), ids=str)
@pytest.mark.parametrize("kind", ["plain", "turning teachers", "schedules", "eigenvalues"])
def test_no_level_makes_a_problem(level, kind, request) -> None:
    problem = problem_of(kind)
    start = sv.start(problem, seed=0)
    request.getfixturevalue("no_problem")
    run = sv.run(problem, start, level, until=0.1, stop=sv.when("risk", below=1e-9), progress=False)
    assert np.isfinite(run.risk).all()


@pytest.mark.parametrize("kind", ["plain", "rules", "eigenvalues"])
def test_moments_make_no_problem(kind, request) -> None:
    problem = problem_of(kind)
    request.getfixturevalue("no_problem")
    assert np.isfinite(sv.dynamics.moments(np.eye(4), problem).noise).all()


@pytest.mark.parametrize("kind", ["plain", "turning teachers"])
def test_reverses_make_no_problem(kind, request) -> None:
    """Derivatives by readouts, which are not trained: of turning teachers at a rate of zero."""
    problem = problem_of(kind)
    start = sv.start(problem, seed=0)
    request.getfixturevalue("no_problem")
    first_record = reversible(problem, start, readouts=True).packed.problems[0]
    assert bool(first_record.train_readout) == (kind != "plain")
    assert (first_record.readout_rate == 0.0) == (kind != "plain")
