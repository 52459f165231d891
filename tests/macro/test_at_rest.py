"""What counts as converged: a state that stays where it is, not a plateau that is left later."""

from functools import partial

import numpy as np
import pytest
from scipy.integrate import quad_vec
from scipy.linalg import expm

import solvable as sv
from solvable.macro import integration
from solvable.macro.rest import MOST, alike, integrated_flow, jacobian, leaves, rest_of
from solvable.results import Ending

# the plateau of two erf students and two teachers at rate 1/2: norm, overlap of the students, overlap with each teacher
PLATEAU = 0.34028209, 0.3316883, 0.40949622


@pytest.fixture(scope="module")
def problem() -> sv.Problem:
    return sv.Problem(
        teacher=sv.Teacher(width=2, activation="erf"),
        student=sv.Student(width=2, activation="erf"),
        training=sv.Training(learning_rate=0.5, loss_factor=0.5),
    )


@pytest.fixture(scope="module")
def plateau(problem: sv.Problem) -> np.ndarray:
    """Where symmetric students stay, to rounding: by Newton's method on the equations."""
    x = np.array(PLATEAU)

    def slope(x: np.ndarray) -> np.ndarray:
        found = sv.dynamics.derivative(problem, near(problem, x, 0.0))
        return np.array([*found.student_overlap[0], found.cross_overlap[0, 0]])

    for _ in range(5):
        x = x - np.linalg.solve(jacobian(slope, x), slope(x))
    return x


def near(problem: sv.Problem, x: np.ndarray, difference: float) -> sv.Overlaps:
    norm, together, cross = x
    signs = difference * np.array([[1, -1], [-1, 1]])
    return sv.start(problem, student_overlap=[[norm, together], [together, norm]], cross_overlap=cross + signs)


def test_differences_below_the_tolerance_still_grow(problem, plateau) -> None:
    """The start moves by less than rtol in the whole time if nothing grows; it leaves when a run at a fine tolerance does."""
    start = near(problem, plateau, 1e-11)
    coarse, fine = (sv.run(problem, start, sv.Macro(rtol=rtol), until=20_000) for rtol in (1e-8, 1e-13))
    assert coarse.endings[0] == Ending.FINISHED
    assert coarse.risk[0, -1] < 1e-12
    halves = [np.interp(-0.5, -one.risk[0] / one.risk[0, 0], one.alpha) for one in (coarse, fine)]
    assert halves[0] == pytest.approx(halves[1], rel=1e-3)


def test_symmetric_students_stay(problem, plateau) -> None:
    run = sv.run(problem, near(problem, plateau, 0.0), sv.Macro(), until=20_000)
    assert run.endings[0] == Ending.CONVERGED
    assert run.risk[0, -1] == pytest.approx(run.risk[0, 0], rel=1e-12)


def test_a_floor_of_noise_is_where_runs_converge(problem) -> None:
    noisy = problem.replace(
        teacher=sv.Teacher(width=1, activation="linear"),
        student=sv.Student(width=1, activation="linear"),
        training__label_noise=0.01,
        training__learning_rate=0.2,
    )
    run = sv.run(noisy, sv.start(noisy, student_overlap=[[0.5]], cross_overlap=[[0.3]]), sv.Macro(), until=1000)
    assert run.endings[0] == Ending.CONVERGED
    assert run.risk[0, -1] == pytest.approx(5.5556e-4, rel=1e-4)


def test_only_where_units_are_alike_is_the_rest_looked_at() -> None:
    """Two students, or two teachers of one student; others cannot wait for differences to grow."""
    assert alike(np.array([[0.4, 0.1], [0.4, 0.1 + 1e-6]]))
    assert alike(np.array([[0.4, 0.4 + 1e-6]]))
    assert not alike(np.array([[0.9, 0.1], [0.1, 0.8]]))
    assert not alike(np.array([[0.7]]))


def test_work_counts_both_runs(problem, plateau, monkeypatch) -> None:
    """The one that came to rest, and the one that went on: each is counted alone where the other cannot happen."""
    start = near(problem, plateau, 1e-11)
    both = sv.run(problem, start, sv.Macro(), until=20_000).nfev[0]
    symmetric = sv.run(problem, near(problem, plateau, 0.0), sv.Macro(), until=20_000)
    assert both > symmetric.nfev[0] > 0
    monkeypatch.setattr(integration, "leaves", lambda *_: False)
    rested = sv.run(problem, start, sv.Macro(), until=20_000).nfev[0]
    monkeypatch.setattr(integration, "control", partial(integration.control, rests=False))
    assert both == rested + sv.run(problem, start, sv.Macro(), until=20_000).nfev[0]


def test_what_grows_leaves_if_there_is_time_and_it_is_no_rounding() -> None:
    y = np.array([1.0, 1.0])
    for speed, span, expected in [
        (1e-12, 100.0, True),
        (1e-12, 5.0, False),
        (1e-17, 100.0, False),
        (0.0, 100.0, False),
    ]:
        slope = lambda x, speed=speed: np.array([x[0] - 1.0 + speed, 1.0 - x[1]])
        assert leaves(slope, y, span, 1e-8) is expected, (speed, span)
    assert not leaves(lambda x: x, np.ones(MOST + 1), 100.0, 1e-8)  # too large to look at
    assert not leaves(lambda x: 1.0 - x, y, 100.0, 1e-8)  # stable


def test_overflow_is_growth() -> None:
    assert leaves(lambda x: 10.0 * (x - 1.0) + 1e-9, np.ones(2), 1e6, 1e-8)


def test_the_integrated_flow_is_an_integral() -> None:
    J = np.random.default_rng(0).standard_normal((4, 4))
    expected, _ = quad_vec(lambda s: expm(J * s), 0.0, 2.0, epsabs=1e-12)
    assert integrated_flow(J, 2.0) == pytest.approx(expected, rel=1e-9)


def stiff(**training: object) -> sv.Problem:
    unit = sv.problems.Hermite(coefficients=(0, 1, 1, 0.3, 1))
    return sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit),
        student=sv.Student(width=1, activation=unit, norm="sphere"),
        inputs=sv.Inputs(dim=1000),
        training=sv.Training(learning_rate=1.0, loss="correlation", **training),
    )


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_a_stiff_fixed_point_is_an_end(decay: float) -> None:
    """Slopes of several hundred at the end of learning: explicit steps hover at their stability limit, by their tolerance."""
    problem = stiff(weight_decay=decay)
    run = sv.run(problem, sv.start(problem, seed=1), sv.Macro(small_rate=True, max_steps=5000), until=1e5)
    assert run.endings[0] == Ending.CONVERGED
    assert run.end_time[0] < 100
    assert run.cross_overlap[0, 1:, 0, 0] == pytest.approx(1.0, abs=1e-8)
    assert np.isfinite(run.risk).all()
    assert run.risk[0, -1] < 1e-8 * run.risk[0, 0]


def test_a_look_changes_no_bit_of_a_run_that_moves(monkeypatch) -> None:
    problem = stiff()
    start, level = sv.start(problem, seed=1), sv.Macro(small_rate=True, rtol=1e-12)
    plain = sv.run(problem, start, level, until=0.03)
    monkeypatch.setattr(integration, "LOOK", 3)
    looked_at = sv.run(problem, start, level, until=0.03)
    assert plain.endings[0] == Ending.FINISHED
    assert np.array_equal(looked_at.risk, plain.risk)
    assert np.array_equal(looked_at.cross_overlap, plain.cross_overlap)


def test_dropped_noise_is_no_cause() -> None:
    problem = stiff()
    run = sv.run(problem, sv.start(problem, seed=1), sv.Macro(small_rate=True, max_steps=300), until=1e5)
    assert run.message.startswith(Ending.STEP_LIMIT.text)


def linear(J: list[list[float]], centre: list[float]) -> object:
    return lambda y: np.array(J) @ (y - np.array(centre))


def test_rest_is_where_the_linear_equations_lead() -> None:
    J, centre = [[-1e4, 3.0], [0.0, -2.0]], [1.0, 0.5]
    near, far = np.array([1.0 + 3e-9, 0.5]), np.array([1.0 + 3e-8, 0.5])
    assert rest_of(linear(J, centre), near, 1e5, 1e-8) == pytest.approx(centre, rel=1e-12)
    assert rest_of(linear(J, centre), far, 1e5, 1e-8) is None  # farther away than the tolerance
    slow = [[-1e4, 0.0], [0.0, -1e-4]]
    assert rest_of(linear(slow, centre), np.array([1.0, 0.6]), 1e5, 1e-8) is None  # it moves slowly, and far
    assert rest_of(linear(slow, centre), np.array([1.0, 0.6]), 1e-5, 1e-8) is not None  # not within this time


def test_what_grows_is_not_at_rest() -> None:
    growing = [[-1e4, 0.0], [0.0, 1e-3]]
    assert rest_of(linear(growing, [1.0, 0.0]), np.array([1.0, 1e-300]), 1e5, 1e-8) is None
    assert rest_of(linear(growing, [1.0, 0.0]), np.array([1.0, 1e-300]), 1.0, 1e-8) is not None
    small = np.array([1.0, 1e-10])  # 3 R^2, as of a third Hermite polynomial: small now, and leaves at 1/(3 R)
    cubic = lambda y: np.array([-1e4 * (y[0] - 1.0), 3.0 * y[1] ** 2])
    assert rest_of(cubic, small, 1e9, 1e-8) is None
    assert rest_of(lambda y: np.full(y.size, np.nan), small, 1.0, 1e-8) is None
    assert rest_of(lambda y: -y, np.ones(MOST + 1), 1.0, 1e-8) is None


def test_a_component_that_fades_is_at_rest() -> None:
    fading = linear([[-1e4, 0.0], [0.0, -1e3]], [1.0, 0.0])
    assert rest_of(fading, np.array([1.0, 1e-9]), 1e3, 1e-8) == pytest.approx([1.0, 0.0], abs=1e-12)
    assert rest_of(fading, np.array([1.0, 1e-7]), 1e3, 1e-8) is None
