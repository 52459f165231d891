"""The units by name: g and g' as functions of arrays."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Unit:
    name: str
    function: Callable[[np.ndarray], np.ndarray]
    derivative: Callable[[np.ndarray], np.ndarray]


def _erf(z: np.ndarray) -> np.ndarray:
    from scipy.special import erf

    values: np.ndarray = erf(z / np.sqrt(2.0))
    return values


UNITS = {
    "linear": Unit("linear", lambda z: z, np.ones_like),
    "quadratic": Unit("quadratic", np.square, lambda z: 2.0 * z),
    "erf": Unit("erf", _erf, lambda z: np.sqrt(2.0 / np.pi) * np.exp(-0.5 * z * z)),
}
