"""Files appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_whole(path: str | Path, writer: Callable[[str], Any]) -> Path:
    """Let `writer` fill a temporary file beside `path`, then rename it: no half-written file is ever left under its name."""
    path = Path(path)
    handle, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
    os.close(handle)
    try:
        writer(temporary)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
    return path
