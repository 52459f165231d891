"""Full-batch gradient flow on a finite data set, as a level."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from solvable.dynamics.gaussian_moments import field_covariance, moments
from solvable.dynamics.quadratic_flow import flow_factor
from solvable.empirical.kernels import POPULATION, TRAINING
from solvable.empirical.sample import Followed, Sample, room
from solvable.levels import Lane, Plan
from solvable.levels.jobs import Control, run_jobs
from solvable.levels.limits import check_outputs, check_whole
from solvable.levels.seeds import lane_seed, seed_settings
from solvable.numerics.control import FALLS, RISES
from solvable.numerics.memory import check_memory
from solvable.numerics.random import child
from solvable.numerics.threads import cores, interruptible, one_blas_thread
from solvable.overlaps import Weights, embed
from solvable.problems import Data, Domain, Problem
from solvable.problems.nearest import not_one_of
from solvable.results import Blocks, Clock, Ending, Trajectory
from solvable.results.building import Curves, Ends, build

PAPER = "saraomannelli2020"
EMPIRICAL = Domain(units="quadratic", teachers="any", label_noise=True, samples=True, schedules="rates")
METHODS = ("auto", "stabilised", "implicit")
MOST_UNKNOWNS = 4000  # of implicit steps
MOST_NUMBERS = 3 * 10**8  # that outputs and samples may take


@dataclass(frozen=True)
class Empirical:
    """A finite data set as a level: gradient flow of quadratic students on the training loss.

    Labels come from the teacher. Without `training.samples` the loss is that of the population, and the flow has a
    closed form. A run has `training_loss` (half the mean squared error over the samples, E_n), `population_loss` (the
    same over all Gaussian inputs, E) and `weights` (run, time, p, dim), `teacher_weights` (run, p*, dim) and `matrix`
    (run, time, dim, dim), the students' quadratic form A = weights^T weights / (p dim) with output x^T A x.

    Parameters
    ----------
    runs : int
        How many data sets for each start.
    seed : int or SeedSequence
        Of the data sets. A larger data set begins with the smaller one of the same seed.
    data : Data, optional
        Rows to take (all, or the first `samples`) in place of drawn Gaussian ones.
    labels : array, optional
        (samples,) labels for `data`. The start must then be `Weights`, whose teacher the population loss is about.
    method : str
        "stabilised" (explicit, order 2; an evaluation costs samples x width x dim), "implicit" (order 4; factors a
        matrix of min(samples, width x dim) rows at every step), or "auto": implicit up to 300 rows.
    rtol : float
        Bound on the error of each step, relative to the largest weight.
    max_steps : int
        Steps after which a run gives up.
    threads : int, optional
        How many to use; left out, all cores.

    Notes
    -----
    Time is saraomannelli2020's t: dA/dt = G A + A G with G = mean (label - output) x x^T. A step of gradient descent at
    rate r on the mean squared error, by weights whose fields are w.x/sqrt(dim), takes 4 r / (width dim).

    A start given as overlaps is turned at random against the data of each run. So a run from `at` or `last` is a new
    experiment, in other directions: to go on, ask for more `times`.

    An algebraic end is followed within a percent to t of about 10^10, an exponential one down to a loss of about
    rtol^2.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=4, m_star=1, d=4, n=12)
    >>> start = sv.start(problem, seed=0, students="spanning", scale=2.0)
    >>> run = sv.run(problem, start, sv.Empirical(runs=2), until=2)
    >>> run.training_loss.shape, run.matrix.shape
    ((2, 201), (2, 201, 4, 4))
    """

    runs: int = 1
    seed: int | np.random.SeedSequence = 0
    data: Data | None = None
    labels: Sequence[float] | np.ndarray | None = None
    method: Literal["auto", "stabilised", "implicit"] = "auto"
    rtol: float = 1e-6
    max_steps: int = 1_000_000
    threads: int | None = None

    name = "empirical"
    clock = PAPER
    domain = EMPIRICAL

    def __post_init__(self) -> None:
        check_whole(self, runs=1, max_steps=1, threads=1, seed=0)
        if self.method not in METHODS:
            raise ValueError(f"method: {not_one_of(self.method, METHODS)}")
        if not isinstance(self.rtol, int | float) or not 1e-12 <= self.rtol <= 1e-2:
            raise ValueError(f"rtol: {self.rtol!r} given, must be between 1e-12 and 0.01")
        if self.data is not None and not isinstance(self.data, Data):
            raise ValueError(f"data: {type(self.data).__name__} given, must be Data(...)")
        if self.data is not None and self.data.rows is None:
            raise ValueError(
                "data: an iterator given, but every sample is seen again and again; give an array or a file"
            )
        if self.data is not None and self.data.order != "given":
            raise ValueError(f"data: order {self.data.order!r} given, but all samples are seen at once; leave it out")
        if self.labels is not None:
            object.__setattr__(self, "labels", _checked_labels(self.labels, self.data))

    def settings(self) -> dict[str, Any]:
        """What the result depends on, as plain values."""
        return {
            "runs": self.runs,
            **seed_settings(self.seed),
            "data": None if self.data is None else self.data.fingerprint,
            "labels": None if self.labels is None else _digest(np.array(self.labels)),
            "method": self.method,
            "rtol": self.rtol,
            "max_steps": self.max_steps,
        }

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        problem = lanes[0].problem
        dim, samples = problem.inputs.dim, self.samples(problem)
        if dim is None:
            raise ValueError("inputs.dim: infinite, but a data set has rows of finite length; give it, or use Macro")
        if self.data is not None:
            self._check_data(self.data, lanes)
        elif samples is None and self.runs > 1:
            raise ValueError(
                f"runs: {self.runs} given, but without training.samples there is no data set to draw; must be 1"
            )
        if samples is None and self.method != "auto":
            raise ValueError(
                f"method: {self.method!r} given, but without training.samples the flow has its closed form"
            )
        unknowns = min(samples or 0, min(problem.student.width, dim) * dim)
        if self.method == "implicit" and unknowns > MOST_UNKNOWNS:
            raise ValueError(
                f"method: 'implicit' would factor a matrix of {unknowns} rows, must be at most {MOST_UNKNOWNS}"
            )
        if dim * max(samples or 0, dim) > MOST_NUMBERS:
            raise ValueError(f"inputs.dim: {dim} with {samples} samples takes more than {MOST_NUMBERS:.0e} numbers")
        threads = min(self.runs * len(lanes), self.threads or cores())
        needed = room(samples or 0, dim, problem.student.width + problem.teacher.width)
        check_memory(
            "inputs.dim", f"{samples or 'no'} samples of {dim} numbers in {threads} thread(s)", threads * needed
        )
        for lane in lanes:
            if lane.weights is None:
                embed(lane.problem, lane.start, 0)  # refuses overlaps that no weights have

    def _check_data(self, data: Data, lanes: list[Lane]) -> None:
        problem = lanes[0].problem
        assert data.rows is not None
        if data.dim != problem.inputs.dim:
            raise ValueError(f"inputs.dim: {problem.inputs.dim} given, but the data have rows of {data.dim} numbers")
        if (problem.training.samples or 0) > len(data.rows):
            raise ValueError(
                f"training.samples: {problem.training.samples} given, but the data have {len(data.rows)} rows"
            )
        if self.labels is not None and problem.training.label_noise > 0:
            raise ValueError("training.label_noise: given together with labels, so nothing would use it")
        turned = any(lane.weights is None for lane in lanes)
        if self.labels is not None and turned:
            raise ValueError("labels: given, but the start has no teacher in the data's directions; start from Weights")
        if self.runs > 1 and not turned and problem.training.label_noise == 0:
            raise ValueError(
                f"runs: {self.runs} given, but all would see the same samples from the same weights; must be 1"
            )

    def samples(self, problem: Problem) -> int | None:
        """How many samples a run has; None for the population."""
        if problem.training.samples is None and self.data is not None and self.data.rows is not None:
            return len(self.data.rows)
        return problem.training.samples

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """Follow every lane on its data sets; called by `run`."""
        if plan.stop is not None and plan.stop.quantity not in ("risk", "training_loss"):
            raise ValueError(
                f"stop: {plan.stop.quantity!r} given, but Empirical watches 'risk' and 'training_loss' only"
            )
        if plan.stop is not None and self.samples(lanes[0].problem) is None:
            raise ValueError(
                "stop: given, but the closed form of the population's flow does not watch thresholds; use Macro"
            )
        kept, jobs = self._jobs(lanes, plan)
        with one_blas_thread():  # each of our threads has a product of its own to compute
            run_jobs(jobs, [1.0] * len(jobs), self.threads, plan.report)
        return kept.trajectory(self)

    @interruptible
    def _jobs(self, lanes: list[Lane], plan: Plan) -> "tuple[_Kept, list[_Flow]]":
        kept = _Kept(lanes, plan, self.runs)
        return kept, [
            _Flow(self, lane, i * self.runs + run, run, kept)
            for i, lane in enumerate(lanes)
            for run in range(self.runs)
        ]


class _Kept:
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

    def trajectory(self, level: Empirical) -> Trajectory:
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


class _Flow:
    """One run: its data set, its flow, and what is kept of it."""

    def __init__(self, level: Empirical, lane: Lane, place: int, run: int, kept: _Kept) -> None:
        self.level, self.lane, self.place, self.kept = level, lane, place, kept
        # what rows do not depend on: so that data sets of one seed begin with the same ones
        plain = {"training__samples": None, "training__learning_rate": 1.0, "training__label_noise": 0.0}
        problem = lane.problem.replace(**plain)
        self.seed = child(lane_seed(level.seed, 4, Lane(problem, lane.start)), run)

    def __call__(self, control: Control, place: int) -> None:
        if control.stopped:
            return
        problem, kept, clock = self.lane.problem, self.kept, Clock(self.lane.problem, PAPER)
        weights = self.lane.weights or embed(problem, self.lane.start, child(self.seed, 0))
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

    def _sample(self, problem: Problem, teacher: np.ndarray) -> Sample:
        level, count = self.level, self.level.samples(problem) or 0
        if level.data is not None:
            assert level.data.rows is not None
            rows = np.ascontiguousarray(level.data.prepared(level.data.rows[:count]))
        else:
            rows = np.random.default_rng(child(self.seed, 1)).standard_normal((count, len(teacher)))
        if level.labels is not None:
            return Sample(rows, np.array(level.labels[:count]), teacher)
        noise = np.random.default_rng(child(self.seed, 2)).standard_normal(count)
        return Sample.from_teacher(rows, teacher, np.sqrt(problem.training.label_noise) * noise)

    def _watch(self, sample: Sample, first: np.ndarray) -> tuple[int, int, float]:
        """Which of the losses to stop at, in which direction, and the level."""
        stop = self.kept.plan.stop
        if stop is None:
            return -1, RISES, 0.0
        which = TRAINING if stop.quantity == "training_loss" else POPULATION
        unit = 1.0 if which == TRAINING else 2 * self.lane.problem.training.loss_factor
        level = stop.level_for(unit * float(sample.losses(first)[which])) / unit
        return which, FALLS if stop.falls else RISES, level

    def _keep(self, found: Followed, sample: Sample, P: np.ndarray, weights: Weights, clock: Clock) -> None:
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


def _population(sample: Sample, first: np.ndarray, times: np.ndarray, noise: float) -> Followed:
    """The flow on the population, in closed form; its training loss is the population loss and half the label noise."""
    values, vectors = np.linalg.eigh(sample.teacher)
    values = np.where(values > 1e-14 * len(values) * values[-1], values, 0.0)
    factors = flow_factor(first @ vectors, values, times, turn=True).factor @ vectors.T
    loss = sample.losses(factors)[POPULATION]
    return Followed(factors, loss + noise / 2, loss, factors[-1], float(times[-1]), Ending.FINISHED, 0)


def _first_risk(lane: Lane) -> float:
    return moments(field_covariance(lane.problem, lane.start), lane.problem, lane.start.readout).risk


def _checked_labels(labels: Any, data: Data | None) -> tuple[float, ...]:
    if data is None:
        raise ValueError("labels: given without data, whose rows they would belong to")
    try:
        array = np.asarray(labels, dtype=float)
    except (TypeError, ValueError):
        raise ValueError("labels: must be numbers, one for each row of data") from None
    assert data.rows is not None
    if not np.isfinite(array).all():
        raise ValueError("labels: must be finite")
    if array.shape != (len(data.rows),):
        raise ValueError(
            f"labels: shape {array.shape} given, must be {len(data.rows)} numbers, one for each row of data"
        )
    return tuple(array.tolist())


def _digest(labels: np.ndarray) -> str:
    return hashlib.sha256(f"{labels.shape}{labels.dtype}".encode() + labels.tobytes()).hexdigest()
