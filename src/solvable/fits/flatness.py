"""Directions in which parameters can move without a change of the curve, in words."""

from typing import NamedTuple

import numpy as np

from solvable.fits.model import CurveModel
from solvable.fits.noise import Noise
from solvable.fits.parameters import InferredNumber

FLAT = 1.0  # standard deviation from which on a direction is called flat: of a logarithm, or in quarters of a range
SHARE = 0.15  # of a direction, below which a parameter does not take part


class Spread(NamedTuple):
    """Of the estimates, as the slopes at the optimum promise: their covariance, flat directions in words, and the slopes."""

    covariance: np.ndarray
    flat: tuple[str, ...]
    slopes: np.ndarray

    @property
    def correlation(self) -> np.ndarray:
        """(parameters, parameters)."""
        widths = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(widths, widths)


def spread(model: CurveModel, noise: Noise, x: np.ndarray) -> Spread:
    """From the singular values of the slopes in units of the noise."""
    from scipy.linalg import solve_triangular

    if not x.size:
        return Spread(np.zeros((0, 0)), (), np.zeros((model.curve.rows.shape[1], 0)))
    slopes = model.slopes(x)
    _, sizes, directions = np.linalg.svd(solve_triangular(noise.root, slopes, lower=True), full_matrices=False)
    deviations = 1.0 / np.maximum(sizes, 1e-9)
    covariance = (directions.T * deviations**2) @ directions
    flat = tuple(
        in_words(model.chosen, direction) for direction, size in zip(directions, deviations, strict=True) if size > FLAT
    )
    return Spread(covariance, flat, slopes)


def in_words(chosen: tuple[InferredNumber, ...], direction: np.ndarray) -> str:
    """Which change of parameters the curve does not tell; the one that takes part most is doubled."""
    order = [i for i in np.argsort(-np.abs(direction), kind="stable") if abs(direction[i]) > SHARE]
    leader = chosen[order[0]]
    if len(order) == 1:
        return f"the curve hardly tells {leader.name}"
    step = np.log(2.0) / direction[order[0]]
    changes = [_change(chosen[i], step * direction[i]) for i in order]
    return f"the curve does not tell {' and '.join(chosen[i].name for i in order)} apart: {' with '.join(changes)} changes little"


def _change(one: InferredNumber, by: float) -> str:
    return f"{one.name} × {np.exp(by):.3g}" if one.is_logarithmic else f"{one.name} {by * one.unit:+.3g}"
