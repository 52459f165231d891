"""What every level returns: learning curves of one or many runs, labelled, with how each ended."""

from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from solvable.numerics.statistics import standard_error
from solvable.overlaps import Overlaps, nearest_frame, repaired
from solvable.problems import Problem
from solvable.results import forgetting, loading, logs, observables, storage, summary
from solvable.results.blocks import Blocks
from solvable.results.clock import Clock
from solvable.results.ending import Ending
from solvable.results.plan import Threshold

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


AVERAGED = (
    "risk", "student_overlap", "cross_overlap", "readout", "training_loss", "population_loss", "direction_overlap", "task_risk",
)  # fmt: skip


class Mean(NamedTuple):
    """Mean and standard error over `runs` runs; `left_out` more diverged or were interrupted and do not enter."""

    mean: np.ndarray
    standard_error: np.ndarray
    runs: int
    left_out: int


class MeanTime(NamedTuple):
    """Mean over the `runs` runs that passed the threshold, with a confidence interval. NaN where `never` is not zero: so many came
    to the end before, and those that passed are no fair sample. `left_out` more diverged or were interrupted."""

    mean: float
    low: float
    high: float
    runs: int
    never: int
    left_out: int


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Arrays have a leading run axis, then time: risk (run, time), student_overlap (run, time, p, p),
    cross_overlap (run, time, p, p*), readout (run, time, p); block_teacher_overlap (run, block, p*, p*) does not move.
    `risk_error` (run, time) is the error of the risk from averages over nodes, zero where all are exact; `overlap_error` (run,
    time) that of the overlaps and readouts, the largest over all their entries; infinite where it is not known. `start_risk`
    (run,) is the risk at time zero, also where the outputs begin later; `start_hash` (run,) tells which start it was.

    Runs on a finite data set have `training_loss` (run, time), and the students and the teachers as quadratic forms on the inputs:
    `matrix` (run, time, dim, dim) and `teacher_matrix` (run, dim, dim); elsewhere these are None.

    With several heads the readout is (run, time, head, p). Directions of a mixture and anchors are extra rows: `extra_overlap`
    (run, time, extra, p + p* + extra) has their overlaps with all rows, students first, then teachers, then extras;
    `direction_overlap` (run, time, p, directions) those of students with directions. Where teachers move,
    `moving_teacher_overlap` (run, time, p*, p*) is how they overlap. With tasks `task_risk` (run, time, task) is the risk of each.

    `alpha` counts steps/dim; `time` is the same in the unit of `clock`. Where a run did not come to a time its values
    are NaN. `labels` tell the runs of a batch apart. `data` is the labelled dataset.
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
    matrix: np.ndarray | None = None
    teacher_matrix: np.ndarray | None = None
    extra_overlap: np.ndarray | None = None
    moving_teacher_overlap: np.ndarray | None = None
    task_risk: np.ndarray | None = None
    stop: Threshold | None = None
    unit: str = "alpha"
    labels: dict[str, np.ndarray] = field(default_factory=dict)

    @cached_property
    def clock(self) -> Clock:
        return Clock(self.problem, self.unit)

    @property
    def time(self) -> np.ndarray:
        return self.clock.from_alpha(self.alpha)

    @property
    def end_time(self) -> np.ndarray:
        """(run,) when each run ended: at the end, at its threshold, or where it broke off."""
        return self.clock.from_alpha(self.end_alpha)

    @property
    def teacher_overlap(self) -> np.ndarray:
        """(run, p*, p*), at the start where teachers move."""
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
        """(run, time) the risk as saraomannelli2020 counts it, E = half the mean squared error: what the training loss becomes
        with infinitely many samples, up to half the label noise."""
        return self.risk / (2 * self.problem.training.loss_factor)

    @property
    def eigenvalues(self) -> np.ndarray:
        """(run, time, dim) of `matrix`, rising."""
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
        """(run,) the risk in the last state, also where no output was then; NaN for runs that diverged."""
        return observables.end_risk(self)

    @property
    def ending(self) -> list[Ending]:
        return [Ending(code) for code in self.endings]

    @property
    def success(self) -> bool:
        return all(ending.success for ending in self.ending)

    @property
    def message(self) -> str:
        return summary.message(self)

    @cached_property
    def data(self) -> "xarray.Dataset":
        return storage.to_dataset(self)

    def to_xarray(self) -> "xarray.Dataset":
        return self.data

    def at(self, time: float, run: int | None = None) -> Overlaps:
        """The state at an output time, to restart from or to change the task; of several runs say which, or see `states`."""
        run = self._run_number("at", run, "; `states(time)` gives those of all")
        i = int(np.argmin(np.abs(self.time - time)))
        if not abs(self.time[i] - time) <= 1e-9 * max(1.0, abs(time)):
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

    def last(self, run: int | None = None) -> Overlaps:
        """The state in which the run ended; of several runs say which, or see `states`."""
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
        """Of every run the state at an output time, or without one that in which it ended: starts for `run_batch`."""
        return [self.last(run) if time is None else self.at(time, run) for run in range(len(self.risk))]

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
        """The runs of a batch with the given labels, e.g. select(learning_rate=0.1); also run=[0, 3] by number."""
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

    def mean(self, name: str = "risk") -> Mean:
        """Average of an array over the runs that did not diverge (nor were interrupted, if some were not), at the times that
        all of them reached (else NaN: the runs still going when others have stopped are no fair sample). Runs at several
        rates are not averaged."""
        if name not in (*AVERAGED, *forgetting.NAMES) or getattr(self, name) is None:
            have = [one for one in AVERAGED if getattr(self, one) is not None]
            have += forgetting.NAMES if self.problem.tasks else ()
            raise ValueError(f"mean: {name!r} given, must be one of {', '.join(have)}")
        self._check_alike("mean")
        kept = self.endings != Ending.DIVERGED
        if (
            self.endings[kept] != Ending.INTERRUPTED
        ).any():  # some came to the end: the others end at random, not by what they did
            kept &= self.endings != Ending.INTERRUPTED
        values = getattr(self, name)[kept]
        reached = np.isfinite(self.risk[kept]).all(axis=0) & kept.any()
        count = int(kept.sum())
        mean, error = np.full(values.shape[1:], np.nan), np.full(values.shape[1:], np.nan)
        if reached.any():
            mean[reached] = values[:, reached].mean(axis=0)
            if count > 1:
                error[reached] = standard_error(values[:, reached], axis=0)
        return Mean(mean, error, count, len(kept) - count)

    def _check_alike(self, who: str) -> None:
        for label, values in self.labels.items():
            if label != "start" and len(np.unique(values)) > 1:
                raise ValueError(f"{who}: the runs differ in {label}; choose by select({label}=...) first")

    def exit_time(self, below: float | None = None, *, relative: bool = True) -> np.ndarray:
        """(run,) first time the risk falls to `below` (relative: times its first value), NaN where it does not. Exact for
        runs that stopped at this very threshold; else read between outputs by a straight line in log risk. Without `below`:
        the threshold of `stop`, whatever it watches, or half the first risk if there was none."""
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
    ) -> MeanTime:
        """Mean of `exit_time` over the runs, with its confidence interval by Student's distribution (NaN for fewer than two)."""
        from scipy.stats import t

        if not 0 < confidence < 1:
            raise ValueError(f"confidence: {confidence} given, must be between 0 and 1")
        self._check_alike("mean_exit_time")
        times, ended = self.exit_time(below, relative=relative), self.endings
        passed = np.isfinite(times)
        broken = ~passed & np.isin(
            ended, (Ending.DIVERGED, Ending.INTERRUPTED, Ending.STEP_LIMIT, Ending.STALLED, Ending.LEAP)
        )
        n, never = int(passed.sum()), int((~passed & ~broken).sum())
        fair = n > 0 and never == 0
        mean = float(times[passed].mean()) if fair else np.nan
        half = float(t.ppf(0.5 + 0.5 * confidence, n - 1) * standard_error(times[passed])) if n > 1 else np.nan
        return MeanTime(mean, mean - half, mean + half, n, never, int(broken.sum()))

    def plateaus(self, run: int | None = None, *, flatness: float = 0.2) -> list[observables.Plateau]:
        """Where the risk waits, as `observables.plateaus` has it; what is below the accuracy of the equations does not count."""
        run = self._run_number("plateaus", run)
        floor = max(1e-9, float(self.settings["rtol"])) if self.level == "macro" else 1e-9
        return observables.plateaus(self.time, self.risk[run], flatness=flatness, floor=floor)

    def phases(self, run: int | None = None, *, flatness: float = 0.2) -> list[observables.Phase]:
        """Spans of time: plateau, escape until the risk is half the plateau's height, descent; and what leads to a plateau, which
        is norm learning where the students' norms change outside the teachers' span more than within it, else the approach. Empty
        where no plateau has been left."""
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
        """(run, time, p, p*) S = R (R^T R)^(-1/2): which combination of students learns which teacher. NaN where R has not full
        rank. Quadratic students keep it in the deterministic limit if they begin orthogonal and of equal norm and the teachers are
        orthonormal (bocchi2026, section 7.4)."""
        return nearest_frame(self.cross_overlap)

    def frame_drift(self, since: Overlaps | None = None) -> np.ndarray:
        """(run, time) |S(t) - S(0)| (Frobenius), from the first output or from the state `since`. Unrelated frames are about
        sqrt(2 p*) apart."""
        if since is not None:
            observables.check_state("frame_drift", self, since)
        frame = self.frame
        first = frame[:, :1] if since is None else nearest_frame(since.cross_overlap)
        drift: np.ndarray = np.linalg.norm(frame - first, axis=(2, 3))
        return drift

    def distance(self, target: Overlaps, of: str = "weights") -> np.ndarray:
        """(run, time) how far from a state whose students lie in the span of the teachers, as `theory.nearest_solution` gives it.

        of="weights": |W - W'|/sqrt(dim), with the same teacher weights; of="cross_overlap": |R - R'| (both Frobenius).
        """
        return observables.distance(self, target, of)

    def local_exponent(self) -> np.ndarray:
        """(run, time) d log(risk) / d log(time)."""
        return np.array([observables.local_exponent(self.time, risk) for risk in self.risk])

    def exponent(self, begin: float, end: float, *, confidence: float = 0.95) -> observables.Exponent:
        """The power of time with which the risk falls between the times `begin` and `end`, with a confidence interval over runs
        (or, for one run, from its scatter about the line) and its drift within the window."""
        self._check_alike("exponent")
        return observables.exponent(self.time, self.risk, begin, end, confidence)

    def save(self, path: str | Path) -> None:
        """Write a NetCDF file, with a checksum over all that it holds; `Trajectory.load` reads it back."""
        storage.write(self.data, path)

    @classmethod
    def load(cls, path: str | Path, problem: Problem | None = None) -> Self:
        """Read a file. Problems with activations or targets of your own are not in files: pass the same one again. ValueError for
        a file that holds no trajectory or was changed since it was written, as its checksum tells; files from before there was one
        load with a warning."""
        return cls(**loading.read(path, problem))

    @classmethod
    def from_weights(
        cls,
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
    ) -> Self:
        """Lay a log of weights from any training beside the theory: `weights` (time, p, dim), or (run, time, p, dim) for
        several, from NumPy, PyTorch or JAX; `times` in the unit of `clock`; `readout` (time, p) if it was trained.

        `plain=True` for networks whose fields are w.x instead of w.x/sqrt(dim), as most code has them: their
        learning rate is ours divided by dim. With a spectrum the weights are those in the eigenbasis; see `measure`, also for the
        `directions` of a mixture. Teachers that move have a log too, (time, p*, dim).
        """
        fields = logs.from_weights(problem, weights, teacher_weights, times, readout, clock, plain, basis, directions)
        return cls(**fields)

    def plot(self, ax: "Axes | None" = None, **style: Any) -> "Axes":
        """The risk of every run against time."""
        from solvable import plot

        return plot.risk(self.data, ax=ax, **style)

    def __repr__(self) -> str:
        return f"<Trajectory {self.level}, {len(self.risk)} run(s) x {len(self.alpha)} times: {self.message}>"

    def _repr_html_(self) -> str:
        return summary.html(self)
