"""Checks of a data matrix that is revealed and never drawn: it is one matrix, and it has the law of a drawn one."""

from typing import Any

import numpy as np

from solvable.checks.report import Report
from solvable.empirical import Empirical
from solvable.empirical.descent import prepare, trajectory
from solvable.empirical.engines import DenseEngine
from solvable.empirical.selecting import selection_of
from solvable.empirical.steps import Walk
from solvable.empirical.worlds import World
from solvable.levels import Lane, Plan
from solvable.levels.jobs import Control, run_jobs
from solvable.numerics.progress import silent
from solvable.numerics.threads import one_blas_thread
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Trajectory


class _Rebuilt(World):
    """The world of a run that is over, with its matrix drawn."""

    def _parts(self) -> list[Any]:
        return []

    def refill(self, world: World, seed: int) -> "_Rebuilt":
        self.space, self.rows, random = world.space, world.rows, np.random.default_rng(seed)
        for part in world.parts:
            engine: Any = part.engine
            engine = getattr(engine, "inner", engine)
            rows = engine.revealed.matrix(random) * self.space.roots[: self.space.used]
            self.parts.append(self._part(DenseEngine(rows), None))
        return self


class _Rerun(Walk):
    """The same run on the rebuilt matrix."""

    made: World

    def _world(self) -> World:
        return _Rebuilt(self.lane, self.form, self.found, self.seed, None).refill(self.made, seed=0)


def transcript_is_one_matrix(
    problem: Problem,
    start: Overlaps,
    *,
    steps: int = 20,
    seed: int = 0,
    form: str = "coordinates",
    tolerance: float = 1e-12,
) -> Report:
    """Check that all answers of a revealed data matrix are those of one matrix.

    A run is made on a matrix that is revealed. A matrix that gives all its answers is drawn, and the run is repeated on that: both
    paths must be equal.

    Parameters
    ----------
    problem : Problem
        With `training.samples`, at finite dim.
    start : Overlaps
        Where the run begins.
    steps : int
        How many steps.
    seed : int
        Of the run.
    form : str
        "coordinates" or "frames".
    tolerance : float
        Allowed deviation of risk, training loss and overlaps, relative to the largest of each.

    Returns
    -------
    Report
        With both paths.

    Examples
    --------
    >>> training = sv.Training(step=0.5, samples=60, batch=20, label_noise=0.1)
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
    ...     inputs=sv.Inputs(dim=40), training=training,
    ... )
    >>> sv.checks.transcript_is_one_matrix(problem, sv.start(problem, seed=0)).passed
    True
    """
    if selection_of(problem) == "repeated":
        raise ValueError("transcript_is_one_matrix: every fresh batch has a matrix of its own; give training.samples")
    first = _run(problem, start, steps, seed, form, Walk)
    again = _run(problem, start, steps, seed, form, _Rerun, first[1][0].world)
    found, expected = _path(first[0]), _path(again[0])
    scales = {name: np.full_like(value, tolerance * np.abs(value).max()) for name, value in expected.items()}
    return Report("the transcript is one matrix", found, expected, scales, 1.0)


def law_of_dense(
    problem: Problem, start: Overlaps, *, steps: int = 6, runs: int = 400, seed: int = 0, form: str = "coordinates",
    chance: float = 1e-6,
) -> Report:  # fmt: skip
    """Check that training on a revealed data matrix has the law of training on a drawn one.

    Parameters
    ----------
    problem, start, steps, form
        As in `transcript_is_one_matrix`; fresh batches too.
    runs : int
        How many runs of each kind.
    seed : int
        Of the runs.
    chance : float
        Probability that a correct form fails, over all comparisons.

    Returns
    -------
    Report
        Means of the logarithms of risk and training loss, and the statistics of Kolmogorov and Smirnov's test of these and of all
        overlaps after the last step; scales are what `chance` allows.

    Examples
    --------
    >>> training = sv.Training(step=0.5, samples=30, label_noise=0.1)
    >>> problem = sv.Problem(
    ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=1, activation="erf"),
    ...     inputs=sv.Inputs(dim=20), training=training,
    ... )
    >>> sv.checks.law_of_dense(problem, sv.start(problem, seed=0), runs=50).passed
    True
    """
    from scipy import stats

    both = [_run(problem, start, steps, seed, one, Walk, runs=runs)[0] for one in (form, "dense")]
    logs, ends = zip(*(_samples(one) for one in both), strict=True)
    ends = tuple(one[:, np.concatenate(ends).std(axis=0) > 1e-10] for one in ends)
    each = chance / (2 * logs[0].shape[1] + ends[0].shape[1])
    means = [one.mean(axis=0) for one in logs]
    error = np.sqrt(sum(one.var(axis=0, ddof=1) / len(one) for one in logs))
    pairs = [*zip(logs[0].T, logs[1].T, strict=True), *zip(ends[0].T, ends[1].T, strict=True)]
    distances = np.array([stats.ks_2samp(one, two).statistic for one, two in pairs])
    largest = float(stats.kstwobign.isf(each)) * np.sqrt(2 / runs)
    return Report(
        "the law is that of a drawn matrix",
        {"mean": means[0], "distance": distances},
        {"mean": means[1], "distance": np.zeros_like(distances)},
        {"mean": float(stats.t.isf(each / 2, runs - 1)) * error, "distance": np.full_like(distances, largest)},
        1.0,
    )


def _run(
    problem: Problem, start: Overlaps, steps: int, seed: int, form: str, kind: type[Walk], made: World | None = None, *,
    runs: int = 1,
) -> tuple[Trajectory, list[Walk]]:  # fmt: skip
    """Runs in a given form; a single one keeps its world."""
    level, plan = Empirical(runs=runs, seed=seed, form="revealed"), Plan(np.arange(steps + 1.0))
    lanes = [Lane(problem, start)]
    records, losses, walks, form = prepare(level, lanes, plan, form, kind)
    if runs == 1:
        walks[0].keeps, walks[0].made = True, made  # type: ignore[attr-defined]
        walks[0](Control(1), 0)
    else:
        with one_blas_thread():
            run_jobs(walks, [float(steps)] * runs, None, silent)
    return trajectory(level, lanes, records, losses, form, plan), walks


def _path(run: Trajectory) -> dict[str, np.ndarray]:
    assert run.training_loss is not None
    return {
        "risk": run.risk, "training_loss": run.training_loss, "student_overlap": run.student_overlap,
        "cross_overlap": run.cross_overlap, "readout": run.readout,
    }  # fmt: skip


def _samples(run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """(run, entry) logarithms of losses after a third, half and all of the steps, and all overlaps at the end."""
    assert run.training_loss is not None
    times = sorted({len(run.alpha) // 3, len(run.alpha) // 2, len(run.alpha) - 1})
    losses = np.concatenate([np.log(run.risk[:, times]), np.log(run.training_loss[:, times])], axis=1)
    many = len(run.risk)
    ends = [
        run.student_overlap[:, -1].reshape(many, -1),
        run.cross_overlap[:, -1].reshape(many, -1),
        run.readout[:, -1],
    ]
    return losses, np.concatenate(ends, axis=1)
