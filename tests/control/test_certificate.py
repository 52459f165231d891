"""Certificates: several starts under one schedule, fixed integrals, bounds, whole numbers; and refinement that fails."""

import numpy as np
import pytest

import solvable as sv
from solvable.control import searching

RATE, READOUT, DECAY, BATCH = (
    f"training.{name}" for name in ("learning_rate", "readout_rate", "weight_decay", "batch")
)


def problem_of(unit: str = "erf", p: int = 2, **training) -> sv.Problem:
    readout = "unit" if unit == "erf" else "mean"
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation=unit, readout=readout),
        student=sv.Student(width=p, activation=unit, readout=readout),
        inputs=sv.Inputs(dim=1000),
        training=sv.Training(**({"learning_rate": 1.0, "loss_factor": 0.5} | training)),
    )


ERF, QUADRATIC = problem_of(), problem_of("quadratic", 3, learning_rate=0.3, loss_factor=1.0)
NEAR = sv.start(ERF, student_overlap=0.25 * np.eye(2), cross_overlap=[[0.2, 0.02], [0.02, 0.1]])
FAR = sv.start(ERF, student_overlap=0.25 * np.eye(2), cross_overlap=[[0.05, 0.036], [0.036, 0.05]])
SQUARE = sv.start(QUADRATIC, student_overlap=np.eye(3), cross_overlap=0.1 * np.eye(3)[:, :2])


def best_of(problem, start, until, segments, upper, **more) -> sv.control.Optimum:
    control = {RATE: sv.Control(segments=segments, upper=upper)}
    return sv.optimal(problem, start, until=until, control=control, refine=False, guesses=1, **more)


def test_one_schedule_for_two_starts_has_a_small_gap() -> None:
    """H of each start alone is far from its minimum; that of both is not."""
    coarse, fine = (best_of(ERF, [NEAR, FAR], 20.0, segments, 6.0) for segments in (5, 60))
    assert fine.certificate.gap < 1e-3
    assert coarse.certificate.gap == pytest.approx(np.log(coarse.value / fine.value), rel=0.3)
    mean, spread = fine.certificate.hamiltonian
    ends = [np.log(best_of(ERF, [NEAR, FAR], until, 30, 6.0).value) for until in (19.9, 20.1)]
    assert mean == pytest.approx((ends[1] - ends[0]) / 0.2, rel=5e-3)
    assert spread < 2e-3 * abs(mean)


def test_the_mean_hamiltonian_of_few_segments() -> None:
    """A longer run lengthens all segments alike, so the mean of H over time is the change of the value, whatever the gap."""
    found = best_of(ERF, [NEAR, FAR], 20.0, 3, 6.0)
    ends = [np.log(best_of(ERF, [NEAR, FAR], until, 3, 6.0).value) for until in (19.98, 20.02)]
    mean, spread = found.certificate.hamiltonian
    assert spread > 0.1 * abs(mean)
    assert mean == pytest.approx((ends[1] - ends[0]) / 0.04, rel=1e-3)


def test_a_fixed_integral_has_a_price() -> None:
    """H with the price is constant, and the change of the value with the end; nothing pulls where no bound is met."""
    found = best_of(QUADRATIC, SQUARE, 40.0, 30, 0.4, integral={RATE: 12.0})
    mean, spread = found.certificate.hamiltonian
    ends = [np.log(best_of(QUADRATIC, SQUARE, until, 30, 0.4, integral={RATE: 12.0}).value) for until in (39.8, 40.2)]
    assert mean == pytest.approx((ends[1] - ends[0]) / 0.4, rel=2e-3)
    assert spread < 1e-3 * abs(mean)
    assert found.certificate.slope < 1e-5


def test_a_fixed_integral_at_a_bound() -> None:
    """Against all pairs of values of two segments, of which one follows from the other; the upper bound is met."""
    found = best_of(QUADRATIC, SQUARE, 40.0, 2, 0.27, integral={RATE: 10.0})
    first = np.linspace(0.23, 0.27, 9)
    risks = [_risk(QUADRATIC, SQUARE, (one, 0.5 - one)) for one in first]
    assert found.schedule[RATE].rates == pytest.approx((first[int(np.argmin(risks))], 0.23))
    assert found.value == pytest.approx(min(risks), rel=1e-6)
    assert found.certificate.slope < 1e-5
    assert found.certificate.hamiltonian[1] < 0.02 * abs(found.certificate.hamiltonian[0])


def test_bounds_that_are_met_to_rounding_stop_a_slope() -> None:
    found = best_of(QUADRATIC, SQUARE, 40.0, 4, 0.26, integral={RATE: 10.0})
    assert found.schedule[RATE].rates[:3] == pytest.approx((0.26, 0.26, 0.26))
    assert found.certificate.slope < 1e-5


def _risk(problem, start, rates) -> float:
    made = problem.replace(training__learning_rate=sv.Schedule(times=(0.0, 20.0), rates=rates))
    return float(sv.run(made, start, sv.Macro(), times=[40.0]).risk[0, -1])


def test_a_mean_over_time_grows_less_than_its_hamiltonian() -> None:
    found = best_of(ERF, NEAR, 10.0, 40, 6.0, objective="mean risk")
    ends = [np.log(best_of(ERF, NEAR, until, 40, 6.0, objective="mean risk").value) for until in (9.9, 10.1)]
    assert found.certificate.hamiltonian[0] - 1 / 10.0 == pytest.approx((ends[1] - ends[0]) / 0.2, rel=2e-3)


@pytest.mark.parametrize("names", [(RATE, READOUT), (READOUT, RATE)])
def test_both_rates_are_free_where_the_problem_has_one(names) -> None:
    """The order of names does not matter, and each rate has its own derivative."""
    problem = ERF.replace(training__train_readout=True, training__learning_rate=0.8)
    control = {name: sv.Control(segments=2, upper=4.0) for name in names}
    found = sv.optimal(problem, NEAR, until=10.0, control=control, refine=False, guesses=1)
    apart = sv.optimal(
        problem.replace(training__readout_rate=0.8), NEAR, until=10.0, control=control, refine=False, guesses=1
    )
    assert found.value == pytest.approx(apart.value, rel=1e-6)
    assert found.value == pytest.approx(found.trajectory.risk[0, -1], rel=1e-6)
    assert found.certificate.slope < 1e-5
    assert 0 < found.constant[0][READOUT] < 1e-9  # none at all is best, which no problem has


def test_whole_numbers_stay_within_their_budget() -> None:
    problem = QUADRATIC.replace(training__label_noise=0.05, training__batch=3)
    control = {BATCH: sv.Control(segments=7, upper=12.0)}
    found = sv.optimal(problem, SQUARE, until=40.0, control=control, integral={BATCH: 130.0}, refine=False, guesses=1)
    spent = found.schedule[BATCH].integral(40.0)
    assert 130.0 - 40.0 / 7 < spent <= 130.0 + 1e-9
    assert found.constant[0][BATCH] * 40.0 <= 130.0
    assert f"whose integral is {spent:g}, and 120 with the best constants, where 130 is given" in found.message


def test_risks_of_rounding_are_told() -> None:
    """The run ends at the teacher: its risk is zero, or an error of the steps, and has no schedule."""
    problem = problem_of("quadratic", 1, learning_rate=0.05).replace(teacher__width=1)
    start = sv.start(problem, student_overlap=[[0.5]], cross_overlap=[[0.4]])
    with pytest.raises(ValueError, match="gradient: the risk at the end is zero to rounding"):
        sv.gradient(problem, start, until=400.0, of=RATE)
    with pytest.raises(ValueError, match="optimal: with constant values the risk at the end is zero to rounding"):
        sv.optimal(problem, start, until=2000.0, control={RATE: 2}, integral={RATE: 100.0})
    found = best_of(problem, start, 60.0, 2, 0.2)
    assert found.value < 1e-8
    assert "is below rtol = 1e-08, and may be an error of steps" in found.message


@pytest.mark.parametrize("ask", [sv.gradient, lambda *given, **more: sv.optimal(*given, control={RATE: 2}, **more)])
def test_a_start_that_is_none_is_refused(ask) -> None:
    with pytest.raises(TypeError, match="start: NoneType given, must be Overlaps"):
        ask(ERF, None, until=5.0)


def test_finer_segments_that_end_worse_are_not_taken(monkeypatch) -> None:
    descend, calls = searching.descend, []

    def worse(search, ensemble, x):
        calls.append(x.size)
        found = descend(search, ensemble, x)
        return found if len(calls) == 1 else (0.5 * x, found[1] + 1.0)

    monkeypatch.setattr(searching, "descend", worse)
    control = {RATE: sv.Control(segments=4, upper=6.0)}
    found = sv.optimal(ERF, NEAR, until=20.0, control=control, guesses=1)
    assert len(calls) == 2
    assert len(found.schedule[RATE].rates) == 4
    assert not found.success


def test_a_gap_of_time_is_small_beside_the_time() -> None:
    """Ten times the rate and ten samples in a batch make the same run ten times as fast."""
    found, stop = [], sv.when("risk", below=0.02)
    for faster in (1, 10):
        problem = ERF.replace(training__batch=faster, training__learning_rate=1.0 * faster)
        control = {RATE: sv.Control(segments=4, upper=4.0 * faster)}
        found.append(sv.optimal(problem, NEAR, until=12.0 / faster, control=control, objective=stop, guesses=1))
    slow, fast = found
    assert slow.value == pytest.approx(10 * fast.value, rel=1e-5)
    assert len(slow.schedule[RATE].rates) == len(fast.schedule[RATE].rates)
    assert fast.success
    assert slow.success
    assert slow.certificate.hamiltonian[0] == pytest.approx(-1.0, abs=1e-3)
