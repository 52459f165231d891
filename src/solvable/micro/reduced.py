"""The reduced process: groups of eight runs, advanced in compiled code."""

import time
from collections.abc import Callable

import numpy as np

from solvable.micro import kernel, layout
from solvable.micro.ensemble import Control
from solvable.micro.records import Eye, Records, threshold
from solvable.numerics.lanes import WIDTH, slots
from solvable.numerics.random import streams
from solvable.problems import Problem
from solvable.results import Ending, Lane

BOUND = 1e8  # squared norms beyond this multiple of the first have diverged
LOOK = 16, 1000  # look for thresholds every so many steps at least, and so many times per unit of alpha at most
SLOW_LOOK = 16, 20  # where the risk has no closed form
CHUNK = 0.05  # seconds between glances at the clock
FATES = {kernel.PASSED: Ending.STOPPED, kernel.LOST: Ending.DIVERGED}


class Group:
    """Up to eight runs of problems that differ in their rates and starts only. `runs` are their numbers in the records."""

    def __init__(
        self, lanes: list[Lane], runs: list[int], seeds: list[np.random.SeedSequence], records: Records
    ) -> None:
        problem = lanes[0].problem
        self.lanes, self.runs, self.records = lanes, runs, records
        self.layout = layout.layout(problem)
        self.state = layout.lanes([layout.coordinates(lane.problem, lane.start) for lane in lanes])
        self.stream = streams(seeds)
        self.work = slots(self.layout.work)
        self.tables = layout.rate_tables([lane.problem for lane in lanes])
        self.layout.ints[layout.VARYING] = self.tables.shape[2] > 1
        self.follow: Callable[..., int] = kernel.follow
        if layout.is_own(problem):
            self.follow = kernel.in_python(kernel.follow, own_amplitudes(problem))

    def __call__(self, control: Control, place: int) -> None:
        self._prepare()
        step, speed = 0, 1e4
        going = self._look(0)
        for output, end in enumerate(self.records.steps):
            while step < end and going:
                if control.stopped:
                    self._close(Ending.INTERRUPTED, step)
                    return
                began, goal = time.monotonic(), min(int(end), step + max(1, int(speed * CHUNK)))
                came = self._advance(step, goal)
                speed = min(max((came - step) / max(time.monotonic() - began, 1e-9), 0.5 * speed), 10 * speed)
                step, going = came, bool((self.fate == kernel.GOING).any())
                control.done[place] = step * len(self.runs)
            self._write(output, int(end))
        self._look(step, final=True)
        self._close(Ending.FINISHED, step)
        control.done[place] = self.records.steps[-1] * len(self.runs)

    def _prepare(self) -> None:
        """What only the thread that runs needs."""
        count = len(self.runs)
        self.eyes = [Eye(lane) for lane in self.lanes]
        self.inspect, self.scratch = self.eyes[0].packed.ints, self.eyes[0].scratch
        self.values = np.stack([eye.packed.floats for eye in self.eyes])
        self.fate, self.when = np.zeros((2, count), dtype=np.int64)
        self.ends = np.stack([eye.packed.state for eye in self.eyes])
        asked = [threshold(self.records.plan, eye, lane) for eye, lane in zip(self.eyes, self.lanes, strict=True)]
        self.watched, self.falls = asked[0][:2]
        self.levels = np.array([level for _, _, level in asked])
        self.slow = self.watched >= 0 and not self.eyes[0].compiled
        least, often = SLOW_LOOK if self.slow else LOOK
        self.stride = max(least, self.records.dim // often)
        self.bound = BOUND * max(1.0, *(float(np.trace(lane.start.student_overlap)) for lane in self.lanes))

    def _advance(self, begin: int, end: int) -> int:
        if self.slow:
            end = min(end, (begin // self.stride + 1) * self.stride)
        came = int(
            self.follow(
                self.layout.ints, self.layout.floats, self.tables, self.stream, self.state,
                self.work, begin, end, self.stride, self.bound, -1 if self.slow else self.watched, self.falls, self.levels,
                self.inspect, self.values, self.scratch, self.fate, self.when, self.ends,
            )
        )  # fmt: skip
        if self.slow and came % self.stride == 0:
            self._look_slowly(came)
        return came

    def _look(self, step: int, *, final: bool = False) -> bool:
        """See who diverged, and at the first step who is past the threshold already."""
        watched = -1 if final or self.slow else self.watched
        kernel.look(
            self.layout.ints, self.state, step, self.bound, watched, self.falls, self.levels,
            self.inspect, self.values, self.scratch, self.fate, self.when, self.ends,
        )  # fmt: skip
        if self.slow and not final:
            self._look_slowly(step)
        return bool((self.fate == kernel.GOING).any())

    def _look_slowly(self, step: int) -> None:
        ys = self._overlaps()
        for i, eye in enumerate(self.eyes):
            if self.fate[i] == kernel.GOING:
                found = eye.see(ys[i])[0][self.watched]
                if (found <= self.levels[i]) if self.falls else (found >= self.levels[i]):
                    self.fate[i], self.when[i], self.ends[i] = kernel.PASSED, step, ys[i]

    def _overlaps(self) -> np.ndarray:
        ys = np.empty_like(self.ends)
        kernel.all_overlaps(self.layout.ints, self.state, ys)
        return ys

    def _write(self, output: int, step: int) -> None:
        """Outputs of the runs that came to this step."""
        ys = self._overlaps()
        for i, run in enumerate(self.runs):
            if self.fate[i] == kernel.GOING or self.when[i] == step:
                self.records.write(run, output, ys[i] if self.fate[i] == kernel.GOING else self.ends[i], self.eyes[i])

    def _close(self, ending: Ending, step: int) -> None:
        ys = self._overlaps()
        for i, run in enumerate(self.runs):
            if self.fate[i] == kernel.GOING:
                self.records.end(run, ending, step, ys[i])
            else:
                self.records.end(run, FATES[int(self.fate[i])], int(self.when[i]), self.ends[i])


def own_amplitudes(problem: Problem) -> Callable[..., None]:
    """`kernel.amplitudes` for functions of the user's own, in Python."""
    p, q, training = problem.student.width, problem.teacher.width, problem.training
    unit, labels = problem.student.unit, problem.teacher.labels

    def amplitudes(ints: np.ndarray, floats: np.ndarray, state: np.ndarray, work: np.ndarray) -> None:
        slots, readout = work.reshape(-1, WIDTH), state.reshape(-1, WIDTH)[ints[layout.READOUT] :]
        h = slots[ints[layout.FIELDS] :][:p]
        error = labels(np.ascontiguousarray(slots[ints[layout.TEACHER_FIELDS] :][:q].T))
        if ints[layout.NOISY]:
            error = error + floats[layout.LABEL_NOISE] * slots[ints[layout.NORMALS] - 1]
        value, slope = unit.function(h), unit.derivative(h)
        error = error - (readout[:p] * value).sum(axis=0)
        push = 2 * training.loss_factor * (np.tanh(error) if training.loss == "log-cosh" else error)
        slots[ints[layout.AMPLITUDES] :][:p] = readout[:p] * slope * push
        slots[ints[layout.PUSHES] :][:p] = value * push

    return amplitudes


def groups(lanes: list[Lane], seeds: list[np.random.SeedSequence], records: Records) -> list[Group]:
    """One lane for each run, in groups of eight; a run's stream and arithmetic do not depend on its group."""
    return [
        Group(lanes[i : i + WIDTH], list(range(i, min(i + WIDTH, len(lanes)))), seeds[i : i + WIDTH], records)
        for i in range(0, len(lanes), WIDTH)
    ]
