"""Arrays that levels with noise fill while they run: curves, ends, and how runs ended."""

from dataclasses import replace
from typing import Any

import numpy as np

from solvable.dynamics.kernel_choice import task_risks
from solvable.dynamics.kernel_data import RISK, sizes, summed, unpack
from solvable.levels.limits import check_outputs
from solvable.levels.observer import NODES, Observer
from solvable.levels.plan import Lane, Plan
from solvable.numerics.threads import interruptible
from solvable.problems import Schedule
from solvable.results import Blocks, Ending, Trajectory
from solvable.results.building import Curves, Ends, build
from solvable.results.extra_rows import with_rest


class Records:
    """Arrays of all runs of a level with noise, filled output by output; NaN where a run ended before.

    `steps` are the output times, rounded to whole steps.
    """

    def __init__(self, lanes: list[Lane], plan: Plan, each: int) -> None:
        problem, self.plan = lanes[0].problem, plan
        dim = problem.inputs.dim
        assert dim is not None
        self.problem, self.lanes, self.each = problem, lanes, each
        if plan.times[-1] > 0 and round(plan.times[-1] * dim) == 0:
            raise ValueError(
                f"until: {plan.times[-1] * dim:g} steps, less than half of one; a step is 1/dim = {1 / dim:g}"
            )
        if plan.times[-1] * dim > 2.0**62:
            raise ValueError(
                f"until: {plan.times[-1] * dim:.3g} steps, more than can be counted; lower until or inputs.dim"
            )
        self.steps = np.unique(np.rint(plan.times * dim).astype(np.int64))
        self.dim = dim
        keeps = plan.keep_blocks or bool(problem.tasks)  # the risks of tasks are computed at the end
        check_outputs(lanes, replace(plan, times=self.steps, keep_blocks=keeps), each)
        moving, rows, readouts = sizes(problem)
        runs, times = len(lanes) * each, self.steps.size
        self.risk, self.risk_error = np.full((2, runs, times), np.nan)
        self.totals = np.full((runs, times, moving * rows + readouts), np.nan)
        size = problem.inputs.blocks * moving * rows + readouts
        self.states = np.full((runs, times, size), np.nan) if keeps else None
        observers = [Observer(lane, plan) for lane in lanes]
        self._observers = {id(lane): observer for lane, observer in zip(lanes, observers, strict=True)}
        self.ends = np.repeat([observer.packed.state for observer in observers], each, axis=0)
        self.start_risk = np.repeat([observer.see(observer.packed.state, 0.0)[0][RISK] for observer in observers], each)
        self.endings = np.full(runs, Ending.INTERRUPTED)
        self.end_steps, self.end_risk = np.zeros(runs), np.full(runs, np.nan)
        self.overlap_error = 0.0  # infinite, which is unknown, where averages over nodes move the states
        self.evaluations: np.ndarray | None = None  # of each run; None: one for each sample

    def observer(self, lane: Lane) -> Observer:
        """To look at the states of a lane, for one thread."""
        return self._observers[id(lane)].copy()

    def write(self, run: int, output: int, y: np.ndarray, seen: np.ndarray, error: float) -> None:
        """Output number `output` of a run, with what was seen of it."""
        self.risk[run, output], self.risk_error[run, output] = seen[RISK], error
        self.totals[run, output] = summed(self.problem, y) if self.problem.inputs.blocks > 1 else y
        if self.states is not None:
            self.states[run, output] = y

    def end(self, run: int, ending: Ending, step: float, y: np.ndarray, risk: float = np.nan) -> None:
        """Note how, when and in which state a run ended, and at which risk if it was measured on rows of data."""
        self.endings[run], self.end_steps[run], self.ends[run], self.end_risk[run] = ending, step, y, risk

    def _samples(self) -> np.ndarray:
        """(run,) how many samples each run has seen."""
        batch = self.problem.training.batch
        assert isinstance(batch, int | Schedule)
        return (
            self.end_steps * batch
            if isinstance(batch, int)
            else np.rint(batch.integral(self.end_steps / self.dim) * self.dim)
        )

    @interruptible
    def _task_risk(self) -> np.ndarray:
        """(run, time, task), of all runs of a lane at once."""
        assert self.states is not None
        found, times = [], np.tile(self.steps / self.dim, self.each)
        for lane, states in zip(self.lanes, np.split(self.states, len(self.lanes)), strict=True):
            flat = states.reshape(-1, states.shape[-1])
            found.append(task_risks(lane.problem, lane.start, flat, times, NODES))
        return np.concatenate(found).reshape(*self.risk.shape, -1)

    def trajectory(self, name: str, settings: dict[str, Any]) -> Trajectory:
        """The Trajectory of all runs, for a level of this name with these settings."""
        problem = self.problem
        totals = unpack(problem, self.totals)
        student, cross, readout = unpack(problem, self.ends)
        blocks = None
        if self.states is not None and self.plan.keep_blocks:
            blocks = Blocks(*unpack(problem, self.states)[:2])
        curves = Curves(
            alpha=self.steps / self.dim,
            risk=self.risk,
            student_overlap=totals[0][..., 0, :, :],
            cross_overlap=totals[1][..., 0, :, :],
            readout=totals[2],
            risk_error=self.risk_error,
            overlap_error=np.where(np.isfinite(self.risk), self.overlap_error, np.nan),
            blocks=blocks,
            task_risk=self._task_risk() if problem.tasks else None,
        )
        evaluations = (self._samples() if self.evaluations is None else self.evaluations).astype(np.int64)
        risk = None if np.isnan(self.end_risk).all() else self.end_risk
        ends = Ends(Blocks(student, cross), readout, self.endings, self.end_steps / self.dim, evaluations, risk)
        starts = [lane.start for lane in self.lanes]
        made = build(problem, name, settings, starts, self.start_risk, curves, ends, stop=self.plan.stop)
        each = [start for start in starts for _ in range(self.each)]
        return with_rest(made, each, self.totals, self.ends, self.states)
