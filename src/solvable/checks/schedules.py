"""Checks of best schedules: whether SGD confirms their gain, and whether their gradients are right."""

from typing import Any

import numpy as np

from solvable.checks.report import Report
from solvable.control import Optimum
from solvable.control.course import Asked, Course
from solvable.control.knobs import own_knobs
from solvable.control.numbers import KEEP, is_share
from solvable.control.objectives import objective
from solvable.levels import Level, run
from solvable.meso import Meso
from solvable.micro import Micro
from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Trajectory
from solvable.results.threshold import Threshold

SAMPLES = 3e9  # beyond which the diffusion takes the place of SGD
OUTPUTS = 401  # of a mean over time
UNSURE = 0.2  # of the gain: a larger standard error says nothing
SIZE = 1e-4  # of the differences, relative to the largest value of a control


def gain_is_real(best: Optimum, *, dim: int = 10_000, runs: int = 48, seed: int = 0, allowed: float = 4.0) -> Report:
    """Check that SGD gains as much by a schedule as the equations promise.

    Both schedules, the best one and the best constants, are run at finite dim from the same starts; compared is the logarithm of
    the ratio of the means. Where SGD would need more than 3e9 samples, the diffusion (`Meso`) stands for it.

    Parameters
    ----------
    best : Optimum
        What `optimal` returns.
    dim, runs, seed : int
        Input dimension, runs for each schedule and start, and their seed.
    allowed : float
        How many standard errors the gain may differ. Where few runs escape from a plateau late, finite dim shows: raise `dim`.

    Returns
    -------
    Report
        The gain, against that of the equations, in standard errors.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> problem = problem.replace(training__label_noise=0.1)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.5)
    >>> best = sv.optimal(problem, start, until=30, control={"training.learning_rate": 8}, refine=False)
    >>> report = sv.checks.gain_is_real(best, dim=2000, runs=16)
    >>> float(report.values["gain"][0]) > 0, report.passed
    (True, True)
    """
    if runs < 2:
        raise ValueError(f"gain_is_real: {runs} runs given, must be at least 2")
    level = _level(best, dim, runs, seed)
    before, after = (_logarithm(best, one, dim, level) for one in (best.constant_problem, best.problem))
    gain, error = before[0] - after[0], float(np.hypot(before[1], after[1]))
    if not error < UNSURE * abs(best.gain):
        raise ValueError(
            f"gain_is_real: the gain {best.gain:.3g} would be known to {error:.2g} only; raise runs or dim"
        )
    values, wanted, scales = ({"gain": np.array([one])} for one in (gain, best.gain, error))
    return Report(f"gain at dim {dim}", values, wanted, scales, allowed)


def _logarithm(best: Optimum, problem: Problem, dim: int, level: Level) -> tuple[float, float]:
    """Of what counts, as `Optimum.value` is the mean over starts, and its standard error."""
    found = [_counted(best, problem.replace(inputs__dim=dim), start, level) for start in best.starts]
    means, errors = (np.array([function(one) for one in found]) for function in (np.mean, standard_error))
    if best.quantity == "time":
        return float(np.log(means.mean())), float(np.sqrt((errors**2).sum()) / means.sum())
    return float(np.log(means).mean()), float(np.sqrt(((errors / means) ** 2).sum()) / means.size)


def _level(best: Optimum, dim: int, runs: int, seed: int) -> Level:
    """SGD, or the diffusion where samples are too many."""
    batch = max(float(one.training.segments["batch"][:, 1].max()) for one in (best.problem, best.constant_problem))
    few = 2 * best.until * dim * runs * len(best.starts) * batch <= SAMPLES
    return Micro(runs=runs, seed=seed) if few else Meso(runs=runs, seed=seed)


def _counted(best: Optimum, problem: Problem, start: Overlaps, level: Level) -> np.ndarray:
    """(runs,) what counts: the last risk, its mean over time, or the time."""
    stop = best.objective if isinstance(best.objective, Threshold) else None
    counts = objective(best.objective)
    times = np.linspace(0.0, best.until, OUTPUTS if counts.is_mean else 2)
    settings: dict[str, Any] = {"until": 2 * best.until, "stop": stop} if stop is not None else {"times": times}
    found: Trajectory = run(problem, start, level, progress=False, **settings)
    if not found.success:
        raise ValueError(f"gain_is_real: {found.message}")
    if stop is not None:
        return found.end_time
    risk = best.counted(found)
    return np.trapezoid(risk, times, axis=1) / best.until if counts.is_mean else risk[:, -1]


def gradient(best: Optimum, *, directions: int = 5, seed: int = 0, tolerance: float = 1e-6) -> Report:
    """Check the gradient at a schedule against differences of runs with the same steps.

    Parameters
    ----------
    best : Optimum
        What `optimal` returns; from its first start.
    directions, seed : int
        How many random directions of all controls, and their seed.
    tolerance : float
        Allowed deviation, relative to the largest derivative along any of them.

    Returns
    -------
    Report
        Derivatives along the directions, against differences of fourth order.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> best = sv.optimal(problem, start, until=20, control={"training.learning_rate": 8}, refine=False)
    >>> sv.checks.gradient(best).passed
    True
    """
    knobs, values = own_knobs(best.problem, best.until, list(best.schedule))
    values = [_beside(knob.name, one) for knob, one in zip(knobs, values, strict=True)]
    course = Course(Asked(best.problem, best.until, objective(best.objective)), best.starts[0], knobs)
    course.place(values)
    if not course.record():
        raise ValueError("gradient: the run does not come to its end beside this schedule")
    slopes, rng = course.evaluate().gradient, np.random.default_rng(seed)
    found = np.empty((2, directions))
    for i in range(directions):
        moves = [one.max() * rng.uniform(-1.0, 1.0, one.size) for one in values]
        found[:, i] = (
            sum(slope @ move for slope, move in zip(slopes, moves, strict=True)),
            _along(course, values, moves),
        )
    scale = np.full(directions, tolerance * np.abs(found[1]).max())
    return Report("gradient", {"derivative": found[0]}, {"derivative": found[1]}, {"derivative": scale}, 1.0)


def _beside(name: str, values: np.ndarray) -> np.ndarray:
    """Beside the optimum, where the gradient does not vanish; probabilities stay inside their bounds."""
    if is_share(name) or name == KEEP:
        return 0.02 + 0.7 * values
    return 1.1 * values + 0.01 * values.max()


def _along(course: Course, values: list[np.ndarray], moves: list[np.ndarray]) -> float:
    """Difference of fourth order along a direction; the time to a threshold moves its last step, so that steps are found anew."""
    found = []
    for factor in (1.0, -1.0, 2.0, -2.0):
        course.place([one + factor * SIZE * move for one, move in zip(values, moves, strict=True)])
        if course.asked.objective.is_time:
            course.record()
        found.append(course.evaluate(gradient=False).value)
    return (8 * (found[0] - found[1]) - (found[2] - found[3])) / (12 * SIZE)
