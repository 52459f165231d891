"""Thresholds of the diffusion: the law of the first passage where it is known, by brute force, and against SGD itself."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats
from test_case_leaps import TEACHER, XOR, problem_of

import solvable as sv
from gate import first, only
from seeds import seed
from solvable.meso import passage
from solvable.numerics.interpreting import rewired
from solvable.numerics.lanes import WIDTH
from solvable.numerics.random import STREAM
from solvable.numerics.tsit5 import NODES

SHIFT = 0.5826  # -zeta(1/2)/sqrt(2 pi), of Broadie, Glasserman and Kou (1997)


def observe(segment, t, y, seen):
    seen[:] = y[0]


def first_passages(ends, variance, peak, number, level=0.0):
    """Shares at which a bridge over a parabola first passes the level, one for each of the `ends` (begin, end)."""
    passing = rewired(passage.first_passage, distance=rewired(passage.distance))
    stream = np.random.SeedSequence(seed(number)).generate_state(STREAM * WIDTH, np.uint64)
    path, found = SimpleNamespace(direction=1, level=level), []
    for begin, end in ends:
        slopes = np.zeros((8, 1))
        slopes[:7, 0] = 4 * peak * (1 - 2 * NODES) + end - begin
        steps = slopes, np.array([begin]), np.array([begin]), np.array([end])
        distances = level - begin, level - end
        found.append(passing(observe, (1.0, 0.0, 0), np.array([end]), (), path, steps, distances, variance, stream))
    return np.array(found)


@pytest.mark.statistical
@pytest.mark.parametrize("drift", [-0.5, 0.0, 1.5])
def test_brownian_motion_passes_as_it_should(drift) -> None:
    """Ends drawn, the way between them by the bridge: the time at which a Brownian motion with drift first comes to one has an
    inverse Gaussian law, here up to the time one."""
    random, count = np.random.default_rng(seed(1)), 4000
    ends = np.stack([np.full(count, -1.0), -1.0 + drift + 0.8 * random.standard_normal(count)], axis=1)
    found = first_passages(ends, 0.64, 0.0, 2)

    def law(t):
        root = 0.8 * np.sqrt(np.maximum(t, 1e-300))
        return stats.norm.cdf((drift * t - 1) / root) + np.exp(2 * drift / 0.64) * stats.norm.cdf(
            -(drift * t + 1) / root
        )

    share, expected = (found <= 1).mean(), law(np.ones(1))[0]
    assert abs(share - expected) < 5 * np.sqrt(expected * (1 - expected) / count)
    assert (found[ends[:, 1] >= 0] <= 1).all()
    met = found[found <= 1]
    assert stats.kstest(met, lambda t: law(np.asarray(t)) / expected).pvalue > 1e-6


def by_brute_force(line, noise, count, number):
    """The shares at which bridges on many points, around these distances from the level, first pass it, or 2."""
    random, points = np.random.default_rng(seed(number)), line.size - 1
    walk, t = np.zeros((count, points + 1)), np.arange(points + 1) / points
    walk[:, 1:] = np.cumsum(random.standard_normal((count, points)) * noise / np.sqrt(points), axis=1)
    below = line - (walk - t * walk[:, -1:])
    a, b = below[:, :-1], below[:, 1:]
    chance = np.where((a > 0) & (b > 0), np.exp(-2 * np.maximum(a * b, 0) * points / noise**2), 1.0)
    passes = random.random(chance.shape) < chance
    return np.where(passes.any(axis=1), t[1:][passes.argmax(axis=1)], 2.0)


@pytest.mark.statistical
@pytest.mark.parametrize("end", first([0.0, -1.0, 0.5]))
def test_when_a_straight_stretch_is_passed(end) -> None:
    """Given that it is, whatever the sign of its end."""
    random, draws = np.random.default_rng(seed(8)), np.zeros(2 * WIDTH)
    found = np.empty(4000)
    for i in range(found.size):
        draws[0], draws[WIDTH] = random.standard_normal(), random.random()
        found[i] = passage.passing_share.py_func(0.7, end, 1.0, draws)
    first = by_brute_force(np.linspace(0.7, end, 2001), 1.0, 6000, 9)
    assert stats.ks_2samp(found, first[first <= 1]).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize(("peak", "noise"), first([(0.8, 0.5), (1.05, 0.3), (1.0, 0.01), (3.0, 0.2)], 2))
def test_a_peak_within_a_leap_is_passed_as_by_brute_force(peak, noise) -> None:
    """Both ends one below the level, a parabola between them: 4000 bridges against 4000 on 2000 points, between which the straight
    line is good enough."""
    count, points = 4000, 2000
    found = first_passages(np.full((count, 2), -1.0), noise**2, peak, 3)
    t = np.arange(points + 1) / points
    first = by_brute_force(1 - 4 * peak * t * (1 - t), noise, count, 4)
    p, q = (found <= 1).mean(), (first <= 1).mean()
    assert abs(p - q) < 5 * np.sqrt((p * (1 - p) + q * (1 - q)) / count) + 1 / count
    assert stats.ks_2samp(found[found <= 1], first[first <= 1]).pvalue > 1e-6


def erf_of(dim, **changes):
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", readout="unit"),
        student=sv.Student(width=2, activation="erf", readout="unit"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5),
    )
    return problem.replace(**changes)


SMALL = {"student_overlap": [[0.3, 0.05], [0.05, 0.2]], "cross_overlap": [[0.25], [0.1]]}
LARGE = {"student_overlap": [[1.0, 0.6], [0.6, 1.0]], "cross_overlap": [[0.9], [0.7]]}
WATCHED_CASES = {
    "peak of an overlap": (erf_of(2000), SMALL, "cross_overlap", (1, 0), False, 8.0),
    "falling overlap": (erf_of(1000, training__label_noise=0.5), LARGE, "cross_overlap", (1, 0), True, 6.0),
    "noisy risk, falling": (erf_of(1000, training__label_noise=0.5), SMALL, "risk", None, True, 12.0),
    "noisy risk, rising": (erf_of(1000, training__label_noise=1.0), SMALL, "risk", None, False, 6.0),
    "norm on two blocks": (
        erf_of(1200, training__label_noise=0.5, inputs__spectrum={"eigenvalues": [2.0, 0.5], "weights": [1, 2]}),
        None, "norm", (0,), False, 5.0,
    ),
    "readout": (
        erf_of(1000, training__label_noise=0.5, training__train_readout=True, training__readout_rate=0.5),
        SMALL, "readout", (0,), True, 6.0,
    ),
    "sphere": (
        erf_of(1000, training__label_noise=0.5, student__norm="sphere"), None, "student_overlap", (0, 1), True, 8.0,
    ),
    "classes": (
        problem_of(mixture=XOR, train_readout=True, readout_rate=0.5).replace(inputs__dim=1600), None, "risk", None, True, 3.0,
    ),
    "tasks": (
        problem_of(
            teacher={"width": 2, "activation": "erf"}, tasks=sv.Task.sequence([(1.0, 0.0), (0.3, 0.9)], [1.5], replay=0.3),
            label_noise=0.5,
        ),
        None, "cross_overlap", (0, 0), False, 4.0,
    ),
    "slow momentum": (
        problem_of(teacher=TEACHER, momentum=sv.Momentum(kappa=2.0), label_noise=0.5), None, "student_overlap", (0, 1), True, 6.0,
    ),
}  # fmt: skip


def watched(run, quantity, entry):
    """(run, time)"""
    if quantity == "norm":
        return run.student_overlap[:, :, entry[0], entry[0]]
    found = getattr(run, quantity)
    return found if entry is None else found[(slice(None), slice(None), *entry)]


def compared(name, runs, **settings):
    """Runs of Micro and Meso that stop at a level that half of the runs pass; that of Micro is nearer by what a path passes between
    looks."""
    problem, start, quantity, entry, falls, until = WATCHED_CASES[name]
    start = sv.start(problem, seed=seed(3)) if start is None else sv.start(problem, **start)
    dim, sign = problem.inputs.dim, -1 if falls else 1
    stride = max(16, dim // 1000) / dim
    pilot = sv.run(problem, start, sv.Micro(runs=200, seed=seed(5)), times=np.arange(0, until, stride), progress=False)
    seen = sign * watched(pilot, quantity, entry)
    level = np.median(seen.max(axis=1))
    near = np.abs(seen[:, :-1] - level) <= np.quantile(np.abs(seen[:, :-1] - level), 0.05)
    shift = SHIFT * np.diff(seen)[near].std()
    found = []
    for one, at in (
        (sv.Micro(runs=runs, seed=seed(6)), level - shift),
        (sv.Meso(runs=runs, seed=seed(7), **settings), level),
    ):
        stop = sv.when(quantity, entry=entry, **{"below" if falls else "above": sign * at})
        found.append(sv.run(problem, start, one, times=[until], stop=stop, progress=False))
    return *found, sign * level


def stopped(run):
    return np.array([ending == sv.results.Ending.STOPPED for ending in run.ending])


def assert_same_passages(micro, meso):
    """Shares within five standard errors, times as of one distribution at the looks that Micro takes."""
    p, q = stopped(micro).mean(), stopped(meso).mean()
    assert 0.2 < p < 0.8
    assert abs(p - q) < 5 * np.sqrt((p * (1 - p) + q * (1 - q)) / len(micro.risk))
    looks = max(16, micro.problem.inputs.dim // 1000) / micro.problem.inputs.dim
    times = [np.ceil(run.end_alpha[stopped(run)] / looks - 1e-6) for run in (micro, meso)]
    assert stats.ks_2samp(*times).pvalue > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(WATCHED_CASES, "readout"))
def test_paths_stop_as_sgd_does(name) -> None:
    """The share of the runs that stop, when they do, and where: at the level."""
    micro, meso, level = compared(name, 1500)
    assert_same_passages(micro, meso)
    problem, _, quantity, entry, *_ = WATCHED_CASES[name]
    for state in [one for one, here in zip(meso.states(), stopped(meso), strict=True) if here][:20]:
        if quantity in ("cross_overlap", "student_overlap"):
            assert getattr(state, quantity)[entry] == pytest.approx(level, abs=1e-9)
        if quantity == "readout":
            assert state.readout[entry] == pytest.approx(level, abs=1e-9)
        if problem.student.norm == "sphere":
            assert np.diag(state.student_overlap) == pytest.approx(np.ones(2), abs=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("leap", [0.05, 1.0])
def test_the_leap_does_not_matter(leap) -> None:
    """At the peak, where looks at the ends of leaps alone miss a third of the passages."""
    micro, meso, _ = compared("peak of an overlap", 1500, leap=leap)
    assert_same_passages(micro, meso)


def test_a_path_is_the_same_until_it_stops() -> None:
    """What thresholds draw comes from a stream of its own."""
    problem, start, *_ = WATCHED_CASES["peak of an overlap"]
    start, times = sv.start(problem, **start), np.linspace(0, 8, 9)
    free = sv.run(problem, start, sv.Meso(runs=20, seed=1), times=times)
    stop = sv.when("cross_overlap", entry=(1, 0), above=0.332)
    watched_run = sv.run(problem, start, sv.Meso(runs=20, seed=1), times=times, stop=stop)
    there = np.isfinite(watched_run.risk)
    assert 0 < stopped(watched_run).sum() < 20
    assert np.array_equal(watched_run.student_overlap[there], free.student_overlap[there])
    assert np.array_equal(there.sum(axis=1), np.searchsorted(times, watched_run.end_alpha, side="right"))


@pytest.mark.parametrize("dim", [10**9, 10**13])
def test_a_peak_of_the_mean_is_not_missed(dim) -> None:
    """With next to no noise paths stop where Macro does: at a peak that passes the level by one in ten thousand, or a million."""
    problem = erf_of(dim)
    start = sv.start(problem, **SMALL)
    peak = sv.run(problem, start, sv.Macro(rtol=1e-11), times=np.linspace(0, 8, 8001)).cross_overlap[0, :, 1, 0].max()
    part = 1e-4 if dim < 10**10 else 1e-6
    for level, ending in ((peak * (1 - part), "STOPPED"), (peak * (1 + part), "FINISHED")):
        stop = sv.when("cross_overlap", entry=(1, 0), above=level)
        exact = sv.run(problem, start, sv.Macro(rtol=1e-11), times=[8], stop=stop)
        run = sv.run(problem, start, sv.Meso(runs=4, seed=1), times=[8], stop=stop)
        assert {one.name for one in (*run.ending, *exact.ending)} == {ending}
        assert run.end_alpha == pytest.approx(exact.end_alpha[0], rel=0.02)


JUMP = sv.Inputs(dim=10**6, spectrum={"eigenvalues": [sv.Schedule(times=(0, 2), rates=(1.0, 3.0))], "weights": [1]})


@pytest.mark.parametrize("times", [[5], [1, 2, 3], [1, 2], [2]])
def test_a_jump_of_what_is_watched_ends_a_path(times) -> None:
    """The eigenvalue jumps, and with it the risk: also where the jump is the last output."""
    problem = erf_of(None).replace(inputs=JUMP, training__learning_rate=0.01)
    start = sv.start(problem, **SMALL)
    before, after = (sv.run(problem, start, sv.Macro(), times=[t]).risk[0, 0] for t in (1.999, 2.001))
    assert after > 1.3 * before
    run = sv.run(problem, start, sv.Meso(runs=2), times=times, stop=sv.when("risk", above=0.5 * (before + after)))
    assert [one.name for one in run.ending] == ["STOPPED"] * 2
    assert run.end_alpha == pytest.approx(2.0, abs=1e-12)
    assert np.isfinite(run.risk).sum(axis=1) == pytest.approx(np.searchsorted(times, 2, side="right"))


def test_a_run_with_few_outputs_has_many_leaps() -> None:
    """Of many overlaps each may pass the level by itself: of runs with one to three leaps a tenth too few stopped."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=4), student=sv.Student(width=8), inputs=sv.Inputs(dim=10**5),
        training=sv.Training(learning_rate=0.02, loss_factor=0.5, label_noise=1.0),
    )  # fmt: skip
    start = sv.start(problem, student_overlap=np.eye(8), cross_overlap=np.zeros((8, 4)))
    single, largest = (sv.when("student_overlap", above=1.0, entry=entry) for entry in ((1, 0), None))
    for stop, fewest in ((None, 32), (single, 32), (largest, 512)):
        run = sv.run(problem, start, sv.Meso(runs=2), times=[3.0], stop=stop, progress=False)
        assert fewest <= run.nfev.min() < 3 * fewest


def test_a_quantity_that_is_no_number_in_between_ends_the_search() -> None:
    """Within few looks: ends are known, and what lies between them counts as straight."""
    looks = []

    def broken(segment, t, y, seen):
        looks.append(t)
        seen[:] = np.nan

    passing = rewired(passage.first_passage, distance=rewired(passage.distance))
    stream = np.random.SeedSequence(0).generate_state(STREAM * WIDTH, np.uint64)
    steps = np.zeros((8, 1)), np.array([-1.0]), np.array([-1.0]), np.array([-1.0])
    path = SimpleNamespace(direction=1, level=0.0)
    found = passing(broken, (1.0, 0.0, 0), np.array([-1.0]), (), path, steps, (1.0, 1.0), 1e-6, stream)
    assert found == passage.NEVER
    assert len(looks) == 1


def test_a_large_sum_of_squared_gradients_is_no_divergence() -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear", overlap="sampled"),
        student=sv.Student(width=1, activation="linear"), inputs=sv.Inputs(dim=1000),
        training=sv.Training(learning_rate=0.1, loss_factor=0.5, label_noise=5e3, rate_rule=sv.problems.AdaGrad(offset=100.0)),
    )  # fmt: skip
    for level in (sv.Meso(), sv.Micro(), sv.Micro(form="full")):
        run = sv.run(problem, sv.start(problem, seed=0), level, times=[1, 4], progress=False)
        assert run.last().scalars[-1] > 1.5e4
        assert run.ending == [sv.results.Ending.FINISHED]
        assert np.isfinite(run.risk).all()


def test_a_threshold_at_the_last_output() -> None:
    """Passed a little before the last output, or not at all."""
    problem = erf_of(10**10)
    start = sv.start(problem, **SMALL)
    risk = sv.run(problem, start, sv.Macro(rtol=1e-10), times=[2.999, 3.001]).risk[0]
    for below, ending in zip(risk, ("STOPPED", "FINISHED"), strict=True):
        run = sv.run(problem, start, sv.Meso(runs=2), times=[1, 3], stop=sv.when("risk", below=below))
        assert [one.name for one in run.ending] == [ending] * 2
        assert np.isfinite(run.risk[:, -1]).all() == (ending == "FINISHED")


@pytest.mark.statistical
def test_thresholds_around_functions_of_ones_own() -> None:
    """In Python: the same passages, of few paths."""
    square = sv.Activation("square", lambda z: z * z, lambda z: 2 * z)
    problem = sv.Problem(
        teacher=sv.Teacher(width=1), student=sv.Student(width=1, activation=square), inputs=sv.Inputs(dim=500),
        training=sv.Training(learning_rate=0.1, loss_factor=0.5),
    )  # fmt: skip
    start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.5]])
    stop = sv.when("cross_overlap", above=0.6, entry=(0, 0))
    run = sv.run(problem, start, sv.Meso(runs=4, seed=seed(2), rtol=1e-2), times=[10], stop=stop, progress=False)
    assert stopped(run).any()
    for state in [one for one, here in zip(run.states(), stopped(run), strict=True) if here]:
        assert state.cross_overlap[0, 0] == pytest.approx(0.6, abs=1e-9)
