"""What the figures of this paper share: A(0) = 1 (infinitely many Gaussian students), Gaussian rows, teachers of its two kinds."""

import numpy as np

from solvable.empirical import Empirical
from solvable.levels import run
from solvable.numerics.statistics import log_slope
from solvable.overlaps import Overlaps, Weights, start
from solvable.papers.figure import whole
from solvable.problems import Data, Problem, convention
from solvable.results import Trajectory

KEY = "saraomannelli2020"
LINES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))  # beside the colours


def problem(d: int, m_star: int, n: int | None = None) -> Problem:
    return convention(KEY).problem(m=d, m_star=m_star, d=d, n=n)


def first(setting: Problem, seed: int = 0) -> Overlaps:
    """A(0) = 1, with an orthonormal teacher."""
    return start(setting, seed=seed, students="spanning", scale=float(np.sqrt(setting.student.width)))


def teacher(kind: str, units: int, d: int, random: np.random.Generator) -> np.ndarray:
    """(units, d): "gaussian" entries of variance one, or one "unit" vector."""
    rows = random.standard_normal((units, d))
    return rows if kind == "gaussian" else rows / np.linalg.norm(rows, axis=1, keepdims=True)


def follow(rows: np.ndarray | None, units: np.ndarray, times: np.ndarray, rtol: float = 1e-6) -> Trajectory:
    """The flow from A(0) = 1 on given samples, labelled by given teachers; on the population where there are no samples."""
    d = units.shape[1]
    setting = problem(d, len(units)).replace(teacher__overlap="sampled")
    weights = Weights(d * np.eye(d), np.sqrt(d) * units)
    level = Empirical() if rows is None else Empirical(data=Data(rows, prepare=False), rtol=rtol)
    return whole(run(setting, weights, level, times=times, progress=False))


def losses(trajectory: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """(time,) training and population loss of the first run."""
    assert trajectory.training_loss is not None
    return trajectory.training_loss[0], trajectory.population_loss[0]


def log_mean(values: np.ndarray, axis: int = 0) -> np.ndarray:
    mean: np.ndarray = np.exp(np.log(np.maximum(values, 1e-32)).mean(axis=axis))
    return mean


def log_slopes(times: np.ndarray, values: np.ndarray, begin: float, end: float) -> np.ndarray:
    """(run,) exponents of (run, time) values between two times."""
    slopes: np.ndarray = log_slope(times, values, 0.999 * begin, 1.001 * end)
    return slopes
