"""Momentum in the deterministic limit: what linear students do in closed form, the limit of large friction, fast velocities."""

import numpy as np
import pytest

import solvable as sv


def linear(*, rate, eigenvalues=(1.0,), student=None, **training):
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear", **(student or {})),
        inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=eigenvalues)),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, **training),
    )


def erf(**training):
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", readout="unit"),
        student=sv.Student(width=2, activation="erf", readout="unit"),
        inputs=sv.Inputs(dim=500, spectrum=sv.Spectrum(eigenvalues=(0.5, 1.5))),
        training=sv.Training(**{"learning_rate": 0.5, "loss_factor": 0.5, "label_noise": 0.1} | training),
    )


def begun(problem):
    p = problem.student.width
    return sv.start(
        problem, student_overlap=0.2 + 0.8 * np.eye(p), cross_overlap=np.full((p, problem.teacher.width), 0.3)
    )


@pytest.mark.parametrize("kappa", [0.4, 1.5, 6.0])
@pytest.mark.parametrize("rate", [0.1, 0.7])
def test_isotropic_linear_students_solve_three_equations(kappa, rate):
    """(|e|^2, e.v, |v|^2)/N with e = w - w*, which the equations of the library do not know; their rates solve a cubic."""
    problem = linear(rate=rate, label_noise=0.2, momentum=sv.Momentum(kappa=kappa))
    times = np.linspace(0, 6, 13)
    run = sv.run(problem, begun(problem), sv.Macro(rtol=1e-10), times=times)
    A = np.array([[0, 2, 0], [-kappa * rate, -kappa, 1], [kappa**2 * rate**2, -2 * kappa * rate, -2 * kappa]])
    cubic = [1, 3 * kappa, 2 * kappa**2 + 4 * kappa * rate, 2 * kappa**2 * rate * (2 - rate)]
    np.testing.assert_allclose(
        np.sort_complex(np.roots(cubic)), np.sort_complex(np.linalg.eigvals(A)), rtol=1e-6, atol=1e-6
    )
    still = -np.linalg.solve(A, [0, 0, kappa**2 * rate**2 * 0.2])
    first = np.array([run.student_overlap[0, 0, 0, 0] - 2 * run.cross_overlap[0, 0, 0, 0] + 1, 0, 0])
    values, vectors = np.linalg.eig(A)
    coefficients = np.linalg.solve(vectors, first - still)
    expected = still[:, None] + ((vectors * coefficients) @ np.exp(np.outer(values, times))).real
    velocity = run.extra_overlap[0, :, 0]
    found = 2 * run.risk[0], velocity[:, 0] - velocity[:, 1], velocity[:, 2]
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("kappa", [0.5, 3.0, 40.0])
def test_the_stationary_risk_does_not_depend_on_friction(kappa):
    """<e^2> = eta mean(lambda) noise/(2 - eta mean(lambda)) at any kappa and spectrum."""
    problem = linear(rate=0.6, eigenvalues=(0.4, 1.1, 2.1), label_noise=0.3, momentum=sv.Momentum(kappa=kappa))
    run = sv.run(problem, begun(problem), sv.Macro(), until=150)
    assert 2 * run.risk[0, -1] == pytest.approx(0.6 * 1.2 * 0.3 / (2 - 0.6 * 1.2), rel=1e-6)


@pytest.mark.parametrize(("rate", "stable"), [(1.9, True), (2.1, False)])
def test_the_largest_stable_rate_is_that_of_plain_sgd(rate, stable):
    problem = linear(rate=rate, momentum=sv.Momentum(kappa=0.7))
    run = sv.run(problem, begun(problem), sv.Macro(), until=400)
    assert (run.risk[0, -1] < run.risk[0, 0]) == stable


@pytest.mark.parametrize("norm", ["free", "sphere"])
def test_much_friction_is_plain_sgd(norm):
    """Differences fall as 1/kappa."""
    plain = erf(train_readout=True).replace(student__norm=norm)
    times, apart = [1.0, 3.0], []
    expected = sv.run(plain, sv.start(plain, seed=1), sv.Macro(), times=times)
    for kappa in (50.0, 100.0, 200.0):
        problem = plain.replace(training__momentum=sv.Momentum(kappa=kappa))
        run = sv.run(problem, sv.start(plain, seed=1), sv.Macro(), times=times)
        apart.append(
            np.abs(run.student_overlap - expected.student_overlap).max() + np.abs(run.readout - expected.readout).max()
        )
    assert apart[2] < 0.02
    np.testing.assert_allclose(np.divide(apart[:2], apart[1:]), 2, rtol=0.15)


def test_fast_velocities_are_the_effective_rate():
    problem = erf(learning_rate=0.1, momentum=0.8, weight_decay=0.2, train_readout=True, readout_rate=0.05)
    plain = sv.problems.effective(problem)
    assert plain.training.momentum is None
    assert (plain.training.learning_rate, plain.training.readout_rate) == pytest.approx((0.5, 0.25))
    start = sv.start(problem, seed=1)
    for level in (sv.Macro(), sv.Meso(runs=2)):
        run = sv.run(problem, start, level, until=4, keep_blocks=True)
        same = sv.run(plain, sv.overlaps.fitted(plain, start), level, until=4)
        np.testing.assert_array_equal(run.risk, same.risk)
        assert run.message.endswith("; momentum beta = 0.8 is the effective rate 0.5 here")
        assert run.problem == problem
        assert run.start_hash[0] == start.hash
        assert not run.extra_overlap.any()
        assert not run.scalars.any()
        assert run.last(0).extras == ("velocity", "velocity")


def test_the_clock_of_rates_is_that_of_the_effective_one():
    fast, slow = erf(learning_rate=0.1, momentum=0.8), erf(learning_rate=0.5, momentum=sv.Momentum(kappa=2.0))
    for problem in (fast, slow):
        assert float(sv.results.Clock(problem, "rate").from_alpha(4.0)) == pytest.approx(2.0)
    falling = fast.replace(training__learning_rate=sv.Schedule(times=(0, 2), rates=(0.1, 0.05)))
    assert float(sv.results.Clock(falling, "rate").to_alpha(1.5)) == pytest.approx(4.0)


def test_a_share_that_changes_in_steps_is_a_rate_that_does():
    falling = sv.Schedule(times=(0, 2), values=(0.2, 0.1))
    problem = erf(learning_rate=falling, momentum=sv.Schedule(times=(0, 1), values=(0.0, 0.75)), train_readout=True)
    rates = sv.Schedule(times=(0, 1, 2), values=(0.2, 0.8, 0.4))
    assert problem.training.effective_rate == rates
    assert problem.at(1.5).training.effective_rate == pytest.approx(0.8)
    assert problem.later(0.5).training.momentum.beta.times == (0.0, 0.5)
    assert sv.Problem.from_toml(problem.to_toml()) == problem
    plain = problem.replace(training__momentum=None, training__learning_rate=rates)
    run = sv.run(problem, sv.start(problem, seed=1), sv.Macro(), until=4)
    np.testing.assert_array_equal(run.risk, sv.run(plain, sv.start(plain, seed=1), sv.Macro(), until=4).risk)
    assert float(sv.results.Clock(problem, "rate").from_alpha(3.0)) == pytest.approx(1.4)
    with pytest.raises(
        sv.problems.NotApplicable, match=r"training\.momentum: has a schedule; this closed form is for a constant one"
    ):
        sv.problems.require(problem, knows=("training.momentum",), schedules="rates", trained_readout=True)


ROWS = {
    "slow": {"momentum": sv.Momentum(kappa=2.0), "train_readout": True},
    "friction in time": {"momentum": sv.Momentum(kappa=sv.Schedule(times=(0, 3), rates=(1, 4), shape="linear"))},
    "fast": {"momentum": 0.5},
    "fast in steps": {"momentum": sv.Schedule(times=(0, 3), values=(0.5, 0.8)), "learning_rate": 0.2},
    "averages": {"average": sv.problems.Average(rate=1.5), "momentum": sv.Momentum(kappa=2.0)},
    "plain average": {"average": sv.problems.Average(begin=1.0)},
    "begun average": {"average": sv.problems.Average(begin=0.0)},
    "snapshot": {"snapshot": 1.0, "anchor": 0.8, "momentum": sv.Momentum(kappa=2.0)},
    "late snapshot": {"snapshot": 3.0, "anchor": 0.8},
}


@pytest.mark.parametrize("name", ROWS)
def test_a_run_that_goes_on_later_equals_one_without_a_break(name, tmp_path):
    problem = erf(**ROWS[name])
    start = sv.start(problem, seed=1)
    whole = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[2.0, 4.0], keep_blocks=True)
    for state in (whole.at(2.0), sv.run(problem, start, sv.Macro(rtol=1e-10), until=2.0).last()):
        rest = sv.run(problem.later(2.0), state, sv.Macro(rtol=1e-10), times=[2.0])
        np.testing.assert_allclose(rest.risk[0, -1], whole.risk[0, -1], rtol=1e-6)
        np.testing.assert_allclose(rest.extra_overlap[0, -1], whole.extra_overlap[0, -1], rtol=1e-6, atol=1e-7)
        if problem.scalars:
            np.testing.assert_allclose(rest.scalars[0, -1], whole.scalars[0, -1], rtol=1e-6)
    whole.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    assert again.at(2.0) == whole.at(2.0)
    assert again.last() == whole.last()


@pytest.mark.parametrize("form", ["reduced", "full"])
@pytest.mark.parametrize("name", ROWS)
def test_micro_carries_all_rows_through_a_restart(name, form):
    """Not the same random numbers, but a state whose rows and scalars are those of the end."""
    problem = erf(**ROWS[name]).replace(inputs__dim=50)
    start = sv.start(problem, seed=1)
    run = sv.run(problem, start, sv.Micro(form=form), times=[0.0, 2.0], keep_blocks=True)
    again = sv.run(problem.later(2.0), run.last(), sv.Micro(form=form), times=[0.0, 0.5], keep_blocks=True)
    np.testing.assert_allclose(again.extra_overlap[0, 0], run.extra_overlap[0, -1], atol=1e-12)
    assert again.problem.scalars == problem.scalars
    if problem.scalars:
        np.testing.assert_allclose(again.scalars[0, 0], run.scalars[0, -1], atol=1e-14)


def test_averages_and_snapshots_of_linear_students():
    """The mean of a linear student relaxes as e^(-eta alpha): its averages and snapshots are integrals of that."""
    for average, expected in [
        (sv.problems.Average(rate=2.0), lambda t: 1 - 0.9 * (2 * np.exp(-0.4 * t) - 0.4 * np.exp(-2 * t)) / 1.6),
        (sv.problems.Average(begin=0.0), lambda t: 1 - 0.9 * (1 - np.exp(-0.4 * t)) / (0.4 * t)),
        (
            sv.problems.Average(begin=1.0),
            lambda t: (
                1
                - 0.9 * np.where(t < 1, np.exp(-0.4 * t), np.exp(-0.4) * (1 - np.exp(-0.4 * (t - 1))) / (0.4 * (t - 1)))
            ),
        ),
    ]:
        problem = linear(rate=0.4, average=average, snapshot=2.0)
        start = sv.start(problem, student_overlap=[[0.5]], cross_overlap=[[0.1]])
        times = np.array([0.5, 1.5, 3.0, 6.0])
        run = sv.run(problem, start, sv.Macro(rtol=1e-10), times=times)
        np.testing.assert_allclose(run.extra_overlap[0, :, 0, 1], expected(times), rtol=1e-8)
        copied = 1 - 0.9 * np.exp(-0.4 * np.minimum(times, 2.0))
        np.testing.assert_allclose(run.extra_overlap[0, :, 1, 1], copied, rtol=1e-8)


@pytest.mark.parametrize(
    ("training", "line"),
    [
        ({"momentum": 1.0}, "momentum.beta: 1.0 given, must be less than 1"),
        ({"momentum": {"beta": 0.5, "kappa": 1.0}}, "momentum.beta: given together with kappa; give one of beta and kappa"),
        ({"momentum": {}}, "momentum.beta: is missing; give one of beta and kappa"),
        ({"momentum": {"kappa": -1.0}}, "momentum.kappa: -1.0 given, must be greater than 0"),
        ({"average": {"rate": 1.0, "begin": 0.0}}, "average.rate: given together with begin; give one of rate and begin"),
        ({"snapshot": -1.0}, "snapshot: -1.0 given, must be greater than or equal to 0"),
        ({"momentum": "0.9"}, "momentum: '0.9' given, must be a Momentum, as { beta = 0.9 } or { kappa = 2.0 }, or a number beta"),
        ({"average": 0.1}, "average: 0.1 given, must be an Average, as { rate = 1.0 } or { begin = 10.0 }"),
        ({"momentum": sv.Schedule(times=(0, 1), values=(0.5, 1.0))}, "momentum.beta: must be below 1 at all times, got (0.5, 1.0)"),
        (
            {"momentum": sv.Schedule(times=(0, 1), values=(0.5, 0.6), shape="linear")},
            "momentum.beta: a linear schedule given, must go in steps: 1/(1 - beta) is not linear",
        ),
        (
            {"momentum": sv.Schedule(times=(0, 1), values=(0.5, 0.6)), "train_readout": True, "readout_rate": {
                "times": [0, 1], "rates": [1, 2], "shape": "linear"}},
            "readout_rate: a linear schedule given together with one of momentum.beta; let both go in steps",
        ),
        ({"anchor": sv.Schedule(times=(0, 1), values=(0.5, 0.6))}, "anchor: Schedule(times=(0.0, 1.0), rates=(0.5, 0.6)) "
         "given, must be one number for the whole run; rates, batch, weight decay, label noise, momentum,"),
    ],
)  # fmt: skip
def test_mistakes_are_told_in_one_line(training, line):
    with pytest.raises(sv.InvalidProblem) as error:
        sv.Training(**{"learning_rate": 0.1} | training)
    (told,) = error.value.problems
    assert told.startswith(line)


@pytest.mark.parametrize(
    ("given", "meant"),
    [("nesterov", "momentum"), ("ema", "average"), ("adagrad", "rate_rule"), ("lr", "learning_rate")],
)
def test_other_names_of_fields_are_known(given, meant):
    with pytest.raises(sv.InvalidProblem, match=rf"^{given}: is not a field here \(did you mean {meant}\?\)"):
        sv.Training.from_mapping({"learning_rate": 0.1, given: 0.5})


def test_friction_is_at_most_dim():
    problem = erf(momentum=sv.Momentum(kappa=500.0))
    with pytest.raises(
        sv.InvalidProblem, match=r"^training\.momentum\.kappa: 500 given for inputs\.dim = 400, must be at most dim"
    ):
        problem.replace(inputs__dim=400)
    rising = sv.Momentum(kappa=sv.Schedule(times=(0, 1), values=(1, 501)))
    with pytest.raises(sv.InvalidProblem, match=r"^training\.momentum\.kappa: 501 given"):
        problem.replace(training__momentum=rising)


def test_what_does_not_know_momentum_refuses_it():
    problem = (
        sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=100).replace(training__momentum=0.5)
    )
    with pytest.raises(
        sv.problems.NotApplicable, match=r"training\.momentum: is Momentum\(.*does not know this setting"
    ):
        sv.theory.plateau(problem)
