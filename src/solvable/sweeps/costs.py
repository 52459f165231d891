"""What a sweep will cost, estimated from a few of its points."""

from itertools import islice
from typing import NamedTuple

import numpy as np

from solvable.numerics.threads import cores
from solvable.sweeps.engines import PointTask, work
from solvable.sweeps.points import Points
from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import KEY
from solvable.sweeps.status import failure_key

PROBES = 5  # points that are timed for an estimate


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


def cost_of(points: Points, store: RecordStore, workers: int | None, shard: tuple[int, int]) -> Cost:
    """Of what a share of the points lacks in a store."""
    missing = _missing(points, store, shard)
    workers = cores() if workers is None else max(1, workers)
    if not missing.size:
        return Cost(len(points), 0, 0.0, workers, 0, 0)
    chosen = missing[np.unique(np.linspace(0, missing.size - 1, PROBES).round().astype(int))]
    probes = [points.at(int(number)) for number in chosen]
    tasks = [PointTask(point.key, point.problem, point.measure) for point in probes]
    work((tasks[0],))  # compiles
    timed = [work((task,)) for task in tasks]
    each = float(np.mean([seconds for _, seconds in timed]))
    size = float(np.mean([len(records[0]) for records, _ in timed]))
    seconds = each * missing.size / min(workers, missing.size)
    return Cost(len(points), missing.size, seconds, workers, int(size * missing.size), _resident())


def _missing(points: Points, store: RecordStore, shard: tuple[int, int]) -> np.ndarray:
    """Numbers of the points of a share that are still to be computed."""
    one, of = shard
    numbers = np.fromiter(islice(points.numbers(), one - 1, None, of), dtype=np.int64)
    names = points.keys[numbers].view(f"V{KEY}").ravel()
    numbers = numbers[np.sort(np.unique(names, return_index=True)[1])]  # a result is computed once
    done = (_is_done(store, points.keys[number].tobytes()) for number in numbers)
    return numbers[~np.fromiter(done, dtype=bool, count=numbers.size)]


def _is_done(store: RecordStore, key: bytes) -> bool:
    """Or would fail again."""
    if store.has(key):
        return True
    return store.has(failure_key(key)) and bool(store.read(failure_key(key)).about.get("final", True))


def _resident() -> int:
    """Bytes of memory of this process."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            import resource

            return int(file.read().split()[1]) * resource.getpagesize()
    except OSError:
        return 0
