"""Gradient flow on a finite data set: one run, and the arrays that are kept of all runs."""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from solvable.dynamics.gaussian_moments import field_covariance, moments
from solvable.dynamics.quadratic_flow import flow_factor
from solvable.empirical.kernels import POPULATION, TRAINING
from solvable.empirical.sample import DataSet, Followed
from solvable.levels import Lane, Plan
from solvable.levels.jobs import Control
from solvable.levels.limits import check_outputs
from solvable.levels.seeds import lane_seed
from solvable.numerics.control import FALLS, RISES
from solvable.numerics.random import Purpose, child
from solvable.overlaps import Weights, embed
from solvable.problems import Problem
from solvable.results import Blocks, Clock, Ending, Trajectory
from solvable.results.building import Curves, Ends, build

if TYPE_CHECKING:
    from solvable.empirical.level import Empirical

PAPER = "saraomannelli2020"
WEIGHTS, ROWS, LABELS = range(3)  # streams of a run
MOST_NUMBERS = 3 * 10**8  # that outputs and samples may take


class FlowArrays:
    """Arrays that are kept of all runs; NaN where a run ended before an output."""

    @np.errstate(all="ignore")  # a run that diverges overflows before it is stopped
    def __init__(self, lanes: list[Lane], plan: Plan, each: int) -> None:
        problem = lanes[0].problem
        self.lanes, self.plan, self.each = lanes, plan, each
        runs, times, p, q = len(lanes) * each, plan.times.size, problem.student.width, problem.teacher.width
        dim = problem.inputs.dim or 0
        numbers = runs * times * (p * (p + q + dim) + dim**2)
        if numbers > MOST_NUMBERS:
            raise ValueError(
                f"times: {runs} runs with {times} outputs take {numbers:.3g} numbers, must be at most {MOST_NUMBERS:.0e}; "
                f"ask for fewer times or runs"
            )
        check_outputs(lanes, plan, each, beside=dim * (dim + p), copies=2)
        self.training, self.population = np.full((2, runs, times), np.nan)
        self.student = np.full((runs, times, p, p), np.nan)
        self.cross = np.full((runs, times, p, q), np.nan)
        self.matrix = np.full((runs, times, dim, dim), np.nan)
        self.teacher = np.full((runs, dim, dim), np.nan)
        self.weights, self.teacher_weights = np.full((runs, times, p, dim), np.nan), np.full((runs, q, dim), np.nan)
        self.end_student = np.repeat([lane.start.block_student_overlap for lane in lanes], each, axis=0)
        self.end_cross = np.repeat([lane.start.block_cross_overlap for lane in lanes], each, axis=0)
        self.start_risk = np.repeat([_first_risk(lane) for lane in lanes], each)
        self.endings = np.full(runs, Ending.INTERRUPTED)
        self.end_alpha, self.nfev = np.zeros(runs), np.zeros(runs, dtype=np.int64)

    def trajectory(self, level: "Empirical") -> Trajectory:
        lanes, problem, plan = self.lanes, self.lanes[0].problem, self.plan
        readout = np.repeat([lane.start.readout for lane in lanes], self.each, axis=0)
        risk = 2 * problem.training.loss_factor * self.population
        readouts = np.repeat(readout[:, None], plan.times.size, axis=1)
        blocks = Blocks(self.student[:, :, None], self.cross[:, :, None]) if plan.keep_blocks else None
        curves = Curves(plan.times, risk, self.student, self.cross, readouts, blocks=blocks)
        ends = Ends(Blocks(self.end_student, self.end_cross), readout, self.endings, self.end_alpha, self.nfev)
        starts = [lane.start for lane in lanes]
        built = build(problem, level.name, level.settings(), starts, self.start_risk, curves, ends, stop=plan.stop)
        return replace(
            built, training_loss=self.training, matrix=self.matrix, teacher_matrix=self.teacher, weights=self.weights,
            teacher_weights=self.teacher_weights,
        )  # fmt: skip


class Flow:
    """One run: its data set, its flow, and what is kept of it."""

    def __init__(self, level: "Empirical", lane: Lane, place: int, run: int, kept: FlowArrays) -> None:
        self.level, self.lane, self.place, self.kept = level, lane, place, kept
        # what rows do not depend on: so that data sets of one seed begin with the same ones
        plain = {"training__samples": None, "training__learning_rate": 1.0, "training__label_noise": 0.0}
        problem = lane.problem.replace(**plain)
        self.seed = child(lane_seed(level.seed, Purpose.FLOW, Lane(problem, lane.start)), run)

    def __call__(self, control: Control, place: int) -> None:
        if control.stopped:
            return
        problem, kept, clock = self.lane.problem, self.kept, Clock(self.lane.problem, PAPER)
        weights = self.lane.weights or embed(problem, self.lane.start, child(self.seed, WEIGHTS))
        dim, p = weights.student.shape[1], len(weights.student)
        teacher = weights.teacher / np.sqrt(dim * len(weights.teacher))
        sample = self._sample(problem, teacher.T @ teacher)
        # students W (p, d) are P F with orthonormal columns P: the flow moves the factor F alone
        P, first = (np.eye(p), weights.student) if p <= dim else np.linalg.qr(weights.student)
        first = first / np.sqrt(dim * p)
        times = clock.from_alpha(kept.plan.times)
        if len(sample.rows):
            level = self.level
            found = sample.follow(
                first, times, method=level.method, rtol=level.rtol, max_steps=level.max_steps,
                watch=self._watch(sample, first),
            )  # fmt: skip
        else:
            found = _population(sample, first, times, float(problem.training.label_noise))
        self._keep(found, sample, P, weights, clock)
        control.done[place] = 1.0

    def _sample(self, problem: Problem, teacher: np.ndarray) -> DataSet:
        level, count = self.level, self.level.samples(problem) or 0
        if level.data is not None:
            assert level.data.rows is not None
            rows = np.ascontiguousarray(level.data.prepared(level.data.rows[:count]))
        else:
            rows = np.random.default_rng(child(self.seed, ROWS)).standard_normal((count, len(teacher)))
        if level.labels is not None:
            return DataSet(rows, np.array(level.labels[:count]), teacher)
        noise = np.random.default_rng(child(self.seed, LABELS)).standard_normal(count)
        return DataSet.from_teacher(rows, teacher, np.sqrt(problem.training.label_noise) * noise)

    def _watch(self, sample: DataSet, first: np.ndarray) -> tuple[int, int, float]:
        """Which of the losses to stop at, in which direction, and the level."""
        stop = self.kept.plan.stop
        if stop is None:
            return -1, RISES, 0.0
        which = TRAINING if stop.quantity == "training_loss" else POPULATION
        unit = 1.0 if which == TRAINING else 2 * self.lane.problem.training.loss_factor
        level = stop.level_for(unit * float(sample.losses(first)[which])) / unit
        return which, FALLS if stop.falls else RISES, level

    def _keep(self, found: Followed, sample: DataSet, P: np.ndarray, weights: Weights, clock: Clock) -> None:
        kept, i = self.kept, self.place
        kept.training[i], kept.population[i] = found.training, found.population
        kept.student[i], kept.cross[i] = _overlaps(P, found.factors, weights)
        kept.matrix[i] = found.factors.transpose(0, 2, 1) @ found.factors
        kept.teacher[i] = sample.teacher
        kept.weights[i] = np.sqrt(weights.student.size) * P @ found.factors
        kept.teacher_weights[i] = weights.teacher
        kept.end_student[i, 0], kept.end_cross[i, 0] = _overlaps(P, found.last, weights)
        kept.endings[i], kept.nfev[i] = found.ending, found.evaluations
        kept.end_alpha[i] = kept.plan.times[-1] if found.ending == Ending.FINISHED else clock.to_alpha(found.end)


def _overlaps(P: np.ndarray, factors: np.ndarray, weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """Student overlap (..., p, p) and cross overlap (..., p, p*) of students sqrt(dim p) P F."""
    rows = np.sqrt(len(P)) * P @ factors
    return rows @ rows.swapaxes(-1, -2), rows @ weights.teacher.T / np.sqrt(weights.teacher.shape[1])


def _population(sample: DataSet, first: np.ndarray, times: np.ndarray, noise: float) -> Followed:
    """The flow on the population, in closed form; its training loss is the population loss and half the label noise."""
    values, vectors = np.linalg.eigh(sample.teacher)
    values = np.where(values > 1e-14 * len(values) * values[-1], values, 0.0)
    factors = flow_factor(first @ vectors, values, times, turn=True).factor @ vectors.T
    loss = sample.losses(factors)[POPULATION]
    return Followed(factors, loss + noise / 2, loss, factors[-1], float(times[-1]), Ending.FINISHED, 0)


def _first_risk(lane: Lane) -> float:
    return moments(field_covariance(lane.problem, lane.start), lane.problem, lane.start.readout).risk
