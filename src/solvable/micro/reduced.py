"""The reduced process: groups of eight runs, advanced in compiled code."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from solvable.dynamics import reduced_form
from solvable.dynamics.equations import observe
from solvable.dynamics.kernel_choice import system
from solvable.dynamics.kernel_data import SEEN, WATCHED, Packed, pack
from solvable.dynamics.python_kernels import own_amplitudes
from solvable.gaussian.closed_forms import for_unit
from solvable.levels import Lane
from solvable.levels.jobs import Control
from solvable.levels.observer import NODES
from solvable.levels.records import Records
from solvable.micro import case_process, looking, process
from solvable.micro.reach import bounds_of
from solvable.numerics.compiled import expect
from solvable.numerics.interpreting import rewired
from solvable.numerics.lanes import WIDTH, slots
from solvable.numerics.random import streams
from solvable.numerics.specialising import form_for
from solvable.results import Ending

LOOK = 16, 1000  # look for thresholds every so many steps at least, and so many times per unit of alpha at most
SLOW_LOOK = 16, 20  # where the risk is an average over nodes, or only Python can compute it
CHUNK = 0.05  # seconds between glances at the clock


class Group:
    """Up to eight runs of problems that differ in their rates and starts only. `runs` are their numbers in the records."""

    def __init__(
        self,
        lanes: list[Lane],
        states: list[np.ndarray],
        runs: list[int],
        seeds: list[np.random.SeedSequence],
        records: Records,
        bare: reduced_form.ReducedForm,
        packed: list[Packed],
    ) -> None:
        problem = lanes[0].problem
        self.lanes, self.runs, self.records = lanes, runs, records
        segments = reduced_form.segments_of(packed)
        made = reduced_form.with_chances(bare.copy(), problem, segments[0]["begin"][0])
        self.process = (
            made.process, made.frames, made.numbers, *segments,
            streams(seeds), reduced_form.lanes(states), slots(made.work),
        )  # fmt: skip
        kind: Any = case_process if made.form.cases else process
        flags = {"BATCHES": not made.form.single, "TABLES": reduced_form.has_tables(made.form)}
        loop = process.follow
        if made.form.cases:
            loop = case_process.follow_paced if made.form.pace else case_process.follow_cases
            flags |= {"PACED": bool(made.form.pace), "MOVING": bool(made.form.moving_teachers)}
            flags |= {"SHAPED": bool(made.form.shaped)}
        self.follow: Callable[..., int] = form_for(loop, **flags)
        if reduced_form.is_own(problem):
            own = own_amplitudes(problem)
            parts = {"take": rewired(kind.take, amplitudes=own, case_amplitudes=own), "tell": rewired(kind.tell)}
            if made.form.pace:
                parts["take_paced"] = rewired(kind.take_paced, take=parts["take"])
            self.follow = rewired(self.follow, advance=rewired(process.advance), **parts)

    def __call__(self, control: Control, place: int) -> None:
        with np.errstate(all="ignore"):  # a run that diverges overflows before it is stopped
            self._run(control, place)

    def _run(self, control: Control, place: int) -> None:
        self._prepare()
        step, speed = 0, 1 / CHUNK
        going = self._look(0)
        for output, end in enumerate(self.records.steps):
            while step < end and going:
                if control.stopped:
                    self._close(Ending.INTERRUPTED, step)
                    return
                began, goal = time.monotonic(), min(int(end), step + max(1, int(speed * CHUNK)))
                came = self._advance(step, goal)
                speed = min(max((came - step) / max(time.monotonic() - began, 1e-9), 0.5 * speed), 10 * speed)
                step, going = came, bool((self.fates["fate"] == looking.GOING).any())
                control.done[place] = step * len(self.runs)
            self._write(output, int(end))
        self._look(step)
        self._close(Ending.FINISHED, step)
        control.done[place] = self.records.steps[-1] * len(self.runs)

    def _prepare(self) -> None:
        """What only the thread that runs needs."""
        count = len(self.runs)
        known = {id(lane): self.records.observer(lane) for lane in self.lanes}
        self.observers = [known[id(lane)] for lane in self.lanes]
        first = self.observers[0]
        numbers = np.stack([observer.packed.numbers for observer in self.observers])
        anchors = slots(looking.slots_of_anchors(self.process[0][0], self.process[-2].size // WIDTH))
        bounds = bounds_of(
            self.lanes[0].problem, [lane.start for lane in {id(one): one for one in self.lanes}.values()]
        )
        self.sight = *first.packed.data(first.scratch)[:3], numbers, first.scratch, anchors, bounds
        self.fates = np.zeros(count, dtype=looking.RUN)
        self.fates["fate"], self.fates["slack"] = looking.GOING, np.inf  # nobody has been looked at
        self.ends = np.stack([observer.packed.state for observer in self.observers])
        self.fates["level"], self.fates["bound"] = zip(
            *((observer.level, observer.bound) for observer in self.observers), strict=True
        )
        self.slow = first.watches_risk and not first.compiled
        self.direction = 0 if not first.watches else looking.ASK if self.slow else -1 if first.falls else 1
        self.looks = looking.looks_of(cases=bool(self.process[0][0].cases), watched=self.direction != 0)
        least, often = SLOW_LOOK if self.slow else LOOK
        self.stride = max(least, self.records.dim // often)
        self.observe = (
            first.systems[0].observe if first.compiled else for_unit(observe, "linear")
        )  # which nobody calls then
        self.equations = self._equations() if self.process[0][0].pace else ()
        rhs = self.equations[0] if self.equations else None
        expect(self.follow, *self.looks, self.observe, rhs)

    def _equations(self) -> tuple[Any, ...]:
        """For rates that follow the state: the right-hand side and its data, with numbers for each lane."""
        found = [system(lane.problem, pack(lane.problem, lane.start), NODES) for lane in self.lanes]
        numbers = np.stack([one.packed.numbers for one in found])
        y, work = found[0].packed.state.copy(), found[0].workspace()
        return found[0].rhs, (*found[0].packed.data(work)[:3], numbers, work, y, np.empty_like(y))

    def _advance(self, begin: int, end: int) -> int:
        followed = *self.equations, self.looks.look, self.observe, self.process, self.sight, self.fates, self.ends
        came = int(self.follow(*followed, (begin, end, self.stride, self.direction)))
        self._look_slowly(came)
        return came

    def _look(self, step: int) -> bool:
        """At the first step and at the last: who diverged, and who is past the threshold."""
        self.looks.look(self.observe, self.process, self.sight, self.fates, self.ends, step, self.direction)
        self._look_slowly(step)
        return bool((self.fates["fate"] == looking.GOING).any())

    def _look_slowly(self, step: int) -> None:
        """At those that kernels have asked for; once at those that begin alike."""
        known: dict[tuple[int, bytes], tuple[np.ndarray, float]] = {}
        for i in np.flatnonzero(self.fates["due"]).tolist():
            run, observer, y = self.fates[i], self.observers[i], self.ends[i]
            key = id(self.lanes[i]), y.tobytes()
            if key not in known:
                known[key] = observer.see(y, step / self.records.dim)
            seen, error = known[key]
            run.due = False
            if observer.passed(seen):
                run.fate, run.step = Ending.STOPPED, step
            else:
                looking.note(self.process, self.sight, self.fates, i, step, seen[WATCHED], error, y)

    def _overlaps(self) -> np.ndarray:
        ys = np.empty_like(self.ends)
        self.looks.all_overlaps(self.process, ys)
        return ys

    def _write(self, output: int, step: int) -> None:
        """Outputs of the runs that came to this step."""
        ys, seen = np.empty_like(self.ends), np.empty((len(self.runs), SEEN))
        compiled = self.observers[0].compiled
        if compiled:
            self.looks.see(self.observe, self.process, self.sight, step, ys, seen)
        else:
            self.looks.all_overlaps(self.process, ys)
        fates, steps = self.fates["fate"], self.fates["step"]
        there = (fates == looking.GOING) | ((fates == Ending.STOPPED) & (steps == step))
        there &= self._sizes(ys) <= self.fates["bound"]
        for i in np.flatnonzero(there):
            found = (seen[i], 0.0) if compiled else self.observers[i].see(ys[i], step / self.records.dim)
            self.records.write(self.runs[i], output, ys[i], *found)

    def _sizes(self, ys: np.ndarray) -> np.ndarray:
        """(run,) the largest overlap of students; readouts and scalars may be larger."""
        packed = self.observers[0].packed.problems[0]
        rows = ys[:, : packed.blocks * packed.moving * packed.rows].reshape(len(ys), packed.blocks, packed.moving, -1)
        return np.where(np.isfinite(ys).all(axis=1), np.abs(rows[:, :, : packed.students]).max(axis=(1, 2, 3)), np.inf)

    def _close(self, ending: Ending, step: int) -> None:
        ys = self._overlaps()
        for i, run in enumerate(self.runs):
            if self.fates[i].fate == looking.GOING:
                self.records.end(run, ending, step, ys[i])
            else:
                self.records.end(run, Ending(int(self.fates[i].fate)), int(self.fates[i].step), self.ends[i])


def groups(lanes: list[Lane], seeds: list[np.random.SeedSequence], records: Records) -> list[Group]:
    """One lane for each run, in groups of eight; a run's stream and arithmetic do not depend on its group."""
    distinct = {id(lane): lane for lane in lanes}.values()
    known = {id(lane): reduced_form.coordinates(lane.problem, lane.start) for lane in distinct}
    packed = {id(lane): pack(lane.problem, lane.start) for lane in distinct}
    bare, states = reduced_form.reduced_form(lanes[0].problem), [known[id(lane)] for lane in lanes]
    parts = [slice(i, min(i + WIDTH, len(lanes))) for i in range(0, len(lanes), WIDTH)]
    return [
        Group(
            lanes[part], states[part], list(range(part.start, part.stop)), seeds[part], records,
            bare, [packed[id(lane)] for lane in lanes[part]],
        )
        for part in parts
    ]  # fmt: skip
