"""Sweeps: a grid of points, computed where there is room, kept in a store, looked at as one labelled dataset."""

import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from solvable.gaussian.units import OwnFunction
from solvable.levels import Level
from solvable.levels.progress import meter
from solvable.levels.running import check_level
from solvable.numerics.threads import cores
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Threshold
from solvable.runfiles import RunTable, StartTable
from solvable.sweeps.drive import PULSE, Driver
from solvable.sweeps.engines import Task, choose, work
from solvable.sweeps.functions import Functions
from solvable.sweeps.grid import Grid, Rule
from solvable.sweeps.makers import STALE, Stale, StoredResults, Tell, damage_or_stale
from solvable.sweeps.measures import Drawn, Measure, Run
from solvable.sweeps.points import Points
from solvable.sweeps.records import KEY, Record, encode
from solvable.sweeps.store import Damage, Memory, Records, Status, Store, failure_key, status_of

if TYPE_CHECKING:
    import xarray

STORE = "solvable.store"
PROBES = 5  # points that are timed for an estimate
AHEAD = 10_000  # points that are made, and so checked, before anything runs


class Cost(NamedTuple):
    """From a few timed points: seconds in all on `workers` cores, bytes in the store, bytes of memory that this process takes."""

    points: int
    missing: int
    seconds: float
    workers: int
    disk: int
    memory: int


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was planned: its grid and all its points, which are made when they are looked at."""

    grid: Grid
    points: Points
    title: str

    @cached_property
    def manifest(self) -> Record:
        """It has the keys of all points, so all are made."""
        self.points.make()
        return self.grid.manifest(self.points.keys, self.points.first, self.title)

    def status(self, store: Records) -> Status:
        return status_of(store, self.points.all_keys())

    def tasks(
        self, results: StoredResults, shard: tuple[int, int] = (1, 1), *, retry: bool = False
    ) -> Iterator[Task | None]:
        """What is still to do, of this share of the points; None for a point that is done. Points that would fail again are done,
        unless `retry`."""
        functions = Functions(lasting=isinstance(results.store, Store))
        one, of = shard
        for number in islice(self.points.numbers(), one - 1, None, of):
            if results.is_there(number) or not (retry or not results.is_hopeless(number)):
                self.points.pass_over(number)
                yield None
                continue
            point = self.points.at(number)
            functions.check(point.problem)
            yield Task(point.key, point.problem, point.measure)

    def estimate(
        self, store: Records | None = None, workers: int | None = None, shard: tuple[int, int] = (1, 1)
    ) -> Cost:
        """Time a few points, spread over the grid; nothing is stored."""
        there = Memory() if store is None else store
        one, of = shard
        numbers = np.fromiter(islice(self.points.numbers(), one - 1, None, of), dtype=np.int64)
        names = self.points.keys[numbers].view(f"V{KEY}").ravel()
        numbers = numbers[np.sort(np.unique(names, return_index=True)[1])]  # a result is computed once
        done = (_is_done(there, self.points.keys[number].tobytes()) for number in numbers)
        missing = numbers[~np.fromiter(done, dtype=bool, count=numbers.size)]
        workers = cores() if workers is None else max(1, workers)
        if not missing.size:
            return Cost(len(self.points), 0, 0.0, workers, 0, 0)
        chosen = missing[np.unique(np.linspace(0, missing.size - 1, PROBES).round().astype(int))]
        points = [self.points.at(int(number)) for number in chosen]
        tasks = [Task(point.key, point.problem, point.measure) for point in points]
        work((tasks[0],))  # compiles
        timed = [work((task,)) for task in tasks]
        each = float(np.mean([seconds for _, seconds in timed]))
        size = float(np.mean([len(records[0]) for records, _ in timed]))
        seconds = each * missing.size / min(workers, missing.size)
        return Cost(len(self.points), missing.size, seconds, workers, int(size * missing.size), _resident())


def _is_done(store: Records, key: bytes) -> bool:
    """Or would fail again."""
    if store.has(key):
        return True
    return store.has(failure_key(key)) and bool(store.read(failure_key(key)).about.get("final", True))


@dataclass(frozen=True, eq=False)
class Swept:
    """What a sweep has so far: `data` is one labelled dataset, read from the store when it is looked at."""

    sweep: Sweep
    store: Records

    @property
    def status(self) -> Status:
        return self.sweep.status(self.store)

    @cached_property
    def data(self) -> "xarray.Dataset":
        from solvable.sweeps.gather import dataset

        return dataset(self.store, self.sweep.manifest)

    def _repr_html_(self) -> str:
        html: str = self.data._repr_html_()
        return html

    def __repr__(self) -> str:
        status = self.status
        return f"<Swept {self.sweep.title}: {status.done} of {status.points} points, {status.failed} failed>"


def plan(
    problem: Problem,
    measure: Measure,
    vary: Mapping[str, Any],
    *,
    together: Sequence[Sequence[str]] = (),
    derive: Mapping[str, Rule] | None = None,
    where: Rule | None = None,
    title: str | None = None,
) -> Sweep:
    """Check the grid and its first ten thousand points before anything runs; further points are checked while these run."""
    grid = Grid(problem, measure, vary, together, derive, where)
    _check_starts(grid)
    points = Points(grid)
    while not points.make(AHEAD) and not points.found:
        pass
    if not points.found:
        raise ValueError("where: no point satisfies it")
    return Sweep(grid, points, title or " x ".join(grid.dims))


def _check_starts(grid: Grid) -> None:
    """Seeds of one point must not come again at another."""
    many = getattr(grid.measure, "starts", 1)
    for axis in grid.axes:
        for name, values in zip(axis.names, axis.values, strict=True):
            gaps: Any = np.diff(sorted(values)) if name == "start.seed" and many > 1 else []
            if any(gap < many for gap in gaps):
                raise ValueError(
                    f"start.seed: with starts = {many} every point takes {many} seeds in a row, so that seeds closer than that "
                    f"repeat each other; must be as {values[0]}, {values[0] + many}, {values[0] + 2 * many}, ..."
                )


def sweep(
    problem: Problem,
    vary: Mapping[str, Any] | None = None,
    level: Level | None = None,
    until: float | None = None,
    *,
    seeds: Iterable[int] | None = None,
    starts: int = 1,
    start: Mapping[str, Any] | Overlaps | Callable[[Problem, int], Overlaps] | None = None,
    times: Any = None,
    clock: str | None = None,
    stop: Threshold | None = None,
    keep: Sequence[str] = ("risk",),
    measure: Measure | None = None,
    together: Sequence[Sequence[str]] = (),
    derive: Mapping[str, Rule] | None = None,
    where: Rule | None = None,
    store: str | Path | Records | None = STORE,
    workers: int | None = None,
    cluster: str | None = None,
    shard: tuple[int, int] = (1, 1),
    retry: bool = False,
    stale: str = "keep",
    progress: bool | None = None,
    title: str | None = None,
) -> Swept:
    """Run `problem` at every point of a grid and keep every result, so that the same call continues where the last one ended.

    `vary` has lists of values by dotted names: {"student.width": [3, 6], "training.learning_rate": np.geomspace(0.01, 1, 20)};
    the product of all is swept. `together`, `derive` and `where` are explained at `Grid`. `seeds` are those of the start, an axis
    of its own (default: one start, of seed 0); `starts` so many starts of seeds in a row are one point, as a batch. `start` has
    the arguments of `start`, or is a function of problem and seed, which is called here for every point. `level`, `until`,
    `times`, `clock` and `stop` are as in `run`; `keep` names what is kept at the outputs. A `measure` in place of these computes
    something else.

    `store` is a directory (None: in memory, nothing is kept). Points are computed on all cores by `workers` processes (0: in this
    one), or on the Dask cluster at the address `cluster`. `shard=(i, n)` does the i-th of n shares. `retry` tries points again
    that failed. Results that other code of this library made are kept, with a warning; `stale="recompute"` sets them aside and
    computes them again.
    """
    if not isinstance(problem, Problem):
        raise TypeError(f"sweep: the first argument must be a Problem, not {type(problem).__name__}")
    if seeds is not None and not hasattr(seeds, "__iter__"):
        raise ValueError(f"seeds: {seeds!r} given, must be a list of whole numbers, as range(10)")
    if measure is None:
        measure = run_measure(level, start, starts, until, times, clock, stop, keep)
        if seeds is not None:
            vary = {**(vary or {}), "start.seed": [int(seed) for seed in seeds]}
        elif isinstance(measure.start, Drawn) and "start.seed" not in (vary or {}):
            raise ValueError("seeds: are missing; a start by a function needs them")
    elif any(given is not None for given in (level, until, seeds, start, times, clock, stop)):
        raise ValueError("measure: given together with level, until, seeds, start, times, clock or stop; must be alone")
    if not vary:
        raise ValueError("vary: is empty; a sweep needs at least one axis")
    planned = plan(problem, measure, vary, together=together, derive=derive, where=where, title=title)
    return execute(
        planned, store, workers=workers, cluster=cluster, shard=shard, retry=retry, stale=stale, progress=progress
    )


def run_measure(
    level: Level | None, start: Any, starts: int, until: float | None, times: Any, clock: str | None,
    stop: Threshold | None, keep: Sequence[str],
) -> Run:  # fmt: skip
    if level is None:
        from solvable.macro import Macro

        level = Macro()
    check_level(level, stop)
    if stop is not None:
        bound = {"below" if stop.falls else "above": stop.level}
        stop_table: Any = {"quantity": stop.quantity, "relative": stop.relative, **bound}
        stop_table |= {} if stop.entry is None else {"entry": stop.entry}
    else:
        stop_table = None
    table = RunTable.from_mapping({"until": until, "clock": clock, "times": times, "stop": stop_table})
    if start is None or isinstance(start, Mapping):
        begin: Any = StartTable.from_mapping(
            {"seed": 0, **(start or {})} if not _prescribed(start) else dict(start or {})
        )
    elif callable(start):
        begin = Drawn(start)
    else:
        begin = start
    return Run(level, begin, table, (keep,) if isinstance(keep, str) else tuple(keep), starts)


def _prescribed(start: Mapping[str, Any] | None) -> bool:
    return start is not None and "student_overlap" in start


def execute(
    planned: Sweep,
    store: str | Path | Records | None,
    *,
    workers: int | None = None,
    cluster: str | None = None,
    shard: tuple[int, int] = (1, 1),
    retry: bool = False,
    stale: str = "keep",
    progress: bool | None = None,
    stored: Callable[[list[bytes]], None] = lambda _: None,
    tell: Tell | None = None,
) -> Swept:
    """Compute what is missing of a planned sweep. Ctrl-C ends it cleanly with KeyboardInterrupt; what is stored stays. So does what
    was computed before a point that cannot be is reached, in a grid of more than ten thousand. `tell` hears of damage that is set
    aside and of results that other code made (default: a warning)."""
    _check_settings(workers, cluster, shard, stale)
    engine = choose(workers, cluster)
    try:
        _check_functions(planned, lasting=store is not None and not isinstance(store, Memory))
        place = opened(store)
        results = StoredResults(place, planned.points, tell or _warn)
        results.look(recompute=stale == "recompute")
        results.tell_stale()  # before the first result, not after the last
        manifest = _Manifest(planned, results)
        with meter(progress, "points", plain=True) as show:

            def report(settled: int, skipped: int) -> None:
                manifest.keep(PULSE)
                show(settled, max(settled, _share(planned.points, shard) - skipped))

            report(0, 0)
            Driver(engine, place, stored, report).run(planned.tasks(results, shard, retry=retry))
        manifest.keep()
        results.tell_stale()
    finally:
        engine.close()
    return Swept(planned, place)


def _check_functions(planned: Sweep, *, lasting: bool) -> None:
    """Those of one's own, before their names are looked for in a store; derived ones are made for their points alone."""
    functions = Functions(lasting=lasting)
    functions.check(planned.points.first.problem)
    for axis in planned.grid.axes:
        for name, values in zip(axis.names, axis.values, strict=True):
            for value in values:
                if isinstance(value, OwnFunction):
                    functions.check_one(name, value)


class _Manifest:
    """Kept in the store once all points are made; until then some more are, whenever there is time."""

    def __init__(self, planned: Sweep, results: StoredResults) -> None:
        self._planned, self._results, self._is_kept = planned, results, False

    def keep(self, seconds: float = math.inf) -> None:
        if self._is_kept or not self._planned.points.make(seconds=seconds):
            return
        if self._results.sound(self._planned.manifest.key) is None:
            self._results.store.add([encode(self._planned.manifest)])
        self._is_kept = True


def _share(points: Points, shard: tuple[int, int]) -> int:
    """How many points a share has, as far as is known."""
    one, of = shard
    return len(range(one - 1, points.expected, of))


def _warn(notice: Damage | Stale) -> None:
    warnings.warn(damage_or_stale(notice), stacklevel=4)


def opened(store: str | Path | Records | None, *, create: bool = True) -> Records:
    if store is None:
        return Memory()
    return Store(store, create=create) if isinstance(store, str | Path) else store


def _check_settings(workers: Any, cluster: Any, shard: Any, stale: Any) -> None:
    if stale not in STALE:
        raise ValueError(f"stale: {stale!r} given, must be {' or '.join(map(repr, STALE))}")
    if workers is not None and (not isinstance(workers, int) or isinstance(workers, bool) or not 0 <= workers <= 1024):
        raise ValueError(f"workers: {workers!r} given, must be a whole number up to 1024, or None for all cores")
    if cluster is not None and workers is not None:
        raise ValueError("workers: given together with cluster, whose workers are its own")
    if len(shard) != 2 or not all(isinstance(part, int) for part in shard) or not 1 <= shard[0] <= shard[1]:
        raise ValueError(f"shard: {shard!r} given, must be (i, n) with i from 1 to n")


def _resident() -> int:
    """Bytes of memory of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            import resource

            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
