"""Computing what is missing of a planned sweep."""

import math
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from solvable.gaussian.units import OwnFunction
from solvable.levels.progress import meter
from solvable.sweeps.drive import PULSE, Driver
from solvable.sweeps.engines import choose
from solvable.sweeps.functions import Functions
from solvable.sweeps.makers import STALE, Stale, StoredResults, Tell, damage_or_stale
from solvable.sweeps.memory import Memory
from solvable.sweeps.planning import Sweep
from solvable.sweeps.points import Points
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import encode
from solvable.sweeps.store import Store
from solvable.sweeps.swept import Swept
from solvable.sweeps.upkeep import Damage


def execute(
    planned: Sweep,
    store: str | Path | RecordStore | None,
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


def opened(store: str | Path | RecordStore | None, *, create: bool = True) -> RecordStore:
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
