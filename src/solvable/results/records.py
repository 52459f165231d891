"""What is kept of the runs of a level: outputs, ends, and how they were judged."""

from copy import copy
from dataclasses import replace
from typing import Any

import numpy as np

from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED, sizes, summed, unpack
from solvable.dynamics.system import observers, task_risks
from solvable.numerics.threads import interruptible
from solvable.results import Blocks, Ending, Lane, Plan, Trajectory
from solvable.results.rest import with_rest
from solvable.results.sizes import check_outputs

BOUND = 1e4  # squared norms beyond this multiple of the first ones have diverged
NODES = 2**12  # for risks without closed form: their error is far below that of sampling runs


class Eye:
    """Looks at the states of a lane: the risk and what is watched, whether the threshold is passed. One for each thread. `watches`
    says whether there is a threshold, `falls` in which direction, `level` where."""

    def __init__(self, lane: Lane, plan: Plan) -> None:
        watched = None if plan.stop is None else plan.stop.watched
        self.systems = [one.watching(watched) for one in observers(lane.problem, lane.start, NODES)]
        self.packed, self.scratch = self.systems[0].packed, self.systems[0].workspace()
        self._data = [one.data(self.scratch) for one in self.systems]
        self.compiled = self.systems[0].compiled and len(self.systems) == 1
        self.bound = BOUND * max(
            1.0, *(float(np.trace(one)) for one in (lane.start.student_overlap, lane.start.teacher_overlap))
        )
        self.watches, self.falls, self.level = plan.stop is not None, True, 0.0
        self.watches_risk = plan.stop is not None and plan.stop.quantity == "risk"
        if plan.stop is not None:
            self.falls, self.level = plan.stop.falls, plan.stop.level_for(self.see(self.packed.state)[0][WATCHED])

    @np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
    def see(self, y: np.ndarray, alpha: float = 0.0) -> tuple[np.ndarray, float]:
        """Risk and what is watched at a time, and the error of the risk."""
        segment = int(np.searchsorted(self.packed.problems["begin"], alpha, side="right")) - 1
        found = np.empty((len(self.systems), SEEN))
        for one, data, row in zip(self.systems, self._data, found, strict=True):
            one.observe(segment, alpha, y, row, *data)
        return found[0], abs(float(found[0, RISK]) - float(found[-1, RISK])) if len(found) > 1 else 0.0

    def copy(self) -> "Eye":
        """For another thread."""
        other = copy(self)
        other.scratch = self.systems[0].workspace()
        other._data = [one.data(other.scratch) for one in self.systems]
        return other

    def passed(self, seen: np.ndarray) -> bool:
        return self.watches and bool(seen[WATCHED] <= self.level if self.falls else seen[WATCHED] >= self.level)


class Records:
    """`steps` are the outputs, rounded to whole steps; arrays are NaN where a run did not come to."""

    def __init__(self, lanes: list[Lane], plan: Plan, each: int) -> None:
        problem, self.plan = lanes[0].problem, plan
        dim = problem.inputs.dim
        assert dim is not None
        self.problem, self.lanes, self.each = problem, lanes, each
        if plan.times[-1] > 0 and round(plan.times[-1] * dim) == 0:
            raise ValueError(f"until: {plan.times[-1]:g} is less than half a step of 1/dim = {1 / dim:g}")
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
        eyes = [Eye(lane, plan) for lane in lanes]
        self._eyes = {id(lane): eye for lane, eye in zip(lanes, eyes, strict=True)}
        self.ends = np.repeat([eye.packed.state for eye in eyes], each, axis=0)
        self.start_risk = np.repeat([eye.see(eye.packed.state)[0][RISK] for eye in eyes], each)
        self.endings = np.full(runs, Ending.INTERRUPTED)
        self.end_steps = np.zeros(runs)
        self.overlap_error = 0.0  # infinite, which is unknown, where averages over nodes move the states
        self.evaluations: np.ndarray | None = None  # of each run; None: one for each sample

    def eye(self, lane: Lane) -> Eye:
        """To look at the states of a lane, for one thread."""
        return self._eyes[id(lane)].copy()

    def write(self, run: int, output: int, y: np.ndarray, seen: np.ndarray, error: float) -> None:
        """Output number `output` of a run, with what was seen of it."""
        self.risk[run, output], self.risk_error[run, output] = seen[RISK], error
        self.totals[run, output] = summed(self.problem, y) if self.problem.inputs.blocks > 1 else y
        if self.states is not None:
            self.states[run, output] = y

    def end(self, run: int, ending: Ending, step: float, y: np.ndarray) -> None:
        self.endings[run], self.end_steps[run], self.ends[run] = ending, step, y

    def _samples(self) -> np.ndarray:
        """How many each run has seen."""
        batch = self.problem.training.batch
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
        problem = self.problem
        totals = unpack(problem, self.totals)
        student, cross, readout = unpack(problem, self.ends)
        blocks = None
        if self.states is not None and self.plan.keep_blocks:
            blocks = Blocks(*unpack(problem, self.states)[:2])
        made = Trajectory(
            problem=problem,
            level=name,
            settings=settings,
            alpha=self.steps / self.dim,
            risk=self.risk,
            risk_error=self.risk_error,
            overlap_error=np.where(np.isfinite(self.risk), self.overlap_error, np.nan),
            start_risk=self.start_risk,
            student_overlap=totals[0][..., 0, :, :],
            cross_overlap=totals[1][..., 0, :, :],
            readout=totals[2],
            block_teacher_overlap=np.repeat(
                [lane.start.block_teacher_overlap for lane in self.lanes], self.each, axis=0
            ),
            end_blocks=Blocks(student, cross),
            end_readout=readout,
            start_hash=np.repeat(np.array([lane.start.hash for lane in self.lanes], dtype=object), self.each),
            endings=self.endings,
            end_alpha=self.end_steps / self.dim,
            nfev=(self._samples() if self.evaluations is None else self.evaluations).astype(np.int64),
            blocks=blocks,
            task_risk=self._task_risk() if problem.tasks else None,
            stop=self.plan.stop,
        )
        starts = [lane.start for lane in self.lanes for _ in range(self.each)]
        return with_rest(made, starts, self.totals, self.ends, self.states)
