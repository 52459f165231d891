"""What disturbs a learning curve: training itself, as replicas show it, and errors of measurement."""

from typing import NamedTuple

import numpy as np

from solvable.fits.curve import FEWEST, Curve, observed, overlaps_of, stacked
from solvable.levels import run
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import Overlaps
from solvable.problems import Problem

KINDS = ("replicas", "simulated", "errors", "scatter")
ENOUGH = 8  # runs in the data from which their own scatter is taken
REPLICAS = 256  # simulated
AFFORDABLE = 1e8  # samples of Micro, beyond which Meso takes its place
ROUGH = 0.05  # relative error before anything is known
LEAST = 1e-6  # error of a logarithm: what the integration of the equations leaves


class Noise(NamedTuple):
    """What disturbs the rows of a curve: a shift of their mean, and a covariance that comes from so many replicas (None: it is
    known). `source` tells where it is from, one of `KINDS`; `told` in words."""

    shift: np.ndarray
    covariance: np.ndarray
    source: str
    told: str
    replicas: int | None = None

    @property
    def root(self) -> np.ndarray:
        """Lower triangular; the product of it and its transpose is the covariance."""
        size = np.sqrt(np.diag(self.covariance))
        values, vectors = np.linalg.eigh(self.covariance / np.outer(size, size))
        values = np.maximum(values, 1e-6 * values[-1])  # directions that replicas do not resolve
        kept = (vectors * values) @ vectors.T * np.outer(size, size)
        factor: np.ndarray = np.linalg.cholesky(kept)
        return factor

    @property
    def freedom(self) -> int | None:
        """Degrees of freedom of the covariance."""
        return None if self.replicas is None else self.replicas - 1


def choose(curve: Curve, problem: Problem, asked: str | None) -> str:
    """Where the noise comes from: what is asked for, or the first of `KINDS` that there is."""
    enough = max(ENOUGH, 2 * FEWEST * curve.entries)
    there = {
        "replicas": curve.runs >= enough,
        "simulated": problem.inputs.dim is not None,
        "errors": bool((curve.error > 0).all()),
        "scatter": curve.overlaps is None,
    }
    needs = {
        "replicas": f"at least {enough} runs in the curve, there are {curve.runs}",
        "simulated": "a finite inputs.dim",
        "errors": "errors of all values in the curve",
        "scatter": "a curve without overlaps",
    }
    if asked is None:
        found = [kind for kind in KINDS if there[kind]]
        if not found:
            raise ValueError("overlaps: need a finite inputs.dim or more runs, or nothing tells their noise")
        return found[0]
    if asked not in KINDS:
        raise ValueError(f"noise: {asked!r} given, must be one of {', '.join(KINDS)}")
    if not there[asked]:
        raise ValueError(f"noise: {asked!r} needs {needs[asked]}")
    return asked


def rough(curve: Curve) -> Noise:
    """Before anything is known: equal errors of all rows."""
    size = curve.rows.shape[1]
    return Noise(np.zeros(size), np.diag(curve.measured + ROUGH**2), "errors", "equal errors")


def given(curve: Curve) -> Noise:
    """Errors of measurement alone."""
    size = curve.rows.shape[1]
    return Noise(np.zeros(size), np.diag(curve.measured / curve.runs + LEAST**2), "errors", "errors given")


def scattered(residual: np.ndarray, parameters: int) -> Noise:
    """Independent errors of the size of what is left by a fit, so that chi squared is what is expected of it."""
    size = residual.size
    variance = float(residual @ residual) / (size - parameters) + LEAST**2
    return Noise(
        np.zeros(size), variance * np.eye(size), "scatter", f"scatter of {np.sqrt(variance):.2g} about the fit"
    )


def simulated(curve: Curve, problem: Problem, start: Overlaps, expected: np.ndarray, seed: int) -> Noise:
    """What finite size does to the curve, from replicas of training at these parameters, whose limit is `expected`."""
    rows, level = _replicas(curve, problem, start, seed)
    share = 1 / curve.runs + 1 / len(rows)  # of the data, and of the mean of the replicas
    covariance = np.atleast_2d(np.cov(rows.T)) * share + np.diag(curve.measured / curve.runs + LEAST**2)
    told = f"{len(rows)} replicas of {level}"
    told += " and errors given" if curve.error.any() else ""
    return Noise(rows.mean(axis=0) - expected, covariance, "simulated", told, len(rows))


def from_runs(curve: Curve, problem: Problem, start: Overlaps, expected: np.ndarray, seed: int) -> Noise:
    """The scatter of the runs in the data; what finite size does to their mean is simulated where it can be."""
    shift, share = np.zeros(expected.size), 1 / curve.runs
    if problem.inputs.dim is not None:
        rows, _ = _replicas(curve, problem, start, seed)
        shift, share = rows.mean(axis=0) - expected, share + 1 / len(rows)
    covariance = np.cov(curve.rows.T) * share + LEAST**2 * np.eye(expected.size)
    return Noise(shift, covariance, "replicas", f"{curve.runs} runs in the data", curve.runs)


def _replicas(curve: Curve, problem: Problem, start: Overlaps, seed: int) -> tuple[np.ndarray, str]:
    """(runs, numbers) rows of simulated curves, and the name of the level."""
    from solvable.results.clock import Clock

    alpha = Clock(problem, curve.clock).to_alpha(curve.time)
    samples = alpha[-1] * (problem.inputs.dim or 1) * REPLICAS * _batch(problem)
    level = Micro(runs=REPLICAS, seed=seed) if samples < AFFORDABLE else Meso(runs=REPLICAS, seed=seed)
    many = run(problem, start, level, times=alpha, progress=False)
    values = observed(many, curve.quantity)
    good = (np.isfinite(values) & (values > 0)).all(axis=1)
    if good.sum() < REPLICAS // 2:
        raise ValueError(
            f"fit: {REPLICAS - good.sum()} of {REPLICAS} replicas of training diverge at the estimate, so nothing tells the noise"
        )
    overlaps = None if curve.overlaps is None else overlaps_of(many)[good]
    return stacked(values[good], overlaps), type(level).__name__


def _batch(problem: Problem) -> float:
    batch = problem.training.batch
    return float(batch) if isinstance(batch, int) else 1.0
