"""Numbers of a problem are found again in its learning curves, and what a curve does not tell is told."""

import numpy as np
import pytest
from scipy.stats import binom, chi2, kstest

import solvable as sv
from seeds import seed
from solvable.fits.flatness import in_words
from solvable.fits.noise import Noise
from solvable.fits.parameters import InferredNumber
from solvable.fits.profile import ending_rise
from solvable.fits.report import goodness

RATE, NOISE = "training.learning_rate", "training.label_noise"


def problem(**changes) -> sv.Problem:
    base = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=0.5, label_noise=0.05),
    )
    return base.replace(**changes)


def begin(one: sv.Problem) -> sv.Overlaps:
    return sv.start(one, student_overlap=0.3 * np.eye(2), cross_overlap=[[0.2], [0.1]])


def exact(one: sv.Problem, start: sv.Overlaps, times=None) -> tuple[np.ndarray, np.ndarray]:
    times = np.linspace(2, 40, 20) if times is None else times
    return times, sv.run(one, start, sv.Macro(), times=times).risk[0]


@pytest.mark.parametrize(
    ("changes", "free"),
    [
        ({"training__learning_rate": 0.2}, [RATE]),
        ({"training__learning_rate": 0.2, "training__label_noise": 0.3}, {RATE: (0.05, 2.0), NOISE: None}),
        ({"teacher__width": 3}, {"teacher.width": (1, 3), RATE: 0.3}),
    ],
)
def test_the_numbers_of_an_exact_curve_are_found(changes, free) -> None:
    times, risk = exact(problem(), begin(problem()))
    start = lambda one: sv.start(
        one, student_overlap=0.3 * np.eye(2), cross_overlap=np.outer([0.2, 0.1], np.eye(one.teacher.width)[0])
    )
    found = sv.fit((times, risk, 0.01 * risk), problem(**changes), free=free, start=start)
    truth = {RATE: 0.5, NOISE: 0.05, "teacher.width": 1}
    for name in free:
        assert abs(found.estimates[name] / truth[name] - 1) < 1e-4, name
        low, high = found.intervals[name]
        assert low <= truth[name] <= high
    assert found.success
    assert found.chi_squared < 1e-3
    assert found.problem == problem().replace(**{name.replace(".", "__"): found.estimates[name] for name in free})


def test_an_exponent_and_the_size_of_the_start_are_found() -> None:
    one = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(spectrum=sv.PowerLaw(beta=1.0, distinct=6)),
        training=sv.Training(learning_rate=0.3, loss_factor=0.5),
    )
    times, risk = exact(one, sv.start(one, student_overlap=[[4.0]], cross_overlap=[[-0.6]]), np.geomspace(0.3, 60, 25))
    halved = {"student_overlap": [[1.0]], "cross_overlap": [[-0.3]]}
    free = ["inputs.spectrum.beta", "start.scale"]
    found = sv.fit((times, risk, 0.01 * risk), one.replace(inputs__spectrum__beta=0.5), free=free, start=halved)
    assert np.allclose([found.estimates[name] for name in free], [1.0, 2.0], rtol=1e-4)
    assert np.isclose(found.start.student_overlap[0, 0], 4.0, rtol=1e-3)


def test_an_interval_is_where_the_profile_has_risen_by_that_of_95_percent() -> None:
    """Against a scan: rates at which the best noise leaves chi squared 3.84 above its least value."""
    times, risk = exact(problem(), begin(problem()))
    disturbed = risk * np.exp(0.05 * np.sin(times))
    data = (times, disturbed, 0.05 * disturbed)
    both = sv.fit(data, problem(), free=[RATE, NOISE], start=begin)
    for end in both.intervals[RATE]:
        held = sv.fit(data, problem(training__learning_rate=end), free=[NOISE], start=begin)
        assert abs(held.chi_squared - both.chi_squared - chi2.ppf(0.95, 1)) < 0.06


def test_any_clock_quantity_and_file_tell_the_same(tmp_path) -> None:
    one, start = problem(inputs__dim=200), begin(problem())
    times, risk = exact(one, start)
    options = {"free": [NOISE], "start": start, "noise": "errors"}
    plain = sv.fit((times, risk, 0.05 * risk), one, **options).intervals[NOISE]
    assert np.allclose(sv.fit((200 * times, risk, 0.05 * risk), one, clock="steps", **options).intervals[NOISE], plain)
    assert np.allclose(sv.fit((0.5 * times, risk, 0.05 * risk), one, clock="rate", **options).intervals[NOISE], plain)
    c = one.training.loss_factor
    assert np.allclose(
        sv.fit((times, risk / c, 0.05 * risk / c), one, quantity="mse", **options).intervals[NOISE], plain
    )
    loss = risk + c * 0.05
    found = sv.fit((times, loss, 0.01 * loss), one.replace(training__label_noise=0.02), quantity="loss", **options)
    assert abs(found.estimates[NOISE] / 0.05 - 1) < 1e-4
    holes = np.append(risk, [np.nan, np.nan])
    lost = sv.fit((np.append(times, [41, 42]), holes, 0.05 * holes), one, **options)
    assert np.allclose(lost.intervals[NOISE], plain)
    file = tmp_path / "curve.csv"
    rows = [f"{200 * t},{r!r},{0.05 * r}" for t, r in zip(times, risk.tolist(), strict=True)]
    file.write_text("\n".join(["steps,risk,error", *rows, "9000,,"]))
    assert np.allclose(sv.fit(file, one, **options).intervals[NOISE], plain)


def test_a_rate_in_its_own_time_moves_the_times() -> None:
    """Times in units of the rate: a larger rate ends earlier in steps."""
    times, risk = exact(problem(), begin(problem()))
    found = sv.fit(
        (0.5 * times, risk, 0.01 * risk), problem(training__learning_rate=0.3), free=[RATE], start=begin, clock="rate"
    )
    assert abs(found.estimates[RATE] / 0.5 - 1) < 1e-3


def test_without_any_noise_model_the_residuals_give_it() -> None:
    times, risk = exact(problem(), begin(problem()))
    found = sv.fit((times, risk * np.exp(0.05 * (-1.0) ** np.arange(times.size))), problem(), free=[RATE], start=begin)
    assert np.isnan(found.p_value)
    assert np.allclose(found.band, 0.05, rtol=0.1)
    assert "nothing tells whether the problem fits" in found.message
    assert repr(found).endswith("noise taken from the residuals>")


@pytest.mark.statistical
def test_the_law_with_a_covariance_from_replicas() -> None:
    """Linear models with 30 replicas for 12 numbers: p-values are uniform and intervals cover 95 %; chi squared's own do not."""
    random, size, replicas, repeats = np.random.default_rng(seed(1)), 12, 30, 4000
    mix, slope = random.standard_normal((size, size)), random.standard_normal(size)
    rises, p_values, plain = [], [], 0
    for _ in range(repeats):
        data = mix @ random.standard_normal(size)
        covariance = np.cov(mix @ random.standard_normal((size, replicas)))
        inverse = np.linalg.inv(covariance)
        total = data @ inverse @ data
        least = total - (slope @ inverse @ data) ** 2 / (slope @ inverse @ slope)
        law = Noise(np.zeros(size), covariance, "simulated", "", replicas)
        rises.append(total - least < ending_rise(law, least, size - 1))
        p_values.append(goodness(least, size - 1, law)[1])
        plain += total - least < chi2.ppf(0.95, 1)
    error = np.sqrt(0.95 * 0.05 / repeats)
    assert abs(np.mean(rises) - 0.95) < 5 * error
    assert plain / repeats < 0.95 - 20 * error
    assert kstest(p_values, "uniform").pvalue > 1e-6


def micro(one: sv.Problem, runs: int, number: int, times) -> sv.Trajectory:
    return sv.run(one, begin(one), sv.Micro(runs=runs, seed=seed(number)), times=times, progress=False)


def deviations(one: sv.Problem, curves: sv.Trajectory, guess: sv.Problem) -> tuple[np.ndarray, np.ndarray]:
    """(curves, 2) by how many standard deviations each estimate is off, and whether the interval covers the truth."""
    truth = np.array([one.training.learning_rate, one.training.label_noise])
    found = [
        sv.fit((curves.alpha, risk), guess, free=[RATE, NOISE], start=begin, seed=i)
        for i, risk in enumerate(curves.risk)
    ]
    ends = np.log([[fit.intervals[name] for name in (RATE, NOISE)] for fit in found])
    best = np.log([[fit.estimates[name] for name in (RATE, NOISE)] for fit in found])
    off = (best - np.log(truth)) / ((ends[..., 1] - ends[..., 0]) / (2 * 1.96))
    return off, (ends[..., 0] < np.log(truth)) & (np.log(truth) < ends[..., 1])


@pytest.mark.full
@pytest.mark.statistical
def test_six_curves_of_sgd_are_as_far_off_as_their_intervals_say() -> None:
    """The sum of the squared deviations of six curves, in their own units, is chi squared up to a chance of 1e-6 on each side."""
    one = problem(inputs__dim=200)
    off, _ = deviations(one, micro(one, 6, 2, np.linspace(2, 20, 10)), one.replace(training__learning_rate=0.4))
    total = (off**2).sum(axis=0)
    assert (total < chi2.ppf(1 - 1e-6, 6)).all()
    assert (total > chi2.ppf(1e-6, 6)).all()


@pytest.mark.slow
@pytest.mark.statistical
def test_intervals_of_a_hundred_curves_cover() -> None:
    """95 of 100, up to what a chance of 1e-6 leaves."""
    one = problem(inputs__dim=500)
    guess = one.replace(training__learning_rate=0.2, training__label_noise=0.2)
    _, covered = deviations(one, micro(one, 100, 3, np.linspace(1, 60, 30)), guess)
    assert (covered.sum(axis=0) >= binom.ppf(1e-6, 100, 0.95)).all()


@pytest.mark.full
@pytest.mark.statistical
def test_the_runs_of_a_curve_give_its_noise() -> None:
    one = problem(inputs__dim=300)
    curves = micro(one, 24, 4, np.linspace(0, 40, 21))
    found = sv.fit(curves, one, free=[RATE, NOISE])
    assert found.noise == "24 runs in the data"
    assert found.curve.rows.shape == (24, found.degrees + 2)
    assert found.degrees + 2 <= 12
    assert found.p_value > 1e-6
    mean, single = (sv.fit(runs, one, free=[RATE, NOISE], noise="simulated") for runs in (curves, curves[0]))
    assert single.noise == "416 replicas of Micro"
    assert np.allclose(mean.band / single.band, np.sqrt(1 / 24 + 1 / 416), rtol=0.4)


def trained(width: int, rate: float, noise: float, dim: int, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Full-weight SGD in plain NumPy: log of weights, and the teachers' weights; students begin orthogonal to all teachers."""
    from scipy.special import erf

    random = np.random.default_rng(seed(5))
    basis = np.sqrt(dim) * np.linalg.qr(random.standard_normal((dim, width + 2)))[0].T
    teachers, w, log = basis[:width], basis[width:] * np.array([[1.0], [0.5]]), []
    for step in range(steps[-1] + 1):
        if step in steps:
            log.append(w.copy())
        x = random.standard_normal(dim) / np.sqrt(dim)
        z = w @ x
        label = erf(teachers @ x / np.sqrt(2)).mean() + np.sqrt(noise) * random.standard_normal()
        error = label - erf(z / np.sqrt(2)).mean()
        w += rate * error * (0.5 * np.sqrt(2 / np.pi) * np.exp(-0.5 * z**2))[:, None] * x
    return np.array(log), teachers


@pytest.mark.full
@pytest.mark.statistical
def test_a_training_of_full_weights_is_recovered() -> None:
    """Rate, noise and the width of the teacher from the risk, within five standard deviations; rate and noise from overlaps too."""
    steps = np.append(0, np.geomspace(150, 18_000, 22).astype(int))
    log, teachers = trained(2, 0.6, 0.01, 600, steps)
    one = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=600),
        training=sv.Training(learning_rate=1.0, label_noise=0.1, loss_factor=0.5),
    )
    logged = sv.Trajectory.from_weights(one, log, teachers, steps)
    free = {RATE: None, NOISE: None, "teacher.width": (1, 3)}
    start = {"student_overlap": np.diag([1.0, 0.25])}
    risk = sv.fit((steps, logged.risk[0]), one.replace(teacher__width=1), free=free, start=start, clock="steps")
    assert risk.estimates["teacher.width"] == 2
    assert risk.intervals["teacher.width"] == (2, 2)
    for found in (risk, sv.fit(logged, one, free=[RATE, NOISE], overlaps=True)):
        assert found.p_value > 1e-6
        for name, truth in ((RATE, 0.6), (NOISE, 0.01)):
            low, high = np.log(found.intervals[name])
            assert abs(np.log(found.estimates[name] / truth)) < 5 * (high - low) / (2 * 1.96), name


@pytest.mark.statistical
def test_many_dimensions_have_replicas_of_meso_and_a_drawn_start_its_size() -> None:
    one = problem(inputs__dim=20_000)
    drawn = {"seed": 1, "students": "orthogonal", "cross": 0.2}
    level = sv.Meso(seed=seed(8))
    risk = sv.run(one, sv.start(one, **drawn), level, times=np.linspace(2, 40, 20), progress=False).risk[0]
    guess, start = one.replace(training__learning_rate=0.3), drawn | {"cross": 0.1}
    found = sv.fit((np.linspace(2, 40, 20), risk), guess, free=[RATE, NOISE, "start.cross"], start=start)
    assert found.noise == "256 replicas of Meso"
    assert found.p_value > 1e-6
    for name, truth in ((RATE, 0.5), (NOISE, 0.05), ("start.cross", 0.2)):
        low, high = np.log(found.intervals[name])
        assert abs(np.log(found.estimates[name] / truth)) < 5 * (high - low) / (2 * 1.96), name


@pytest.mark.full
@pytest.mark.statistical
def test_a_wrong_unit_does_not_fit() -> None:
    one = problem(inputs__dim=300)
    curve = micro(one, 1, 6, np.linspace(0, 40, 21))
    wrong = one.replace(teacher__activation="quadratic", student__activation="quadratic")
    found = sv.fit(curve, wrong, free=[RATE, NOISE])
    assert found.p_value < 0.01  # where replicas are not normal it is at least one over their number
    assert not found.success
    assert "does not fit" in found.message
    assert "does not fit" in repr(found)
    assert sv.fit(curve, one, free=[RATE, NOISE]).p_value > 1e-6


@pytest.mark.slow
@pytest.mark.statistical
def test_photographs_are_not_gaussian() -> None:
    """With the measured spectrum and known noise on labels: Gaussian inputs fit, patches of photographs do not, and that is said.
    With the noise free too, a larger rate and noise may explain the curve."""
    from solvable.papers.worschech2024.photographs import patches

    data = sv.Data(patches(4000, seed=0, size=6))
    one = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=1, activation="erf"),
        inputs=data.inputs,
        training=sv.Training(learning_rate=0.05, label_noise=0.01, loss_factor=0.5),
    )
    start, times = sv.start(one, seed=0), np.geomspace(0.3, 100, 30)
    for level, fits in ((sv.Micro(seed=seed(7), data=data), False), (sv.Micro(seed=seed(7)), True)):
        risk = sv.run(one, start, level, times=times, progress=False).risk[0]
        found = sv.fit((times, risk), one, free=[RATE], start=start)
        assert (found.chi_squared < 3.5 * found.degrees) == fits
        assert fits or not found.success


def test_what_cannot_be_told_apart_is_told() -> None:
    """A linear student that begins at zero learns at the rate times the square of its readout, and by nothing else."""
    one = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        training=sv.Training(learning_rate=0.3, loss_factor=0.5),
    )
    start = sv.start(one, student_overlap=[[1e-12]])
    times, risk = exact(one, start, np.linspace(0.5, 15, 20))
    found = sv.fit((times, risk, 0.02 * risk), one, free=[RATE, "student.readout"], start=start)
    expected = (
        "the curve does not tell training.learning_rate and student.readout apart: training.learning_rate × 2 with "
        "student.readout × 0.707 changes little"
    )
    assert found.flat == (expected,)
    assert found.open[RATE] == (True, True)
    assert np.allclose(found.intervals[RATE], (0.003, 30.0))
    assert f"{RATE}: the curve does not bound it, its interval is that of the search" in found.message
    assert found.correlation[0, 1] < -0.999
    alone = sv.fit((times, risk, 0.02 * risk), one, free=[RATE], start=start)
    assert alone.flat == ()
    assert alone.open[RATE] == (False, False)


def test_flat_directions_in_words() -> None:
    one, other = InferredNumber("a", 1.0, 0.1, 10.0), InferredNumber("b", 0.0, -2.0, 2.0)
    assert in_words((one, other), np.array([1.0, 0.01])) == "the curve hardly tells a"
    assert in_words((one, other), np.array([1.0, -0.5])).endswith("a and b apart: a × 2 with b -0.347 changes little")


@pytest.mark.parametrize(
    ("curve", "options", "text"),
    [
        ((np.arange(5), np.ones(4)), {}, r"curve: \(5,\) times and \(4,\) values"),
        ((np.arange(3), np.ones(3)), {}, "curve: 2 times with values after the start, must be at least 3"),
        ((np.arange(5), -np.ones(5)), {}, "curve: must be positive"),
        ((np.array([1.0, 3, 2, 4]), np.ones(4)), {}, "curve: times must increase"),
        (3, {}, "curve: must be a Trajectory"),
        (("a", "b"), {}, "curve: must be made of numbers"),
        ((np.arange(5), np.ones(5), -np.ones(5)), {}, "errors of shape"),
        (None, {"free": []}, "free: must name at least one number"),
        (None, {"free": ["training.rate"]}, "free: training.rate: is no number of the problem"),
        (None, {"free": ["training.batch", "teacher.width"]}, "only one of which can be free"),
        (None, {"free": ["training.loss"]}, "must be a number of the problem"),
        (None, {"free": {RATE: (2, 1)}}, "must be \\(lower, upper\\)"),
        (None, {"free": {RATE: "much"}}, "must be None, a guess"),
        (None, {"free": {"training.weight_decay": None}}, "has no positive value to begin with; give"),
        (None, {"free": {"teacher.width": (1, 100)}}, "100 whole numbers to try, must be at most 20"),
        (None, {"free": ["start.size"], "start": {}}, "must be one of start.scale, start.cross"),
        (None, {"start": None}, "start: must be Overlaps"),
        (None, {"noise": "loud"}, "noise: 'loud' given, must be one of"),
        (None, {"noise": "replicas"}, "needs at least 8 runs in the curve, there are 1"),
        (None, {"noise": "simulated"}, "needs a finite inputs.dim"),
        (None, {"noise": "errors"}, "needs errors of all values"),
        (None, {"quantity": "error"}, "quantity: 'error' given"),
        (None, {"clock": "hours"}, "clock: 'hours' given"),
        (None, {"overlaps": True}, "overlaps: asked for, but the curve has none"),
    ],
)
def test_bad_input_is_told_in_one_line(curve, options, text) -> None:
    curve = exact(problem(), begin(problem())) if curve is None else curve
    with pytest.raises(ValueError, match=text) as error:
        sv.fit(curve, problem(), **({"free": [RATE], "start": begin} | options))
    assert "\n" not in str(error.value)


def test_overlaps_must_be_those_of_the_problem() -> None:
    run = sv.run(problem(inputs__dim=100), begin(problem()), sv.Micro(), times=np.arange(5.0), progress=False)
    three = lambda one: sv.start(one, student_overlap=np.eye(3))
    with pytest.raises(
        ValueError, match=r"overlaps: of \(2, 1\) students and teachers given, but the problem has \(3, 1\)"
    ):
        sv.fit(run, problem(inputs__dim=100, student__width=3), free=[RATE], overlaps=True, start=three)
    with pytest.raises(ValueError, match=r"overlaps: their number changes with teacher\.width"):
        sv.fit(run, problem(inputs__dim=100), free=["teacher.width"], overlaps=True)
    with pytest.raises(ValueError, match="noise: 'replicas' needs at least 36 runs in the curve, there are 1"):
        sv.fit(run, problem(inputs__dim=100), free=[RATE], overlaps=True, noise="replicas")


def test_more_numbers_than_data_are_refused() -> None:
    with pytest.raises(ValueError, match="free: 3 numbers to infer from 3, must be fewer"):
        sv.fit((np.arange(1, 4), np.ones(3)), problem(), free=[RATE, NOISE, "student.readout"], start=begin)


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("", "is empty"),
        ("time,speed\n1,2", "it has time, speed; choose by columns="),
        ("# only\n", "is empty"),
        ("time,error\n1,2", "must have one column of times"),
        ("time,risk\n1,2,3", "line 2 has 3 cells, must have 2"),
        ("time,risk\n1,x", "line 2 has cells that are no numbers"),
        ("time,risk\n", "0 times with values"),
    ],
)
def test_a_bad_file_is_told_in_one_line(tmp_path, content, text) -> None:
    file = tmp_path / "curve.csv"
    file.write_text(content)
    with pytest.raises(ValueError, match=text) as error:
        sv.fit(file, problem(), free=[RATE], start=begin)
    assert "\n" not in str(error.value)


def test_long_curves_are_thinned_early_and_late() -> None:
    times = np.arange(1.0, 10_001)
    curve = sv.fits.Curve(times, 1 / times[None], np.zeros(times.size)).thinned(32)
    assert 24 <= curve.time.size <= 32
    assert curve.time[[0, -1]].tolist() == [1.0, 10_000.0]
    assert (curve.time < 100).sum() > 5
    assert np.array_equal(curve.values[0], 1 / curve.time)


@pytest.mark.statistical
def test_long_curves_are_compared_by_means_over_groups() -> None:
    times, random = np.arange(1.0, 501), np.random.default_rng(seed(9))
    values, overlaps = random.uniform(1, 2, (3, 500)), random.uniform(-1, 1, (3, 500, 2))
    curve = sv.fits.Curve(times, values, np.full(500, 0.3)).grouped(20)
    sizes = np.bincount(curve.group)
    assert 15 <= sizes.size <= 20
    assert sizes.min() >= 1
    assert sizes[:3].max() < sizes[-1]
    assert np.allclose(curve.rows[1, -1], np.log(values[1, -sizes[-1] :]).mean())
    assert np.allclose(curve.measured, np.diag(0.09 / sizes))
    both = sv.fits.Curve(times, values, np.full(500, 0.3), overlaps=overlaps).grouped(30)
    groups = both.group[-1] + 1
    assert both.rows.shape == (3, 3 * groups)
    last = both.group == groups - 1
    assert np.allclose(both.rows[:, -2:], overlaps[:, last].mean(axis=1))


@pytest.mark.full
@pytest.mark.statistical
def test_many_noisy_values_tell_as_much_as_their_mean() -> None:
    """Independent errors of 20 % at 400 times: intervals are as short with replicas, in groups, as with the errors alone."""
    one = problem(inputs__dim=10**6)
    times, risk = exact(one, begin(one), np.linspace(0.1, 40, 400))
    noisy = risk * np.exp(0.2 * np.random.default_rng(seed(10)).standard_normal(400))
    errors, simulated = (
        sv.fit((times, noisy, 0.2 * noisy), problem(inputs__dim=dim), free=[RATE], start=begin)
        for dim in (None, 50_000)
    )
    assert errors.noise == "errors given"
    assert errors.degrees == 399
    assert simulated.degrees < 20
    width = [np.diff(np.log(found.intervals[RATE]))[0] for found in (errors, simulated)]
    assert width[1] < 1.3 * width[0]
    assert abs(np.log(simulated.estimates[RATE] / 0.5)) < 5 * width[1] / (2 * 1.96)


def test_the_picture_has_data_fit_and_band() -> None:
    times, risk = exact(problem(), begin(problem()))
    found = sv.fit((times, np.array([risk, 1.1 * risk]), 0.05 * risk), problem(), free=[RATE], start=begin)
    above, below = sv.plot.fit(found).axes
    assert [text.get_text() for text in above.get_legend().get_texts()] == [
        "2 runs", "95 % of such means, if the problem is right", "fit", "their mean",
    ]  # fmt: skip
    assert below.get_xlabel() == "α = steps / dim"
    residual = below.lines[-1].get_ydata()
    assert np.allclose(residual, np.log(np.sqrt(1.1) * risk / found.prediction) / found.band)
