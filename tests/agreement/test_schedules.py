"""Every number that may be a schedule, at every level: against runs with constants one after the other, and level against level."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.problems.schedules import segments_of, whole

TIMES = (0.0, 0.7, 1.5)
STEPS = {
    "learning_rate": ("training__learning_rate", (0.3, 0.1, 0.6)),
    "weight_decay": ("training__weight_decay", (0.0, 1.5, 0.3)),
    "batch": ("training__batch", (1.0, 4.0, 2.0)),
    "label_noise": ("training__label_noise", (0.5, 0.0, 2.0)),
    "readout_rate": ("training__readout_rate", (0.1, 0.5, 0.2)),
}


def problem_of(activation: str = "erf", dim: int | None = 900) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation=activation),
        student=sv.Student(width=2, activation=activation),
        inputs=sv.Inputs(dim=dim, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5), weights=(1, 2))),
        training=sv.Training(learning_rate=0.4, train_readout=True, label_noise=0.2),
    )


def with_steps(name: str, values) -> sv.Problem:
    """The named number in steps; `eigenvalue` is the first of the inputs'."""
    scheduled = sv.Schedule(times=TIMES, values=values)
    if name == "eigenvalue":
        return problem_of().replace(inputs__spectrum=sv.Spectrum(eigenvalues=(scheduled, 0.5), weights=(1, 2)))
    return problem_of().replace(**{STEPS[name][0]: scheduled})


CASES = {**{name: values for name, (_, values) in STEPS.items()}, "eigenvalue": (1.5, 0.2, 3.0)}


@pytest.mark.parametrize("name", CASES)
def test_steps_are_constants_one_after_the_other(name) -> None:
    """The limit with a schedule in three steps, against three runs with constant numbers, each from the end of the last."""
    problem = with_steps(name, CASES[name])
    first = sv.start(problem, seed=3)
    whole = sv.run(problem, first, sv.Macro(rtol=1e-12), times=[0.7, 1.5, 2.5])
    state, risks = first, []
    for begin, end in [(0.0, 0.7), (0.7, 1.5), (1.5, 2.5)]:
        here = sv.run(problem.at(begin), state, sv.Macro(rtol=1e-12), times=[end - begin])
        state = here.last()
        risks.append(here.risk[0, -1])
    assert whole.last().stacked == pytest.approx(state.stacked, abs=1e-10)
    assert whole.last().readout == pytest.approx(state.readout, abs=1e-10)
    if name != "eigenvalue":  # an output at a jump sees the eigenvalue before it
        assert whole.risk[0] == pytest.approx(risks, rel=1e-10)
    constant = sv.run(problem.at(0.0), first, sv.Macro(rtol=1e-12), times=[2.5])
    assert np.abs(constant.last().stacked - state.stacked).max() > 1e-4  # it does change something


@pytest.mark.parametrize("name", CASES)
def test_ramps_are_many_small_steps(name) -> None:
    values = CASES[name]
    ramp, stairs = np.interp(np.linspace(0, 1.5, 6001), TIMES, values), np.linspace(0, 1.5, 6001)
    linear = sv.Schedule(times=TIMES, values=values, shape="linear")
    middle = 0.5 * (ramp[1:] + ramp[:-1])
    fine = sv.Schedule(times=(*stairs[:-1], 1.5), values=(*middle, values[-1]))
    ends = []
    for schedule in (linear, fine):
        problem = with_steps(name, values)
        if name == "eigenvalue":
            problem = problem.replace(inputs__spectrum=sv.Spectrum(eigenvalues=(schedule, 0.5), weights=(1, 2)))
        else:
            problem = problem.replace(**{STEPS[name][0]: schedule})
        ends.append(sv.run(problem, sv.start(problem_of(), seed=3), sv.Macro(rtol=1e-9), times=[2.0]).last().stacked)
    assert ends[0] == pytest.approx(ends[1], abs=2e-6 if name == "batch" else 1e-7)  # batches are whole


@pytest.mark.statistical
@pytest.mark.parametrize("name", ["weight_decay", "batch", "label_noise", "eigenvalue"])
def test_levels_agree_about_schedules(name) -> None:
    """Means of 512 runs of SGD and of the diffusion, against the limit, within five standard errors and what 1/dim may do; a
    constant in the place of the schedule is further off."""
    problem = with_steps(name, CASES[name])
    first, times = sv.start(problem, seed=3), [1.1, 2.5]
    limit = sv.run(problem, first, sv.Macro(), times=times)
    other = sv.run(problem.at(0.0), first, sv.Macro(), times=times)
    for level in (sv.Micro(runs=512, seed=seed(1)), sv.Meso(runs=512, seed=seed(1))):
        found = sv.run(problem, first, level, times=times)
        values, expected, wrong = (
            np.concatenate([one.student_overlap, one.cross_overlap], axis=3) for one in (found, limit, other)
        )
        allowed = 5 * values.std(axis=0, ddof=1) / np.sqrt(len(values)) + 2 / problem.inputs.dim
        assert (np.abs(values.mean(axis=0) - expected[0]) < allowed).all()
        assert (np.abs(values.mean(axis=0) - wrong[0]) > 1.5 * allowed).any()
        assert np.abs(found.risk.mean(axis=0) / limit.risk[0] - 1).max() < 0.1


@pytest.mark.statistical
def test_levels_agree_at_a_jump_and_about_batches_between_whole_numbers() -> None:
    """At a jump of an eigenvalue every level sees the one that begins; batches are the nearest whole numbers at every level."""
    moving = with_steps("eigenvalue", CASES["eigenvalue"])
    batches = sv.Schedule(times=(0, 4), values=(1, 3), shape="linear")
    ramp = problem_of().replace(training__batch=batches, training__label_noise=1.0)
    first = sv.start(problem_of(), seed=3)
    for problem, times in ((moving, [0.7, 1.5]), (ramp, [0.9, 1.9, 3.9])):
        limit = sv.run(problem, first, sv.Macro(), times=times).risk[0]
        for level in (sv.Micro(runs=256, seed=seed(2)), sv.Meso(runs=256, seed=seed(2))):
            risks = sv.run(problem, first, level, times=times).risk
            error = risks.std(axis=0, ddof=1) / 16
            assert (np.abs(risks.mean(axis=0) - limit) < 5 * error + 0.01 * limit).all()
    whole = sv.run(moving, first, sv.Macro(), times=[0.7])
    begins = sv.run(moving.at(0.7), whole.last(), sv.Macro(), times=[0.0, 0.1])
    assert whole.risk[0, 0] == pytest.approx(begins.risk[0, 0], rel=1e-6)


@pytest.mark.parametrize("shape", ["steps", "linear"])
def test_a_rate_may_begin_or_end_at_zero(shape, tmp_path) -> None:
    """Warm-up and annealing, at every level, and whatever is asked of the result."""
    for rates in ((0.0, 0.5), (0.5, 0.0)):
        problem = problem_of().replace(training__learning_rate=sv.Schedule(times=(0, 1), rates=rates, shape=shape))
        problem = problem.replace(training__train_readout=False)
        for level in (sv.Macro(), sv.Micro(), sv.Meso()):
            run = sv.run(problem, sv.start(problem, seed=0), level, until=2)
            assert run.success
            assert np.isfinite(run.end_risk).all()
            run.save(tmp_path / "run.nc")
    assert problem.at(1.0).training.learning_rate == 0.0


def test_batches_are_rounded_and_counted() -> None:
    problem = problem_of().replace(training__batch=sv.Schedule(times=(0, 1), values=(1, 3), shape="linear"))
    run = sv.run(problem, sv.start(problem, seed=0), sv.Micro(), times=[2.0])
    assert run.nfev[0] == pytest.approx(900 * (2 + 3), rel=0.01)
    assert problem.at(0.9).training.batch == 3


def test_what_needs_a_number_refuses_a_schedule() -> None:
    problem = with_steps("label_noise", CASES["label_noise"])
    with pytest.raises(ValueError, match=r"problem\.at\(alpha\)"):
        sv.dynamics.moments(np.eye(4), problem)
    moving = with_steps("eigenvalue", CASES["eigenvalue"])
    with pytest.raises(ValueError, match="eigenvalues: a schedule"):
        sv.dynamics.field_covariance(moving, sv.start(problem_of(), seed=0))
    with pytest.raises(ValueError, match="eigenvalue is a schedule"):
        sv.run(moving, sv.start(moving, seed=0), sv.Macro(method="implicit"), until=1)
    with pytest.raises(ValueError, match="full weights take constant"):
        sv.run(moving, sv.start(moving, seed=0), sv.Micro(form="full"), until=1)
    for one in (problem.replace(training__train_readout=False), moving):
        assert not [found.name for found in sv.theory.available(one) if "erf" in found.name]


def test_a_schedule_for_batches_begins_at_one() -> None:
    with pytest.raises(sv.InvalidProblem, match="at least 1"):
        sv.Training(learning_rate=0.1, batch=sv.Schedule(times=(0, 1), values=(0.5, 2)))


def test_files_hold_schedules(tmp_path) -> None:
    for name, values in CASES.items():
        problem = with_steps(name, values)
        problem.save(tmp_path / "problem.toml")
        assert sv.Problem.load(tmp_path / "problem.toml") == problem
        assert sv.Problem.from_json(problem.to_json()).hash == problem.hash


def test_segments_of_numbers() -> None:
    assert segments_of(2.0).tolist() == [[0.0, 2.0, 0.0]]
    assert segments_of(sv.Schedule(times=(0, 2), values=(1, 3), shape="linear")).tolist() == [[0, 1, 1], [2, 3, 0]]


def test_the_batch_of_one_time_is_that_of_its_segment() -> None:
    """Also at halves, where rounding to even would differ: at 3.75 on the way up, at 15 on the way down."""
    training = sv.Training(learning_rate=0.1, batch=sv.Schedule(times=(0, 10, 20), values=(1, 5, 2), shape="linear"))
    begins, batches, _ = training.segments["batch"].T
    assert {3.75, 15.0} <= set(begins)
    for begin, batch, end in zip(begins, batches, [*begins[1:], 30.0], strict=True):
        for time in (begin, 0.5 * (begin + end), np.nextafter(end, 0)):
            assert training.at(float(time)).batch == batch


def test_a_batch_that_begins_between_two_numbers_is_the_one_it_goes_to() -> None:
    for ends, expected in (((2.5, 4.0), [3, 4]), ((2.5, 1.0), [2, 1]), ((3.5, 4.0), [4]), ((2.5, 2.5), [2, 2])):
        rows = whole(segments_of(sv.Schedule(times=(0, 1), values=ends, shape="linear")))
        assert list(dict.fromkeys(rows[:, 1])) == list(dict.fromkeys(expected))


def changing(shape: str) -> sv.Problem:
    """Every number that may be a schedule is one, with changes of their own."""

    def schedule(*values: float, by: float) -> sv.Schedule:
        return sv.Schedule(times=(0.0, by, 2 * by), values=values, shape=shape)

    return problem_of().replace(
        inputs__spectrum=sv.Spectrum(eigenvalues=(schedule(1.5, 0.2, 3.0, by=0.8), 0.5), weights=(1, 2)),
        training__learning_rate=schedule(0.3, 0.1, 0.6, by=1.0), training__readout_rate=schedule(0.1, 0.5, 0.2, by=1.3),
        training__batch=schedule(1.0, 4.0, 2.0, by=0.7), training__weight_decay=schedule(0.0, 0.5, 0.3, by=1.1),
        training__label_noise=schedule(0.5, 0.0, 2.0, by=0.9),
    )  # fmt: skip


@pytest.mark.parametrize("shape", ["steps", "linear"])
@pytest.mark.parametrize("begin", [0.0, 0.35, 1.0, 1.27, 5.0])
def test_a_run_that_goes_on_later_equals_one_without_a_break(shape, begin) -> None:
    """Before, at and between changes, and after all of them."""
    problem, level = changing(shape), sv.Macro(rtol=1e-12)
    start = sv.start(problem, seed=0)
    unbroken = sv.run(problem, start, level, times=[begin + 0.5, begin + 2.0])
    half = sv.run(problem, start, level, times=[begin]) if begin else None
    rest = sv.run(problem.later(begin), half.last() if half else start, level, times=[0.5, 2.0])
    for name in ("risk", "student_overlap", "cross_overlap", "readout"):
        assert getattr(rest, name) == pytest.approx(getattr(unbroken, name), rel=1e-10)
    assert problem.later(begin).at(0.5).training.batch == problem.at(begin + 0.5).training.batch


def test_later_of_what_does_not_change_is_the_same() -> None:
    problem = problem_of()
    assert problem.later(3.0) is problem
    assert sv.Schedule(times=(0, 2), values=(1, 3), shape="linear").later(1).rates == (2.0, 3.0)
    ends = problem.replace(training__learning_rate=sv.Schedule(times=(0, 1), rates=(0.5, 0.0))).later(1.0)
    assert ends.training.schedule(0.0) == 0.0
    with pytest.raises(ValueError, match="later: -1 given"):
        problem.later(-1)
