"""Rates that follow the state: closed limits, the balance of the risk, and agreement of all levels."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import solvable as sv
from gate import only
from seeds import seed

AdaGrad, ClipBatches, LineSearch, Polyak, RateFunction = (
    getattr(sv.problems, name) for name in ("AdaGrad", "ClipBatches", "LineSearch", "Polyak", "RateFunction")
)


def problem_of(rule, *, unit="linear", width=1, spectrum=(0.4, 1.1, 2.1), rate=1.0, dim=None, **training):
    return sv.Problem(
        teacher=sv.Teacher(width=width, activation=unit, readout="unit"),
        student=sv.Student(width=width, activation=unit, readout="unit"),
        inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=spectrum)),
        training=sv.Training(learning_rate=rate, loss_factor=0.5, rate_rule=rule, **training),
    )


def begun(problem):
    p = problem.student.width
    return sv.start(
        problem, student_overlap=0.2 + 0.8 * np.eye(p), cross_overlap=np.full((p, p), 0.1) + 0.2 * np.eye(p)
    )


@pytest.mark.parametrize(("rate", "offset"), [(0.7, 0.5), (0.3, 1.5)])
def test_the_last_rate_of_adagrad(rate, offset):
    """Noiseless least squares: 4 eta (X - b) - 2 eta^2 l log(X/b) = l D_0, with l the mean eigenvalue, D_0 the first distance."""
    problem = problem_of(AdaGrad(offset=offset), rate=rate)
    start = begun(problem)
    run = sv.run(problem, start, sv.Macro(rtol=1e-11), times=[0.0, 70.0 if rate > 0.5 else 350.0])
    mean, distance = 1.2, float(start.student_overlap[0, 0] - 2 * start.cross_overlap[0, 0] + 1)
    low = max(offset, rate * mean / 2)
    last = brentq(
        lambda X: 4 * rate * (X - offset) - 2 * rate**2 * mean * math.log(X / offset) - mean * distance, low, 1e3, xtol=1e-13
    )  # fmt: skip
    assert run.rate[0, -1] == pytest.approx(rate / last, rel=1e-8)
    assert run.rate[0, 0] == pytest.approx(rate / offset)


def test_line_search_makes_the_risk_fall_fastest():
    """Its rate is the best of all, by finite differences of the risk."""
    for unit, width in (("linear", 1), ("erf", 2), ("quadratic", 2)):
        problem = problem_of(LineSearch(), unit=unit, width=width, label_noise=0.1)
        state = begun(problem)
        rate = sv.run(problem, state, sv.Macro(), times=[0.0, 1e-3], keep_blocks=True).rate[0, 0]

        def fall(factor, problem=problem, state=state, rate=rate):
            plain = problem.replace(training__rate_rule=None, training__learning_rate=factor * rate)
            run = sv.run(plain, sv.overlaps.fitted(plain, state), sv.Macro(rtol=1e-12), times=[0.0, 1e-5])
            return (run.risk[0, 0] - run.risk[0, 1]) / 1e-5

        slower, best, faster = (fall(factor) for factor in (0.9, 1.0, 1.1))
        assert best > max(slower, faster)
        assert (slower - faster) / best == pytest.approx(0, abs=1e-3)


def test_polyak_and_functions_for_least_squares():
    """Polyak's rate is one over the mean eigenvalue there."""
    constant = problem_of(None, rate=1 / 1.2)
    expected = sv.run(constant, begun(constant), sv.Macro(), until=5)
    own = RateFunction("polyak again", lambda alpha, risk, square, accumulated: 2 * risk / square)
    for rule in (Polyak(), own):
        problem = problem_of(rule)
        run = sv.run(problem, begun(problem), sv.Macro(), until=5, keep_blocks=True)
        np.testing.assert_allclose(run.risk, expected.risk, rtol=1e-6)
        np.testing.assert_allclose(run.rate, 1 / 1.2, rtol=1e-7)


def test_a_function_sees_time_and_sums_and_goes_on_later():
    rule = RateFunction("falling", lambda alpha, risk, square, accumulated: math.exp(-alpha) / (1 + accumulated))
    problem = problem_of(rule, unit="erf", width=2, label_noise=0.1)
    whole = sv.run(problem, begun(problem), sv.Macro(), times=[0.0, 1.0, 2.0], keep_blocks=True)
    np.testing.assert_allclose(whole.rate[0], np.exp(-whole.alpha) / (1 + whole.scalars[0, :, 0]), rtol=1e-12)
    rest = sv.run(problem.later(1.0), whole.at(1.0), sv.Macro(), times=[1.0], keep_blocks=True)
    np.testing.assert_allclose(rest.risk[0, -1], whole.risk[0, -1], rtol=1e-6)
    np.testing.assert_allclose(rest.scalars[0, -1], whole.scalars[0, -1], rtol=1e-6)
    assert problem.later(1.0).hash != problem.hash


@pytest.mark.statistical
@pytest.mark.parametrize("readout", [{}, {"train_readout": True, "readout_rate": 0.2}])
def test_fast_velocities_keep_the_sum_of_squares(readout):
    """With momentum beta the equations are those of the effective rates; G is that of the gradients, and a restart knows it."""
    rule, times = AdaGrad(offset=0.5), [0.0, 1.0, 3.0]
    fast = problem_of(rule, unit="erf", width=2, rate=0.2, momentum=0.75, dim=999, **readout)
    plain = sv.problems.effective(fast)
    expected = sv.run(plain, begun(plain), sv.Macro(), times=times, keep_blocks=True)
    for level in (sv.Macro(), sv.Meso(runs=3, seed=seed(4))):
        run = sv.run(fast, begun(fast), level, times=times, keep_blocks=True)
        if level.name == "macro":
            np.testing.assert_allclose(run.scalars[..., -1], expected.scalars[..., -1], rtol=1e-12)
            np.testing.assert_allclose(4 * run.rate, expected.rate, rtol=1e-12)
        assert (run.scalars[:, -1, -1] > 0.5 * expected.scalars[0, -1, -1]).all()
        assert (run.scalars[..., :-1] == 0).all()
        np.testing.assert_allclose(run.last(0).scalars[-1], run.scalars[0, -1, -1], rtol=1e-12)
    rest = sv.run(fast, sv.run(fast, begun(fast), sv.Macro(), times=[1.0]).last(), sv.Macro(), times=[2.0])
    np.testing.assert_allclose(rest.risk[0, -1], expected.risk[0, -1], rtol=1e-6)
    np.testing.assert_allclose(rest.scalars[0, -1, -1], expected.scalars[0, -1, -1], rtol=1e-6)


def test_a_negative_value_of_a_function_counts_as_zero():
    problem = problem_of(RateFunction("ending", lambda alpha, risk, square, accumulated: 1 - alpha))
    run = sv.run(problem, begun(problem), sv.Macro(), times=[0.0, 0.5, 1.0, 2.0], keep_blocks=True)
    np.testing.assert_allclose(run.rate[0], [1.0, 0.5, 0.0, 0.0], atol=1e-12)
    assert run.risk[0, 3] == pytest.approx(run.risk[0, 2], rel=1e-6)


RULES = {
    "adagrad": (AdaGrad(offset=0.5), {"label_noise": 0.1, "weight_decay": 0.1}),
    "line search": (LineSearch(), {"rate": 0.7}),
    "polyak": (Polyak(), {"rate": 0.3}),
    "own": (RateFunction("mine", lambda alpha, risk, square, accumulated: risk / (1 + alpha + square + accumulated)), {}),
    "clipped": (ClipBatches(norm=0.06), {"batch": 64, "dim": 20_000, "label_noise": 0.1}),
}  # fmt: skip


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(RULES, "polyak", "clipped"))
def test_all_levels_agree(name):
    rule, more = RULES[name]
    problem = problem_of(rule, unit="erf", width=2, spectrum=(0.5, 1.5), **{"dim": 1000} | more)
    start, times = begun(problem), [0.5, 1.5]
    limit = sv.run(problem, start, sv.Macro(), times=times)
    found = [sv.run(problem, start, sv.Micro(runs=32, seed=seed(1)), times=times)]
    found.append(sv.run(problem, start, sv.Meso(runs=32, seed=seed(2)), times=times))
    if name != "clipped":
        small = problem.replace(inputs__dim=200)
        found.append(sv.run(small, start, sv.Micro(runs=12, seed=seed(3), form="full"), times=times))
    for run in found:
        for quantity in ("student_overlap", "cross_overlap", "scalars"):
            sample, expected = getattr(run, quantity), getattr(limit, quantity)[0]
            dim = run.problem.inputs.dim if name != "clipped" else 64  # clipping knows large batches alone
            error = np.sqrt(sample.var(axis=0, ddof=1) / len(sample)) + np.abs(expected) / dim + 1e-9
            assert (np.abs(sample.mean(axis=0) - expected) < 5.5 * error).all()
    plain = problem.replace(training__rate_rule=None)
    other = sv.run(plain, sv.overlaps.fitted(plain, start), sv.Macro(), times=times)
    assert np.abs(other.student_overlap - limit.student_overlap).max() > 0.01


def test_what_cannot_be_is_refused_in_one_line():
    rule = AdaGrad(offset=1.0)
    problem = problem_of(rule, dim=99)
    start = begun(problem)
    with pytest.raises(ValueError, match=r"^clock: 'rate' given, but training\.rate_rule"):
        sv.run(problem, start, sv.Macro(), until=1, clock="rate")
    with pytest.raises(ValueError, match=r"^small_rate: true given, but training\.rate_rule"):
        sv.run(problem, start, sv.Macro(small_rate=True), until=1)
    clipped = problem_of(ClipBatches(norm=1.0))
    with pytest.raises(ValueError, match=r"^training\.batch: 1 given with clipping.*use Micro$"):
        sv.run(clipped, begun(clipped), sv.Macro(), until=1)
    crowded = problem_of(ClipBatches(norm=1.0), batch=100, dim=999)
    with pytest.raises(
        ValueError, match=r"^training\.batch: 100 given with clipping and inputs\.dim = 999, must be at most dim/10"
    ):
        sv.run(crowded, begun(crowded), sv.Macro(), until=1)
    with pytest.raises(
        sv.InvalidProblem, match=r"^training\.rate_rule: line search given together with student\.norm = \"sphere\""
    ):
        problem_of(LineSearch()).replace(student__norm="sphere")
    with pytest.raises(
        sv.InvalidProblem, match=r"^rate_rule: 'adagrad' given, must be AdaGrad\(offset=\.\.\.\), LineSearch"
    ):
        sv.Training(learning_rate=1.0, rate_rule="adagrad")
    with pytest.raises(sv.InvalidProblem, match=r"^rate_rule: {'offset': 1\.0} given, must be a table with a kind$"):
        sv.Training(learning_rate=1.0, rate_rule={"offset": 1.0})
    with pytest.raises(sv.InvalidProblem, match=r"^rate_rule\.norm: 'long' given, must be a number$"):
        sv.Training(learning_rate=1.0, rate_rule={"kind": "clip-batches", "norm": "long"})
    with pytest.raises(
        sv.InvalidProblem, match=r"^rate_rule: None given for 'none', must be a function of four numbers$"
    ):
        RateFunction("none", None)
    with pytest.raises(
        sv.InvalidProblem, match=r"^rate_rule: the function 'root' has no value at alpha = 7\.5, risk = 0\.1"
    ):
        RateFunction("root", lambda alpha, risk, square, accumulated: (1 - alpha) ** 0.5)
    with pytest.raises(sv.InvalidProblem, match=r"^rate_rule: line search given together with weight_decay"):
        sv.Training(learning_rate=1.0, rate_rule=LineSearch(), weight_decay=0.1)
    with pytest.raises(sv.InvalidProblem, match=r"^readout_rate: is missing; rate_rule is for the weights alone"):
        sv.Training(learning_rate=1.0, rate_rule=rule, train_readout=True)
    with pytest.raises(sv.InvalidProblem, match=r"the function 'bad' cannot be compiled: Untyped global name 'open'"):
        RateFunction("bad", lambda alpha, risk, square, accumulated: open("file"))  # noqa: SIM115
    with pytest.raises(
        sv.InvalidProblem,
        match=r"must be a table with the kind 'adagrad' or 'line-search' or 'polyak' or 'clip-batches'",
    ):
        sv.Training(learning_rate=1.0, rate_rule={"kind": "adam"})


def test_rules_in_files_and_hashes(tmp_path):
    known = [problem_of(rule) for rule in (None, AdaGrad(offset=1.0), LineSearch(), Polyak(), ClipBatches(norm=1.0))]
    assert len({problem.hash for problem in known}) == len(known)
    for problem in known:
        assert sv.Problem.from_toml(problem.to_toml()) == problem
    run = sv.run(known[1], begun(known[1]), sv.Macro(), times=[1.0, 2.0], keep_blocks=True)
    run.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    np.testing.assert_array_equal(again.rate, run.rate)
    assert again.last() == run.last()
    rest = sv.run(known[1], again.at(1.0), sv.Macro(), times=[1.0])
    np.testing.assert_allclose(rest.rate[0, -1], run.rate[0, -1], rtol=1e-6)


def test_the_risk_of_averages():
    """At rest with noise the average of a linear student has less risk than the student, and in time less and less."""
    problem = problem_of(None, rate=0.5, label_noise=0.3, average=sv.problems.Average(begin=20.0))
    run = sv.run(problem, begun(problem), sv.Macro(), times=[10.0, 20.0, 60.0, 200.0], keep_blocks=True)
    np.testing.assert_allclose(run.average_risk[0, :2], run.risk[0, :2], rtol=1e-9)
    assert run.average_risk[0, 2] < 0.3 * run.risk[0, 2]
    assert run.average_risk[0, 3] < 0.3 * run.average_risk[0, 2]
    with pytest.raises(ValueError, match=r"^average_risk: the training keeps no average"):
        sv.run(problem_of(None), begun(problem_of(None)), sv.Macro(), until=1).average_risk  # noqa: B018


def test_rates_and_risks_of_averages_are_observables(tmp_path):
    """They have means, are kept by sweeps and files once they are asked for, and are drawn; thresholds say where they are."""
    problem = problem_of(
        AdaGrad(offset=1.0), average=sv.problems.Average(rate=1.0), momentum=sv.Momentum(kappa=2.0), dim=60
    )
    run = sv.run(problem, begun(problem), sv.Micro(runs=3, seed=1), times=[1.0, 2.0], keep_blocks=True)
    for name in ("rate", "average_risk", "velocity_overlap", "average_overlap"):
        np.testing.assert_allclose(run.mean(name).mean, getattr(run, name).mean(axis=0))
    np.testing.assert_array_equal(run.data["average_risk"], run.average_risk)
    run.save(tmp_path / "run.nc")
    np.testing.assert_allclose(sv.Trajectory.load(tmp_path / "run.nc").average_risk, run.average_risk, rtol=1e-12)
    lines = [line.get_label() for line in run.plot().get_legend().get_lines()]
    assert lines == ["weights of the run", "averaged weights"]
    names = ["rate", "average_risk", "velocity_overlap"]
    swept = sv.sweep(
        problem, {"training.average.rate": [0.5, 1.0]}, sv.Macro(), 2, seeds=[1], store=None, workers=0, keep=names
    )
    assert set(names) <= set(swept.data.data_vars)
    with pytest.raises(ValueError, match=r"^when: 'average_risk' given, .*; run\.average_risk has it at all outputs$"):
        sv.when("average_risk", below=0.1)


def test_a_linear_student_comes_to_rest_with_cases():
    """A risk that vanishes is zero up to rounding, not impossible."""
    problem = problem_of(AdaGrad(offset=1.5), rate=0.3)
    run = sv.run(problem, begun(problem), sv.Macro(rtol=1e-11), until=1000)
    assert run.success
    assert np.isfinite(run.risk).all()
    assert run.risk[0, -1] < 1e-9
