"""From a learning curve to the parameters of a problem: least squares against the exact equations, with the noise that training
itself makes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from solvable.fits.curve import Curve, read_curve
from solvable.fits.parameters import WHOLE, Made, Parameter, parameters
from solvable.levels import run
from solvable.macro import Macro
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import Overlaps
from solvable.problems import Problem

RTOL = 1e-8
NUDGE = 1e-4  # of a logarithm: central differences
REPLICAS = 256
AFFORDABLE = 4e8  # samples of Micro, beyond which Meso takes its place
LEVEL = 3.841458820694124  # of chi squared with one degree of freedom: 95 %
FLOOR = 1e-3  # least scatter of a logarithm, where nothing else is known
FLAT = 2.0  # standard deviation of a logarithm from which on a direction is called flat


class Noise(NamedTuple):
    """What disturbs the logarithm of a curve: a shift and a covariance (times, times)."""

    shift: np.ndarray
    covariance: np.ndarray
    told: str

    @property
    def root(self) -> np.ndarray:
        """Lower triangular, with the product of it and its transpose equal to the covariance."""
        size = np.diag(self.covariance)
        values, vectors = np.linalg.eigh(self.covariance / np.sqrt(np.outer(size, size)))
        values = np.maximum(values, 1e-6 * values[-1])  # directions that replicas do not resolve
        kept = (vectors * values) @ vectors.T * np.sqrt(np.outer(size, size))
        return np.linalg.cholesky(kept)


class Model:
    """Predicted logarithms of a curve as a function of parameters."""

    def __init__(self, made: Made, chosen: tuple[Parameter, ...], curve: Curve, fixed: Mapping[str, float]) -> None:
        self.made, self.chosen, self.curve, self.fixed = made, chosen, curve, dict(fixed)
        self.lower = np.array([one.inner(one.lower) for one in chosen])
        self.upper = np.array([one.inner(one.upper) for one in chosen])
        self.runs = 0

    def values(self, x: np.ndarray) -> dict[str, float]:
        return {one.name: one.outer(value) for one, value in zip(self.chosen, x, strict=True)} | self.fixed

    def predict(self, x: np.ndarray) -> np.ndarray:
        """(times,); where the run diverges, far off."""
        self.runs += 1
        problem, start = self.made.with_values(self.values(x))
        found = run(problem, start, Macro(rtol=RTOL), times=self.curve.alpha, progress=False).risk[0]
        with np.errstate(all="ignore"):
            logs = np.log(np.maximum(found, 1e-300))
        return np.where(np.isfinite(logs), logs, 50.0)

    def slopes(self, x: np.ndarray) -> np.ndarray:
        """(times, parameters) by central differences."""
        columns = []
        for i in range(x.size):
            move = np.zeros(x.size)
            move[i] = NUDGE
            above, below = np.minimum(x + move, self.upper), np.maximum(x - move, self.lower)
            columns.append((self.predict(above) - self.predict(below)) / (above[i] - below[i]))
        return np.array(columns).T

    def search(self, noise: Noise, first: np.ndarray) -> tuple[np.ndarray, float]:
        """The best parameters near a guess, and chi squared."""
        from scipy.linalg import solve_triangular
        from scipy.optimize import least_squares

        root, data = noise.root, self.curve.logarithm - noise.shift

        def whiten(vectors: np.ndarray) -> np.ndarray:
            return solve_triangular(root, vectors, lower=True)

        if not first.size:
            return first, float((whiten(data - self.predict(first)) ** 2).sum())
        inside = np.clip(first, self.lower + 1e-9, self.upper - 1e-9)
        found = least_squares(
            lambda x: whiten(self.predict(x) - data), inside, jac=lambda x: whiten(self.slopes(x)),
            bounds=(self.lower, self.upper), x_scale="jac", xtol=1e-7, ftol=1e-9, gtol=1e-9, max_nfev=60,
        )  # fmt: skip
        return found.x, float(2 * found.cost)


def simulated(model: Model, x: np.ndarray, seed: int) -> Noise:
    """What finite size does to the curve, from replicas of training at these parameters."""
    curve = model.curve
    problem, start = model.made.with_values(model.values(x))
    measured = np.diag(curve.error**2 / curve.runs)
    if problem.inputs.dim is None:
        return Noise(np.zeros(curve.alpha.size), measured + FLOOR**2 * np.eye(curve.alpha.size), "errors given")
    samples = curve.alpha[-1] * problem.inputs.dim * REPLICAS * float(np.max(np.asarray(problem.training.batch, dtype=float)))
    level = Micro(runs=REPLICAS, seed=seed) if samples < AFFORDABLE else Meso(runs=REPLICAS, seed=seed)
    many = run(problem, start, level, times=curve.alpha, progress=False)
    good = np.isfinite(many.risk).all(axis=1) & (many.risk > 0).all(axis=1)
    if good.sum() < REPLICAS // 2:
        raise ValueError("fit: more than half of the replicas of training diverge at the estimate")
    logs = np.log(many.risk[good])
    shift = logs.mean(axis=0) - model.predict(x)
    told = f"{good.sum()} replicas of {type(level).__name__}"
    return Noise(shift, np.cov(logs.T) / curve.runs + measured + 1e-12 * np.eye(curve.alpha.size), told)


def rough(curve: Curve) -> Noise:
    """Before anything is known: equal relative errors."""
    return Noise(np.zeros(curve.alpha.size), np.diag(curve.error**2 + 0.05**2), "equal relative errors")
