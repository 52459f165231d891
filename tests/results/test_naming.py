"""Results under the names that people try: the library's word, the mean squared error, a table of the curves."""

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import solvable as sv

PROBLEM = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
START = sv.start(PROBLEM, seed=0, students="orthogonal", cross=0.1)


@pytest.fixture(scope="module")
def run() -> sv.Trajectory:
    return sv.levels.run_batch(PROBLEM, [START, START], sv.Macro(), until=2)


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("Q", "student_overlap"), ("R", "cross_overlap"), ("M", "cross_overlap"), ("t", "time"), ("times", "time"),
        ("error", "risk"), ("generalisation_error", "risk"), ("student_overlaps", "student_overlap"), ("rsk", "risk"),
        ("train_loss", "training_loss"), ("df", "to_dataframe"),
    ],
)  # fmt: skip
def test_a_trajectory_proposes_its_names(run: sv.Trajectory, name: str, ours: str) -> None:
    assert hasattr(run, ours)
    with pytest.raises(
        AttributeError, match=rf"^'Trajectory' object has no attribute '{name}' \(did you mean {ours}\?\)"
    ):
        getattr(run, name)


@pytest.mark.parametrize("name", ["nonsense_of_no_kind", "_private", "__array_interface__"])
def test_other_names_are_told_plainly(run: sv.Trajectory, name: str) -> None:
    with pytest.raises(AttributeError, match=rf"^'Trajectory' object has no attribute '{name}'$"):
        getattr(run, name)


@pytest.mark.parametrize(
    ("name", "ours"), [("Q", "student_overlap"), ("R", "cross_overlap"), ("T", "teacher_overlap"), ("a", "readout")]
)
def test_overlaps_propose_their_names(name: str, ours: str) -> None:
    with pytest.raises(AttributeError, match=rf"'Overlaps' object has no attribute '{name}' \(did you mean {ours}\?\)"):
        getattr(START, name)


def test_other_results_propose_their_names() -> None:
    best = sv.optimal(PROBLEM, START, until=2, control={"training.learning_rate": 1}, refine=False, guesses=1)
    with pytest.raises(AttributeError, match=r"'Optimum' .* 'fun' \(did you mean value\?\)"):
        best.fun  # noqa: B018
    swept = sv.sweep(PROBLEM, {"training.learning_rate": [0.1]}, until=1, start=START, store=None, workers=0)
    with pytest.raises(AttributeError, match=r"'Swept' .* 'risk' \(did you mean data\?\)"):
        swept.risk  # noqa: B018


def test_an_error_within_a_property_is_told_as_it_is(run: sv.Trajectory, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Any) -> None:
        raise AttributeError("from within")

    monkeypatch.setattr(sv.Trajectory, "time", property(broken))
    with pytest.raises(AttributeError, match=r"^from within$"):
        run.time  # noqa: B018


def test_trajectories_and_starts_are_copied_and_sent(run: sv.Trajectory) -> None:
    for same in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert (same.risk == run.risk).all()
    assert pickle.loads(pickle.dumps(START)) == copy.deepcopy(START) == START


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_mse_is_the_risk_without_its_factor(factor: float) -> None:
    """Against samples, within 5 standard errors."""
    problem = PROBLEM.replace(training__loss_factor=factor)
    run = sv.run(problem, START, sv.Macro(), times=[0.0, 1.0])
    C = sv.dynamics.field_covariance(problem, START)
    z = np.random.default_rng(1).standard_normal((200_000, 3)) @ np.linalg.cholesky(C + 1e-12 * np.eye(3)).T
    squares = ((z[:, :2] ** 2).mean(axis=1) - z[:, 2] ** 2) ** 2
    assert abs(run.mse[0, 0] - squares.mean()) < 5 * squares.std() / np.sqrt(len(squares))


def test_a_table_has_a_row_for_each_run_and_time(run: sv.Trajectory) -> None:
    frame = run.to_dataframe()
    assert frame.index.names == ["run", "time"]
    assert len(frame) == 2 * 201
    assert (frame["risk"].to_numpy().reshape(2, 201) == run.risk).all()
    assert (frame["alpha"].to_numpy() == np.tile(run.alpha, 2)).all()
    assert (frame.loc[1]["cross_overlap.1.0"].to_numpy() == run.cross_overlap[1, :, 1, 0]).all()
    assert (frame.loc[0]["student_overlap.0.1"].to_numpy() == run.student_overlap[0, :, 0, 1]).all()


def test_overlaps_of_many_blocks_fit_on_a_few_lines() -> None:
    problem = PROBLEM.replace(inputs={"dim": 6400, "spectrum": {"beta": 1.0, "distinct": 64}}, student__width=8)
    state = sv.start(problem, seed=0)
    for text in (repr(state), str(state)):
        assert "8 students, 1 teacher, 64 blocks, summed over them" in text
        assert len(text.splitlines()) <= 20
        assert max(map(len, text.splitlines())) <= 100
    assert len(state._repr_html_()) < 20_000
    assert "student_overlap [[1. 0.]\n" in repr(START)


def test_a_run_of_classes_that_gives_up_has_a_message() -> None:
    problem = sv.Problem(
        student=sv.Student(width=2, activation="linear"), inputs=sv.Inputs(dim=100), mixture=sv.Mixture.opposite(1.0),
        training=sv.Training(learning_rate=0.5),
    )  # fmt: skip
    run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(max_steps=3), until=100, progress=False)
    assert "used up max_steps" in run.message
