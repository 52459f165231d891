"""Why a training differs from theory: each cause is found where it is the only one."""

import numpy as np
import pytest

import solvable as sv
from seeds import seed

DIM, STEPS = 60, np.array([0, 60, 300, 1200, 3000])


def problem(rate=0.3, inputs=None):
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation="erf", overlap="sampled"),
        student=sv.Student(width=1, activation="erf"),
        inputs=inputs or sv.Inputs(dim=DIM),
        training=sv.Training(learning_rate=rate, loss_factor=0.5),
    )


def trained(of, rows, rate, basis=None):
    """SGD in NumPy on rows drawn with replacement, as a log of weights."""
    from scipy.special import erf

    random = np.random.default_rng(seed(3))
    w, w_star = random.standard_normal((2, 1, DIM))
    w = w_star + 0.5 * w
    log = sv.results.WeightLog(STEPS)
    for step in range(STEPS[-1] + 1):
        log(step, w)
        x = rows[random.integers(len(rows))] / DIM**0.5
        field = w @ x
        error = erf(field / 2**0.5) - erf(w_star @ x / 2**0.5)
        w = w - rate * (error * np.sqrt(2 / np.pi) * np.exp(-(field**2) / 2))[:, None] * x
    return log.trajectory(of, w_star, basis=basis)


def gaussian_rows():
    return np.random.default_rng(seed(4)).standard_normal((20_000, DIM))


@pytest.mark.statistical
def test_what_follows_theory_shows_no_mismatch_of_its_own():
    found = sv.checks.mismatch(trained(problem(), gaussian_rows(), 0.3), seed=seed(0))
    assert not found.clear("training", 6.0)
    assert "inputs" not in found.changes
    assert "Gaussian inputs to the training" in str(found)


@pytest.mark.statistical
def test_a_training_with_another_rate_is_found():
    found = sv.checks.mismatch(trained(problem(), gaussian_rows(), 1.2))
    assert found.largest == "training"
    assert found.clear("training")


@pytest.mark.statistical
def test_inputs_that_are_not_gaussian_are_found():
    random = np.random.default_rng(seed(5))
    rows = gaussian_rows() * np.exp(0.6 * random.standard_normal((20_000, 1)))
    data = sv.Data(rows)
    of = problem(inputs=data.inputs)
    found = sv.checks.mismatch(trained(of, data.prepared(data.rows), 0.3, data.basis), data)
    assert found.clear("inputs")
    assert np.abs(found.changes["inputs"]).max() > 3 * np.abs(found.changes["size"]).max()
    assert not found.clear("training", 6.0)


@pytest.mark.statistical
def test_a_large_rate_shows_beside_gradient_flow():
    found = sv.checks.mismatch(trained(problem(3.0), gaussian_rows(), 3.0))
    assert found.largest == "rate"


def test_what_it_needs_is_told():
    of = problem()
    late = sv.run(of, sv.start(of, seed=0), sv.Macro(), times=[1.0, 2.0])
    with pytest.raises(ValueError, match="mismatch: needs a trajectory that begins at time 0"):
        sv.checks.mismatch(late)
    with pytest.raises(ValueError, match="runs: 1 given"):
        sv.checks.mismatch(sv.run(of, sv.start(of, seed=0), sv.Macro(), until=1, keep_blocks=True), runs=1)
