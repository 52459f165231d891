"""The limit of a finite data set as a level: many dimensions and samples at a fixed ratio."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from solvable.empirical_macro.marching import March, Marched
from solvable.empirical_macro.outcome import LaneCurves, outcome, trajectory
from solvable.empirical_macro.replicas import WIDTHS
from solvable.empirical_macro.translation import check, particles, room, setting, span
from solvable.levels import Lane, Level, Plan
from solvable.levels.effective import as_asked, effective_lanes
from solvable.levels.jobs import Control, run_jobs
from solvable.levels.limits import check_outputs, check_settings, check_whole
from solvable.levels.observer import Observer
from solvable.levels.seeds import lane_seed, seed_settings
from solvable.numerics.memory import FLOAT, check_memory
from solvable.numerics.random import Purpose, child
from solvable.numerics.threads import cores, interruptible, one_blas_thread
from solvable.problems import EVERYTHING, Problem
from solvable.problems.reuse import warn_of_small_steps
from solvable.results import Clock, Trajectory
from solvable.results.traits import TRAITS

MOST_STEPS = 100_000


@dataclass(frozen=True)
class EmpiricalMacro(Level):
    """The limit of a finite data set as a level: infinitely many dimensions and samples at a fixed ratio, in steps.

    What `Macro` is to `Micro`, this is to `Empirical`: dynamical mean-field theory, solved forward once by particles, with errors
    from independent replicas. The ratio is that of `training.samples` (a `Ratio`, or a number with inputs.dim), or that of
    `training.batch` where batches are fresh. A trajectory has one run with `training_loss` (run, time), `risk_error` and
    `training_loss_error`; time is counted in steps, and schedules with it. Where replicas disagree the run ends there as a failure.

    Parameters
    ----------
    particles : int, optional
        Samples of the process of one sample, a power of two; left out, chosen from the number of steps: at least 30 for each, or
        100 where each step sees another part of the samples, and 4096 in all.
    replicas : int
        Independent passes, at least two.
    seed : int or SeedSequence
        Of the particles.
    smoothing : float, optional
        For students with kinks: width over which they are rounded off. Passes with this, half and a quarter of it are extrapolated
        to zero, and a third of what that adds is counted as error.
    two_times : bool
        Whether to keep `correlation` and `response` between all pairs of output times.
    threads : int, optional
        How many to use; left out, all cores.

    Notes
    -----
    Errors are standard errors of the mean over replicas, times the factor by which twice the error covers 95 % for so few
    (Student's; 1.31 for six). Units and losses may be any smooth ones. A target enters by its values alone, so it may have kinks
    and jumps. Momentum of the kind beta is taken into account. A run from `last()` or `at(...)` is one on new samples: to go on,
    ask for more times.

    Examples
    --------
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     training=sv.Training(step=0.5, samples=sv.Ratio(3), label_noise=0.1),
    ... )
    >>> start = sv.start(problem, student_overlap=np.eye(2), cross_overlap=[[0.3], [0.1]])
    >>> run = sv.run(problem, start, sv.EmpiricalMacro(particles=1024), until=5, progress=False)
    >>> bool(run.training_loss[0, -1] < run.risk[0, -1] + 0.1), bool(run.risk_error[0, -1] < 0.01)
    (True, True)
    """

    particles: int | None = None
    replicas: int = 6
    seed: int | np.random.SeedSequence = 0
    smoothing: float | None = None
    two_times: bool = False
    threads: int | None = None

    name = "empirical_macro"
    clock = "steps"
    traits = TRAITS[name]
    domain = replace(EVERYTHING, knows=(*EVERYTHING.knows, "training.momentum", "training.repeats"))

    def __post_init__(self) -> None:
        check_whole(self, replicas=2, threads=1, seed=0)
        if self.particles is not None:
            check_whole(self, particles=16)
            if self.particles & (self.particles - 1):
                raise ValueError(f"particles: {self.particles} given, must be a power of two")
        check_settings(self, "two_times", smoothing="a positive width, such as 0.2")

    def settings(self) -> dict[str, Any]:
        """What the result depends on, as plain values."""
        return {
            "particles": self.particles, "replicas": self.replicas, **seed_settings(self.seed), "smoothing": self.smoothing,
            "two_times": self.two_times,
        }  # fmt: skip

    def own_clock(self, problem: Problem) -> Clock:
        """Steps."""
        return Clock(problem, "steps", "steps")

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        for lane in lanes:
            check(lane.problem, self.smoothing)
        warn_of_small_steps([lane.problem for lane in lanes])

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """March all replicas of every lane; called by `run`."""
        plan = _in_steps(plan)
        steps = int(plan.times[-1])
        count = self._checked(lanes, plan, steps)
        jobs = [job for lane in lanes for job in self._jobs(lane, plan, steps, count)]
        with one_blas_thread():
            run_jobs(jobs, [float(max(steps, 1))] * len(jobs), self.threads, plan.report)
        return self._trajectory(lanes, plan, jobs, count)

    def _checked(self, lanes: list[Lane], plan: Plan, steps: int) -> int:
        """The number of particles; ValueError where memory does not hold them."""
        problem, kept = lanes[0].problem, plan.times.size * lanes[0].problem.student.width
        if steps > MOST_STEPS:
            raise ValueError(f"until: {steps} steps, must be at most {MOST_STEPS} here; use Empirical")
        check_outputs(lanes, plan, beside=2 * kept**2 // plan.times.size if self.two_times else 0, copies=2)
        count = self.particles or particles(problem, steps)
        if count < span(problem, steps):
            raise ValueError(f"particles: {count} given for {steps} steps, must be at least one for each (better 30)")
        passes = self.replicas * len(lanes) * (1 if self.smoothing is None else len(WIDTHS))
        at_once, p = min(passes, self.threads or cores()), problem.student.width
        kernels = 2 * ((steps + 1) * p) ** 2 if self.two_times else 0
        what = f"{count} particles over {steps} steps in {at_once} thread(s)"
        try:
            check_memory("until", what, FLOAT * (at_once * room(problem, steps, count) + passes * kernels))
        except ValueError as error:
            fewer = "fewer threads" if at_once > 1 else "fewer particles"
            raise ValueError(f"{error}; take fewer and longer steps, {fewer}, or Empirical") from None
        return count

    def _jobs(self, lane: Lane, plan: Plan, steps: int, count: int) -> list["_Pass"]:
        root, bound = (
            lane_seed(self.seed, Purpose.DATA_LIMIT, lane),
            Observer(effective_lanes([lane])[0], replace(plan, stop=None)).bound,
        )
        widths = [None] if self.smoothing is None else [self.smoothing * one for one in WIDTHS]
        settings = [setting(lane, steps, width) for width in widths]
        return [
            _Pass(March, one, count, child(root, replica), bound, two_times=self.two_times)
            for replica in range(self.replicas)
            for one in settings
        ]  # all widths with the same particles, so that their differences are known better than each

    @interruptible
    def _trajectory(self, lanes: list[Lane], plan: Plan, jobs: list["_Pass"], count: int) -> Trajectory:
        each, observed = len(jobs) // len(lanes), effective_lanes(lanes)  # without velocities, which losses do not see
        found: list[LaneCurves] = []
        for i, lane in enumerate(observed):
            passes = [job.found for job in jobs[i * each : (i + 1) * each]]
            found.append(outcome(lane, plan, passes, each // self.replicas, self.two_times))
        settings = self.settings() | {"particles": count}
        made = trajectory(self.name, settings, observed, plan, found, count * each)
        return made if observed is lanes else as_asked(made, lanes)


class _Pass:
    """One pass as a job."""

    found: Marched | None = None

    def __init__(self, march: type[March], *arguments: Any, two_times: bool = False) -> None:
        self.march, self.arguments, self.two_times = march, arguments, two_times

    def __call__(self, control: Control, place: int) -> None:
        *arguments, bound = self.arguments

        def watch(step: int) -> bool:
            control.done[place] = step
            return control.stopped

        with np.errstate(all="ignore"):  # a run that diverges overflows before it is stopped
            self.found = self.march(*arguments).run(watch, bound, two_times=self.two_times)
        control.done[place] = self.found.training_loss.size - 1


def _in_steps(plan: Plan) -> Plan:
    """The same at whole steps."""
    steps = np.unique(np.rint(plan.times))
    if plan.times[-1] > 0 and steps[-1] == 0:
        raise ValueError(f"until: {plan.times[-1]:g} is less than half a step")
    return replace(plan, times=steps)
