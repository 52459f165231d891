"""The equations of quadratic units without their moments, against those with them."""

import numpy as np
import pytest

import solvable as sv
from solvable.dynamics import equations
from solvable.dynamics.kernel_choice import System, system
from solvable.dynamics.kernel_data import pack
from solvable.dynamics.quadratic_equations import quadratic_rhs
from solvable.gaussian.closed_forms import for_unit
from solvable.numerics.interpreting import interpreted

SIZES = [(1, 1), (2, 1), (2, 2), (3, 4), (3, 5), (5, 4), (6, 3), (7, 2), (9, 8), (20, 4)]


def problem_of(p: int, q: int, **changes) -> sv.Problem:
    plain = sv.problems.convention("bocchi2026").problem(p=p, p_star=q, eta=0.1, N=1000)
    return plain.replace(**changes)


def both(problem: sv.Problem, seed: int = 0, *, noise: bool = True) -> tuple[System, System, np.ndarray]:
    """Both forms of the equations, and a state."""
    start = sv.start(problem, seed=seed)
    packed = pack(problem, start, noise=noise)
    return system(problem, packed, 1), system(problem, packed, 1, moments=False), packed.state


def slope(one: System, y: np.ndarray, t: float = 0.0, segment: int = 0) -> np.ndarray:
    found = np.full_like(y, np.nan)
    one.rhs(segment, t, y, found, *one.data())
    return found


@pytest.mark.parametrize(("p", "q"), SIZES)
def test_both_forms_agree(p: int, q: int) -> None:
    """Up to rounding, of which sums of so many terms have some tens of units."""
    plain, swift, y = both(problem_of(p, q))
    assert plain.rhs is for_unit(equations.rhs, "quadratic")
    assert swift.rhs is quadratic_rhs
    expected = slope(plain, y)
    assert slope(swift, y) == pytest.approx(expected, rel=1e-12, abs=1e-13 * np.abs(expected).max())


@pytest.mark.parametrize(
    "changes",
    [
        {"training__label_noise": 0.3},
        {"training__weight_decay": 0.2},
        {"student__norm": "sphere"},
        {"training__batch": 7},
        {"inputs__spectrum": sv.Spectrum(eigenvalues=(2.5,))},
        {"training__learning_rate": sv.Schedule(times=(0.0, 2.0), rates=(0.1, 0.3), shape="linear")},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_settings_mean_the_same_in_both(changes) -> None:
    plain, swift, y = both(problem_of(4, 3, **changes))
    for t in (0.0, 1.3):
        expected = slope(plain, y, t)
        assert slope(swift, y, t) == pytest.approx(expected, rel=1e-12, abs=1e-13 * np.abs(expected).max())


def test_small_rates_have_no_noise() -> None:
    plain, swift, y = both(problem_of(4, 3), noise=False)
    assert slope(swift, y) == pytest.approx(slope(plain, y), rel=1e-12, abs=1e-14)


def test_trained_readouts_need_the_moments() -> None:
    assert both(problem_of(3, 2, training__train_readout=True))[1].rhs is for_unit(equations.rhs, "quadratic")


@pytest.mark.parametrize(("p", "q"), SIZES)
def test_nothing_beside_the_state_is_touched(p: int, q: int) -> None:
    """Whole slots are read and written, but never beyond the state."""
    _, swift, state = both(problem_of(p, q))
    room, result = np.full((2, state.size + 32), np.nan)
    room[16:-16] = state
    y, dy = room[16:-16], result[16:-16]
    swift.rhs(0, 0.0, y, dy, *swift.data())
    assert np.isfinite(dy).all()
    assert np.isnan(np.concatenate([result[:16], result[-16:]])).all()
    assert dy == pytest.approx(slope(swift, state), rel=1e-14)


def test_it_runs_in_plain_python_too() -> None:
    _, swift, y = both(problem_of(3, 2))
    found = np.empty_like(y)
    interpreted(quadratic_rhs)(0, 0.0, y, found, *swift.data())
    assert found == pytest.approx(slope(swift, y), rel=1e-12, abs=1e-14)
