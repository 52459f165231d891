"""One run of the equations whose steps are recorded and then repeated with other values of the controls, and its reverse.

Steps come from an adaptive run. While they are frozen, what the run ends with is a smooth function of the controls, and its
derivatives are exact (`numerics/adjoint.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from solvable.control.controls import Knob, teachers_anew, with_schedules
from solvable.control.passes import hamiltonian, march, record, reverse
from solvable.dynamics import reverse as reverses
from solvable.dynamics.equations import observe, rhs
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED, pack, workspace
from solvable.numerics import tsit5
from solvable.numerics.control import FALLS, REPORT, RISES, control, outputs_for
from solvable.numerics.ending import Ending
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results.threshold import Threshold

MOST_STEPS = 10**6
MEMORY = 15  # rows of scratch of the reverse
BOUND = 1e8  # as in Macro: overlaps beyond this multiple of the first, or of one, have diverged
PENALTY = 50.0  # added to the logarithm of the last risk, or times the length of the run, where a run does not come to its end
NEWTON = 20  # rounds for the time of a threshold


class Value(NamedTuple):
    """What a run ends with, and its derivatives by the values of each control and by the state at the start."""

    value: float
    gradient: list[np.ndarray]
    start: np.ndarray
    reached: bool


class Course:
    """A problem from one start, with controls. `objective` is "risk" (the logarithm of the last one), "mean risk" (the logarithm of
    its mean over time) or a threshold of the risk (the time at which it is reached)."""

    def __init__(
        self,
        problem: Problem,
        start: Overlaps,
        until: float,
        knobs: Sequence[Knob],
        objective: str | Threshold,
        rtol: float,
    ) -> None:
        first = {knob.name: knob.schedule(np.full(knob.begins.size, 0.5 * (knob.lower + knob.upper))) for knob in knobs}
        self.packed, self.start, self.until = pack(with_schedules(problem, first), start), start, until
        self.knobs, self.objective, self.rtol = knobs, objective, rtol
        self.moves_fields = any(knob.columns[0] >= reverses.EIGENVALUES for knob in knobs)
        self.size = int(self.packed.problems["rows"][0])
        self.data = self.packed.data(workspace(self.size, reverses.scratch_of_reverse(self.size)))
        self.columns = reverses.EIGENVALUES + self.packed.blocks.shape[1]
        self.mesh: tuple[np.ndarray, np.ndarray] | None = None
        self.states = self.costates = np.zeros((0, 0))
        self.bound = BOUND * max(1.0, start.longest)
        self.reaches, self.last, self.weight = False, 1.0, 0.0

    def place(self, values: Sequence[np.ndarray]) -> None:
        """Give the controls these values."""
        for knob, chosen in zip(self.knobs, values, strict=True):
            knob.place(chosen, self.packed)
        if self.moves_fields:
            teachers_anew(self.packed, self.start)

    def seen(self, state: np.ndarray, time: float, segment: int) -> float:
        """The risk."""
        found = np.zeros(SEEN)
        observe(segment, time, state, found, *self.data)
        return float(found[RISK])

    def record(self) -> bool:
        """Find steps for the present values; whether the run comes to its end."""
        watch = (-1, RISES, 0.0)
        first = self.packed.state
        if isinstance(self.objective, Threshold):
            watch = (WATCHED, FALLS if self.objective.falls else RISES, self.level)
        told = control(rtol=self.rtol, bound=self.bound, watch=watch, max_steps=MOST_STEPS, rests=False)
        report, course = np.zeros(1, REPORT)[0], np.array([self.until])
        outputs = outputs_for(course, first, SEEN)
        memory = np.empty((tsit5.ROWS, first.size))
        room = 4096
        while True:
            times, segments = np.empty(room), np.empty(room, dtype=np.int64)
            report["interrupt"] = 0
            count = record(
                observe, rhs, told, report, (course, self.packed.breaks, outputs), memory, self.data, times, segments
            )
            if report.ending != Ending.STEP_LIMIT or room > MOST_STEPS:
                break
            room *= 8
            outputs = outputs_for(course, first, SEEN)
        wanted = Ending.STOPPED if isinstance(self.objective, Threshold) else Ending.FINISHED
        self.mesh = times[: count + 1].copy(), segments[:count].copy()
        self.last = float(outputs[-1, RISK]) if np.isfinite(outputs[-1, RISK]) else 1.0
        return report.ending == wanted and count > 0

    @property
    def level(self) -> float:
        """Of the threshold."""
        stop = self.objective
        return stop.level_for(self.seen(self.packed.state, 0.0, 0)) if isinstance(stop, Threshold) else np.nan

    def evaluate(self, gradient: bool = True) -> Value:
        """On the recorded steps."""
        times, segments = self.mesh  # type: ignore[misc]
        self.states = np.empty((times.size, self.packed.state.size))
        self.states[0] = self.packed.state
        memory = np.empty((MEMORY, self.packed.state.size))
        mean = self.objective == "mean risk"
        with np.errstate(all="ignore"):
            integral = march(
                observe, rhs, times, segments, self.states, np.zeros(SEEN if mean else 0), memory, self.data
            )
        last, segment = self.states[-1], int(segments[-1])
        if isinstance(self.objective, Threshold):
            self._land(times, segments, memory)
        risk = self.seen(last, times[-1], segment)
        target = integral if mean else risk
        if not (np.isfinite(last).all() and np.abs(last).max() <= self.bound and target > 0):
            return self.failed()
        value = (
            times[-1]
            if isinstance(self.objective, Threshold)
            else float(np.log(target / (self.until if mean else 1.0)))
        )
        if not gradient:
            return Value(value, [], np.zeros(0), True)
        return self._reverse(value, target, mean, memory)

    def failed(self) -> Value:
        """A value that is worse than where the run went astray, without slope: line searches turn back."""
        worse = (
            PENALTY * self.until if isinstance(self.objective, Threshold) else np.log(max(self.last, 1e-300)) + PENALTY
        )
        return Value(
            float(worse), [np.zeros(knob.begins.size) for knob in self.knobs], np.zeros_like(self.packed.state), False
        )

    def _reverse(self, value: float, target: float, mean: bool, memory: np.ndarray) -> Value:
        times, segments = self.mesh  # type: ignore[misc]
        found = np.zeros((len(self.packed.problems), 2, self.columns))
        self.costates = np.zeros_like(self.states)
        self.weight = weight = 1.0 / target if mean else 0.0
        if not mean:
            self._end(value, target, found)
        reverse(
            observe, rhs, reverses.back_risk, reverses.back, times, segments, self.states, weight, self.costates, found,
            memory, np.empty(self.columns), self.data,
        )  # fmt: skip
        begins = self.packed.problems["begin"]
        return Value(value, [knob.gather(found, begins) for knob in self.knobs], self.costates[0].copy(), True)

    def _end(self, value: float, risk: float, found: np.ndarray) -> None:
        """The costate at the end, and what the end itself knows of the controls (eigenvalues are in the risk)."""
        times, segments = self.mesh  # type: ignore[misc]
        last, segment, row = self.states[-1], int(segments[-1]), np.zeros(self.columns)
        costate = self.costates[-1]
        reverses.back_risk(segment, times[-1], last, np.ones(1), costate, row, *self.data)
        scale = 1.0 / risk
        if isinstance(self.objective, Threshold):
            slope = np.zeros_like(last)
            rhs(segment, times[-1], last, slope, *self.data)
            scale = -1.0 / float(costate @ slope)
        costate *= scale
        row *= scale
        found[segment, 0] += row
        found[segment, 1] += row * (times[-1] - self.packed.problems["begin"][segment])

    def _land(self, times: np.ndarray, segments: np.ndarray, memory: np.ndarray) -> None:
        """Change the last step until the risk is at the threshold, by Newton's rule."""
        segment, slope = int(segments[-1]), np.empty_like(self.states[-1])
        for _ in range(NEWTON):
            bar, row = np.zeros_like(slope), np.zeros(self.columns)
            last = self.states[-1]
            rhs(segment, times[-1], last, slope, *self.data)
            reverses.back_risk(segment, times[-1], last, np.ones(1), bar, row, *self.data)
            move = (self.level - self.seen(last, times[-1], segment)) / float(bar @ slope)
            times[-1] += move
            pair = self.states[-2:].copy()
            march(observe, rhs, times[-2:].copy(), segments[-1:], pair, np.zeros(0), memory, self.data)
            self.states[-1] = pair[1]
            if abs(move) <= 1e-14 * times[-1]:
                return

    def hamiltonian(self) -> np.ndarray:
        """(step, 2): costate times slope at both ends of every step, for the present values of the controls."""
        times, segments = self.mesh  # type: ignore[misc]
        found = np.empty((segments.size, 2))
        weight = self.weight if self.objective == "mean risk" else 0.0
        hamiltonian(
            observe, rhs, times, segments, self.states, self.costates, weight, np.empty(SEEN), np.empty_like(self.states[0]), found,
            self.data,
        )  # fmt: skip
        return found
