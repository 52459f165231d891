"""Students and teachers that start equal to the bit: the limit keeps them so."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics import equal_units
from solvable.dynamics.equal_units import orbits_of
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import pack
from solvable.dynamics.orbit_averages import Equalised, equalised, rhs_of_orbits
from solvable.macro import integration

PAIRED = [[0.3, 0.1], [0.1, 0.3]]  # each student nearer to a teacher of its own
ALIKE = [[0.1, 0.1], [0.1, 0.1]]


def problem_of(activation: str = "erf", width: int = 2, teachers: int = 2, **settings: object) -> sv.Problem:
    training = settings.pop("training", {})
    student = {"width": width, "activation": activation, **settings.pop("student", {})}
    return sv.Problem(
        teacher=sv.Teacher(width=teachers, activation=activation, **settings.pop("teacher", {})),
        student=sv.Student(**student),
        training=sv.Training(**{"learning_rate": 0.5, "loss_factor": 0.5} | training),
        **settings,
    )


def start_of(problem: sv.Problem, cross: list[list[float]], norm: float = 0.3, overlap: float = 0.05) -> sv.Overlaps:
    Q = sv.overlaps.gram(problem.student.width, norm=norm, overlap=overlap)
    return sv.start(problem, student_overlap=Q, cross_overlap=cross)


def test_orbits_of_students_that_are_alike() -> None:
    problem = problem_of()
    found = orbits_of(problem, start_of(problem, ALIKE))
    assert found.tolist() == [0, 1, 2, 2, 1, 0, 2, 2, 8, 8]  # rows (Q, R) of both students, then readouts


def test_orbits_of_pairs() -> None:
    """Students alone cannot be exchanged, together with their teachers they can."""
    problem = problem_of()
    found = orbits_of(problem, start_of(problem, PAIRED))
    assert found.tolist() == [0, 1, 2, 3, 1, 0, 3, 2, 8, 8]
    unequal = problem_of(teacher={"readout": (1.0, 0.5)})
    assert orbits_of(unequal, start_of(unequal, PAIRED)) is None
    learning = problem_of(student={"readout": (1.0, 0.5)})
    assert orbits_of(learning, start_of(learning, PAIRED)) is None


def test_two_students_for_each_teacher() -> None:
    problem = problem_of(width=4)
    start = start_of(problem, [[0.3, 0.1], [0.3, 0.1], [0.1, 0.3], [0.1, 0.3]])
    found = orbits_of(problem, start)[:24].reshape(4, 6)
    assert np.unique(found[:, :4]).size == 3  # norms, overlaps of students with the same teacher, and of others
    assert np.unique(found[:, 4:]).size == 2
    ring = (
        np.array([[4, 1, 0, 1], [1, 4, 1, 0], [0, 1, 4, 1], [1, 0, 1, 4]]) / 10
    )  # no two can be exchanged, all can turn
    one = problem_of(width=4, teachers=1)
    turned = orbits_of(one, sv.start(one, student_overlap=ring, cross_overlap=[[0.1]] * 4))[:20].reshape(4, 5)
    assert [np.unique(turned[ring_is]).size for ring_is in (ring_mask(ring, x) for x in (0.4, 0.1, 0.0))] == [1, 1, 1]


def ring_mask(ring: np.ndarray, value: float) -> np.ndarray:
    return np.concatenate([ring == value, np.zeros((4, 1), dtype=bool)], axis=1)


def test_a_start_without_symmetry_has_none() -> None:
    problem = problem_of(width=5, teachers=3, inputs=sv.Inputs(dim=500))
    for seed in range(5):
        assert orbits_of(problem, sv.start(problem, seed=seed)) is None
    nearly = np.array(ALIKE)
    nearly[0, 0] = np.nextafter(0.1, 1)
    one = problem_of(teachers=1)
    assert orbits_of(one, start_of(one, nearly[:, :1].tolist())) is None


def test_too_many_trials_are_given_up(monkeypatch) -> None:
    problem = problem_of()
    monkeypatch.setattr(equal_units, "TRIALS", 0)
    assert orbits_of(problem, start_of(problem, PAIRED)) is None
    assert orbits_of(problem, start_of(problem, ALIKE)) is not None  # students alone need none


def parted(run: sv.Trajectory) -> float:
    """The largest difference of what a symmetric start of two students and two teachers has equal."""
    Q, R = run.student_overlap[0], run.cross_overlap[0]
    return max(np.abs(Q[:, 0, 0] - Q[:, 1, 1]).max(), np.abs(R - R[:, ::-1, ::-1]).max())


@pytest.mark.parametrize(
    ("activation", "rate", "until"), [("erf", 0.5, 5000), pytest.param("tanh", 0.02, 20_000, marks=pytest.mark.full)]
)
def test_a_plateau_is_not_left(activation: str, rate: float, until: float) -> None:
    problem = problem_of(activation, training={"learning_rate": rate})
    run = sv.run(problem, start_of(problem, ALIKE), sv.Macro(rtol=1e-8), until=until)
    R = run.cross_overlap[0]
    assert np.array_equal(R, R[:, ::-1, :])
    assert np.array_equal(R, R[:, :, ::-1])
    assert parted(run) == 0
    assert run.risk[0, -1] == pytest.approx(run.risk[0, len(run.time) // 2], rel=0.05)
    assert run.risk[0, -1] > 2e-3


def test_python_and_machine_code_average_alike() -> None:
    problem = problem_of("tanh")
    start = start_of(problem, PAIRED)
    one = system(problem, pack(problem, start), 256)
    work = one.workspace()
    packed = equalised(one.packed, orbits_of(problem, start))
    kernel = Equalised(one.rhs, rhs_of_orbits, packed.numbers)
    data, slopes = packed.data(work), np.empty((2, packed.state.size))
    kernel(0, 0.0, packed.state, slopes[0], *data)
    assert kernel.address == rhs_of_orbits.address
    rhs_of_orbits(0, 0.0, packed.state, slopes[1], *data)
    assert np.array_equal(*slopes)
    one.rhs(0, 0.0, packed.state, plain := np.empty(packed.state.size), *data)
    assert not np.array_equal(plain, slopes[0])  # nodes part the students
    assert plain == pytest.approx(slopes[0], rel=0.1)


SETTINGS = {
    "pairs of erf": {},
    "relu": {"activation": "relu", "training": {"learning_rate": 0.1}},
    "tanh": {"activation": "tanh"},
    "trained readouts": {"training": {"train_readout": True}},
    "two blocks": {"inputs": sv.Inputs(spectrum=sv.Spectrum(eigenvalues=(0.5, 1.5)))},
    "sphere": {"student": {"norm": "sphere"}},
    "momentum of readouts": {
        "training": {"momentum": sv.Momentum(kappa=0.5), "train_readout": True, "learning_rate": 0.2}
    },
    "anchor": {"training": {"anchor": 0.1}},
    "average": {"training": {"average": sv.problems.Average(rate=0.3)}},
    "snapshot": {"training": {"snapshot": 1.0, "anchor": 0.1}},
    "dropout": {"training": {"dropout": sv.problems.Dropout(keep=0.8)}},
    "product": {"activation": "quadratic", "teacher": {"target": "product"}, "training": {"learning_rate": 0.02}},
}


@pytest.mark.full
@pytest.mark.parametrize("name", SETTINGS)
def test_averages_change_nothing_but_rounding(name: str, monkeypatch) -> None:
    """What is averaged is equal anyway: every exchange is one of the equations."""
    problem = problem_of(
        **{key: dict(value) if isinstance(value, dict) else value for key, value in SETTINGS[name].items()}
    )
    start = start_of(problem, ALIKE if problem.features else PAIRED, norm=1.0 if name == "sphere" else 0.3)
    assert orbits_of(problem, start) is not None
    level = sv.Macro(rtol=1e-10)
    run = sv.run(problem, start, level, until=3)
    monkeypatch.setattr(integration, "orbits_of", lambda *_: None)
    plain = sv.run(problem, start, level, until=3)
    nodes = 1e-3 if name in ("tanh", "relu", "product") else 1e-9  # averages over nodes part them
    assert run.cross_overlap == pytest.approx(plain.cross_overlap, rel=nodes, abs=nodes)
    assert run.student_overlap == pytest.approx(plain.student_overlap, rel=nodes, abs=nodes)
    assert run.risk == pytest.approx(plain.risk, rel=10 * nodes)
    assert parted(run) == 0


def test_implicit_steps_keep_it_too() -> None:
    problem = problem_of(inputs=sv.Inputs(spectrum=sv.Spectrum(eigenvalues=(0.5, 1.0, 1.5))))
    start = start_of(problem, ALIKE)
    run, other = (sv.run(problem, start, sv.Macro(method=name), until=500) for name in ("implicit", "explicit"))
    assert parted(run) == parted(other) == 0
    assert run.risk == pytest.approx(other.risk, rel=1e-5)


def test_weights_are_refused() -> None:
    problem = problem_of(inputs=sv.Inputs(dim=30))
    start = start_of(problem, ALIKE)
    with pytest.raises(ValueError, match="weights keep only up to rounding"):
        sv.run(problem, start, sv.Macro(method="weights", small_rate=True), until=1)
