"""Learning curves by losses and rules: where they are known, and what every curve promises."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import solvable as sv
from gate import first
from solvable.dynamics.losses_of_tests import mean_loss

SPIRAL = sv.problems.Hermite(coefficients=(0.0, 0.3, 0.5, 0.2))


def problem_of(**training):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", readout=(1.0, -0.6)),
        student=sv.Student(width=2, activation="erf", readout=(0.7, 0.4)),
        training=sv.Training(**{"learning_rate": 0.8, "loss_factor": 0.5} | training),
    )


def start_of(problem):
    return sv.start(problem, student_overlap=[[0.8, 0.1], [0.1, 0.6]], cross_overlap=[[0.3, 0.1], [0.0, -0.2]])


@pytest.mark.parametrize("noise", [0.0, 0.5])
def test_correlation_loss_on_the_sphere_is_one_equation(noise):
    """dm/dalpha = eta U'(m) (1 - m^2) - eta^2 m S / 2, with U(m) = sum_j j! c_j c*_j m^j and S = <g'^2 (y^2 + noise)>."""
    rate, student, teacher = 0.3, np.array([0.0, 0.3, 0.5, 0.2]), np.array([0.0, 0.1, 0.4, -0.3])
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation=sv.problems.Hermite(coefficients=tuple(teacher)), readout="unit"),
        student=sv.Student(width=1, activation=SPIRAL, readout="unit", norm="sphere"),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, loss="correlation", label_noise=noise),
    )
    times = np.linspace(0, 20, 9)
    run = sv.run(
        problem, sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.1]]), sv.Macro(rtol=1e-10), times=times
    )

    def slope(m):
        return student[1] * teacher[1] + 4 * student[2] * teacher[2] * m + 18 * student[3] * teacher[3] * m**2

    def square(m):
        hermite = np.polynomial.hermite_e

        def both(z):
            return hermite.hermeval(z[:, 0], hermite.hermeder(student)) ** 2 * (
                hermite.hermeval(z[:, 1], teacher) ** 2 + noise
            )

        return float(sv.gaussian.expect(both, [[1.0, m], [m, 1.0]], 8))

    known = solve_ivp(
        lambda _, m: rate * slope(m) * (1 - m**2) - 0.5 * rate**2 * m * square(m[0]), (0, 20), [0.1], t_eval=times,
        rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    assert np.allclose(run.cross_overlap[0, :, 0, 0], known.y[0], atol=1e-8)
    squared = sv.run(
        problem.replace(training__loss="squared"),
        sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.1]]),
        sv.Macro(),
        times=times,
    )
    assert np.abs(squared.cross_overlap[0, :, 0, 0] - known.y[0]).max() > 0.01  # which differs in S alone


def test_a_small_clip_is_a_normalised_step():
    """Clipped at a threshold far below all gradients, times its inverse: normalised."""
    ends = []
    for change in (
        {"rule": sv.problems.ClipSamples(norm=1e-3), "learning_rate": 500.0},
        {"rule": "normalised", "learning_rate": 0.5},
    ):
        problem = problem_of(**change)
        ends.append(sv.run(problem, start_of(problem), sv.Macro(rtol=1e-4), times=[1.0]))
    gap = np.abs(ends[0].student_overlap - ends[1].student_overlap).max()
    assert gap < 5e-3 + ends[0].overlap_error.max() + ends[1].overlap_error.max()


def test_look_ahead_by_the_rate_and_two_uses_begin_alike():
    """F(h_0) + F(h_1) for two uses, F(h_1) for the look-ahead of the same rate: their moments differ by those of one use."""
    C = np.array([[0.9, 0.2, 0.4, 0.1], [0.2, 0.7, -0.1, 0.3], [0.4, -0.1, 1.1, 0.2], [0.1, 0.3, 0.2, 0.8]])
    one, two, ahead = (
        sv.dynamics.moments(C, problem_of(**change), nodes=2**13).drift
        for change in ({"rule": sv.Rule("plain", lambda F, z, y, o, s: None)}, {"repeats": 2}, {"lookahead": 1.0})
    )
    assert np.allclose(two, one + ahead, atol=1e-12)  # on the same nodes


def test_averages_that_jump_raise_the_tolerance_and_say_so():
    problem = problem_of(rule="normalised")
    run = sv.run(problem, start_of(problem), sv.Macro(rtol=1e-6), times=[0.5])
    assert "rtol 1e-06 was raised to 0.00012" in run.message
    assert 0 < run.overlap_error.max() < 0.1
    finer = sv.run(problem, start_of(problem), sv.Macro(rtol=1e-3), times=[0.5])
    assert "raised" not in finer.message
    smooth = problem_of(lookahead=0.5)
    assert "raised" not in sv.run(smooth, start_of(smooth), sv.Macro(), times=[0.5]).message


@pytest.mark.parametrize("change", first([{"repeats": 2}, {"loss": "correlation"}, {"rule": "normalised"}]))
def test_errors_hold_the_truth(change):
    """Of few nodes, against many."""
    problem = problem_of(**change)
    few, many = (sv.run(problem, start_of(problem), sv.Macro(nodes=n), times=[1.0]) for n in (2**10, 2**15))
    gap = np.abs(few.student_overlap - many.student_overlap).max()
    assert gap <= few.overlap_error.max() + many.overlap_error.max()


def test_a_restart_goes_on():
    problem = problem_of(loss="correlation", repeats=2)
    whole = sv.run(problem, start_of(problem), sv.Macro(), times=[1.0, 2.0])
    half = sv.run(problem, start_of(problem), sv.Macro(), times=[1.0])
    rest = sv.run(problem.later(1.0), half.last(), sv.Macro(), times=[1.0])
    assert np.allclose(whole.student_overlap[0, -1], rest.student_overlap[0, -1], atol=1e-4)


@pytest.mark.parametrize(
    ("loss", "unit"),
    [("huber", "linear"), ("absolute", "linear"), ("log-cosh", "erf"), ("correlation", "erf"), ("squared", "erf")],
)
def test_the_loss_beside_the_risk(loss, unit):
    problem = problem_of(loss=loss).replace(student__activation=unit, teacher__activation=unit)
    run = sv.run(problem, start_of(problem), sv.Macro(rtol=1e-6), times=[0.0, 1.0])
    z = (
        np.random.default_rng(1).standard_normal((400_000, 4))
        @ np.linalg.cholesky(sv.dynamics.field_covariance(problem, run.at(1.0))).T
    )
    label, output = problem.teacher.labels(z[:, 2:]), problem.student.unit.function(z[:, :2]) @ np.array([0.7, 0.4])
    one = problem.training.loss_function
    values = 0.5 * (one.function(label - output) if one.of == "residual" else one.function(label * output))
    assert abs(run.loss[0, 1] - values.mean()) < 5 * values.std() / np.sqrt(len(values)) + 1e-3 * (unit == "erf")
    if loss == "squared":
        assert (run.loss == run.risk).all()


def test_the_loss_of_classes_is_an_average_over_one_variable():
    """Logistic loss of one erf student on two classes, against 20 000 points."""
    problem = sv.Problem(
        student=sv.Student(width=1, activation="erf", readout=(1.5,)),
        mixture=sv.Mixture(probabilities=(0.5, 0.5), means=((1.0,), (-1.0,)), gram=((1.0,),), labels=(1.0, -1.0)),
        training=sv.Training(learning_rate=1.0, loss="logistic"),
    )
    start = sv.start(problem, student_overlap=[[0.5]], direction_overlap=[[0.3]])
    run = sv.run(problem, start, sv.Macro(), times=[0.0, 5.0])
    assert (run.risk_error == 0).all()
    state = run.at(5.0)
    h, C = float(state.stacked[0, 0, 1]), float(state.stacked[0, 0, 0])
    xi = np.linspace(-9, 9, 20_001)
    w = np.exp(-0.5 * xi**2) / np.exp(-0.5 * xi**2).sum()
    output = 1.5 * problem.student.unit.function(h + np.sqrt(C) * xi)
    assert run.loss[0, 1] == pytest.approx(w @ np.logaddexp(0, -output), rel=1e-9)
    assert mean_loss(problem, state) == run.loss[0, 1]
    assert run.loss[0, 1] < run.loss[0, 0]
