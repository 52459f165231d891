"""The list of formulas that a closed unit brings: what is missing is told by name, and nothing stands in for it."""

import sys
from types import ModuleType

import numpy as np
import pytest

import solvable as sv
from gate import first
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import SEEN, pack
from solvable.dynamics.reverse_choice import reversible
from solvable.gaussian import closed_forms
from solvable.gaussian.closed_forms import HOME, KINDS, OPTIONAL, REQUIRED, check_closed, formulas_of, missing
from solvable.gaussian.losses import Loss
from solvable.gaussian.units import UNITS, NamedUnit
from solvable.numerics.compiled import Kernel
from solvable.problems.rules import rule_numbers

CUBIC = NamedUnit("cubic", lambda z: z**3, lambda z: 3 * z**2, closed=True, hermite=(0.0, 3.0, 0.0, 1.0))
ALL = (*REQUIRED, "PARITY", "scratch")
UNKNOWN = 1000


def problem_of(unit: object = "cubic", **changes: object) -> sv.Problem:
    problem = sv.Problem(
        teacher=sv.Teacher(width=1, activation=unit),
        student=sv.Student(width=2, activation=unit),
        inputs=sv.Inputs(dim=200),
        training=sv.Training(learning_rate=0.1),
    )
    return problem.replace(**changes)


@pytest.fixture
def cubic(monkeypatch) -> ModuleType:
    """A unit declared closed, with the formulas of another in its file, as one that is being written has them."""
    formulas = ModuleType(f"{HOME}.cubic")
    vars(formulas).update({name: getattr(formulas_of(UNITS["hermite3"]), name) for name in ALL})
    formulas.__spec__ = sys.modules[f"{HOME}.hermite3"].__spec__
    monkeypatch.setitem(UNITS, "cubic", CUBIC)
    monkeypatch.setitem(sys.modules, formulas.__name__, formulas)
    yield formulas
    check_closed.cache_clear()


@pytest.mark.parametrize("name", ALL)
def test_each_formula_that_is_missing_is_told_by_name(cubic, name, monkeypatch) -> None:
    monkeypatch.setitem(KINDS, "cubic", UNKNOWN)
    assert missing(CUBIC) == []
    delattr(cubic, name)
    with pytest.raises(
        NotImplementedError, match=f"activation: 'cubic' is declared closed, but lacks {name}; gaussian/cl"
    ):
        sv.run(problem_of(), sv.start(problem_of(), seed=0), sv.Macro(), until=1)


def test_what_is_no_formula_is_missing(cubic, monkeypatch) -> None:
    monkeypatch.setitem(KINDS, "cubic", UNKNOWN)
    cubic.product, cubic.PARITY = lambda c11, c22, c12: c12, 0
    assert missing(CUBIC) == ["product", "PARITY"]


@pytest.mark.parametrize("level", first([sv.Macro(), sv.Micro(runs=1), sv.Meso(runs=1), sv.Macro(small_rate=True)]))
def test_without_its_file_a_closed_unit_is_refused(level, monkeypatch) -> None:
    monkeypatch.setitem(UNITS, "cubic", CUBIC)
    with pytest.raises(
        NotImplementedError, match=r"'cubic' is declared closed, but lacks the file gaussian/closed/cubic\.py"
    ):
        sv.run(problem_of(), sv.start(problem_of(), seed=0), level, until=0.1, progress=False)
    check_closed.cache_clear()


def test_a_unit_that_comes_after_the_kernels_is_refused(cubic) -> None:
    with pytest.raises(NotImplementedError, match=r"lacks its place in `UNITS` when solvable is imported"):
        sv.dynamics.moments(np.eye(3), problem_of())


def test_every_unit_has_all_formulas() -> None:
    assert [unit.name for unit in UNITS.values() if unit.closed] == [*KINDS]
    assert len({*KINDS.values()}) == len(KINDS)
    assert not any(missing(UNITS[name]) for name in KINDS)
    listed = {name for name, value in vars(closed_forms).items() if isinstance(value, Kernel) and name[0] != "_"}
    assert listed == {*REQUIRED, *OPTIONAL, "back_drift", "back_square"}


def test_the_parity_of_a_unit_is_that_of_its_function() -> None:
    z = np.linspace(-3, 3, 61)
    for name in KINDS:
        sign = 1.0 if closed_forms.is_even(UNITS[name]) else -1.0
        assert UNITS[name].function(-z) == pytest.approx(sign * UNITS[name].function(z), abs=1e-12)


CASES = {"plain": {}, "classes": {"mixture": sv.Mixture.opposite(1.0)}}
READOUTS = {"training__train_readout": True, "training__label_noise": 0.1}


@pytest.mark.parametrize("kind", CASES)
def test_kernels_give_nan_for_an_unknown_kind(kind) -> None:
    """Slopes, the risk, and derivatives of both by the state."""
    problem = problem_of("erf", **READOUTS, **CASES[kind])
    start = sv.start(problem, seed=1)
    forward, backward = system(problem, pack(problem, start), 0), reversible(problem, start)
    p, state = 2, forward.packed.state
    for known in (True, False):
        for one in (forward, backward):
            one.packed.problems["kind"] = KINDS["erf"] if known else UNKNOWN
        speed, seen = np.zeros_like(state), np.zeros(SEEN)
        forward.rhs(0, 0.0, state, speed, *forward.data())
        forward.observe(0, 0.0, state, seen, *forward.data())
        bars = np.zeros((2, state.size + backward.columns))
        backward.back(0, 0.0, state, np.ones_like(state), bars[0], *backward.data())
        backward.back_risk(0, 0.0, state, np.ones(1), bars[1], *backward.data())
        numbers = speed[: p * 3], speed[-p:], seen[0], bars[0, : p * 3], bars[1, : p * 3]
        assert all(np.isfinite(part).all() == known for part in numbers)
        assert known or all(np.isnan(part).any() for part in numbers)


@pytest.mark.parametrize("name", KINDS)
def test_general_ways_equal_those_of_units(name) -> None:
    """What a unit may leave out, as the general way and as its own."""
    random, kind = np.random.default_rng(3), KINDS[name]
    rows = random.standard_normal((5, 7))
    C, s = rows @ rows.T / 7, random.standard_normal(5)
    general = {one: getattr(closed_forms, f"_{one}") for one in OPTIONAL}
    own = {one: getattr(closed_forms, one) for one in OPTIONAL}
    found = []
    for ways in (general, own):
        D, C_bar = np.zeros((5, 5)), np.zeros((5, 5))
        ways["drift"](kind, 3, C, s, -0.7, D)
        ways["back_product"](kind, C, 1, 3, 0.4, C_bar)
        square, size = ways["error_square"](kind, C, s)
        found.append(np.concatenate([D.ravel(), C_bar.ravel(), [square]]))
        assert size >= abs(square)
    assert found[0] == pytest.approx(found[1], rel=1e-12, abs=1e-12)


@pytest.mark.parametrize(
    ("kind", "of", "scale"),
    [(0, "residual", 1.0), (1, "residual", 2.0), (3, "margin", 2.0), (0, "margin", 2.0), (9, "margin", 2.0)],
)
def test_a_loss_with_the_number_of_another_is_refused(kind, of, scale) -> None:
    """Pushes are lines of another slope, no hyperbolic tangent, no constant, of a margin rather than a residual, and unknown."""
    sign = 1.0 if of == "residual" else -1.0
    with pytest.raises(
        ValueError, match=f"kind: {kind} given, but compiled code has no formula of 'mine' there; leave it out"
    ):
        Loss("mine", lambda x: sign * scale * x**2 / 2, lambda x: scale * x, lambda x: 0 * x + scale, of=of, kind=kind)


def test_a_rule_without_formula_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="rule: 'centred' has no formula in compiled code"):
        rule_numbers("centred")
