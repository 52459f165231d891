"""Closed forms of AdaGrad-Norm and momentum for linear students, against the equations."""

import numpy as np
import pytest

import solvable as sv


def problem_of(rate, *, spectrum=(1.0,), widths=(1, 1), readout="unit", **training):
    return sv.Problem(
        teacher=sv.Teacher(width=widths[1], activation="linear", readout="unit"),
        student=sv.Student(width=widths[0], activation="linear", readout=readout),
        inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=spectrum)),
        training=sv.Training(learning_rate=rate, **{"loss_factor": 0.5} | training),
    )


@pytest.mark.parametrize(
    ("rate", "offset", "more"),
    [
        (0.7, 0.5, {"spectrum": (0.4, 1.1, 2.1)}),
        (0.4, 1.0, {"spectrum": (0.7, 1.3), "loss_factor": 1.0}),
        (0.6, 0.6, {"widths": (2, 1), "readout": (0.8, -0.5)}),
    ],
)
def test_the_last_rate_of_adagrad(rate, offset, more):
    problem = problem_of(rate, rate_rule=sv.problems.AdaGrad(offset=offset), **more)
    p, q = problem.student.width, problem.teacher.width
    start = sv.start(problem, student_overlap=0.3 + np.eye(p), cross_overlap=np.full((p, q), 0.2))
    run = sv.run(problem, start, sv.Macro(rtol=1e-11), times=[0.0, 90.0])
    assert run.rate[0, -1] == pytest.approx(sv.theory.adagrad_rate(problem, start).value, rel=1e-8)


@pytest.mark.parametrize(("kappa", "rate"), [(0.3, 0.2), (2.0, 0.7), (5.0, 1.2)])
def test_the_decay_of_the_risk_with_momentum(kappa, rate):
    problem = problem_of(rate, momentum=sv.Momentum(kappa=kappa))
    start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.2]])
    decay = sv.theory.momentum_late_rate(problem).value
    times = np.linspace(6, 12, 241) / decay
    risk = sv.run(problem, start, sv.Macro(rtol=1e-10), times=times).risk[0]
    found = -np.polyfit(times, np.log(risk), 1)[0]
    assert found == pytest.approx(decay, rel=0.02 if kappa < 1 else 1e-3)


def test_no_friction_beats_the_best_plain_rate():
    """By a scan over rates and frictions, and much of both at small rates."""
    rates, kappas = np.linspace(0.05, 1.95, 39), np.geomspace(0.02, 500, 41)
    found = [
        [sv.theory.momentum_late_rate(problem_of(rate, momentum=sv.Momentum(kappa=kappa))).value for rate in rates.tolist()]
        for kappa in kappas.tolist()
    ]  # fmt: skip
    assert np.max(found) < 1.0
    assert np.max(found) > 0.98
    small = [problem_of(rate, momentum=sv.Momentum(kappa=4 * rate)) for rate in (0.1, 0.01, 0.001)]
    gains = [sv.theory.momentum_late_rate(one).value / (2 * one.training.learning_rate) for one in small]
    assert gains == sorted(gains)
    assert 1.8 < gains[-1] < 2


def test_what_the_forms_are_not_for():
    plain = problem_of(0.5)
    start = sv.start(plain, student_overlap=[[1.0]], cross_overlap=[[0.2]])
    with pytest.raises(sv.theory.NotApplicable, match=r"^training\.rate_rule: is not AdaGrad"):
        sv.theory.adagrad_rate(plain, start)
    with pytest.raises(sv.theory.NotApplicable, match=r"^training\.momentum: is not of the kind kappa"):
        sv.theory.momentum_late_rate(plain.replace(training__momentum=0.5))
