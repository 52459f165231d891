"""What disturbs a learning curve: training itself, as replicas show it, and errors of measurement."""

from typing import NamedTuple

import numpy as np

from solvable.fits.curve import FEWEST, Curve, observed, overlaps_of, stacked
from solvable.levels import run
from solvable.levels.seeds import Common
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.overlaps import Overlaps
from solvable.problems import Problem

KINDS = ("replicas", "simulated", "errors", "scatter")
ENOUGH = 8  # runs in the data from which their own scatter is taken
REPLICAS = 256, 512  # simulated, at least and at most
SAMPLES = 5e6  # of all replicas of Micro together, between these bounds
AFFORDABLE = 1e8  # samples of Micro, beyond which Meso takes its place
FINITE = 0.5  # share of the replicas that must not diverge
ROUGH = 0.05  # relative error before anything is known
LEAST = 1e-6  # error of a logarithm: what the integration of the equations leaves


class Diverging(ValueError):
    """Too many replicas diverge to tell the noise."""


class Noise(NamedTuple):
    """What disturbs the rows of a curve: a shift of their mean, and a covariance that comes from so many replicas (None: it is
    known). `source` tells where it is from, one of `KINDS`; `told` in words. `sample` has rows that are disturbed so, less their
    mean; `drift` and `band` are shift and standard deviation of the logarithm at each time; `diverged` is the share of replicas
    that are left out because they diverge; `is_smooth` says whether the noise changes little where parameters do."""

    shift: np.ndarray
    covariance: np.ndarray
    source: str
    told: str
    replicas: int | None = None
    sample: np.ndarray | None = None
    drift: np.ndarray | None = None
    band: np.ndarray | None = None
    diverged: float = 0.0
    is_smooth: bool = True

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
    return Noise(np.zeros(size), curve.measured + ROUGH**2 * np.eye(size), "errors", "equal errors")


def given(curve: Curve) -> Noise:
    """Errors of measurement alone."""
    size = curve.rows.shape[1]
    covariance = curve.measured / curve.runs + LEAST**2 * np.eye(size)
    return Noise(np.zeros(size), covariance, "errors", "errors given", band=_band(curve, np.zeros(curve.time.size)))


def scattered(curve: Curve, residual: np.ndarray, parameters: int) -> Noise:
    """Independent errors of the size of what is left by a fit, so that chi squared is what is expected of it."""
    size = residual.size
    variance = float(residual @ residual) / (size - parameters) + LEAST**2
    told, band = f"scatter of {np.sqrt(variance):.2g} about the fit", np.full(curve.time.size, np.sqrt(variance))
    return Noise(np.zeros(size), variance * np.eye(size), "scatter", told, band=band)


def simulated(
    curve: Curve, problem: Problem, start: Overlaps, expected: np.ndarray, seed: int, most: int = REPLICAS[1]
) -> Noise:
    """What finite size does to the curve, from replicas of training at these parameters, whose limit is `expected`: rows before
    any means over groups are taken."""
    every, level, asked = _replicas(curve, problem, start, seed, most)
    rows, count = curve.compared(every), len(every)
    share = 1 / curve.runs + 1 / count  # of the data, and of the mean of the replicas
    covariance = np.atleast_2d(np.cov(rows.T)) * share + curve.measured / curve.runs
    covariance += LEAST**2 * np.eye(len(covariance))
    told = f"{count} replicas of {level}"
    told += " and errors given" if curve.error.any() else ""
    drift = every.mean(axis=0) - expected
    return Noise(
        curve.compared(drift), covariance, "simulated", told, count, _sample(curve, rows, seed), drift[: curve.time.size],
        _band(curve, every.var(axis=0, ddof=1) * share), 1 - count / asked, level == Micro.__name__,
    )  # fmt: skip


def from_runs(curve: Curve, problem: Problem, start: Overlaps, expected: np.ndarray, seed: int) -> Noise:
    """The scatter of the runs in the data; what finite size does to their mean is simulated where it can be."""
    drift, share, diverged = np.zeros(expected.size), 1 / curve.runs, 0.0
    if problem.inputs.dim is not None:
        every, _, asked = _replicas(curve, problem, start, seed)
        drift, share, diverged = every.mean(axis=0) - expected, share + 1 / len(every), 1 - len(every) / asked
    covariance = np.cov(curve.rows.T) * share + LEAST**2 * np.eye(curve.rows.shape[1])
    scatter = stacked(curve.values, None).var(axis=0, ddof=1)
    return Noise(
        curve.compared(drift), covariance, "replicas", f"{curve.runs} runs in the data", curve.runs, None,
        drift[: curve.time.size], np.sqrt(scatter * share), diverged,
    )  # fmt: skip


def _band(curve: Curve, variance: np.ndarray) -> np.ndarray:
    """(times,) standard deviation of the logarithm: this variance and errors of measurement."""
    return np.sqrt(variance[: curve.time.size] + curve.error**2 / curve.runs + LEAST**2)


def _sample(curve: Curve, rows: np.ndarray, seed: int) -> np.ndarray:
    """Rows that are disturbed as the data are, less their mean: means of as many replicas, with errors of measurement."""
    random, centred = np.random.default_rng([seed, curve.runs]), rows - rows.mean(axis=0)
    if curve.runs > 1:
        centred = np.mean([centred[random.integers(len(rows), size=len(rows))] for _ in range(curve.runs)], axis=0)
    if curve.error.any():
        sizes, vectors = np.linalg.eigh(curve.measured / curve.runs)
        centred = centred + random.standard_normal(rows.shape) * np.sqrt(np.maximum(sizes, 0.0)) @ vectors.T
    return centred


def _replicas(
    curve: Curve, problem: Problem, start: Overlaps, seed: int, most: int = REPLICAS[1]
) -> tuple[np.ndarray, str, int]:
    """(runs, times x entries) rows of simulated curves, the name of the level, and how many there were with those that diverged.

    They have common random numbers, so that the noise changes with the parameters as little as it must."""
    from solvable.results.clock import Clock

    alpha = Clock(problem, curve.clock).to_alpha(curve.time)
    samples = max(alpha[-1] * (problem.inputs.dim or 1) * _batch(problem), 1.0)
    asked = int(np.clip(SAMPLES / samples, REPLICAS[0], most))
    level: Micro | Meso = Micro(runs=asked, seed=Common(seed))
    if samples * asked > AFFORDABLE:
        level = Meso(runs=asked, seed=Common(seed))
    many = run(problem, start, level, times=alpha, progress=False)
    values = observed(many, curve.quantity)
    good = (np.isfinite(values) & (values > 0)).all(axis=1)
    if good.sum() < FINITE * asked:
        raise Diverging(
            f"fit: {asked - good.sum()} of {asked} replicas of training diverge at the estimate, so nothing tells the noise"
        )
    overlaps = None if curve.overlaps is None else overlaps_of(many)[good]
    return stacked(values[good], overlaps), type(level).__name__, asked


def _batch(problem: Problem) -> float:
    batch = problem.training.batch
    return float(batch) if isinstance(batch, int) else 1.0
