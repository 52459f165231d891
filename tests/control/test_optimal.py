"""Best schedules: known optima, several guesses, what Pontryagin's condition promises, and what is refused."""

import numpy as np
import pytest

import solvable as sv


def erf_problem(noise: float = 0.0) -> tuple[sv.Problem, sv.Overlaps]:
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf", readout=(1.0, 1.0)),
        student=sv.Student(width=2, activation="erf", readout=(1.0, 1.0)),
        inputs=sv.Inputs(dim=10_000),
        training=sv.Training(learning_rate=1.0, loss_factor=0.5, label_noise=noise),
    )
    R = np.array([[[0.08, 0.02], [0.02, 0.08]]])
    return problem, sv.Overlaps(0.25 * np.eye(2)[None], R, np.eye(2)[None], np.ones(2))


def quadratic_problem(noise: float = 0.0) -> tuple[sv.Problem, sv.Overlaps]:
    problem = sv.Problem(
        teacher=sv.Teacher(width=3),
        student=sv.Student(width=6),
        inputs=sv.Inputs(dim=10_000),
        training=sv.Training(learning_rate=0.5, label_noise=noise),
    )
    return problem, sv.Overlaps(np.eye(6)[None], 0.1 * np.eye(6)[None, :, :3], np.eye(3)[None], np.full(6, 1 / 6))


@pytest.mark.parametrize(
    ("made", "until", "segments", "upper", "constant", "best"),
    [
        (quadratic_problem(), 60.0, 40, 1.5, (0.561, 2.6274e-3), 2.0691e-3),
        (quadratic_problem(0.05), 60.0, 40, 1.5, (0.301, 2.2290e-2), 1.2140e-2),
        (erf_problem(), 60.0, 50, 6.0, (1.684, 9.073e-4), 3.991e-4),
    ],
)
def test_known_optima(made, until, segments, upper, constant, best) -> None:
    """Numbers of an earlier, independent program."""
    problem, start = made
    control = {"training.learning_rate": sv.Control(segments=segments, upper=upper)}
    found = sv.optimal(problem, start, until=until, control=control, refine=False, guesses=2)
    assert found.constant[0]["training.learning_rate"] == pytest.approx(constant[0], abs=6e-4)
    assert found.constant[1] == pytest.approx(constant[1], rel=2e-4)
    assert found.value == pytest.approx(best, rel=2e-4)
    assert found.gain == pytest.approx(np.log(found.constant[1] / found.value))
    assert found.trajectory.risk[0, -1] == pytest.approx(found.value, rel=1e-6)


def test_the_greedy_rate_stays_on_the_plateau() -> None:
    """Numbers of the same earlier program: the best rate for the moment ends with thirty times the risk."""
    problem, start = erf_problem()
    rate = sv.control.greedy(problem, start, until=60.0, upper=6.0)
    found = sv.run(problem.replace(training__learning_rate=rate), start, sv.Macro(), until=60.0).risk[0, -1]
    assert found == pytest.approx(1.262e-2, rel=1e-3)
    assert found > 30 * 3.991e-4
    problem, start = quadratic_problem(0.05)
    rate = sv.control.greedy(problem, start, until=60.0, upper=1.5)
    found = sv.run(problem.replace(training__learning_rate=rate), start, sv.Macro(), until=60.0).risk[0, -1]
    assert found == pytest.approx(1.576e-2, rel=1e-3)


def test_five_guesses_lead_to_one_optimum() -> None:
    problem, start = erf_problem()
    control = {"training.learning_rate": sv.Control(segments=20, upper=6.0)}
    found = sv.optimal(problem, start, until=60.0, control=control, refine=False, guesses=5)
    assert np.ptp(found.certificate.guesses) <= 1e-7 * found.value


def test_refinement_closes_the_gap() -> None:
    problem, start = erf_problem()
    control = {"training.learning_rate": sv.Control(segments=12, upper=6.0)}
    coarse = sv.optimal(problem, start, until=60.0, control=control, refine=False, guesses=1)
    fine = sv.optimal(problem, start, until=60.0, control=control, guesses=1)
    gained = np.log(coarse.value / fine.value)
    assert coarse.certificate.gap == pytest.approx(gained, rel=0.3)  # what was promised is there
    assert fine.success
    assert fine.certificate.gap <= 1e-3
    assert fine.value == pytest.approx(3.963e-4, rel=2e-3)


def test_the_hamiltonian_is_the_value_of_more_data() -> None:
    problem, start = quadratic_problem()
    values = {}
    for until in (59.5, 60.0, 60.5):
        control = {"training.learning_rate": sv.Control(segments=60, upper=1.5)}
        values[until] = sv.optimal(problem, start, until=until, control=control, refine=False, guesses=1)
    slope = np.log(values[60.5].value / values[59.5].value)
    mean, spread = values[60.0].certificate.hamiltonian
    assert mean == pytest.approx(slope, rel=2e-3)
    assert spread < 1e-3 * abs(mean)


def test_rate_and_decay_together() -> None:
    """The number of the same earlier program, and that of every pair on a grid where each has two values."""
    problem, start = quadratic_problem(0.05)
    names = "training.learning_rate", "training.weight_decay"
    control = {name: sv.Control(segments=40, upper=upper) for name, upper in zip(names, (1.5, 1.0), strict=True)}
    found = sv.optimal(problem, start, until=60.0, control=control, refine=False, guesses=2)
    assert found.value == pytest.approx(9.1835e-3, rel=2e-3)
    control = {name: sv.Control(segments=2, upper=upper) for name, upper in zip(names, (1.5, 1.0), strict=True)}
    coarse = sv.optimal(problem, start, until=20.0, control=control, refine=False, guesses=2)
    tried = [
        problem.replace(
            training__learning_rate=sv.Schedule(times=(0, 10), rates=rates),
            training__weight_decay=sv.Schedule(times=(0, 10), rates=decays),
        )
        for rates in [(a, b) for a in np.linspace(0.2, 0.8, 5) for b in np.linspace(0.1, 0.7, 5)]
        for decays in [(a, b) for a in np.linspace(0.0, 1.0, 4) for b in np.linspace(0.0, 1.0, 4)]
    ]
    least = min(sv.run(one, start, sv.Macro(rtol=1e-5), times=[20.0]).risk[0, -1] for one in tried)
    assert coarse.value <= least
    assert coarse.value == pytest.approx(least, rel=0.1)


def test_fixed_integral() -> None:
    problem, start = quadratic_problem()
    name = "training.learning_rate"
    found = sv.optimal(
        problem, start, until=60.0, control={name: sv.Control(segments=40, upper=1.5)}, integral={name: 25.0}, guesses=1,
        refine=False,
    )  # fmt: skip
    assert found.schedule[name].integral(60.0) == pytest.approx(25.0)
    assert found.constant[1] == pytest.approx(3.5546e-3, rel=2e-3)
    assert found.value == pytest.approx(3.1488e-3, rel=2e-3)


def test_time_to_a_threshold() -> None:
    problem, start = erf_problem()
    control = {"training.learning_rate": sv.Control(segments=50, upper=6.0)}
    stop = sv.when("risk", below=1e-3)
    found = sv.optimal(problem, start, until=90.0, control=control, objective=stop, guesses=1, refine=False)
    assert found.value == pytest.approx(53.4993, abs=5e-3)
    run = sv.run(found.problem, start, sv.Macro(), until=90.0, stop=stop)
    assert run.end_time[0] == pytest.approx(found.value, abs=1e-5)


def test_bounds_that_nobody_gave_are_told() -> None:
    problem, start = erf_problem()
    slow = problem.replace(training__learning_rate=0.01)
    name = "training.learning_rate"
    found = sv.optimal(slow, start, until=5.0, control={name: 3}, refine=False, guesses=1)
    assert f"{name} is at its upper bound 0.05 in 3 of 3 segments" in found.message
    given = sv.optimal(
        slow, start, until=5.0, control={name: sv.Control(segments=3, upper=0.05)}, refine=False, guesses=1
    )
    assert "upper bound" not in given.message


def test_edges_and_segments_do_not_go_together() -> None:
    with pytest.raises(ValueError, match="segments: 10 given together with 3 edges"):
        sv.Control(segments=10, edges=(0, 10, 20))
    assert sv.Control(segments=3, edges=(0, 10, 20)).begins(30.0).size == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"control": {}}, "control: {} given, must be names with segments"),
        ({"control": "training.learning_rate"}, "control: 'training.learning_rate' given, must be names"),
        ({"control": {"training.learning_rat": 3}}, "did you mean training.learning_rate"),
        ({"integral": 25.0}, "integral: 25.0 given, must be names with numbers"),
        ({"control": {"training.loss_factor": 3}}, "training.loss_factor: cannot be chosen in time"),
        ({"control": {"training.weight_decay": 3}}, "give both"),
        ({"control": {"training.learning_rate": 0}}, "segments"),
        ({"control": {"training.readout_rate": 3}}, "nothing would use it"),
        ({"objective": "loss"}, "objective"),
        ({"until": -1.0}, "until"),
        ({"integral": {"training.batch": 3.0}}, "integral"),
        ({"guesses": 0}, "guesses"),
        (
            {"integral": {"training.learning_rate": "3"}},
            "integral: training.learning_rate: '3' given, must be a number",
        ),
        ({"rtol": 0.0}, "rtol: 0.0 given, must be between 0 and 1"),
        ({"objective": sv.when("risk", below=100.0)}, "the threshold is met at the start; give another threshold"),
    ],
)
def test_mistakes_are_told(changes, message) -> None:
    problem, start = erf_problem()
    given = {"until": 5.0, "control": {"training.learning_rate": 3}} | changes
    with pytest.raises(ValueError, match=message):
        sv.optimal(problem, start, **given)
