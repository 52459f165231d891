"""Thresholds of the risk where it has no closed form: exact for polynomials, bounds first for smooth units."""

import numpy as np
import pytest
from scipy.special import expit

import solvable as sv
from solvable.dynamics.averages import HIGHEST, LOWEST, bound_risk
from solvable.dynamics.kernel_choice import is_coarse, observers
from solvable.dynamics.kernel_data import SEEN
from solvable.micro import reduced

SWISH = sv.Activation("swish", lambda z: z * expit(z), lambda z: expit(z) * (1 + z * (1 - expit(z))))
UNITS = ["tanh", SWISH, "relu", sv.problems.Hermite(coefficients=(0, 1, 0.5, 0.3))]


def problem(unit) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit, readout="unit"),
        student=sv.Student(width=2, activation=unit),
        inputs=sv.Inputs(dim=500),
        training=sv.Training(learning_rate=0.1),
    )


@pytest.mark.parametrize("unit", UNITS[:2], ids=["tanh", "swish"])
@pytest.mark.parametrize("size", [0.01, 0.3, 1.0, 4.0, 20.0])
def test_bounds_hold_the_risk(unit, size) -> None:
    """Of a hundred random overlaps, some with a student next to the teacher."""
    one, random = problem(unit), np.random.default_rng(1)
    near = 0
    for number in range(100):
        factor = random.standard_normal((3, 3))
        if number % 3 == 0:
            factor[0] = factor[2] + 0.01 * factor[0]
        C = size * factor @ factor.T / 3
        start = sv.Overlaps(C[None, :2, :2], C[None, :2, 2:], C[None, 2:, 2:], np.array([0.7, 0.4]))
        (found,) = observers(one, start, 2**12)
        assert is_coarse(found)
        seen, bounds, data = np.empty(SEEN), np.empty(SEEN), found.data()
        found.observe(0, 0.0, found.packed.state, seen, *data)
        bound_risk(0, 0.0, found.packed.state, bounds, *data)
        assert bounds[LOWEST] <= seen[0] <= bounds[HIGHEST]
        near += bounds[HIGHEST] - bounds[LOWEST] < 0.2 * seen[0]
    assert near > 60 or size > 1


@pytest.mark.parametrize("unit", UNITS, ids=["tanh", "swish", "relu", "hermite"])
def test_runs_stop_where_the_exact_risk_passes(unit, monkeypatch) -> None:
    """With bounds first, and with exact looks alone: at the same steps, and at risks next to the level."""
    one = problem(unit)
    start = sv.start(one, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    level = 0.6 * float(sv.run(one, start, sv.Macro(), times=[0.0]).risk[0, 0])
    runs = [sv.run(one, start, sv.Micro(runs=4, seed=2), until=30, stop=sv.when("risk", below=level), progress=False)]
    monkeypatch.setattr(reduced, "is_coarse", lambda _: False)
    monkeypatch.setattr(reduced, "LOOK", (25 if runs[0].problem.student.activation in ("tanh", SWISH) else 16, 1000))
    runs.append(
        sv.run(one, start, sv.Micro(runs=4, seed=2), until=30, stop=sv.when("risk", below=level), progress=False)
    )
    assert np.array_equal(runs[0].end_alpha, runs[1].end_alpha)
    assert (runs[0].end_alpha < 30).all()
