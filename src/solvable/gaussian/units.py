"""Activations: g and g' as functions of arrays, by name or given."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

_NODES = np.linspace(-6.0, 6.0, 193)


def fingerprint(*functions: Callable[[np.ndarray], Any], nodes: np.ndarray = _NODES) -> str:
    """A hash of functions by their values on fixed nodes, rounded to 1e-9 of the largest."""
    digest = hashlib.sha256()
    for function in functions:
        values = np.broadcast_to(np.asarray(function(nodes), dtype=float), nodes.shape[:1])
        if not np.isfinite(values).all():
            raise ValueError("function: must be finite")
        size = float(f"{np.abs(values).max():.6e}")
        digest.update(f"{size:.6e} {np.round(values / (1e-9 * size or 1.0)).astype(np.int64).tolist()}".encode())
    return digest.hexdigest()


def jumps(function: Callable[[np.ndarray], Any], reach: float = 20.0) -> tuple[float, ...]:
    """Where a function jumps within [-reach, reach]: intervals with the largest changes are halved until a change that
    stays is pinned down."""
    grid = np.linspace(-reach, reach, 4002)  # zero, where most have it, is between two points
    values = np.asarray(function(grid), dtype=float)
    change = np.abs(np.diff(values))
    size = 1.0 + np.abs(values[np.abs(grid) < 6]).max()
    found: list[float] = []
    for i in np.argsort(change)[::-1][:12]:
        low, high = grid[i], grid[i + 1]
        if change[i] < 1e-6 * size:
            break
        for _ in range(40):
            middle = 0.5 * (low + high)
            left, center, right = np.asarray(function(np.array([low, middle, high])), dtype=float)
            low, high = (low, middle) if abs(center - left) > abs(right - center) else (middle, high)
        ends = np.asarray(function(np.array([low, high])), dtype=float)
        if abs(ends[1] - ends[0]) > 1e-6 * size:
            found.append(round(0.5 * (low + high), 9) + 0.0)
    return tuple(sorted(found))


@dataclass(frozen=True, eq=False)
class Activation:
    """A unit g(z) with its derivative, both mapping arrays to arrays of the same shape.

    Activations are equal if their names and their values on fixed nodes are. The derivative is checked against
    finite differences. Kinks are fine, and found (`kinks`), so that averages can respect them; jumps of g are refused.
    """

    name: str
    function: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]

    def __post_init__(self) -> None:
        with np.errstate(all="ignore"):
            self._check()

    def _check(self) -> None:
        for label, function in [("function", self.function), ("derivative", self.derivative)]:
            values = np.asarray(function(_NODES))
            if values.shape != _NODES.shape or values.dtype.kind not in "fiub":
                raise ValueError(f"{label}: must map an array of numbers to one of the same shape")
        steps = jumps(self.function)
        if steps:
            raise ValueError(f"function: jumps at z = {steps[0]:.6g}; a teacher with jumps can be given as a Target")
        h = 1e-6
        slope = (self.function(_NODES + h) - self.function(_NODES - h)) / (2 * h)
        wrong = np.abs(slope - self.derivative(_NODES)) > 1e-4 * (1 + np.abs(slope))
        if wrong.sum() > 3:  # a few nodes may sit on kinks
            worst = _NODES[wrong][0]
            raise ValueError(f"derivative: is not that of the function, for instance at z = {worst:.3g}")
        self.fingerprint  # noqa: B018  (also checks that values are finite)

    @cached_property
    def fingerprint(self) -> str:
        return fingerprint(self.function, self.derivative)

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        """Where the derivative jumps."""
        return jumps(self.derivative)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Activation) and (self.name, self.fingerprint) == (other.name, other.fingerprint)

    def __hash__(self) -> int:
        return hash((self.name, self.fingerprint))

    def __repr__(self) -> str:
        return f"Activation({self.name!r})"


def _erf(z: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    values: np.ndarray = erf(z / np.sqrt(2.0))
    return values


UNITS = {
    "linear": Activation("linear", lambda z: 1.0 * z, lambda z: np.ones_like(z)),
    "quadratic": Activation("quadratic", np.square, lambda z: 2.0 * z),
    "erf": Activation("erf", _erf, lambda z: np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)),
    "relu": Activation("relu", lambda z: np.maximum(z, 0.0), lambda z: (z > 0).astype(float)),
    "tanh": Activation("tanh", np.tanh, lambda z: 1.0 - np.tanh(z) ** 2),
}


@lru_cache(maxsize=64)
def hermite(coefficients: tuple[float, ...]) -> Activation:
    """g(z) = sum_m c_m He_m(z), with the probabilists' Hermite polynomials."""
    from numpy.polynomial import hermite_e

    slope = hermite_e.hermeder(np.array(coefficients)) if len(coefficients) > 1 else np.zeros(1)
    return Activation(
        "hermite", lambda z: hermite_e.hermeval(z, coefficients), lambda z: hermite_e.hermeval(z, slope) + 0.0 * z
    )
