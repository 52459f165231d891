"""Locks between processes: a file that one of them holds while it makes another file.

The system takes a lock away when its owner ends, however that happens, so none outlives its process. Where locks do not work (some
network drives, a directory that cannot be written, systems without them) nobody waits, and the same work may be done twice.
"""

import contextlib
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from solvable.numerics import trusted_files
from solvable.numerics.trusted_files import MARK

LONGEST = 300.0  # seconds after which nobody waits any longer: the owner may have been halted


@contextlib.contextmanager
def locked(path: Path, is_needless: Callable[[], bool], wait: Callable[[], None]) -> Iterator[None]:
    """Hold the lock at a path. While another process has it, `wait` is called again and again, until `is_needless` or for so long
    that something must be wrong."""
    handle, latest = _taken(path), time.monotonic() + LONGEST
    while handle == BUSY and not is_needless() and time.monotonic() < latest:
        wait()
        handle = _taken(path)
    try:
        yield
    finally:
        if handle >= 0:
            with contextlib.suppress(OSError):
                os.unlink(path)  # before it is given up: whoever locks a file that is gone tries again
            os.close(handle)


BUSY, IMPOSSIBLE = -1, -2


def _taken(path: Path) -> int:
    """Return the descriptor of a file that this process now has the lock of; BUSY if another one has it, IMPOSSIBLE if there are
    no locks here."""
    try:
        import fcntl

        trusted_files.make_directory(path.parent)
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except (ImportError, OSError):
        return IMPOSSIBLE
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_current = os.fstat(handle).st_ino == os.stat(path, follow_symlinks=False).st_ino
        if is_current:
            os.write(handle, MARK)  # clean-up removes what has it, should this process be killed
            return handle
        result = BUSY
    except (BlockingIOError, FileNotFoundError):
        result = BUSY
    except OSError:
        result = IMPOSSIBLE
        with contextlib.suppress(OSError):
            os.unlink(path)  # which nobody can have the lock of
    os.close(handle)
    return result
