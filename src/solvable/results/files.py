"""Files appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: str | Path, writer: Callable[[str], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, then rename it: no half-written file is ever left under its name."""
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(2, "The directory does not exist", str(path.parent))
    if path.is_dir():
        raise IsADirectoryError(21, "Is a directory", str(path))
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    try:
        writer(temporary)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path
