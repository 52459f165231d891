"""Writing files safely: a file is either written completely or not there, and it survives a crash of the machine."""

import errno
import os
import re
import socket
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

UNFINISHED = re.compile(r"\.(?P<host>.+)~(?P<process>\d+)~[^~]*\.part")  # the name of a file that is being written
UNLIKE = "Reads back otherwise than it was written"
NO_SYNC = (errno.EINVAL, errno.ENOTSUP)  # of file systems that cannot bring a directory to the disk


def write_whole(path: str | Path, writer: Callable[[str], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, bring it to the disk, then rename it: no half-written file is ever left
    under its name, and once this returns the file outlives a crash."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "The directory does not exist", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    temporary = ""
    try:
        temporary = _temporary(path.parent)
        writer(temporary)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        _bring_to_disk(temporary)
        move(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError):
            _name(error, path)
        raise
    return path


def _name(error: OSError, path: Path) -> None:
    """Let an error name the file that was asked for, never the one that is being written in its place."""
    named = None if error.filename is None else Path(os.fsdecode(error.filename)).name
    if error.errno is not None and (named is None or UNFINISHED.fullmatch(named)):  # else it would lose its text
        error.filename = str(path)
    unfinished = re.compile(rf"{re.escape(str(path.parent.absolute()))}/{UNFINISHED.pattern}")
    error.args = tuple(unfinished.sub(str(path), one) if isinstance(one, str) else one for one in error.args)


def write_bytes(path: str | Path, content: bytes) -> Path:
    """`write_whole` of these bytes, which are read back before the file gets its name."""
    return write_whole(path, lambda temporary: _fill(temporary, content))


def move(path: str | Path, target: str | Path) -> None:
    """Rename a file, and bring the new name to the disk."""
    os.replace(path, target)
    for directory in {Path(target).parent, Path(path).parent}:
        sync(directory)


def make_directory(path: str | Path) -> Path:
    """A directory with all above it, made where they are missing; once this returns they outlive a crash."""
    path = Path(path).absolute()
    missing = [one for one in path.parents if not one.is_dir()]
    for one in (*reversed(missing), path):
        one.mkdir(exist_ok=True)
        sync(one.parent)  # also of one that is there: who made it may not have come to this
    return path


def sync(directory: str | Path) -> None:
    """Bring the names in a directory to the disk, where the system can and we may."""
    if os.name != "posix":
        return
    try:
        _bring_to_disk(directory)
    except OSError as error:
        if error.errno not in NO_SYNC and not isinstance(error, PermissionError):
            raise


def remove_unfinished(directory: Path, older: float) -> None:
    """Remove what killed writers left half written, if it is older than so many seconds by the clock of the file system (that of
    this machine may be wrong). Files of writers that still live on this machine stay at any age."""
    with suppress(OSError):  # read only, or another process did it
        left = [name for name in os.listdir(directory) if _may_be_left(name)]
        if not left:
            return
        now = _clock(directory)
        for name in left:
            with suppress(OSError):
                if now - (directory / name).stat().st_mtime > older:
                    os.unlink(directory / name)


def _may_be_left(name: str) -> bool:
    found = UNFINISHED.fullmatch(name)
    if found is None:
        return name.startswith(".") and name.endswith(".part")
    return found["host"] != socket.gethostname() or not _lives(int(found["process"]))


def _lives(process: int) -> bool:
    if os.name != "posix":  # elsewhere this signal would end it
        return True
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:  # another user's
        pass
    return True


def _clock(directory: Path) -> float:
    """The time on a file system: that of a file just touched there."""
    probe = _temporary(directory)
    try:
        os.utime(probe)
        return os.stat(probe).st_mtime
    finally:
        os.unlink(probe)


def _temporary(directory: Path) -> str:
    """A new empty file whose name tells who writes it."""
    prefix = f".{socket.gethostname()}~{os.getpid()}~"
    handle, name = tempfile.mkstemp(dir=directory, prefix=prefix, suffix=".part")
    os.close(handle)
    return name


def _fill(path: str, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)
    if Path(path).read_bytes() != content:
        raise OSError(errno.EIO, UNLIKE)


def _bring_to_disk(path: str | Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
