"""Chances of wrong signs: closed forms, integrals and rules against sampling and against each other."""

import numpy as np
import pytest

from seeds import seed
from solvable.gaussian import chances
from solvable.gaussian.chances import chance_of_error, chance_of_negative_output, chance_of_unequal_signs
from solvable.gaussian.quadratic_chances import chance_of_negative_quadratic
from solvable.gaussian.relu_chances import along_lines
from solvable.gaussian.rules import Rule
from solvable.gaussian.units import UNITS, Activation

SAMPLES = 10**6
CUBE = Activation("cube", lambda z: z**3 - z, lambda z: 3 * z**2 - 1)


def setting(random, p, rank=None):
    factor = random.standard_normal((p, rank or p))
    return random.standard_normal(p), 0.6 * random.standard_normal(p), factor @ factor.T / p


def sampled(random, h, C):
    values, vectors = np.linalg.eigh(C)
    return h + random.standard_normal((SAMPLES, len(h))) @ (vectors * np.sqrt(np.maximum(values, 0.0))).T


@pytest.mark.statistical
@pytest.mark.parametrize("unit", [*UNITS.values(), CUBE], ids=lambda unit: unit.name)
@pytest.mark.parametrize(("p", "rank", "bias"), [(1, 1, 0.2), (2, 2, 0.0), (2, 2, 0.4), (3, 2, -0.3), (4, 4, 0.0)])
def test_chances_equal_sampling(unit, p, rank, bias) -> None:
    """Within 6 standard errors of a million samples, plus 5e-5 for Sobol nodes (1e-3 where no field is exact, 2e-4 for ReLU)."""
    random = np.random.default_rng(seed(10 * p + rank))
    a, h, C = setting(random, p, rank)
    output = bias + unit.function(sampled(random, h, C)) @ a
    frequency = float(((output < 0) + 0.5 * (output == 0)).mean())
    allowed = 6 * np.sqrt(frequency * (1 - frequency) / SAMPLES + 1 / SAMPLES**2) + (
        1e-3 if unit is CUBE else 2e-4 if unit.name == "relu" else 5e-5
    )
    assert chance_of_negative_output(unit, a, bias, h, C) == pytest.approx(frequency, abs=allowed)


@pytest.mark.statistical
@pytest.mark.parametrize("unit", ["linear", "erf"])
def test_signs_of_a_teacher_equal_sampling(unit) -> None:
    """Two students against the sign of one field."""
    random = np.random.default_rng(seed(3))
    a, h, C = setting(random, 3)
    z = sampled(random, h, C)
    wrong = float(((UNITS[unit].function(z[:, :2]) @ a[:2]) * (z[:, 2] - 0.3) < 0).mean())
    allowed = 6 * np.sqrt(wrong * (1 - wrong) / SAMPLES + 1 / SAMPLES**2) + 5e-5
    chance = lambda cut: chance_of_error(UNITS[unit], a[:2], 0.0, h, C, lambda u: u[:, 0] - 0.3, cut)
    assert chance(0.3) == pytest.approx(wrong, abs=allowed)
    assert chance(None) == pytest.approx(wrong, abs=allowed + 1e-3)


def test_linear_students_against_signs_are_closed() -> None:
    random = np.random.default_rng(5)
    _, h, C = setting(random, 2)
    closed = chance_of_unequal_signs(h, C)
    rule = chance_of_error(UNITS["linear"], np.ones(1), 0.0, h, C, lambda u: u[:, 0], 0.0)
    assert closed == pytest.approx(rule, abs=1e-13)
    angle = np.arccos(C[0, 1] / np.sqrt(C[0, 0] * C[1, 1]))
    assert chance_of_unequal_signs(np.zeros(2), C) == pytest.approx(angle / np.pi, abs=1e-14)


def test_quadratic_chances_that_are_known() -> None:
    """chi-squared distributions, differences of them, a shifted one, and what has no spread."""
    from scipy.stats import chi2, f, ncx2

    one = np.ones(4)
    for bias in (-0.5, -3.0, -20.0):
        assert chance_of_negative_quadratic(one, bias, 0 * one, np.eye(4)) == pytest.approx(
            chi2.cdf(-bias, 4), abs=1e-13
        )
        shifted = ncx2.cdf(-bias, 4, 4 * 0.7**2)
        assert chance_of_negative_quadratic(one, bias, 0.7 * one, np.eye(4)) == pytest.approx(shifted, abs=1e-10)
    signs = np.array([1.0, 1.0, 1.0, -1.0])
    assert chance_of_negative_quadratic(signs, 0.0, 0 * one, np.eye(4)) == pytest.approx(f.cdf(1 / 3, 3, 1), abs=1e-13)
    assert chance_of_negative_quadratic(one, -3.0, one, 0 * np.eye(4)) == 0.0
    assert chance_of_negative_quadratic(one, -5.0, one, 0 * np.eye(4)) == 1.0


@pytest.mark.parametrize("bias", [0.0, 0.4, -2.0])
def test_a_width_of_one_is_two_places(bias) -> None:
    """Quadratic: |z| below a place; the integral over two directions, one of which is not felt, agrees."""
    narrow = chance_of_negative_quadratic(np.array([0.8]), bias, np.array([0.5]), np.array([[1.7]]))
    place = np.sqrt(max(-bias / 0.8, 0.0))
    exact = chances.chance_below(place, 0.5, np.sqrt(1.7)) - chances.chance_below(-place, 0.5, np.sqrt(1.7))
    assert narrow == pytest.approx(exact, abs=1e-14)
    wide = chance_of_negative_quadratic(np.array([0.8, 1e-9]), bias, np.array([0.5, 0.0]), np.diag([1.7, 1.0]))
    assert wide == pytest.approx(exact, abs=1e-4 if bias == 0 else 1e-8)


@pytest.mark.statistical
def test_best_classifiers() -> None:
    """Opposite and crossed classes by the classifiers that know the means, within 6 standard errors."""
    random, distance, variance = np.random.default_rng(seed(8)), 1.3, 0.7
    z = np.sqrt(variance) * random.standard_normal((SAMPLES, 2)) + [distance, 0.0]
    for wrong, expected in [
        (z[:, 0] < 0, chances.error_of_two_classes(2 * distance / variance**0.5)),
        (np.abs(z[:, 0]) < np.abs(z[:, 1]), chances.error_of_crossed_classes(distance, variance)),
    ]:
        assert wrong.mean() == pytest.approx(expected, abs=6 * np.sqrt(expected / SAMPLES))


@pytest.mark.parametrize("bias", [0.0, 0.3, -0.4])
def test_lines_of_relu_units_against_one_exact_field(bias, monkeypatch) -> None:
    """Two units, for which an average over the other field with its kink and its jump is exact, by many lines as well."""
    random, relu = np.random.default_rng(4), UNITS["relu"]
    labels = lambda z: -np.ones(len(z))
    x = np.linspace(-8, 8, 100_001)
    weights = np.exp(-0.5 * x**2) / np.exp(-0.5 * x**2).sum()
    settings = [setting(random, 2) for _ in range(5)]
    exact = [chance_of_error(relu, a, bias, h, C, labels) for a, h, C in settings]
    monkeypatch.setattr(chances, "rule_of", lambda fields, nodes: Rule(x[:, None], weights, False, 0))
    found = [chances._error_along_lines(a, bias, h, C, labels, None) for a, h, C in settings]
    assert found == pytest.approx(exact, abs=1e-8)


def test_pieces_of_a_line() -> None:
    """Against sums over a fine grid along the line, with units that do not move, units that switch off, and none that is on."""
    random = np.random.default_rng(6)
    fields, steps, a = (
        random.standard_normal((30, 4)),
        np.array([0.8, -1.1, 0.0, 0.4]),
        np.array([1.0, -0.7, 0.5, -0.9]),
    )
    t = np.linspace(-9, 9, 40_001)
    weight = np.exp(-0.5 * t**2) / np.exp(-0.5 * t**2).sum()
    for bias in (0.0, 0.2, -0.2):
        output = bias + np.maximum(fields[:, :, None] + steps[:, None] * t, 0).transpose(0, 2, 1) @ a
        expected = ((output < 0) + 0.5 * (output == 0)) @ weight
        assert along_lines(fields, steps, a, bias) == pytest.approx(expected, abs=5e-4)
    off = along_lines(np.full((1, 2), -3.0), np.zeros(2), np.ones(2), 0.0)
    assert off == 0.5


@pytest.mark.parametrize("width", [4, 8])
def test_trained_relu_units_are_classified_well(width) -> None:
    """Units along +-m_1 and +-m_2 with a little of their own, as XOR makes them: within 1.5e-4 of 64 times as many lines. With one
    field exact in place of a line they would be off by 5e-4."""
    random, relu = np.random.default_rng(width), UNITS["relu"]
    means = np.tile([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], (width // 4, 1)) * random.uniform(
        0.6, 1.4, (width, 1)
    )
    a, C = np.tile([1.0, 1.0, -1.0, -1.0], width // 4), 0.2 * (means @ means.T) + 0.002 * np.eye(width)
    labels = lambda z: np.ones(len(z))
    found = chance_of_error(relu, a, 0.0, means[:, 0], C, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(chances, "LINES", 64 * chances.LINES)
        expected = chance_of_error(relu, a, 0.0, means[:, 0], C, labels)
    assert found == pytest.approx(expected, abs=1.5e-4)
