"""Training on a finite data set, as a level: gradient flow of quadratic students, or steps of any."""

import hashlib
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from solvable.empirical import descent
from solvable.empirical.flow import MOST_NUMBERS, PAPER, Flow, FlowArrays
from solvable.empirical.sample import room
from solvable.levels import Lane, Level, Plan
from solvable.levels.jobs import run_jobs
from solvable.levels.limits import check_whole
from solvable.levels.seeds import seed_settings
from solvable.numerics.memory import check_memory
from solvable.numerics.threads import cores, interruptible, one_blas_thread
from solvable.overlaps import embed
from solvable.problems import Data, Domain, Problem
from solvable.problems.labels import check_signs
from solvable.problems.nearest import not_one_of
from solvable.problems.reuse import sample_count
from solvable.results import Clock, Trajectory
from solvable.results.traits import TRAITS

EMPIRICAL = Domain(units="quadratic", teachers="any", label_noise=True, samples=True, schedules="rates")  # of the flow
FORMS = ("auto", "revealed", "gram", "full", "flow")
METHODS = ("auto", "stabilised", "implicit")
MOST_UNKNOWNS = 4000  # of implicit steps


@dataclass(frozen=True)
class Empirical(Level):
    """A finite data set as a level: gradient descent in steps for every unit, or gradient flow of quadratic students.

    Steps of `training.step` (or learning_rate/dim) on the samples that `training.selection` chooses have the exact law
    of training on a drawn Gaussian matrix, which is not drawn where that is cheaper. A run has `training_loss` (run,
    time), the mean loss over all samples with its factor, or over the present fresh batch; labels with their noise are
    drawn once for each sample. Time is counted in steps, and schedules with it.

    The flow is what quadratic students take where neither step, batch nor selection is given. Without
    `training.samples` its loss is that of the population, and it has a closed form. A run has `training_loss` (half the
    mean squared error over the samples, E_n), `population_loss` (the same over all Gaussian inputs, E) and `weights`
    (run, time, p, dim), `teacher_weights` (run, p*, dim) and `matrix` (run, time, dim, dim), the students' quadratic
    form A = weights^T weights / (p dim) with output x^T A x.

    Parameters
    ----------
    runs : int
        How many data sets for each start.
    seed : int or SeedSequence
        Of the data sets. In the flow a larger data set begins with the smaller one of the same seed.
    form : str
        "flow"; or steps: "revealed" (a Gaussian data matrix known only as far as it is asked about), "gram" (by the Gram
        matrix of the samples), "full" (all rows). "auto": the flow where it applies and nothing asks for steps; "gram" or
        "full" for data; otherwise "revealed", or "full" where that is cheaper. `message` says what was taken.
    data : Data, optional
        Rows to take (all, or the first `samples`) in place of drawn Gaussian ones; single ones at a time (batch=1) only
        where `samples` is given. In steps the risk is measured on up
        to 4096 rows behind them, or is that of Gaussian inputs where none are left.
    labels : array, optional
        Labels for `data`, one for each of its rows. The start must then be `Weights`, whose teacher the population loss is about.
    method : str
        Of the flow:
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
    A step moves w_k by (step dim/B) sum m_s F_k(s) x_s / sqrt(dim), with multiplicities m_s that sum to B ("persistent": on
    average): with B samples at step = learning_rate/dim it is that of one-pass SGD. Weight decay takes step x decay x w off.
    Random numbers depend on the form; those of a partition, and of Nesterov's momentum, on the outputs too, at which more is
    asked.

    The time of the flow is saraomannelli2020's t: dA/dt = G A + A G with G = mean (label - output) x x^T. A step of
    gradient descent at rate r on the mean squared error, by weights whose fields are w.x/sqrt(dim), takes
    4 r / (width dim).

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
    >>> training = sv.Training(step=0.5, samples=sv.Ratio(3), label_noise=0.1)
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=10000), training=training,
    ... )
    >>> steps = sv.run(problem, sv.start(problem, seed=0), sv.Empirical(), until=5, progress=False)
    >>> bool(steps.training_loss[0, -1] < steps.risk[0, -1] + 0.1)
    True
    """

    runs: int = 1
    seed: int | np.random.SeedSequence = 0
    form: Literal["auto", "revealed", "gram", "full", "flow"] = "auto"
    data: Data | None = None
    labels: Sequence[float] | np.ndarray | None = None
    method: Literal["auto", "stabilised", "implicit"] = "auto"
    rtol: float = 1e-6
    max_steps: int = 1_000_000
    threads: int | None = None

    name = "empirical"
    clock = PAPER
    domain = descent.DESCENT
    traits = TRAITS[name]

    def __post_init__(self) -> None:
        check_whole(self, runs=1, max_steps=1, threads=1, seed=0)
        if self.form not in FORMS:
            raise ValueError(f"form: {self.form!r} given, must be one of {', '.join(FORMS)}")
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
            **({} if self.form == "auto" else {"form": self.form}),
            "data": None if self.data is None else self.data.fingerprint,
            "labels": None if self.labels is None else _digest(np.array(self.labels)),
            "method": self.method,
            "rtol": self.rtol,
            "max_steps": self.max_steps,
        }

    def in_steps(self, problem: Problem) -> bool:
        """Whether a problem is trained in steps, not in the flow."""
        if self.form != "auto":
            return self.form != "flow"
        training = problem.training
        fresh = training.samples is None
        asked = training.step is not None or training.selection is not None or training.repeats > 1
        if asked or (training.batch != 1 if fresh else training.batch is not None):
            return True
        return not (fresh and self.data is None) and bool(EMPIRICAL.refusals(problem))

    def own_clock(self, problem: Problem) -> Clock:
        """Steps; of the flow `clock`, over alpha."""
        if self.in_steps(problem):
            return Clock(problem, "steps", "steps")
        EMPIRICAL.require(problem, "Empirical(form='flow')" if self.form == "flow" else type(self).__name__)
        return Clock(problem, self.clock)

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        if self.data is not None and lanes[0].problem.inputs.dim is not None:
            self._check_data(self.data, lanes)
        if self.in_steps(lanes[0].problem):
            descent.check(self, lanes)
        else:
            self._check_flow(lanes)

    def _check_flow(self, lanes: list[Lane]) -> None:
        problem = lanes[0].problem
        dim, samples = problem.inputs.dim, self.samples(problem)
        if dim is None:
            raise ValueError("inputs.dim: infinite, but a data set has rows of finite length; give it, or use Macro")
        if self.data is None and samples is None and self.runs > 1:
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
        samples = sample_count(problem)
        if (samples or 0) > len(data.rows):
            raise ValueError(f"training.samples: {samples} given, but the data have {len(data.rows)} rows")
        if self.labels is not None:
            check_signs("labels", self.labels, problem.training.loss_function)
        noises = [name for name in ("label_noise", "label_flips") if getattr(problem.training, name) != 0]
        if self.labels is not None and noises:
            raise ValueError(f"training.{noises[0]}: given together with labels, so nothing would use it")
        turned = any(lane.weights is None for lane in lanes)
        if self.labels is not None and turned:
            raise ValueError("labels: given, but the start has no teacher in the data's directions; start from Weights")
        varies = bool(noises) or (self.in_steps(problem) and descent.may_repeat(self, problem))
        if self.runs > 1 and not turned and not varies:
            raise ValueError(
                f"runs: {self.runs} given, but all would see the same samples from the same weights; must be 1"
            )

    def samples(self, problem: Problem) -> int | None:
        """How many samples a run has; None for the population."""
        if problem.training.samples is None and self.data is not None and self.data.rows is not None:
            return len(self.data.rows)
        return sample_count(problem)

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """Follow every lane on its data sets; called by `run`."""
        if self.in_steps(lanes[0].problem):
            return self._descend(lanes, plan)
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

    def _descend(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        records, losses, walks, form = interruptible(descent.prepare)(self, lanes, plan)
        with one_blas_thread() if len(walks) > 1 else nullcontext():
            run_jobs(walks, [float(records.steps[-1])] * len(walks), self.threads, plan.report)
        return descent.trajectory(self, lanes, records, losses, form, plan)

    @interruptible
    def _jobs(self, lanes: list[Lane], plan: Plan) -> tuple[FlowArrays, list[Flow]]:
        kept = FlowArrays(lanes, plan, self.runs)
        return kept, [
            Flow(self, lane, i * self.runs + run, run, kept) for i, lane in enumerate(lanes) for run in range(self.runs)
        ]


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
