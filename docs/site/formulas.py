"""The map from formulas to functions in THEORY.md: what each name in it stands for, and where the library's page describes it."""

import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

NAME = re.compile(r"`([A-Za-z_][\w.]*)`")
DESCRIBED = (
    "problems",
    "gaussian",
    "overlaps",
    "dynamics",
    "results",
    "levels",
    "macro",
    "micro",
    "meso",
    "empirical",
    "sweeps",
    "theory",
    "landscape",
    "control",
    "plot",
    "checks",
)


class Named(NamedTuple):
    word: str
    path: str | None  # None: there is no such thing
    start: int
    end: int


def named(row: str) -> Iterator[Named]:
    """Every name of a row: in full, or within the module that the row named last, or of the library itself."""
    room = "solvable"
    for found in NAME.finditer(row):
        word = found[1]
        paths = [word] if word.startswith("solvable.") else [f"{room}.{word}", f"solvable.{word}"]
        path = next((path for path in paths if look_up(path) is not None), None)
        if path is not None and word.startswith("solvable."):
            room = path if type(look_up(path)).__name__ == "module" else path.rpartition(".")[0]
        yield Named(word, path, *found.span())


def look_up(path: str) -> Any:
    words = path.split(".")
    for count in range(len(words), 0, -1):
        try:
            found: Any = import_module(".".join(words[:count]))
        except ImportError:
            continue
        for word in words[count:]:
            found = getattr(found, word, None)
        return found
    return None


def described(path: str) -> str | None:
    """Under which name the library's pages describe it, if they do: public names of rooms, and what their classes have."""
    thing, words = look_up(path), path.split(".")
    for room in DESCRIBED:
        public = import_module(f"solvable.{room}").__all__
        for tail in (words[-1:], words[-2:]):
            name = ".".join(["solvable", room, *tail])
            if thing is not None and tail[0] in public and look_up(name) is thing:
                return name
    return None


def linked_guide(text: str) -> str:
    """Text with names such as `sv.run` made links."""
    return re.sub(
        r"(?<!`)`sv\.([A-Za-z][\w.]*)`(?!`)", lambda found: _link(found[0][1:-1], f"solvable.{found[1]}"), text
    )


def _link(word: str, path: str) -> str:
    target = described(path)
    return f"{{py:obj}}`{word} <{target}>`" if target else f"`{word}`"


def linked(text: str) -> str:
    """The rows of tables with every name that is described made a link to it."""
    return "\n".join(_linked_row(line) if line.startswith("|") else line for line in text.split("\n"))


def _linked_row(row: str) -> str:
    for one in reversed(list(named(row))):
        row = row[: one.start] + _link(one.word, one.path or "") + row[one.end :]
    return row
