"""The gate: what is accepted, how mistakes are told, and that a problem survives every file format."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import solvable as sv

positive = st.floats(1e-6, 1e3, allow_nan=False)


@st.composite
def problems(draw) -> sv.Problem:
    p, q = draw(st.integers(1, 5)), draw(st.integers(1, 4))
    unit = draw(st.sampled_from(["linear", "quadratic", "erf"]))
    readouts = lambda width: st.one_of(
        st.sampled_from(["mean", "sqrt", "unit"]), positive, st.tuples(*[st.floats(-2, 2)] * width)
    )
    rates = st.one_of(positive, st.just(sv.Schedule(times=(0, 1, 5), rates=(0.1, 0.2, 0.0), shape="linear")))
    spectrum = draw(
        st.sampled_from(
            [None, sv.PowerLaw(beta=0.5, distinct=4), sv.Spectrum(eigenvalues=(2.0, 0.5), weights=(0.25, 0.75))]
        )
    )
    trains = draw(st.booleans())
    return sv.Problem(
        teacher=sv.Teacher(
            width=q,
            activation=unit,
            readout=draw(readouts(q)),
            overlap=draw(st.sampled_from(["orthonormal", "sampled"])),
        ),
        student=sv.Student(
            width=p, activation=unit, readout=draw(readouts(p)), norm=draw(st.sampled_from(["free", "sphere"]))
        ),
        inputs=sv.Inputs(dim=draw(st.sampled_from([None, 400])), spectrum=spectrum),
        training=sv.Training(
            learning_rate=draw(rates),
            batch=draw(st.integers(1, 9)),
            weight_decay=draw(st.floats(0, 1)),
            loss_factor=draw(st.sampled_from([0.5, 1.0])),
            label_noise=draw(st.floats(0, 2)),
            train_readout=trains,
            readout_rate=draw(rates) if trains else None,
        ),
    )


@given(problem=problems())
def test_round_trips_and_hash(problem: sv.Problem) -> None:
    for copy in (sv.Problem.from_toml(problem.to_toml()), sv.Problem.from_json(problem.to_json())):
        assert copy == problem
        assert copy.hash == problem.hash
        assert hash(copy) == hash(problem)
    changed = problem.replace(training__batch=problem.training.batch + 1)
    assert changed != problem
    assert changed.hash != problem.hash


def test_the_hash_is_the_same_everywhere(quadratic: sv.Problem) -> None:
    """Pinned: stored results are found again by it."""
    assert quadratic.hash == "f7a40a3b9e77ba92db76a9cd3aeb7790c305323956c1b8b8ebd8feb331036671"
    spelled_out = quadratic.replace(teacher=sv.Teacher(width=3, activation="quadratic", readout="mean"))
    assert spelled_out.hash == quadratic.hash
    assert quadratic.replace(training__learning_rate=np.float64(0.01)).hash == quadratic.hash


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: sv.Student(width=0), "width: 0 given, must be greater than 0"),
        (lambda: sv.Student(width=2.5), "width: 2.5 given, must be a whole number"),
        (lambda: sv.Student(width=True), "width: True given, must be a whole number"),
        (
            lambda: sv.Student(width=2, activation="tanhh"),
            "activation: 'tanhh' given \\(did you mean tanh\\?\\), must be 'linear', 'quadratic', 'erf', 'relu', 'tanh' or "
            "'hermite3'",
        ),
        (lambda: sv.Student(width=2, norm="ball"), "norm: 'ball' given, must be 'free' or 'sphere'"),
        (lambda: sv.Student(width=2, readout=(1, 2, 3)), "readout: 3 values given for width 2, must be as many"),
        (lambda: sv.Teacher(width=2, overlap=[[1, 2], [2, 1]]), "overlap: must be positive semidefinite"),
        (lambda: sv.Teacher(width=2, overlap=[[1, 0.5], [0, 1]]), "overlap: must be symmetric"),
        (lambda: sv.Teacher(width=2, overlap=[[1.0]]), "overlap: must be 2 rows of 2 numbers"),
        (lambda: sv.Teacher(width=2, width_=3), "width_: is not a field here"),
        (lambda: sv.Training(learning_rate=float("nan")), "learning_rate: nan given, must be finite, or a Schedule"),
        (lambda: sv.Training(learning_rate=-1), "learning_rate: -1 given, must be greater than 0, or a Schedule"),
        (
            lambda: sv.Training(learning_rate=0.1, readout_rate=0.1),
            "readout_rate: given although train_readout is false",
        ),
        (
            lambda: sv.Training(learning_rate=0.1, label_noise=-0.1),
            "label_noise: -0.1 given, must be greater than or equal",
        ),
        (lambda: sv.Schedule(times=(0, 2, 1), rates=(1, 1, 1)), "times: must start at 0 and increase"),
        (lambda: sv.Schedule(times=(0, 1), rates=(1,)), "rates: 1 given for 2 times, must be as many"),
        (lambda: sv.Schedule(times=(0,), rates=(-1,)), "rates: must not be negative"),
        (lambda: sv.Training(learning_rate=sv.Schedule(times=(0,), rates=(0,))), "learning_rate: is zero at all times"),
        (lambda: sv.Spectrum(eigenvalues=(1, -1)), "eigenvalues: must not be negative"),
        (lambda: sv.Spectrum(eigenvalues=(1, 2), weights=(1,)), "weights: 1 given for 2 eigenvalues"),
        (lambda: sv.Inputs(dim=10, spectrum=sv.PowerLaw(beta=1, distinct=4)), "dim: 10 cannot be shared .* 8 or 12"),
        (lambda: sv.Inputs(dim=2, spectrum=sv.PowerLaw(beta=1, distinct=4)), "dim: 2 cannot be shared .* can: 4"),
        (lambda: sv.Inputs(dim=10**400), "dim: .* given, must be less than or equal to 1000000000000000"),
    ],
)
def test_mistakes_are_told_in_one_line(make, message) -> None:
    with pytest.raises(sv.InvalidProblem, match=message) as caught:
        make()
    assert len(caught.value.problems) == 1


def test_all_mistakes_are_told_at_once() -> None:
    text = "[teacher]\nwidth = -1\n[student]\nwidth = 2\ncolour = 3\n[training]\nlearning_rate = 'fast'\n"
    with pytest.raises(sv.InvalidProblem) as caught:
        sv.Problem.from_toml(text)
    assert caught.value.problems == [
        "teacher.width: -1 given, must be greater than or equal to 0",
        "student.colour: is not a field here, must be one of activation, bias, norm, readout, width",
        "training.learning_rate: 'fast' given, must be a number, or a Schedule",
    ]


@pytest.mark.parametrize("text", ["", "[teacher", "x = nan"])
def test_bad_files(text: str) -> None:
    with pytest.raises(sv.InvalidProblem):
        sv.Problem.from_toml(text)
    with pytest.raises(sv.InvalidProblem):
        sv.Problem.from_json(text)


def test_json_must_be_a_table() -> None:
    with pytest.raises(sv.InvalidProblem, match="must be a table"):
        sv.Problem.from_json(json.dumps([1, 2]))


def test_frozen_and_replaceable(quadratic: sv.Problem) -> None:
    with pytest.raises(ValueError, match="frozen"):
        quadratic.student.width = 3
    wider = quadratic.replace(student__width=12, training__learning_rate=0.5)
    assert (wider.student.width, wider.training.learning_rate, wider.teacher) == (12, 0.5, quadratic.teacher)
    with pytest.raises(sv.InvalidProblem, match="is not a field here"):
        quadratic.replace(studnt__width=12)


def test_numpy_numbers_are_numbers() -> None:
    student = sv.Student(width=np.int64(2), readout=np.array([0.5, 0.25]))
    assert student == sv.Student(width=2, readout=(0.5, 0.25))
    assert sv.Student(width=2, readout=np.float64(0.5)).readout_values.tolist() == [0.5, 0.5]


@pytest.mark.parametrize(("readout", "values"), [("mean", 0.25), ("sqrt", 0.5), ("unit", 1.0), (0.3, 0.3)])
def test_readouts(readout, values) -> None:
    assert sv.Student(width=4, readout=readout).readout_values == pytest.approx([values] * 4)


def test_spectra() -> None:
    law = sv.Inputs(spectrum=sv.PowerLaw(beta=1.0, distinct=4), dim=400)
    assert law.eigenvalues @ law.fractions == pytest.approx(1.0)
    assert law.eigenvalues[0] / law.eigenvalues[1] == pytest.approx(4.0)
    assert law.block_sizes.tolist() == [100] * 4
    given = sv.Inputs(spectrum={"eigenvalues": [3.0, 1.0], "weights": [1, 3]}, dim=8)
    assert given.fractions.tolist() == [0.25, 0.75]
    assert given.block_sizes.tolist() == [2, 6]
    assert given.eigenvalues.tolist() == [3.0, 1.0]


@pytest.mark.parametrize("shape", ["steps", "linear"])
def test_schedule_integral_and_inverse(shape: str) -> None:
    schedule = sv.Schedule(times=(0, 2, 3, 7), rates=(0.5, 0.1, 0.4, 0.2), shape=shape)
    times = np.linspace(0, 12, 200)
    from scipy.integrate import quad

    for time in (0.7, 2.0, 2.6, 5.0, 11.0):
        exact = quad(schedule, 0, time, points=[2, 3, 7])[0]
        assert schedule.integral(time) == pytest.approx(exact, rel=1e-10)
    assert schedule.inverse_integral(schedule.integral(times)) == pytest.approx(times, abs=1e-12)


def test_a_schedule_that_ends_at_zero_has_a_last_rate_scaled_time() -> None:
    schedule = sv.Schedule(times=(0, 4), rates=(0.5, 0.0), shape="linear")
    assert schedule.integral(100.0) == pytest.approx(1.0)
    assert schedule.inverse_integral(np.array(0.9)) == pytest.approx(4 * (1 - np.sqrt(0.1)))
    assert np.isinf(schedule.inverse_integral(np.array(1.5)))
