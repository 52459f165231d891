"""What to install where an optional part of the library misses a package."""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires


def install_command(extra: str) -> str:
    """The whole command that installs the packages of an extra into this environment, by their own names: it works wherever
    the library came from."""
    try:
        listed = requires("solvable") or []
    except PackageNotFoundError:  # sources that nobody installed
        return f"pip install of what pyproject.toml lists under {extra!r}"
    parts = [line.partition(";") for line in listed]
    wanted = [need.strip() for need, _, marker in parts if re.search(rf"""extra == ['"]{extra}['"]""", marker)]
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])


def missing(what: str, need: str, extra: str) -> ValueError:
    """An error that tells what needs which package, and the command that installs it."""
    return ValueError(f"{what}: needs {need}; install it by: {install_command(extra)}")
