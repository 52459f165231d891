"""Students on the sphere: closed forms against the integrated equations and against SGD."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed


def problem_of(p, gamma, dim=1000, noise=0.0, **options):
    return sv.problems.convention("arnaboldi2023").problem(p=p, gamma=gamma, d=dim, Delta=noise, **options)


def start_of(problem, m):
    p = problem.student.width
    return sv.start(problem, student_overlap=np.eye(p), cross_overlap=np.full((p, 1), m))


@pytest.mark.parametrize(
    ("gamma", "noise", "m"), [(0.05, 0.0, 0.01), (0.08, 0.5, 0.1), (0.15, 1.0, 0.6), (0.02, 0.0, 0.9)]
)
def test_one_student_in_closed_form(gamma, noise, m) -> None:
    problem = problem_of(1, gamma, noise=noise)
    start = start_of(problem, m)
    run = sv.run(problem, start, sv.Macro(rtol=1e-11), until=200)
    found = sv.theory.sphere_overlap(problem, start, run.alpha).value
    assert found == pytest.approx(run.cross_overlap[0, :, 0, 0] ** 2, rel=1e-7, abs=1e-12)
    assert sv.theory.sphere_overlap(problem, start, 1e9).value == pytest.approx(found[-1], abs=0.1)


@pytest.mark.parametrize(("gamma", "noise", "drop"), [(0.05, 0.0, 0.1), (0.05, 0.0, 0.9), (0.08, 0.5, 0.3)])
def test_one_student_escapes_exactly_when_stated(gamma, noise, drop) -> None:
    problem = problem_of(1, gamma, noise=noise)
    start = start_of(problem, 0.03)
    stop = sv.when("risk", below=1 - drop, relative=True)
    exact = sv.run(problem, start, sv.Macro(rtol=1e-11), until=1e4, stop=stop).end_alpha[0]
    assert sv.theory.escape_time(problem, start, drop).value == pytest.approx(exact, rel=1e-7)


@pytest.mark.parametrize(
    ("p", "gamma", "noise"), [(1, 0.05, 0.4), (2, 0.1, 0.0), (5, 0.5, 1.0), (20, 2.0, 0.0), (50, 5.0, 0.5)]
)
@pytest.mark.parametrize("trained", [False, True])
def test_growth_and_risk_of_the_plateau(p, gamma, noise, trained) -> None:
    """From tiny overlaps; with a trained readout after it has settled at p/(p + 2) of its start."""
    problem = problem_of(p, gamma, noise=noise, second_layer=trained)
    plateau = sv.theory.plateau(problem).value
    readout = (p / (p + 2) if trained else 1) / p * np.ones(p)
    start = sv.start(problem, student_overlap=np.eye(p), cross_overlap=np.full((p, 1), 1e-9), readout=readout)
    span = 1 / plateau.growth
    run = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[0, span, 2 * span])
    sizes = run.cross_overlap[0, :, 0, 0]
    assert np.log(sizes[2] / sizes[1]) / span == pytest.approx(plateau.growth, rel=1e-5)
    assert run.risk[0, 0] == pytest.approx(plateau.risk, rel=1e-10)
    if p > 1:
        Q = np.eye(p)
        Q[0, 1] = Q[1, 0] = 1e-7
        decay = sv.theory.plateau(problem).value.decay
        tilted = sv.start(problem, student_overlap=Q, readout=readout)
        pair = sv.run(problem, tilted, sv.Macro(rtol=1e-10), times=[0, 0.1 / decay]).student_overlap[0, :, 0, 1]
        assert np.log(pair[0] / pair[1]) == pytest.approx(0.1, rel=1e-3)


def test_bounds_on_the_rate() -> None:
    """docs/ERRATA.md A7: gamma < 1/6 is necessary for learning, gamma < 2/(12 + Delta) sufficient too; between them nothing is
    learned, and (8) does not hold. A20: from two students on the rate of fastest growth is beyond the
    stability of the solution, and learning stalls."""
    noisy = problem_of(1, 0.14, noise=2.5)
    assert sv.theory.rate_limit(noisy).value == pytest.approx(2 / 14.5)
    run = sv.run(noisy, start_of(noisy, 0.3), sv.Macro(), until=3000)
    assert run.risk[0, -1] == pytest.approx(2.0, abs=0.01)
    assert abs(run.risk[0, -1] - 0.14 * 2.5 / (1 - 6 * 0.14)) > 0.1
    assert sv.theory.noise_floor(noisy).value == pytest.approx(2.0, rel=1e-12)
    reached = {}
    for p in (1, 2, 5):
        best = sv.theory.optimal_rate(problem_of(p, 0.1))
        assert best.value == pytest.approx(p**3 / (8 + 2 * p + 2 * p**2))
        assert bool(best.caveats) == (p >= 2)
        problem = problem_of(p, best.value, dim=10**5)
        run = sv.run(
            problem, sv.start(problem, seed=1), sv.Macro(), times=np.linspace(0, 20, 1000), clock="arnaboldi2023"
        )
        reached[p] = 1 - np.nanmin(run.risk) / run.start_risk[0]
    assert reached[1] > 0.999
    assert 0.4 < reached[2] < 0.6
    assert 0.05 < reached[5] < 0.15
    rates = np.linspace(0.5, 1.5, 41) * sv.theory.optimal_rate(problem_of(3, 0.1)).value
    growths = [sv.theory.plateau(problem_of(3, rate)).value.growth for rate in rates]
    assert rates[np.argmax(growths)] == pytest.approx(sv.theory.optimal_rate(problem_of(3, 0.1)).value, rel=0.03)


@pytest.mark.parametrize(("p", "gamma", "noise"), [(1, 0.08, 0.5), (1, 0.02, 2.0), (1, 0.15, 0.3)])
def test_label_noise_sets_a_floor(p, gamma, noise) -> None:
    problem = problem_of(p, gamma, noise=noise)
    run = sv.run(problem, start_of(problem, 0.5), sv.Macro(), until=2e4 / gamma)
    assert run.risk[0, -1] == pytest.approx(sv.theory.noise_floor(problem).value, rel=1e-6)


@pytest.mark.parametrize(
    ("gamma", "noise", "m"), [(0.14, 2.5, 0.3), (0.16, 2.0, 0.95), (0.2, 0.0, 0.9), (0.3, 1.0, 0.99)]
)
def test_without_growth_a_student_falls_back_to_its_plateau(gamma, noise, m) -> None:
    """Below and above the rate 1/6, where the solution is unstable too: from any start, to the risk of no overlap."""
    problem = problem_of(1, gamma, noise=noise).replace(training__loss_factor=0.8, training__learning_rate=gamma / 1.6)
    floor, plateau = sv.theory.noise_floor(problem), sv.theory.plateau(problem).value
    assert plateau.growth < 0
    assert floor.value == pytest.approx(plateau.risk, rel=1e-12)
    assert floor.value == pytest.approx(4 * 0.8, rel=1e-12)
    run = sv.run(problem, start_of(problem, m), sv.Macro(), until=2e4)
    assert run.risk[0, -1] == pytest.approx(floor.value, rel=1e-6)
    with pytest.raises(sv.theory.NotApplicable, match="stay as they are"):
        sv.theory.noise_floor(problem_of(1, 1 / 6))


def test_the_printed_law_at_width_one_is_linear() -> None:
    """arnaboldi2023, (46), at width one: overlaps that keep growing, escaping sooner than the exact ones do."""
    problem, drop = problem_of(1, 0.05, dim=3000), 0.1
    growth = sv.theory.plateau(problem).value.growth
    printed, law = (sv.theory.quenched_escape_time(problem, drop, printed=one) for one in (True, False))
    assert law.value.mean > printed.value.mean
    assert (bool(law.caveats), bool(printed.caveats)) == (False, True)
    from scipy.integrate import quad
    from scipy.stats import norm

    def slow(x):  # over a Gaussian overlap, which differs from one on the sphere by 1/dim
        return 2 * norm.pdf(x) * np.log(1 - drop + drop * 3000 / x**2) / (2 * growth)

    assert printed.value.mean == pytest.approx(quad(slow, 0, 12, limit=200)[0], rel=1e-3)
    assert sv.theory.annealed_escape_time(problem, drop).caveats


@pytest.mark.statistical
def test_mean_escape_times() -> None:
    """Quenched: quadrature at width one against draws; sampling at width three against starts of the library. Annealed: below."""
    problem, stop = problem_of(1, 0.05, dim=3000), sv.when("risk", below=0.9, relative=True)
    exact = sv.theory.quenched_escape_time(problem).value
    assert exact.standard_error == 0
    random = np.random.default_rng(seed(0))
    normal = random.standard_normal(20_000) ** 2
    m2 = normal / (normal + random.chisquare(2999, 20_000))
    times = [sv.theory.escape_time(problem, start_of(problem, np.sqrt(u)), 0.1).value for u in m2[:3000]]
    assert np.mean(times) == pytest.approx(exact.mean, abs=5 * np.std(times) / np.sqrt(3000))
    assert sv.theory.annealed_escape_time(problem).value < exact.mean
    wide = problem_of(3, 0.15, dim=3000)
    drawn = sv.theory.quenched_escape_time(wide, draws=20_000, seed=seed(0)).value
    starts = [sv.start(wide, seed=seed(i)) for i in range(300)]
    each = np.array([sv.theory.escape_time(wide, start, 0.1).value for start in starts])
    assert abs(each.mean() - drawn.mean) < 5 * np.hypot(drawn.standard_error, each.std() / np.sqrt(300))
    linear = sv.levels.run_batch(wide, starts, sv.Macro(rtol=1e-6), until=1e4, stop=stop).exit_time()
    assert np.mean(each / linear) == pytest.approx(0.97, abs=0.03)  # growth slows down a little before
    gap = drawn.mean - sv.theory.annealed_escape_time(wide).value
    from scipy.special import digamma

    growth = sv.theory.plateau(wide).value.growth
    assert gap == pytest.approx(
        (np.log(3) - digamma(1.5) - np.log(2)) / (2 * growth), abs=5 * drawn.standard_error + 0.02 * gap
    )


@pytest.mark.statistical
@pytest.mark.parametrize(("p", "gamma"), [(1, 1 / 12), (5, 0.5)])
def test_sgd_escapes_earlier_by_its_noise(p, gamma) -> None:
    """docs/ERRATA.md A21: means of first passages of SGD and of the diffusion from random starts at dim 1000, against the equations
    from noisy starts; without noise they are later. At width one the closed form has it."""
    problem, stop = problem_of(p, gamma), sv.when("risk", below=0.9, relative=True)
    starts = [sv.start(problem, seed=seed(i)) for i in range(600)]
    options = {"until": 60 * p / gamma, "stop": stop, "progress": False}
    plain = sv.levels.run_batch(problem, starts, sv.Macro(rtol=1e-6), **options).exit_time()
    noisy = [
        one for i, start in enumerate(starts) for one in sv.theory.noisy_starts(problem, start, 2, seed=seed(i)).value
    ]

    def earlier(times):
        """Than the equations from the same start: mean and standard error."""
        gaps = plain - times.reshape(len(starts), -1).mean(axis=1)
        return gaps.mean(), gaps.std() / np.sqrt(len(starts))

    expected, error = earlier(sv.levels.run_batch(problem, noisy, sv.Macro(rtol=1e-6), **options).exit_time())
    assert expected > 5 * error
    for level in (sv.Micro(runs=2, seed=seed(1)), sv.Meso(runs=2, seed=seed(2))):
        found, other = earlier(sv.levels.run_batch(problem, starts, level, **options).exit_time())
        assert abs(found - expected) < 5 * np.hypot(error, other) + 0.1 * expected  # to first order in the noise
    growth, v = sv.theory.plateau(problem).value.growth, sv.theory.plateau_noise(problem).value
    assert expected == pytest.approx(np.log1p(v) / (2 * growth), abs=5 * error)
    if p == 1:
        stated = sv.theory.quenched_escape_time(problem).value.mean - sv.theory.noisy_escape_time(problem).value.mean
        assert stated == pytest.approx(np.log1p(v) / (2 * growth))
        times = sv.levels.run_batch(problem, starts, sv.Meso(runs=4, seed=seed(5)), **options).exit_time()
        error = np.std(times.reshape(len(starts), -1).mean(axis=1)) / np.sqrt(len(starts))
        assert abs(times.mean() - sv.theory.noisy_escape_time(problem).value.mean) < 5 * error


def test_noise_from_one_start_in_closed_form() -> None:
    """Without a first overlap it is (52), by the integral of Dawson's function; with a large one, or little noise, there is none
    to be seen; and over random starts log(1 + v)/(2 growth) is left."""
    from scipy.special import dawsn

    from solvable.theory.sphere_noise import _passage

    problem, drop, tiny = problem_of(1, 0.1, 3000), 0.01, 1e-7
    stated = sv.theory.noisy_escape_time(problem, drop, start=start_of(problem, tiny)).value.mean
    growth = sv.theory.plateau(problem).value.growth
    bent = sv.theory.escape_time(problem, start_of(problem, tiny), drop).value - np.log(drop / tiny**2) / (2 * growth)
    assert stated - bent == pytest.approx(sv.theory.zero_escape_time(problem, drop).value, rel=1e-5)
    x = np.linspace(0.5, 4, 200_001)
    steps = (dawsn(x[1:]) + dawsn(x[:-1])) / 2 * np.diff(x)
    assert _passage(1, 0.25, 16) == pytest.approx(4 * steps.sum(), rel=1e-8)
    from scipy.integrate import quad
    from scipy.special import hyp1f1

    for p in (1, 2, 7, 50):
        for first, last in [(0.0, 0.01), (1e-3, 0.5), (0.3, 10), (3, 300)]:
            other = quad(lambda y, p=p: 2 / p * hyp1f1(1, p / 2 + 1, -y), first, last, limit=500, epsrel=1e-11)[0]
            assert _passage(p, first, last) == pytest.approx(other, rel=1e-8)
        for first, last in [(1e5, 1e6), (1e5, 1e9), (1e9, 3e9)]:  # where it is 1/y + (1 - p/2)/y^2 under the integral
            long = np.log(last / first) + (1 - p / 2) * (1 / first - 1 / last)
            assert _passage(p, first, last) == pytest.approx(long, rel=1e-7)
    for p, v in [(1, 1.5), (3, 0.3)]:
        random = np.random.default_rng(0).chisquare(p, 1000)
        shifts = np.array([_passage(p, mu / (2 * v), 1e6) - np.log(2e6 * v / mu) for mu in random])
        assert abs(shifts.mean() + np.log1p(v)) < 5 * shifts.std() / np.sqrt(1000)


@pytest.mark.statistical
@pytest.mark.parametrize(("p", "gamma", "size"), [(1, 0.1, 0.3), (1, 0.1, 2.0), (2, 0.2, 0.5)])
def test_mean_exits_from_one_start(p, gamma, size) -> None:
    """docs/ERRATA.md A21: of SGD and its diffusion from a start whose total overlap is `size`/dim: noise hastens those that
    begin with little and delays the others, by what is stated."""
    problem, drop = problem_of(p, gamma, 3000), 0.02
    start = start_of(problem, np.sqrt(size / (p * 3000)))
    options = {"until": 25, "clock": "arnaboldi2023", "stop": sv.when("risk", below=1 - drop, relative=True)}
    plain = sv.run(problem, start, sv.Macro(), **options).exit_time()[0]
    stated = sv.theory.noisy_escape_time(problem, drop, start=start).value.mean * gamma / p
    assert (stated < plain) == (size < 1)
    for level in (sv.Micro(runs=400, seed=seed(1)), sv.Meso(runs=400, seed=seed(2))):
        times = sv.run(problem, start, level, progress=False, **options).exit_time()
        error = times.std() / np.sqrt(400)
        assert abs(times.mean() - stated) < 5 * error + 0.02 * stated  # growth slows down a little before


@pytest.mark.statistical
@pytest.mark.parametrize(("gamma", "noise", "dim"), [(1 / 12, 0.0, 1000), (0.05, 0.5, 10**6)])
def test_escape_from_no_overlap_at_all(gamma, noise, dim) -> None:
    """First passages of m^2 = 0.02 by paths of the diffusion that begin at m = 0; the asymptotic form."""
    problem, drop = problem_of(1, gamma, dim, noise), 0.02
    stop = sv.when("cross_overlap", above=np.sqrt(drop))
    run = sv.run(
        problem,
        start_of(problem, 0.0),
        sv.Meso(runs=800, seed=seed(1), rtol=1e-5),
        until=400 / gamma,
        stop=stop,
        progress=False,
    )
    times = run.exit_time()
    stated = sv.theory.zero_escape_time(problem, drop).value
    assert times.mean() == pytest.approx(stated, abs=5 * times.std() / np.sqrt(800) + 0.03 * stated)
    omega, sigma = 4 * (1 - 6 * gamma) - 2 * gamma * noise, np.sqrt(gamma * (48 + 4 * noise) / dim)
    if dim > 10**5:
        long = (np.log(4 * omega * drop / sigma**2) + np.euler_gamma) / (2 * omega) / gamma
        assert stated == pytest.approx(long, rel=1e-3)


def test_fewest_steps() -> None:
    one, many = problem_of(1, 0.1, 3000, 0.5), problem_of(50, 0.1, 3000, 0.5)
    drop, dim = 0.1, 3000
    for problem in (one, many):
        p = problem.student.width
        stated = dim * (8 + 2 * p + 2.5 * p**2) / (4 * p**2) * np.log((p + 1) * (drop * dim + 1 - drop) / (2 * p))
        assert sv.theory.fewest_steps(problem, drop).value == pytest.approx(stated, rel=1e-12)
    assert "unstable" in sv.theory.fewest_steps(many).caveats[0]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sv.theory.annealed_escape_time(problem_of(1, 0.3)), "do not grow"),
        (lambda: sv.theory.annealed_escape_time(problem_of(1, 0.05, sphere=False)), "student.norm: is 'free'"),
        (lambda: sv.theory.annealed_escape_time(problem_of(2, 0.05, second_layer=True)), "train_readout: is True"),
        (lambda: sv.theory.annealed_escape_time(problem_of(2, 0.05, dim=None)), "dim: is infinite"),
        (lambda: sv.theory.zero_escape_time(problem_of(2, 0.05)), "width: is 2, not 1"),
        (lambda: sv.theory.noise_floor(problem_of(2, 0.05)), "width: is 2, not 1"),
        (lambda: sv.theory.annealed_escape_time(problem_of(1, 0.05), 1.5), "drop: 1.5 given"),
        (lambda: sv.theory.noisy_escape_time(problem_of(1, 0.05), 0), "drop: 0 given"),
        (
            lambda: sv.theory.escape_time(problem_of(1, 0.05), start_of(problem_of(1, 0.05), 1.0), 0.5),
            "nothing is left to learn",
        ),
        (lambda: sv.theory.escape_time(problem_of(2, 0.05), start_of(problem_of(2, 0.05), 0.0)), "zero_escape_time"),
        (
            lambda: sv.theory.escape_time(
                problem_of(1, 0.1, noise=2.0), start_of(problem_of(1, 0.1, noise=2.0), 0.1), 0.9
            ),
            "holds",
        ),
        (lambda: sv.theory.quenched_escape_time(problem_of(2, 0.05), draws=1), "draws: 1 given"),
    ],
)
def test_where_they_do_not_apply(call, message) -> None:
    with pytest.raises(ValueError, match=message):
        call()
