"""Methods of `Trajectory`: what a run on a finite data set tells about memorising it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.problems.schedules import Schedule
from solvable.results.observables import crossing_time
from solvable.results.other_risk import opposite_risk
from solvable.results.quantities import CURVE, observable

if TYPE_CHECKING:
    from solvable.results.trajectory import Trajectory


class EarlyStop(NamedTuple):
    """Where each run has its least risk, as `Trajectory.early_stopping` returns it.

    Parameters
    ----------
    time, risk : ndarray
        (run,) time of the output with the least risk, in the unit of the trajectory's clock, and that risk. NaN for runs without
        outputs.
    gain : ndarray
        (run,) by how much the risk has risen since, at the last output that the run reached; zero where it still falls.
    """

    time: np.ndarray
    risk: np.ndarray
    gain: np.ndarray


@observable("run time", "test loss less training loss", CURVE, written=lambda t: t.base == "steps")
def gap(trajectory: Trajectory) -> np.ndarray | None:
    """(run, time) by how much the squared loss on fresh samples exceeds that on the data set, with the same noise and flips of
    labels. None without a data set, for other losses, and with flips for rows of data and for blocks that were not kept."""
    training = trajectory.problem.training
    if trajectory.training_loss is None or training.loss != "squared" or isinstance(training.label_noise, Schedule):
        return None
    fresh = trajectory.risk + training.loss_factor * training.label_noise
    if training.label_flips:
        opposite = opposite_risk(trajectory)
        if opposite is None:
            return None
        fresh = fresh + training.label_flips * (opposite - trajectory.risk)
    found: np.ndarray = fresh - _factor(trajectory) * trajectory.training_loss
    return found


@observable("run time")
def test_loss(trajectory: Trajectory) -> np.ndarray:
    """(run, time) what `training_loss` would be on infinitely many samples; for other losses than the squared one without noise
    on their labels, `loss`."""
    training, losses = trajectory.problem.training, _losses(trajectory, "test_loss")
    if training.loss != "squared":
        if training.label_noise != 0 or training.label_flips:
            raise ValueError(
                f"test_loss: not known for the loss {training.loss!r} with noise on labels; `loss` is without"
            )
        return trajectory.loss
    above = trajectory.gap
    if above is None:
        raise ValueError("test_loss: label_flips need Gaussian inputs, and keep_blocks=True for several blocks of them")
    found: np.ndarray = losses + above / _factor(trajectory)
    return found


def _factor(trajectory: Trajectory) -> float:
    """The training loss with the loss factor, as the risk has it, over what is kept: the flow keeps half the mean squared error."""
    return 1.0 if trajectory.base == "steps" else 2 * trajectory.problem.training.loss_factor


def interpolation_time(self: Trajectory, below: float = 1e-3, *, relative: bool = True) -> np.ndarray:
    """First time at which the training loss has fallen to a threshold: when the data set is memorised.

    Parameters
    ----------
    below : float
        The threshold.
    relative : bool
        Whether it is a multiple of the training loss at the first output.

    Returns
    -------
    ndarray
        (run,) times in the unit of `clock`, interpolated between outputs, linearly in the logarithm of the loss; NaN where a
        run did not come so far.

    Examples
    --------
    >>> few = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=1000), training=sv.Training(step=1.0, samples=sv.Ratio(0.5), label_noise=0.1),
    ... )
    >>> data = sv.run(few, sv.start(few, seed=0), sv.Empirical(), until=100, progress=False)
    >>> bool(0 < data.interpolation_time(0.05)[0] < 100)
    True
    """
    losses = _losses(self, "interpolation_time")
    if not below > 0:
        raise ValueError(f"below: {below!r} given, must be positive")
    first = losses[:, 0] if relative else np.ones(len(losses))
    return np.array([crossing_time(self.time, loss, level) for loss, level in zip(losses, below * first, strict=True)])


def interpolates(self: Trajectory, below: float = 1e-3, *, relative: bool = True) -> np.ndarray:
    """Whether the training loss ends at or below a threshold: the data set is memorised.

    Parameters
    ----------
    below : float
        The threshold.
    relative : bool
        Whether it is a multiple of the training loss at the first output.

    Returns
    -------
    ndarray
        (run,) true where the loss at the last output that the run reached, less twice its error where that is known, is at most the
        threshold. Runs that broke off do not interpolate.

    Examples
    --------
    >>> data.interpolates(0.1).tolist(), data.interpolates(1e-9).tolist()
    ([True], [False])
    """
    losses = _losses(self, "interpolates")
    if not below > 0:
        raise ValueError(f"below: {below!r} given, must be positive")
    found, errors = np.zeros(len(losses), dtype=bool), self.training_loss_error
    for i, (loss, ending) in enumerate(zip(losses, self.ending, strict=True)):
        reached = np.flatnonzero(np.isfinite(loss))
        if ending.success and reached.size:
            error = 0.0 if errors is None else 2 * errors[i, reached[-1]]
            found[i] = loss[reached[-1]] - error <= below * (loss[0] if relative else 1.0)
    return found


def early_stopping(self: Trajectory) -> EarlyStop:
    """Where each run has its least risk, among its outputs.

    Returns
    -------
    EarlyStop
        Time and risk there, and by how much the risk has risen since.

    Examples
    --------
    >>> best = data.early_stopping()
    >>> bool(best.time[0] < 100 and best.gain[0] > 0)
    True
    """
    _losses(self, "early_stopping")
    time, risk, gain = np.full((3, len(self.risk)), np.nan)
    for i, values in enumerate(self.risk):
        reached = np.flatnonzero(np.isfinite(values))
        if reached.size:
            best = reached[np.argmin(values[reached])]
            time[i], risk[i], gain[i] = self.time[best], values[best], values[reached[-1]] - values[best]
    return EarlyStop(time, risk, gain)


def _losses(trajectory: Trajectory, who: str) -> np.ndarray:
    if trajectory.training_loss is None:
        raise ValueError(f"{who}: a run of {trajectory.level} has no training loss; it sees every sample once")
    return trajectory.training_loss
