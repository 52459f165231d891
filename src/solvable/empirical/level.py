"""Full-batch gradient flow on a finite data set, as a level."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from solvable.empirical.flow import MOST_NUMBERS, PAPER, Flow, Kept
from solvable.empirical.sample import room
from solvable.levels import Lane, Plan
from solvable.levels.jobs import run_jobs
from solvable.levels.limits import check_whole
from solvable.levels.seeds import seed_settings
from solvable.numerics.memory import check_memory
from solvable.numerics.threads import cores, interruptible, one_blas_thread
from solvable.overlaps import embed
from solvable.problems import Data, Domain, Problem
from solvable.problems.reuse import sample_count
from solvable.results import Trajectory

EMPIRICAL = Domain(units="quadratic", teachers="any", label_noise=True, samples=True, schedules="rates")
METHODS = ("auto", "stabilised", "implicit")
MOST_UNKNOWNS = 4000  # of implicit steps


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
            raise ValueError(f"method: {self.method!r} given, must be one of {', '.join(METHODS)}")
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
        samples = sample_count(problem)
        if (samples or 0) > len(data.rows):
            raise ValueError(f"training.samples: {samples} given, but the data have {len(data.rows)} rows")
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
        return sample_count(problem)

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
    def _jobs(self, lanes: list[Lane], plan: Plan) -> tuple[Kept, list[Flow]]:
        kept = Kept(lanes, plan, self.runs)
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
