"""The mode reduction against the overlaps' equations at any rate, and where it does not hold."""

import math

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.modes import flow_modes, reduce_to_modes
from solvable.dynamics.quadratic_flow import flow_overlaps

REFERENCE = sv.Macro(rtol=1e-11)
ALPHA = np.linspace(0, 300, 13)


def setting(p=6, q=3, rate=0.2, **training) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=q),
        student=sv.Student(width=p),
        inputs=sv.Inputs(dim=100),
        training=sv.Training(learning_rate=rate, **training),
    )


def commuting(problem, singular_values, norms, seed=0):
    """A start with these singular values and norms, in random frames."""
    random = np.random.default_rng(seed)
    p, q = problem.student.width, problem.teacher.width
    U, V = (np.linalg.qr(random.standard_normal((size, size)))[0] for size in (p, q))
    s = np.zeros((p, q))
    np.fill_diagonal(s, singular_values)
    return sv.start(problem, student_overlap=U * norms @ U.T, cross_overlap=U @ s @ V.T)


def assert_agree(problem, start, alpha=ALPHA) -> None:
    flow, run = flow_modes(problem, start, alpha), sv.run(problem, start, REFERENCE, times=alpha)
    assert flow.rotation_free
    assert flow.risk == pytest.approx(run.risk[0], rel=1e-8, abs=1e-10)
    assert flow.student_overlap == pytest.approx(run.student_overlap[0], abs=1e-9)
    assert flow.cross_overlap == pytest.approx(run.cross_overlap[0], abs=1e-9)


@pytest.mark.parametrize(
    ("p", "q", "rate"), [(6, 3, 0.01), (6, 3, 0.6), (3, 3, 0.2), (2, 3, 0.1), (4, 1, 0.2), (1, 1, 0.05)]
)
def test_orthogonal_students_at_any_rate(p, q, rate) -> None:
    problem = setting(p, q, rate)
    start = sv.start(problem, seed=0, students="orthogonal", scale=0.8, cross=0.02)
    assert_agree(problem, start, ALPHA * 0.1 / rate)


@pytest.mark.parametrize(
    "training",
    [
        {"label_noise": 0.3},
        {"batch": 4},
        {"weight_decay": 0.05},
        {"loss_factor": 0.5, "label_noise": 0.2, "batch": 3, "weight_decay": 0.02},
        {"rate": sv.Schedule(times=(0, 20, 60, 100, 400), rates=(0.1, 0.4, 0.0, 0.2, 0.1))},
        {"rate": sv.Schedule(times=(0, 3, 60), rates=(0.01, 0.5, 0.1), shape="linear")},
    ],
    ids=["noise", "batch", "decay", "all", "steps", "linear"],
)
def test_every_rule(training) -> None:
    problem = setting(**training)
    assert_agree(problem, sv.start(problem, seed=1, students="orthogonal", cross=0.05))


@pytest.mark.parametrize(
    ("p", "q", "singular_values", "norms"),
    [
        (5, 3, (0.3, 0.2, 0.1), (1.0, 0.5, 0.8, 0.2, 1.2)),
        (5, 3, (0.2, 0.2, 0.2), (1.0, 0.5, 0.8, 0.2, 0.2)),  # degenerate: the norms decide the frame
        (5, 3, (0.3, 0.0, 0.0), (1.0, 0.5, 0.8, 0.2, 0.0)),
        (2, 3, (0.3, 0.1), (1.0, 0.5)),
        (4, 3, (0.5, 0.4, 0.3), (0.25, 0.16, 0.09, 0.0)),  # within the teachers' span
        (3, 2, (0.0, 0.0), (1.0, 1.0, 0.5)),
    ],
)
def test_any_start_that_commutes(p, q, singular_values, norms) -> None:
    problem = setting(p, q)
    start = commuting(problem, singular_values, norms)
    modes = reduce_to_modes(problem, start)
    U, V, s = modes.student_frame, modes.teacher_frame, modes.singular_values
    assert s == pytest.approx([value for value in singular_values if value], abs=1e-14)
    assert U * modes.norms @ U.T == pytest.approx(start.student_overlap, abs=1e-13)
    assert U[:, : s.size] * s @ V.T == pytest.approx(start.cross_overlap, abs=1e-13)
    assert pytest.approx(np.eye(p), abs=1e-13) == U.T @ U
    assert pytest.approx(np.eye(s.size), abs=1e-13) == V.T @ V
    assert_agree(problem, start, ALPHA[:4])


def test_small_rate_is_the_closed_flow() -> None:
    problem = setting(rate=0.1, loss_factor=0.5)
    start = commuting(problem, (0.1, 0.05, 1e-4), (1.0, 0.9, 0.8, 0.7, 0.6, 0.5))
    modes, flow = flow_modes(problem, start, ALPHA, small_rate=True), flow_overlaps(problem, start, ALPHA)
    assert modes.risk == pytest.approx(flow.risk, rel=1e-10)
    assert modes.student_overlap == pytest.approx(flow.student_overlap, abs=1e-11)
    assert modes.cross_overlap == pytest.approx(flow.cross_overlap, abs=1e-11)
    assert np.abs(flow_modes(problem, start, ALPHA).risk - flow.risk).max() > 1e-3


def test_plateau_without_overlap() -> None:
    """No cross overlap: all students settle at equal norms, the lower root of
    2 h a x^2 - (1 + 4 h) x + 1 + 2 h (1 + 2/p*), with h = rate/p, a = (p + 4)/(p + 2) and x = q (p + 2)/p."""
    p, q, rate = 6, 3, 0.3
    problem = setting(p, q, rate)
    flow = flow_modes(problem, sv.start(problem, student_overlap=np.diag([1.0, 1, 1, 0.5, 0.5, 2])), [2000.0])
    h, a = rate / p, (p + 4) / (p + 2)
    x = min(np.roots([2 * h * a, -(1 + 4 * h), 1 + 2 * h * (1 + 2 / q)]))
    assert flow.student_overlap[0] == pytest.approx(x * p / (p + 2) * np.eye(p), abs=1e-10)
    assert not flow.cross_overlap.any()


def test_divergence_is_told_with_its_time() -> None:
    """Three times the limit p p* / (4 (p* + 2)) of stable solutions."""
    problem = setting(rate=2.7)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    run = sv.run(problem, start, REFERENCE, times=[300.0])
    assert run.ending == [sv.results.Ending.DIVERGED]
    with pytest.raises(RuntimeError, match="diverge: lower the learning rate") as error:
        flow_modes(problem, start, [300.0])
    told = float(str(error.value).split()[2])
    assert math.isclose(told, run.end_alpha[0], rel_tol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"training__train_readout": True}, "training.train_readout"),
        ({"student__norm": "sphere"}, "student.norm"),
        ({"student__readout": "sqrt"}, "student.readout"),
        ({"student__activation": "erf", "teacher__activation": "erf"}, "student.activation"),
        ({"inputs__spectrum": sv.Spectrum(eigenvalues=(1.0, 2.0))}, "inputs.spectrum"),
        ({"teacher__overlap": np.diag([1.0, 1.0, 2.0])}, "teacher_overlap: is not orthonormal but differs by 1"),
    ],
)
def test_refused_problems(quadratic: sv.Problem, changes, message) -> None:
    problem = quadratic.replace(**changes)
    start = sv.start(problem, seed=0, students="orthogonal", cross=0.01)
    with pytest.raises(ValueError, match=message):
        flow_modes(problem, start, [1.0])


def test_refused_starts_and_times(quadratic: sv.Problem) -> None:
    with pytest.raises(ValueError, match="student_overlap: does not commute with cross_overlap"):
        reduce_to_modes(quadratic, sv.start(quadratic, seed=0))
    nearly = np.eye(6)
    nearly[0, 5] = nearly[5, 0] = 1e-6
    with pytest.raises(ValueError, match="does not commute"):
        reduce_to_modes(quadratic, sv.start(quadratic, student_overlap=nearly, cross_overlap=0.01 * np.eye(6, 3)))
    equal = sv.start(quadratic, seed=0, students="orthogonal")
    with pytest.raises(ValueError, match="alpha: must be finite"):
        flow_modes(quadratic, equal, [2.0, 1.0])
    other = sv.start(quadratic.replace(student__readout="sqrt"), seed=0, students="orthogonal")
    with pytest.raises(ValueError, match="readout: "):
        flow_modes(quadratic, other, [1.0])
