"""Numbers of a problem that may be chosen freely in time: how each is named, and where compiled code has it.

A control is a `Schedule` of as many values as it has segments. Compiled code knows every scheduled number by its value at the begin
of each segment and its slope there (`dynamics/kernel_data.py`), on a table that is at least as fine; derivatives by those become
derivatives by the values of the schedule by the chain rule.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from solvable.dynamics.kernel_data import Packed
from solvable.dynamics.reverse import CONTROLS, EIGENVALUES
from solvable.overlaps import Overlaps
from solvable.problems import Problem, Schedule

COLUMNS = {
    "training.learning_rate": "rate",
    "training.readout_rate": "readout_rate",
    "training.weight_decay": "decay",
    "training.batch": "batch",
    "training.label_noise": "label_noise",
}
SPECTRUM = "inputs.spectrum.eigenvalues"
FREELY = 5.0  # times the problem's own value: what a control may rise to, if nothing is said
LEAST = {"training.batch": 1.0}


@dataclass(frozen=True)
class Control:
    """A number that is chosen freely in time, between bounds.

    Parameters
    ----------
    segments : int
        How many values it has, for equal lengths of time.
    edges : tuple of float, optional
        Times at which segments begin (the first is 0), where they are not to be equal.
    shape : str
        "steps" (constant in each segment) or "linear" (values at the begins, joined by lines).
    lower : float, optional
        Least value; left out, 0, and 1 for a batch.
    upper : float, optional
        Largest value; left out, five times the problem's own.

    Examples
    --------
    >>> sv.control.Control(segments=4).begins(until=8.0)
    array([0., 2., 4., 6.])
    """

    segments: int = 50
    edges: tuple[float, ...] | None = None
    shape: Literal["steps", "linear"] = "steps"
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if isinstance(self.segments, bool) or not isinstance(self.segments, int | np.integer) or self.segments < 1:
            raise ValueError(f"segments: {self.segments!r} given, must be a whole number of at least 1")
        if self.shape not in ("steps", "linear"):
            raise ValueError(f"shape: {self.shape!r} given, must be 'steps' or 'linear'")
        if self.edges is not None:
            edges = np.asarray(self.edges, dtype=float)
            if edges.ndim != 1 or edges.size == 0 or edges[0] != 0 or (np.diff(edges) <= 0).any():
                raise ValueError(f"edges: must start at 0 and increase, got {self.edges}")
        if self.lower is not None and self.upper is not None and not self.lower < self.upper:
            raise ValueError(f"lower: {self.lower:g} given, must be below upper, which is {self.upper:g}")

    def begins(self, until: float) -> np.ndarray:
        """(segments,) times at which they begin, or at which lines meet."""
        if self.edges is not None:
            edges = np.asarray(self.edges, dtype=float)
            if edges[-1] >= until:
                raise ValueError(f"edges: the last, {edges[-1]:g}, is not before until={until:g}")
            return edges
        count = self.segments
        return (
            np.linspace(0.0, until, count, endpoint=False)
            if self.shape == "steps"
            else np.linspace(0.0, until, max(count, 2))
        )


@dataclass(frozen=True)
class Knob:
    """A control of one problem: its name, its times and bounds, and its columns in compiled code."""

    name: str
    columns: tuple[int, ...]  # numbers of `controls` in `dynamics/reverse.py`
    begins: np.ndarray
    lengths: np.ndarray  # of time that each value counts for
    shape: Literal["steps", "linear"]
    lower: float
    upper: float

    def schedule(self, values: np.ndarray) -> Schedule:
        return Schedule(times=tuple(map(float, self.begins)), rates=tuple(map(float, values)), shape=self.shape)

    def place(self, values: np.ndarray, packed: Packed) -> None:
        """Write values into the records."""
        segments = self.schedule_rows(values)
        begins = packed.problems["begin"]
        begin, value, slope = segments[np.searchsorted(self.begins, begins, side="right") - 1].T
        for column in self.columns:
            table, name, more = _column(packed, column)
            table[name], table[more] = value + slope * (begins - begin), slope
        packed.problems["sloped"] |= slope != 0

    def schedule_rows(self, values: np.ndarray) -> np.ndarray:
        """(segments, 3): begin, value and slope."""
        slopes = np.zeros(len(values))
        if self.shape == "linear":
            slopes[:-1] = np.diff(values) / np.diff(self.begins)
        return np.column_stack([self.begins, values, slopes])

    def gather(self, found: np.ndarray, begins: np.ndarray) -> np.ndarray:
        """Derivatives by the values from those by values and slopes of all segments of the records, (segments, 2, columns)."""
        at = np.searchsorted(self.begins, begins, side="right") - 1
        by_value, by_slope = found[:, :, self.columns].sum(axis=2).T
        values = np.bincount(at, by_value, self.begins.size)
        if self.shape == "steps":
            return values
        slopes = np.bincount(at, by_slope + by_value * (begins - self.begins[at]), self.begins.size)
        step = np.diff(self.begins)
        values[:-1] -= slopes[:-1] / step
        values[1:] += slopes[:-1] / step
        return values


def _column(packed: Packed, column: int) -> tuple[np.ndarray, str, str]:
    if column < EIGENVALUES:
        name = CONTROLS[column]
        return packed.problems, name, name + "_slope"
    return packed.blocks[:, column - EIGENVALUES], "eigenvalue", "slope"


def knobs(problem: Problem, until: float, control: Mapping[str, int | Control]) -> tuple[Knob, ...]:
    """The controls of a problem, checked."""
    if not isinstance(control, Mapping) or not control:
        raise ValueError("control: must name at least one number of the problem, as {'training.learning_rate': 50}")
    return tuple(_knob(problem, until, name, given) for name, given in control.items())


def _knob(problem: Problem, until: float, name: str, given: int | Control) -> Knob:
    if not isinstance(given, Control):
        if isinstance(given, bool) or not isinstance(given, int | np.integer):
            raise ValueError(f"control: {name}: {given!r} given, must be a number of segments or a Control")
        given = Control(segments=int(given))
    columns, own = _columns(problem, name), own_value(problem, name)
    begins = given.begins(until)
    ends = np.append(begins, until) if given.shape == "steps" else begins
    lengths = np.diff(ends)
    if given.shape == "linear":
        lengths = 0.5 * (np.append(lengths, 0.0) + np.insert(lengths, 0, 0.0))
    lower = LEAST.get(name, 0.0) if given.lower is None else float(given.lower)
    upper = FREELY * own if given.upper is None else float(given.upper)
    if not np.isfinite(upper) or not lower < upper:
        raise ValueError(
            f"control: {name}: upper is {upper:g} and lower {lower:g}; give both, because the problem's own value is {own:g}"
        )
    if lower < LEAST.get(name, 0.0):
        raise ValueError(f"control: {name}: lower is {lower:g}, must be at least {LEAST.get(name, 0.0):g}")
    return Knob(name, columns, begins, lengths, given.shape, lower, upper)


def own_value(problem: Problem, name: str) -> float:
    """The number as the problem has it, the largest if it is scheduled."""
    if name in COLUMNS:
        number = getattr(problem.training, name.partition(".")[2])
        number = problem.training.learning_rate if number is None else number
    else:
        number = problem.inputs.spectrum.eigenvalues[_block(problem, name)]  # type: ignore[union-attr]
    return float(max(number.rates) if isinstance(number, Schedule) else number)


def _columns(problem: Problem, name: str) -> tuple[int, ...]:
    training = problem.training
    if name in COLUMNS:
        if name == "training.readout_rate" and not training.train_readout:
            raise ValueError(f"control: {name}: nothing would use it, because training.train_readout is false")
        shared = name == "training.learning_rate" and training.train_readout and training.readout_rate is None
        columns = [COLUMNS[name], *(["readout_rate"] if shared else [])]
        return tuple(CONTROLS.index(column) for column in columns)
    if name.startswith(SPECTRUM):
        return (EIGENVALUES + _block(problem, name),)
    known = ", ".join([*COLUMNS, f"{SPECTRUM}.0"])
    raise ValueError(f"control: {name}: cannot be chosen in time, must be one of {known}")


def _block(problem: Problem, name: str) -> int:
    number = name[len(SPECTRUM) + 1 :]
    count = 0 if problem.inputs.spectrum is None else len(getattr(problem.inputs.spectrum, "eigenvalues", ()))
    if not number.isdecimal() or int(number) >= count:
        raise ValueError(
            f"control: {name}: must be {SPECTRUM}.NUMBER with a number below {count}, the eigenvalues of the problem's Spectrum"
        )
    return int(number)


def with_schedules(problem: Problem, schedules: Mapping[str, Schedule]) -> Problem:
    """The problem with these numbers."""
    changes: dict[str, Any] = {
        name.replace(".", "__"): schedule for name, schedule in schedules.items() if name in COLUMNS
    }
    blocks = {_block(problem, name): schedule for name, schedule in schedules.items() if name not in COLUMNS}
    if blocks:
        own = problem.inputs.spectrum.eigenvalues  # type: ignore[union-attr]
        changes[SPECTRUM.replace(".", "__")] = tuple(blocks.get(b, one) for b, one in enumerate(own))
    return problem.replace(**changes)


def teachers_anew(packed: Packed, start: Overlaps) -> None:
    """The covariance of the teachers' fields, after eigenvalues have changed (`kernel_data.pack` has it first)."""
    T, blocks = start.block_teacher_overlap, packed.blocks
    q = T.shape[1]
    for segment, at in enumerate(packed.problems["teacher_fields"]):
        for i, name in enumerate(("eigenvalue", "slope")):
            packed.numbers[at + i * q * q : at + (i + 1) * q * q] = np.tensordot(
                blocks[name][segment], T, axes=1
            ).ravel()
