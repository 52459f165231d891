"""Units with two slopes, kinks rounded off where they have some, and losses with their push, as the equations need them."""

from collections.abc import Callable

import numpy as np
from scipy.special import ndtr

from solvable.empirical_macro.setting import Function
from solvable.gaussian import Activation
from solvable.gaussian.losses import Loss, pushes

Losses = Callable[[np.ndarray, np.ndarray], np.ndarray]
Pushes = Callable[[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]
NEAR = 1e-5  # of finite differences: slopes are then right to about ten digits, far beyond what particles resolve


def unit_functions(unit: Activation, width: float | None = None) -> tuple[Function, Function, Function]:
    """g, g' and g''. With a width every kink, a jump of g' by j at k, is rounded off: j max(z - k, 0) becomes
    j <max(z - k + width x, 0)> with x normal, so that g'' has a normal density of this width there."""
    places = np.array(unit.kinks)
    sizes = unit.derivative(places + NEAR) - unit.derivative(places - NEAR)

    def without(z: np.ndarray) -> np.ndarray:
        """The slope without its jumps, which has a slope everywhere."""
        slope = unit.derivative(z)
        for place, size in zip(places, sizes, strict=True):
            slope = slope - size * (z > place)
        return slope

    def curved(z: np.ndarray) -> np.ndarray:
        found: np.ndarray = (without(z + NEAR) - without(z - NEAR)) / (2 * NEAR)
        return found

    if not places.size:
        return unit.function, unit.derivative, curved
    if width is None:
        raise ValueError(f"{unit.name}: has kinks, so its second slope needs a width")

    def function(z: np.ndarray) -> np.ndarray:
        values = unit.function(z)
        for place, size in zip(places, sizes, strict=True):
            x = (z - place) / width
            values = values + size * width * (x * ndtr(x) + _density(x) - np.maximum(x, 0.0))
        return values

    def slope(z: np.ndarray) -> np.ndarray:
        return without(z) + sum(size * ndtr((z - place) / width) for place, size in zip(places, sizes, strict=True))

    def bend(z: np.ndarray) -> np.ndarray:
        pairs = zip(places, sizes, strict=True)
        return curved(z) + sum(size * _density((z - place) / width) / width for place, size in pairs)

    return function, slope, bend


def _density(x: np.ndarray) -> np.ndarray:
    found: np.ndarray = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
    return found


def loss_functions(loss: Loss, factor: float) -> tuple[Losses, Pushes]:
    """Of labels and outputs: the loss, and the push with its slope in the output."""

    def values(label: np.ndarray, output: np.ndarray) -> np.ndarray:
        return factor * loss.function(label - output if loss.of == "residual" else label * output)

    def push(label: np.ndarray, output: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        pushed = factor * pushes(loss, label, output)
        if loss.of == "residual":
            return pushed, -factor * loss.push_slope(label - output)
        return pushed, factor * label**2 * loss.push_slope(label * output)

    return values, push
