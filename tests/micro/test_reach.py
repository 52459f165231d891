"""Looks that are left out: no run can have passed its threshold meanwhile."""

from types import SimpleNamespace

import numpy as np
import pytest

import solvable as sv
from seeds import seed
from solvable.dynamics.equations import total
from solvable.dynamics.python_kernels import in_python
from solvable.gaussian.units import TABULATED
from solvable.micro.reach import of_overlaps, of_risk, steepness


def _bump(z):
    return 0.5 * np.exp(-((z - 0.55) ** 2) / 0.0018)


WIGGLE = sv.Activation("wiggle", lambda z: z + 0.5 * np.sin(2 * z), lambda z: 1 + np.cos(2 * z))
UNITS = {
    "linear": "linear", "quadratic": "quadratic", "erf": "erf", "relu": "relu", "tanh": "tanh",
    "hermite": sv.problems.Hermite(coefficients=(0.1, 1.0, 0.5, 0.3)), "own": WIGGLE,
}  # fmt: skip
ROUGH = {  # between the nodes of a rule
    "steep": sv.Activation("steep", lambda z: np.tanh(30 * z), lambda z: 30 * (1 - np.tanh(30 * z) ** 2)),
    "bump": sv.Activation("bump", lambda z: z + _bump(z), lambda z: 1 - (z - 0.55) / 0.0009 * _bump(z)),
}


def problem_of(unit, p=3, q=2, **fields):
    return sv.Problem(
        teacher=sv.Teacher(width=q, activation=unit, overlap="sampled"),
        student=sv.Student(width=p, activation=unit),
        inputs=sv.Inputs(dim=320, **fields),
        training=sv.Training(learning_rate=0.2, loss_factor=0.5),
    )


@pytest.mark.statistical
@pytest.mark.parametrize(
    ("unit", "quantity", "blocks"),
    [
        *((unit, "risk", 1) for unit in (*UNITS, *ROUGH)),
        ("erf", "risk", 2), ("erf", "cross_overlap", 1), ("erf", "norm", 2), ("erf", "student_overlap", 1),
    ],
)  # fmt: skip
def test_runs_stop_at_the_first_look_past_the_level(unit, quantity, blocks):
    """As a run without a threshold says that has an output at every look, from the same stream."""
    spectrum = {} if blocks == 1 else {"spectrum": sv.Spectrum(eigenvalues=(0.2, 1.8), weights=(0.5, 0.5))}
    problem, (runs, last) = problem_of((UNITS | ROUGH)[unit], **spectrum), (2, 640) if unit in ROUGH else (6, 1920)
    start, level = sv.start(problem, seed=seed(0)), sv.Micro(runs=runs, seed=seed(1))
    whole = sv.run(problem, start, level, times=np.arange(0, last + 1, 16), clock="steps")
    values = {
        "risk": whole.risk,
        "cross_overlap": np.abs(whole.cross_overlap).max(axis=(2, 3)),
        "norm": np.diagonal(whole.student_overlap, axis1=2, axis2=3).max(axis=2),
        "student_overlap": np.abs(np.tril(whole.student_overlap, -1)).max(axis=(2, 3)),
    }[quantity]
    begin, end = values[:, 0].mean(), values[:, -1].mean()
    limit = 0.5 * (begin + end)
    falls = {"below": limit} if end < begin else {"above": limit}
    stopped = sv.run(problem, start, level, times=[last], clock="steps", stop=sv.when(quantity, **falls))
    for run in range(runs):
        past = values[run] <= limit if end < begin else values[run] >= limit
        assert past.any() == (stopped.ending[run] is sv.results.Ending.STOPPED)
        if past.any():
            assert stopped.end_time[run] == 16 * np.argmax(past)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("width", [1, 3])
def test_no_step_within_reach_passes_the_level(unit, width):
    """Random steps and steps along the slope of the risk, of the length that is allowed."""
    problem, random = problem_of(UNITS[unit], width, width), np.random.default_rng(seed(2))
    steep, a = steepness(problem), problem.student.readout_values
    kind = TABULATED if unit == "own" else -1
    for size in (0.1, 0.5):
        teachers = size * random.standard_normal((width, 4))
        students = teachers + 0.5 * size * random.standard_normal((width, 4))

        def root(W, teachers=teachers):
            z = np.vstack([W, teachers])
            return np.sqrt(sv.dynamics.moments(z @ z.T, problem).risk)

        slope = np.array([[(root(students + h) - root(students - h)) / 2e-6 for h in row] for row in _steps(students)])
        here = root(students)
        for level in ((0.98 * here) ** 2, (1.02 * here) ** 2):
            form = SimpleNamespace(students=width, unit=kind, loss_factor=problem.training.loss_factor)
            allowed = of_risk.py_func(form, steep, here**2, level, a, students @ students.T)
            assert allowed > 0
            side = np.sign(np.sqrt(level) - here)
            steps = [side * slope, *random.standard_normal((20, width, 4))]
            for step in steps:
                there = root(students + allowed * step / np.linalg.norm(step))
                assert side * (there - np.sqrt(level)) < 0


def _steps(W):
    """(rows, columns) steps of 1e-6 in one coordinate each."""
    return 1e-6 * np.eye(W.size).reshape(*W.shape, *W.shape)


def test_steepest_steps_come_close_to_the_level():
    """Where fields are small and aligned the bound is nearly what happens: it is not merely small."""
    problem = problem_of("erf", 1, 1)
    student, teacher = 0.01, 0.03
    here, there = (
        sv.dynamics.moments(np.outer([w, teacher], [w, teacher]), problem).risk for w in (student, student + 0.0005)
    )
    form = SimpleNamespace(students=1, unit=-1, loss_factor=0.5)
    covariance = np.array([[student**2]])
    found = of_risk.py_func(form, steepness(problem), here, there, np.ones(1), covariance)
    assert found == pytest.approx(0.0005, rel=0.02)


@pytest.mark.parametrize("watched", [1, 2, 3], ids=["cross_overlap", "student_overlap", "norm"])
def test_no_step_within_reach_changes_overlaps_by_more(watched):
    random, look = np.random.default_rng(3), in_python(of_overlaps, total=total.py_func)
    for _ in range(50):
        W, T = random.standard_normal((2, 5)), random.standard_normal((2, 5))
        form = SimpleNamespace(students=2, teachers=2, rows=4, moving=2, blocks=1, watched=watched, teacher_overlaps=0)

        def value(W, T=T):
            Q, R = W @ W.T, W @ T.T
            return {1: np.abs(R).max(), 2: abs(Q[0, 1]), 3: np.diag(Q).max()}[watched]

        level = value(W) * random.uniform(0.5, 1.5)
        y = np.hstack([W @ W.T, W @ T.T]).ravel()
        allowed = 0.999 * look(form, value(W), level, y, (T @ T.T).ravel())
        assert allowed > 0
        side = np.sign(level - value(W))
        steps = [W, -W, W[::-1], -W[::-1], np.sign(W @ T.T) @ T, *random.standard_normal((20, 2, 5))]
        for step in steps:
            assert side * (value(W + allowed * step / np.linalg.norm(step)) - level) < 0


@pytest.mark.parametrize("unit", ["erf", "relu", "tanh", "own", *ROUGH])
def test_no_slope_is_steeper_than_the_bound(unit):
    """Nor much less steep, on places that the bound does not look at."""
    problem = problem_of((UNITS | ROUGH)[unit])
    slopes = np.abs(problem.student.unit.derivative(np.linspace(-40, 40, 400_001)))
    assert slopes.max() <= steepness(problem)[0] < 1.002 * slopes.max()
