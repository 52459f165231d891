"""Sweeps: a grid of points, computed where there is room, kept in a store, looked at as one labelled dataset."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from solvable.descriptions import RunTable, StartTable
from solvable.numerics.threads import cores
from solvable.overlaps import Overlaps
from solvable.problems import Problem
from solvable.results import Level, Threshold
from solvable.results.progress import meter
from solvable.results.running import check_level
from solvable.sweeps.drive import Driver
from solvable.sweeps.engines import Task, choose, work
from solvable.sweeps.functions import Functions
from solvable.sweeps.grid import Grid, Point, Rule
from solvable.sweeps.measures import Drawn, Measure, Run
from solvable.sweeps.records import Record, encode
from solvable.sweeps.store import Damage, Memory, Records, Status, Store, failure_key, status_of

if TYPE_CHECKING:
    import xarray

STORE = "solvable.store"
PROBES = 5  # points that are timed for an estimate


class Estimate(NamedTuple):
    """From a few timed points: seconds in all on `workers` cores, bytes in the store, bytes of memory that this process takes."""

    points: int
    missing: int
    seconds: float
    workers: int
    disk: int
    memory: int


@dataclass(frozen=True)
class Sweep:
    """A sweep as it was planned: its grid and all its points, each with the key of its result."""

    grid: Grid
    points: tuple[Point, ...]
    title: str

    @cached_property
    def manifest(self) -> Record:
        return self.grid.manifest(self.points, self.title)

    def status(self, store: Records) -> Status:
        return status_of(store, [point.key for point in self.points])

    def tasks(self, store: Records, shard: tuple[int, int] = (1, 1), *, retry: bool = False) -> list[Task]:
        """What is still to do, of this share of the points. Points that would fail again are done, unless `retry`."""
        one, of = shard
        tasks = {
            point.key: Task(point.key, point.problem, point.measure)
            for point in self.points[one - 1 :: of]
            if not store.has(point.key) and (retry or not _is_hopeless(store, point.key))
        }
        return list(tasks.values())

    def estimate(
        self, store: Records | None = None, workers: int | None = None, shard: tuple[int, int] = (1, 1)
    ) -> Estimate:
        """Time a few points, spread over the grid; nothing is stored."""
        tasks = self.tasks(Memory() if store is None else store, shard)
        workers = cores() if workers is None else max(1, workers)
        if not tasks:
            return Estimate(len(self.points), 0, 0.0, workers, 0, 0)
        chosen = [tasks[i] for i in np.unique(np.linspace(0, len(tasks) - 1, PROBES).round().astype(int))]
        work((chosen[0],))  # compiles
        timed = [work((task,)) for task in chosen]
        each = float(np.mean([seconds for _, seconds in timed]))
        size = float(np.mean([len(records[0]) for records, _ in timed]))
        seconds = each * len(tasks) / min(workers, len(tasks))
        return Estimate(len(self.points), len(tasks), seconds, workers, int(size * len(tasks)), _resident())


def _is_hopeless(store: Records, key: bytes) -> bool:
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
    """Check everything and name all points, before anything runs."""
    grid = Grid(problem, measure, vary, together, derive, where)
    _check_starts(grid)
    points = tuple(grid.points())
    if not points:
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
    one), or on the Dask cluster at the address `cluster`. `shard=(i, n)` does the i-th of n shares.
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
    return execute(planned, store, workers=workers, cluster=cluster, shard=shard, retry=retry, progress=progress)


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
    progress: bool | None = None,
    stored: Callable[[list[bytes]], None] = lambda _: None,
    tell: Callable[[Damage], None] | None = None,
) -> Swept:
    """Compute what is missing of a planned sweep. Ctrl-C ends it cleanly with KeyboardInterrupt; what is stored stays.
    `tell` hears of damage that is set aside (default: a warning)."""
    _check_settings(workers, cluster, shard)
    engine = choose(workers, cluster)
    try:
        functions = Functions(lasting=store is not None and not isinstance(store, Memory))
        for point in planned.points:
            functions.check(point.problem)
        place = opened(store)
        _mend(planned, place, tell)
        if not place.has(planned.manifest.key):
            place.add([encode(planned.manifest)])
        tasks = planned.tasks(place, shard, retry=retry)
        if tasks:
            with meter(progress, "points", plain=True) as show:
                Driver(engine, place, stored, lambda settled: show(settled, len(tasks))).run(tasks)
    finally:
        engine.close()
    return Swept(planned, place)


def _mend(planned: Sweep, place: Records, tell: Callable[[Damage], None] | None) -> None:
    """Set damaged segments of this sweep aside, so that what they held is computed again."""
    if not isinstance(place, Store):
        return
    keys = [planned.manifest.key]
    for point in planned.points:
        keys += [point.key, failure_key(point.key)] if not place.has(point.key) else [point.key]
    for damage in place.verify(keys, repair=True):
        if tell is None:
            warnings.warn(f"{damage}; set aside, and computed again by sweeps that need it", stacklevel=3)
        else:
            tell(damage)


def opened(store: str | Path | Records | None, *, create: bool = True) -> Records:
    if store is None:
        return Memory()
    return Store(store, create=create) if isinstance(store, str | Path) else store


def _check_settings(workers: Any, cluster: Any, shard: Any) -> None:
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
