"""What to install where an optional part of the library misses a package."""

import re
import shlex
import sys
from importlib.metadata import PackageNotFoundError, requires


def install_command(extra: str) -> str:
    """The whole command that installs the packages of an extra into this environment, by their own names: it works wherever
    the library came from."""
    try:
        listed = [line.partition(";") for line in requires("solvable") or []]
    except PackageNotFoundError:  # sources that nobody installed
        listed = []
    wanted = [need.strip() for need, _, marker in listed if re.search(rf"""extra == ['"]{extra}['"]""", marker)]
    if not wanted:
        return f"pip install, of what pyproject.toml lists under {extra!r}"
    return shlex.join([sys.executable, "-m", "pip", "install", *wanted])


def missing(what: str, need: str, extra: str) -> ValueError:
    """An error that tells what needs which package, and the command that installs it."""
    return ValueError(f"{what}: needs {need}; install it by: {install_command(extra)}")
