"""What an optimum offers: words, pictures, checks that can fail, what Ctrl-C leaves, batches in whole numbers."""

from dataclasses import replace
from types import SimpleNamespace

import matplotlib as mpl
import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.control import searching
from solvable.control.ensemble import Ensemble
from solvable.plot.schedules import _title
from solvable.problems import NotApplicable

RATE = "training.learning_rate"


@pytest.fixture(scope="module")
def problem() -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=2000),
        training=sv.Training(learning_rate=0.2, label_noise=0.1),
    )


@pytest.fixture(scope="module")
def start(problem) -> sv.Overlaps:
    return sv.start(problem, seed=0, students="orthogonal", cross=0.5)


@pytest.fixture(scope="module")
def best(problem, start) -> sv.control.Optimum:
    return sv.optimal(problem, start, until=30.0, control={RATE: 8}, refine=False, guesses=1)


def test_words(best) -> None:
    assert repr(best).startswith(f"Optimum(risk {best.value:.4g}, with constants {best.constant[1]:.4g}, 8 values of")
    assert "a gain of" in best.summary()
    assert best.message in best.summary()
    assert best.constant_problem.training.learning_rate == best.constant[0][RATE]
    assert best.constant_trajectory.risk[0, -1] == pytest.approx(best.constant[1], rel=1e-6)


def test_picture(best) -> None:
    mpl.use("agg")
    picture = best.plot()
    schedule, risk = picture.axes
    assert schedule.get_ylabel() == "learning rate"
    steps = schedule.lines[0].get_ydata()
    assert np.array_equal(steps, [*best.schedule[RATE].rates, best.schedule[RATE].rates[-1]])
    assert [text.get_text() for text in risk.get_legend().get_texts()] == ["best schedule", "best constant"]
    more = sv.plot.schedule(best, best.constant_trajectory, labels=["another"])
    assert more.axes[1].get_legend().get_texts()[-1].get_text() == "another"
    titles = [_title(name) for name in ("tasks.0.probability", "mixture.probabilities.1", "training.dropout.keep")]
    assert titles == ["probability of task 1", "probability of class 2", "keep"]
    with pytest.raises(ValueError, match="1 labels given for 0"):
        sv.plot.schedule(best, labels=["x"])


@pytest.mark.statistical
def test_sgd_confirms_a_gain_and_denies_a_wrong_one(best) -> None:
    """Five standard errors; the wrong gain is off by more than twenty."""
    report = sv.checks.gain_is_real(best, dim=2000, runs=32, seed=seed(1), allowed=5.0)
    assert report.passed, str(report)
    wrong = replace(best, problem=best.problem.replace(training__learning_rate=0.5 * best.constant[0][RATE]))
    report = sv.checks.gain_is_real(wrong, dim=2000, runs=32, seed=seed(1))
    assert report.worst > 20


def test_a_gain_that_few_runs_cannot_tell_is_not_confirmed(best) -> None:
    with pytest.raises(ValueError, match="raise runs or dim"):
        sv.checks.gain_is_real(replace(best, gain=1e-6), dim=200, runs=2)
    with pytest.raises(ValueError, match="must be at least 2"):
        sv.checks.gain_is_real(best, runs=1)


def test_gradients_are_checked(best, monkeypatch) -> None:
    assert sv.checks.gradient(best).passed
    from solvable.control.knobs import Knob

    gather = Knob.gather
    monkeypatch.setattr(Knob, "gather", lambda *given: 1.001 * gather(*given))
    assert not sv.checks.gradient(best).passed


def interrupt(monkeypatch, values: int, calls: int) -> None:
    """Ctrl-C at a gradient by so many values."""
    call, left = Ensemble.__call__, [calls]

    def interrupted(self, x):
        left[0] -= x.size == values
        if left[0] == 0:
            left[0] = -1
            raise KeyboardInterrupt
        return call(self, x)

    monkeypatch.setattr(Ensemble, "__call__", interrupted)


def test_an_interrupted_search_returns_what_it_has(problem, start, monkeypatch) -> None:
    """In the middle of the first descent."""
    interrupt(monkeypatch, values=8, calls=8)
    found = sv.optimal(problem, start, until=30.0, control={RATE: 8})
    assert not found.success
    assert found.message.startswith("interrupted: the best schedule so far")
    assert found.gain > 0.1


def test_an_interrupted_search_for_constants_has_nothing_to_return(problem, start, monkeypatch) -> None:
    interrupt(monkeypatch, values=1, calls=3)
    with pytest.raises(KeyboardInterrupt):
        sv.optimal(problem, start, until=30.0, control={RATE: 8})


def test_a_search_that_is_cut_off(problem, start, monkeypatch) -> None:
    clock = iter(range(10**6))  # a second for each gradient
    monkeypatch.setattr(searching, "time", SimpleNamespace(monotonic=lambda: float(next(clock))))
    from solvable.control.finding import optimal_within
    from solvable.control.gradients import ask

    found = optimal_within(50.0, ask(problem, 30.0, "risk", 1e-8), start, {RATE: sv.Control(segments=8)})
    assert found.message.startswith("cut off after 50 s")
    with pytest.raises(searching.TimeUp):
        optimal_within(3.0, ask(problem, 30.0, "risk", 1e-8), start, {RATE: sv.Control(segments=8)})


def test_batches_are_whole_numbers(problem, start) -> None:
    """With the number of samples fixed, they go where they are worth most; the value is that of the rounded schedule."""
    name = "training.batch"
    found = sv.optimal(
        problem, start, until=30.0, control={name: sv.Control(segments=6, upper=8.0)}, integral={name: 90.0}, guesses=1,
        refine=False,
    )  # fmt: skip
    assert all(float(one).is_integer() for one in found.schedule[name].rates)
    assert found.trajectory.risk[0, -1] == pytest.approx(found.value, rel=1e-6)
    assert found.schedule[name].rates[-1] > found.schedule[name].rates[0]
    with pytest.raises(ValueError, match="must go in steps"):
        sv.optimal(problem, start, until=30.0, control={name: sv.Control(shape="linear", upper=8.0)})


def test_eigenvalues_are_free_too(start) -> None:
    """What inputs are shown: of one block the best variance, whose schedule the problem takes."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1), student=sv.Student(width=2), training=sv.Training(learning_rate=0.1, label_noise=0.05),
        inputs=sv.Inputs(dim=2000, spectrum=sv.Spectrum(eigenvalues=(1.0, 0.5))),
    )  # fmt: skip
    name = "inputs.spectrum.eigenvalues.0"
    found = sv.optimal(problem, sv.start(problem, seed=0), until=10.0, control={name: 4}, refine=False, guesses=1)
    assert found.problem.inputs.spectrum.eigenvalues[0] == found.schedule[name]
    assert found.trajectory.risk[0, -1] == pytest.approx(found.value, rel=1e-6)
    assert found.gain > 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"student__activation": "relu", "teacher__activation": "relu"}, "student.activation: is 'relu'.*smooth units"),
        ({"teacher__activation": "relu"}, "teacher.activation: is 'relu'"),
        ({"training__loss": "log-cosh"}, "the gradient is for the squared loss"),
        ({"teacher__target": "product"}, "the gradient is for additive targets"),
        ({"training__train_bias": True}, "the gradient is for both or none"),
        ({"training__momentum": {"kappa": 0.5}}, "training.momentum: .* the gradient does not know this setting"),
        (
            {"training__label_flips": 0.1, "student__activation": "tanh", "teacher__activation": "tanh"},
            "student.activation: is 'tanh'; with training.label_flips the gradient is for linear",
        ),
    ],
)
def test_what_has_no_reverse_is_refused_in_one_line(problem, start, changes, message) -> None:
    with pytest.raises(NotApplicable, match=message):
        sv.gradient(problem.replace(**changes), start, until=5.0)


def test_runs_that_never_come_to_their_end(problem, start) -> None:
    with pytest.raises(ValueError, match="no run comes to its end"):
        sv.optimal(problem, start, until=300.0, control={RATE: sv.Control(segments=3, lower=20.0, upper=30.0)})
    with pytest.raises(ValueError, match="does not reach the threshold by until = 3; give a longer `until`"):
        sv.optimal(problem, start, until=3.0, control={RATE: 3}, objective=sv.when("risk", below=1e-9))
