"""Which code computes: a digest of the sources that can move a number of a result."""

import hashlib
from functools import lru_cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
ROOMS = (
    "numerics", "gaussian", "problems", "overlaps", "dynamics", "results", "micro", "meso", "macro", "empirical", "descriptions",
)  # fmt: skip
FURTHER = ("sweeps/measures.py",)  # what a sweep takes from a run
SILENT = tuple(
    f"results/{name}.py" for name in ("files", "loading", "logs", "netcdf", "progress", "storage")
)  # write and show


def digest_of(package: Path) -> str:
    """Of the sources, whatever their line endings: the same wherever the same version is installed."""
    digest = hashlib.sha256()
    sources = [path.relative_to(package).as_posix() for room in ROOMS for path in (package / room).rglob("*.py")]
    for name in sorted({*sources, *FURTHER} - {*SILENT}):
        text = (package / name).read_bytes().replace(b"\r\n", b"\n")
        digest.update(f"{name} {len(text)} ".encode() + text)
    return digest.hexdigest()


@lru_cache
def computing_code() -> str:
    return digest_of(PACKAGE)[:16]
