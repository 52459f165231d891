"""What a run on a finite data set tells about memorising it: gap, interpolation, and where to stop early."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from solvable.problems.training import Schedule
from solvable.results.observables import crossing_time

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


def gap(trajectory: Trajectory) -> np.ndarray | None:
    """(run, time) see `Trajectory.gap`."""
    training = trajectory.problem.training
    if trajectory.training_loss is None or training.loss != "squared" or isinstance(training.label_noise, Schedule):
        return None
    found: np.ndarray = trajectory.risk + training.loss_factor * training.label_noise - with_factor(trajectory)
    return found


def with_factor(trajectory: Trajectory) -> np.ndarray:
    """(run, time) the training loss with the loss factor, as the risk has it; the flow's is half the mean squared error."""
    assert trajectory.training_loss is not None
    if trajectory.base == "steps":
        return trajectory.training_loss
    return 2 * trajectory.problem.training.loss_factor * trajectory.training_loss


def interpolation_time(trajectory: Trajectory, below: float, relative: bool) -> np.ndarray:
    """(run,) see `Trajectory.interpolation_time`."""
    losses = _losses(trajectory, "interpolation_time")
    if not below > 0:
        raise ValueError(f"below: {below!r} given, must be positive")
    first = losses[:, 0] if relative else np.ones(len(losses))
    pairs = zip(losses, below * first, strict=True)
    return np.array([crossing_time(trajectory.time, loss, level) for loss, level in pairs])


def interpolates(trajectory: Trajectory, below: float, relative: bool) -> np.ndarray:
    """(run,) see `Trajectory.interpolates`."""
    losses = _losses(trajectory, "interpolates")
    if not below > 0:
        raise ValueError(f"below: {below!r} given, must be positive")
    found, errors = np.zeros(len(losses), dtype=bool), trajectory.training_loss_error
    for i, (loss, ending) in enumerate(zip(losses, trajectory.ending, strict=True)):
        reached = np.flatnonzero(np.isfinite(loss))
        if ending.success and reached.size:
            error = 0.0 if errors is None else 2 * errors[i, reached[-1]]
            found[i] = loss[reached[-1]] - error <= below * (loss[0] if relative else 1.0)
    return found


def early_stopping(trajectory: Trajectory) -> EarlyStop:
    """See `Trajectory.early_stopping`."""
    _losses(trajectory, "early_stopping")
    time, risk, gain = np.full((3, len(trajectory.risk)), np.nan)
    for i, values in enumerate(trajectory.risk):
        reached = np.flatnonzero(np.isfinite(values))
        if reached.size:
            best = reached[np.argmin(values[reached])]
            time[i], risk[i], gain[i] = trajectory.time[best], values[best], values[reached[-1]] - values[best]
    return EarlyStop(time, risk, gain)


def _losses(trajectory: Trajectory, who: str) -> np.ndarray:
    if trajectory.training_loss is None:
        raise ValueError(f"{who}: a run of {trajectory.level} has no training loss; it sees every sample once")
    return trajectory.training_loss
