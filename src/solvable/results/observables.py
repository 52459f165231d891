"""Observables of a learning curve: exit times, means, exponents, distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.results.ending import Ending
from solvable.results.quantities import CURVE, observable

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory

LOST = (Ending.DIVERGED, Ending.DISAGREED)  # runs whose last values mean nothing


def crossing_time(times: np.ndarray, values: np.ndarray, level: float) -> float:
    """First time at which `values` falls to `level`, between outputs by a straight line in log; NaN if it never does.

    For an exact one let the run stop there: `run(..., stop=when("risk", below=...))`.
    """
    below = np.flatnonzero(values <= level)
    if below.size == 0:
        return float("nan")
    i = int(below[0])
    if i == 0:
        return 0.0 if times[0] == 0 else float("nan")  # it fell before the first output
    before, after, wanted = (np.log(v) if v > 0 else -745.0 for v in (values[i - 1], values[i], level))
    share = (before - wanted) / (before - after)
    return float(times[i - 1] + share * (times[i] - times[i - 1]))


class Mean(NamedTuple):
    """Mean over runs with its standard error, as `Trajectory.mean` returns it.

    Parameters
    ----------
    mean, standard_error : ndarray
        (time, ...) mean over the runs, and the standard error of that mean (NaN for a single run).
    runs, left_out : int
        How many runs were averaged, and how many were left out because they broke off.
    """

    mean: np.ndarray
    standard_error: np.ndarray
    runs: int
    left_out: int


def mean(values: np.ndarray, risk: np.ndarray, endings: np.ndarray) -> Mean:
    """Of `values` (run, time, ...) where `risk` (run, time) tells which times were reached; see `Trajectory.mean`."""
    kept = ~np.isin(endings, LOST)
    if (endings[kept] != Ending.INTERRUPTED).any():
        # If at least one run finished, a run that ended earlier was stopped by the user: leave it out of averages.
        kept &= endings != Ending.INTERRUPTED
    values = values[kept]
    reached = np.isfinite(risk[kept]).all(axis=0) & kept.any()
    count = int(kept.sum())
    mean, error = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
    if reached.any():
        mean[reached] = values[:, reached].mean(axis=0)
        if count > 1:
            error[reached] = standard_error(values[:, reached], axis=0)
    return Mean(mean, error, count, len(kept) - count)


class MeanTime(NamedTuple):
    """Mean exit time over runs with a confidence interval, as `Trajectory.mean_exit_time` returns it.

    Parameters
    ----------
    mean, low, high : float
        Mean over the runs that passed the threshold, and the ends of its confidence interval, in the unit of the
        trajectory's clock. All are NaN where `never` is not zero: the runs that passed are then the fast ones, not a
        fair sample.
    runs, never, left_out : int
        How many runs passed the threshold; how many came to the end without passing it; how many diverged or were
        interrupted.
    """

    mean: float
    low: float
    high: float
    runs: int
    never: int
    left_out: int


def mean_time(times: np.ndarray, endings: np.ndarray, confidence: float) -> MeanTime:
    """Of exit times (run,), NaN for runs that did not pass, and how the runs ended (run,)."""
    from scipy.stats import t

    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} given, must be between 0 and 1")
    passed = np.isfinite(times)
    broken = ~passed & np.isin(endings, (*LOST, Ending.INTERRUPTED, Ending.STEP_LIMIT, Ending.STALLED, Ending.LEAP))
    n, never = int(passed.sum()), int((~passed & ~broken).sum())
    fair = n > 0 and never == 0
    mean = float(times[passed].mean()) if fair else np.nan
    half = float(t.ppf(0.5 + 0.5 * confidence, n - 1) * standard_error(times[passed])) if n > 1 else np.nan
    return MeanTime(mean, mean - half, mean + half, n, never, int(broken.sum()))


def local_exponent(times: np.ndarray, values: np.ndarray) -> np.ndarray:
    """d log(values) / d log(times) at each time: -2 for a fall as times^-2. NaN at time zero and where values vanish."""
    with np.errstate(divide="ignore", invalid="ignore"):
        x, y = np.log(times), np.log(values)
    result = np.full(np.shape(times), np.nan)
    usable = np.isfinite(x) & np.isfinite(y)
    if usable.sum() >= 2:
        result[usable] = np.gradient(y[usable], x[usable])
    return result


class Exponent(NamedTuple):
    """A fitted power of time: `value` of d log(risk)/d log(time) over a window, with a confidence interval [low, high].

    The interval is over runs, if there are several, else from the scatter about the line. `drift` is the exponent of
    the window's second half (in log time) minus that of the first: where it is larger than the interval, the curve is
    not a single power. `prefactor` multiplies time^value. `runs` counts the runs that have values all over the window.
    """

    value: float
    low: float
    high: float
    drift: float
    prefactor: float
    runs: int


def exponent(times: np.ndarray, risks: np.ndarray, begin: float, end: float, confidence: float) -> Exponent:
    """Of `risks` (run, time) between `begin` and `end`; see `Trajectory.exponent`."""
    from scipy.stats import t

    if not 0 < begin < end:
        raise ValueError(f"exponent: from {begin} to {end} given, must be positive and increasing")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence: {confidence} given, must be between 0 and 1")
    inside = (times >= begin * (1 - 1e-12)) & (times <= end * (1 + 1e-12))
    kept = (np.isfinite(risks[:, inside]) & (risks[:, inside] > 0)).all(axis=1)
    if inside.sum() < 4 or not kept.any():
        raise ValueError(
            f"exponent: {inside.sum()} outputs between {begin} and {end}, must be at least 4 that a run has reached"
        )
    x, y = np.log(times[inside]), np.log(risks[kept][:, inside])
    weights = np.gradient(x)  # as if the outputs were equally spaced in log time
    lines = [np.polyfit(x, one, 1, w=np.sqrt(weights)) for one in y]
    slopes, middle = np.array([line[0] for line in lines]), 0.5 * (x[0] + x[-1])
    mean = y.mean(axis=0)
    parts = x <= middle, x >= middle
    halves = [np.polyfit(x[part], mean[part], 1)[0] for part in parts if part.sum() >= 2]
    if len(slopes) > 1:
        half = t.ppf(0.5 + 0.5 * confidence, len(slopes) - 1) * standard_error(slopes)
    else:
        left, share = y[0] - np.polyval(lines[0], x), weights / weights.sum()
        apart = x - share @ x
        # effective sample size (sum w)^2 / sum w^2 of these weights, less the two fitted numbers
        freedom = max(1 / float(share @ share) - 2, 1.0)
        # the line passes nearer to points of large weight: divide residuals by one minus their leverage
        left = left / (1 - share - share * apart**2 / (share @ apart**2))
        error = np.sqrt((share**2 * apart**2 * left**2).sum()) / (share @ apart**2)
        half = t.ppf(0.5 + 0.5 * confidence, freedom) * error
    value, drift = float(slopes.mean()), float(halves[1] - halves[0]) if len(halves) == 2 else float("nan")
    prefactor = float(np.exp(np.mean([line[1] for line in lines])))
    return Exponent(value, value - float(half), value + float(half), drift, prefactor, len(slopes))


def overlap_with(role: str, trajectory: Trajectory) -> np.ndarray | None:
    """(run, time, p, rows) overlaps of students with the extra rows of a role; None where there are none."""
    extras, rows = trajectory.problem.extras, trajectory.extra_overlap
    if rows is None or role not in extras:
        return None
    chosen = [i for i, one in enumerate(extras) if one == role]
    found: np.ndarray = rows[:, :, chosen, : trajectory.problem.student.width].swapaxes(2, 3)
    return found


@observable("run time head")
def bias(trajectory: Trajectory) -> np.ndarray | None:
    """(run, time), or (run, time, head), what is added to outputs; None where nothing is."""
    count = trajectory.problem.scalars.count("bias")
    if trajectory.scalars is None or not count:
        return None
    return trajectory.scalars[:, :, 0] if count == 1 else trajectory.scalars[:, :, :count]


@observable("run time", "mean loss", CURVE, from_states=True)
def loss(trajectory: Trajectory) -> np.ndarray:
    """(run, time) the mean of the loss that is trained on, over the mix of tasks and classes at each time, without noise on
    labels; for the squared loss it is the risk. Over one variable it is exact, else an average over 8192 nodes. With several
    blocks of inputs it needs keep_blocks=True. Once it was asked for, `data` and files have it too."""
    from solvable.dynamics.losses_of_tests import mean_loss
    from solvable.results.classifying import of_states

    if trajectory.problem.training.loss != "squared":
        return of_states("loss", trajectory, mean_loss)
    return trajectory.risk.copy()


@observable("run time input")
def eigenvalues(trajectory: Trajectory) -> np.ndarray:
    """(run, time, dim) eigenvalues of `matrix`, smallest first."""
    t = trajectory
    if t.matrix is None:
        raise ValueError(f"eigenvalues: a run of {t.level} has no matrix on the inputs; Empirical has")
    values = np.full(t.matrix.shape[:-1], np.nan)
    reached = np.isfinite(t.risk)
    values[reached] = np.linalg.eigvalsh(t.matrix[reached])
    return values


@observable("run")
def end_risk(trajectory: Trajectory) -> np.ndarray:
    """(run,) risk of the last state, also where no output was taken then; NaN for runs that diverged or disagreed."""
    from solvable.dynamics.gaussian_moments import NODES, moments
    from solvable.dynamics.kernel_choice import risks as risks_of

    t = trajectory
    measured = np.nan if t.measured_end_risk is None else t.measured_end_risk
    risks = np.where(t.end_alpha == t.alpha[-1], t.risk[:, -1], measured)
    for run in np.flatnonzero(np.isnan(risks) & ~np.isin(t.endings, LOST)):
        students, cross, teachers = t.end_blocks.student[run], t.end_blocks.cross[run], t.block_teacher_overlap[run]
        if not np.isfinite(students).all():
            continue
        if t.problem.features:
            risks[run] = risks_of(t.problem, [t.last(int(run))], t.end_alpha[run : run + 1], NODES)[0][0]
        else:
            blocks = np.block([[students, cross], [cross.transpose(0, 2, 1), teachers]])
            then = t.problem.at(float(t.end_alpha[run]))
            risks[run] = moments(np.tensordot(then.inputs.eigenvalues, blocks, axes=1), then, t.end_readout[run]).risk
    return risks
