"""How noise, bounds, files and slips are dealt with."""

import numpy as np
import pytest
from scipy.stats import norm

import solvable as sv
from seeds import seed
from solvable.fits.curve import read_curve
from solvable.fits.noise import Noise
from solvable.fits.parameters import Family, InferredNumber, parameters
from solvable.fits.profile import Profile, settled_end
from solvable.fits.report import of_curve
from solvable.fits.tails import Tails, left_out

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


def micro(one: sv.Problem, runs: int, number: int, times) -> sv.Trajectory:
    return sv.run(one, begin(one), sv.Micro(runs=runs, seed=seed(number)), times=times, progress=False)


@pytest.mark.statistical
def test_units_first_guess_and_seed_hardly_matter() -> None:
    """The same curve as risk and as mse, and from other guesses: the same. Another seed: within a quarter of the interval."""
    one = problem(inputs__dim=150)
    times = np.linspace(2, 20, 10)
    risk = micro(one, 1, 11, times).risk[0]
    c = one.training.loss_factor

    def rate(guess: float = 0.4, number: int = 0, **options) -> np.ndarray:
        values = risk / c if options else risk
        near = one.replace(training__learning_rate=guess)
        found = sv.fit((times, values), near, free=[RATE], start=begin, seed=number, **options)
        return np.log([found.estimates[RATE], *found.intervals[RATE]])

    plain = rate()
    half = 0.5 * (plain[2] - plain[1])
    assert np.abs(rate(quantity="mse") - plain).max() < 1e-3 * half
    assert np.abs(rate(guess=0.1)[0] - plain[0]) < 0.1 * half
    assert np.abs(rate(number=1)[0] - plain[0]) < 0.5 * half


def test_replicas_of_one_seed_are_common_to_all_problems() -> None:
    from solvable.levels.seeds import Common

    one, times = problem(inputs__dim=100), [5.0]
    first, second, other = (
        sv.run(problem_, begin(one), sv.Micro(runs=4, seed=number), times=times, progress=False).risk
        for problem_, number in (
            (one, Common(1)), (one.replace(training__learning_rate=0.5 * (1 + 1e-6)), Common(1)), (one, Common(2)),
        )
    )  # fmt: skip
    assert 0 < np.abs(first / second - 1).max() < 1e-4
    assert np.abs(first / other - 1).max() > 1e-2


def test_an_end_is_sought_with_the_noise_there() -> None:
    """A number m with noise of the size m/4, seen as 1: an upper end m has m - 1 = 1.96 m/4, a lower one 1 - m = 1.96 m/4; with the
    noise at the estimate both would be 1.96/4 away."""
    z = norm.ppf(0.975) / 4

    def law(x: np.ndarray) -> Noise:
        return Noise(np.zeros(3), np.diag([1e6, 1e6, (0.25 * x[0]) ** 2]), "errors", "")

    class Line:
        """Of the curve, only the last number is what is inferred."""

        curve = sv.fits.Curve(np.arange(1, 4.0), np.ones((1, 3)), np.zeros(3))
        chosen, lower, upper = (InferredNumber("m", 1.0, -9.0, 9.0),), np.array([-9.0]), np.array([9.0])

        def slopes(self, x):
            return np.array([[0.0], [0.0], [1.0]])

        def search(self, noise, first, close=0.0):
            return np.ones(1), 0.0

        def held(self, number, value):
            held = Line()
            held.search = lambda noise, first, close=0.0: (np.zeros(0), (value - 1) ** 2 / noise.covariance[2, 2])
            return held

    profile = Profile(Line(), law(np.ones(1)), np.ones(1), 0.0)
    ends = [settled_end(profile, 0, side, law) for side in (-1, 1)]
    assert np.allclose(ends, [1 / (1 + z), 1 / (1 - z)], rtol=0.06)
    plain = [profile.end(0, side)[0] for side in (-1, 1)]
    assert np.allclose(plain, [1 - z, 1 + z], rtol=0.01)


@pytest.mark.statistical
def test_heavy_tails_are_those_of_the_replicas() -> None:
    """Exponential noise in one direction: the upper tail is long, so the lower end of an interval is farther off."""
    random, size = np.random.default_rng(seed(12)), 400
    sample = random.standard_normal((size, 4))
    sample[:, 0] = random.permutation(norm.ppf((np.arange(size) + 0.5) / size))
    law = lambda rows: Noise(np.zeros(4), np.cov(rows.T), "simulated", "", size, rows - rows.mean(axis=0))
    slopes = np.eye(4)[:, :1]
    normal = Tails(None, law(sample), np.ones(1), slopes)
    assert normal.is_normal(0)
    assert normal.stretch(0, -1) == normal.stretch(0, 1) == 1.0
    assert normal.chance(1.0, 3) is None
    skewed = np.column_stack([random.exponential(size=size), sample[:, 1:]])
    tails = Tails(None, law(skewed), np.ones(1), slopes)
    exact_stretch = ((-np.log(0.025) - 1) / norm.isf(0.025)) ** 2
    assert not tails.is_normal(0)
    assert abs(tails.stretch(0, -1) / exact_stretch - 1) < 0.6
    assert tails.stretch(0, 1) == 1.0
    heavy = np.column_stack([sample[:, 0], random.standard_t(2, (size, 3))])
    tails = Tails(None, law(heavy), np.ones(1), slopes)
    assert tails.chance(1e6, 3) == 1 / (1 + size)
    assert tails.chance(0.0, 3) == 1.0


@pytest.mark.statistical
def test_distances_of_those_left_out_are_those_from_all_others() -> None:
    rows = np.random.default_rng(seed(13)).standard_normal((30, 4))
    centred = rows - rows.mean(axis=0)
    found = left_out(((centred @ np.linalg.inv(np.cov(rows.T))) * centred).sum(axis=1))
    others = rows[1:]
    apart = rows[0] - others.mean(axis=0)
    assert np.isclose(found[0], apart @ np.linalg.inv(np.cov(others.T)) @ apart)


@pytest.mark.statistical
def test_errors_of_one_test_set_go_together() -> None:
    """One factor common to all values: with its covariance the truth is not excluded, with independent errors it is."""
    one = problem()
    times, risk = exact(one, begin(one))
    values = 1.15 * risk
    options = {"free": [NOISE], "start": begin}
    alone = sv.fit((times, values, 0.05 * values), one, **options)
    assert alone.intervals[NOISE][0] > 0.05
    common = 0.05**2 * np.outer(values, values) + np.diag((0.01 * values) ** 2)
    assert sv.fit((times, values, common), one, **options).intervals[NOISE][0] < 0.05
    noise = np.linalg.cholesky(common) @ np.random.default_rng(seed(16)).standard_normal(20)
    simulated = sv.fit((times, risk + noise, common), one.replace(inputs__dim=50_000), **options)
    assert simulated.p_value > 1e-6
    assert np.all(simulated.band > 0.05)


def test_a_value_at_time_zero_is_compared_with_the_start() -> None:
    times, risk = exact(problem(), begin(problem()), np.linspace(0, 40, 21))
    options = {"free": [RATE], "start": begin}
    right = sv.fit((times, risk, 0.01 * risk), problem(), **options)
    assert right.notes == ()
    assert right.curve.time[0] == times[1]
    wrong = sv.fit((times, np.append(10 * risk[0], risk[1:]), 0.01 * risk), problem(), **options)
    assert f"at time 0 the curve has {10 * risk[0]:.4g} and the start {risk[0]:.4g}" in wrong.message


def test_bounds_stay_within_what_a_field_allows() -> None:
    one = problem(training__momentum={"beta": 0.5})
    family = Family(one, begin(one))
    (beta,) = parameters(family, "training.momentum.beta")
    assert 0.999 < beta.upper < 1.0
    (rate,) = parameters(family, {RATE: (-1.0, 1.0)})
    assert (rate.lower, rate.upper) == (1e-6, 1.0)


def test_a_schedule_is_fitted_by_a_factor() -> None:
    schedule = sv.Schedule(times=(0, 10), rates=(0.5, 0.2))
    one = problem(training__learning_rate=schedule)
    times, risk = exact(one, begin(one))
    guess = one.replace(training__learning_rate=sv.Schedule(times=(0, 10), rates=(0.25, 0.1)))
    found = sv.fit((times, risk, 0.01 * risk), guess, free=RATE, start=begin)
    assert abs(found.estimates[RATE] / 2 - 1) < 1e-4
    assert np.allclose(found.problem.training.learning_rate.rates, schedule.rates, rtol=1e-4)


@pytest.mark.parametrize(
    ("content", "columns", "quantity"),
    [
        ("Epoch,train_loss,val_loss\n{}", {"time": "Epoch", "value": "val_loss"}, "loss"),
        (",time,note,risk\n{}", None, "risk"),
        ("# a comment\ntime;risk_0;risk_1\n{}", {"value": "risk_*"}, "risk"),
        ("time\trisk\tstd\n{}", {"error": "std"}, "risk"),
    ],
)
def test_columns_can_be_chosen(tmp_path, content, columns, quantity) -> None:
    head = content.format("").splitlines()[-1]
    separator = max(",;\t", key=head.count)
    names = head.split(separator)
    rows = []
    for i in range(1, 6):
        known = {"Epoch": i, "time": i, "": i - 1, "train_loss": 9, "std": 0.1, "note": "x"}
        rows.append(separator.join(str(known.get(name, 1 / i)) for name in names))
    file = tmp_path / "curve.csv"
    file.write_text(content.format("\n".join(rows)))
    curve = read_curve(file, problem(), None, None, False, columns)
    assert curve.quantity == quantity
    assert np.array_equal(curve.time, np.arange(1, 6.0))
    assert np.allclose(curve.values, 1 / curve.time)
    assert curve.runs == head.count("risk_") or curve.runs == 1
    assert curve.error.any() == ("std" in names)
    assert of_curve(curve, problem(), begin(problem()), False)[0].startswith("column ")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"free": ["learning_rate"]}, "learning_rate: is no number of the problem.*training.learning_rate"),
        ({"free": ["training.learning_rat"]}, r"\(did you mean training\.learning_rate\?\)"),
        ({"start": {"sed": 0}}, r"start: 'sed' given \(did you mean seed\?\)"),
        ({"columns": {"time": "t"}}, "columns: are for a CSV file"),
        ({"curve": (np.arange(1, 4.0), np.ones(3), np.eye(2))}, r"covariance of errors of shape \(2, 2\) given"),
        ({"curve": (np.arange(1, 4.0), np.ones(3), -np.eye(3))}, "has negative eigenvalues"),
        ({"free": "start.cross", "start": {"student_overlap": np.eye(2)}}, "which are all zero"),
    ],
)
def test_slips_are_told(options, text) -> None:
    known = {"curve": exact(problem(), begin(problem())), "free": [RATE], "start": begin}
    with pytest.raises(ValueError, match=text):
        sv.fit(problem=problem(), **(known | options))


def test_a_wrong_clock_is_suspected() -> None:
    one = problem(inputs__dim=100)
    times, risk = exact(one, begin(one))
    curve = sv.fits.Curve(100 * times, risk[None], np.zeros(20), first=0.2)
    assert "is the clock steps?" in of_curve(curve, one, begin(one), True)[-1]
    assert not any("clock" in note for note in of_curve(curve, one, begin(one), False))


@pytest.mark.slow
@pytest.mark.statistical
def test_a_training_in_pytorch_is_recovered() -> None:
    """Rate, noise and the width of the teacher, from a training in PyTorch and its own loss on fresh samples."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(seed(14))
    torch.set_num_threads(1)
    dim, rate, noise = 300, 0.6, 0.01
    basis = np.sqrt(dim) * np.linalg.qr(np.random.default_rng(seed(15)).standard_normal((dim, 4)))[0].T
    teachers = torch.tensor(basis[:2])
    weights = torch.tensor(basis[2:] * np.array([[1.0], [0.5]]), requires_grad=True)
    network = lambda w, x: torch.special.erf(x @ w.T / np.sqrt(2 * dim)).mean(dim=1)
    optimiser = torch.optim.SGD([weights], lr=rate)
    steps, values = np.geomspace(100, 9000, 18).astype(int), []
    for step in range(steps[-1] + 1):
        if step in steps:
            with torch.no_grad():
                x = torch.randn(20_000, dim, dtype=torch.float64)
                values.append(float(((network(teachers, x) - network(weights, x)) ** 2).mean()))
        x = torch.randn(1, dim, dtype=torch.float64)
        label = network(teachers, x) + np.sqrt(noise) * torch.randn(1, dtype=torch.float64)
        optimiser.zero_grad()
        (0.5 * (label - network(weights, x)) ** 2).sum().backward()
        optimiser.step()
    one = sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        inputs=sv.Inputs(dim=dim),
        training=sv.Training(learning_rate=1.0, label_noise=0.1, loss_factor=0.5),
    )
    curve = steps, np.array(values), np.sqrt(2 / 20_000) * np.array(values)
    free = {RATE: None, NOISE: None, "teacher.width": (1, 3)}
    start = {"student_overlap": np.diag([1.0, 0.25])}
    found = sv.fit(curve, one, free=free, start=start, clock="steps", quantity="mse")
    assert found.estimates["teacher.width"] == 2
    assert found.p_value > 1e-6
    for name, truth in ((RATE, rate), (NOISE, noise)):
        low, high = np.log(found.intervals[name])
        assert abs(np.log(found.estimates[name] / truth)) < 5 * (high - low) / (2 * 1.96), name
