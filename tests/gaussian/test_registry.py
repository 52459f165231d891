"""One registry of units and losses: what is added there runs at every level, and nowhere else is a list to extend."""

import numpy as np
import pytest

import solvable as sv
from gate import first
from seeds import seed
from solvable.dynamics import reduced_form
from solvable.gaussian.losses import LOSSES, TABULATED_LOSS, Loss
from solvable.gaussian.units import TABULATED, UNITS, NamedUnit

SOFTPLUS = NamedUnit("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
HUBER = Loss(
    "bounded",
    lambda e: np.where(np.abs(e) < 1, e**2, 2 * np.abs(e) - 1),
    lambda e: 2 * np.clip(e, -1, 1),
    lambda e: 2.0 * (np.abs(e) < 1),
)
LOGISTIC = Loss(
    "cross-entropy",
    lambda m: np.logaddexp(0, -m),
    lambda m: 1 / (1 + np.exp(m)),
    lambda m: -1 / (np.exp(m) + np.exp(-m) + 2),
    of="margin",
)


@pytest.fixture
def added(monkeypatch):
    monkeypatch.setitem(UNITS, "softplus", SOFTPLUS)
    for loss in (HUBER, LOGISTIC):
        monkeypatch.setitem(LOSSES, loss.name, loss)


def problem_of(loss: str) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="softplus"),
        student=sv.Student(width=2, activation="softplus"),
        inputs=sv.Inputs(dim=2000),
        training=sv.Training(learning_rate=0.5, loss=loss, label_noise=2.0),
    )


@pytest.mark.statistical
@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("loss", first(["squared", "bounded", "cross-entropy"]))
def test_what_is_added_runs_at_every_level(loss) -> None:
    """Macro, Micro and Meso agree within 5.5 standard errors of 32 runs, and 4/dim; squared loss instead is told apart."""
    problem = problem_of(loss)
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    limit = sv.run(problem, start, sv.Macro(nodes=2**12), times=[1.0])
    other = sv.run(problem_of("bounded" if loss == "squared" else "squared"), start, sv.Macro(nodes=2**12), times=[1.0])
    for level in (sv.Micro(runs=32, seed=seed(1)), sv.Meso(runs=32, seed=seed(2))):
        found = sv.run(problem, start, level, times=[1.0], progress=False)
        ends = found.student_overlap[:, 0]
        allowed = 5.5 * ends.std(axis=0, ddof=1) / np.sqrt(32) + 4 / 2000
        assert (np.abs(ends.mean(axis=0) - limit.student_overlap[0, 0]) < allowed).all()
        assert (np.abs(ends.mean(axis=0) - other.student_overlap[0, 0]) > allowed).any()


@pytest.mark.statistical
@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("loss", ["squared", "bounded", "cross-entropy"])
def test_moments_of_what_is_added_equal_sampling(loss) -> None:
    """Within 6 standard errors of 200 000 samples, on a singular covariance too."""
    factor = np.random.default_rng(seed(3)).standard_normal((3, 3))
    for C in (factor @ factor.T / 3, factor[:, :2] @ factor[:, :2].T / 3):
        assert sv.checks.moments_against_sampling(problem_of(loss), C, seed=seed(4), nodes=2**15, allowed=6).passed


@pytest.mark.usefixtures("added")
@pytest.mark.parametrize("loss", ["bounded", "cross-entropy"])
def test_sgd_by_the_table_of_a_loss_is_sgd_by_its_push(loss, monkeypatch) -> None:
    problem = problem_of(loss).replace(inputs__dim=50)
    assert not reduced_form.is_own(problem)
    start, level = sv.start(problem, seed=1), sv.Micro(runs=3, seed=2)
    by_table = sv.run(problem, start, level, times=[2.0], progress=False)
    monkeypatch.setattr(reduced_form, "is_own", lambda _: True)
    by_call = sv.run(problem, start, level, times=[2.0], progress=False)
    assert np.allclose(by_table.student_overlap, by_call.student_overlap, rtol=1e-9)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(sv.InvalidProblem, match="must be 'linear', 'quadratic', 'erf', 'relu', 'tanh' or 'hermite3'"):
        sv.Student(width=1, activation="softplus")
    with pytest.raises(sv.InvalidProblem, match="loss: 'cauchy' given, must be 'squared', 'log-cosh', 'correlation'"):
        sv.Training(learning_rate=1.0, loss="cauchy")


def test_every_kind_is_named_once() -> None:
    for registry, table in ((UNITS, TABULATED), (LOSSES, TABULATED_LOSS)):
        assert all(name == one.name for name, one in registry.items())
        kinds = [one.kind for one in registry.values() if one.kind != table]
        assert len(set(kinds)) == len(kinds)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"push": lambda e: -2 * e}, "push: is .* at .*, but differences give"),
        ({"push_slope": lambda e: 2 * e}, "push_slope: is .* at .*, but differences give"),
        ({"of": "margin"}, "push: is .* at .*, but differences give"),
        ({"push": lambda _: 1.0}, "push: must map an array"),
    ],
)
def test_slopes_of_losses_are_checked(changes, message) -> None:
    fields = {"function": np.square, "push": lambda e: 2 * e, "push_slope": lambda e: 0 * e + 2} | changes
    with pytest.raises(ValueError, match=message):
        Loss("mine", **fields)


def test_jumps_of_a_push_are_known() -> None:
    hinge = Loss("hinge", lambda m: np.maximum(0, 1 - m), lambda m: (m < 1) * 1.0, lambda m: 0 * m, of="margin")
    assert hinge.kinks == pytest.approx([1.0])
    assert not hinge.smooth
    assert HUBER.kinks == pytest.approx([-1, 1], abs=1e-8)
    assert HUBER.smooth
