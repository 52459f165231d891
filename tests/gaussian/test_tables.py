"""Functions of one's own as tables: as exact as they say, and the same SGD as with the functions themselves."""

import numpy as np
import pytest
from scipy.special import erf, expit

import solvable as sv
from seeds import seed
from solvable.dynamics import reduced_form
from solvable.gaussian.tables import TOLERANCE, evaluate, tabulate

GELU = sv.Activation(
    "gelu",
    lambda z: 0.5 * z * (1 + erf(z / np.sqrt(2))),
    lambda z: 0.5 * (1 + erf(z / np.sqrt(2))) + z * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi),
)
BENT = sv.Activation(
    "bent",
    lambda z: np.where(z > 1, z, 0.1 * z + 0.9) + np.abs(z + 0.3),
    lambda z: np.where(z > 1, 1.0, 0.1) + np.sign(z + 0.3),
)
UNITS = [
    GELU,
    BENT,
    sv.Activation("swish", lambda z: z * expit(z), lambda z: expit(z) * (1 + z * (1 - expit(z)))),
    sv.Activation("softplus", lambda z: np.logaddexp(0, z), expit),
    sv.Activation("sine", np.sin, np.cos),
    sv.Activation("cube", lambda z: z**3, lambda z: 3 * z**2),
    sv.Activation("steep", lambda z: np.tanh(20 * z), lambda z: 20 / np.cosh(np.clip(20 * z, -300, 300)) ** 2),
]
WILD = sv.Activation("wild", lambda z: np.sin(50 * z), lambda z: 50 * np.cos(50 * z))


def found(unit: sv.Activation, z: float) -> tuple[float, float]:
    table = tabulate(unit)
    assert table is not None
    return evaluate(table, 0, z, np.float64(1 + abs(z)).view(np.uint64))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_tables_meet_their_tolerance(unit) -> None:
    random = np.random.default_rng(0)
    places = [0.0, -0.0, 1 - 1e-16, np.nextafter(1, 2), -0.3 - 1e-12, -0.3 + 1e-12, 1e-300, 31.0, 63.0]
    z = np.concatenate([3 * random.standard_normal(2000), random.uniform(-99, 99, 500), places])
    z = z[np.abs(z - 1) > 1e-13] if unit is BENT else z
    values = np.array([found(unit, one) for one in z]).T
    for got, function in zip(values, (unit.function, unit.derivative), strict=True):
        there = function(z)
        assert (np.abs(got - there) <= 10 * TOLERANCE * np.maximum(1, np.abs(there))).all()


def test_beyond_its_ends_a_table_knows_nothing() -> None:
    assert np.isnan(found(UNITS[4], 101.0)).all()
    assert np.isnan(found(GELU, -1.01e6)).all()
    assert np.isnan(found(GELU, np.nan)).all()
    assert np.isfinite(found(GELU, 1e6)).all()


def test_what_no_table_holds_is_called_as_it_is() -> None:
    assert tabulate(WILD) is None
    wild = sv.Problem(
        teacher=sv.Teacher(width=1, activation=WILD),
        student=sv.Student(width=1, activation=WILD),
        inputs=sv.Inputs(dim=20),
        training=sv.Training(learning_rate=0.001),
    )
    assert reduced_form.is_own(wild)
    assert not reduced_form.is_own(wild.replace(teacher__activation=GELU, student__activation="erf"))
    assert sv.run(wild, sv.start(wild, seed=0), sv.Micro(), times=[0.5], progress=False).success


@pytest.mark.parametrize(
    "changes", [{}, {"training__loss": "log-cosh", "training__label_noise": 0.1}, {"training__batch": 3}]
)
def test_sgd_by_tables_is_sgd_by_the_functions(changes, monkeypatch) -> None:
    """The same samples through compiled tables and through the functions themselves, in Python."""
    problem = sv.Problem(
        teacher=sv.Teacher(width=2, activation=BENT),
        student=sv.Student(width=3, activation=GELU),
        inputs=sv.Inputs(dim=50),
        training=sv.Training(learning_rate=0.2),
    ).replace(**changes)
    start, level = sv.start(problem, seed=1), sv.Micro(runs=3, seed=2)
    by_table = sv.run(problem, start, level, times=[2.0], progress=False)
    monkeypatch.setattr(reduced_form, "is_own", lambda _: True)
    by_call = sv.run(problem, start, level, times=[2.0], progress=False)
    assert np.allclose(by_table.student_overlap, by_call.student_overlap, rtol=1e-9)
    assert np.allclose(by_table.cross_overlap, by_call.cross_overlap, rtol=1e-9, atol=1e-12)


@pytest.mark.statistical
@pytest.mark.parametrize("level", ["Micro", "Meso"])
def test_a_table_of_erf_learns_as_erf(level) -> None:
    """A unit of one's own that is erf, beside the built-in one: means of 64 runs within 4.5 standard errors."""
    mine = sv.Activation("mine", lambda z: erf(z / np.sqrt(2)), lambda z: np.sqrt(2 / np.pi) * np.exp(-0.5 * z * z))
    risks = []
    for number, unit in enumerate((mine, "erf")):
        problem = sv.Problem(
            teacher=sv.Teacher(width=1, activation=unit),
            student=sv.Student(width=2, activation=unit),
            inputs=sv.Inputs(dim=200),
            training=sv.Training(learning_rate=0.3),
        )
        start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
        risks.append(
            sv.run(problem, start, getattr(sv, level)(runs=64, seed=seed(number)), times=[3.0], progress=False).risk[
                :, 0
            ]
        )
    error = np.hypot(*(one.std(ddof=1) / 8 for one in risks))
    assert abs(risks[0].mean() - risks[1].mean()) < 4.5 * error
