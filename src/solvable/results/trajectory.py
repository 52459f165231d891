"""What every level returns: learning curves of one or many runs, labelled, with how each ended."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import observables, storage, summary
from solvable.results.clock import Clock
from solvable.results.ending import Ending

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes


class Mean(NamedTuple):
    """Mean and standard error over the `runs` that reached each time; `left_out` runs diverged and do not enter."""

    mean: np.ndarray
    standard_error: np.ndarray
    runs: np.ndarray
    left_out: int


class Blocks(NamedTuple):
    """Overlaps per block, (run, time, block, ...) along a trajectory or (run, block, ...) at its end."""

    student: np.ndarray
    cross: np.ndarray


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Arrays have a leading run axis, then time: risk (run, time), student_overlap (run, time, p, p),
    cross_overlap (run, time, p, p*), readout (run, time, p); block_teacher_overlap (run, block, p*, p*) does not move.

    `alpha` counts steps/dim; `time` is the same in the unit of `clock`. Where a run did not come to a time its values
    are NaN. `labels` tell the runs of a batch apart. `data` is the labelled dataset.
    """

    problem: Problem
    level: str
    settings: dict[str, Any]
    alpha: np.ndarray
    risk: np.ndarray
    student_overlap: np.ndarray
    cross_overlap: np.ndarray
    readout: np.ndarray
    block_teacher_overlap: np.ndarray
    end_blocks: Blocks
    end_readout: np.ndarray
    endings: np.ndarray
    end_alpha: np.ndarray
    nfev: np.ndarray
    blocks: Blocks | None = None
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
        return self.block_teacher_overlap.sum(axis=1)

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

    def at(self, time: float, run: int = 0) -> Overlaps:
        """The state at an output time, to restart from or to change the task."""
        i = int(np.argmin(np.abs(self.time - time)))
        if abs(self.time[i] - time) > 1e-9 * max(1.0, abs(time)):
            raise ValueError(f"at: {time} is not an output time, the nearest is {self.time[i]}; ask for it by `times`")
        blocks = self.blocks
        if blocks is None and self.block_teacher_overlap.shape[1] == 1:
            blocks = Blocks(self.student_overlap[:, :, None], self.cross_overlap[:, :, None])
        if blocks is None:
            raise ValueError("at: the overlaps of the single blocks were not kept; run with keep_blocks=True")
        if np.isnan(self.risk[run, i]):
            raise ValueError(f"at: run {run} ended before, at {self.end_time[run]:.6g} ({self.ending[run].text})")
        return Overlaps(
            blocks.student[run, i], blocks.cross[run, i], self.block_teacher_overlap[run], self.readout[run, i]
        )

    def last(self, run: int = 0) -> Overlaps:
        """The state in which a run ended."""
        return Overlaps(
            self.end_blocks.student[run],
            self.end_blocks.cross[run],
            self.block_teacher_overlap[run],
            self.end_readout[run],
        )

    def mean(self, name: str = "risk") -> Mean:
        """Average of an array over the runs that did not diverge. A time that no such run reached has NaN."""
        kept = self.endings != Ending.DIVERGED
        values = getattr(self, name)[kept]
        shape = (values.shape[0], values.shape[1], *([1] * (values.ndim - 2)))
        reached = np.isfinite(self.risk[kept]).reshape(shape)
        count = reached.sum(axis=0)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = np.where(reached, values, 0.0).sum(axis=0) / count
            spread = (np.where(reached, values - mean, 0.0) ** 2).sum(axis=0) / (count - 1) / count
        spread = np.where(count > 1, spread, np.nan)
        return Mean(mean, np.sqrt(spread), count.reshape(-1), int((~kept).sum()))

    def exit_time(self, below: float = 0.5, *, relative: bool = True) -> np.ndarray:
        """(run,) first time the risk falls to `below` (relative: times its first value), NaN where it does not;
        read between outputs by a straight line. Let the run stop there for an exact one."""
        levels = below * self.risk[:, 0] if relative else np.full(len(self.risk), below)
        pairs = zip(self.risk, levels, strict=True)
        return np.array([observables.crossing_time(self.time, risk, level) for risk, level in pairs])

    def plateaus(self, run: int = 0, *, flatness: float = 0.2) -> list[observables.Plateau]:
        return observables.plateaus(self.time, self.risk[run], flatness=flatness)

    def local_exponent(self) -> np.ndarray:
        """(run, time) d log(risk) / d log(time)."""
        return np.array([observables.local_exponent(self.time, risk) for risk in self.risk])

    def save(self, path: str | Path) -> None:
        """Write a NetCDF file; `Trajectory.load` reads it back."""
        storage.write(self.data, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        return cls(**storage.read(path))

    def plot(self, ax: "Axes | None" = None, **style: Any) -> "Axes":
        """The risk of every run against time."""
        from solvable import plot

        return plot.risk(self.data, ax=ax, **style)

    def __repr__(self) -> str:
        return f"<Trajectory {self.level}, {len(self.risk)} run(s) x {len(self.alpha)} times: {self.message}>"

    def _repr_html_(self) -> str:
        return summary.html(self)
