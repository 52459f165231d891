"""Finite-size SGD as a level."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from solvable.dynamics import reduced_form
from solvable.dynamics.case_form import has_cases
from solvable.dynamics.exactness import squared
from solvable.dynamics.kernel_choice import check_functions
from solvable.levels import Lane, Level, Plan
from solvable.levels.jobs import run_jobs
from solvable.levels.limits import check_whole
from solvable.levels.records import Records
from solvable.levels.seeds import lane_seed, seed_settings
from solvable.micro import full, full_cases, reduced
from solvable.numerics.memory import check_memory
from solvable.numerics.random import Purpose, child
from solvable.numerics.threads import cores, interruptible, one_blas_thread, raise_if_abandoned
from solvable.overlaps import embed
from solvable.problems import CASES, ONE_PASS, Data, Problem, Schedule
from solvable.problems.model import short
from solvable.problems.nearest import not_one_of
from solvable.results import Trajectory
from solvable.results.traits import TRAITS

FORMS = ("auto", "reduced", "full")
MOST_DIM = 10**12
MOST_WEIGHTS = 10**9  # numbers that full weights may take


@dataclass(frozen=True)
class Micro(Level):
    """One-pass SGD at finite dim as a level.

    Parameters
    ----------
    runs : int
        How many runs from each start.
    seed : int or SeedSequence
        A run's random numbers follow from the seed, the problem, the start and the run's number, not from other runs or
        threads.
    form : str
        "reduced": the overlaps as the exact Markov chain that they are for Gaussian inputs; a step costs the same at
        any dim. "full": all weights, for inputs that come as `data`, for some `trained` coordinates or as a check.
        "auto": reduced unless there are such.
    data : Data, optional
        Inputs in place of Gaussian ones. The risk is then measured on at most 4096 rows; for an iterator it is that of
        Gaussian inputs with the problem's spectrum.
    trained : int or sequence of bool, optional
        Which coordinates of the inputs learn, for full weights: the first so many, or a mask (dim,). The weights of all
        others stay what they are, and teachers see them. Coordinates are those of `data`, or of the spectrum, eigenvalue
        by eigenvalue. Left out, all learn.
    threads : int, optional
        How many to use; left out, all cores.

    Notes
    -----
    Outputs are at the nearest whole steps. A threshold is looked at every 16 steps, or 1000 times per unit of alpha if
    that is less often, and at the last step; a threshold on the risk 20 times where the risk is an average over nodes or
    needs a function that only Python can call (most targets but sums of units, units without closed forms with classes,
    tasks or momentum, units too wild for a table), and any threshold for full weights. A run that has moved too little
    since the last look to have passed is not looked at, which changes no result; an average over nodes counts as known up to
    four times its error. So a threshold costs a few per cent, more only while a run is close to it.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> sv.run(problem, sv.start(problem, seed=0), sv.Micro(runs=8, seed=1), until=5, progress=False).risk.shape
    (8, 201)
    """

    runs: int = 1
    seed: int | np.random.SeedSequence = 0
    form: Literal["auto", "reduced", "full"] = "auto"
    data: Data | None = None
    trained: int | tuple[bool, ...] | None = None
    threads: int | None = None

    name = "micro"
    clock = "alpha"
    domain = CASES
    traits = TRAITS[name]

    def __post_init__(self) -> None:
        check_whole(self, runs=1, threads=1, seed=0)
        if self.form not in FORMS:
            raise ValueError(f"form: {not_one_of(self.form, FORMS)}")
        if self.data is not None and not isinstance(self.data, Data):
            raise ValueError(f"data: {type(self.data).__name__} given, must be Data(...)")
        if self.data is not None and self.form == "reduced":
            raise ValueError("form: 'reduced' given, but the data need not be Gaussian; must be 'full' or 'auto'")
        self._check_trained()

    def settings(self) -> dict[str, Any]:
        """What the result depends on, as plain values."""
        return {
            "runs": self.runs,
            **seed_settings(self.seed),
            "form": "full" if self._is_full else "reduced",
            "data": None if self.data is None else self.data.fingerprint,
            **({} if self.trained is None else {"trained": self.trained}),
        }

    @property
    def _is_full(self) -> bool:
        return self.form == "full" or self.data is not None or self.trained is not None

    def _check_trained(self) -> None:
        """Refuse what is no number and no mask; a mask is kept as plain values."""
        given = self.trained
        if given is None:
            return
        if self.form == "reduced":
            raise ValueError(
                "form: 'reduced' given, but only full weights have trained coordinates; must be 'full' or 'auto'"
            )
        if isinstance(given, int | np.integer) and not isinstance(given, bool | np.bool_):
            check_whole(self, trained=0)
            return
        mask = np.asarray(given)
        if mask.ndim != 1 or mask.dtype != bool:
            raise ValueError(
                f"trained: {short(given)} given, must be how many coordinates learn, or whether each does (True or False)"
            )
        object.__setattr__(self, "trained", tuple(mask.tolist()))

    @property
    def _coordinates(self) -> slice | np.ndarray:
        """Those that learn."""
        return (
            slice(self.trained)
            if self.trained is None or isinstance(self.trained, int)
            else np.flatnonzero(self.trained)
        )

    def check(self, lanes: list[Lane]) -> None:
        """Raise an error for what this level cannot do, before anything runs."""
        problem = lanes[0].problem
        dim = problem.inputs.dim
        if dim is None:
            raise ValueError("inputs.dim: infinite, but Micro simulates a finite one; give it, or use Macro")
        if dim > MOST_DIM:
            raise ValueError(
                f"inputs.dim: {dim} given, must be at most 10^12 here: steps of 1/dim would drown in rounding"
            )
        self._check_rule(problem)
        check_functions(squared(problem))
        if not self._is_full:
            for lane in lanes:
                reduced_form.coordinates(lane.problem, lane.start)  # refuses overlaps that no weights have
            return
        if isinstance(problem.training.batch, Schedule) or problem.inputs.is_scheduled:
            name = "inputs.spectrum.eigenvalues" if problem.inputs.is_scheduled else "training.batch"
            raise ValueError(f"{name}: a schedule is given, but full weights take constant ones; use form='reduced'")
        if dim * lanes[0].start.stacked.shape[1] > MOST_WEIGHTS:
            raise ValueError(f"inputs.dim: {dim} given, too many for full weights; the form 'reduced' takes any dim")
        threads = min(self.runs * len(lanes), self.threads or cores())
        check_memory(
            "inputs.dim", f"full weights of {dim} dimensions in {threads} thread(s)", threads * full.room(problem)
        )
        for lane in lanes:
            if lane.weights is None:
                embed(lane.problem, lane.start, 0)  # refuses them too
        if self.data is not None:
            self._check_data(self.data, lanes, dim)
        if self.trained is not None:
            self._check_mask(problem, dim)

    def _check_rule(self, problem: Problem) -> None:
        if self.data is not None:
            ONE_PASS.require(problem, "Micro with data")
            for name in problem.features:
                raise ValueError(
                    f"{name}: given together with data, which Micro knows with other losses and targets only"
                )
        if not problem.training.is_shaped:
            return
        if reduced_form.is_own(problem):
            raise ValueError(f"{problem.features[0]}: given together with a function that only Python can call")

    def _check_mask(self, problem: Problem, dim: int) -> None:
        count = self.trained if isinstance(self.trained, int) else len(self.trained or ())
        if count > dim or (count < dim and not isinstance(self.trained, int)):
            what = "coordinates to train" if isinstance(self.trained, int) else "entries of a mask"
            raise ValueError(f"trained: {count} {what} given for inputs.dim = {dim}")
        whole = ("training.rule", "training.lookahead", "training.repeats", "training.rate_rule")
        sphere = ("student.norm",) if problem.student.norm == "sphere" else ()  # would scale the other weights too
        for name in (*sphere, *(name for name in problem.features if name in whole)):
            raise ValueError(f"{name}: given together with trained coordinates, but it looks at the whole gradient")

    def _check_data(self, data: Data, lanes: list[Lane], dim: int) -> None:
        if data.dim is not None and data.dim != dim:
            raise ValueError(f"inputs.dim: {dim} given, but the data have rows of {data.dim}; say inputs=data.inputs")
        if data.rows is None and (self.runs > 1 or len(lanes) > 1):
            raise ValueError("runs: an iterator gives its rows once, so there can be one run from one start only")
        noisy = lanes[0].problem.training.segments["label_noise"][:, 1].max() > 0
        if self.runs > 1 and data.order == "given" and not noisy:
            raise ValueError(
                f"runs: {self.runs} given, but all would see the same rows; say Data(..., order='shuffled' or 'drawn')"
            )

    def solve(self, lanes: list[Lane], plan: Plan) -> Trajectory:
        """Run SGD for every lane; called by `run`."""
        records, jobs, totals = self._jobs(lanes, plan)
        with one_blas_thread() if self._is_full else nullcontext():  # each thread has a product of its own to compute
            run_jobs(jobs, totals, self.threads, plan.report)
        return records.trajectory(self.name, self.settings())

    @interruptible
    def _jobs(self, lanes: list[Lane], plan: Plan) -> tuple[Records, list[Any], list[float]]:
        """What is kept of the runs, what runs, and how many steps each of these takes."""
        records = Records(lanes, plan, self.runs)
        self._check_rows(records)
        flat = [lane for lane in lanes for _ in range(self.runs)]
        purpose = Purpose.FULL_WEIGHTS if self._is_full else Purpose.REDUCED
        roots = [lane_seed(self.seed, purpose, lane) for lane in lanes]
        seeds = [child(root, run) for root in roots for run in range(self.runs)]
        raise_if_abandoned()
        steps = float(records.steps[-1])
        if not self._is_full:
            groups = reduced.groups(flat, seeds, records)
            return records, groups, [steps * len(group.runs) for group in groups]
        sample = self._sample()
        walk = full_cases.CaseWalk if has_cases(lanes[0].problem) else full.Walk
        walks = [walk(lane, i, seeds[i], records, self.data, sample, self._coordinates) for i, lane in enumerate(flat)]
        return records, walks, [steps] * len(walks)

    def _sample(self) -> full.Sample | None:
        """Rows to measure the risk on. An iterator has none to spare: then the risk is that of Gaussian inputs."""
        data = self.data if self.data is None or self.data.rows is not None else self.data.like
        if data is None or data.rows is None:
            return None
        if data.prepare:
            data.basis  # noqa: B018  (once, before many threads ask for it)
        return full.Sample(data, child(self.seed, Purpose.TEST_ROWS))

    def _check_rows(self, records: Records) -> None:
        """Say at once that the rows will not last."""
        if self.data is None or self.data.rows is None or self.data.order == "drawn":
            return
        count, batch = len(self.data.rows), records.problem.training.at(0.0).batch
        assert isinstance(batch, int)
        if records.steps[-1] * batch > count:
            raise ValueError(
                f"data: {count} rows last to alpha = {count // batch / records.dim:.6g}, less than the "
                f"{records.steps[-1] / records.dim:.6g} asked for; say Data(..., order='drawn') to draw with replacement"
            )
