"""The result of a search for the best schedule."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from solvable.control.certificate import Certificate
from solvable.control.objectives import objective as as_objective
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule
from solvable.problems.nearest import telling_names
from solvable.results import Trajectory
from solvable.results.threshold import Threshold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WORDS = {  # of others, by which errors propose ours
    **dict.fromkeys(("fun", "risk", "loss", "objective_value"), "value"),
    **dict.fromkeys(("x", "schedules", "control", "controls"), "schedule"),
    **dict.fromkeys(("run", "curve"), "trajectory"),
    **dict.fromkeys(("nfev", "nit"), "calls"),
}


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
        End of the run, in steps/dim.
    objective : str or Threshold
        What was made small.
    schedule : dict
        The `Schedule` of each control.
    value : float
        The risk, the mean risk, those of tasks, or the time; over several starts the geometric mean of risks, the mean of times.
    constant : tuple
        The best constants, a number for each control, and the value that they reach.
    gain : float
        Logarithm of how many times smaller the value is than with the best constants.
    trajectory : Trajectory
        The run of `Macro` with these schedules, from the first start.
    constant_trajectory : Trajectory
        The same with the best constants.
    certificate : Certificate
        How far it is from optimal.
    success : bool
        Whether the gap is small.
    message : str
        What happened, in words.
    calls : int
        Gradients that were computed.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> best = sv.optimal(problem, start, until=20, control={"training.learning_rate": 8}, refine=False)
    >>> best
    Optimum(risk 0.1176, with constants 0.1932, 8 values of training.learning_rate)
    >>> run = sv.run(best.problem, start, sv.Micro(), until=20, progress=False)
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
    constant_trajectory: Trajectory
    certificate: Certificate
    success: bool
    message: str
    calls: int = field(default=0)

    @property
    def constant_problem(self) -> Problem:
        """The problem with the best constants."""
        return self.constant_trajectory.problem

    @property
    def quantity(self) -> str:
        """What `value` is: the objective, or "time"."""
        return self.objective if isinstance(self.objective, str) else "time"

    @property
    def end(self) -> float:
        """When the last of what counts happens: the end of the run, or the time at which the threshold is reached."""
        return min(self.value, self.until) if self.quantity == "time" else self.until

    def counted(self, run: Trajectory) -> np.ndarray:
        """(run, time) of a run of this problem: the risks that count, those of tasks where these do."""
        return as_objective(self.objective).curve(run)

    def plot(self) -> "Figure":
        """Draw the schedules above the risk; see `plot.schedule`."""
        from solvable.plot import schedule

        return schedule(self)

    def summary(self) -> str:
        """What was found, in a few lines."""
        numbers, before = self.constant
        mean, spread = self.certificate.hamiltonian
        lines = [
            f"{self.quantity} {self.value:.6g}; with the best constants {before:.6g}: a gain of {self.gain:.4g} (logarithm)",
            *(
                f"  {name}: {_told(one, self.end)}; best constant {numbers[name]:.4g}"
                for name, one in self.schedule.items()
            ),
            self.message,
            f"  H = {mean:.4g}, spread {spread:.1g}; {len(self.certificate.guesses)} first guesses; {self.calls} gradients",
        ]
        return "\n".join(lines)

    if not TYPE_CHECKING:  # which is to tell of names that there are not
        __getattr__ = telling_names(WORDS)

    def __repr__(self) -> str:
        controls = ", ".join(f"{len(one.rates)} values of {name}" for name, one in self.schedule.items())
        return f"Optimum({self.quantity} {self.value:.4g}, with constants {self.constant[1]:.4g}, {controls})"


def _told(schedule: Schedule, end: float) -> str:
    rates = [rate for time, rate in zip(schedule.times, schedule.rates, strict=True) if time < end]
    if len(rates) == 1:
        return f"{rates[0]:.4g}"
    span = f"from {min(rates):.4g} to {max(rates):.4g}"
    return f"{len(rates)} values {span}, {rates[0]:.4g} at first, {float(schedule(end * (1 - 1e-12))):.4g} at the end"
