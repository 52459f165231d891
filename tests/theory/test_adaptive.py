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


def test_a_triple_root_at_four_times_the_rate():
    """Where friction is four times the rate, (x + 4 e)^3 = 32 e^4."""
    for e in (0.2, 0.01):
        decay = sv.theory.momentum_late_rate(problem_of(e, momentum=sv.Momentum(kappa=4 * e))).value
        assert decay == pytest.approx(4 * e - (32 * e**4) ** (1 / 3), rel=1e-4)


@pytest.mark.parametrize("kappa", [0.3, 5.0])
def test_growth_on_a_plateau_with_friction(kappa):
    """A quadratic student that knows little of its teacher, at small rates: its norm rests at 1/3, its overlap grows."""
    level = sv.Macro(rtol=1e-10, atol=1e-14, small_rate=True)
    plain = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        training=sv.Training(learning_rate=0.05, loss_factor=0.5),
    )
    slow = plain.replace(training__momentum=sv.Momentum(kappa=kappa))
    rates = []
    for problem in (plain, slow):
        start = sv.start(problem, student_overlap=[[1 / 3]], cross_overlap=[[1e-8]])
        times = np.linspace(60, 80, 5)
        overlap = sv.run(problem, start, level, times=times).cross_overlap[0, :, 0, 0]
        rates.append(np.polyfit(times, np.log(overlap), 1)[0])
    assert sv.theory.momentum_growth(slow, rates[0]).value == pytest.approx(rates[1], rel=1e-3)
    assert rates[1] < rates[0]


def test_what_the_forms_are_not_for():
    plain = problem_of(0.5)
    start = sv.start(plain, student_overlap=[[1.0]], cross_overlap=[[0.2]])
    with pytest.raises(sv.theory.NotApplicable, match=r"^training\.rate_rule: is not AdaGrad"):
        sv.theory.adagrad_rate(plain, start)
    with pytest.raises(sv.theory.NotApplicable, match=r"^training\.momentum: is not of the kind kappa"):
        sv.theory.momentum_growth(plain, 0.1)
    with pytest.raises(sv.theory.NotApplicable, match=r"^training\.momentum: is not of the kind kappa"):
        sv.theory.momentum_late_rate(plain.replace(training__momentum=0.5))
