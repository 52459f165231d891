"""The diffusion against SGD itself: means and variances of every overlap, its bias, its noise, and how it behaves."""

import numpy as np
import pytest

import solvable as sv
from comparing import joint_chance, scores
from gate import first, only
from seeds import seed
from solvable.levels import Lane
from solvable.meso import level
from solvable.numerics.tsit5 import ORDER


def quadratic_of(p, q, dim, rate, **changes):
    problem = sv.Problem(
        teacher=sv.Teacher(width=q),
        student=sv.Student(width=p),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )
    return problem.replace(**changes)


ERF = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf", readout="unit"),
    student=sv.Student(width=2, activation="erf", readout="unit"),
    inputs=sv.Inputs(dim=3000, spectrum={"eigenvalues": [2.0, 0.5], "weights": [1 / 3, 2 / 3]}),
    training=sv.Training(learning_rate=0.7, loss_factor=0.5),
)
CASES = {
    "free": (quadratic_of(2, 2, 300, 0.15), [1, 8, 30]),
    "wide": (quadratic_of(5, 2, 3000, 0.6), [1, 6, 20]),
    "sphere and label noise": (
        quadratic_of(2, 1, 300, 0.2, student__norm="sphere", training__label_noise=0.5), [1, 5, 20],
    ),
    "sphere, large dim": (quadratic_of(1, 1, 3000, 0.08, student__norm="sphere"), [2, 15, 40]),
    "trained readout": (
        quadratic_of(3, 1, 300, 0.3, student__norm="sphere", training__train_readout=True, training__readout_rate=0.3), [1, 5, 15],
    ),
    "twenty students": (quadratic_of(20, 1, 300, 1.0, student__norm="sphere"), [1, 6, 20]),
    "batch and decay": (quadratic_of(2, 1, 300, 0.8, training__batch=5, training__weight_decay=0.1), [1, 4, 10]),
    "schedule": (
        quadratic_of(2, 1, 300, 0.1).replace(training__learning_rate=sv.Schedule(times=(0, 5), rates=(0.15, 0.05))), [1, 6, 15],
    ),
    "two blocks, erf": (ERF, [1, 5, 15]),
}  # fmt: skip


def flat(run):
    """(run, time, everything): overlaps and readouts."""
    p = run.problem.student.width
    parts = [run.student_overlap[:, :, *np.triu_indices(p)], run.cross_overlap.reshape(*run.risk.shape, -1)]
    parts += [run.readout] if run.problem.training.train_readout else []
    return np.concatenate(parts, axis=2)


def assert_same_law(one, two, k=5.0):
    """Means and variances of all entries within `k` standard errors; all means together, which are correlated."""
    one, two = (flat(run).reshape(len(run.risk), -1) for run in (one, two))
    for found in scores(one, two):
        assert np.abs(found).max() < k
    assert joint_chance(one, two) > 1e-6


@pytest.mark.statistical
@pytest.mark.parametrize("name", only(CASES, "free", "trained readout", "two blocks, erf"))
def test_means_and_variances_are_those_of_sgd(name) -> None:
    problem, times = CASES[name]
    start = sv.start(problem, seed=seed(3))
    micro = sv.run(problem, start, sv.Micro(runs=800, seed=seed(1)), times=times, progress=False)
    meso = sv.run(problem, start, sv.Meso(runs=800, seed=seed(2)), times=times, progress=False)
    assert meso.success
    assert_same_law(meso, micro)
    if problem.student.norm == "sphere":
        norms = np.diagonal(meso.student_overlap, axis1=2, axis2=3)
        assert np.abs(norms - 1).max() < 1e-12


@pytest.mark.full
@pytest.mark.statistical
def test_means_and_variances_at_large_dim() -> None:
    """At dim 10^4 the bias is below the standard error, also near the solution with more students than teachers."""
    problem = quadratic_of(4, 2, 10_000, 0.8)
    start = sv.start(problem, seed=seed(3), students="orthogonal", cross=0.05)
    micro = sv.run(problem, start, sv.Micro(runs=200, seed=seed(1)), times=[5, 20, 60], progress=False)
    meso = sv.run(problem, start, sv.Meso(runs=200, seed=seed(2)), times=[5, 20, 60], progress=False)
    assert micro.risk[:, -1].max() < 0.05
    assert_same_law(meso, micro)


@pytest.mark.statistical
@pytest.mark.slow
@pytest.mark.parametrize("place", ["on the way", "near the solution"])
def test_the_bias_falls_with_the_dimension(place) -> None:
    """Mean risks of tens of thousands of runs and paths with more students than teachers, at dim 100, 300 and 1000: their
    difference, times dim, stays below a bound. Near the solution it is resolved; on the way too small for that many runs."""
    S = np.array([[0.6], [0.64], [0.48]])
    found = []
    for dim, runs in [(100, 40_000), (300, 20_000), (1000, 10_000)]:
        problem = quadratic_of(3, 1, dim, 0.2)
        if place == "on the way":
            start = sv.start(problem, seed=seed(3), students="orthogonal", cross=0.05)
        else:
            start = sv.start(problem, student_overlap=2.4 * S @ S.T + 0.1 * np.eye(3), cross_overlap=1.5 * S)
        micro, meso = (
            sv.run(problem, start, level, times=[10.0], progress=False).risk[:, -1]
            for level in (sv.Micro(runs=runs, seed=seed(1)), sv.Meso(runs=runs, seed=seed(2), rtol=1e-8))
        )
        found.append(((meso.mean() - micro.mean()) * dim, np.hypot(micro.std(), meso.std()) / np.sqrt(runs) * dim))
    bias, error = np.array(found).T
    assert (np.abs(bias) < (0.5 if place == "on the way" else 0.05) + 5 * error).all()
    if place == "near the solution":
        assert abs(bias[0]) > 3 * error[0]


@pytest.mark.statistical
@pytest.mark.parametrize(("p", "q", "norm"), first([(2, 1, "sphere"), (1, 1, "free"), (3, 2, "free")]))
def test_kicks_have_the_exact_covariance(p, q, norm) -> None:
    """One leap so short that it is nearly all kicks: the scatter of 20 000 paths against the closed form."""
    dim, h = 10**6, 1e-3
    problem = quadratic_of(p, q, dim, 0.3, training__label_noise=0.2, student__norm=norm)
    start = sv.start(problem, seed=seed(2), students="orthogonal", cross=0.3)
    run = sv.run(problem, start, sv.Meso(runs=20_000, seed=seed(1), leap=h), times=[h], progress=False)
    assert set(run.nfev) == {1}
    X = np.concatenate(
        [run.cross_overlap[:, 0].reshape(20_000, -1), run.student_overlap[:, 0, *np.triu_indices(p)]], axis=1
    )
    exact = sv.dynamics.step_covariance(problem, start) * h / dim
    deviation = X - X.mean(axis=0)
    products = deviation[:, :, None] * deviation[:, None, :]
    error = products.std(axis=0) / np.sqrt(len(X))
    moving = np.diag(exact) > 1e-12 * exact.max()
    scores = (products.mean(axis=0) - exact)[np.ix_(moving, moving)] / error[np.ix_(moving, moving)]
    assert np.abs(scores).max() < 5.5


def test_noise_within_the_frames_counts_once() -> None:
    """It comes with the kicks: the equations between them add that of the dimensions that no unit spans. (What is counted twice is
    of the order 1/dim, as is the error of the splitting, so means of paths hardly tell.)"""
    problem, _ = CASES["two blocks, erf"]
    packed = level._packed(Lane(problem, sv.start(problem, seed=1)), None)
    fractions = packed.blocks[0]["fraction"]
    assert fractions == pytest.approx([(1000 - 3) / 3000, (2000 - 3) / 3000], rel=1e-12)  # two students and a teacher


def test_the_mean_is_that_of_the_equations() -> None:
    """At 10^15 dimensions noise is invisible (some 1e-8 in means of 16 paths), and the error that of the steps: at least of their
    order, 5, at leaps as long as these."""
    problem = quadratic_of(3, 2, 10**15, 0.2)
    start = sv.start(problem, seed=1, students="orthogonal", cross=0.3)
    exact = sv.run(problem, start, sv.Macro(rtol=1e-12), times=[40])
    errors = []
    for steps in (16, 32):
        run = sv.run(problem, start, sv.Meso(runs=16, leap=40 / steps), times=[40], progress=False)
        errors.append(np.abs(run.student_overlap[:, 0].mean(axis=0) - exact.student_overlap[0, 0]).max())
    assert np.log2(errors[0] / errors[1]) > ORDER - 0.4
    for rtol in (1e-3, 1e-5, 1e-7):
        run = sv.run(problem, start, sv.Meso(rtol=rtol), times=[40])
        assert run.risk[0, 0] == pytest.approx(exact.risk[0, 0], rel=10 * rtol)


STEPPED = sv.Schedule(times=(0, 20, 40), rates=(0.6, 0.3, 0.1))
ERF = sv.Problem(
    teacher=sv.Teacher(width=2, activation="erf", readout="unit"),
    student=sv.Student(width=3, activation="erf", readout="unit"),
    inputs=sv.Inputs(dim=10_000),
    training=sv.Training(learning_rate=0.5, label_noise=0.01),
)


@pytest.mark.statistical
@pytest.mark.parametrize("dim", [10**9, 10**12, 10**15])
@pytest.mark.parametrize("problem", [quadratic_of(6, 3, 10_000, STEPPED), ERF], ids=["jumps of the rate", "erf"])
def test_the_bias_is_below_the_noise_at_any_dim(problem, dim) -> None:
    """At the default tolerance the means of 64 paths are those of the equations, within six standard errors: the order
    1/dim by which they differ is far below. At dim 10^15 a standard error is some 1e-8 of the risk."""
    start = sv.start(problem, seed=1, students="orthogonal", cross=0.1)
    problem, times = problem.replace(inputs__dim=dim), [10, 30, 60]
    exact = sv.run(problem, start, sv.Macro(rtol=1e-12), times=times)
    paths = sv.run(problem, start, sv.Meso(runs=64, seed=seed(1)), times=times, progress=False)
    for name in ("risk", "student_overlap", "cross_overlap"):
        found = paths.mean(name)
        allowed = 6 * found.standard_error + 1e-10
        assert (np.abs(found.mean - getattr(exact, name)[0]) < allowed).all()


@pytest.mark.statistical
@pytest.mark.parametrize("dim", [10**9, 10**12])
@pytest.mark.parametrize("problem", [quadratic_of(6, 3, 10_000, STEPPED), ERF], ids=["jumps of the rate", "erf"])
@pytest.mark.parametrize("below", [0.9, 0.2])
def test_exit_times_have_no_bias_either(problem, dim, below) -> None:
    """Means of 64 paths within six standard errors of the time at which Macro passes, however long the leap that does."""
    start = sv.start(problem, seed=1, students="orthogonal", cross=0.1)
    problem, stop = problem.replace(inputs__dim=dim), sv.when("risk", below=below, relative=True)
    exact = sv.run(problem, start, sv.Macro(rtol=1e-11), until=100, stop=stop)
    paths = sv.run(problem, start, sv.Meso(runs=64, seed=seed(2)), times=[100], stop=stop, progress=False)
    found = paths.end_alpha
    assert abs(found.mean() - exact.end_alpha[0]) < 6 * found.std(ddof=1) / 8
    for state in paths.states()[:4]:
        risk = sv.dynamics.moments(sv.dynamics.field_covariance(problem, state), problem).risk
        assert risk == pytest.approx(below * paths.start_risk[0], rel=1e-6)


@pytest.mark.statistical
def test_one_path_converges_as_its_leaps_shrink() -> None:
    """Strong order: the same samples driving leaps of h, h/2, h/4 (as many samples for each unit of time)."""
    problem = quadratic_of(2, 1, 400, 0.15)
    start = sv.start(problem, seed=seed(1), students="orthogonal", cross=0.3)
    runs = [
        sv.run(
            problem,
            start,
            sv.Meso(runs=200, seed=seed(5), leap=4 / steps, samples=8 * 64 // steps),
            times=[4],
            progress=False,
        )
        for steps in (4, 8, 16, 32, 64)
    ]
    best = runs[-1].student_overlap[:, -1]
    errors = [np.median(np.linalg.norm(run.student_overlap[:, -1] - best, axis=(1, 2))) for run in runs[:-1]]
    slope = -np.polyfit(np.log([4, 8, 16, 32]), np.log(errors), 1)[0]
    assert slope > 0.5 - 0.1  # the strong order that Meso states
    assert errors[-1] < 0.3 * errors[0]


@pytest.mark.statistical
def test_ten_to_the_thirteen_samples() -> None:
    """dim 10^9 to alpha = 10^4: fluctuations of the escape are those that SGD has at any dim, from a start that scales with it."""
    problem = sv.problems.convention("bocchi2026").problem(p=4, p_star=2, eta=0.01).replace(inputs__dim=10**9)
    start = sv.start(problem, seed=seed(1), students="orthogonal")
    stop = sv.when("risk", below=0.5, relative=True)
    run = sv.run(problem, start, sv.Meso(runs=64, seed=seed(1)), until=10_000, stop=stop, progress=False)
    times = run.exit_time()
    starts = sv.theory.noisy_starts(problem, start, 200, seed=seed(0)).value
    expected = sv.levels.run_batch(problem, starts, sv.Macro(rtol=1e-6), until=10_000, stop=stop).exit_time()
    error = np.hypot(times.std(ddof=1) / 8, expected.std(ddof=1) / np.sqrt(200))
    assert abs(times.mean() - expected.mean()) < 5 * error
    assert times.std(ddof=1) / expected.std(ddof=1) == pytest.approx(1, abs=0.4)
    assert run.nfev.max() < 5000


def test_thresholds_are_met_between_leaps() -> None:
    problem = quadratic_of(2, 1, 10**10, 0.3)
    start = sv.start(problem, seed=1, students="orthogonal", cross=0.1)
    stop = sv.when("risk", below=0.3, relative=True)
    exact = sv.run(problem, start, sv.Macro(), until=200, stop=stop).end_alpha[0]
    run = sv.run(problem, start, sv.Meso(rtol=1e-6), until=200, stop=stop)
    assert run.ending == [sv.results.Ending.STOPPED]
    assert run.end_alpha[0] == pytest.approx(exact, rel=1e-3)
    assert run.last().student_overlap.shape == (2, 2)
    assert np.isnan(run.risk[0, -1])
    rising = sv.run(problem, start, sv.Meso(), until=200, stop=sv.when("cross_overlap", above=0.5), progress=False)
    assert np.abs(rising.last().cross_overlap).max() == pytest.approx(0.5, abs=1e-9)
    there = sv.run(problem, start, sv.Meso(), until=5, stop=sv.when("risk", below=1.0, relative=True))
    assert there.end_alpha[0] == 0


def test_a_path_depends_on_nothing_beside_it() -> None:
    problem, times = CASES["free"]
    start = sv.start(problem, seed=3)
    runs = [sv.run(problem, start, sv.Meso(runs=n, seed=2, threads=t), times=times) for n, t in [(5, 1), (9, 2)]]
    assert np.array_equal(runs[0].student_overlap, runs[1].student_overlap[:5])
    batch = sv.levels.run_batch(problem, [sv.start(problem, seed=9), start], sv.Meso(runs=2, seed=2), times=times)
    assert np.array_equal(batch.select(start=1).risk, runs[0].risk[:2])
    assert not np.array_equal(runs[0].risk[0], runs[0].risk[1])
    assert not np.array_equal(sv.run(problem, start, sv.Meso(seed=4), times=times).risk, runs[0].risk[:1])


@pytest.mark.statistical
@pytest.mark.parametrize("activation", ["relu", "own"])
def test_units_without_closed_form(activation) -> None:
    """In Python around averages over nodes: means of a few paths near those of SGD."""
    square = sv.Activation("square", lambda z: z * z, lambda z: 2 * z)
    problem = quadratic_of(1, 1, 500, 0.1)
    if activation == "relu":
        problem = problem.replace(student__activation="relu", teacher__activation="relu")
    else:
        problem = problem.replace(student__activation=square)
    start = sv.start(problem, seed=seed(1))
    micro = sv.run(problem, start, sv.Micro(runs=64, seed=seed(1)), times=[2], progress=False)
    meso = sv.run(problem, start, sv.Meso(runs=12, seed=seed(2), rtol=1e-2), times=[2], progress=False)
    means, _ = scores(*(flat(run).reshape(len(run.risk), -1) for run in (meso, micro)))
    assert np.abs(means).max() < 7  # of twelve paths: Student's distribution
    assert np.isfinite(meso.risk).all()


@pytest.mark.parametrize("norm", ["free", "sphere"])
def test_overlaps_stay_possible(norm) -> None:
    """Perfect students that label noise moves, with outputs so dense that leaps are short: the raw overlaps, not repaired, have no
    negative eigenvalue."""
    for p in (1, 3):
        problem = quadratic_of(p, 1, 300, 0.2, training__label_noise=1.0, student__norm=norm)
        start = sv.start(problem, student_overlap=np.ones((p, p)), cross_overlap=np.ones((p, 1)))
        run = sv.run(problem, start, sv.Meso(runs=20, seed=1), times=np.linspace(0, 1, 60), progress=False)
        stacked = np.concatenate([run.student_overlap, run.cross_overlap], axis=3)
        below = np.concatenate([run.cross_overlap.swapaxes(2, 3), np.ones((*run.risk.shape, 1, 1))], axis=3)
        assert np.linalg.eigvalsh(np.concatenate([stacked, below], axis=2)).min() > -1e-12
        assert run.risk[:, -1].min() > 0


def test_students_that_coincide_stay_possible() -> None:
    """From identical students, and from perfect ones: overlaps that Euler steps on Q would leave."""
    problem = quadratic_of(3, 1, 1000, 0.3)
    same = sv.start(problem, student_overlap=np.ones((3, 3)), cross_overlap=0.3 * np.ones((3, 1)))
    perfect = sv.start(problem, student_overlap=np.ones((3, 3)), cross_overlap=np.ones((3, 1)))
    for start in (same, perfect):
        run = sv.run(problem, start, sv.Meso(runs=4), times=np.linspace(0, 20, 9), progress=False)
        assert run.success
        for i in range(4):
            for time in run.time:
                run.at(time, i)  # raises where no weights have the overlaps
    assert run.risk.max() < 1e-12


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ({"runs": 0}, "runs: 0 given"),
        ({"samples": 12}, "samples: 12 given, must be a multiple of 8"),
        ({"samples": 0}, "samples: 0 given, must be a whole number, at least 8"),
        ({"rtol": 0.5}, "rtol: 0.5 given"),
        ({"leap": -1}, "leap: -1 given"),
        ({"seed": -1}, "seed: -1 given"),
    ],
)
def test_mistakes_in_the_level(level, message) -> None:
    with pytest.raises(ValueError, match=message):
        sv.Meso(**level)


def test_the_risk_is_exact_whatever_the_loss() -> None:
    """With log-cosh the moments are averages over nodes, the risk is not."""
    problem = quadratic_of(2, 1, 300, 0.05, training__loss="log-cosh")
    start = sv.start(problem, seed=1)
    found = [
        sv.run(problem, start, level, times=[0, 0.1], progress=False).risk[0, 0] for level in (sv.Micro(), sv.Meso())
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-12)


def test_paths_in_python_may_diverge() -> None:
    square = sv.Activation("square", lambda z: z * z, lambda z: 2 * z)
    problem = quadratic_of(1, 1, 60, 8.0, student__activation=square)
    run = sv.run(problem, sv.start(problem, seed=1), sv.Meso(runs=2), times=[0, 20], progress=False)
    assert set(run.ending) == {sv.results.Ending.DIVERGED}


def test_a_leap_too_long_is_told() -> None:
    problem = quadratic_of(2, 1, 1000, 0.3)
    run = sv.run(problem, sv.start(problem, seed=0), sv.Meso(leap=50), times=[300], progress=False)
    assert run.ending == [sv.results.Ending.LEAP]
    assert "shorter" in run.message


@pytest.mark.statistical
def test_a_start_at_rest_does_not_leap_too_far() -> None:
    """At m = 0 the equations stand still and noise alone moves: the spread of m against that of SGD, also at the coarsest rtol."""
    problem = sv.problems.convention("arnaboldi2023").problem(p=1, gamma=0.05, d=3000)
    start = sv.start(problem, student_overlap=[[1.0]], cross_overlap=[[0.0]])
    squares = [
        sv.run(problem, start, level, times=[10], progress=False).cross_overlap[:, 0, 0, 0] ** 2
        for level in (
            sv.Micro(runs=1500, seed=seed(1)),
            sv.Meso(runs=3000, seed=seed(1)),
            sv.Meso(runs=3000, seed=seed(1), rtol=1e-2),
        )
    ]
    errors = [x.std() / np.sqrt(x.size) for x in squares]
    for i in (1, 2):
        assert abs(squares[i].mean() - squares[0].mean()) < 5 * np.hypot(errors[i], errors[0]) + (
            0.05 * squares[0].mean() if i == 2 else 0
        )


def test_what_it_cannot_do() -> None:
    infinite = quadratic_of(2, 1, None, 0.1)
    start = sv.start(infinite, student_overlap=np.eye(2))
    with pytest.raises(ValueError, match="finite one; give it, or use Macro"):
        sv.run(infinite, start, sv.Meso(), until=1)
    tiny = quadratic_of(2, 1, 5, 0.1)
    with pytest.raises(ValueError, match="must have more than 5 here"):
        sv.run(tiny, sv.start(tiny, seed=0), sv.Meso(), until=1)
    hot = quadratic_of(2, 1, 300, 20.0)
    lost = sv.run(hot, sv.start(hot, seed=0), sv.Meso(runs=2), until=50, progress=False)
    assert lost.ending == [sv.results.Ending.DIVERGED] * 2
    problem = quadratic_of(2, 1, 300, 0.1)
    short = sv.run(problem, sv.start(problem, seed=0), sv.Meso(max_steps=3), until=50, progress=False)
    assert short.ending == [sv.results.Ending.STEP_LIMIT]
