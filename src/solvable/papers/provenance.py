"""What a figure's files say about how it was made: parameters, seeds, version, machine."""

import json
import subprocess
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import solvable
from solvable.sweeps.engines import made_by

if TYPE_CHECKING:
    from solvable.papers.figure import PaperFigure

PACKAGE = Path(solvable.__file__).parent


def provenance(figure: "PaperFigure", *, quick: bool, seconds: float) -> dict[str, Any]:
    """Key, parameters, seeds, version, commit, how long `compute` took, and the machine. Two runs of the same sources on the same
    machine differ in `seconds` alone."""
    return {
        "figure": figure.key,
        "title": figure.title,
        "quick": quick,
        "parameters": figure.parameters.as_dicts(),
        "seeds": figure.parameters.seeds(quick),
        "version": solvable.__version__,
        "commit": commit(PACKAGE),
        "seconds": round(seconds, 3),
        "made_by": made_by(),
    }


def texts(facts: dict[str, Any]) -> dict[str, str]:
    """The facts as text, for the attributes of files; without those that are not known."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
        for name, value in facts.items()
        if value is not None
    }


@lru_cache
def commit(package: Path) -> str | None:
    """The commit of the sources, with `-changed` where they have been edited since; None if they are not of a git checkout."""
    if _git(package, "ls-files", "--error-unmatch", "__init__.py") is None:
        return None
    name = _git(package, "rev-parse", "HEAD")
    return None if name is None else name + ("-changed" if _git(package, "status", "--porcelain", "--", ".") else "")


def _git(place: Path, *words: str) -> str | None:
    try:
        found = subprocess.run(
            ["git", "-C", str(place), *words], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return found.stdout.strip() if found.returncode == 0 else None
