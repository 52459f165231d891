"""The table of a figure's parameters: the paper's values beside ours, full and quick, and why they differ.

The table is the one home of these values: `compute` reads them with `values(quick)`, so what is printed under a picture is what
was computed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

UNSAID = "not stated"


@dataclass(frozen=True)
class Parameter:
    """One row. `paper` is UNSAID where the text gives no value; `quick` is the full value if it is left out. `why` says why the
    full value is not the paper's, or why this value where the paper gives none."""

    name: str
    paper: Any
    full: Any
    quick: Any = None
    why: str = ""
    label: str = ""  # the paper's symbol or words, for readers; the name itself if empty

    def __post_init__(self) -> None:
        if self.quick is None:
            object.__setattr__(self, "quick", self.full)
        if self.deviates and not self.why:
            raise ValueError(f"{self.name}: {self.full!r} is not the paper's {self.paper!r}, so the row needs a why")

    @property
    def deviates(self) -> bool:
        """Whether the full form is not the paper's."""
        return _plain(self.full) != _plain(self.paper)


@dataclass(frozen=True)
class Parameters:
    """All rows of a figure."""

    rows: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError(f"two rows have one name among {names}")

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.rows)

    def values(self, quick: bool) -> dict[str, Any]:
        return {row.name: row.quick if quick else row.full for row in self.rows}

    @property
    def deviations(self) -> list[Parameter]:
        """Rows whose full form differs from a value that the paper states."""
        return [row for row in self.rows if row.deviates and row.paper != UNSAID]


NONE = Parameters()


def table(*rows: Parameter) -> Parameters:
    return Parameters(rows)


def _plain(value: Any) -> Any:
    """The same with tuples for lists and arrays, to compare by."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(_plain(one) for one in value) if isinstance(value, list | tuple | range) else value
