"""Thresholds on every quantity, at every level with one pass."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

PROBLEM = sv.Problem(
    teacher=sv.Teacher(width=2, activation="erf"),
    student=sv.Student(width=3, activation="erf"),
    inputs=sv.Inputs(dim=2000, spectrum=sv.Spectrum(eigenvalues=(1.5, 0.5))),
    training=sv.Training(learning_rate=0.5, train_readout=True),
)
START = sv.start(PROBLEM, seed=2)
LEVELS = {
    "macro": sv.Macro(), "weights": sv.Macro(small_rate=True, method="weights"), "implicit": sv.Macro(method="implicit"),
    "meso": sv.Meso(seed=seed(1)), "micro": sv.Micro(seed=seed(1)), "full": sv.Micro(seed=seed(1), form="full"),
}  # fmt: skip


def value(state: sv.Overlaps, quantity: str, entry):
    """As the definition says."""
    Q = state.student_overlap
    array = {
        "cross_overlap": state.cross_overlap, "student_overlap": Q if entry else Q - np.diag(np.diag(Q)),
        "norm": np.diag(Q), "readout": state.readout,
    }[quantity]  # fmt: skip
    return float(np.abs(array).max()) if entry is None else float(array[entry])


@pytest.mark.statistical
@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(
    ("quantity", "entry"),
    [
        ("cross_overlap", None), ("cross_overlap", (1, 0)), ("student_overlap", None), ("student_overlap", (0, 2)),
        ("norm", None), ("norm", 1), ("readout", None), ("readout", 2),
    ],
)  # fmt: skip
def test_a_run_ends_where_the_quantity_passes(level, quantity, entry) -> None:
    """The limit at the level itself, to the tolerance; noise at the first look beyond it."""
    if level == "weights" and quantity == "readout":
        pytest.skip("weights in place of overlaps: the readout is not trained")
    problem = PROBLEM.replace(training__train_readout=False) if level == "weights" else PROBLEM
    first = value(START, quantity, entry)
    ahead = sv.run(problem, START, sv.Macro(), times=[3.0]).last()
    aim = 0.5 * (first + value(ahead, quantity, entry))
    bound = {"above": aim} if aim > first else {"below": aim}
    run = sv.run(problem, START, LEVELS[level], until=30, stop=sv.when(quantity, entry=entry, **bound))
    assert run.ending == [sv.results.Ending.STOPPED]
    assert 0 < run.end_time[0] < 30
    found = value(run.last(), quantity, entry)
    exact = level in ("macro", "weights", "implicit", "meso")
    assert found == pytest.approx(aim, abs=1e-5 if exact else 0.05)
    assert (found - aim) * (1 if aim > first else -1) > -1e-6


@pytest.mark.parametrize("rtol", [1e-5, 1e-8, 1e-11])
@pytest.mark.parametrize("below", [1e-2, 1e-4, 1e-6])
def test_a_risk_that_falls_below_and_rises_again_within_a_step(rtol, below) -> None:
    """A student that is too long shrinks through the teacher's length, by weight decay beyond it: J = 0.8 + 2.2 exp(-alpha/4), the
    risk is (J - 1)^2 and ends at 0.04. Also where the threshold is a function."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        training=sv.Training(learning_rate=0.1, weight_decay=0.5),
    )
    start = sv.start(problem, student_overlap=[[9.0]], cross_overlap=[[3.0]])
    exact = -4 * np.log((0.2 + np.sqrt(below)) / 2.2)
    for stop in (sv.when("risk", below=below), sv.when(lambda o: (o.cross_overlap[0, 0] - 1) ** 2, below=below)):
        run = sv.run(problem, start, sv.Macro(rtol=rtol, small_rate=True), times=[200.0], stop=stop)
        assert run.ending == [sv.results.Ending.STOPPED]
        assert run.end_time[0] == pytest.approx(exact, abs=100 * rtol / np.sqrt(below))


def test_a_risk_that_jumps_below_stops_at_the_jump() -> None:
    """Half the eigenvalue halves the risk at once; then the student moves to where it is higher than before."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=(sv.Schedule(times=(0, 50), values=(1.0, 0.5)),))),
        training=sv.Training(learning_rate=0.1, weight_decay=0.5),
    )
    start = sv.start(problem, student_overlap=[[0.64]], cross_overlap=[[0.8]])
    run = sv.run(problem, start, sv.Macro(small_rate=True), times=[20, 200], stop=sv.when("risk", below=0.03))
    assert run.ending == [sv.results.Ending.STOPPED]
    assert run.end_time[0] == 50.0
    assert run.last().cross_overlap[0, 0] == pytest.approx(0.8, rel=1e-9)
    last = sv.run(problem, start, sv.Macro(small_rate=True), times=[20, 50], stop=sv.when("risk", below=0.03))
    assert last.ending == [sv.results.Ending.STOPPED]
    assert last.risk[0, -1] <= 0.03


def test_entries_are_checked() -> None:
    for wrong in (
        {"quantity": "risk", "entry": 0},
        {"quantity": "norm", "entry": (0, 1)},
        {"quantity": "readout", "entry": -1},
    ):
        with pytest.raises(ValueError, match="when: entry"):
            sv.when(wrong["quantity"], above=0.1, entry=wrong["entry"])
    with pytest.raises(ValueError, match=r"stop: entry \(0, 2\)"):
        sv.run(PROBLEM, START, sv.Macro(), until=1, stop=sv.when("cross_overlap", above=0.1, entry=(0, 2)))
    with pytest.raises(ValueError, match="must be one of risk, cross_overlap, student_overlap, norm, readout"):
        sv.when("overlap", above=0.1)


def test_what_a_level_cannot_mean_is_refused() -> None:
    negative = sv.start(PROBLEM, student_overlap=np.eye(3), cross_overlap=-0.1 * np.eye(3, 2))
    signed = sv.when("cross_overlap", above=2, relative=True, entry=(0, 0))
    with pytest.raises(ValueError, match="relative to the first cross_overlap"):
        sv.run(PROBLEM, negative, sv.Macro(), until=1, stop=signed)
    with pytest.raises(ValueError, match="whole numbers"):
        sv.when("cross_overlap", above=0.1, entry=(0.7, 1.0))
    for nothing in (lambda _: None, lambda _: np.nan, lambda state: state.student_overlap):
        with pytest.raises(ValueError, match="must return a number"):
            sv.run(PROBLEM, START, sv.Macro(), until=1, stop=sv.when(nothing, above=1))


def test_a_file_keeps_the_entry(tmp_path) -> None:
    stop = sv.when("cross_overlap", below=-0.2, entry=(0, 1))
    run = sv.run(PROBLEM, START, sv.Macro(), until=1, stop=stop)
    run.save(tmp_path / "run.nc")
    assert sv.Trajectory.load(tmp_path / "run.nc").stop == stop


def test_a_run_file_names_the_entry(tmp_path) -> None:
    from solvable.runfiles.runfile import StopTable

    assert StopTable(quantity="norm", above=2.0, entry=1).threshold() == sv.when("norm", above=2.0, entry=1)
    table = StopTable.from_mapping({"quantity": "cross_overlap", "above": 0.5, "entry": [1, 0]})
    assert table.threshold().entry == (1, 0)
