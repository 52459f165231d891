"""Measures: what is computed at every point of a sweep.

A measure is a plain description: it travels to other processes, and its content together with the problem's names the
result.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Protocol, Self

import numpy as np

from solvable.dynamics import VERSION
from solvable.levels import Level, run_batch
from solvable.levels.running import clock_of, output_times
from solvable.overlaps import Overlaps
from solvable.problems import InvalidProblem, Problem
from solvable.problems.model import Model
from solvable.problems.nearest import instead
from solvable.results import Ending, Trajectory
from solvable.results.forgetting import check_outputs
from solvable.results.quantities import CURVE, ERROR, OBSERVABLES
from solvable.runfiles import RunTable, StartTable, read_level
from solvable.sweeps.records import Labelled


class Measure(Protocol):
    """What a sweep asks of a measure; `parts` are the first words of names that it lets vary ("start" of "start.seed")."""

    @property
    def parts(self) -> tuple[str, ...]: ...

    def look(self, name: str) -> Any:
        """The value of a name, for derived values and conditions."""

    def vary(self, changes: Mapping[str, Any]) -> Self: ...

    def settle(self, problem: Problem) -> Self:
        """The same measure with everything drawn that functions of one's own draw, so that no such function is left in it."""

    def content(self, problem: Problem) -> dict[str, Any]:
        """Plain content that fixes the result for a problem."""

    def compute(self, problem: Problem) -> dict[str, Labelled]: ...


@dataclass(frozen=True)
class Drawn:
    """Starts drawn by a function of one's own, `function(problem, seed)`."""

    function: Callable[[Problem, int], Overlaps]
    seed: int = 0


@dataclass(frozen=True)
class Run:
    """What a sweep computes at a point: a run on a level.

    Kept are, of every run, the first and the last risk, the time to half the first risk (or to the threshold of
    `stop`), the end and how it ended; and at the outputs what `keep` names.

    Parameters
    ----------
    level : Level
        `Macro()`, `Micro(...)`, ...
    start : Overlaps, tuple of Overlaps, StartTable or Drawn
        One or several starts; or the table [start] of a file, with the arguments of `start`; or a function that draws
        starts.
    run : RunTable
        The table [run] of a file: until, times, clock, stop.
    keep : tuple of str
        Arrays of the trajectory that are kept.
    starts : int
        This many starts, of seeds in a row, run at one point as a batch: much faster for SGD, which is compiled for
        eight runs at once.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> from solvable.runfiles import RunTable
    >>> measure = sv.sweeps.Run(sv.Macro(), sv.start(problem, seed=0), RunTable(until=5.0))
    >>> sorted(measure.compute(problem))
    ['end_risk', 'end_time', 'ending', 'exit_time', 'nfev', 'risk', 'start_risk', 'time']
    """

    level: Level
    start: StartTable | Drawn | Overlaps | tuple[Overlaps, ...]
    run: RunTable
    keep: tuple[str, ...] = ("risk",)
    starts: int = 1

    parts = ("level", "start", "run")

    def __post_init__(self) -> None:
        allowed = [name for name, row in OBSERVABLES.items() if row.kind in (CURVE, ERROR)]
        for name in self.keep:
            if name not in allowed:
                raise ValueError(f"keep: {name!r} given, must be among {', '.join(allowed)}")
        if self.run.stop is not None:
            self.run.stop.threshold()
        if self.run.keep_blocks:
            raise ValueError("run.keep_blocks: given, but a sweep keeps what `keep` names; leave it out")
        if self.level.settings().get("data") == "iterator":
            raise ValueError("level.data: an iterator given, but points need the same rows; give an array or a file")
        if self.run.until is None and self.run.times is None:
            raise ValueError("run.until: is missing; a sweep needs `until` or `times`")
        if not isinstance(self.starts, int) or isinstance(self.starts, bool) or self.starts < 1:
            raise ValueError(f"starts: {self.starts!r} given, must be a whole number, at least 1")
        prescribed = isinstance(self.start, Overlaps) or getattr(self.start, "student_overlap", None) is not None
        if self.starts > 1 and prescribed:
            raise ValueError(
                f"starts: {self.starts} given, but the start is prescribed, so all would be one; must be 1"
            )
        if isinstance(self.start, StartTable) and self.start.seed is None and self.start.student_overlap is None:
            raise ValueError("start.seed: is missing; give one in [start], or vary start.seed")

    def look(self, name: str) -> Any:
        """The value of a dotted name, such as "start.seed", for derived names and conditions."""
        part, _, rest = name.partition(".")
        return field_of(name, getattr(self, part), rest)

    def vary(self, changes: Mapping[str, Any]) -> Self:
        """The same measure with some dotted names changed."""
        parts = {part: getattr(self, part) for part in self.parts}
        if "level" in changes:
            given = changes["level"]
            parts["level"] = given if hasattr(given, "solve") else read_level(given)
        for part, value in parts.items():
            inner = {name[len(part) + 1 :]: new for name, new in changes.items() if name.startswith(f"{part}.")}
            if inner:
                parts[part] = changed(part, value, inner)
        return replace(self, **parts)

    def settle(self, problem: Problem) -> Self:
        """The same measure with starts drawn, where a function of your own draws them. Raises where outputs do not tell what is
        kept."""
        if "forgetting" in self.keep and self.run.times is not None and problem.tasks:
            clock = clock_of(self.level, problem, self.run.clock)
            check_outputs(problem, output_times(clock, self.run.until, self.run.times))
        if not isinstance(self.start, Drawn):
            return self
        drawn = tuple(self.start.function(problem, self.start.seed + i) for i in range(self.starts))
        return replace(self, start=drawn)

    def _starts(self, problem: Problem) -> Sequence[Overlaps]:
        if isinstance(self.start, Overlaps):
            return [self.start]
        if isinstance(self.start, tuple):
            return self.start
        assert isinstance(self.start, StartTable)
        seeds = [None] if self.start.seed is None else [self.start.seed + i for i in range(self.starts)]
        return [self.start.draw(problem, seed) for seed in seeds]

    def content(self, problem: Problem) -> dict[str, Any]:
        """Plain content that, with the problem's, fixes the result and names it."""
        if isinstance(self.start, StartTable):
            begin: Any = self.start.model_dump(mode="json", exclude_defaults=True) | {"starts": self.starts}
        else:
            begin = {"overlaps": [one.hash for one in self._starts(problem)]}
        return {
            "kind": "run",
            "equations": VERSION,
            "problem": problem.hash,
            "start": begin,
            "level": self.level.name,
            "settings": self.level.settings(),
            "run": self.run.model_dump(mode="json", exclude_defaults=True)
            | {"clock": clock_of(self.level, problem, self.run.clock).unit},
            "keep": sorted(self.keep),
        }

    def compute(self, problem: Problem) -> dict[str, Labelled]:
        """The result for one problem, as named arrays."""
        stop = None if self.run.stop is None else self.run.stop.threshold()
        found = run_batch(
            problem, self._starts(problem), self.level, self.run.until,
            times=self.run.times, clock=self.run.clock, stop=stop, progress=False,
            keep_blocks=any(OBSERVABLES[name].from_states for name in self.keep) and problem.inputs.blocks > 1,
        )  # fmt: skip
        if Ending.INTERRUPTED in found.ending:
            raise KeyboardInterrupt
        return _arrays(found, self.keep)


def _arrays(found: Trajectory, keep: tuple[str, ...]) -> dict[str, Labelled]:
    scalars = {
        "start_risk": found.start_risk,
        "end_risk": found.end_risk,
        "exit_time": found.exit_time(),
        "end_time": found.end_time,
        "ending": np.array([ending.name.lower() for ending in found.ending]),
        "nfev": found.nfev,
    }
    if found.base == "steps":
        scalars |= _memory(found)
    arrays = {name: Labelled(("run",), values) for name, values in scalars.items()}
    for name in keep:
        values = getattr(found, name)
        if values is None:
            raise ValueError(f"keep: {name!r} given, but {found.level} has none")
        arrays[name] = Labelled(OBSERVABLES[name].dimensions(found.problem.heads), values)
    if keep:
        arrays["time"] = Labelled(("time",), found.time)
    return arrays


def _memory(found: Trajectory) -> dict[str, np.ndarray]:
    """(run,) of runs on a data set: the losses at the last output, where the risk was least, and when the data were memorised."""
    assert found.training_loss is not None
    best = found.early_stopping()
    told = {"end_training_loss": found.training_loss[:, -1]} | (
        {} if found.gap is None else {"end_gap": found.gap[:, -1]}
    )
    if found.training_loss_error is not None:
        told |= {"end_risk_error": found.risk_error[:, -1], "end_training_loss_error": found.training_loss_error[:, -1]}
    return told | {"best_risk": best.risk, "best_time": best.time, "interpolation_time": found.interpolation_time()}


@dataclass(frozen=True)
class FewestSamples:
    """What a sweep computes at a point: how many samples determine the teacher, by `empirical.recovery`.

    Parameters
    ----------
    instances : int
        How many data sets.
    seed : int
        Of the data sets.
    by : str
        "certificate" or "flow", as in `empirical.recovery`.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=3, n=None)
    >>> sorted(sv.sweeps.FewestSamples(instances=2).compute(problem))
    ['fewest', 'mean', 'standard_error']
    """

    instances: int = 100
    seed: int = 0
    by: str = "certificate"

    parts = ("recovery",)

    def __post_init__(self) -> None:
        for name, least in [("instances", 1), ("seed", 0)]:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ValueError(f"recovery.{name}: {value!r} given, must be a whole number, at least {least}")
        if self.by not in ("certificate", "flow"):
            raise ValueError(f"recovery.by: {self.by!r} given, must be 'certificate' or 'flow'")

    def look(self, name: str) -> Any:
        """The value of a dotted name, such as "recovery.instances"."""
        return field_of(name, self, name.partition(".")[2])

    def vary(self, changes: Mapping[str, Any]) -> Self:
        """The same measure with some dotted names changed."""
        inner = {name.partition(".")[2]: value for name, value in changes.items()}
        varied: Self = changed("recovery", self, inner) if inner else self
        return varied

    def settle(self, problem: Problem) -> Self:  # noqa: ARG002
        """The measure itself: nothing in it is drawn by a function."""
        return self

    def content(self, problem: Problem) -> dict[str, Any]:
        """Plain content that, with the problem's, fixes the result and names it."""
        return {"kind": "recovery", "equations": VERSION, "problem": problem.hash, **asdict(self)}

    def compute(self, problem: Problem) -> dict[str, Labelled]:
        """The result for one problem, as named arrays."""
        from solvable.empirical import recovery

        found = recovery(problem, self.instances, self.seed, by=self.by)
        return {
            "fewest": Labelled(("instance",), found.fewest),
            "mean": Labelled((), np.array(found.mean)),
            "standard_error": Labelled((), np.array(found.standard_error)),
        }


def field_of(name: str, part: Any, rest: str) -> Any:
    """The value of a dotted name inside a description."""
    for word in rest.split("."):
        if isinstance(part, tuple) and word.isdecimal() and int(word) < len(part):
            part = part[int(word)]
            continue
        known = type(part).model_fields if isinstance(part, Model) else _fields(part)
        if word not in known:
            have = instead(word, known) if known else ""
            raise ValueError(f"{name}: is not a field{have}")
        part = getattr(part, word)
    return part


def changed(part: str, value: Any, changes: dict[str, Any]) -> Any:
    """A description with some fields changed; mistakes are named with the part they are in."""
    if isinstance(value, Model):
        try:
            return value.replace(**{name.replace(".", "__"): new for name, new in changes.items()})
        except InvalidProblem as error:
            raise InvalidProblem([f"{part}.{line}" for line in error.problems]) from None
    known = _fields(value)
    for name in changes:
        if name not in known:
            have = f" of {type(value).__name__}, which is given whole"
            if known:
                have = instead(name, known)
            raise ValueError(f"{part}.{name}: is not a field{have}")
    try:
        return replace(value, **changes)
    except ValueError as error:
        text = str(error)
        raise ValueError(text if text.startswith(f"{part}.") else f"{part}.{text}") from None


def _fields(value: Any) -> list[str]:
    if isinstance(value, Overlaps) or not hasattr(value, "__dataclass_fields__"):
        return []
    return [field.name for field in fields(value)]
