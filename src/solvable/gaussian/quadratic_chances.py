"""The chance that a quadratic function of normal variables is negative: one integral of its characteristic function.

Q = constant + sum_r (lambda_r x_r^2 + l_r x_r) with independent standard normal x_r has

    <exp(i t Q)> = exp(i t constant) prod_r (1 - 2 i lambda_r t)^(-1/2) exp( -l_r^2 t^2 / (2 (1 - 2 i lambda_r t)) )
    P(Q < 0) = 1/2 - (1/pi) int_0^inf Im <exp(i t Q)> dt/t

(Imhof 1961 has it for l_r = 2 lambda_r d_r). Far out the integrand oscillates as exp(i t edge), with the edge at
constant - sum_r l_r^2/(4 lambda_r). All singularities lie on the imaginary axis, so that the path may be turned, t = tau
exp(i theta), towards the side where the oscillation decays; the pole at zero adds theta. In log tau the integrand is smooth and
dies out at both ends: the trapezoidal rule converges exponentially.
"""

import math
from typing import Any

import numpy as np

TURN = math.pi / 8
STEP, REACH = 0.04, 42.0  # of log tau, where the standard deviation of Q is the unit of 1/tau
NONE = 1e-13  # a variance below this part of the largest is rounding


def normal_chance(x: Any) -> Any:
    """P(standard normal < x)."""
    from scipy.special import ndtr

    return ndtr(x)


def chance_of_negative_quadratic(weights: np.ndarray, bias: float, mean: np.ndarray, covariance: np.ndarray) -> float:
    """P(sum_i weights_i z_i^2 + bias < 0) for z ~ N(mean, covariance), which may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    kept = values > NONE * max(values[-1], 1e-300)
    root = vectors[:, kept] * np.sqrt(values[kept])
    curvature, turned = np.linalg.eigh(root.T @ (weights[:, None] * root))
    slope = 2 * (weights * mean) @ root @ turned
    constant = bias + float(weights @ mean**2)
    spread = math.sqrt(float(2 * (curvature**2).sum() + (slope**2).sum()))
    if spread <= NONE * max(abs(constant), 1e-300) or spread == 0.0:
        return 0.5 * (1 - float(np.sign(constant)))
    curvature, slope, constant = curvature / spread, slope / spread, constant / spread
    felt = (np.abs(curvature) > NONE) | (np.abs(slope) > NONE)
    curvature, slope = curvature[felt], slope[felt]
    return _along_one(curvature[0], slope[0], constant) if len(slope) == 1 else _integral(curvature, slope, constant)


def _along_one(curvature: float, slope: float, constant: float) -> float:
    """P(curvature x^2 + slope x + constant < 0)."""
    if abs(curvature) < 1e-9 * abs(slope):  # the second root is beyond all normal numbers
        return float(normal_chance(-constant / abs(slope)))
    discriminant = slope**2 - 4 * curvature * constant
    between = 0.0
    if discriminant > 1e-15 * (slope**2 + abs(4 * curvature * constant)):  # else rounding
        larger = -0.5 * (slope + math.copysign(math.sqrt(discriminant), slope))
        roots = sorted((larger / curvature, constant / larger))
        between = float(normal_chance(roots[1]) - normal_chance(roots[0]))
    return between if curvature > 0 else 1 - between


def _integral(curvature: np.ndarray, slope: np.ndarray, constant: float) -> float:
    bent = np.abs(curvature) > NONE
    edge = constant - float((slope[bent] ** 2 / (4 * curvature[bent])).sum())
    rounding = 1e-12 * (abs(constant) + float((slope[bent] ** 2 / np.abs(4 * curvature[bent])).sum()))
    theta = math.copysign(TURN, edge) if abs(edge) > rounding else 0.0
    t = np.exp(np.arange(-REACH, REACH, STEP) + 1j * theta)
    width = 1 - 2j * curvature[:, None] * t
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        exponent = 1j * t * constant - 0.5 * (slope[:, None] ** 2 * t**2 / width).sum(axis=0)
        transform = np.exp(exponent) / np.sqrt(width).prod(axis=0)
    total = STEP * float(np.where(np.isfinite(transform), transform, 0.0).imag.sum())
    return min(1.0, max(0.0, 0.5 - (theta + total) / math.pi))
