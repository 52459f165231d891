"""The plateau's closed forms against the integrated equations, at small and large rates."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import solvable as sv
from gate import first
from seeds import seed


def problem_of(p, q, eta, **changes):
    return sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=eta).replace(**changes)


def waiting(problem, norm=1.0, cross=0.0):
    p, q = problem.student.width, problem.teacher.width
    frame = np.linalg.qr(np.random.default_rng(0).standard_normal((p, q)))[0] if p >= q else np.eye(p, q)
    return sv.start(problem, student_overlap=norm * np.eye(p), cross_overlap=cross * frame)


@pytest.mark.parametrize(("p", "q", "norm"), [(6, 3, 1.0), (3, 3, 0.2), (2, 5, 3.0)])
def test_norms_are_learned_as_stated(p, q, norm) -> None:
    problem = problem_of(p, q, 0.01)
    run = sv.run(problem, waiting(problem, norm), sv.Macro(small_rate=True), until=600)
    expected = sv.theory.norm_learning(problem, run.alpha, norm).value
    assert run.student_overlap[0, :, 0, 0] == pytest.approx(expected, rel=1e-7)
    assert expected[-1] == pytest.approx(p / (p + 2), rel=1e-2)


@pytest.mark.parametrize(("p", "q", "eta"), [(6, 3, 0.01), (6, 3, 0.6), (3, 3, 0.3), (12, 2, 1.0), (2, 4, 0.2)])
def test_the_plateau_at_any_rate(p, q, eta) -> None:
    """Norm, risk and growth where students without any cross overlap come to rest; growth from tiny ones."""
    problem = problem_of(p, q, eta, training__loss_factor=0.5, training__learning_rate=2 * eta)
    plateau = sv.theory.plateau(problem).value
    run = sv.run(problem, waiting(problem), sv.Macro(), until=200 / eta)
    assert run.student_overlap[0, -1, 0, 0] == pytest.approx(plateau.norm, rel=1e-9)
    assert run.risk[0, -1] == pytest.approx(plateau.risk, rel=1e-9)
    tiny = sv.run(problem, waiting(problem, plateau.norm, 1e-8), sv.Macro(rtol=1e-10), times=[0, 1 / eta, 2 / eta])
    sizes = np.linalg.norm(tiny.cross_overlap[0], axis=(1, 2))
    assert np.log(sizes[2] / sizes[1]) * eta == pytest.approx(plateau.growth, rel=1e-6)


def test_to_first_order_the_plateau_is_the_printed_one() -> None:
    plateau = sv.theory.plateau(problem_of(6, 3, 1e-6)).value
    assert plateau.norm == pytest.approx(6 / 8, rel=1e-5)
    assert plateau.risk == pytest.approx(2 / 3 + 2 / 8, rel=1e-5)
    assert plateau.growth == pytest.approx(8e-6 / 18, rel=1e-5)
    assert plateau.decay == pytest.approx(16e-6 / 48, rel=1e-5)


def test_students_overlaps_decay_at_the_stated_rate() -> None:
    problem = problem_of(4, 2, 1e-3)
    Q = 4 / 6 * np.eye(4)
    Q[0, 1] = Q[1, 0] = 1e-5
    run = sv.run(problem, sv.start(problem, student_overlap=Q), sv.Macro(small_rate=True), times=[0, 1000])
    fall = np.log(run.student_overlap[0, 0, 0, 1] / run.student_overlap[0, 1, 0, 1]) / 1000
    assert fall == pytest.approx(sv.theory.plateau(problem).value.decay, rel=1e-4)


@pytest.mark.parametrize(
    ("p", "q", "eta", "norm"), [(6, 3, 0.01, 1.0), (6, 3, 0.5, 1.0), (3, 3, 0.2, 0.1), (10, 2, 1.0, 2.0)]
)
def test_the_escape_with_and_without_norm_learning(p, q, eta, norm) -> None:
    """docs/ERRATA.md B4: early in the escape (a drop of 0.3 %, from overlaps of 1e-6) the risk falls when the formula says, to
    a hundredth of an e-folding; leaving out norm learning misses it by |log(s_low/s_0)|/2 or so."""
    problem = problem_of(p, q, eta)
    start, plateau = waiting(problem, norm, 1e-6), sv.theory.plateau(problem).value
    predicted = sv.theory.escape_time(problem, start, drop=0.003).value
    stop = sv.when("risk", below=0.997 * plateau.risk)
    after = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[0.5 * predicted]).last()
    run = sv.run(problem, after, sv.Macro(rtol=1e-10), until=2 * predicted, stop=stop)
    found = 0.5 * predicted + run.end_alpha[0]
    assert abs(found - predicted) * plateau.growth < 0.01
    naive = np.log(np.sqrt(0.003 * plateau.risk * p * q / 4) / (1e-6 * np.sqrt(min(p, q)))) / plateau.growth
    assert abs(found - naive) * plateau.growth > 0.1


def test_the_rate_that_escapes_soonest_has_a_closed_form() -> None:
    """docs/ERRATA.md B15: the extremum of the growth, found numerically, and the limit of the time of half risk."""
    for p, q in [(3, 3), (6, 3), (12, 3), (5, 1), (3, 8)]:
        predicted = sv.theory.optimal_rate(problem_of(p, q, 0.1)).value

        def slowness(rate, p=p, q=q):
            return -sv.theory.plateau(problem_of(p, q, rate)).value.growth

        best = minimize_scalar(
            slowness, bounds=(0.2 * predicted, 1.3 * predicted), method="bounded", options={"xatol": 1e-9}
        )
        assert best.x == pytest.approx(predicted, rel=1e-4)
    rates = sv.theory.optimal_rate(problem_of(3, 3, 0.1)).value * np.array([0.9, 1.0, 1.1])
    problem = problem_of(3, 3, 0.1)
    start = waiting(problem, cross=1e-12)
    stop = sv.when("risk", below=0.5, relative=True)
    times = sv.levels.run_batch(problem, start, sv.Macro(), until=1000, learning_rates=rates, stop=stop).exit_time()
    assert times[1] == times.min()


@pytest.mark.parametrize(("p", "expected"), [(3, 0.295), (4, 0.428), (6, 0.723), (12, 1.724), (30, 5.04)])
def test_optimal_rates_of_three_teachers(p, expected) -> None:
    assert sv.theory.optimal_rate(problem_of(p, 3, 0.1)).value == pytest.approx(expected, rel=2e-3)


@pytest.mark.parametrize(
    ("p", "q", "source"),
    [
        (6, 3, "zero of the growth"),
        (3, 3, "zero of the growth"),
        (4, 1, "end of the plateau"),
        (2, 1, "end of the plateau"),
    ],
)
def test_the_plateau_is_not_escaped_beyond_the_limit(p, q, source) -> None:
    """Just below cross overlaps grow; just above they shrink, or there is no plateau and students without them diverge."""
    limit = sv.theory.plateau_limit(problem_of(p, q, 0.1))
    assert limit.source == source
    assert sv.theory.plateau(problem_of(p, q, 0.99 * limit.value)).value.growth > 0
    beyond = problem_of(p, q, 1.01 * limit.value)
    if limit.source == "zero of the growth":
        assert sv.theory.plateau(beyond).value.growth < 0
        with pytest.raises(sv.theory.NotApplicable, match="do not grow"):
            sv.theory.escape_time(beyond, waiting(beyond, cross=1e-3))
    else:
        with pytest.raises(sv.theory.NotApplicable, match="there is no plateau"):
            sv.theory.plateau(beyond)
        assert sv.run(beyond, waiting(beyond), sv.Macro(), until=1000).ending == [sv.results.Ending.DIVERGED]


def test_the_limits_meet_at_equal_widths() -> None:
    equal = problem_of(3, 3, 0.1)
    assert sv.theory.plateau_limit(equal).value == pytest.approx(sv.theory.rate_limit(equal).value)


@pytest.mark.parametrize(
    ("changes", "call", "message"),
    [
        (
            {"teacher__overlap": 2 * np.eye(3)},
            lambda problem: sv.theory.plateau(problem),
            "is for 'orthonormal' teachers",
        ),
        ({"training__label_noise": 0.1}, lambda problem: sv.theory.optimal_rate(problem), "label_noise: is 0.1"),
        ({"training__learning_rate": 50.0}, lambda problem: sv.theory.plateau(problem), "there is no plateau"),
        ({}, lambda problem: sv.theory.escape_time(problem, waiting(problem)), "never escapes"),
        (
            {"student__width": 1, "teacher__width": 5},
            lambda problem: sv.theory.escape_time(problem, waiting(problem, cross=0.01)),
            "1 students of 5 teachers never",
        ),
        ({}, lambda problem: sv.theory.escape_time(problem, waiting(problem, 1e4, 1e-3)), "norms diverge"),
    ],
)
def test_where_there_is_no_plateau(quadratic, changes, call, message) -> None:
    with pytest.raises(sv.theory.NotApplicable, match=message):
        call(quadratic.replace(**changes))


def test_caveats(quadratic) -> None:
    start = sv.start(quadratic, seed=0)
    assert "not orthogonal" in sv.theory.escape_time(quadratic, start).caveats[0]
    assert "growth slows down" in sv.theory.escape_time(quadratic, start).caveats[1]
    assert "unstable" in sv.theory.optimal_rate(quadratic.replace(student__width=100)).caveats[0]
    with pytest.raises(ValueError, match=r"drop: 2 given"):
        sv.theory.escape_time(quadratic, start, drop=2)


def simulated(problem, start, runs, until, **options):
    return sv.run(problem, start, sv.Micro(runs=runs, seed=seed(11)), until=until, progress=False, **options)


@pytest.mark.statistical
@pytest.mark.parametrize(("eta", "dim", "until"), first([(0.5, 10**5, 9), (0.1, 50_000, 30)]))
def test_simulated_students_wait_where_the_plateau_is_at_this_rate(eta, dim, until) -> None:
    """Norm and risk of runs of SGD without first cross overlaps, in standard errors of 24 runs; the plateau of small rates is
    far away."""
    problem = problem_of(6, 3, eta, inputs__dim=dim)
    plateau = sv.theory.plateau(problem).value
    run = simulated(problem, waiting(problem, plateau.norm), 24, until)
    norms = np.trace(run.student_overlap[:, -1], axis1=1, axis2=2) / 6
    spread = (
        4 * sv.theory.plateau_noise(problem).value * np.exp(2 * plateau.growth * until) / dim
    )  # has begun to lower it
    for values, expected in [(norms, plateau.norm), (run.risk[:, -1], plateau.risk)]:
        error = values.std(ddof=1) / np.sqrt(24)
        assert abs(values.mean() - expected) < 5.5 * error + spread
        assert error < 1e-3
    assert abs(norms.mean() - 6 / 8) > 20 * norms.std(ddof=1) / np.sqrt(24)


@pytest.mark.parametrize(("p", "q", "norm"), [(2, 1, 0.7), (1, 2, 1.6), (3, 2, 0.3)])
def test_the_noise_of_one_sample_without_overlaps(p, q, norm) -> None:
    """<e^2 z^2 u^2>/q, at the heart of `plateau_noise`, against cubature of all fields."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(7)
    grid = np.stack(np.meshgrid(*[nodes] * (p + q), indexing="ij")).reshape(p + q, -1)
    chance = np.prod(
        np.stack(np.meshgrid(*[weights / weights.sum()] * (p + q), indexing="ij")).reshape(p + q, -1), axis=0
    )
    z, u = np.sqrt(norm) * grid[:p], grid[p:]
    error = np.mean(u**2, axis=0) - np.mean(z**2, axis=0)
    exact = chance @ (error**2 * z[0] ** 2 * u[0] ** 2) / norm
    stated = (q + 2) * (q + 4) / q**2 - 2 * norm * (q + 2) * (p + 2) / (q * p) + norm**2 * (p + 2) * (p + 4) / p**2
    assert stated == pytest.approx(exact, rel=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("p", "q", "eta", "norm", "until"), first([(4, 2, 0.3, 0.1, 9), (6, 3, 0.2, 1.0, 28), (3, 3, 0.2, 2.0, 24)])
)
def test_noise_spreads_cross_overlaps_as_stated(p, q, eta, norm, until) -> None:
    """Variance of all cross overlaps of 200 runs that begin without any, over what the start's variance 1/dim would have grown
    to, the square of the growth that the equations have from a tiny start; from norms on, above and below the plateau's."""
    dim = 20_000
    problem = problem_of(p, q, eta, inputs__dim=dim)
    tiny = sv.run(problem, waiting(problem, norm, 1e-9), sv.Macro(rtol=1e-10), times=[0, until]).cross_overlap[0]
    growth = np.sum(tiny[1] ** 2) / np.sum(tiny[0] ** 2)
    found = simulated(problem, waiting(problem, norm), 200, until).cross_overlap[:, -1].ravel()
    v = np.mean(found**2) * dim / growth
    left = np.exp(-2 * sv.theory.plateau(problem).value.growth * until)  # what is added later, less than so much
    stated = sv.theory.plateau_noise(problem, norm).value
    assert left < 0.02
    assert v == pytest.approx(stated, rel=5 * np.sqrt(2 / found.size) + left)


@pytest.mark.parametrize(("p", "q"), [(3, 3), (6, 3), (12, 3), (2, 6), (4, 1)])
def test_noise_up_to_the_limit_of_the_rate(p, q) -> None:
    """It grows without bound where growth ends, or stays finite where the plateau does, and is found at once."""
    limit = sv.theory.plateau_limit(problem_of(p, q, 0.1)).value
    values = [
        sv.theory.plateau_noise(problem_of(p, q, share * limit), 0.5).value for share in (0.5, 1 - 1e-6, 1 - 1e-10)
    ]
    assert values[0] < values[1] <= values[2] * (1 + 1e-6)


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("eta", "dim"), first([(0.4, 10**4), (0.1, 1000), pytest.param(0.1, 10**4, marks=pytest.mark.slow)])
)
def test_sgd_ends_as_the_equations_from_a_noisy_start(eta, dim) -> None:
    """docs/ERRATA.md B13: which solution SGD ends at and when it escapes: means over 48 runs against the equations from randomised
    starts. The equations from the very start do not turn the frame at all."""
    problem = problem_of(6, 3, eta, inputs__dim=dim)
    start = sv.start(problem, seed=seed(4), students="orthogonal")
    starts = sv.theory.noisy_starts(problem, start, 200, seed=seed(2)).value
    until = 4 * sv.theory.escape_time(problem, start).value
    times = np.linspace(0, until, 200)
    found = sv.run(problem, start, sv.Micro(runs=48, seed=seed(5)), times=times, progress=False)
    predicted = sv.levels.run_batch(problem, starts, sv.Macro(rtol=1e-6), times=times)
    for measure in (lambda run: run.frame_drift(since=start)[:, -1], lambda run: run.exit_time()):
        mine, theirs = measure(found), measure(predicted)
        error = np.hypot(mine.std(ddof=1) / np.sqrt(48), theirs.std(ddof=1) / np.sqrt(200))
        assert abs(mine.mean() - theirs.mean()) < 5 * error
    assert found.frame_drift(since=start)[:, -1].mean() > 0.3
    alone = sv.run(problem, start, sv.Macro(), times=times)
    assert alone.frame_drift().max() < 1e-10


@pytest.mark.statistical
def test_the_rate_that_learns_soonest_is_that_of_sgd_too() -> None:
    """Half times of 40 runs of SGD (dim 10^4) below, at and above the optimum, against the equations from noisy starts."""
    problem = problem_of(3, 3, 0.1, inputs__dim=10**4)
    start, stop = sv.start(problem, seed=seed(0), students="orthogonal"), sv.when("risk", below=0.5, relative=True)
    means = []
    for rate in (0.1, 0.27, 0.4):
        here = problem.replace(training__learning_rate=rate)
        times = simulated(here, start, 40, 500, stop=stop).exit_time()
        starts = sv.theory.noisy_starts(here, start, 200, seed=seed(0)).value
        expected = sv.levels.run_batch(here, starts, sv.Macro(rtol=1e-6), until=500, stop=stop).exit_time()
        error = np.hypot(times.std(ddof=1) / np.sqrt(40), expected.std(ddof=1) / np.sqrt(200))
        assert abs(times.mean() - expected.mean()) < 5 * error + 0.02 * expected.mean()
        means.append(times.mean())
    assert means[1] == min(means)


def test_where_noise_has_no_closed_form(quadratic) -> None:
    with pytest.raises(sv.theory.NotApplicable, match="dim: is infinite"):
        sv.theory.noisy_starts(quadratic.replace(inputs__dim=None), waiting(quadratic.replace(inputs__dim=None)))
    small = problem_of(6, 3, 0.5, inputs__dim=30)
    with pytest.raises(sv.theory.NotApplicable, match="30 is too small"):
        sv.theory.noisy_starts(small, sv.start(small, seed=0, students="orthogonal", cross=0.2))
    with pytest.raises(ValueError, match="draws: 0 given"):
        sv.theory.noisy_starts(quadratic, waiting(quadratic), draws=0)
    assert "not orthogonal" in sv.theory.noisy_starts(quadratic, sv.start(quadratic, seed=0)).caveats[0]
    assert "unstable" in sv.theory.plateau_noise(problem_of(6, 3, 0.95)).caveats[0]
    with pytest.raises(sv.theory.NotApplicable, match=r"norm: 10000\.0 given"):
        sv.theory.plateau_noise(quadratic, 1e4)


@pytest.mark.parametrize(("p", "q"), [(12, 1), (6, 3)])
def test_all_students_together_decide_when_the_plateau_is_left(p, q) -> None:
    """docs/ERRATA.md B18: the total first overlap explains the escape times of random starts (for one teacher entirely), better
    than that of the best student, which the paper holds responsible; moving it all to one student changes nothing."""
    problem, stop = problem_of(p, q, 0.01), sv.when("risk", below=0.5, relative=True)
    starts = [sv.start(problem, seed=seed, students="orthogonal", cross=0.01) for seed in range(60)]
    times = sv.levels.run_batch(problem, starts, sv.Macro(rtol=1e-6), until=2000, stop=stop).exit_time()
    rows = np.array([np.sum(start.cross_overlap**2, axis=1) for start in starts])
    total, best = (np.corrcoef(np.log(size), times)[0, 1] ** 2 for size in (rows.sum(axis=1), rows.max(axis=1)))
    assert total > best + 0.15
    if q == 1:
        assert total > 0.9999
        alone = np.zeros((p, 1))
        alone[0] = np.linalg.norm(starts[0].cross_overlap)
        one = sv.start(problem, student_overlap=np.eye(p), cross_overlap=alone)
        assert sv.run(problem, one, sv.Macro(rtol=1e-6), until=2000, stop=stop).exit_time()[0] == pytest.approx(
            times[0], rel=1e-4
        )


@pytest.mark.parametrize(("p", "q", "eta"), [(6, 3, 0.01), (4, 2, 0.4), (3, 5, 0.2)])
def test_the_risk_early_in_the_escape(p, q, eta) -> None:
    problem = problem_of(p, q, eta)
    start, waits = waiting(problem, cross=1e-5), sv.theory.plateau(problem).value
    late = sv.theory.escape_time(problem, start, drop=0.01).value * np.array([0.8, 0.9, 1.0])
    found = sv.run(problem, start, sv.Macro(rtol=1e-10), times=late).risk[0]
    assert waits.risk - sv.theory.escape_risk(problem, start, late).value == pytest.approx(waits.risk - found, rel=0.03)


def test_stairs_without_end() -> None:
    problem = problem_of(4, 2, 0.01)
    lengths = sv.theory.stair_lengths(
        problem, sv.start(problem, student_overlap=np.eye(4), cross_overlap=np.eye(4, 2) * [0.1, 0])
    )
    assert np.isinf(lengths.value).all()
    close = sv.theory.stair_lengths(problem, waiting(problem, cross=0.1))
    assert "run into each other" in close.caveats[0]
    with pytest.raises(sv.theory.NotApplicable, match="never escapes"):
        sv.theory.stair_lengths(problem, waiting(problem))
