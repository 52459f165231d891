"""What every level returns: learning curves of one or many runs, labelled, with how each ended."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from solvable.overlaps import nearest_frame
from solvable.problems import Problem
from solvable.results import (
    averaged,
    classifying,
    distances,
    forgetting,
    logs,
    memory,
    naming,
    observables,
    other_risk,
    rates,
    readings,
    saving,
    selecting,
    snapshots,
    storage,
    summary,
    tables,
)
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.quantities import (
    CURVE,
    ERROR,
    OBSERVABLES,
    TWO_TIMES,
    always,
    observable,
    optional,
    row,
    tabulated,
)
from solvable.results.threshold import Threshold

if TYPE_CHECKING:
    import xarray


@tabulated
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
        they are corrected by it, in units of what the response to the present alone would give.
    correlation, response : ndarray or None
        (run, time, p, time, p) of `EmpiricalMacro(two_times=True)`: covariance of the fields of a fresh sample at two times, and
        response of the fields at the first time to a push at the second (zero unless that is earlier).
    matrix, teacher_matrix : ndarray or None
        (run, time, dim, dim) and (run, dim, dim): students and teachers as quadratic forms on the inputs, for finite
        data sets.
    weights, teacher_weights : ndarray or None
        (run, time, p, dim) and (run, p*, dim): all units in the coordinates of the data's rows, for finite data sets.
    extra_overlap : ndarray or None
        (run, time, extra, p + p* + extra) overlaps of further rows (`problem.extras`: directions, anchors, velocities,
        averages, snapshots) with all rows: students, teachers, extras.
    moving_teacher_overlap : ndarray or None
        (run, time, p*, p*) overlaps between teachers, where they move.
    task_risk : ndarray or None
        (run, time, task) risk of each task, where there are tasks.
    scalars, end_scalars : ndarray or None
        (run, time, scalar) and (run, scalar): numbers of the state beside the readout (`problem.scalars`), where there are any.
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
    alpha: np.ndarray = field(metadata=row("time"))
    risk: np.ndarray = field(metadata=row("run time", "risk", CURVE))
    risk_error: np.ndarray = field(metadata=row("run time", kind=ERROR))
    overlap_error: np.ndarray = field(metadata=row("run time", kind=ERROR))
    start_risk: np.ndarray = field(metadata=row("run"))
    student_overlap: np.ndarray = field(metadata=row("run time student student_", "student overlap", CURVE))
    cross_overlap: np.ndarray = field(metadata=row("run time student teacher", "student-teacher overlap", CURVE))
    readout: np.ndarray = field(metadata=row("run time head student", "readout", CURVE))
    block_teacher_overlap: np.ndarray = field(metadata=row("run block teacher teacher_"))
    end_blocks: Blocks
    end_readout: np.ndarray = field(metadata=row("run head student"))
    start_hash: np.ndarray = field(metadata=row("run", kinds="O"))
    endings: np.ndarray
    end_alpha: np.ndarray = field(metadata=row("run"))
    nfev: np.ndarray = field(metadata=row("run", kinds="iu"))
    blocks: Blocks | None = None
    training_loss: np.ndarray | None = optional("run time", "training loss", CURVE)
    training_loss_error: np.ndarray | None = optional("run time", "error of the training loss", ERROR)
    identity_residual: np.ndarray | None = optional("run time")
    correlation: np.ndarray | None = optional(TWO_TIMES, "correlation of the fields at two times")
    response: np.ndarray | None = optional(TWO_TIMES, "response of the fields to pushes")
    matrix: np.ndarray | None = optional("run time input input_", "students' quadratic form")
    teacher_matrix: np.ndarray | None = optional("run input input_", "teachers' quadratic form")
    weights: np.ndarray | None = optional("run time student input", "students' weights")
    teacher_weights: np.ndarray | None = optional("run teacher input", "teachers' weights")
    extra_overlap: np.ndarray | None = optional("run time extra row")
    moving_teacher_overlap: np.ndarray | None = optional("run time teacher teacher_", "teacher overlap")
    task_risk: np.ndarray | None = optional("run time task", "risk of a task", CURVE)
    measured_end_risk: np.ndarray | None = optional("run")
    scalars: np.ndarray | None = optional("run time scalar")
    end_scalars: np.ndarray | None = optional("run scalar")
    stop: Threshold | None = None
    unit: str = "alpha"
    base: str = "alpha"
    labels: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def clock(self) -> Clock:
        """The clock that converts between `alpha` and `time`."""
        return Clock(self.problem, self.unit, self.base)

    @observable("time")
    def time(self) -> np.ndarray:
        """(time,) output times in the unit of `clock`."""
        return self.clock.from_alpha(self.alpha)

    @observable("run", is_required=True)
    def end_time(self) -> np.ndarray:
        """(run,) when each run ended, in the unit of `clock`: at the end, at its threshold, or where it broke off."""
        return self.clock.from_alpha(self.end_alpha)

    @observable("run teacher teacher_", "teacher overlap", is_required=True)
    def teacher_overlap(self) -> np.ndarray:
        """(run, p*, p*) overlaps between teachers, summed over the blocks; at the start where they move."""
        return self.block_teacher_overlap.sum(axis=1)

    @observable("run time student direction", "student-direction overlap", CURVE, written=always)
    def direction_overlap(self) -> np.ndarray | None:
        """(run, time, p, directions) overlaps of students with the directions of a mixture; None without one."""
        return observables.overlap_with("direction", self)

    @observable("run time student student_")
    def anchor_overlap(self) -> np.ndarray | None:
        """(run, time, p, p) overlaps of students with those of the start that they are anchored to; None without anchors."""
        return observables.overlap_with("anchor", self)

    @observable("run time student student_", kind=CURVE)
    def velocity_overlap(self) -> np.ndarray | None:
        """(run, time, p, p) overlaps of students with the velocities of momentum; None without momentum."""
        return observables.overlap_with("velocity", self)

    @observable("run time student student_", kind=CURVE)
    def average_overlap(self) -> np.ndarray | None:
        """(run, time, p, p) overlaps of students with their averages; None where the training keeps none."""
        return observables.overlap_with("average", self)

    @observable("run time student student_", kind=CURVE)
    def snapshot_overlap(self) -> np.ndarray | None:
        """(run, time, p, p) overlaps of students with their copies of a time; None where the training keeps none."""
        return observables.overlap_with("snapshot", self)

    @observable("run time")
    def mse(self) -> np.ndarray:
        """(run, time) the mean squared error without noise on labels: the risk over `training.loss_factor`."""
        return self.risk / self.problem.training.loss_factor

    @observable("run time", "population loss", CURVE, written=lambda t: t.training_loss is not None)
    def population_loss(self) -> np.ndarray:
        """(run, time) half the mean squared error over all Gaussian inputs, saraomannelli2020's E, without noise on labels."""
        return self.risk / (2 * self.problem.training.loss_factor)

    @observable("run time student teacher")
    def frame(self) -> np.ndarray:
        """(run, time, p, p*) polar factor S = R (R^T R)^(-1/2) of the cross overlaps: which combination of students learns which
        teacher. NaN where R has not full rank. In the deterministic limit quadratic students keep S if they begin orthogonal and
        of equal norm and the teachers are orthonormal (bocchi2026, section 7.4).
        """
        return nearest_frame(self.cross_overlap)

    @property
    def oracle_error(self) -> float:
        """The least classification error, that of who knows the classes (`dynamics.oracle_error` tells for which)."""
        from solvable.dynamics.oracle import oracle_error

        return oracle_error(self.problem)

    @observable("run", is_required=True, kinds="O")
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

    # what takes more than a few lines is written in the modules beside this one, by subject

    bias = observables.bias
    average_risk = averaged.average_risk
    rate = rates.rate
    gap = memory.gap
    test_loss = memory.test_loss
    eigenvalues = observables.eigenvalues
    classification_error = classifying.classification_error
    loss = observables.loss
    head_start = forgetting.head_start
    forgetting = forgetting.forgetting
    end_risk = observables.end_risk
    at = snapshots.at
    last = snapshots.last
    states = snapshots.states
    select = selecting.select
    risk_on = other_risk.risk_on
    mean = readings.mean
    exit_time = readings.exit_time
    mean_exit_time = readings.mean_exit_time
    plateaus = readings.plateaus
    phases = readings.phases
    local_exponent = readings.local_exponent
    exponent = readings.exponent
    interpolation_time = memory.interpolation_time
    interpolates = memory.interpolates
    early_stopping = memory.early_stopping
    frame_drift = distances.frame_drift
    distance = distances.distance
    to_xarray = tables.to_xarray
    to_dataframe = tables.to_dataframe
    plot = tables.plot
    save = saving.save
    load = classmethod(saving.load)
    from_weights = staticmethod(logs.from_weights)

    if not TYPE_CHECKING:  # which is to tell of names that there are not

        def __getattr__(self, name: str) -> Any:
            added = None if hasattr(type(self), name) else OBSERVABLES.get(name)
            is_computed = added is not None and added.function is not None
            return added.value(self, name) if is_computed else naming.of_trajectory(self, name)

    def __len__(self) -> int:
        """How many runs there are."""
        return len(self.risk)

    def __getitem__(self, run: int | slice) -> "Trajectory":
        """One run by its number, as a trajectory of its own: batch[3].last() is batch.last(3)."""
        try:
            return self.select(run=np.arange(len(self))[run])
        except IndexError:
            raise IndexError(f"trajectory: run {run} given, must be from 0 to {len(self) - 1}") from None

    def __iter__(self) -> Iterator["Trajectory"]:
        """One run after the other."""
        return (self[run] for run in range(len(self)))

    def __repr__(self) -> str:
        return f"<Trajectory {self.level}, {len(self.risk)} run(s) x {len(self.alpha)} times: {self.message}>"

    _repr_html_ = summary.html
