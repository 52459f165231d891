"""Sweeps: plan a grid of points, compute what is missing of it, read all results as one labelled dataset."""

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
    """What a sweep will cost, estimated from a few timed points.

    Parameters
    ----------
    points, missing : int
        How many points the sweep has, and how many are still to be computed.
    seconds : float
        For the missing ones, on `workers` cores.
    workers : int
        How many processes are assumed.
    disk, memory : int
        Bytes in the store, and bytes of memory that this process takes now.

    Examples
    --------
    >>> sv.sweeps.Cost(points=100, missing=40, seconds=20.0, workers=2, disk=80_000, memory=0).missing
    40
    """

    points: int
    missing: int
    seconds: float
    workers: int
    disk: int
    memory: int


@dataclass(frozen=True)
class Sweep:
    """A planned sweep: a grid and its points, which are made when they are looked at; `plan` makes it.

    Parameters
    ----------
    grid : Grid
        Axes, derived names and conditions.
    points : Points
        All points of the grid, each a problem and what is computed for it.
    title : str
        Name in listings.

    Examples
    --------
    The examples of the methods below continue this one.

    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> from solvable.runfiles import RunTable
    >>> measure = sv.sweeps.Run(sv.Macro(), sv.start(problem, seed=0), RunTable(until=5.0))
    >>> planned = sv.sweeps.plan(problem, measure, {"training.learning_rate": [0.1, 0.2, 0.3]})
    >>> len(planned.points)
    3
    """

    grid: Grid
    points: Points
    title: str

    @cached_property
    def manifest(self) -> Record:
        """The record that lists the axes and the keys of all points; it makes all points."""
        self.points.make()
        return self.grid.manifest(self.points.keys, self.points.first, self.title)

    def status(self, store: Records) -> Status:
        """How much of the sweep a store has.

        Parameters
        ----------
        store : Store
            Where results are kept.

        Returns
        -------
        Status
            Numbers of points, of those done and of those that failed.

        Examples
        --------
        >>> planned.status(sv.sweeps.Store("empty.store"))
        Status(points=3, done=0, failed=0)
        """
        return status_of(store, self.points.all_keys())

    def tasks(
        self, results: StoredResults, shard: tuple[int, int] = (1, 1), *, retry: bool = False
    ) -> Iterator[Task | None]:
        """What is still to do, point by point.

        Parameters
        ----------
        results : StoredResults
            What a store has of the sweep (`sweeps.makers`).
        shard : (int, int)
            (i, n) for the i-th of n shares of the points.
        retry : bool
            Whether points that failed for good are tried again.

        Returns
        -------
        iterator of Task or None
            For each point of this share; None for a point that is done, or would fail again.

        Examples
        --------
        >>> from solvable.sweeps.makers import StoredResults
        >>> results = StoredResults(sv.sweeps.Store("empty.store"), planned.points, print)
        >>> results.look()
        >>> len(list(planned.tasks(results, shard=(1, 3))))
        1
        """
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
        """Time a few points, spread over the grid; nothing is stored.

        Parameters
        ----------
        store : Store, optional
            Its results are not computed again.
        workers : int, optional
            How many processes to assume; left out, one for each core.
        shard : (int, int)
            (i, n) for the i-th of n shares of the points.

        Returns
        -------
        Cost
            Time, disk and memory.

        Examples
        --------
        >>> planned.estimate(workers=1).missing
        3
        """
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
    """What a sweep has computed so far, as one labelled dataset.

    Parameters
    ----------
    sweep : Sweep
        The plan.
    store : Store
        Where results are kept.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> swept = sv.sweep(problem, {"training.learning_rate": [0.1, 0.2]}, until=5, store=None, workers=0)
    >>> swept.data["risk"].sizes["learning_rate"], swept.status.missing
    (2, 0)
    """

    sweep: Sweep
    store: Records

    @property
    def status(self) -> Status:
        """How many points there are, how many are done and how many failed."""
        return self.sweep.status(self.store)

    @cached_property
    def data(self) -> "xarray.Dataset":
        """All results as an xarray Dataset, read from the store when it is looked at."""
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
    """Plan a sweep: check the grid and its first ten thousand points before anything runs.

    Parameters
    ----------
    problem : Problem
        What varies.
    measure : Measure
        What is computed at every point: `Run(...)` or `FewestSamples(...)`.
    vary, together, derive, where
        The grid, as in `sweep`.
    title : str, optional
        Name in listings; left out, the names of the axes.

    Returns
    -------
    Sweep
        To be estimated, or given to `execute`.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=3, n=None)
    >>> planned = sv.sweeps.plan(problem, sv.sweeps.FewestSamples(instances=3), {"inputs.dim": [3, 4]})
    >>> planned.title
    'dim'
    """
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
    """Run a problem at every point of a grid and keep every result; the same call continues where the last one ended.

    Parameters
    ----------
    problem : Problem
        What varies.
    vary : dict
        Lists of values by dotted names, {"student.width": [3, 6], "training.learning_rate": np.geomspace(0.01, 1, 20)}.
        All combinations are points. Words without a dot are variables for `derive` and `where`.
    level, until, times, clock, stop
        As in `run`; left out, the level is `Macro()`.
    seeds : list of int, optional
        Seeds of the start, as an axis of their own; left out, one start of seed 0.
    starts : int
        This many starts, of seeds in a row, make one point and run as a batch.
    start : dict, Overlaps or callable, optional
        Arguments of `start`, or a function of problem and seed, which is called in this process for every point.
    keep : list of str
        Which arrays of the trajectory are kept at the outputs. First and last risk, exit time and ending are always
        kept.
    measure : Measure, optional
        Something else to compute, in place of a level: `FewestSamples(...)`.
    together : list of lists of str
        Groups of names that move together instead of being combined.
    derive : dict, optional
        Further names, by expressions such as "0.05 * student.width" or by functions of the point.
    where : str or callable, optional
        Expression or function: only points at which it is true are computed.
    store : str, Path, Store or None
        Directory that keeps the results; None keeps them in memory only.
    workers : int, optional
        Number of processes (0: this one; left out: one for each core).
    cluster : str, optional
        Address of a Dask cluster to compute on instead.
    shard : (int, int)
        (i, n) computes the i-th of n shares.
    retry : bool
        Whether points that failed are tried again.
    stale : str
        What to do with stored results of other versions of the library's code: "keep" (with a warning) or "recompute".
    progress : bool, optional
        Whether to show a bar; left out: on terminals.
    title : str, optional
        Name in listings.

    Returns
    -------
    Swept
        Its `data` is one labelled dataset.

    Examples
    --------
    >>> problem = sv.problems.convention("bocchi2026").problem(p=2, p_star=1, eta=0.1, N=1000)
    >>> vary = {"student.width": [2, 3], "training.learning_rate": [0.1, 0.2]}
    >>> swept = sv.sweep(problem, vary, until=5, seeds=range(2), store="results", workers=0)
    >>> dict(swept.data["end_risk"].sizes)
    {'width': 2, 'learning_rate': 2, 'seed': 2, 'run': 1}
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
    """Compute what is missing of a planned sweep.

    Ctrl-C ends it with KeyboardInterrupt; what is stored stays. In a grid of more than ten thousand points, an
    impossible point may be met only after others were computed: these stay too.

    Parameters
    ----------
    planned : Sweep
        From `plan`.
    store, workers, cluster, shard, retry, stale, progress
        As in `sweep`.
    stored : callable
        Called with the keys of results whenever some have been stored.
    tell : callable, optional
        Called with a description of damage that was set aside, and of results that other code made; left out, a
        warning.

    Returns
    -------
    Swept
        The results.

    Examples
    --------
    >>> problem = sv.problems.convention("saraomannelli2020").problem(m=3, m_star=1, d=3, n=None)
    >>> planned = sv.sweeps.plan(problem, sv.sweeps.FewestSamples(instances=3), {"inputs.dim": [3, 4]})
    >>> sv.sweeps.execute(planned, store=None, workers=0).data["fewest"].shape
    (2, 3)
    """
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
    """Writes the manifest into the store once all points are made; until then it makes some more whenever there is time."""

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
