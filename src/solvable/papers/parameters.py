"""The table of a figure's parameters: the paper's values beside ours, full and quick, and why they differ.

The table is the one home of these values: `compute` reads them with `values(quick)`, so what is printed under a picture is what
was computed."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

UNSAID = "not stated"
UNREAD = "not read"  # where we know a paper by its abstract and what others quote of it


@dataclass(frozen=True)
class Parameter:
    """One parameter of a figure: the paper's value beside ours.

    `paper` is UNSAID where the text gives no value, UNREAD where we have not read it; `quick` is the full value if left
    out. `why` says why the full value is not the paper's, or why this value where the paper gives none.
    """

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

    @property
    def stated(self) -> bool:
        """Whether the paper is known to give a value."""
        return not (isinstance(self.paper, str) and self.paper in (UNSAID, UNREAD))

    @property
    def unread(self) -> bool:
        """Whether it is not known what the paper gives."""
        return isinstance(self.paper, str) and self.paper == UNREAD

    @property
    def title(self) -> str:
        return self.label or self.name.replace("_", " ")

    def value(self, quick: bool) -> Any:
        return self.quick if quick else self.full

    def as_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        numbers = {part: _json(getattr(self, part)) for part in ("paper", "full", "quick")}
        return {"name": self.name, "label": self.title, **numbers, "why": self.why, "deviates": self.deviates}


@dataclass(frozen=True)
class Parameters:
    """The table of a figure's parameters."""

    rows: tuple[Parameter, ...] = ()

    def __post_init__(self) -> None:
        names = [row.name for row in self.rows]
        if len(set(names)) < len(names):
            raise ValueError(f"two rows have one name among {names}")

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[Parameter]:
        return iter(self.rows)

    def values(self, quick: bool) -> dict[str, Any]:
        return {row.name: row.value(quick) for row in self.rows}

    def seeds(self, quick: bool) -> dict[str, Any]:
        """Of rows whose name says that they are seeds."""
        return {row.name: row.value(quick) for row in self.rows if "seed" in row.name}

    def differences(self, quick: bool) -> list[Parameter]:
        """Rows whose value in this form differs from one that the paper states."""
        return [row for row in self.rows if row.stated and _plain(row.value(quick)) != _plain(row.paper)]

    @property
    def deviations(self) -> list[Parameter]:
        """Rows whose full form differs from a value that the paper states."""
        return self.differences(quick=False)

    def as_dicts(self) -> list[dict[str, Any]]:
        return [row.as_dict() for row in self.rows]


NONE = Parameters()


def table(*rows: Parameter) -> Parameters:
    return Parameters(rows)


def _plain(value: Any) -> Any:
    """The same with tuples for lists and arrays, to compare by."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(_plain(one) for one in value) if isinstance(value, list | tuple | range) else value


def _json(value: Any) -> Any:
    """The same as JSON can hold it: lists for tuples, words for what is neither number nor text."""
    value = _plain(value)
    if isinstance(value, tuple):
        return [_json(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _json(one) for name, one in value.items()}
    return value if isinstance(value, str | bool | int | float) or value is None else str(value)


def shown(value: Any, most: int = 8) -> str:
    """A value in few characters: numbers to five digits, the middle of long lists left out."""
    value = _plain(value)
    if isinstance(value, tuple):
        parts = [f"({shown(one)})" if isinstance(one, tuple) else shown(one) for one in value]
        if len(parts) > most:
            parts = [*parts[: most - 3], "...", *parts[-2:]]
        return ", ".join(parts)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int) and abs(value) < 10**9:
        return str(value)
    return f"{value:.5g}" if isinstance(value, int | float) else str(value)
