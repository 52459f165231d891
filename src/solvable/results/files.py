"""Files appear whole or not at all, and stay when the machine goes down."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any


def write_whole(path: str | Path, writer: Callable[[str], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, bring it to the disk, then rename it: no half-written file is ever left
    under its name, and once this returns the file outlives a crash."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "The directory does not exist", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        try:
            writer(temporary)
            mask = os.umask(0)
            os.umask(mask)
            os.chmod(temporary, 0o666 & ~mask)
            os.fsync(handle)
        finally:
            os.close(handle)
        os.replace(temporary, path)
        _sync(path.parent)
    except BaseException as error:
        with suppress(OSError):
            os.unlink(temporary)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)
        raise
    return path


def write_bytes(path: str | Path, content: bytes) -> Path:
    return write_whole(path, lambda temporary: _fill(temporary, content))


def _fill(path: str, content: bytes) -> None:
    handle = os.open(path, os.O_WRONLY)
    try:
        view = memoryview(content)
        while view:
            view = view[os.write(handle, view) :]
    finally:
        os.close(handle)


def _sync(directory: Path) -> None:
    """Bring the names in a directory to the disk, where the system can."""
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
