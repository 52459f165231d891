"""Observables of a learning curve: exit times, plateaus, phases, exponents, distances."""

from __future__ import annotations

from collections.abc import Callable
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


class FlatSpan(NamedTuple):
    """A plateau: from `start` to `end` the risk stays near `height`."""

    start: float
    end: float
    height: float

    @property
    def length(self) -> float:
        """How long the plateau lasts."""
        return self.end - self.start


def plateaus(times: np.ndarray, risk: np.ndarray, *, flatness: float = 0.2, floor: float = 1e-9) -> list[FlatSpan]:
    """Where the risk falls much slower than before and after: valleys of the speed v = |d log(risk) / d time|.

    A plateau lies between two peaks of v (or begins the run) and has been left: v has risen again by a factor
    1/flatness above the bottom of the valley, and the risk has fallen to a half, or by a twentieth with v past its peak. It starts
    and ends where v passes `flatness` times the peak on that side, or where the risk is one and a half times as high or low as its
    height, the risk at the bottom. A tail, slow to the end, is no plateau, nor is the maximum of a curve that rises and falls
    without a rest, nor a span of less than three outputs, nor anything below `floor` times the largest risk, which is rounding.
    None of this depends on units.
    """
    if not 0 < flatness < 1:
        raise ValueError(f"flatness: {flatness} given, must be between 0 and 1")
    good = np.isfinite(risk) & (risk > 0)
    good &= risk > floor * np.max(risk[good], initial=0.0)
    times, risk = times[good], risk[good]
    if len(times) < 3:
        return []
    slope = np.gradient(np.log(risk), times)
    speed = np.abs(slope)
    speed = np.maximum(speed, 1e-9 * speed.max())  # slower is rounding
    found: list[FlatSpan] = []
    peak = bottom = i = 0
    while i < len(speed):
        if speed[i] < speed[bottom]:
            bottom = i
        deep = bottom == 0 or speed[bottom] < flatness * speed[peak]
        if deep and speed[bottom] < flatness * speed[i]:
            right = _next_peak(slope, i, flatness)
            flat = speed[: right + 1] < flatness * speed[right]
            end = int(np.flatnonzero(flat)[-1])
            begin = 0 if bottom == 0 else peak + int(np.argmax(speed[peak:] < flatness * speed[peak]))
            near = np.flatnonzero(
                (risk[begin : end + 1] < 1.5 * risk[bottom]) & (risk[begin : end + 1] > risk[bottom] / 1.5)
            )
            begin, end = begin + int(near[0]), begin + int(near[-1])
            passed = right < len(speed) - 1 and risk[right + 1] < 0.95 * risk[bottom]
            if (passed or risk[right] < 0.5 * risk[bottom]) and end - begin >= 2:
                if times[end] - times[begin] > _turning_time(risk, speed, (peak, bottom, right)):
                    found.append(FlatSpan(float(times[begin]), float(times[end]), float(risk[bottom])))
                peak = bottom = right
            elif right < len(speed) - 1 and risk[right + 1] > risk[bottom] / 0.95:
                peak = bottom = right  # it was left by a rise
            i = right  # else a ripple, and the plateau goes on
        elif speed[i] > speed[peak] and (
            peak > 0 or bottom > 0
        ):  # while rising from the start, the start is the valley
            peak = bottom = i
        i += 1
    return found


def _turning_time(risk: np.ndarray, speed: np.ndarray, places: tuple[int, int, int]) -> float:
    """How long a curve that rises to a maximum between two peaks of its speed and falls again (or the reverse) takes for that at
    these speeds; zero if it does not turn. A smooth maximum is flat for less than half of it, a rest for much longer.
    """
    left, bottom, right = places
    if (risk[left] - risk[bottom]) * (risk[right] - risk[bottom]) <= 0:
        return 0.0
    return sum(float(abs(np.log(risk[i] / risk[bottom])) / speed[i]) for i in (left, right))


def _next_peak(slope: np.ndarray, i: int, flatness: float) -> int:
    """Index of the steepest slope from i on, before it falls to `flatness` of it or turns round."""
    top = i
    for j in range(i, len(slope)):
        steepness = slope[j] * np.sign(slope[top])
        if steepness > abs(slope[top]):
            top = j
        elif steepness < flatness * abs(slope[top]):
            break
    return top


class Phase(NamedTuple):
    """A phase of learning with its `name`, from `start` to `end`; a plateau has a `height`."""

    name: str
    start: float
    end: float
    height: float | None = None


def phases(
    times: np.ndarray,
    risk: np.ndarray,
    found: list[FlatSpan],
    end: float,
    is_norms: Callable[[float, float], bool],
    begin: float = 0.0,
) -> list[Phase]:
    """Divide a learning curve, from `begin` to `end`, into phases: approach, plateau, escape, descent.

    An escape lasts until the risk is half the plateau's height, a descent until the next plateau or the end. What leads
    to a plateau is "norm learning" where `is_norms(start, end)` says so, else "approach". Without a plateau there are
    no phases.
    """
    spans = [
        Phase("norm learning" if is_norms(begin, one.start) else "approach", begin, one.start) for one in found[:1]
    ]
    for i, one in enumerate(found):
        last = found[i + 1].start if i + 1 < len(found) else end
        if last < end and is_norms(one.end, last):
            spans += [Phase("plateau", *one), Phase("norm learning", one.end, last)]
            continue
        after = times >= one.start
        half = crossing_time(times[after], risk[after], 0.5 * one.height)
        half = max(half, one.end) if half < last else last
        spans += [
            Phase("plateau", *one),
            Phase("escape", one.end, half),
            Phase("descent", half, last),
        ]
    return [span for span in spans if span.end > span.start]


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
