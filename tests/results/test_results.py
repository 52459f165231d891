"""Trajectories, clocks, observables, files."""

import re

import numpy as np
import pytest

import solvable as sv
from solvable.results import observables
from solvable.results.flat_spans import finer, phases, plateaus
from solvable.results.observables import crossing_time, local_exponent


@pytest.fixture
def trajectory(quadratic: sv.Problem) -> sv.Trajectory:
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.05) for seed in range(3)]
    return sv.levels.run_batch(quadratic, starts, sv.Macro(), until=1500)


def test_dataset_is_labelled(trajectory: sv.Trajectory) -> None:
    data = trajectory.data
    assert data["risk"].dims == ("run", "time")
    assert data["student_overlap"].dims == ("run", "time", "student", "student_")
    assert data["cross_overlap"].dims == ("run", "time", "student", "teacher")
    assert data["readout"].dims == ("run", "time", "student")
    assert data["ending"].values.tolist() == ["finished"] * 3
    assert data["time"].attrs["long_name"] == "α = steps / dim"
    assert sv.Problem.from_json(data.attrs["problem"]) == trajectory.problem
    assert data is trajectory.to_xarray()


def test_the_risk_is_that_of_the_overlaps(trajectory: sv.Trajectory) -> None:
    state = trajectory.at(750.0, run=1)
    risk = sv.dynamics.moments(sv.dynamics.field_covariance(trajectory.problem, state), trajectory.problem).risk
    assert risk == pytest.approx(trajectory.risk[1, 100])


def test_states_of_many_runs_are_asked_for_by_number_or_all(trajectory: sv.Trajectory) -> None:
    """Not silently those of the first run."""
    for ask in (trajectory.last, trajectory.plateaus, trajectory.phases, lambda: trajectory.at(750.0)):
        with pytest.raises(ValueError, match="there are 3 runs; say which, from run=0 on"):
            ask()
    for function in (sv.landscape.visits, sv.landscape.curvature_along):
        with pytest.raises(ValueError, match="there are 3 runs"):
            function(trajectory)
    assert trajectory.states() == [trajectory.last(run) for run in range(3)]
    halfway = trajectory.states(750.0)
    assert halfway == [trajectory.at(750.0, run=run) for run in range(3)]
    again = sv.levels.run_batch(trajectory.problem, halfway, sv.Macro(), times=[750.0])
    assert again.risk[:, -1] == pytest.approx(trajectory.risk[:, -1], rel=1e-4)
    one = trajectory.select(run=[1])
    assert one.last() == trajectory.last(1)
    assert one.at(750.0) == halfway[1]


@pytest.mark.parametrize("keep_blocks", [False, True])
def test_files_hold_everything(power_law: sv.Problem, tmp_path, keep_blocks) -> None:
    start = sv.start(power_law, seed=0, scale=0.1)
    saved = sv.run(power_law, start, sv.Macro(), until=20, clock="rate", keep_blocks=keep_blocks)
    saved.save(tmp_path / "run.nc")
    assert [file.name for file in tmp_path.iterdir()] == ["run.nc"]
    loaded = sv.Trajectory.load(tmp_path / "run.nc")
    assert loaded.problem == saved.problem
    assert loaded.unit == "rate"
    assert loaded.settings == saved.settings
    assert loaded.ending == saved.ending
    for name in ("alpha", "risk", "student_overlap", "cross_overlap", "readout", "end_alpha", "nfev"):
        assert np.array_equal(getattr(loaded, name), getattr(saved, name))
    assert loaded.last() == saved.last()
    assert loaded.start_hash.tolist() == saved.start_hash.tolist() == [start.hash]
    if keep_blocks:
        assert loaded.at(saved.time[7]) == saved.at(saved.time[7])


def test_a_failed_write_leaves_nothing(trajectory: sv.Trajectory, tmp_path, monkeypatch) -> None:
    import xarray

    def full_disk(*_args, **_options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(xarray.Dataset, "to_netcdf", full_disk)
    with pytest.raises(OSError, match="No space"):
        trajectory.save(tmp_path / "run.nc")
    assert list(tmp_path.iterdir()) == []


def test_other_files_are_refused(tmp_path) -> None:
    import xarray

    xarray.Dataset({"x": ("y", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(ValueError, match="not a trajectory"):
        sv.Trajectory.load(tmp_path / "other.nc")


def test_clocks(quadratic: sv.Problem) -> None:
    assert sv.results.Clock(quadratic, "steps").from_alpha(2.0) == 20_000
    assert sv.results.Clock(quadratic, "steps").to_alpha(20_000) == 2.0
    assert sv.results.Clock(quadratic, "rate").from_alpha(100.0) == pytest.approx(1.0)
    assert sv.results.Clock(quadratic, "bocchi2026").to_alpha(60) == pytest.approx(6000)
    with pytest.raises(ValueError, match="must be one of alpha, steps, rate, epochs, bocchi2026"):
        sv.results.Clock(quadratic, "hours")
    with pytest.raises(ValueError, match="'steps' needs a finite"):
        sv.results.Clock(quadratic.replace(inputs=sv.Inputs()), "steps")
    fading = quadratic.replace(training__learning_rate=sv.Schedule(times=(0, 4), rates=(0.5, 0.0), shape="linear"))
    with pytest.raises(ValueError, match="never passes 1"):
        sv.results.Clock(fading, "rate").to_alpha(1.2)


def test_run_counts_in_the_clock_it_is_given(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    runs = {
        unit: sv.run(quadratic, start, sv.Macro(), until=until, clock=unit)
        for unit, until in [
            ("alpha", 500),
            ("steps", 5_000_000),
            ("rate", 5),
            ("bocchi2026", 5),
            ("arnaboldi2023", None),
        ]
        if until
    }
    for unit, run in runs.items():
        assert run.risk == pytest.approx(runs["alpha"].risk, rel=1e-9), unit
        assert run.data["time"].attrs["unit"] == unit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "give `until` or `times`"),
        ({"until": -1}, "until: -1 given"),
        ({"until": float("inf")}, "positive finite"),
        ({"times": [3, 2]}, "increasing"),
        ({"times": []}, "times: must be"),
        ({"times": [-1, 2]}, "not negative"),
        ({"times": [0, 5], "until": 3}, "is past until=3"),
        ({"until": 3, "clock": "fortnights"}, "clock: 'fortnights' given"),
    ],
)
def test_bad_times(quadratic: sv.Problem, options, message) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    with pytest.raises(ValueError, match=message):
        sv.run(quadratic, start, sv.Macro(), **options)


def test_times_are_the_outputs(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    run = sv.run(quadratic, start, sv.Macro(), times=np.geomspace(1, 100, 5), until=200)
    assert run.time == pytest.approx([*np.geomspace(1, 100, 5), 200])


def test_a_start_of_another_problem_is_refused(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    with pytest.raises(sv.overlaps.InvalidStart, match=r"start: has .* \(1, 6, 3\), the problem \(1, 5, 3\)"):
        sv.run(quadratic.replace(student__width=5), start, sv.Macro(), until=1)
    with pytest.raises(sv.overlaps.InvalidStart, match="differs from the problem's"):
        sv.run(quadratic.replace(teacher__overlap=2 * np.eye(3)), start, sv.Macro(), until=1)


def test_batches_need_something_and_one_clock(quadratic: sv.Problem) -> None:
    start = sv.start(quadratic, seed=0, students="orthogonal", cross=0.05)
    with pytest.raises(ValueError, match="at least one start"):
        sv.levels.run_batch(quadratic, [], sv.Macro(), until=1)
    with pytest.raises(ValueError, match="runs differently for each learning rate"):
        sv.levels.run_batch(quadratic, start, sv.Macro(), until=1, clock="rate", learning_rates=[0.1, 0.2])


def test_observables_on_known_curves() -> None:
    times = np.linspace(0, 10, 1001)
    assert crossing_time(times, np.exp(-times), 0.5) == pytest.approx(np.log(2), abs=1e-4)
    assert crossing_time(times[::500], np.exp(-times[::500]), 0.5) == pytest.approx(
        np.log(2), rel=1e-12
    )  # by two outputs
    assert np.isnan(crossing_time(times, np.exp(-times), 1e-9))
    assert crossing_time(times, np.exp(-times), 2.0) == 0
    assert np.isnan(crossing_time(times[100:], np.exp(-times[100:]), 0.5))
    exponent = local_exponent(times, 3.0 / np.maximum(times, 1e-9) ** 1.5)
    assert np.isnan(exponent[0])
    assert exponent[10:-1] == pytest.approx(np.full(990, -1.5), abs=1e-2)


def test_plateaus_on_known_curves() -> None:
    """Two logistic drops with rests between them: heights to 1 %, borders between the drops; tails do not count."""
    times = np.linspace(0, 100, 2001)
    risk = 0.5 + 0.3 * np.exp(-times) - 0.3 / (1 + np.exp(-(times - 30))) - 0.19 / (1 + np.exp(-(times - 70)))
    first, second, last = plateaus(times, risk)
    assert first.height == pytest.approx(0.5, rel=0.01)
    assert second.height == pytest.approx(0.2, rel=0.01)
    assert 0 < first.start < 10 < first.end < 30 < second.start < 40 < second.end < 70 < last.start < 80
    assert first.left
    assert second.left
    assert not last.left
    assert np.isnan(last.end)
    assert np.isnan(last.length)
    assert last.height == pytest.approx(risk[-1])
    assert first.length == first.end - first.start
    assert plateaus(times, np.exp(-times / 10)) == []
    assert plateaus(times, 1 / (1 + times) ** 2) == []
    assert plateaus(times[:2], risk[:2]) == []
    scaled = plateaus(1e6 * times, 1e-3 * risk)
    assert scaled[0].end == pytest.approx(1e6 * first.end)
    begins_flat = plateaus(times, 1 - 0.9 / (1 + np.exp(-(times - 50))))[:1]
    assert begins_flat[0].start == 0
    rippled = plateaus(times, risk * (1 + 1e-4 * np.sin(5 * times)))[:2]
    assert [one.start for one in rippled] == pytest.approx([first.start, second.start], abs=1.0)
    assert [one.height for one in rippled] == pytest.approx([first.height, second.height], rel=1e-2)
    for until in (15, 25, 29, 30.5):  # not left until the fall has passed its steepest part
        (waiting,) = plateaus(times[times <= until], risk[times <= until])
        assert not waiting.left
        assert waiting.start == pytest.approx(first.start, abs=0.1)
        assert waiting.height == pytest.approx(first.height, rel=0.01)
    assert plateaus(times[times <= 33], risk[times <= 33])[0].left
    spans = phases(times, risk, [first, second, last], 100.0, lambda start, end: False)
    assert [one.name for one in spans] == ["approach", "plateau", "escape", "descent", "plateau", "escape", "descent"]
    assert [one.start for one in spans] == [0.0, *(one.end for one in spans[:-1])]
    assert spans[-1].end == 100.0
    assert np.interp(spans[2].end, times, risk) == pytest.approx(0.5 * first.height, rel=1e-3)
    assert [one.height for one in spans if one.name == "plateau"] == [first.height, second.height]
    by_norms = phases(times, risk, [first, second], 100.0, lambda start, end: end < 50)
    assert [one.name for one in by_norms] == ["norm learning", "plateau"] * 2 + ["escape", "descent"]
    assert phases(times, risk, begins_flat, 100.0, lambda start, end: True)[0].name == "plateau"
    assert phases(times, risk, [], 100.0, lambda start, end: True) == []


def logistic(t: np.ndarray) -> np.ndarray:
    return 0.5 + 0.3 * np.exp(-t) - 0.3 / (1 + np.exp(-(t - 30))) - 0.19 / (1 + np.exp(-(t - 70)))


def slope_of(t: np.ndarray) -> np.ndarray:
    return (np.log(logistic(t + 1e-5)) - np.log(logistic(t - 1e-5))) / 2e-5


def test_slopes_tell_borders_between_outputs() -> None:
    """Forty outputs with slopes tell as much as two thousand without: the distance of outputs is 100 times the tolerance."""
    fine, coarse = np.linspace(0, 100, 20_001), np.linspace(0, 100, 41)
    expected = plateaus(fine, logistic(fine))
    found = plateaus(coarse, logistic(coarse), slope_of(coarse))
    for one, other in zip(found, expected, strict=True):
        assert one.left == other.left
        assert one[:3] == pytest.approx(other[:3], abs=0.15, nan_ok=True)
    snapped = plateaus(coarse, logistic(coarse))
    assert abs(snapped[0].start - expected[0].start) > 1.0
    assert snapped[0].start not in coarse  # interpolated, though less closely


def test_a_finer_curve_passes_through_its_outputs() -> None:
    times = np.linspace(0, 100, 26)  # the first fall is over long before the second output
    grid, risk, slopes = finer(times, logistic(times), slope_of(times))
    assert (np.diff(grid) > 0).all()
    assert np.interp(times, grid, risk) == pytest.approx(logistic(times))
    assert np.interp(times, grid, slopes) == pytest.approx(slope_of(times), abs=1e-12)
    assert risk == pytest.approx(logistic(grid), rel=0.08)
    early = grid <= 8
    assert (np.diff(risk[early]) <= 1e-12).all()


def test_tails_are_no_plateaus_that_wait() -> None:
    times = np.linspace(0, 1000, 2001)
    for tail in (
        1 / (1 + times),
        1 / np.sqrt(1 + times),
        np.exp(-times / 10),
        np.exp(-times / 10) + np.exp(-times / 500),
    ):
        assert plateaus(times, tail) == []
    (end,) = plateaus(times, 0.1 + np.exp(-times))
    assert not end.left
    assert end.height == pytest.approx(0.1)


def test_plateaus_of_a_run_do_not_depend_on_its_outputs() -> None:
    problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.2, N=1024)
    start = sv.start(problem, seed=0, scale=0.01)
    found, names = [], set()
    for count in (201, 2001):
        run = sv.run(problem, start, sv.Macro(small_rate=True), times=np.linspace(0, 16_000, count))
        found += run.plateaus()
        names.add(tuple(one.name for one in run.phases()))
    assert names == {("approach", "plateau", "escape", "descent")}
    coarse, fine = found  # outputs at distances of 80 and 8
    assert coarse.start == pytest.approx(fine.start, abs=2)
    assert coarse.end == pytest.approx(fine.end, rel=0.03)
    clocked = sv.run(problem, start, sv.Macro(small_rate=True), until=3200, clock="rate").plateaus()
    assert clocked[0].start == pytest.approx(0.2 * fine.start, rel=0.05)


def test_a_plateau_that_is_not_left_yet_is_told() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    whole, cut = (sv.run(problem, start, sv.Macro(), until=until) for until in (200, 40))
    ((left,), (waiting,)) = whole.plateaus(), cut.plateaus()
    assert (left.left, waiting.left) == (True, False)
    assert waiting.start == pytest.approx(left.start, rel=0.02)
    assert waiting.height == pytest.approx(left.height, rel=1e-3)
    assert np.isnan(waiting.end)
    assert cut.phases() == []


def test_a_curve_that_turns_without_waiting_has_no_plateau() -> None:
    """A growing eigenvalue lifts the risk from 2.0 to 3.03 before it falls. A rise to a rest is a plateau all the same."""
    rising = sv.Schedule(times=(0, 10), values=(0.1, 1.0), shape="linear")
    problem = sv.Problem(
        inputs=sv.Inputs(dim=500, spectrum=sv.Spectrum(eigenvalues=(2.0, rising))),
        teacher=sv.Teacher(width=2),
        student=sv.Student(width=3),
        training=sv.Training(learning_rate=0.1),
    )
    for seed in range(4):
        run = sv.run(problem, sv.start(problem, seed=seed), sv.Macro(), until=30)
        assert run.risk.max() > 1.3 * run.risk.min(initial=np.inf, where=run.time < 10)
        assert run.plateaus() == []
        assert run.phases() == []
    times = np.linspace(0, 100, 2001)
    for bump in (1 / (1 + (times - 30) ** 2 / 25), np.exp(-((times - 30) ** 2) / 50), 1 / np.cosh((times - 30) / 3)):
        for size in (0.5, 2):
            assert [one for one in plateaus(times, np.exp(size * bump)) if one.left] == []
    rests = (1 - 0.6 * np.exp(-times)) * (1 - 0.9 / (1 + np.exp(-(times - 30))))
    found, end = plateaus(times, rests)
    assert not end.left
    assert found.height == pytest.approx(1.0, rel=1e-3)
    assert 0.5 < found.start < 5 < 25 < found.end < 30


def test_plateaus_do_not_depend_on_accuracy_or_length() -> None:
    """Two erf students from small weights, small rate: at the height that theory knows, and nothing in the noise behind it."""
    problem = sv.problems.convention("worschech2024").problem(K=2, M=2, eta=0.2, N=1024)
    start = sv.start(problem, seed=0, scale=0.01)
    height = sv.theory.erf_plateau(problem, start).value.risk
    ends = []
    for rtol, until in [(1e-5, 2000.0), (1e-5, 4000.0), (1e-7, 2000.0), (1e-10, 2000.0), (1e-10, 4000.0)]:
        (found,) = sv.run(problem, start, sv.Macro(rtol=rtol, small_rate=True), until=until).plateaus()
        assert found.height == pytest.approx(height, rel=1e-3)
        assert 20 < found.start < 60
        ends.append(found.end)
    assert np.ptp(ends) < 0.1 * np.mean(ends)


def test_norms_are_learned_also_behind_a_first_plateau() -> None:
    """Small students wait at the origin, then learn their norms, wait again, and learn the teachers."""
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1, N=10_000)
    found = sv.run(problem, sv.start(problem, seed=0, scale=0.1), sv.Macro(), until=200)
    assert [one.name for one in found.phases()] == ["plateau", "norm learning", "plateau", "escape", "descent"]


def test_phases_of_a_run() -> None:
    problem = sv.problems.convention("bocchi2026").problem(p=6, p_star=3, eta=0.1)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    found = sv.run(problem, start, sv.Macro(), until=200)
    names = ["norm learning", "plateau", "escape", "descent"]
    for until in (120, 150, 200, 400):
        assert [one.name for one in sv.run(problem, start, sv.Macro(), until=until).phases()] == names
    marked = sv.plot.risk(found, phases=True)
    assert {text.get_text() for text in marked.texts} <= set(names)
    assert "plateau" in {text.get_text() for text in marked.texts}
    with pytest.raises(TypeError, match="phases: only a Trajectory"):
        sv.plot.risk(found.data, phases=True)
    sphere = sv.problems.convention("arnaboldi2023").problem(p=2, d=3000, gamma=0.05)
    held = sv.run(sphere, sv.start(sphere, seed=1), sv.Macro(), until=300)
    assert "norm learning" not in [one.name for one in held.phases()]


def test_summaries(trajectory: sv.Trajectory) -> None:
    assert repr(trajectory) == "<Trajectory macro, 3 run(s) x 201 times: 3 of 3 runs: reached the end>"
    card = trajectory._repr_html_()
    assert "6 quadratic students, 3 teachers" in card
    assert card.count("<polyline") == 3


def test_plots_return_axes_and_touch_no_settings(trajectory: sv.Trajectory) -> None:
    import matplotlib

    matplotlib.use("Agg")
    before = dict(matplotlib.rcParams)
    picture, axes = sv.plot.figure(2, 2)
    assert trajectory.plot(ax=axes[0, 0]) is axes[0, 0]
    sv.plot.cross_overlaps(trajectory, ax=axes[0, 1])
    sv.plot.student_overlaps(trajectory.data, ax=axes[1, 0])
    p, q = trajectory.cross_overlap.shape[2:]
    named = sv.plot.cross_overlaps(trajectory, legend=True)
    assert [text.get_text() for text in named.get_legend().get_texts()] == [f"teacher {j + 1}" for j in range(q)]
    colours = np.array([line.get_color() for line in named.lines]).reshape(p, q)
    assert (colours == colours[0]).all()
    assert len(set(colours[0])) == q
    for draw, names in [
        (sv.plot.student_overlaps, {"of a student with itself", "of two students"}),
        (sv.plot.readouts, {f"student {i + 1}" for i in range(p)}),
    ]:
        assert {text.get_text() for text in draw(trajectory, legend=True).get_legend().get_texts()} == names
    ax = sv.plot.compare(trajectory, trajectory, labels=["one", "two"], ax=axes[1, 1])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        f"{name}, 3 runs (mean ± s.e.)" for name in ("one", "two")
    ]
    with pytest.raises(ValueError, match="1 labels given for 2 trajectories"):
        sv.plot.compare(trajectory, trajectory, labels=["one"], ax=axes[1, 1])
    assert axes[0, 0].get_xlabel() == "α = steps / dim"
    assert len(axes[0, 1].lines) == 18
    assert before == dict(matplotlib.rcParams)
    picture.canvas.draw()


def test_compare_leaves_diverged_runs_out_and_says_so(quadratic: sv.Problem) -> None:
    starts = [sv.start(quadratic, seed=seed, students="orthogonal", cross=0.05) for seed in range(2)]
    batch = sv.levels.run_batch(quadratic, starts, sv.Macro(), until=50, learning_rates=[0.1, 3.0])
    _, ax = sv.plot.figure()
    sv.plot.compare(batch, ax=ax)
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["macro, rate 0.1, 2 runs (mean ± s.e.)", "macro, rate 3 (2 of 2 diverged, left out)"]
    assert np.isfinite(ax.lines[0].get_ydata()).all()
    _, ax = sv.plot.figure()
    batch.plot(ax=ax)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["rate 0.1", "rate 3"]
    other = sv.run(quadratic, starts[0], sv.Macro(), until=1, clock="rate")
    with pytest.raises(ValueError, match="different clocks"):
        sv.plot.compare(batch, other, ax=ax)


def test_frames_and_distances(quadratic) -> None:
    """The frame is conserved from orthogonal students; the distance to the predicted end falls from `nearest_distance` to zero, in
    weights and in cross overlaps, and is that of weights that have these overlaps."""
    start = sv.start(quadratic, seed=0, students="orthogonal")
    target = sv.theory.nearest_solution(quadratic, start).value
    run = sv.run(quadratic, start, sv.Macro(), times=[0, 10, 1e5])
    assert run.frame.shape == run.cross_overlap.shape
    assert run.frame_drift().max() < 1e-9
    assert run.frame_drift(since=start) == pytest.approx(run.frame_drift(), abs=1e-12)
    apart = run.distance(target)
    assert apart[0, 0] == pytest.approx(sv.theory.nearest_distance(quadratic, start).value, rel=1e-12)
    assert apart[0, -1] < 0.1
    assert run.distance(target, of="cross_overlap")[0, -1] < 0.01
    random, (p, q, dim) = np.random.default_rng(0), (6, 3, 50)
    teachers = np.sqrt(dim) * np.linalg.qr(random.standard_normal((dim, q)))[0].T
    students, others = random.standard_normal((p, dim)), random.standard_normal((p, q)) @ teachers
    small = quadratic.replace(inputs__dim=dim)
    one, two = (sv.measure(small, rows, teachers) for rows in (students, others))
    found = sv.run(small, one, sv.Macro(), times=[0.0]).distance(two)[0, 0]
    assert found == pytest.approx(np.linalg.norm(students - others) / np.sqrt(dim), rel=1e-12)


def test_no_solution_is_nearer_than_the_nearest(quadratic) -> None:
    """Neither one beside it nor any other of ninety random ones, by their distance in weights."""
    start = sv.start(quadratic, seed=3)
    run = sv.run(quadratic, start, sv.Macro(), times=[0.0])
    best = sv.theory.nearest_distance(quadratic, start).value
    S = sv.theory.nearest_solution(quadratic, start).value.cross_overlap / np.sqrt(2)
    random = np.random.default_rng(1)
    for size in (0.01, 0.1, 10.0):
        for _ in range(30):
            frame = np.linalg.qr(S + size * random.standard_normal(S.shape))[0]
            frame *= np.sign(np.sum(frame * S, axis=0))
            other = sv.start(quadratic, student_overlap=2 * frame @ frame.T, cross_overlap=np.sqrt(2) * frame)
            assert run.distance(other)[0, 0] >= best - 1e-12


def test_distances_that_overlaps_do_not_tell(quadratic) -> None:
    run = sv.run(quadratic, sv.start(quadratic, seed=0), sv.Macro(), times=[0.0])
    with pytest.raises(ValueError, match="leave the span"):
        run.distance(sv.start(quadratic, seed=1))
    with pytest.raises(ValueError, match="must be 'weights' or"):
        run.distance(sv.start(quadratic, seed=1), of="readout")
    with pytest.raises(TypeError, match=r"not Prediction; take its \.value"):
        run.distance(sv.theory.nearest_solution(quadratic, sv.start(quadratic, seed=1)))
    narrow = quadratic.replace(student__width=4)
    with pytest.raises(ValueError, match=r"frame_drift: the state has .* \(1, 4, 3\)"):
        run.frame_drift(since=sv.start(narrow, seed=1))
    with pytest.raises(ValueError, match=r"\(1, 4, 3\), the trajectory \(1, 6, 3\)"):
        run.distance(sv.start(narrow, seed=1))
    other = quadratic.replace(teacher__overlap=2 * np.eye(3))
    with pytest.raises(ValueError, match="other teachers"):
        run.distance(sv.start(other, seed=1))
    two = quadratic.replace(inputs__spectrum={"eigenvalues": [0.5, 1.5]}, inputs__dim=100)
    blocks = sv.run(two, sv.start(two, seed=0), sv.Macro(), times=[0.0])
    with pytest.raises(ValueError, match="several blocks"):
        blocks.distance(sv.start(two, seed=1))
    turning = quadratic.replace(teacher__rotation=0.1)
    moved = sv.run(turning, sv.start(turning, seed=1), sv.Macro(), times=[0.0, 1.0])
    with pytest.raises(ValueError, match="distance: the teachers move"):
        moved.distance(sv.start(turning, seed=1), of="cross_overlap")


def test_frames_of_runs_that_broke_off(quadratic) -> None:
    hot = quadratic.replace(training__learning_rate=30.0)
    run = sv.run(hot, sv.start(hot, seed=0), sv.Macro(), until=100)
    assert np.isnan(run.frame[0, -1]).all()


def test_exponents_with_uncertainty(quadratic: sv.Problem) -> None:
    """A known power, over runs and within one, a drift where there is none, and refusals."""
    from dataclasses import replace

    run = sv.run(quadratic, sv.start(quadratic, seed=0), sv.Macro(), times=np.geomspace(1, 1000, 61))
    random = np.random.default_rng(0)
    noise = np.exp(0.05 * random.standard_normal((20, 61)))
    many = replace(run, risk=3 * run.time**-0.7 * noise, endings=np.zeros(20, dtype=int), labels={})
    found = many.exponent(10, 1000)
    assert found.low < -0.7 < found.high
    assert found.high - found.low < 0.02
    assert abs(found.prefactor / 3 - 1) < 0.05
    assert found.runs == 20
    single = replace(run, risk=3 * run.time**-0.7 * noise[:1]).exponent(10, 1000)
    assert single.low < -0.7 < single.high
    linear = np.linspace(1, 1000, 400)
    inside = 0
    for seed in range(200):
        noisy = linear**-0.5 * np.exp(0.1 * np.random.default_rng(seed).standard_normal(400))
        one = observables.exponent(linear, noisy[None], 1, 1000, 0.95)
        inside += one.low < -0.5 < one.high
    assert inside / 200 > 0.85  # also where outputs are not equally spaced in log time
    assert np.isnan(observables.exponent(np.array([1.0, 90, 95, 100]), np.ones((1, 4)), 1, 100, 0.95).drift)
    bent = replace(run, risk=1 / (1 + (run.time[None] / 100) ** 2)).exponent(10, 1000)
    assert bent.drift < -1
    for begin, end in [(0, 10), (10, 5), (10, 11)]:
        with pytest.raises(ValueError, match="exponent"):
            run.exponent(begin, end)


STEPS = 900  # fewer than those after which Macro sees that a stiff run is at rest


def broken_off(max_steps: int = STEPS, level=sv.Macro, **changes) -> sv.Trajectory:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2),
        student=sv.Student(width=2),
        inputs=sv.Inputs(dim=1000),
        training=sv.Training(learning_rate=0.1),
    ).replace(**changes)
    options = {"max_steps": max_steps, "rtol": 1e-6} if level is sv.Macro else {}
    return sv.run(problem, sv.start(problem, seed=1), level(**options), until=2000, progress=False)


LABEL = {"training__label_noise": 1e6}
SPHERE = {"student__norm": "sphere"}
DECAY = {"training__weight_decay": 1e4}


@pytest.mark.parametrize(
    ("changes", "mended", "ending", "text"),
    [
        (LABEL, {}, "DIVERGED", r"label noise of variance 1e\+06, against a first mean squared error of 2"),
        ({"training__learning_rate": 5.0, "training__label_noise": 1.0}, {}, "DIVERGED", "diverged: lower the learning rate"),
        ({"training__learning_rate": 5.0, "training__weight_decay": 0.5}, {}, "DIVERGED", "diverged: lower the learning rate"),
        (DECAY, {}, "STEP_LIMIT", r"weight decay moves the overlaps at 2e\+03 per unit of alpha, the gradient at 0.4"),
        (DECAY | {"student__activation": "linear", "teacher__activation": "linear"}, {}, "STEP_LIMIT", "weight decay moves"),
        (SPHERE | {"training__learning_rate": 5.0}, SPHERE, "STEP_LIMIT", "rate is above its stable limit: noise .* 1.1e\\+03"),
        (SPHERE | LABEL, SPHERE, "STEP_LIMIT", "label noise is beyond what this learning rate bears"),
        ({"training__learning_rate": 1e-3}, None, "STEP_LIMIT", "raise it, raise rtol, or ask for less time"),
    ],
)  # fmt: skip
def test_what_broke_a_run_off_is_named(changes, mended, ending, text) -> None:
    """Without what is named the run comes to its end within the same steps."""
    run = broken_off(30 if mended is None else STEPS, **changes)
    assert run.ending[0].name == ending
    assert re.search(text, run.message), run.message
    if mended is not None:
        assert broken_off(**mended).success


def test_weight_decay_beyond_the_weights_is_named() -> None:
    lost = broken_off(level=sv.Micro, training__weight_decay=1e5)
    assert lost.ending[0].name == "DIVERGED"
    assert "weight decay takes 10 times the weights off at each step" in lost.message
    assert broken_off(level=sv.Micro, training__weight_decay=1e2).ending[0].name == "FINISHED"


@pytest.mark.parametrize("number", [2, -3, 1.0, True, "0"])
def test_runs_are_asked_for_by_their_numbers(number) -> None:
    problem = sv.Problem(
        teacher=sv.Teacher(width=1),
        student=sv.Student(width=1),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=0.1),
    )
    runs = sv.run(problem, sv.start(problem, seed=0), sv.Micro(runs=2), times=[0.0, 1.0], progress=False)
    with pytest.raises(ValueError, match=f"^last: run {number!r} given, must be from 0 to 1$"):
        runs.last(number)
    with pytest.raises(ValueError, match=r"^at: nan is not an output time"):
        runs.at(float("nan"), 0)
