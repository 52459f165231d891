"""A digest of the source files that can change a number of a result: which code computed it."""

import hashlib
import warnings
from functools import lru_cache
from pathlib import Path

import solvable

PACKAGE = Path(__file__).parents[1]
ROOMS = (
    "numerics", "gaussian", "problems", "overlaps", "dynamics", "results", "levels", "micro", "meso", "macro", "empirical",
    "empirical_macro", "runfiles",
)  # fmt: skip
FURTHER = ("sweeps/measures.py",)  # what a sweep takes from a run
SILENT = (
    "numerics/progress.py", "numerics/waiting.py", "numerics/cards.py", "overlaps/card.py",
    *(f"results/{name}.py" for name in ("files", "loading", "logs", "netcdf", "saving", "storage")),
)  # fmt: skip  # write and show


CHANGED = "the sources of solvable changed since they were imported; restart Python"


def names_in(package: Path) -> list[str]:
    """Of the sources that compute."""
    sources = [path.relative_to(package).as_posix() for room in ROOMS for path in (package / room).rglob("*.py")]
    return sorted({*sources, *FURTHER} - {*SILENT})


def digest_of(package: Path) -> str:
    """Of the sources, whatever their line endings: the same wherever the same version is installed."""
    digest = hashlib.sha256()
    for name in names_in(package):
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)} ".encode() + text)
    return digest.hexdigest()


@lru_cache
def computing_code() -> str:
    """The digest of the code that this process imported; "" where the files are no longer that code, which counts as other code."""
    digest = digest_of(PACKAGE)[:16]
    if newest(PACKAGE) > solvable._imported:  # looked at last: what changes while it is read is noticed too
        warnings.warn(CHANGED, stacklevel=2)
        return ""
    return digest


def newest(package: Path) -> float:
    """When a source was written or replaced last, also by a copy that keeps its date."""
    found = [(package / name).stat() for name in names_in(package)]
    return max(max(one.st_mtime, one.st_ctime) for one in found)
