"""One run of the equations whose steps are recorded and then repeated with other values of the controls, and its reverse.

Steps come from an adaptive run. While they are frozen, what the run ends with is a smooth function of the controls, and its
derivatives are exact (`numerics/adjoint.py`).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from solvable.control.knobs import Knob
from solvable.control.mixing import Mix
from solvable.control.numbers import place_teachers, with_schedules
from solvable.control.objectives import Objective
from solvable.control.passes import hamiltonian, march, record, reverse
from solvable.dynamics.kernel_data import RISK, SEEN, WATCHED
from solvable.dynamics.reverse import EIGENVALUES
from solvable.dynamics.reverse_choice import reversible
from solvable.numerics import tsit5
from solvable.numerics.compiled import expect
from solvable.numerics.control import FALLS, REPORT, RISES, control, outputs_for
from solvable.numerics.ending import Ending
from solvable.overlaps import Overlaps, fitted
from solvable.problems import NotApplicable, Problem, effective

ROOM = 4096  # steps that are recorded at first
ROWS = 9, 6  # of scratch of the reverse, for states and for derivatives
BOUND = 1e8  # as in Macro: overlaps beyond this multiple of the first, or of one, have diverged
PENALTY = 50.0  # added to the logarithm of the last risk, or times the length of the run, where a run does not come to its end
NOTHING = np.zeros(0)
ROUNDING = 64 * np.finfo(float).eps  # of the first risk
NEWTON = 20  # rounds for the time of a threshold
MET = "the threshold is met at the start"
NO_RISK = "the risk at the end is zero to rounding, which has no logarithm; give a shorter `until`"
TOO_STEEP = (
    "student.activation: too steep for the gradient at the variance of its fields: averages over pairs are no series"
)


class Asked(NamedTuple):
    """What is asked about a run: the problem, how long it takes, what counts, the relative error of its steps, their number at
    most."""

    problem: Problem
    until: float
    objective: Objective
    rtol: float = 1e-8
    most_steps: int = 10**6


class Value(NamedTuple):
    """What a run ends with, and its derivatives by the values of each control and by the state at the start."""

    value: float
    gradient: list[np.ndarray]
    start: np.ndarray


class Course:
    """The run of a problem from one start, with controls."""

    def __init__(self, asked: Asked, start: Overlaps, knobs: Sequence[Knob], *, readouts: bool = False) -> None:
        """`readouts`: derivatives by those of the start are wanted, trained or not."""
        first = {knob.name: knob.schedule(np.full(knob.size, knob.first)) for knob in knobs}
        problem = effective(with_schedules(asked.problem, first))
        start = fitted(problem, start)
        self.system = reversible(problem, start, readouts=readouts)
        mixed = problem, self.system.packed, asked.objective, knobs, asked.problem
        self.mix = Mix(*mixed) if problem.features else None
        self.asked, self.start, self.knobs = asked, start, knobs
        self.functions, self.data = (self.system.observe, self.system.rhs), self.system.data()
        expect(record, march, reverse, hamiltonian, *self.functions, self.system.back, self.system.back_risk)
        self.first = self.system.packed.state
        self.times, self.segments = np.zeros(1), np.zeros(0, dtype=np.int64)
        self.states = self.costates = self.first[None].copy()
        self.bound = BOUND * max(1.0, start.longest)
        self.last, self.weight, self.ending = 1.0, 0.0, Ending.FINISHED
        self.is_rounding = False  # whether what is left of the risk is rounding
        self.reaches = self.vanishes = False  # whether the run comes to its end, and has no risk left there

    @property
    def mesh(self) -> tuple[np.ndarray, np.ndarray]:
        return self.times, self.segments

    def place(self, values: Sequence[np.ndarray]) -> None:
        """Give the controls these values."""
        for knob, chosen in zip(self.knobs, values, strict=True):
            knob.place(chosen, self.system.packed)
        if self.mix is not None:
            self.mix.place(values)
        elif any(knob.columns[0] >= EIGENVALUES for knob in self.knobs):
            place_teachers(self.system.packed, self.start)

    def risk(self, state: np.ndarray, time: float, segment: int) -> float:
        found = np.zeros(SEEN)
        self.system.observe(segment, time, state, found, *self.data)
        return float(found[RISK])

    @property
    def level(self) -> float:
        """Of the threshold."""
        stop = self.asked.objective.threshold
        return np.nan if stop is None else stop.level_for(self.risk(self.first, 0.0, 0))

    @property
    def final(self) -> int:
        """The segment in which the end is looked at: numbers that hold from there on count."""
        if self.asked.objective.is_time:
            return int(self.segments[-1])
        return int(np.searchsorted(self.system.packed.problems["begin"], self.asked.until, side="right")) - 1

    def record(self) -> bool:
        """Find steps for the present values; whether the run comes to its end."""
        stop = self.asked.objective.threshold
        watch = (-1, RISES, 0.0) if stop is None else (WATCHED, FALLS if stop.falls else RISES, self.level)
        most = self.asked.most_steps
        told = control(rtol=self.asked.rtol, bound=self.bound, watch=watch, max_steps=most, rests=False)
        ending, room = int(Ending.STEP_LIMIT), ROOM
        while ending == Ending.STEP_LIMIT and room < 8 * most:
            ending, risk = self._recorded(told, room)
            room *= 8
        self.last = risk if np.isfinite(risk) else 1.0
        wanted = Ending.FINISHED if stop is None else Ending.STOPPED
        self.reaches, self.ending = ending == wanted and self.segments.size > 0, Ending(ending)
        return self.reaches

    @property
    def failure(self) -> str:
        """Why the recorded run does not come to its end, in words."""
        stop = self.asked.objective.threshold
        if stop is not None and self.ending == Ending.STOPPED:
            return MET
        if stop is not None and self.ending == Ending.FINISHED:
            return f"the run does not reach the threshold by until = {self.asked.until:g}"
        if self.ending == Ending.STEP_LIMIT:
            return f"the run takes more than {self.asked.most_steps} steps"
        return f"the run diverges after a time of {self.times[-1]:.4g}"

    def _recorded(self, told: np.ndarray, room: int) -> tuple[int, float]:
        """An adaptive run of at most so many steps: how it ended, and its last risk."""
        report, times = np.zeros(1, REPORT)[0], np.array([self.asked.until])
        outputs, memory = outputs_for(times, self.first, SEEN), np.empty((tsit5.ROWS, self.first.size))
        mesh = np.empty(room), np.empty(room, dtype=np.int64)
        course = times, self.system.packed.breaks, outputs
        count = record(*self.functions, told, report, course, memory, self.data, mesh)
        self.times, self.segments = mesh[0][: count + 1].copy(), mesh[1][:count].copy()
        return int(report.ending), float(outputs[-1, RISK])

    def evaluate(self, gradient: bool = True) -> Value:
        """On the recorded steps."""
        objective = self.asked.objective
        self.states = np.empty((self.times.size, self.first.size))
        self.states[0] = self.first
        integral = self.follow(self.mesh, self.states, np.zeros(SEEN) if objective.is_mean else NOTHING)
        if objective.is_time:
            self._land()
        last = self.states[-1]
        if not np.abs(last).max() <= self.bound:
            return self.failed()
        target = integral / self.asked.until if objective.is_mean else self.risk(last, self.times[-1], self.final)
        self.vanishes = not target > 0
        self.is_rounding = not target > ROUNDING * self.risk(self.first, 0.0, 0)
        if self.vanishes:
            return self.failed()
        value = float(self.times[-1] if objective.is_time else np.log(target))
        return self._reverse(value, target) if gradient else Value(value, [], np.zeros(0))

    def failed(self) -> Value:
        """A value that is worse than where the run went astray, without slope: line searches turn back."""
        worse = np.log(max(self.last, 1e-300)) + PENALTY
        if self.asked.objective.is_time:
            worse = PENALTY * self.asked.until
        return Value(float(worse), [np.zeros(knob.size) for knob in self.knobs], np.zeros_like(self.first))

    def follow(self, mesh: tuple[np.ndarray, np.ndarray], states: np.ndarray, seen: np.ndarray = NOTHING) -> float:
        """Fill the states after the first, step by step; the integral of the risk, if `seen` has room for it."""
        return float(march(*self.functions, mesh, states, seen, np.empty((7, self.first.size)), self.data))

    def _reverse(self, value: float, target: float) -> Value:
        system, columns, size = self.system, self.system.columns, self.first.size
        found = np.zeros((len(system.packed.problems), 2, columns))
        self.costates = np.zeros_like(self.states)
        self.weight = 1.0 / (target * self.asked.until) if self.asked.objective.is_mean else 0.0
        scale = 0.0 if self.asked.objective.is_mean else self._end(target, found)
        memory = np.empty((ROWS[0], size)), np.zeros((ROWS[1], size + columns))
        path = self.states, self.costates
        reverse(*self.functions, system.back_risk, system.back, self.mesh, path, self.weight, found, memory, self.data)
        begins = system.packed.problems["begin"]
        if not np.isfinite(self.costates[0]).all():
            raise NotApplicable(TOO_STEEP)
        start = self.costates[0] + self._of_level(scale, found)
        found = found if self.mix is None else self.mix.gather(found)
        return Value(value, [knob.gather(found, begins) for knob in self.knobs], start)

    def _of_level(self, scale: float, found: np.ndarray) -> np.ndarray | float:
        """Derivatives by the start of a threshold that is relative to the first risk; those by numbers are added to `found`."""
        stop = self.asked.objective.threshold
        if stop is None or not stop.relative:
            return 0.0
        bar, row, _ = self.risk_slopes(self.first, 0.0, 0)
        found[0, 0] -= scale * stop.level * row
        return -scale * stop.level * bar

    def risk_slopes(self, state: np.ndarray, time: float, segment: int) -> tuple[np.ndarray, np.ndarray, float]:
        """Derivatives of the risk by the state and by the numbers, and in time."""
        bar, slope = np.zeros(state.size + self.system.columns), np.empty_like(state)
        self.system.rhs(segment, time, state, slope, *self.data)
        self.system.back_risk(segment, time, state, np.ones(1), bar, *self.data)
        return bar[: state.size], bar[state.size :], float(bar[: state.size] @ slope)

    def _end(self, risk: float, found: np.ndarray) -> float:
        """The costate at the end, and what the end itself knows of the controls (eigenvalues are in the risk); returns the
        derivative of the value by the last risk."""
        segment = self.final
        bar, row, speed = self.risk_slopes(self.states[-1], self.times[-1], segment)
        scale = -1.0 / speed if self.asked.objective.is_time else 1.0 / risk
        self.costates[-1] = scale * bar
        found[segment, 0] += scale * row
        found[segment, 1] += scale * row * (self.times[-1] - self.system.packed.problems["begin"][segment])
        return scale

    def _land(self) -> None:
        """Change the last step until the risk is at the threshold, by Newton's rule."""
        segment, level = int(self.segments[-1]), self.level
        for _ in range(NEWTON):
            _, _, speed = self.risk_slopes(self.states[-1], self.times[-1], segment)
            move = (level - self.risk(self.states[-1], self.times[-1], segment)) / speed
            self.times[-1] += move
            pair = self.states[-2:].copy()
            self.follow((self.times[-2:].copy(), self.segments[-1:]), pair)
            self.states[-1] = pair[1]
            if not abs(move) > 1e-14 * self.times[-1]:
                return

    def hamiltonian(self) -> np.ndarray:
        """(step, 2): costate times slope at both ends of every step, for the present values of the controls."""
        found, path = np.empty((self.segments.size, 2)), (self.states, self.costates)
        scratch = np.empty(SEEN), np.empty_like(self.first)
        hamiltonian(*self.functions, self.mesh, path, self.weight, found, *scratch, self.data)
        return found
