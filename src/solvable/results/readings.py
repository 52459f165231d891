"""Methods of `Trajectory`: what is read off its learning curves, as means, times, phases and exponents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from solvable.problems.nearest import not_one_of
from solvable.results import flat_spans, observables, switching
from solvable.results.ending import Ending
from solvable.results.quantities import CURVE, OBSERVABLES, curves_of
from solvable.results.selecting import check_alike, run_number
from solvable.results.threshold import Threshold
from solvable.results.traits import traits_of

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


def mean(self: Trajectory, name: str = "risk") -> observables.Mean:
    """Mean of an array over the runs.

    Runs that diverged or whose replicas disagree are left out, and so are interrupted ones unless all are. Times that not all of
    the others reached are NaN, because the runs that go on longest are not a fair sample.

    Parameters
    ----------
    name : str
        One of {curves}.

    Returns
    -------
    Mean
        Mean and standard error (time, ...), and how many runs entered and were left out.

    Raises
    ------
    ValueError
        If the runs differ in more than their start, for instance in the learning rate: choose by `select` first.

    Examples
    --------
    >>> sgd = sv.run(problem, start, sv.Micro(runs=8), until=10, progress=False)
    >>> sgd.mean().mean.shape, sgd.mean().runs
    ((201,), 8)
    """
    row = OBSERVABLES.get(name)
    if row is None or row.kind != CURVE or row.value(self, name) is None:
        raise ValueError(f"mean: {not_one_of(name, curves_of(self))}")
    check_alike(self, "mean")
    return observables.mean(row.value(self, name), self.risk, self.endings)


def exit_time(self: Trajectory, below: float | None = None, *, relative: bool = True) -> np.ndarray:
    """First time at which the risk has fallen to a threshold.

    Exact for runs that stopped at this very threshold; otherwise interpolated between outputs, linearly in log
    risk, and on either side of a switch of tasks by itself.

    Parameters
    ----------
    below : float, optional
        The threshold. Left out, it is that of `stop`, whatever quantity it watches, or half the first risk.
    relative : bool
        Whether `below` is a multiple of the risk at time zero.

    Returns
    -------
    ndarray
        (run,) times in the unit of `clock`; NaN where a run did not pass the threshold.

    Examples
    --------
    >>> run.exit_time(0.5).round(1)
    array([13.1])
    """
    if below is None and self.stop is not None:
        return np.where(self.endings == Ending.STOPPED, self.end_time, np.nan)
    below = 0.5 if below is None else below
    exact = self.stop is not None and self.stop == Threshold("risk", below, True, relative)
    levels = below * self.start_risk if relative else np.full(len(self.risk), below)
    read = switching.crossing_times(self, levels)
    return np.where((self.endings == Ending.STOPPED) & exact, self.end_time, read)


def mean_exit_time(
    self: Trajectory, below: float | None = None, *, relative: bool = True, confidence: float = 0.95
) -> observables.MeanTime:
    """Mean of `exit_time` over the runs, with a confidence interval by Student's distribution.

    Parameters
    ----------
    below, relative
        As in `exit_time`.
    confidence : float
        Probability that the interval is to have.

    Returns
    -------
    MeanTime
        Mean, interval and counts of runs; the interval is NaN for fewer than two runs.

    Examples
    --------
    >>> sgd.mean_exit_time(0.99).runs
    8
    """
    check_alike(self, "mean_exit_time")
    return observables.mean_time(self.exit_time(below, relative=relative), self.endings, confidence)


def plateaus(self: Trajectory, run: int | None = None, *, flatness: float = 0.2) -> list[flat_spans.FlatSpan]:
    """Spans of time in which the risk hardly moves.

    Parameters
    ----------
    run : int, optional
        Number of the run; may be left out where there is only one.
    flatness : float
        A plateau is where the speed |d log(risk) / d time| is below this fraction of its peaks before and after.

    Returns
    -------
    list of FlatSpan
        Begin, end and risk of each plateau, as `results.flat_spans.plateaus` defines them, and whether it has been `left`; times
        in the unit of `clock`. The last one may last to the end of the run: its end is NaN, and it may be the end of learning,
        which a curve cannot tell from a plateau. No plateau at all is an empty list.

    Notes
    -----
    Runs of `Macro` are read between their outputs by the slopes that the equations have there. For other levels, several blocks
    of inputs without keep_blocks=True, and problems with features, the speed is a difference of outputs: borders are then
    interpolated, and what is shorter than the distance of outputs is not seen.

    Examples
    --------
    >>> [plateau.left for plateau in run.plateaus()]
    [True]
    """
    run = run_number(self, "plateaus", run)
    floor = max(1e-9, float(self.settings["rtol"])) if traits_of(self).solves_equations else 1e-9
    return switching.plateaus(self, run, flatness, floor)


def phases(self: Trajectory, run: int | None = None, *, flatness: float = 0.2) -> list[flat_spans.Phase]:
    """The course of a run, divided into named spans of time.

    A plateau is followed by an escape (until the risk is half the plateau's height) and a descent. What leads to a
    plateau is "norm learning" where the students' norms change more outside the teachers' span than within it, else
    "approach". Borders are those of `plateaus`; norms are looked at in the next outputs.

    Parameters
    ----------
    run, flatness
        As in `plateaus`.

    Returns
    -------
    list of Phase
        Name, begin and end of each span, in the unit of `clock`; empty where no plateau has been left.

    Examples
    --------
    >>> [phase.name for phase in run.phases()]
    ['norm learning', 'plateau', 'escape', 'descent']
    """
    run = run_number(self, "phases", run)
    Q, R, T = self.student_overlap[run], self.cross_overlap[run], self.teacher_overlap[run]
    within = np.einsum("tkl,lm,tkm->t", R, np.linalg.pinv(T, hermitian=True), R)
    outside = np.einsum("tkk->t", Q) - within

    def is_norms(start: float, end: float) -> bool:
        ends = np.minimum(np.searchsorted(self.time, [start, end]), len(self.time) - 1)
        return bool(abs(np.diff(outside[ends])[0]) > abs(np.diff(within[ends])[0]))

    return switching.phases(self, run, self.plateaus(run, flatness=flatness), is_norms)


def local_exponent(self: Trajectory) -> np.ndarray:
    """Local exponent d log(risk) / d log(time) of the learning curve.

    Returns
    -------
    ndarray
        (run, time) exponents.

    Examples
    --------
    >>> run.local_exponent().shape
    (1, 201)
    """
    return np.array([observables.local_exponent(self.time, risk) for risk in self.risk])


def exponent(self: Trajectory, begin: float, end: float, *, confidence: float = 0.95) -> observables.Exponent:
    """The power of time with which the risk falls within a window.

    Parameters
    ----------
    begin, end : float
        The window, in the unit of `clock`.
    confidence : float
        Probability that the confidence interval is to have.

    Returns
    -------
    Exponent
        The exponent with a confidence interval, over runs or, for one run, from its scatter about the line; and how
        much it drifts within the window.

    Examples
    --------
    >>> bool(run.exponent(60, 100).value < 0)
    True
    """
    check_alike(self, "exponent")
    return observables.exponent(self.time, self.risk, begin, end, confidence)
