"""Averages of any unit, loss and target: compiled, as plain Python, and in NumPy."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics.averages import rhs_of_pairs, rhs_of_polynomials, rhs_on_nodes
from solvable.dynamics.exactness import rule_for
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack
from solvable.dynamics.python_moments import general_moments
from solvable.numerics.interpreting import interpreted

SOFTPLUS = sv.Activation("softplus", lambda z: np.logaddexp(0, z), lambda z: 1 / (1 + np.exp(-z)))
BENT = sv.Activation("bent", lambda z: np.maximum(z, 0.2 * z), lambda z: np.where(z > 0, 1.0, 0.2))
CASES = {
    "softplus, relu": ({"activation": SOFTPLUS}, {"activation": "relu"}, {}, rhs_of_pairs),
    "bent, tanh": ({"activation": BENT}, {"activation": "tanh"}, {}, rhs_of_pairs),
    "relu log-cosh": ({"activation": "relu"}, {"activation": BENT}, {"loss": "log-cosh"}, rhs_on_nodes),
    "bent product": ({"activation": BENT}, {"target": "product"}, {}, rhs_on_nodes),
    "tanh log-cosh": ({"activation": "tanh"}, {"activation": "erf"}, {"loss": "log-cosh"}, rhs_on_nodes),
    "cubic, linear": (
        {"activation": sv.problems.Hermite(coefficients=(0, 1, 0.5, 0.3))}, {"activation": "linear"}, {}, rhs_of_polynomials,
    ),
}  # fmt: skip


def problem(name) -> tuple[sv.Problem, sv.Overlaps]:
    student, teacher, training, _ = CASES[name]
    one = sv.Problem(
        teacher=sv.Teacher(width=2, readout="unit", **teacher),
        student=sv.Student(width=2, **student),
        training=sv.Training(learning_rate=0.3, label_noise=0.1, train_readout=True, **training),
    )
    cross = [[0.3, 0.1], [0.0, 0.2]]
    return one, sv.start(one, student_overlap=[[1.2, 0.4], [0.4, 0.7]], cross_overlap=cross)


@pytest.mark.parametrize("name", [name for name in CASES if name not in ("tanh log-cosh", "cubic, linear")])
def test_compiled_moments_equal_those_in_numpy(name) -> None:
    """On the same nodes: S, and by Stein's lemma D, to the accuracy of tables; pairs to that of the panels in NumPy."""
    one, start = problem(name)
    C = sv.dynamics.field_covariance(one, start)
    found = sv.dynamics.moments(C, one, nodes=2**10, seed=3)
    numpy = general_moments(C, one, one.student.readout_values, rule_for(one, 2**10, 3))
    additive = one.teacher.target == "additive"
    for got, there in zip(found, numpy, strict=True):
        size = np.abs(there).max()
        risk_by_pairs = np.ndim(there) == 0 and additive and one.training.loss != "squared"
        assert got == pytest.approx(there, abs=1e-5 * size if not risk_by_pairs else 0.05 * size)
    assert found.noise == pytest.approx(numpy.noise, rel=1e-9)


@pytest.mark.parametrize("number", [2, 3, 4])
def test_slopes_scatter_less_than_the_lemma(number) -> None:
    """D of log-cosh by slopes is at least three times nearer to that of many nodes than by Stein's lemma, on random covariances."""
    one, _ = problem("tanh log-cosh")
    factor = np.random.default_rng(number).standard_normal((4, 4))
    C, a = factor @ factor.T / 4, one.student.readout_values
    exact = sv.dynamics.moments(C, one, nodes=2**16).drift
    by_slopes = [np.abs(sv.dynamics.moments(C, one, nodes=2**12, seed=i).drift - exact).max() for i in range(1, 4)]
    by_lemma = [np.abs(general_moments(C, one, a, rule_for(one, 2**12, i)).drift - exact).max() for i in range(1, 4)]
    assert np.mean(by_slopes) < np.mean(by_lemma) / 3


@pytest.mark.parametrize("name", CASES)
def test_kernels_are_plain_python_too(name) -> None:
    one, start = problem(name)
    made = system(one, pack(one, start), 128)
    assert made.rhs is CASES[name][3]
    for kernel, size in ((made.rhs, made.packed.state.size), (made.observe, 2)):
        compiled, plain = np.zeros(size), np.zeros(size)
        kernel(0, 0.0, made.packed.state, compiled, *made.data())
        with np.errstate(all="ignore"):
            interpreted(kernel)(0, 0.0, made.packed.state, plain, *made.data())
        assert plain == pytest.approx(compiled, rel=1e-9, abs=1e-12)


def test_large_fields_leave_the_table() -> None:
    """A unit whose table ends at 100: compiled code says NaN beyond it, and the run ends as diverged."""
    sine = sv.Activation("sine", np.sin, np.cos)
    one = sv.Problem(
        teacher=sv.Teacher(width=1, activation=sine), student=sv.Student(width=1, activation=sine),
        training=sv.Training(learning_rate=0.1),
    )  # fmt: skip
    assert np.isnan(sv.dynamics.moments(400.0 * np.eye(2), one).risk)
    assert np.isfinite(sv.dynamics.moments(40.0 * np.eye(2), one).risk)
