"""The result of a search for the best schedule."""

from dataclasses import dataclass

from solvable.control.certificate import Certificate
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule
from solvable.results import Trajectory
from solvable.results.threshold import Threshold


@dataclass(frozen=True)
class Optimum:
    """The best schedule that was found, what it is worth, and how we know.

    Parameters
    ----------
    problem : Problem
        The problem with the schedules in it, for any level to run.
    starts : tuple of Overlaps
        The states at time zero.
    until : float
        End of the run.
    objective : str or Threshold
        What was made small.
    schedule : dict
        The `Schedule` of each control.
    value : float
        The risk, the mean risk or the time; over several starts the geometric mean of risks, the mean of times.
    constant : tuple
        The best constants, a number for each control, and the value that they reach.
    gain : float
        Logarithm of how many times smaller the value is than with the best constants.
    trajectory : Trajectory
        The run of `Macro` with these schedules, from the first start.
    certificate : Certificate
        How far it is from optimal.
    success : bool
        Whether the gap is small.
    message : str
        What happened, in words.
    calls : int
        Gradients that were computed.
    """

    problem: Problem
    starts: tuple[Overlaps, ...]
    until: float
    objective: str | Threshold
    schedule: dict[str, Schedule]
    value: float
    constant: tuple[dict[str, float], float]
    gain: float
    trajectory: Trajectory
    certificate: Certificate
    success: bool
    message: str
    calls: int
