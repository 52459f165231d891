"""Empirical in steps: its forms agree, it tends to the flow, and it says what it cannot do."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.empirical.engines import DenseEngine
from solvable.empirical.forms import choose, forms
from solvable.empirical.selecting import choices

ERF = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    inputs=sv.Inputs(dim=50),
    training=sv.Training(step=0.5, samples=80, label_noise=0.1),
)
START = sv.start(ERF, seed=0)


def follow(problem: sv.Problem = ERF, until: float = 10, level: sv.Empirical | None = None, start=None, **options):
    start = sv.start(problem, seed=0) if start is None else start
    return sv.run(problem, start, level or sv.Empirical(), until, progress=False, **options)


@pytest.mark.parametrize(
    "words",
    [{}, {"batch": 20}, {"batch": 20, "selection": "drawn"}, {"batch": 30, "selection": "persistent", "repeats": 3},
     {"weight_decay": 0.2, "train_readout": True}],
)  # fmt: skip
def test_the_gram_matrix_gives_what_rows_give(words: dict) -> None:
    problem = ERF.replace(**{f"training__{name}": value for name, value in words.items()})
    full, gram = (follow(problem, 15, sv.Empirical(runs=2, form=form)) for form in ("full", "gram"))
    for name in ("risk", "training_loss", "student_overlap", "cross_overlap", "readout"):
        assert np.abs(getattr(full, name) - getattr(gram, name)).max() < 1e-11
    assert (full.message.split("; ")[1], gram.message.split("; ")[1]) == (
        "the data matrix was drawn",
        "of the data matrix its Gram matrix was used",
    )


@pytest.mark.parametrize("selection", ["subsets", "drawn", "shuffled", "persistent"])
@pytest.mark.parametrize("form", ["full", "gram", "classes"])
def test_steps_between_outputs_read_what_they_take(selection: str, form: str, monkeypatch) -> None:
    """With the same result as where an output asks for all samples."""
    read, fields = [], DenseEngine.fields
    monkeypatch.setattr(DenseEngine, "fields", lambda self, rows: read.append(self.count) or fields(self, rows))
    problem = ERF.replace(training__batch=16, training__selection=selection, training__train_readout=True)
    if form == "classes":
        classes = sv.Mixture(
            probabilities=(0.5, 0.5), means=((1.0,), (-1.0,)), labels=(1.0, -1.0), variances=(0.5, 1.5)
        )
        problem = problem.replace(mixture=classes)
    start, level = sv.start(problem, seed=0), sv.Empirical(form="gram" if form == "gram" else "full")
    every = sv.run(problem, start, level, 12, progress=False)
    assert set(read) == ({80} if form != "gram" else set())
    few = sv.run(problem, start, level, times=[0, 5, 12], progress=False)
    assert (min(read, default=80) < 40) == (form != "gram")
    for name in ("student_overlap", "cross_overlap", "readout", "training_loss"):
        assert getattr(few, name)[:, -1] == pytest.approx(getattr(every, name)[:, -1], rel=1e-11)


def test_a_step_is_that_of_the_definition() -> None:
    """By hand, in NumPy, on given rows: momentum apart, all that a step does."""
    random = np.random.default_rng(0)
    X, w, t = random.standard_normal((30, 12)), random.standard_normal((2, 12)), random.standard_normal((1, 12))
    data = sv.Data(X, prepare=False)
    problem = ERF.replace(
        inputs__dim=12, student__norm="sphere", training__samples=30, training__weight_decay=0.3, training__label_noise=0.0,
        training__train_readout=True, training__readout_rate=0.7, teacher__overlap="sampled",
    )  # fmt: skip
    w *= np.sqrt(12 / (w**2).sum(axis=1, keepdims=True))
    weights = sv.overlaps.Weights(w, t, np.array([0.6, -0.4]))
    run = follow(problem, 1, sv.Empirical(data=data, form="full"), weights)
    from scipy.special import erf

    h, u, a = X @ w.T / np.sqrt(12), X @ t.T / np.sqrt(12), np.array([0.6, -0.4])
    g, slope = erf(h / np.sqrt(2)), np.sqrt(2 / np.pi) * np.exp(-(h**2) / 2)
    error = erf(u[:, 0] / np.sqrt(2)) - g @ a
    assert run.training_loss[0, 0] == pytest.approx((error**2).mean(), rel=1e-13)
    F = 2 * a * slope * error[:, None]
    moved = (1 - 0.5 * 0.3) * w + 0.5 * 12 / 30 * F.T @ X / np.sqrt(12)
    moved *= np.sqrt(12 / (moved**2).sum(axis=1, keepdims=True))
    assert run.student_overlap[0, -1] == pytest.approx(moved @ moved.T / 12, rel=1e-13)
    assert run.cross_overlap[0, -1] == pytest.approx(moved @ t.T / 12, rel=1e-13)
    assert run.readout[0, -1] == pytest.approx(a + 0.7 * 2 * (g * error[:, None]).mean(axis=0), rel=1e-13)


@pytest.mark.parametrize("nesterov", [False, True])
def test_momentum_is_that_of_the_definition(nesterov: bool) -> None:
    """By hand, three steps: v <- beta v + step dim/n sum F x/sqrt(dim), w <- (1 - step decay/(1 - beta)) w + v."""
    random, beta = np.random.default_rng(0), 0.6
    X, w, t = random.standard_normal((30, 12)), random.standard_normal((2, 12)), random.standard_normal((1, 12))
    problem = ERF.replace(
        inputs__dim=12, student__activation="linear", teacher__activation="linear", teacher__overlap="sampled",
        training__samples=30, training__weight_decay=0.3, training__label_noise=0.0,
        training__momentum=sv.Momentum(beta=beta, nesterov=nesterov),
    )  # fmt: skip
    level, weights = sv.Empirical(data=sv.Data(X, prepare=False), form="full"), sv.overlaps.Weights(w, t)
    run = follow(problem, 3, level, weights)
    v, losses = np.zeros_like(w), []
    for _ in range(4):
        losses.append(((X @ (t[0] - 0.5 * w.sum(axis=0)) / np.sqrt(12)) ** 2).mean())
        ahead = w + beta * v if nesterov else w
        error = X @ (t[0] - 0.5 * ahead.sum(axis=0)) / np.sqrt(12)
        v = beta * v + 0.5 * 12 / 30 * np.outer([1.0, 1.0], error @ X) / np.sqrt(12)
        w = (1 - 0.5 * 0.3 / (1 - beta)) * w + v
    assert run.training_loss[0] == pytest.approx(losses, rel=1e-12)
    rolling = ERF.replace(training__momentum=sv.Momentum(beta=0.5, nesterov=nesterov), training__train_readout=True)
    revealed = sv.checks.transcript_is_one_matrix(rolling, sv.start(rolling, seed=0))
    assert revealed.passed, str(revealed)
    whole = follow(rolling)
    assert whole.problem == rolling
    assert np.abs(whole.risk[0] - follow(rolling.replace(training__momentum=None)).risk[0]).max() > 0.01


def test_learning_rate_is_step_times_dim() -> None:
    by_rate = ERF.replace(training__learning_rate=25.0, training__train_readout=True)
    one = follow(ERF.replace(training__train_readout=True), level=sv.Empirical(form="full"))
    two = follow(by_rate, level=sv.Empirical(form="full"))
    assert (one.unit, one.base, two.unit) == ("steps", "steps", "steps")
    random = np.random.default_rng(1)
    rows = sv.Data(random.standard_normal((80, 50)), prepare=False)
    weights = sv.overlaps.embed(ERF, START, 0)
    quiet = [problem.replace(training__label_noise=0.0) for problem in (one.problem, two.problem)]
    paths = [follow(problem, level=sv.Empirical(data=rows), start=weights) for problem in quiet]
    assert paths[0].risk == pytest.approx(paths[1].risk, rel=1e-12)
    assert paths[0].readout == pytest.approx(paths[1].readout, rel=1e-12)


def test_schedules_count_steps() -> None:
    falling = ERF.replace(training__step=sv.Schedule(times=(0, 5), rates=(0.5, 0.0)))
    run, whole = follow(falling), follow()
    assert (np.diff(run.risk[0, 6:]) == 0).all()
    assert run.risk[0, 4] != run.risk[0, 5]
    assert whole.risk[0, 6] != whole.risk[0, 7]
    again = follow(ERF, times=[0, 4, 9], until=None, clock="epochs")
    assert again.time.tolist() == again.alpha.tolist() == [0, 4, 9]
    assert follow(ERF.replace(training__batch=20), 4, clock="epochs").alpha[-1] == 16
    assert follow(ERF, 2.0, clock="rate").alpha[-1] == 4


def test_small_steps_tend_to_the_flow() -> None:
    """saraomannelli2020's time is 4 c step/p for each step; the error is of the first order."""
    quadratic = sv.problems.convention("saraomannelli2020").problem(m=6, m_star=1, d=6, n=20)
    rows = sv.Data(np.random.default_rng(3).standard_normal((20, 6)), prepare=False)
    weights = sv.overlaps.embed(quadratic, sv.start(quadratic, seed=1, students="spanning"), 0)
    flow = follow(quadratic, 0.8, sv.Empirical(data=rows), weights)
    assert flow.base == "alpha"
    errors = []
    for steps in (100, 200):
        problem = quadratic.replace(training__step=0.8 * 6 / 4 / steps)
        run = follow(problem, steps, sv.Empirical(data=rows), weights)
        assert run.base == "steps"
        assert run.training_loss[0, 0] == pytest.approx(2 * flow.training_loss[0, 0], rel=1e-12)  # c = 1
        errors.append(abs(run.training_loss[0, -1] / (2 * flow.training_loss[0, -1]) - 1))
    assert errors[1] < 0.01
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.1)


def test_which_problems_are_trained_in_steps() -> None:
    quadratic = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=6, n=20)
    level = sv.Empirical()
    assert not level.in_steps(quadratic)
    assert not level.in_steps(quadratic.replace(training__samples=None))
    assert not sv.Empirical(form="flow").in_steps(quadratic)
    for changes in (
        {"training__step": 0.1}, {"training__batch": 5}, {"training__selection": "all"}, {"training__weight_decay": 0.1},
        {"student__activation": "erf"}, {"training__samples": None, "training__batch": 10},
        {"training__samples": None, "training__repeats": 2},
    ):  # fmt: skip
        assert level.in_steps(quadratic.replace(**changes))
    with pytest.raises(ValueError, match=r"training\.step: is 0\.1; Empirical\(form='flow'\) does not know"):
        follow(quadratic.replace(training__step=0.1), level=sv.Empirical(form="flow"))


def test_data_are_tested_on_rows_behind_the_samples() -> None:
    random = np.random.default_rng(5)
    rows = random.standard_normal((5000, 8)) * np.sqrt(np.geomspace(4, 0.2, 8))
    data = sv.Data(rows)
    problem = ERF.replace(
        inputs=data.inputs, training__samples=200, training__label_noise=0.0, teacher__overlap="sampled"
    )
    start = sv.start(problem, seed=2)
    run = follow(problem, 30, sv.Empirical(data=data), start)
    assert run.message.endswith("the data matrix was given")
    assert 0 < run.risk_error.max() < 0.1 * run.risk[0, 0]
    assert run.risk[0, -1] < 0.5 * run.risk[0, 0]
    gaussian = follow(problem, 30, sv.Empirical(data=sv.Data(rows[:200], like=data)), start)
    assert gaussian.risk_error.max() < 1e-6  # no rows are left: the risk is that of Gaussian inputs
    assert np.abs(gaussian.training_loss - run.training_loss).max() < 1e-9
    assert abs(gaussian.risk[0, -1] - run.risk[0, -1]) < 6 * run.risk_error[0, -1] + 1e-3
    isotropic = problem.replace(inputs=sv.Inputs(dim=8), training__samples=12)
    gram, full = (follow(isotropic, 20, sv.Empirical(data=data, form=form)) for form in ("auto", "full"))
    assert gram.settings["matrix"] == "gram"
    assert np.abs(gram.risk - full.risk).max() < 1e-11


def test_given_labels_are_learned() -> None:
    random = np.random.default_rng(6)
    rows = random.standard_normal((300, 10))
    labels = np.sign(rows[:, 0])
    problem = ERF.replace(inputs__dim=10, student__readout=1.0, training__samples=200, training__label_noise=0.0)
    weights = sv.overlaps.Weights(random.standard_normal((2, 10)), np.sqrt(10) * np.eye(1, 10), np.ones(2))
    run = follow(problem, 100, sv.Empirical(data=sv.Data(rows, prepare=False), labels=labels), weights)
    assert run.training_loss[0, -1] < 0.3 < 0.9 < run.training_loss[0, 0]
    assert run.risk[0, -1] < 0.35
    flips = problem.replace(training__label_flips=0.2)
    with pytest.raises(ValueError, match=r"^training\.label_flips: given together with labels"):
        follow(flips, 3, sv.Empirical(data=sv.Data(rows, prepare=False), labels=labels), weights)
    many = follow(flips, 3, sv.Empirical(runs=3, data=sv.Data(rows, prepare=False)), weights)
    assert np.ptp(many.training_loss[:, 0]) > 0
    again = problem.replace(training__samples=None, training__batch=20, training__repeats=2)
    with pytest.raises(ValueError, match=r"^training\.repeats: is for fresh batches, but data are given"):
        follow(again, 3, sv.Empirical(data=sv.Data(rows)), weights)
    with pytest.raises(ValueError, match=r"^training\.batch: 301 given, must be at most samples, 300"):
        follow(
            problem.replace(training__samples=None, training__batch=301), 3, sv.Empirical(data=sv.Data(rows)), weights
        )


def test_thresholds_stop_at_the_first_step_beyond() -> None:
    whole = follow(until=40)
    level = float(whole.training_loss[0, 20])
    run = follow(until=40, stop=sv.when("training_loss", below=level * (1 + 1e-12)))
    assert run.ending[0].name == "STOPPED"
    assert run.end_alpha[0] == 20
    assert np.isnan(run.risk[0, 21:]).all()
    half = follow(until=40, stop=sv.when("training_loss", below=0.5, relative=True))
    assert half.training_loss[0, int(half.end_alpha[0])] <= 0.5 * half.training_loss[0, 0]
    assert half.end_risk == pytest.approx(half.risk[0, int(half.end_alpha[0])])
    whole = ERF.replace(training__selection="all")
    early = follow(whole, 40, times=[0, 40], stop=sv.when("training_loss", below=0.5, relative=True))
    assert early.end_risk[0] < early.start_risk[0]
    assert early.risk_on(whole.replace(training__label_noise=0.0)).shape == (1, 2)
    by_risk = follow(until=40, stop=sv.when("risk", below=0.8, relative=True))
    assert by_risk.ending[0].name == "STOPPED"


def test_thresholds_look_at_all_batches_of_a_partition() -> None:
    """In every step, however few the outputs."""
    problem = ERF.replace(inputs__dim=2000, training__samples=400, training__batch=100, training__selection="partition")
    run = follow(problem, None, times=[0, 60], stop=sv.when("training_loss", below=0.15, relative=True))
    assert run.ending[0].name == "STOPPED"
    assert 5 < run.end_alpha[0] < 60


def test_a_run_is_its_own_whatever_runs_beside_it() -> None:
    many = follow(level=sv.Empirical(runs=3, seed=4, threads=1))
    more = follow(level=sv.Empirical(runs=5, seed=4, threads=2))
    assert (many.risk == more.risk[:3]).all()
    assert (follow(level=sv.Empirical(runs=3, seed=5)).risk[:, -1] != many.risk[:, -1]).all()


def test_batches_of_rates_and_starts_and_blocks() -> None:
    """What every level promises, where time is counted in steps."""
    two = ERF.replace(inputs__spectrum=sv.Spectrum(eigenvalues=(1.6, 0.6), weights=(0.4, 0.6)))
    starts = [sv.start(two, seed=i) for i in range(2)]
    level = sv.Empirical(runs=2, seed=1)
    batch = sv.levels.run_batch(two, starts, level, 6, learning_rates=[10.0, 25.0], keep_blocks=True, progress=False)
    assert batch.risk.shape == (8, 7)
    assert batch.labels["learning_rate"].tolist() == [10.0] * 4 + [25.0] * 4
    assert batch.labels["start"].tolist() == [0, 0, 1, 1] * 2
    alone = sv.run(two.replace(training__learning_rate=25.0), starts[1], level, 6, progress=False)
    assert (batch.risk[6:] == alone.risk).all()
    assert np.allclose(batch.blocks.student.sum(axis=2), batch.student_overlap, atol=1e-14)
    assert np.allclose(batch.blocks.student[:2, 0], starts[0].block_student_overlap, atol=1e-12)
    state = batch.at(6, run=3)
    assert np.allclose(state.block_cross_overlap, batch.last(3).block_cross_overlap, atol=1e-12)
    assert (batch.nfev == 6 * 80).all()
    assert batch.end_time.tolist() == [6.0] * 8
    assert sv.levels.run_batch(ERF, [START, START], level, 3, progress=False).risk.shape == (4, 4)


def test_files_keep_steps(tmp_path) -> None:
    run = follow(ERF.replace(training__samples=sv.Ratio(1.6)), clock="epochs")
    run.save(tmp_path / "run.nc")
    loaded = sv.Trajectory.load(tmp_path / "run.nc")
    assert (loaded.base, loaded.unit, loaded.message) == ("steps", "epochs", run.message)
    assert (loaded.training_loss == run.training_loss).all()
    assert (loaded.time == run.time).all()


def test_too_large_steps_diverge() -> None:
    run = follow(ERF.replace(student__activation="quadratic", training__step=50.0), 30)
    assert run.ending[0].name == "DIVERGED"
    assert run.message.startswith("the weights diverged: lower the step")


@pytest.mark.parametrize(
    ("changes", "level", "message"),
    [
        ({"inputs__dim": None}, {}, r"inputs\.dim: infinite"),
        ({}, {"method": "implicit"}, "method: 'implicit' given, but methods are for the flow"),
        ({"training__label_noise": sv.Schedule(times=(0, 1), rates=(0, 1))}, {}, r"training\.label_noise: a schedule"),
        ({"training__input_noise": 0.1}, {}, r"training\.input_noise: is 0\.1; Empirical does not know"),
        ({"training__batch": 20, "training__selection": "partition"}, {"form": "gram"}, r"training\.selection: 'partition' given"),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, 2.0))}, {"form": "gram"}, r"inputs\.spectrum: 2 eigenvalues, but"),
        ({"training__momentum": sv.Momentum(kappa=1.0)}, {}, r"training\.momentum: kappa is for many steps"),
        ({"mixture": sv.Mixture.opposite(1.0)}, {"form": "gram"}, "mixture: classes are for"),
    ],
)  # fmt: skip
def test_refusals_name_the_field(changes: dict, level: dict, message: str) -> None:
    problem = ERF.replace(**changes)
    with pytest.raises(ValueError, match=f"^{message}"):
        follow(
            problem,
            5,
            sv.Empirical(**level),
            None if problem.mixture is not None or problem.inputs.spectrum is not None else START,
        )
    with pytest.raises(ValueError, match="form: 'reduced' given, must be one of auto, revealed"):
        sv.Empirical(form="reduced")


def test_the_cheapest_form_is_taken() -> None:
    """Coordinates up to about dim/2 columns of questions; both forms too large for any memory are refused with both numbers."""
    problem = ERF.replace(inputs__dim=10**6, training__samples=3 * 10**6)
    assert choose(problem, 6, 7).name == "coordinates"
    assert choose(ERF.replace(inputs__dim=1000, training__samples=1500), 1000, 2).name == "dense"
    few, many = (forms(ERF.replace(inputs__dim=1000, training__samples=1500), steps, 2) for steps in (100, 600))
    assert (few[0].name, many[0].name) == ("coordinates", "dense")
    small = ERF.replace(inputs__dim=1000, training__samples=1500, training__batch=15)
    assert [choose(small, 100, outputs).name for outputs in (101, 2)] == ["coordinates", "dense"]
    with pytest.raises(ValueError, match=r"steps take .* \((coordinates|frames|dense)\) and .* are free"):
        follow(problem.replace(inputs__dim=10**8, training__samples=3 * 10**8), 10**4)


@pytest.mark.statistical
def test_selections_take_as_many_as_they_say() -> None:
    words = {"batch": 20, "samples": 80}
    for selection, spread in {"subsets": 0.0, "drawn": 0.0, "shuffled": 0.0, "persistent": 15.0}.items():
        problem = ERF.replace(
            **{f"training__{name}": value for name, value in words.items()}, training__selection=selection
        )
        chosen = choices(problem, 80, np.random.default_rng(seed(0)))
        counts = np.array([next(chosen)[0] for _ in range(400)])
        assert counts.sum(axis=1).var() == pytest.approx(spread, abs=5 * spread * np.sqrt(2 / 400))
        assert counts.mean() == pytest.approx(0.25, abs=5 * np.sqrt(spread / 400) / 80 + 1e-12)
        assert (counts.max() > 1) == (selection == "drawn")
        if selection == "shuffled":
            assert (counts.reshape(100, 4, 80).sum(axis=1) == 1).all()
    slow = ERF.replace(training__samples=80, training__batch=20, training__selection="persistent", training__repeats=10)
    chosen = choices(slow, 80, np.random.default_rng(seed(1)))
    counts = np.array([next(chosen)[0] for _ in range(2000)])
    changed = (counts[1:] != counts[:-1]).mean()
    assert changed == pytest.approx(2 * 0.25 * 0.75 / 10, rel=0.1)


@pytest.mark.slow
@pytest.mark.statistical
def test_reused_batches_are_those_of_the_stored_simulation() -> None:
    """Overlaps after six steps against the 32 stored runs of the authors of dandi2024 (N = 5000), as THEORY_REUSE quotes them."""
    root = 2**-0.5
    target = sv.problems.Target("reused", 2, lambda u: np.tanh(u[:, 0] + u[:, 1] ** 3 - 3 * u[:, 1]))
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, target=target),
        student=sv.Student(width=2, activation="relu", readout=(root, -root)),
        inputs=sv.Inputs(dim=5000),
        training=sv.Training(step=0.6, samples=sv.Ratio(3), loss_factor=0.5),
    )
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=np.zeros((2, 2)))
    run = follow(problem, 6, sv.Empirical(runs=200, seed=seed(3)), start)
    found = run.cross_overlap[:, -1, 0]
    for j, (stored, error) in enumerate([(0.21468, 0.00095), (-0.17219, 0.00138)]):
        own = found[:, j].std() / np.sqrt(200)
        assert abs(found[:, j].mean() - stored) < 4.5 * np.hypot(own, error)
    assert run.student_overlap[:, -1, 0, 0].mean() == pytest.approx(0.81369, abs=5 * 0.00044 * 2)
    assert run.training_loss[:, -1].mean() == pytest.approx(0.19235, abs=5 * 0.00009 * 2)


def test_overlaps_that_no_weights_have_are_refused() -> None:
    problem = ERF.replace(inputs__dim=2, training__samples=10)
    start = sv.start(problem.replace(inputs__dim=50), student_overlap=np.eye(2), cross_overlap=[[0.1], [0.1]])
    with pytest.raises(ValueError, match="start: the units span 3 directions in a block of 2 dimensions"):
        follow(problem, 3, start=start)
