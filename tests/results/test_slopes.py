"""Slopes of learning curves from the equations, against differences of close outputs."""

import numpy as np
import pytest

import solvable as sv
from solvable.results.slopes import log_slopes

SPREAD = sv.Inputs(dim=500, spectrum=sv.Spectrum(eigenvalues=(0.5, 1.5)))


def problem_of(activation: str = "erf", inputs: sv.Inputs | None = None, **training: object) -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation=activation),
        student=sv.Student(width=3, activation=activation),
        inputs=inputs or sv.Inputs(dim=500),
        training=sv.Training(**{"learning_rate": 0.2} | training),
    )


def differences(run: sv.Trajectory, number: int = 0) -> np.ndarray:
    return np.gradient(np.log(run.risk[number]), run.time, edge_order=2)


CASES = {
    "erf": (problem_of(), {}, 1e-4),
    "quadratic": (problem_of("quadratic", learning_rate=0.05), {}, 1e-4),
    "rates that change": (
        problem_of(learning_rate=sv.Schedule(times=(0, 20), rates=(0.2, 0.5), shape="linear")),
        {},
        1e-4,
    ),
    "another clock": (problem_of(), {"clock": "rate"}, 1e-4),
    "kept blocks": (problem_of(inputs=SPREAD), {"keep_blocks": True}, 1e-4),
    "averages over nodes": (problem_of("tanh"), {}, 2e-2),
}


@pytest.mark.parametrize("name", CASES)
def test_slopes_are_those_of_the_curve(name: str) -> None:
    problem, options, tolerance = CASES[name]
    run = sv.run(problem, sv.start(problem, seed=0), sv.Macro(), times=np.linspace(0, 10, 2001), **options)
    found, expected = log_slopes(run, 0), differences(run)
    assert found[1:-1] == pytest.approx(expected[1:-1], abs=tolerance * np.abs(expected).max())


def test_each_run_of_a_batch_has_its_rate() -> None:
    problem = problem_of()
    batch = sv.levels.run_batch(
        problem, sv.start(problem, seed=0), sv.Macro(), times=np.linspace(0, 10, 2001), learning_rates=[0.1, 0.3]
    )
    for run in range(2):
        assert log_slopes(batch, run)[1:-1] == pytest.approx(differences(batch, run)[1:-1], abs=1e-4)


def test_there_are_none_where_outputs_are_no_states() -> None:
    spread = problem_of(inputs=SPREAD)
    assert log_slopes(sv.run(spread, sv.start(spread, seed=0), sv.Macro(), until=5), 0) is None
    plain = problem_of()
    assert log_slopes(sv.run(plain, sv.start(plain, seed=0), sv.Micro(), until=5, progress=False), 0) is None
    momentum = problem_of(momentum=sv.Momentum(kappa=1.0))
    assert log_slopes(sv.run(momentum, sv.start(momentum, seed=0), sv.Macro(), until=5), 0) is None
