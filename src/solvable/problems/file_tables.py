"""Files of problems, runs and sweeps as plain tables."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from solvable.problems.foreign import parse_json, parse_toml, read_text
from solvable.problems.model import InvalidProblem

RUN_TABLES = ("start", "level", "run", "fit")
CONTROL_TABLE = "control"
SWEEP_TABLES = ("vary", "derive", "sweep", "recovery")
OTHER_TABLES = (*RUN_TABLES, *SWEEP_TABLES, CONTROL_TABLE)  # beside those of a problem


def read_tables(path: Path) -> dict[str, Any]:
    """The content of a .toml or .json file as plain tables."""
    check_suffix(path)
    parse = parse_json if path.suffix == ".json" else parse_toml
    return as_table(understood(lambda file: parse(read_text(file)), path, f"{path}: "), f"{path}: ")


@contextmanager
def naming(path: str | Path, options: tuple[str, ...] = ()) -> Iterator[None]:
    """Mistakes found inside begin with the name of the file; not those of `options`, fields that the command line gave."""
    own = (f"{path}: ", "--", *(f"{name}: " for name in options))
    try:
        yield
    except InvalidProblem as error:
        raise InvalidProblem([line if line.startswith(own) else f"{path}: {line}" for line in error.problems]) from None


def understood(read: Callable[[Any], Any], source: Any, name: str = "") -> Any:
    try:
        return read(source)
    except ValueError as error:
        raise InvalidProblem([f"{name}{error}"]) from None


def check_suffix(path: Path) -> None:
    if path.suffix not in (".toml", ".json"):
        raise InvalidProblem([f"{path}: must end in .toml or .json"])


def as_table(content: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(content, dict):
        raise InvalidProblem([f"{name}must be a table of fields, got {type(content).__name__}"])
    return content
