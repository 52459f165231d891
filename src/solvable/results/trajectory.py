"""What every level returns: learning curves of one or many runs, labelled, with how each ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from solvable.overlaps import Overlaps, nearest_frame, repaired
from solvable.problems import Problem
from solvable.results import forgetting, loading, logs, memory, observables, other_risk, storage, summary
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.threshold import Threshold

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


AVERAGED = (
    "risk", "student_overlap", "cross_overlap", "readout", "training_loss", "population_loss", "direction_overlap", "task_risk",
    "gap",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Learning curves of one or many runs, and how each run ended: what every level returns.

    Arrays begin with a run axis, then a time axis; p is the number of students, p* that of teachers. Where a run ended
    before an output time, its values there are NaN.

    A trajectory is also a sequence of its runs: `len(batch)`, `batch[3]` and `for run in batch` give trajectories of
    one run.

    Attributes
    ----------
    problem : Problem
        What was learned. Of a batch with several learning rates, the problem with the first of them.
    level : str
        Name of the level: "macro", "meso", "micro", "empirical" or "empirical_macro".
    settings : dict
        The level's settings, as far as results depend on them.
    alpha : ndarray
        (time,) output times in `base`: steps/dim, or steps; `time` has them in the unit of `clock`.
    risk : ndarray
        (run, time) population risk.
    risk_error : ndarray
        (run, time) numerical error of the risk where Gaussian averages are taken over nodes; zero where all are exact.
        In `Macro` it is a running maximum: the largest up to each output, so that it never falls. In `EmpiricalMacro` it is a
        standard error over replicas.
    overlap_error : ndarray
        (run, time) the same for overlaps and readouts, the largest of all entries; infinite where it is not known.
    start_risk : ndarray
        (run,) risk at time zero, also where the outputs begin later.
    student_overlap, cross_overlap, readout : ndarray
        (run, time, p, p), (run, time, p, p*) and (run, time, p), or (run, time, head, p) where tasks have heads of their own.
    block_teacher_overlap : ndarray
        (run, block, p*, p*) overlaps between teachers, which do not change.
    end_blocks, end_readout : Blocks, ndarray
        The last state of each run.
    start_hash : ndarray
        (run,) hash of the start that each run began from.
    endings, end_alpha, nfev : ndarray
        (run,) code of the `Ending`, time of the end in `base`, and number of evaluations (micro: samples) of each run.
    blocks : Blocks or None
        Overlaps of the single blocks at all times, if the run kept them.
    training_loss : ndarray or None
        (run, time) mean loss on the samples, with the loss factor (noise on labels included); of the flow of `Empirical`,
        half the mean squared error. None unless there is a finite data set.
    training_loss_error : ndarray or None
        (run, time) error of the training loss, as `risk_error`, of `EmpiricalMacro`.
    identity_residual : ndarray or None
        (run, time) of `EmpiricalMacro`: by how much responses from tangents miss an exact identity of Gaussian averages, before
        they are corrected by it.
    correlation, response : ndarray or None
        (run, time, p, time, p) of `EmpiricalMacro(two_times=True)`: covariance of the fields of a fresh sample at two times, and
        response of the fields at the first time to a push at the second (zero unless that is earlier).
    matrix, teacher_matrix : ndarray or None
        (run, time, dim, dim) and (run, dim, dim): students and teachers as quadratic forms on the inputs, for finite
        data sets.
    weights, teacher_weights : ndarray or None
        (run, time, p, dim) and (run, p*, dim): all units in the coordinates of the data's rows, for finite data sets.
    extra_overlap : ndarray or None
        (run, time, extra, p + p* + extra) overlaps of directions and anchors with all rows: students, teachers, extras.
    moving_teacher_overlap : ndarray or None
        (run, time, p*, p*) overlaps between teachers, where they move.
    task_risk : ndarray or None
        (run, time, task) risk of each task, where there are tasks.
    measured_end_risk : ndarray or None
        (run,) risk of the last state on rows of data, where the level measures it there; `end_risk` has it for all runs.
    stop : Threshold or None
        The threshold at which runs were told to stop.
    unit : str
        Unit of `time`, as in `Clock`.
    base : str
        What the level counts in, and schedules with it: "alpha" (steps/dim) or "steps".
    labels : dict
        For the runs of a batch: by name (for instance "learning_rate") an array (run,) that tells them apart.

    Examples
    --------
    The examples of the methods below continue this one.

    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> start = sv.start(problem, seed=0, students="orthogonal", cross=0.1)
    >>> run = sv.run(problem, start, sv.Macro(), until=100)
    >>> run.risk.shape
    (1, 201)
    >>> bool(run.risk[0, -1] < 0.01 * run.risk[0, 0])
    True
    """

    problem: Problem
    level: str
    settings: dict[str, Any]
    alpha: np.ndarray
    risk: np.ndarray
    risk_error: np.ndarray
    overlap_error: np.ndarray
    start_risk: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    readout: np.ndarray
    block_teacher_overlap: np.ndarray
    end_blocks: Blocks
    end_readout: np.ndarray
    start_hash: np.ndarray
    endings: np.ndarray
    end_alpha: np.ndarray
    nfev: np.ndarray
    blocks: Blocks | None = None
    training_loss: np.ndarray | None = None
    training_loss_error: np.ndarray | None = None
    identity_residual: np.ndarray | None = None
    correlation: np.ndarray | None = None
    response: np.ndarray | None = None
    matrix: np.ndarray | None = None
    teacher_matrix: np.ndarray | None = None
    weights: np.ndarray | None = None
    teacher_weights: np.ndarray | None = None
    extra_overlap: np.ndarray | None = None
    moving_teacher_overlap: np.ndarray | None = None
    task_risk: np.ndarray | None = None
    measured_end_risk: np.ndarray | None = None
    stop: Threshold | None = None
    unit: str = "alpha"
    base: str = "alpha"
    labels: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def clock(self) -> Clock:
        """The clock that converts between `alpha` and `time`."""
        return Clock(self.problem, self.unit, self.base)

    @property
    def time(self) -> np.ndarray:
        """(time,) output times in the unit of `clock`."""
        return self.clock.from_alpha(self.alpha)

    @property
    def end_time(self) -> np.ndarray:
        """(run,) when each run ended, in the unit of `clock`: at the end, at its threshold, or where it broke off."""
        return self.clock.from_alpha(self.end_alpha)

    @property
    def teacher_overlap(self) -> np.ndarray:
        """(run, p*, p*) overlaps between teachers, summed over the blocks; at the start where they move."""
        return self.block_teacher_overlap.sum(axis=1)

    @property
    def direction_overlap(self) -> np.ndarray | None:
        """(run, time, p, directions) overlaps of students with the directions of a mixture; None without one."""
        return observables.overlap_with("direction", self)

    @property
    def anchor_overlap(self) -> np.ndarray | None:
        """(run, time, p, p) overlaps of students with those of the start that they are anchored to; None without anchors."""
        return observables.overlap_with("anchor", self)

    @property
    def population_loss(self) -> np.ndarray:
        """(run, time) half the mean squared error over all Gaussian inputs, saraomannelli2020's E.

        The training loss tends to it with infinitely many samples, up to half the label noise.
        """
        return self.risk / (2 * self.problem.training.loss_factor)

    @property
    def gap(self) -> np.ndarray | None:
        """(run, time) by how much the loss on fresh samples exceeds that on the data set: risk + loss_factor x label noise
        - training loss with its factor. None without a data set, and for other losses than the squared one."""
        return memory.gap(self)

    def interpolation_time(self, below: float = 1e-3, *, relative: bool = True) -> np.ndarray:
        """First time at which the training loss has fallen to a threshold: when the data set is memorised.

        Parameters
        ----------
        below : float
            The threshold.
        relative : bool
            Whether it is a multiple of the training loss at the first output.

        Returns
        -------
        ndarray
            (run,) times in the unit of `clock`, interpolated between outputs, linearly in the logarithm of the loss; NaN where
            a run did not come so far.

        Examples
        --------
        >>> few = sv.Problem(
        ...     teacher=sv.Teacher(width=1, activation="erf"), student=sv.Student(width=2, activation="erf"),
        ...     inputs=sv.Inputs(dim=1000), training=sv.Training(step=1.0, samples=sv.Ratio(0.5), label_noise=0.1),
        ... )
        >>> data = sv.run(few, sv.start(few, seed=0), sv.Empirical(), until=100, progress=False)
        >>> bool(0 < data.interpolation_time(0.05)[0] < 100)
        True
        """
        return memory.interpolation_time(self, below, relative)

    def interpolates(self, below: float = 1e-3, *, relative: bool = True) -> np.ndarray:
        """Whether the training loss ends at or below a threshold: the data set is memorised.

        Parameters
        ----------
        below : float
            The threshold.
        relative : bool
            Whether it is a multiple of the training loss at the first output.

        Returns
        -------
        ndarray
            (run,) true where the loss at the last output that the run reached, less twice its error where that is known, is at
            most the threshold. Runs that broke off do not interpolate.

        Examples
        --------
        >>> data.interpolates(0.1).tolist(), data.interpolates(1e-9).tolist()
        ([True], [False])
        """
        return memory.interpolates(self, below, relative)

    def early_stopping(self) -> memory.EarlyStop:
        """Where each run has its least risk, among its outputs.

        Returns
        -------
        EarlyStop
            Time and risk there, and by how much the risk has risen since.

        Examples
        --------
        >>> best = data.early_stopping()
        >>> bool(best.time[0] < 100 and best.gain[0] > 0)
        True
        """
        return memory.early_stopping(self)

    @property
    def eigenvalues(self) -> np.ndarray:
        """(run, time, dim) eigenvalues of `matrix`, smallest first."""
        if self.matrix is None:
            raise ValueError(f"eigenvalues: a run of {self.level} has no matrix on the inputs; Empirical has")
        values = np.full(self.matrix.shape[:-1], np.nan)
        reached = np.isfinite(self.risk)
        values[reached] = np.linalg.eigvalsh(self.matrix[reached])
        return values

    @cached_property
    def classification_error(self) -> np.ndarray:
        """(run, time) how often output and label have different signs, over the mix of tasks and classes at each time, without
        noise on labels. With several blocks of inputs it needs keep_blocks=True."""
        return observables.classification_error(self)

    @property
    def oracle_error(self) -> float:
        """The classification error of who knows the classes, for two opposite ones and for +-m_1 against +-m_2."""
        return observables.oracle_error(self)

    @property
    def forgetting(self) -> np.ndarray:
        """(run, time, task) the risk of a task less that at the end of its own stretch, in which it was more probable than every
        other (the latest that has ended); NaN before. It needs outputs at these ends."""
        return forgetting.forgetting(self)

    @property
    def transfer(self) -> np.ndarray:
        """(run, time, task) by how much the risk of a task has fallen since the start of the run, until the first sample of this
        task comes: what learning other tasks does for it. NaN after that. It needs an output at time zero."""
        return forgetting.transfer(self)

    @property
    def end_risk(self) -> np.ndarray:
        """(run,) risk of the last state, also where no output was taken then; NaN for runs that diverged."""
        return observables.end_risk(self)

    @property
    def ending(self) -> list[Ending]:
        """How each run ended: a list with one `Ending` for each run."""
        return [Ending(code) for code in self.endings]

    @property
    def success(self) -> bool:
        """Whether every run came to its end, to its threshold or to rest."""
        return all(ending.success for ending in self.ending)

    @property
    def message(self) -> str:
        """How the runs ended, in one sentence, with what to change where one broke off."""
        return summary.message(self)

    @cached_property
    def data(self) -> "xarray.Dataset":
        """The trajectory as a labelled xarray Dataset."""
        return storage.to_dataset(self)

    def to_xarray(self) -> "xarray.Dataset":
        """The same as `data`.

        Returns
        -------
        xarray.Dataset
            All arrays with named axes (run, time, student, teacher, ...).

        Examples
        --------
        >>> run.to_xarray().risk.dims
        ('run', 'time')
        """
        return self.data

    def at(self, time: float, run: int | None = None) -> Overlaps:
        """The state at an output time, to restart from or to change the task.

        Parameters
        ----------
        time : float
            An output time, in the unit of `clock`. Outputs of `Micro` are at whole steps: a time means the nearest.
        run : int, optional
            Number of the run; may be left out where there is only one.

        Returns
        -------
        Overlaps
            The state of that run at that time.

        Examples
        --------
        >>> state = run.at(50.0)
        >>> state.cross_overlap.shape
        (2, 1)
        """
        run = self._run_number("at", run, "; `states(time)` gives those of all")
        i = int(np.argmin(np.abs(self.time - time)))
        if not (abs(self.time[i] - time) <= 1e-9 * max(1.0, abs(time)) or self._is_step(i, time)):
            raise ValueError(f"at: {time} is not an output time, the nearest is {self.time[i]}; ask for it by `times`")
        blocks = self.blocks
        if blocks is None and self.block_teacher_overlap.shape[1] == 1:
            totals = self.student_overlap, self.cross_overlap, self.moving_teacher_overlap, self.extra_overlap
            blocks = Blocks.of([None if part is None else part[:, :, None] for part in totals])
        if blocks is None:
            raise ValueError("at: the overlaps of the single blocks were not kept; run with keep_blocks=True")
        if np.isnan(self.risk[run, i]):
            raise ValueError(f"at: run {run} ended before, at {self.end_time[run]:.6g} ({self.ending[run].text})")
        return self._state(run, blocks.pick(run, i), self.readout[run, i])

    def _is_step(self, output: int, time: float) -> bool:
        """Whether an output of Micro is at the whole step nearest to a time."""
        if self.level != "micro" or not time >= 0:
            return False
        dim = self.problem.inputs.dim or 0
        return bool(abs(self.alpha[output] - self.clock.to_alpha(time)) * dim <= 0.5 * (1 + 1e-9))

    def last(self, run: int | None = None) -> Overlaps:
        """The state in which a run ended.

        A run from there begins at time 0: if the problem has schedules, `problem.later(alpha)` lets them go on.

        Parameters
        ----------
        run : int, optional
            Number of the run; may be left out where there is only one.

        Returns
        -------
        Overlaps
            The last state of that run.

        Examples
        --------
        >>> further = sv.run(problem, run.last(), sv.Macro(), until=100)
        >>> bool(further.risk[0, -1] < run.risk[0, -1])
        True
        """
        run = self._run_number("last", run, "; `states()` gives those of all")
        if not np.isfinite(self.end_blocks.student[run]).all():
            raise ValueError(f"last: run {run} has no finite last state ({self.ending[run].text})")
        return self._state(run, self.end_blocks.pick(run), self.end_readout[run])

    def _state(self, run: int, blocks: Blocks, readout: np.ndarray) -> Overlaps:
        teacher = self.block_teacher_overlap[run] if blocks.teacher is None else blocks.teacher
        sphere = self.problem.student.norm == "sphere"
        extras = () if blocks.extra is None else self.problem.extras
        return repaired(
            blocks.student, blocks.cross, teacher, readout, sphere=sphere, extras=extras, extra=blocks.extra
        )

    def states(self, time: float | None = None) -> list[Overlaps]:
        """The states of all runs, as starts for `run_batch`.

        Parameters
        ----------
        time : float, optional
            An output time, in the unit of `clock`; left out, the end of each run.

        Returns
        -------
        list of Overlaps
            One state for each run.

        Examples
        --------
        >>> len(run.states())
        1
        """
        return [self.last(run) if time is None else self.at(time, run) for run in range(len(self.risk))]

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.risk)

    def __getitem__(self, run: int | slice) -> Self:
        """One run by its number, as a trajectory of its own: batch[3].last() is batch.last(3)."""
        try:
            return self.select(run=np.arange(len(self))[run])
        except IndexError:
            raise IndexError(f"trajectory: run {run} given, must be from 0 to {len(self) - 1}") from None

    def __iter__(self) -> Iterator[Self]:
        """One run after the other."""
        return (self[run] for run in range(len(self)))

    def risk_on(self, other: Problem) -> "xarray.DataArray":
        """The risk of another problem for the students of this run, at every output.

        Weights and readouts are the run's; labels, units and eigenvalues are the other problem's.

        Parameters
        ----------
        other : Problem
            It must have the same widths and teachers, and the same blocks of inputs (the run needs `keep_blocks=True`
            then) or only one; as many heads; and the same directions of means, or no mixture. Teachers must not move.

        Returns
        -------
        xarray.DataArray
            (run, time) risks. The coordinate `risk_error` is the error from averages over nodes, zero where all are
            exact.

        Examples
        --------
        >>> run.risk_on(problem.replace(training__label_noise=0.1)).shape
        (1, 201)
        """
        return other_risk.risk_on(self, other)

    def _run_number(self, who: str, run: int | None, hint: str = "") -> int:
        """The number `run`, where None is the only run there is: `who` raises ValueError if there are several."""
        if run is None and len(self.risk) > 1:
            raise ValueError(f"{who}: there are {len(self.risk)} runs; say which, from run=0 on{hint}")
        if run is None:
            return 0
        whole = isinstance(run, int | np.integer) and not isinstance(run, bool)
        if not whole or not -len(self.risk) <= run < len(self.risk):
            raise ValueError(f"{who}: run {run!r} given, must be from 0 to {len(self.risk) - 1}")
        return int(run)

    def select(self, **labels: Any) -> Self:
        """The runs of a batch that have the given labels.

        Parameters
        ----------
        **labels
            Values by the name of a label, `learning_rate=0.1`; `run=[0, 3]` selects by number. Several values: any of
            them.

        Returns
        -------
        Trajectory
            The same curves with fewer runs.

        Examples
        --------
        >>> batch = sv.levels.run_batch(problem, start, sv.Macro(), 10, learning_rates=[0.1, 0.2])
        >>> batch.select(learning_rate=0.2).risk.shape
        (1, 201)
        """
        chosen = np.ones(len(self.risk), dtype=bool)
        for name, value in labels.items():
            if name != "run" and name not in self.labels:
                raise ValueError(f"select: {name!r} given, must be one of {', '.join(['run', *self.labels])}")
            values = np.arange(len(self.risk)) if name == "run" else self.labels[name]
            chosen &= np.isin(values, value)
        if not chosen.any():
            raise ValueError(f"select: no run has {labels}")
        problem, rates = self.problem, self.labels.get("learning_rate")
        if rates is not None and len(np.unique(rates[chosen])) == 1:
            problem = problem.replace(training__learning_rate=float(rates[chosen][0]))
        arrays = {
            name: value[chosen]
            for name in (*storage.RUN_ARRAYS, *storage.SOME_ARRAYS)
            if (value := getattr(self, name)) is not None
        }
        return replace(
            self, problem=problem, end_blocks=self.end_blocks.pick(chosen),
            blocks=None if self.blocks is None else self.blocks.pick(chosen),
            labels={name: values[chosen] for name, values in self.labels.items()}, **arrays,
        )  # fmt: skip

    def mean(self, name: str = "risk") -> observables.Mean:
        """Mean of an array over the runs.

        Runs that diverged are left out, and so are interrupted ones unless all are. Times that not all of the others
        reached are NaN, because the runs that go on longest are not a fair sample.

        Parameters
        ----------
        name : str
            "risk", "student_overlap", "cross_overlap", "readout", "training_loss", "population_loss", "gap",
            "direction_overlap", "task_risk", "forgetting" or "transfer".

        Returns
        -------
        Mean
            Mean and standard error (time, ...), and how many runs entered and were left out.

        Raises
        ------
        ValueError
            If the runs differ in more than their start, for instance in the learning rate: choose by `select` first.

        Examples
        --------
        >>> sgd = sv.run(problem, start, sv.Micro(runs=8), until=10, progress=False)
        >>> sgd.mean().mean.shape, sgd.mean().runs
        ((201,), 8)
        """
        if name not in (*AVERAGED, *forgetting.NAMES) or getattr(self, name) is None:
            have = [one for one in AVERAGED if getattr(self, one) is not None]
            have += forgetting.NAMES if self.problem.tasks else ()
            raise ValueError(f"mean: {name!r} given, must be one of {', '.join(have)}")
        self._check_alike("mean")
        return observables.mean(getattr(self, name), self.risk, self.endings)

    def _check_alike(self, who: str) -> None:
        for label, values in self.labels.items():
            if label != "start" and len(np.unique(values)) > 1:
                raise ValueError(f"{who}: the runs differ in {label}; choose by select({label}=...) first")

    def exit_time(self, below: float | None = None, *, relative: bool = True) -> np.ndarray:
        """First time at which the risk has fallen to a threshold.

        Exact for runs that stopped at this very threshold; otherwise interpolated between outputs, linearly in log
        risk.

        Parameters
        ----------
        below : float, optional
            The threshold. Left out, it is that of `stop`, whatever quantity it watches, or half the first risk.
        relative : bool
            Whether `below` is a multiple of the risk at time zero.

        Returns
        -------
        ndarray
            (run,) times in the unit of `clock`; NaN where a run did not pass the threshold.

        Examples
        --------
        >>> run.exit_time(0.5).round(1)
        array([13.1])
        """
        if below is None and self.stop is not None:
            return np.where(self.endings == Ending.STOPPED, self.end_time, np.nan)
        below = 0.5 if below is None else below
        exact = self.stop is not None and self.stop == Threshold("risk", below, True, relative)
        levels = below * self.start_risk if relative else np.full(len(self.risk), below)
        pairs = zip(self.risk, levels, strict=True)
        read = np.array([observables.crossing_time(self.time, risk, level) for risk, level in pairs])
        return np.where((self.endings == Ending.STOPPED) & exact, self.end_time, read)

    def mean_exit_time(
        self, below: float | None = None, *, relative: bool = True, confidence: float = 0.95
    ) -> observables.MeanTime:
        """Mean of `exit_time` over the runs, with a confidence interval by Student's distribution.

        Parameters
        ----------
        below, relative
            As in `exit_time`.
        confidence : float
            Probability that the interval is to have.

        Returns
        -------
        MeanTime
            Mean, interval and counts of runs; the interval is NaN for fewer than two runs.

        Examples
        --------
        >>> sgd.mean_exit_time(0.99).runs
        8
        """
        self._check_alike("mean_exit_time")
        return observables.mean_time(self.exit_time(below, relative=relative), self.endings, confidence)

    def plateaus(self, run: int | None = None, *, flatness: float = 0.2) -> list[observables.FlatSpan]:
        """Spans of time in which the risk hardly moves.

        Parameters
        ----------
        run : int, optional
            Number of the run; may be left out where there is only one.
        flatness : float
            A plateau is where the speed |d log(risk) / d time| is below this fraction of its peaks before and after.

        Returns
        -------
        list of FlatSpan
            Begin, end and risk of each plateau, as `results.observables.plateaus` finds them; times in the unit of
            `clock`.

        Examples
        --------
        >>> len(run.plateaus())
        1
        """
        run = self._run_number("plateaus", run)
        floor = max(1e-9, float(self.settings["rtol"])) if self.level == "macro" else 1e-9
        return observables.plateaus(self.time, self.risk[run], flatness=flatness, floor=floor)

    def phases(self, run: int | None = None, *, flatness: float = 0.2) -> list[observables.Phase]:
        """The course of a run, divided into named spans of time.

        A plateau is followed by an escape (until the risk is half the plateau's height) and a descent. What leads to a
        plateau is "norm learning" where the students' norms change more outside the teachers' span than within it, else
        "approach".

        Parameters
        ----------
        run, flatness
            As in `plateaus`.

        Returns
        -------
        list of Phase
            Name, begin and end of each span, in the unit of `clock`; empty where no plateau has been left.

        Examples
        --------
        >>> [phase.name for phase in run.phases()]
        ['norm learning', 'plateau', 'escape', 'descent']
        """
        run = self._run_number("phases", run)
        Q, R, T = self.student_overlap[run], self.cross_overlap[run], self.teacher_overlap[run]
        within = np.einsum("tkl,lm,tkm->t", R, np.linalg.pinv(T, hermitian=True), R)
        outside = np.einsum("tkk->t", Q) - within

        def is_norms(start: float, end: float) -> bool:
            ends = np.searchsorted(self.time, [start, end])
            return bool(abs(np.diff(outside[ends])[0]) > abs(np.diff(within[ends])[0]))

        found, end = self.plateaus(run, flatness=flatness), float(self.end_time[run])
        return observables.phases(self.time, self.risk[run], found, end, is_norms)

    @property
    def frame(self) -> np.ndarray:
        """(run, time, p, p*) polar factor S = R (R^T R)^(-1/2) of the cross overlaps: which combination of students learns
        which teacher.

        NaN where R has not full rank. In the deterministic limit quadratic students keep S if they begin orthogonal and
        of equal norm and the teachers are orthonormal (bocchi2026, section 7.4).
        """
        return nearest_frame(self.cross_overlap)

    def frame_drift(self, since: Overlaps | None = None) -> np.ndarray:
        """How far `frame` has moved: the Frobenius norm |S(t) - S(0)|.

        Parameters
        ----------
        since : Overlaps, optional
            The state to compare with; left out, the first output.

        Returns
        -------
        ndarray
            (run, time) distances. Unrelated frames are about sqrt(2 p*) apart.

        Examples
        --------
        >>> bool(run.frame_drift().max() < 1e-6)
        True
        """
        if since is not None:
            observables.check_state("frame_drift", self, since)
        frame = self.frame
        first = frame[:, :1] if since is None else nearest_frame(since.cross_overlap)
        drift: np.ndarray = np.linalg.norm(frame - first, axis=(2, 3))
        return drift

    def distance(self, target: Overlaps, of: str = "weights") -> np.ndarray:
        """Distance of every state from a target whose students lie in the span of the teachers.

        Parameters
        ----------
        target : Overlaps
            The state to measure from, for instance what `theory.nearest_solution` returns.
        of : str
            "weights": |W - W'|/sqrt(dim), with the same teacher weights; "cross_overlap": |R - R'| (both Frobenius
            norms).

        Returns
        -------
        ndarray
            (run, time) distances.

        Examples
        --------
        >>> solution = sv.theory.nearest_solution(problem, start).value
        >>> bool(run.distance(solution)[0, -1] < 0.1 * run.distance(solution)[0, 0])
        True
        """
        return observables.distance(self, target, of)

    def local_exponent(self) -> np.ndarray:
        """Local exponent d log(risk) / d log(time) of the learning curve.

        Returns
        -------
        ndarray
            (run, time) exponents.

        Examples
        --------
        >>> run.local_exponent().shape
        (1, 201)
        """
        return np.array([observables.local_exponent(self.time, risk) for risk in self.risk])

    def exponent(self, begin: float, end: float, *, confidence: float = 0.95) -> observables.Exponent:
        """The power of time with which the risk falls within a window.

        Parameters
        ----------
        begin, end : float
            The window, in the unit of `clock`.
        confidence : float
            Probability that the confidence interval is to have.

        Returns
        -------
        Exponent
            The exponent with a confidence interval, over runs or, for one run, from its scatter about the line; and how
            much it drifts within the window.

        Examples
        --------
        >>> bool(run.exponent(60, 100).value < 0)
        True
        """
        self._check_alike("exponent")
        return observables.exponent(self.time, self.risk, begin, end, confidence)

    def save(self, path: str | Path) -> None:
        """Write a NetCDF file with a checksum over everything in it.

        Parameters
        ----------
        path : str or Path
            The file, which ends in .nc; `Trajectory.load` reads it back.

        Examples
        --------
        >>> run.save("run.nc")
        """
        if Path(path).suffix != ".nc":
            raise ValueError(f"save: {path} given, must end in .nc (NetCDF); run.data has all as an xarray.Dataset")
        storage.write(self.data, path)

    @classmethod
    def load(cls, path: str | Path, problem: Problem | None = None) -> Self:
        """Read a file that `save` wrote.

        Parameters
        ----------
        path : str or Path
            The file.
        problem : Problem, optional
            Needed where the problem has activations or targets of your own, which files do not hold: pass the same one
            again.

        Returns
        -------
        Trajectory
            What was saved.

        Raises
        ------
        ValueError
            If the file holds no trajectory, or was changed since it was written. A file without a checksum loads with a
            warning.

        Examples
        --------
        >>> bool((sv.Trajectory.load("run.nc").risk == run.risk).all())
        True
        """
        return cls(**loading.read(path, problem))

    @staticmethod
    def from_weights(
        problem: Problem,
        weights: Any,
        teacher_weights: Any,
        times: Any,
        *,
        readout: Any = None,
        clock: str = "steps",
        plain: bool = False,
        basis: Any = None,
        directions: Any = None,
    ) -> "Trajectory":
        """A trajectory from a log of weights of any training, to compare it with theory.

        Parameters
        ----------
        problem : Problem
            What the training is compared with.
        weights : array
            (time, p, dim), or (run, time, p, dim) for several runs; from NumPy, PyTorch or JAX. With a spectrum: in its
            eigenbasis.
        teacher_weights : array
            (p*, dim) weights of the teachers; (time, p*, dim) where they move.
        times : array
            (time,) in the unit of `clock`.
        readout : array, optional
            (time, p) second layer, if it was trained.
        clock : str
            Unit of `times`, as in `Clock`.
        plain : bool
            True for networks whose fields are w.x instead of w.x/sqrt(dim), as most code has them. Their learning rate
            is ours divided by dim.
        basis : array, optional
            (dim, dim) eigenvectors of the input covariance as columns, as in `measure`.
        directions : array, optional
            (directions, dim) directions of a mixture, as in `measure`.

        Returns
        -------
        Trajectory
            With the level "weights".

        Examples
        --------
        >>> weights = np.random.default_rng(0).normal(size=(5, 2, 1000))
        >>> logged = sv.Trajectory.from_weights(problem, weights, np.sqrt(1000) * np.eye(1, 1000), times=np.arange(5))
        >>> logged.cross_overlap.shape
        (1, 5, 2, 1)
        """
        return logs.from_weights(problem, weights, teacher_weights, times, readout, clock, plain, basis, directions)

    def plot(self, ax: "Axes | None" = None, **style: Any) -> "Axes":
        """Draw the risk of every run against time.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; left out, a new figure.
        **style
            Passed on to matplotlib's `plot`.

        Returns
        -------
        matplotlib Axes
            The axes that were drawn into.

        Examples
        --------
        >>> ax = run.plot(color="C1")
        """
        from solvable import plot

        return plot.risk(self.data, ax=ax, **style)

    def __repr__(self) -> str:
        return f"<Trajectory {self.level}, {len(self.risk)} run(s) x {len(self.alpha)} times: {self.message}>"

    def _repr_html_(self) -> str:
        return summary.html(self)
