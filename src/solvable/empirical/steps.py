"""Training in steps on a finite data set: one run."""

import math
from collections.abc import Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any, NamedTuple

import numpy as np

from solvable.dynamics.kernel_data import RISK, WATCHED
from solvable.empirical.forms import Questions
from solvable.empirical.responses import mean_loss, respond
from solvable.empirical.selecting import Choice, choices, selection_of
from solvable.empirical.worlds import SELECTION, GivenSamples, Part, World
from solvable.levels import Lane
from solvable.levels.jobs import Control
from solvable.levels.records import Records
from solvable.problems import Problem
from solvable.problems.schedules import value_at
from solvable.results import Ending
from solvable.results.threshold import Threshold


class Rates:
    """What schedules say at a step, in units of a step."""

    def __init__(self, problem: Problem) -> None:
        self.training = problem.training
        self.unit = 1.0 if problem.training.step is not None else 1.0 / (problem.inputs.dim or 1)

    def at(self, step: int) -> tuple[float, float, float]:
        """Step of the weights, step of the readout, weight decay."""
        training = self.training
        rates = (float(one(step)) * self.unit for one in (training.schedule, training.readout_schedule))
        return *rates, float(value_at(training.weight_decay, step))  # type: ignore[return-value]


class MomentumStep(NamedTuple):
    """The share of its velocity that a step keeps, and whether gradients are taken where the velocity would bring the weights."""

    beta: float = 0.0
    nesterov: bool = False


def momentum_of(problem: Problem) -> MomentumStep:
    """Of a problem with fast velocities, or without any."""
    given = problem.training.momentum
    if given is None:
        return MomentumStep()
    assert isinstance(given.beta, float)
    return MomentumStep(given.beta, given.nesterov)


def _alone(part: Part, choice: Choice) -> tuple[Part, Choice]:
    """The samples that a step takes, without the others, where these are at least half and can be left out."""
    times, divisor = choice
    if times is None:
        return part, choice
    chosen = np.flatnonzero(times)
    engine = part.engine.some(chosen) if 0 < 2 * chosen.size <= times.size else None
    return (part, choice) if engine is None else (Part(engine, part.labels[chosen]), (times[chosen], divisor))


class Walk:
    """One run of gradient descent on the samples of a world.

    Parameters
    ----------
    lane, problem : Lane, Problem
        Start, and the problem with its number of samples.
    run : int
        Its place in `records` and `training_loss`.
    seed : SeedSequence
        Of the run.
    records : Records
        What is kept of all runs, in steps.
    training_loss : ndarray
        (run, time), filled here.
    form : str
        As in `World`.
    found : Questions
        What the run is going to ask.
    given : GivenSamples, optional
        Samples that are given, and others on which the risk is measured.
    stop : Threshold, optional
        Of the training loss; all others are the records'.
    """

    def __init__(
        self, lane: Lane, problem: Problem, run: int, seed: np.random.SeedSequence, records: Records, training_loss: np.ndarray,
        form: str, found: Questions, given: GivenSamples | None, stop: Threshold | None,
    ) -> None:  # fmt: skip
        self.lane, self.problem = replace(lane, problem=problem), problem
        self.run, self.seed, self.records = run, seed, records
        self.observer = records.observer(lane)
        self.training_loss, self.form, self.found, self.given = training_loss, form, found, given
        self.stop, self.p, self.momentum = stop, lane.problem.student.width, momentum_of(problem)
        self.keeps = False  # whether world and weights stay when the run is over

    def __call__(self, control: Control, place: int) -> None:
        if control.stopped:
            return
        with np.errstate(all="ignore"):  # a run that diverges overflows before it is stopped
            self._run(control, place)

    def _run(self, control: Control, place: int) -> None:
        self._prepare()
        outputs, step, output = self.records.steps, 0, 0
        ending: Ending | None = None
        while ending is None:
            if not self._size() <= self.observer.bound:
                ending = Ending.DIVERGED
                break
            part, chosen = self._next(step)
            is_output = step == outputs[output]
            is_seen = is_output or self.stop is not None
            if not is_seen:
                part, chosen = _alone(part, chosen)
            fields = part.engine.fields(self._students(ahead=True))
            response = respond(self.problem, fields, part.labels, (self.readout, self.bias), chosen[0])
            loss = self._loss(part, response.loss) if is_seen else math.nan
            y, seen, error = self._seen(step) if is_output or self.observer.watches else (None, None, 0.0)
            if is_output:
                self.training_loss[self.run, output] = loss
                self.records.write(self.run, output, y, seen, error)  # type: ignore[arg-type]
                output += 1
            ending = self._ending(control, step, loss, seen)
            if ending is not None:
                break
            self._move(step, part, response.amplitudes, response.push, chosen[1])
            step += 1
            control.done[place] = step
        held_out = self.world.held_out
        risk = held_out.risk(self.W[: self.p], self.readout, self.bias)[0] if held_out is not None else np.nan
        self.records.end(self.run, ending, step, self.overlaps(), risk)
        control.done[place] = outputs[-1]
        if not self.keeps:
            del self.world, self.W, self.order, self.velocity

    def _prepare(self) -> None:
        self.world = self._world()
        self.W = self.world.rows.copy()
        self.velocity = np.zeros((self.p, self.world.space.room)) if self.momentum.beta else None
        self.readout = np.array(self.lane.start.readout, dtype=float).reshape(-1)
        self.biased = "bias" in self.problem.scalars
        self.bias = float(self.lane.start.scalars[0]) if self.biased else 0.0
        self.readout_velocity = np.zeros(self.p + 1)  # and that of the bias
        self.rates = Rates(self.problem)
        self.selection = selection_of(self.problem)
        self.order: Iterator[Any] = cycle(self.world.parts)
        self.chosen: Iterator[Choice] = choices(
            self.problem, self.world.parts[0].engine.count, self.world.random[SELECTION]
        )
        if self.world.held_out is not None:
            first = self.world.held_out.risk(self.W[: self.p], self.readout, self.bias)[0]
            self.records.start_risk[self.run] = first
            stop = self.records.plan.stop
            if stop is not None and stop.quantity == "risk":
                self.observer.level = stop.level_for(first)
        self.level: float | None = None

    def _world(self) -> World:
        return World(self.lane, self.form, self.found, self.seed, self.given)

    def _next(self, step: int) -> tuple[Part, Choice]:
        """The samples of a step, how often each is taken, and the divisor."""
        if self.selection == "partition":
            part: Part = next(self.order)
            return part, (None, float(part.engine.count))
        if self.selection == "repeated" and step and step % self.problem.training.repeats == 0:
            stack = self.W if self.velocity is None else np.concatenate([self.W, self.velocity])
            stack = self.world.renew(stack)
            self.W = stack[: len(self.W)]
            self.velocity = None if self.velocity is None else stack[len(self.W) :]
        return self.world.parts[0], next(self.chosen)

    def _students(self, *, ahead: bool = False) -> np.ndarray:
        """(p, used) coordinates of the students; `ahead`: of where gradients are taken."""
        used = self.world.space.used
        students = self.W[: self.p, :used]
        if not ahead or not self.momentum.nesterov or self.velocity is None:
            return students
        found: np.ndarray = students + self.momentum.beta * self.velocity[:, :used]
        return found

    def _loss(self, part: Part, own: float) -> float:
        """The mean loss over all samples; `own` is that of the present part, where gradients are taken."""
        here = not self.momentum.nesterov
        if len(self.world.parts) == 1 and here:
            return own
        total, students = 0.0, self._students()
        for one in self.world.parts:
            known = one is part and here
            loss = own if known else self._loss_of(one, students)
            total += one.engine.count * loss
        return total / sum(one.engine.count for one in self.world.parts)

    def _loss_of(self, part: Part, students: np.ndarray) -> float:
        return mean_loss(self.problem, part.engine.fields(students), part.labels, (self.readout, self.bias))

    def _move(self, step: int, part: Part, amplitudes: np.ndarray, push: np.ndarray, divisor: float) -> None:
        """One step of weights, readout and bias."""
        eta, readout_eta, decay = self.rates.at(step)
        beta, students = self.momentum.beta, self.W[: self.p]
        moved = part.engine.pull(amplitudes) * (eta / divisor)
        used = moved.shape[1]
        if self.velocity is not None:
            self.velocity *= beta
            self.velocity[:, :used] += moved
            moved = self.velocity[:, :used]
        students *= 1.0 - eta * decay / (1.0 - beta)
        students[:, :used] += moved
        if self.problem.student.norm == "sphere":
            students /= np.sqrt(self._norms())[:, None]
        training = self.problem.training
        if training.train_readout or training.train_bias:
            learns = np.append(np.full(self.p, float(training.train_readout)), float(training.train_bias))
            self.readout_velocity = beta * self.readout_velocity + readout_eta / divisor * learns * push
            self.readout = self.readout + self.readout_velocity[:-1]
            self.bias += float(self.readout_velocity[-1])

    def _norms(self) -> np.ndarray:
        students = self._students()
        found: np.ndarray = np.diagonal(self.world.space.overlaps(students, students).sum(axis=0))
        return found

    def _size(self) -> float:
        """Sum of the students' squared norms."""
        return float(self._norms().sum())

    def overlaps(self) -> np.ndarray:
        """The state as `dynamics.kernel_data` has it."""
        rows = self.W[:, : self.world.space.used]
        biases = [self.bias] if self.biased else []
        return np.concatenate([self.world.space.overlaps(rows[: self.p], rows).ravel(), self.readout, biases])

    def _seen(self, step: int) -> tuple[np.ndarray, np.ndarray, float]:
        """The state after so many steps, risk and what is watched, and the error of the risk."""
        y = self.overlaps()
        seen, error = self.observer.see(y, float(step))
        if self.world.held_out is not None:
            seen[RISK], error = self.world.held_out.risk(self.W[: self.p], self.readout, self.bias)
            if self.observer.watches_risk:
                seen[WATCHED] = seen[RISK]
        return y, seen, error

    def _ending(self, control: Control, step: int, loss: float, seen: np.ndarray | None) -> Ending | None:
        """How the run ends here, if it does."""
        if self.stop is not None:
            if self.level is None:
                self.level = self.stop.level_for(loss)
            if loss <= self.level if self.stop.falls else loss >= self.level:
                return Ending.STOPPED
        if self.observer.watches and seen is not None and self.observer.passed(seen):
            return Ending.STOPPED
        if step == self.records.steps[-1]:
            return Ending.FINISHED
        return Ending.INTERRUPTED if control.stopped else None
