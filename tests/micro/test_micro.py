"""Micro as a level: seeds, outputs, thresholds, interruptions, forms, and how it tends to the deterministic limit."""

import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.levels import Lane, Plan
from solvable.micro import full, reduced
from solvable.numerics.random import child

ERF = sv.Problem(
    teacher=sv.Teacher(width=2, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    inputs=sv.Inputs(dim=200),
    training=sv.Training(learning_rate=1.0),
)


def start_of(problem, seed=0):
    return sv.start(problem, seed=seed)


def same(a, b):
    names = ("risk", "student_overlap", "cross_overlap", "readout", "end_alpha", "endings")
    return all(np.array_equal(getattr(a, name), getattr(b, name), equal_nan=True) for name in names)


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_bits_do_not_depend_on_threads_neighbours_chunks_or_outputs(form, monkeypatch):
    start = start_of(ERF)
    all_runs = sv.run(ERF, start, sv.Micro(runs=11, seed=4, form=form, threads=2), times=[0, 1, 2, 5])
    assert len(np.unique(all_runs.risk[:, -1])) == 11
    one_thread = sv.run(ERF, start, sv.Micro(runs=11, seed=4, form=form, threads=1), times=[0, 1, 2, 5])
    assert same(all_runs, one_thread)
    fewer = sv.run(ERF, start, sv.Micro(runs=3, seed=4, form=form), times=[0, 1, 2, 5])
    assert same(all_runs.select(run=[0, 1, 2]), fewer)
    for module in (reduced, full):
        monkeypatch.setattr(module, "CHUNK", 1e-9)  # a few steps at a time
    assert same(all_runs, sv.run(ERF, start, sv.Micro(runs=11, seed=4, form=form), times=[0, 1, 2, 5]))
    if form == "reduced":  # full weights look ahead from output to output: equal up to rounding only
        others = sv.run(ERF, start, sv.Micro(runs=11, seed=4, form=form), times=[0.33, 2, 3.01, 5])
        assert np.array_equal(others.risk[:, [1, 3]], all_runs.risk[:, [2, 3]])
    assert not same(all_runs, sv.run(ERF, start, sv.Micro(runs=11, seed=5, form=form), times=[0, 1, 2, 5]))


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_runs_of_a_batch_are_those_that_run_alone(form):
    """Their streams and the places where they end follow from what they are, not from their neighbours."""
    starts = [start_of(ERF, 0), start_of(ERF, 1), sv.start(ERF, seed=2, scale=30.0)]
    rates = [
        0.5,
        1.0,
        sv.Schedule(times=(0, 1), rates=(1.0, 0.1)),
        sv.Schedule(times=(0, 0.3, 1.7), rates=(1, 2, 0), shape="linear"),
    ]
    level = sv.Micro(runs=3, seed=4, form=form)
    batch = sv.levels.run_batch(ERF, starts, level, times=[1, 2], learning_rates=rates)
    assert batch.risk.shape == (36, 2)
    assert len(np.unique(batch.risk[:, 1])) == 36
    assert batch.labels["start"].tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 4
    for i, rate in enumerate(rates):
        for j, start in enumerate(starts):
            alone = sv.run(ERF.replace(training__learning_rate=rate), start, level, times=[1, 2])
            chosen = slice(9 * i + 3 * j, 9 * i + 3 * j + 3)
            assert np.array_equal(batch.student_overlap[chosen], alone.student_overlap)


def test_a_run_diverges_where_it_does_alone():
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=1.5),
    )
    small, large = sv.start(problem, seed=0), sv.start(problem, seed=1, scale=1e3)
    alone = sv.run(problem, small, sv.Micro(runs=4), until=200)
    beside = sv.levels.run_batch(problem, [small, large], sv.Micro(runs=4), until=200)
    assert alone.ending == [sv.results.Ending.DIVERGED] * 4
    assert np.array_equal(beside.select(start=0).end_alpha, alone.end_alpha)


@pytest.mark.parametrize("level", [sv.Micro(seed=1), sv.Micro(seed=1, form="full"), sv.Meso(seed=1)], ids=str)
def test_runs_from_different_starts_draw_different_numbers(level):
    """Starts that differ in the ninth digit are followed alike up to that digit, but for the noise, which is another one."""
    start = start_of(ERF)
    other = sv.Overlaps(
        start.block_student_overlap, (1 - 1e-9) * start.block_cross_overlap, start.block_teacher_overlap, start.readout
    )
    here, there = (sv.run(ERF, one, level, times=[1.0]).student_overlap for one in (start, other))
    assert np.abs(here - there).max() > 1e-5


def test_seeds_may_be_sequences():
    start, sequence = start_of(ERF), np.random.SeedSequence(4)
    assert same(
        sv.run(ERF, start, sv.Micro(runs=2, seed=sequence), times=[1]),
        sv.run(ERF, start, sv.Micro(runs=2, seed=4), times=[1]),
    )
    child = sv.run(ERF, start, sv.Micro(runs=2, seed=sequence.spawn(1)[0]), times=[1])
    assert child.settings["seed_path"] == [0]
    assert not same(child, sv.run(ERF, start, sv.Micro(runs=2, seed=4), times=[1]))


def test_outputs_are_at_whole_steps():
    """The nearest ones: 0.98 and 1.02 are one, 2.4 is two and 3.6 is four."""
    micro = sv.run(ERF, start_of(ERF), sv.Micro(), times=[0, 0.0049, 0.0051, 0.012, 0.018, 1])
    assert (micro.alpha * 200).tolist() == [0, 1, 2, 4, 200]
    assert micro.risk.shape == (1, 5)
    assert micro.risk[0, 0] == pytest.approx(sv.run(ERF, start_of(ERF), sv.Macro(), times=[0]).risk[0, 0], rel=1e-12)
    assert micro.nfev.tolist() == [200]


@pytest.mark.statistical
def test_a_threshold_ends_each_run_at_its_first_passage():
    problem = ERF.replace(inputs__dim=2000)
    start, half = start_of(problem, seed(0)), sv.when("risk", below=0.5, relative=True)
    macro = sv.run(problem, start, sv.Macro(), until=60, stop=half)
    micro = sv.run(problem, start, sv.Micro(runs=20, seed=seed(1)), until=60, stop=half)
    assert micro.success
    assert all(ending is sv.results.Ending.STOPPED for ending in micro.ending)
    times = micro.exit_time()
    assert len(np.unique(times)) > 4
    error = times.std(ddof=1) / np.sqrt(20)
    assert abs(times.mean() - macro.exit_time()[0]) < 5 * error + 0.1 * macro.exit_time()[0]
    for i in range(20):
        reached = np.isfinite(micro.risk[i])
        assert (micro.risk[i, reached][:-1] > 0.5 * micro.start_risk[i]).all()
        assert (micro.time[reached] <= times[i]).all()
        last = micro.last(i)
        risk = sv.dynamics.moments(sv.dynamics.field_covariance(problem, last), problem, last.readout).risk
        assert 0.49 * micro.start_risk[i] < risk <= 0.5 * micro.start_risk[i]
    other = sv.run(problem, start, sv.Micro(runs=20, seed=seed(1)), times=[60], stop=half)
    assert np.array_equal(other.end_alpha, micro.end_alpha)  # whatever the outputs


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_a_threshold_on_overlaps_and_one_passed_already(form):
    start = start_of(ERF)
    stop = sv.when("cross_overlap", above=0.3)
    micro = sv.run(ERF, start, sv.Micro(runs=5, form=form), until=100, stop=stop)
    assert all(ending is sv.results.Ending.STOPPED for ending in micro.ending)
    assert all(0.3 <= np.abs(micro.last(i).cross_overlap).max() < 0.45 for i in range(5))
    at_once = sv.run(ERF, start, sv.Micro(runs=2, form=form), until=1, stop=sv.when("risk", below=10.0))
    assert at_once.end_alpha.tolist() == [0, 0]
    assert at_once.ending == [sv.results.Ending.STOPPED] * 2


@pytest.mark.statistical
def test_a_threshold_where_the_risk_has_no_closed_form():
    problem = ERF.replace(student__activation="tanh", inputs__dim=400)
    stop = sv.when("risk", below=0.7, relative=True)
    start = start_of(problem, seed(0))
    micro = sv.run(problem, start, sv.Micro(runs=3, seed=seed(0)), times=[0, 20], stop=stop)
    assert all(ending is sv.results.Ending.STOPPED for ending in micro.ending)
    macro = sv.run(problem, start, sv.Macro(), until=20, stop=stop)
    assert np.abs(micro.end_alpha - macro.end_alpha).max() < 0.5 * macro.end_alpha[0]


def test_functions_of_your_own(monkeypatch):
    """As built-in ones, given as functions: from the same streams, the same runs up to rounding."""
    monkeypatch.setattr("solvable.micro.level.lane_seed", lambda seed, kind, lane: child(seed))
    own = sv.Activation("my tanh", np.tanh, lambda z: 1 - np.tanh(z) ** 2)
    product = sv.problems.Target("product", 2, lambda u: u[:, 0] * u[:, 1])
    built_in = ERF.replace(
        student__activation="tanh", teacher__target="product", inputs__dim=50, training__train_readout=True,
        training__label_noise=0.1, training__loss="log-cosh",
    )  # fmt: skip
    mine = built_in.replace(student__activation=own, teacher__target=product)
    for form in ("reduced", "full"):
        for batch in (1, 3, 40):
            a, b = (
                sv.run(one.replace(training__batch=batch), start_of(one), sv.Micro(runs=2, form=form), times=[0.6])
                for one in (built_in, mine)
            )
            assert np.allclose(a.student_overlap, b.student_overlap, rtol=1e-10, atol=1e-12)
            assert np.allclose(a.readout, b.readout, rtol=1e-10)


@pytest.mark.full
@pytest.mark.statistical
def test_big_batches_of_full_weights_are_batches():
    """Forty samples to a step: against the reduced process, in mean and spread."""
    problem = ERF.replace(training__batch=40, training__label_noise=1.0, training__learning_rate=4.0, inputs__dim=50)
    runs = [
        sv.run(problem, start_of(problem, seed(0)), sv.Micro(runs=200, form=form, seed=seed(0)), times=[4])
        for form in ("full", "reduced")
    ]
    a, b = (one.cross_overlap.reshape(200, -1) for one in runs)
    z = (a.mean(axis=0) - b.mean(axis=0)) / np.sqrt((a.var(axis=0) + b.var(axis=0)) / 200)
    assert np.abs(z).max() < 5
    assert np.abs(np.log(a.std(axis=0) / b.std(axis=0))).max() < 5 / np.sqrt(2 * 200) * np.sqrt(2)


def test_runs_that_diverge_are_told():
    problem = ERF.replace(student__activation="quadratic", teacher__activation="quadratic", training__learning_rate=3.0)
    for form in ("reduced", "full"):
        micro = sv.run(problem, start_of(problem), sv.Micro(runs=4, form=form), until=50)
        assert all(ending is sv.results.Ending.DIVERGED for ending in micro.ending)
        assert (micro.end_alpha < 10).all()
        assert np.isnan(micro.risk[:, -1]).all()
        assert np.nanmax(micro.risk) < 1e10
        assert not micro.success
        for i in range(4):
            if np.isfinite(micro.end_blocks.student[i]).all():
                assert np.trace(micro.last(i).student_overlap) > 1e3  # not the start
            else:
                with pytest.raises(ValueError, match=f"run {i} has no finite last state"):
                    micro.last(i)
        assert "lower the learning rate" in micro.message


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_own_functions_that_diverge_are_told_too(form):
    cubic = sv.Activation("cubic", lambda z: z**3, lambda z: 3 * z**2)
    problem = ERF.replace(student__activation=cubic, training__learning_rate=5.0, inputs__dim=30)
    micro = sv.run(problem, start_of(problem), sv.Micro(runs=3, form=form), times=np.arange(61) / 30)
    assert micro.ending == [sv.results.Ending.DIVERGED] * 3
    assert np.isfinite(micro.risk[:, 0]).all()


class Interrupted:
    """Presses Ctrl-C at the first report of steps done."""

    def __init__(self):
        self.reports = []

    def __call__(self, done, total):
        self.reports.append((done, total))
        if done and sum(done > 0 for done, _ in self.reports) == 2:
            raise KeyboardInterrupt


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_ctrl_c_returns_what_was_done(form):
    problem = ERF.replace(inputs__dim=10_000)
    level, press = sv.Micro(runs=20, form=form, threads=2), Interrupted()
    stopped = level.solve([Lane(problem, start_of(problem))], Plan(np.linspace(0, 10_000, 2001), report=press))
    assert sv.results.Ending.INTERRUPTED in stopped.ending
    assert "interrupted" in stopped.message
    done, total = press.reports[-1]
    assert 0 < done < total == 20 * 1e8
    reached = np.isfinite(stopped.risk[0])
    assert reached[0]
    assert not reached[-1]
    assert stopped.end_alpha[-1] == 0  # those not begun do not begin
    assert stopped.last(19).student_overlap == pytest.approx(start_of(problem).student_overlap)
    whole = sv.run(problem, start_of(problem), replace(level, runs=1), times=stopped.time[reached][:2])
    assert np.allclose(whole.risk[0], stopped.risk[0, reached][:2], rtol=1e-9)
    if form == "reduced":
        assert np.array_equal(whole.risk[0], stopped.risk[0, reached][:2])


@pytest.mark.full
def test_ctrl_c_in_a_terminal(tmp_path):
    file, out = tmp_path / "long.toml", tmp_path / "out.nc"
    file.write_text(
        "[teacher]\nwidth=1\n[student]\nwidth=2\n[inputs]\ndim=100000\n[training]\nlearning_rate=0.1\n[start]\nseed=0\n"
        "[level]\nname='micro'\nruns=4\n[run]\nuntil=100000\n"
    )
    script = """if True:
        import contextlib, sys
        from solvable.cli.main import main
        from solvable.levels import running
        running.meter = lambda *_: contextlib.nullcontext(lambda done, total: done and print("going", flush=True))
        sys.exit(main(sys.argv[1:]))
    """
    child = subprocess.Popen(
        [sys.executable, "-c", script, "run", str(file), "--output", str(out)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )  # fmt: skip
    assert child.stdout.readline() == "going\n"
    child.send_signal(signal.SIGINT)
    output, error = child.communicate(timeout=60)
    assert child.returncode == 130, error
    assert "4 of 4 runs: was interrupted" in output
    assert "Traceback" not in error
    saved = sv.Trajectory.load(out)
    assert saved.ending == [sv.results.Ending.INTERRUPTED] * 4
    assert (saved.end_alpha > 0).all()


@pytest.mark.statistical
def test_single_runs_spread_as_one_over_root_dim():
    """Spread around the limit as N^(-1/2), fitted over a factor of 64 in N; means differ from it by less than 1/N and 5 standard
    errors."""
    dims, spreads, gaps = [100, 800, 6400], [], []
    limit = None
    for dim in dims:
        problem = ERF.replace(inputs__dim=dim)
        start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.2, 0.1], [-0.1, 0.3]])
        limit = sv.run(problem, start, sv.Macro(), times=[5]).student_overlap[0, 0]
        micro = sv.run(problem, start, sv.Micro(runs=400 * 800 // dim if dim < 800 else 400, seed=seed(2)), times=[5])
        found = micro.student_overlap[:, 0]
        spreads.append(np.sqrt(np.mean((found - limit) ** 2)))
        error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
        gaps.append((np.abs(found.mean(axis=0) - limit) - 5 * error).max())
    slope = np.polyfit(np.log(dims), np.log(spreads), 1)[0]
    assert slope == pytest.approx(-0.5, abs=0.05)
    assert (np.array(gaps) < 1 / np.array(dims)).all()


@pytest.mark.statistical
@pytest.mark.parametrize("eta", [0.1, 0.6])
def test_fluctuations_on_the_plateau(eta):
    """Students without any overlap with the teachers: dim x variance of the cross overlaps, against its equation
    dV/dalpha = 2 g V + 16 h^2 q k(q) along the norms' own path, for six students and three teachers."""
    p, p_star, runs, dim, until = 6, 3, 160, 4000, 4 / eta
    problem = sv.problems.convention("bocchi2026").problem(p=p, p_star=p_star, eta=eta).replace(inputs__dim=dim)
    start = sv.start(problem, student_overlap=np.eye(p))
    micro = sv.run(problem, start, sv.Micro(runs=runs, seed=seed(3)), times=[until])
    h, S, c = eta / p, 1 + 2 / p_star, (p + 4) / (p + 2)
    q, V, steps = 1.0, 0.0, 20_000
    for _ in range(steps):
        sigma = q * (p + 2) / p
        k = (
            (p_star + 2) * (p_star + 4) / p_star**2
            - 2 * (p_star + 2) / p_star * sigma
            + q**2 * (p + 2) * (p + 4) / p**2
        )
        slope_V = 8 * h * (S - sigma) * V + 16 * h**2 * q * k
        slope_q = 8 * h * q * (1 - sigma) + 16 * h**2 * q * (S - 2 * sigma + c * sigma**2)
        q, V = q + slope_q * until / steps, V + slope_V * until / steps
    entries = dim * micro.cross_overlap[:, 0].reshape(runs, -1) ** 2
    found, error = entries.mean(), entries.mean(axis=1).std(ddof=1) / np.sqrt(runs)
    assert error < 0.05 * V
    assert abs(found - V) < 5 * error
    assert micro.student_overlap[:, 0].mean(axis=0)[0, 0] == pytest.approx(q, abs=0.01)


@pytest.mark.parametrize(
    ("level", "problem", "text"),
    [
        ({"runs": 0}, {}, "runs: 0 given, must be a whole number, at least 1"),
        ({"runs": True}, {}, "runs: True given"),
        ({"seed": -1}, {}, "seed: -1 given"),
        ({"threads": 0}, {}, "threads: 0 given"),
        ({"form": "half"}, {}, "form: 'half' given, must be one of auto, reduced, full"),
        ({"data": [[1.0]]}, {}, r"data: list given, must be Data"),
        ({}, {"inputs__dim": None}, "inputs.dim: infinite, but Micro simulates a finite one"),
        ({}, {"inputs__dim": 10**13}, "inputs.dim: 10000000000000 given, must be at most 10.12 here"),
        ({"form": "full"}, {"inputs__dim": 10**12}, "too many for full weights; the form 'reduced' takes any dim"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_told(level, problem, text):
    changed = ERF.replace(**problem)
    start = sv.start(changed, student_overlap=np.eye(2))
    with pytest.raises(ValueError, match=text):
        sv.run(changed, start, sv.Micro(**level), until=1)


def test_starts_that_no_weights_have_are_refused():
    problem = ERF.replace(inputs__dim=3)
    start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=0.1 * np.eye(2))
    for form in ("reduced", "full"):
        with pytest.raises(sv.overlaps.InvalidStart, match="span 4 directions in a block of 3 dimensions"):
            sv.run(problem, start, sv.Micro(form=form), until=1)


def test_less_than_a_step_is_refused():
    with pytest.raises(ValueError, match=r"until: 0.4 steps, less than half of one; a step is 1/dim = 0.005"):
        sv.run(ERF, start_of(ERF), sv.Micro(), until=0.002)


def test_means_leave_out_what_was_interrupted():
    micro = sv.run(ERF, start_of(ERF), sv.Micro(runs=4), until=2)
    endings = micro.endings.copy()
    endings[2:] = sv.results.Ending.INTERRUPTED
    risk = micro.risk.copy()
    risk[2:, 1:] = np.nan
    mean = replace(micro, endings=endings, risk=risk).mean()
    assert (mean.runs, mean.left_out) == (2, 2)
    assert np.array_equal(mean.mean, micro.risk[:2].mean(axis=0))


def test_exit_times_are_those_of_the_threshold_asked_for():
    stop = sv.when("cross_overlap", above=0.3)
    micro = sv.run(ERF, start_of(ERF), sv.Micro(runs=3), times=[100], stop=stop)
    assert np.array_equal(micro.exit_time(), micro.end_time)
    assert np.isnan(micro.exit_time(below=1e-9)).all()
    low = sv.run(ERF, start_of(ERF), sv.Micro(runs=3), times=[1], stop=sv.when("risk", below=1e-12))
    assert np.isnan(low.exit_time()).all()


@pytest.mark.parametrize("seed", [np.int64(3), np.random.SeedSequence(np.array([1, 2]))])
def test_numbers_from_numpy_are_numbers(seed, tmp_path):
    micro = sv.run(ERF, start_of(ERF), sv.Micro(runs=np.int64(2), seed=seed), until=1)
    micro.save(tmp_path / "run.nc")
    assert sv.Trajectory.load(tmp_path / "run.nc").settings == micro.settings


def test_steps_beyond_counting_are_refused():
    problem = ERF.replace(inputs__dim=10**12)
    with pytest.raises(ValueError, match="steps, more than can be counted"):
        sv.run(problem, start_of(problem), sv.Micro(), until=1e9)
