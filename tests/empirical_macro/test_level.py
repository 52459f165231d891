"""EmpiricalMacro as a level: what it refuses, how runs end, what a trajectory has."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.empirical_macro.functions import loss_functions, unit_functions
from solvable.empirical_macro.level import _Pass
from solvable.empirical_macro.marching import March
from solvable.empirical_macro.outcome import outcome
from solvable.empirical_macro.particles import Innovations
from solvable.empirical_macro.replicas import TO_ZERO, WIDTHS, disagreement, doubt, widened
from solvable.empirical_macro.selections import Chances, Epochs, Persistent, Subsets, draws
from solvable.empirical_macro.translation import particles, setting
from solvable.gaussian.losses import LOSSES
from solvable.levels import Lane, Plan
from solvable.levels.jobs import Control
from solvable.plot.sweeps import _average
from solvable.results.causes import outgrows

ERF = sv.Problem(
    teacher=sv.Teacher(width=1, activation="erf"),
    student=sv.Student(width=2, activation="erf"),
    training=sv.Training(step=0.5, samples=sv.Ratio(2), label_noise=0.1),
)
START = sv.start(ERF, student_overlap=0.8 * np.eye(2), cross_overlap=[[0.3], [0.1]])
FEW = sv.EmpiricalMacro(particles=512, replicas=3)


def follow(problem: sv.Problem = ERF, until: float | None = 6, level: sv.EmpiricalMacro = FEW, start=START, **options):
    return sv.run(problem, start, level, until, progress=False, **options)


@pytest.mark.parametrize(
    ("changes", "level", "message"),
    [
        ({"student__activation": "relu"}, {}, r"student.activation: 'relu' has a kink.* or use Empirical"),
        ({}, {"smoothing": 0.2}, "smoothing: 0.2 given, but 'erf' students have no kinks"),
        ({"training__learning_rate": 1.0}, {}, "training.learning_rate: given at infinite inputs.dim; give training.step"),
        ({"training__samples": 100}, {}, "training.samples: 100 given at infinite inputs.dim; give a Ratio"),
        ({"training__samples": None, "training__batch": 5}, {}, "training.batch: 5 given at infinite inputs.dim"),
        ({"training__label_noise": sv.Schedule(times=(0.0, 1.0), rates=(0.1, 0.2))}, {}, "training.label_noise: a schedule"),
        ({"mixture": sv.Mixture.xor(1.0)}, {}, "mixture: is .*EmpiricalMacro does not know this setting"),
        ({"training__momentum": sv.Momentum(kappa=0.5)}, {}, "training.momentum: kappa is for many steps of 1/dim"),
        ({"training__momentum": sv.Momentum(beta=0.5, nesterov=True)}, {}, "training.momentum.nesterov: .* use Empirical"),
        ({"training__anchor": 0.1}, {}, "training.anchor: is 0.1; EmpiricalMacro does not know this setting"),
        ({}, {"particles": 4}, "particles: 4 given, must be a whole number, at least 16"),
        ({}, {"particles": 100}, "particles: 100 given, must be a power of two"),
        ({}, {"replicas": 1}, "replicas: 1 given, must be a whole number, at least 2"),
        ({}, {"smoothing": -1.0}, "smoothing: -1.0 given, must be a positive width"),
    ],
)  # fmt: skip
def test_refusals(changes: dict, level: dict, message: str) -> None:
    with pytest.raises((ValueError, sv.InvalidProblem), match=message):
        follow(ERF.replace(**changes), level=sv.EmpiricalMacro(**{"particles": 512} | level))


def test_too_long_runs_are_refused_before_they_begin() -> None:
    with pytest.raises(ValueError, match=r"until: 262144 particles over 8000 steps in .* take .* of memory"):
        follow(until=8000, level=sv.EmpiricalMacro(particles=2**18, threads=2))
    with pytest.raises(ValueError, match="particles: 64 given for 100 steps, must be at least one for each"):
        follow(until=100, level=sv.EmpiricalMacro(particles=64))


@pytest.mark.parametrize(
    ("changes", "steps", "count"),
    [
        ({}, 10, 4096),
        ({}, 300, 16384),
        ({"training__batch": sv.Ratio(0.5)}, 300, 32768),
        ({"training__samples": None, "training__batch": sv.Ratio(2), "training__repeats": 2}, 3000, 4096),
    ],
)
def test_particles_follow_from_steps_and_selection(changes: dict, steps: int, count: int) -> None:
    assert particles(ERF.replace(**changes), steps) == count


def test_a_data_set_of_finite_size_has_its_ratio() -> None:
    numbers = ERF.replace(inputs__dim=1000, training__samples=2000, training__learning_rate=500.0)
    level = sv.EmpiricalMacro(particles=512, replicas=2)
    lanes = [Lane(one, START) for one in (ERF, numbers)]
    one, two = (setting(lane, 3, None) for lane in lanes)
    assert (one.ratio, one.steps.tolist()) == (two.ratio, two.steps.tolist()) == (2.0, [0.5] * 3)
    assert np.allclose(follow(level=level).risk, follow(numbers, level=level).risk, atol=0.02)  # other random numbers


def test_epochs_are_a_clock_at_infinite_dim() -> None:
    epochs = ERF.replace(training__batch=sv.Ratio(0.6), training__selection="shuffled")
    run = follow(epochs, until=2, clock="epochs")
    assert run.clock.to_alpha(2.0) == 8.0  # of four batches each
    assert run.alpha[-1] == 8.0


def test_thresholds_end_a_run_at_a_step() -> None:
    whole = follow(until=20)
    for quantity in ("risk", "training_loss"):
        values = getattr(whole, quantity)[0]
        run = follow(until=20, stop=sv.when(quantity, below=0.6, relative=True))
        first = int(whole.alpha[np.flatnonzero(values <= 0.6 * values[0])[0]])
        assert run.ending == [sv.results.Ending.STOPPED]
        assert run.end_alpha[0] == first
        assert np.array_equal(np.isfinite(run.risk[0]), run.alpha <= first)


def test_a_step_too_long_diverges() -> None:
    linear = ERF.replace(student__activation="linear", teacher__activation="linear", training__step=3.0)
    run = follow(linear, until=60, level=sv.EmpiricalMacro(particles=512, replicas=3))
    assert run.ending == [sv.results.Ending.DIVERGED]
    assert "lower the step" in run.message
    assert np.isnan(run.risk[0, -1])


def test_replicas_that_disagree_are_a_failure() -> None:
    """Hardly more particles than steps: each replica goes its own way."""
    run = follow(
        ERF.replace(training__batch=sv.Ratio(0.3)), until=200, level=sv.EmpiricalMacro(particles=256, replicas=3)
    )
    assert run.ending == [sv.results.Ending.DISAGREED]
    assert not run.success
    assert "raise particles, lower until, or use Empirical" in run.message
    assert np.isnan(run.end_risk).all()  # the last state that is known is no end
    assert np.isnan(run.risk[0, -1])
    assert np.isfinite(run.risk[0, 0])
    assert not run.interpolates(10.0)[0]


def test_what_disagreement_is() -> None:
    time = np.linspace(0, 1, 11)
    alike = np.exp(-time) * np.array([[1.0], [1.01], [0.99], [1.0]])
    assert disagreement(alike) is None
    alone = alike.copy()
    alone[2, 7:] *= 1.3
    assert disagreement(alone) == 7
    lost = alike.copy()
    lost[0, 4] = np.nan
    assert disagreement(lost) == 4
    tiny = alike * np.array([1.0] * 10 + [1e-6])
    tiny[1, 10] *= 5  # far below all that matters
    assert disagreement(tiny) is None


def test_errors_are_widened_for_few_replicas() -> None:
    values = np.random.default_rng(0).standard_normal((4, 20000))
    inside = np.abs(values.mean(axis=0)) < 2 * widened(values) * 1.96 / 2
    assert np.mean(inside) == pytest.approx(0.95, abs=0.01)


def test_kinks_are_extrapolated_by_parabolas() -> None:
    widths = 0.2 * np.array(WIDTHS)
    curves = [np.array([3.0, 1.0 + 2 * width - 5 * width**2]) for width in widths]
    assert np.allclose(TO_ZERO @ np.array(curves), [3.0, 1.0])
    assert doubt(curves)[0] == pytest.approx(0.0, abs=1e-12)
    assert doubt(curves)[1] > 0.01
    assert (doubt(curves[:1]) == 0).all()


def test_two_times(tmp_path) -> None:
    run = follow(level=sv.EmpiricalMacro(particles=512, replicas=2, two_times=True), until=4, times=[0, 1, 2, 4])
    assert run.correlation.shape == run.response.shape == (1, 4, 2, 4, 2)
    C, response = run.correlation[0], run.response[0]
    assert np.allclose(np.einsum("tktl->tkl", C), run.student_overlap[0], atol=1e-12)
    assert np.allclose(C, C.transpose(2, 3, 0, 1), atol=1e-12)
    assert np.allclose(response[1, :, 0], 0.5 * np.eye(2))  # a push moves the weights by a step
    assert all((response[i, :, j] == 0).all() for i in range(4) for j in range(i, 4))
    run.save(tmp_path / "run.nc")
    again = sv.Trajectory.load(tmp_path / "run.nc")
    for name in ("correlation", "response", "training_loss_error", "identity_residual", "training_loss"):
        assert np.array_equal(getattr(again, name), getattr(run, name))
    assert sv.plot.correlation(run).get_xlabel() == "steps"
    assert follow().correlation is None


def test_interruption_keeps_what_was_done() -> None:
    made = setting(Lane(ERF, START), 50, None)
    control, job = Control(1), _Pass(March, made, 512, np.random.SeedSequence(0), 1e4)
    control.halt[0] = 1.0
    job(control, 0)
    assert job.found.reached == 1
    assert np.isnan(job.found.training_loss[1:]).all()


@pytest.mark.parametrize("unit", ["erf", "tanh", "quadratic", "relu"])
def test_slopes_of_units(unit: str) -> None:
    from solvable.gaussian.units import UNITS

    function, slope, bend = unit_functions(UNITS[unit], 0.1 if unit == "relu" else None)
    z, h = np.linspace(-3, 3, 500), 1e-5
    assert np.allclose((function(z + h) - function(z - h)) / (2 * h), slope(z), atol=1e-8)
    assert np.allclose((slope(z + h) - slope(z - h)) / (2 * h), bend(z), atol=1e-6)
    if unit == "relu":
        normal = np.random.default_rng(0).standard_normal(10**6)
        assert function(np.array([0.03]))[0] == pytest.approx(np.maximum(0.03 + 0.1 * normal, 0).mean(), abs=5e-4)


@pytest.mark.parametrize("loss", [name for name, loss in LOSSES.items() if loss.smooth])
def test_pushes_are_slopes_of_losses(loss: str) -> None:
    value, push = loss_functions(LOSSES[loss], 0.7)
    y, o, h = np.linspace(-2, 2, 41), np.linspace(1, -1.5, 41), 1e-5
    pushed, slope = push(y, o)
    assert np.allclose(-(value(y, o + h) - value(y, o - h)) / (2 * h), pushed, atol=1e-8)
    assert np.allclose((push(y, o + h)[0] - push(y, o - h)[0]) / (2 * h), slope, atol=1e-8)


def selections(chances: Chances) -> list:
    return [
        Subsets(0.3, False, chances), Subsets(0.3, True, chances), Epochs(4, False, chances), Epochs(4, True, chances),
        Persistent(0.3, 3, chances),
    ]  # fmt: skip


def test_selections_have_their_means() -> None:
    for choice in selections(Chances(np.empty((0, 10**4)), np.random.default_rng(0))):
        drawn = [choice.draw(t) for t in range(12)]
        for one in drawn:
            assert np.mean(one.sigma) == pytest.approx(1.0, abs=0.1)
            assert np.mean(one.mean) == pytest.approx(1.0, abs=0.1)
            assert np.mean(np.square(one.sigma)) == pytest.approx(np.mean(one.square), rel=0.1)
    epoch = np.array([one.sigma for one in drawn])
    assert epoch.shape == (12, 10**4)


@pytest.mark.statistical
def test_selections_choose_evenly_among_particles() -> None:
    """On quasi-random points those chosen have nearly the mean square of all particles: it scatters by 0.0025 to 0.0063 where a
    random choice makes 0.047 or more; sixteen tell these apart."""
    off = []
    for i in range(16):
        made = Innovations(4096, 8, np.random.SeedSequence([seed(0), i]), beside=1, after=2)
        chances = Chances(np.repeat(made.uniform, 5, axis=0), np.random.default_rng(0))  # the same for each
        off.append([np.mean(choice.draw(0).sigma * made.rows[0] ** 2) - 1 for choice in selections(chances)])
    assert (np.sqrt(np.mean(np.square(off), axis=0)) < 0.016).all()


def test_selections_draw_so_many_times() -> None:
    assert [draws(name, 0.25, 10) for name in ("all", "subsets", "partition", "shuffled")] == [0, 10, 1, 3]


def test_files_and_sweeps(tmp_path) -> None:
    content = {
        "teacher": {"width": 1, "activation": "erf"}, "student": {"width": 2, "activation": "erf"},
        "training": {"step": 0.5, "samples": {"ratio": 2.0}},
        "level": {"name": "empirical_macro", "particles": 512, "replicas": 2}, "run": {"until": 4},
    }  # fmt: skip
    from solvable.runfiles import read_content

    assert read_content(content, {}).level.level() == sv.EmpiricalMacro(particles=512, replicas=2)
    swept = sv.sweep(
        ERF,
        {"training.samples.ratio": [1.0, 4.0]},
        FEW,
        4,
        start=START,
        store=tmp_path / "store",
        workers=0,
        progress=False,
    )
    gaps = swept.data["end_gap"].values.ravel()
    assert gaps[0] > gaps[1] > 0


def test_an_interrupted_run_has_what_two_replicas_did() -> None:
    """Of four, two were on their way and one had not begun: the average of those that came as far as the second, with its error."""
    made, lane = setting(Lane(ERF, START), 6, None), Lane(ERF, START)
    plan = Plan(times=np.arange(7.0))

    def until(last: int, number: int):
        return March(made, 512, np.random.SeedSequence(number)).run(lambda t: t >= last)

    found = outcome(lane, plan, [until(2, 0), until(4, 1), until(3, 2), None], 1, two_times=False)
    assert (found.ending, found.end) == (sv.results.Ending.INTERRUPTED, 3)
    assert np.isfinite(found.risk).tolist() == np.isfinite(found.risk_error).tolist() == [True] * 4 + [False] * 3
    both = np.array([until(4, 1).training_loss[:4], until(3, 2).training_loss[:4]])
    assert np.allclose(found.mean.training_loss[:4], both.mean(axis=0))
    done = outcome(lane, plan, [until(9, 0), until(9, 1), until(3, 2), None], 1, two_times=False)
    assert (done.ending, done.end, np.isfinite(done.risk).all()) == (sv.results.Ending.INTERRUPTED, 6, True)
    alone = outcome(lane, plan, [until(5, 0), None, None], 1, two_times=True)
    assert (alone.ending, alone.end) == (sv.results.Ending.INTERRUPTED, 5)
    assert np.isfinite(alone.risk).sum() == 6
    assert np.isinf(alone.risk_error[:6]).all()
    none = outcome(lane, plan, [None, None], 1, two_times=True)
    assert np.isnan(none.risk).all()


QUADRATIC = ERF.replace(student__activation="quadratic", teacher__activation="quadratic", training__step=0.3)


def test_units_whose_forces_outgrow_their_fields_are_told() -> None:
    assert outgrows(QUADRATIC)
    others = [{"student__activation": unit} for unit in ("erf", "linear", "relu")]
    assert not any(outgrows(ERF.replace(**change)) for change in others)
    assert not outgrows(QUADRATIC.replace(training__loss=sv.problems.Huber(threshold=1.0)))


def test_points_whose_replicas_disagree_are_no_results(tmp_path) -> None:
    swept = sv.sweep(
        QUADRATIC, {"training.step": [0.01, 0.3]}, sv.EmpiricalMacro(particles=2048, replicas=3), 12, start=START, store=None,
        workers=0, progress=False, keep=["training_loss_error"],
    )  # fmt: skip
    data = swept.data.squeeze()
    assert data["ending"].values[0] == "finished"
    assert data["ending"].values[1] in ("disagreed", "diverged")
    assert np.isfinite(data["end_risk"].values).tolist() == [True, False]
    mean, error = _average(swept.data, "end_risk", ("step",))
    assert np.isfinite(mean.values).tolist() == [True, False]
    assert error.values[0] == data["end_risk_error"].values[0] > 0
    _, error = _average(swept.data, "end_training_loss", ("step",))
    assert error.values[0] == data["end_training_loss_error"].values[0] == data["training_loss_error"].values[0, -1]
    ax = sv.plot.train_and_test(swept)
    assert len(ax.containers) == 3


def test_what_a_run_that_disagrees_says() -> None:
    run = follow(QUADRATIC, until=12, level=sv.EmpiricalMacro(particles=2048, replicas=3))
    assert not run.success
    assert np.isnan(run.end_risk).all()
    assert "raise particles" not in run.message
    assert "lower the step" in run.message


@pytest.mark.parametrize(
    ("options", "message"),
    [({"student": 5}, "student: 5 given, must be a whole number from 0 to 1"), ({"run": 3}, "run: 3 given"),
     ({"other": -1}, "other: -1 given")],
)  # fmt: skip
def test_maps_of_what_is_not_there(options: dict, message: str) -> None:
    run = follow(level=sv.EmpiricalMacro(particles=256, replicas=2, two_times=True), until=2)
    with pytest.raises(ValueError, match=message):
        sv.plot.correlation(run, **options)


def test_ways_that_are_not_for_a_problem() -> None:
    with pytest.raises(ValueError, match=r"ways: 'lniear' given .did you mean linear"):
        sv.checks.limits_agree(ERF, START, 2, ways="lniear")
    with pytest.raises(ValueError, match="limits_agree: linear given, which is not for this problem"):
        sv.checks.limits_agree(ERF, START, 2, ways="linear")
    with pytest.raises(ValueError, match="limits_agree: one pass given, which is not for this problem"):
        sv.checks.limits_agree(ERF.replace(training__momentum=0.5), START, 2, ways=("one pass",))
