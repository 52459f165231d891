"""How far a sweep is: which of its points have a result in a store, and which failed."""

from collections.abc import Iterable
from typing import NamedTuple

from solvable.sweeps.protocol import RecordStore
from solvable.sweeps.records import key_of


class Status(NamedTuple):
    """How far a sweep is.

    Parameters
    ----------
    points, done, failed : int
        Numbers of points: in all, with a result, and that could not be computed.

    Examples
    --------
    >>> sv.sweeps.Status(points=10, done=6, failed=1).missing
    3
    """

    points: int
    done: int
    failed: int

    @property
    def missing(self) -> int:
        """How many points are still to be computed."""
        return self.points - self.done - self.failed


def failure_key(key: bytes) -> bytes:
    """Under which a point that could not be computed is kept, so that a later success does not meet it."""
    return key_of(["failure", key.hex()])


def status_of(store: RecordStore, keys: Iterable[bytes]) -> Status:
    points = done = failed = 0
    for key in keys:
        points += 1
        if store.has(key):
            done += 1
        else:
            failed += store.has(failure_key(key))
    return Status(points, done, failed)
